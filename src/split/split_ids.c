/*
 * split_ids.c -- who trains on what.
 *
 * The mask is read once, block by block, to count what is selected; then only the blocks that hold the
 * trainer's run are read again.
 */
#include "column.h"
#include "trainers.h"

#include "fail.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>

struct splitting {
	const dg_book *book;
	const dg_split_options *options;
	struct dgi_column mask;
	dg_id start, end; /* ids that are asked about */
	size_t *counts;	  /* selected in each block of them */
	size_t n_blocks;
	size_t n_selected;
	dg_id *run; /* what is left for the trainer */
	size_t n;
	dg_error *err;
};

/* --- Arguments --- */

static dg_status check_trainers(const struct splitting *s)
{
	const dg_split_options *o = s->options;
	uint32_t n_parts = dg_book_n_parts(s->book);

	if (o->part >= n_parts)
		return dgi_fail(s->err, DG_RANGE, "partition %" PRIu32 ": the graph has %" PRIu32,
				o->part, n_parts);
	if (o->rank >= o->n_trainers)
		return dgi_fail(s->err, DG_RANGE, "rank %" PRIu32 " of %" PRIu32 " trainers",
				o->rank, o->n_trainers);
	if (o->n_trainers > n_parts && o->n_trainers % n_parts != 0)
		return dgi_fail(s->err, DG_INVALID,
				"%" PRIu32 " trainers, want a multiple of the %" PRIu32
				" partitions, or fewer",
				o->n_trainers, n_parts);
	return DG_OK;
}

static dg_status check(struct splitting *s)
{
	const dg_split_options *o = s->options;
	uint16_t n_types =
		o->side == DG_NODE ? dg_book_n_node_types(s->book) : dg_book_n_edge_types(s->book);

	if ((o->side != DG_NODE && o->side != DG_EDGE) || o->type >= n_types)
		return dgi_fail(s->err, DG_RANGE, "type %u: the graph has %u", o->type, n_types);
	if (!o->mask)
		return dgi_fail(s->err, DG_INVALID, "a split wants a mask");
	return check_trainers(s);
}

static uint32_t trainers_of_part(const struct splitting *s)
{
	uint32_t n_parts = dg_book_n_parts(s->book);

	return s->options->n_trainers > n_parts ? s->options->n_trainers / n_parts : 1;
}

static uint32_t position_of(const struct splitting *s)
{
	return s->options->rank % trainers_of_part(s);
}

static bool has_few_trainers(const struct splitting *s)
{
	return s->options->n_trainers < dg_book_n_parts(s->book);
}

/* --- Selected ids --- */

static size_t block_of(const struct splitting *s, size_t block, dg_id *first)
{
	*first = s->start + (dg_id)(block * DGI_COLUMN_BLOCK);
	return s->end - *first < DGI_COLUMN_BLOCK ? (size_t)(s->end - *first) : DGI_COLUMN_BLOCK;
}

static dg_status count_selected(struct splitting *s)
{
	dg_status st = DG_OK;

	s->n_blocks = (size_t)((s->end - s->start + DGI_COLUMN_BLOCK - 1) / DGI_COLUMN_BLOCK);
	s->counts = calloc(s->n_blocks + 1, sizeof *s->counts);
	if (!s->counts)
		return dgi_fail_memory(s->err, "a split");
	for (size_t b = 0; !st && b < s->n_blocks; b++) {
		const int64_t *mask = NULL;
		dg_id first;
		size_t n = block_of(s, b, &first);

		st = dgi_column_read(&s->mask, first, n, &mask, s->err);
		for (size_t i = 0; !st && i < n; i++)
			s->counts[b] += mask[i] != 0;
		s->n_selected += s->counts[b];
	}
	return st;
}

/* Those of numbers [begin, end) among the selected, of one block that begins with number @at. */
static dg_status collect_block(struct splitting *s, size_t block, size_t at, size_t begin,
			       size_t end)
{
	const int64_t *mask = NULL;
	dg_id first;
	size_t n = block_of(s, block, &first);
	dg_status st = dgi_column_read(&s->mask, first, n, &mask, s->err);

	for (size_t i = 0; !st && i < n; i++) {
		if (mask[i] == 0)
			continue;
		/* Whoever changes the mask meanwhile gets a wrong share, not a wrong address. */
		if (at >= begin && at < end && s->n < end - begin)
			s->run[s->n++] = first + (dg_id)i;
		at++;
	}
	return st;
}

static dg_status collect(struct splitting *s, size_t begin, size_t end)
{
	size_t at = 0;
	dg_status st = DG_OK;

	s->run = malloc((end - begin + 1) * sizeof *s->run);
	if (!s->run)
		return dgi_fail_memory(s->err, "a split");
	for (size_t b = 0; !st && b < s->n_blocks; at += s->counts[b++])
		if (at < end && at + s->counts[b] > begin)
			st = collect_block(s, b, at, begin, end);
	return st;
}

/* --- Trainer ids --- */

static dg_status read_largest(struct splitting *s, struct dgi_column *trainers, int64_t *out)
{
	int64_t count = dg_book_count(s->book, s->options->side, s->options->type);
	int64_t largest = -1;
	dg_status st = DG_OK;

	for (dg_id at = 0; !st && at < count; at += DGI_COLUMN_BLOCK) {
		size_t n = count - at < DGI_COLUMN_BLOCK ? (size_t)(count - at) : DGI_COLUMN_BLOCK;
		const int64_t *data = NULL;

		st = dgi_column_read(trainers, at, n, &data, s->err);
		for (size_t i = 0; !st && i < n; i++)
			largest = data[i] > largest ? data[i] : largest;
	}
	*out = largest;
	return st;
}

/* How many trainer ids fall on one trainer. */
static dg_status read_divisor(struct splitting *s, struct dgi_column *trainers, int64_t *out)
{
	int64_t n_ids = s->options->n_trainer_ids;
	int64_t n_trainers = s->options->n_trainers;
	dg_status st = DG_OK;

	if (n_ids == 0) {
		st = read_largest(s, trainers, &n_ids);
		n_ids = n_ids < INT64_MAX ? n_ids + 1 : n_ids;
	}
	*out = 1;
	if (st || n_ids <= n_trainers)
		return st;
	if (n_ids % n_trainers != 0)
		return dgi_fail(s->err, DG_INVALID,
				"trainer ids are of %" PRId64 " trainers, want a multiple of the "
				"%" PRId64 " that there are",
				n_ids, n_trainers);
	*out = n_ids / n_trainers;
	return DG_OK;
}

/* The trainer of each id of the run, which ascends. */
static dg_status read_trainers(struct splitting *s, struct dgi_column *column, int64_t divisor,
			       int64_t *out)
{
	dg_status st = DG_OK;
	size_t i = 0;

	while (!st && i < s->n) {
		dg_id first = s->run[i];
		size_t end = i;
		const int64_t *data = NULL;

		while (end < s->n && s->run[end] - first < DGI_COLUMN_BLOCK)
			end++;
		st = dgi_column_read(column, first, (size_t)(s->run[end - 1] - first) + 1, &data,
				     s->err);
		for (; !st && i < end; i++) {
			out[i] = data[s->run[i] - first];
			if (out[i] < 0)
				return dgi_fail(s->err, DG_RANGE,
						"trainer ids: %" PRId64 " of id %" PRId64
						", want 0 or more",
						out[i], s->run[i]);
			out[i] /= divisor;
		}
	}
	return st;
}

static dg_status assign(struct splitting *s, struct dgi_column *column, int64_t *trainers)
{
	uint32_t home = has_few_trainers(s) ? s->options->rank : s->options->part;
	int64_t divisor = 1;
	dg_status st = read_divisor(s, column, &divisor);

	if (!st)
		st = read_trainers(s, column, divisor, trainers);
	if (!st)
		st = dgi_trainers_assign(s->run, &s->n, trainers, trainers_of_part(s),
					 position_of(s), home, s->err);
	return st;
}

static dg_status split_by_trainer_ids(struct splitting *s)
{
	const dg_split_options *o = s->options;
	int64_t *trainers = malloc((s->n + 1) * sizeof *trainers);
	struct dgi_column column;
	dg_status st = dgi_column_init(&column, o->trainer_ids, s->book, o->side, o->type,
				       "trainer ids", s->err);

	if (!st && !trainers)
		st = dgi_fail_memory(s->err, "trainer ids");
	if (!st)
		st = assign(s, &column, trainers);
	dgi_column_clear(&column);
	free(trainers);
	return st;
}

/* --- Shares --- */

static dg_status split_evenly(struct splitting *s)
{
	const dg_split_options *o = s->options;
	bool few = has_few_trainers(s);
	uint32_t n_runs = few ? o->n_trainers : dg_book_n_parts(s->book);
	uint32_t run = few ? o->rank : o->part;
	dg_status st;

	s->end = dg_book_count(s->book, o->side, o->type);
	st = count_selected(s);
	if (!st)
		st = collect(s, dgi_even_begin(s->n_selected, n_runs, run),
			     dgi_even_begin(s->n_selected, n_runs, run + 1));
	if (st || trainers_of_part(s) == 1)
		return st;
	if (o->trainer_ids)
		return split_by_trainer_ids(s);
	dgi_trainers_shuffle(s->run, &s->n, trainers_of_part(s), position_of(s), o->seed, o->part);
	return DG_OK;
}

/* The ids of the partitions that are the trainer's. */
static void take_range(struct splitting *s)
{
	const dg_split_options *o = s->options;
	uint64_t n_parts = dg_book_n_parts(s->book);
	uint32_t first = o->part, last = o->part;
	dg_id ignored;

	if (has_few_trainers(s)) {
		first = (uint32_t)(o->rank * n_parts / o->n_trainers);
		last = (uint32_t)((o->rank + 1) * n_parts / o->n_trainers - 1);
	}
	dg_book_range(s->book, o->side, o->type, first, &s->start, &ignored);
	dg_book_range(s->book, o->side, o->type, last, &ignored, &s->end);
}

static dg_status split_locally(struct splitting *s)
{
	uint32_t n_trainers = trainers_of_part(s), position = position_of(s);
	size_t block;
	dg_status st;

	take_range(s);
	st = count_selected(s);
	if (st)
		return st;
	block = s->n_selected / n_trainers;
	return collect(s, block * position,
		       position + 1 == n_trainers ? s->n_selected : block * (position + 1));
}

dg_status dg_split(const dg_book *book, const dg_split_options *options, dg_id **out, size_t *n,
		   dg_error *err)
{
	struct splitting s = { .book = book, .options = options, .err = err };
	dg_status st = check(&s);

	if (st)
		return st;
	st = dgi_column_init(&s.mask, options->mask, book, options->side, options->type, "mask",
			     err);
	if (!st)
		st = options->local ? split_locally(&s) : split_evenly(&s);
	dgi_column_clear(&s.mask);
	free(s.counts);
	if (st) {
		free(s.run);
		return st;
	}
	*out = s.run;
	*n = s.n;
	return DG_OK;
}
