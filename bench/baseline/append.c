/* append.c -- baseline of push: a preallocated, reused plain file with one sync a group. */
#include "append.h"

#include "../harness.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void write_all(int fd, const uint8_t *data, size_t n, uint64_t at)
{
	while (n) {
		ssize_t written = pwrite(fd, data, n, (off_t)at);

		if (written <= 0)
			bench_fail("cannot write the baseline's file");
		data += written;
		at += (uint64_t)written;
		n -= (size_t)written;
	}
}

struct append append_open(const char *path, uint64_t bytes)
{
	struct append file = { .bytes = bytes };
	uint8_t *zeros = calloc(1, 1 << 20);
	char *name;

	if (!zeros || asprintf(&name, "%s.append", path) < 0)
		bench_fail("out of memory");
	file.fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (file.fd < 0)
		bench_fail("cannot make '%s'", name);
	(void)unlink(name);
	for (uint64_t at = 0; at + (1 << 20) <= bytes; at += 1 << 20)
		write_all(file.fd, zeros, 1 << 20, at);
	append_sync(&file);
	free(name);
	free(zeros);
	return file;
}

void append_close(struct append *file)
{
	(void)close(file->fd);
}

void append_piece(struct append *file, const void *data, size_t n)
{
	if (file->at + n > file->bytes)
		file->at = 0;
	write_all(file->fd, data, n, file->at);
	file->at += n;
}

void append_sync(struct append *file)
{
	if (fdatasync(file->fd) != 0)
		bench_fail("cannot sync the baseline's file");
}
