/*
 * open.c -- how long from opening a cleanly stopped store to its first row, and how much anonymous
 * memory does it take before the first push?
 *
 *   open [GIB]     size of the store in chunks of 64 KiB, 1 by default
 *
 * Then opening it to be read alone, against reading the tree's pages with one pread each: what is
 * left beside that is checks, the table, the other two files, and the first chunk's checksum.
 */
#include "harness.h"
#include "store.h"

#include "baseline/pages.h"

#include "inside.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAIRS 21
#define ROW_BYTES 512
#define MEMORY_BYTES (UINT64_C(32) << 20) /* anonymous, and so much a chunk: */
#define MEMORY_PER_CHUNK 16
#define SECONDS_FIRST_8_GIB 0.050 /* to the first row; then so much a GiB: */
#define SECONDS_PER_GIB 0.002

struct bench {
	char *path;
	int64_t n_rows;
	struct pages pages;
};

static double open_as(const struct bench *b, const struct dgi_volume_options *options,
		      uint64_t round)
{
	dg_id row = (dg_id)(round * 7919) % b->n_rows;
	uint8_t got[ROW_BYTES], wanted[ROW_BYTES];
	struct dgi_volume *volume;
	dg_error err = { 0 };
	double begun = bench_wall_seconds(), seconds;

	volume = bench_store_open(b->path, options);
	if (dgi_volume_gather(volume, BENCH_TENSOR, &row, 1, got, &err))
		bench_fail("%s", err.text);
	seconds = bench_wall_seconds() - begun;
	bench_rows(row, 1, ROW_BYTES, wanted);
	if (memcmp(got, wanted, ROW_BYTES) != 0)
		bench_fail("row %lld is not what was stored", (long long)row);
	dgi_volume_close(volume);
	return seconds;
}

static double open_to_read(void *context, uint64_t round)
{
	return open_as(context, &(struct dgi_volume_options){ 0 }, round);
}

static double read_pages(void *context, uint64_t round)
{
	struct bench *b = context;
	double begun = bench_wall_seconds();

	(void)round;
	pages_read(&b->pages);
	return bench_wall_seconds() - begun;
}

static uint64_t anonymous_bytes(void)
{
	FILE *file = fopen("/proc/self/smaps_rollup", "r");
	char line[200];
	unsigned long long kib = 0;

	while (file && fgets(line, sizeof line, file))
		if (sscanf(line, "Anonymous: %llu kB", &kib) == 1)
			break;
	if (!file || kib == 0)
		bench_fail("cannot read /proc/self/smaps_rollup");
	(void)fclose(file);
	return kib << 10;
}

/* In a process of its own, which has opened no store before. */
static void measure_memory(const struct bench *b, size_t n_chunks)
{
	pid_t child;
	int status;

	(void)fflush(stdout);
	child = fork();

	if (child == 0) {
		uint64_t before = anonymous_bytes();
		struct dgi_volume *volume = bench_store_open(b->path, NULL);
		uint64_t taken = anonymous_bytes() - before;
		uint64_t allowed = MEMORY_BYTES + MEMORY_PER_CHUNK * n_chunks;

		printf("# anonymous memory: %.2f MiB, allowed %.2f\n", (double)taken / 1048576,
		       (double)allowed / 1048576);
		bench_value("open/memory", (double)allowed / (double)taken);
		dgi_volume_close(volume);
		(void)fflush(stdout);
		_exit(0);
	}
	if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
		bench_fail("the process that measures memory failed");
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The time that is allowed, as a multiple of the time it took. */
static void measure_time(const struct bench *b, double gib)
{
	double seconds[PAIRS];
	double allowed = SECONDS_FIRST_8_GIB + (gib > 8 ? (gib - 8) * SECONDS_PER_GIB : 0);

	for (int i = 0; i < PAIRS; i++)
		seconds[i] = open_as(b, NULL, (uint64_t)i);
	qsort(seconds, PAIRS, sizeof *seconds, compare_doubles);
	printf("# open to first row: median %.2f ms, worst %.2f, allowed %.1f; %.2f ms a GiB\n",
	       seconds[PAIRS / 2] * 1e3, seconds[PAIRS - 1] * 1e3, allowed * 1e3,
	       seconds[PAIRS / 2] * 1e3 / gib);
	bench_value("open/first_row", allowed / seconds[PAIRS / 2]);
}

/* Puts the store out of the page cache: its files are on disk already, nobody else maps them. */
static void forget(const struct bench *b)
{
	static const char *const names[] = { DGI_GRAPH_FILE, DGI_TENSORS_FILE, DGI_JOURNAL_FILE };

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		char *path;
		int fd;

		if (asprintf(&path, "%s/%s", b->path, names[i]) < 0)
			bench_fail("out of memory");
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0 || fdatasync(fd) != 0 ||
		    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) != 0)
			bench_fail("'%s' stays in the page cache", path);
		(void)close(fd);
		free(path);
	}
}

static void report_cold(const struct bench *b)
{
	double seconds[5];

	for (int i = 0; i < 5; i++) {
		forget(b);
		seconds[i] = open_as(b, NULL, (uint64_t)i);
	}
	qsort(seconds, 5, sizeof *seconds, compare_doubles);
	printf("# open to first row, page cache cold: median %.2f ms, worst %.2f\n",
	       seconds[2] * 1e3, seconds[4] * 1e3);
}

int main(int argc, char **argv)
{
	double gib = bench_argument(argc, argv, 1, 1);
	struct bench b = { .n_rows = (int64_t)(gib * 1073741824 / ROW_BYTES) };
	size_t n_chunks;
	struct dgi_volume *volume;
	char *file;

	b.path = bench_store_make(ROW_BYTES, b.n_rows);
	volume = bench_store_open(b.path, NULL);
	n_chunks = volume->table.n;
	dgi_volume_close(volume); /* the clean stop */
	if (asprintf(&file, "%s/%s", b.path, DGI_TENSORS_FILE) < 0)
		bench_fail("out of memory");
	b.pages = pages_open(file);
	printf("# %.0f GiB in %zu chunks, %zu tree pages, page cache warm\n", gib, n_chunks,
	       b.pages.n);
	measure_memory(&b, n_chunks);
	measure_time(&b, gib);
	(void)bench_ratio("open/read_only/tree_pages", PAIRS, open_to_read, read_pages, &b);
	pages_close(&b.pages);
	report_cold(&b);
	bench_store_remove(b.path);
	free(file);
	return 0;
}
