/* stream_spill.c -- records put aside in a file without a name, in many buckets. */
#include "stream_spill.h"

#include "fail.h"
#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BLOCK_BYTES (64 << 10)

struct bucket {
	uint8_t *block; /* being filled; NULL before the first record */
	size_t n;	/* records in it */
	uint32_t *blocks;
	size_t n_blocks, capacity;
};

struct dgi_stream_spill {
	int fd;
	uint32_t n_buckets;
	uint32_t n_blocks; /* in the file */
	size_t record_bytes;
	size_t block_records;
	uint8_t *read; /* the block lent last */
	struct bucket *buckets;
};

dg_status dgi_stream_spill_file(const char *dir, int *fd, dg_error *err)
{
	char path[4096];

	if (snprintf(path, sizeof path, "%s/spill-XXXXXX", dir) >= (int)sizeof path)
		return dgi_fail(err, DG_INVALID, "'%s': the path is too long", dir);
	*fd = mkostemp(path, O_CLOEXEC);
	if (*fd < 0)
		return dgi_fail_errno(err, errno, "temporary file in '%s'", dir);
	(void)unlink(path);
	return DG_OK;
}

dg_status dgi_stream_spill_write_at(int fd, uint64_t at, const void *data, size_t n, dg_error *err)
{
	const uint8_t *from = data;

	while (n > 0) {
		ssize_t done = pwrite(fd, from, n, (off_t)at);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return dgi_fail_errno(err, errno, "temporary file of the cut");
		from += done;
		at += (uint64_t)done;
		n -= (size_t)done;
	}
	return DG_OK;
}

dg_status dgi_stream_spill_open(const char *dir, uint32_t n_buckets, size_t record_bytes,
				struct dgi_stream_spill **out, dg_error *err)
{
	struct dgi_stream_spill *spill = calloc(1, sizeof *spill);
	dg_status st;

	if (!spill)
		return dgi_fail_memory(err, "spilled records");
	spill->fd = -1;
	spill->n_buckets = n_buckets;
	spill->record_bytes = record_bytes;
	spill->block_records = BLOCK_BYTES / record_bytes;
	spill->read = malloc(BLOCK_BYTES);
	spill->buckets = calloc(n_buckets, sizeof *spill->buckets);
	st = spill->read && spill->buckets ? dgi_stream_spill_file(dir, &spill->fd, err)
					   : dgi_fail_memory(err, "spilled records");
	if (st)
		dgi_stream_spill_close(spill);
	else
		*out = spill;
	return st;
}

static dg_status flush(struct dgi_stream_spill *spill, struct bucket *bucket, dg_error *err)
{
	dg_status st;

	if (bucket->n_blocks == bucket->capacity) {
		size_t capacity = bucket->capacity ? 2 * bucket->capacity : 16;
		uint32_t *blocks = realloc(bucket->blocks, capacity * sizeof *blocks);

		if (!blocks)
			return dgi_fail_memory(err, "spilled records");
		bucket->blocks = blocks;
		bucket->capacity = capacity;
	}
	if (spill->n_blocks == UINT32_MAX)
		return dgi_fail(err, DG_UNSUPPORTED, "more than 256 TiB of temporary records");
	st = dgi_stream_spill_write_at(spill->fd, (uint64_t)spill->n_blocks * BLOCK_BYTES,
				       bucket->block, bucket->n * spill->record_bytes, err);
	if (st)
		return st;
	bucket->blocks[bucket->n_blocks++] = spill->n_blocks++;
	bucket->n = 0;
	return DG_OK;
}

dg_status dgi_stream_spill_add(struct dgi_stream_spill *spill, uint32_t number, const void *record,
			       dg_error *err)
{
	struct bucket *bucket = &spill->buckets[number];
	dg_status st;

	if (!bucket->block) {
		bucket->block = malloc(BLOCK_BYTES);
		if (!bucket->block)
			return dgi_fail_memory(err, "spilled records");
	}
	if (bucket->n == spill->block_records) {
		st = flush(spill, bucket, err);
		if (st)
			return st;
	}
	memcpy(bucket->block + bucket->n++ * spill->record_bytes, record, spill->record_bytes);
	return DG_OK;
}

/* Blocks in the file are full; the last records of a bucket never leave memory. */
dg_status dgi_stream_spill_next(struct dgi_stream_spill *spill, uint32_t number, uint64_t *cursor,
				const void **records, size_t *n, dg_error *err)
{
	const struct bucket *bucket = &spill->buckets[number];
	uint64_t at = (*cursor)++;

	*n = 0;
	*records = bucket->block;
	if (at == bucket->n_blocks)
		*n = bucket->n;
	if (at >= bucket->n_blocks)
		return DG_OK;
	*n = spill->block_records;
	*records = spill->read;
	return dgi_read_at(spill->fd, (uint64_t)bucket->blocks[at] * BLOCK_BYTES, spill->read,
			   *n * spill->record_bytes, err);
}

void dgi_stream_spill_close(struct dgi_stream_spill *spill)
{
	if (!spill)
		return;
	if (spill->fd >= 0)
		(void)close(spill->fd);
	for (uint32_t b = 0; spill->buckets && b < spill->n_buckets; b++) {
		free(spill->buckets[b].block);
		free(spill->buckets[b].blocks);
	}
	free(spill->buckets);
	free(spill->read);
	free(spill);
}
