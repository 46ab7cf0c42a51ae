/* cut_graph.h -- a partitioned graph read back from its stores and held against its edge list. */
#ifndef DGI_TEST_CUT_GRAPH_H
#define DGI_TEST_CUT_GRAPH_H

#include <distgraph/types.h>

struct edge_list {
	int64_t n_nodes;
	int64_t n_edges;
	const dg_id *src;
	const dg_id *dst;
};

/*
 * Fails the test unless every invariant holds: types and ranges, original ids and their inverse,
 * every in-edge at its destination's owner in the order of the caller, exact out-degrees. Where
 * there is a node feature "feat" (float32, 3 a row) or an edge feature "weight" (int64), row i of
 * the caller is to hold 10 i, 10 i + 1, 10 i + 2, or 100 i.
 */
void assert_is_cut(const char *cluster_path, uint32_t n_parts, const struct edge_list *list,
		   int64_t edges_cut);

#endif
