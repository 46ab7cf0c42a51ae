/* hot.c -- which chunks are hot: staging, adopting, freezing, settling. */
#include "hot.h"

#include "fail.h"

#include <stdlib.h>
#include <string.h>

dg_status dgi_hot_open(struct dgi_hot *hot, struct dgi_table *table,
		       const struct dgi_catalogue *catalogue, uint64_t budget_bytes, dg_error *err)
{
	dg_status st;

	*hot = (struct dgi_hot){
		.table = table, .catalogue = catalogue, .oldest = DGI_NO_SLOT, .newest = DGI_NO_SLOT
	};
	st = dgi_slots_new(budget_bytes, &hot->slots, err);
	if (!st)
		table->segments = dgi_slots_segments(hot->slots);
	return st;
}

void dgi_hot_close(struct dgi_hot *hot)
{
	dgi_slots_free(hot->slots);
	free(hot->blanks);
	*hot = (struct dgi_hot){ 0 };
}

static uint64_t slot_bytes(const struct dgi_hot *hot, uint32_t slot)
{
	return dgi_slots_bytes(hot->slots, slot);
}

/* --- The list --- */

static void list_append(struct dgi_hot *hot, uint32_t slot)
{
	struct dgi_slot_note *note = dgi_slots_note(hot->slots, slot);

	note->before = hot->newest;
	note->next = DGI_NO_SLOT;
	if (hot->newest == DGI_NO_SLOT)
		hot->oldest = slot;
	else
		dgi_slots_note(hot->slots, hot->newest)->next = slot;
	hot->newest = slot;
}

static void list_put_first(struct dgi_hot *hot, uint32_t slot)
{
	struct dgi_slot_note *note = dgi_slots_note(hot->slots, slot);

	note->before = DGI_NO_SLOT;
	note->next = hot->oldest;
	if (hot->oldest == DGI_NO_SLOT)
		hot->newest = slot;
	else
		dgi_slots_note(hot->slots, hot->oldest)->before = slot;
	hot->oldest = slot;
}

static void list_remove(struct dgi_hot *hot, uint32_t slot)
{
	const struct dgi_slot_note *note = dgi_slots_note(hot->slots, slot);

	if (note->before == DGI_NO_SLOT)
		hot->oldest = note->next;
	else
		dgi_slots_note(hot->slots, note->before)->next = note->next;
	if (note->next == DGI_NO_SLOT)
		hot->newest = note->before;
	else
		dgi_slots_note(hot->slots, note->next)->before = note->before;
}

/* --- Staging --- */

dg_status dgi_hot_stage(struct dgi_hot *hot, const struct dgi_rows *rows, uint64_t chunk,
			uint32_t *slot, dg_error *err)
{
	/* Slots hold rows without the headers, which fit the same pages. */
	uint32_t pages = (rows->cut.value_bytes + DGI_PAGE_BYTES - 1) / DGI_PAGE_BYTES;
	dg_status st = dgi_rows_verify(hot->table, rows, chunk, err);

	if (!st)
		st = dgi_slots_take(hot->slots, pages, slot, err);
	if (st)
		return st;
	dgi_rows_copy_chunk(hot->table, rows, chunk, dgi_slot_at(hot->table->segments, *slot));
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
	give(hot, slot);
}

void dgi_hot_adopt(struct dgi_hot *hot, size_t entry, uint32_t slot, uint64_t log, bool listed)
{
	struct dgi_slot_note *note = dgi_slots_note(hot->slots, slot);

	*note = (struct dgi_slot_note){ .entry = entry, .first_log = log };
	if (listed)
		list_append(hot, slot);
	dgi_table_set_hot(hot->table, entry, slot);
}

/* --- Chunks that have never been written --- */

static uint64_t repeat(const uint8_t *value, size_t element_bytes)
{
	uint64_t pattern;
	uint8_t bytes[sizeof pattern];

	for (size_t i = 0; i < sizeof bytes; i++)
		bytes[i] = value[i % element_bytes];
	memcpy(&pattern, bytes, sizeof pattern);
	return pattern;
}

static dg_status make_blank(struct dgi_hot *hot, uint32_t pages, uint64_t pattern, uint32_t *slot,
			    dg_error *err)
{
	const size_t words = (size_t)pages * DGI_PAGE_BYTES / sizeof pattern;
	size_t capacity = hot->blanks_capacity ? hot->blanks_capacity * 2 : 8;
	struct dgi_blank *blanks;
	uint64_t *at;
	dg_status st;

	if (hot->n_blanks == hot->blanks_capacity) {
		blanks = realloc(hot->blanks, capacity * sizeof *blanks);
		if (!blanks)
			return dgi_fail_memory(err, "hot chunks");
		hot->blanks = blanks;
		hot->blanks_capacity = capacity;
	}
	st = dgi_slots_take_apart(hot->slots, pages, slot, err);
	if (st)
		return st;
	at = (uint64_t *)(void *)dgi_slot_at(hot->table->segments, *slot);
	/* Late readers may be copying from what the slot was before. */
	for (size_t i = 0; i < words; i++)
		dgi_row_put((uint8_t *)(at + i), &pattern, sizeof pattern);
	hot->blanks[hot->n_blanks++] = (struct dgi_blank){ pages, pattern, *slot };
	return DG_OK;
}

dg_status dgi_hot_blank(struct dgi_hot *hot, uint32_t pages, const uint8_t *value,
			size_t element_bytes, uint32_t *slot, dg_error *err)
{
	uint64_t pattern = repeat(value, element_bytes);

	for (size_t i = 0; i < hot->n_blanks; i++)
		if (hot->blanks[i].pages == pages && hot->blanks[i].pattern == pattern) {
			*slot = hot->blanks[i].slot;
			return DG_OK;
		}
	return make_blank(hot, pages, pattern, slot, err);
}

void dgi_hot_show_blank(struct dgi_hot *hot, size_t entry, uint32_t slot, bool listed)
{
	uint32_t before;
	bool had_slot = dgi_table_is_writable(hot->table, entry, &before);

	if (had_slot && listed)
		list_remove(hot, before);
	dgi_table_set_hot(hot->table, entry, slot);
	dgi_table_freeze(hot->table, entry);
	if (had_slot)
		give(hot, before);
}

/* --- Freezing --- */

uint64_t dgi_hot_oldest(const struct dgi_hot *hot)
{
	if (hot->oldest == DGI_NO_SLOT)
		return UINT64_MAX;
	return dgi_slots_note(hot->slots, hot->oldest)->first_log;
}

static void freeze(struct dgi_hot *hot, uint32_t slot, struct dgi_frozen *out)
{
	struct dgi_slot_note *note = dgi_slots_note(hot->slots, slot);

	list_remove(hot, slot);
	dgi_table_freeze(hot->table, note->entry);
	*out = (struct dgi_frozen){ .entry = note->entry, .slot = slot };
#ifdef DGI_HOT_GIVE_EARLY /* a test shows that the slot must wait for the table */
	dgi_slots_give(hot->slots, slot);
#endif
}

/* Freezes the oldest chunk, and those of its group that hold the same rows. Returns how many. */
static size_t freeze_group(struct dgi_hot *hot, struct dgi_frozen *out)
{
	const struct dgi_catalogue *c = hot->catalogue;
	const struct dgi_slot_note *note = dgi_slots_note(hot->slots, hot->oldest);
	const uint64_t first_log = note->first_log;
	const size_t tensor = dgi_catalogue_of_entry(c, note->entry);
	const uint64_t chunk = note->entry - c->rows[tensor].first_entry;
	size_t n = 0;

	freeze(hot, hot->oldest, &out[n++]);
	for (size_t m = c->rows[tensor].next_member; m != tensor; m = c->rows[m].next_member) {
		uint32_t slot;

		if (!dgi_table_is_writable(hot->table, c->rows[m].first_entry + chunk, &slot))
			continue;
		/* As old as the first of them, so that the list stays in order if they thaw. */
		dgi_slots_note(hot->slots, slot)->first_log = first_log;
		freeze(hot, slot, &out[n++]);
	}
	return n;
}

size_t dgi_hot_freeze(struct dgi_hot *hot, uint64_t log, uint64_t bytes_max, size_t n_max,
		      struct dgi_frozen *out)
{
	uint64_t bytes = 0;
	size_t n = 0;

	while (n + DGI_GROUP_MAX <= n_max && bytes < bytes_max && dgi_hot_oldest(hot) <= log) {
		size_t more = freeze_group(hot, out + n);

		for (size_t i = n; i < n + more; i++)
			bytes += slot_bytes(hot, out[i].slot);
		n += more;
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
#ifndef DGI_HOT_GIVE_EARLY
	give(hot, frozen->slot);
#endif
}

void dgi_hot_thaw(struct dgi_hot *hot, const struct dgi_frozen *frozen)
{
	if (!is_shown(hot, frozen)) {
		give(hot, frozen->slot);
		return;
	}
	dgi_table_thaw(hot->table, frozen->entry);
	list_put_first(hot, frozen->slot);
}
