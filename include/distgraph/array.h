/*
 * distgraph/array.h -- NumPy's .npy files (format 1.0 and 2.0), little-endian, C order.
 *
 * Only plain numbers are read: a file that would need unpickling is refused, as is big-endian or
 * Fortran-order data. bfloat16, which NumPy lacks, is written and read as uint16 ("<u2"): its bits. Other
 * unsigned integers wider than a byte are no dtype of ours and are refused when read.
 *
 * Threads: any thread. Ownership: dg_array_load() gives data to be freed by dg_array_clear().
 */
#ifndef DISTGRAPH_ARRAY_H
#define DISTGRAPH_ARRAY_H

#include <distgraph/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dg_array {
	dg_dtype dtype;
	uint32_t rank; /* of the whole array; 1 + a row's for a table of rows */
	int64_t shape[DG_RANK_MAX + 1];
	void *data; /* 64-byte aligned; NULL when it has no elements */
	size_t bytes;
} dg_array;

/*
 * Reads a .npy file, or one packed by gzip. Fails with NOTFOUND, INVALID (names what was found and
 * wanted), UNSUPPORTED (a dtype, byte order, Fortran order, a format version), DENIED, IO, NOMEM.
 */
DG_API dg_status dg_array_load(const char *path, dg_array *out, dg_error *err);
DG_API void dg_array_clear(dg_array *array);

/* A .npy file being read in one pass, row after row. */
typedef struct dg_array_reader dg_array_reader;

/*
 * Begins to read a .npy file; of @array, what dg_array_load() tells but the data. Fails as that
 * does; that a packed file is too short or too long is noticed only at its end.
 */
DG_API dg_status dg_array_reader_open(const char *path, dg_array *array, dg_array_reader **out,
				      dg_error *err);
/* The next @bytes of the data. Fails with INVALID (not as long as the shape says), IO, NOMEM. */
DG_API dg_status dg_array_reader_read(dg_array_reader *reader, void *data, size_t bytes,
				      dg_error *err);
DG_API void dg_array_reader_close(dg_array_reader *reader);

/* A .npy file being written in one pass, row after row. */
typedef struct dg_array_writer dg_array_writer;

/*
 * Begins a file of the given shape in a temporary file beside @path; dg_array_writer_close() with
 * @keep non-zero syncs it and renames it into place, else it is removed. "-" is standard output;
 * a pipe or a device is written to as it comes.
 * Fails with INVALID, NOTFOUND (the directory), DENIED, IO, FULL, NOMEM.
 */
DG_API dg_status dg_array_writer_open(const char *path, dg_dtype dtype, uint32_t rank,
				      const int64_t *shape, dg_array_writer **out, dg_error *err);
DG_API dg_status dg_array_writer_append(dg_array_writer *writer, const void *data, size_t bytes,
					dg_error *err);
/* Frees the writer in any case. Fails with INVALID (fewer bytes than the shape says), IO, FULL. */
DG_API dg_status dg_array_writer_close(dg_array_writer *writer, int keep, dg_error *err);

#ifdef __cplusplus
}
#endif

#endif
