/*
 * book_ids.c -- batches of ids by the partition book.
 *
 * Ids are taken in blocks. A block is checked as a whole, and gone through again to name the first bad
 * id only where there is one; then each is looked up without a branch that depends on it.
 */
#include "book.h"

#include "fail.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#define BLOCK 4096

static const char *side_name(dg_side side)
{
	return side == DG_NODE ? "node" : "edge";
}

static dg_status fail_no_starts(const dg_book *book, dg_side side, uint16_t type, dg_error *err)
{
	if (type == DG_ALL_TYPES)
		return dgi_fail(err, DG_INVALID,
				"%s ids of all types: the ranges of the partition book do not tile "
				"them; ask by type",
				side_name(side));
	return dgi_fail(err, DG_NOTFOUND, "%s type %u: the graph has %u", side_name(side), type,
			dgi_book_n_types(book, side));
}

/* Names the first id that is not in [low, high); @first is the number of ids[0] in the batch. */
static dg_status fail_range(dg_side side, uint16_t type, const dg_id *ids, size_t first, dg_id low,
			    dg_id high, dg_error *err)
{
	size_t i = 0;

	while (ids[i] >= low && ids[i] < high)
		i++;
	if (type == DG_ALL_TYPES)
		return dgi_fail(err, DG_RANGE,
				"%s id %" PRId64 " (number %zu of the batch): want [%" PRId64
				", %" PRId64 ")",
				side_name(side), ids[i], first + i, low, high);
	return dgi_fail(err, DG_RANGE,
			"%s id %" PRId64 " of type %u (number %zu of the batch): want [%" PRId64
			", %" PRId64 ")",
			side_name(side), ids[i], type, first + i, low, high);
}

static bool block_in_range(const dg_id *ids, size_t n, dg_id low, dg_id high)
{
	uint64_t span = (uint64_t)high - (uint64_t)low;
	unsigned bad = 0;

	for (size_t i = 0; i < n; i++)
		bad |= (uint64_t)ids[i] - (uint64_t)low >= span;
	return !bad;
}

/* --- Partitions --- */

/*
 * The last start that is not above the id, among a power of two of them, the missing ones being larger
 * than every id: with the number of steps known to the compiler a step is a compare and a
 * conditional move.
 */
#define STEP(half) part += starts[part + (half)] <= id ? (half) : 0;
#define STEPS_0
#define STEPS_1 STEP(1)
#define STEPS_2 STEP(2) STEPS_1
#define STEPS_3 STEP(4) STEPS_2
#define STEPS_4 STEP(8) STEPS_3
#define STEPS_5 STEP(16) STEPS_4
#define STEPS_6 STEP(32) STEPS_5
#define STEPS_7 STEP(64) STEPS_6
#define STEPS_8 STEP(128) STEPS_7
#define STEPS_9 STEP(256) STEPS_8
#define STEPS_10 STEP(512) STEPS_9
#define STEPS_11 STEP(1024) STEPS_10
#define STEPS_12 STEP(2048) STEPS_11
#define LEVELS_MAX 12
#define LEVELS_MAP(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12)

typedef void locate_fn(const int64_t *starts, const dg_id *ids, size_t n, uint32_t *parts);

#define LOCATE(levels) \
	static void locate_##levels(const int64_t *starts, const dg_id *ids, size_t n, \
				    uint32_t *parts) \
	{ \
		(void)starts; \
		for (size_t i = 0; i < n; i++) { \
			const dg_id id = ids[i]; \
			uint32_t part = 0; \
\
			(void)id; \
			STEPS_##levels parts[i] = part; \
		} \
	}
LEVELS_MAP(LOCATE)

#define LOCATE_ENTRY(levels) locate_##levels,
static locate_fn *const locates[LEVELS_MAX + 1] = { LEVELS_MAP(LOCATE_ENTRY) };

static_assert(DG_PARTS_MAX == 1 << LEVELS_MAX, "a step for each bit of a partition's number");

#define BUCKETS 4096
#define BUCKET_STEPS_MAX 3	/* more ends in a bucket: searched as if there were none */
#define BUCKETS_WORTH_PARTS 8	/* more partitions than this, */
#define BUCKETS_WORTH_IDS 16384 /* and so many ids, pay for the making of buckets */

/* The search of a batch: tables on the stack, made anew for each. */
struct search {
	locate_fn *locate; /* NULL: by buckets of ids that have their leading bits in common */
	unsigned shift;
	uint32_t steps;		   /* ends in a bucket, at most */
	uint16_t buckets[BUCKETS]; /* the partition of a bucket's first id */
	int64_t starts[DG_PARTS_MAX + 1];
};

/* Returns false where some bucket has too many ends. */
static bool make_buckets(struct search *s, const int64_t *starts, uint32_t n_parts)
{
	int64_t last = starts[n_parts] - 1;
	uint32_t part = 0;

	s->shift = 0;
	while (last >> s->shift >= BUCKETS)
		s->shift++;
	s->steps = 0;
	for (int64_t b = 0; b <= last >> s->shift; b++) {
		uint32_t first;

		while (starts[part + 1] <= b << s->shift)
			part++;
		first = part;
		s->buckets[b] = (uint16_t)part;
		while (part + 1 < n_parts && (starts[part + 1] - 1) >> s->shift <= b)
			part++;
		if (part - first > s->steps)
			s->steps = part - first;
	}
	return s->steps <= BUCKET_STEPS_MAX;
}

static void search_init(struct search *s, const int64_t *starts, uint32_t n_parts, size_t n_ids)
{
	unsigned levels = 0;

	s->locate = NULL;
	memcpy(s->starts, starts, ((size_t)n_parts + 1) * sizeof *starts);
	if (n_parts > BUCKETS_WORTH_PARTS && n_ids >= BUCKETS_WORTH_IDS && starts[n_parts] > 0 &&
	    make_buckets(s, starts, n_parts))
		return;
	while (UINT32_C(1) << levels < n_parts)
		levels++;
	for (uint32_t p = n_parts; p < UINT32_C(1) << levels; p++)
		s->starts[p] = INT64_MAX; /* no id is so large: it is below a count */
	s->locate = locates[levels];
}

static inline void locate_in_buckets(const struct search *s, uint32_t steps, const dg_id *ids,
				     size_t n, uint32_t *parts)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t part = s->buckets[ids[i] >> s->shift];

		for (uint32_t k = 0; k < steps; k++)
			part += s->starts[part + 1] <= ids[i];
		parts[i] = part;
	}
}

static void locate(const struct search *s, const dg_id *ids, size_t n, uint32_t *parts)
{
	if (s->locate)
		s->locate(s->starts, ids, n, parts);
	else if (s->steps <= 1)
		locate_in_buckets(s, 1, ids, n, parts);
	else
		locate_in_buckets(s, BUCKET_STEPS_MAX, ids, n, parts);
}

dg_status dg_book_locate_ids(const dg_book *book, dg_side side, uint16_t type, const dg_id *ids,
			     size_t n, uint32_t *parts, dg_id *locals, dg_error *err)
{
	const int64_t *starts = dgi_book_id_starts(book, side, type);
	uint32_t n_parts = dg_book_n_parts(book);
	uint32_t scratch[BLOCK];
	struct search search;

	if (!starts)
		return fail_no_starts(book, side, type, err);
	search_init(&search, starts, n_parts, n);
	for (size_t at = 0; at < n; at += BLOCK) {
		size_t here = n - at < BLOCK ? n - at : BLOCK;
		uint32_t *found = parts ? parts + at : scratch;

		if (!block_in_range(ids + at, here, 0, starts[n_parts]))
			return fail_range(side, type, ids + at, at, 0, starts[n_parts], err);
		locate(&search, ids + at, here, found);
		for (size_t i = 0; locals && i < here; i++)
			locals[at + i] = ids[at + i] - starts[found[i]];
	}
	return DG_OK;
}

dg_status dg_book_to_local(const dg_book *book, dg_side side, uint16_t type, uint32_t part,
			   const dg_id *ids, size_t n, dg_id *locals, dg_error *err)
{
	const int64_t *starts = dgi_book_id_starts(book, side, type);
	dg_id low, high;
	dg_status st;

	if (!starts)
		return fail_no_starts(book, side, type, err);
	if (part >= dg_book_n_parts(book))
		return dgi_fail(err, DG_RANGE, "partition %" PRIu32 ": the graph has %" PRIu32,
				part, dg_book_n_parts(book));
	low = starts[part];
	high = starts[part + 1];
	if (!block_in_range(ids, n, low, high)) {
		st = fail_range(side, type, ids, 0, low, high, err);
		return dgi_context(err, st, "partition %" PRIu32, part);
	}
	for (size_t i = 0; i < n; i++)
		locals[i] = ids[i] - low;
	return DG_OK;
}

/* --- Types --- */

dg_status dg_book_to_per_type(const dg_book *book, dg_side side, const dg_id *ids, size_t n,
			      uint16_t *types, dg_id *out, dg_error *err)
{
	uint32_t n_parts = dg_book_n_parts(book);
	uint16_t n_types = dgi_book_n_types(book, side);
	uint32_t n_ranges = n_parts * n_types;
	bool tiles;
	const int64_t *starts = dgi_book_homogeneous(book, side, &tiles);

	if (!tiles)
		return fail_no_starts(book, side, DG_ALL_TYPES, err);
	if (n > 0 && !block_in_range(ids, n, 0, starts[n_ranges]))
		return fail_range(side, DG_ALL_TYPES, ids, 0, 0, starts[n_ranges], err);
	for (size_t i = 0; i < n; i++) {
		uint32_t at = dgi_starts_find(starts, n_ranges, ids[i]);
		uint16_t type = (uint16_t)(at % n_types);

		types[i] = type;
		out[i] = ids[i] - starts[at] +
			 dgi_book_starts(book, side, type, DG_INTERNAL)[at / n_types];
	}
	return DG_OK;
}

dg_status dg_book_to_homogeneous(const dg_book *book, dg_side side, uint16_t type, const dg_id *ids,
				 size_t n, dg_id *out, dg_error *err)
{
	const int64_t *starts = dgi_book_starts(book, side, type, DG_INTERNAL);
	uint32_t n_parts = dg_book_n_parts(book);
	uint16_t n_types = dgi_book_n_types(book, side);
	bool tiles;
	const int64_t *homogeneous = dgi_book_homogeneous(book, side, &tiles);

	if (!starts)
		return fail_no_starts(book, side, type, err);
	if (!block_in_range(ids, n, 0, starts[n_parts]))
		return fail_range(side, type, ids, 0, 0, starts[n_parts], err);
	for (size_t i = 0; i < n; i++) {
		uint32_t part = dgi_starts_find(starts, n_parts, ids[i]);

		out[i] = ids[i] - starts[part] + homogeneous[(size_t)part * n_types + type];
	}
	return DG_OK;
}
