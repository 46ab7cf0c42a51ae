/* planted.c -- a partitioning that goes on from a source and owners of the test's own. */
#include "planted.h"

#include "test.h"

#include "files.h"
#include "partition_arguments.h"
#include "work.h"

#include <distgraph/array.h>

#include <stdlib.h>

void planted_clear(struct planted *p)
{
	dgi_source_clear(&p->source);
	for (int i = 0; i < 8; i++) {
		free(p->src[i]);
		free(p->dst[i]);
		free(p->owners[i]);
	}
}

static void plant_edges(struct planted *p, uint16_t type, const struct dgi_work *work)
{
	struct dgi_source_edges *edges = &p->source.edges[type];
	struct dgi_edge_writer *writer;
	dg_error err = { 0 };

	edges->id_bytes = type % 2 ? 8 : 4;
	assert_ok(dgi_work_path(work, &edges->path, &err, "planted%u", type), &err);
	assert_ok(dgi_edge_writer_open(edges->path, edges->id_bytes, &writer, &err), &err);
	assert_ok(
		dgi_edge_writer_append(writer, p->src[type], p->dst[type], (size_t)edges->n, &err),
		&err);
	assert_ok(dgi_edge_writer_close(writer, true, &err), &err);
}

static void plant_owners(const struct planted *p, uint16_t type, const struct dgi_work *work)
{
	char *path;
	dg_error err = { 0 };

	assert_ok(dgi_work_path(work, &path, &err, "owners%u", type), &err);
	assert_ok(dgi_file_replace(path, p->owners[type],
				   (size_t)p->source.nodes[type].n * sizeof(uint16_t), &err),
		  &err);
	free(path);
}

void plant(struct planted *p, const dg_partition_options *options)
{
	struct dgi_work work;
	char *arguments;
	dg_error err = { 0 };

	assert_ok(dgi_partition_arguments(options, &arguments, &err), &err);
	assert_ok(dgi_work_begin(options->output, arguments, &work, &err), &err);
	for (uint16_t t = 0; t < p->source.n_edge_types; t++)
		plant_edges(p, t, &work);
	for (uint16_t t = 0; t < p->source.n_node_types; t++)
		plant_owners(p, t, &work);
	assert_ok(dgi_source_save(&p->source, work.path, &err), &err);
	assert_ok(dgi_work_finish(&work, "owners", "random", true, &err), &err);
	dgi_work_end(&work, true);
	free(arguments);
}
