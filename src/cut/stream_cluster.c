/* stream_cluster.c -- nodes merged into clusters, and the graph contracted by them. */
#include "stream_levels.h"

#include "fail.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

struct clustering {
	const struct dgi_stream_pass *pass;
	const uint64_t *limits;
	const uint16_t *owners; /* NULL: all nodes may meet */
	uint32_t n_constraints;
	uint32_t *label;
	uint32_t *favourite; /* of a node that is alone: the cluster it would have joined */
	uint64_t *sizes;     /* cluster-major, of n_constraints each */
	uint64_t *sums;	     /* by cluster: weight of the edges of the node at hand */
	uint32_t *touched;   /* clusters with a sum */
	uint64_t n_moved;
};

static void clustering_clear(struct clustering *c)
{
	free(c->favourite);
	free(c->sizes);
	free(c->sums);
	free(c->touched);
}

static dg_status clustering_begin(struct clustering *c, dg_error *err)
{
	const uint32_t n = c->pass->graph->n;

	c->favourite = malloc((size_t)n * sizeof *c->favourite + 1);
	c->sizes = malloc((size_t)n * c->n_constraints * sizeof *c->sizes + 1);
	c->sums = calloc((size_t)n + 1, sizeof *c->sums);
	c->touched = malloc(((size_t)c->pass->graph->largest_degree + 1) * sizeof *c->touched);
	if (!c->favourite || !c->sizes || !c->sums || !c->touched)
		return dgi_fail_memory(err, "method stream: clusters");
	for (uint32_t v = 0; v < n; v++) {
		c->label[v] = v;
		c->favourite[v] = NONE;
		for (uint32_t k = 0; k < c->n_constraints; k++)
			c->sizes[(size_t)v * c->n_constraints + k] =
				dgi_node_weight(c->pass->weights, v, k);
	}
	return DG_OK;
}

static bool fits(const struct clustering *c, uint32_t node, uint32_t cluster)
{
	const uint64_t *size = c->sizes + (size_t)cluster * c->n_constraints;

	for (uint32_t k = 0; k < c->n_constraints; k++)
		if (size[k] + dgi_node_weight(c->pass->weights, node, k) > c->limits[k])
			return false;
	return true;
}

static void move(struct clustering *c, uint32_t node, uint32_t cluster)
{
	uint64_t *from = c->sizes + (size_t)c->label[node] * c->n_constraints;
	uint64_t *to = c->sizes + (size_t)cluster * c->n_constraints;

	for (uint32_t k = 0; k < c->n_constraints; k++) {
		from[k] -= dgi_node_weight(c->pass->weights, node, k);
		to[k] += dgi_node_weight(c->pass->weights, node, k);
	}
	c->label[node] = cluster;
	c->n_moved++;
}

/* Sums the node's edges by cluster; returns the number of clusters touched. */
static uint32_t sum_edges(struct clustering *c, uint32_t node, const struct dgi_arc *arcs,
			  uint32_t n)
{
	uint32_t n_touched = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t cluster = c->label[arcs[i].to];

		if (c->owners && c->owners[arcs[i].to] != c->owners[node])
			continue;
		if (c->sums[cluster] == 0)
			c->touched[n_touched++] = cluster;
		c->sums[cluster] += arcs[i].weight;
	}
	return n_touched;
}

static void visit(struct clustering *c, uint32_t node, const struct dgi_arc *arcs, uint32_t n)
{
	const uint32_t own = c->label[node];
	const uint32_t n_touched = sum_edges(c, node, arcs, n);
	uint64_t best_sum = c->sums[own], favourite_sum = 0;
	uint32_t best = own, favourite = NONE;
	uint64_t draws = dgi_rng_next(c->pass->rng);

	for (uint32_t i = 0; i < n_touched; i++) {
		uint32_t cluster = c->touched[i];
		uint64_t sum = c->sums[cluster];
		bool coin = draws >> (i & 63) & 1;

		if (sum > favourite_sum) {
			favourite = cluster;
			favourite_sum = sum;
		}
		if (cluster != own && (sum > best_sum || (sum == best_sum && coin)) &&
		    fits(c, node, cluster)) {
			best = cluster;
			best_sum = sum;
		}
	}
	for (uint32_t i = 0; i < n_touched; i++)
		c->sums[c->touched[i]] = 0;
	c->favourite[node] = favourite;
	if (best != own)
		move(c, node, best);
}

static dg_status propagate(struct clustering *c, dg_error *err)
{
	struct dgi_walk walk;
	const struct dgi_arc *arcs;
	uint32_t node, n;
	dg_status st = dgi_walk_begin(&walk, c->pass->graph, c->pass->rng, err);

	c->n_moved = 0;
	*c->pass->n_arcs += c->pass->graph->n_arcs;
	while (!st) {
		st = dgi_walk_next(&walk, &node, &arcs, &n, err);
		if (st || node == NONE)
			break;
		visit(c, node, arcs, n);
		if ((node & 0xffff) == 0)
			st = dgi_progress_add(c->pass->progress, 0, err);
	}
	dgi_walk_end(&walk);
	return st;
}

/*
 * Leaves of a star whose centre is full, and isolated nodes, would keep the graph from shrinking:
 * those that are alone and want the same cluster gather in one of their own.
 */
static dg_status gather_the_lonely(struct clustering *c, dg_error *err)
{
	const uint32_t n = c->pass->graph->n;
	uint32_t *members = calloc((size_t)n + 1, sizeof *members);
	uint32_t *meeting = malloc((size_t)n * sizeof *meeting + 1);
	uint32_t *isolated = malloc(65536 * sizeof *isolated); /* by owner */

	if (!members || !meeting || !isolated) {
		free(members);
		free(meeting);
		free(isolated);
		return dgi_fail_memory(err, "method stream: clusters");
	}
	for (uint32_t v = 0; v < n; v++) {
		members[c->label[v]] += members[c->label[v]] < 2;
		meeting[v] = NONE;
	}
	for (uint32_t p = 0; p < 65536; p++)
		isolated[p] = NONE;
	for (uint32_t v = 0; v < n; v++) {
		uint32_t *place = c->favourite[v] == NONE ? &isolated[c->owners ? c->owners[v] : 0]
							  : &meeting[c->favourite[v]];

		if (members[c->label[v]] != 1)
			continue;
		if (*place != NONE && fits(c, v, *place))
			move(c, v, *place);
		else
			*place = c->label[v];
	}
	free(members);
	free(meeting);
	free(isolated);
	return DG_OK;
}

/* Numbers the clusters in use from 0. */
static uint32_t renumber(struct clustering *c)
{
	const uint32_t n = c->pass->graph->n;
	uint32_t *number = c->favourite;
	uint32_t next = 0;

	for (uint32_t v = 0; v < n; v++)
		number[v] = NONE;
	for (uint32_t v = 0; v < n; v++) {
		if (number[c->label[v]] == NONE)
			number[c->label[v]] = next++;
		c->label[v] = number[c->label[v]];
	}
	return next;
}

dg_status dgi_stream_cluster(const struct dgi_stream_pass *pass, const uint64_t *limits,
			     const uint16_t *owners, uint32_t n_rounds, uint32_t *label,
			     uint32_t *n_clusters, dg_error *err)
{
	struct clustering c = { .pass = pass,
				.limits = limits,
				.owners = owners,
				.n_constraints = pass->weights->n_constraints,
				.label = label };
	dg_status st = clustering_begin(&c, err);

	for (uint32_t round = 0; !st && round < n_rounds; round++) {
		st = propagate(&c, err);
		if (c.n_moved < pass->graph->n / 50)
			break;
	}
	free(c.sums);
	c.sums = NULL;
	if (!st)
		st = gather_the_lonely(&c, err);
	if (!st)
		*n_clusters = renumber(&c);
	clustering_clear(&c);
	return st;
}

/* --- Contraction --- */

/* Calls for each arc between two clusters: counts it, or gives it to the grouper. */
static dg_status each_arc(const struct dgi_stream_pass *pass, const uint32_t *label,
			  uint64_t *counts, struct dgi_grouper *grouper, dg_error *err)
{
	struct dgi_walk walk;
	const struct dgi_arc *arcs;
	uint32_t node, n;
	dg_status st = dgi_walk_begin(&walk, pass->graph, NULL, err);

	*pass->n_arcs += pass->graph->n_arcs;
	while (!st) {
		st = dgi_walk_next(&walk, &node, &arcs, &n, err);
		if (st || node == NONE)
			break;
		for (uint32_t i = 0; !st && i < n; i++) {
			if (label[arcs[i].to] == label[node])
				continue;
			if (counts)
				counts[label[node]]++;
			else
				st = dgi_grouper_add(grouper, label[node], label[arcs[i].to],
						     arcs[i].weight, err);
		}
		if (!st && (node & 0xffff) == 0)
			st = dgi_progress_add(pass->progress, 0, err);
	}
	dgi_walk_end(&walk);
	return st;
}

dg_status dgi_stream_contract(const struct dgi_stream_pass *pass, const uint32_t *label,
			      uint32_t n_clusters, const char *dir, uint64_t budget,
			      struct dgi_adjacency *out, dg_error *err)
{
	uint64_t *counts = calloc((size_t)n_clusters + 1, sizeof *counts);
	struct dgi_grouper *grouper = NULL;
	dg_status st = counts ? each_arc(pass, label, counts, NULL, err)
			      : dgi_fail_memory(err, "method stream: clusters");

	if (!st)
		st = dgi_grouper_open(dir, n_clusters, counts, budget, &grouper, err);
	free(counts);
	if (!st)
		st = each_arc(pass, label, NULL, grouper, err);
	if (!st)
		st = dgi_grouper_finish(grouper, out, err);
	dgi_grouper_close(grouper);
	return st;
}

dg_status dgi_stream_contract_weights(const struct dgi_node_weights *weights, uint32_t n,
				      const uint32_t *label, uint32_t n_clusters,
				      struct dgi_node_weights *out, dg_error *err)
{
	const uint32_t n_constraints = weights->n_constraints;

	*out = *weights;
	out->values = calloc((size_t)n_clusters * n_constraints + 1, sizeof *out->values);
	if (!out->values)
		return dgi_fail_memory(err, "method stream: weights of clusters");
	for (uint32_t v = 0; v < n; v++)
		for (uint32_t k = 0; k < n_constraints; k++) {
			uint32_t *value = &out->values[(size_t)label[v] * n_constraints + k];
			uint32_t more = dgi_node_weight(weights, v, k);

			*value = *value > UINT32_MAX - more ? UINT32_MAX : *value + more;
		}
	return DG_OK;
}
