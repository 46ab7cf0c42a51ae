/* partition_write.h -- the stores of a graph that has been cut and sorted. */
#ifndef DGI_PARTITION_WRITE_H
#define DGI_PARTITION_WRITE_H

#include "halo.h"
#include "progress.h"
#include "rows.h"

#include <distgraph/book.h>

/* All of it lent. */
struct dgi_cut_graph {
	struct dgi_cut_view view;
	const dg_book *book;
	dg_uuid cluster_uuid;
	struct dgi_rows *const *rows;  /* as the source's data */
	const uint16_t *const *owners; /* by node type and original id; see relabel.h */
	uint32_t n_classes;	       /* above 1: each owner is kept as "trainer_id" */
	uint32_t halo_hops;
	uint64_t memory;
};

/* Over all partitions. */
struct dgi_written {
	int64_t halo_nodes;
	int64_t halo_edges;
};

#define DGI_TRAINER_ID "trainer_id"

/*
 * Writes "part<p>" for each partition p into the existing directory @directory: the structure, the
 * id tables of every type as system tensors (ids from 1), the caller's data, and where there are
 * several trainers a partition, "trainer_id" of every type (int64). Tensor ids are the same in every
 * part. Parts that @work says are finished stay. Fails with FULL, CANCELLED, IO, NOMEM, UNSUPPORTED.
 */
dg_status dgi_partition_write(const char *directory, const struct dgi_cut_graph *graph,
			      struct dgi_work *work, struct dgi_progress *progress,
			      struct dgi_written *out, dg_error *err);

#endif
