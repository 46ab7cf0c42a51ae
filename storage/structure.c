/* structure.c -- the structure arrays of graph.mdb. */
#include "structure.h"

#include "check.h"
#include "chunk.h"
#include "fail.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static struct dgi_segment_layout layout_of(const struct dgi_array *array, uint64_t segment)
{
	return dgi_segment_layout_of(dgi_array_elements(&array->info, segment) *
				     dg_dtype_bytes(array->info.dtype));
}

static struct dgi_key key_of(const struct dgi_array *array, uint64_t segment)
{
	return (struct dgi_key){ .kind = DGI_KIND_SEGMENT,
				 .etype = array->etype,
				 .array = array->kind,
				 .segment = (uint32_t)segment };
}

static dg_status make_space(struct dgi_structure *s, dg_error *err)
{
	size_t capacity = s->capacity ? s->capacity * 2 : 8;
	struct dgi_array *arrays;

	if (s->n < s->capacity)
		return DG_OK;
	arrays = realloc(s->arrays, capacity * sizeof *arrays);
	if (!arrays)
		return dgi_fail_memory(err, "structure arrays");
	s->arrays = arrays;
	s->capacity = capacity;
	return DG_OK;
}

dg_status dgi_structure_add_array(struct dgi_structure *s, const struct dgi_key *key,
				  const struct dgi_array_info *info, uint64_t file_bytes,
				  dg_error *err)
{
	struct dgi_array array = { .etype = key->etype, .kind = key->array, .info = *info };
	char text[DGI_KEY_TEXT_BYTES];
	dg_status st;

	dgi_key_text(key, text);
	if (info->n > file_bytes / dg_dtype_bytes(info->dtype))
		return dgi_fail(err, DG_CORRUPT,
				"%s: says %" PRIu64 " elements, more than its file can hold", text,
				info->n);
	array.n_segments = dgi_array_n_segments(info);
	/* Each segment has a page at least. */
	if (array.n_segments > file_bytes / DGI_PAGE_BYTES)
		return dgi_fail(err, DG_CORRUPT,
				"%s: says %" PRIu64 " segments, more than its file can hold", text,
				array.n_segments);
	st = make_space(s, err);
	if (st)
		return st;
	array.segments = calloc(array.n_segments ? array.n_segments : 1, sizeof *array.segments);
	if (!array.segments)
		return dgi_fail_memory(err, text);
	s->arrays[s->n++] = array;
	return DG_OK;
}

/* Steps over the arrays that have all their segments. */
static void skip_complete(struct dgi_structure *s)
{
	while (s->at_array < s->n && s->at_segment == s->arrays[s->at_array].n_segments) {
		s->at_array++;
		s->at_segment = 0;
	}
}

dg_status dgi_structure_add_segment(struct dgi_structure *s, const struct dgi_key *key,
				    uint64_t value_at, uint64_t value_bytes, dg_error *err)
{
	const struct dgi_array *array;
	struct dgi_segment_layout layout;
	char text[DGI_KEY_TEXT_BYTES];
	char wanted[DGI_KEY_TEXT_BYTES];
	struct dgi_key next;

	dgi_key_text(key, text);
	skip_complete(s);
	if (s->at_array == s->n)
		return dgi_fail(err, DG_CORRUPT, "%s: no array has it", text);
	array = &s->arrays[s->at_array];
	next = key_of(array, s->at_segment);
	if (key->etype != next.etype || key->array != next.array || key->segment != next.segment) {
		dgi_key_text(&next, wanted);
		return dgi_fail(err, DG_CORRUPT, "found %s, want %s", text, wanted);
	}
	layout = layout_of(array, s->at_segment);
	if (value_bytes != layout.value_bytes)
		return dgi_fail(err, DG_CORRUPT, "%s: value of %" PRIu64 " bytes, want %zu", text,
				value_bytes, layout.value_bytes);
	array->segments[s->at_segment++].value_at = value_at;
	return DG_OK;
}

dg_status dgi_structure_finish(struct dgi_structure *s, dg_error *err)
{
	char wanted[DGI_KEY_TEXT_BYTES];
	struct dgi_key next;

	skip_complete(s);
	if (s->at_array == s->n)
		return DG_OK;
	next = key_of(&s->arrays[s->at_array], s->at_segment);
	dgi_key_text(&next, wanted);
	return dgi_fail(err, DG_CORRUPT, "%s is missing", wanted);
}

void dgi_structure_clear(struct dgi_structure *s)
{
	for (size_t i = 0; i < s->n; i++) {
		for (uint64_t k = 0; k < s->arrays[i].n_segments; k++)
			free(atomic_load(&s->arrays[i].segments[k].pieces));
		free(s->arrays[i].segments);
	}
	free(s->arrays);
	*s = (struct dgi_structure){ 0 };
}

struct dgi_array *dgi_structure_find(const struct dgi_structure *s, uint16_t etype, uint8_t kind)
{
	size_t low = 0, high = s->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		struct dgi_array *array = &s->arrays[middle];

		if (array->etype == etype && array->kind == kind)
			return array;
		if (array->etype < etype || (array->etype == etype && array->kind < kind))
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

/* --- Reading --- */

/* Verifies header and sums; two threads may do so at once, and one's result is kept. */
static dg_status open_segment(const struct dgi_array *array, uint64_t number, const uint8_t *value,
			      const struct dgi_segment_layout *layout, const dg_uuid *store_uuid,
			      dg_error *err)
{
	struct dgi_segment *segment = &array->segments[number];
	struct dgi_key key = key_of(array, number);
	_Atomic uint64_t *none = NULL;
	_Atomic uint64_t *pieces;
	uint64_t seed;
	dg_status st;

	st = dgi_segment_read(value, layout, store_uuid, &key,
			      dgi_array_elements(&array->info, number), &seed, err);
	if (st)
		return st;
	pieces = calloc(layout->n_sums / 64 + 1, sizeof *pieces);
	if (!pieces)
		return dgi_fail_memory(err, "structure array");
	atomic_store(&segment->seed, seed);
	if (!atomic_compare_exchange_strong(&segment->pieces, &none, pieces))
		free(pieces);
	return DG_OK;
}

/* Verifies the pieces that hold bytes [from, to) of the payload and have not been yet. */
static dg_status verify_pieces(const struct dgi_array *array, uint64_t number, const uint8_t *value,
			       const struct dgi_segment_layout *layout, size_t from, size_t to,
			       dg_error *err)
{
	struct dgi_segment *segment = &array->segments[number];
	_Atomic uint64_t *pieces = atomic_load_explicit(&segment->pieces, memory_order_acquire);
	uint64_t seed = atomic_load(&segment->seed);
	size_t element_bytes = dg_dtype_bytes(array->info.dtype);

	for (size_t i = from / DGI_SEGMENT_PIECE_BYTES; i * DGI_SEGMENT_PIECE_BYTES < to; i++) {
		uint64_t bit = UINT64_C(1) << (i % 64);
		uint64_t first;

		if (atomic_load_explicit(&pieces[i / 64], memory_order_relaxed) & bit)
			continue;
		if (!dgi_segment_piece_holds(value, layout, seed, i)) {
			first = number * array->info.segment_elements +
				i * DGI_SEGMENT_PIECE_BYTES / element_bytes;
			return dgi_fail(err, DG_CORRUPT,
					"array %u of edge type %u: the checksum of the MiB from "
					"element %" PRIu64 " on does not match",
					array->kind, array->etype, first);
		}
		(void)atomic_fetch_or(&pieces[i / 64], bit);
	}
	return DG_OK;
}

/* Copies bytes [from, to) of a segment's payload to @out. */
static dg_status read_segment(const struct dgi_array *array, uint64_t number,
			      const struct dgi_map *map, const dg_uuid *store_uuid, size_t from,
			      size_t to, void *out, dg_error *err)
{
	struct dgi_segment_layout layout = layout_of(array, number);
	struct dgi_segment *segment = &array->segments[number];
	const uint8_t *value = dgi_map_at(map, segment->value_at);
	dg_status st = DG_OK;

	if (!atomic_load_explicit(&segment->pieces, memory_order_acquire))
		st = open_segment(array, number, value, &layout, store_uuid, err);
	if (!st)
		st = verify_pieces(array, number, value, &layout, from, to, err);
	if (!st)
		memcpy(out, value + DGI_RECORD_HEADER_BYTES + from, to - from);
	return st;
}

dg_status dgi_structure_read(struct dgi_array *array, const struct dgi_map *map,
			     const dg_uuid *store_uuid, uint64_t first, uint64_t n, void *out,
			     dg_error *err)
{
	size_t element_bytes = dg_dtype_bytes(array->info.dtype);
	uint8_t *to = out;

	DGI_ASSERT(first <= array->info.n && n <= array->info.n - first);
	while (n > 0) {
		uint64_t number = first / array->info.segment_elements;
		uint64_t at = first % array->info.segment_elements;
		uint64_t here = dgi_array_elements(&array->info, number) - at;
		dg_status st;

		if (here > n)
			here = n;
		st = read_segment(array, number, map, store_uuid, at * element_bytes,
				  (at + here) * element_bytes, to, err);
		if (st)
			return st;
		first += here;
		n -= here;
		to += here * element_bytes;
	}
	return DG_OK;
}
