/* pool.c -- memory blocks that are used again. */
#include "pool.h"

#include "buffer.h"

#include <stdlib.h>

#define SMALLEST_BYTES 256

/* A free block's own memory holds the link. */
struct dgi_block {
	struct dgi_block *next;
};

struct dgi_pool dgi_pool_of(size_t kept_bytes_max)
{
	return (struct dgi_pool){ .kept_bytes_max = kept_bytes_max };
}

void dgi_pool_clear(struct dgi_pool *pool)
{
	for (size_t i = 0; i < DGI_POOL_CLASSES; i++)
		while (pool->free[i]) {
			struct dgi_block *block = pool->free[i];

			pool->free[i] = block->next;
			free(block);
		}
	pool->kept_bytes = 0;
}

static size_t class_of(size_t n)
{
	size_t i = 0;

	while (i < DGI_POOL_CLASSES && (size_t)SMALLEST_BYTES << i < n)
		i++;
	return i;
}

void *dgi_pool_get(struct dgi_pool *pool, size_t n)
{
	size_t i = class_of(n);
	struct dgi_block *block;

	if (i == DGI_POOL_CLASSES)
		return NULL;
	block = pool->free[i];
	if (!block)
		return dgi_aligned_alloc((size_t)SMALLEST_BYTES << i);
	pool->free[i] = block->next;
	pool->kept_bytes -= (size_t)SMALLEST_BYTES << i;
	return block;
}

void dgi_pool_put(struct dgi_pool *pool, void *memory, size_t n)
{
	size_t i = class_of(n);
	size_t bytes = (size_t)SMALLEST_BYTES << i;
	struct dgi_block *block = memory;

	if (!block)
		return;
	if (bytes > pool->kept_bytes_max - pool->kept_bytes) {
		free(block);
		return;
	}
	block->next = pool->free[i];
	pool->free[i] = block;
	pool->kept_bytes += bytes;
}
