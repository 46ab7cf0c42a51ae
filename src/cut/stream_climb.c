/*
 * stream_climb.c -- moves that cost first and gain later, on a graph that is in memory.
 *
 * Fiduccia and Mattheyses (1982), k-way: the best move is made whether or not it gains, each node
 * moves once a round, and what follows the best moment is taken back.
 */
#include "stream_levels.h"

#include "fail.h"

#include <stdbool.h>
#include <stdlib.h>

/* A round ends after so many moves without a new best. */
#define FRUITLESS_MIN 64
#define FRUITLESS_MAX 4000
/* The gain of a node with more edges is not brought up to date with each neighbour that moves. */
#define DEGREE_UPDATED 512

struct entry {
	int64_t gain;
	uint32_t tie;
	uint32_t node;
};

struct move {
	uint32_t node;
	uint16_t from;
};

struct climb {
	const struct dgi_stream_pass *pass;
	struct dgi_loads *loads;
	uint16_t *owners;
	uint64_t *sums;	   /* by part */
	uint32_t *touched; /* parts with a sum */
	struct entry *heap;
	size_t n_heap, heap_capacity;
	struct move *moves;
	uint32_t n_moves;
	uint8_t *locked; /* by node: moved in this round */
};

static void climb_clear(struct climb *c)
{
	free(c->sums);
	free(c->touched);
	free(c->heap);
	free(c->moves);
	free(c->locked);
}

static dg_status climb_begin(struct climb *c, dg_error *err)
{
	const uint32_t n = c->pass->graph->n;

	c->sums = calloc(c->loads->n_parts, sizeof *c->sums);
	c->touched = malloc(c->loads->n_parts * sizeof *c->touched);
	c->moves = malloc((size_t)n * sizeof *c->moves + 1);
	c->locked = malloc((size_t)n + 1);
	return c->sums && c->touched && c->moves && c->locked
		       ? DG_OK
		       : dgi_fail_memory(err, "method stream: moves");
}

/* --- The heap: greatest gain first; a node may stand in it several times --- */

static bool before(const struct entry *a, const struct entry *b)
{
	return a->gain != b->gain ? a->gain > b->gain : a->tie > b->tie;
}

static dg_status push(struct climb *c, int64_t gain, uint32_t node, dg_error *err)
{
	const struct entry entry = { gain, (uint32_t)dgi_rng_next(c->pass->rng), node };
	size_t i = c->n_heap;

	if (c->n_heap == c->heap_capacity) {
		size_t capacity = c->heap_capacity ? 2 * c->heap_capacity : 1024;
		struct entry *heap = realloc(c->heap, capacity * sizeof *heap);

		if (!heap)
			return dgi_fail_memory(err, "method stream: moves");
		c->heap = heap;
		c->heap_capacity = capacity;
	}
	c->n_heap++;
	for (; i > 0 && before(&entry, &c->heap[(i - 1) / 2]); i = (i - 1) / 2)
		c->heap[i] = c->heap[(i - 1) / 2];
	c->heap[i] = entry;
	return DG_OK;
}

static struct entry pop(struct climb *c)
{
	const struct entry top = c->heap[0], last = c->heap[--c->n_heap];
	size_t i = 0;

	for (;;) {
		size_t child = 2 * i + 1;

		if (child >= c->n_heap)
			break;
		if (child + 1 < c->n_heap && before(&c->heap[child + 1], &c->heap[child]))
			child++;
		if (!before(&c->heap[child], &last))
			break;
		c->heap[i] = c->heap[child];
		i = child;
	}
	c->heap[i] = last;
	return top;
}

/* --- Moves --- */

static bool has_room(const struct climb *c, uint32_t node, uint32_t part)
{
	const struct dgi_loads *loads = c->loads;

	for (uint32_t k = 0; k < loads->n_constraints; k++) {
		uint64_t w = dgi_node_weight(c->pass->weights, node, k);

		if (w && loads->loads[(size_t)part * loads->n_constraints + k] + w > loads->caps[k])
			return false;
	}
	return true;
}

/* The part a node had best move to, and what that gains; false: none of its neighbours' has room. */
static bool find_move(struct climb *c, uint32_t node, uint32_t *to, int64_t *gain)
{
	const struct dgi_adjacency *graph = c->pass->graph;
	const uint32_t own = c->owners[node];
	uint32_t n_touched = 0;
	uint64_t most = 0, own_sum;

	for (uint64_t i = graph->start[node]; i < graph->start[node + 1]; i++) {
		uint32_t part = c->owners[graph->arcs[i].to];

		if (c->sums[part] == 0)
			c->touched[n_touched++] = part;
		c->sums[part] += graph->arcs[i].weight;
	}
	own_sum = c->sums[own];
	for (uint32_t i = 0; i < n_touched; i++) {
		uint32_t part = c->touched[i];

		if (part != own && c->sums[part] > most && has_room(c, node, part)) {
			most = c->sums[part];
			*to = part;
		}
		c->sums[part] = 0;
	}
	*gain = (int64_t)most - (int64_t)own_sum;
	return most > 0;
}

static void set_owner(struct climb *c, uint32_t node, uint32_t to)
{
	struct dgi_loads *loads = c->loads;

	for (uint32_t k = 0; k < loads->n_constraints; k++) {
		uint64_t w = dgi_node_weight(c->pass->weights, node, k);

		loads->loads[(size_t)c->owners[node] * loads->n_constraints + k] -= w;
		loads->loads[(size_t)to * loads->n_constraints + k] += w;
	}
	c->owners[node] = (uint16_t)to;
}

static dg_status push_node(struct climb *c, uint32_t node, dg_error *err)
{
	uint32_t to;
	int64_t gain;

	return find_move(c, node, &to, &gain) ? push(c, gain, node, err) : DG_OK;
}

static dg_status push_neighbours(struct climb *c, uint32_t node, dg_error *err)
{
	const struct dgi_adjacency *graph = c->pass->graph;
	dg_status st = DG_OK;

	for (uint64_t i = graph->start[node]; !st && i < graph->start[node + 1]; i++) {
		uint32_t u = graph->arcs[i].to;

		if (!c->locked[u] && graph->start[u + 1] - graph->start[u] <= DEGREE_UPDATED)
			st = push_node(c, u, err);
	}
	return st;
}

static uint32_t fruitless_moves(uint32_t n)
{
	const uint32_t wanted = FRUITLESS_MIN + n / 16;

	return wanted < FRUITLESS_MAX ? wanted : FRUITLESS_MAX;
}

/* Sets *gained to what the round brought, 0 or more. */
static dg_status climb_round(struct climb *c, uint64_t *gained, dg_error *err)
{
	const uint32_t n = c->pass->graph->n, patience = fruitless_moves(n);
	int64_t at = 0, best = 0;
	uint32_t best_moves = 0;
	dg_status st = DG_OK;

	c->n_heap = c->n_moves = 0;
	for (uint32_t v = 0; v < n; v++)
		c->locked[v] = 0;
	for (uint32_t v = 0; !st && v < n; v++)
		st = push_node(c, v, err);
	*c->pass->n_arcs += c->pass->graph->n_arcs;
	while (!st && c->n_heap > 0 && c->n_moves - best_moves < patience) {
		const struct entry entry = pop(c);
		uint32_t to = 0;
		int64_t gain;

		if (c->locked[entry.node] || !find_move(c, entry.node, &to, &gain))
			continue;
		if (gain < entry.gain) { /* it was better once */
			st = push(c, gain, entry.node, err);
			continue;
		}
		c->moves[c->n_moves++] = (struct move){ entry.node, c->owners[entry.node] };
		c->locked[entry.node] = 1;
		set_owner(c, entry.node, to);
		at += gain;
		if (at > best) {
			best = at;
			best_moves = c->n_moves;
		}
		st = push_neighbours(c, entry.node, err);
	}
	while (c->n_moves > best_moves) {
		c->n_moves--;
		set_owner(c, c->moves[c->n_moves].node, c->moves[c->n_moves].from);
	}
	*gained = (uint64_t)best;
	return st ? st : dgi_progress_add(c->pass->progress, 0, err);
}

dg_status dgi_stream_climb(const struct dgi_stream_pass *pass, struct dgi_loads *loads,
			   uint32_t n_rounds, uint16_t *owners, uint64_t *cut, dg_error *err)
{
	struct climb c = { .pass = pass, .loads = loads, .owners = owners };
	uint64_t gained = 1;
	dg_status st = climb_begin(&c, err);

	for (uint32_t round = 0; !st && gained > 0 && round < n_rounds; round++) {
		st = climb_round(&c, &gained, err);
		*cut -= gained < *cut ? gained : *cut;
	}
	climb_clear(&c);
	return st;
}
