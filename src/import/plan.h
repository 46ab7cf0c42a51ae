/*
 * plan.h -- what is to be read: the caller's words and those of a metadata.json in one form.
 *
 * Strings are lent by the caller of dgi_import() or owned by the plan.
 */
#ifndef DGI_PLAN_H
#define DGI_PLAN_H

#include "edge_files.h"

/* metadata.json may not be larger. */
#define DGI_METADATA_BYTES_MAX ((size_t)64 << 20)

/* One file of a tensor; files of one side, type and name follow one another. */
struct dgi_data_file {
	dg_side side;
	const char *type; /* NULL: the only one */
	const char *name;
	const char *path;
	const char *column; /* text: this one of its columns */
	bool text;	    /* without @column: all columns are one row */
	char delimiter;
	int header;
	dg_dtype dtype; /* of text; 0: float32 */
	bool bfloat16;
};

struct dgi_edge_count {
	const char *type;
	int64_t n; /* -1: not told */
};

struct dgi_plan {
	dg_input_nodes *nodes; /* node types, in their order */
	size_t n_nodes;
	struct dgi_edge_count *edge_types; /* that are told before their files, in their order */
	size_t n_edge_types;
	struct dgi_edge_file *files;
	size_t n_files;
	struct dgi_data_file *data; /* those of one tensor behind one another */
	size_t n_data;

	char **strings; /* owned */
	size_t n_strings;
};

/* Fails with INVALID, NOTFOUND (metadata.json), UNSUPPORTED (Parquet), IO, NOMEM. */
dg_status dgi_plan_make(const dg_graph_input *input, struct dgi_plan *out, dg_error *err);
void dgi_plan_clear(struct dgi_plan *plan);

dg_status dgi_plan_add_nodes(struct dgi_plan *plan, dg_input_nodes nodes, dg_error *err);
dg_status dgi_plan_add_edge_type(struct dgi_plan *plan, struct dgi_edge_count type, dg_error *err);
dg_status dgi_plan_add_file(struct dgi_plan *plan, struct dgi_edge_file file, dg_error *err);
dg_status dgi_plan_add_data(struct dgi_plan *plan, struct dgi_data_file file, dg_error *err);
/* Keeps "<directory>/<text>", or @text alone where @directory is NULL or @text begins with '/'. */
dg_status dgi_plan_keep(struct dgi_plan *plan, const char *directory, const char *text,
			const char **out, dg_error *err);

/*
 * Adds what the @n bytes of a metadata.json say; its files lie in @directory. A pure function of its
 * arguments. Fails with INVALID (where in the JSON, what was found and wanted), MISMATCH (counts that
 * do not agree), UNSUPPORTED (Parquet, another format), NOMEM; the text does not name the file.
 */
dg_status dgi_metadata_decode(const char *text, size_t n, const char *directory,
			      struct dgi_plan *plan, dg_error *err);

#endif
