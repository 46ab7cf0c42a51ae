/* partition_write.h -- the stores of a graph that has been cut and relabelled. */
#ifndef DGI_PARTITION_WRITE_H
#define DGI_PARTITION_WRITE_H

#include "feature.h"
#include "progress.h"
#include "relabel.h"

#include <distgraph/book.h>

struct dgi_cut_graph {
	const dg_book *book;
	dg_uuid cluster_uuid;
	const struct dgi_node_order *nodes; /* by node type */
	const struct dgi_edge_order *edges; /* by edge type */
	const struct dgi_feature *features; /* node features, then edge features */
	size_t n_features;
};

/*
 * Writes "part<p>" for each partition p into the existing directory @directory: the structure, the
 * id tables of every type as system tensors (ids from 1), then the features. Tensor ids are the
 * same in every part. Fails with FULL, CANCELLED, IO, NOMEM, UNSUPPORTED.
 */
dg_status dgi_partition_write(const char *directory, const struct dgi_cut_graph *graph,
			      struct dgi_progress *progress, dg_error *err);

#endif
