/* map.c -- our own read-only map of a file. */
#include "map.h"

#include "check.h"
#include "fail.h"

#include <errno.h>
#include <sys/mman.h>

dg_status dgi_map_extend(struct dgi_map *map, int fd, size_t bytes, dg_error *err)
{
	void *base;

	if (map->n > 0 && bytes <= map->mappings[map->n - 1].bytes)
		return DG_OK;
	DGI_ASSERT(map->n < DGI_MAP_GROWTHS_MAX);
	base = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
	if (base == MAP_FAILED)
		return dgi_fail_errno(err, errno, "map %zu bytes", bytes);
	/* A process that dies should not write the page cache into its core file. */
	(void)madvise(base, bytes, MADV_DONTDUMP);
	map->mappings[map->n++] = (struct dgi_mapping){ .base = base, .bytes = bytes };
	atomic_store_explicit(&map->base, base, memory_order_release);
	return DG_OK;
}

void dgi_map_close(struct dgi_map *map)
{
	for (size_t i = 0; i < map->n; i++)
		(void)munmap(map->mappings[i].base, map->mappings[i].bytes);
	map->n = 0;
	atomic_store(&map->base, NULL);
}
