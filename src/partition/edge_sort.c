/* edge_sort.c -- the edges of one type relabelled and sorted. See edge_order.c for the result. */
#include "edge_sort.h"

#include "check.h"
#include "fail.h"
#include "bucket_file.h"

#include "book.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define BUCKETS_MAX 65536
#define LEAST_BYTES ((uint64_t)4 << 20) /* for buffers, whatever the size of the graph */
#define READER_BYTES ((uint64_t)4 << 20)

/* All that sorting one type holds. */
struct sorting {
	const struct dgi_edge_sort *ask;
	const struct dgi_work *work;
	struct dgi_progress *progress;
	int64_t n;
	uint32_t bytes; /* of an id of a node or an edge in the files */
	dg_id *src;	/* of a block, internal */
	dg_id *dst;
	int64_t *indptr;      /* destinations + 1 */
	int64_t *out_degrees; /* sources */
	uint64_t *n_out;      /* by partition: edges that leave it */
	int64_t cut;
	struct dgi_ids_writer indices;
	struct dgi_ids_writer original;
};

static dg_status allocate(struct sorting *s, dg_error *err)
{
	const size_t n_dst = (size_t)s->ask->destinations->n;
	const size_t n_src = (size_t)s->ask->sources->n;

	s->src = malloc(DGI_EDGE_BLOCK * sizeof *s->src);
	s->dst = malloc(DGI_EDGE_BLOCK * sizeof *s->dst);
	s->indptr = calloc(n_dst + 1, sizeof *s->indptr);
	s->out_degrees = calloc(n_src + 1, sizeof *s->out_degrees);
	s->n_out = calloc(s->ask->n_parts, sizeof *s->n_out);
	if (!s->src || !s->dst || !s->indptr || !s->out_degrees || !s->n_out)
		return dgi_fail_memory(err, "edge sort");
	return DG_OK;
}

static void sorting_clear(struct sorting *s)
{
	free(s->src);
	free(s->dst);
	free(s->indptr);
	free(s->out_degrees);
	free(s->n_out);
}

/* --- Passes over the edges --- */

/* Is given a block of edges in internal ids, the first of which has the original id @first. */
typedef dg_status block_fn(struct sorting *s, void *context, int64_t first, size_t n,
			   dg_error *err);

static dg_status pass(struct sorting *s, block_fn *fn, void *context, dg_error *err)
{
	struct dgi_edge_reader *reader = NULL;
	const dg_id *src, *dst;
	int64_t first = 0;
	size_t n = 1;
	dg_status st = dgi_edge_reader_open(s->ask->source, s->ask->type, 0, &reader, err);

	while (!st && n > 0) {
		st = dgi_edge_reader_next(reader, &src, &dst, &n, err);
		if (st || n == 0)
			break;
		dgi_ids_gather(&s->ask->sources->internal, src, n, s->src);
		dgi_ids_gather(&s->ask->destinations->internal, dst, n, s->dst);
		st = fn(s, context, first, n, err);
		first += (int64_t)n;
		if (!st)
			st = dgi_progress_add(s->progress, n, err);
	}
	dgi_edge_reader_close(reader);
	return st;
}

static dg_status count_block(struct sorting *s, void *context, int64_t first, size_t n,
			     dg_error *err)
{
	const int64_t *src_start = s->ask->sources->start;
	const int64_t *dst_start = s->ask->destinations->start;
	const uint32_t n_parts = s->ask->n_parts;

	(void)context;
	(void)first;
	(void)err;
	for (size_t i = 0; i < n; i++) {
		s->indptr[s->dst[i] + 1]++;
		s->out_degrees[s->src[i]]++;
	}
	for (size_t i = 0; i < n; i++) {
		uint32_t from = dgi_starts_find(src_start, n_parts, s->src[i]);
		uint32_t to = dgi_starts_find(dst_start, n_parts, s->dst[i]);

		s->n_out[from] += from != to;
		s->cut += from != to;
	}
	return DG_OK;
}

/* --- Into place --- */

/* The edges of a run of destinations, being put into their places. */
struct run {
	dg_id first_edge;
	struct dgi_ids indices;
	struct dgi_ids original;
};

static dg_status run_new(const struct sorting *s, dg_id first_edge, int64_t n, struct run *out,
			 dg_error *err)
{
	dg_status st;

	*out = (struct run){ .first_edge = first_edge };
	st = dgi_ids_new(n, s->bytes, &out->indices, err);
	return st ? st : dgi_ids_new(n, s->bytes, &out->original, err);
}

static dg_status run_write(struct sorting *s, struct run *run, dg_error *err)
{
	dg_status st = dgi_ids_write_all(&s->indices, &run->indices, err);

	return st ? st : dgi_ids_write_all(&s->original, &run->original, err);
}

static void run_clear(struct run *run)
{
	dgi_ids_clear(&run->indices);
	dgi_ids_clear(&run->original);
}

/* Moves the destination's row pointer on; put_back() moves all of them back. */
static inline void put(struct sorting *s, struct run *run, dg_id src, dg_id dst, dg_id original)
{
	const dg_id at = s->indptr[dst]++ - run->first_edge;

	dgi_ids_set(&run->indices, at, src);
	dgi_ids_set(&run->original, at, original);
}

static dg_status put_block(struct sorting *s, void *context, int64_t first, size_t n, dg_error *err)
{
	struct run *run = context;

	(void)err;
	for (size_t i = 0; i < n; i++)
		put(s, run, s->src[i], s->dst[i], first + (int64_t)i);
	return DG_OK;
}

static dg_status sort_at_once(struct sorting *s, dg_error *err)
{
	struct run run;
	dg_status st = run_new(s, 0, s->n, &run, err);

	if (!st)
		st = pass(s, put_block, &run, err);
	if (!st)
		st = run_write(s, &run, err);
	run_clear(&run);
	return st;
}

/* --- By buckets on disk --- */

struct buckets {
	uint32_t n;
	int64_t *start; /* n + 1 destinations */
	uint64_t *counts;
	struct dgi_bucket_file spill;
};

/* Ranges of destinations of at most @most edges, but for one of more. indptr holds sums. */
static dg_status make_buckets(const struct sorting *s, int64_t most, struct buckets *b,
			      dg_error *err)
{
	const int64_t n_dst = s->ask->destinations->n;

	if (s->n / most >= BUCKETS_MAX / 2)
		most = s->n / (BUCKETS_MAX / 2) + 1;
	b->start = calloc(BUCKETS_MAX + 1, sizeof *b->start);
	b->counts = calloc(BUCKETS_MAX, sizeof *b->counts);
	if (!b->start || !b->counts)
		return dgi_fail_memory(err, "edge sort");
	for (dg_id v = 0; v < n_dst;) {
		const dg_id first = v++;

		while (v < n_dst && s->indptr[v + 1] - s->indptr[first] <= most)
			v++;
		b->counts[b->n] = (uint64_t)(s->indptr[v] - s->indptr[first]);
		b->start[++b->n] = v;
		DGI_ASSERT(b->n < BUCKETS_MAX);
	}
	return DG_OK;
}

static void buckets_clear(struct buckets *b)
{
	dgi_bucket_file_close(&b->spill);
	free(b->start);
	free(b->counts);
}

static void put_record(void *record, uint32_t bytes, dg_id src, dg_id dst, dg_id original)
{
	const int64_t wide[] = { src, dst, original };
	const int32_t narrow[] = { (int32_t)src, (int32_t)dst, (int32_t)original };

	memcpy(record, bytes == 4 ? (const void *)narrow : (const void *)wide, 3 * (size_t)bytes);
}

static dg_status spill_block(struct sorting *s, void *context, int64_t first, size_t n,
			     dg_error *err)
{
	struct buckets *b = context;
	dg_status st = DG_OK;

	for (size_t i = 0; !st && i < n; i++) {
		void *record;

		st = dgi_bucket_file_next(&b->spill, dgi_starts_find(b->start, b->n, s->dst[i]),
					  &record, err);
		if (!st)
			put_record(record, s->bytes, s->src[i], s->dst[i], first + (int64_t)i);
	}
	return st;
}

/* A bucket of one destination comes in the order that is wanted, however large it is. */
static dg_status pass_on(struct sorting *s, const struct dgi_ids *records, dg_error *err)
{
	dg_status st = DG_OK;

	for (int64_t i = 0; !st && i < records->n / 3; i++) {
		st = dgi_ids_write(&s->indices, dgi_ids_get(records, 3 * i), err);
		if (!st)
			st = dgi_ids_write(&s->original, dgi_ids_get(records, 3 * i + 2), err);
	}
	return st;
}

/* @run is NULL for a bucket of one destination. @block has room for DGI_EDGE_BLOCK records. */
static dg_status sort_bucket(struct sorting *s, const struct buckets *b, uint32_t bucket,
			     struct run *run, struct dgi_ids *block, dg_error *err)
{
	dg_status st = DG_OK;

	for (uint64_t at = b->spill.start[bucket]; !st && at < b->spill.start[bucket + 1];) {
		uint64_t n = b->spill.start[bucket + 1] - at;

		if (n > DGI_EDGE_BLOCK)
			n = DGI_EDGE_BLOCK;
		block->n = 3 * (int64_t)n;
		st = dgi_bucket_file_read(&b->spill, at, n, block->data, err);
		if (!st && !run)
			st = pass_on(s, block, err);
		for (int64_t i = 0; !st && run && i < block->n; i += 3)
			put(s, run, dgi_ids_get(block, i), dgi_ids_get(block, i + 1),
			    dgi_ids_get(block, i + 2));
		at += n;
		if (!st)
			st = dgi_progress_add(s->progress, n, err);
	}
	return st;
}

static dg_status sort_buckets(struct sorting *s, const struct buckets *b, dg_error *err)
{
	struct dgi_ids block;
	dg_status st = dgi_ids_new(3 * DGI_EDGE_BLOCK, s->bytes, &block, err);

	for (uint32_t i = 0; !st && i < b->n; i++) {
		const bool alone = b->start[i + 1] - b->start[i] == 1;
		struct run run = { 0 };

		if (!alone)
			st = run_new(s, (dg_id)b->spill.start[i], (int64_t)b->counts[i], &run, err);
		if (!st)
			st = sort_bucket(s, b, i, alone ? NULL : &run, &block, err);
		if (!st && alone)
			s->indptr[b->start[i]] += (int64_t)b->counts[i];
		if (!st && !alone) {
			/* What pass_on() has written stands in the writers' buffers before it. */
			st = run_write(s, &run, err);
		}
		run_clear(&run);
	}
	dgi_ids_clear(&block);
	return st;
}

static dg_status sort_by_buckets(struct sorting *s, uint64_t memory, dg_error *err)
{
	struct buckets b = { 0 };
	char *path = NULL;
	dg_status st = make_buckets(s, (int64_t)(memory / (2 * s->bytes)) + 1, &b, err);

	if (!st)
		st = dgi_work_path(s->work, &path, err, "spill");
	if (!st)
		st = dgi_bucket_file_open(path, b.counts, b.n, 3 * (size_t)s->bytes, memory,
					  &b.spill, err);
	if (!st)
		(void)unlink(path); /* room is given back however this ends */
	if (!st)
		st = pass(s, spill_block, &b, err);
	if (!st)
		st = dgi_bucket_file_finish(&b.spill, err);
	if (!st)
		st = sort_buckets(s, &b, err);
	buckets_clear(&b);
	free(path);
	return st;
}

/* --- The inverse: new edge ids by old ones --- */

/* Pieces of the inverse that fit the memory, each by a pass over all of them. */
static dg_status invert(struct sorting *s, uint64_t memory, dg_error *err)
{
	struct dgi_ids original = { 0 }, piece = { 0 };
	struct dgi_ids_writer out = { 0 };
	char *from = NULL, *to = NULL;
	int64_t most = (int64_t)(memory / s->bytes) + 1;
	dg_status st = dgi_work_path(s->work, &from, err, "edges%u.original", s->ask->type);

	if (most > s->n)
		most = s->n;
	if (!st)
		st = dgi_work_path(s->work, &to, err, "edges%u.internal", s->ask->type);
	if (!st)
		st = dgi_ids_map(from, s->n, s->bytes, &original, err);
	if (!st)
		st = dgi_ids_writer_open(to, s->bytes, &out, err);
	if (!st)
		st = dgi_ids_new(most, s->bytes, &piece, err);
	for (int64_t first = 0; !st && first < s->n; first += most) {
		piece.n = s->n - first < most ? s->n - first : most;
		for (dg_id e = 0; e < s->n; e++) {
			int64_t at = dgi_ids_get(&original, e) - first;

			if (at >= 0 && at < piece.n)
				dgi_ids_set(&piece, at, e);
		}
		st = dgi_ids_write_all(&out, &piece, err);
		if (!st)
			st = dgi_progress_add(s->progress, (uint64_t)piece.n, err);
	}
	st = dgi_ids_writer_close(&out, st, err);
	dgi_ids_clear(&original);
	dgi_ids_clear(&piece);
	free(from);
	free(to);
	return st;
}

/* --- Edges that leave a partition --- */

static dg_status spill_leaving(struct sorting *s, const struct dgi_ids *indices,
			       struct dgi_bucket_file *spill, dg_error *err)
{
	const struct dgi_node_order *sources = s->ask->sources;
	const struct dgi_node_order *destinations = s->ask->destinations;
	dg_status st = DG_OK;
	dg_id edge = 0;

	for (uint32_t p = 0; !st && p < s->ask->n_parts; p++) {
		const dg_id inner = sources->start[p], inner_end = sources->start[p + 1];

		for (dg_id v = destinations->start[p]; !st && v < destinations->start[p + 1]; v++)
			for (; !st && edge < s->indptr[v + 1]; edge++) {
				dg_id src = dgi_ids_get(indices, edge);
				void *record;

				if (src >= inner && src < inner_end)
					continue;
				st = dgi_bucket_file_next(
					spill,
					dgi_starts_find(sources->start, s->ask->n_parts, src),
					&record, err);
				if (!st)
					put_record(record, s->bytes, edge, src, v);
			}
		if (!st)
			st = dgi_progress_add(s->progress, 0, err);
	}
	return st;
}

static dg_status write_leaving(struct sorting *s, uint64_t memory, dg_error *err)
{
	struct dgi_ids indices = { 0 };
	struct dgi_bucket_file spill = { 0 };
	char *from = NULL, *to = NULL;
	dg_status st = dgi_work_path(s->work, &from, err, "edges%u.indices", s->ask->type);

	if (!st)
		st = dgi_work_path(s->work, &to, err, "edges%u.out", s->ask->type);
	if (!st)
		st = dgi_ids_map(from, s->n, s->bytes, &indices, err);
	if (!st)
		st = dgi_bucket_file_open(to, s->n_out, s->ask->n_parts,
					  DGI_OUT_COLUMNS * (size_t)s->bytes, memory, &spill, err);
	if (!st)
		st = spill_leaving(s, &indices, &spill, err);
	if (!st)
		st = dgi_bucket_file_finish(&spill, err);
	dgi_bucket_file_close(&spill);
	dgi_ids_clear(&indices);
	free(from);
	free(to);
	return st;
}

/* --- The whole --- */

static void sum_up(int64_t *counts, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		counts[i + 1] += counts[i];
}

/* Each row pointer was moved to its row's end, which is where the next begins. */
static void put_back(int64_t *indptr, int64_t n)
{
	memmove(indptr + 1, indptr, (size_t)n * sizeof *indptr);
	indptr[0] = 0;
}

static dg_status save_counts(const struct sorting *s, const int64_t *counts, int64_t n,
			     int64_t largest, const char *name, dg_error *err)
{
	struct dgi_ids_writer w = { 0 };
	char *path = NULL;
	dg_status st = dgi_work_path(s->work, &path, err, "edges%u.%s", s->ask->type, name);

	if (!st)
		st = dgi_ids_writer_open(path, dgi_ids_bytes_for(largest), &w, err);
	for (int64_t i = 0; !st && i < n; i++)
		st = dgi_ids_write(&w, counts[i], err);
	st = dgi_ids_writer_close(&w, st, err);
	free(path);
	return st;
}

static dg_status save_offsets(const struct sorting *s, dg_error *err)
{
	struct dgi_ids_writer w = { 0 };
	char *path = NULL;
	int64_t sum = 0;
	dg_status st = dgi_work_path(s->work, &path, err, "edges%u.outptr", s->ask->type);

	if (!st)
		st = dgi_ids_writer_open(path, 8, &w, err);
	for (uint32_t p = 0; !st && p <= s->ask->n_parts; p++) {
		st = dgi_ids_write(&w, sum, err);
		if (p < s->ask->n_parts)
			sum += (int64_t)s->n_out[p];
	}
	st = dgi_ids_writer_close(&w, st, err);
	free(path);
	return st;
}

static dg_status sort_edges(struct sorting *s, uint64_t memory, dg_error *err)
{
	const bool fits = (uint64_t)s->n <= memory / (2 * s->bytes);
	char *indices = NULL, *original = NULL;
	dg_status st = dgi_work_path(s->work, &indices, err, "edges%u.indices", s->ask->type);

	if (!st)
		st = dgi_work_path(s->work, &original, err, "edges%u.original", s->ask->type);
	if (!st)
		st = dgi_ids_writer_open(indices, s->bytes, &s->indices, err);
	if (!st)
		st = dgi_ids_writer_open(original, s->bytes, &s->original, err);
	if (!st && s->n > 0)
		st = fits ? sort_at_once(s, err) : sort_by_buckets(s, memory, err);
	st = dgi_ids_writer_close(&s->indices, st, err);
	st = dgi_ids_writer_close(&s->original, st, err);
	put_back(s->indptr, s->ask->destinations->n);
	free(indices);
	free(original);
	return st;
}

static int64_t largest_of(const int64_t *values, int64_t n)
{
	int64_t largest = 0;

	for (int64_t i = 0; i < n; i++)
		if (values[i] > largest)
			largest = values[i];
	return largest;
}

static dg_status make(struct sorting *s, struct dgi_work *work, const char *stage, dg_error *err)
{
	const struct dgi_edge_sort *ask = s->ask;
	const uint64_t least =
		dgi_edge_sort_bytes_min(ask->sources->n, ask->destinations->n, ask->n_parts);
	/* What is left for edges, of which half may be buffers of a spill. */
	const uint64_t memory =
		(ask->memory > least ? ask->memory - least : 0) / 2 + LEAST_BYTES / 2;
	char text[DGI_WORK_TEXT_BYTES];
	int64_t largest;
	dg_status st = pass(s, count_block, NULL, err);

	if (st)
		return st;
	sum_up(s->indptr, ask->destinations->n);
	largest = largest_of(s->out_degrees, ask->sources->n);
	st = sort_edges(s, memory, err);
	if (!st)
		st = save_counts(s, s->indptr, ask->destinations->n + 1, s->n, "indptr", err);
	if (!st)
		st = save_counts(s, s->out_degrees, ask->sources->n, largest, "outdegrees", err);
	if (!st && ask->halo)
		st = write_leaving(s, memory, err);
	if (!st && ask->halo)
		st = save_offsets(s, err);
	if (!st)
		st = invert(s, memory, err);
	(void)snprintf(text, sizeof text, "%" PRId64 " %" PRId64 " %" PRId64, s->n, s->cut,
		       largest);
	return st ? st : dgi_work_finish(work, stage, text, false, err);
}

uint64_t dgi_edge_sort_bytes_min(int64_t n_src, int64_t n_dst, uint32_t n_parts)
{
	return (uint64_t)(n_src + n_dst) * 8 + (uint64_t)n_parts * 64 + READER_BYTES + LEAST_BYTES;
}

dg_status dgi_edge_sort(const struct dgi_edge_sort *sort, struct dgi_work *work,
			struct dgi_progress *progress, dg_error *err)
{
	const struct dgi_source_edges *edges = &sort->source->edges[sort->type];
	struct sorting s = { .ask = sort, .work = work, .progress = progress, .n = edges->n };
	int64_t largest = edges->n;
	char stage[32];
	dg_status st;

	(void)snprintf(stage, sizeof stage, "edges%u", sort->type);
	if (dgi_work_finished(work, stage, NULL))
		return DG_OK;
	if (sort->sources->n > largest)
		largest = sort->sources->n;
	if (sort->destinations->n > largest)
		largest = sort->destinations->n;
	s.bytes = dgi_ids_bytes_for(largest);
	st = allocate(&s, err);
	if (!st)
		st = make(&s, work, stage, err);
	sorting_clear(&s);
	return st;
}
