/* import.c -- the caller's files become a source: the order in which they are read. */
#include "import.h"

#include "data.h"
#include "fail.h"
#include "id_list.h"
#include "plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct job {
	const dg_graph_input *input;
	struct dgi_plan plan;
	struct dgi_gather g;
	struct dgi_id_map relations;
	struct dgi_edge_rules rules;
	struct dgi_source data; /* only its data */
	struct dgi_progress *progress;
};

/* --- How much there is --- */

static uint64_t bytes_of(const char *path)
{
	struct stat st;

	return path && stat(path, &st) == 0 && S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
}

static uint64_t bytes_of_all(const struct job *job)
{
	uint64_t bytes = bytes_of(job->input->relations);

	for (size_t i = 0; i < job->plan.n_nodes; i++)
		bytes += bytes_of(job->plan.nodes[i].path);
	for (size_t i = 0; i < job->plan.n_files; i++)
		bytes += bytes_of(job->plan.files[i].path);
	for (size_t i = 0; i < job->plan.n_data; i++)
		bytes += job->plan.data[i].text ? bytes_of(job->plan.data[i].path) : 0;
	return bytes;
}

/* --- Types --- */

/* The list of a type's ids, and how edges name its nodes if nobody says. */
static dg_status read_list(struct job *job, struct dgi_gather_nodes *t, const dg_input_nodes *nodes,
			   dg_error *err)
{
	const dg_input_ids told = nodes->ids ? nodes->ids : job->input->ids;
	dg_status st;

	dgi_id_map_clear(&t->map);
	st = dgi_id_list_read(nodes->path, nodes->column, told == DG_INPUT_IDS_STRINGS,
			      job->progress, &t->map, err);
	if (st) {
		t->map = dgi_id_map_new(false);
		return st;
	}
	t->listed = t->map.strings ? DG_INPUT_IDS_STRINGS : DG_INPUT_IDS_INTEGERS;
	if (t->n >= 0 && t->n != t->map.n)
		return dgi_fail(err, DG_MISMATCH, "'%s': %" PRId64 " ids, want %" PRId64,
				nodes->path, t->map.n, t->n);
	t->n = t->map.n;
	(void)snprintf(t->counted_by, sizeof t->counted_by, "the ids in '%.300s'", nodes->path);
	return DG_OK;
}

static dg_status add_node_type(struct job *job, const dg_input_nodes *nodes, dg_error *err)
{
	const char *name = nodes->type ? nodes->type : "_N";
	struct dgi_gather_nodes *t;
	uint16_t type;
	dg_status st = DG_OK;

	if (dgi_gather_find_node_type(&job->g, name) >= 0)
		return dgi_fail(err, DG_INVALID, "node type '%.80s' is told twice", name);
	if (nodes->count < -1)
		return dgi_fail(err, DG_INVALID, "%" PRId64 " nodes of type '%.80s'", nodes->count,
				name);
	st = dgi_gather_node_type(&job->g, name, &type, err);
	if (st)
		return st;
	t = &job->g.nodes[type];
	t->n = nodes->count;
	t->ids = nodes->ids;
	return nodes->path ? read_list(job, t, nodes, err) : DG_OK;
}

static dg_status add_edge_type(struct job *job, const char *text, dg_error *err)
{
	const struct dgi_edge_file named = { .type = text };
	uint16_t type;

	return dgi_edge_file_type(&job->g, &named, &type, err);
}

static dg_status add_types(struct job *job, dg_error *err)
{
	uint16_t src, dst;
	dg_status st = DG_OK;

	for (size_t i = 0; !st && i < job->plan.n_nodes; i++)
		st = add_node_type(job, &job->plan.nodes[i], err);
	for (size_t i = 0; !st && i < job->plan.n_edge_types; i++)
		st = add_edge_type(job, job->plan.edge_types[i].type, err);
	for (size_t i = 0; !st && i < job->plan.n_files; i++)
		st = dgi_edge_file_ends(&job->g, &job->plan.files[i], &src, &dst, err);
	return st;
}

static dg_status read_relations(struct job *job, dg_error *err)
{
	dg_status st = DG_OK;

	job->rules.ids = job->input->ids;
	if (job->input->relations)
		st = dgi_id_list_read(job->input->relations, NULL, true, job->progress,
				      &job->relations, err);
	if (!st && job->input->relations)
		job->rules.relations = &job->relations;
	return st;
}

/* Relations that were listed are types in the list's order, whether or not edges have them. */
static dg_status add_relations(struct job *job, dg_error *err)
{
	dg_status st = DG_OK;

	for (size_t f = 0; job->rules.relations && !st && f < job->plan.n_files; f++) {
		const struct dgi_edge_file *file = &job->plan.files[f];
		uint16_t src, dst, type;

		if (file->type && !dgi_edge_file_is_triples(file))
			continue;
		st = dgi_edge_file_ends(&job->g, file, &src, &dst, err);
		for (int64_t i = 0; !st && i < job->relations.n; i++)
			st = dgi_relation_number(&job->g, &job->rules, src, i, dst, &type, err);
	}
	return st;
}

/* --- Edges --- */

static dg_status read_edges(struct job *job, dg_error *err)
{
	dg_status st = DG_OK;

	for (size_t i = 0; !st && i < job->plan.n_files; i++)
		st = dgi_edge_file_read(&job->g, &job->plan.files[i], &job->rules, job->progress,
					err);
	for (size_t i = 0; !st && i < job->plan.n_edge_types; i++) {
		const struct dgi_edge_count *told = &job->plan.edge_types[i];

		/* Told ones are numbered as they were told, each once. */
		if (told->n >= 0 && job->g.edges[i].n != told->n)
			st = dgi_fail(err, DG_MISMATCH,
				      "edge type '%.300s': its files have %" PRId64
				      " edges, want %" PRId64,
				      told->type, job->g.edges[i].n, told->n);
	}
	return st;
}

/* What a node without any edge costs later on: owner, both ids, row pointer, out-degree. */
#define NODE_BYTES 34

/* One stray id must not make a graph that the system would kill us for. */
static dg_status check_memory(const struct job *job, dg_error *err)
{
	long pages = sysconf(_SC_PHYS_PAGES);
	uint64_t bytes = pages > 0 ? (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE) : UINT64_MAX;

	for (size_t i = 0; i < job->g.n_nodes; i++) {
		const struct dgi_gather_nodes *t = &job->g.nodes[i];
		int64_t n = t->n >= 0 ? t->n : t->largest + 1;

		if (n > 0 && (uint64_t)n > bytes / NODE_BYTES)
			return dgi_fail(err, DG_NOMEM,
					"%" PRId64 " nodes of type '%s', as the largest id or the "
					"option says, need %d bytes each, this machine has %" PRIu64
					" in all; ids with gaps can be read as integers",
					n, t->name, NODE_BYTES, bytes);
	}
	return DG_OK;
}

/* --- All --- */

static dg_status run(struct job *job, struct dgi_source *out, dg_error *err)
{
	dg_status st = dgi_progress_begin(job->progress, "read", bytes_of_all(job), err);

	if (!st)
		st = read_relations(job, err);
	if (!st)
		st = add_types(job, err);
	if (!st)
		st = add_relations(job, err);
	if (!st)
		st = dgi_data_import(&job->g, &job->plan, DG_NODE, &job->data, job->progress, err);
	if (!st)
		st = read_edges(job, err);
	for (size_t i = 0; !st && i < job->data.n_data; i++)
		st = dgi_data_check_order(&job->g, &job->data.data[i], err);
	if (!st)
		st = dgi_data_import(&job->g, &job->plan, DG_EDGE, &job->data, job->progress, err);
	if (!st)
		st = check_memory(job, err);
	if (!st)
		st = dgi_gather_finish(&job->g, out, err);
	if (!st)
		st = dgi_progress_end(job->progress, err);
	return st;
}

dg_status dgi_import(const dg_graph_input *input, const char *work, struct dgi_source *out,
		     struct dgi_progress *progress, dg_error *err)
{
	struct dgi_progress nobody = { 0 };
	struct job job = { .input = input, .progress = progress ? progress : &nobody };
	struct dgi_source source = { 0 };
	dg_status st = dgi_plan_make(input, &job.plan, err);

	if (st)
		return st;
	st = dgi_gather_begin(work, &job.g, err);
	if (!st)
		st = run(&job, &source, err);
	if (!st) {
		source.data = job.data.data;
		source.n_data = job.data.n_data;
		*out = source;
	} else {
		dgi_source_clear(&source);
		dgi_source_clear(&job.data);
	}
	dgi_id_map_clear(&job.relations);
	dgi_gather_clear(&job.g);
	dgi_plan_clear(&job.plan);
	return st;
}
