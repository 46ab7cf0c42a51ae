/* cmd_export.c -- `distgraph export`: a whole tensor to a .npy or .csv file, batch by batch. */
#include "cmd.h"
#include "option.h"
#include "report.h"
#include "source.h"
#include "value.h"

#include <distgraph/array.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct arguments {
	struct reach reach;
	bool no_journal;
};

static const char about[] =
	"Writes all rows of a tensor to FILE.npy, or to FILE.csv with a line of names and then an\n"
	"id and the values a line. Rows of a STORE are in store order; rows of a CLUSTER.json are\n"
	"in the order of the input's ids, from the running servers or, when none answers, from "
	"the\n"
	"stores. An existing file is replaced when the new one is complete.\n";

static const char examples[] = "  distgraph export karate/karate.json feat feat.npy\n"
			       "  distgraph export karate/part0 node~_N~feat part0.csv\n";

/* Where rows go: one of the two files. */
struct sink {
	dg_array_writer *array;
	FILE *csv;
	const char *path;
	char temporary[DG_PATH_BYTES_MAX + 16];
};

/* A name with a comma or quote is quoted as CSV wants it. */
static void print_csv_name(FILE *out, const char *name, int64_t column)
{
	putc('"', out);
	for (const char *c = name; *c; c++) {
		if (*c == '"')
			putc('"', out);
		putc(*c, out);
	}
	if (column >= 0)
		fprintf(out, ".%" PRId64, column);
	putc('"', out);
}

static void print_csv_header(FILE *out, const struct source *s, const dg_tensor_info *tensor)
{
	size_t n = tensor->row_bytes / dg_dtype_bytes(tensor->dtype);

	fputs(s->is_cluster ? "id" : "row", out);
	for (size_t i = 0; i < n; i++) {
		putc(',', out);
		print_csv_name(out, tensor->name, tensor->rank ? (int64_t)i : -1);
	}
	putc('\n', out);
}

static dg_status open_csv(struct sink *sink, const struct source *s, const dg_tensor_info *tensor,
			  dg_error *err)
{
	(void)snprintf(sink->temporary, sizeof sink->temporary, "%s.tmp-%d", sink->path,
		       (int)getpid());
	sink->csv = fopen(sink->temporary, "wxe");
	if (!sink->csv)
		return fail(err, DG_IO, "%s: %s", sink->temporary, strerror(errno));
	print_csv_header(sink->csv, s, tensor);
	return DG_OK;
}

static dg_status close_csv(struct sink *sink, bool keep, dg_error *err)
{
	int failed = fflush(sink->csv) || ferror(sink->csv) || (keep && fsync(fileno(sink->csv)));
	int reason = errno;

	(void)fclose(sink->csv);
	if (keep && !failed) {
		failed = rename(sink->temporary, sink->path);
		reason = errno;
	}
	if (!keep || failed)
		(void)unlink(sink->temporary);
	return failed && keep ? fail(err, DG_IO, "%s: %s", sink->path, strerror(reason)) : DG_OK;
}

static dg_status put_rows(const struct sink *sink, const dg_tensor_info *tensor, dg_id first,
			  size_t n, const char *rows, dg_error *err)
{
	size_t bytes = tensor->row_bytes;

	if (sink->array)
		return dg_array_writer_append(sink->array, rows, n * bytes, err);
	for (size_t i = 0; i < n; i++) {
		fprintf(sink->csv, "%" PRId64 ",", first + (dg_id)i);
		value_print_row(sink->csv, tensor, rows + i * bytes, ',');
		putc('\n', sink->csv);
	}
	return DG_OK;
}

static dg_status copy_rows(struct source *s, const dg_tensor_info *tensor, const struct sink *sink,
			   dg_error *err)
{
	size_t batch = batch_rows(tensor);
	char *rows = malloc(batch * tensor->row_bytes);
	dg_status st = rows ? DG_OK : fail(err, DG_NOMEM, "%zu rows: out of memory", batch);

	for (int64_t at = 0; !st && at < tensor->n_rows; at += (int64_t)batch) {
		int64_t left = tensor->n_rows - at;
		size_t n = left < (int64_t)batch ? (size_t)left : batch;

		st = source_read(s, tensor, at, n, rows, err);
		if (!st)
			st = put_rows(sink, tensor, at, n, rows, err);
	}
	free(rows);
	return st;
}

static dg_status write_file(struct source *s, const dg_tensor_info *tensor, struct sink *sink,
			    bool csv, dg_error *err)
{
	dg_error later = { 0 };
	dg_status closed;
	dg_status st = csv ? open_csv(sink, s, tensor, err)
			   : open_array(sink->path, tensor, tensor->n_rows, &sink->array, err);

	if (st)
		return st;
	st = copy_rows(s, tensor, sink, err);
	closed = csv ? close_csv(sink, !st, &later)
		     : dg_array_writer_close(sink->array, !st, &later);
	if (!st && closed) {
		*err = later;
		st = closed;
	}
	return st;
}

static dg_status export(char **arguments, bool csv, const struct arguments *a, dg_error *err)
{
	struct sink sink = { .path = arguments[2] };
	const dg_tensor_info *tensor;
	struct source source;
	dg_status st = source_open(arguments[0], &a->reach, a->no_journal, &source, err);

	if (st)
		return st;
	st = source_find(&source, arguments[1], &tensor, err);
	if (!st && !source.is_cluster)
		remark("rows are in store order, not in the order of the input's ids");
	if (!st)
		st = write_file(&source, tensor, &sink, csv, err);
	if (!st)
		remark("%" PRId64 " rows written to '%s'", tensor->n_rows, sink.path);
	source_close(&source);
	return st;
}

static bool has_ending(const char *text, const char *ending)
{
	size_t n = strlen(text);

	return n >= strlen(ending) && !strcmp(text + n - strlen(ending), ending);
}

int cmd_export(int argc, char **argv)
{
	struct arguments a = { 0 };
	const struct option options[] = {
		NO_JOURNAL_OPTION(a.no_journal),
		REACH_OPTIONS(a.reach),
	};
	const struct option_set set = {
		.command = "export",
		.arguments = "STORE|CLUSTER.json TENSOR FILE.npy|FILE.csv",
		.about = about,
		.examples = examples,
		.options = options,
		.n_options = sizeof options / sizeof options[0],
		.n_arguments_min = 3,
		.n_arguments_max = 3,
	};
	size_t n;
	dg_error err;
	int code = option_parse(&set, argc, argv, &n);

	if (code != OPTION_GO)
		return code;
	if (!has_ending(argv[2], ".npy") && !has_ending(argv[2], ".csv"))
		return option_usage_error(&set, "'%s' ends neither in .npy nor in .csv", argv[2]);
	return export(argv, has_ending(argv[2], ".csv"), &a, &err) ? report_error(&err) : EXIT_DONE;
}
