/* cmd_ls.c -- `distgraph ls`: the tensors of a store or cluster. */
#include "cmd.h"
#include "describe.h"
#include "option.h"
#include "report.h"
#include "source.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct arguments {
	struct reach reach;
	bool json, all, no_journal;
};

static const char about[] =
	"Lists tensors: key, type, shape, payload bytes, and when a push is acknowledged. A STORE\n"
	"(a directory such as part0) is read offline and shows its own rows. A CLUSTER.json shows\n"
	"the whole graph, from the running servers or, when none answers, from the stores.\n";

static const char examples[] = "  distgraph ls karate/part0\n"
			       "  distgraph ls karate/karate.json --all\n"
			       "  distgraph ls karate/karate.json --json\n";

static bool is_listed(const dg_tensor_info *tensor, bool all)
{
	return all || !(tensor->flags & DG_TENSOR_SYSTEM);
}

static int print_json(const struct source *s, bool all)
{
	json_t *list = json_array(), *result;

	for (size_t i = 0; i < s->n_tensors; i++)
		if (is_listed(&s->tensors[i], all))
			(void)json_array_append_new(list, describe_json(s->book, &s->tensors[i]));
	result = json_pack("{s:s, s:s, s:o}", s->is_cluster ? "cluster" : "store", s->path, "from",
			   s->client ? "servers" : "files", "tensors", list);
	if (s->without_journal)
		(void)json_object_set_new(result, "left_out", source_left_out_json(s));
	return report_json(result);
}

/* Width of the column of keys. */
static int key_width(const struct source *s, bool all)
{
	char key[DG_KEY_TEXT_BYTES];
	size_t width = strlen("KEY");

	for (size_t i = 0; i < s->n_tensors; i++) {
		if (!is_listed(&s->tensors[i], all))
			continue;
		dg_book_tensor_key(s->book, &s->tensors[i], key);
		width = strlen(key) > width ? strlen(key) : width;
	}
	return (int)width;
}

static int print_table(const struct source *s, bool all)
{
	int width = key_width(s, all);
	char key[DG_KEY_TEXT_BYTES], shape[SHAPE_TEXT_BYTES], durability[32];

	printf("%-*s  %-8s  %-16s  %12s  %s\n", width, "KEY", "TYPE", "SHAPE", "BYTES",
	       "DURABILITY");
	for (size_t i = 0; i < s->n_tensors; i++) {
		const dg_tensor_info *tensor = &s->tensors[i];

		if (!is_listed(tensor, all))
			continue;
		dg_book_tensor_key(s->book, tensor, key);
		describe_shape(tensor, shape);
		describe_durability(tensor, durability);
		printf("%-*s  %-8s  %-16s  %12" PRIu64 "  %s\n", width, key,
		       dg_dtype_name(tensor->dtype), shape, describe_bytes(tensor), durability);
	}
	return EXIT_DONE;
}

int cmd_ls(int argc, char **argv)
{
	struct arguments a = { 0 };
	const struct option options[] = {
		{ .name = "all", .flag = &a.all, .help = "list the store's own tensors too" },
		{ .name = "json", .flag = &a.json, .help = "print the result as JSON" },
		NO_JOURNAL_OPTION(a.no_journal),
		REACH_OPTIONS(a.reach),
	};
	const struct option_set set = {
		.command = "ls",
		.arguments = "STORE|CLUSTER.json",
		.about = about,
		.examples = examples,
		.options = options,
		.n_options = sizeof options / sizeof options[0],
		.n_arguments_min = 1,
		.n_arguments_max = 1,
	};
	struct source source;
	size_t n;
	dg_error err;
	int code = option_parse(&set, argc, argv, &n);

	if (code != OPTION_GO)
		return code;
	if (source_open(argv[0], &a.reach, a.no_journal, &source, &err))
		return report_error(&err);
	code = a.json ? print_json(&source, a.all) : print_table(&source, a.all);
	source_close(&source);
	return code;
}
