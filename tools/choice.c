/* choice.c -- find rows of a store: by their place, or by what the input called nodes. */
#include "choice.h"

#include "names.h"
#include "report.h"
#include "value.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_DEFAULT = 10 };

void choice_clear(struct choice *choice)
{
	ids_clear(&choice->rows);
	ids_clear(&choice->labels);
	dg_outside_ids_clear(&choice->names);
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

dg_status choose_rows(const dg_tensor_info *tensor, const char *text, struct choice *out,
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

/* The relabelled ids of a store's rows lie side by side too. */
static dg_status search_numbers(struct source *s, const dg_tensor_info *tensor, bool internal,
				struct search *searches, size_t n, dg_error *err)
{
	dg_store_info info;
	dg_id start, end;

	if (!internal)
		return search_store(s, tensor, searches, n, err);
	dg_store_get_info(s->stores[0], &info);
	dg_book_tensor_range(s->book, tensor, info.part, &start, &end);
	search_range(start, end, searches, n);
	return DG_OK;
}

static dg_status choose_numbers(struct source *s, const dg_tensor_info *tensor, const char *text,
				bool internal, struct choice *out, dg_error *err)
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
	st = search_numbers(s, tensor, internal, searches, out->labels.n, err);
	if (!st)
		st = take_found(s, searches, out->labels.n, out->rows.items, err);
	free(searches);
	return st;
}

/* --- By what the input called nodes --- */

/* A wanted name and the row it is found in, -1 before. */
struct wanted {
	const char *text; /* NULL: an integer */
	size_t n;
	int64_t integer;
	size_t position;
	dg_id row;
};

static struct wanted wanted_of(const dg_outside_ids *names, size_t i)
{
	struct wanted w = { .position = i, .row = -1 };

	if (names->form == DG_OUTSIDE_STRINGS) {
		w.text = names->text + names->offsets[i];
		w.n = (size_t)(names->offsets[i + 1] - names->offsets[i]);
	} else {
		w.integer = names->integers[i];
	}
	return w;
}

static int compare_wanted(const void *a, const void *b)
{
	const struct wanted *x = a, *y = b;
	int order;

	if (!x->text)
		return x->integer < y->integer ? -1 : x->integer > y->integer;
	if (x->n != y->n)
		return x->n < y->n ? -1 : 1;
	order = x->n ? memcmp(x->text, y->text, x->n) : 0;
	return order;
}

/* Notes @row for everyone who wants @found; they are sorted. */
static void note_wanted(struct wanted *wanted, size_t n, const struct wanted *found, dg_id row)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_wanted(&wanted[middle], found) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < n && !compare_wanted(&wanted[low], found); low++)
		wanted[low].row = row;
}

/* Asks every node of the store what it is called, once. */
static dg_status search_names(struct source *s, const dg_tensor_info *tensor, struct wanted *wanted,
			      size_t n_wanted, dg_error *err)
{
	dg_id *ids = malloc(IDS_BATCH * sizeof *ids);
	dg_status st = ids ? DG_OK : fail(err, DG_NOMEM, "ids: out of memory");
	dg_store_info info;
	dg_id start, end;

	dg_store_get_info(s->stores[0], &info);
	dg_book_tensor_range(s->book, tensor, info.part, &start, &end);
	for (dg_id at = start; !st && at < end; at += (dg_id)IDS_BATCH) {
		size_t n = end - at < (dg_id)IDS_BATCH ? (size_t)(end - at) : IDS_BATCH;
		dg_outside_ids names = { 0 };

		for (size_t i = 0; i < n; i++)
			ids[i] = at + (dg_id)i;
		st = source_to_outside(s, tensor, ids, n, &names, err);
		for (size_t i = 0; !st && i < n; i++) {
			const struct wanted found = wanted_of(&names, i);

			note_wanted(wanted, n_wanted, &found, ids[i] - start);
		}
		dg_outside_ids_clear(&names);
	}
	free(ids);
	return st;
}

static dg_status take_wanted(const struct source *s, const struct wanted *wanted, size_t n,
			     dg_id *rows, dg_error *err)
{
	for (size_t i = 0; i < n; i++) {
		const struct wanted *w = &wanted[i];

		if (w->row < 0 && w->text)
			return fail(err, DG_NOTFOUND,
				    "no node in '%s' is called '%.*s': it is in another part or "
				    "nowhere",
				    s->path, (int)(w->n < 80 ? w->n : 80), w->text);
		if (w->row < 0)
			return fail(err, DG_NOTFOUND,
				    "no node in '%s' is called %" PRId64
				    ": it is in another part or nowhere",
				    s->path, w->integer);
		rows[w->position] = w->row;
	}
	return DG_OK;
}

static dg_status find_names(struct source *s, const dg_tensor_info *tensor, struct choice *out,
			    dg_error *err)
{
	const size_t n = out->names.n;
	struct wanted *wanted = malloc((n + 1) * sizeof *wanted);
	dg_status st;

	out->rows.items = malloc((n + 1) * sizeof *out->rows.items);
	out->rows.n = n;
	if (!wanted || !out->rows.items) {
		free(wanted);
		return fail(err, DG_NOMEM, "%zu ids: out of memory", n);
	}
	for (size_t i = 0; i < n; i++)
		wanted[i] = wanted_of(&out->names, i);
	qsort(wanted, n, sizeof *wanted, compare_wanted);
	st = search_names(s, tensor, wanted, n, err);
	if (!st)
		st = take_wanted(s, wanted, n, out->rows.items, err);
	free(wanted);
	return st;
}

dg_status choose_ids(struct source *s, const dg_tensor_info *tensor, const char *text,
		     bool internal, struct choice *out, dg_error *err)
{
	dg_outside_form form = DG_OUTSIDE_NUMBERS;
	dg_status st = internal ? DG_OK : source_form(s, tensor, &form, err);

	if (st || form == DG_OUTSIDE_NUMBERS)
		return st ? st : choose_numbers(s, tensor, text, internal, out, err);
	if (tensor->numbering == DG_ORIGINAL)
		return fail(err, DG_INVALID,
			    "'%s' is kept by the numbers of the input, not by its ids; want --rows",
			    tensor->name);
	st = names_read(text, form, s, tensor, &out->names, err);
	return st ? st : find_names(s, tensor, out, err);
}
