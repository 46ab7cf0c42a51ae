/* torn_rows.c -- readers against a writer that rewrites whole rows. */
#include "test.h"

#include "torn_rows.h"

#include "deadline.h"
#include "tmpdir.h"
#include "uuid.h"
#include "volume.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define N_ROWS 4
#define N_READERS 3
#define TENSOR 1
/* Long rows in long batches, so that a reader is often overtaken by the pages' next use. */
#define ROW_WORDS 60000
#define ROW_BYTES (ROW_WORDS * 8)
#define BATCH_ROWS 32

struct arena {
	struct dgi_volume *volume;
	_Atomic(int64_t) deadline_ms;
	int stop_at_wrong;
	_Atomic uint64_t read;
	_Atomic uint64_t wrong;
	_Atomic uint64_t commits;
};

/* Every word of a row says which row and which version it is. */
static uint64_t word_of(int64_t row, uint64_t version)
{
	return version << 8 | (uint64_t)row;
}

static void fill_row(int64_t row, uint64_t version, uint64_t *out)
{
	for (size_t i = 0; i < ROW_WORDS; i++)
		out[i] = word_of(row, version);
}

static dg_status fill(void *context, int64_t first, int64_t n, void *out, dg_error *err)
{
	(void)context;
	(void)err;
	for (int64_t i = 0; i < n; i++)
		fill_row(first + i, 0, (uint64_t *)out + (size_t)i * ROW_WORDS);
	return DG_OK;
}

static void make_store(const char *path)
{
	struct dgi_superblock s = { .n_parts = 1 };
	dg_tensor_info info = { .id = TENSOR,
				.name = "t",
				.dtype = DG_INT64,
				.rank = 1,
				.shape = { ROW_WORDS },
				.n_rows = N_ROWS };
	struct dgi_volume_maker *maker;
	dg_error err = { 0 };

	assert_ok(dgi_uuid_new(&s.store_uuid, &err), &err);
	s.cluster_uuid = s.store_uuid;
	assert_int_equal(mkdir(path, 0700), 0);
	assert_ok(dgi_volume_make(path, &s, "", 0, &maker, &err), &err);
	assert_ok(dgi_volume_maker_tensor(maker, &info, fill, NULL, &err), &err);
	assert_ok(dgi_volume_maker_close(maker, true, &err), &err);
}

static int done(struct arena *a)
{
	return dgi_now_ms() >= atomic_load(&a->deadline_ms) ||
	       (a->stop_at_wrong && atomic_load(&a->wrong));
}

/* The version of a whole row; UINT64_MAX for one that is not. */
static uint64_t version_of(const uint64_t *words, int64_t row)
{
	if ((words[0] & 255) != (uint64_t)row)
		return UINT64_MAX;
	for (size_t i = 1; i < ROW_WORDS; i++)
		if (words[i] != words[0])
			return UINT64_MAX;
	return words[0] >> 8;
}

static void *read_rows(void *context)
{
	struct arena *a = context;
	uint64_t *out = malloc((size_t)BATCH_ROWS * ROW_BYTES);
	uint64_t seen[N_ROWS] = { 0 };
	dg_id rows[BATCH_ROWS];
	dg_error err = { 0 };

	for (int i = 0; i < BATCH_ROWS; i++)
		rows[i] = i % N_ROWS;
	while (!done(a)) {
		uint64_t newest[N_ROWS] = { 0 };

		if (dgi_volume_gather(a->volume, TENSOR, rows, BATCH_ROWS, out, &err) != DG_OK) {
			atomic_fetch_add(&a->wrong, 1);
			continue;
		}
		for (int i = 0; i < BATCH_ROWS; i++) {
			uint64_t version = version_of(out + (size_t)i * ROW_WORDS, rows[i]);

			if (version == UINT64_MAX || version < seen[rows[i]])
				atomic_fetch_add(&a->wrong, 1);
			else if (version > newest[rows[i]])
				newest[rows[i]] = version;
		}
		for (int i = 0; i < N_ROWS; i++)
			if (newest[i] > seen[i])
				seen[i] = newest[i];
		atomic_fetch_add(&a->read, BATCH_ROWS);
	}
	free(out);
	return NULL;
}

static void write_rows(struct arena *a)
{
	uint64_t *data = malloc(ROW_BYTES);
	dg_error err = { 0 };

	for (uint64_t version = 1; !done(a); version++) {
		dg_id row = (dg_id)(version % N_ROWS);
		struct dgi_write write = { .tensor = TENSOR, .rows = &row, .n = 1, .data = data };

		fill_row(row, version, data);
		if (dgi_volume_write(a->volume, &write, 1, &err) != DG_OK ||
		    write.status != DG_OK) {
			atomic_fetch_add(&a->wrong, 1); /* a broken rule may break the store too */
			atomic_store(&a->deadline_ms, 0);
			break;
		}
		atomic_fetch_add(&a->commits, 1);
	}
	free(data);
}

struct torn_rows torn_rows_run(int64_t run_ms, int stop_at_wrong)
{
	/* Checkpoints all the time, so that chunks go from hot to clean and back. */
	const struct dgi_volume_options options = { .writable = true, .checkpoint_bytes = 1 };
	struct arena a = { .stop_at_wrong = stop_at_wrong };
	char *dir = tmpdir_new();
	char *path = tmpdir_path(dir, "part0");
	pthread_t readers[N_READERS];
	dg_error err = { 0 };

	make_store(path);
	assert_ok(dgi_volume_open(path, &options, &a.volume, &err), &err);
	a.deadline_ms = dgi_now_ms() + run_ms;
	for (int i = 0; i < N_READERS; i++)
		assert_int_equal(pthread_create(&readers[i], NULL, read_rows, &a), 0);
	write_rows(&a);
	for (int i = 0; i < N_READERS; i++)
		assert_int_equal(pthread_join(readers[i], NULL), 0);
	dgi_volume_close(a.volume);
	free(path);
	tmpdir_remove(dir);
	return (struct torn_rows){ .read = a.read, .wrong = a.wrong, .commits = a.commits };
}
