/* ids.c -- read lists of ids. */
#include "ids.h"

#include "report.h"

#include <distgraph/array.h>

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What ids are read for, and where they go. */
struct parser {
	struct ids ids;
	size_t capacity;
	int64_t n_rows;
	const char *what;
	dg_error *err;
};

void ids_clear(struct ids *ids)
{
	free(ids->items);
	*ids = (struct ids){ 0 };
}

static dg_status check_id(const struct parser *p, dg_id id)
{
	if (id >= 0 && id < p->n_rows)
		return DG_OK;
	if (!p->n_rows)
		return fail(p->err, DG_RANGE, "id %" PRId64 " is out of range: %s has no rows", id,
			    p->what);
	return fail(p->err, DG_RANGE,
		    "id %" PRId64 " is out of range: the ids of %s are 0 to %" PRId64, id, p->what,
		    p->n_rows - 1);
}

static dg_status reserve(struct parser *p, size_t more)
{
	size_t capacity = p->capacity ? p->capacity : 64;
	dg_id *items;

	if (more > IDS_MAX - p->ids.n)
		return fail(p->err, DG_INVALID, "more than %zu ids in one list", IDS_MAX);
	if (p->ids.n + more <= p->capacity)
		return DG_OK;
	while (capacity < p->ids.n + more)
		capacity *= 2;
	items = realloc(p->ids.items, capacity * sizeof *items);
	if (!items)
		return fail(p->err, DG_NOMEM, "a list of %zu ids: out of memory", p->ids.n + more);
	p->ids.items = items;
	p->capacity = capacity;
	return DG_OK;
}

static dg_status add_range(struct parser *p, dg_id start, dg_id end)
{
	dg_status st = reserve(p, (size_t)(end - start));

	if (st)
		return st;
	for (dg_id id = start; id < end; id++)
		p->ids.items[p->ids.n++] = id;
	return DG_OK;
}

/* One number at *text, moving behind it. */
static bool read_number(const char **text, dg_id *out)
{
	char *end;

	if (!isdigit((unsigned char)(*text)[0]) &&
	    !((*text)[0] == '-' && isdigit((unsigned char)(*text)[1])))
		return false;
	errno = 0;
	*out = strtoll(*text, &end, 10); /* beyond 64 bits it stops at the limit: out of range */
	*text = end;
	return true;
}

/* "A", "A:B", "A:" or ":B" in the @n bytes at @text. */
static dg_status parse_range(const struct parser *p, const char *text, size_t n, dg_id *start,
			     dg_id *end)
{
	const char *at = text;
	bool range, has_start, has_end;

	*start = 0;
	has_start = read_number(&at, start);
	range = *at == ':';
	*end = p->n_rows;
	at += range;
	has_end = range && read_number(&at, end);
	if (at != text + n || !(has_start || range))
		return fail(p->err, DG_INVALID, "'%.*s' is no id and no range such as 10:20",
			    (int)n, text);
	if (!range) {
		dg_status st = check_id(p, *start);

		*end = st ? *start : *start + 1;
		return st;
	}
	if (has_start && has_end && *start > *end)
		return fail(p->err, DG_INVALID, "range %.*s ends before it starts", (int)n, text);
	if (*start < 0 || *start > p->n_rows)
		return check_id(p, *start);
	if (*end < 0 || *end > p->n_rows)
		return check_id(p, *end < 0 ? *end : *end - 1);
	return DG_OK;
}

static dg_status parse_text(struct parser *p, const char *text)
{
	for (;;) {
		size_t n = strcspn(text, ",");
		dg_id start, end;
		dg_status st = parse_range(p, text, n, &start, &end);

		if (!st)
			st = add_range(p, start, end);
		if (st || !text[n])
			return st;
		text += n + 1;
	}
}

static dg_status parse_line(struct parser *p, const char *path, size_t number, const char *line)
{
	const char *at = line + strspn(line, " \t");
	char text[DG_ERROR_TEXT_BYTES];
	dg_status st;
	dg_id id;

	if (!at[strspn(at, " \t\r\n")])
		return DG_OK;
	if (!read_number(&at, &id) || at[strspn(at, " \t\r\n")])
		return fail(p->err, DG_INVALID, "%s:%zu: '%.*s' is not an id", path, number,
			    (int)strcspn(line, "\r\n"), line);
	st = check_id(p, id);
	if (st) {
		memcpy(text, p->err->text, sizeof text);
		return fail(p->err, st, "%s:%zu: %s", path, number, text);
	}
	return add_range(p, id, id + 1);
}

static dg_status parse_lines(struct parser *p, const char *path)
{
	FILE *file = fopen(path, "re");
	char *line = NULL;
	size_t size = 0;
	dg_status st = DG_OK;

	if (!file)
		return fail(p->err, errno == ENOENT ? DG_NOTFOUND : DG_IO, "%s: %s", path,
			    strerror(errno));
	for (size_t number = 1; !st && getline(&line, &size, file) >= 0; number++)
		st = parse_line(p, path, number, line);
	if (!st && ferror(file))
		st = fail(p->err, DG_IO, "%s: %s", path, strerror(errno));
	free(line);
	(void)fclose(file);
	return st;
}

static bool integer_at(const dg_array *array, size_t i, dg_id *out)
{
	switch (array->dtype) {
	case DG_INT8:
		*out = ((const int8_t *)array->data)[i];
		return true;
	case DG_INT16:
		*out = ((const int16_t *)array->data)[i];
		return true;
	case DG_INT32:
		*out = ((const int32_t *)array->data)[i];
		return true;
	case DG_INT64:
		*out = ((const int64_t *)array->data)[i];
		return true;
	case DG_UINT8:
		*out = ((const uint8_t *)array->data)[i];
		return true;
	case DG_BFLOAT16: /* uint16 in the file */
		*out = ((const uint16_t *)array->data)[i];
		return true;
	default:
		return false;
	}
}

static dg_status add_array(struct parser *p, const char *path, const dg_array *array)
{
	size_t n = array->rank == 1 ? (size_t)array->shape[0] : 0;
	dg_status st;
	dg_id id;

	if (array->rank != 1)
		return fail(p->err, DG_INVALID, "%s: %u dimensions, ids have one", path,
			    array->rank);
	for (size_t i = 0; i < n; i++) {
		if (!integer_at(array, i, &id))
			return fail(p->err, DG_INVALID, "%s: %s values, ids are integers", path,
				    dg_dtype_name(array->dtype));
		st = check_id(p, id);
		if (!st)
			st = add_range(p, id, id + 1);
		if (st)
			return st;
	}
	return DG_OK;
}

static dg_status parse_array(struct parser *p, const char *path)
{
	dg_array array = { 0 };
	dg_status st = dg_array_load(path, &array, p->err);

	if (!st)
		st = add_array(p, path, &array);
	dg_array_clear(&array);
	return st;
}

static bool has_ending(const char *text, const char *ending)
{
	size_t n = strlen(text);

	return n >= strlen(ending) && !strcmp(text + n - strlen(ending), ending);
}

dg_status ids_parse(const char *text, int64_t n_rows, const char *what, struct ids *out,
		    dg_error *err)
{
	struct parser p = { .n_rows = n_rows, .what = what, .err = err };
	dg_status st;

	if (text[0] != '@')
		st = parse_text(&p, text);
	else if (has_ending(text, ".npy"))
		st = parse_array(&p, text + 1);
	else
		st = parse_lines(&p, text + 1);
	if (st)
		ids_clear(&p.ids);
	else
		*out = p.ids;
	return st;
}
