/*
 * partition_write.c -- the stores of a graph that has been cut and relabelled.
 *
 * Nothing is permuted in memory: the store asks for rows in its order, and they are gathered from
 * where they lie straight into the page that will hold them.
 */
#include "partition_write.h"

#include "book.h"
#include "fail.h"
#include "uuid.h"
#include "volume.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* One store being made. */
struct making {
	const struct dgi_cut_graph *graph;
	uint32_t part;
	struct dgi_volume_maker *maker;
	uint32_t n_tensors; /* made so far */
	struct dgi_progress *progress;
};

/* --- What fills arrays and tensors --- */

/* Integers, less @base, in the width of @dtype. */
struct integers {
	const int64_t *values;
	int64_t base;
	dg_dtype dtype;
	struct dgi_progress *progress;
};

static dg_dtype dtype_for(int64_t largest)
{
	return largest <= INT32_MAX ? DG_INT32 : DG_INT64;
}

static dg_status fill_integers(void *context, int64_t first, int64_t n, void *out, dg_error *err)
{
	const struct integers *c = context;
	const int64_t *values = c->values + first;
	int32_t *out32 = out;
	int64_t *out64 = out;

	if (c->dtype == DG_INT32)
		for (int64_t i = 0; i < n; i++)
			out32[i] = (int32_t)(values[i] - c->base);
	else
		for (int64_t i = 0; i < n; i++)
			out64[i] = values[i] - c->base;
	return dgi_progress_add(c->progress, (uint64_t)n, err);
}

/* Rows of a feature in the order of @original. */
struct rows {
	const uint8_t *data;
	size_t row_bytes;
	const dg_id *original;
	struct dgi_progress *progress;
};

static dg_status fill_rows(void *context, int64_t first, int64_t n, void *out, dg_error *err)
{
	const struct rows *c = context;
	const dg_id *original = c->original + first;
	uint8_t *to = out;

	for (int64_t i = 0; i < n; i++)
		memcpy(to + (size_t)i * c->row_bytes, c->data + (size_t)original[i] * c->row_bytes,
		       c->row_bytes);
	return dgi_progress_add(c->progress, (uint64_t)n, err);
}

/* --- Structure --- */

static dg_status make_array(struct making *m, uint16_t etype, dg_graph_array array,
			    struct integers values, int64_t n, dg_error *err)
{
	values.progress = m->progress;
	return dgi_volume_maker_array(m->maker, etype, (uint8_t)array, values.dtype, n,
				      fill_integers, &values, err);
}

static dg_status make_structure(struct making *m, uint16_t etype, dg_error *err)
{
	const dg_edge_type type = dg_book_edge_type(m->graph->book, etype);
	const struct dgi_edge_order *edges = &m->graph->edges[etype];
	const struct dgi_node_order *sources = &m->graph->nodes[type.src_type];
	const struct dgi_node_order *destinations = &m->graph->nodes[type.dst_type];
	const int64_t first_edge = edges->start[m->part];
	const int64_t first_source = sources->start[m->part];
	const int64_t first_destination = destinations->start[m->part];
	const int64_t n_edges = edges->start[m->part + 1] - first_edge;
	const int64_t n_sources = sources->start[m->part + 1] - first_source;
	const int64_t n_destinations = destinations->start[m->part + 1] - first_destination;
	dg_status st;

	st = make_array(m, etype, DG_GRAPH_INDPTR,
			(struct integers){ .values = edges->indptr + first_destination,
					   .base = first_edge,
					   .dtype = DG_INT64 },
			n_destinations + 1, err);
	if (!st)
		st = make_array(m, etype, DG_GRAPH_INDICES,
				(struct integers){ .values = edges->indices + first_edge,
						   .dtype = dtype_for(sources->n) },
				n_edges, err);
	if (!st)
		st = make_array(m, etype, DG_GRAPH_OUT_DEGREES,
				(struct integers){ .values = edges->out_degrees + first_source,
						   .dtype = dtype_for(edges->largest_out_degree) },
				n_sources, err);
	return st;
}

/* --- Tensors --- */

/* Sets n_rows to the part's share of a tensor and returns the share's first row. */
static dg_id take_share(const struct making *m, dg_tensor_info *info)
{
	dg_id start;
	dg_id end;

	dg_book_tensor_range(m->graph->book, info, m->part, &start, &end);
	info->n_rows = end - start;
	return start;
}

static dg_status make_id_table(struct making *m, dg_side side, uint16_t type,
			       dg_numbering numbering, const char *name, const dg_id *ids,
			       dg_error *err)
{
	dg_tensor_info info = {
		.side = side, .type = type, .numbering = numbering, .flags = DG_TENSOR_SYSTEM
	};
	struct integers values = { .progress = m->progress };

	(void)snprintf(info.name, sizeof info.name, "%s", name);
	info.id = ++m->n_tensors;
	info.dtype = dtype_for(dg_book_count(m->graph->book, side, type));
	values.values = ids + take_share(m, &info);
	values.dtype = info.dtype;
	return dgi_volume_maker_tensor(m->maker, &info, fill_integers, &values, err);
}

static dg_status make_id_tables(struct making *m, dg_side side, uint16_t type,
				const dg_id *original, const dg_id *internal, dg_error *err)
{
	dg_status st =
		make_id_table(m, side, type, DG_INTERNAL, DG_TENSOR_ORIGINAL_ID, original, err);

	if (!st)
		st = make_id_table(m, side, type, DG_ORIGINAL, DG_TENSOR_INTERNAL_ID, internal,
				   err);
	return st;
}

static dg_status make_feature(struct making *m, const struct dgi_feature *feature, dg_error *err)
{
	dg_tensor_info info = feature->info;
	const dg_id *original = info.side == DG_NODE ? m->graph->nodes[info.type].original
						     : m->graph->edges[info.type].original;
	struct rows rows = { .data = feature->rows.data,
			     .row_bytes = info.row_bytes,
			     .progress = m->progress };

	info.id = ++m->n_tensors;
	rows.original = original + take_share(m, &info);
	return dgi_volume_maker_tensor(m->maker, &info, fill_rows, &rows, err);
}

static dg_status make_contents(struct making *m, dg_error *err)
{
	const struct dgi_cut_graph *g = m->graph;
	dg_status st = DG_OK;

	for (uint16_t t = 0; !st && t < dg_book_n_edge_types(g->book); t++)
		st = make_structure(m, t, err);
	for (uint16_t t = 0; !st && t < dg_book_n_node_types(g->book); t++)
		st = make_id_tables(m, DG_NODE, t, g->nodes[t].original, g->nodes[t].internal, err);
	for (uint16_t t = 0; !st && t < dg_book_n_edge_types(g->book); t++)
		st = make_id_tables(m, DG_EDGE, t, g->edges[t].original, g->edges[t].internal, err);
	for (size_t i = 0; !st && i < g->n_features; i++)
		st = make_feature(m, &g->features[i], err);
	return st;
}

/* --- Stores --- */

static dg_status begin_store(struct making *m, const char *path, const void *book,
			     size_t book_bytes, dg_error *err)
{
	struct dgi_superblock superblock = { .cluster_uuid = m->graph->cluster_uuid,
					     .part = m->part,
					     .n_parts = dg_book_n_parts(m->graph->book) };
	dg_status st = dgi_uuid_new(&superblock.store_uuid, err);

	if (st)
		return st;
	if (mkdir(path, 0700) != 0)
		return dgi_fail_errno(err, errno, "create directory '%s'", path);
	return dgi_volume_make(path, &superblock, book, book_bytes, &m->maker, err);
}

static dg_status make_store(struct making *m, const char *directory, const void *book,
			    size_t book_bytes, dg_error *err)
{
	char *path;
	dg_status st;
	dg_status closed;

	if (asprintf(&path, "%s/part%" PRIu32, directory, m->part) < 0)
		return dgi_fail_memory(err, directory);
	st = begin_store(m, path, book, book_bytes, err);
	free(path);
	if (st)
		return st;
	st = make_contents(m, err);
	closed = dgi_volume_maker_close(m->maker, !st, st ? NULL : err);
	return st ? st : closed;
}

/* Elements and rows that will be written, of all parts together. */
static uint64_t work_of(const struct dgi_cut_graph *g)
{
	uint64_t n = 0;

	for (uint16_t t = 0; t < dg_book_n_node_types(g->book); t++)
		n += 2 * (uint64_t)g->nodes[t].n;
	for (uint16_t t = 0; t < dg_book_n_edge_types(g->book); t++) {
		dg_edge_type type = dg_book_edge_type(g->book, t);

		n += 3 * (uint64_t)g->edges[t].n; /* indices and id tables */
		n += (uint64_t)g->nodes[type.src_type].n + (uint64_t)g->nodes[type.dst_type].n +
		     dg_book_n_parts(g->book);
	}
	for (size_t i = 0; i < g->n_features; i++)
		n += (uint64_t)g->features[i].rows.shape[0];
	return n;
}

dg_status dgi_partition_write(const char *directory, const struct dgi_cut_graph *graph,
			      struct dgi_progress *progress, dg_error *err)
{
	uint8_t *book = NULL;
	size_t book_bytes;
	dg_status st = dgi_book_encode(graph->book, &book, &book_bytes, err);

	if (!st)
		st = dgi_progress_begin(progress, "write", work_of(graph), err);
	for (uint32_t p = 0; !st && p < dg_book_n_parts(graph->book); p++) {
		struct making m = { .graph = graph, .part = p, .progress = progress };

		st = make_store(&m, directory, book, book_bytes, err);
		if (st)
			(void)dgi_context(err, st, "partition %" PRIu32, p);
	}
	if (!st)
		st = dgi_progress_end(progress, err);
	free(book);
	return st;
}
