/* verify_edges.c -- each edge is stored once, with its ends, at the owner of its destination. */
#include "verify_parts.h"

#include "fail.h"

#include <inttypes.h>

/* One edge type of one part, while its rows are read. */
struct edges_of {
	struct dgi_verify *v;
	struct dgi_verify_edges *sums;
	dg_store *store;
	uint16_t type, src_type, dst_type;
	const dg_tensor_info *original; /* ids of the edges */
	dg_id edges_start;		/* internal id of the part's first edge */
	dg_id nodes_start;		/* of its first destination */
	int64_t n_edges, n_nodes;
	int64_t done;	  /* edges taken */
	dg_id *src, *ids; /* of edges [block_begin, block_end) */
	int64_t block_begin, block_end;
};

static dg_status bad(const struct edges_of *e, const char *what, int64_t found, dg_error *err)
{
	return dgi_fail(err, DG_CORRUPT, "edge type %d: %s %" PRId64, e->type, what, found);
}

/* Edges [first, first + n), read into the second and third block of ids. */
static dg_status read_edges(struct edges_of *e, int64_t first, size_t n, dg_error *err)
{
	dg_status st = dgi_stored_array(e->store, e->type, DG_GRAPH_INDICES, first, n, e->src, err);

	return st ? st : dgi_stored_ids(e->store, e->original, first, n, e->ids, err);
}

static dg_status take_edge(struct edges_of *e, int64_t at, size_t i, dg_id original_dst,
			   dg_error *err)
{
	const dg_id src = e->src[i], id = e->ids[i];

	if (src < 0 || src >= dg_book_count(e->v->book, DG_NODE, e->src_type))
		return bad(e, "a source that does not exist,", src, err);
	dgi_hash_sum_add(&e->sums->stored,
			 (int64_t[]){ id, e->v->original[e->src_type][src], original_dst }, 3);
	dgi_hash_sum_add(&e->sums->ids, &id, 1);
	dgi_hash_sum_add(&e->sums->tables, (int64_t[]){ id, e->edges_start + at }, 2);
	dgi_hash_sum_add_times(&e->sums->leaving, src, 1);
	return DG_OK;
}

/* The edges that end in local node @dst; a block of edges is read where the last one ends. */
static dg_status take_row(struct edges_of *e, int64_t dst, int64_t begin, int64_t end,
			  dg_error *err)
{
	const dg_id original_dst = e->v->original[e->dst_type][e->nodes_start + dst];
	dg_status st = DG_OK;

	if (begin != e->done || end < begin || end > e->n_edges)
		return bad(e, "row pointers go wrong at node", e->nodes_start + dst, err);
	for (int64_t at = begin; !st && at < end; at++) {
		if (at == e->block_end) {
			int64_t left = e->n_edges - at;
			size_t n = left < DGI_STORED_BLOCK ? (size_t)left : DGI_STORED_BLOCK;

			st = read_edges(e, at, n, err);
			e->block_begin = at;
			e->block_end = at + (int64_t)n;
		}
		if (!st)
			st = take_edge(e, at, (size_t)(at - e->block_begin), original_dst, err);
	}
	e->done = end;
	return st;
}

static dg_status take_rows(struct edges_of *e, dg_error *err)
{
	int64_t *rows = e->v->ids;
	dg_status st = DG_OK;

	e->src = rows + DGI_STORED_BLOCK + 1;
	e->ids = e->src + DGI_STORED_BLOCK + 1;
	for (int64_t at = 0; !st && at < e->n_nodes; at += DGI_STORED_BLOCK) {
		size_t n = e->n_nodes - at < DGI_STORED_BLOCK ? (size_t)(e->n_nodes - at)
							      : DGI_STORED_BLOCK;

		st = dgi_stored_array(e->store, e->type, DG_GRAPH_INDPTR, at, n + 1, rows, err);
		for (size_t i = 0; !st && i < n; i++)
			st = take_row(e, at + (int64_t)i, rows[i], rows[i + 1], err);
	}
	if (!st && e->done != e->n_edges)
		st = bad(e, "edges that end in no node:", e->n_edges - e->done, err);
	return st;
}

static dg_status take_inverse(struct edges_of *e, uint32_t part, dg_error *err)
{
	const struct dgi_verify *v = e->v;
	const int64_t n_edges = dg_book_count(v->book, DG_EDGE, e->type);
	const dg_id start = (dg_id)dgi_share(n_edges, part, v->request->n_parts);
	const dg_id end = (dg_id)dgi_share(n_edges, part + 1, v->request->n_parts);
	const dg_tensor_info *table;
	dg_status st = dgi_stored_tensor(e->store, DG_EDGE, e->type, DG_TENSOR_INTERNAL_ID,
					 DG_ORIGINAL, &table, err);

	for (dg_id at = start; !st && at < end; at += DGI_STORED_BLOCK) {
		size_t n = end - at < DGI_STORED_BLOCK ? (size_t)(end - at) : DGI_STORED_BLOCK;

		st = dgi_stored_ids(e->store, table, at - start, n, v->ids, err);
		for (size_t i = 0; !st && i < n; i++)
			dgi_hash_sum_add(&e->sums->inverse, (int64_t[]){ at + (dg_id)i, v->ids[i] },
					 2);
	}
	return st;
}

static dg_status take_out_degrees(struct edges_of *e, uint32_t part, dg_error *err)
{
	int64_t *degrees = e->v->ids;
	dg_id start, end;
	dg_status st = DG_OK;

	dg_book_range(e->v->book, DG_NODE, e->src_type, part, &start, &end);
	for (dg_id at = start; !st && at < end; at += DGI_STORED_BLOCK) {
		size_t n = end - at < DGI_STORED_BLOCK ? (size_t)(end - at) : DGI_STORED_BLOCK;

		st = dgi_stored_array(e->store, e->type, DG_GRAPH_OUT_DEGREES, at - start, n,
				      degrees, err);
		for (size_t i = 0; !st && i < n; i++)
			dgi_hash_sum_add_times(&e->sums->out_degrees, at + (dg_id)i,
					       (uint64_t)degrees[i]);
	}
	return st;
}

dg_status dgi_verify_edges_of_part(struct dgi_verify *v, dg_store *store, uint32_t part,
				   dg_error *err)
{
	dg_status st = DG_OK;

	for (uint16_t t = 0; !st && t < v->n_edge_types; t++) {
		const dg_edge_type type = dg_book_edge_type(v->book, t);
		struct edges_of e = { .v = v,
				      .sums = &v->edges[t],
				      .store = store,
				      .type = t,
				      .src_type = type.src_type,
				      .dst_type = type.dst_type };
		dg_id end;

		dg_book_range(v->book, DG_EDGE, t, part, &e.edges_start, &end);
		e.n_edges = end - e.edges_start;
		dg_book_range(v->book, DG_NODE, e.dst_type, part, &e.nodes_start, &end);
		e.n_nodes = end - e.nodes_start;
		st = dgi_stored_tensor(store, DG_EDGE, t, DG_TENSOR_ORIGINAL_ID, DG_INTERNAL,
				       &e.original, err);
		if (!st)
			st = take_rows(&e, err);
		if (!st)
			st = take_inverse(&e, part, err);
		if (!st)
			st = take_out_degrees(&e, part, err);
	}
	return st;
}

/* --- Against the source --- */

static dg_status sum_source(const struct dgi_verify *v, uint16_t type, struct dgi_hash_sum *sum,
			    dg_error *err)
{
	struct dgi_edge_reader *reader = NULL;
	const dg_id *src, *dst;
	int64_t edge = 0;
	size_t n = 1;
	dg_status st = dgi_edge_reader_open(v->request->source, type, 0, &reader, err);

	while (!st && n > 0) {
		st = dgi_edge_reader_next(reader, &src, &dst, &n, err);
		for (size_t i = 0; !st && i < n; i++, edge++)
			dgi_hash_sum_add(sum, (int64_t[]){ edge, src[i], dst[i] }, 3);
		if (!st)
			st = dgi_progress_add(v->request->progress, 0, err);
	}
	dgi_edge_reader_close(reader);
	return st;
}

static dg_status differ(uint16_t type, const char *what, dg_error *err)
{
	return dgi_fail(err, DG_CORRUPT, "edge type %d: %s", type, what);
}

dg_status dgi_verify_edges_end(struct dgi_verify *v, dg_error *err)
{
	dg_status st = DG_OK;

	for (uint16_t t = 0; !st && t < v->n_edge_types; t++) {
		const struct dgi_verify_edges *sums = &v->edges[t];
		struct dgi_hash_sum ids = { 0 }, source = { 0 };

		for (int64_t e = 0; e < dg_book_count(v->book, DG_EDGE, t); e++)
			dgi_hash_sum_add(&ids, &e, 1);
		if (!dgi_hash_sum_equal(&sums->ids, &ids))
			return differ(t, "not every original edge is stored exactly once", err);
		if (!dgi_hash_sum_equal(&sums->tables, &sums->inverse))
			return differ(t, "the tables of original and new ids contradict each other",
				      err);
		if (!dgi_hash_sum_equal(&sums->leaving, &sums->out_degrees))
			return differ(t, "out-degrees are not those of the edges", err);
		if (v->request->source)
			st = sum_source(v, t, &source, err);
		if (!st && v->request->source && !dgi_hash_sum_equal(&sums->stored, &source))
			return differ(t, "edges have other ends than in the source", err);
	}
	return st;
}
