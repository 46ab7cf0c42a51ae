/* joined.c -- a typed graph seen as one. */
#include "joined.h"

#include "fail.h"

#include <inttypes.h>
#include <stdlib.h>

struct dgi_joined_reader {
	const struct dgi_joined *graph;
	struct dgi_edge_reader *edges; /* of the type before `next_type`; NULL between types */
	uint16_t next_type;
	int64_t src_base, dst_base;
	dg_id *src, *dst;
	size_t capacity;
};

dg_status dgi_joined_make(const struct dgi_source *source, struct dgi_joined *out, dg_error *err)
{
	struct dgi_joined graph = { .source = source };
	bool overflow = false;

	graph.base = calloc((size_t)source->n_node_types + 1, sizeof *graph.base);
	if (!graph.base)
		return dgi_fail_memory(err, "ranges of node types");
	for (uint16_t t = 0; t < source->n_node_types; t++) {
		overflow |=
			__builtin_add_overflow(graph.n_nodes, source->nodes[t].n, &graph.n_nodes);
		graph.base[t + 1] = graph.n_nodes;
	}
	for (uint16_t t = 0; t < source->n_edge_types; t++)
		overflow |=
			__builtin_add_overflow(graph.n_edges, source->edges[t].n, &graph.n_edges);
	if (overflow) {
		free(graph.base);
		return dgi_fail(err, DG_RANGE,
				"the types together have more than %" PRId64 " nodes or edges",
				INT64_MAX);
	}
	*out = graph;
	return DG_OK;
}

void dgi_joined_clear(struct dgi_joined *graph)
{
	free(graph->base);
	*graph = (struct dgi_joined){ 0 };
}

dg_status dgi_joined_open(const struct dgi_joined *graph, struct dgi_joined_reader **out,
			  dg_error *err)
{
	struct dgi_joined_reader *reader = calloc(1, sizeof *reader);

	if (!reader)
		return dgi_fail_memory(err, "reading edges");
	reader->graph = graph;
	*out = reader;
	return DG_OK;
}

static dg_status reserve(struct dgi_joined_reader *reader, size_t n, dg_error *err)
{
	if (n <= reader->capacity)
		return DG_OK;
	free(reader->src);
	free(reader->dst);
	reader->capacity = 0;
	reader->src = malloc(n * sizeof *reader->src);
	reader->dst = malloc(n * sizeof *reader->dst);
	if (!reader->src || !reader->dst)
		return dgi_fail_memory(err, "reading edges");
	reader->capacity = n;
	return DG_OK;
}

static dg_status open_next_type(struct dgi_joined_reader *reader, dg_error *err)
{
	const struct dgi_joined *graph = reader->graph;
	const uint16_t type = reader->next_type++;
	const struct dgi_source_edges *edges = &graph->source->edges[type];

	reader->src_base = graph->base[edges->src_type];
	reader->dst_base = graph->base[edges->dst_type];
	return dgi_edge_reader_open(graph->source, type, 0, &reader->edges, err);
}

static dg_status next_of_type(struct dgi_joined_reader *reader, size_t *n, dg_error *err)
{
	const dg_id *src, *dst;
	dg_status st = dgi_edge_reader_next(reader->edges, &src, &dst, n, err);

	if (!st)
		st = reserve(reader, *n, err);
	if (st)
		return st;
	for (size_t i = 0; i < *n; i++) {
		reader->src[i] = src[i] + reader->src_base;
		reader->dst[i] = dst[i] + reader->dst_base;
	}
	return DG_OK;
}

dg_status dgi_joined_next(struct dgi_joined_reader *reader, const dg_id **src, const dg_id **dst,
			  size_t *n, dg_error *err)
{
	dg_status st = DG_OK;

	*n = 0;
	while (!st && *n == 0) {
		if (!reader->edges) {
			if (reader->next_type == reader->graph->source->n_edge_types)
				break;
			st = open_next_type(reader, err);
			continue;
		}
		st = next_of_type(reader, n, err);
		if (!st && *n == 0) {
			dgi_edge_reader_close(reader->edges);
			reader->edges = NULL;
		}
	}
	*src = reader->src;
	*dst = reader->dst;
	return st;
}

void dgi_joined_close(struct dgi_joined_reader *reader)
{
	if (!reader)
		return;
	dgi_edge_reader_close(reader->edges);
	free(reader->src);
	free(reader->dst);
	free(reader);
}
