/* import_fixture.h -- files made for the importer, and what it made of them as text. */
#ifndef DGI_IMPORT_FIXTURE_H
#define DGI_IMPORT_FIXTURE_H

#include "test.h"

#include "import.h"

#include <distgraph/array.h>

#define EDGES_MAX 16
#define NODES_MAX 16

struct import_fixture {
	char *dir;
	char *work;
	dg_input_edges edges[EDGES_MAX];
	dg_input_nodes nodes[NODES_MAX];
	dg_input_data data[2][8]; /* by side */
	dg_graph_input input;
	struct dgi_source source;
	dg_error err;
	char *kept[64]; /* paths */
	size_t n_kept;
	char text[4096];
};

void import_set_up(struct import_fixture *f);
void import_tear_down(struct import_fixture *f);
/* Forgets input and source, for another case. */
void import_again(struct import_fixture *f);

/* Writes a file and gives its path, which lives until the end. A name that ends in .gz is packed. */
const char *import_file(struct import_fixture *f, const char *name, const char *text);
const char *import_npy(struct import_fixture *f, const char *name, dg_dtype dtype, uint32_t rank,
		       const int64_t *shape, const void *data);

void import_add_edges(struct import_fixture *f, const char *type, const char *path);
dg_input_nodes *import_add_nodes(struct import_fixture *f, const char *type, int64_t n,
				 const char *path);
dg_input_data *import_add_data(struct import_fixture *f, dg_side side, const char *type,
			       const char *name, const char *path);

dg_status import_run(struct import_fixture *f);
/* The source as text: "person=3[ann bob eve] item=2 | person:likes:item 0>1 1>0 | …". */
const char *import_text(struct import_fixture *f);
/* Runs, and compares the text. */
void import_gives(struct import_fixture *f, const char *wanted);
/* Runs; fails so, with a text that has the part. */
void import_refuses(struct import_fixture *f, dg_status status, const char *part);

#endif
