/* cmd_pull.c -- `distgraph pull`: rows from running servers, as text or into a .npy file. */
#include "called.h"
#include "cmd.h"
#include "option.h"
#include "report.h"
#include "source.h"
#include "value.h"

#include <distgraph/array.h>

#include <stdio.h>
#include <stdlib.h>

struct arguments {
	struct reach reach;
	const char *output;
	bool internal;
};

static const char about[] =
	"Fetches rows of a tensor from the servers and prints each as its id, a tab and its "
	"values,\n"
	"or writes them to a .npy file. IDS are the ids of the input: 0,5,7 or 10:20 (20 not\n"
	"included) or both mixed, or @FILE with one id a line or a .npy array. Repeats are fine.\n"
	"Where the input called nodes by strings or sparse integers, IDS are those: ada,bob or\n"
	"@FILE; ':' alone is every row.\n";

static const char examples[] =
	"  distgraph pull karate/karate.json feat 0,5,7\n"
	"  distgraph pull karate/karate.json node~_N~feat 10:20 -o rows.npy\n"
	"  distgraph pull karate/karate.json feat @ids.txt\n"
	"  distgraph pull people/people.json age ada,bob\n";

/* Where rows go. */
struct sink {
	dg_array_writer *file; /* NULL: text on stdout */
	const dg_tensor_info *tensor;
};

/* What one pull works with. */
struct job {
	struct source source;
	struct sink sink;
	struct called called;
};

static dg_status put_rows(struct job *job, size_t first, size_t n, const char *rows, dg_error *err)
{
	const dg_tensor_info *tensor = job->sink.tensor;
	dg_outside_ids names = { 0 };
	dg_status st;

	if (job->sink.file)
		return dg_array_writer_append(job->sink.file, rows, n * tensor->row_bytes, err);
	st = called_names(&job->source, tensor, &job->called, first, n, &names, err);
	for (size_t i = 0; !st && i < n; i++) {
		outside_print(stdout, &names, i);
		putchar('\t');
		value_print_row(stdout, tensor, rows + i * tensor->row_bytes, ' ');
		putchar('\n');
	}
	dg_outside_ids_clear(&names);
	return st;
}

/* One batch: @numbers has room for its ids, @rows for its rows. */
static dg_status pull_batch(struct job *job, size_t first, size_t n, dg_id *numbers, char *rows,
			    dg_error *err)
{
	const dg_tensor_info *tensor = job->sink.tensor;
	dg_status st = called_rows(&job->source, tensor, &job->called, first, n, numbers, err);

	if (!st)
		st = dg_client_pull(job->source.client, tensor, numbers, n, rows, err);
	if (!st)
		st = put_rows(job, first, n, rows, err);
	return st;
}

static dg_status pull_rows(struct job *job, dg_error *err)
{
	size_t n_ids = job->called.ids.n, batch = batch_rows(job->sink.tensor);
	dg_id *numbers = malloc(batch * sizeof *numbers);
	char *rows = malloc(batch * job->sink.tensor->row_bytes);
	dg_status st = DG_OK;

	if (!numbers || !rows)
		st = fail(err, DG_NOMEM, "%zu rows: out of memory", batch);
	for (size_t at = 0; !st && at < n_ids; at += batch)
		st = pull_batch(job, at, n_ids - at < batch ? n_ids - at : batch, numbers, rows,
				err);
	free(numbers);
	free(rows);
	return st;
}

static dg_status pull_to(struct job *job, const char *output, dg_error *err)
{
	dg_error ignored;
	dg_status st;

	if (!output)
		return pull_rows(job, err);
	st = open_array(output, job->sink.tensor, (int64_t)job->called.ids.n, &job->sink.file, err);
	if (st)
		return st;
	st = pull_rows(job, err);
	if (st)
		(void)dg_array_writer_close(job->sink.file, 0, &ignored);
	else
		st = dg_array_writer_close(job->sink.file, 1, err);
	return st;
}

static dg_status pull(char **arguments, const struct arguments *a, dg_error *err)
{
	dg_client *client = NULL;
	dg_tensor_info tensor;
	struct job job = { .sink.tensor = &tensor };
	dg_status st = reach_client(arguments[0], &a->reach, &client, err);

	if (!st)
		st = dg_client_find(client, arguments[1], &tensor, err);
	if (!st) {
		job.source = source_of_client(arguments[0], client);
		st = called_parse(&job.source, &tensor, arguments[2], a->internal, &job.called,
				  err);
	}
	if (!st)
		st = pull_to(&job, a->output, err);
	called_clear(&job.called);
	dg_client_close(client);
	return st;
}

int cmd_pull(int argc, char **argv)
{
	struct arguments a = { 0 };
	const struct option options[] = {
		{ .name = "output",
		  .letter = 'o',
		  .value = "FILE.npy",
		  .text = &a.output,
		  .help = "write the rows to a file; - is stdout" },
		{ .name = "internal",
		  .flag = &a.internal,
		  .help = "IDS are relabelled ids, not those of the input" },
		REACH_OPTIONS(a.reach),
	};
	const struct option_set set = {
		.command = "pull",
		.arguments = "CLUSTER.json TENSOR IDS",
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
	return pull(argv, &a, &err) ? report_error(&err) : EXIT_DONE;
}
