/* cmd_push.c -- `distgraph push`: set rows on running servers from a .npy file. */
#include "cmd.h"
#include "fit.h"
#include "ids.h"
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
	"  distgraph push karate/karate.json node~_N~feat 10:20 rows.npy --internal\n";

static dg_status check_array(const char *path, const dg_array *array, const dg_tensor_info *tensor,
			     size_t n_ids, dg_error *err)
{
	char why[48];

	(void)snprintf(why, sizeof why, "%zu ids of", n_ids);
	return fit_check(path, array, tensor, (int64_t)n_ids, why, err);
}

static dg_status push_array(dg_client *client, const struct arguments *a,
			    const dg_tensor_info *tensor, const struct ids *ids,
			    const dg_array *array, dg_error *err)
{
	dg_status st = DG_OK;

	if (!a->internal && tensor->numbering == DG_INTERNAL)
		st = dg_client_to_internal(client, tensor->side, tensor->type, ids->items, ids->n,
					   ids->items, err);
	if (!st)
		st = dg_client_push(client, tensor, ids->items, ids->n, array->data, err);
	return st;
}

static dg_status push(char **arguments, const struct arguments *a, dg_error *err)
{
	struct ids ids = { 0 };
	dg_array array = { 0 };
	dg_client *client = NULL;
	dg_tensor_info tensor;
	dg_status st = reach_client(arguments[0], &a->reach, &client, err);

	if (!st)
		st = dg_client_find(client, arguments[1], &tensor, err);
	if (!st)
		st = ids_parse(arguments[2], tensor.n_rows, arguments[1], &ids, err);
	if (!st)
		st = dg_array_load(arguments[3], &array, err);
	if (!st)
		st = check_array(arguments[3], &array, &tensor, ids.n, err);
	if (!st)
		st = push_array(client, a, &tensor, &ids, &array, err);
	if (!st)
		printf("%zu rows acknowledged\n", ids.n);
	dg_array_clear(&array);
	ids_clear(&ids);
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
