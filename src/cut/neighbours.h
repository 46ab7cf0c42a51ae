/*
 * neighbours.h -- a graph as METIS wants it, in memory: neighbours of every node without
 * directions and loops; parallel edges are one that weighs as many.
 */
#ifndef DGI_NEIGHBOURS_H
#define DGI_NEIGHBOURS_H

#include "joined.h"
#include "progress.h"

#include <metis.h>

/*
 * The most nodes, ends of edges and weight METIS is given: it reserves room for twice as many in
 * its own counting type.
 */
#define DGI_METIS_MAX (IDX_MAX / 2)

struct dgi_neighbours {
	idx_t n;
	idx_t *start;	/* n + 1 */
	idx_t *ids;	/* start[n] */
	idx_t *weights; /* of the edges to them: METIS makes some of its own if there are none */
};

/*
 * Whether METIS can count a graph of @n_nodes and @n_edges; before anything is allocated. Fails
 * with UNSUPPORTED, and names the method to use.
 */
dg_status dgi_neighbours_check(int64_t n_nodes, int64_t n_edges, dg_error *err);

/* What dgi_neighbours_make() allocates at most. */
uint64_t dgi_neighbours_bytes(int64_t n_nodes, int64_t n_edges);

/* Reads all edges twice. Fails with UNSUPPORTED, NOMEM, IO, CANCELLED. */
dg_status dgi_neighbours_make(const struct dgi_joined *graph, struct dgi_progress *progress,
			      struct dgi_neighbours *out, dg_error *err);
void dgi_neighbours_clear(struct dgi_neighbours *neighbours);

#endif
