/* column.c -- numbers of a mask or of trainer ids, read piece by piece wherever they are. */
#include "column.h"

#include "fail.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>

static bool is_integer(dg_dtype dtype)
{
	return dtype == DG_BOOL || dtype == DG_INT8 || dtype == DG_INT16 || dtype == DG_INT32 ||
	       dtype == DG_INT64 || dtype == DG_UINT8;
}

static dg_status check_tensor(const struct dgi_column *c, dg_side side, uint16_t type,
			      dg_error *err)
{
	const dg_tensor_info *tensor = &c->from->tensor;

	if (tensor->side != side || tensor->type != type || tensor->numbering != DG_INTERNAL)
		return dgi_fail(err, DG_INVALID, "%s: tensor '%s' belongs to other ids", c->what,
				tensor->name);
	if (tensor->row_bytes != dg_dtype_bytes(tensor->dtype))
		return dgi_fail(err, DG_INVALID,
				"%s: tensor '%s' has rows of %" PRIu32 " bytes, want one number",
				c->what, tensor->name, tensor->row_bytes);
	if (!c->from->client && c->from->n_stores != dg_book_n_parts(c->book))
		return dgi_fail(err, DG_INVALID,
				"%s: %" PRIu32 " stores, the graph has %" PRIu32 " partitions",
				c->what, c->from->n_stores, dg_book_n_parts(c->book));
	return DG_OK;
}

static dg_status check_array(const struct dgi_column *c, dg_side side, uint16_t type, dg_error *err)
{
	const int64_t count = dg_book_count(c->book, side, type);

	if (c->from->n != count)
		return dgi_fail(err, DG_INVALID,
				"%s: %" PRId64 " numbers, want one for each of the %" PRId64 " %s",
				c->what, c->from->n, count, side == DG_NODE ? "nodes" : "edges");
	if (!c->from->data && count > 0)
		return dgi_fail(err, DG_INVALID, "%s: neither data, nor client, nor stores",
				c->what);
	return DG_OK;
}

dg_status dgi_column_init(struct dgi_column *column, const dg_column *from, const dg_book *book,
			  dg_side side, uint16_t type, const char *what, dg_error *err)
{
	bool is_tensor = !from->data && (from->client || from->stores);
	dg_status st;

	*column = (struct dgi_column){ .from = from, .book = book, .what = what };
	column->dtype = is_tensor ? from->tensor.dtype : from->dtype;
	st = is_tensor ? check_tensor(column, side, type, err)
		       : check_array(column, side, type, err);
	if (st)
		return st;
	if (!is_integer(column->dtype))
		return dgi_fail(err, DG_INVALID, "%s: dtype %s, want bool or integers", what,
				dg_dtype_name(column->dtype));
	column->ids = malloc(DGI_COLUMN_BLOCK * sizeof *column->ids);
	column->raw = malloc(DGI_COLUMN_BLOCK * sizeof(int64_t));
	column->data = malloc(DGI_COLUMN_BLOCK * sizeof *column->data);
	return column->ids && column->raw && column->data ? DG_OK : dgi_fail_memory(err, what);
}

void dgi_column_clear(struct dgi_column *column)
{
	free(column->ids);
	free(column->raw);
	free(column->data);
}

static void fill_ids(dg_id *ids, dg_id first, size_t n)
{
	for (size_t i = 0; i < n; i++)
		ids[i] = first + (dg_id)i;
}

static dg_status pull(struct dgi_column *c, dg_id first, size_t n, dg_error *err)
{
	fill_ids(c->ids, first, n);
	return dg_client_pull(c->from->client, &c->from->tensor, c->ids, n, c->raw, err);
}

/* The ids lie in one store after the other. */
static dg_status gather(struct dgi_column *c, dg_id first, size_t n, dg_error *err)
{
	const dg_tensor_info *tensor = &c->from->tensor;
	size_t done = 0;
	dg_status st = DG_OK;

	for (uint32_t p = 0; !st && p < c->from->n_stores && done < n; p++) {
		dg_id at = first + (dg_id)done;
		dg_id start, end;
		size_t here;

		dg_book_range(c->book, tensor->side, tensor->type, p, &start, &end);
		if (at >= end)
			continue;
		here = (size_t)(end - at) < n - done ? (size_t)(end - at) : n - done;
		fill_ids(c->ids, at - start, here);
		st = dg_store_gather(c->from->stores[p], tensor, c->ids, here,
				     (char *)c->raw + done * tensor->row_bytes, err);
		done += here;
	}
	return st;
}

static void widen(dg_dtype dtype, const void *from, size_t first, size_t n, int64_t *out)
{
	const int8_t *i8 = (const int8_t *)from + first;
	const uint8_t *u8 = (const uint8_t *)from + first;
	const int16_t *i16 = (const int16_t *)from + first;
	const int32_t *i32 = (const int32_t *)from + first;
	const int64_t *i64 = (const int64_t *)from + first;

	for (size_t i = 0; i < n; i++)
		out[i] = dtype == DG_INT8    ? i8[i]
			 : dtype == DG_INT16 ? i16[i]
			 : dtype == DG_INT32 ? i32[i]
			 : dtype == DG_INT64 ? i64[i]
					     : u8[i];
}

dg_status dgi_column_read(struct dgi_column *column, dg_id first, size_t n, const int64_t **out,
			  dg_error *err)
{
	dg_status st = DG_OK;

	if (column->from->data)
		widen(column->dtype, column->from->data, (size_t)first, n, column->data);
	else if (column->from->client)
		st = pull(column, first, n, err);
	else
		st = gather(column, first, n, err);
	if (st)
		return dgi_context(err, st, "%s", column->what);
	if (!column->from->data)
		widen(column->dtype, column->raw, 0, n, column->data);
	*out = column->data;
	return DG_OK;
}
