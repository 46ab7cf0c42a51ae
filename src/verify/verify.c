/* verify.c -- is a partitioned graph the graph it was made of? Parts, nodes and id tables. */
#include "verify.h"

#include "fail.h"
#include "verify_parts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- Counts and ranges --- */

static dg_status check_count(const struct dgi_verify *v, dg_side side, uint16_t type, dg_error *err)
{
	const int64_t stored = dg_book_count(v->book, side, type);
	const int64_t wanted = dgi_source_count(v->request->source, side, type);

	if (stored == wanted)
		return DG_OK;
	return dgi_fail(err, DG_CORRUPT,
			"%s type %d: %" PRId64 " are stored, the source has %" PRId64,
			side == DG_NODE ? "node" : "edge", type, stored, wanted);
}

static dg_status check_counts(const struct dgi_verify *v, dg_error *err)
{
	const struct dgi_source *source = v->request->source;
	dg_status st = DG_OK;

	if (!source)
		return DG_OK;
	if (source->n_node_types != v->n_node_types || source->n_edge_types != v->n_edge_types)
		return dgi_fail(err, DG_CORRUPT,
				"%d node and %d edge types are stored, the source has %d and %d",
				v->n_node_types, v->n_edge_types, source->n_node_types,
				source->n_edge_types);
	for (uint16_t t = 0; !st && t < v->n_node_types; t++)
		st = check_count(v, DG_NODE, t, err);
	for (uint16_t t = 0; !st && t < v->n_edge_types; t++)
		st = check_count(v, DG_EDGE, t, err);
	return st;
}

/* Ranges of all parts, one after the other, are the ids from 0 to the count. */
static dg_status check_tiles(const dg_book *book, dg_side side, uint16_t type, dg_error *err)
{
	dg_id next = 0, start, end;

	for (uint32_t p = 0; p < dg_book_n_parts(book); p++) {
		dg_book_range(book, side, type, p, &start, &end);
		if (start != next || end < start)
			return dgi_fail(err, DG_CORRUPT,
					"%s type %d: part %" PRIu32 " owns %" PRId64 " to %" PRId64
					", the ones before end at %" PRId64,
					side == DG_NODE ? "node" : "edge", type, p, start, end,
					next);
		next = end;
	}
	if (next != dg_book_count(book, side, type))
		return dgi_fail(err, DG_CORRUPT, "%s type %d: parts own %" PRId64 " of %" PRId64,
				side == DG_NODE ? "node" : "edge", type, next,
				dg_book_count(book, side, type));
	return DG_OK;
}

static dg_status check_ranges(const struct dgi_verify *v, dg_error *err)
{
	dg_status st = DG_OK;

	if (dg_book_n_parts(v->book) != v->request->n_parts)
		return dgi_fail(err, DG_CORRUPT, "%" PRIu32 " parts, the store knows of %" PRIu32,
				v->request->n_parts, dg_book_n_parts(v->book));
	for (uint16_t t = 0; !st && t < v->n_node_types; t++)
		st = check_tiles(v->book, DG_NODE, t, err);
	for (uint16_t t = 0; !st && t < v->n_edge_types; t++)
		st = check_tiles(v->book, DG_EDGE, t, err);
	return st;
}

/* --- Nodes --- */

static dg_status place_node(struct dgi_verify *v, uint16_t type, uint32_t part, dg_id internal,
			    dg_id original, dg_error *err)
{
	const struct dgi_verify_request *r = v->request;
	const uint32_t n_trainers = r->n_trainers ? r->n_trainers : 1;
	const int64_t n = dg_book_count(v->book, DG_NODE, type);

	if (original < 0 || original >= n)
		return dgi_fail(err, DG_CORRUPT,
				"node type %d: node %" PRId64 " was %" PRId64
				", there are %" PRId64,
				type, internal, original, n);
	if (v->internal[type][original] >= 0)
		return dgi_fail(err, DG_CORRUPT,
				"node type %d: %" PRId64 " and %" PRId64 " both were node %" PRId64,
				type, v->internal[type][original], internal, original);
	if (r->owners && r->owners[type][original] / n_trainers != part)
		return dgi_fail(err, DG_CORRUPT,
				"node type %d: node %" PRId64 " is in part %" PRIu32
				", it was assigned to %" PRIu32,
				type, original, part, r->owners[type][original] / n_trainers);
	v->internal[type][original] = internal;
	return DG_OK;
}

static dg_status place_nodes(struct dgi_verify *v, dg_store *store, uint32_t part, uint16_t type,
			     dg_error *err)
{
	const dg_tensor_info *table;
	dg_id start, end;
	dg_status st = dgi_stored_tensor(store, DG_NODE, type, DG_TENSOR_ORIGINAL_ID, DG_INTERNAL,
					 &table, err);

	dg_book_range(v->book, DG_NODE, type, part, &start, &end);
	for (dg_id at = start; !st && at < end; at += DGI_STORED_BLOCK) {
		size_t n = end - at < DGI_STORED_BLOCK ? (size_t)(end - at) : DGI_STORED_BLOCK;

		st = dgi_stored_ids(store, table, at - start, n, v->ids, err);
		for (size_t i = 0; !st && i < n; i++)
			st = place_node(v, type, part, at + (dg_id)i, v->ids[i], err);
	}
	return st;
}

/* The table the other way round says the same. */
static dg_status check_inverse(struct dgi_verify *v, dg_store *store, uint32_t part, uint16_t type,
			       dg_error *err)
{
	const uint32_t n_parts = v->request->n_parts;
	const int64_t n_nodes = dg_book_count(v->book, DG_NODE, type);
	const dg_id start = (dg_id)dgi_share(n_nodes, part, n_parts);
	const dg_id end = (dg_id)dgi_share(n_nodes, part + 1, n_parts);
	const dg_tensor_info *table;
	dg_status st = dgi_stored_tensor(store, DG_NODE, type, DG_TENSOR_INTERNAL_ID, DG_ORIGINAL,
					 &table, err);

	for (dg_id at = start; !st && at < end; at += DGI_STORED_BLOCK) {
		size_t n = end - at < DGI_STORED_BLOCK ? (size_t)(end - at) : DGI_STORED_BLOCK;

		st = dgi_stored_ids(store, table, at - start, n, v->ids, err);
		for (size_t i = 0; !st && i < n; i++)
			if (v->ids[i] != v->internal[type][at + (dg_id)i])
				st = dgi_fail(err, DG_CORRUPT,
					      "node type %d: node %" PRId64 " has become %" PRId64
					      ", the table says %" PRId64,
					      type, at + (dg_id)i, v->internal[type][at + (dg_id)i],
					      v->ids[i]);
	}
	return st;
}

static dg_status place_part(struct dgi_verify *v, dg_store *store, uint32_t part, dg_error *err)
{
	dg_status st = DG_OK;

	for (uint16_t t = 0; !st && t < v->n_node_types; t++)
		st = place_nodes(v, store, part, t, err);
	return st;
}

/* As many nodes as there are have been placed, none twice: so each has been. Then from internal
 * id to original, which edges need. */
static dg_status turn_round(struct dgi_verify *v, dg_error *err)
{
	for (uint16_t t = 0; t < v->n_node_types; t++) {
		const int64_t n = dg_book_count(v->book, DG_NODE, t);
		dg_id *original = malloc((size_t)n * sizeof *original + 1);

		if (!original)
			return dgi_fail_memory(err, "verifying ids");
		for (int64_t i = 0; i < n; i++)
			original[v->internal[t][i]] = i;
		free(v->internal[t]);
		v->internal[t] = NULL;
		v->original[t] = original;
	}
	return DG_OK;
}

static dg_status inverse_of_part(struct dgi_verify *v, dg_store *store, uint32_t part,
				 dg_error *err)
{
	dg_status st = DG_OK;

	for (uint16_t t = 0; !st && t < v->n_node_types; t++)
		st = check_inverse(v, store, part, t, err);
	return st;
}

/* --- Parts --- */

static dg_status same_book(const struct dgi_verify *v, const dg_book *book, dg_error *err)
{
	for (int side = 0; side < 2; side++) {
		const uint16_t n_types = side == DG_NODE ? v->n_node_types : v->n_edge_types;

		if ((side == DG_NODE ? dg_book_n_node_types(book) : dg_book_n_edge_types(book)) !=
		    n_types)
			return dgi_fail(err, DG_MISMATCH, "another book than part 0's");
		for (uint16_t t = 0; t < n_types; t++)
			for (uint32_t p = 0; p < v->request->n_parts; p++) {
				dg_id a[2], b[2];

				dg_book_range(v->book, (dg_side)side, t, p, &a[0], &a[1]);
				dg_book_range(book, (dg_side)side, t, p, &b[0], &b[1]);
				if (a[0] != b[0] || a[1] != b[1])
					return dgi_fail(err, DG_MISMATCH,
							"another book than part 0's");
			}
	}
	return DG_OK;
}

static dg_status
each_part(struct dgi_verify *v,
	  dg_status (*visit)(struct dgi_verify *, dg_store *, uint32_t, dg_error *), dg_error *err)
{
	const dg_store_options read_only = { 0 };
	dg_status st = DG_OK;

	for (uint32_t p = 0; !st && p < v->request->n_parts; p++) {
		const char *path = v->request->store_paths[p];
		dg_store *store = NULL;

		st = dg_store_open(path, &read_only, &store, err);
		if (!st)
			st = dg_book_n_parts(dg_store_book(store)) == v->request->n_parts
				     ? same_book(v, dg_store_book(store), err)
				     : dgi_fail(err, DG_MISMATCH, "it knows of other parts");
		if (!st)
			st = visit(v, store, p, err);
		if (!st)
			st = dgi_progress_add(v->request->progress, 1, err);
		dg_store_close(store);
		if (st && st != DG_CANCELLED)
			st = dgi_context(err, st, "'%s'", path);
	}
	return st;
}

static dg_status begin(struct dgi_verify *v, const dg_book *book, dg_error *err)
{
	v->book = book;
	v->n_node_types = dg_book_n_node_types(book);
	v->n_edge_types = dg_book_n_edge_types(book);
	v->internal = calloc((size_t)v->n_node_types + 1, sizeof *v->internal);
	v->original = calloc((size_t)v->n_node_types + 1, sizeof *v->original);
	v->ids = malloc(3 * (DGI_STORED_BLOCK + 1) * sizeof *v->ids);
	v->edges = calloc((size_t)v->n_edge_types + 1, sizeof *v->edges);
	if (!v->internal || !v->original || !v->ids || !v->edges)
		return dgi_fail_memory(err, "verifying ids");
	for (uint16_t t = 0; t < v->n_node_types; t++) {
		const int64_t n = dg_book_count(book, DG_NODE, t);

		v->internal[t] = malloc((size_t)n * sizeof **v->internal + 1);
		if (!v->internal[t])
			return dgi_fail_memory(err, "verifying ids");
		memset(v->internal[t], 0xff, (size_t)n * sizeof **v->internal); /* -1 */
	}
	return dgi_verify_data_begin(v, err);
}

static void clear(struct dgi_verify *v)
{
	for (uint16_t t = 0; t < v->n_node_types; t++) {
		if (v->internal)
			free(v->internal[t]);
		if (v->original)
			free(v->original[t]);
	}
	free(v->internal);
	free(v->original);
	free(v->ids);
	free(v->edges);
	free(v->data);
}

static dg_status verify(struct dgi_verify *v, dg_error *err)
{
	dg_status st = check_ranges(v, err);

	if (!st)
		st = check_counts(v, err);
	if (!st)
		st = each_part(v, place_part, err);
	if (!st)
		st = each_part(v, inverse_of_part, err);
	if (!st)
		st = turn_round(v, err);
	if (!st)
		st = each_part(v, dgi_verify_edges_of_part, err);
	if (!st)
		st = dgi_verify_edges_end(v, err);
	if (!st && v->request->source)
		st = each_part(v, dgi_verify_data_of_part, err);
	return !st && v->request->source ? dgi_verify_data_end(v, err) : st;
}

dg_status dgi_verify(const struct dgi_verify_request *request, dg_error *err)
{
	const dg_store_options read_only = { 0 };
	struct dgi_verify v = { .request = request };
	dg_store *first = NULL;
	dg_status st;

	if (request->n_parts == 0)
		return dgi_fail(err, DG_INVALID, "no parts to verify");
	st = dg_store_open(request->store_paths[0], &read_only, &first, err);
	if (!st)
		st = begin(&v, dg_store_book(first), err);
	if (!st)
		st = verify(&v, err);
	clear(&v);
	dg_store_close(first);
	return st;
}
