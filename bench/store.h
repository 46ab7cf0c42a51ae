/* store.h -- a store of one tensor to measure on, in a directory of its own under $TMPDIR. */
#ifndef BENCH_STORE_H
#define BENCH_STORE_H

#include "volume.h"

#define BENCH_TENSOR 1

/*
 * Makes the store and returns its path, which bench_store_remove() frees: @n_rows rows of
 * @row_bytes bytes (a multiple of 8), filled by bench_rows().
 */
char *bench_store_make(size_t row_bytes, int64_t n_rows);
void bench_store_remove(char *path);

/* Rows [first, first + n) as the store holds them at first. */
void bench_rows(int64_t first, int64_t n, size_t row_bytes, void *out);

/* Default options, open for writing, where @options is NULL. */
struct dgi_volume *bench_store_open(const char *path, const struct dgi_volume_options *options);

/* Makes every chunk hot without changing a row, and without a long journal. */
void bench_store_heat(struct dgi_volume *volume);

/* @n row numbers drawn from [0, n_rows), each a multiple of @step plus @offset. */
void bench_draw(uint64_t seed, int64_t n_rows, int64_t step, int64_t offset, dg_id *out, size_t n);

/* Memory on pages that have all been touched; ends the program where there is none. */
void *bench_memory(size_t bytes);

/* "8" to 8, the default where the argument is missing; ends the program for anything else. */
double bench_argument(int argc, char **argv, int index, double fallback);

#endif
