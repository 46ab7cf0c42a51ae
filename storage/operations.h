/*
 * operations.h -- how far large operations have got: those of which some parts are applied and some
 * are not, so that they go on after a restart and no part counts twice.
 *
 * A table in memory, made durable as the session table is: each part's entry says how many rows are
 * done with it, and a checkpoint writes the whole table.
 *
 * Threads: one at a time, holding the table's lock.
 */
#ifndef DGI_OPERATIONS_H
#define DGI_OPERATIONS_H

#include "entry.h"

#include <stdbool.h>

#define DGI_OPERATIONS_MAX 1024
#define DGI_OPERATIONS_BYTES_MAX (UINT64_C(64) << 20) /* of the table on disk */

struct dgi_operation {
	struct dgi_part part;	  /* the newest applied */
	enum dgi_entry_kind kind; /* ROWS, FILL */
	uint16_t op;
	uint32_t tensor;
	uint32_t row_bytes;
	uint8_t *operand; /* of a FILL */
};

/* Zero is an empty one. */
struct dgi_operations {
	struct dgi_operation *list; /* in the order in which they began */
	size_t n, capacity;
	uint64_t bytes; /* of operands */
};

void dgi_operations_clear(struct dgi_operations *operations);
/* The operation, or NULL: none of it is applied, or all. */
const struct dgi_operation *dgi_operations_find(const struct dgi_operations *operations,
						const dg_uuid *id, uint64_t number);
/*
 * Is the part that @entry is the next one (*repeat false), or was it applied before? Makes room, so that
 * dgi_operations_note() cannot fail. Fails with INVALID (neither), FULL, NOMEM.
 */
dg_status dgi_operations_look(struct dgi_operations *operations, const struct dgi_entry *entry,
			      bool *repeat, dg_error *err);
/* The part has been applied, or is being replayed. Fails with FULL, NOMEM (replay). */
dg_status dgi_operations_note(struct dgi_operations *operations, const struct dgi_entry *entry,
			      dg_error *err);
/* The first part was not applied after all. */
void dgi_operations_unlook(struct dgi_operations *operations, const struct dgi_entry *entry);
/* Forgets those on a tensor, which is gone. */
void dgi_operations_drop(struct dgi_operations *operations, uint32_t tensor);
/* Forgets rows of a session that will not go on with them. */
void dgi_operations_drop_session(struct dgi_operations *operations, const dg_uuid *session);

/* All of them as bytes (docs/format.md), to be freed; NULL where there are none. Fails with NOMEM. */
dg_status dgi_operations_encode(const struct dgi_operations *operations, uint8_t **out, size_t *n,
				dg_error *err);
/* Adds those in @data. Fails with CORRUPT, NOMEM. */
dg_status dgi_operations_decode(struct dgi_operations *operations, const void *data, size_t n,
				dg_error *err);

#endif
