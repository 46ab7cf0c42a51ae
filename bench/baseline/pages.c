/* pages.c -- baseline of open: the tree's pages of a file, one pread each. */
#include "pages.h"

#include "../harness.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PAGE_BYTES 4096
#define BRANCH 1
#define LEAF 2
#define OVERFLOW 4

static void read_page(int fd, uint64_t number, uint8_t *page)
{
	if (pread(fd, page, PAGE_BYTES, (off_t)(number * PAGE_BYTES)) != PAGE_BYTES)
		bench_fail("cannot read the store's file");
}

static uint16_t flags_of(const uint8_t *page)
{
	uint16_t flags;

	memcpy(&flags, page + 10, sizeof flags);
	return flags;
}

/* Skips overflow runs by their length; what else calls itself branch or leaf with its own number. */
struct pages pages_open(const char *path)
{
	struct pages pages = { .fd = open(path, O_RDONLY | O_CLOEXEC) };
	off_t bytes = pages.fd < 0 ? -1 : lseek(pages.fd, 0, SEEK_END);
	uint64_t n = (uint64_t)bytes / PAGE_BYTES;
	uint8_t page[PAGE_BYTES];

	if (bytes < 0)
		bench_fail("cannot open '%s'", path);
	pages.numbers = malloc(n * sizeof *pages.numbers);
	if (!pages.numbers)
		bench_fail("out of memory");
	for (uint64_t i = 2, run; i < n; i += run) {
		uint64_t number;
		uint32_t length;

		run = 1;
		read_page(pages.fd, i, page);
		memcpy(&number, page, sizeof number);
		memcpy(&length, page + 12, sizeof length);
		if (number == i && (flags_of(page) & OVERFLOW) && length)
			run = length;
		else if (number == i && (flags_of(page) & (BRANCH | LEAF)))
			pages.numbers[pages.n++] = i;
	}
	return pages;
}

void pages_close(struct pages *pages)
{
	(void)close(pages->fd);
	free(pages->numbers);
}

void pages_read(const struct pages *pages)
{
	uint8_t page[PAGE_BYTES];

	for (size_t i = 0; i < pages->n; i++)
		read_page(pages->fd, pages->numbers[i], page);
}
