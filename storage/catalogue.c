/* catalogue.c -- the tensors of tensors.mdb and where their chunks are. */
#include "catalogue.h"

#include "fail.h"
#include "reserve.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define HASH_SLOTS (4 * DGI_CATALOGUE_PLACES) /* a power of two */

/* --- Places --- */

static size_t hash_of(uint32_t tensor)
{
	return (size_t)(tensor * UINT32_C(0x9e3779b1)) & (HASH_SLOTS - 1);
}

/* The place of a tensor, whether it lives or is gone. */
static bool find_place(const struct dgi_catalogue *c, uint32_t tensor, size_t *index)
{
	size_t at = hash_of(tensor);
	uint32_t place;

	if (!c->places)
		return false;
	while ((place = atomic_load_explicit(&c->places[at], memory_order_acquire))) {
		if (c->infos[place - 1].id == tensor) {
			*index = place - 1;
			return true;
		}
		at = (at + 1) & (HASH_SLOTS - 1);
	}
	return false;
}

static void note_place(struct dgi_catalogue *c, uint32_t tensor, size_t index)
{
	size_t at = hash_of(tensor);

	while (atomic_load_explicit(&c->places[at], memory_order_relaxed))
		at = (at + 1) & (HASH_SLOTS - 1);
	atomic_store_explicit(&c->places[at], (uint32_t)index + 1, memory_order_release);
}

dg_status dgi_catalogue_reserve(struct dgi_catalogue *c, size_t n, dg_error *err)
{
	if (!c->infos)
		c->infos = dgi_reserve(DGI_CATALOGUE_PLACES, sizeof *c->infos);
	if (!c->rows)
		c->rows = dgi_reserve(DGI_CATALOGUE_PLACES, sizeof *c->rows);
	if (!c->lives)
		c->lives = dgi_reserve(DGI_CATALOGUE_PLACES, sizeof *c->lives);
	if (!c->places)
		c->places = dgi_reserve(HASH_SLOTS, sizeof *c->places);
	if (!c->infos || !c->rows || !c->lives || !c->places)
		return dgi_fail_memory(err, "catalogue");
	if (n > DGI_CATALOGUE_PLACES - c->n)
		return dgi_fail(err, DG_FULL,
				"%d tensors, living and dropped, since the store was opened: open "
				"it anew",
				DGI_CATALOGUE_PLACES);
	return DG_OK;
}

/* --- Tensors --- */

bool dgi_catalogue_go_together(const dg_tensor_info *a, const dg_tensor_info *b)
{
	return a->side == b->side && a->type == b->type && a->numbering == b->numbering &&
	       a->n_rows == b->n_rows && a->chunk_rows == b->chunk_rows &&
	       a->durability == b->durability;
}

/* May the tensor join its group, as far as that is there? */
static dg_status check_group(const struct dgi_catalogue *c, const dg_tensor_info *info,
			     dg_error *err)
{
	size_t first, n_members = 1;

	if (info->group == 0 || info->group == info->id)
		return DG_OK;
	if (!find_place(c, info->group, &first) || c->infos[first].group != info->group ||
	    !dgi_catalogue_go_together(info, &c->infos[first]))
		return dgi_fail(err, DG_CORRUPT,
				"tensor '%s': does not go with the group of tensor %" PRIu32,
				info->name, info->group);
	for (size_t m = c->rows[first].next_member; m != first; m = c->rows[m].next_member)
		n_members++;
	if (n_members == DGI_GROUP_MAX)
		return dgi_fail(err, DG_CORRUPT, "tensor '%s': more than %d tensors in a group",
				info->name, DGI_GROUP_MAX);
	return DG_OK;
}

size_t dgi_catalogue_append(struct dgi_catalogue *c, const struct dgi_tensor_record *record)
{
	const dg_tensor_spec *spec = &record->spec;
	const dg_tensor_info *info = &spec->info;
	const size_t place = c->n;
	struct dgi_life *life = &c->lives[place];
	struct dgi_rows *rows = &c->rows[place];
	size_t first;

	c->infos[place] = *info;
	rows->tensor = info->id;
	rows->first_entry = c->n_chunks;
	rows->next_member = place;
	rows->cut = dgi_cut_of(info);
	life->uuid = spec->uuid;
	life->lifetime = spec->lifetime;
	memcpy(life->owner, spec->owner, sizeof life->owner);
	life->seed = spec->seed;
	memcpy(life->value, spec->value, sizeof life->value);
	life->sparse = record->sparse;
	/* Into its group's ring, behind the first. */
	if (info->group && info->group != info->id && find_place(c, info->group, &first)) {
		rows->next_member = c->rows[first].next_member;
		c->rows[first].next_member = place;
	}
	c->n_chunks += rows->cut.n_chunks;
	if (record->sparse)
		c->n_sparse_chunks += rows->cut.n_chunks;
	else
		c->pages += rows->cut.n_chunks * info->chunk_pages;
	c->n = place + 1;
	note_place(c, info->id, place);
	return place;
}

static dg_status add_tombstone(struct dgi_catalogue *c, const dg_tensor_spec *spec, dg_error *err)
{
	size_t capacity = c->dead_capacity ? c->dead_capacity * 2 : 16;
	struct dgi_tombstone *dead;

	if (c->n_dead == c->dead_capacity) {
		dead = realloc(c->dead, capacity * sizeof *dead);
		if (!dead)
			return dgi_fail_memory(err, "catalogue");
		c->dead = dead;
		c->dead_capacity = capacity;
	}
	c->dead[c->n_dead++] = (struct dgi_tombstone){ .id = spec->info.id, .uuid = spec->uuid };
	return DG_OK;
}

/* Can the chunks be? A file holds them all, or need not. */
static dg_status check_chunks(const struct dgi_catalogue *c, const struct dgi_tensor_record *record,
			      uint64_t file_bytes, dg_error *err)
{
	const dg_tensor_info *info = &record->spec.info;
	const struct dgi_cut cut = dgi_cut_of(info);
	uint64_t file_pages = file_bytes / DGI_PAGE_BYTES;

	if (record->sparse && cut.n_chunks > DGI_SPARSE_CHUNKS_MAX - c->n_sparse_chunks)
		return dgi_fail(err, DG_CORRUPT,
				"tensor '%s': says %" PRId64
				" rows, more chunks than there may be (%" PRIu64 ")",
				info->name, info->n_rows, DGI_SPARSE_CHUNKS_MAX);
	if (!record->sparse && cut.n_chunks > (file_pages - c->pages) / info->chunk_pages)
		return dgi_fail(err, DG_CORRUPT,
				"tensor '%s': says %" PRId64 " rows, more than its file can hold",
				info->name, info->n_rows);
	return DG_OK;
}

dg_status dgi_catalogue_add_tensor(struct dgi_catalogue *c, const struct dgi_key *key,
				   const struct dgi_tensor_record *record, uint64_t file_bytes,
				   dg_error *err)
{
	const dg_tensor_info *info = &record->spec.info;
	dg_status st;

	if (info->id != key->tensor)
		return dgi_fail(err, DG_CORRUPT,
				"description of tensor %" PRIu32
				" under the key of tensor %" PRIu32,
				info->id, key->tensor);
	if (record->dropped)
		return add_tombstone(c, &record->spec, err);
	if (c->n == DG_TENSORS_MAX)
		return dgi_fail(err, DG_CORRUPT, "more than %d tensors", DG_TENSORS_MAX);
	st = check_chunks(c, record, file_bytes, err);
	if (!st)
		st = dgi_catalogue_reserve(c, 1, err);
	if (!st)
		st = check_group(c, info, err);
	if (!st)
		(void)dgi_catalogue_append(c, record);
	return st;
}

/* --- Chunks --- */

static dg_status fail_chunk(const struct dgi_catalogue *c, size_t tensor, uint64_t chunk,
			    const char *what, dg_error *err)
{
	const struct dgi_cut *cut = &c->rows[tensor].cut;
	uint64_t first = chunk * cut->chunk_rows;

	return dgi_fail(
		err, DG_CORRUPT, "tensor '%s' rows %" PRIu64 "..%" PRIu64 ": chunk %" PRIu64 " %s",
		c->infos[tensor].name, first, first + dgi_cut_rows(cut, chunk) - 1, chunk, what);
}

/* Chunks up to @entry, which it is not, are passed over. Is one missing among them? */
static dg_status pass_over(struct dgi_catalogue *c, size_t entry, dg_error *err)
{
	while (c->next_entry < entry) {
		const struct dgi_rows *rows = &c->rows[c->at_tensor];
		size_t end = rows->first_entry + rows->cut.n_chunks;

		if (c->next_entry >= end)
			c->at_tensor++;
		else if (!c->lives[c->at_tensor].sparse)
			return fail_chunk(c, c->at_tensor, c->next_entry - rows->first_entry,
					  "is missing", err);
		else
			c->next_entry = end < entry ? end : entry;
	}
	return DG_OK;
}

static dg_status add_image(struct dgi_catalogue *c, size_t entry, uint64_t page, uint64_t log,
			   dg_error *err)
{
	if (!c->images)
		c->images = calloc(c->n_chunks, sizeof *c->images);
	if (!c->images)
		return dgi_fail_memory(err, "chunk table");
	c->images[entry] = (struct dgi_image){ .entry = entry, .page = page, .log = log };
	c->next_entry = entry + 1;
	return DG_OK;
}

dg_status dgi_catalogue_add_chunk(struct dgi_catalogue *c, const struct dgi_key *key,
				  uint64_t value_at, uint64_t value_bytes, dg_error *err)
{
	struct dgi_tombstone *dead = dgi_catalogue_tombstone(c, key->tensor);
	const struct dgi_cut *cut;
	size_t tensor, entry;
	dg_status st;

	if (dead) {
		dead->has_chunks = true;
		return DG_OK;
	}
	if (!dgi_catalogue_find(c, key->tensor, &tensor))
		return dgi_fail(err, DG_CORRUPT,
				"chunk %" PRIu64 " of tensor %" PRIu32
				", which is not in the catalogue",
				key->chunk, key->tensor);
	cut = &c->rows[tensor].cut;
	if (key->chunk >= cut->n_chunks)
		return dgi_fail(err, DG_CORRUPT,
				"tensor '%s': chunk %" PRIu64 " is behind its last, %" PRIu64,
				c->infos[tensor].name, key->chunk, cut->n_chunks);
	entry = c->rows[tensor].first_entry + key->chunk;
	if (entry < c->next_entry)
		return fail_chunk(c, tensor, key->chunk, "is there twice", err);
	st = pass_over(c, entry, err);
	if (st)
		return st;
	if (value_bytes != cut->value_bytes)
		return fail_chunk(c, tensor, key->chunk, "has another size than its tensor's", err);
	if (value_at % DGI_PAGE_BYTES != DGI_PAGE_HEADER_BYTES)
		return fail_chunk(c, tensor, key->chunk, "has no pages of its own", err);
	return add_image(c, entry, value_at / DGI_PAGE_BYTES, key->log, err);
}

dg_status dgi_catalogue_finish(struct dgi_catalogue *c, dg_error *err)
{
	return pass_over(c, c->n_chunks, err);
}

void dgi_catalogue_clear(struct dgi_catalogue *c)
{
	dgi_unreserve(c->infos, DGI_CATALOGUE_PLACES, sizeof *c->infos);
	dgi_unreserve(c->rows, DGI_CATALOGUE_PLACES, sizeof *c->rows);
	dgi_unreserve(c->lives, DGI_CATALOGUE_PLACES, sizeof *c->lives);
	dgi_unreserve(c->places, HASH_SLOTS, sizeof *c->places);
	free(c->dead);
	free(c->images);
	*c = (struct dgi_catalogue){ 0 };
}

/* --- Finding --- */

bool dgi_catalogue_find(const struct dgi_catalogue *c, uint32_t tensor, size_t *index)
{
	return find_place(c, tensor, index) && !dgi_catalogue_is_gone(c, *index);
}

struct dgi_tombstone *dgi_catalogue_tombstone(const struct dgi_catalogue *c, uint32_t tensor)
{
	size_t low = 0, high = c->n_dead;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (c->dead[middle].id < tensor)
			low = middle + 1;
		else
			high = middle;
	}
	return low < c->n_dead && c->dead[low].id == tensor ? &c->dead[low] : NULL;
}

bool dgi_catalogue_is_dead(const struct dgi_catalogue *c, uint32_t tensor)
{
	size_t index;

	return find_place(c, tensor, &index) ? dgi_catalogue_is_gone(c, index)
					     : dgi_catalogue_tombstone(c, tensor) != NULL;
}

size_t dgi_catalogue_of_entry(const struct dgi_catalogue *c, size_t entry)
{
	size_t low = 0, high = c->n;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (c->rows[middle].first_entry <= entry)
			low = middle;
		else
			high = middle;
	}
	return low;
}
