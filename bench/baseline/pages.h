/* pages.h -- baseline of open: the tree's pages of a file, read and nothing made of them. */
#ifndef BENCH_PAGES_H
#define BENCH_PAGES_H

#include <stddef.h>
#include <stdint.h>

struct pages {
	int fd;
	uint64_t *numbers;
	size_t n;
};

/* Finds the branch and leaf pages of the data file at @path. */
struct pages pages_open(const char *path);
void pages_close(struct pages *pages);
void pages_read(const struct pages *pages);

#endif
