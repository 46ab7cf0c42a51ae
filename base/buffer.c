/* buffer.c -- a growable byte buffer with a maximum, 64-byte aligned. */
#include "buffer.h"

#include "bytes.h"
#include "fail.h"

#include <distgraph/types.h>

#include <stdlib.h>
#include <string.h>

#define ALIGNMENT 64

void dg_free(void *memory)
{
	free(memory);
}

void *dgi_aligned_alloc(size_t n)
{
	size_t rounded;

	if (!dgi_add_size(n ? n : 1, ALIGNMENT - 1, &rounded))
		return NULL;
	return aligned_alloc(ALIGNMENT, rounded / ALIGNMENT * ALIGNMENT);
}

struct dgi_buffer dgi_buffer_of(size_t max)
{
	return (struct dgi_buffer){ .max = max };
}

void dgi_buffer_clear(struct dgi_buffer *b)
{
	free(b->data);
	*b = dgi_buffer_of(b->max);
}

dg_status dgi_buffer_reserve(struct dgi_buffer *b, size_t more, dg_error *err)
{
	size_t wanted;
	size_t capacity;
	uint8_t *data;

	if (!dgi_add_size(b->n, more, &wanted) || wanted > b->max)
		return dgi_fail(err, DG_FULL, "buffer: %zu bytes and %zu more, at most %zu", b->n,
				more, b->max);
	if (wanted <= b->capacity)
		return DG_OK;
	capacity = b->capacity <= b->max / 2 ? b->capacity * 2 : b->max;
	if (capacity < wanted)
		capacity = wanted;
	data = dgi_aligned_alloc(capacity);
	if (!data)
		return dgi_fail_memory(err, "buffer");
	if (b->n)
		memcpy(data, b->data, b->n);
	free(b->data);
	b->data = data;
	b->capacity = capacity;
	return DG_OK;
}

dg_status dgi_buffer_append(struct dgi_buffer *b, const void *data, size_t n, dg_error *err)
{
	dg_status st = dgi_buffer_reserve(b, n, err);

	if (st)
		return st;
	if (n)
		memcpy(b->data + b->n, data, n);
	b->n += n;
	return DG_OK;
}
