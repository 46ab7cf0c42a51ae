/*
 * halo.h -- what a partition stores beside its own: the nodes and edges around it.
 *
 * With h hops, h at least 1: the sources of owned edges; for further hops, the in-edges of the last
 * layer of nodes so found and their sources; and the edges that leave owned nodes, with their
 * destinations, which go no further. So the halo edges are, of a node that was expanded, all
 * in-edges, and of another halo node, those that leave owned nodes.
 *
 * Halo nodes and edges are in ascending order of their ids; as edges are ordered by destination,
 * halo edges are rows of in-edges, a row a halo node.
 */
#ifndef DGI_HALO_H
#define DGI_HALO_H

#include "edge_sort.h"

/* How the partitioned graph is looked at: by type. All lent. */
struct dgi_cut_view {
	const struct dgi_source *source;
	const struct dgi_node_order *nodes;
	const struct dgi_edge_order *edges;
	uint32_t n_parts;
};

/* Of one partition. */
struct dgi_halo {
	uint16_t n_node_types;
	struct dgi_halo_nodes {
		struct dgi_ids ids; /* ascending */
		uint64_t *expanded; /* bits, by internal id */
		uint64_t *found;
	} * nodes; /* by node type */
};

/* Bytes that dgi_halo_make() takes of a type of @n nodes, at most. */
uint64_t dgi_halo_bytes(int64_t n);

/* Finds the halo of @part. Fails with NOMEM. Gives a halo to clear. */
dg_status dgi_halo_make(const struct dgi_cut_view *view, uint32_t part, uint32_t hops,
			struct dgi_halo *out, dg_error *err);
/* Accepts a zero halo. */
void dgi_halo_clear(struct dgi_halo *halo);

/* Goes through the halo edges of one type, in order. */
struct dgi_halo_edges {
	const struct dgi_edge_order *order;
	const struct dgi_halo_nodes *nodes; /* destinations */
	int64_t at;			    /* halo node, by its place */
	dg_id in_edge, in_end;		    /* of an expanded node, still to come */
	int64_t out, out_end; /* of the edges that leave the partition, still to come */
};

struct dgi_halo_edges dgi_halo_edges_of(const struct dgi_cut_view *view, uint32_t part,
					const struct dgi_halo *halo, uint16_t edge_type);
/* The next edge, its source, and the place of its destination among the halo nodes; false: none. */
bool dgi_halo_edges_next(struct dgi_halo_edges *edges, dg_id *edge, dg_id *src, int64_t *dst_at);

#endif
