/* stored.c -- what a store holds, read in order and in blocks. */
#include "stored.h"

#include "check.h"
#include "fail.h"

#include <inttypes.h>
#include <string.h>

dg_status dgi_stored_tensor(const dg_store *store, dg_side side, uint16_t type, const char *name,
			    dg_numbering numbering, const dg_tensor_info **out, dg_error *err)
{
	size_t n;
	const dg_tensor_info *tensors = dg_store_tensors(store, &n);

	for (size_t i = 0; i < n; i++)
		if (tensors[i].side == side && tensors[i].type == type &&
		    tensors[i].numbering == numbering && strcmp(tensors[i].name, name) == 0) {
			*out = &tensors[i];
			return DG_OK;
		}
	return dgi_fail(err, DG_CORRUPT, "%s type %d has no tensor '%s'",
			side == DG_NODE ? "node" : "edge", type, name);
}

dg_status dgi_stored_rows(dg_store *store, const dg_tensor_info *tensor, int64_t first, size_t n,
			  void *out, dg_error *err)
{
	dg_id rows[DGI_STORED_BLOCK];

	DGI_ASSERT(n <= DGI_STORED_BLOCK);
	for (size_t i = 0; i < n; i++)
		rows[i] = first + (dg_id)i;
	return dg_store_gather(store, tensor, rows, n, out, err);
}

/* n int32 at the front of @out become int64: from behind, so that none is overwritten unread. */
static void widen(int64_t *out, size_t n)
{
	const uint8_t *narrow = (const uint8_t *)out;
	int32_t value;

	for (size_t i = n; i-- > 0;) {
		memcpy(&value, narrow + i * sizeof value, sizeof value);
		out[i] = value;
	}
}

dg_status dgi_stored_ids(dg_store *store, const dg_tensor_info *tensor, int64_t first, size_t n,
			 dg_id *out, dg_error *err)
{
	dg_status st;

	if ((tensor->dtype != DG_INT32 && tensor->dtype != DG_INT64) ||
	    tensor->row_bytes != dg_dtype_bytes(tensor->dtype))
		return dgi_fail(err, DG_CORRUPT, "tensor '%s' is no table of ids", tensor->name);
	st = dgi_stored_rows(store, tensor, first, n, out, err);
	if (!st && tensor->dtype == DG_INT32)
		widen(out, n);
	return st;
}

dg_status dgi_stored_array(dg_store *store, uint16_t etype, dg_graph_array array, int64_t first,
			   size_t n, int64_t *out, dg_error *err)
{
	dg_dtype dtype;
	int64_t length;
	dg_status st = dg_store_graph_array(store, etype, array, &dtype, &length, err);

	if (!st && (first > length || (int64_t)n > length - first))
		st = dgi_fail(err, DG_CORRUPT,
			      "edge type %d: structure array %d has %" PRId64
			      " elements, want at least %" PRId64,
			      etype, array, length, first + (int64_t)n);
	if (!st)
		st = dg_store_graph_read(store, etype, array, first, (int64_t)n, out, err);
	if (!st && dtype == DG_INT32)
		widen(out, n);
	return st;
}
