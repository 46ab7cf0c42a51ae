/*
 * stream_adjacency.h -- an undirected weighted graph as streaming wants it: the neighbours of one
 * node after those of the other, in memory where that is small, else in a file without a name.
 *
 * It is made by external grouping: both directions of every edge are spilled into buckets of nodes,
 * and each bucket is sorted in memory by counting. Memory is O(nodes) and the budget; equal
 * neighbours are merged and their weights added, loops must not be given.
 *
 * Threads: one thread at a time.
 */
#ifndef DGI_STREAM_ADJACENCY_H
#define DGI_STREAM_ADJACENCY_H

#include "rng.h"

#include <distgraph/error.h>

#include <stddef.h>
#include <stdint.h>

#define DGI_STREAM_NODES_MAX (UINT32_MAX - 1)

struct dgi_arc {
	uint32_t to;
	uint32_t weight; /* stops at UINT32_MAX: what is heavier is never cut anyway */
};

struct dgi_adjacency {
	uint32_t n;
	uint32_t largest_degree;
	uint64_t n_arcs;
	uint64_t weight;      /* of all arcs: twice that of the edges */
	uint64_t *start;      /* in memory: n + 1; else NULL */
	struct dgi_arc *arcs; /* in memory */
	int fd;		      /* else: per node its degree (u32), then its arcs */
};

/* An adjacency that holds nothing, for clear() to accept. */
struct dgi_adjacency dgi_adjacency_none(void);
void dgi_adjacency_clear(struct dgi_adjacency *graph);

/* --- Making one --- */

struct dgi_grouper;

/*
 * For @n nodes of which node v will be given exactly counts[v] arcs; @counts is copied. Files go to
 * the directory @dir and have no name. @budget is what buckets may take in memory.
 * Fails with NOMEM, IO, FULL.
 */
dg_status dgi_grouper_open(const char *dir, uint32_t n, const uint64_t *counts, uint64_t budget,
			   struct dgi_grouper **out, dg_error *err);
/* The arc from @from to @to, another node. Fails with IO, FULL. */
dg_status dgi_grouper_add(struct dgi_grouper *grouper, uint32_t from, uint32_t to, uint32_t weight,
			  dg_error *err);
/* Gives the graph. Fails with IO, FULL, NOMEM. */
dg_status dgi_grouper_finish(struct dgi_grouper *grouper, struct dgi_adjacency *out, dg_error *err);
/* NULL is fine. */
void dgi_grouper_close(struct dgi_grouper *grouper);

/* --- Walking through it --- */

struct dgi_walk {
	const struct dgi_adjacency *graph;
	uint32_t next;
	uint32_t *order; /* in memory: the nodes at random; NULL: as they come */
	uint8_t *buffer;
	size_t capacity, begin, end; /* of the buffer */
	uint64_t file_at;
};

/* One pass; with @rng the order is random where the graph is in memory. Fails with NOMEM. */
dg_status dgi_walk_begin(struct dgi_walk *walk, const struct dgi_adjacency *graph,
			 struct dgi_rng *rng, dg_error *err);
/* The next node's arcs, lent until the next call; *node is UINT32_MAX at the end. Fails with IO. */
dg_status dgi_walk_next(struct dgi_walk *walk, uint32_t *node, const struct dgi_arc **arcs,
			uint32_t *n_arcs, dg_error *err);
void dgi_walk_end(struct dgi_walk *walk);

#endif
