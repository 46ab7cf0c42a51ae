/* partition_outside.c -- the outside ids of a graph being partitioned, on their way into its stores. */
#include "partition_outside.h"

#include "fail.h"

#include <assert.h>
#include <stdlib.h>

static_assert((int)DGI_IDS_ARE_NUMBERS == (int)DG_OUTSIDE_NUMBERS &&
		      (int)DGI_IDS_INTEGERS == (int)DG_OUTSIDE_INTEGERS &&
		      (int)DGI_IDS_STRINGS == (int)DG_OUTSIDE_STRINGS,
	      "a source's forms are those that are stored");

static void copy(const struct dgi_ids *from, int64_t first, size_t n, dg_id *out)
{
	for (size_t i = 0; i < n; i++)
		out[i] = dgi_ids_get(from, first + (int64_t)i);
}

static dg_status give_internal(void *context, uint16_t type, int64_t first, size_t n, dg_id *out,
			       dg_error *err)
{
	const struct dgi_cut_graph *graph = context;

	(void)err;
	copy(&graph->view.nodes[type].internal, first, n, out);
	return DG_OK;
}

static dg_status give_original(void *context, uint16_t type, int64_t first, size_t n, dg_id *out,
			       dg_error *err)
{
	const struct dgi_cut_graph *graph = context;

	(void)err;
	copy(&graph->view.nodes[type].original, first, n, out);
	return DG_OK;
}

dg_status dgi_partition_outside_open(const struct dgi_cut_graph *graph, const char *work,
				     struct dgi_partition_outside *out, dg_error *err)
{
	const struct dgi_source *source = graph->view.source;

	*out = (struct dgi_partition_outside){ .types = calloc((size_t)source->n_node_types + 1,
							       sizeof *out->types) };
	if (!out->types)
		return dgi_fail_memory(err, "outside ids");
	for (uint16_t t = 0; t < source->n_node_types; t++) {
		out->types[t].form = (dg_outside_form)source->nodes[t].ids;
		out->types[t].path = source->nodes[t].ids_path;
	}
	out->input = (struct dgi_outside_input){ .book = graph->book,
						 .types = out->types,
						 .internal_of = give_internal,
						 .original_of = give_original,
						 .context = (void *)(uintptr_t)graph,
						 .work = work,
						 .memory_bytes = graph->memory };
	return dgi_outside_writer_open(&out->input, &out->writer, err);
}

void dgi_partition_outside_clear(struct dgi_partition_outside *outside)
{
	dgi_outside_writer_close(outside->writer);
	free(outside->types);
	outside->writer = NULL;
	outside->types = NULL;
}
