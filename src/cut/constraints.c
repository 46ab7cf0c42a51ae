/* constraints.c -- what balance is asked for, as one number per node and constraint. */
#include "constraints.h"

#include "fail.h"
#include "log.h"
#include "progress.h"

#include <inttypes.h>
#include <stdlib.h>

/* The class of each node type; classes are numbered by size, the largest is 0. */
static uint32_t make_classes(const struct dgi_source *source, uint32_t n_parts, uint32_t *class_of)
{
	uint32_t n_classes = 0;

	for (uint16_t t = 0; t < source->n_node_types; t++)
		class_of[t] = UINT32_MAX;
	while (n_classes < DGI_CLASSES_MAX) {
		int32_t largest = -1;

		for (uint16_t t = 0; t < source->n_node_types; t++)
			if (class_of[t] == UINT32_MAX && source->nodes[t].n >= n_parts &&
			    (largest < 0 || source->nodes[t].n > source->nodes[largest].n))
				largest = t;
		if (largest < 0)
			break;
		class_of[largest] = n_classes++;
	}
	for (uint16_t t = 0; t < source->n_node_types; t++) {
		if (class_of[t] != UINT32_MAX)
			continue;
		class_of[t] = 0;
		if (source->nodes[t].n > 0)
			dgi_log(DG_LOG_WARNING,
				"node type '%s' is not balanced by itself: it has %" PRId64
				" nodes for %" PRIu32 " parts, or %d types are larger",
				source->nodes[t].name, source->nodes[t].n, n_parts,
				DGI_CLASSES_MAX);
	}
	return n_classes ? n_classes : 1;
}

static void count_nodes(struct dgi_constraints *c, const struct dgi_joined *graph,
			const uint32_t *class_of)
{
	const struct dgi_source *source = graph->source;

	for (uint16_t t = 0; t < source->n_node_types; t++)
		for (int64_t v = graph->base[t]; v < graph->base[t + 1]; v++)
			c->values[(size_t)v * c->n + class_of[t]] = 1;
}

/* Adds the in-edges of one edge type to constraint @k of their destinations. */
static dg_status count_edges(struct dgi_constraints *c, const struct dgi_joined *graph,
			     uint16_t type, uint32_t k, struct dgi_progress *progress,
			     dg_error *err)
{
	const int64_t base = graph->base[graph->source->edges[type].dst_type];
	struct dgi_edge_reader *reader = NULL;
	const dg_id *src, *dst;
	size_t n = 1;
	dg_status st = dgi_edge_reader_open(graph->source, type, 0, &reader, err);

	while (!st && n > 0) {
		st = dgi_edge_reader_next(reader, &src, &dst, &n, err);
		for (size_t i = 0; !st && i < n; i++) {
			uint32_t *value = &c->values[(size_t)(dst[i] + base) * c->n + k];

			*value += *value < UINT32_MAX;
		}
		if (!st)
			st = dgi_progress_add(progress, 0, err);
	}
	dgi_edge_reader_close(reader);
	return st;
}

static void sum_totals(struct dgi_constraints *c, int64_t n_nodes)
{
	for (uint32_t k = 0; k < c->n; k++)
		c->totals[k] = 0;
	for (int64_t v = 0; v < n_nodes; v++)
		for (uint32_t k = 0; k < c->n; k++)
			c->totals[k] += c->values[(size_t)v * c->n + k];
}

/* A constraint that hardly any node weighs in cannot be met and is taken out. */
static void drop_small(struct dgi_constraints *c, int64_t n_nodes, uint32_t n_parts)
{
	uint32_t kept = 0, keep[DGI_CONSTRAINTS_MAX];

	for (uint32_t k = 0; k < c->n; k++)
		if (k == 0 || c->totals[k] >= n_parts)
			keep[kept++] = k;
	for (int64_t v = 0; v < n_nodes && kept < c->n; v++)
		for (uint32_t k = 0; k < kept; k++) /* from behind to the front: nothing is lost */
			c->values[(size_t)v * kept + k] = c->values[(size_t)v * c->n + keep[k]];
	for (uint32_t k = 0; k < kept; k++)
		c->totals[k] = c->totals[keep[k]];
	c->n = kept;
}

static dg_status make_values(struct dgi_constraints *c, const struct dgi_joined *graph,
			     const uint32_t *class_of, uint32_t n_classes, bool by_edges,
			     struct dgi_progress *progress, dg_error *err)
{
	const struct dgi_source *source = graph->source;
	dg_status st = DG_OK;

	c->n = n_classes * (by_edges ? 2 : 1);
	c->values = calloc((size_t)graph->n_nodes * c->n + 1, sizeof *c->values);
	if (!c->values)
		return dgi_fail_memory(err, "weights of nodes");
	count_nodes(c, graph, class_of);
	for (uint16_t t = 0; !st && by_edges && t < source->n_edge_types; t++)
		st = count_edges(c, graph, t, n_classes + class_of[source->edges[t].dst_type],
				 progress, err);
	return st;
}

dg_status dgi_constraints_make(const struct dgi_joined *graph, uint32_t n_parts, bool by_types,
			       bool by_edges, struct dgi_progress *progress,
			       struct dgi_constraints *out, dg_error *err)
{
	struct dgi_constraints c = { .n = 1, .totals = { (uint64_t)graph->n_nodes } };
	uint32_t *class_of;
	uint32_t n_classes = 1;
	dg_status st = DG_OK;

	if (!by_edges && (!by_types || graph->source->n_node_types < 2)) {
		*out = c;
		return DG_OK;
	}
	class_of = calloc((size_t)graph->source->n_node_types + 1, sizeof *class_of);
	if (!class_of)
		return dgi_fail_memory(err, "classes of nodes");
	if (by_types)
		n_classes = make_classes(graph->source, n_parts, class_of);
	st = make_values(&c, graph, class_of, n_classes, by_edges, progress, err);
	free(class_of);
	if (st) {
		dgi_constraints_clear(&c);
		return st;
	}
	sum_totals(&c, graph->n_nodes);
	drop_small(&c, graph->n_nodes, n_parts);
	*out = c;
	return DG_OK;
}

void dgi_constraints_clear(struct dgi_constraints *c)
{
	free(c->values);
	*c = (struct dgi_constraints){ 0 };
}
