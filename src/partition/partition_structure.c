/* partition_structure.c -- the structure arrays of a partition: its own edges, and its halo. */
#include "partition_making.h"

#include "fail.h"

#include <string.h>

/* --- What fills arrays --- */

dg_status dgi_slice_fill(void *context, int64_t first, int64_t n, void *out, dg_error *err)
{
	const struct dgi_slice *c = context;
	const struct dgi_ids *from = c->column;
	int32_t *out32 = out;
	int64_t *out64 = out;

	first += c->first;
	if (c->dtype == dgi_ids_dtype(from) && c->base == 0 && n > 0)
		memcpy(out, (const uint8_t *)from->data + (size_t)first * from->bytes,
		       (size_t)n * from->bytes);
	else if (c->dtype == DG_INT32)
		for (int64_t i = 0; i < n; i++)
			out32[i] = (int32_t)(dgi_ids_get(from, first + i) - c->base);
	else
		for (int64_t i = 0; i < n; i++)
			out64[i] = dgi_ids_get(from, first + i) - c->base;
	return dgi_progress_add(c->progress, (uint64_t)n, err);
}

/* Edge ids or sources of halo edges, as they come. */
struct halo_stream {
	struct dgi_halo_edges edges;
	bool sources;
	dg_dtype dtype;
};

static dg_status fill_halo(void *context, int64_t first, int64_t n, void *out, dg_error *err)
{
	struct halo_stream *c = context;
	int32_t *out32 = out;
	int64_t *out64 = out;

	(void)first;
	for (int64_t i = 0; i < n; i++) {
		dg_id edge, src;
		int64_t dst_at;

		if (!dgi_halo_edges_next(&c->edges, &edge, &src, &dst_at))
			return dgi_fail(err, DG_CORRUPT, "fewer halo edges than were counted");
		if (c->dtype == DG_INT32)
			out32[i] = (int32_t)(c->sources ? src : edge);
		else
			out64[i] = c->sources ? src : edge;
	}
	return DG_OK;
}

/* --- Own edges --- */

static dg_status make_array(struct dgi_making *m, uint16_t type, dg_graph_array array,
			    struct dgi_slice slice, int64_t n, dg_error *err)
{
	return dgi_volume_maker_array(m->maker, type, (uint8_t)array, slice.dtype, n,
				      dgi_slice_fill, &slice, err);
}

static dg_status make_own(struct dgi_making *m, uint16_t etype, dg_error *err)
{
	const struct dgi_cut_view *view = &m->graph->view;
	const struct dgi_source_edges *type = &view->source->edges[etype];
	const struct dgi_edge_order *edges = &view->edges[etype];
	const int64_t *src_start = &view->nodes[type->src_type].start[m->part];
	const int64_t *dst_start = &view->nodes[type->dst_type].start[m->part];
	const int64_t n_edges = edges->start[m->part + 1] - edges->start[m->part];
	dg_status st;

	st = make_array(m, etype, DG_GRAPH_INDPTR,
			(struct dgi_slice){ .column = &edges->indptr,
					    .first = dst_start[0],
					    .base = edges->start[m->part],
					    .dtype = dgi_dtype_for(n_edges) },
			dst_start[1] - dst_start[0] + 1, err);
	if (!st)
		st = make_array(
			m, etype, DG_GRAPH_INDICES,
			(struct dgi_slice){ .column = &edges->indices,
					    .first = edges->start[m->part],
					    .dtype = dgi_dtype_for(view->nodes[type->src_type].n),
					    .progress = m->progress },
			n_edges, err);
	if (!st)
		st = make_array(m, etype, DG_GRAPH_OUT_DEGREES,
				(struct dgi_slice){ .column = &edges->out_degrees,
						    .first = src_start[0],
						    .dtype = dgi_ids_dtype(&edges->out_degrees) },
				src_start[1] - src_start[0], err);
	return st;
}

/* --- Halo --- */

/* Row pointers of the halo edges of a type, by the places of halo nodes. */
static dg_status count_halo(struct dgi_halo_edges edges, struct dgi_ids *out, dg_error *err)
{
	int64_t n = 0;
	dg_id edge, src;
	int64_t at, last = -1;
	dg_status st = dgi_ids_new(edges.nodes->ids.n + 1, 8, out, err);

	if (st)
		return st;
	while (dgi_halo_edges_next(&edges, &edge, &src, &at)) {
		while (last < at)
			dgi_ids_set(out, ++last, n);
		n++;
	}
	while (last < edges.nodes->ids.n)
		dgi_ids_set(out, ++last, n);
	return DG_OK;
}

static dg_status make_halo_stream(struct dgi_making *m, uint16_t etype, dg_graph_array array,
				  const struct dgi_halo *halo, int64_t n, int64_t largest,
				  dg_error *err)
{
	struct halo_stream stream = { .edges = dgi_halo_edges_of(&m->graph->view, m->part, halo,
								 etype),
				      .sources = array == DG_GRAPH_HALO_INDICES,
				      .dtype = dgi_dtype_for(largest) };

	return dgi_volume_maker_array(m->maker, etype, (uint8_t)array, stream.dtype, n, fill_halo,
				      &stream, err);
}

static dg_status make_halo_edges(struct dgi_making *m, uint16_t etype, const struct dgi_halo *halo,
				 dg_error *err)
{
	const struct dgi_cut_view *view = &m->graph->view;
	const struct dgi_source_edges *type = &view->source->edges[etype];
	struct dgi_ids indptr = { 0 };
	int64_t n;
	dg_status st = count_halo(dgi_halo_edges_of(view, m->part, halo, etype), &indptr, err);

	if (st)
		return st;
	n = dgi_ids_get(&indptr, indptr.n - 1);
	m->halo_edges += n;
	if (n > 0)
		st = make_array(m, etype, DG_GRAPH_HALO_INDPTR,
				(struct dgi_slice){ .column = &indptr, .dtype = dgi_dtype_for(n) },
				indptr.n, err);
	dgi_ids_clear(&indptr);
	if (!st && n > 0)
		st = make_halo_stream(m, etype, DG_GRAPH_HALO_INDICES, halo, n,
				      view->nodes[type->src_type].n, err);
	if (!st && n > 0)
		st = make_halo_stream(m, etype, DG_GRAPH_HALO_EDGES, halo, n, view->edges[etype].n,
				      err);
	return st;
}

static dg_status make_halo_nodes(struct dgi_making *m, uint16_t type, const struct dgi_halo *halo,
				 dg_error *err)
{
	const struct dgi_ids *ids = &halo->nodes[type].ids;

	m->halo_nodes += ids->n;
	if (ids->n == 0)
		return DG_OK;
	return make_array(m, type, DG_GRAPH_HALO_NODES,
			  (struct dgi_slice){ .column = ids, .dtype = dgi_ids_dtype(ids) }, ids->n,
			  err);
}

dg_status dgi_structure_make(struct dgi_making *making, dg_error *err)
{
	const struct dgi_source *source = making->graph->view.source;
	const bool with_halo = making->graph->halo_hops > 0;
	struct dgi_halo halo = { 0 };
	dg_status st = DG_OK;

	if (with_halo)
		st = dgi_halo_make(&making->graph->view, making->part, making->graph->halo_hops,
				   &halo, err);
	for (uint32_t t = 0; !st && (t < source->n_edge_types || t < source->n_node_types); t++) {
		if (t < source->n_edge_types)
			st = make_own(making, (uint16_t)t, err);
		if (!st && with_halo && t < source->n_edge_types)
			st = make_halo_edges(making, (uint16_t)t, &halo, err);
		if (!st && with_halo && t < source->n_node_types)
			st = make_halo_nodes(making, (uint16_t)t, &halo, err);
	}
	dgi_halo_clear(&halo);
	return st;
}
