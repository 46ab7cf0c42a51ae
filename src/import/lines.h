/* lines.h -- a text file in blocks of whole lines. */
#ifndef DGI_LINES_H
#define DGI_LINES_H

#include "input.h"

/* Longer lines are refused. */
#define DGI_LINE_BYTES_MAX ((size_t)64 << 10)

struct dgi_lines {
	const char *name; /* of the file, for messages; lent */
	uint64_t line;	  /* lines read: kept by whoever reads them */

	struct dgi_input *in; /* lent; NULL: the bytes at @memory */
	const char *memory;
	size_t memory_bytes;
	struct dgi_progress *progress;
	char *block;
	size_t piece; /* bytes read at once */
	size_t have;  /* bytes in the block */
	size_t given; /* of these, how many were given out */
	bool ended;
};

/* The first @n bytes of the file, at most 64, have been read already. Fails with NOMEM. */
dg_status dgi_lines_begin(struct dgi_input *in, const void *first, size_t n,
			  struct dgi_progress *progress, struct dgi_lines *out, dg_error *err);
/* The same of @n bytes, lent, in pieces of @piece. */
dg_status dgi_lines_of(const void *data, size_t n, size_t piece, struct dgi_lines *out,
		       dg_error *err);
void dgi_lines_end(struct dgi_lines *lines);

/*
 * The next lines, lent until the next call: the last byte is a newline, also where the file lacks
 * it; *n is 0 at the end. Fails with INVALID (a line too long), CANCELLED, IO, NOMEM.
 */
dg_status dgi_lines_next(struct dgi_lines *lines, char **data, size_t *n, dg_error *err);
/* The next bytes, whatever they are. A file is read either so or by lines. */
dg_status dgi_lines_bytes(struct dgi_lines *lines, char **data, size_t *n, dg_error *err);

/* Puts file and line in front of the text of @err and returns @status. */
dg_status dgi_lines_blame(const struct dgi_lines *lines, dg_status status, dg_error *err);

#endif
