/*
 * npy.h -- the header of a .npy file: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
 *
 * A pure codec. The header is a Python dictionary; a strict parser reads the one form NumPy
 * writes and evaluates nothing.
 */
#ifndef DGI_NPY_H
#define DGI_NPY_H

#include <distgraph/array.h>

#include <stdbool.h>

#define DGI_NPY_PREFIX_BYTES 12	       /* magic, version, and a header length of 2 or 4 bytes */
#define DGI_NPY_HEADER_BYTES_MAX 65536 /* prefix and dictionary */
#define DGI_NPY_ENCODED_BYTES_MAX 512

struct dgi_npy {
	char kind;	    /* 'b' bool, 'i' signed, 'u' unsigned, 'f' float */
	uint8_t item_bytes; /* 1, 2, 4 or 8 */
	bool fortran_order; /* the first axis varies fastest */
	uint32_t rank;	    /* 0: a single number */
	int64_t shape[DG_RANK_MAX + 1];
	size_t header_bytes; /* offset of the data */
	size_t data_bytes;   /* never overflows size_t */
};

/* Do @n bytes begin as a .npy file does? */
bool dgi_npy_magic(const void *data, size_t n);

/*
 * From the first DGI_NPY_PREFIX_BYTES of a file, the bytes up to its data. Fails with INVALID (no
 * .npy file, too long a header), UNSUPPORTED (a format version).
 */
dg_status dgi_npy_header_bytes(const uint8_t prefix[DGI_NPY_PREFIX_BYTES], size_t *n,
			       dg_error *err);

/*
 * Reads the @n bytes of a header. Fails with INVALID (says what was found and wanted), UNSUPPORTED
 * (a dtype that is no plain little-endian number, a format version).
 */
dg_status dgi_npy_decode(const uint8_t *data, size_t n, struct dgi_npy *out, dg_error *err);

/* Writes a header as NumPy would, a multiple of 64 bytes; returns its length. */
size_t dgi_npy_encode(const struct dgi_npy *npy, uint8_t out[DGI_NPY_ENCODED_BYTES_MAX]);

/* The dtype of the elements; "<u2" is bfloat16. Fails with UNSUPPORTED: there are no wide unsigned
 * integers. */
dg_status dgi_npy_dtype(const struct dgi_npy *npy, dg_dtype *out, dg_error *err);

#endif
