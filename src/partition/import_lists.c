/*
 * import_lists.c -- edge lists and .npy features of one node type and one edge type, as a source.
 */
#include "import_lists.h"

#include "edges.h"
#include "fail.h"
#include "feature.h"

#include <distgraph/array.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What a node without any edge costs: owner, both ids, row pointer, out-degree. */
#define NODE_BYTES 34

#define NODE_TYPE "_N"
#define RELATION "_E"

/* All that one call holds. */
struct import {
	const dg_partition_options *options;
	const char *work;
	struct dgi_progress *progress;
	int64_t n_nodes; /* 0 until known */
	struct dgi_edges edges;
	struct dgi_feature *features; /* of nodes, then of edges */
	size_t n_features;	      /* loaded so far */
};

static void import_clear(struct import *job)
{
	for (size_t i = 0; i < job->n_features; i++)
		dgi_feature_clear(&job->features[i]);
	free(job->features);
	dgi_edges_clear(&job->edges);
}

/* One stray id must not make a graph that the system would kill us for. */
static dg_status check_memory(const struct import *job, dg_error *err)
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

static dg_status check_feature(const struct import *job, const dg_partition_data *data,
			       dg_side side, dg_error *err)
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

static dg_status load_features(struct import *job, dg_side side, const dg_partition_data *data,
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
static dg_status blame_feature(const struct import *job, dg_status status, dg_error *err)
{
	const struct dgi_feature *f = job->features;

	if (job->options->n_nodes > 0 || job->options->n_node_data == 0)
		return status;
	return dgi_context(err, status,
			   "%" PRId64 " nodes, by the rows of node feature '%s' in '%s'",
			   job->n_nodes, f->info.name, f->path);
}

/* Before the edges: the number of nodes may be known by them, and what is wrong is told at once. */
static dg_status read_features(struct import *job, dg_error *err)
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
		st = check_memory(job, err);
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

static dg_status read_edges(struct import *job, dg_error *err)
{
	const dg_partition_options *o = job->options;
	uint64_t bytes = bytes_of_files(o->edge_paths, o->n_edge_paths);
	dg_status st = dgi_progress_begin(job->progress, "read edges", bytes, err);

	for (size_t i = 0; !st && i < o->n_edge_paths; i++)
		st = dgi_edges_read(&job->edges, o->edge_paths[i], job->n_nodes, job->progress,
				    err);
	if (st == DG_RANGE)
		st = blame_feature(job, st, err);
	if (!st)
		st = dgi_progress_end(job->progress, err);
	if (st)
		return st;
	if (job->n_nodes == 0)
		job->n_nodes = job->edges.largest + 1;
	st = check_memory(job, err);
	for (size_t i = o->n_node_data; !st && i < job->n_features; i++)
		st = dgi_feature_check_rows(&job->features[i], job->edges.n, err);
	return st;
}

/* --- What is left in the work directory --- */

static dg_status make_path(const struct import *job, const char *name, char **out, dg_error *err)
{
	if (asprintf(out, "%s/%s", job->work, name) >= 0)
		return DG_OK;
	*out = NULL;
	return dgi_fail_memory(err, job->work);
}

static dg_status save_edges(const struct import *job, struct dgi_source_edges *out, dg_error *err)
{
	struct dgi_edge_writer *writer;
	dg_status st = make_path(job, "edges0", &out->path, err);
	dg_status closed;

	(void)strcpy(out->relation, RELATION);
	out->n = job->edges.n;
	out->id_bytes = dgi_edge_id_bytes(job->n_nodes, job->n_nodes);
	if (!st)
		st = dgi_edge_writer_open(out->path, out->id_bytes, &writer, err);
	if (st)
		return st;
	st = dgi_edge_writer_append(writer, dgi_edges_src(&job->edges), dgi_edges_dst(&job->edges),
				    (size_t)job->edges.n, err);
	closed = dgi_edge_writer_close(writer, !st, st ? NULL : err);
	return st ? st : closed;
}

static dg_status save_feature(const struct import *job, size_t number, struct dgi_source_data *out,
			      dg_error *err)
{
	const struct dgi_feature *f = &job->features[number];
	dg_array_writer *writer;
	char name[32];
	dg_status st, closed;

	(void)snprintf(name, sizeof name, "data%zu.npy", number);
	out->info = f->info;
	out->paths = calloc(1, sizeof *out->paths);
	if (!out->paths)
		return dgi_fail_memory(err, f->info.name);
	out->n_paths = 1;
	st = make_path(job, name, &out->paths[0], err);
	if (!st)
		st = dg_array_writer_open(out->paths[0], f->rows.dtype, f->rows.rank, f->rows.shape,
					  &writer, err);
	if (st)
		return st;
	st = dg_array_writer_append(writer, f->rows.data,
				    (size_t)f->rows.shape[0] * f->info.row_bytes, err);
	closed = dg_array_writer_close(writer, !st, st ? NULL : err);
	return st ? st : closed;
}

static dg_status save(struct import *job, struct dgi_source *out, dg_error *err)
{
	dg_status st;

	out->nodes = calloc(1, sizeof *out->nodes);
	out->edges = calloc(1, sizeof *out->edges);
	out->data = calloc(job->n_features + 1, sizeof *out->data);
	if (!out->nodes || !out->edges || !out->data)
		return dgi_fail_memory(err, "source");
	out->n_node_types = 1;
	out->n_edge_types = 1;
	(void)strcpy(out->nodes[0].name, NODE_TYPE);
	out->nodes[0].n = job->n_nodes;
	st = save_edges(job, &out->edges[0], err);
	for (size_t i = 0; !st && i < job->n_features; i++) {
		out->n_data = i + 1;
		st = save_feature(job, i, &out->data[i], err);
	}
	return st;
}

dg_status dgi_import_lists(const dg_partition_options *options, const char *work,
			   struct dgi_progress *progress, struct dgi_source *out, dg_error *err)
{
	struct import job = {
		.options = options, .work = work, .progress = progress, .edges = dgi_edges_none()
	};
	struct dgi_source source = { 0 };
	dg_status st = read_features(&job, err);

	if (!st)
		st = read_edges(&job, err);
	if (!st)
		st = save(&job, &source, err);
	import_clear(&job);
	if (st)
		dgi_source_clear(&source);
	else
		*out = source;
	return st;
}
