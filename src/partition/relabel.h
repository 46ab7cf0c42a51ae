/*
 * relabel.h -- new ids for nodes, such that each partition owns one contiguous range of every type.
 *
 * Nodes of a type are ordered by (owner, original id). All ids here are type-wise; "original" is
 * the caller's, "internal" the new one.
 *
 * An *owner* here is a class of nodes below n_parts * n_classes; its partition is owner / n_classes
 * (with several trainers per partition a class is a trainer's).
 */
#ifndef DGI_RELABEL_H
#define DGI_RELABEL_H

#include "id_column.h"

/* Of one node type. */
struct dgi_node_order {
	int64_t n;
	struct dgi_ids original; /* by internal id */
	struct dgi_ids internal; /* by original id */
	int64_t *start;		 /* n_parts + 1: where each partition's range begins */
};

/* @owners is by original id. Fails with NOMEM. Gives an order to clear. */
dg_status dgi_node_order_make(const uint16_t *owners, int64_t n, uint32_t n_parts,
			      uint32_t n_classes, struct dgi_node_order *out, dg_error *err);
/* Accepts a zero order. */
void dgi_node_order_clear(struct dgi_node_order *order);

/* Memory of a node of a type, owner included, while and after an order is made. */
uint64_t dgi_node_order_bytes(int64_t n);

#endif
