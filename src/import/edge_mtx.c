/*
 * edge_mtx.c -- edges from a MatrixMarket file: https://math.nist.gov/MatrixMarket/formats.html
 *
 * An entry (i, j) is an edge from node i - 1 to node j - 1. Of a symmetric, skew-symmetric or
 * Hermitian matrix the file holds the lower triangle; the other one comes right behind each entry.
 * Values are read over.
 */
#include "edge_files.h"

#include "fail.h"
#include "fields.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct reader {
	struct dgi_gather *g;
	const struct dgi_edge_file *file;
	struct dgi_lines *lines;
	struct dgi_cutter cutter;
	uint16_t type;
	bool has_banner, has_size;
	bool mirrored;	 /* the file holds one triangle */
	bool diagonal;	 /* which may have a diagonal */
	size_t n_values; /* behind the two numbers of an entry */
	int64_t rows, columns, entries, seen;
	dg_id src[DGI_EDGE_BATCH], dst[DGI_EDGE_BATCH];
	size_t n;
};

static bool is(struct dgi_field f, const char *word)
{
	return f.n == strlen(word) && strncasecmp(f.at, word, f.n) == 0;
}

static dg_status unknown(const char *what, struct dgi_field f, const char *wanted, dg_error *err)
{
	return dgi_fail(err, DG_INVALID, "%s '%.*s', want %s", what, f.n < 40 ? (int)f.n : 40, f.at,
			wanted);
}

/* "%%MatrixMarket matrix coordinate pattern|real|integer|complex general|symmetric|…" */
static dg_status read_banner(struct reader *r, dg_error *err)
{
	const struct dgi_field *f = r->cutter.fields;

	if (r->cutter.n < 1 || !is(f[0], "%%MatrixMarket"))
		return dgi_fail(err, DG_INVALID,
				"not a MatrixMarket file: it does not begin with "
				"%%%%MatrixMarket");
	if (r->cutter.n != 5)
		return dgi_fail(err, DG_INVALID, "a banner of %zu words, want 5", r->cutter.n);
	if (!is(f[1], "matrix"))
		return unknown("object", f[1], "matrix", err);
	if (is(f[2], "array"))
		return dgi_fail(err, DG_UNSUPPORTED,
				"a dense matrix (array), want a sparse one (coordinate)");
	if (!is(f[2], "coordinate"))
		return unknown("format", f[2], "coordinate", err);
	if (is(f[3], "pattern"))
		r->n_values = 0;
	else if (is(f[3], "real") || is(f[3], "double") || is(f[3], "integer"))
		r->n_values = 1;
	else if (is(f[3], "complex"))
		r->n_values = 2;
	else
		return unknown("field", f[3], "pattern, real, integer or complex", err);
	r->mirrored = !is(f[4], "general");
	r->diagonal = !is(f[4], "skew-symmetric");
	if (r->mirrored && r->diagonal && !is(f[4], "symmetric") && !is(f[4], "hermitian"))
		return unknown("symmetry", f[4], "general, symmetric, skew-symmetric or hermitian",
			       err);
	r->has_banner = true;
	return DG_OK;
}

static dg_status tell_counts(struct reader *r, dg_error *err)
{
	uint16_t src, dst;
	dg_status st = dgi_edge_file_ends(r->g, r->file, &src, &dst, err);

	if (!st)
		st = dgi_edge_file_type(r->g, r->file, &r->type, err);
	if (!st && src == dst && r->rows != r->columns)
		return dgi_fail(err, DG_INVALID,
				"a matrix of %" PRId64 " x %" PRId64
				", want a square one, or an edge type between two node types",
				r->rows, r->columns);
	if (!st)
		st = dgi_tell_count(&r->g->nodes[src], r->rows, r->file->path, err);
	if (!st && dst != src)
		st = dgi_tell_count(&r->g->nodes[dst], r->columns, r->file->path, err);
	return st;
}

/* "rows columns entries" */
static dg_status read_size(struct reader *r, dg_error *err)
{
	int64_t *const numbers[] = { &r->rows, &r->columns, &r->entries };
	dg_status st = DG_OK;

	if (r->cutter.n != 3)
		return dgi_fail(err, DG_INVALID, "%zu numbers, want 3: rows, columns, entries",
				r->cutter.n);
	for (int i = 0; !st && i < 3; i++) {
		st = dgi_field_integer(r->cutter.fields[i], "a size", numbers[i], err);
		if (!st && *numbers[i] < 0)
			st = dgi_fail(err, DG_INVALID, "a size of %" PRId64, *numbers[i]);
	}
	if (!st && r->mirrored && r->rows != r->columns)
		st = dgi_fail(err, DG_INVALID,
			      "a matrix of %" PRId64 " x %" PRId64 " cannot be symmetric", r->rows,
			      r->columns);
	if (!st)
		st = tell_counts(r, err);
	r->has_size = true;
	return st;
}

static dg_status check_entry(const struct reader *r, int64_t i, int64_t j, dg_error *err)
{
	if (i < 1 || i > r->rows)
		return dgi_fail(err, DG_RANGE, "row %" PRId64 ", want 1 to %" PRId64, i, r->rows);
	if (j < 1 || j > r->columns)
		return dgi_fail(err, DG_RANGE, "column %" PRId64 ", want 1 to %" PRId64, j,
				r->columns);
	if (r->mirrored && i < j)
		return dgi_fail(err, DG_INVALID,
				"entry (%" PRId64 ", %" PRId64
				") of a symmetric matrix is above the diagonal",
				i, j);
	if (!r->diagonal && i == j)
		return dgi_fail(err, DG_INVALID,
				"entry (%" PRId64 ", %" PRId64
				") on the diagonal of a skew-symmetric matrix",
				i, j);
	if (r->seen == r->entries)
		return dgi_fail(err, DG_INVALID, "an entry more than the %" PRId64 " told",
				r->entries);
	return DG_OK;
}

static dg_status flush(struct reader *r, dg_error *err)
{
	dg_status st = r->n ? dgi_gather_append(r->g, r->type, r->src, r->dst, r->n, err) : DG_OK;

	r->n = 0;
	return st;
}

/* Entry (@i, @j), counted from 1. */
static dg_status add_entry(struct reader *r, int64_t i, int64_t j, dg_error *err)
{
	dg_status st = check_entry(r, i, j, err);

	if (!st && r->n + 2 > DGI_EDGE_BATCH)
		st = flush(r, err);
	if (st)
		return st;
	r->seen++;
	r->src[r->n] = i - 1;
	r->dst[r->n++] = j - 1;
	if (r->mirrored && i != j) {
		r->src[r->n] = j - 1;
		r->dst[r->n++] = i - 1;
	}
	return DG_OK;
}

/* "i j" and nothing else, of so few digits that they cannot overflow. */
static bool plain_entry(const char *at, int64_t *i, int64_t *j)
{
	int64_t *const to[] = { i, j };

	for (int k = 0; k < 2; k++) {
		const char *start = at;

		for (*to[k] = 0; *at >= '0' && *at <= '9' && at - start < 18; at++)
			*to[k] = *to[k] * 10 + (*at - '0');
		if (at == start || *at != (k ? '\n' : ' '))
			return false;
		at++;
	}
	return true;
}

static dg_status read_entry(struct reader *r, const char *at, dg_error *err)
{
	int64_t i, j;
	dg_status st;

	if (r->n_values == 0 && plain_entry(at, &i, &j))
		return add_entry(r, i, j, err);
	st = dgi_cutter_cut(&r->cutter, at, err);
	if (st)
		return st;
	if (r->cutter.n != 2 + r->n_values)
		return dgi_fail(err, DG_INVALID, "%zu columns, want %zu: row, column%s",
				r->cutter.n, 2 + r->n_values,
				r->n_values == 0   ? ""
				: r->n_values == 1 ? ", value"
						   : ", real and imaginary part");
	st = dgi_field_integer(r->cutter.fields[0], "a row", &i, err);
	if (!st)
		st = dgi_field_integer(r->cutter.fields[1], "a column", &j, err);
	return st ? st : add_entry(r, i, j, err);
}

static dg_status read_line(struct reader *r, const char *at, dg_error *err)
{
	dg_status st;

	if (r->has_size)
		return dgi_line_is_comment(at) ? DG_OK : read_entry(r, at, err);
	if (r->has_banner && dgi_line_is_comment(at))
		return DG_OK;
	st = dgi_cutter_cut(&r->cutter, at, err);
	if (st)
		return st;
	return r->has_banner ? read_size(r, err) : read_banner(r, err);
}

static dg_status read_all(struct reader *r, dg_error *err)
{
	char *data;
	size_t n = 1;
	dg_status st = DG_OK;

	while (!st && n > 0) {
		st = dgi_lines_next(r->lines, &data, &n, err);
		for (const char *at = data, *end = data + n; !st && at < end;
		     at = (const char *)memchr(at, '\n', (size_t)(end - at)) + 1) {
			r->lines->line++;
			st = read_line(r, at, err);
			if (st)
				return dgi_lines_blame(r->lines, st, err);
		}
	}
	if (st)
		return st;
	if (!r->has_size)
		st = dgi_fail(err, DG_INVALID, "ends before its %s",
			      r->has_banner ? "size" : "banner");
	else if (r->seen != r->entries)
		st = dgi_fail(err, DG_INVALID, "ends after %" PRId64 " entries, want %" PRId64,
			      r->seen, r->entries);
	return st ? dgi_lines_blame(r->lines, st, err) : flush(r, err);
}

dg_status dgi_edges_from_mtx(struct dgi_gather *g, const struct dgi_edge_file *file,
			     const struct dgi_edge_rules *rules, struct dgi_lines *lines,
			     dg_error *err)
{
	struct reader *r = calloc(1, sizeof *r);
	dg_status st;

	(void)rules; /* rows and columns are numbers, whatever is told of others */
	if (!r)
		return dgi_fail_memory(err, "edges");
	r->g = g;
	r->file = file;
	r->lines = lines;
	st = dgi_cutter_begin(' ', &r->cutter, err);
	if (!st)
		st = read_all(r, err);
	dgi_cutter_end(&r->cutter);
	free(r);
	return st;
}
