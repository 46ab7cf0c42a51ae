/* cmd_import.c -- `distgraph import`: all rows of a tensor from a .npy file, batch by batch. */
#include "called.h"
#include "cmd.h"
#include "fit.h"
#include "option.h"
#include "progress.h"
#include "report.h"
#include "source.h"

#include <distgraph/array.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static const char about[] =
	"Sets all rows of a tensor to those of a .npy file, in the order of the input, as\n"
	"`distgraph export CLUSTER.json` writes them, or in that of --ids FILE. The file is read "
	"and pushed batch by batch;\n"
	"returns when every server has acknowledged all. When it fails or is interrupted it says\n"
	"how many rows are set for good: --from with that number goes on there.\n";

static const char examples[] = "  distgraph import karate/karate.json feat feat.npy\n"
			       "  distgraph import karate/karate.json node~_N~feat feat.npy.gz\n"
			       "  distgraph import people/people.json age age.npy --ids ids.txt\n";

struct arguments {
	struct reach reach;
	const char *ids;
	bool internal;
	uint64_t from;
};

/* One import under way. */
struct import {
	struct source source;
	struct called called; /* whose row each is; empty: in order */
	bool internal;
	dg_client *client;
	dg_tensor_info tensor;
	dg_array_reader *file;
	int64_t from; /* the first row to be set */
	int64_t done; /* the first that is not acknowledged */
};

/* The next @n rows, by the tensor's own numbering. */
static dg_status rows_of(struct import *job, size_t n, dg_id *ids, dg_error *err)
{
	const dg_tensor_info *tensor = &job->tensor;

	if (job->called.ids.n)
		return called_rows(&job->source, tensor, &job->called, (size_t)job->done, n, ids,
				   err);
	for (size_t i = 0; i < n; i++)
		ids[i] = job->done + (dg_id)i;
	if (job->internal || tensor->numbering == DG_ORIGINAL)
		return DG_OK;
	return source_to_internal(&job->source, tensor, ids, n, err);
}

/* As many ids as rows, and none twice, are all of them. */
static dg_status check_each_once(const struct import *job, const char *path, dg_error *err)
{
	const struct ids *ids = &job->called.ids;
	const int64_t n_rows = job->tensor.n_rows;
	unsigned char *seen;
	dg_status st = DG_OK;

	if ((int64_t)ids->n != n_rows)
		return fail(err, DG_MISMATCH, "%s: %zu ids, '%s' has %" PRId64 " rows", path,
			    ids->n, job->tensor.name, n_rows);
	seen = calloc((size_t)n_rows / 8 + 1, 1);
	if (!seen)
		return fail(err, DG_NOMEM, "%" PRId64 " ids: out of memory", n_rows);
	for (size_t i = 0; !st && i < ids->n; i++) {
		unsigned char bit = (unsigned char)(1U << (ids->items[i] % 8));

		if (seen[ids->items[i] / 8] & bit)
			st = fail(err, DG_INVALID, "%s: id %zu has been there before", path, i + 1);
		seen[ids->items[i] / 8] |= bit;
	}
	free(seen);
	return st;
}

static dg_status read_ids(struct import *job, const char *path, dg_error *err)
{
	char text[DG_PATH_BYTES_MAX + 2];
	dg_status st;

	(void)snprintf(text, sizeof text, "@%s", path);
	st = called_parse(&job->source, &job->tensor, text, job->internal, &job->called, err);
	return st ? st : check_each_once(job, path, err);
}

static dg_status push_batch(struct import *job, size_t n, dg_id *ids, void *rows, dg_error *err)
{
	const dg_tensor_info *tensor = &job->tensor;
	dg_status st = dg_array_reader_read(job->file, rows, n * tensor->row_bytes, err);

	if (!st)
		st = rows_of(job, n, ids, err);
	if (!st)
		st = dg_client_push(job->client, tensor, ids, n, rows, err);
	if (!st)
		job->done += (int64_t)n;
	return st;
}

/* Passes over the rows of the file before the first that is to be set. */
static dg_status skip(struct import *job, size_t batch, void *rows, dg_error *err)
{
	dg_status st = DG_OK;

	for (int64_t at = 0; !st && at < job->from; at += (int64_t)batch) {
		int64_t left = job->from - at;
		size_t n = left < (int64_t)batch ? (size_t)left : batch;

		st = dg_array_reader_read(job->file, rows, n * job->tensor.row_bytes, err);
	}
	job->done = job->from;
	return st;
}

static dg_status push_all(struct import *job, struct progress *progress, dg_error *err)
{
	size_t batch = batch_rows(&job->tensor);
	dg_id *ids = malloc(batch * sizeof *ids);
	void *rows = malloc(batch * job->tensor.row_bytes);
	int64_t n_rows = job->tensor.n_rows;
	dg_status st = ids && rows ? DG_OK : fail(err, DG_NOMEM, "%zu rows: out of memory", batch);

	if (!st)
		st = skip(job, batch, rows, err);
	while (!st && job->done < n_rows) {
		int64_t left = n_rows - job->done;

		st = push_batch(job, left < (int64_t)batch ? (size_t)left : batch, ids, rows, err);
		if (!st &&
		    progress_update(progress, "import", (uint64_t)job->done, (uint64_t)n_rows) &&
		    job->done < n_rows)
			st = fail(err, DG_CANCELLED, "interrupted");
	}
	free(ids);
	free(rows);
	return st;
}

/* Everything that can be known to be wrong is told before the first push. */
static dg_status begin(struct import *job, char **arguments, const struct arguments *a,
		       dg_error *err)
{
	dg_array array;
	dg_status st = reach_client(arguments[0], &a->reach, &job->client, err);

	if (!st)
		st = dg_client_find(job->client, arguments[1], &job->tensor, err);
	if (!st && job->tensor.flags & DG_TENSOR_SYSTEM)
		st = fail(err, DG_INVALID, "tensor '%s': kept by the store itself",
			  job->tensor.name);
	if (!st)
		st = dg_array_reader_open(arguments[2], &array, &job->file, err);
	if (!st)
		st = fit_check(arguments[2], &array, &job->tensor, job->tensor.n_rows,
			       "all rows of", err);
	if (!st) {
		job->source = source_of_client(arguments[0], job->client);
		job->internal = a->internal;
	}
	if (!st && a->ids)
		st = read_ids(job, a->ids, err);
	if (!st && a->from > (uint64_t)job->tensor.n_rows)
		st = fail(err, DG_RANGE, "from row %" PRIu64 ": tensor '%s' has %" PRId64 " rows",
			  a->from, job->tensor.name, job->tensor.n_rows);
	job->from = (int64_t)a->from;
	return st;
}

static int import(char **arguments, const struct arguments *a)
{
	struct import job = { 0 };
	struct progress progress = progress_of(false);
	dg_error err;
	int code = EXIT_DONE;

	if (begin(&job, arguments, a, &err)) {
		code = report_error(&err);
	} else {
		progress_catch_signals();
		if (push_all(&job, &progress, &err)) {
			progress_end(&progress);
			code = report("%" PRId64 " of %" PRId64 " rows are set, others may be; "
				      "--from %" PRId64 " goes on there: %s",
				      job.done, job.tensor.n_rows, job.done, err.text);
		} else {
			progress_end(&progress);
			printf("%" PRId64 " rows acknowledged\n", job.done - job.from);
		}
	}
	called_clear(&job.called);
	dg_array_reader_close(job.file);
	dg_client_close(job.client);
	return code;
}

int cmd_import(int argc, char **argv)
{
	struct arguments a = { 0 };
	const struct option options[] = {
		{ .name = "ids",
		  .value = "FILE",
		  .text = &a.ids,
		  .help = "the id of each row, one a line: rows may be in any order" },
		{ .name = "internal",
		  .flag = &a.internal,
		  .help = "ids, or the order of rows, are relabelled ids" },
		{ .name = "from",
		  .value = "ROW",
		  .number = &a.from,
		  .max = INT64_MAX,
		  .help = "leave the rows before this one as they are" },
		REACH_OPTIONS(a.reach),
	};
	const struct option_set set = {
		.command = "import",
		.arguments = "CLUSTER.json TENSOR FILE.npy",
		.about = about,
		.examples = examples,
		.options = options,
		.n_options = sizeof options / sizeof options[0],
		.n_arguments_min = 3,
		.n_arguments_max = 3,
	};
	size_t n;
	int code = option_parse(&set, argc, argv, &n);

	return code == OPTION_GO ? import(argv, &a) : code;
}
