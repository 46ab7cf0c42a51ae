/* names.c -- read lists of strings or sparse integers. */
#include "names.h"

#include "ids.h"
#include "report.h"

#include <distgraph/array.h>

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reader {
	dg_outside_ids names;
	size_t capacity, text_capacity;
	const char *what;
	struct source *source; /* for ranges; NULL refuses them */
	const dg_tensor_info *tensor;
	dg_error *err;
};

static dg_status reserve(struct reader *r, size_t bytes)
{
	bool strings = r->names.form == DG_OUTSIDE_STRINGS;
	size_t used = strings ? (size_t)r->names.offsets[r->names.n] : 0;
	size_t capacity = r->capacity, text_capacity = r->text_capacity;
	void *grown;

	if (r->names.n >= IDS_MAX)
		return fail(r->err, DG_INVALID, "more than %zu ids in one list", IDS_MAX);
	if (r->names.n + 2 > capacity) {
		capacity *= 2;
		grown = realloc(strings ? (void *)r->names.offsets : (void *)r->names.integers,
				capacity * sizeof(int64_t));
		if (!grown)
			return fail(r->err, DG_NOMEM, "a list of ids: out of memory");
		if (strings)
			r->names.offsets = grown;
		else
			r->names.integers = grown;
		r->capacity = capacity;
	}
	while (text_capacity < used + bytes)
		text_capacity *= 2;
	if (text_capacity == r->text_capacity)
		return DG_OK;
	grown = realloc(r->names.text, text_capacity);
	if (!grown)
		return fail(r->err, DG_NOMEM, "a list of ids: out of memory");
	r->names.text = grown;
	r->text_capacity = text_capacity;
	return DG_OK;
}

static dg_status begin(struct reader *r)
{
	r->capacity = r->text_capacity = 64;
	if (r->names.form == DG_OUTSIDE_STRINGS) {
		r->names.offsets = calloc(r->capacity, sizeof *r->names.offsets);
		r->names.text = malloc(r->text_capacity);
	} else {
		r->names.integers = calloc(r->capacity, sizeof *r->names.integers);
		r->names.text = malloc(r->text_capacity); /* stays empty */
	}
	return (r->names.offsets || r->names.integers) && r->names.text
		       ? DG_OK
		       : fail(r->err, DG_NOMEM, "a list of ids: out of memory");
}

static dg_status add_string(struct reader *r, const char *text, size_t n)
{
	uint64_t at;
	dg_status st = reserve(r, n);

	if (st)
		return st;
	at = r->names.offsets[r->names.n];
	if (n)
		memcpy(r->names.text + at, text, n);
	r->names.offsets[++r->names.n] = at + n;
	return DG_OK;
}

static dg_status add_integer(struct reader *r, int64_t id)
{
	dg_status st = reserve(r, 0);

	if (!st)
		r->names.integers[r->names.n++] = id;
	return st;
}

static int compare_integers(const void *a, const void *b)
{
	const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

/* The integers there are from @start to before @end, ascending: every node is asked for its own. */
static dg_status add_range(struct reader *r, int64_t start, int64_t end)
{
	const int64_t n_ids = dg_book_count(r->source->book, r->tensor->side, r->tensor->type);
	const size_t first = r->names.n;
	dg_id *ids = malloc(IDS_BATCH * sizeof *ids);
	dg_status st = ids ? DG_OK : fail(r->err, DG_NOMEM, "ids: out of memory");

	for (int64_t at = 0; !st && at < n_ids; at += (int64_t)IDS_BATCH) {
		size_t n = n_ids - at < (int64_t)IDS_BATCH ? (size_t)(n_ids - at) : IDS_BATCH;
		dg_outside_ids found = { 0 };

		for (size_t i = 0; i < n; i++)
			ids[i] = at + (dg_id)i;
		st = source_to_outside(r->source, r->tensor, ids, n, &found, r->err);
		for (size_t i = 0; !st && i < n; i++)
			if (found.integers[i] >= start && found.integers[i] < end)
				st = add_integer(r, found.integers[i]);
		dg_outside_ids_clear(&found);
	}
	if (!st && r->names.n > first)
		qsort(r->names.integers + first, r->names.n - first, sizeof(int64_t),
		      compare_integers);
	free(ids);
	return st;
}

/* An integer of at most 64 bits at *text, moving behind it. */
static bool read_integer(const char **text, int64_t *out)
{
	const char *digits = *text + (**text == '-');
	char *end;

	if (!isdigit((unsigned char)*digits))
		return false;
	errno = 0;
	*out = strtoll(*text, &end, 10);
	*text = end;
	return errno == 0;
}

static dg_status fail_integer(const struct reader *r, const char *text, size_t n)
{
	return fail(r->err, DG_INVALID, "'%.*s' is not an id: those of %s are integers",
		    (int)(n < 80 ? n : 80), text, r->what);
}

/* "A", or of a list "A:B", "A:", ":B". */
static dg_status parse_integers(struct reader *r, const char *text, size_t n)
{
	const char *at = text;
	int64_t start = INT64_MIN, end = INT64_MAX;
	bool range;

	if (*at != ':' && !read_integer(&at, &start))
		return fail_integer(r, text, n);
	range = *at == ':';
	if (range && !r->source)
		return fail(r->err, DG_INVALID, "'%.*s' is a range: here want ids of %s one by one",
			    (int)(n < 80 ? n : 80), text, r->what);
	at += range;
	if (range && at != text + n && !read_integer(&at, &end))
		return fail_integer(r, text, n);
	if (at != text + n)
		return fail_integer(r, text, n);
	if (!range)
		return add_integer(r, start);
	if (start > end)
		return fail(r->err, DG_INVALID, "range %.*s ends before it starts", (int)n, text);
	return add_range(r, start, end);
}

static dg_status parse_name(struct reader *r, const char *text, size_t n)
{
	return r->names.form == DG_OUTSIDE_STRINGS ? add_string(r, text, n)
						   : parse_integers(r, text, n);
}

static dg_status parse_text(struct reader *r, const char *text)
{
	for (;;) {
		size_t n = strcspn(text, ",");
		dg_status st = parse_name(r, text, n);

		if (st || !text[n])
			return st;
		text += n + 1;
	}
}

static dg_status parse_lines(struct reader *r, const char *path)
{
	FILE *file = fopen(path, "re");
	char *line = NULL;
	size_t size = 0;
	ssize_t n;
	dg_status st = DG_OK;
	char text[DG_ERROR_TEXT_BYTES];

	if (!file)
		return fail(r->err, errno == ENOENT ? DG_NOTFOUND : DG_IO, "%s: %s", path,
			    strerror(errno));
	r->source = NULL; /* no ranges in files */
	for (size_t number = 1; !st && (n = getline(&line, &size, file)) >= 0; number++) {
		while (n > 0 && (line[n - 1] == '\n' || line[n - 1] == '\r'))
			n--;
		line[n] = 0;
		st = n ? parse_name(r, line, (size_t)n) : DG_OK;
		if (st) {
			memcpy(text, r->err->text, sizeof text);
			st = fail(r->err, st, "%s:%zu: %s", path, number, text);
		}
	}
	if (!st && ferror(file))
		st = fail(r->err, DG_IO, "%s: %s", path, strerror(errno));
	free(line);
	(void)fclose(file);
	return st;
}

static dg_status parse_array(struct reader *r, const char *path)
{
	dg_array array = { 0 };
	dg_status st;

	if (r->names.form == DG_OUTSIDE_STRINGS)
		return fail(r->err, DG_INVALID,
			    "'%s' is an array, and the ids of %s are strings: want text with one a "
			    "line",
			    path, r->what);
	st = dg_array_load(path, &array, r->err);
	if (!st && (array.rank != 1 || array.dtype != DG_INT64))
		st = fail(r->err, DG_INVALID, "'%s': want one dimension of int64 for ids of %s",
			  path, r->what);
	for (int64_t i = 0; !st && i < array.shape[0]; i++)
		st = add_integer(r, ((const int64_t *)array.data)[i]);
	dg_array_clear(&array);
	return st;
}

static dg_status read_names(struct reader *r, const char *text)
{
	const size_t n = strlen(text);
	dg_status st = begin(r);

	if (st)
		return st;
	if (text[0] != '@')
		return parse_text(r, text);
	return n > 5 && !strcmp(text + n - 4, ".npy") ? parse_array(r, text + 1)
						      : parse_lines(r, text + 1);
}

dg_status names_read(const char *text, dg_outside_form form, struct source *s,
		     const dg_tensor_info *tensor, dg_outside_ids *out, dg_error *err)
{
	struct reader r = { .names.form = form,
			    .what = tensor->name,
			    .source = s->is_cluster ? s : NULL,
			    .tensor = tensor,
			    .err = err };
	dg_status st = read_names(&r, text);

	if (st)
		dg_outside_ids_clear(&r.names);
	else
		*out = r.names;
	return st;
}
