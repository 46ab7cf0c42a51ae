/* assign.c -- which partition owns which node: the method asked for, and what came of it. */
#include "assign.h"

#include "check.h"
#include "fail.h"
#include "log.h"
#include "methods.h"
#include "rng.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

__extension__ typedef unsigned __int128 uint128; /* both compilers have it */

void dgi_assign_random(uint16_t type, int64_t n_nodes, uint32_t n_parts, uint64_t seed,
		       uint16_t *owners)
{
	const struct dgi_rng rng = dgi_rng_of(seed, type);

	for (int64_t i = 0; i < n_nodes; i++)
		owners[i] = (uint16_t)(((uint128)dgi_rng_at(&rng, (uint64_t)i) * n_parts) >> 64);
}

/* --- A request --- */

static dg_status check_request(const struct dgi_assign_request *r, dg_error *err)
{
	const uint32_t n_trainers = r->n_trainers ? r->n_trainers : 1;

	if (r->n_parts < 1 || r->n_parts > DGI_OWNERS_MAX)
		return dgi_fail(err, DG_INVALID,
				"%" PRIu32 " parts (partitions times trainers), want 1 to %d",
				r->n_parts, DGI_OWNERS_MAX);
	if (r->n_parts % n_trainers != 0)
		return dgi_fail(err, DG_INVALID, "%" PRIu32 " parts for %" PRIu32 " trainers each",
				r->n_parts, n_trainers);
	return DG_OK;
}

/* Owners by joined id lie one type after the other: what methods that see no types write. */
static dg_status by_joined_id(const struct dgi_assign_request *r, const struct dgi_joined *graph,
			      uint16_t *const *owners, struct dgi_assign_report *report,
			      dg_error *err)
{
	const bool one_type = r->source->n_node_types == 1;
	uint16_t *all = one_type ? owners[0] : malloc((size_t)graph->n_nodes * sizeof *all + 1);
	dg_status st;

	if (!all)
		return dgi_fail_memory(err, "owners of nodes");
	st = strcmp(report->method, "metis") == 0 ? dgi_method_metis(r, graph, all, report, err)
						  : dgi_method_stream(r, graph, all, report, err);
	if (one_type)
		return st;
	for (uint16_t t = 0; !st && t < r->source->n_node_types; t++)
		memcpy(owners[t], all + graph->base[t],
		       (size_t)r->source->nodes[t].n * sizeof **owners);
	free(all);
	return st;
}

static void warn_unheeded(const struct dgi_assign_request *r, const char *method)
{
	if (r->balance_types || r->balance_edges || r->objective != DGI_OBJECTIVE_CUT)
		dgi_log(DG_LOG_WARNING, "method %s looks neither at balance nor at an objective",
			method);
}

static dg_status apply_method(const struct dgi_assign_request *r, const struct dgi_joined *graph,
			      uint16_t *const *owners, struct dgi_assign_report *report,
			      dg_error *err)
{
	const struct dgi_source *source = r->source;

	report->n_constraints = 1;
	if (strcmp(report->method, "metis") == 0 || strcmp(report->method, "stream") == 0)
		return by_joined_id(r, graph, owners, report, err);
	warn_unheeded(r, report->method);
	if (strcmp(report->method, "file") == 0)
		return dgi_method_files(r, owners, err);
	for (uint16_t t = 0; t < source->n_node_types; t++)
		dgi_assign_random(t, source->nodes[t].n, r->n_parts, r->seed, owners[t]);
	return DG_OK;
}

static const char *method_name(const char *method)
{
	static const char *const names[] = { "metis", "random", "stream" };

	for (size_t i = 0; i < DGI_COUNT_OF(names); i++)
		if (strcmp(method, names[i]) == 0)
			return names[i];
	return "file";
}

/* --- No part without a node --- */

/* Walks down all types; a node passed by is the only one of its part and stays so. */
static void fill_empty(const struct dgi_source *source, uint32_t n_parts, uint16_t *const *owners,
		       int64_t *counts)
{
	int32_t t = (int32_t)source->n_node_types - 1;
	int64_t i = t >= 0 ? source->nodes[t].n : 0;

	for (uint32_t p = 0; p < n_parts; p++) {
		if (counts[p] > 0)
			continue;
		for (;;) {
			while (i == 0 && t > 0)
				i = source->nodes[--t].n;
			if (i == 0)
				return; /* fewer nodes than parts */
			if (counts[owners[t][--i]] > 1)
				break;
		}
		counts[owners[t][i]]--;
		counts[p]++;
		owners[t][i] = (uint16_t)p;
	}
}

/* --- What came of it --- */

struct tally {
	int64_t *nodes; /* by part; n_parts */
	int64_t *edges; /* n_parts */
};

static dg_status count_nodes(const struct dgi_source *source, uint32_t n_parts,
			     uint16_t *const *owners, int64_t *counts, dg_error *err)
{
	memset(counts, 0, n_parts * sizeof *counts);
	for (uint16_t t = 0; t < source->n_node_types; t++)
		for (int64_t i = 0; i < source->nodes[t].n; i++) {
			if (owners[t][i] >= n_parts)
				return dgi_fail(err, DG_RANGE,
						"node %" PRId64
						" of type '%s' has owner %d of %" PRIu32,
						i, source->nodes[t].name, owners[t][i], n_parts);
			counts[owners[t][i]]++;
		}
	return DG_OK;
}

/* In-edges by part; returns how many are cut. */
static dg_status count_edges(const struct dgi_assign_request *r, uint16_t *const *owners,
			     int64_t *counts, int64_t *cut, dg_error *err)
{
	dg_status st = DG_OK;

	for (uint16_t t = 0; !st && t < r->source->n_edge_types; t++) {
		const uint16_t *of_src = owners[r->source->edges[t].src_type];
		const uint16_t *of_dst = owners[r->source->edges[t].dst_type];
		struct dgi_edge_reader *reader = NULL;
		const dg_id *src, *dst;
		size_t n = 1;

		st = dgi_edge_reader_open(r->source, t, 0, &reader, err);
		while (!st && n > 0) {
			st = dgi_edge_reader_next(reader, &src, &dst, &n, err);
			for (size_t i = 0; !st && i < n; i++) {
				counts[of_dst[dst[i]]]++;
				*cut += of_src[src[i]] != of_dst[dst[i]];
			}
			if (!st)
				st = dgi_progress_add(r->progress, 0, err);
		}
		dgi_edge_reader_close(reader);
	}
	return st;
}

static double balance_of(const int64_t *counts, uint32_t n_parts, int64_t total)
{
	int64_t most = 0;

	for (uint32_t p = 0; p < n_parts; p++)
		if (counts[p] > most)
			most = counts[p];
	return total ? (double)most * n_parts / (double)total : 1;
}

static dg_status measure(const struct dgi_assign_request *r, const struct dgi_joined *graph,
			 uint16_t *const *owners, struct tally *tally,
			 struct dgi_assign_report *report, dg_error *err)
{
	dg_status st = count_nodes(r->source, r->n_parts, owners, tally->nodes, err);

	if (st)
		return st;
	if (strcmp(report->method, "file") != 0)
		fill_empty(r->source, r->n_parts, owners, tally->nodes);
	st = count_edges(r, owners, tally->edges, &report->edges_cut, err);
	report->n_nodes = graph->n_nodes;
	report->n_edges = graph->n_edges;
	report->node_balance = balance_of(tally->nodes, r->n_parts, graph->n_nodes);
	report->edge_balance = balance_of(tally->edges, r->n_parts, graph->n_edges);
	return st;
}

dg_status dgi_assign(const struct dgi_assign_request *request, uint16_t *const *owners,
		     struct dgi_assign_report *report, dg_error *err)
{
	struct dgi_assign_report result = { .method = method_name(request->method) };
	struct dgi_joined graph;
	struct tally tally = { 0 };
	dg_status st = check_request(request, err);

	if (!st)
		st = dgi_joined_make(request->source, &graph, err);
	if (st)
		return st;
	tally.nodes = calloc(request->n_parts, sizeof *tally.nodes);
	tally.edges = calloc(request->n_parts, sizeof *tally.edges);
	st = tally.nodes && tally.edges ? apply_method(request, &graph, owners, &result, err)
					: dgi_fail_memory(err, "counting nodes of parts");
	if (!st)
		st = measure(request, &graph, owners, &tally, &result, err);
	if (!st) {
		*report = result;
		dgi_log(DG_LOG_INFO,
			"method %s: %" PRId64 " of %" PRId64
			" edges cut, the largest part has %.3f of its even share of nodes, %.3f of "
			"edges; %" PRIu32 " passes over the edges",
			result.method, result.edges_cut, result.n_edges, result.node_balance,
			result.edge_balance, result.n_passes);
	}
	free(tally.nodes);
	free(tally.edges);
	dgi_joined_clear(&graph);
	return st;
}
