/*
 * tensor_info.h -- a tensor description: element types, rules, and its bytes, which are the same in
 * the catalogue on disk and in the describe message on the wire (docs/format.md).
 */
#ifndef DGI_TENSOR_INFO_H
#define DGI_TENSOR_INFO_H

#include <distgraph/types.h>

/* No description is longer than this. */
#define DGI_TENSOR_INFO_BYTES_MAX 512

/* Is @name 1 to 255 bytes of UTF-8 without control characters? Fails with INVALID. */
dg_status dgi_name_check(const char *what, const char *name, dg_error *err);

/* Sets row_bytes from dtype and shape. Fails with INVALID (what is wrong with them). */
dg_status dgi_tensor_info_set_row_bytes(dg_tensor_info *info, dg_error *err);

/* Every field within its limits and in agreement with the others? Fails with INVALID. */
dg_status dgi_tensor_info_check(const dg_tensor_info *info, dg_error *err);

/* Writes @info, which must pass the check; returns the bytes written. */
size_t dgi_tensor_info_encode(const dg_tensor_info *info, uint8_t out[DGI_TENSOR_INFO_BYTES_MAX]);

/*
 * Reads a description from @data; sets *used to the bytes read, for a list of them.
 * Fails with CORRUPT (short, or a field out of its limits; the text says which).
 */
dg_status dgi_tensor_info_decode(const void *data, size_t n, dg_tensor_info *out, size_t *used,
				 dg_error *err);

#endif
