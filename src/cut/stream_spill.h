/*
 * stream_spill.h -- records put aside in a file without a name, in many buckets, and read back bucket by
 * bucket.
 *
 * One file serves all buckets, however many: each owns a chain of its blocks. In memory stay one
 * block a bucket and 4 bytes a block on disk.
 *
 * Threads: one thread at a time.
 */
#ifndef DGI_STREAM_SPILL_H
#define DGI_STREAM_SPILL_H

#include <distgraph/error.h>

#include <stddef.h>
#include <stdint.h>

/* An unlinked file in the directory @dir: it goes with the last descriptor, killed or not. */
dg_status dgi_stream_spill_file(const char *dir, int *fd, dg_error *err);
/* Writes all @n bytes at @at. Fails with FULL, IO. */
dg_status dgi_stream_spill_write_at(int fd, uint64_t at, const void *data, size_t n, dg_error *err);

struct dgi_stream_spill;

/* Records of @record_bytes. Fails with NOMEM, IO, DENIED. */
dg_status dgi_stream_spill_open(const char *dir, uint32_t n_buckets, size_t record_bytes,
				struct dgi_stream_spill **out, dg_error *err);
/* Fails with FULL, IO, NOMEM. */
dg_status dgi_stream_spill_add(struct dgi_stream_spill *spill, uint32_t bucket, const void *record,
			       dg_error *err);

/*
 * Reads a bucket back, block by block, in the order of adding; begin with *cursor = 0. *n is the
 * number of records lent in *records until the next call, 0 at the end. Fails with IO.
 */
dg_status dgi_stream_spill_next(struct dgi_stream_spill *spill, uint32_t bucket, uint64_t *cursor,
				const void **records, size_t *n, dg_error *err);
/* NULL is fine. */
void dgi_stream_spill_close(struct dgi_stream_spill *spill);

#endif
