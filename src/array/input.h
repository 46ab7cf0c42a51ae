/*
 * input.h -- an input file read from front to end, plain or packed by gzip.
 *
 * Threads: one thread at a time.
 */
#ifndef DGI_INPUT_H
#define DGI_INPUT_H

#include "progress.h"

#include <stdbool.h>

struct dgi_input {
	const char *path; /* lent by the caller */
	void *gz;
	uint64_t file_bytes; /* on disk; 0 for a pipe */
	uint64_t file_at;    /* bytes of the file told to progress so far */
	bool plain;	     /* a regular file that is not packed: file_bytes is what it holds */
};

/* Fails with NOTFOUND, INVALID (a directory), DENIED, IO, NOMEM. */
dg_status dgi_input_open(const char *path, struct dgi_input *out, dg_error *err);
/* Accepts a closed or zero input. */
void dgi_input_close(struct dgi_input *in);

/*
 * Reads up to @n bytes; *got is less only at the end. The text of a failure names the file. Fails
 * with INVALID (damaged or cut gzip data), IO, NOMEM.
 */
dg_status dgi_input_read(struct dgi_input *in, void *data, size_t n, size_t *got, dg_error *err);
/* Adds the bytes of the file read since the last call to @progress, which may be NULL. */
dg_status dgi_input_tell(struct dgi_input *in, struct dgi_progress *progress, dg_error *err);

#endif
