/* stored.h -- what a store holds, read in order and in blocks. */
#ifndef DGI_STORED_H
#define DGI_STORED_H

#include <distgraph/store.h>

#define DGI_STORED_BLOCK 16384

/* The tensor of one type called @name, in @numbering. Fails with CORRUPT (there is none). */
dg_status dgi_stored_tensor(const dg_store *store, dg_side side, uint16_t type, const char *name,
			    dg_numbering numbering, const dg_tensor_info **out, dg_error *err);

/* Rows [first, first + n) of a tensor, at most DGI_STORED_BLOCK. */
dg_status dgi_stored_rows(dg_store *store, const dg_tensor_info *tensor, int64_t first, size_t n,
			  void *out, dg_error *err);
/* The same of a tensor of one int32 or int64 a row. Fails with CORRUPT (another dtype) too. */
dg_status dgi_stored_ids(dg_store *store, const dg_tensor_info *tensor, int64_t first, size_t n,
			 dg_id *out, dg_error *err);

/* Elements [first, first + n) of a structure array, at most DGI_STORED_BLOCK + 1. */
dg_status dgi_stored_array(dg_store *store, uint16_t etype, dg_graph_array array, int64_t first,
			   size_t n, int64_t *out, dg_error *err);

#endif
