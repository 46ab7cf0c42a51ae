/*
 * map.h -- our own read-only map of a file, shared with the page cache, larger than the file.
 *
 * What liblmdb writes is visible in it. Nothing is unmapped while the map is open: growing makes a
 * second, larger one and the first stays, so an address once given never faults.
 *
 * Threads: dgi_map_at() in any thread; opening, growing and closing in one at a time.
 */
#ifndef DGI_MAP_H
#define DGI_MAP_H

#include <distgraph/error.h>

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* Doublings from 64 KiB to the whole address space. */
#define DGI_MAP_GROWTHS_MAX 32

/* Zero is a map that is not open. */
struct dgi_map {
	size_t n;
	_Atomic(const uint8_t *) base; /* of the newest */
	struct dgi_mapping {
		void *base;
		size_t bytes;
	} mappings[DGI_MAP_GROWTHS_MAX]; /* from oldest to newest */
};

/* Maps at least @bytes of the file open at @fd, beside what is mapped. Fails with NOMEM (the map
 * is as it was), IO. */
dg_status dgi_map_extend(struct dgi_map *map, int fd, size_t bytes, dg_error *err);
/* Accepts a map that is not open. */
void dgi_map_close(struct dgi_map *map);

/* The byte at @offset, which lies within the file and was learnt after the file had it. */
static inline const uint8_t *dgi_map_at(const struct dgi_map *map, uint64_t offset)
{
	return atomic_load_explicit(&map->base, memory_order_acquire) + offset;
}

#endif
