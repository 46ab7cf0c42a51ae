/* method_stream.c -- method stream: a multilevel cut whose edges stay on disk. */
#include "methods.h"

#include "constraints.h"
#include "fail.h"
#include "log.h"
#include "stream_levels.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MEMORY_DEFAULT ((uint64_t)1 << 30)
#define LEVELS_MAX 32
#define CYCLES 3
#define LEAST_GAIN 0.01 /* of a cycle, for another one */
#define SLACK 0.03	/* above the even share; what is promised is 0.05 */
/* A cluster at most this part of a part's share: smaller ones pack better, fewer are cut faster. */
#define CLUSTERS_PER_PART 32
/* Nodes merged into one from level to level, at most. */
#define MERGE_MOST 8
/* Coarsening ends when a level keeps more than this share of its nodes. */
#define KEPT_MOST 0.9
#define CLUSTER_ROUNDS 3
#define REFINE_ROUNDS 6
#define PLACE_ROUNDS 4
#define CLIMB_ROUNDS 8
/* Arcs visited by attempts at the smallest graph. */
#define ATTEMPT_ARCS 40000000
#define ATTEMPTS_MAX 24

struct level {
	struct dgi_adjacency graph;
	struct dgi_node_weights weights;
	uint32_t *label; /* of its nodes: nodes of the next level */
};

struct stream {
	const struct dgi_assign_request *request;
	const struct dgi_joined *joined;
	struct dgi_constraints constraints;
	uint64_t budget; /* of one adjacency in memory, and of grouping */
	struct dgi_rng rng;
	struct level levels[LEVELS_MAX];
	uint32_t n_levels;
	struct dgi_loads loads;
	uint16_t *owners; /* of the finest graph */
	uint64_t cut;
	uint64_t n_arcs; /* visited by all passes */
};

static struct dgi_stream_pass pass_of(struct stream *s, uint32_t level)
{
	return (struct dgi_stream_pass){ .graph = &s->levels[level].graph,
					 .weights = &s->levels[level].weights,
					 .rng = &s->rng,
					 .progress = s->request->progress,
					 .n_arcs = &s->n_arcs };
}

static void level_clear(struct level *level, bool first)
{
	dgi_adjacency_clear(&level->graph);
	free(level->label);
	if (!first) /* those of the first are the constraints' */
		free(level->weights.values);
	level->label = NULL;
	level->weights.values = NULL;
}

static void drop_levels(struct stream *s, uint32_t kept)
{
	while (s->n_levels > kept) {
		s->n_levels--;
		level_clear(&s->levels[s->n_levels], s->n_levels == 0);
	}
}

/* --- The finest graph --- */

static dg_status each_edge(struct stream *s, uint64_t *counts, struct dgi_grouper *grouper,
			   dg_error *err)
{
	struct dgi_joined_reader *reader = NULL;
	const dg_id *src, *dst;
	size_t n;
	dg_status st = dgi_joined_open(s->joined, &reader, err);

	while (!st) {
		st = dgi_joined_next(reader, &src, &dst, &n, err);
		if (st || n == 0)
			break;
		for (size_t i = 0; !st && i < n; i++) {
			if (src[i] == dst[i])
				continue;
			if (counts) {
				counts[src[i]]++;
				counts[dst[i]]++;
				continue;
			}
			st = dgi_grouper_add(grouper, (uint32_t)src[i], (uint32_t)dst[i], 1, err);
			if (!st)
				st = dgi_grouper_add(grouper, (uint32_t)dst[i], (uint32_t)src[i], 1,
						     err);
		}
		if (!st)
			st = dgi_progress_add(s->request->progress, n, err);
	}
	dgi_joined_close(reader);
	return st;
}

static dg_status make_finest(struct stream *s, dg_error *err)
{
	const uint32_t n = (uint32_t)s->joined->n_nodes;
	struct level *level = &s->levels[0];
	uint64_t *counts = calloc((size_t)n + 1, sizeof *counts);
	struct dgi_grouper *grouper = NULL;
	dg_status st =
		counts ? each_edge(s, counts, NULL, err) : dgi_fail_memory(err, "method stream");

	if (!st)
		st = dgi_grouper_open(s->request->work, n, counts, s->budget, &grouper, err);
	free(counts);
	if (!st)
		st = each_edge(s, NULL, grouper, err);
	level->graph = dgi_adjacency_none();
	if (!st)
		st = dgi_grouper_finish(grouper, &level->graph, err);
	dgi_grouper_close(grouper);
	level->weights = (struct dgi_node_weights){ .n_constraints = s->constraints.n,
						    .values = s->constraints.values,
						    .totals = s->constraints.totals };
	s->n_levels = 1;
	return st;
}

/* --- Down: ever smaller graphs --- */

/* The heaviest a cluster of this level may be. */
static void find_limits(const struct stream *s, const struct level *level, uint64_t *limits)
{
	const uint32_t n_parts = s->request->n_parts;

	for (uint32_t k = 0; k < s->constraints.n; k++) {
		uint64_t total = s->constraints.totals[k];
		uint64_t share = total / n_parts;
		uint64_t end = share / CLUSTERS_PER_PART;
		uint64_t step = total / (level->graph.n + 1) * MERGE_MOST + MERGE_MOST;

		if (end < MERGE_MOST) /* a small graph: fewer clusters will do */
			end = share / 4 < MERGE_MOST ? share / 4 : MERGE_MOST;
		limits[k] = end < step ? end : step;
		if (limits[k] < 1)
			limits[k] = 1;
	}
}

/* Makes the next level; *done: this one is as small as they get. */
static dg_status coarsen_once(struct stream *s, const uint16_t *owners, bool *done, dg_error *err)
{
	struct level *level = &s->levels[s->n_levels - 1];
	struct level *next = &s->levels[s->n_levels];
	const struct dgi_stream_pass pass = pass_of(s, s->n_levels - 1);
	uint64_t limits[DGI_CONSTRAINTS_MAX];
	uint32_t n_clusters = 0;
	dg_status st;

	find_limits(s, level, limits);
	level->label = malloc((size_t)level->graph.n * sizeof *level->label + 1);
	if (!level->label)
		return dgi_fail_memory(err, "method stream");
	st = dgi_stream_cluster(&pass, limits, owners, CLUSTER_ROUNDS, level->label, &n_clusters,
				err);
	*done = !st && n_clusters > KEPT_MOST * level->graph.n;
	if (st || *done) {
		free(level->label);
		level->label = NULL;
		return st;
	}
	*next = (struct level){ .graph = dgi_adjacency_none() };
	st = dgi_stream_contract_weights(&level->weights, level->graph.n, level->label, n_clusters,
					 &next->weights, err);
	s->n_levels++;
	return st ? st
		  : dgi_stream_contract(&pass, level->label, n_clusters, s->request->work,
					s->budget, &next->graph, err);
}

static bool is_small(const struct stream *s)
{
	return s->levels[s->n_levels - 1].graph.n <= 2 * (uint64_t)s->request->n_parts ||
	       s->n_levels == LEVELS_MAX;
}

/* Owners of clusters, of which every member has the same. In place: clusters come in order. */
static void lift(uint16_t *owners, const uint32_t *label, uint32_t n)
{
	for (uint32_t v = 0; v < n; v++)
		owners[label[v]] = owners[v]; /* label[v] <= v */
}

/* With @owners, nodes of different owners stay apart; they become those of the smallest graph. */
static dg_status coarsen(struct stream *s, uint16_t *owners, dg_error *err)
{
	bool done = false;
	dg_status st = DG_OK;

	while (!st && !done && !is_small(s)) {
		struct level *level = &s->levels[s->n_levels - 1];

		st = coarsen_once(s, owners, &done, err);
		if (!st && !done && owners)
			lift(owners, level->label, level->graph.n);
	}
	return st;
}

/* --- At the smallest graph --- */

static dg_status improve(struct stream *s, uint32_t level, uint16_t *owners, uint64_t *cut,
			 dg_error *err)
{
	const struct dgi_stream_pass pass = pass_of(s, level);
	dg_status st = dgi_stream_refine(&pass, &s->loads, REFINE_ROUNDS, owners, cut, err);

	if (!st && pass.graph->start)
		st = dgi_stream_climb(&pass, &s->loads, CLIMB_ROUNDS, owners, cut, err);
	return st;
}

static dg_status attempt(struct stream *s, bool grow, uint16_t *owners, uint64_t *cut,
			 dg_error *err)
{
	const struct dgi_stream_pass pass = pass_of(s, s->n_levels - 1);
	dg_status st = grow ? dgi_stream_grow(&pass, &s->loads, owners, err)
			    : dgi_stream_place(&pass, &s->loads, PLACE_ROUNDS, owners, err);

	return st ? st : improve(s, s->n_levels - 1, owners, cut, err);
}

/* Is one better than the other? What does not fit counts first. */
static bool better(double excess, uint64_t cut, double other_excess, uint64_t other_cut)
{
	if (excess != other_excess)
		return excess < other_excess;
	return cut < other_cut;
}

/* Several attempts, as many as the size of the graph allows; the best is kept. */
static dg_status place(struct stream *s, dg_error *err)
{
	const struct dgi_adjacency *graph = &s->levels[s->n_levels - 1].graph;
	uint64_t n_attempts = graph->start ? ATTEMPT_ARCS / (graph->n_arcs + graph->n + 1) : 1;
	uint16_t *owners = malloc((size_t)graph->n * sizeof *owners + 1);
	double least_excess = 0;
	dg_status st = owners ? DG_OK : dgi_fail_memory(err, "method stream");

	if (n_attempts > ATTEMPTS_MAX)
		n_attempts = ATTEMPTS_MAX;
	if (n_attempts < 1)
		n_attempts = 1;
	for (uint64_t i = 0; !st && i < n_attempts; i++) {
		uint64_t cut = 0;
		double excess;

		st = attempt(s, i % 2 == 1, owners, &cut, err);
		excess = dgi_loads_excess(&s->loads);
		if (st || (i > 0 && !better(excess, cut, least_excess, s->cut)))
			continue;
		least_excess = excess;
		s->cut = cut;
		memcpy(s->owners, owners, graph->n * sizeof *owners);
	}
	free(owners);
	return st;
}

/* --- Up again --- */

/* From the smallest graph to the finest, of which the owners are then. */
static dg_status uncoarsen(struct stream *s, dg_error *err)
{
	dg_status st = DG_OK;

	for (;;) {
		const uint32_t level = s->n_levels - 1;

		st = improve(s, level, s->owners, &s->cut, err);
		if (st || level == 0)
			return st;
		drop_levels(s, level);
		for (uint32_t v = s->levels[level - 1].graph.n; v-- > 0;)
			s->owners[v] = s->owners[s->levels[level - 1].label[v]]; /* label[v] <= v */
		free(s->levels[level - 1].label);
		s->levels[level - 1].label = NULL;
	}
}

static dg_status first_cycle(struct stream *s, dg_error *err)
{
	dg_status st = coarsen(s, NULL, err);

	if (!st)
		st = place(s, err);
	return st ? st : uncoarsen(s, err);
}

/* Merges only what is together already: whole groups can be moved that no single node leaves. */
static dg_status further_cycle(struct stream *s, dg_error *err)
{
	dg_status st = coarsen(s, s->owners, err);

	return st ? st : uncoarsen(s, err);
}

static dg_status run(struct stream *s, dg_error *err)
{
	const struct dgi_assign_request *r = s->request;
	uint64_t before;
	dg_status st = dgi_constraints_make(s->joined, r->n_parts, r->balance_types,
					    r->balance_edges, r->progress, &s->constraints, err);

	if (!st)
		st = make_finest(s, err);
	if (!st)
		st = dgi_loads_make(&s->levels[0].weights, r->n_parts, SLACK, &s->loads, err);
	if (!st)
		st = first_cycle(s, err);
	before = s->cut;
	for (int i = 1; !st && i < CYCLES; i++) {
		st = further_cycle(s, err);
		if ((double)s->cut > (1 - LEAST_GAIN) * (double)before)
			break;
		before = s->cut;
	}
	return st;
}

/* Over all edges: two to group them, then what all levels together make up. */
static uint32_t n_passes(const struct stream *s)
{
	const uint64_t n_arcs = s->n_levels ? s->levels[0].graph.n_arcs : 0;

	return 2 + (n_arcs ? (uint32_t)((s->n_arcs + n_arcs - 1) / n_arcs) : 0);
}

dg_status dgi_method_stream(const struct dgi_assign_request *request,
			    const struct dgi_joined *graph, uint16_t *owners,
			    struct dgi_assign_report *report, dg_error *err)
{
	struct stream s = { .request = request, .joined = graph, .owners = owners };
	uint64_t memory = request->memory ? request->memory : MEMORY_DEFAULT;
	dg_status st;

	if (graph->n_nodes > DGI_STREAM_NODES_MAX)
		return dgi_fail(err, DG_UNSUPPORTED,
				"method stream: %" PRId64 " nodes, it counts to %" PRIu32
				"; use method random",
				graph->n_nodes, DGI_STREAM_NODES_MAX);
	if (request->objective != DGI_OBJECTIVE_CUT)
		return dgi_fail(err, DG_UNSUPPORTED,
				"method stream: it has the objective cut only; vol needs metis");
	s.budget = memory / 4;
	s.rng = dgi_rng_of(request->seed, 0x73747265616d);
	st = run(&s, err);
	report->n_passes = n_passes(&s);
	report->n_constraints = s.constraints.n;
	drop_levels(&s, 0);
	dgi_loads_clear(&s.loads);
	dgi_constraints_clear(&s.constraints);
	return st;
}
