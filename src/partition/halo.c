/* halo.c -- the nodes and edges around a partition. */
#include "halo.h"

#include "check.h"
#include "fail.h"

#include <stdlib.h>

static size_t n_words(int64_t n)
{
	return (size_t)n / 64 + 1;
}

static void set_bit(uint64_t *bits, dg_id i)
{
	bits[i / 64] |= UINT64_C(1) << (i % 64);
}

static bool has_bit(const uint64_t *bits, dg_id i)
{
	return bits[i / 64] >> (i % 64) & 1;
}

uint64_t dgi_halo_bytes(int64_t n)
{
	return 3 * n_words(n) * sizeof(uint64_t) + (uint64_t)n * dgi_ids_bytes_for(n);
}

/* --- Nodes --- */

/* Two bits a node of every type, and one for the layer that is being found. */
struct finding {
	const struct dgi_cut_view *view;
	uint32_t part;
	struct dgi_halo halo;
	uint64_t **next; /* by node type */
};

static dg_status allocate(struct finding *f, dg_error *err)
{
	const uint16_t n_types = f->view->source->n_node_types;

	f->halo.nodes = calloc((size_t)n_types + 1, sizeof *f->halo.nodes);
	f->next = calloc((size_t)n_types + 1, sizeof *f->next);
	if (!f->halo.nodes || !f->next)
		return dgi_fail_memory(err, "halo");
	f->halo.n_node_types = n_types;
	for (uint16_t t = 0; t < n_types; t++) {
		const size_t words = n_words(f->view->nodes[t].n);

		f->halo.nodes[t].expanded = calloc(words, sizeof(uint64_t));
		f->halo.nodes[t].found = calloc(words, sizeof(uint64_t));
		f->next[t] = calloc(words, sizeof(uint64_t));
		if (!f->halo.nodes[t].expanded || !f->halo.nodes[t].found || !f->next[t])
			return dgi_fail_memory(err, "halo");
	}
	return DG_OK;
}

/* Marks the sources of edges [first, end) that the partition does not own. */
static void mark_sources(const struct finding *f, uint16_t edge_type, dg_id first, dg_id end,
			 uint64_t *const *marks)
{
	const uint16_t type = f->view->source->edges[edge_type].src_type;
	const int64_t *start = f->view->nodes[type].start;
	const struct dgi_ids *indices = &f->view->edges[edge_type].indices;

	for (dg_id e = first; e < end; e++) {
		dg_id src = dgi_ids_get(indices, e);

		if (src < start[f->part] || src >= start[f->part + 1])
			set_bit(marks[type], src);
	}
}

static void mark_first_layer(const struct finding *f)
{
	for (uint16_t t = 0; t < f->view->source->n_edge_types; t++) {
		const int64_t *start = f->view->edges[t].start;

		mark_sources(f, t, start[f->part], start[f->part + 1], f->next);
	}
}

/* The in-edges of the marked words' nodes. */
static void expand_word(const struct finding *f, uint16_t type, size_t word, uint64_t bits)
{
	for (; bits; bits &= bits - 1) {
		const dg_id v = (dg_id)word * 64 + __builtin_ctzll(bits);

		for (uint16_t t = 0; t < f->view->source->n_edge_types; t++) {
			const struct dgi_ids *indptr = &f->view->edges[t].indptr;

			if (f->view->source->edges[t].dst_type == type)
				mark_sources(f, t, dgi_ids_get(indptr, v),
					     dgi_ids_get(indptr, v + 1), f->next);
		}
	}
}

/* What was marked becomes found. */
static void take_layer(const struct finding *f)
{
	for (uint16_t t = 0; t < f->halo.n_node_types; t++)
		for (size_t i = 0; i < n_words(f->view->nodes[t].n); i++) {
			f->halo.nodes[t].found[i] |= f->next[t][i];
			f->next[t][i] = 0;
		}
}

/* Expands all that was found and is not expanded yet, which is the last layer. */
static void expand_layer(const struct finding *f)
{
	for (uint16_t t = 0; t < f->halo.n_node_types; t++) {
		const struct dgi_halo_nodes *nodes = &f->halo.nodes[t];

		for (size_t i = 0; i < n_words(f->view->nodes[t].n); i++) {
			uint64_t bits = nodes->found[i] & ~nodes->expanded[i];

			nodes->expanded[i] |= bits;
			expand_word(f, t, i, bits);
		}
	}
	take_layer(f);
}

static void mark_destinations(const struct finding *f)
{
	for (uint16_t t = 0; t < f->view->source->n_edge_types; t++) {
		const struct dgi_edge_order *edges = &f->view->edges[t];
		uint64_t *found = f->halo.nodes[f->view->source->edges[t].dst_type].found;

		for (int64_t i = edges->out_start[f->part]; i < edges->out_start[f->part + 1]; i++)
			set_bit(found, dgi_ids_get(&edges->out, i * DGI_OUT_COLUMNS + DGI_OUT_DST));
	}
}

static dg_status list_nodes(struct finding *f, uint16_t type, dg_error *err)
{
	struct dgi_halo_nodes *nodes = &f->halo.nodes[type];
	const int64_t n_all = f->view->nodes[type].n;
	int64_t n = 0;
	dg_status st;

	for (size_t i = 0; i < n_words(n_all); i++)
		n += __builtin_popcountll(nodes->found[i]);
	st = dgi_ids_new(n, dgi_ids_bytes_for(n_all), &nodes->ids, err);
	if (st)
		return st;
	n = 0;
	for (size_t i = 0; i < n_words(n_all); i++)
		for (uint64_t bits = nodes->found[i]; bits; bits &= bits - 1)
			dgi_ids_set(&nodes->ids, n++, (dg_id)i * 64 + __builtin_ctzll(bits));
	free(nodes->found);
	nodes->found = NULL;
	return DG_OK;
}

dg_status dgi_halo_make(const struct dgi_cut_view *view, uint32_t part, uint32_t hops,
			struct dgi_halo *out, dg_error *err)
{
	struct finding f = { .view = view, .part = part };
	dg_status st;

	DGI_ASSERT(hops >= 1);
	st = allocate(&f, err);
	if (!st) {
		mark_first_layer(&f);
		take_layer(&f);
		for (uint32_t hop = 2; hop <= hops; hop++)
			expand_layer(&f);
		mark_destinations(&f);
	}
	for (uint16_t t = 0; !st && t < view->source->n_node_types; t++)
		st = list_nodes(&f, t, err);
	for (uint16_t t = 0; f.next && t < view->source->n_node_types; t++)
		free(f.next[t]);
	free(f.next);
	if (st)
		dgi_halo_clear(&f.halo);
	else
		*out = f.halo;
	return st;
}

void dgi_halo_clear(struct dgi_halo *halo)
{
	for (uint16_t t = 0; t < halo->n_node_types; t++) {
		dgi_ids_clear(&halo->nodes[t].ids);
		free(halo->nodes[t].expanded);
		free(halo->nodes[t].found);
	}
	free(halo->nodes);
	*halo = (struct dgi_halo){ 0 };
}

/* --- Edges --- */

struct dgi_halo_edges dgi_halo_edges_of(const struct dgi_cut_view *view, uint32_t part,
					const struct dgi_halo *halo, uint16_t edge_type)
{
	const struct dgi_source_edges *type = &view->source->edges[edge_type];
	const struct dgi_edge_order *order = &view->edges[edge_type];

	return (struct dgi_halo_edges){ .order = order,
					.nodes = &halo->nodes[type->dst_type],
					.at = -1,
					.out = order->out_start[part],
					.out_end = order->out_start[part + 1] };
}

static dg_id out_column(const struct dgi_halo_edges *e, int column)
{
	return dgi_ids_get(&e->order->out, e->out * DGI_OUT_COLUMNS + column);
}

/* An expanded node brings the edges that leave the partition with its others: they are passed by. */
static void begin_node(struct dgi_halo_edges *e, dg_id node)
{
	if (!has_bit(e->nodes->expanded, node))
		return;
	e->in_edge = dgi_ids_get(&e->order->indptr, node);
	e->in_end = dgi_ids_get(&e->order->indptr, node + 1);
	while (e->out < e->out_end && out_column(e, DGI_OUT_DST) == node)
		e->out++;
}

bool dgi_halo_edges_next(struct dgi_halo_edges *edges, dg_id *edge, dg_id *src, int64_t *dst_at)
{
	for (;;) {
		if (edges->in_edge < edges->in_end) {
			*edge = edges->in_edge++;
			*src = dgi_ids_get(&edges->order->indices, *edge);
			*dst_at = edges->at;
			return true;
		}
		if (edges->at >= 0 && edges->out < edges->out_end &&
		    out_column(edges, DGI_OUT_DST) == dgi_ids_get(&edges->nodes->ids, edges->at)) {
			*edge = out_column(edges, DGI_OUT_EDGE);
			*src = out_column(edges, DGI_OUT_SRC);
			*dst_at = edges->at;
			edges->out++;
			return true;
		}
		if (edges->at + 1 >= edges->nodes->ids.n)
			return false;
		begin_node(edges, dgi_ids_get(&edges->nodes->ids, ++edges->at));
	}
}
