/* outside_index.h -- the index of a type's outside ids, sorted in a file by hash. */
#ifndef DGI_OUTSIDE_INDEX_H
#define DGI_OUTSIDE_INDEX_H

#include "outside.h"

/* The ids file of a type, mapped. */
struct dgi_outside_file {
	dg_outside_form form;
	const char *path;
	int64_t n;
	const uint8_t *data;
	size_t bytes;
};

/* Maps and checks it. Fails with INVALID, NOTFOUND, IO; clearing is due in any case. */
dg_status dgi_outside_file_open(const struct dgi_outside_type *type, int64_t n,
				struct dgi_outside_file *out, dg_error *err);
void dgi_outside_file_clear(struct dgi_outside_file *file);

int64_t dgi_outside_file_integer(const struct dgi_outside_file *file, int64_t i);
const char *dgi_outside_file_string(const struct dgi_outside_file *file, int64_t i, size_t *n);

struct dgi_outside_entry {
	uint64_t hash;
	int64_t id; /* relabelled */
};

struct dgi_outside_index {
	int fd; /* entries, ascending; the file has no name any more */
	uint64_t seed;
	uint32_t n_parts;
	int64_t *starts; /* where each partition's share begins, and the end */
};

/* Fails as dgi_outside_writer_open() does. */
dg_status dgi_outside_index_make(const struct dgi_outside_file *file,
				 const struct dgi_outside_input *input, uint16_t type,
				 struct dgi_outside_index *out, dg_error *err);
void dgi_outside_index_clear(struct dgi_outside_index *index);

/* Entries [first, first + n). Fails with IO. */
dg_status dgi_outside_index_read(const struct dgi_outside_index *index, int64_t first, size_t n,
				 struct dgi_outside_entry *out, dg_error *err);

#endif
