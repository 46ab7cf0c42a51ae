/*
 * metis_child.h -- METIS in a process of its own.
 *
 * METIS takes over SIGTERM and SIGABRT, draws from rand(), prints, cannot be interrupted, and has
 * been seen to crash. In a child none of that is ours: its signals, random numbers and memory go
 * with it, and it can be killed. The graph is shared by fork(), the result by a shared page.
 */
#ifndef DGI_METIS_CHILD_H
#define DGI_METIS_CHILD_H

#include "neighbours.h"

struct dgi_metis_job {
	const struct dgi_neighbours *graph;
	idx_t n_constraints;
	idx_t *node_weights; /* node-major; NULL: ones */
	idx_t n_parts;
	uint64_t seed;
	bool volume; /* the objective: communication volume, not edge cut */
};

/*
 * Sets owners[v] of every node, by which some parts may be empty. @owners is shared with the child:
 * from dgi_metis_owners_new(). Fails with INVALID (METIS refuses the graph, or its answer is not
 * one), NOMEM, IO (it crashed or was killed; the text says by which signal), CANCELLED.
 */
dg_status dgi_metis_run(const struct dgi_metis_job *job, struct dgi_progress *progress,
			idx_t *owners, dg_error *err);

/* Memory for @n owners that a child can write to; NULL if there is none. Freed by _free(). */
idx_t *dgi_metis_owners_new(idx_t n);
void dgi_metis_owners_free(idx_t *owners, idx_t n);

#endif
