/* log.c -- baseline of recover: a plain log, hashed by pieces and copied to its rows. */
#include "log.h"

#include "../harness.h"
#include "../store.h"
#include "flat.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define ROWS_AHEAD 8

static size_t piece_bytes(const struct log *log)
{
	return log->piece_rows * (8 + log->row_bytes);
}

struct log log_make(int64_t n_rows, size_t row_bytes, size_t piece_rows, uint64_t bytes)
{
	struct log log = { .row_bytes = row_bytes,
			   .piece_rows = piece_rows,
			   .rows_bytes = (size_t)n_rows * row_bytes };
	size_t n_pieces = (size_t)bytes / piece_bytes(&log);
	dg_id *ids;

	log.n = n_pieces * piece_bytes(&log);
	log.bytes = bench_memory(log.n);
	for (size_t i = 0; i < n_pieces; i++) {
		ids = (dg_id *)(void *)(log.bytes + i * piece_bytes(&log));
		bench_draw(i, n_rows, 1, 0, ids, piece_rows);
		for (size_t j = 0; j < piece_rows; j++)
			bench_rows(ids[j], 1, row_bytes,
				   (uint8_t *)(ids + piece_rows) + j * row_bytes);
	}
	return log;
}

void log_free(struct log *log)
{
	free(log->bytes);
}

static void replay_piece(const struct log *log, const uint8_t *piece)
{
	const dg_id *ids = (const dg_id *)(const void *)piece;
	const uint8_t *from = piece + log->piece_rows * 8;

	for (size_t i = 0; i < log->piece_rows; i++) {
		if (i + ROWS_AHEAD < log->piece_rows) {
			const uint8_t *next =
				log->rows + (size_t)ids[i + ROWS_AHEAD] * log->row_bytes;

			for (size_t at = 0; at < log->row_bytes && at < 512; at += 64)
				__builtin_prefetch(next + at, 1);
		}
		memcpy(log->rows + (size_t)ids[i] * log->row_bytes, from + i * log->row_bytes,
		       log->row_bytes);
	}
}

double log_replay(struct log *log)
{
	double begun = bench_wall_seconds();
	uint64_t sum = 0;

	log->rows = flat_memory_map(log->rows_bytes);
	for (size_t at = 0; at < log->n; at += piece_bytes(log)) {
		sum ^= XXH3_64bits(log->bytes + at, piece_bytes(log));
		replay_piece(log, log->bytes + at);
	}
	begun = bench_wall_seconds() - begun;
	if (sum == 1) /* so that the sums are computed */
		bench_fail("unlikely");
	flat_unmap(log->rows, log->rows_bytes);
	return begun;
}
