/* data.h -- the caller's tensors: files checked, and made plain .npy where they are not. */
#ifndef DGI_IMPORT_DATA_H
#define DGI_IMPORT_DATA_H

#include "plan.h"

/*
 * Adds to @out the tensors of one side, whose types @g has. Packed files and columns of text become
 * .npy files in the work directory. The rows of node data count the nodes of their type where
 * nobody has told; otherwise rows must be as many as nodes or edges.
 *
 * Fails with INVALID (a name, a file: file and line), NOTFOUND (file, type), MISMATCH (rows, dtypes
 * of files that do not agree), UNSUPPORTED, CANCELLED, IO, FULL, NOMEM.
 */
dg_status dgi_data_import(struct dgi_gather *g, const struct dgi_plan *plan, dg_side side,
			  struct dgi_source *out, struct dgi_progress *progress, dg_error *err);

/*
 * Nodes numbered as they come have no order that rows could follow: such a tensor is refused, once
 * edges have told how nodes are named. Fails with INVALID.
 */
dg_status dgi_data_check_order(const struct dgi_gather *g, const struct dgi_source_data *data,
			       dg_error *err);

/*
 * Writes a column of the text file (all columns, as one row, where file->column is NULL) to the .npy
 * file @to, durable. Fails as above.
 */
dg_status dgi_columns_to_npy(const struct dgi_data_file *file, const char *to,
			     struct dgi_progress *progress, dg_error *err);

#endif
