/*
 * distgraph/partition_load.h -- the local graph of one partition: its own nodes and edges, and
 * those around it, with what tells them apart (DGL: load_partition).
 *
 * Local ids count from 0: first the partition's own nodes (*inner*) in order of their homogeneous
 * ids, hence type by type; then the *halo* in order of its homogeneous ids: the nodes that own edges
 * come from, and what else the partition stores by its halo_hops. Edges likewise. The
 * i-th inner node is row i - (where its type begins among them) of the tensors of its type; a halo has
 * no rows.
 *
 * Threads: any thread, once loaded. Ownership: dg_partition_load() gives a partition to close;
 * everything in it is lent and dies with it.
 */
#ifndef DISTGRAPH_PARTITION_LOAD_H
#define DISTGRAPH_PARTITION_LOAD_H

#include <distgraph/cluster.h>
#include <distgraph/store.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dg_local_graph {
	uint32_t part;
	const char *graph_name;
	const dg_book *book;
	dg_store *
		store; /* opened to be read; its tensors are the partition's data; see dg_book_feature_key() */

	int64_t n_nodes; /* with the halo */
	int64_t n_inner_nodes;
	const dg_id *node_ids;	   /* homogeneous, over the whole graph */
	const int32_t *node_types; /* numbers of types */
	const int64_t *node_parts; /* who owns them */
	const uint8_t *inner_node; /* 1 or 0 */

	int64_t n_edges; /* with the halo */
	int64_t n_inner_edges;
	const dg_id *src; /* local ids */
	const dg_id *dst;
	const dg_id *edge_ids; /* homogeneous, over the whole graph */
	const int32_t *edge_types;
	const uint8_t *inner_edge;
} dg_local_graph;

/*
 * Loads partition @part of the cluster whose file is at @path. Takes memory for every local node and
 * edge. Fails with RANGE (no such partition), MISMATCH (the store is another's), CORRUPT (its
 * arrays do not fit the book), and as dg_cluster_open() and dg_store_open() do.
 */
DG_API dg_status dg_partition_load(const char *path, uint32_t part, dg_local_graph **out,
				   dg_error *err);
/* NULL is fine. */
DG_API void dg_partition_close(dg_local_graph *graph);

#ifdef __cplusplus
}
#endif

#endif
