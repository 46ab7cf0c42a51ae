/* plan_make.c -- dg_plan_make(): counts from files, and what each method makes of them. */
#include <distgraph/plan.h>

#include "estimate.h"
#include "fail.h"
#include "neighbours.h"
#include "sample.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Of the tables between reading and writing, beside ids both ways: row pointers, degrees, owners. */
#define PIPELINE_NODE_BYTES 20
#define PIPELINE_FIXED_BYTES ((uint64_t)12 << 20)
/* Numbers that an edge takes in memory while it is sorted, and on disk while it is cut. */
#define SORTED_EDGE_NUMBERS 3
/* In temporary files: an edge as it was read, in its order both ways, in a bucket, as one that leaves. */
#define WORK_EDGE_ENDS 2
#define WORK_EDGE_NUMBERS 10
#define WORK_NODE_BYTES 40
#define PIPELINE_SECONDS_PER_EDGE 1.5e-6
/* Of a store without anything in it: room that its three files take beforehand. */
#define EMPTY_STORE_BYTES ((uint64_t)13 << 18)
/* Id and row pointer of a node in a halo. */
#define HALO_NODE_IDS 2

static dg_status count(const dg_plan_options *o, dg_plan *plan, dg_error *err)
{
	bool exact_edges = true, exact_nodes = true, numbers = true;
	int64_t largest = -1;
	dg_status st = DG_OK;

	for (size_t i = 0; !st && i < o->n_paths; i++) {
		struct dgi_sample s;

		st = dgi_sample_file(o->paths[i], &s, err);
		if (st)
			return st;
		if (__builtin_add_overflow(plan->n_edges, s.n_edges, &plan->n_edges))
			return dgi_fail(err, DG_RANGE, "more edges than 64 bits hold");
		exact_edges &= s.exact_edges;
		exact_nodes &= s.exact_nodes;
		numbers &= s.numbers || s.n_edges == 0;
		largest = s.largest > largest ? s.largest : largest;
	}
	if (o->n_edges > 0) {
		plan->n_edges = o->n_edges;
		exact_edges = true;
	}
	if (o->n_nodes > 0) {
		plan->n_nodes = o->n_nodes;
		exact_nodes = true;
	} else if (!numbers) {
		return dgi_fail(err, DG_INVALID,
				"ids are no numbers: the number of nodes must be told");
	} else {
		plan->n_nodes = largest < INT64_MAX ? largest + 1 : largest;
	}
	plan->sampled = !exact_edges || !exact_nodes;
	return DG_OK;
}

static uint64_t id_bytes(int64_t n)
{
	return n > INT32_MAX ? 8 : 4;
}

static int64_t largest_count(const dg_plan *plan)
{
	return plan->n_edges > plan->n_nodes ? plan->n_edges : plan->n_nodes;
}

/* Neighbours, both id tables, degrees, row pointers, the halo at its worst; rows; empty files. */
static uint64_t store_bytes(const dg_plan_options *o, const dg_plan *plan)
{
	const uint64_t of_node = id_bytes(plan->n_nodes), of_edge = id_bytes(plan->n_edges);
	const uint64_t n = (uint64_t)plan->n_nodes, m = (uint64_t)plan->n_edges;
	const uint64_t others = n * (o->n_parts - 1); /* all nodes in each halo */
	const uint64_t halo_edges = o->n_parts > 1 ? m * (of_node + of_edge) : 0;
	const uint64_t halo_nodes = (m < others ? m : others) * HALO_NODE_IDS * of_edge;
	const uint64_t edges = m * (of_node + 2 * of_edge + o->edge_row_bytes) + halo_edges;
	const uint64_t nodes = n * (3 * of_node + 2 * of_edge + o->node_row_bytes) + halo_nodes;

	return edges + edges / 16 + nodes + nodes / 16 + o->n_parts * EMPTY_STORE_BYTES;
}

/* What stands on disk between reading and writing. */
static uint64_t work_bytes(const dg_plan_options *o, const dg_plan *plan)
{
	const uint64_t n = (uint64_t)plan->n_nodes, m = (uint64_t)plan->n_edges;
	const uint64_t edge = WORK_EDGE_ENDS * id_bytes(plan->n_nodes) +
			      WORK_EDGE_NUMBERS * id_bytes(largest_count(plan));

	return m * (edge + o->edge_row_bytes) + n * (WORK_NODE_BYTES + o->node_row_bytes);
}

static void plan_method(const dg_plan_options *o, const dg_plan *plan, const char *name,
			struct dgi_estimate cut, dg_plan_method *out)
{
	const uint64_t allowed = o->memory_bytes ? o->memory_bytes : UINT64_MAX;
	const uint64_t sorted =
		(uint64_t)plan->n_edges * SORTED_EDGE_NUMBERS * id_bytes(largest_count(plan));
	const uint64_t of_node = PIPELINE_NODE_BYTES + 2 * id_bytes(plan->n_nodes);
	const uint64_t pipeline = (uint64_t)plan->n_nodes * of_node +
				  (sorted < allowed ? sorted : allowed) + PIPELINE_FIXED_BYTES;

	/* The cut and what follows it do not meet. */
	*out = (dg_plan_method){
		.method = name,
		.memory_bytes = cut.memory_bytes > pipeline ? cut.memory_bytes : pipeline,
		.disk_bytes = cut.disk_bytes,
		.seconds = cut.seconds + PIPELINE_SECONDS_PER_EDGE * (double)plan->n_edges,
		.possible = 1
	};
}

static void check_metis(const dg_plan *plan, dg_plan_method *out)
{
	dg_error why;

	if (!dgi_neighbours_check(plan->n_nodes, plan->n_edges, &why))
		return;
	out->possible = 0;
	(void)snprintf(out->why_not, sizeof out->why_not, "%s", why.text);
}

static void check_stream(const dg_plan *plan, dg_plan_method *out)
{
	if (plan->n_nodes < UINT32_MAX)
		return;
	out->possible = 0;
	(void)snprintf(out->why_not, sizeof out->why_not,
		       "method stream: %" PRId64 " nodes, it counts to 2^32; use method random",
		       plan->n_nodes);
}

/* Counts beyond this would overflow what is computed of them, and every disk. */
#define COUNT_MAX ((int64_t)1 << 48)

dg_status dg_plan_make(const dg_plan_options *options, dg_plan *out, dg_error *err)
{
	dg_plan plan = { 0 };
	dg_status st;

	if (options->n_parts < 1 || options->n_parts > DG_PARTS_MAX)
		return dgi_fail(err, DG_INVALID, "%" PRIu32 " partitions, want 1 to %d",
				options->n_parts, DG_PARTS_MAX);
	if (options->n_nodes < 0 || options->n_edges < 0)
		return dgi_fail(err, DG_INVALID, "a negative number of nodes or edges");
	if (options->n_paths == 0 && options->n_nodes == 0)
		return dgi_fail(err, DG_INVALID, "neither files nor a number of nodes given");
	st = count(options, &plan, err);
	if (st)
		return st;
	if (plan.n_nodes > COUNT_MAX || plan.n_edges > COUNT_MAX)
		return dgi_fail(err, DG_RANGE,
				"%" PRId64 " nodes and %" PRId64 " edges, want at most 2^48",
				plan.n_nodes, plan.n_edges);
	if (options->node_row_bytes > DG_ROW_BYTES_MAX ||
	    options->edge_row_bytes > DG_ROW_BYTES_MAX)
		return dgi_fail(err, DG_RANGE, "rows of more than %d bytes", DG_ROW_BYTES_MAX);
	plan.store_bytes = store_bytes(options, &plan);
	plan.work_bytes = work_bytes(options, &plan);
	plan_method(options, &plan, "metis", dgi_estimate_metis(plan.n_nodes, plan.n_edges),
		    &plan.methods[0]);
	check_metis(&plan, &plan.methods[0]);
	plan_method(options, &plan, "stream",
		    dgi_estimate_stream(plan.n_nodes, plan.n_edges, options->memory_bytes),
		    &plan.methods[1]);
	check_stream(&plan, &plan.methods[1]);
	plan_method(options, &plan, "random", dgi_estimate_random(plan.n_nodes, plan.n_edges),
		    &plan.methods[2]);
	*out = plan;
	return DG_OK;
}
