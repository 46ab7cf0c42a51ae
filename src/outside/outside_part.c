/* outside_part.c -- the outside ids of one store: read, searched, answered from. */
#include "outside.h"

#include "book.h"
#include "fail.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define RUN 256 /* hashes that are read at once when the search has come down to so few */

uint64_t dgi_outside_hash_integer(int64_t id)
{
	/* The output mix of SplitMix64, which is a bijection. */
	uint64_t x = (uint64_t)id + UINT64_C(0x9e3779b97f4a7c15);

	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

uint64_t dgi_outside_hash_string(const void *text, size_t n, uint64_t seed)
{
	return XXH3_64bits_withSeed(text, n, seed);
}

/* --- Opening --- */

static dg_status fail_head(const struct dgi_outside_part *p, uint16_t type, dg_error *err)
{
	return dgi_fail(err, DG_CORRUPT,
			"outside ids of node type %u in part %" PRIu32
			": their head does not fit the other arrays",
			type, p->part);
}

/* Elements of an array; 0 where it is not there. */
static int64_t length_of(const struct dgi_outside_part *p, enum dgi_outside_array array,
			 dg_dtype *dtype)
{
	int64_t n = 0;

	return dgi_volume_array(p->volume, DGI_OUTSIDE_ETYPE, (uint8_t)array, dtype, &n, NULL) ? 0
											       : n;
}

static bool lies_within(int64_t at, int64_t n, int64_t length)
{
	return at >= 0 && n >= 0 && at <= length && n <= length - at;
}

static dg_status check_type(const struct dgi_outside_part *p, uint16_t type, dg_error *err)
{
	const int64_t *head = p->head + (size_t)type * DGI_OUTSIDE_FIELDS;
	dg_dtype values = DG_INT64, hashes = DG_INT64, ids = DG_INT64;
	int64_t n_values = length_of(p, DGI_OUTSIDE_VALUES, &values);
	int64_t n_hashes = length_of(p, DGI_OUTSIDE_HASHES, &hashes);
	int64_t n_ids = length_of(p, DGI_OUTSIDE_IDS, &ids);
	dg_id start, end;
	int64_t n;

	if (head[DGI_OUTSIDE_FORM] == DG_OUTSIDE_NUMBERS)
		return DG_OK;
	dg_book_range(p->book, DG_NODE, type, p->part, &start, &end);
	n = end - start + (head[DGI_OUTSIDE_FORM] == DG_OUTSIDE_STRINGS);
	if ((head[DGI_OUTSIDE_FORM] != DG_OUTSIDE_INTEGERS &&
	     head[DGI_OUTSIDE_FORM] != DG_OUTSIDE_STRINGS) ||
	    values != DG_INT64 || hashes != DG_INT64 || n_ids != n_hashes ||
	    !lies_within(head[DGI_OUTSIDE_VALUES_AT], n, n_values) ||
	    !lies_within(head[DGI_OUTSIDE_INDEX_AT], head[DGI_OUTSIDE_INDEX_N], n_hashes))
		return fail_head(p, type, err);
	return DG_OK;
}

dg_status dgi_outside_part_open(struct dgi_volume *volume, const dg_book *book, uint32_t part,
				struct dgi_outside_part *out, dg_error *err)
{
	uint16_t n_types = dg_book_n_node_types(book);
	dg_dtype dtype = DG_INT64;
	int64_t n;
	dg_status st = DG_OK;

	*out = (struct dgi_outside_part){ .volume = volume, .book = book, .part = part };
	n = length_of(out, DGI_OUTSIDE_HEAD, &dtype);
	if (n == 0)
		return DG_OK;
	if (n != (int64_t)n_types * DGI_OUTSIDE_FIELDS || dtype != DG_INT64)
		return dgi_fail(err, DG_CORRUPT,
				"outside ids of part %" PRIu32 ": a head of %" PRId64
				" numbers, want %d for each of %u types",
				part, n, DGI_OUTSIDE_FIELDS, n_types);
	out->head = malloc((size_t)n * sizeof *out->head);
	if (!out->head)
		return dgi_fail_memory(err, "outside ids");
	st = dgi_volume_array_read(volume, DGI_OUTSIDE_ETYPE, DGI_OUTSIDE_HEAD, 0, n, out->head,
				   err);
	for (uint16_t t = 0; !st && t < n_types; t++)
		st = check_type(out, t, err);
	return st;
}

void dgi_outside_part_clear(struct dgi_outside_part *part)
{
	free(part->head);
	part->head = NULL;
}

/* --- What owned nodes are called --- */

static dg_status read_values(const struct dgi_outside_part *p, int64_t first, int64_t n,
			     int64_t *out, dg_error *err)
{
	return dgi_volume_array_read(p->volume, DGI_OUTSIDE_ETYPE, DGI_OUTSIDE_VALUES, first, n,
				     out, err);
}

/* Bytes [from, to) of the text. */
static dg_status read_text(const struct dgi_outside_part *p, int64_t from, int64_t to, char *out,
			   dg_error *err)
{
	int64_t words[DG_OUTSIDE_BYTES_MAX / 8 + 2];
	int64_t first = from / 8, end = (to + 7) / 8;
	dg_status st = dgi_volume_array_read(p->volume, DGI_OUTSIDE_ETYPE, DGI_OUTSIDE_TEXT, first,
					     end - first, words, err);

	if (!st)
		memcpy(out, (const char *)words + (from - first * 8), (size_t)(to - from));
	return st;
}

static dg_status grow_text(struct dgi_ids_answer *out, size_t *capacity, size_t n, dg_error *err)
{
	size_t wanted = *capacity ? *capacity : 4096;
	char *text;

	while (wanted < out->text_bytes + n)
		wanted *= 2;
	if (wanted == *capacity)
		return DG_OK;
	text = realloc(out->text, wanted);
	if (!text)
		return dgi_fail_memory(err, "outside ids");
	out->text = text;
	*capacity = wanted;
	return DG_OK;
}

static dg_status answer_string(const struct dgi_outside_part *p, int64_t at, size_t room,
			       size_t *capacity, struct dgi_ids_answer *out, bool *fits,
			       dg_error *err)
{
	dg_dtype dtype;
	int64_t limit = length_of(p, DGI_OUTSIDE_TEXT, &dtype) * 8;
	int64_t ends[2];
	size_t n;
	dg_status st = read_values(p, at, 2, ends, err);

	if (st)
		return st;
	if (ends[0] < 0 || ends[1] < ends[0] || ends[1] > limit ||
	    ends[1] - ends[0] > DG_OUTSIDE_BYTES_MAX)
		return dgi_fail(err, DG_CORRUPT,
				"outside ids of part %" PRIu32 ": a string from byte %" PRId64
				" to %" PRId64 " of %" PRId64,
				p->part, ends[0], ends[1], limit);
	n = (size_t)(ends[1] - ends[0]);
	*fits = out->n == 0 || (out->n + 2) * sizeof(int64_t) + out->text_bytes + n <= room;
	if (!*fits)
		return DG_OK;
	st = grow_text(out, capacity, n, err);
	if (!st && n > 0)
		st = read_text(p, ends[0], ends[1], out->text + out->text_bytes, err);
	if (st)
		return st;
	out->text_bytes += n;
	out->numbers[++out->n] = (int64_t)out->text_bytes;
	return DG_OK;
}

static dg_status answer_outside(const struct dgi_outside_part *p, const int64_t *head,
				const struct dgi_ids_request *r, size_t room,
				struct dgi_ids_answer *out, dg_error *err)
{
	bool fits = true;
	size_t capacity = 0;
	dg_id start, end;
	dg_status st = DG_OK;

	dg_book_range(p->book, DG_NODE, r->type, p->part, &start, &end);
	for (size_t i = 0; !st && fits && i < r->n; i++) {
		int64_t at = head[DGI_OUTSIDE_VALUES_AT] + (r->numbers[i] - start);

		if (r->numbers[i] < start || r->numbers[i] >= end)
			return dgi_fail(err, DG_RANGE,
					"node id %" PRId64 " of type %u is not of part %" PRIu32
					", which has [%" PRId64 ", %" PRId64 ")",
					r->numbers[i], r->type, p->part, start, end);
		if (out->strings)
			st = answer_string(p, at, room, &capacity, out, &fits, err);
		else
			st = read_values(p, at, 1, &out->numbers[out->n++], err);
	}
	return st;
}

/* --- The index --- */

static dg_status read_hashes(const struct dgi_outside_part *p, int64_t first, int64_t n,
			     uint64_t *out, dg_error *err)
{
	return dgi_volume_array_read(p->volume, DGI_OUTSIDE_ETYPE, DGI_OUTSIDE_HASHES, first, n,
				     out, err);
}

/* The place of a hash in the index; -1: it is not there. */
static dg_status find_hash(const struct dgi_outside_part *p, const int64_t *head, uint64_t hash,
			   int64_t *out, dg_error *err)
{
	int64_t low = head[DGI_OUTSIDE_INDEX_AT], high = low + head[DGI_OUTSIDE_INDEX_N];
	uint64_t run[RUN];
	dg_status st = DG_OK;

	while (!st && high - low > RUN) {
		int64_t middle = low + (high - low) / 2;

		st = read_hashes(p, middle, 1, run, err);
		if (!st && run[0] <= hash)
			low = middle;
		else
			high = middle;
	}
	if (!st && high > low)
		st = read_hashes(p, low, high - low, run, err);
	*out = -1;
	for (int64_t i = 0; !st && i < high - low; i++)
		if (run[i] == hash)
			*out = low + i;
	return st;
}

static dg_status read_index_id(const struct dgi_outside_part *p, uint16_t type, int64_t at,
			       int64_t *out, dg_error *err)
{
	int32_t narrow = 0;
	dg_dtype dtype = DG_INT64;
	dg_status st;

	(void)length_of(p, DGI_OUTSIDE_IDS, &dtype);
	st = dgi_volume_array_read(p->volume, DGI_OUTSIDE_ETYPE, DGI_OUTSIDE_IDS, at, 1,
				   dtype == DG_INT32 ? (void *)&narrow : out, err);
	if (!st && dtype == DG_INT32)
		*out = narrow;
	if (!st && (*out < 0 || *out >= dg_book_count(p->book, DG_NODE, type)))
		st = dgi_fail(err, DG_CORRUPT,
			      "outside ids of part %" PRIu32 ": the index has node id %" PRId64
			      " of type %u",
			      p->part, *out, type);
	return st;
}

static dg_status answer_lookup(const struct dgi_outside_part *p, const int64_t *head,
			       const struct dgi_ids_request *r, struct dgi_ids_answer *out,
			       dg_error *err)
{
	dg_status st = DG_OK;

	for (size_t i = 0; !st && i < r->n; i++) {
		int64_t at = -1;

		st = find_hash(p, head, (uint64_t)r->numbers[i], &at, err);
		out->numbers[out->n] = -1;
		if (!st && at >= 0)
			st = read_index_id(p, r->type, at, &out->numbers[out->n], err);
		out->n++;
	}
	return st;
}

dg_status dgi_outside_answer(const struct dgi_outside_part *part,
			     const struct dgi_ids_request *request, size_t room,
			     struct dgi_ids_answer *out, dg_error *err)
{
	const int64_t *head;
	dg_status st;

	*out = (struct dgi_ids_answer){ 0 };
	if (request->type >= dg_book_n_node_types(part->book))
		return dgi_fail(err, DG_NOTFOUND, "node type %u: the graph has %u", request->type,
				dg_book_n_node_types(part->book));
	head = part->head ? part->head + (size_t)request->type * DGI_OUTSIDE_FIELDS : NULL;
	if (head) {
		out->form = (dg_outside_form)head[DGI_OUTSIDE_FORM];
		out->seed = (uint64_t)head[DGI_OUTSIDE_SEED];
	}
	if (request->operation == DGI_IDS_ABOUT)
		return DG_OK;
	if (request->operation > DGI_IDS_LOOKUP || request->n > DGI_IDS_BATCH)
		return dgi_fail(err, DG_INVALID, "ids: operation %u on %zu numbers, at most %d",
				request->operation, request->n, DGI_IDS_BATCH);
	if (out->form == DG_OUTSIDE_NUMBERS)
		return dgi_fail(err, DG_NOTFOUND, "node type %u has numbers for ids",
				request->type);
	out->numbers = calloc(request->n + 1, sizeof *out->numbers);
	if (!out->numbers)
		return dgi_fail_memory(err, "outside ids");
	out->strings = request->operation == DGI_IDS_OUTSIDE && out->form == DG_OUTSIDE_STRINGS;
	st = request->operation == DGI_IDS_OUTSIDE
		     ? answer_outside(part, head, request, room, out, err)
		     : answer_lookup(part, head, request, out, err);
	if (st)
		dgi_ids_answer_clear(out);
	return st;
}
