/* cmd_push.c -- `distgraph push`: set rows on running servers from a .npy file. */
#include "called.h"
#include "cmd.h"
#include "fit.h"
#include "option.h"
#include "report.h"
#include "source.h"

#include <distgraph/array.h>

#include <stdio.h>
#include <stdlib.h>

struct arguments {
	struct reach reach;
	bool internal;
};

static const char about[] =
	"Sets rows of a tensor to those of a .npy file, whose i-th row goes to the i-th of IDS "
	"(of\n"
	"equal ids the last wins). Returns when every server has acknowledged, which means that "
	"the\n"
	"rows are on disk. IDS are the ids of the input, written as for `distgraph pull`.\n";

static const char examples[] =
	"  distgraph push karate/karate.json feat 0,5,7 rows.npy\n"
	"  distgraph push karate/karate.json node~_N~feat 10:20 rows.npy --internal\n"
	"  distgraph push people/people.json age ada,bob rows.npy\n";

static dg_status check_array(const char *path, const dg_array *array, const dg_tensor_info *tensor,
			     size_t n_ids, dg_error *err)
{
	char why[48];

	(void)snprintf(why, sizeof why, "%zu ids of", n_ids);
	return fit_check(path, array, tensor, (int64_t)n_ids, why, err);
}

static dg_status push_array(struct source *source, const dg_tensor_info *tensor,
			    const struct called *called, const dg_array *array, dg_error *err)
{
	const size_t n = called->ids.n;
	dg_id *rows = malloc((n ? n : 1) * sizeof *rows);
	dg_status st = rows ? DG_OK : fail(err, DG_NOMEM, "%zu ids: out of memory", n);

	if (!st)
		st = called_rows(source, tensor, called, 0, n, rows, err);
	if (!st)
		st = dg_client_push(source->client, tensor, rows, n, array->data, err);
	free(rows);
	return st;
}

static dg_status push(char **arguments, const struct arguments *a, dg_error *err)
{
	struct called called = { 0 };
	struct source source = { 0 };
	dg_array array = { 0 };
	dg_client *client = NULL;
	dg_tensor_info tensor;
	dg_status st = reach_client(arguments[0], &a->reach, &client, err);

	if (!st)
		st = dg_client_find(client, arguments[1], &tensor, err);
	if (!st) {
		source = source_of_client(arguments[0], client);
		st = called_parse(&source, &tensor, arguments[2], a->internal, &called, err);
	}
	if (!st)
		st = dg_array_load(arguments[3], &array, err);
	if (!st)
		st = check_array(arguments[3], &array, &tensor, called.ids.n, err);
	if (!st)
		st = push_array(&source, &tensor, &called, &array, err);
	if (!st)
		printf("%zu rows acknowledged\n", called.ids.n);
	dg_array_clear(&array);
	called_clear(&called);
	dg_client_close(client);
	return st;
}

int cmd_push(int argc, char **argv)
{
	struct arguments a = { 0 };
	const struct option options[] = {
		{ .name = "internal",
		  .flag = &a.internal,
		  .help = "IDS are relabelled ids, not those of the input" },
		REACH_OPTIONS(a.reach),
	};
	const struct option_set set = {
		.command = "push",
		.arguments = "CLUSTER.json TENSOR IDS FILE.npy",
		.about = about,
		.examples = examples,
		.options = options,
		.n_options = sizeof options / sizeof options[0],
		.n_arguments_min = 4,
		.n_arguments_max = 4,
	};
	size_t n;
	dg_error err;
	int code = option_parse(&set, argc, argv, &n);

	if (code != OPTION_GO)
		return code;
	return push(argv, &a, &err) ? report_error(&err) : EXIT_DONE;
}
