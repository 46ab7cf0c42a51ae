/*
 * bucket_file.h -- records of equal size sorted into buckets on disk, in bounded memory.
 *
 * How many records each bucket gets is known before: the buckets lie one behind the other in one
 * file, and each has a buffer that is written to its place when it is full. Within a bucket records
 * keep the order they came in, so this is a stable distribution sort.
 *
 * Threads: one thread at a time.
 */
#ifndef DGI_BUCKET_FILE_H
#define DGI_BUCKET_FILE_H

#include <distgraph/error.h>

#include <stddef.h>
#include <stdint.h>

struct dgi_bucket_file {
	int fd;
	char *path; /* for messages */
	uint32_t n_buckets;
	size_t record_bytes;
	size_t buffer_records; /* of each bucket */
	uint64_t *start;       /* n_buckets + 1: where each bucket begins, in records */
	uint64_t *at;	       /* records of it that are in the file */
	size_t *n;	       /* records of it that are in its buffer */
	uint8_t *buffers;
};

/*
 * @counts are the records of each bucket. Its buffers take about @memory bytes, but at least a
 * record each. Makes or overwrites @path. Fails with IO, FULL, NOMEM.
 */
dg_status dgi_bucket_file_open(const char *path, const uint64_t *counts, uint32_t n_buckets,
			       size_t record_bytes, uint64_t memory, struct dgi_bucket_file *out,
			       dg_error *err);
/* Room for the next record of a bucket, to be filled before the next call. Fails with IO, FULL. */
dg_status dgi_bucket_file_next(struct dgi_bucket_file *spill, uint32_t bucket, void **record,
			       dg_error *err);
/* Writes what is in the buffers, and frees them. Every bucket has got its records. */
dg_status dgi_bucket_file_finish(struct dgi_bucket_file *spill, dg_error *err);
/* After that: records [first, first + n) of the file. Fails with IO. */
dg_status dgi_bucket_file_read(const struct dgi_bucket_file *spill, uint64_t first, size_t n,
			       void *out, dg_error *err);
/* The file stays. Accepts a zero spill. */
void dgi_bucket_file_close(struct dgi_bucket_file *spill);

#endif
