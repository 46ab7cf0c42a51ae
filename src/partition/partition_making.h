/* partition_making.h -- one store being made: shared by the files that write parts of it. */
#ifndef DGI_PARTITION_MAKING_H
#define DGI_PARTITION_MAKING_H

#include "partition_write.h"
#include "volume.h"

struct dgi_outside_writer;

struct dgi_making {
	const struct dgi_cut_graph *graph;
	uint32_t part;
	struct dgi_volume_maker *maker;
	uint32_t n_tensors; /* made so far */
	struct dgi_outside_writer *outside;
	struct dgi_progress *progress;
	int64_t halo_nodes;
	int64_t halo_edges;
};

static inline dg_dtype dgi_dtype_for(int64_t largest)
{
	return dgi_ids_bytes_for(largest) == 4 ? DG_INT32 : DG_INT64;
}

/* Elements of a column from @first on, less @base, in the width of @dtype. */
struct dgi_slice {
	const struct dgi_ids *column;
	int64_t first;
	int64_t base;
	dg_dtype dtype;
	struct dgi_progress *progress; /* may be NULL */
};

/* A dgi_fill_fn of a dgi_slice. */
dg_status dgi_slice_fill(void *context, int64_t first, int64_t n, void *out, dg_error *err);

/* The structure arrays, in the order of their keys. */
dg_status dgi_structure_make(struct dgi_making *making, dg_error *err);

#endif
