/*
 * stream_grow.c -- parts grown one after the other on a graph that is in memory, each from a node
 * drawn, by the node with the heaviest edges into it: good where streaming is bad, at long chains.
 */
#include "stream_levels.h"

#include "fail.h"

#include <stdbool.h>
#include <stdlib.h>

#define NOWHERE UINT16_MAX

struct entry {
	uint64_t sum;
	uint32_t node;
};

struct grow {
	const struct dgi_stream_pass *pass;
	struct dgi_loads *loads;
	uint16_t *owners;
	uint64_t *sums;	    /* by node: weight of its edges into the part that grows */
	struct entry *heap; /* greatest sum first; a node may stand in it several times */
	size_t n_heap;	    /* never above the number of arcs */
	uint32_t *order;    /* of seeds */
	uint32_t next_seed;
};

static void push(struct grow *g, uint64_t sum, uint32_t node)
{
	size_t i = g->n_heap++;

	for (; i > 0 && sum > g->heap[(i - 1) / 2].sum; i = (i - 1) / 2)
		g->heap[i] = g->heap[(i - 1) / 2];
	g->heap[i] = (struct entry){ sum, node };
}

static struct entry pop(struct grow *g)
{
	const struct entry top = g->heap[0], last = g->heap[--g->n_heap];
	size_t i = 0;

	for (size_t child = 1; child < g->n_heap; child = 2 * i + 1) {
		if (child + 1 < g->n_heap && g->heap[child + 1].sum > g->heap[child].sum)
			child++;
		if (g->heap[child].sum <= last.sum)
			break;
		g->heap[i] = g->heap[child];
		i = child;
	}
	g->heap[i] = last;
	return top;
}

/* Would the node bring the part above its even share of any constraint? */
static bool is_too_much(const struct grow *g, uint32_t part, uint32_t node)
{
	const struct dgi_loads *loads = g->loads;

	for (uint32_t k = 0; k < loads->n_constraints; k++) {
		uint64_t w = dgi_node_weight(g->pass->weights, node, k);
		uint64_t load = loads->loads[(size_t)part * loads->n_constraints + k];
		uint64_t share = g->pass->weights->totals[k] / loads->n_parts;

		if (w && load + w / 2 > share)
			return true;
	}
	return false;
}

static void take(struct grow *g, uint32_t part, uint32_t node)
{
	const struct dgi_adjacency *graph = g->pass->graph;

	for (uint32_t k = 0; k < g->loads->n_constraints; k++)
		g->loads->loads[(size_t)part * g->loads->n_constraints + k] +=
			dgi_node_weight(g->pass->weights, node, k);
	g->owners[node] = (uint16_t)part;
	for (uint64_t i = graph->start[node]; i < graph->start[node + 1]; i++) {
		uint32_t u = graph->arcs[i].to;

		if (g->owners[u] != NOWHERE)
			continue;
		g->sums[u] += graph->arcs[i].weight;
		push(g, g->sums[u], u);
	}
}

static bool draw_seed(struct grow *g, uint32_t *node)
{
	while (g->next_seed < g->pass->graph->n && g->owners[g->order[g->next_seed]] != NOWHERE)
		g->next_seed++;
	if (g->next_seed == g->pass->graph->n)
		return false;
	*node = g->order[g->next_seed++];
	return true;
}

/* Fills a part to its share; what it touched is forgotten. */
static void grow_part(struct grow *g, uint32_t part)
{
	uint32_t node;

	for (;;) {
		if (g->n_heap > 0)
			node = pop(g).node;
		else if (!draw_seed(g, &node))
			break;
		if (g->owners[node] != NOWHERE)
			continue;
		if (is_too_much(g, part, node))
			break;
		take(g, part, node);
	}
	for (size_t i = 0; i < g->n_heap; i++)
		g->sums[g->heap[i].node] = 0;
	g->n_heap = 0;
}

static void shuffle(struct grow *g)
{
	for (uint32_t i = 0; i < g->pass->graph->n; i++) {
		uint32_t j = (uint32_t)dgi_rng_below(g->pass->rng, (uint64_t)i + 1);

		g->order[i] = g->order[j];
		g->order[j] = i;
	}
}

/* The last part takes what is left; refining brings the rest into balance. */
static void grow_all(struct grow *g)
{
	const uint32_t n = g->pass->graph->n;

	shuffle(g);
	for (uint32_t v = 0; v < n; v++)
		g->owners[v] = NOWHERE;
	for (uint32_t p = 0; p < g->loads->n_parts; p++) {
		g->next_seed = 0;
		grow_part(g, p);
	}
	for (uint32_t v = 0, p = 0; v < n; v++)
		if (g->owners[v] == NOWHERE)
			g->owners[v] = (uint16_t)(p++ % g->loads->n_parts);
	dgi_loads_count(g->loads, g->pass->weights, n, g->owners);
}

dg_status dgi_stream_grow(const struct dgi_stream_pass *pass, struct dgi_loads *loads,
			  uint16_t *owners, dg_error *err)
{
	const uint32_t n = pass->graph->n;
	struct grow g = { .pass = pass, .loads = loads, .owners = owners };
	dg_status st = DG_OK;

	for (size_t i = 0; i < (size_t)loads->n_parts * loads->n_constraints; i++)
		loads->loads[i] = 0;
	g.sums = calloc((size_t)n + 1, sizeof *g.sums);
	g.order = malloc((size_t)n * sizeof *g.order + 1);
	g.heap = malloc((size_t)pass->graph->n_arcs * sizeof *g.heap + 1);
	if (g.sums && g.order && g.heap)
		grow_all(&g);
	else
		st = dgi_fail_memory(err, "method stream: growing partitions");
	*pass->n_arcs += pass->graph->n_arcs;
	free(g.sums);
	free(g.order);
	free(g.heap);
	return st;
}
