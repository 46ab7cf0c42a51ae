/* cmd_pull.c -- `distgraph pull`: rows from running servers, as text or into a .npy file. */
#include "cmd.h"
#include "ids.h"
#include "option.h"
#include "report.h"
#include "source.h"
#include "value.h"

#include <distgraph/array.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct arguments {
	struct reach reach;
	const char *output;
	bool internal;
};

static const char about[] =
	"Fetches rows of a tensor from the servers and prints each as its id, a tab and its "
	"values,\n"
	"or writes them to a .npy file. IDS are the ids of the input: 0,5,7 or 10:20 (20 not\n"
	"included) or both mixed, or @FILE with one id a line or a .npy array. Repeats are fine.\n";

static const char examples[] =
	"  distgraph pull karate/karate.json feat 0,5,7\n"
	"  distgraph pull karate/karate.json node~_N~feat 10:20 -o rows.npy\n"
	"  distgraph pull karate/karate.json feat @ids.txt\n";

/* Where rows go. */
struct sink {
	dg_array_writer *file; /* NULL: text on stdout */
	const dg_tensor_info *tensor;
};

static dg_status put_rows(const struct sink *sink, const dg_id *ids, size_t n, const char *rows,
			  dg_error *err)
{
	size_t bytes = sink->tensor->row_bytes;

	if (sink->file)
		return dg_array_writer_append(sink->file, rows, n * bytes, err);
	for (size_t i = 0; i < n; i++) {
		printf("%" PRId64 "\t", ids[i]);
		value_print_row(stdout, sink->tensor, rows + i * bytes, ' ');
		putchar('\n');
	}
	return DG_OK;
}

/* One batch: @numbers has room for relabelled ids, @rows for rows. */
static dg_status pull_batch(dg_client *client, const struct sink *sink, bool internal,
			    const dg_id *ids, size_t n, dg_id *numbers, char *rows, dg_error *err)
{
	const dg_tensor_info *tensor = sink->tensor;
	dg_status st = DG_OK;

	if (internal || tensor->numbering == DG_ORIGINAL)
		memcpy(numbers, ids, n * sizeof *ids);
	else
		st = dg_client_to_internal(client, tensor->side, tensor->type, ids, n, numbers,
					   err);
	if (!st)
		st = dg_client_pull(client, tensor, numbers, n, rows, err);
	if (!st)
		st = put_rows(sink, ids, n, rows, err);
	return st;
}

static dg_status pull_ids(dg_client *client, const struct sink *sink, bool internal,
			  const struct ids *ids, dg_error *err)
{
	size_t batch = batch_rows(sink->tensor);
	dg_id *numbers = malloc(batch * sizeof *numbers);
	char *rows = malloc(batch * sink->tensor->row_bytes);
	dg_status st = DG_OK;

	if (!numbers || !rows)
		st = fail(err, DG_NOMEM, "%zu rows: out of memory", batch);
	for (size_t at = 0; !st && at < ids->n; at += batch) {
		size_t n = ids->n - at < batch ? ids->n - at : batch;

		st = pull_batch(client, sink, internal, ids->items + at, n, numbers, rows, err);
	}
	free(numbers);
	free(rows);
	return st;
}

static dg_status pull_to(dg_client *client, const struct arguments *a, const dg_tensor_info *tensor,
			 const struct ids *ids, dg_error *err)
{
	struct sink sink = { .tensor = tensor };
	dg_error ignored;
	dg_status st;

	if (!a->output)
		return pull_ids(client, &sink, a->internal, ids, err);
	st = open_array(a->output, tensor, (int64_t)ids->n, &sink.file, err);
	if (st)
		return st;
	st = pull_ids(client, &sink, a->internal, ids, err);
	if (st)
		(void)dg_array_writer_close(sink.file, 0, &ignored);
	else
		st = dg_array_writer_close(sink.file, 1, err);
	return st;
}

static dg_status pull(char **arguments, const struct arguments *a, dg_error *err)
{
	struct ids ids = { 0 };
	dg_client *client = NULL;
	dg_tensor_info tensor;
	dg_status st = reach_client(arguments[0], &a->reach, &client, err);

	if (!st)
		st = dg_client_find(client, arguments[1], &tensor, err);
	if (!st)
		st = ids_parse(arguments[2], tensor.n_rows, arguments[1], &ids, err);
	if (!st)
		st = pull_to(client, a, &tensor, &ids, err);
	ids_clear(&ids);
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
