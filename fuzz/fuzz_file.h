/* fuzz_file.h -- bytes as a file with a name, for decoders that open what they read. */
#ifndef FUZZ_FILE_H
#define FUZZ_FILE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* Lent until the next call; one file in memory, written anew each time. */
static inline const char *fuzz_file(const uint8_t *data, size_t n)
{
	static char path[64];
	static int fd = -1;

	if (fd < 0) {
		fd = memfd_create("fuzz", MFD_CLOEXEC);
		(void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	}
	if (fd < 0 || ftruncate(fd, 0) != 0 || pwrite(fd, data, n, 0) != (ssize_t)n)
		exit(1);
	return path;
}

#endif
