/*
 * history.h -- what clients did and saw, and whether it can be true.
 *
 * Client c adds 1 to column c of rows: so each cell has one writer, and counts its pushes. A cell that is
 * read holds at least what was acknowledged before the read began, to whomever, and at most what had
 * been sent when it ended; to its own writer exactly what it sent before. In the end it holds what
 * was acknowledged: a push lost or counted twice shows.
 *
 * Clients are processes: the history lies in memory that they share with who forked them.
 */
#ifndef CHAOS_HISTORY_H
#define CHAOS_HISTORY_H

#include <distgraph/types.h>

#include <stdbool.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define HISTORY_CLIENTS_MAX 64

struct history {
	size_t n_clients, n_rows;
	size_t bytes;		   /* of the whole, with the cells */
	_Atomic uint64_t n_pushes; /* acknowledged */
	_Atomic uint64_t n_pulls;
	struct history_cell {
		_Atomic uint32_t sent, acknowledged;
	} cells[]; /* by row, then client */
};

/* NULL without memory. */
struct history *history_new(size_t n_clients, size_t n_rows);
void history_free(struct history *history);

/* Client @client is about to push to @n rows; it was acknowledged; it was refused, nothing changed. */
void history_send(struct history *history, size_t client, const dg_id *rows, size_t n);
void history_acknowledge(struct history *history, size_t client, const dg_id *rows, size_t n);
void history_refuse(struct history *history, size_t client, const dg_id *rows, size_t n);

/* The lower bounds of what a read of @n rows may find: @out has n * n_clients places. */
void history_begin_read(const struct history *history, size_t reader, const dg_id *rows, size_t n,
			uint32_t *out);
/*
 * Checks what the read found, n rows of n_clients floats, against them and what has been sent by now.
 * Says in @text what is wrong and returns false.
 */
bool history_check_read(const struct history *history, const dg_id *rows, size_t n,
			const uint32_t *least, const float *found, char *text, size_t size);

/* Everybody has finished: each cell of all rows is what was acknowledged, and nothing is open. */
bool history_check_end(const struct history *history, const float *found, char *text, size_t size);

#endif
