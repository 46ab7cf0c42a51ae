/* relabel.c -- new ids by counting sorts: linear in nodes and edges, and stable. */
#include "relabel.h"

#include "fail.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Room for @n numbers and one more, so that an empty type has some, too. */
static int64_t *numbers(int64_t n)
{
	if ((uint64_t)n >= PTRDIFF_MAX / sizeof(int64_t))
		return NULL;
	return malloc(((size_t)n + 1) * sizeof(int64_t));
}

/* Counts to sums: counts[i + 1] holds the count of i, and becomes where i + 1 begins. */
static void sum_up(int64_t *counts, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		counts[i + 1] += counts[i];
}

/* Each start was moved to its range's end, which is the next one's start. */
static void move_back(int64_t *start, int64_t n)
{
	memmove(start + 1, start, (size_t)n * sizeof *start);
	start[0] = 0;
}

/* --- Nodes --- */

dg_status dgi_node_order_make(const uint16_t *owners, int64_t n, uint32_t n_parts,
			      struct dgi_node_order *out, dg_error *err)
{
	struct dgi_node_order o = { .n = n };

	o.original = numbers(n);
	o.internal = numbers(n);
	o.start = calloc((size_t)n_parts + 1, sizeof *o.start);
	if (!o.original || !o.internal || !o.start) {
		dgi_node_order_clear(&o);
		return dgi_fail(err, DG_NOMEM, "%" PRId64 " nodes: out of memory", n);
	}
	for (dg_id i = 0; i < n; i++)
		o.start[owners[i] + 1]++;
	sum_up(o.start, n_parts);
	for (dg_id i = 0; i < n; i++) {
		dg_id internal = o.start[owners[i]]++;

		o.original[internal] = i;
		o.internal[i] = internal;
	}
	move_back(o.start, n_parts);
	*out = o;
	return DG_OK;
}

void dgi_node_order_clear(struct dgi_node_order *order)
{
	free(order->original);
	free(order->internal);
	free(order->start);
	*order = (struct dgi_node_order){ 0 };
}

/* --- Edges --- */

static dg_status edge_order_allocate(struct dgi_edge_order *o, int64_t n_sources,
				     int64_t n_destinations, uint32_t n_parts, dg_error *err)
{
	o->original = numbers(o->n);
	o->internal = numbers(o->n);
	o->indices = numbers(o->n);
	o->start = numbers(n_parts);
	o->indptr = calloc((size_t)n_destinations + 1, sizeof *o->indptr);
	o->out_degrees = calloc((size_t)n_sources + 1, sizeof *o->out_degrees);
	if (o->original && o->internal && o->indices && o->start && o->indptr && o->out_degrees)
		return DG_OK;
	return dgi_fail(err, DG_NOMEM, "%" PRId64 " edges: out of memory", o->n);
}

/*
 * Fills in everything but ranges and the cut. Between its two passes o->internal holds each edge's
 * new destination, which is dear to look up.
 */
static void sort_by_destination(struct dgi_edge_order *o, const dg_id *src, const dg_id *dst,
				const struct dgi_node_order *sources,
				const struct dgi_node_order *destinations)
{
	for (dg_id e = 0; e < o->n; e++) {
		o->internal[e] = destinations->internal[dst[e]];
		o->indptr[o->internal[e] + 1]++;
	}
	sum_up(o->indptr, destinations->n);
	for (dg_id e = 0; e < o->n; e++) {
		dg_id source = sources->internal[src[e]];
		dg_id internal = o->indptr[o->internal[e]]++;

		o->internal[e] = internal;
		o->original[internal] = e;
		o->indices[internal] = source;
		if (++o->out_degrees[source] > o->largest_out_degree)
			o->largest_out_degree = o->out_degrees[source];
	}
	move_back(o->indptr, destinations->n);
}

/* Edges of a partition whose source is not in its range of sources. */
static int64_t count_cut(const struct dgi_edge_order *o, const struct dgi_node_order *sources,
			 uint32_t part)
{
	const dg_id first = sources->start[part];
	const dg_id end = sources->start[part + 1];
	int64_t cut = 0;

	for (dg_id e = o->start[part]; e < o->start[part + 1]; e++)
		cut += o->indices[e] < first || o->indices[e] >= end;
	return cut;
}

dg_status dgi_edge_order_make(const dg_id *src, const dg_id *dst, int64_t n,
			      const struct dgi_node_order *sources,
			      const struct dgi_node_order *destinations, uint32_t n_parts,
			      struct dgi_edge_order *out, dg_error *err)
{
	struct dgi_edge_order o = { .n = n };
	dg_status st = edge_order_allocate(&o, sources->n, destinations->n, n_parts, err);

	if (st) {
		dgi_edge_order_clear(&o);
		return st;
	}
	sort_by_destination(&o, src, dst, sources, destinations);
	for (uint32_t p = 0; p <= n_parts; p++)
		o.start[p] = o.indptr[destinations->start[p]];
	for (uint32_t p = 0; p < n_parts; p++)
		o.cut += count_cut(&o, sources, p);
	*out = o;
	return DG_OK;
}

void dgi_edge_order_clear(struct dgi_edge_order *order)
{
	free(order->original);
	free(order->internal);
	free(order->start);
	free(order->indptr);
	free(order->indices);
	free(order->out_degrees);
	*order = (struct dgi_edge_order){ 0 };
}
