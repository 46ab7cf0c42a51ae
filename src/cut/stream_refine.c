/* stream_refine.c -- nodes placed in parts and moved between them, within balance. */
#include "stream_levels.h"

#include "fail.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define NOWHERE UINT16_MAX
/* Parts looked at for one with much room; all of them when there are no more. */
#define SAMPLED_PARTS 32
/* Rounds go on while one gains more than this share of the cut. */
#define LEAST_GAIN 0.002

/* --- Loads --- */

dg_status dgi_loads_make(const struct dgi_node_weights *weights, uint32_t n_parts, double slack,
			 struct dgi_loads *out, dg_error *err)
{
	struct dgi_loads loads = { .n_parts = n_parts, .n_constraints = weights->n_constraints };

	loads.loads = calloc((size_t)n_parts * loads.n_constraints, sizeof *loads.loads);
	loads.caps = calloc(loads.n_constraints, sizeof *loads.caps);
	if (!loads.loads || !loads.caps) {
		dgi_loads_clear(&loads);
		return dgi_fail_memory(err, "method stream: loads of partitions");
	}
	for (uint32_t k = 0; k < loads.n_constraints; k++) {
		uint64_t share = weights->totals[k] / n_parts + (weights->totals[k] % n_parts != 0);
		double wanted = (double)weights->totals[k] / n_parts * (1 + slack);

		loads.caps[k] = wanted > (double)share ? (uint64_t)wanted : share;
	}
	*out = loads;
	return DG_OK;
}

void dgi_loads_clear(struct dgi_loads *loads)
{
	free(loads->loads);
	free(loads->caps);
	*loads = (struct dgi_loads){ 0 };
}

static void load_move(struct dgi_loads *loads, const struct dgi_node_weights *weights,
		      uint32_t node, uint32_t from, uint32_t to)
{
	for (uint32_t k = 0; k < loads->n_constraints; k++) {
		uint64_t w = dgi_node_weight(weights, node, k);

		if (from != NOWHERE)
			loads->loads[(size_t)from * loads->n_constraints + k] -= w;
		loads->loads[(size_t)to * loads->n_constraints + k] += w;
	}
}

void dgi_loads_count(struct dgi_loads *loads, const struct dgi_node_weights *weights, uint32_t n,
		     const uint16_t *owners)
{
	memset(loads->loads, 0,
	       (size_t)loads->n_parts * loads->n_constraints * sizeof *loads->loads);
	for (uint32_t v = 0; v < n; v++)
		load_move(loads, weights, v, NOWHERE, owners[v]);
}

/* Of a part, with a node's weight or none; 1: full. */
static double fullness(const struct dgi_loads *loads, const struct dgi_node_weights *weights,
		       uint32_t node, uint32_t part)
{
	double most = 0;

	for (uint32_t k = 0; k < loads->n_constraints; k++) {
		uint64_t load = loads->loads[(size_t)part * loads->n_constraints + k];
		double full;

		if (weights)
			load += dgi_node_weight(weights, node, k);
		full = loads->caps[k] ? (double)load / (double)loads->caps[k] : 0;
		if (full > most)
			most = full;
	}
	return most;
}

double dgi_loads_excess(const struct dgi_loads *loads)
{
	double most = 0;

	for (uint32_t p = 0; p < loads->n_parts; p++) {
		double excess = fullness(loads, NULL, 0, p) - 1;

		if (excess > most)
			most = excess;
	}
	return most;
}

/* --- A pass over the nodes --- */

struct mover {
	const struct dgi_stream_pass *pass;
	struct dgi_loads *loads;
	uint16_t *owners;
	uint64_t *sums;	   /* by part: weight of the edges of the node at hand */
	uint32_t *touched; /* parts with a sum */
	uint32_t n_touched;
	double price;  /* of Fennel, per weight of the node and root of the load */
	uint64_t cut;  /* seen in this round: each edge twice */
	uint64_t gain; /* of this round */
	uint64_t n_moved;
};

static dg_status mover_begin(struct mover *m, dg_error *err)
{
	m->sums = calloc(m->loads->n_parts, sizeof *m->sums);
	m->touched = malloc(m->loads->n_parts * sizeof *m->touched);
	return m->sums && m->touched ? DG_OK : dgi_fail_memory(err, "method stream: partitions");
}

static void mover_clear(struct mover *m)
{
	free(m->sums);
	free(m->touched);
}

static void sum_edges(struct mover *m, const struct dgi_arc *arcs, uint32_t n)
{
	m->n_touched = 0;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t part = m->owners[arcs[i].to];

		if (part == NOWHERE)
			continue;
		if (m->sums[part] == 0)
			m->touched[m->n_touched++] = part;
		m->sums[part] += arcs[i].weight;
	}
}

static void forget_sums(struct mover *m)
{
	for (uint32_t i = 0; i < m->n_touched; i++)
		m->sums[m->touched[i]] = 0;
}

static bool has_room(const struct mover *m, uint32_t node, uint32_t part)
{
	const struct dgi_loads *loads = m->loads;

	for (uint32_t k = 0; k < loads->n_constraints; k++) {
		uint64_t w = dgi_node_weight(m->pass->weights, node, k);

		if (w && loads->loads[(size_t)part * loads->n_constraints + k] + w > loads->caps[k])
			return false;
	}
	return true;
}

/* The least full part for a node, among some; among all where none of those has room. */
static uint32_t emptiest(const struct mover *m, uint32_t node)
{
	const uint32_t n_parts = m->loads->n_parts;
	bool all = n_parts <= SAMPLED_PARTS;
	uint32_t best = 0;
	double least;

	for (;;) {
		least = INFINITY;
		for (uint32_t i = 0; i < (all ? n_parts : SAMPLED_PARTS); i++) {
			uint32_t part = all ? i : (uint32_t)dgi_rng_below(m->pass->rng, n_parts);
			double full = fullness(m->loads, m->pass->weights, node, part);

			if (full < least) {
				least = full;
				best = part;
			}
		}
		if (all || least <= 1)
			return best;
		all = true;
	}
}

static void move(struct mover *m, uint32_t node, uint32_t to)
{
	load_move(m->loads, m->pass->weights, node, m->owners[node], to);
	m->owners[node] = (uint16_t)to;
	m->n_moved++;
}

static dg_status each_node(struct mover *m, void (*visit)(struct mover *, uint32_t), dg_error *err)
{
	struct dgi_walk walk;
	const struct dgi_arc *arcs;
	uint32_t node, n;
	dg_status st = dgi_walk_begin(&walk, m->pass->graph, m->pass->rng, err);

	m->cut = m->gain = m->n_moved = 0;
	*m->pass->n_arcs += m->pass->graph->n_arcs;
	while (!st) {
		st = dgi_walk_next(&walk, &node, &arcs, &n, err);
		if (st || node == UINT32_MAX)
			break;
		sum_edges(m, arcs, n);
		visit(m, node);
		forget_sums(m);
		if ((node & 0xffff) == 0)
			st = dgi_progress_add(m->pass->progress, 0, err);
	}
	dgi_walk_end(&walk);
	return st;
}

/* --- Placing --- */

static double worth(const struct mover *m, uint32_t node, uint32_t part)
{
	const struct dgi_loads *loads = m->loads;
	double price = 0;

	for (uint32_t k = 0; k < loads->n_constraints; k++) {
		double cap = (double)loads->caps[k];
		double load = (double)loads->loads[(size_t)part * loads->n_constraints + k];

		if (cap > 0)
			price +=
				dgi_node_weight(m->pass->weights, node, k) / cap * sqrt(load / cap);
	}
	return (double)m->sums[part] - m->price * price;
}

static void place(struct mover *m, uint32_t node)
{
	uint32_t best = m->owners[node];
	double most = -INFINITY;

	if (best != NOWHERE && has_room(m, node, best))
		most = worth(m, node, best);
	for (uint32_t i = 0; i <= m->n_touched; i++) {
		uint32_t part = i < m->n_touched ? m->touched[i] : emptiest(m, node);
		double value;

		if (part == m->owners[node] || !has_room(m, node, part))
			continue;
		value = worth(m, node, part);
		if (value > most) {
			most = value;
			best = part;
		}
	}
	if (best == NOWHERE)
		best = emptiest(m, node);
	if (best != m->owners[node])
		move(m, node, best);
}

dg_status dgi_stream_place(const struct dgi_stream_pass *pass, struct dgi_loads *loads,
			   uint32_t n_rounds, uint16_t *owners, dg_error *err)
{
	struct mover m = { .pass = pass, .loads = loads, .owners = owners };
	dg_status st = mover_begin(&m, err);

	memset(loads->loads, 0,
	       (size_t)loads->n_parts * loads->n_constraints * sizeof *loads->loads);
	for (uint32_t v = 0; v < pass->graph->n; v++)
		owners[v] = NOWHERE;
	/* Fennel's price, 3/2 sqrt(k) m / n^(3/2) times the root of the load, with loads in caps. */
	m.price = 1.5 * (double)pass->graph->weight / 2 / loads->n_parts / loads->n_constraints;
	for (uint32_t round = 0; !st && round < n_rounds; round++)
		st = each_node(&m, place, err);
	mover_clear(&m);
	return st;
}

/* --- Refining --- */

static void refine(struct mover *m, uint32_t node)
{
	const uint32_t own = m->owners[node];
	const double own_fullness = fullness(m->loads, NULL, 0, own);
	const bool must_leave = own_fullness > 1;
	uint64_t total = 0, best_sum = 0;
	uint32_t best = own;
	double best_fullness = INFINITY;

	for (uint32_t i = 0; i < m->n_touched; i++) {
		uint32_t part = m->touched[i];
		uint64_t sum = m->sums[part];
		double full;

		total += sum;
		if (part == own || sum < best_sum || (!must_leave && sum < m->sums[own]) ||
		    !has_room(m, node, part))
			continue;
		full = fullness(m->loads, m->pass->weights, node, part);
		if (sum > best_sum || full < best_fullness) {
			best = part;
			best_sum = sum;
			best_fullness = full;
		}
	}
	m->cut += total - m->sums[own];
	if (best == own && must_leave) {
		best = emptiest(m, node);
		best_sum = m->sums[best];
		best_fullness = fullness(m->loads, m->pass->weights, node, best);
		if (best_fullness >= own_fullness)
			return;
	}
	if (best == own ||
	    (!must_leave && best_sum == m->sums[own] && best_fullness >= own_fullness))
		return;
	if (best_sum > m->sums[own])
		m->gain += best_sum - m->sums[own];
	move(m, node, best);
}

static void count(struct mover *m, uint32_t node)
{
	for (uint32_t i = 0; i < m->n_touched; i++)
		if (m->touched[i] != m->owners[node])
			m->cut += m->sums[m->touched[i]];
}

dg_status dgi_stream_refine(const struct dgi_stream_pass *pass, struct dgi_loads *loads,
			    uint32_t n_rounds, uint16_t *owners, uint64_t *cut, dg_error *err)
{
	struct mover m = { .pass = pass, .loads = loads, .owners = owners };
	dg_status st = mover_begin(&m, err);

	dgi_loads_count(loads, pass->weights, pass->graph->n, owners);
	for (uint32_t round = 0; !st && round < n_rounds; round++) {
		st = each_node(&m, refine, err);
		if (m.n_moved == 0 || ((double)m.gain < LEAST_GAIN * (double)m.cut / 2 &&
				       dgi_loads_excess(loads) <= 0))
			break;
	}
	if (!st && m.n_moved > 0)
		st = each_node(&m, count, err);
	*cut = m.cut / 2;
	mover_clear(&m);
	return st;
}
