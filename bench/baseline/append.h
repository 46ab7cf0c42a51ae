/* append.h -- baseline of push: the same bytes appended to a preallocated, reused plain file. */
#ifndef BENCH_APPEND_H
#define BENCH_APPEND_H

#include <stddef.h>
#include <stdint.h>

struct append {
	int fd;
	uint64_t bytes; /* of the file */
	uint64_t at;	/* where the next group goes */
};

/* A file beside @path, written once and synced, gone when it is closed. */
struct append append_open(const char *path, uint64_t bytes);
void append_close(struct append *file);

/* Writes a group's pieces one behind the other, then syncs once. */
void append_piece(struct append *file, const void *data, size_t n);
void append_sync(struct append *file);

#endif
