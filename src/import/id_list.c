/* id_list.c -- a file that lists the outside ids of nodes, or names of relations, by number. */
#include "id_list.h"

#include "check.h"
#include "fail.h"
#include "fields.h"
#include "npy_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct list {
	struct dgi_id_map map;
	bool strings; /* asked for, or found */
	const char *column;
	bool by_fields;
	struct dgi_cutter cutter;
	bool begun;
	bool header_left;
	size_t field;
};

/* As a program would write it: no sign but minus, no leading zero. */
static bool is_canonical(struct dgi_field f, int64_t *out)
{
	const size_t minus = f.n > 0 && f.at[0] == '-';

	if (f.n <= minus || (f.at[minus] == '0' && f.n > 1))
		return false;
	for (size_t i = minus; i < f.n; i++)
		if (f.at[i] < '0' || f.at[i] > '9')
			return false;
	return dgi_field_integer(f, "an id", out, NULL) == DG_OK;
}

/* A string came among integers: all are strings. */
static dg_status become_strings(struct list *list, dg_error *err)
{
	struct dgi_id_map strings = dgi_id_map_new(true);
	const int64_t *ids = (const int64_t *)(const void *)list->map.keys.data;
	char text[24];
	int64_t number;
	dg_status st = DG_OK;

	for (int64_t i = 0; !st && i < list->map.n; i++)
		st = dgi_id_map_string(&strings, text,
				       (size_t)snprintf(text, sizeof text, "%" PRId64, ids[i]),
				       &number, err);
	dgi_id_map_clear(&list->map);
	list->map = strings;
	list->strings = true;
	return st;
}

static dg_status add(struct list *list, struct dgi_field f, dg_error *err)
{
	const int64_t n = list->map.n;
	int64_t id = 0, number;
	dg_status st = DG_OK;

	if (!list->strings && !is_canonical(f, &id))
		st = become_strings(list, err);
	if (st)
		return st;
	st = list->strings ? dgi_id_map_string(&list->map, f.at, f.n, &number, err)
			   : dgi_id_map_integer(&list->map, id, &number, err);
	if (!st && number != n)
		st = dgi_fail(err, DG_INVALID,
			      "'%.*s' is the id of number %" PRId64 " already, want distinct ids",
			      f.n < 80 ? (int)f.n : 80, f.at, number);
	return st;
}

static dg_status add_line(struct list *list, const char *at, const char *newline, dg_error *err)
{
	struct dgi_field f = { at, (size_t)(newline - at) };

	if (f.n > 0 && f.at[f.n - 1] == '\r')
		f.n--;
	return add(list, f, err);
}

static bool is_id_name(struct dgi_field f)
{
	static const char *const names[] = { "id",  "node",   "node_id", "nodeid", "name",
					     "~id", "entity", "key",	 ":id" };

	for (size_t i = 0; i < DGI_COUNT_OF(names); i++)
		if (strlen(names[i]) == f.n && strncasecmp(names[i], f.at, f.n) == 0)
			return true;
	return false;
}

/* The first line tells the separator, and whether it is a header. */
static dg_status begin_fields(struct list *list, const char *first, const char *second,
			      dg_error *err)
{
	int64_t id;
	bool named;
	dg_status st = dgi_cutter_begin(dgi_separator_find(first), &list->cutter, err);

	list->begun = true;
	if (!st && second && !dgi_cutter_cut(&list->cutter, second, NULL))
		list->header_left = is_canonical(list->cutter.fields[0], &id);
	if (!st)
		st = dgi_cutter_cut(&list->cutter, first, err);
	if (st)
		return st;
	named = list->column &&
		!is_canonical((struct dgi_field){ list->column, strlen(list->column) }, &id);
	list->header_left = named || is_id_name(list->cutter.fields[0]) ||
			    (list->header_left && !is_canonical(list->cutter.fields[0], &id));
	if (list->column)
		st = dgi_column_find(list->column, strlen(list->column), &list->cutter,
				     list->header_left, &list->field, err);
	return st;
}

static dg_status add_fields(struct list *list, const char *at, dg_error *err)
{
	dg_status st;

	if (dgi_line_is_comment(at))
		return DG_OK;
	if (list->header_left) {
		list->header_left = false;
		return DG_OK;
	}
	st = dgi_cutter_cut(&list->cutter, at, err);
	if (!st && list->cutter.n <= list->field)
		st = dgi_fail(err, DG_INVALID, "%zu columns, want %zu", list->cutter.n,
			      list->field + 1);
	return st ? st : add(list, list->cutter.fields[list->field], err);
}

/* The line behind @newline, if it is before @end. */
static const char *line_behind(const char *newline, const char *end)
{
	return newline + 1 < end ? newline + 1 : NULL;
}

static dg_status read_lines(struct list *list, struct dgi_lines *lines, dg_error *err)
{
	char *data;
	size_t n = 1;
	dg_status st = DG_OK;

	while (!st && n > 0) {
		st = dgi_lines_next(lines, &data, &n, err);
		if (st)
			return st;
		for (const char *at = data, *end = data + n; at < end;) {
			const char *newline = memchr(at, '\n', (size_t)(end - at));

			at = dgi_skip_mark(at, ++lines->line);
			if (list->by_fields && !list->begun && !dgi_line_is_comment(at))
				st = begin_fields(list, at, line_behind(newline, end), err);
			if (!st)
				st = list->by_fields ? add_fields(list, at, err)
						     : add_line(list, at, newline, err);
			if (st)
				return dgi_lines_blame(lines, st, err);
			at = newline + 1;
		}
	}
	return st;
}

static dg_status add_array(struct list *list, const struct dgi_npy *npy, const void *data,
			   dg_error *err)
{
	dg_status st = DG_OK;

	if (npy->rank != 1 || npy->kind != 'i' || npy->item_bytes < 4)
		return dgi_fail(err, DG_INVALID,
				"an array of %u dimensions of '%c%u', want one of int64 or int32",
				npy->rank, npy->kind, npy->item_bytes);
	for (int64_t i = 0; !st && i < npy->shape[0]; i++) {
		int64_t id = npy->item_bytes == 8 ? ((const int64_t *)data)[i]
						  : ((const int32_t *)data)[i];
		char text[24];
		struct dgi_field f = { text, (size_t)snprintf(text, sizeof text, "%" PRId64, id) };

		st = add(list, f, err);
		if (st)
			return dgi_context(err, st, "row %" PRId64, i);
	}
	return DG_OK;
}

static bool ends_with(const char *path, const char *ending)
{
	size_t n = strlen(path);
	size_t m = strlen(ending);

	if (n > 3 && strcasecmp(path + n - 3, ".gz") == 0)
		n -= 3;
	return n > m && strncasecmp(path + n - m, ending, m) == 0;
}

static dg_status read_open(struct list *list, struct dgi_input *in, struct dgi_progress *progress,
			   dg_error *err)
{
	uint8_t first[DGI_NPY_PREFIX_BYTES];
	struct dgi_lines lines;
	struct dgi_npy npy;
	void *data;
	size_t n;
	dg_status st = dgi_input_read(in, first, sizeof first, &n, err);

	if (st)
		return st;
	if (dgi_npy_magic(first, n) || ends_with(in->path, ".npy")) {
		st = dgi_npy_read(in, first, n, &npy, &data, err);
		if (!st) {
			st = add_array(list, &npy, data, err);
			free(data);
		}
		return st ? dgi_context(err, st, "'%s'", in->path) : DG_OK;
	}
	list->by_fields =
		list->column || ends_with(in->path, ".csv") || ends_with(in->path, ".tsv");
	st = dgi_lines_begin(in, first, n, progress, &lines, err);
	if (st)
		return st;
	st = read_lines(list, &lines, err);
	dgi_lines_end(&lines);
	return st;
}

dg_status dgi_id_list_read(const char *path, const char *column, bool strings,
			   struct dgi_progress *progress, struct dgi_id_map *out, dg_error *err)
{
	struct list list = { .map = dgi_id_map_new(strings), .strings = strings, .column = column };
	struct dgi_input in;
	dg_status st = dgi_input_open(path, &in, err);

	if (st)
		return st;
	st = read_open(&list, &in, progress, err);
	if (!st)
		st = dgi_progress_add(progress, in.file_bytes - in.file_at, err);
	dgi_input_close(&in);
	dgi_cutter_end(&list.cutter);
	if (st) {
		dgi_id_map_clear(&list.map);
		return st;
	}
	*out = list.map;
	return DG_OK;
}
