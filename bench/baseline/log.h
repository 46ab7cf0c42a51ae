/* log.h -- baseline of recover: a plain log in memory, hashed and copied to the rows it names. */
#ifndef BENCH_LOG_H
#define BENCH_LOG_H

#include <stddef.h>
#include <stdint.h>

struct log {
	uint8_t *bytes;
	size_t n; /* in pieces: row numbers, then rows */
	uint8_t *rows;
	size_t rows_bytes;
	size_t row_bytes;
	size_t piece_rows;
};

/* About @bytes of random rows of a table of @n_rows. */
struct log log_make(int64_t n_rows, size_t row_bytes, size_t piece_rows, uint64_t bytes);
void log_free(struct log *log);
/* Replays it into fresh memory; the seconds it took. */
double log_replay(struct log *log);

#endif
