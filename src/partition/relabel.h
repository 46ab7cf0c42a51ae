/*
 * relabel.h -- new ids, such that each partition owns one contiguous range of every type.
 *
 * Nodes of a type are ordered by (owner, original id). Edges of a type are ordered by (destination,
 * original id), which orders them by owner, for an edge belongs to its destination's. All ids here
 * are type-wise; "original" is the caller's, "internal" the new one.
 */
#ifndef DGI_RELABEL_H
#define DGI_RELABEL_H

#include <distgraph/types.h>

/* Of one node type. */
struct dgi_node_order {
	int64_t n;
	dg_id *original; /* by internal id */
	dg_id *internal; /* by original id */
	int64_t *start;	 /* n_parts + 1: where each partition's range begins */
};

/* Of one edge type, with its structure. */
struct dgi_edge_order {
	int64_t n;
	dg_id *original;      /* by internal id */
	dg_id *internal;      /* by original id */
	int64_t *start;	      /* n_parts + 1 */
	int64_t *indptr;      /* destinations + 1: in-edges of internal node v are [v], [v + 1] */
	dg_id *indices;	      /* by internal edge id: internal id of the source */
	int64_t *out_degrees; /* by internal id of the source */
	int64_t largest_out_degree;
	int64_t cut; /* edges whose ends have different owners */
};

/* @owners is by original id. Fails with NOMEM. Gives an order to clear. */
dg_status dgi_node_order_make(const uint16_t *owners, int64_t n, uint32_t n_parts,
			      struct dgi_node_order *out, dg_error *err);
void dgi_node_order_clear(struct dgi_node_order *order);

/* @src and @dst are original ids of the nodes ordered by @sources and @destinations. */
dg_status dgi_edge_order_make(const dg_id *src, const dg_id *dst, int64_t n,
			      const struct dgi_node_order *sources,
			      const struct dgi_node_order *destinations, uint32_t n_parts,
			      struct dgi_edge_order *out, dg_error *err);
void dgi_edge_order_clear(struct dgi_edge_order *order);

#endif
