/*
 * gather.c -- how fast are random rows read, against a flat array in the same kind of memory, and
 * against the engine without its check?
 *
 *   gather [MIB]     size of each table, 256 by default
 */
#include "harness.h"
#include "store.h"

#include "baseline/flat.h"
#include "baseline/unchecked.h"

#include "inside.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PAIRS 31
#define ROWS_MIN 262144 /* of one measurement, in several batches if need be */
#define BATCH_MAX 131072
#define PUSH_ROWS 1024

struct bench {
	char *path;
	size_t row_bytes;
	int64_t n_rows;
	int64_t step; /* 2 where a writer pushes to the odd rows */
	size_t batch;
	struct dgi_volume *volume;
	const uint8_t *flat;
	dg_id *ids;
	uint8_t *out;
	_Atomic bool stop; /* for the writer */
	_Atomic uint64_t pushes;
};

static size_t batches_of(const struct bench *b)
{
	return b->batch < ROWS_MIN ? ROWS_MIN / b->batch : 1;
}

/* Other rows for each side, so that none finds in the cache what the other brought there. */
static void draw(struct bench *b, uint64_t round, uint64_t side)
{
	bench_draw(round * 2 + side, b->n_rows, b->step, 0, b->ids, b->batch * batches_of(b));
}

static double gather_engine(void *context, uint64_t round)
{
	struct bench *b = context;
	dg_error err = { 0 };
	double begun;

	draw(b, round, 0);
	begun = bench_thread_seconds();
	for (size_t i = 0; i < batches_of(b); i++)
		if (dgi_volume_gather(b->volume, BENCH_TENSOR, b->ids + i * b->batch, b->batch,
				      b->out, &err))
			bench_fail("%s", err.text);
	return bench_thread_seconds() - begun;
}

static double gather_flat(void *context, uint64_t round)
{
	struct bench *b = context;
	double begun;

	draw(b, round, 1);
	begun = bench_thread_seconds();
	for (size_t i = 0; i < batches_of(b); i++)
		flat_gather(b->flat, b->row_bytes, b->ids + i * b->batch, b->batch, b->out);
	return bench_thread_seconds() - begun;
}

static double gather_unchecked(void *context, uint64_t round)
{
	struct bench *b = context;
	dg_error err = { 0 };
	double begun;

	draw(b, round, 1);
	begun = bench_thread_seconds();
	for (size_t i = 0; i < batches_of(b); i++)
		if (unchecked_rows_gather(&b->volume->table, &b->volume->tensors.catalogue.rows[0],
					  b->ids + i * b->batch, b->batch, b->out, &err))
			bench_fail("%s", err.text);
	return bench_thread_seconds() - begun;
}

/* Both sides give the same bytes. Also touches every chunk, so that checksums are behind us. */
static void compare_sides(struct bench *b)
{
	size_t n = BATCH_MAX;
	uint8_t *flat = bench_memory(n * b->row_bytes);
	dg_error err = { 0 };

	for (int64_t first = 0; first < b->n_rows; first += (int64_t)n) {
		if (b->n_rows - first < (int64_t)n)
			n = (size_t)(b->n_rows - first);
		for (size_t i = 0; i < n; i++)
			b->ids[i] = first + (int64_t)i;
		if (dgi_volume_gather(b->volume, BENCH_TENSOR, b->ids, n, b->out, &err))
			bench_fail("%s", err.text);
		flat_gather(b->flat, b->row_bytes, b->ids, n, flat);
		if (memcmp(flat, b->out, n * b->row_bytes) != 0)
			bench_fail("the engine's rows are not the array's");
	}
	free(flat);
}

static void measure(struct bench *b, const char *kind, bench_side *baseline, const char *against)
{
	const size_t batches[] = { 1024, BATCH_MAX };

	for (size_t i = 0; i < 2; i++) {
		char name[100];

		b->batch = batches[i];
		(void)snprintf(name, sizeof name, "gather/%s/%zu/%zu/%s", kind, b->row_bytes,
			       b->batch, against);
		(void)bench_ratio(name, PAIRS, gather_engine, baseline, b);
	}
}

/* Pushes durably to odd rows, as fast as it can. */
static void *push_rows(void *context)
{
	struct bench *b = context;
	uint8_t *data = bench_memory(PUSH_ROWS * b->row_bytes);
	dg_id rows[PUSH_ROWS];
	dg_error err = { 0 };

	for (uint64_t i = 0; !atomic_load(&b->stop); i++) {
		struct dgi_write write = {
			.tensor = BENCH_TENSOR, .rows = rows, .n = PUSH_ROWS, .data = data
		};

		bench_draw(~i, b->n_rows - 1, 2, 1, rows, PUSH_ROWS);
		if (dgi_volume_write(b->volume, &write, 1, &err) || write.status)
			bench_fail("%s", write.error.text);
		atomic_fetch_add(&b->pushes, 1);
	}
	free(data);
	return NULL;
}

/* The array is read under the same load: the writer goes on. */
static void measure_with_writer(struct bench *b)
{
	double begun = bench_wall_seconds();
	pthread_t writer;

	b->step = 2;
	if (pthread_create(&writer, NULL, push_rows, b) != 0)
		bench_fail("no thread");
	measure(b, "written", gather_flat, "flat");
	b->stop = true;
	(void)pthread_join(writer, NULL);
	printf("# writer: %.0f pushes of %d rows a second\n",
	       (double)b->pushes / (bench_wall_seconds() - begun), PUSH_ROWS);
}

static const uint8_t *make_file(const struct bench *b, size_t bytes)
{
	const int64_t rows = 4096;
	uint8_t *buffer = bench_memory((size_t)rows * b->row_bytes);
	const uint8_t *base;
	char *path;
	FILE *file;

	if (asprintf(&path, "%s.flat", b->path) < 0 || !(file = fopen(path, "wbx")))
		bench_fail("cannot write a file beside the store");
	for (int64_t first = 0; first < b->n_rows; first += rows) {
		int64_t n = b->n_rows - first < rows ? b->n_rows - first : rows;

		bench_rows(first, n, b->row_bytes, buffer);
		if (fwrite(buffer, b->row_bytes, (size_t)n, file) != (size_t)n)
			bench_fail("cannot write '%s'", path);
	}
	/* On disk, as the store is: writing it back meanwhile would disturb both. */
	if (fflush(file) != 0 || fdatasync(fileno(file)) != 0 || fclose(file) != 0)
		bench_fail("cannot write '%s'", path);
	base = flat_file_map(path, bytes);
	(void)unlink(path);
	free(path);
	free(buffer);
	return base;
}

static void print_pages(const struct bench *b)
{
	struct dgi_slots_stats stats;

	dgi_slots_get_stats(b->volume->hot.slots, &stats);
	printf("# hot memory: %llu MiB, of it %llu on huge pages\n",
	       (unsigned long long)(stats.mapped_bytes >> 20),
	       (unsigned long long)(stats.huge_bytes >> 20));
}

static void run(size_t row_bytes, double mib)
{
	struct bench b = { .row_bytes = row_bytes,
			   .n_rows = (int64_t)(mib * 1048576 / (double)row_bytes),
			   .step = 1 };
	size_t bytes = (size_t)b.n_rows * row_bytes;
	uint8_t *memory;

	b.path = bench_store_make(row_bytes, b.n_rows);
	b.volume = bench_store_open(b.path, NULL);
	b.ids = bench_memory(ROWS_MIN * sizeof *b.ids);
	b.out = bench_memory(BATCH_MAX * row_bytes);

	b.flat = make_file(&b, bytes);
	compare_sides(&b);
	measure(&b, "clean", gather_flat, "flat");
	measure(&b, "clean", gather_unchecked, "unchecked");
	flat_unmap(b.flat, bytes);

	b.flat = memory = flat_memory_map(bytes);
	bench_rows(0, b.n_rows, row_bytes, memory);
	bench_store_heat(b.volume);
	print_pages(&b);
	compare_sides(&b);
	measure(&b, "hot", gather_flat, "flat");
	measure(&b, "hot", gather_unchecked, "unchecked");
	measure_with_writer(&b);
	flat_unmap(b.flat, bytes);

	dgi_volume_close(b.volume);
	bench_store_remove(b.path);
	free(b.ids);
	free(b.out);
}

int main(int argc, char **argv)
{
	double mib = bench_argument(argc, argv, 1, 256);

	printf("# tables of %.0f MiB, default options, times of the thread\n", mib);
	run(64, mib);
	run(512, mib);
	run(2408, mib);
	return 0;
}
