/* hot.c -- which chunks are hot: staging, adopting, freezing, settling. */
#include "hot.h"

#include "check.h"
#include "fail.h"

#include <stdlib.h>
#include <string.h>

dg_status dgi_hot_open(struct dgi_hot *hot, struct dgi_table *table, uint64_t budget_bytes,
		       dg_error *err)
{
	dg_status st;

	*hot = (struct dgi_hot){ .table = table };
	st = dgi_slots_new(budget_bytes, &hot->slots, err);
	if (!st)
		table->segments = dgi_slots_segments(hot->slots);
	return st;
}

void dgi_hot_close(struct dgi_hot *hot)
{
	dgi_slots_free(hot->slots);
	free(hot->list);
	*hot = (struct dgi_hot){ 0 };
}

static uint64_t slot_bytes(const struct dgi_hot *hot, uint32_t slot)
{
	return dgi_slots_bytes(hot->slots, slot);
}

static dg_status reserve_place(struct dgi_hot *hot, dg_error *err)
{
	size_t live = hot->n - hot->first;
	size_t capacity = hot->capacity ? hot->capacity * 2 : 256;
	uint32_t *list;

	/* Frozen chunks keep a place in front, so that thawing cannot fail. */
	if (hot->first > hot->capacity / 2 && hot->first > hot->n_frozen) {
		memmove(hot->list + hot->n_frozen, hot->list + hot->first,
			live * sizeof *hot->list);
		hot->first = hot->n_frozen;
		hot->n = hot->first + live;
	}
	if (hot->n + hot->n_staged < hot->capacity)
		return DG_OK;
	list = realloc(hot->list, capacity * sizeof *list);
	if (!list)
		return dgi_fail_memory(err, "hot chunks");
	hot->list = list;
	hot->capacity = capacity;
	return DG_OK;
}

bool dgi_hot_is_writable(const struct dgi_hot *hot, size_t entry, uint32_t *slot)
{
	return dgi_table_is_hot(hot->table, entry, slot) &&
	       !dgi_slots_note(hot->slots, *slot)->frozen;
}

dg_status dgi_hot_stage(struct dgi_hot *hot, const struct dgi_rows *rows, uint64_t chunk,
			uint32_t *slot, dg_error *err)
{
	/* Slots hold rows without the headers, which fit the same pages. */
	uint32_t pages = (rows->cut.value_bytes + DGI_PAGE_BYTES - 1) / DGI_PAGE_BYTES;
	dg_status st = dgi_rows_verify(hot->table, rows, chunk, err);

	if (!st)
		st = reserve_place(hot, err);
	if (!st)
		st = dgi_slots_take(hot->slots, pages, slot, err);
	if (st)
		return st;
	dgi_rows_copy_chunk(hot->table, rows, chunk, dgi_slot_at(hot->table->segments, *slot));
	hot->n_staged++;
	hot->bytes += slot_bytes(hot, *slot);
	return DG_OK;
}

static void give(struct dgi_hot *hot, uint32_t slot)
{
	hot->bytes -= slot_bytes(hot, slot);
	dgi_slots_give(hot->slots, slot);
}

void dgi_hot_unstage(struct dgi_hot *hot, uint32_t slot)
{
	hot->n_staged--;
	give(hot, slot);
}

void dgi_hot_adopt(struct dgi_hot *hot, size_t entry, uint32_t slot, uint64_t log, bool listed)
{
	struct dgi_slot_note *note = dgi_slots_note(hot->slots, slot);

	DGI_ASSERT(hot->n < hot->capacity && hot->n_staged > 0);
	hot->n_staged--;
	*note = (struct dgi_slot_note){ .entry = entry, .first_log = log };
	if (listed)
		hot->list[hot->n++] = slot;
	dgi_table_set_hot(hot->table, entry, slot);
}

uint64_t dgi_hot_oldest(const struct dgi_hot *hot)
{
	if (hot->first == hot->n)
		return UINT64_MAX;
	return dgi_slots_note(hot->slots, hot->list[hot->first])->first_log;
}

size_t dgi_hot_freeze(struct dgi_hot *hot, uint64_t log, uint64_t bytes_max, size_t n_max,
		      struct dgi_frozen *out)
{
	uint64_t bytes = 0;
	size_t n = 0;

	while (n < n_max && dgi_hot_oldest(hot) <= log) {
		uint32_t slot = hot->list[hot->first];
		struct dgi_slot_note *note = dgi_slots_note(hot->slots, slot);

		bytes += slot_bytes(hot, slot);
		if (n && bytes > bytes_max)
			break;
		note->frozen = true;
		out[n++] = (struct dgi_frozen){ .entry = note->entry, .slot = slot };
		hot->first++;
		hot->n_frozen++;
#ifdef DGI_HOT_GIVE_EARLY /* a test shows that the slot must wait for the table */
		dgi_slots_give(hot->slots, slot);
#endif
	}
	return n;
}

static bool is_shown(const struct dgi_hot *hot, const struct dgi_frozen *frozen)
{
	uint32_t slot;

#ifdef DGI_HOT_SHOW_REWRITTEN /* a test shows that the question must be asked */
	(void)hot;
	(void)frozen;
	(void)slot;
	return true;
#endif
	return dgi_table_is_hot(hot->table, frozen->entry, &slot) && slot == frozen->slot;
}

void dgi_hot_settle(struct dgi_hot *hot, const struct dgi_frozen *frozen,
		    const struct dgi_image *image)
{
	if (is_shown(hot, frozen))
		dgi_table_set_clean(hot->table, image);
	else
		dgi_table_set_log(hot->table, image->entry, image->log);
	hot->n_frozen--;
#ifndef DGI_HOT_GIVE_EARLY
	give(hot, frozen->slot);
#endif
}

void dgi_hot_thaw(struct dgi_hot *hot, const struct dgi_frozen *frozen)
{
	hot->n_frozen--;
	if (!is_shown(hot, frozen)) {
		give(hot, frozen->slot);
		return;
	}
	dgi_slots_note(hot->slots, frozen->slot)->frozen = false;
	DGI_ASSERT(hot->first > 0);
	hot->list[--hot->first] = frozen->slot;
}
