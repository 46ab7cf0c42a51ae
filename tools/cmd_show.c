/* cmd_show.c -- `distgraph show`: what a tensor of a store is, its rows, its statistics. */
#include "choice.h"
#include "cmd.h"
#include "describe.h"
#include "option.h"
#include "report.h"
#include "source.h"
#include "stats.h"
#include "value.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct arguments {
	const char *rows, *ids;
	bool stats, json, no_journal, internal;
};

static const char about[] =
	"Prints what a tensor of a STORE (a directory such as part0) is, and rows of it: the "
	"first\n"
	"10 in store order, those of --rows in store order, or those of --ids by the input's ids.\n"
	"Each is printed as its row or id, a tab and its values. The store is read offline.\n";

static const char examples[] = "  distgraph show karate/part0 feat\n"
			       "  distgraph show karate/part0 feat --rows 5:8\n"
			       "  distgraph show karate/part0 feat --ids 0,33\n"
			       "  distgraph show karate/part0 feat --stats --json\n";

static void print_label(const struct choice *choice, size_t i)
{
	if (choice->names.n)
		outside_print(stdout, &choice->names, i);
	else
		printf("%" PRId64, choice->labels.items[i]);
}

static void print_json_label(const struct choice *choice, size_t i)
{
	json_t *text;

	if (choice->names.form != DG_OUTSIDE_STRINGS) {
		print_label(choice, i);
		return;
	}
	text = json_stringn(choice->names.text + choice->names.offsets[i],
			    (size_t)(choice->names.offsets[i + 1] - choice->names.offsets[i]));
	(void)json_dumpf(text, stdout, JSON_COMPACT | JSON_ENCODE_ANY);
	json_decref(text);
}

/* One row as a line, or as an element of the JSON list. */
static void print_row(const dg_tensor_info *tensor, const struct arguments *a,
		      const struct choice *choice, size_t i, const char *row)
{
	if (a->json) {
		printf("%s\n    {\"%s\": ", i == 0 ? "" : ",", a->ids ? "id" : "row");
		print_json_label(choice, i);
		printf(", \"values\": ");
		value_print_json_row(stdout, tensor, row);
		putchar('}');
		return;
	}
	print_label(choice, i);
	putchar('\t');
	value_print_row(stdout, tensor, row, ' ');
	putchar('\n');
}

static dg_status print_rows(struct source *s, const dg_tensor_info *tensor,
			    const struct arguments *a, const struct choice *choice, dg_error *err)
{
	size_t batch = batch_rows(tensor);
	char *rows = malloc(batch * tensor->row_bytes);
	dg_status st = rows ? DG_OK : fail(err, DG_NOMEM, "%zu rows: out of memory", batch);

	for (size_t at = 0; !st && at < choice->rows.n; at += batch) {
		size_t n = choice->rows.n - at < batch ? choice->rows.n - at : batch;

		st = dg_store_gather(s->stores[0], tensor, choice->rows.items + at, n, rows, err);
		for (size_t i = 0; !st && i < n; i++)
			print_row(tensor, a, choice, at + i, rows + i * tensor->row_bytes);
	}
	free(rows);
	return st;
}

static dg_status collect_stats(struct source *s, const dg_tensor_info *tensor, struct stats *stats,
			       dg_error *err)
{
	size_t batch = batch_rows(tensor);
	char *rows = malloc(batch * tensor->row_bytes);
	dg_status st = rows ? DG_OK : fail(err, DG_NOMEM, "%zu rows: out of memory", batch);

	*stats = stats_of(tensor->dtype);
	for (int64_t at = 0; !st && at < tensor->n_rows; at += (int64_t)batch) {
		int64_t left = tensor->n_rows - at;
		size_t n = left < (int64_t)batch ? (size_t)left : batch;

		st = source_read(s, tensor, at, n, rows, err);
		if (!st)
			stats_add(stats, rows, n * tensor->row_bytes);
	}
	free(rows);
	return st;
}

static void print_member(const char *name, json_t *value, const char *before)
{
	printf("%s  \"%s\": ", before, name);
	(void)json_dumpf(value, stdout, JSON_COMPACT | JSON_ENCODE_ANY);
	json_decref(value);
}

static void print_description(const struct source *s, const dg_tensor_info *tensor)
{
	char key[DG_KEY_TEXT_BYTES], shape[SHAPE_TEXT_BYTES], durability[32];

	dg_book_tensor_key(s->book, tensor, key);
	describe_shape(tensor, shape);
	describe_durability(tensor, durability);
	printf("%s  %s  %s  %" PRIu64 " bytes  %s\n", key, dg_dtype_name(tensor->dtype), shape,
	       describe_bytes(tensor), durability);
}

/* With --stats alone there are figures only. */
static bool wants_rows(const struct arguments *a)
{
	return !a->stats || a->rows || a->ids;
}

static dg_status show_text(struct source *s, const dg_tensor_info *tensor,
			   const struct arguments *a, const struct choice *choice, dg_error *err)
{
	struct stats stats;
	dg_status st = DG_OK;

	print_description(s, tensor);
	if (a->stats) {
		st = collect_stats(s, tensor, &stats, err);
		if (!st)
			stats_print(&stats);
	}
	if (!st && wants_rows(a))
		st = print_rows(s, tensor, a, choice, err);
	return st;
}

/* Rows are written one by one: they may be more than fit in memory. */
static dg_status show_json(struct source *s, const dg_tensor_info *tensor,
			   const struct arguments *a, const struct choice *choice, dg_error *err)
{
	struct stats stats;
	dg_status st = DG_OK;

	if (a->stats)
		st = collect_stats(s, tensor, &stats, err);
	if (st)
		return st;
	puts("{");
	print_member("tensor", describe_json(s->book, tensor), "");
	if (s->without_journal)
		print_member("left_out", source_left_out_json(s), ",\n");
	if (a->stats)
		print_member("stats", stats_json(&stats), ",\n");
	if (wants_rows(a)) {
		printf(",\n  \"rows\": [");
		st = print_rows(s, tensor, a, choice, err);
		printf("\n  ]");
	}
	puts("\n}");
	return st;
}

static dg_status show(char **arguments, const struct arguments *a, dg_error *err)
{
	const struct reach reach = { 0 };
	const dg_tensor_info *tensor;
	struct choice choice = { 0 };
	struct source source;
	dg_status st;

	if (!is_directory(arguments[0]))
		return fail(err, DG_NOTFOUND,
			    "'%s' is not a directory; a store is one, such as part0", arguments[0]);
	st = source_open(arguments[0], &reach, a->no_journal, &source, err);
	if (st)
		return st;
	st = source_find(&source, arguments[1], &tensor, err);
	if (!st && wants_rows(a) && !a->ids)
		remark("rows are in store order, not in the order of the input's ids");
	if (!st && wants_rows(a))
		st = a->ids ? choose_ids(&source, tensor, a->ids, a->internal, &choice, err)
			    : choose_rows(tensor, a->rows, &choice, err);
	if (!st)
		st = a->json ? show_json(&source, tensor, a, &choice, err)
			     : show_text(&source, tensor, a, &choice, err);
	choice_clear(&choice);
	source_close(&source);
	return st;
}

int cmd_show(int argc, char **argv)
{
	struct arguments a = { 0 };
	const struct option options[] = {
		{ .name = "rows",
		  .value = "A:B",
		  .text = &a.rows,
		  .help = "rows in store order; : is all of them" },
		{ .name = "ids",
		  .value = "IDS",
		  .text = &a.ids,
		  .help = "rows by the input's ids, written as for pull" },
		{ .name = "internal",
		  .flag = &a.internal,
		  .help = "--ids are relabelled ids, not those of the input" },
		{ .name = "stats",
		  .flag = &a.stats,
		  .help = "minimum, maximum, mean, deviation, NaN, infinities, zeros" },
		{ .name = "json", .flag = &a.json, .help = "print the result as JSON" },
		NO_JOURNAL_OPTION(a.no_journal),
	};
	const struct option_set set = {
		.command = "show",
		.arguments = "STORE TENSOR",
		.about = about,
		.examples = examples,
		.options = options,
		.n_options = sizeof options / sizeof options[0],
		.n_arguments_min = 2,
		.n_arguments_max = 2,
	};
	size_t n;
	dg_error err;
	int code = option_parse(&set, argc, argv, &n);

	if (code == OPTION_GO && a.rows && a.ids)
		code = option_usage_error(&set, "--rows and --ids exclude each other");
	if (code == OPTION_GO && a.internal && !a.ids)
		code = option_usage_error(&set, "--internal says what --ids are; there are none");
	if (code != OPTION_GO)
		return code;
	return show(argv, &a, &err) ? report_error(&err) : EXIT_DONE;
}
