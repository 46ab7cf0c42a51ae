/* sample.c -- how many edges a file has and how large its ids are, by a look at some of it. */
#include "sample.h"

#include "fail.h"
#include "files.h"
#include "npy_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FRONT_BYTES ((size_t)1 << 20)
/* Further looks into a plain file, evenly spaced. */
#define N_LOOKS 64
#define LOOK_BYTES ((size_t)16 << 10)

/* Reads at most @n bytes at @at of a plain file; fewer at its end, none where it cannot be read. */
static size_t look_at(int fd, uint64_t at, void *out, size_t n)
{
	ssize_t got = pread(fd, out, n, (off_t)at);

	return got > 0 ? (size_t)got : 0;
}

/* Where look number @i of @length bytes begins. */
static uint64_t place_of(int i, uint64_t length)
{
	return length > LOOK_BYTES ? (length - LOOK_BYTES) / (N_LOOKS - 1) * (uint64_t)i : 0;
}

/* --- .npy --- */

static void see_numbers(struct dgi_sample *s, const struct dgi_npy *npy, const uint8_t *data,
			size_t n)
{
	for (size_t at = 0; at + npy->item_bytes <= n; at += npy->item_bytes) {
		uint64_t value = 0;

		memcpy(&value, data + at, npy->item_bytes);
		if (value <= INT64_MAX && (int64_t)value > s->largest)
			s->largest = (int64_t)value;
	}
}

static dg_status sample_npy(struct dgi_input *in, uint8_t *bytes, size_t n, struct dgi_sample *s,
			    dg_error *err)
{
	struct dgi_npy npy;
	size_t got = 0;
	int fd;
	dg_status st = dgi_npy_begin(in, bytes, n, &npy, err);

	if (!st && (npy.rank != 2 || (npy.kind != 'i' && npy.kind != 'u') ||
		    (npy.shape[1] != 2 && npy.shape[1] != 3 && npy.shape[0] != 2)))
		st = dgi_fail(err, DG_INVALID, "no integers of shape (E,2), (E,3) or (2,E)");
	if (!st)
		st = dgi_input_read(in, bytes, FRONT_BYTES, &got, err);
	if (st)
		return dgi_context(err, st, "%s", in->path);
	s->numbers = s->exact_edges = true;
	s->n_edges = npy.shape[1] == 2 || npy.shape[1] == 3 ? npy.shape[0] : npy.shape[1];
	see_numbers(s, &npy, bytes, got);
	fd = in->plain ? open(in->path, O_RDONLY | O_CLOEXEC) : -1;
	for (int i = 0; fd >= 0 && i < N_LOOKS; i++) {
		uint64_t at = place_of(i, npy.data_bytes);

		at -= at % npy.item_bytes;
		see_numbers(s, &npy, bytes, look_at(fd, npy.header_bytes + at, bytes, LOOK_BYTES));
	}
	if (fd >= 0)
		(void)close(fd);
	return DG_OK;
}

/* --- Text --- */

struct lines {
	uint64_t n;	    /* neither empty nor comments */
	uint64_t n_numbers; /* of these, lines that begin with a number: no header */
	uint64_t bytes;	    /* of all lines seen, comments too */
};

static bool is_separator(char c)
{
	return c == ',' || c == ';' || c == '\t' || c == ' ';
}

/* The first two fields of a line, where they are numbers; says whether the first is one. */
static bool see_line(struct dgi_sample *s, const char *line, const char *end)
{
	int n_fields = 0;

	while (line < end && n_fields < 2) {
		int64_t value = 0;
		int n_digits = 0;

		while (line < end && is_separator(*line))
			line++;
		for (; line < end && *line >= '0' && *line <= '9' && n_digits < 18; line++) {
			value = value * 10 + (*line - '0');
			n_digits++;
		}
		if (n_digits == 0 || (line < end && !is_separator(*line) && *line != '\r'))
			break;
		s->numbers = true;
		n_fields++;
		if (value > s->largest)
			s->largest = value;
	}
	return n_fields > 0;
}

/* Whole lines alone; with @inside the first is cut and left out. */
static void see_lines(struct dgi_sample *s, struct lines *lines, const char *text, size_t n,
		      bool inside)
{
	const char *at = text, *end = text + n, *newline;

	while (at < end && (newline = memchr(at, '\n', (size_t)(end - at)))) {
		if (!inside) {
			lines->bytes += (uint64_t)(newline + 1 - at);
			if (*at != '#' && *at != '%' && newline > at) {
				lines->n++;
				lines->n_numbers += see_line(s, at, newline);
			}
		}
		inside = false;
		at = newline + 1;
	}
}

/* The three numbers behind a MatrixMarket file's comments. */
static dg_status sample_mtx(const char *path, char *text, struct dgi_sample *s, dg_error *err)
{
	long long rows, columns, n;

	while (*text == '%' && (text = strchr(text, '\n')))
		text++;
	if (!text || sscanf(text, "%lld %lld %lld", &rows, &columns, &n) != 3 || rows < 0 ||
	    columns < 0 || n < 0)
		return dgi_fail(err, DG_INVALID, "%s: no line 'rows columns entries'", path);
	*s = (struct dgi_sample){ .n_edges = n,
				  .largest = (rows > columns ? rows : columns) - 1,
				  .exact_edges = true,
				  .exact_nodes = true,
				  .numbers = true };
	return DG_OK;
}

/* How many bytes of text the whole file holds: packed ones by how far it is now. */
static double text_bytes(const struct dgi_input *in, size_t read, bool whole)
{
	if (whole)
		return (double)read;
	if (in->plain)
		return (double)in->file_bytes;
	return in->file_at ? (double)in->file_bytes / (double)in->file_at * (double)read
			   : (double)read;
}

static dg_status sample_text(struct dgi_input *in, char *bytes, size_t n, struct dgi_sample *s,
			     dg_error *err)
{
	struct lines lines = { 0 };
	size_t got = 0;
	bool whole;
	int fd;
	dg_status st = dgi_input_read(in, bytes + n, FRONT_BYTES - n, &got, err);

	if (!st)
		st = dgi_input_tell(in, NULL, err);
	if (st)
		return st;
	n += got;
	whole = n < FRONT_BYTES;
	if (whole && n > 0 && bytes[n - 1] != '\n')
		bytes[n++] = '\n';
	bytes[n] = '\0';
	if (n > 14 && memcmp(bytes, "%%MatrixMarket", 14) == 0)
		return sample_mtx(in->path, bytes, s, err);
	see_lines(s, &lines, bytes, n, false);
	s->exact_edges = s->exact_nodes = whole;
	fd = in->plain && !whole ? open(in->path, O_RDONLY | O_CLOEXEC) : -1;
	for (int i = 1; fd >= 0 && i < N_LOOKS; i++)
		see_lines(s, &lines, bytes,
			  look_at(fd, place_of(i, in->file_bytes), bytes, LOOK_BYTES), true);
	if (fd >= 0)
		(void)close(fd);
	if (lines.n_numbers)
		lines.n = lines.n_numbers;
	if (lines.bytes)
		s->n_edges =
			(int64_t)(text_bytes(in, n, whole) / (double)lines.bytes * (double)lines.n);
	if (whole)
		s->n_edges = (int64_t)lines.n;
	return DG_OK;
}

dg_status dgi_sample_file(const char *path, struct dgi_sample *out, dg_error *err)
{
	struct dgi_sample s = { .largest = -1 };
	struct dgi_input in = { 0 };
	uint8_t *bytes = malloc(FRONT_BYTES + 2);
	size_t n = 0;
	dg_status st = bytes ? dgi_input_open(path, &in, err) : dgi_fail_memory(err, "a sample");

	if (!st)
		st = dgi_input_read(&in, bytes, DGI_NPY_PREFIX_BYTES, &n, err);
	if (!st)
		st = dgi_npy_magic(bytes, n) ? sample_npy(&in, bytes, n, &s, err)
					     : sample_text(&in, (char *)bytes, n, &s, err);
	dgi_input_close(&in);
	free(bytes);
	if (!st)
		*out = s;
	return st;
}
