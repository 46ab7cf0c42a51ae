/*
 * edge_npy.c -- edges and triples from .npy arrays, read in pieces.
 *
 * Rows of an array in C order lie together: one pass. The columns of a transposed one lie one
 * behind the other: the file is opened once for each.
 */
#include "edge_files.h"

#include "fail.h"
#include "npy_file.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS_MAX = 3 };

struct table {
	struct dgi_npy npy;
	bool by_columns; /* as it lies in the file */
	uint32_t n_columns;
	int64_t n;
	struct dgi_input *in;		    /* rows; the first column */
	struct dgi_input more[COLUMNS_MAX]; /* the other columns */
	uint8_t *raw;
	int64_t *values[COLUMNS_MAX]; /* of a batch, by column */
};

static dg_status check_shape(struct table *t, dg_error *err)
{
	const struct dgi_npy *npy = &t->npy;
	const int64_t rows = npy->shape[0];
	const int64_t columns = npy->rank == 2 ? npy->shape[1] : 0;

	if (npy->kind != 'i' && npy->kind != 'u')
		return dgi_fail(err, DG_INVALID, "edges of dtype '%c%u', want integers", npy->kind,
				npy->item_bytes);
	if (npy->rank != 2)
		return dgi_fail(err, DG_INVALID,
				"edges of %" PRIu32 " dimensions, want shape (E,2) or (2,E), or "
				"(E,3) for triples",
				npy->rank);
	if (columns != 2 && columns != 3 && rows != 2)
		return dgi_fail(err, DG_INVALID,
				"edges of shape (%" PRId64 ",%" PRId64
				"), want (E,2) or (2,E), or (E,3) for triples",
				rows, columns);
	/* (2,3) is two triples only where (2,E) is not meant: triples have been asked for. */
	t->by_columns = columns != 2 && rows == 2;
	t->n_columns = t->by_columns ? 2 : (uint32_t)columns;
	t->n = t->by_columns ? columns : rows;
	return DG_OK;
}

/* Triples that were asked for are of shape (E,3), also where E is 2. */
static dg_status check_triples(struct table *t, const struct dgi_edge_file *file, dg_error *err)
{
	const bool triples = file->format == DG_INPUT_TRIPLES || dgi_edge_file_is_triples(file);

	if (triples && t->npy.shape[1] == 3) {
		t->by_columns = false;
		t->n_columns = 3;
		t->n = t->npy.shape[0];
	}
	if (triples && t->n_columns != 3)
		return dgi_fail(err, DG_INVALID,
				"triples of shape (%" PRId64 ",%" PRId64 "), want (E,3)",
				t->npy.shape[0], t->npy.shape[1]);
	if (t->n_columns == 3 && !triples && file->type)
		return dgi_fail(err, DG_INVALID,
				"triples of shape (%" PRId64 ",3), want edges of type '%.300s'",
				t->npy.shape[0], file->type);
	if (t->npy.fortran_order)
		t->by_columns = !t->by_columns;
	return DG_OK;
}

/* Reads @bytes away. */
static dg_status skip(struct dgi_input *in, uint8_t *room, size_t room_bytes, uint64_t bytes,
		      dg_error *err)
{
	dg_status st = DG_OK;
	size_t got = 1;

	for (; !st && bytes > 0 && got > 0; bytes -= got)
		st = dgi_input_read(in, room, bytes < room_bytes ? (size_t)bytes : room_bytes, &got,
				    err);
	return st;
}

#define RAW_BYTES ((size_t)DGI_EDGE_BATCH * COLUMNS_MAX * 8)

static dg_status open_columns(struct table *t, const char *path, dg_error *err)
{
	dg_status st = DG_OK;

	if (!t->by_columns)
		return DG_OK;
	if (t->in->file_bytes == 0)
		return dgi_fail(err, DG_UNSUPPORTED,
				"columns one behind the other cannot come from a pipe; want (E,2)");
	for (uint32_t c = 1; !st && c < t->n_columns; c++) {
		st = dgi_input_open(path, &t->more[c], err);
		if (!st)
			st = skip(&t->more[c], t->raw, RAW_BYTES,
				  t->npy.header_bytes +
					  (uint64_t)c * (uint64_t)t->n * t->npy.item_bytes,
				  err);
	}
	return st;
}

/* Element @i as int64; an unsigned one beyond that comes out negative. */
static inline int64_t element(const struct dgi_npy *npy, const uint8_t *data, size_t i)
{
	const uint8_t *at = data + i * npy->item_bytes;
	const bool is_signed = npy->kind == 'i';
	int64_t i64;
	int32_t i32;
	int16_t i16;

	switch (npy->item_bytes) {
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

static dg_status read_exactly(struct dgi_input *in, void *data, size_t bytes, dg_error *err)
{
	size_t got;
	dg_status st = dgi_input_read(in, data, bytes, &got, err);

	if (!st && got != bytes)
		st = dgi_fail(err, DG_INVALID, "%zu bytes of data are missing, by the header",
			      bytes - got);
	return st;
}

/* The next @n rows as columns. */
static dg_status read_batch(struct table *t, size_t n, dg_error *err)
{
	const size_t k = t->n_columns;
	dg_status st = DG_OK;

	if (!t->by_columns) {
		st = read_exactly(t->in, t->raw, n * k * t->npy.item_bytes, err);
		for (size_t i = 0; !st && i < n; i++)
			for (size_t c = 0; c < k; c++)
				t->values[c][i] = element(&t->npy, t->raw, i * k + c);
		return st;
	}
	for (size_t c = 0; !st && c < k; c++) {
		st = read_exactly(c ? &t->more[c] : t->in, t->raw, n * t->npy.item_bytes, err);
		for (size_t i = 0; !st && i < n; i++)
			t->values[c][i] = element(&t->npy, t->raw, i);
	}
	return st;
}

struct ends {
	struct dgi_gather *g;
	const struct dgi_edge_rules *rules;
	uint16_t src, dst, type;
};

/* An unsigned id beyond int64 has come out negative; say what it was. */
static dg_status bad_row(const struct table *t, dg_status st, int64_t value, int64_t row,
			 dg_error *err)
{
	if (value < 0 && t->npy.kind == 'u')
		return dgi_fail(err, DG_RANGE,
				"row %" PRId64 ": node id %" PRIu64 " is above 2^63 - 1", row,
				(uint64_t)value);
	return dgi_context(err, st, "row %" PRId64, row);
}

/* Ids of the input in @ids become original numbers. */
static dg_status number_nodes(const struct table *t, struct dgi_gather_nodes *nodes, int64_t *ids,
			      size_t n, int64_t first, dg_error *err)
{
	const uint64_t limit = nodes->n < 0 ? (uint64_t)INT64_MAX : (uint64_t)nodes->n;
	int64_t largest = nodes->largest;
	size_t i = 0;

	if (nodes->ids == DG_INPUT_IDS_NUMBERS)
		for (; i < n && (uint64_t)ids[i] < limit; i++)
			largest = ids[i] > largest ? ids[i] : largest;
	nodes->largest = largest;
	for (; i < n; i++) {
		int64_t id = ids[i];
		dg_status st = t->npy.kind == 'u' && id < 0
				       ? DG_RANGE
				       : dgi_gather_integer(nodes, id, &ids[i], err);

		if (st)
			return bad_row(t, st, id, first + (int64_t)i, err);
	}
	return DG_OK;
}

static dg_status add_triples(const struct table *t, const struct ends *e, size_t n, int64_t first,
			     dg_error *err)
{
	dg_status st = DG_OK;

	for (size_t i = 0; !st && i < n; i++) {
		uint16_t type;

		st = dgi_relation_number(e->g, e->rules, e->src, t->values[1][i], e->dst, &type,
					 err);
		if (st)
			return dgi_context(err, st, "row %" PRId64, first + (int64_t)i);
		st = dgi_gather_append(e->g, type, &t->values[0][i], &t->values[2][i], 1, err);
	}
	return st;
}

static dg_status add_batch(const struct table *t, const struct ends *e, size_t n, int64_t first,
			   dg_error *err)
{
	int64_t *dst = t->values[t->n_columns - 1];
	dg_status st = number_nodes(t, &e->g->nodes[e->src], t->values[0], n, first, err);

	if (!st)
		st = number_nodes(t, &e->g->nodes[e->dst], dst, n, first, err);
	if (st)
		return st;
	if (t->n_columns == 3)
		return add_triples(t, e, n, first, err);
	return dgi_gather_append(e->g, e->type, t->values[0], dst, n, err);
}

static dg_status find_ends(const struct table *t, const struct dgi_edge_file *file, struct ends *e,
			   dg_error *err)
{
	dg_status st = dgi_edge_file_ends(e->g, file, &e->src, &e->dst, err);

	if (!st && t->n_columns == 2)
		st = dgi_edge_file_type(e->g, file, &e->type, err);
	if (!st)
		st = dgi_settle_ids(&e->g->nodes[e->src], e->rules->ids, DG_INPUT_IDS_NUMBERS, err);
	if (!st)
		st = dgi_settle_ids(&e->g->nodes[e->dst], e->rules->ids, DG_INPUT_IDS_NUMBERS, err);
	return st;
}

static dg_status read_rows(struct table *t, const struct ends *e, struct dgi_progress *progress,
			   dg_error *err)
{
	uint8_t behind;
	size_t got = 0;
	dg_status st = DG_OK;

	for (int64_t at = 0; !st && at < t->n; at += DGI_EDGE_BATCH) {
		size_t n = t->n - at < DGI_EDGE_BATCH ? (size_t)(t->n - at) : DGI_EDGE_BATCH;

		st = read_batch(t, n, err);
		if (!st)
			st = add_batch(t, e, n, at, err);
		if (!st)
			st = dgi_input_tell(t->in, progress, err);
	}
	if (!st && !t->by_columns)
		st = dgi_input_read(t->in, &behind, 1, &got, err);
	if (!st && got > 0)
		st = dgi_fail(err, DG_INVALID, "%zu bytes of data and more, the header says %zu",
			      t->npy.data_bytes + 1, t->npy.data_bytes);
	return st;
}

dg_status dgi_edges_from_npy(struct dgi_gather *g, const struct dgi_edge_file *file,
			     const struct dgi_edge_rules *rules, struct dgi_input *in,
			     const void *first, size_t n, struct dgi_progress *progress,
			     dg_error *err)
{
	struct table t = { .in = in };
	struct ends e = { .g = g, .rules = rules };
	dg_status st = dgi_npy_begin(in, first, n, &t.npy, err);

	if (!st)
		st = check_shape(&t, err);
	if (!st)
		st = check_triples(&t, file, err);
	if (!st)
		st = find_ends(&t, file, &e, err);
	if (st)
		return st;
	t.raw = malloc(RAW_BYTES);
	t.values[0] = malloc(RAW_BYTES);
	if (!t.raw || !t.values[0])
		st = dgi_fail_memory(err, "edges");
	for (int c = 1; !st && c < COLUMNS_MAX; c++)
		t.values[c] = t.values[0] + c * DGI_EDGE_BATCH;
	if (!st)
		st = open_columns(&t, file->path, err);
	if (!st)
		st = read_rows(&t, &e, progress, err);
	for (int c = 1; c < COLUMNS_MAX; c++)
		dgi_input_close(&t.more[c]);
	free(t.raw);
	free(t.values[0]);
	return st;
}
