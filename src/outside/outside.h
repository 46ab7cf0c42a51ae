/*
 * outside.h -- outside ids inside: how they are hashed and stored (docs/format.md, "outside ids"), what is
 * asked of a partition, and the two translations over whoever answers.
 *
 * Each partition stores what its own nodes are called, and its share of an index: the pairs of
 * (hash of an outside id, relabelled id) whose hash falls to it, whoever owns the node, in order of
 * their hashes. No two outside ids of a type have the same hash: the seed is chosen so.
 */
#ifndef DGI_OUTSIDE_H
#define DGI_OUTSIDE_H

#include "ids_message.h"
#include "outside_format.h"
#include "volume.h"

#include <distgraph/outside.h>

/* A bijection, so that equal hashes mean equal integers. */
uint64_t dgi_outside_hash_integer(int64_t id);
/* XXH3 with a seed. */
uint64_t dgi_outside_hash_string(const void *text, size_t n, uint64_t seed);

/* --- Asking a partition --- */

/* The outside ids of a store, opened. */
struct dgi_outside_part {
	struct dgi_volume *volume;
	const dg_book *book;
	uint32_t part;
	int64_t *head; /* NULL: no type has any */
};

/* Fails with CORRUPT, NOMEM; dgi_outside_part_clear() is due in any case. */
dg_status dgi_outside_part_open(struct dgi_volume *volume, const dg_book *book, uint32_t part,
				struct dgi_outside_part *out, dg_error *err);
void dgi_outside_part_clear(struct dgi_outside_part *part);

/*
 * Answers; of strings as many as fit @room bytes with their offsets, one at least. Any thread.
 * Fails with NOTFOUND (no such type, no index), RANGE (an id that is another's), INVALID, CORRUPT,
 * NOMEM. Gives an answer to clear.
 */
dg_status dgi_outside_answer(const struct dgi_outside_part *part,
			     const struct dgi_ids_request *request, size_t room,
			     struct dgi_ids_answer *out, dg_error *err);

/* --- Translating --- */

/* Whoever answers for all partitions. */
struct dgi_ids_asker {
	void *context;
	const dg_book *book;
	dg_status (*ask)(void *context, uint32_t part, const struct dgi_ids_request *request,
			 struct dgi_ids_answer *out, dg_error *err);
	/* Rows of an id table: of INTERNAL_ID or ORIGINAL_ID. */
	dg_status (*table)(void *context, dg_side side, uint16_t type, const char *name,
			   const dg_id *ids, size_t n, dg_id *out, dg_error *err);
};

dg_status dgi_outside_form(const struct dgi_ids_asker *asker, dg_side side, uint16_t type,
			   dg_outside_form *form, dg_error *err);
dg_status dgi_to_outside(const struct dgi_ids_asker *asker, dg_side side, uint16_t type,
			 const dg_id *ids, size_t n, dg_outside_ids *out, dg_error *err);
dg_status dgi_from_outside(const struct dgi_ids_asker *asker, dg_side side, uint16_t type,
			   const dg_outside_ids *ids, dg_id *out, dg_error *err);

/* --- Writing them --- */

/* Outside ids of a node type, by original number, as source.h has them in a file. */
struct dgi_outside_type {
	dg_outside_form form;
	const char *path; /* of integers n int64; of strings n + 1 u64 offsets, then the bytes */
};

/* Ids [first, first + n) of a node type, in the other numbering. */
typedef dg_status dgi_outside_ids_fn(void *context, uint16_t type, int64_t first, size_t n,
				     dg_id *out, dg_error *err);

struct dgi_outside_input {
	const dg_book *book;
	const struct dgi_outside_type *types; /* by node type */
	dgi_outside_ids_fn *internal_of;      /* of original numbers */
	dgi_outside_ids_fn *original_of;      /* of relabelled type-wise ids */
	void *context;
	const char *work;      /* directory for what is sorted: 16 bytes a node */
	uint64_t memory_bytes; /* to sort in; 0: 256 MiB */
};

struct dgi_outside_writer;

/*
 * Sorts the index of every type that has outside ids. Fails with INVALID (the same id twice, a file
 * that is not as it should be, a string of more than DG_OUTSIDE_BYTES_MAX), NOTFOUND, IO, FULL,
 * NOMEM. The input is only read, but must outlive the writer.
 */
dg_status dgi_outside_writer_open(const struct dgi_outside_input *input,
				  struct dgi_outside_writer **out, dg_error *err);
/* Has any type outside ids? */
bool dgi_outside_writer_has_any(const struct dgi_outside_writer *writer);
/*
 * Writes the arrays of one partition; the last of all structure arrays, any number of partitions in
 * any order. Writes nothing where no type has outside ids.
 */
dg_status dgi_outside_ids_write(struct dgi_outside_writer *writer, uint32_t part,
				struct dgi_volume_maker *maker, dg_error *err);
/* Removes what was sorted. NULL is fine. */
void dgi_outside_writer_close(struct dgi_outside_writer *writer);

#endif
