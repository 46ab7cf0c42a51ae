/* source.c -- the description of an imported graph. Its file is source_json.c's, edges edge_file.c's. */
#include "source.h"

#include "check.h"

#include <stdio.h>
#include <stdlib.h>

static void data_clear(struct dgi_source_data *data)
{
	for (size_t i = 0; data->paths && i < data->n_paths; i++)
		free(data->paths[i]);
	free(data->paths);
}

void dgi_source_clear(struct dgi_source *source)
{
	for (size_t i = 0; source->nodes && i < source->n_node_types; i++)
		free(source->nodes[i].ids_path);
	for (size_t i = 0; source->edges && i < source->n_edge_types; i++)
		free(source->edges[i].path);
	for (size_t i = 0; source->data && i < source->n_data; i++)
		data_clear(&source->data[i]);
	free(source->nodes);
	free(source->edges);
	free(source->data);
	*source = (struct dgi_source){ 0 };
}

int64_t dgi_source_count(const struct dgi_source *source, dg_side side, uint16_t type)
{
	DGI_ASSERT(type < (side == DG_NODE ? source->n_node_types : source->n_edge_types));
	return side == DG_NODE ? source->nodes[type].n : source->edges[type].n;
}

void dgi_source_edge_type_text(const struct dgi_source *source, uint16_t type,
			       char out[DGI_EDGE_TYPE_TEXT_BYTES])
{
	const struct dgi_source_edges *edges = &source->edges[type];

	(void)snprintf(out, DGI_EDGE_TYPE_TEXT_BYTES, "%s:%s:%s",
		       source->nodes[edges->src_type].name, edges->relation,
		       source->nodes[edges->dst_type].name);
}
