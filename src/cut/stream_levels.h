/*
 * stream_levels.h -- the three steps of the streaming cut, each a pass over an adjacency with
 * memory O(nodes): merge nodes into clusters, contract the graph by them, move nodes between parts.
 *
 * Weights: a node weighs one number per constraint, what balance is asked for.
 */
#ifndef DGI_STREAM_LEVELS_H
#define DGI_STREAM_LEVELS_H

#include "progress.h"
#include "stream_adjacency.h"

struct dgi_node_weights {
	uint32_t n_constraints;
	uint32_t *values; /* node-major; NULL: each node weighs 1 of one constraint */
	uint64_t *totals; /* by constraint */
};

static inline uint32_t dgi_node_weight(const struct dgi_node_weights *weights, uint32_t node,
				       uint32_t constraint)
{
	return weights->values ? weights->values[(size_t)node * weights->n_constraints + constraint]
			       : 1;
}

/* What one call of a pass needs to know. */
struct dgi_stream_pass {
	const struct dgi_adjacency *graph;
	const struct dgi_node_weights *weights;
	struct dgi_rng *rng;
	struct dgi_progress *progress; /* told each node */
	uint64_t *n_arcs;	       /* visited are counted here */
};

/*
 * Size-constrained label propagation (Meyerhenke, Sanders, Schulz: Partitioning Complex Networks
 * via Size-constrained Clustering, 2014): each node joins the cluster it has the heaviest edges to,
 * as long as that weighs no more than limits[c] of every constraint. Nodes that no pass moved join
 * others with the same favourite, isolated ones each other.
 *
 * With @owners only nodes of the same owner meet. Writes cluster numbers 0 to *n_clusters - 1 to
 * label[]. Fails with NOMEM, IO, CANCELLED.
 */
dg_status dgi_stream_cluster(const struct dgi_stream_pass *pass, const uint64_t *limits,
			     const uint16_t *owners, uint32_t n_rounds, uint32_t *label,
			     uint32_t *n_clusters, dg_error *err);

/* The graph whose nodes are the clusters. Fails with NOMEM, IO, FULL, CANCELLED. */
dg_status dgi_stream_contract(const struct dgi_stream_pass *pass, const uint32_t *label,
			      uint32_t n_clusters, const char *dir, uint64_t budget,
			      struct dgi_adjacency *out, dg_error *err);
/* What the clusters weigh. Gives out->values; totals are lent from @weights. Fails with NOMEM. */
dg_status dgi_stream_contract_weights(const struct dgi_node_weights *weights, uint32_t n,
				      const uint32_t *label, uint32_t n_clusters,
				      struct dgi_node_weights *out, dg_error *err);

/* How full the parts are. */
struct dgi_loads {
	uint32_t n_parts;
	uint32_t n_constraints;
	uint64_t *loads; /* part-major */
	uint64_t *caps;	 /* by constraint */
};

/* Parts may weigh their even share and @slack (0.03) of it. Fails with NOMEM. */
dg_status dgi_loads_make(const struct dgi_node_weights *weights, uint32_t n_parts, double slack,
			 struct dgi_loads *out, dg_error *err);
void dgi_loads_clear(struct dgi_loads *loads);
void dgi_loads_count(struct dgi_loads *loads, const struct dgi_node_weights *weights, uint32_t n,
		     const uint16_t *owners);
/* By how much the fullest part passes its cap, relative to it; 0: all fit. */
double dgi_loads_excess(const struct dgi_loads *loads);

/*
 * Fennel (Tsourakakis et al., 2014): places every node anew where its neighbours are, less a price
 * that grows with the load of the part. The first round knows only the nodes that came before,
 * further ones all. Fails with NOMEM, IO, CANCELLED.
 */
dg_status dgi_stream_place(const struct dgi_stream_pass *pass, struct dgi_loads *loads,
			   uint32_t n_rounds, uint16_t *owners, dg_error *err);

/*
 * Moves nodes to the part they have the heaviest edges to, as long as that has room, and out of
 * parts that are too full at any price; until a round gains little. Sets *cut to the weight cut.
 * Fails with NOMEM, IO, CANCELLED.
 */
dg_status dgi_stream_refine(const struct dgi_stream_pass *pass, struct dgi_loads *loads,
			    uint32_t n_rounds, uint16_t *owners, uint64_t *cut, dg_error *err);

/*
 * On a graph in memory: grows one part after the other round a node drawn (stream_grow.c).
 * Fails with NOMEM.
 */
dg_status dgi_stream_grow(const struct dgi_stream_pass *pass, struct dgi_loads *loads,
			  uint16_t *owners, dg_error *err);

/*
 * On a graph in memory: moves that cost first and gain later (stream_climb.c), up to @n_rounds
 * times. @loads are those of @owners; lowers *cut by what is gained. Fails with NOMEM, CANCELLED.
 */
dg_status dgi_stream_climb(const struct dgi_stream_pass *pass, struct dgi_loads *loads,
			   uint32_t n_rounds, uint16_t *owners, uint64_t *cut, dg_error *err);

#endif
