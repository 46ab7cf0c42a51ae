/* lines.c -- a text file in blocks of whole lines. */
#include "lines.h"

#include "check.h"
#include "fail.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define PIECE_BYTES ((size_t)1 << 20)

static dg_status begin(struct dgi_lines lines, const void *first, size_t n, struct dgi_lines *out,
		       dg_error *err)
{
	DGI_ASSERT(n <= 64);
	/* A rest of a line before the piece, and a newline behind it. */
	lines.block = malloc(DGI_LINE_BYTES_MAX + 64 + lines.piece + 1);
	if (!lines.block)
		return dgi_fail_memory(err, lines.name);
	if (n)
		memcpy(lines.block, first, n);
	lines.have = n;
	*out = lines;
	return DG_OK;
}

dg_status dgi_lines_begin(struct dgi_input *in, const void *first, size_t n,
			  struct dgi_progress *progress, struct dgi_lines *out, dg_error *err)
{
	return begin(
		(struct dgi_lines){
			.name = in->path, .in = in, .progress = progress, .piece = PIECE_BYTES },
		first, n, out, err);
}

dg_status dgi_lines_of(const void *data, size_t n, size_t piece, struct dgi_lines *out,
		       dg_error *err)
{
	return begin(
		(struct dgi_lines){
			.name = "memory", .memory = data, .memory_bytes = n, .piece = piece },
		NULL, 0, out, err);
}

void dgi_lines_end(struct dgi_lines *lines)
{
	free(lines->block);
	lines->block = NULL;
}

/* One piece more behind what the block has. */
static dg_status fill(struct dgi_lines *l, size_t *got, dg_error *err)
{
	dg_status st;

	if (l->in) {
		st = dgi_input_read(l->in, l->block + l->have, l->piece, got, err);
		if (!st)
			st = dgi_input_tell(l->in, l->progress, err);
		if (st)
			return st;
	} else {
		*got = l->memory_bytes < l->piece ? l->memory_bytes : l->piece;
		if (*got)
			memcpy(l->block + l->have, l->memory, *got);
		l->memory += *got;
		l->memory_bytes -= *got;
	}
	l->ended = *got < l->piece;
	l->have += *got;
	return DG_OK;
}

/* Moves what was not given out to the block's front. */
static void keep_rest(struct dgi_lines *l)
{
	l->have -= l->given;
	memmove(l->block, l->block + l->given, l->have);
	l->given = 0;
}

dg_status dgi_lines_next(struct dgi_lines *l, char **data, size_t *n, dg_error *err)
{
	const char *newline = NULL;
	size_t got = 0;

	keep_rest(l);
	while (!newline) {
		size_t before = l->have;
		dg_status st = DG_OK;

		if (l->ended && l->have == 0)
			break;
		if (!l->ended)
			st = fill(l, &got, err);
		if (st)
			return st;
		newline = memrchr(l->block, '\n', l->have);
		if (!newline && before + got >= DGI_LINE_BYTES_MAX) {
			st = dgi_fail(err, DG_INVALID, "a line longer than %zu bytes",
				      DGI_LINE_BYTES_MAX);
			l->line++;
			return dgi_lines_blame(l, st, err);
		}
		if (l->ended && l->have > 0 && l->block[l->have - 1] != '\n')
			l->block[l->have++] = '\n';
		if (l->ended && l->have > 0)
			newline = l->block + l->have - 1;
	}
	*data = l->block;
	*n = l->given = newline ? (size_t)(newline - l->block) + 1 : 0;
	if (l->have - l->given < DGI_LINE_BYTES_MAX)
		return DG_OK;
	/* The rest is the beginning of a line that is too long; say so with its number. */
	for (const char *c = l->block; (c = memchr(c, '\n', l->given - (size_t)(c - l->block)));
	     c++)
		l->line++;
	l->line++;
	return dgi_lines_blame(
		l, dgi_fail(err, DG_INVALID, "a line longer than %zu bytes", DGI_LINE_BYTES_MAX),
		err);
}

dg_status dgi_lines_bytes(struct dgi_lines *l, char **data, size_t *n, dg_error *err)
{
	size_t got;
	dg_status st = DG_OK;

	keep_rest(l);
	if (!l->ended)
		st = fill(l, &got, err);
	*data = l->block;
	*n = l->given = l->have;
	return st;
}

dg_status dgi_lines_blame(const struct dgi_lines *lines, dg_status status, dg_error *err)
{
	return dgi_context(err, status, "%s:%" PRIu64, lines->name, lines->line);
}
