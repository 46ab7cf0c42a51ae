/* cmd_show.c -- `distgraph show`: what a tensor of a store is, its rows, its statistics. */
#include "cmd.h"
#include "describe.h"
#include "ids.h"
#include "option.h"
#include "report.h"
#include "source.h"
#include "stats.h"
#include "value.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_DEFAULT = 10 };

struct arguments {
	const char *rows, *ids;
	bool stats, json, no_journal;
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

/* The rows to show. */
struct choice {
	struct ids rows;   /* in the store */
	struct ids labels; /* what each is called: its row, or its original id */
};

static void choice_clear(struct choice *choice)
{
	ids_clear(&choice->rows);
	ids_clear(&choice->labels);
}

static dg_status copy_ids(const struct ids *from, struct ids *to, dg_error *err)
{
	to->n = from->n;
	to->items = malloc((from->n ? from->n : 1) * sizeof *to->items);
	if (!to->items)
		return fail(err, DG_NOMEM, "%zu rows: out of memory", from->n);
	if (from->n)
		memcpy(to->items, from->items, from->n * sizeof *to->items);
	return DG_OK;
}

static dg_status choose_rows(const dg_tensor_info *tensor, const char *text, struct choice *out,
			     dg_error *err)
{
	char first_rows[32];
	dg_status st;

	(void)snprintf(first_rows, sizeof first_rows, "0:%" PRId64,
		       tensor->n_rows < ROWS_DEFAULT ? tensor->n_rows : (int64_t)ROWS_DEFAULT);
	st = ids_parse(text ? text : first_rows, tensor->n_rows, tensor->name, &out->rows, err);
	if (!st)
		st = copy_ids(&out->rows, &out->labels, err);
	return st;
}

/* A wanted id and the row it is found in, -1 before. */
struct search {
	dg_id id;
	size_t position;
	dg_id row;
};

static int compare_searches(const void *a, const void *b)
{
	const struct search *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

/* Notes row @row for every search of @id; they are sorted. */
static void note_row(struct search *searches, size_t n, dg_id id, dg_id row)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (searches[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < n && searches[low].id == id; low++)
		searches[low].row = row;
}

/* Reads the store's table of original ids once. */
static dg_status search_table(struct source *s, const dg_tensor_info *table,
			      struct search *searches, size_t n, dg_error *err)
{
	size_t batch = batch_rows(table), bytes = dg_dtype_bytes(table->dtype);
	char *cells = malloc(batch * bytes);
	dg_status st = cells ? DG_OK : fail(err, DG_NOMEM, "%zu ids: out of memory", batch);

	for (int64_t at = 0; !st && at < table->n_rows; at += (int64_t)batch) {
		int64_t left = table->n_rows - at;
		size_t here = left < (int64_t)batch ? (size_t)left : batch;

		st = source_read(s, table, at, here, cells, err);
		for (size_t i = 0; !st && i < here; i++)
			note_row(searches, n, value_integer(table->dtype, cells + i * bytes),
				 at + (int64_t)i);
	}
	free(cells);
	return st;
}

/* The rows of a share of a table that is kept by original ids lie side by side. */
static void search_range(dg_id start, dg_id end, struct search *searches, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (searches[i].id >= start && searches[i].id < end)
			searches[i].row = searches[i].id - start;
}

static dg_status search_store(struct source *s, const dg_tensor_info *tensor,
			      struct search *searches, size_t n, dg_error *err)
{
	dg_store_info info;
	dg_id start, end;

	if (tensor->numbering == DG_ORIGINAL) {
		dg_store_get_info(s->stores[0], &info);
		dg_book_tensor_range(s->book, tensor, info.part, &start, &end);
		search_range(start, end, searches, n);
		return DG_OK;
	}
	for (size_t i = 0; i < s->n_tensors; i++) {
		const dg_tensor_info *table = &s->tensors[i];

		if (table->side == tensor->side && table->type == tensor->type &&
		    !strcmp(table->name, DG_TENSOR_ORIGINAL_ID))
			return search_table(s, table, searches, n, err);
	}
	return fail(err, DG_CORRUPT, "'%s' has no id table for '%s'", s->path, tensor->name);
}

static dg_status take_found(const struct source *s, const struct search *searches, size_t n,
			    dg_id *rows, dg_error *err)
{
	for (size_t i = 0; i < n; i++) {
		if (searches[i].row < 0)
			return fail(err, DG_NOTFOUND,
				    "id %" PRId64 " is not in '%s' but in another part",
				    searches[i].id, s->path);
		rows[searches[i].position] = searches[i].row;
	}
	return DG_OK;
}

static dg_status choose_ids(struct source *s, const dg_tensor_info *tensor, const char *text,
			    struct choice *out, dg_error *err)
{
	int64_t n_ids = dg_book_count(s->book, tensor->side, tensor->type);
	struct search *searches;
	dg_status st = ids_parse(text, n_ids, tensor->name, &out->labels, err);

	if (!st)
		st = copy_ids(&out->labels, &out->rows, err);
	if (st)
		return st;
	searches = calloc(out->labels.n + 1, sizeof *searches);
	if (!searches)
		return fail(err, DG_NOMEM, "%zu ids: out of memory", out->labels.n);
	for (size_t i = 0; i < out->labels.n; i++)
		searches[i] =
			(struct search){ .id = out->labels.items[i], .position = i, .row = -1 };
	qsort(searches, out->labels.n, sizeof *searches, compare_searches);
	st = search_store(s, tensor, searches, out->labels.n, err);
	if (!st)
		st = take_found(s, searches, out->labels.n, out->rows.items, err);
	free(searches);
	return st;
}

/* One row as a line, or as an element of the JSON list. */
static void print_row(const dg_tensor_info *tensor, const struct arguments *a, dg_id label,
		      const char *row, bool first)
{
	if (a->json) {
		printf("%s\n    {\"%s\": %" PRId64 ", \"values\": ", first ? "" : ",",
		       a->ids ? "id" : "row", label);
		value_print_json_row(stdout, tensor, row);
		putchar('}');
		return;
	}
	printf("%" PRId64 "\t", label);
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
			print_row(tensor, a, choice->labels.items[at + i],
				  rows + i * tensor->row_bytes, at + i == 0);
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
		st = a->ids ? choose_ids(&source, tensor, a->ids, &choice, err)
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
	if (code != OPTION_GO)
		return code;
	return show(argv, &a, &err) ? report_error(&err) : EXIT_DONE;
}
