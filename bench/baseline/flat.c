/* flat.c -- baseline of gather: rows in one array. */
#include "flat.h"

#include "../harness.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

#define HUGE_BYTES (UINT64_C(2) << 20)
#define PREFETCH_ROWS 12
#define PREFETCH_BYTES 512

const uint8_t *flat_file_map(const char *path, size_t bytes)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	void *base = fd < 0 ? MAP_FAILED : mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);

	if (base == MAP_FAILED)
		bench_fail("cannot map '%s'", path);
	(void)close(fd);
	return base;
}

uint8_t *flat_memory_map(size_t bytes)
{
	size_t room = (bytes + HUGE_BYTES - 1) / HUGE_BYTES * HUGE_BYTES;
	int fd = memfd_create("flat", MFD_CLOEXEC);
	uint8_t *base;

	if (fd < 0 || ftruncate(fd, (off_t)room) != 0 || fallocate(fd, 0, 0, (off_t)room) != 0)
		bench_fail("no memory for the flat array");
	base = mmap(NULL, room + HUGE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (base == MAP_FAILED)
		bench_fail("no address space for the flat array");
	base += -(uintptr_t)base & (HUGE_BYTES - 1);
	if (mmap(base, room, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED)
		bench_fail("cannot map the flat array");
	(void)close(fd);
	(void)madvise(base, room, MADV_COLLAPSE); /* 4 KiB pages where it fails, as in the pool */
	return base;
}

void flat_unmap(const uint8_t *base, size_t bytes)
{
	(void)munmap((void *)(uintptr_t)base, bytes);
}

static inline void prefetch_row(const uint8_t *row, size_t n)
{
	for (size_t at = 0; at < n && at < PREFETCH_BYTES; at += 64)
		__builtin_prefetch(row + at);
}

/* Inlined with a constant @row_bytes where a copy of that length is a few instructions. */
static inline __attribute__((always_inline)) void gather(const uint8_t *base, size_t row_bytes,
							 const int64_t *ids, size_t n, uint8_t *out)
{
	for (size_t i = 0; i < n; i++) {
		if (i + PREFETCH_ROWS < n)
			prefetch_row(base + (size_t)ids[i + PREFETCH_ROWS] * row_bytes, row_bytes);
		memcpy(out + i * row_bytes, base + (size_t)ids[i] * row_bytes, row_bytes);
	}
}

void flat_gather(const uint8_t *base, size_t row_bytes, const int64_t *ids, size_t n, uint8_t *out)
{
	if (row_bytes == 64)
		gather(base, 64, ids, n, out);
	else
		gather(base, row_bytes, ids, n, out);
}
