/*
 * outside_index.c -- the index of a type's outside ids, sorted in a file by hash.
 *
 * Hashes are counted by buckets, which are ranges of hashes; then entries are written each to its
 * bucket's place in the file; then each bucket is sorted in memory. Buckets cut the partitions'
 * shares evenly, so that a share is a run of whole buckets.
 */
#include "outside_index.h"

#include "fail.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MEMORY_BYTES (UINT64_C(256) << 20)
#define BUCKETS_MAX 65536
#define BUFFER_ENTRIES 64 /* of each bucket, before they are written */
#define BATCH 4096	  /* ids asked for at a time */
#define SEEDS_MAX 16	  /* two equal hashes are rare, so many times in a row impossible */

/* --- The file of ids --- */

void dgi_outside_file_clear(struct dgi_outside_file *file)
{
	if (file->data)
		(void)munmap((void *)(uintptr_t)file->data, file->bytes);
	file->data = NULL;
}

static uint64_t number_at(const struct dgi_outside_file *file, int64_t i)
{
	uint64_t number;

	memcpy(&number, file->data + (size_t)i * sizeof number, sizeof number);
	return number;
}

int64_t dgi_outside_file_integer(const struct dgi_outside_file *file, int64_t i)
{
	return (int64_t)number_at(file, i);
}

const char *dgi_outside_file_string(const struct dgi_outside_file *file, int64_t i, size_t *n)
{
	uint64_t from = number_at(file, i);

	*n = (size_t)(number_at(file, i + 1) - from);
	return (const char *)file->data + ((size_t)file->n + 1) * sizeof(uint64_t) + from;
}

static dg_status check_strings(const struct dgi_outside_file *file, dg_error *err)
{
	uint64_t text = file->bytes - ((size_t)file->n + 1) * sizeof(uint64_t);

	for (int64_t i = 0; i < file->n; i++) {
		uint64_t from = number_at(file, i), to = number_at(file, i + 1);

		if (from > to || to > text)
			return dgi_fail(err, DG_INVALID,
					"'%s': id %" PRId64 " lies from byte %" PRIu64
					" to %" PRIu64 " of %" PRIu64,
					file->path, i, from, to, text);
		if (to - from > DG_OUTSIDE_BYTES_MAX)
			return dgi_fail(err, DG_INVALID,
					"'%s': id %" PRId64 " has %" PRIu64 " bytes, at most %d",
					file->path, i, to - from, DG_OUTSIDE_BYTES_MAX);
	}
	return DG_OK;
}

static dg_status check_size(const struct dgi_outside_file *file, dg_error *err)
{
	bool strings = file->form == DG_OUTSIDE_STRINGS;
	uint64_t wanted = ((uint64_t)file->n + strings) * sizeof(uint64_t);

	if (file->bytes < wanted || (!strings && file->bytes != wanted))
		return dgi_fail(err, DG_INVALID,
				"'%s': %zu bytes, want %" PRIu64 " for %" PRId64 " ids", file->path,
				file->bytes, wanted, file->n);
	return DG_OK;
}

static dg_status map_file(struct dgi_outside_file *file, int fd, dg_error *err)
{
	struct stat info;
	void *data;
	dg_status st;

	if (fstat(fd, &info) != 0)
		return dgi_fail_errno(err, errno, "'%s'", file->path);
	file->bytes = (size_t)info.st_size;
	st = check_size(file, err);
	if (st || file->bytes == 0)
		return st;
	data = mmap(NULL, file->bytes, PROT_READ, MAP_PRIVATE, fd, 0);
	if (data == MAP_FAILED)
		return dgi_fail_errno(err, errno, "map '%s'", file->path);
	file->data = data;
	return file->form == DG_OUTSIDE_STRINGS ? check_strings(file, err) : DG_OK;
}

dg_status dgi_outside_file_open(const struct dgi_outside_type *type, int64_t n,
				struct dgi_outside_file *out, dg_error *err)
{
	int fd;
	dg_status st;

	*out = (struct dgi_outside_file){ .form = type->form, .path = type->path, .n = n };
	if (type->form == DG_OUTSIDE_NUMBERS)
		return DG_OK;
	fd = open(type->path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return dgi_fail_errno(err, errno, "open '%s'", type->path);
	st = map_file(out, fd, err);
	(void)close(fd);
	return st;
}

/* --- Buckets --- */

struct sorting {
	const struct dgi_outside_file *file;
	const struct dgi_outside_input *input;
	uint16_t type;
	struct dgi_outside_index *index;
	uint64_t n_buckets; /* a multiple of the partitions */
	int64_t *places;    /* where the next entry of each bucket goes; at last where it ends */
	struct dgi_outside_entry *buffers; /* BUFFER_ENTRIES for each bucket */
	uint8_t *filled;
	bool same_hash; /* of two ids: another seed is due */
	dg_error *err;
};

static uint64_t hash_of(const struct sorting *s, int64_t i)
{
	const char *text;
	size_t n;

	if (s->file->form == DG_OUTSIDE_INTEGERS)
		return dgi_outside_hash_integer(dgi_outside_file_integer(s->file, i));
	text = dgi_outside_file_string(s->file, i, &n);
	return dgi_outside_hash_string(text, n, s->index->seed);
}

static size_t bucket_of(const struct sorting *s, uint64_t hash)
{
	return (size_t)dgi_outside_cut(hash, s->n_buckets);
}

static uint64_t memory_of(const struct sorting *s)
{
	return s->input->memory_bytes ? s->input->memory_bytes : MEMORY_BYTES;
}

/* A bucket is to take a quarter of the memory, for hashes are even but not quite. */
static uint64_t buckets_for(const struct sorting *s)
{
	uint64_t n_parts = s->index->n_parts;
	uint64_t bytes = (uint64_t)s->file->n * sizeof(struct dgi_outside_entry);
	uint64_t wanted = bytes / (memory_of(s) / 4 + 1) + 1;
	uint64_t a_part = (wanted + n_parts - 1) / n_parts;

	if (a_part * n_parts > BUCKETS_MAX)
		a_part = BUCKETS_MAX / n_parts;
	return (a_part ? a_part : 1) * n_parts;
}

static void count(struct sorting *s)
{
	int64_t at = 0;

	memset(s->places, 0, (s->n_buckets + 1) * sizeof *s->places);
	for (int64_t i = 0; i < s->file->n; i++)
		s->places[bucket_of(s, hash_of(s, i))]++;
	for (uint64_t b = 0; b <= s->n_buckets; b++) {
		int64_t n = s->places[b];

		if (b % (s->n_buckets / s->index->n_parts) == 0)
			s->index->starts[b / (s->n_buckets / s->index->n_parts)] = at;
		s->places[b] = at;
		at += n;
	}
}

static dg_status write_entries(const struct sorting *s, int64_t first, size_t n,
			       const struct dgi_outside_entry *entries)
{
	const char *from = (const char *)entries;
	size_t bytes = n * sizeof *entries;
	off_t at = (off_t)first * (off_t)sizeof *entries;

	while (bytes > 0) {
		ssize_t written = pwrite(s->index->fd, from, bytes, at);

		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return dgi_fail_errno(s->err, errno, "write the index of ids in '%s'",
					      s->input->work);
		from += written;
		bytes -= (size_t)written;
		at += written;
	}
	return DG_OK;
}

static dg_status flush(struct sorting *s, size_t bucket)
{
	dg_status st = write_entries(s, s->places[bucket], s->filled[bucket],
				     s->buffers + bucket * BUFFER_ENTRIES);

	s->places[bucket] += s->filled[bucket];
	s->filled[bucket] = 0;
	return st;
}

static dg_status place(struct sorting *s)
{
	dg_id ids[BATCH];
	dg_status st = DG_OK;

	for (int64_t at = 0; !st && at < s->file->n; at += BATCH) {
		size_t n = s->file->n - at < BATCH ? (size_t)(s->file->n - at) : BATCH;

		st = s->input->internal_of(s->input->context, s->type, at, n, ids, s->err);
		for (size_t i = 0; !st && i < n; i++) {
			uint64_t hash = hash_of(s, at + (int64_t)i);
			size_t bucket = bucket_of(s, hash);

			s->buffers[bucket * BUFFER_ENTRIES + s->filled[bucket]++] =
				(struct dgi_outside_entry){ .hash = hash, .id = ids[i] };
			if (s->filled[bucket] == BUFFER_ENTRIES)
				st = flush(s, bucket);
		}
	}
	for (size_t b = 0; !st && b < s->n_buckets; b++)
		st = flush(s, b);
	return st;
}

/* --- Sorting --- */

static int compare_entries(const void *a, const void *b)
{
	uint64_t x = ((const struct dgi_outside_entry *)a)->hash;
	uint64_t y = ((const struct dgi_outside_entry *)b)->hash;

	return (x > y) - (x < y);
}

/* Two entries of one hash: the same id twice, or an accident. */
static dg_status judge(struct sorting *s, const dg_id pair[2])
{
	const char *text[2];
	dg_id original[2];
	size_t n[2];
	dg_status st = DG_OK;

	for (int i = 0; !st && i < 2; i++)
		st = s->input->original_of(s->input->context, s->type, pair[i], 1, &original[i],
					   s->err);
	if (st)
		return st;
	if (s->file->form == DG_OUTSIDE_INTEGERS)
		return dgi_fail(s->err, DG_INVALID, "'%s': id %" PRId64 " is there twice",
				s->file->path, dgi_outside_file_integer(s->file, original[0]));
	for (int i = 0; i < 2; i++)
		text[i] = dgi_outside_file_string(s->file, original[i], &n[i]);
	if (n[0] == n[1] && memcmp(text[0], text[1], n[0]) == 0)
		return dgi_fail(s->err, DG_INVALID, "'%s': id '%.*s' is there twice", s->file->path,
				(int)(n[0] < 80 ? n[0] : 80), text[0]);
	s->same_hash = true;
	return DG_OK;
}

static dg_status sort_bucket(struct sorting *s, int64_t first, int64_t end)
{
	size_t n = (size_t)(end - first);
	struct dgi_outside_entry *entries = malloc((n + 1) * sizeof *entries);
	dg_status st;

	if (!entries)
		return dgi_fail_memory(s->err, "the index of ids");
	st = dgi_outside_index_read(s->index, first, n, entries, s->err);
	if (!st)
		qsort(entries, n, sizeof *entries, compare_entries);
	for (size_t i = 1; !st && !s->same_hash && i < n; i++)
		if (entries[i].hash == entries[i - 1].hash)
			st = judge(s, (const dg_id[]){ entries[i - 1].id, entries[i].id });
	if (!st)
		st = write_entries(s, first, n, entries);
	free(entries);
	return st;
}

/* After placing, a bucket's place is where it ends. */
static dg_status sort_buckets(struct sorting *s)
{
	int64_t first = 0;
	dg_status st = DG_OK;

	for (size_t b = 0; !st && !s->same_hash && b < s->n_buckets; b++) {
		if (s->places[b] > first)
			st = sort_bucket(s, first, s->places[b]);
		first = s->places[b];
	}
	return st;
}

/* --- The whole --- */

static dg_status make_file(struct dgi_outside_index *index, const char *work, dg_error *err)
{
	char *path;

	if (asprintf(&path, "%s/outside-XXXXXX", work) < 0)
		return dgi_fail_memory(err, work);
	index->fd = mkostemp(path, O_CLOEXEC);
	if (index->fd >= 0)
		(void)unlink(path);
	free(path);
	return index->fd >= 0
		       ? DG_OK
		       : dgi_fail_errno(err, errno, "a file for the index of ids in '%s'", work);
}

static dg_status sort(struct sorting *s)
{
	dg_status st = DG_OK;

	do {
		s->same_hash = false;
		count(s);
		st = place(s);
		if (!st)
			st = sort_buckets(s);
	} while (!st && s->same_hash && ++s->index->seed < SEEDS_MAX);
	if (!st && s->same_hash)
		st = dgi_fail(s->err, DG_INVALID,
			      "'%s': two ids have the same hash by each of %d seeds", s->file->path,
			      SEEDS_MAX);
	return st;
}

dg_status dgi_outside_index_make(const struct dgi_outside_file *file,
				 const struct dgi_outside_input *input, uint16_t type,
				 struct dgi_outside_index *out, dg_error *err)
{
	struct sorting s = { .file = file, .input = input, .type = type, .index = out, .err = err };
	dg_status st;

	*out = (struct dgi_outside_index){ .fd = -1, .n_parts = dg_book_n_parts(input->book) };
	s.n_buckets = buckets_for(&s);
	out->starts = calloc((size_t)out->n_parts + 1, sizeof *out->starts);
	s.places = malloc((s.n_buckets + 1) * sizeof *s.places);
	s.buffers = malloc(s.n_buckets * BUFFER_ENTRIES * sizeof *s.buffers);
	s.filled = calloc(s.n_buckets, 1);
	if (out->starts && s.places && s.buffers && s.filled)
		st = make_file(out, input->work, err);
	else
		st = dgi_fail_memory(err, "the index of ids");
	if (!st)
		st = sort(&s);
	free(s.places);
	free(s.buffers);
	free(s.filled);
	return st;
}

void dgi_outside_index_clear(struct dgi_outside_index *index)
{
	if (index->starts && index->fd >= 0)
		(void)close(index->fd);
	free(index->starts);
	index->starts = NULL;
}

dg_status dgi_outside_index_read(const struct dgi_outside_index *index, int64_t first, size_t n,
				 struct dgi_outside_entry *out, dg_error *err)
{
	char *to = (char *)out;
	size_t bytes = n * sizeof *out;
	off_t at = (off_t)first * (off_t)sizeof *out;

	while (bytes > 0) {
		ssize_t got = pread(index->fd, to, bytes, at);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return dgi_fail_errno(err, got < 0 ? errno : EIO, "read the index of ids");
		to += got;
		bytes -= (size_t)got;
		at += got;
	}
	return DG_OK;
}
