/* verify_data.c -- features follow their nodes and edges: row by row the bytes of the source. */
#include "verify_parts.h"

#include "fail.h"
#include "npy_file.h"

#include <inttypes.h>
#include <stdlib.h>

dg_status dgi_verify_data_begin(struct dgi_verify *v, dg_error *err)
{
	const size_t n = v->request->source ? v->request->source->n_data : 0;

	v->data = calloc(n + 1, sizeof *v->data);
	return v->data ? DG_OK : dgi_fail_memory(err, "verifying features");
}

/* Rows as many as make up about a MiB. */
static size_t block_rows(uint32_t row_bytes)
{
	const size_t rows = row_bytes ? (1U << 20) / row_bytes : DGI_STORED_BLOCK;

	if (rows < 1)
		return 1;
	return rows < DGI_STORED_BLOCK ? rows : DGI_STORED_BLOCK;
}

static dg_status check_form(const dg_tensor_info *stored, const dg_tensor_info *wanted,
			    dg_error *err)
{
	if (stored->dtype == wanted->dtype && stored->row_bytes == wanted->row_bytes)
		return DG_OK;
	return dgi_fail(err, DG_CORRUPT,
			"feature '%s': rows of %" PRIu32 " bytes of %s are stored, want %" PRIu32
			" of %s",
			wanted->name, stored->row_bytes, dg_dtype_name(stored->dtype),
			wanted->row_bytes, dg_dtype_name(wanted->dtype));
}

static dg_status sum_stored(struct dgi_verify *v, dg_store *store, uint32_t part,
			    const dg_tensor_info *wanted, struct dgi_hash_sum *sum, dg_error *err)
{
	const size_t block = block_rows(wanted->row_bytes);
	const dg_tensor_info *table, *tensor;
	uint8_t *rows = malloc(block * wanted->row_bytes + 1);
	dg_id start, end;
	dg_status st = rows ? DG_OK : dgi_fail_memory(err, "verifying features");

	if (!st)
		st = dgi_stored_tensor(store, wanted->side, wanted->type, DG_TENSOR_ORIGINAL_ID,
				       DG_INTERNAL, &table, err);
	if (!st)
		st = dgi_stored_tensor(store, wanted->side, wanted->type, wanted->name, DG_INTERNAL,
				       &tensor, err);
	if (!st)
		st = check_form(tensor, wanted, err);
	dg_book_range(v->book, wanted->side, wanted->type, part, &start, &end);
	for (int64_t at = 0; !st && at < end - start; at += (int64_t)block) {
		size_t n = end - start - at < (int64_t)block ? (size_t)(end - start - at) : block;

		st = dgi_stored_ids(store, table, at, n, v->ids, err);
		if (!st)
			st = dgi_stored_rows(store, tensor, at, n, rows, err);
		for (size_t i = 0; !st && i < n; i++)
			dgi_hash_sum_add_row(sum, v->ids[i], rows + i * wanted->row_bytes,
					     wanted->row_bytes);
	}
	free(rows);
	return st;
}

dg_status dgi_verify_data_of_part(struct dgi_verify *v, dg_store *store, uint32_t part,
				  dg_error *err)
{
	const struct dgi_source *source = v->request->source;
	dg_status st = DG_OK;

	for (size_t i = 0; !st && i < source->n_data; i++)
		st = sum_stored(v, store, part, &source->data[i].info, &v->data[i], err);
	return st;
}

/* One file's rows; *row is the original id of the next. */
static dg_status sum_file(const char *path, uint32_t row_bytes, int64_t *row,
			  struct dgi_hash_sum *sum, dg_error *err)
{
	const size_t bytes = block_rows(row_bytes) * row_bytes;
	uint8_t *rows = malloc(bytes + 1);
	struct dgi_input in = { 0 };
	struct dgi_npy npy;
	size_t n = bytes;
	dg_status st =
		rows ? dgi_input_open(path, &in, err) : dgi_fail_memory(err, "verifying features");

	if (!st)
		st = dgi_npy_begin(&in, NULL, 0, &npy, err);
	while (!st && bytes > 0 && n == bytes) {
		st = dgi_input_read(&in, rows, bytes, &n, err);
		for (size_t at = 0; !st && at + row_bytes <= n; at += row_bytes)
			dgi_hash_sum_add_row(sum, (*row)++, rows + at, row_bytes);
	}
	dgi_input_close(&in);
	free(rows);
	return st ? dgi_context(err, st, "'%s'", path) : DG_OK;
}

dg_status dgi_verify_data_end(struct dgi_verify *v, dg_error *err)
{
	const struct dgi_source *source = v->request->source;
	dg_status st = DG_OK;

	for (size_t i = 0; !st && i < source->n_data; i++) {
		const struct dgi_source_data *data = &source->data[i];
		struct dgi_hash_sum sum = { 0 };
		int64_t row = 0;

		for (size_t k = 0; !st && k < data->n_paths; k++)
			st = sum_file(data->paths[k], data->info.row_bytes, &row, &sum, err);
		if (!st && !dgi_hash_sum_equal(&sum, &v->data[i]))
			st = dgi_fail(err, DG_CORRUPT,
				      "feature '%s': rows are not with the %s they belong to",
				      data->info.name,
				      data->info.side == DG_NODE ? "nodes" : "edges");
	}
	return st;
}
