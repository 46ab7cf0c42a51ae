/*
 * book.c -- how many ids a second does one core look up in the partition book, in batches: id to
 * partition and place in its share?
 *
 *   book [IDS]     in one batch, 1,048,576 by default
 *
 * Sorted and random ids, of 4, 16 and 256 partitions. The figure is 200 M ids/s a core: a value of
 * 1 or more meets it. It is CPU time of the thread, the median of 31 batches.
 */
#include "harness.h"

#include "book.h"
#include "rng.h"

#include <stdio.h>
#include <stdlib.h>

#define BATCHES 31
#define WANTED_PER_SECOND 200e6

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Partitions of unlike sizes, one node type. */
static dg_book *make_book(uint32_t n_parts)
{
	static const char *const names[] = { "_N" };
	int64_t *counts = malloc(n_parts * sizeof *counts);
	struct dgi_book_spec spec = {
		.n_parts = n_parts, .n_node_types = 1, .node_types = names, .node_counts = counts
	};
	struct dgi_rng rng = dgi_rng_of(7, n_parts);
	dg_error err = { 0 };
	dg_book *book;

	for (uint32_t p = 0; counts && p < n_parts; p++)
		counts[p] = 1000000 + (int64_t)dgi_rng_below(&rng, 100000);
	if (!counts || dgi_book_new(&spec, &book, &err))
		bench_fail("no partition book: %s", err.text);
	free(counts);
	return book;
}

static void draw(const dg_book *book, int sorted, dg_id *ids, size_t n)
{
	int64_t total = dg_book_count(book, DG_NODE, 0);
	struct dgi_rng rng = dgi_rng_of(1, 1);

	for (size_t i = 0; i < n; i++)
		ids[i] = sorted ? (dg_id)((double)total * (double)i / (double)n)
				: (dg_id)dgi_rng_below(&rng, (uint64_t)total);
}

/* Every answer is where the book's ranges say. */
static void verify(const dg_book *book, const dg_id *ids, const uint32_t *parts,
		   const dg_id *locals, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		dg_id start, end;

		dg_book_range(book, DG_NODE, 0, parts[i], &start, &end);
		if (ids[i] < start || ids[i] >= end || locals[i] != ids[i] - start)
			bench_fail("id %lld is not where it was found", (long long)ids[i]);
	}
}

static void measure(uint32_t n_parts, int sorted, size_t n)
{
	dg_book *book = make_book(n_parts);
	dg_id *ids = malloc(n * sizeof *ids), *locals = malloc(n * sizeof *locals);
	uint32_t *parts = malloc(n * sizeof *parts);
	double seconds[BATCHES];
	dg_error err = { 0 };
	char name[60];

	if (!ids || !locals || !parts)
		bench_fail("out of memory");
	draw(book, sorted, ids, n);
	for (int i = -1; i < BATCHES; i++) { /* one that is not counted */
		double begun = bench_thread_seconds();

		if (dg_book_locate_ids(book, DG_NODE, 0, ids, n, parts, locals, &err))
			bench_fail("%s", err.text);
		if (i >= 0)
			seconds[i] = bench_thread_seconds() - begun;
	}
	verify(book, ids, parts, locals, n);
	qsort(seconds, BATCHES, sizeof *seconds, compare_doubles);
	printf("# %s ids, %u partitions: %.0f M ids/s\n", sorted ? "sorted" : "random", n_parts,
	       (double)n / seconds[BATCHES / 2] / 1e6);
	(void)snprintf(name, sizeof name, "book/%s-%u", sorted ? "sorted" : "random", n_parts);
	bench_value(name, (double)n / seconds[BATCHES / 2] / WANTED_PER_SECOND);
	free(ids);
	free(locals);
	free(parts);
	dgi_book_free(book);
}

int main(int argc, char **argv)
{
	static const uint32_t parts[] = { 4, 16, 256 };
	size_t n = argc > 1 ? strtoull(argv[1], NULL, 10) : (size_t)1 << 20;

	if (n == 0)
		bench_fail("usage: book [IDS]");
	printf("# book: batches of %zu ids\n", n);
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		for (int sorted = 1; sorted >= 0; sorted--)
			measure(parts[i], sorted, n);
	return 0;
}
