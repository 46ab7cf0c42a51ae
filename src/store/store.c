/* store.c -- one partition: a volume with the partition book on top. */
#include "store.h"

#include "book.h"
#include "fail.h"
#include "filler.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>

struct dg_store {
	struct dgi_volume *volume;
	dg_book *book;
	dg_tensor_info *tensors; /* as handed out */
	size_t n_tensors;
	struct dgi_filler filler; /* zero: somebody else goes on with fills */
};

/* Do the tensors have the rows that the book gives to this partition? */
static dg_status check_tensor(const dg_store *store, const dg_tensor_info *tensor, uint32_t part,
			      dg_error *err)
{
	dg_id start, end;

	if (!dgi_book_starts(store->book, tensor->side, tensor->type, tensor->numbering))
		return dgi_fail(err, DG_CORRUPT,
				"tensor '%s': belongs to type %u, which the partition book lacks",
				tensor->name, tensor->type);
	dg_book_tensor_range(store->book, tensor, part, &start, &end);
	if (tensor->n_rows != end - start)
		return dgi_fail(err, DG_CORRUPT,
				"tensor '%s': %" PRId64 " rows, want %" PRId64
				" by the partition book",
				tensor->name, tensor->n_rows, end - start);
	return DG_OK;
}

static dg_status check_book(const dg_store *store, dg_error *err)
{
	const struct dgi_superblock *superblock = dgi_volume_superblock(store->volume);
	uint32_t n_parts = dg_book_n_parts(store->book);
	dg_status st = DG_OK;

	if (superblock->n_parts != n_parts || superblock->part >= n_parts)
		return dgi_fail(err, DG_CORRUPT,
				"part %" PRIu32 " of %" PRIu32
				", but its partition book has %" PRIu32,
				superblock->part, superblock->n_parts, n_parts);
	for (size_t i = 0; !st && i < store->n_tensors; i++)
		st = check_tensor(store, &store->tensors[i], superblock->part, err);
	return st;
}

/* Lists anew the tensors there are. */
static dg_status list_tensors(dg_store *store, dg_error *err)
{
	dg_tensor_info *tensors;
	size_t n;
	dg_status st = dgi_volume_list(store->volume, &tensors, &n, err);

	if (st)
		return st;
	free(store->tensors);
	store->tensors = tensors;
	store->n_tensors = n;
	return DG_OK;
}

static dg_status open_book(dg_store *store, const char *path, dg_error *err)
{
	size_t n;
	const uint8_t *bytes = dgi_volume_book(store->volume, &n);
	dg_status st = dgi_book_decode(bytes, n, &store->book, err);

	if (!st)
		st = list_tensors(store, err);
	if (!st)
		st = check_book(store, err);
	return st ? dgi_context(err, st, "store '%s'", path) : DG_OK;
}

dg_status dgi_store_open(const char *path, const dg_store_options *options, bool goes_on,
			 dg_store **out, dg_error *err)
{
	const struct dgi_volume_options volume_options = {
		.writable = options && options->writable,
		.without_journal = options && options->without_journal,
	};
	dg_store *store;
	dg_status st;

	if (volume_options.writable && volume_options.without_journal)
		return dgi_fail(err, DG_INVALID,
				"store '%s': cannot be written without its journal", path);
	store = calloc(1, sizeof *store);
	if (!store)
		return dgi_fail_memory(err, path);
	st = dgi_volume_open(path, &volume_options, &store->volume, err);
	if (!st)
		st = open_book(store, path, err);
	if (!st && volume_options.writable && goes_on)
		st = dgi_filler_open(&store->filler, store->volume, err);
	if (st) {
		dg_store_close(store);
		return st;
	}
	*out = store;
	return DG_OK;
}

dg_status dg_store_open(const char *path, const dg_store_options *options, dg_store **out,
			dg_error *err)
{
	return dgi_store_open(path, options, true, out, err);
}

void dg_store_close(dg_store *store)
{
	if (!store)
		return;
	dgi_filler_close(&store->filler);
	dgi_volume_close(store->volume);
	dgi_book_free(store->book);
	free(store->tensors);
	free(store);
}

struct dgi_volume *dgi_store_volume(dg_store *store)
{
	return store->volume;
}

void dg_store_get_info(const dg_store *store, dg_store_info *out)
{
	dgi_volume_get_info(store->volume, out);
}

const dg_book *dg_store_book(const dg_store *store)
{
	return store->book;
}

const dg_tensor_info *dg_store_tensors(const dg_store *store, size_t *n)
{
	*n = store->n_tensors;
	return store->tensors;
}

/* The caller's tensor must be ours: its row size says how much memory the caller has. */
static dg_status check_mine(const dg_store *store, const dg_tensor_info *tensor, dg_error *err)
{
	const dg_tensor_info *mine = dgi_volume_tensor(store->volume, tensor->id);

	if (!mine)
		return dgi_fail(err, DG_NOTFOUND,
				"tensor '%s' (number %" PRIu32 "): not in the store", tensor->name,
				tensor->id);
	if (mine->row_bytes != tensor->row_bytes)
		return dgi_fail(err, DG_MISMATCH,
				"tensor '%s': rows of %" PRIu32 " bytes, the store's have %" PRIu32,
				tensor->name, tensor->row_bytes, mine->row_bytes);
	return DG_OK;
}

dg_status dg_store_gather(dg_store *store, const dg_tensor_info *tensor, const dg_id *rows,
			  size_t n, void *out, dg_error *err)
{
	dg_status st = check_mine(store, tensor, err);

	return st ? st : dgi_volume_gather(store->volume, tensor->id, rows, n, out, err);
}

/* Applies one write, and waits until it lasts. */
static dg_status write_one(dg_store *store, const dg_tensor_info *tensor, struct dgi_write *write,
			   dg_error *err)
{
	dg_status st = check_mine(store, tensor, err);

	if (st)
		return st;
	if (dgi_volume_tensor(store->volume, tensor->id)->flags & DG_TENSOR_SYSTEM)
		return dgi_fail(err, DG_INVALID, "tensor '%s': kept by the store itself",
				tensor->name);
	write->tensor = tensor->id;
	st = dgi_filler_enter(&store->filler, tensor->id, err);
	if (st)
		return st;
	st = dgi_volume_write(store->volume, write, 1, err);
	dgi_filler_leave(&store->filler);
	if (!st && write->status) {
		st = write->status;
		if (err)
			*err = write->error;
	}
	return st;
}

dg_status dg_store_write(dg_store *store, const dg_tensor_info *tensor, dg_operation operation,
			 const dg_id *rows, size_t n, const void *data, dg_error *err)
{
	struct dgi_write write = { .op = operation, .rows = rows, .n = n, .data = data };

	return write_one(store, tensor, &write, err);
}

dg_status dg_store_assign(dg_store *store, const dg_tensor_info *tensor, const dg_id *rows,
			  size_t n, const void *data, dg_error *err)
{
	return dg_store_write(store, tensor, DG_OP_ASSIGN, rows, n, data, err);
}

dg_status dg_store_fill(dg_store *store, const dg_tensor_info *tensor, dg_operation operation,
			int64_t first, int64_t n, const void *row, dg_error *err)
{
	const dg_id run[2] = { first, n };
	struct dgi_write write = {
		.op = operation, .fill = true, .rows = run, .n = 2, .data = row
	};

	return write_one(store, tensor, &write, err);
}

/* --- Tensors that come and go --- */

/* The rows of a new tensor that this partition owns. */
static dg_status set_rows(const dg_store *store, dg_tensor_info *info, dg_error *err)
{
	const uint32_t part = dgi_volume_superblock(store->volume)->part;
	dg_id start, end;

	if (!dgi_book_starts(store->book, info->side, info->type, info->numbering))
		return dgi_fail(err, DG_NOTFOUND, "tensor '%.255s': the graph has no %s type %u",
				info->name, info->side == DG_EDGE ? "edge" : "node", info->type);
	dg_book_tensor_range(store->book, info, part, &start, &end);
	info->n_rows = end - start;
	return DG_OK;
}

dg_status dg_store_create(dg_store *store, dg_tensor_spec *specs, size_t n, int *existed,
			  dg_error *err)
{
	bool was_there = false;
	dg_status st = DG_OK;

	*existed = 0;
	for (size_t i = 0; i < n && !st; i++)
		st = set_rows(store, &specs[i].info, err);
	if (!st)
		st = dgi_volume_create(store->volume, specs, n, &was_there, err);
	if (st)
		return st;
	*existed = was_there;
	st = list_tensors(store, err);
	return st ? dgi_context(err, st, "created, but not listed") : DG_OK;
}

dg_status dg_store_spec(const dg_store *store, const dg_tensor_info *tensor, dg_tensor_spec *out,
			dg_error *err)
{
	return dgi_volume_spec(store->volume, tensor->id, out, err);
}

dg_status dg_store_drop(dg_store *store, const dg_tensor_info *tensor, dg_error *err)
{
	dg_status st = dgi_volume_drop(store->volume, tensor->id, err);

	if (st)
		return st;
	st = list_tensors(store, err);
	return st ? dgi_context(err, st, "dropped, but still listed") : DG_OK;
}

dg_status dg_store_release(dg_store *store, const char *owner, size_t *n, dg_error *err)
{
	dg_status st = dgi_volume_release(store->volume, owner, n, err);
	dg_status listed = *n ? list_tensors(store, st ? NULL : err) : DG_OK;

	return st ? st : listed;
}

/* --- Structure --- */

/* A partition without a halo has no arrays of it. */
static bool may_lack(dg_graph_array array)
{
	return array >= DG_GRAPH_HALO_INDPTR && array <= DG_GRAPH_HALO_NODES;
}

static dg_status check_type(const dg_store *store, uint16_t type, dg_graph_array array,
			    dg_error *err)
{
	const bool of_nodes = array == DG_GRAPH_HALO_NODES;
	const uint16_t n =
		of_nodes ? dg_book_n_node_types(store->book) : dg_book_n_edge_types(store->book);

	if (type < n)
		return DG_OK;
	return dgi_fail(err, DG_RANGE, "%s type %u: the graph has %u", of_nodes ? "node" : "edge",
			type, n);
}

dg_status dg_store_graph_array(const dg_store *store, uint16_t etype, dg_graph_array array,
			       dg_dtype *dtype, int64_t *n, dg_error *err)
{
	dg_status st = check_type(store, etype, array, err);

	if (!st)
		st = dgi_volume_array(store->volume, etype, (uint8_t)array, dtype, n, err);
	if (st != DG_NOTFOUND || !may_lack(array))
		return st;
	*dtype = DG_INT32;
	*n = 0;
	return DG_OK;
}

dg_status dg_store_graph_read(dg_store *store, uint16_t etype, dg_graph_array array, int64_t first,
			      int64_t n, void *out, dg_error *err)
{
	if (may_lack(array) && first == 0 && n == 0)
		return DG_OK;
	return dgi_volume_array_read(store->volume, etype, (uint8_t)array, first, n, out, err);
}
