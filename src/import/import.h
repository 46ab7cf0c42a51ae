/* import.h -- the caller's files become a source: types, edges, data and outside ids. */
#ifndef DGI_IMPORT_H
#define DGI_IMPORT_H

#include "progress.h"
#include "source.h"

#include <distgraph/input.h>

/*
 * Reads what @input names, in one pass, and writes the edges and whatever else is not fit for use
 * into the existing directory @work, durable; gives a source to clear. On failure files are left in
 * @work that nobody needs. Progress tells the phase "read" in bytes of files.
 *
 * Memory: O(nodes) where nodes have outside ids, else O(types). Original numbers are those of the
 * input where it numbers nodes; ids listed in a file have the number of their line; other ids are
 * numbered in the order they first come, source before destination.
 *
 * Fails with NOTFOUND, INVALID (file and line or row, what was found and wanted), RANGE (ids),
 * MISMATCH (counts and rows that do not agree), UNSUPPORTED, FULL, DENIED, IO, CANCELLED, NOMEM.
 */
dg_status dgi_import(const dg_graph_input *input, const char *work, struct dgi_source *out,
		     struct dgi_progress *progress, dg_error *err);

#endif
