/* partition_outside.h -- the outside ids of a graph being partitioned, on their way into its stores. */
#ifndef DGI_PARTITION_OUTSIDE_H
#define DGI_PARTITION_OUTSIDE_H

#include "outside.h"
#include "partition_write.h"

/* Zero is one that writes nothing. It must not move while it is open. */
struct dgi_partition_outside {
	struct dgi_outside_input input;
	struct dgi_outside_type *types;
	struct dgi_outside_writer *writer;
};

/* Sorts the indexes in @work; clearing is due in any case. Fails as dgi_outside_writer_open() does. */
dg_status dgi_partition_outside_open(const struct dgi_cut_graph *graph, const char *work,
				     struct dgi_partition_outside *out, dg_error *err);
void dgi_partition_outside_clear(struct dgi_partition_outside *outside);

#endif
