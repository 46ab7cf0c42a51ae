/*
 * pool.h -- memory blocks that are used again: the first touch of fresh memory costs more than
 * filling it (limits of the machine), and a block holds a whole body.
 *
 * Threads: one thread at a time.
 */
#ifndef DGI_POOL_H
#define DGI_POOL_H

#include <stddef.h>

#define DGI_POOL_CLASSES 20 /* 256 B, 512 B, … 128 MiB */

struct dgi_pool {
	struct dgi_block *free[DGI_POOL_CLASSES];
	size_t kept_bytes; /* in free blocks */
	size_t kept_bytes_max;
};

struct dgi_pool dgi_pool_of(size_t kept_bytes_max);
void dgi_pool_clear(struct dgi_pool *pool);

/* At least @n bytes on a 64-byte boundary; NULL when there are none or @n is above the limit. */
void *dgi_pool_get(struct dgi_pool *pool, size_t n);
/* Gives back what was got for @n bytes. NULL is fine. */
void dgi_pool_put(struct dgi_pool *pool, void *memory, size_t n);

#endif
