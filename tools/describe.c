/* describe.c -- what a tensor is, in words. */
#include "describe.h"

#include <inttypes.h>
#include <stdio.h>

void describe_shape(const dg_tensor_info *tensor, char out[SHAPE_TEXT_BYTES])
{
	int n = snprintf(out, SHAPE_TEXT_BYTES, "(%" PRId64 "%s", tensor->n_rows,
			 tensor->rank ? "" : ",");

	for (uint32_t i = 0; i < tensor->rank; i++)
		n += snprintf(out + n, (size_t)(SHAPE_TEXT_BYTES - n), ", %" PRId64,
			      tensor->shape[i]);
	(void)snprintf(out + n, (size_t)(SHAPE_TEXT_BYTES - n), ")");
}

void describe_durability(const dg_tensor_info *tensor, char out[32])
{
	switch (tensor->durability) {
	case DG_DURABLE_INTERVAL:
		(void)snprintf(out, 32, "interval:%u", tensor->interval_ms);
		return;
	case DG_DURABLE_MEMORY:
		(void)snprintf(out, 32, "memory");
		return;
	case DG_DURABLE_COMMIT:
		(void)snprintf(out, 32, "commit");
		return;
	}
}

uint64_t describe_bytes(const dg_tensor_info *tensor)
{
	return (uint64_t)tensor->n_rows * tensor->row_bytes;
}

json_t *describe_json(const dg_book *book, const dg_tensor_info *tensor)
{
	char key[DG_KEY_TEXT_BYTES], durability[32];
	json_t *shape = json_array();

	dg_book_tensor_key(book, tensor, key);
	describe_durability(tensor, durability);
	(void)json_array_append_new(shape, json_integer(tensor->n_rows));
	for (uint32_t i = 0; i < tensor->rank; i++)
		(void)json_array_append_new(shape, json_integer(tensor->shape[i]));
	return json_pack("{s:s, s:s, s:s, s:o, s:I, s:I, s:s, s:b}", "key", key, "name",
			 tensor->name, "dtype", dg_dtype_name(tensor->dtype), "shape", shape,
			 "rows", (json_int_t)tensor->n_rows, "bytes",
			 (json_int_t)describe_bytes(tensor), "durability", durability, "system",
			 (int)(tensor->flags & DG_TENSOR_SYSTEM));
}
