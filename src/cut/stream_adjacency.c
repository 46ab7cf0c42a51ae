/* stream_adjacency.c -- external grouping of arcs by node, and the walk through the result. */
#include "stream_adjacency.h"

#include "fail.h"
#include "files.h"
#include "stream_spill.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WALK_BYTES ((size_t)1 << 20)
#define BUCKET_RECORDS_MIN 4096

struct record {
	uint32_t from, to, weight;
};

/* In memory a bucket is its arcs, spread by node, and what is written of them. */
#define BUCKET_BYTES_PER_RECORD sizeof(struct dgi_arc)

struct dgi_grouper {
	uint32_t n;
	uint64_t *ends; /* by node: given arcs of all nodes up to it, within its bucket */
	uint32_t *bucket_of;
	uint32_t *first_node; /* of each bucket, and n */
	uint32_t n_buckets;
	uint64_t bucket_records; /* that a bucket of several nodes holds at most */
	uint64_t memory_arcs;	 /* a graph up to here stays in memory */
	const char *dir;
	struct dgi_stream_spill *spill;
	uint32_t *mark; /* by neighbour: its place in the list at hand, if there it stands */
	struct dgi_arc *arcs;
	struct dgi_adjacency out;
	uint64_t file_at;
	uint8_t *buffer; /* of what is written */
	size_t buffered;
};

struct dgi_adjacency dgi_adjacency_none(void)
{
	return (struct dgi_adjacency){ .fd = -1 };
}

void dgi_adjacency_clear(struct dgi_adjacency *graph)
{
	free(graph->start);
	free(graph->arcs);
	if (graph->fd >= 0)
		(void)close(graph->fd);
	*graph = dgi_adjacency_none();
}

static uint32_t add_weights(uint32_t a, uint32_t b)
{
	return a > UINT32_MAX - b ? UINT32_MAX : a + b;
}

/* --- Making one --- */

/* Cuts the nodes into buckets of few enough records; a larger node is a bucket of its own. */
static dg_status cut_buckets(struct dgi_grouper *g, const uint64_t *counts, dg_error *err)
{
	uint64_t held = 0, largest = 0;
	uint32_t b = 0;

	for (uint32_t v = 0; v < g->n; v++) {
		bool first = v == 0 || g->bucket_of[v - 1] != b;

		if (!first &&
		    (counts[v] > g->bucket_records || held > g->bucket_records - counts[v])) {
			b++;
			held = 0;
		}
		held += counts[v];
		g->bucket_of[v] = b;
		g->ends[v] = held;
		if (held > largest && held <= g->bucket_records)
			largest = held;
	}
	g->n_buckets = b + 1;
	g->first_node = malloc(((size_t)g->n_buckets + 1) * sizeof *g->first_node);
	g->arcs = malloc((size_t)largest * sizeof *g->arcs + 1);
	if (!g->first_node || !g->arcs)
		return dgi_fail_memory(err, "grouping edges by node");
	for (uint32_t v = g->n; v-- > 0;)
		g->first_node[g->bucket_of[v]] = v;
	g->first_node[g->n_buckets] = g->n;
	if (g->n == 0)
		g->first_node[0] = 0;
	return DG_OK;
}

dg_status dgi_grouper_open(const char *dir, uint32_t n, const uint64_t *counts, uint64_t budget,
			   struct dgi_grouper **out, dg_error *err)
{
	struct dgi_grouper *g = calloc(1, sizeof *g);
	dg_status st;

	if (!g)
		return dgi_fail_memory(err, "grouping edges by node");
	g->n = n;
	g->dir = dir;
	g->out = dgi_adjacency_none();
	g->out.n = n;
	g->memory_arcs = budget / 4 / sizeof(struct dgi_arc);
	g->bucket_records = budget / 2 / BUCKET_BYTES_PER_RECORD;
	if (g->bucket_records < BUCKET_RECORDS_MIN)
		g->bucket_records = BUCKET_RECORDS_MIN;
	g->ends = malloc((size_t)n * sizeof *g->ends + 1);
	g->bucket_of = malloc((size_t)n * sizeof *g->bucket_of + 1);
	st = g->ends && g->bucket_of ? cut_buckets(g, counts, err)
				     : dgi_fail_memory(err, "grouping edges by node");
	if (!st)
		st = dgi_stream_spill_open(dir, g->n_buckets, sizeof(struct record), &g->spill,
					   err);
	if (st)
		dgi_grouper_close(g);
	else
		*out = g;
	return st;
}

dg_status dgi_grouper_add(struct dgi_grouper *g, uint32_t from, uint32_t to, uint32_t weight,
			  dg_error *err)
{
	const struct record record = { from, to, weight };

	return dgi_stream_spill_add(g->spill, g->bucket_of[from], &record, err);
}

static dg_status flush(struct dgi_grouper *g, dg_error *err)
{
	dg_status st =
		dgi_stream_spill_write_at(g->out.fd, g->file_at, g->buffer, g->buffered, err);

	g->file_at += g->buffered;
	g->buffered = 0;
	return st;
}

static dg_status write_bytes(struct dgi_grouper *g, const void *data, size_t n, dg_error *err)
{
	const uint8_t *from = data;
	dg_status st = DG_OK;

	while (!st && n > 0) {
		size_t part = WALK_BYTES - g->buffered < n ? WALK_BYTES - g->buffered : n;

		memcpy(g->buffer + g->buffered, from, part);
		g->buffered += part;
		from += part;
		n -= part;
		if (g->buffered == WALK_BYTES)
			st = flush(g, err);
	}
	return st;
}

static dg_status write_node(struct dgi_grouper *g, const struct dgi_arc *arcs, uint32_t n,
			    dg_error *err)
{
	dg_status st = write_bytes(g, &n, sizeof n, err);

	if (n > g->out.largest_degree)
		g->out.largest_degree = n;
	g->out.n_arcs += n;
	for (uint32_t i = 0; i < n; i++)
		g->out.weight += arcs[i].weight;
	return st ? st : write_bytes(g, arcs, n * sizeof *arcs, err);
}

/* Merges equal neighbours in place; returns how many are left. */
static uint32_t merge(struct dgi_arc *arcs, uint64_t n, uint32_t *mark)
{
	uint32_t kept = 0;

	for (uint64_t i = 0; i < n; i++) {
		const struct dgi_arc arc = arcs[i];
		uint32_t at = mark[arc.to];

		if (at < kept && arcs[at].to == arc.to) {
			arcs[at].weight = add_weights(arcs[at].weight, arc.weight);
			continue;
		}
		mark[arc.to] = kept;
		arcs[kept++] = arc;
	}
	return kept;
}

/* Spreads a bucket's arcs by node; afterwards ends[v] is where those of v begin. */
static dg_status spread(struct dgi_grouper *g, uint32_t bucket, dg_error *err)
{
	uint64_t cursor = 0;
	const void *records;
	size_t n;
	dg_status st;

	do {
		st = dgi_stream_spill_next(g->spill, bucket, &cursor, &records, &n, err);
		for (size_t i = 0; !st && i < n; i++) {
			const struct record *r = (const struct record *)records + i;

			g->arcs[--g->ends[r->from]] = (struct dgi_arc){ r->to, r->weight };
		}
	} while (!st && n > 0);
	return st;
}

static dg_status write_bucket(struct dgi_grouper *g, uint32_t bucket, dg_error *err)
{
	const uint32_t first = g->first_node[bucket], end = g->first_node[bucket + 1];
	uint64_t given = end > first ? g->ends[end - 1] : 0;
	dg_status st = spread(g, bucket, err);

	for (uint32_t v = first; !st && v < end; v++) {
		uint64_t stop = v + 1 < end ? g->ends[v + 1] : given;
		struct dgi_arc *arcs = g->arcs + g->ends[v];

		st = write_node(g, arcs, merge(arcs, stop - g->ends[v], g->mark), err);
	}
	return st;
}

/* A node with more arcs than memory has room for: they are summed over all nodes there are. */
static dg_status write_large_node(struct dgi_grouper *g, uint32_t bucket, dg_error *err)
{
	uint32_t *sums = calloc(g->n, sizeof *sums);
	struct dgi_arc *arcs = NULL;
	uint64_t cursor = 0;
	const void *records;
	uint32_t degree = 0;
	size_t n;
	dg_status st;

	if (!sums)
		return dgi_fail_memory(err, "grouping edges by node");
	do {
		st = dgi_stream_spill_next(g->spill, bucket, &cursor, &records, &n, err);
		for (size_t i = 0; !st && i < n; i++) {
			const struct record *r = (const struct record *)records + i;

			degree += sums[r->to] == 0;
			sums[r->to] = add_weights(sums[r->to], r->weight);
		}
	} while (!st && n > 0);
	if (!st && !(arcs = malloc(degree * sizeof *arcs + 1)))
		st = dgi_fail_memory(err, "grouping edges by node");
	degree = 0;
	for (uint32_t v = 0; !st && v < g->n; v++)
		if (sums[v])
			arcs[degree++] = (struct dgi_arc){ v, sums[v] };
	if (!st)
		st = write_node(g, arcs, degree, err);
	free(arcs);
	free(sums);
	return st;
}

/* A small graph is read back into memory, to be walked in any order. */
static dg_status load(struct dgi_adjacency *graph, dg_error *err)
{
	struct dgi_adjacency small = *graph;
	struct dgi_walk walk;
	const struct dgi_arc *arcs;
	uint32_t node, degree;
	uint64_t at = 0;
	dg_status st = dgi_walk_begin(&walk, graph, NULL, err);

	if (st)
		return st;
	small.start = malloc(((size_t)graph->n + 1) * sizeof *small.start);
	small.arcs = malloc((size_t)graph->n_arcs * sizeof *small.arcs + 1);
	if (!small.start || !small.arcs)
		st = dgi_fail_memory(err, "grouping edges by node");
	while (!st) {
		st = dgi_walk_next(&walk, &node, &arcs, &degree, err);
		if (st || node == UINT32_MAX)
			break;
		small.start[node] = at;
		memcpy(small.arcs + at, arcs, degree * sizeof *arcs);
		at += degree;
	}
	dgi_walk_end(&walk);
	if (st) {
		free(small.start);
		free(small.arcs);
		return st;
	}
	small.start[graph->n] = at;
	(void)close(small.fd);
	small.fd = -1;
	*graph = small;
	return DG_OK;
}

static bool is_large(const struct dgi_grouper *g, uint32_t bucket)
{
	const uint32_t end = g->first_node[bucket + 1];

	return end > g->first_node[bucket] && g->ends[end - 1] > g->bucket_records;
}

dg_status dgi_grouper_finish(struct dgi_grouper *g, struct dgi_adjacency *out, dg_error *err)
{
	dg_status st = dgi_stream_spill_file(g->dir, &g->out.fd, err);

	if (st)
		return st;
	free(g->bucket_of);
	g->bucket_of = NULL;
	g->mark = calloc((size_t)g->n + 1, sizeof *g->mark);
	g->buffer = malloc(WALK_BYTES);
	if (!g->mark || !g->buffer)
		return dgi_fail_memory(err, "grouping edges by node");
	for (uint32_t b = 0; !st && b < g->n_buckets; b++)
		st = is_large(g, b) ? write_large_node(g, b, err) : write_bucket(g, b, err);
	if (!st)
		st = flush(g, err);
	dgi_stream_spill_close(g->spill); /* room on the disk and in memory */
	g->spill = NULL;
	free(g->arcs);
	g->arcs = NULL;
	if (!st && g->out.n_arcs <= g->memory_arcs)
		st = load(&g->out, err);
	if (st)
		return st;
	*out = g->out;
	g->out = dgi_adjacency_none();
	return DG_OK;
}

void dgi_grouper_close(struct dgi_grouper *g)
{
	if (!g)
		return;
	dgi_stream_spill_close(g->spill);
	dgi_adjacency_clear(&g->out);
	free(g->ends);
	free(g->bucket_of);
	free(g->first_node);
	free(g->mark);
	free(g->arcs);
	free(g->buffer);
	free(g);
}

/* --- Walking through it --- */

static dg_status shuffle(struct dgi_walk *walk, struct dgi_rng *rng, dg_error *err)
{
	const uint32_t n = walk->graph->n;

	walk->order = malloc((size_t)n * sizeof *walk->order + 1);
	if (!walk->order)
		return dgi_fail_memory(err, "order of nodes");
	for (uint32_t i = 0; i < n; i++) {
		uint32_t j = (uint32_t)dgi_rng_below(rng, (uint64_t)i + 1);

		walk->order[i] = walk->order[j];
		walk->order[j] = i;
	}
	return DG_OK;
}

dg_status dgi_walk_begin(struct dgi_walk *walk, const struct dgi_adjacency *graph,
			 struct dgi_rng *rng, dg_error *err)
{
	*walk = (struct dgi_walk){ .graph = graph };
	if (graph->start)
		return rng ? shuffle(walk, rng, err) : DG_OK;
	walk->capacity =
		WALK_BYTES + sizeof(uint32_t) + graph->largest_degree * sizeof(struct dgi_arc);
	walk->buffer = malloc(walk->capacity);
	return walk->buffer ? DG_OK : dgi_fail_memory(err, "reading neighbours");
}

static uint64_t file_bytes(const struct dgi_adjacency *graph)
{
	return graph->n * (uint64_t)sizeof(uint32_t) + graph->n_arcs * sizeof(struct dgi_arc);
}

/* Has @n bytes at buffer + begin. The file is ours: only a failing disk gives less. */
static dg_status need(struct dgi_walk *walk, size_t n, dg_error *err)
{
	uint64_t left = file_bytes(walk->graph) - walk->file_at;
	size_t more;
	dg_status st;

	if (walk->end - walk->begin >= n)
		return DG_OK;
	memmove(walk->buffer, walk->buffer + walk->begin, walk->end - walk->begin);
	walk->end -= walk->begin;
	walk->begin = 0;
	more = walk->capacity - walk->end;
	if (more > left)
		more = (size_t)left;
	st = dgi_read_at(walk->graph->fd, walk->file_at, walk->buffer + walk->end, more, err);
	walk->file_at += more;
	walk->end += more;
	if (!st && walk->end < n)
		return dgi_fail(err, DG_IO, "temporary file of the cut: it has changed");
	return st;
}

static dg_status next_in_file(struct dgi_walk *walk, const struct dgi_arc **arcs, uint32_t *n_arcs,
			      dg_error *err)
{
	dg_status st = need(walk, sizeof *n_arcs, err);

	if (st)
		return st;
	memcpy(n_arcs, walk->buffer + walk->begin, sizeof *n_arcs);
	if (*n_arcs > walk->graph->largest_degree)
		return dgi_fail(err, DG_IO, "temporary file of the cut: it has changed");
	walk->begin += sizeof *n_arcs;
	st = need(walk, *n_arcs * sizeof **arcs, err);
	*arcs = (const void *)(walk->buffer + walk->begin);
	walk->begin += *n_arcs * sizeof **arcs;
	return st;
}

dg_status dgi_walk_next(struct dgi_walk *walk, uint32_t *node, const struct dgi_arc **arcs,
			uint32_t *n_arcs, dg_error *err)
{
	const struct dgi_adjacency *graph = walk->graph;

	if (walk->next == graph->n) {
		*node = UINT32_MAX;
		return DG_OK;
	}
	*node = walk->order ? walk->order[walk->next] : walk->next;
	walk->next++;
	if (!graph->start)
		return next_in_file(walk, arcs, n_arcs, err);
	*arcs = graph->arcs + graph->start[*node];
	*n_arcs = (uint32_t)(graph->start[*node + 1] - graph->start[*node]);
	return DG_OK;
}

void dgi_walk_end(struct dgi_walk *walk)
{
	free(walk->order);
	free(walk->buffer);
	*walk = (struct dgi_walk){ 0 };
}
