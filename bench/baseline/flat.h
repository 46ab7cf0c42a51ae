/* flat.h -- baseline of gather: rows in one array, without table, check or checksum. */
#ifndef BENCH_FLAT_H
#define BENCH_FLAT_H

#include <stddef.h>
#include <stdint.h>

/* @bytes of a plain file, mapped read-only and in the page cache. */
const uint8_t *flat_file_map(const char *path, size_t bytes);
/* @bytes of a memfd as the hot pool has them: allocated, at a 2 MiB boundary, collapsed. */
uint8_t *flat_memory_map(size_t bytes);
void flat_unmap(const uint8_t *base, size_t bytes);

/* Copies rows @ids of the array to @out, prefetching ahead. */
void flat_gather(const uint8_t *base, size_t row_bytes, const int64_t *ids, size_t n, uint8_t *out);

#endif
