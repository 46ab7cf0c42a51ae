/* import_lists.h -- edge lists and .npy features of one node type and one edge type, as a source. */
#ifndef DGI_IMPORT_LISTS_H
#define DGI_IMPORT_LISTS_H

#include "progress.h"
#include "source.h"

/*
 * Reads what the options name and leaves it in the directory @work. Fails as dg_partition() says.
 * Gives a source to clear.
 */
dg_status dgi_import_lists(const dg_partition_options *options, const char *work,
			   struct dgi_progress *progress, struct dgi_source *out, dg_error *err);

#endif
