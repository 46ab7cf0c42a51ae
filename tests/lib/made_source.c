/* made_source.c -- a source made from arrays. */
#include "made_source.h"

#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint16_t made_source_add_nodes(struct dgi_source *source, const char *name, int64_t n)
{
	struct dgi_source_nodes *nodes =
		realloc(source->nodes, ((size_t)source->n_node_types + 1) * sizeof *source->nodes);

	DGI_ASSERT(nodes);
	source->nodes = nodes;
	nodes += source->n_node_types;
	*nodes = (struct dgi_source_nodes){ .n = n };
	snprintf(nodes->name, sizeof nodes->name, "%s", name);
	return source->n_node_types++;
}

static void write_edges(const struct dgi_source_edges *edges, const dg_id *pairs)
{
	struct dgi_edge_writer *writer;

	DGI_ASSERT(dgi_edge_writer_open(edges->path, edges->id_bytes, &writer, NULL) == DG_OK);
	for (int64_t e = 0; e < edges->n; e++)
		DGI_ASSERT(dgi_edge_writer_append(writer, &pairs[2 * e], &pairs[2 * e + 1], 1,
						  NULL) == DG_OK);
	DGI_ASSERT(dgi_edge_writer_close(writer, true, NULL) == DG_OK);
}

uint16_t made_source_add_edges(struct dgi_source *source, const char *dir, uint16_t src_type,
			       const char *relation, uint16_t dst_type, const dg_id *pairs,
			       int64_t n)
{
	struct dgi_source_edges *edges =
		realloc(source->edges, ((size_t)source->n_edge_types + 1) * sizeof *source->edges);

	DGI_ASSERT(edges);
	source->edges = edges;
	edges += source->n_edge_types;
	*edges = (struct dgi_source_edges){ .src_type = src_type, .dst_type = dst_type, .n = n };
	edges->id_bytes = dgi_edge_id_bytes(source->nodes[src_type].n, source->nodes[dst_type].n);
	snprintf(edges->relation, sizeof edges->relation, "%s", relation);
	DGI_ASSERT(asprintf(&edges->path, "%s/edges%d", dir, source->n_edge_types) > 0);
	write_edges(edges, pairs);
	return source->n_edge_types++;
}

uint16_t **made_owners_new(const struct dgi_source *source)
{
	uint16_t **owners = calloc((size_t)source->n_node_types + 1, sizeof *owners);

	DGI_ASSERT(owners);
	for (uint16_t t = 0; t < source->n_node_types; t++) {
		owners[t] = calloc((size_t)source->nodes[t].n + 1, sizeof **owners);
		DGI_ASSERT(owners[t]);
	}
	return owners;
}

void made_owners_free(const struct dgi_source *source, uint16_t **owners)
{
	for (uint16_t t = 0; owners && t < source->n_node_types; t++)
		free(owners[t]);
	free(owners);
}
