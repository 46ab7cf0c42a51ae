/*
 * files.h -- files and directories made so that a crash leaves either the old or the new.
 */
#ifndef DGI_FILES_H
#define DGI_FILES_H

#include <distgraph/error.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* fsync of a directory, so that names in it last. */
dg_status dgi_directory_sync(const char *path, dg_error *err);

/* Writes a whole small file (mode 0600): temporary file, fsync, rename, fsync of the directory. */
dg_status dgi_file_replace(const char *path, const void *data, size_t n, dg_error *err);

/*
 * Reads a whole regular file of at most @max bytes into *out (to be freed; a NUL is put behind the
 * last byte). Fails with NOTFOUND, INVALID (larger, or no regular file), IO, NOMEM.
 */
dg_status dgi_file_read(const char *path, size_t max, char **out, size_t *n, dg_error *err);

/* Reads @n bytes at @at, all of them. Fails with CORRUPT (the file ends before), IO. */
dg_status dgi_read_at(int fd, uint64_t at, void *out, size_t n, dg_error *err);

/* Removes a directory and all it holds, without following links. A missing one is fine. */
dg_status dgi_tree_remove(const char *path, dg_error *err);

/* Refuses network and other file systems on which LMDB is unsafe. Fails with UNSUPPORTED, IO. */
dg_status dgi_filesystem_check(const char *path, dg_error *err);

/* Refuses a directory or file of another owner or open to others. Fails with DENIED, IO. */
dg_status dgi_ownership_check(const char *path, dg_error *err);

/*
 * A directory being made: everything goes into a temporary one beside @target and is renamed into
 * place at the end.
 */
struct dgi_staging {
	char *target;
	char *path; /* the temporary directory, mode 0700, to be filled */
	bool replace;
};

/* Fails with EXISTS (the target is there and @replace is false), IO, NOMEM. */
dg_status dgi_staging_begin(const char *target, bool replace, struct dgi_staging *out,
			    dg_error *err);
/* Syncs the tree, puts it in place of the target, removes what was there. Clears @staging. */
dg_status dgi_staging_commit(struct dgi_staging *staging, dg_error *err);
/* Removes the temporary directory. Accepts a cleared or zero staging. */
void dgi_staging_abort(struct dgi_staging *staging);

#endif
