/*
 * partition.c -- dg_partition(): read, cut, relabel, write.
 *
 * The command takes one node type and one edge type so far; what it calls is typed.
 */
#include <distgraph/partition.h>

#include "assign.h"
#include "book.h"
#include "cluster.h"
#include "edges.h"
#include "fail.h"
#include "files.h"
#include "partition_output.h"
#include "partition_write.h"
#include "progress.h"
#include "relabel.h"
#include "uuid.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What a node without any edge costs: owner, both ids, row pointer, out-degree. */
#define NODE_BYTES 34

#define NODE_TYPE "_N"
#define RELATION "_E"
#define HALO_HOPS 1 /* in-edges of owned nodes, with their sources' ids */

/* All that one call holds. */
struct job {
	const dg_partition_options *options;
	const char *method;
	char graph_name[DG_NAME_BYTES_MAX + 1];
	dg_partition_report report;
	struct dgi_progress progress;
	struct dgi_staging staging;
	int64_t n_nodes; /* 0 until known */
	struct dgi_edges edges;
	struct dgi_feature *features; /* of nodes, then of edges */
	size_t n_features;	      /* loaded so far */
	uint16_t *owners;
	struct dgi_node_order node_order;
	struct dgi_edge_order edge_order;
	dg_book *book;
};

static void job_clear(struct job *job)
{
	for (size_t i = 0; i < job->n_features; i++)
		dgi_feature_clear(&job->features[i]);
	free(job->features);
	dgi_edges_clear(&job->edges);
	dgi_node_order_clear(&job->node_order);
	dgi_edge_order_clear(&job->edge_order);
	free(job->owners);
	dgi_book_free(job->book);
	dgi_staging_abort(&job->staging);
}

/* --- What was asked for --- */

static dg_status check_options(struct job *job, dg_error *err)
{
	const dg_partition_options *o = job->options;

	if (o->n_edge_paths == 0)
		return dgi_fail(err, DG_INVALID, "no edge file given");
	if (!o->output || !*o->output)
		return dgi_fail(err, DG_INVALID, "no output directory given");
	if (o->n_parts < 1 || o->n_parts > DG_PARTS_MAX)
		return dgi_fail(err, DG_INVALID, "%" PRIu32 " partitions, want 1 to %d", o->n_parts,
				DG_PARTS_MAX);
	if (o->n_nodes < 0)
		return dgi_fail(err, DG_INVALID, "%" PRId64 " nodes, want 0 or more", o->n_nodes);
	job->method = o->method ? o->method : "metis";
	if (strcmp(job->method, "metis") != 0 && strcmp(job->method, "random") != 0)
		return dgi_fail(err, DG_INVALID, "method '%.40s', want metis or random",
				job->method);
	return dgi_output_names(o, job->graph_name, job->report.cluster_path, err);
}

/* One stray id must not make a graph that the system would kill us for. */
static dg_status check_memory(const struct job *job, dg_error *err)
{
	long pages = sysconf(_SC_PHYS_PAGES);
	uint64_t bytes = pages > 0 ? (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE) : UINT64_MAX;

	if ((uint64_t)job->n_nodes <= bytes / NODE_BYTES)
		return DG_OK;
	return dgi_fail(err, DG_NOMEM,
			"%" PRId64 " nodes, as the largest id or the option says, need %d bytes "
			"each, this machine has %" PRIu64 " in all; ids should have few gaps",
			job->n_nodes, NODE_BYTES, bytes);
}

static dg_status check_n_nodes(const struct job *job, dg_error *err)
{
	if (job->n_nodes < (int64_t)job->options->n_parts)
		return dgi_fail(err, DG_INVALID,
				"%" PRIu32 " partitions of %" PRId64
				" nodes, want at most one each",
				job->options->n_parts, job->n_nodes);
	return check_memory(job, err);
}

static dg_status begin_output(struct job *job, dg_error *err)
{
	const char *output = job->options->output;
	dg_status st = job->options->force ? dgi_output_check_replace(output, err) : DG_OK;

	if (st)
		return st;
	return dgi_staging_begin(output, job->options->force, &job->staging, err);
}

/* --- Features --- */

static bool is_type(dg_side side, const char *type)
{
	if (!type)
		return true;
	if (side == DG_NODE)
		return strcmp(type, NODE_TYPE) == 0;
	return strcmp(type, RELATION) == 0 ||
	       strcmp(type, NODE_TYPE ":" RELATION ":" NODE_TYPE) == 0;
}

static dg_status check_feature(const struct job *job, const dg_partition_data *data, dg_side side,
			       dg_error *err)
{
	const char *side_text = side == DG_NODE ? "node" : "edge";

	if (!is_type(side, data->type))
		return dgi_fail(err, DG_NOTFOUND, "%s feature '%.80s': no %s type '%.80s', want %s",
				side_text, data->name, side_text, data->type,
				side == DG_NODE ? NODE_TYPE : RELATION);
	for (size_t i = 0; i < job->n_features; i++)
		if (job->features[i].info.side == side &&
		    strcmp(job->features[i].info.name, data->name) == 0)
			return dgi_fail(err, DG_INVALID, "%s feature '%s' is given twice",
					side_text, data->name);
	return DG_OK;
}

static dg_status load_features(struct job *job, dg_side side, const dg_partition_data *data,
			       size_t n, dg_error *err)
{
	dg_status st = DG_OK;

	for (size_t i = 0; !st && i < n; i++) {
		st = check_feature(job, &data[i], side, err);
		if (!st)
			st = dgi_feature_load(&data[i], side, 0, &job->features[job->n_features],
					      err);
		if (!st)
			job->n_features++;
	}
	return st;
}

/* Where the first node feature says how many nodes there are, it is the reason for every limit. */
static dg_status blame_feature(const struct job *job, dg_status status, dg_error *err)
{
	const struct dgi_feature *f = job->features;

	if (job->options->n_nodes > 0 || job->options->n_node_data == 0)
		return status;
	return dgi_context(err, status,
			   "%" PRId64 " nodes, by the rows of node feature '%s' in '%s'",
			   job->n_nodes, f->info.name, f->path);
}

/* Before the edges: the number of nodes may be known by them, and what is wrong is told at once. */
static dg_status read_features(struct job *job, dg_error *err)
{
	const dg_partition_options *o = job->options;
	dg_status st;

	job->features = calloc(o->n_node_data + o->n_edge_data + 1, sizeof *job->features);
	if (!job->features)
		return dgi_fail_memory(err, "features");
	st = load_features(job, DG_NODE, o->node_data, o->n_node_data, err);
	if (!st)
		st = load_features(job, DG_EDGE, o->edge_data, o->n_edge_data, err);
	if (st)
		return st;
	job->n_nodes = o->n_nodes;
	if (job->n_nodes == 0 && o->n_node_data > 0)
		job->n_nodes = job->features[0].rows.shape[0];
	if (job->n_nodes > 0 || o->n_node_data > 0)
		st = check_n_nodes(job, err);
	for (size_t i = 0; !st && i < o->n_node_data; i++)
		st = dgi_feature_check_rows(&job->features[i], job->n_nodes, err);
	return st ? blame_feature(job, st, err) : DG_OK;
}

/* --- Edges --- */

static uint64_t bytes_of_files(const char *const *paths, size_t n)
{
	uint64_t bytes = 0;
	struct stat st;

	for (size_t i = 0; i < n; i++)
		if (stat(paths[i], &st) == 0 && S_ISREG(st.st_mode))
			bytes += (uint64_t)st.st_size;
	return bytes;
}

static dg_status read_edges(struct job *job, dg_error *err)
{
	const dg_partition_options *o = job->options;
	uint64_t bytes = bytes_of_files(o->edge_paths, o->n_edge_paths);
	dg_status st = dgi_progress_begin(&job->progress, "read edges", bytes, err);

	for (size_t i = 0; !st && i < o->n_edge_paths; i++)
		st = dgi_edges_read(&job->edges, o->edge_paths[i], job->n_nodes, &job->progress,
				    err);
	if (st == DG_RANGE)
		st = blame_feature(job, st, err);
	if (!st)
		st = dgi_progress_end(&job->progress, err);
	if (st)
		return st;
	if (job->n_nodes == 0)
		job->n_nodes = job->edges.largest + 1;
	st = check_n_nodes(job, err);
	for (size_t i = o->n_node_data; !st && i < job->n_features; i++)
		st = dgi_feature_check_rows(&job->features[i], job->edges.n, err);
	return st;
}

/* --- Cutting and relabelling --- */

static dg_status cut(struct job *job, dg_error *err)
{
	const dg_partition_options *o = job->options;
	dg_status st = dgi_progress_begin(&job->progress, "cut", 0, err);

	if (st)
		return st;
	job->owners = calloc((size_t)job->n_nodes, sizeof *job->owners);
	if (!job->owners)
		return dgi_fail_memory(err, "owners of nodes");
	if (strcmp(job->method, "random") == 0)
		dgi_assign_random(0, job->n_nodes, o->n_parts, o->seed, job->owners);
	else
		st = dgi_assign_metis(job->n_nodes, job->edges.n, dgi_edges_src(&job->edges),
				      dgi_edges_dst(&job->edges), o->n_parts, o->seed, job->owners,
				      err);
	if (st)
		return st;
	dgi_assign_fill_empty(job->n_nodes, o->n_parts, job->owners);
	return dgi_progress_end(&job->progress, err);
}

static dg_status relabel(struct job *job, dg_error *err)
{
	const uint32_t n_parts = job->options->n_parts;
	dg_status st = dgi_progress_begin(&job->progress, "relabel", 0, err);

	if (!st)
		st = dgi_node_order_make(job->owners, job->n_nodes, n_parts, &job->node_order, err);
	if (!st)
		st = dgi_edge_order_make(dgi_edges_src(&job->edges), dgi_edges_dst(&job->edges),
					 job->edges.n, &job->node_order, &job->node_order, n_parts,
					 &job->edge_order, err);
	if (st)
		return st;
	free(job->owners);
	job->owners = NULL;
	job->report.n_nodes = job->n_nodes;
	job->report.n_edges = job->edges.n;
	job->report.edges_cut = job->edge_order.cut;
	dgi_edges_clear(&job->edges); /* memory for the pages to be written */
	return dgi_progress_end(&job->progress, err);
}

/* --- Writing --- */

static void count_ranges(const int64_t *start, uint32_t n_parts, int64_t *counts)
{
	for (uint32_t p = 0; p < n_parts; p++)
		counts[p] = start[p + 1] - start[p];
}

static dg_status make_book(struct job *job, dg_error *err)
{
	static const char *const node_types[] = { NODE_TYPE };
	static const struct dgi_edge_type_spec edge_types[] = { { .relation = RELATION } };
	const uint32_t n_parts = job->options->n_parts;
	int64_t counts[2][DG_PARTS_MAX];
	struct dgi_book_spec spec = { .n_parts = n_parts,
				      .n_node_types = 1,
				      .n_edge_types = 1,
				      .node_types = node_types,
				      .edge_types = edge_types,
				      .node_counts = counts[DG_NODE],
				      .edge_counts = counts[DG_EDGE] };

	count_ranges(job->node_order.start, n_parts, counts[DG_NODE]);
	count_ranges(job->edge_order.start, n_parts, counts[DG_EDGE]);
	return dgi_book_new(&spec, &job->book, err);
}

static dg_status write_graph(struct job *job, dg_error *err)
{
	struct dgi_cut_graph graph = { .nodes = &job->node_order,
				       .edges = &job->edge_order,
				       .features = job->features,
				       .n_features = job->n_features };
	struct dgi_cluster_spec cluster = { .graph_name = job->graph_name,
					    .part_method = job->method,
					    .halo_hops = HALO_HOPS };
	dg_status st = make_book(job, err);

	if (!st)
		st = dgi_uuid_new(&graph.cluster_uuid, err);
	graph.book = cluster.book = job->book;
	cluster.cluster_uuid = graph.cluster_uuid;
	if (!st)
		st = dgi_partition_write(job->staging.path, &graph, &job->progress, err);
	if (!st)
		st = dgi_cluster_write(job->staging.path, &cluster, err);
	return st;
}

/* --- Outside --- */

dg_status dg_partition(const dg_partition_options *options, dg_partition_report *report,
		       dg_error *err)
{
	struct job job = { .options = options,
			   .progress = { .fn = options->progress,
					 .context = options->progress_context },
			   .edges = dgi_edges_none() };
	dg_status st = check_options(&job, err);

	if (!st)
		st = begin_output(&job, err);
	if (!st)
		st = read_features(&job, err);
	if (!st)
		st = read_edges(&job, err);
	if (!st)
		st = cut(&job, err);
	if (!st)
		st = relabel(&job, err);
	if (!st)
		st = write_graph(&job, err);
	if (!st)
		st = dgi_staging_commit(&job.staging, err);
	if (!st && report)
		*report = job.report;
	job_clear(&job);
	return st;
}
