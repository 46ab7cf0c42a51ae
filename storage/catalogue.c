/* catalogue.c -- the tensors of tensors.mdb and where their chunks are. */
#include "catalogue.h"

#include "fail.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static dg_status make_space(struct dgi_catalogue *c, dg_error *err)
{
	size_t capacity = c->capacity ? c->capacity * 2 : 8;
	dg_tensor_info *infos;
	struct dgi_rows *rows;

	if (c->n < c->capacity)
		return DG_OK;
	infos = realloc(c->infos, capacity * sizeof *infos);
	if (!infos)
		return dgi_fail_memory(err, "catalogue");
	c->infos = infos;
	rows = realloc(c->rows, capacity * sizeof *rows);
	if (!rows)
		return dgi_fail_memory(err, "catalogue");
	c->rows = rows;
	c->capacity = capacity;
	return DG_OK;
}

/* Two tensors that are changed together have the same rows, cut alike. */
static bool go_together(const dg_tensor_info *a, const dg_tensor_info *b)
{
	return a->side == b->side && a->type == b->type && a->numbering == b->numbering &&
	       a->n_rows == b->n_rows && a->chunk_rows == b->chunk_rows &&
	       a->durability == b->durability;
}

/* Puts the newest tensor into its group's ring, behind the first. */
static dg_status join_group(struct dgi_catalogue *c, dg_error *err)
{
	const dg_tensor_info *info = &c->infos[c->n - 1];
	size_t first, n_members = 1;

	c->rows[c->n - 1].next_member = c->n - 1;
	if (info->group == 0 || info->group == info->id)
		return DG_OK;
	if (!dgi_catalogue_find(c, info->group, &first) || c->infos[first].group != info->group ||
	    !go_together(info, &c->infos[first]))
		return dgi_fail(err, DG_CORRUPT,
				"tensor '%s': does not go with the group of tensor %" PRIu32,
				info->name, info->group);
	for (size_t m = c->rows[first].next_member; m != first; m = c->rows[m].next_member)
		n_members++;
	if (n_members == DGI_GROUP_MAX)
		return dgi_fail(err, DG_CORRUPT, "tensor '%s': more than %d tensors in a group",
				info->name, DGI_GROUP_MAX);
	c->rows[c->n - 1].next_member = c->rows[first].next_member;
	c->rows[first].next_member = c->n - 1;
	return DG_OK;
}

dg_status dgi_catalogue_add_tensor(struct dgi_catalogue *c, const struct dgi_key *key,
				   const dg_tensor_info *info, uint64_t file_bytes, dg_error *err)
{
	struct dgi_rows rows = { .tensor = info->id, .first_entry = c->n_chunks };
	uint64_t pages_left = file_bytes / DGI_PAGE_BYTES - c->pages;
	dg_status st;

	if (info->id != key->tensor)
		return dgi_fail(err, DG_CORRUPT,
				"description of tensor %" PRIu32
				" under the key of tensor %" PRIu32,
				info->id, key->tensor);
	if (c->n == DG_TENSORS_MAX)
		return dgi_fail(err, DG_CORRUPT, "more than %d tensors", DG_TENSORS_MAX);
	rows.cut = dgi_cut_of(info);
	if (rows.cut.n_chunks > pages_left / info->chunk_pages)
		return dgi_fail(err, DG_CORRUPT,
				"tensor '%s': says %" PRId64 " rows, more than its file can hold",
				info->name, info->n_rows);
	st = make_space(c, err);
	if (st)
		return st;
	c->infos[c->n] = *info;
	c->rows[c->n++] = rows;
	c->n_chunks += rows.cut.n_chunks;
	c->pages += rows.cut.n_chunks * info->chunk_pages;
	return join_group(c, err);
}

static dg_status fail_chunk(const struct dgi_catalogue *c, size_t tensor, uint64_t chunk,
			    const char *what, dg_error *err)
{
	const struct dgi_cut *cut = &c->rows[tensor].cut;
	uint64_t first = chunk * cut->chunk_rows;

	return dgi_fail(
		err, DG_CORRUPT, "tensor '%s' rows %" PRIu64 "..%" PRIu64 ": chunk %" PRIu64 " %s",
		c->infos[tensor].name, first, first + dgi_cut_rows(cut, chunk) - 1, chunk, what);
}

/* The chunk that is expected next; false when all have been found. */
static bool next_chunk(struct dgi_catalogue *c, uint64_t *chunk)
{
	while (c->at_tensor < c->n) {
		const struct dgi_rows *rows = &c->rows[c->at_tensor];

		*chunk = c->n_found - rows->first_entry;
		if (*chunk < rows->cut.n_chunks)
			return true;
		c->at_tensor++;
	}
	return false;
}

/* Why a chunk that was not expected is wrong. */
static dg_status fail_unexpected(struct dgi_catalogue *c, const struct dgi_key *key,
				 bool more_wanted, uint64_t wanted, dg_error *err)
{
	size_t tensor;

	if (!dgi_catalogue_find(c, key->tensor, &tensor))
		return dgi_fail(err, DG_CORRUPT,
				"chunk %" PRIu64 " of tensor %" PRIu32
				", which is not in the catalogue",
				key->chunk, key->tensor);
	if (key->chunk >= c->rows[tensor].cut.n_chunks)
		return dgi_fail(err, DG_CORRUPT,
				"tensor '%s': chunk %" PRIu64 " is behind its last, %" PRIu64,
				c->infos[tensor].name, key->chunk, c->rows[tensor].cut.n_chunks);
	if (c->rows[tensor].first_entry + key->chunk < c->n_found)
		return fail_chunk(c, tensor, key->chunk, "is there twice", err);
	return more_wanted ? fail_chunk(c, c->at_tensor, wanted, "is missing", err)
			   : dgi_fail(err, DG_CORRUPT, "chunks out of order");
}

dg_status dgi_catalogue_add_chunk(struct dgi_catalogue *c, const struct dgi_key *key,
				  uint64_t value_at, uint64_t value_bytes, dg_error *err)
{
	uint64_t wanted = 0;
	bool more_wanted = next_chunk(c, &wanted);
	const struct dgi_cut *cut;

	if (!more_wanted || key->tensor != c->rows[c->at_tensor].tensor || key->chunk != wanted)
		return fail_unexpected(c, key, more_wanted, wanted, err);
	cut = &c->rows[c->at_tensor].cut;
	if (value_bytes != cut->value_bytes)
		return fail_chunk(c, c->at_tensor, wanted, "has another size than its tensor's",
				  err);
	if (value_at % DGI_PAGE_BYTES != DGI_PAGE_HEADER_BYTES)
		return fail_chunk(c, c->at_tensor, wanted, "has no pages of its own", err);
	if (!c->images) {
		c->images = calloc(c->n_chunks, sizeof *c->images);
		if (!c->images)
			return dgi_fail_memory(err, "chunk table");
	}
	c->images[c->n_found] = (struct dgi_image){
		.entry = c->n_found,
		.page = value_at / DGI_PAGE_BYTES,
		.log = key->log,
	};
	c->n_found++;
	return DG_OK;
}

dg_status dgi_catalogue_finish(struct dgi_catalogue *c, dg_error *err)
{
	uint64_t wanted;

	if (next_chunk(c, &wanted))
		return fail_chunk(c, c->at_tensor, wanted, "is missing", err);
	return DG_OK;
}

void dgi_catalogue_clear(struct dgi_catalogue *c)
{
	free(c->infos);
	free(c->rows);
	free(c->images);
	*c = (struct dgi_catalogue){ 0 };
}

bool dgi_catalogue_find(const struct dgi_catalogue *c, uint32_t tensor, size_t *index)
{
	size_t low = 0, high = c->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (c->infos[middle].id < tensor)
			low = middle + 1;
		else
			high = middle;
	}
	*index = low;
	return low < c->n && c->infos[low].id == tensor;
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
