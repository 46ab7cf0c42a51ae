/*
 * catalogue.h -- the tensors of tensors.mdb and where their chunks are: collected from the walk, then
 * added to and taken from while the store is open.
 *
 * Nothing in it ever moves: a tensor keeps its place, and the table entries of its chunks, until the
 * store is closed, whether it lives or is gone.
 *
 * Threads: adding by one thread at a time; the rest by any. What is found stays readable.
 */
#ifndef DGI_CATALOGUE_H
#define DGI_CATALOGUE_H

#include "key.h"
#include "rowcopy.h"
#include "step.h"
#include "tensor_record.h"

#include <stdbool.h>

/* Tensors in one life of the store, those that have gone included. */
#define DGI_CATALOGUE_PLACES (2 * DG_TENSORS_MAX)
/* Chunks of all tensors that need not be there: 1 TiB in chunks of 64 KiB. */
#define DGI_SPARSE_CHUNKS_MAX (UINT64_C(1) << 24)

/* What a description does not say. */
struct dgi_life {
	dg_uuid uuid;
	dg_lifetime lifetime;
	char owner[DG_NAME_BYTES_MAX + 1];
	uint64_t seed;
	uint8_t value[8];
	bool sparse; /* a chunk without an image holds the value */
	_Atomic bool gone;
	bool is_purged; /* … and so are its chunks; the checkpoint's own */
};

/* A tensor that was dropped before the store was opened. */
struct dgi_tombstone {
	uint32_t id;
	dg_uuid uuid;
	bool has_chunks; /* left over; the checkpoint's own once the walk has ended */
};

/* Zero is an empty one. */
struct dgi_catalogue {
	dg_tensor_info *infos; /* in the order in which they came: from the walk, by id */
	struct dgi_rows *rows; /* of the same tensors */
	struct dgi_life *lives;
	_Atomic uint32_t *places; /* by a hash of the id: place + 1, 0 where there is none */
	_Atomic size_t n;
	struct dgi_tombstone *dead; /* ascending by id */
	size_t n_dead, dead_capacity;
	struct dgi_image
		*images;   /* of every chunk, by table entry; page 0: none; NULL: of no chunk */
	size_t n_chunks;   /* of all tensors */
	size_t next_entry; /* the lowest for which no chunk has been found */
	size_t at_tensor;  /* … and whose it is, or an earlier one */
	uint64_t pages;	   /* that the chunks need, but for those that need not be there */
	uint64_t n_sparse_chunks;
};

/*
 * What the walk finds, in key order: records of tensors, then chunks, at most one image of each and
 * of the size that the description says; where a tensor is not sparse, exactly one. @file_bytes
 * bounds what a description may claim. Fails with CORRUPT (the text names tensor and rows), NOMEM.
 */
dg_status dgi_catalogue_add_tensor(struct dgi_catalogue *c, const struct dgi_key *key,
				   const struct dgi_tensor_record *record, uint64_t file_bytes,
				   dg_error *err);
dg_status dgi_catalogue_add_chunk(struct dgi_catalogue *c, const struct dgi_key *key,
				  uint64_t value_at, uint64_t value_bytes, dg_error *err);
/* All chunks there? Fails with CORRUPT. */
dg_status dgi_catalogue_finish(struct dgi_catalogue *c, dg_error *err);
void dgi_catalogue_clear(struct dgi_catalogue *c);

/* Room for @n more, so that dgi_catalogue_append() cannot fail. Fails with NOMEM, FULL. */
dg_status dgi_catalogue_reserve(struct dgi_catalogue *c, size_t n, dg_error *err);
/* Adds a tensor whose record, and group, have been checked. Gives its place. */
size_t dgi_catalogue_append(struct dgi_catalogue *c, const struct dgi_tensor_record *record);

/* Two tensors that are changed together have the same rows, cut alike. */
bool dgi_catalogue_go_together(const dg_tensor_info *a, const dg_tensor_info *b);

/* Sets *@index; false where no such tensor lives. */
bool dgi_catalogue_find(const struct dgi_catalogue *c, uint32_t tensor, size_t *index);
/* Was it dropped? */
bool dgi_catalogue_is_dead(const struct dgi_catalogue *c, uint32_t tensor);
/* The tombstone with this id from before the opening, or NULL. */
struct dgi_tombstone *dgi_catalogue_tombstone(const struct dgi_catalogue *c, uint32_t tensor);
static inline bool dgi_catalogue_is_gone(const struct dgi_catalogue *c, size_t index)
{
	return atomic_load_explicit(&c->lives[index].gone, memory_order_acquire);
}
/* The tensor whose chunk stands at a table entry, as an index. */
size_t dgi_catalogue_of_entry(const struct dgi_catalogue *c, size_t entry);

#endif
