/* edges.c -- edge lists read from files: which kind it is, and .npy. Text is edge_text.c's. */
#include "edges.h"

#include "fail.h"
#include "npy_file.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_BYTES ((size_t)1 << 20)

struct dgi_edges dgi_edges_none(void)
{
	return (struct dgi_edges){ .src = dgi_buffer_of(PTRDIFF_MAX),
				   .dst = dgi_buffer_of(PTRDIFF_MAX),
				   .largest = -1 };
}

void dgi_edges_clear(struct dgi_edges *edges)
{
	dgi_buffer_clear(&edges->src);
	dgi_buffer_clear(&edges->dst);
	edges->n = 0;
	edges->largest = -1;
}

const dg_id *dgi_edges_src(const struct dgi_edges *edges)
{
	return (const dg_id *)(const void *)edges->src.data;
}

const dg_id *dgi_edges_dst(const struct dgi_edges *edges)
{
	return (const dg_id *)(const void *)edges->dst.data;
}

/* --- Text --- */

/* Gives the parser all whole lines of the @n bytes at @block; *left bytes of the last remain. */
static dg_status parse_lines(struct dgi_edge_text *text, char *block, size_t n, size_t *left,
			     dg_error *err)
{
	const char *newline = memrchr(block, '\n', n);
	size_t whole = newline ? (size_t)(newline - block) + 1 : 0;
	dg_status st = whole ? dgi_edge_text_parse(text, block, whole, err) : DG_OK;

	if (st)
		return st;
	*left = n - whole;
	if (*left >= DGI_EDGE_LINE_BYTES_MAX)
		return dgi_fail(err, DG_INVALID, "%s:%" PRIu64 ": a line longer than %d bytes",
				text->name, text->line + 1, DGI_EDGE_LINE_BYTES_MAX);
	memmove(block, block + whole, *left);
	return DG_OK;
}

/* @block has room for a block, a rest of a line before it and a newline behind it. */
static dg_status read_text(struct dgi_edge_text *text, struct dgi_input *in, char *block,
			   size_t have, struct dgi_progress *progress, dg_error *err)
{
	size_t got = 1;
	dg_status st = DG_OK;

	while (!st && got > 0) {
		st = dgi_input_read(in, block + have, BLOCK_BYTES, &got, err);
		if (!st && got == 0 && have > 0)
			block[have++] = '\n'; /* the last line may lack its own */
		if (!st)
			st = parse_lines(text, block, have + got, &have, err);
		if (!st)
			st = dgi_input_tell(in, progress, err);
	}
	return st;
}

/* --- .npy --- */

struct table {
	struct dgi_npy npy;
	const uint8_t *data;
	bool two_rows; /* (2,E), as it lies in memory */
	int64_t n;
};

static dg_status check_table(struct table *t, dg_error *err)
{
	const struct dgi_npy *npy = &t->npy;

	if (npy->kind != 'i' && npy->kind != 'u')
		return dgi_fail(err, DG_INVALID, "edges of dtype '%c%u', want integers", npy->kind,
				npy->item_bytes);
	if (npy->rank != 2 || (npy->shape[0] != 2 && npy->shape[1] != 2)) {
		if (npy->rank == 2)
			return dgi_fail(err, DG_INVALID,
					"edges of shape (%" PRId64 ",%" PRId64
					"), want (E,2) or (2,E)",
					npy->shape[0], npy->shape[1]);
		return dgi_fail(err, DG_INVALID,
				"edges of %" PRIu32 " dimensions, want shape (E,2) or (2,E)",
				npy->rank);
	}
	t->two_rows = npy->shape[1] != 2;
	t->n = t->two_rows ? npy->shape[1] : npy->shape[0];
	if (npy->fortran_order)
		t->two_rows = !t->two_rows;
	return DG_OK;
}

/* Element @i as int64; an unsigned one beyond that comes out negative. */
static inline int64_t element(const struct table *t, int64_t i)
{
	const uint8_t *at = t->data + (size_t)i * t->npy.item_bytes;
	const bool is_signed = t->npy.kind == 'i';
	int64_t i64;
	int32_t i32;
	int16_t i16;

	switch (t->npy.item_bytes) {
	case 8:
		memcpy(&i64, at, sizeof i64);
		return i64;
	case 4:
		memcpy(&i32, at, sizeof i32);
		return is_signed ? i32 : (int64_t)(uint32_t)i32;
	case 2:
		memcpy(&i16, at, sizeof i16);
		return is_signed ? i16 : (int64_t)(uint16_t)i16;
	default:
		return is_signed ? (int8_t)*at : (int64_t)*at;
	}
}

static dg_status bad_row(const struct table *t, int64_t row, dg_id id, uint64_t limit,
			 dg_error *err)
{
	if (id < 0 && t->npy.kind == 'u')
		return dgi_fail(err, DG_RANGE,
				"row %" PRId64 ": node id %" PRIu64 " is above 2^63 - 1", row,
				(uint64_t)id);
	if (id < 0)
		return dgi_fail(err, DG_RANGE, "row %" PRId64 ": node id %" PRId64 " is negative",
				row, id);
	return dgi_fail(err, DG_RANGE,
			"row %" PRId64 ": node id %" PRId64 ", want less than %" PRIu64, row, id,
			limit);
}

static dg_status copy_table(struct dgi_edges *edges, const struct table *t, int64_t n_nodes,
			    dg_error *err)
{
	const size_t bytes = (size_t)t->n * sizeof(dg_id);
	const uint64_t limit = n_nodes > 0 ? (uint64_t)n_nodes : (uint64_t)INT64_MAX;
	dg_id *src;
	dg_id *dst;
	dg_status st = dgi_buffer_reserve(&edges->src, bytes, err);

	if (!st)
		st = dgi_buffer_reserve(&edges->dst, bytes, err);
	if (st)
		return st;
	src = (dg_id *)(void *)(edges->src.data + edges->src.n);
	dst = (dg_id *)(void *)(edges->dst.data + edges->dst.n);
	for (int64_t i = 0; i < t->n; i++) {
		dg_id s = element(t, t->two_rows ? i : 2 * i);
		dg_id d = element(t, t->two_rows ? t->n + i : 2 * i + 1);

		if ((uint64_t)s >= limit || (uint64_t)d >= limit)
			return bad_row(t, i, (uint64_t)s >= limit ? s : d, limit, err);
		src[i] = s;
		dst[i] = d;
		if (s > edges->largest)
			edges->largest = s;
		if (d > edges->largest)
			edges->largest = d;
	}
	edges->src.n += bytes;
	edges->dst.n += bytes;
	edges->n += t->n;
	return DG_OK;
}

static dg_status read_npy(struct dgi_edges *edges, struct dgi_input *in, const void *first,
			  size_t n, int64_t n_nodes, dg_error *err)
{
	struct table t = { 0 };
	void *data = NULL;
	dg_status st = dgi_npy_read(in, first, n, &t.npy, &data, err);

	t.data = data;
	if (!st)
		st = check_table(&t, err);
	if (!st && t.n > 0)
		st = copy_table(edges, &t, n_nodes, err);
	free(data);
	return st ? dgi_context(err, st, "'%s'", in->path) : DG_OK;
}

/* --- Outside --- */

/* By its bytes; a file that only its name says to be one is refused as such, not read as text. */
static bool is_npy(const char *path, const char *first, size_t n)
{
	const char *dot = strrchr(path, '.');

	return dgi_npy_magic(first, n) || (dot && strcmp(dot, ".npy") == 0);
}

dg_status dgi_edges_read(struct dgi_edges *edges, const char *path, int64_t n_nodes,
			 struct dgi_progress *progress, dg_error *err)
{
	struct dgi_edge_text text = { .edges = edges, .name = path, .n_nodes = n_nodes };
	const int64_t before = edges->n;
	struct dgi_input in;
	char *block;
	size_t got = 0;
	dg_status st = dgi_input_open(path, &in, err);

	if (st)
		return st;
	block = malloc(DGI_EDGE_LINE_BYTES_MAX + BLOCK_BYTES + 1);
	if (!block)
		st = dgi_fail_memory(err, path);
	else
		st = dgi_input_read(&in, block, DGI_NPY_PREFIX_BYTES, &got, err);
	if (!st && is_npy(path, block, got))
		st = read_npy(edges, &in, block, got, n_nodes, err);
	else if (!st)
		st = read_text(&text, &in, block, got, progress, err);
	if (!st)
		st = dgi_progress_add(progress, in.file_bytes - in.file_at, err);
	if (!st && edges->n == before && n_nodes == 0)
		st = dgi_fail(err, DG_INVALID, "'%s': no edges", path);
	free(block);
	dgi_input_close(&in);
	return st;
}
