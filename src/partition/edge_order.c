/* edge_order.c -- sorted edges, mapped from the files that edge_sort.c has made. */
#include "edge_sort.h"

#include "fail.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct opening {
	const struct dgi_edge_sort *sort;
	const struct dgi_work *work;
};

static dg_status map(const struct opening *o, const char *name, int64_t n, uint32_t bytes,
		     struct dgi_ids *out, dg_error *err)
{
	char *path = NULL;
	dg_status st = dgi_work_path(o->work, &path, err, "edges%u.%s", o->sort->type, name);

	if (!st)
		st = dgi_ids_map(path, n, bytes, out, err);
	free(path);
	return st;
}

static dg_status map_out(const struct opening *o, uint32_t bytes, struct dgi_edge_order *order,
			 dg_error *err)
{
	const uint32_t n_parts = o->sort->n_parts;
	struct dgi_ids offsets;
	dg_status st = map(o, "outptr", (int64_t)n_parts + 1, 8, &offsets, err);

	if (st)
		return st;
	order->out_start = calloc((size_t)n_parts + 1, sizeof *order->out_start);
	if (!order->out_start)
		st = dgi_fail_memory(err, "edge order");
	else
		memcpy(order->out_start, offsets.data, ((size_t)n_parts + 1) * sizeof(int64_t));
	dgi_ids_clear(&offsets);
	if (!st)
		st = map(o, "out", DGI_OUT_COLUMNS * order->out_start[n_parts], bytes, &order->out,
			 err);
	return st;
}

static dg_status map_all(const struct opening *o, struct dgi_edge_order *order, dg_error *err)
{
	const int64_t n_src = o->sort->sources->n;
	const int64_t n_dst = o->sort->destinations->n;
	int64_t largest = order->n > n_src ? order->n : n_src;
	uint32_t bytes;
	dg_status st;

	if (n_dst > largest)
		largest = n_dst;
	bytes = dgi_ids_bytes_for(largest);
	st = map(o, "indptr", n_dst + 1, dgi_ids_bytes_for(order->n), &order->indptr, err);
	if (!st)
		st = map(o, "indices", order->n, bytes, &order->indices, err);
	if (!st)
		st = map(o, "outdegrees", n_src, dgi_ids_bytes_for(order->largest_out_degree),
			 &order->out_degrees, err);
	if (!st)
		st = map(o, "original", order->n, bytes, &order->original, err);
	if (!st)
		st = map(o, "internal", order->n, bytes, &order->internal, err);
	if (!st && o->sort->halo)
		st = map_out(o, bytes, order, err);
	return st;
}

static dg_status set_starts(const struct dgi_edge_sort *sort, struct dgi_edge_order *order,
			    dg_error *err)
{
	order->start = calloc((size_t)sort->n_parts + 1, sizeof *order->start);
	if (!order->start)
		return dgi_fail_memory(err, "edge order");
	for (uint32_t p = 0; p <= sort->n_parts; p++)
		order->start[p] = dgi_ids_get(&order->indptr, sort->destinations->start[p]);
	return DG_OK;
}

dg_status dgi_edge_order_open(const struct dgi_edge_sort *sort, const struct dgi_work *work,
			      struct dgi_edge_order *out, dg_error *err)
{
	const struct opening opening = { sort, work };
	struct dgi_edge_order order = { 0 };
	char text[DGI_WORK_TEXT_BYTES];
	char stage[32];
	dg_status st;

	(void)snprintf(stage, sizeof stage, "edges%u", sort->type);
	if (!dgi_work_finished(work, stage, text) ||
	    sscanf(text, "%" SCNd64 " %" SCNd64 " %" SCNd64, &order.n, &order.cut,
		   &order.largest_out_degree) != 3 ||
	    order.n != sort->source->edges[sort->type].n)
		return dgi_fail(err, DG_INVALID, "'%s/%s.done' is damaged: remove '%s'", work->path,
				stage, work->path);
	st = map_all(&opening, &order, err);
	if (!st)
		st = set_starts(sort, &order, err);
	if (st) {
		dgi_edge_order_clear(&order);
		return st;
	}
	*out = order;
	return DG_OK;
}

void dgi_edge_order_clear(struct dgi_edge_order *order)
{
	dgi_ids_clear(&order->indptr);
	dgi_ids_clear(&order->indices);
	dgi_ids_clear(&order->out_degrees);
	dgi_ids_clear(&order->original);
	dgi_ids_clear(&order->internal);
	dgi_ids_clear(&order->out);
	free(order->start);
	free(order->out_start);
	*order = (struct dgi_edge_order){ 0 };
}

dg_id dgi_edge_order_destination(const struct dgi_edge_order *order, dg_id edge)
{
	int64_t low = 0, high = order->indptr.n - 1;

	/* The last row that does not begin behind the edge. */
	while (high - low > 1) {
		int64_t middle = low + (high - low) / 2;

		if (dgi_ids_get(&order->indptr, middle) <= edge)
			low = middle;
		else
			high = middle;
	}
	return low;
}
