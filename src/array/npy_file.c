/* npy_file.c -- a .npy file read into memory; nothing is allocated on its header's word alone. */
#include "npy_file.h"

#include "buffer.h"
#include "check.h"
#include "fail.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define PIECE_BYTES ((size_t)4 << 20) /* of a file whose length is not known beforehand */

static dg_status read_header(struct dgi_input *in, const void *first, size_t n, struct dgi_npy *npy,
			     dg_error *err)
{
	uint8_t prefix[DGI_NPY_PREFIX_BYTES];
	uint8_t *header;
	size_t got;
	size_t total;
	dg_status st;

	DGI_ASSERT(n <= sizeof prefix);
	if (n)
		memcpy(prefix, first, n);
	st = dgi_input_read(in, prefix + n, sizeof prefix - n, &got, err);
	if (!st && n + got < sizeof prefix)
		st = dgi_fail(err, DG_INVALID, "%zu bytes, want a .npy file", n + got);
	if (!st)
		st = dgi_npy_header_bytes(prefix, &total, err);
	if (st)
		return st;
	header = malloc(total);
	if (!header)
		return dgi_fail_memory(err, ".npy header");
	memcpy(header, prefix, sizeof prefix);
	st = dgi_input_read(in, header + sizeof prefix, total - sizeof prefix, &got, err);
	if (!st)
		st = dgi_npy_decode(header, sizeof prefix + got, npy, err);
	free(header);
	return st;
}

static dg_status wrong_length(const struct dgi_npy *npy, uint64_t found, const char *more,
			      dg_error *err)
{
	return dgi_fail(err, DG_INVALID, "%" PRIu64 "%s bytes of data, the header says %zu", found,
			more, npy->data_bytes);
}

dg_status dgi_npy_begin(struct dgi_input *in, const void *first, size_t n, struct dgi_npy *out,
			dg_error *err)
{
	dg_status st = read_header(in, first, n, out, err);

	if (!st && in->plain && in->file_bytes - out->header_bytes != out->data_bytes)
		st = wrong_length(out, in->file_bytes - out->header_bytes, "", err);
	return st;
}

/* The file's length is known and right: one allocation. */
static dg_status read_plain(struct dgi_input *in, const struct dgi_npy *npy, void **data,
			    dg_error *err)
{
	size_t got;
	dg_status st;

	if (npy->data_bytes == 0)
		return DG_OK;
	*data = dgi_aligned_alloc(npy->data_bytes);
	if (!*data)
		return dgi_fail(err, DG_NOMEM, "%zu bytes: out of memory", npy->data_bytes);
	st = dgi_input_read(in, *data, npy->data_bytes, &got, err);
	if (!st && got != npy->data_bytes)
		st = wrong_length(npy, got, "", err);
	return st;
}

/* The header may promise anything: grow as data comes. */
static dg_status read_growing(struct dgi_input *in, const struct dgi_npy *npy, void **data,
			      dg_error *err)
{
	struct dgi_buffer b = dgi_buffer_of(npy->data_bytes);
	uint8_t behind;
	size_t got = 1;
	dg_status st = DG_OK;

	while (!st && b.n < npy->data_bytes && got > 0) {
		size_t left = npy->data_bytes - b.n;
		size_t piece = left < PIECE_BYTES ? left : PIECE_BYTES;

		st = dgi_buffer_reserve(&b, piece, err);
		if (!st)
			st = dgi_input_read(in, b.data + b.n, piece, &got, err);
		if (!st)
			b.n += got;
	}
	if (!st && b.n < npy->data_bytes)
		st = wrong_length(npy, b.n, "", err);
	if (!st)
		st = dgi_input_read(in, &behind, 1, &got, err);
	if (!st && got > 0)
		st = wrong_length(npy, b.n, " and more", err);
	*data = b.data;
	return st;
}

dg_status dgi_npy_read(struct dgi_input *in, const void *first, size_t n, struct dgi_npy *out,
		       void **data, dg_error *err)
{
	void *loaded = NULL;
	struct dgi_npy npy;
	dg_status st = dgi_npy_begin(in, first, n, &npy, err);

	if (!st)
		st = in->plain ? read_plain(in, &npy, &loaded, err)
			       : read_growing(in, &npy, &loaded, err);
	if (st) {
		free(loaded);
		return st;
	}
	*out = npy;
	*data = loaded;
	return DG_OK;
}
