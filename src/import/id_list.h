/* id_list.h -- a file that lists the outside ids of nodes, or names of relations, by number. */
#ifndef DGI_ID_LIST_H
#define DGI_ID_LIST_H

#include "id_map.h"
#include "progress.h"

#include <distgraph/input.h>

/*
 * Reads the ids: a line each; or, in .csv and .tsv and where @column is told, a field each (the
 * first column); or a .npy of integers. They are integers where all are and @strings is false, else
 * strings. Gives a map to clear. Fails with INVALID (file and line; an id twice), NOTFOUND,
 * UNSUPPORTED, CANCELLED, IO, NOMEM.
 */
dg_status dgi_id_list_read(const char *path, const char *column, bool strings,
			   struct dgi_progress *progress, struct dgi_id_map *out, dg_error *err);

#endif
