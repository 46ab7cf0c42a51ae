/* check_data.c -- the segments of structure arrays and the chunks of tensors, each looked at once. */
#include "checking.h"

#include "bytes.h"
#include "fail.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define SUMS_MAX (DGI_SEGMENT_BYTES_MAX / DGI_SEGMENT_PIECE_BYTES)

/* --- What belongs to nothing --- */

static void tell_strays(struct dgi_checking *c)
{
	const struct dgi_key *first = &c->strays.first;
	char name[DG_KEY_TEXT_BYTES];
	dg_error what;

	if (c->strays.n == 0)
		return;
	if (first->kind == DGI_KIND_SEGMENT) {
		c->hooks->name_array(c->hooks->context, first->etype, first->array, name);
		(void)dgi_fail(&what, DG_CORRUPT, "%" PRIu64 " segments that its description lacks",
			       c->strays.n);
		dgi_check_tell(c, DG_CORRUPT, &what, "%s", name);
	} else {
		(void)dgi_fail(&what, DG_CORRUPT, "%" PRIu64 " chunks that the catalogue lacks",
			       c->strays.n);
		dgi_check_tell(c, DG_CORRUPT, &what, "tensor number %" PRIu32, first->tensor);
	}
	c->strays.n = 0;
}

/* One after another of the same array or tensor is one finding. */
static void add_stray(struct dgi_checking *c, const struct dgi_key *key)
{
	const struct dgi_key *first = &c->strays.first;

	if (c->strays.n > 0 && (first->kind != key->kind || first->etype != key->etype ||
				first->array != key->array || first->tensor != key->tensor))
		tell_strays(c);
	if (c->strays.n++ == 0)
		c->strays.first = *key;
}

/* --- Segments --- */

static void tell_elements(struct dgi_checking *c, const struct dgi_array *array, uint64_t first,
			  uint64_t n, dg_status st, const dg_error *what)
{
	char name[DG_KEY_TEXT_BYTES];

	c->hooks->name_array(c->hooks->context, array->etype, array->kind, name);
	dgi_check_tell(c, st, what, "%s elements %" PRIu64 "..%" PRIu64, name, first,
		       first + n - 1);
}

/* A segment being verified. */
struct segment {
	const struct dgi_array *array;
	uint64_t value_at;
	uint64_t first; /* element */
	uint64_t n;
	struct dgi_segment_layout layout;
	uint8_t header[DGI_RECORD_HEADER_BYTES];
	uint8_t sums[SUMS_MAX * 8];
	uint64_t seed;
};

/* Header and sums. */
static dg_status check_sums(struct dgi_checking *c, struct segment *s, const struct dgi_key *key,
			    dg_error *err)
{
	const struct dgi_segment_layout *layout = &s->layout;
	struct dgi_record record;
	dg_status st = dgi_check_read(c, s->value_at, s->header, sizeof s->header, err);

	if (!st)
		st = dgi_record_header(s->header, layout->value_bytes, key->kind, &record, err);
	if (st)
		return st;
	if (record.payload_bytes != layout->payload_bytes || record.count != s->n)
		return dgi_fail(err, DG_CORRUPT,
				"record of %" PRIu64 " elements in %" PRIu64 " bytes, want %" PRIu64
				" in %zu",
				record.count, record.payload_bytes, s->n, layout->payload_bytes);
	st = dgi_check_read(c, s->value_at + layout->sums_at, s->sums, layout->n_sums * 8, err);
	if (st)
		return st;
	if (!dgi_record_holds(s->header, &c->store_uuid, key, s->sums, layout->n_sums * 8))
		return dgi_fail(err, DG_CORRUPT, "the checksum of its sums does not match");
	s->seed = dgi_record_seed(&c->store_uuid, key, s->header);
	return DG_OK;
}

/* The filling around the sums. */
static dg_status check_filling(struct dgi_checking *c, const struct segment *s, dg_error *err)
{
	size_t payload_end = DGI_RECORD_HEADER_BYTES + s->layout.payload_bytes;
	size_t sums_end = s->layout.sums_at + s->layout.n_sums * 8;
	size_t before = s->layout.sums_at - payload_end;
	size_t behind = s->layout.value_bytes - sums_end;
	dg_status st = dgi_check_read(c, s->value_at + payload_end, c->room, before, err);

	if (!st)
		st = dgi_check_read(c, s->value_at + sums_end, c->room + before, behind, err);
	if (!st && !dgi_check_zeros(c->room, before + behind))
		st = dgi_fail(err, DG_CORRUPT, "bytes behind the elements are not 0");
	return st;
}

static dg_status check_piece(struct dgi_checking *c, const struct segment *s, size_t i, size_t n,
			     dg_error *err)
{
	uint64_t at = s->value_at + DGI_RECORD_HEADER_BYTES + i * DGI_SEGMENT_PIECE_BYTES;
	dg_status st = dgi_check_read(c, at, c->room, n, err);

	if (!st && dgi_segment_sum(c->room, n, s->seed, i) != dgi_get_u64(s->sums + 8 * i))
		st = dgi_fail(err, DG_CORRUPT, "checksum does not match");
	return st;
}

static void check_pieces(struct dgi_checking *c, const struct segment *s)
{
	size_t element_bytes = dg_dtype_bytes(s->array->info.dtype);
	uint64_t in_piece = DGI_SEGMENT_PIECE_BYTES / element_bytes;

	for (size_t i = 0; i < s->layout.n_sums; i++) {
		uint64_t first = i * in_piece;
		uint64_t n = s->n - first < in_piece ? s->n - first : in_piece;
		dg_error what;
		dg_status st = check_piece(c, s, i, (size_t)n * element_bytes, &what);

		c->report->chunks++;
		c->report->bytes += n * element_bytes;
		if (st)
			tell_elements(c, s->array, s->first + first, n, st, &what);
		else
			c->hooks->elements(c->hooks->context, s->array->etype, s->array->kind,
					   (int64_t)(s->first + first), (int64_t)n, c->room);
	}
}

void dgi_check_segment(struct dgi_checking *c, const struct dgi_key *key,
		       const struct dgi_walk_record *found)
{
	const struct dgi_array *array = dgi_structure_find(&c->structure, key->etype, key->array);
	struct segment s = { .array = array, .value_at = found->value_at };
	dg_error what;
	dg_status st = DG_OK;

	if (!array || key->segment >= array->n_segments) {
		add_stray(c, key);
		return;
	}
	array->segments[key->segment].value_at = found->value_at;
	s.first = key->segment * array->info.segment_elements;
	s.n = dgi_array_elements(&array->info, key->segment);
	s.layout = dgi_segment_layout_of(s.n * dg_dtype_bytes(array->info.dtype));
	if (found->value_bytes != s.layout.value_bytes)
		st = dgi_fail(&what, DG_CORRUPT, "value of %" PRIu64 " bytes, want %zu",
			      found->value_bytes, s.layout.value_bytes);
	if (!st)
		st = check_sums(c, &s, key, &what);
	if (!st && c->deep) {
		check_pieces(c, &s);
		st = check_filling(c, &s, &what);
	}
	if (st)
		tell_elements(c, array, s.first, s.n, st, &what);
}

static void tell_missing_segments(struct dgi_checking *c, const struct dgi_array *array)
{
	for (uint64_t i = 0; i < array->n_segments; i++) {
		uint64_t from = i;
		uint64_t first = from * array->info.segment_elements;
		dg_error what;

		while (i < array->n_segments && array->segments[i].value_at == 0)
			i++;
		if (i == from)
			continue;
		(void)dgi_fail(&what, DG_CORRUPT, "missing");
		tell_elements(c, array, first,
			      (i - 1 - from) * array->info.segment_elements +
				      dgi_array_elements(&array->info, i - 1),
			      DG_CORRUPT, &what);
	}
}

/* --- Chunks --- */

/* Rows of chunks [chunk, chunk + n_chunks). */
static void tell_rows(struct dgi_checking *c, size_t tensor, uint64_t chunk, uint64_t n_chunks,
		      dg_status st, const dg_error *what)
{
	const struct dgi_cut *cut = &c->catalogue.rows[tensor].cut;
	uint64_t first = chunk * cut->chunk_rows;
	uint64_t last_chunk = chunk + n_chunks - 1;
	char name[DG_KEY_TEXT_BYTES];

	c->hooks->name_tensor(c->hooks->context, &c->catalogue.infos[tensor], name);
	dgi_check_tell(c, st, what, "%s rows %" PRIu64 "..%" PRIu64, name, first,
		       last_chunk * cut->chunk_rows + dgi_cut_rows(cut, last_chunk) - 1);
}

/* Header, and with @deep checksum and filling. */
static dg_status check_image(struct dgi_checking *c, const struct dgi_cut *cut,
			     const struct dgi_key *key, const struct dgi_walk_record *found,
			     dg_error *err)
{
	uint32_t n_rows = dgi_cut_rows(cut, key->chunk);
	size_t payload_bytes = (size_t)n_rows * cut->row_bytes;
	const uint8_t *payload = c->room + DGI_RECORD_HEADER_BYTES;
	struct dgi_record record;
	dg_status st;

	if (found->value_bytes != cut->value_bytes)
		return dgi_fail(err, DG_CORRUPT, "value of %" PRIu64 " bytes, want %" PRIu32,
				found->value_bytes, cut->value_bytes);
	if (found->value)
		return dgi_fail(err, DG_CORRUPT, "value has no pages of its own");
	st = dgi_check_read(c, found->value_at, c->room,
			    c->deep ? cut->value_bytes : DGI_RECORD_HEADER_BYTES, err);
	if (!st)
		st = dgi_record_header(c->room, cut->value_bytes, key->kind, &record, err);
	if (st)
		return st;
	if (record.payload_bytes != payload_bytes || record.count != n_rows ||
	    record.log != key->log)
		return dgi_fail(err, DG_CORRUPT,
				"record of %" PRIu64 " rows, %" PRIu64 " bytes, image %" PRIu64
				", want %" PRIu32 ", %zu, %" PRIu64,
				record.count, record.payload_bytes, record.log, n_rows,
				payload_bytes, key->log);
	if (!c->deep)
		return DG_OK;
	c->report->chunks++;
	c->report->bytes += payload_bytes;
	if (!dgi_record_holds(c->room, &c->store_uuid, key, payload, payload_bytes))
		return dgi_fail(err, DG_CORRUPT, "checksum does not match");
	if (!dgi_check_zeros(payload + payload_bytes,
			     cut->value_bytes - DGI_RECORD_HEADER_BYTES - payload_bytes))
		return dgi_fail(err, DG_CORRUPT, "bytes behind the rows are not 0");
	return DG_OK;
}

dg_status dgi_check_chunk(struct dgi_checking *c, const struct dgi_key *key,
			  const struct dgi_walk_record *found, dg_error *err)
{
	const struct dgi_rows *rows;
	uint64_t entry, bit;
	dg_error what;
	dg_status st;
	size_t i;

	if (dgi_catalogue_tombstone(&c->catalogue, key->tensor))
		return DG_OK; /* left over: will be deleted */
	if (!c->chunks_found)
		c->chunks_found = calloc(c->catalogue.n_chunks / 64 + 1, sizeof *c->chunks_found);
	if (!c->chunks_found)
		return dgi_fail_memory(err, "bitmap of chunks");
	if (!dgi_catalogue_find(&c->catalogue, key->tensor, &i) ||
	    key->chunk >= c->catalogue.rows[i].cut.n_chunks) {
		add_stray(c, key);
		return DG_OK;
	}
	if (key->log > c->log)
		c->log = key->log;
	rows = &c->catalogue.rows[i];
	entry = rows->first_entry + key->chunk;
	bit = UINT64_C(1) << (entry % 64);
	st = c->chunks_found[entry / 64] & bit ? dgi_fail(&what, DG_CORRUPT, "there twice")
					       : check_image(c, &rows->cut, key, found, &what);
	c->chunks_found[entry / 64] |= bit;
	if (st)
		tell_rows(c, i, key->chunk, 1, st, &what);
	return DG_OK;
}

static bool has_chunk(const struct dgi_checking *c, uint64_t entry)
{
	return c->chunks_found && c->chunks_found[entry / 64] >> (entry % 64) & 1;
}

static void tell_missing_chunks(struct dgi_checking *c, size_t tensor)
{
	const struct dgi_rows *rows = &c->catalogue.rows[tensor];

	for (uint64_t i = 0; i < rows->cut.n_chunks; i++) {
		uint64_t from = i;
		dg_error what;

		while (i < rows->cut.n_chunks && !has_chunk(c, rows->first_entry + i))
			i++;
		if (i == from)
			continue;
		(void)dgi_fail(&what, DG_CORRUPT, "missing");
		tell_rows(c, tensor, from, i - from, DG_CORRUPT, &what);
	}
}

void dgi_check_missing_data(struct dgi_checking *c)
{
	tell_strays(c);
	for (size_t i = 0; i < c->structure.n; i++)
		tell_missing_segments(c, &c->structure.arrays[i]);
	for (size_t i = 0; i < c->catalogue.n; i++)
		if (!c->catalogue.lives[i].sparse)
			tell_missing_chunks(c, i);
}
