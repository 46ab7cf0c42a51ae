/* npy_file.h -- a .npy file read into memory. */
#ifndef DGI_NPY_FILE_H
#define DGI_NPY_FILE_H

#include "input.h"
#include "npy.h"

/*
 * Reads a file up to its data; the first @n bytes, at most DGI_NPY_PREFIX_BYTES, have been read
 * already. Fails with INVALID (also a file that is not as long as its shape says, where that can be
 * known), UNSUPPORTED, IO, NOMEM; the text does not name the file.
 */
dg_status dgi_npy_begin(struct dgi_input *in, const void *first, size_t n, struct dgi_npy *out,
			dg_error *err);

/*
 * Reads a .npy file of which the first @n bytes, at most DGI_NPY_PREFIX_BYTES, have been read
 * already. Gives its header and in *data what follows: 64-byte aligned, to be freed; NULL when
 * there are no elements.
 *
 * Fails with INVALID (also more or fewer bytes than the shape says), UNSUPPORTED, IO, NOMEM; the
 * text does not name the file.
 */
dg_status dgi_npy_read(struct dgi_input *in, const void *first, size_t n, struct dgi_npy *out,
		       void **data, dg_error *err);

#endif
