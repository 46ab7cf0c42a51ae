/* buffer.h -- a growable byte buffer with a maximum, 64-byte aligned. */
#ifndef DGI_BUFFER_H
#define DGI_BUFFER_H

#include <distgraph/error.h>

#include <stddef.h>
#include <stdint.h>

struct dgi_buffer {
	uint8_t *data; /* NULL while capacity is 0 */
	size_t n;
	size_t capacity;
	size_t max;
};

/* An empty buffer that will never hold more than @max bytes. Allocates nothing. */
struct dgi_buffer dgi_buffer_of(size_t max);
void dgi_buffer_clear(struct dgi_buffer *b);
/* Makes room for @more bytes behind the first n. Fails with FULL (above max), NOMEM. */
dg_status dgi_buffer_reserve(struct dgi_buffer *b, size_t more, dg_error *err);
dg_status dgi_buffer_append(struct dgi_buffer *b, const void *data, size_t n, dg_error *err);

/* @n bytes on a 64-byte boundary, at least 1; NULL when there are none. Freed by free(). */
void *dgi_aligned_alloc(size_t n);

#endif
