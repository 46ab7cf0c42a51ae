/* tmpdir.c -- a directory of its own for a test, removed with all it holds. */
#include "tmpdir.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

char *tmpdir_path(const char *dir, const char *name)
{
	char *path;

	if (asprintf(&path, "%s/%s", dir, name) < 0)
		abort();
	return path;
}

char *tmpdir_new(void)
{
	const char *base = getenv("TMPDIR");
	char *dir = tmpdir_path(base ? base : "/tmp", "distgraph-test-XXXXXX");

	if (!mkdtemp(dir)) {
		perror(dir);
		abort();
	}
	return dir;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	(void)st;
	(void)kind;
	(void)ftw;
	return remove(path);
}

void tmpdir_remove(char *dir)
{
	(void)nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	free(dir);
}
