/*
 * id_column.h -- a column of integers, 32 bits wide where its values fit: in memory, or a file mapped.
 *
 * Files hold the elements, little-endian, and nothing else.
 *
 * Threads: one thread at a time; reading any.
 */
#ifndef DGI_ID_COLUMN_H
#define DGI_ID_COLUMN_H

#include <distgraph/types.h>

#include <stdbool.h>
#include <string.h>

/* Zero is an empty one. */
struct dgi_ids {
	void *data;
	int64_t n;
	uint32_t bytes; /* of an element: 4 or 8, signed */
	size_t mapped;	/* bytes of the map; 0: in memory */
};

/* Of columns whose values are at most @largest. */
static inline uint32_t dgi_ids_bytes_for(int64_t largest)
{
	return largest <= INT32_MAX ? 4 : 8;
}

static inline dg_dtype dgi_ids_dtype(const struct dgi_ids *column)
{
	return column->bytes == 4 ? DG_INT32 : DG_INT64;
}

static inline int64_t dgi_ids_get(const struct dgi_ids *column, int64_t i)
{
	return column->bytes == 4 ? ((const int32_t *)column->data)[i]
				  : ((const int64_t *)column->data)[i];
}

static inline void dgi_ids_set(struct dgi_ids *column, int64_t i, int64_t value)
{
	if (column->bytes == 4)
		((int32_t *)column->data)[i] = (int32_t)value;
	else
		((int64_t *)column->data)[i] = value;
}

/* @n elements of @bytes each, not initialised. Fails with NOMEM. */
dg_status dgi_ids_new(int64_t n, uint32_t bytes, struct dgi_ids *out, dg_error *err);
/* Accepts a zero column. */
void dgi_ids_clear(struct dgi_ids *column);

/* out[i] is element at[i]. */
void dgi_ids_gather(const struct dgi_ids *column, const dg_id *at, size_t n, int64_t *out);

/* A read-only map of a file of exactly @n elements. Fails with NOTFOUND, INVALID (its size), IO, NOMEM. */
dg_status dgi_ids_map(const char *path, int64_t n, uint32_t bytes, struct dgi_ids *out,
		      dg_error *err);
/* Writes all elements to a new file, not yet durable. Fails with IO, FULL. */
dg_status dgi_ids_save(const struct dgi_ids *column, const char *path, dg_error *err);

/* --- A file written from front to end --- */

struct dgi_ids_writer {
	char *path; /* for messages */
	int fd;
	uint32_t bytes;
	size_t n; /* elements in the buffer */
	struct dgi_ids buffer;
};

dg_status dgi_ids_writer_open(const char *path, uint32_t bytes, struct dgi_ids_writer *out,
			      dg_error *err);
dg_status dgi_ids_write(struct dgi_ids_writer *writer, int64_t value, dg_error *err);
/* The elements of a column, which is of the same width. */
dg_status dgi_ids_write_all(struct dgi_ids_writer *writer, const struct dgi_ids *from,
			    dg_error *err);
/* Flushes where @status so far is OK, and returns it or what failed. Accepts a zero writer. */
dg_status dgi_ids_writer_close(struct dgi_ids_writer *writer, dg_status status, dg_error *err);

#endif
