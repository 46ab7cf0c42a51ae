/* rows.c -- the rows of a caller's tensor in internal order. */
#include "rows.h"

#include "fail.h"
#include "files.h"
#include "npy.h"
#include "bucket_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define ID_BYTES sizeof(int64_t) /* in front of a row in a bucket */
#define BLOCK_BYTES ((size_t)1 << 20)
#define BUCKETS_MAX 65536

/* A mapped file, and which rows of the tensor are in it. */
struct file {
	int64_t first, n;
	void *map;
	size_t map_bytes;
	const uint8_t *data;
};

struct dgi_rows {
	const struct dgi_source_data *data;
	const struct dgi_ids *internal;
	const struct dgi_ids *original;
	size_t row_bytes;
	int64_t n;
	struct file *files;
	size_t n_files; /* mapped */
	/* Rows in buckets only: */
	int bucket_fd; /* -1: none */
	char *bucket_path;
	int64_t bucket_rows;
	int64_t loaded; /* bucket in memory; -1: none */
	uint8_t *bucket;
	uint8_t *block;
};

/* --- Files --- */

static dg_status check_header(const struct dgi_rows *rows, const struct dgi_npy *npy,
			      uint64_t file_bytes, dg_error *err)
{
	const dg_tensor_info *info = &rows->data->info;
	dg_dtype dtype;
	dg_status st = dgi_npy_dtype(npy, &dtype, err);

	if (st)
		return st;
	if (dtype != info->dtype || npy->rank != info->rank + 1 ||
	    memcmp(npy->shape + 1, info->shape, info->rank * sizeof info->shape[0]) != 0)
		return dgi_fail(err, DG_MISMATCH, "not rows of the shape and dtype they had");
	if (npy->fortran_order && npy->rank > 1)
		return dgi_fail(err, DG_INVALID, "rows in Fortran order, want C order");
	if (file_bytes < npy->header_bytes || file_bytes - npy->header_bytes < npy->data_bytes)
		return dgi_fail(err, DG_INVALID, "%" PRIu64 " bytes, want %zu and %zu of header",
				file_bytes, npy->data_bytes, npy->header_bytes);
	return DG_OK;
}

static dg_status read_header(const struct dgi_rows *rows, int fd, uint64_t file_bytes,
			     struct dgi_npy *npy, dg_error *err)
{
	uint8_t *head;
	size_t n = 0;
	dg_status st;

	if (file_bytes < DGI_NPY_PREFIX_BYTES)
		return dgi_fail(err, DG_INVALID, "%" PRIu64 " bytes are no .npy file", file_bytes);
	head = malloc(DGI_NPY_HEADER_BYTES_MAX);
	if (!head)
		return dgi_fail_memory(err, "header");
	st = dgi_read_at(fd, 0, head, DGI_NPY_PREFIX_BYTES, err);
	if (!st)
		st = dgi_npy_header_bytes(head, &n, err);
	if (!st)
		st = dgi_read_at(fd, 0, head, n, err);
	if (!st)
		st = dgi_npy_decode(head, n, npy, err);
	if (!st)
		st = check_header(rows, npy, file_bytes, err);
	free(head);
	return st;
}

static dg_status map_file(const struct dgi_rows *rows, int fd, struct file *file, dg_error *err)
{
	struct dgi_npy npy;
	struct stat info;
	dg_status st;

	if (fstat(fd, &info) != 0)
		return dgi_fail_errno(err, errno, "stat");
	st = read_header(rows, fd, (uint64_t)info.st_size, &npy, err);
	if (st)
		return st;
	file->n = npy.shape[0];
	file->map_bytes = (size_t)info.st_size;
	file->map = mmap(NULL, file->map_bytes, PROT_READ, MAP_PRIVATE, fd, 0);
	if (file->map == MAP_FAILED) {
		file->map = NULL;
		return dgi_fail_errno(err, errno, "map");
	}
	file->data = (const uint8_t *)file->map + npy.header_bytes;
	return DG_OK;
}

static dg_status open_file(struct dgi_rows *rows, const char *path, dg_error *err)
{
	struct file *file = &rows->files[rows->n_files];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	dg_status st = fd < 0 ? dgi_fail_errno(err, errno, "open") : DG_OK;

	file->first = rows->n;
	if (!st)
		st = map_file(rows, fd, file, err);
	if (fd >= 0)
		(void)close(fd);
	if (st)
		return dgi_context(err, st, "'%s'", path);
	rows->n_files++;
	rows->n += file->n;
	return DG_OK;
}

static dg_status open_files(struct dgi_rows *rows, int64_t wanted, dg_error *err)
{
	dg_status st = DG_OK;

	for (size_t i = 0; !st && i < rows->data->n_paths; i++)
		st = open_file(rows, rows->data->paths[i], err);
	if (!st && rows->n != wanted)
		st = dgi_fail(err, DG_MISMATCH, "%" PRId64 " rows in its files, want %" PRId64,
			      rows->n, wanted);
	return st;
}

/* --- Buckets --- */

static size_t record_bytes(const struct dgi_rows *rows)
{
	return ID_BYTES + rows->row_bytes;
}

static dg_status spill_rows(const struct dgi_rows *rows, struct dgi_bucket_file *spill,
			    struct dgi_progress *progress, dg_error *err)
{
	dg_status st = DG_OK;

	for (size_t f = 0; !st && f < rows->n_files; f++) {
		const struct file *file = &rows->files[f];

		if (file->map)
			(void)madvise(file->map, file->map_bytes, MADV_SEQUENTIAL);
		for (int64_t i = 0; !st && i < file->n; i++) {
			int64_t id = dgi_ids_get(rows->internal, file->first + i);
			uint8_t *record;
			void *room;

			st = dgi_bucket_file_next(spill, (uint32_t)(id / rows->bucket_rows), &room,
						  err);
			record = room;
			memcpy(record, &id, ID_BYTES);
			memcpy(record + ID_BYTES, file->data + (size_t)i * rows->row_bytes,
			       rows->row_bytes);
			if (!st && i % 4096 == 4095)
				st = dgi_progress_add(progress, 0, err);
		}
	}
	return st;
}

static dg_status make_buckets(struct dgi_rows *rows, uint64_t memory, struct dgi_progress *progress,
			      dg_error *err)
{
	const uint32_t n = (uint32_t)((rows->n - 1) / rows->bucket_rows) + 1;
	uint64_t *counts = calloc(n, sizeof *counts);
	struct dgi_bucket_file spill = { 0 };
	dg_status st = counts ? DG_OK : dgi_fail_memory(err, "rows");

	for (uint32_t b = 0; counts && b < n; b++) {
		int64_t left = rows->n - (int64_t)b * rows->bucket_rows;

		counts[b] = (uint64_t)(left < rows->bucket_rows ? left : rows->bucket_rows);
	}
	if (!st)
		st = dgi_bucket_file_open(rows->bucket_path, counts, n, record_bytes(rows), memory,
					  &spill, err);
	if (!st)
		st = spill_rows(rows, &spill, progress, err);
	if (!st)
		st = dgi_bucket_file_finish(&spill, err);
	dgi_bucket_file_close(&spill);
	free(counts);
	return st;
}

static dg_status open_buckets(struct dgi_rows *rows, size_t number, uint64_t memory,
			      struct dgi_work *work, struct dgi_progress *progress, dg_error *err)
{
	char stage[32], text[DGI_WORK_TEXT_BYTES], wanted[DGI_WORK_TEXT_BYTES];
	dg_status st = dgi_work_path(work, &rows->bucket_path, err, "rows%zu", number);

	rows->bucket_rows = (int64_t)(memory / rows->row_bytes) + 1;
	if (rows->n / rows->bucket_rows >= BUCKETS_MAX)
		rows->bucket_rows = rows->n / BUCKETS_MAX + 1;
	(void)snprintf(stage, sizeof stage, "rows%zu", number);
	(void)snprintf(wanted, sizeof wanted, "%" PRId64, rows->bucket_rows);
	if (!st && (!dgi_work_finished(work, stage, text) || strcmp(text, wanted) != 0)) {
		st = make_buckets(rows, memory, progress, err);
		if (!st)
			st = dgi_work_finish(work, stage, wanted, false, err);
	}
	if (st)
		return st;
	rows->bucket = malloc((size_t)rows->bucket_rows * rows->row_bytes);
	rows->block = malloc(BLOCK_BYTES + record_bytes(rows));
	if (!rows->bucket || !rows->block)
		return dgi_fail_memory(err, "rows");
	rows->bucket_fd = open(rows->bucket_path, O_RDONLY | O_CLOEXEC);
	if (rows->bucket_fd < 0)
		return dgi_fail_errno(err, errno, "open '%s'", rows->bucket_path);
	return DG_OK;
}

static dg_status place(struct dgi_rows *rows, const uint8_t *record, dg_error *err)
{
	int64_t id;

	memcpy(&id, record, ID_BYTES);
	id -= rows->loaded * rows->bucket_rows;
	if (id < 0 || id >= rows->bucket_rows)
		return dgi_fail(err, DG_CORRUPT, "'%s': a row in the wrong place",
				rows->bucket_path);
	memcpy(rows->bucket + (size_t)id * rows->row_bytes, record + ID_BYTES, rows->row_bytes);
	return DG_OK;
}

static dg_status load_bucket(struct dgi_rows *rows, int64_t bucket, dg_error *err)
{
	const int64_t first = bucket * rows->bucket_rows;
	const int64_t last =
		rows->n - first < rows->bucket_rows ? rows->n : first + rows->bucket_rows;
	const int64_t most = (int64_t)(BLOCK_BYTES / record_bytes(rows)) + 1;
	dg_status st = DG_OK;

	rows->loaded = bucket;
	for (int64_t at = first; !st && at < last;) {
		int64_t n = last - at < most ? last - at : most;

		st = dgi_read_at(rows->bucket_fd, (uint64_t)at * record_bytes(rows), rows->block,
				 (size_t)n * record_bytes(rows), err);
		for (int64_t i = 0; !st && i < n; i++)
			st = place(rows, rows->block + (size_t)i * record_bytes(rows), err);
		at += n;
	}
	if (st)
		rows->loaded = -1;
	return st;
}

/* --- Outside --- */

dg_status dgi_rows_open(const struct dgi_source *source, size_t number,
			const struct dgi_ids *internal, const struct dgi_ids *original,
			uint64_t memory, struct dgi_work *work, struct dgi_progress *progress,
			struct dgi_rows **out, dg_error *err)
{
	const struct dgi_source_data *data = &source->data[number];
	struct dgi_rows *rows = calloc(1, sizeof *rows);
	dg_status st = DG_OK;

	if (!rows)
		return dgi_fail_memory(err, data->info.name);
	*rows = (struct dgi_rows){ .data = data,
				   .internal = internal,
				   .original = original,
				   .row_bytes = data->info.row_bytes,
				   .bucket_fd = -1,
				   .loaded = -1 };
	rows->files = calloc(data->n_paths + 1, sizeof *rows->files);
	if (!rows->files)
		st = dgi_fail_memory(err, data->info.name);
	if (!st)
		st = open_files(rows, dgi_source_count(source, data->info.side, data->info.type),
				err);
	if (!st && rows->n > 0 && (uint64_t)rows->n > memory / rows->row_bytes)
		st = open_buckets(rows, number, memory, work, progress, err);
	if (st) {
		dgi_rows_close(rows);
		return dgi_context(err, st, "%s data '%s'",
				   data->info.side == DG_NODE ? "node" : "edge", data->info.name);
	}
	*out = rows;
	return DG_OK;
}

static dg_status fill_from_buckets(struct dgi_rows *rows, int64_t first, int64_t n, uint8_t *to,
				   dg_error *err)
{
	while (n > 0) {
		const int64_t bucket = first / rows->bucket_rows;
		const int64_t at = first % rows->bucket_rows;
		int64_t here = rows->bucket_rows - at < n ? rows->bucket_rows - at : n;
		dg_status st = bucket == rows->loaded ? DG_OK : load_bucket(rows, bucket, err);

		if (st)
			return st;
		memcpy(to, rows->bucket + (size_t)at * rows->row_bytes,
		       (size_t)here * rows->row_bytes);
		to += (size_t)here * rows->row_bytes;
		first += here;
		n -= here;
	}
	return DG_OK;
}

static const uint8_t *row_at(const struct dgi_rows *rows, int64_t row)
{
	size_t low = 0, high = rows->n_files;

	/* The last file that does not begin behind the row; empty ones begin where the next does. */
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (rows->files[middle].first <= row)
			low = middle;
		else
			high = middle;
	}
	return rows->files[low].data + (size_t)(row - rows->files[low].first) * rows->row_bytes;
}

dg_status dgi_rows_fill(struct dgi_rows *rows, int64_t first, int64_t n, void *out, dg_error *err)
{
	uint8_t *to = out;

	if (rows->bucket_fd >= 0)
		return fill_from_buckets(rows, first, n, to, err);
	for (int64_t i = 0; i < n; i++)
		memcpy(to + (size_t)i * rows->row_bytes,
		       row_at(rows, dgi_ids_get(rows->original, first + i)), rows->row_bytes);
	return DG_OK;
}

void dgi_rows_close(struct dgi_rows *rows)
{
	if (!rows)
		return;
	for (size_t i = 0; rows->files && i < rows->n_files; i++)
		(void)munmap(rows->files[i].map, rows->files[i].map_bytes);
	if (rows->bucket_fd >= 0)
		(void)close(rows->bucket_fd);
	free(rows->files);
	free(rows->bucket_path);
	free(rows->bucket);
	free(rows->block);
	free(rows);
}
