/*
 * rows.h -- the rows of a caller's tensor, read from its .npy files and put into internal order.
 *
 * Rows that fit the memory given are gathered from the mapped files as they are wanted, for the
 * system keeps them. More of them go once, in the order they lie in, into buckets on disk, each a
 * range of internal ids that fits, so that no file is read at random.
 *
 * Threads: one thread at a time.
 */
#ifndef DGI_ROWS_H
#define DGI_ROWS_H

#include "id_column.h"
#include "progress.h"
#include "source.h"
#include "work.h"

struct dgi_rows;

/*
 * Opens the files of tensor @number of the source and puts the rows into buckets if need be.
 * @internal and @original are of its nodes or edges; both must outlive the rows. Fails with
 * NOTFOUND, INVALID, MISMATCH (a file that is not what the source says), IO, FULL, NOMEM, CANCELLED.
 */
dg_status dgi_rows_open(const struct dgi_source *source, size_t number,
			const struct dgi_ids *internal, const struct dgi_ids *original,
			uint64_t memory, struct dgi_work *work, struct dgi_progress *progress,
			struct dgi_rows **out, dg_error *err);
/* Rows [first, first + n) by internal id. In ascending order each bucket is read once. */
dg_status dgi_rows_fill(struct dgi_rows *rows, int64_t first, int64_t n, void *out, dg_error *err);
/* NULL is fine. */
void dgi_rows_close(struct dgi_rows *rows);

#endif
