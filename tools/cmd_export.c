/* cmd_export.c -- `distgraph export`: a whole tensor to a .npy or .csv file, batch by batch. */
#include "called.h"
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
	const char *ids_out;
	bool no_journal, internal;
};

static const char about[] =
	"Writes all rows of a tensor to FILE.npy, or to FILE.csv with a line of names and then an\n"
	"id and the values a line. Rows of a STORE are in store order; rows of a CLUSTER.json are\n"
	"in the order of the input, from the running servers or, when none answers, from the\n"
	"stores. Ids are what the input called nodes, integers or strings; a .npy has no room for\n"
	"them, --ids-out FILE has. An existing file is replaced when the new one is complete.\n";

static const char examples[] =
	"  distgraph export karate/karate.json feat feat.npy\n"
	"  distgraph export karate/part0 node~_N~feat part0.csv\n"
	"  distgraph export people/people.json age age.npy --ids-out ids.txt\n";

/* A text file that is under its name when it is whole. */
struct text_file {
	FILE *out; /* NULL: none */
	const char *path;
	char temporary[DG_PATH_BYTES_MAX + 16];
};

/* Where rows go: one of the two files; and what they are called, if asked for. */
struct sink {
	dg_outside_form form; /* of the ids of a cluster */
	dg_array_writer *array;
	struct text_file csv, ids;
	const char *path;
};

static dg_status text_open(struct text_file *file, const char *path, dg_error *err)
{
	file->path = path;
	(void)snprintf(file->temporary, sizeof file->temporary, "%s.tmp-%d", path, (int)getpid());
	file->out = fopen(file->temporary, "wxe");
	return file->out ? DG_OK : fail(err, DG_IO, "%s: %s", file->temporary, strerror(errno));
}

static dg_status text_close(struct text_file *file, bool keep, dg_error *err)
{
	int failed, reason;

	if (!file->out)
		return DG_OK;
	failed = fflush(file->out) || ferror(file->out) || (keep && fsync(fileno(file->out)));
	reason = errno;
	(void)fclose(file->out);
	file->out = NULL;
	if (keep && !failed) {
		failed = rename(file->temporary, file->path);
		reason = errno;
	}
	if (!keep || failed)
		(void)unlink(file->temporary);
	return failed && keep ? fail(err, DG_IO, "%s: %s", file->path, strerror(reason)) : DG_OK;
}

static void print_quoted(FILE *out, const char *text, size_t n)
{
	putc('"', out);
	for (size_t i = 0; i < n; i++) {
		if (text[i] == '"')
			putc('"', out);
		putc(text[i], out);
	}
	putc('"', out);
}

static void print_csv_header(FILE *out, const struct source *s, const dg_tensor_info *tensor)
{
	size_t n = tensor->row_bytes / dg_dtype_bytes(tensor->dtype);
	char name[DG_NAME_BYTES_MAX + 32];

	fputs(s->is_cluster ? "id" : "row", out);
	for (size_t i = 0; i < n; i++) {
		(void)snprintf(name, sizeof name, tensor->rank ? "%s.%zu" : "%s", tensor->name, i);
		putc(',', out);
		print_quoted(out, name, strlen(name));
	}
	putc('\n', out);
}

/* A string with a comma, a quote or a line break is quoted as CSV wants it; so is an empty one. */
static void print_csv_id(FILE *out, const dg_outside_ids *ids, size_t i)
{
	const char *text;
	size_t n;

	if (ids->form == DG_OUTSIDE_STRINGS) {
		text = ids->text + ids->offsets[i];
		n = (size_t)(ids->offsets[i + 1] - ids->offsets[i]);
		if (!n || memchr(text, ',', n) || memchr(text, '"', n) || memchr(text, '\n', n) ||
		    memchr(text, '\r', n)) {
			print_quoted(out, text, n);
			return;
		}
	}
	outside_print(out, ids, i);
}

static void put_csv(FILE *out, const dg_tensor_info *tensor, const dg_outside_ids *ids,
		    const char *rows)
{
	for (size_t i = 0; i < ids->n; i++) {
		print_csv_id(out, ids, i);
		putc(',', out);
		value_print_row(out, tensor, rows + i * tensor->row_bytes, ',');
		putc('\n', out);
	}
}

/* One a line, which some strings cannot be. */
static dg_status put_ids(const struct text_file *file, const dg_outside_ids *ids, dg_error *err)
{
	for (size_t i = 0; i < ids->n; i++) {
		if (ids->form == DG_OUTSIDE_STRINGS) {
			const char *text = ids->text + ids->offsets[i];
			size_t n = (size_t)(ids->offsets[i + 1] - ids->offsets[i]);

			if (!n || memchr(text, '\n', n) || memchr(text, '\r', n))
				return fail(err, DG_INVALID,
					    "%s: an id is empty or has a line break, so it is no "
					    "line; export to .csv, which quotes it",
					    file->path);
		}
		outside_print(file->out, ids, i);
		putc('\n', file->out);
	}
	return DG_OK;
}

/* What rows [first, first + n) are called: of a store they are not. */
static dg_status name_rows(struct source *s, const dg_tensor_info *tensor, const struct sink *sink,
			   dg_id first, size_t n, dg_outside_ids *out, dg_error *err)
{
	dg_id *ids = malloc(n * sizeof *ids);
	dg_status st;

	if (!ids)
		return fail(err, DG_NOMEM, "%zu ids: out of memory", n);
	for (size_t i = 0; i < n; i++)
		ids[i] = first + (dg_id)i;
	st = called_of(s, tensor, sink->form, s->internal, ids, n, out, err);
	free(ids);
	return st;
}

static dg_status put_rows(struct source *s, const dg_tensor_info *tensor, const struct sink *sink,
			  dg_id first, size_t n, const char *rows, dg_error *err)
{
	dg_outside_ids ids = { 0 };
	dg_status st = DG_OK;

	if (sink->csv.out || sink->ids.out)
		st = name_rows(s, tensor, sink, first, n, &ids, err);
	if (!st && sink->ids.out)
		st = put_ids(&sink->ids, &ids, err);
	if (!st && sink->csv.out)
		put_csv(sink->csv.out, tensor, &ids, rows);
	else if (!st)
		st = dg_array_writer_append(sink->array, rows, n * tensor->row_bytes, err);
	dg_outside_ids_clear(&ids);
	return st;
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
			st = put_rows(s, tensor, sink, at, n, rows, err);
	}
	free(rows);
	return st;
}

static dg_status open_rows(struct source *s, const dg_tensor_info *tensor, struct sink *sink,
			   bool csv, dg_error *err)
{
	dg_status st;

	if (!csv)
		return open_array(sink->path, tensor, tensor->n_rows, &sink->array, err);
	st = text_open(&sink->csv, sink->path, err);
	if (!st)
		print_csv_header(sink->csv.out, s, tensor);
	return st;
}

static dg_status write_files(struct source *s, const dg_tensor_info *tensor, struct sink *sink,
			     bool csv, const char *ids_out, dg_error *err)
{
	dg_error later = { 0 };
	dg_status closed;
	dg_status st = open_rows(s, tensor, sink, csv, err);

	if (st)
		return st;
	if (ids_out)
		st = text_open(&sink->ids, ids_out, err);
	if (!st)
		st = copy_rows(s, tensor, sink, err);
	closed = csv ? text_close(&sink->csv, !st, &later)
		     : dg_array_writer_close(sink->array, !st, &later);
	if (!closed)
		closed = text_close(&sink->ids, !st, &later);
	else
		(void)text_close(&sink->ids, false, &(dg_error){ 0 });
	if (!st && closed) {
		*err = later;
		st = closed;
	}
	return st;
}

static dg_status begin(struct source *s, const char *name, const struct arguments *a,
		       const dg_tensor_info **tensor, struct sink *sink, dg_error *err)
{
	dg_status st = source_find(s, name, tensor, err);

	if (st)
		return st;
	if (!s->is_cluster && (a->internal || a->ids_out))
		return fail(err, DG_INVALID,
			    "'%s' is a store, whose rows are in its own order; %s wants a "
			    "CLUSTER.json",
			    s->path, a->internal ? "--internal" : "--ids-out");
	s->internal = a->internal;
	if (!s->is_cluster)
		remark("rows are in store order, not in the order of the input's ids");
	else if (!a->internal)
		st = source_form(s, *tensor, &sink->form, err);
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
	st = begin(&source, arguments[1], a, &tensor, &sink, err);
	if (!st)
		st = write_files(&source, tensor, &sink, csv, a->ids_out, err);
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
		{ .name = "ids-out",
		  .value = "FILE",
		  .text = &a.ids_out,
		  .help = "write the ids of the rows too, one a line in their order" },
		{ .name = "internal",
		  .flag = &a.internal,
		  .help = "rows are in the order of relabelled ids, not the input's" },
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
