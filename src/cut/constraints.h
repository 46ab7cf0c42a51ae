/*
 * constraints.h -- what balance is asked for, as one number per node and constraint.
 *
 * Without anything asked for there is one constraint, the number of nodes. By types there is one a
 * node type; by edges another for the in-edges of each.
 */
#ifndef DGI_CONSTRAINTS_H
#define DGI_CONSTRAINTS_H

#include "joined.h"
#include "progress.h"

/* Node types with a constraint of their own; METIS gets worse with each. */
#define DGI_CLASSES_MAX 8
#define DGI_CONSTRAINTS_MAX (2 * DGI_CLASSES_MAX)

struct dgi_constraints {
	uint32_t n;
	uint32_t *
		values; /* node-major, n a node, at most UINT32_MAX; NULL: one constraint of ones */
	uint64_t totals[DGI_CONSTRAINTS_MAX];
};

/*
 * Types with fewer nodes than parts, and those beyond the DGI_CLASSES_MAX largest, share the
 * constraint of the largest: each is told through the log. Reads all edges if @by_edges.
 * Fails with NOMEM, IO, CANCELLED.
 */
dg_status dgi_constraints_make(const struct dgi_joined *graph, uint32_t n_parts, bool by_types,
			       bool by_edges, struct dgi_progress *progress,
			       struct dgi_constraints *out, dg_error *err);
void dgi_constraints_clear(struct dgi_constraints *constraints);

#endif
