/* assign_metis.c -- a cut by METIS, on the graph as METIS wants it. */
#include "assign.h"

#include "fail.h"

#include <inttypes.h>
#include <metis.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Neighbours without directions, duplicates and loops. */
struct neighbours {
	idx_t *start; /* n_nodes + 1 */
	idx_t *ids;
};

static void neighbours_free(struct neighbours *g)
{
	free(g->start);
	free(g->ids);
}

static dg_status too_large(int64_t n, const char *what, dg_error *err)
{
	return dgi_fail(err, DG_UNSUPPORTED,
			"method metis: %" PRId64 " %s, this METIS counts to %" PRIdMAX
			"; use method random",
			n, what, (intmax_t)IDX_MAX);
}

/*
 * Both ends of every edge, duplicates and all: ids of the neighbours of v are [start[v],
 * start[v + 1]) of *ids.
 */
static dg_status collect(int64_t n_nodes, int64_t n_edges, const dg_id *src, const dg_id *dst,
			 int64_t *start, idx_t **ids, dg_error *err)
{
	for (int64_t e = 0; e < n_edges; e++)
		if (src[e] != dst[e]) {
			start[src[e]]++;
			start[dst[e]]++;
		}
	for (int64_t v = 1; v <= n_nodes; v++)
		start[v] += start[v - 1];
	*ids = malloc((size_t)start[n_nodes] * sizeof **ids + 1);
	if (!*ids)
		return dgi_fail_memory(err, "method metis");
	for (int64_t e = 0; e < n_edges; e++) /* from the ends down to the starts */
		if (src[e] != dst[e]) {
			(*ids)[--start[src[e]]] = (idx_t)dst[e];
			(*ids)[--start[dst[e]]] = (idx_t)src[e];
		}
	return DG_OK;
}

/* Keeps one of equal neighbours, in place. Fails with UNSUPPORTED. */
static dg_status deduplicate(int64_t n_nodes, const int64_t *start, idx_t *last_seen,
			     struct neighbours *g, dg_error *err)
{
	int64_t kept = 0;

	for (int64_t v = 0; v < n_nodes; v++)
		last_seen[v] = -1;
	for (int64_t v = 0; v < n_nodes; v++) {
		g->start[v] = (idx_t)kept;
		for (int64_t i = start[v]; i < start[v + 1]; i++) {
			idx_t u = g->ids[i];

			if (last_seen[u] == v)
				continue;
			last_seen[u] = (idx_t)v;
			g->ids[kept++] = u;
		}
		if (kept > IDX_MAX)
			return too_large(kept, "or more ends of edges", err);
	}
	g->start[n_nodes] = (idx_t)kept;
	return DG_OK;
}

static dg_status neighbours_of(int64_t n_nodes, int64_t n_edges, const dg_id *src, const dg_id *dst,
			       struct neighbours *out, dg_error *err)
{
	struct neighbours g = { 0 };
	int64_t *start = calloc((size_t)n_nodes + 1, sizeof *start);
	idx_t *last_seen = malloc((size_t)n_nodes * sizeof *last_seen);
	dg_status st;

	g.start = malloc(((size_t)n_nodes + 1) * sizeof *g.start);
	if (!start || !last_seen || !g.start)
		st = dgi_fail_memory(err, "method metis");
	else
		st = collect(n_nodes, n_edges, src, dst, start, &g.ids, err);
	if (!st)
		st = deduplicate(n_nodes, start, last_seen, &g, err);
	free(start);
	free(last_seen);
	if (st)
		neighbours_free(&g);
	else
		*out = g;
	return st;
}

static dg_status status_of(int result, dg_error *err)
{
	switch (result) {
	case METIS_OK:
		return DG_OK;
	case METIS_ERROR_MEMORY:
		return dgi_fail_memory(err, "method metis");
	case METIS_ERROR:
		return dgi_fail(err, DG_CANCELLED, "METIS was ended by SIGTERM or by itself");
	default:
		return dgi_fail(err, DG_INVALID, "METIS refused the graph (%d)", result);
	}
}

static dg_status run_metis(int64_t n_nodes, struct neighbours *g, uint32_t n_parts, uint64_t seed,
			   idx_t *parts, dg_error *err)
{
	/* rand() and METIS's signal handlers are the process's. */
	static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
	idx_t options[METIS_NOPTIONS];
	idx_t n = (idx_t)n_nodes;
	idx_t n_constraints = 1;
	idx_t k = (idx_t)n_parts;
	idx_t edges_cut;
	int result;

	METIS_SetDefaultOptions(options);
	options[METIS_OPTION_OBJTYPE] = METIS_OBJTYPE_CUT;
	options[METIS_OPTION_SEED] = (idx_t)((seed ^ seed >> 32) & INT32_MAX);
	(void)pthread_mutex_lock(&one_at_a_time);
	result = METIS_PartGraphKway(&n, &n_constraints, g->start, g->ids, NULL, NULL, NULL, &k,
				     NULL, NULL, options, &edges_cut, parts);
	(void)pthread_mutex_unlock(&one_at_a_time);
	return status_of(result, err);
}

/* METIS is not asked about a graph without edges: any even cut is as good. */
static void assign_evenly(int64_t n_nodes, uint32_t n_parts, uint16_t *owners)
{
	for (int64_t i = 0; i < n_nodes; i++)
		owners[i] = (uint16_t)(i % n_parts);
}

dg_status dgi_assign_metis(int64_t n_nodes, int64_t n_edges, const dg_id *src, const dg_id *dst,
			   uint32_t n_parts, uint64_t seed, uint16_t *owners, dg_error *err)
{
	struct neighbours g;
	idx_t *parts;
	dg_status st;

	if (n_nodes >= IDX_MAX)
		return too_large(n_nodes, "nodes", err);
	st = neighbours_of(n_nodes, n_edges, src, dst, &g, err);
	if (st)
		return st;
	if (n_parts == 1 || g.start[n_nodes] == 0) {
		assign_evenly(n_nodes, n_parts, owners);
		neighbours_free(&g);
		return DG_OK;
	}
	parts = malloc((size_t)n_nodes * sizeof *parts);
	st = parts ? run_metis(n_nodes, &g, n_parts, seed, parts, err)
		   : dgi_fail_memory(err, "method metis");
	for (int64_t i = 0; !st && i < n_nodes; i++)
		owners[i] = (uint16_t)parts[i];
	free(parts);
	neighbours_free(&g);
	return st;
}
