/*
 * slots.h -- memory for hot chunks: slots of whole pages in sealed memfd segments.
 *
 *   segment 0  [slot 0|slot 1|…]        16 pages a slot
 *   segment 1  [slot 0       |…]        256 pages a slot
 *   segment 2  prepared by the background thread, its slot size not yet chosen
 *
 * Segments are memfds, so that other processes on the host can be given them read-only; they are
 * mapped at 2 MiB boundaries, backed by memory before use and collapsed into huge pages where the
 * kernel can. A segment is never unmapped or shrunk while the pool lives: a late reader of a slot
 * that was given back reads something wrong, never faults.
 *
 * Threads: taking and giving by one thread at a time; dgi_slot_at() by any thread.
 */
#ifndef DGI_SLOTS_H
#define DGI_SLOTS_H

#include <distgraph/error.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DGI_SLOTS_SEGMENT_BYTES (UINT64_C(8) << 20)
#define DGI_SLOTS_SEGMENT_BITS 11 /* pages of a segment */

struct dgi_slots;

struct dgi_slots_stats {
	uint64_t budget_bytes; /* what slots in use may add up to */
	uint64_t used_bytes;   /* slots in use */
	uint64_t mapped_bytes; /* all segments */
	uint64_t huge_bytes;   /* segments that got huge pages */
};

/* What its user notes of a slot; not part of the shared memory. */
struct dgi_slot_note {
	size_t entry;	       /* of the chunk table */
	uint64_t first_log;    /* of the write that made the chunk hot */
	uint32_t before, next; /* in its user's list; of a slot given back the pool's own */
};

/* Fails with NOMEM, IO. */
dg_status dgi_slots_new(uint64_t budget_bytes, struct dgi_slots **out, dg_error *err);
void dgi_slots_free(struct dgi_slots *pool);
/* What is in use beyond a smaller budget stays so. */
void dgi_slots_set_budget(struct dgi_slots *pool, uint64_t budget_bytes);

/*
 * Takes a slot of @pages pages (1 to 256). Its bytes are whatever was there before.
 * Fails with FULL (the budget), NOMEM, IO.
 */
dg_status dgi_slots_take(struct dgi_slots *pool, uint32_t pages, uint32_t *slot, dg_error *err);
/* A slot that is never given back and does not count. Fails with NOMEM, IO. */
dg_status dgi_slots_take_apart(struct dgi_slots *pool, uint32_t pages, uint32_t *slot,
			       dg_error *err);
void dgi_slots_give(struct dgi_slots *pool, uint32_t slot);
uint64_t dgi_slots_bytes(const struct dgi_slots *pool, uint32_t slot);

/* The note of a slot that is taken. For the thread that takes and gives. */
struct dgi_slot_note *dgi_slots_note(const struct dgi_slots *pool, uint32_t slot);

/*
 * Addresses of the segments, for dgi_slot_at(). A slot is named by the number of its first page,
 * counted over all segments, so that its address needs no look at sizes.
 */
typedef _Atomic(uint8_t *) dgi_slot_segment;
const dgi_slot_segment *dgi_slots_segments(const struct dgi_slots *pool);

/* Where a slot that was ever taken lies; on a page boundary. */
static inline uint8_t *dgi_slot_at(const dgi_slot_segment *segments, uint32_t slot)
{
	const uint32_t mask = (UINT32_C(1) << DGI_SLOTS_SEGMENT_BITS) - 1;

	return atomic_load_explicit(&segments[slot >> DGI_SLOTS_SEGMENT_BITS],
				    memory_order_acquire) +
	       (size_t)(slot & mask) * 4096;
}

void dgi_slots_get_stats(struct dgi_slots *pool, struct dgi_slots_stats *out);

#endif
