/*
 * partition.c -- dg_partition(): import, cut, sort, write, each a stage that is done once.
 *
 * Stages leave what they make in the work directory (work.h), so that a run that was interrupted
 * goes on behind the last one it has finished.
 */
#include <distgraph/partition.h>

#include "assign.h"
#include "book.h"
#include "cluster.h"
#include "edge_sort.h"
#include "fail.h"
#include "files.h"
#include "import.h"
#include "partition_arguments.h"
#include "partition_output.h"
#include "partition_write.h"
#include "progress.h"
#include "uuid.h"
#include "verify.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Buffers, beside everything whose size the graph says. */
#define MEMORY_MIN ((uint64_t)16 << 20)

/* All that one call holds. */
struct job {
	const dg_partition_options *options;
	const char *method;
	char part_method[DGI_WORK_TEXT_BYTES]; /* what it is called: a file is "file" */
	uint32_t halo_hops;
	uint32_t n_classes; /* trainers of a partition */
	uint64_t memory;
	char graph_name[DG_NAME_BYTES_MAX + 1];
	dg_partition_report report;
	struct dgi_progress progress;
	struct dgi_work work;
	struct dgi_source source;
	/* By node type: */
	uint16_t **owners;
	struct dgi_node_order *nodes;
	/* By edge type: */
	struct dgi_edge_sort *sorts;
	struct dgi_edge_order *edges;

	struct dgi_rows **rows; /* by tensor of the source */
	dg_book *book;
};

static void job_clear(struct job *job)
{
	for (size_t i = 0; job->rows && i < job->source.n_data; i++)
		dgi_rows_close(job->rows[i]);
	for (uint16_t t = 0; job->edges && t < job->source.n_edge_types; t++)
		dgi_edge_order_clear(&job->edges[t]);
	for (uint16_t t = 0; job->nodes && t < job->source.n_node_types; t++)
		dgi_node_order_clear(&job->nodes[t]);
	for (uint16_t t = 0; job->owners && t < job->source.n_node_types; t++)
		free(job->owners[t]);
	free(job->rows);
	free(job->edges);
	free(job->sorts);
	free(job->nodes);
	free(job->owners);
	dgi_book_free(job->book);
	dgi_source_clear(&job->source);
}

/* --- What was asked for --- */

static dg_status check_counts(struct job *job, dg_error *err)
{
	const dg_partition_options *o = job->options;

	if (o->n_parts < 1 || o->n_parts > DG_PARTS_MAX)
		return dgi_fail(err, DG_INVALID, "%" PRIu32 " partitions, want 1 to %d", o->n_parts,
				DG_PARTS_MAX);
	job->n_classes = o->n_trainers ? o->n_trainers : 1;
	if (job->n_classes > UINT16_MAX / o->n_parts)
		return dgi_fail(err, DG_INVALID,
				"%" PRIu32 " trainers for each of %" PRIu32
				" partitions, want at most %d in all",
				job->n_classes, o->n_parts, UINT16_MAX);
	job->halo_hops = o->halo_hops == DG_HALO_NONE ? 0 : o->halo_hops ? o->halo_hops : 1;
	if (job->halo_hops > DG_HALO_HOPS_MAX)
		return dgi_fail(err, DG_INVALID, "a halo of %" PRIu32 " hops, want at most %d",
				job->halo_hops, DG_HALO_HOPS_MAX);
	return DG_OK;
}

static uint64_t memory_of_machine(void)
{
	long pages = sysconf(_SC_PHYS_PAGES);

	return pages > 0 ? (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE) : UINT64_MAX / 2;
}

static dg_status check_options(struct job *job, dg_error *err)
{
	const dg_partition_options *o = job->options;
	dg_status st;

	if (o->input.n_edges == 0)
		return dgi_fail(err, DG_INVALID, "no edge file given");
	if (!o->output || !*o->output)
		return dgi_fail(err, DG_INVALID, "no output directory given");
	job->method = o->method ? o->method : "metis";
	st = check_counts(job, err);
	if (st)
		return st;
	job->memory = o->memory_bytes ? o->memory_bytes : memory_of_machine() / 2;
	if (job->memory < MEMORY_MIN)
		return dgi_fail(err, DG_INVALID,
				"memory of %" PRIu64 " bytes, want %" PRIu64 " or more",
				job->memory, MEMORY_MIN);
	return dgi_output_names(o, job->graph_name, job->report.cluster_path, err);
}

static dg_status begin_work(struct job *job, dg_error *err)
{
	const char *output = job->options->output;
	struct stat info;
	char *arguments = NULL;
	dg_status st = DG_OK;

	if (job->options->force)
		st = dgi_output_check_replace(output, err);
	else if (lstat(output, &info) == 0)
		st = dgi_fail(err, DG_EXISTS, "'%s' exists already", output);
	if (!st)
		st = dgi_partition_arguments(job->options, &arguments, err);
	if (!st)
		st = dgi_work_begin(output, arguments, &job->work, err);
	free(arguments);
	return st;
}

/* --- Import --- */

static dg_status import(struct job *job, dg_error *err)
{
	dg_status st = dgi_source_load(job->work.path, &job->source, err);

	if (st != DG_NOTFOUND) {
		job->work.has_stage = true;
		return st;
	}
	st = dgi_import(&job->options->input, job->work.path, &job->source, &job->progress, err);
	if (!st)
		st = dgi_source_save(&job->source, job->work.path, err);
	job->work.has_stage |= !st;
	return st;
}

/* "trainer_id" is ours where there are trainers. */
static dg_status check_names(const struct job *job, dg_error *err)
{
	for (size_t i = 0; job->n_classes > 1 && i < job->source.n_data; i++)
		if (strcmp(job->source.data[i].info.name, DGI_TRAINER_ID) == 0)
			return dgi_fail(err, DG_INVALID,
					"data '" DGI_TRAINER_ID
					"': with several trainers a partition the name is taken");
	return DG_OK;
}

/* Node tables are in memory whatever else is not. */
static dg_status check_memory(const struct job *job, dg_error *err)
{
	const struct dgi_source *s = &job->source;
	uint64_t tables = 0;
	uint64_t most = 0;

	for (uint16_t t = 0; t < s->n_node_types; t++)
		tables += dgi_node_order_bytes(s->nodes[t].n) + dgi_halo_bytes(s->nodes[t].n);
	for (uint16_t t = 0; t < s->n_edge_types; t++) {
		uint64_t bytes = dgi_edge_sort_bytes_min(s->nodes[s->edges[t].src_type].n,
							 s->nodes[s->edges[t].dst_type].n,
							 job->options->n_parts);

		most = bytes > most ? bytes : most;
	}
	if (tables + most <= job->memory)
		return DG_OK;
	return dgi_fail(err, DG_NOMEM,
			"memory of %" PRIu64 " bytes: the tables of nodes alone need %" PRIu64,
			job->memory, tables + most);
}

static uint64_t memory_left(const struct job *job)
{
	uint64_t left = job->memory;

	for (uint16_t t = 0; t < job->source.n_node_types; t++)
		left -= dgi_node_order_bytes(job->source.nodes[t].n);
	return left;
}

/* --- Cut --- */

static dg_status allocate_owners(struct job *job, dg_error *err)
{
	job->owners = calloc((size_t)job->source.n_node_types + 1, sizeof *job->owners);
	if (!job->owners)
		return dgi_fail_memory(err, "owners of nodes");
	for (uint16_t t = 0; t < job->source.n_node_types; t++) {
		job->owners[t] = calloc((size_t)job->source.nodes[t].n + 1, sizeof **job->owners);
		if (!job->owners[t])
			return dgi_fail_memory(err, "owners of nodes");
	}
	return DG_OK;
}

static dg_status check_owners(const struct job *job, dg_error *err)
{
	const uint32_t n = job->options->n_parts * job->n_classes;

	for (uint16_t t = 0; t < job->source.n_node_types; t++)
		for (int64_t i = 0; i < job->source.nodes[t].n; i++)
			if (job->owners[t][i] >= n)
				return dgi_fail(err, DG_RANGE,
						"node %" PRId64 " of type %s has owner %u, want "
						"less than %" PRIu32,
						i, job->source.nodes[t].name, job->owners[t][i], n);
	return DG_OK;
}

/* Owners are the dearest thing that is kept: a file a type, synced. */
static dg_status save_owners(struct job *job, dg_error *err)
{
	dg_status st = DG_OK;

	for (uint16_t t = 0; !st && t < job->source.n_node_types; t++) {
		char *path = NULL;

		st = dgi_work_path(&job->work, &path, err, "owners%u", t);
		if (!st)
			st = dgi_file_replace(path, job->owners[t],
					      (size_t)job->source.nodes[t].n * sizeof **job->owners,
					      err);
		free(path);
	}
	return st ? st : dgi_work_finish(&job->work, "owners", job->part_method, true, err);
}

static dg_status load_owners(struct job *job, dg_error *err)
{
	dg_status st = DG_OK;

	for (uint16_t t = 0; !st && t < job->source.n_node_types; t++) {
		const size_t bytes = (size_t)job->source.nodes[t].n * sizeof **job->owners;
		char *path = NULL;
		char *data = NULL;
		size_t n = 0;

		st = dgi_work_path(&job->work, &path, err, "owners%u", t);
		if (!st)
			st = dgi_file_read(path, bytes, &data, &n, err);
		if (!st && n != bytes)
			st = dgi_fail(err, DG_INVALID, "'%s': %zu bytes, want %zu", path, n, bytes);
		if (!st)
			memcpy(job->owners[t], data, n);
		free(data);
		free(path);
	}
	return st ? st : check_owners(job, err);
}

static dg_status assign(struct job *job, dg_error *err)
{
	const dg_partition_options *o = job->options;
	const struct dgi_assign_request request = {
		.source = &job->source,
		.work = job->work.path,
		.method = job->method,
		.n_parts = o->n_parts * job->n_classes,
		.n_trainers = job->n_classes,
		.seed = o->seed,
		.balance_types = o->balance_types != 0,
		.balance_edges = o->balance_edges != 0,
		.objective = o->volume ? DGI_OBJECTIVE_VOL : DGI_OBJECTIVE_CUT,
		.memory = o->memory_bytes,
		.progress = &job->progress,
	};
	struct dgi_assign_report report;
	dg_status st;

	(void)snprintf(job->part_method, sizeof job->part_method, "%.80s", job->method);
	if (request.n_parts == 1)
		return DG_OK; /* owners are 0 */
	st = dgi_assign(&request, job->owners, &report, err);
	if (!st)
		(void)snprintf(job->part_method, sizeof job->part_method, "%s", report.method);
	return st;
}

static dg_status cut(struct job *job, dg_error *err)
{
	dg_status st = allocate_owners(job, err);

	if (st)
		return st;
	if (dgi_work_finished(&job->work, "owners", job->part_method))
		return load_owners(job, err);
	st = dgi_progress_begin(&job->progress, "cut", 0, err);
	if (!st)
		st = assign(job, err);
	if (!st)
		st = check_owners(job, err);
	if (!st)
		st = save_owners(job, err);
	return st ? st : dgi_progress_end(&job->progress, err);
}

/* --- Relabelling and sorting --- */

static dg_status relabel(struct job *job, dg_error *err)
{
	dg_status st = DG_OK;

	job->nodes = calloc((size_t)job->source.n_node_types + 1, sizeof *job->nodes);
	if (!job->nodes)
		return dgi_fail_memory(err, "node orders");
	for (uint16_t t = 0; !st && t < job->source.n_node_types; t++) {
		st = dgi_node_order_make(job->owners[t], job->source.nodes[t].n,
					 job->options->n_parts, job->n_classes, &job->nodes[t],
					 err);
		job->report.n_nodes += job->source.nodes[t].n;
	}
	return st;
}

static dg_status sort_type(struct job *job, uint16_t type, dg_error *err)
{
	struct dgi_edge_sort *sort = &job->sorts[type];
	dg_status st;

	*sort = (struct dgi_edge_sort){
		.source = &job->source,
		.type = type,
		.sources = &job->nodes[job->source.edges[type].src_type],
		.destinations = &job->nodes[job->source.edges[type].dst_type],
		.n_parts = job->options->n_parts,
		.halo = job->halo_hops > 0,
		.memory = memory_left(job),
	};
	st = dgi_edge_sort(sort, &job->work, &job->progress, err);
	if (!st)
		st = dgi_edge_order_open(sort, &job->work, &job->edges[type], err);
	if (!st) {
		job->report.n_edges += job->edges[type].n;
		job->report.edges_cut += job->edges[type].cut;
	}
	return st;
}

static dg_status sort(struct job *job, dg_error *err)
{
	uint64_t total = 0;
	dg_status st;

	job->sorts = calloc((size_t)job->source.n_edge_types + 1, sizeof *job->sorts);
	job->edges = calloc((size_t)job->source.n_edge_types + 1, sizeof *job->edges);
	if (!job->sorts || !job->edges)
		return dgi_fail_memory(err, "edge orders");
	for (uint16_t t = 0; t < job->source.n_edge_types; t++)
		total += 3 * (uint64_t)job->source.edges[t].n; /* counted, placed, inverted */
	st = dgi_progress_begin(&job->progress, "sort", total, err);
	for (uint16_t t = 0; !st && t < job->source.n_edge_types; t++)
		st = sort_type(job, t, err);
	return st ? st : dgi_progress_end(&job->progress, err);
}

static dg_status open_rows(struct job *job, dg_error *err)
{
	/* A bucket and, before, the buffers of all. */
	const uint64_t memory = memory_left(job) / 2;
	dg_status st = DG_OK;

	job->rows = calloc(job->source.n_data + 1, sizeof(struct dgi_rows *));
	if (!job->rows)
		return dgi_fail_memory(err, "data");
	if (job->source.n_data > 0)
		st = dgi_progress_begin(&job->progress, "read data", 0, err);
	for (size_t i = 0; !st && i < job->source.n_data; i++) {
		const dg_tensor_info *info = &job->source.data[i].info;
		const bool of_nodes = info->side == DG_NODE;

		st = dgi_rows_open(&job->source, i,
				   of_nodes ? &job->nodes[info->type].internal
					    : &job->edges[info->type].internal,
				   of_nodes ? &job->nodes[info->type].original
					    : &job->edges[info->type].original,
				   memory / (job->source.n_data + 1), &job->work, &job->progress,
				   &job->rows[i], err);
	}
	return st;
}

/* --- Writing --- */

/* Nodes or edges of each type and partition, and by partition over all types. */
static int64_t *count_shares(const struct job *job, dg_side side, int64_t *sums)
{
	const uint32_t n_parts = job->options->n_parts;
	const uint16_t n = side == DG_NODE ? job->source.n_node_types : job->source.n_edge_types;
	int64_t *counts = malloc(((size_t)n * n_parts + 1) * sizeof *counts);

	for (uint16_t t = 0; counts && t < n; t++) {
		const int64_t *start = side == DG_NODE ? job->nodes[t].start : job->edges[t].start;

		for (uint32_t p = 0; p < n_parts; p++) {
			counts[(size_t)t * n_parts + p] = start[p + 1] - start[p];
			sums[p] += start[p + 1] - start[p];
		}
	}
	return counts;
}

/* The largest share over the even share; 1 where there is nothing. */
static double balance_of(const int64_t *sums, uint32_t n_parts)
{
	int64_t sum = 0;
	int64_t largest = 0;

	for (uint32_t p = 0; p < n_parts; p++) {
		sum += sums[p];
		largest = sums[p] > largest ? sums[p] : largest;
	}
	return sum ? (double)largest * n_parts / (double)sum : 1;
}

static dg_status make_book(struct job *job, dg_error *err)
{
	const struct dgi_source *s = &job->source;
	const char **names = calloc((size_t)s->n_node_types + 1, sizeof *names);
	struct dgi_edge_type_spec *types = calloc((size_t)s->n_edge_types + 1, sizeof *types);
	int64_t sums[2][DG_PARTS_MAX] = { 0 };
	int64_t *nodes = count_shares(job, DG_NODE, sums[DG_NODE]);
	int64_t *edges = count_shares(job, DG_EDGE, sums[DG_EDGE]);
	struct dgi_book_spec spec = { .n_parts = job->options->n_parts,
				      .n_node_types = s->n_node_types,
				      .n_edge_types = s->n_edge_types,
				      .node_types = names,
				      .edge_types = types,
				      .node_counts = nodes,
				      .edge_counts = edges };
	dg_status st = DG_OK;

	if (!names || !types || !nodes || !edges)
		st = dgi_fail_memory(err, "partition book");
	for (uint16_t t = 0; !st && t < s->n_node_types; t++)
		names[t] = s->nodes[t].name;
	for (uint16_t t = 0; !st && t < s->n_edge_types; t++)
		types[t] = (struct dgi_edge_type_spec){ .relation = s->edges[t].relation,
							.src_type = s->edges[t].src_type,
							.dst_type = s->edges[t].dst_type };
	if (!st)
		st = dgi_book_new(&spec, &job->book, err);
	job->report.node_balance = balance_of(sums[DG_NODE], job->options->n_parts);
	job->report.edge_balance = balance_of(sums[DG_EDGE], job->options->n_parts);
	free(names);
	free(types);
	free(nodes);
	free(edges);
	return st;
}

/* The cluster's UUID stays the same when the work goes on. */
static dg_status cluster_uuid(struct job *job, dg_uuid *out, dg_error *err)
{
	char text[DGI_WORK_TEXT_BYTES];
	dg_status st;

	if (dgi_work_finished(&job->work, "cluster", text))
		return dgi_uuid_parse(text, out, err);
	st = dgi_uuid_new(out, err);
	if (st)
		return st;
	dgi_uuid_text(out, text);
	return dgi_work_finish(&job->work, "cluster", text, true, err);
}

static dg_status write_stores(struct job *job, const char *directory, dg_error *err)
{
	struct dgi_cut_graph graph = {
		.view = { .source = &job->source,
			  .nodes = job->nodes,
			  .edges = job->edges,
			  .n_parts = job->options->n_parts },
		.book = job->book,
		.rows = job->rows,
		.owners = (const uint16_t *const *)job->owners,
		.n_classes = job->n_classes,
		.halo_hops = job->halo_hops,
		.memory = memory_left(job),
	};
	struct dgi_cluster_spec cluster = { .graph_name = job->graph_name,
					    .part_method = job->part_method,
					    .halo_hops = job->halo_hops,
					    .book = job->book };
	struct dgi_written written;
	dg_status st = cluster_uuid(job, &graph.cluster_uuid, err);

	cluster.cluster_uuid = graph.cluster_uuid;
	if (!st && mkdir(directory, 0700) != 0 && errno != EEXIST)
		st = dgi_fail_errno(err, errno, "create directory '%s'", directory);
	if (!st)
		st = dgi_partition_write(directory, &graph, &job->work, &job->progress, &written,
					 err);
	if (!st)
		st = dgi_cluster_write(directory, &cluster, err);
	if (st)
		return st;
	job->report.halo_nodes = written.halo_nodes;
	job->report.halo_edges = written.halo_edges;
	return DG_OK;
}

/* By other code than has made it: what is wrong here would be found out by nobody later. */
static dg_status verify(struct job *job, const char *directory, dg_error *err)
{
	const uint32_t n_parts = job->options->n_parts;
	char **paths = calloc(n_parts, sizeof *paths);
	struct dgi_verify_request request = { .store_paths = (const char *const *)paths,
					      .n_parts = n_parts,
					      .source = &job->source,
					      .owners = job->owners,
					      .n_trainers = job->n_classes,
					      .progress = &job->progress };
	dg_status st = paths ? DG_OK : dgi_fail_memory(err, "verification");

	for (uint32_t p = 0; !st && p < n_parts; p++)
		if (asprintf(&paths[p], "%s/part%" PRIu32, directory, p) < 0) {
			paths[p] = NULL;
			st = dgi_fail_memory(err, directory);
		}
	if (!st)
		st = dgi_progress_begin(&job->progress, "verify", 0, err);
	if (!st)
		st = dgi_verify(&request, err);
	if (!st)
		st = dgi_progress_end(&job->progress, err);
	for (uint32_t p = 0; paths && p < n_parts; p++)
		free(paths[p]);
	free(paths);
	return st;
}

/* Until this renames it, what was made has no name that looks like a graph. */
static dg_status put_in_place(struct job *job, char *directory, dg_error *err)
{
	struct dgi_staging staging = { .path = directory, .replace = job->options->force };
	size_t n = strlen(job->options->output);

	while (n > 1 && job->options->output[n - 1] == '/')
		n--;
	staging.target = strndup(job->options->output, n);
	if (!staging.target) {
		free(directory);
		return dgi_fail_memory(err, job->options->output);
	}
	return dgi_staging_commit(&staging, err);
}

static dg_status write_graph(struct job *job, dg_error *err)
{
	char *directory = NULL;
	dg_status st = make_book(job, err);

	if (!st)
		st = dgi_work_path(&job->work, &directory, err, "graph");
	if (!st)
		st = write_stores(job, directory, err);
	if (!st)
		st = verify(job, directory, err);
	if (!st)
		return put_in_place(job, directory, err);
	free(directory);
	return st;
}

/* --- Outside --- */

static dg_status run(struct job *job, dg_error *err)
{
	dg_status st = import(job, err);

	if (!st)
		st = check_names(job, err);
	if (!st)
		st = check_memory(job, err);
	if (!st)
		st = cut(job, err);
	if (!st)
		st = relabel(job, err);
	if (!st)
		st = sort(job, err);
	if (!st)
		st = open_rows(job, err);
	if (!st)
		st = write_graph(job, err);
	return st;
}

/* Is the same worth another try, once there is time or room? */
static bool may_go_on(dg_status status)
{
	return status == DG_CANCELLED || status == DG_FULL || status == DG_IO || status == DG_NOMEM;
}

dg_status dg_partition(const dg_partition_options *options, dg_partition_report *report,
		       dg_error *err)
{
	struct job job = { .options = options,
			   .progress = { .fn = options->progress,
					 .context = options->progress_context } };
	dg_status st = check_options(&job, err);

	if (!st)
		st = begin_work(&job, err);
	if (st)
		return st;
	st = run(&job, err);
	if (may_go_on(st) && (job.work.has_stage || job.work.resumed))
		(void)dgi_context(err, st, "what is finished is kept in '%s' for the same command",
				  job.work.path);
	if (!st && report) {
		job.report.resumed = job.work.resumed;
		*report = job.report;
	}
	job_clear(&job);
	dgi_work_end(&job.work, may_go_on(st));
	return st;
}
