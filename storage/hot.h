/*
 * hot.h -- which chunks are hot: those with rows newer than their image in the file.
 *
 *   clean --stage, adopt--> hot --freeze--> frozen --settle--> clean
 *                            ^                |
 *                            +-- stage, adopt-+  a write to a frozen chunk copies it first
 *
 * The hot chunks stand in a list in the order in which they became hot, so that a checkpoint takes
 * the oldest first and knows which journal entries it has made unnecessary. A frozen slot belongs
 * to the checkpoint until it settles it. Chunks of a row group that hold the same rows are frozen
 * together, because replay of a step reads them all.
 *
 * Threads: one at a time, holding the table's lock, except where told.
 */
#ifndef DGI_HOT_H
#define DGI_HOT_H

#include "catalogue.h"

#define DGI_NO_SLOT UINT32_MAX

struct dgi_hot {
	struct dgi_slots *slots;
	struct dgi_table *table;
	const struct dgi_catalogue *catalogue;
	uint32_t oldest,
		newest; /* of the list: slots that the table shows and that are not frozen */
	_Atomic uint64_t bytes; /* of slots in use, frozen ones included; any thread */
	/* Slots that hold one value all over. Chunks that have never been written show such a slot,
	 * which all that are alike share: hot, never written down, and frozen, so that a write copies it
	 * first. */
	struct dgi_blank {
		uint32_t pages;
		uint64_t pattern; /* the value, repeated */
		uint32_t slot;
	} * blanks;
	size_t n_blanks, blanks_capacity;
};

/* @budget_bytes: what hot chunks may take. Fails with NOMEM. */
dg_status dgi_hot_open(struct dgi_hot *hot, struct dgi_table *table,
		       const struct dgi_catalogue *catalogue, uint64_t budget_bytes, dg_error *err);
/* Accepts a zero one. */
void dgi_hot_close(struct dgi_hot *hot);

/*
 * A copy of the current rows of a chunk, verified, in a slot that nobody sees yet. Fails with FULL
 * (the budget), CORRUPT, NOMEM, IO.
 */
dg_status dgi_hot_stage(struct dgi_hot *hot, const struct dgi_rows *rows, uint64_t chunk,
			uint32_t *slot, dg_error *err);
void dgi_hot_unstage(struct dgi_hot *hot, uint32_t slot);
/* The table shows a staged slot from now on. @log: of the write that needed it. @listed: a checkpoint
 * may write it down; chunks of tensors that live in memory stay hot. */
void dgi_hot_adopt(struct dgi_hot *hot, size_t entry, uint32_t slot, uint64_t log, bool listed);

/*
 * The slot shown by chunks of @pages pages that hold nothing but an element of @element_bytes at
 * @value. Fails with NOMEM, IO.
 */
dg_status dgi_hot_blank(struct dgi_hot *hot, uint32_t pages, const uint8_t *value,
			size_t element_bytes, uint32_t *slot, dg_error *err);
/* Shows it; what the entry showed before is given back. @listed: as when that was adopted. The
 * checkpoint holds no frozen slot of the entry. */
void dgi_hot_show_blank(struct dgi_hot *hot, size_t entry, uint32_t slot, bool listed);

/* A frozen chunk. */
struct dgi_frozen {
	size_t entry;
	uint32_t slot;
};

/*
 * Freezes the oldest hot chunks that became so by a write numbered at most @log, with those of their
 * groups: up to @n_max, and about @bytes_max bytes, but at least one. Returns how many. @n_max is at
 * least the tensors of a group.
 */
size_t dgi_hot_freeze(struct dgi_hot *hot, uint64_t log, uint64_t bytes_max, size_t n_max,
		      struct dgi_frozen *out);
/* Its rows are in @image now. The chunk is clean, unless a write has copied it meanwhile. */
void dgi_hot_settle(struct dgi_hot *hot, const struct dgi_frozen *frozen,
		    const struct dgi_image *image);
/* It could not be written: hot again, unless a write has copied it meanwhile. Last frozen first. */
void dgi_hot_thaw(struct dgi_hot *hot, const struct dgi_frozen *frozen);

/* Number of the write that made the oldest of them hot; UINT64_MAX where there is none. */
uint64_t dgi_hot_oldest(const struct dgi_hot *hot);

#endif
