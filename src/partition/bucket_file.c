/* bucket_file.c -- records sorted into buckets on disk. */
#include "bucket_file.h"

#include "check.h"
#include "fail.h"
#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Above this a larger buffer gains nothing. */
#define BUFFER_BYTES_MAX ((uint64_t)1 << 20)

static size_t buffer_records(uint32_t n_buckets, size_t record_bytes, uint64_t memory)
{
	uint64_t each = memory / n_buckets;

	if (each > BUFFER_BYTES_MAX)
		each = BUFFER_BYTES_MAX;
	return each / record_bytes > 0 ? (size_t)(each / record_bytes) : 1;
}

static dg_status allocate(struct dgi_bucket_file *s, const uint64_t *counts, dg_error *err)
{
	s->start = calloc((size_t)s->n_buckets + 1, sizeof *s->start);
	s->at = calloc(s->n_buckets, sizeof *s->at);
	s->n = calloc(s->n_buckets, sizeof *s->n);
	s->buffers = calloc((size_t)s->n_buckets * s->buffer_records, s->record_bytes);
	if (!s->start || !s->at || !s->n || !s->buffers)
		return dgi_fail_memory(err, s->path);
	for (uint32_t b = 0; b < s->n_buckets; b++)
		s->start[b + 1] = s->start[b] + counts[b];
	return DG_OK;
}

dg_status dgi_bucket_file_open(const char *path, const uint64_t *counts, uint32_t n_buckets,
			       size_t record_bytes, uint64_t memory, struct dgi_bucket_file *out,
			       dg_error *err)
{
	struct dgi_bucket_file s = { .fd = -1,
				     .n_buckets = n_buckets,
				     .record_bytes = record_bytes };
	dg_status st;

	DGI_ASSERT(n_buckets > 0 && record_bytes > 0);
	s.buffer_records = buffer_records(n_buckets, record_bytes, memory);
	s.path = strdup(path);
	st = s.path ? allocate(&s, counts, err) : dgi_fail_memory(err, path);
	if (!st) {
		s.fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
		if (s.fd < 0)
			st = dgi_fail_errno(err, errno, "create '%s'", path);
	}
	if (st) {
		dgi_bucket_file_close(&s);
		*out = (struct dgi_bucket_file){ 0 };
		return st;
	}
	*out = s;
	return DG_OK;
}

static uint8_t *buffer_of(const struct dgi_bucket_file *s, uint32_t bucket)
{
	return s->buffers + (size_t)bucket * s->buffer_records * s->record_bytes;
}

static dg_status flush(struct dgi_bucket_file *s, uint32_t bucket, dg_error *err)
{
	uint64_t at = (s->start[bucket] + s->at[bucket]) * s->record_bytes;
	size_t left = s->n[bucket] * s->record_bytes;
	const uint8_t *from = buffer_of(s, bucket);

	s->at[bucket] += s->n[bucket];
	s->n[bucket] = 0;
	DGI_ASSERT(s->start[bucket] + s->at[bucket] <= s->start[bucket + 1]);
	while (left > 0) {
		ssize_t done = pwrite(s->fd, from, left, (off_t)at);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return dgi_fail_errno(err, errno, "write '%s'", s->path);
		from += done;
		at += (uint64_t)done;
		left -= (size_t)done;
	}
	return DG_OK;
}

dg_status dgi_bucket_file_next(struct dgi_bucket_file *spill, uint32_t bucket, void **record,
			       dg_error *err)
{
	dg_status st = DG_OK;

	if (spill->n[bucket] == spill->buffer_records)
		st = flush(spill, bucket, err);
	*record = buffer_of(spill, bucket) + spill->n[bucket]++ * spill->record_bytes;
	return st;
}

dg_status dgi_bucket_file_finish(struct dgi_bucket_file *spill, dg_error *err)
{
	dg_status st = DG_OK;

	for (uint32_t b = 0; !st && b < spill->n_buckets; b++) {
		st = flush(spill, b, err);
		DGI_ASSERT(st || spill->at[b] == spill->start[b + 1] - spill->start[b]);
	}
	free(spill->buffers);
	spill->buffers = NULL;
	return st;
}

dg_status dgi_bucket_file_read(const struct dgi_bucket_file *spill, uint64_t first, size_t n,
			       void *out, dg_error *err)
{
	dg_status st = dgi_read_at(spill->fd, first * spill->record_bytes, out,
				   n * spill->record_bytes, err);

	return st ? dgi_context(err, st, "'%s'", spill->path) : DG_OK;
}

void dgi_bucket_file_close(struct dgi_bucket_file *spill)
{
	if (spill->path && spill->fd >= 0)
		(void)close(spill->fd);
	free(spill->path);
	free(spill->start);
	free(spill->at);
	free(spill->n);
	free(spill->buffers);
	*spill = (struct dgi_bucket_file){ 0 };
}
