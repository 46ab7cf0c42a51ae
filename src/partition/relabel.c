/* relabel.c -- new ids for nodes by a counting sort: linear, and stable. */
#include "relabel.h"

#include "fail.h"

#include <inttypes.h>
#include <stdlib.h>

static dg_status allocate(struct dgi_node_order *o, uint32_t n_parts, dg_error *err)
{
	const uint32_t bytes = dgi_ids_bytes_for(o->n);
	dg_status st = dgi_ids_new(o->n, bytes, &o->original, err);

	if (!st)
		st = dgi_ids_new(o->n, bytes, &o->internal, err);
	o->start = calloc((size_t)n_parts + 1, sizeof *o->start);
	if (!st && !o->start)
		st = dgi_fail_memory(err, "node order");
	return st;
}

dg_status dgi_node_order_make(const uint16_t *owners, int64_t n, uint32_t n_parts,
			      uint32_t n_classes, struct dgi_node_order *out, dg_error *err)
{
	struct dgi_node_order o = { .n = n };
	dg_status st = allocate(&o, n_parts, err);

	if (st) {
		dgi_node_order_clear(&o);
		return dgi_context(err, st, "%" PRId64 " nodes", n);
	}
	for (dg_id i = 0; i < n; i++)
		o.start[owners[i] / n_classes + 1]++;
	for (uint32_t p = 0; p < n_parts; p++)
		o.start[p + 1] += o.start[p];
	for (dg_id i = 0; i < n; i++) {
		dg_id internal = o.start[owners[i] / n_classes]++;

		dgi_ids_set(&o.original, internal, i);
		dgi_ids_set(&o.internal, i, internal);
	}
	/* Each start was moved to its range's end, which is the next one's start. */
	memmove(o.start + 1, o.start, n_parts * sizeof *o.start);
	o.start[0] = 0;
	*out = o;
	return DG_OK;
}

void dgi_node_order_clear(struct dgi_node_order *order)
{
	dgi_ids_clear(&order->original);
	dgi_ids_clear(&order->internal);
	free(order->start);
	*order = (struct dgi_node_order){ 0 };
}

uint64_t dgi_node_order_bytes(int64_t n)
{
	return (uint64_t)n * (2 * dgi_ids_bytes_for(n) + sizeof(uint16_t));
}
