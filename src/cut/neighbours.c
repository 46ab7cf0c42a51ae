/* neighbours.c -- neighbours of every node, by counting: two passes over the edges, no sort. */
#include "neighbours.h"

#include "fail.h"

#include <inttypes.h>
#include <stdlib.h>

dg_status dgi_neighbours_check(int64_t n_nodes, int64_t n_edges, dg_error *err)
{
	if (n_nodes > DGI_METIS_MAX)
		return dgi_fail(err, DG_UNSUPPORTED,
				"method metis: %" PRId64 " nodes, this METIS can be given %" PRIdMAX
				"; use method stream",
				n_nodes, (intmax_t)DGI_METIS_MAX);
	if (n_edges > DGI_METIS_MAX / 2)
		return dgi_fail(err, DG_UNSUPPORTED,
				"method metis: %" PRId64 " edges, this METIS can be given %" PRIdMAX
				"; use method stream",
				n_edges, (intmax_t)(DGI_METIS_MAX / 2));
	return DG_OK;
}

uint64_t dgi_neighbours_bytes(int64_t n_nodes, int64_t n_edges)
{
	return (uint64_t)n_nodes * 2 * sizeof(idx_t) + (uint64_t)n_edges * 4 * sizeof(idx_t);
}

static dg_status each_edge(const struct dgi_joined *graph, struct dgi_progress *progress,
			   void (*visit)(struct dgi_neighbours *, const dg_id *, const dg_id *,
					 size_t),
			   struct dgi_neighbours *g, dg_error *err)
{
	struct dgi_joined_reader *reader = NULL;
	const dg_id *src, *dst;
	size_t n = 1;
	dg_status st = dgi_joined_open(graph, &reader, err);

	while (!st && n > 0) {
		st = dgi_joined_next(reader, &src, &dst, &n, err);
		if (!st)
			visit(g, src, dst, n);
		if (!st)
			st = dgi_progress_add(progress, n, err);
	}
	dgi_joined_close(reader);
	return st;
}

static void count(struct dgi_neighbours *g, const dg_id *src, const dg_id *dst, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (src[i] != dst[i]) {
			g->start[src[i]]++;
			g->start[dst[i]]++;
		}
}

static void fill(struct dgi_neighbours *g, const dg_id *src, const dg_id *dst, size_t n)
{
	for (size_t i = 0; i < n; i++) /* from the ends down to the starts */
		if (src[i] != dst[i]) {
			g->ids[--g->start[src[i]]] = (idx_t)dst[i];
			g->ids[--g->start[dst[i]]] = (idx_t)src[i];
		}
}

/* Makes equal neighbours one, in place. @place: by node, where it stands in the list at hand. */
static void merge(struct dgi_neighbours *g, idx_t *place)
{
	idx_t kept = 0, stop;

	for (idx_t v = 0; v < g->n; v++)
		place[v] = -1;
	for (idx_t v = 0, i = 0; v < g->n; v++) {
		const idx_t first = kept;

		for (stop = g->start[v + 1]; i < stop; i++) {
			const idx_t u = g->ids[i];

			if (place[u] >= first) {
				g->weights[place[u]]++;
				continue;
			}
			place[u] = kept;
			g->ids[kept] = u;
			g->weights[kept++] = 1;
		}
		g->start[v] = first;
	}
	g->start[g->n] = kept;
}

static dg_status collect(const struct dgi_joined *graph, struct dgi_progress *progress,
			 struct dgi_neighbours *g, dg_error *err)
{
	dg_status st = each_edge(graph, progress, count, g, err);
	size_t ends;

	if (st)
		return st;
	for (idx_t v = 1; v <= g->n; v++)
		g->start[v] += g->start[v - 1];
	ends = (size_t)g->start[g->n];
	g->ids = malloc(ends * sizeof *g->ids + 1);
	if (!g->ids)
		return dgi_fail_memory(err, "method metis");
	return each_edge(graph, progress, fill, g, err);
}

dg_status dgi_neighbours_make(const struct dgi_joined *graph, struct dgi_progress *progress,
			      struct dgi_neighbours *out, dg_error *err)
{
	struct dgi_neighbours g = { 0 };
	idx_t *place = NULL;
	dg_status st = dgi_neighbours_check(graph->n_nodes, graph->n_edges, err);

	if (st)
		return st;
	g.n = (idx_t)graph->n_nodes;
	g.start = calloc((size_t)g.n + 1, sizeof *g.start);
	st = g.start ? collect(graph, progress, &g, err) : dgi_fail_memory(err, "method metis");
	if (!st) {
		g.weights = malloc((size_t)g.start[g.n] * sizeof *g.weights + 1);
		place = malloc((size_t)g.n * sizeof *place + 1);
		if (g.weights && place)
			merge(&g, place);
		else
			st = dgi_fail_memory(err, "method metis");
	}
	free(place);
	if (st)
		dgi_neighbours_clear(&g);
	else
		*out = g;
	return st;
}

void dgi_neighbours_clear(struct dgi_neighbours *g)
{
	free(g->start);
	free(g->ids);
	free(g->weights);
	*g = (struct dgi_neighbours){ 0 };
}
