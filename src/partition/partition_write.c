/*
 * partition_write.c -- the stores of a graph that has been cut and sorted.
 *
 * The store asks for elements and rows in its order, and they go from the mapped files of the work
 * directory straight into the page that will hold them. What a partition's structure is, is
 * partition_structure.c's; outside ids come by partition_outside.c.
 */
#include "partition_write.h"

#include "book.h"
#include "fail.h"
#include "files.h"
#include "make.h"
#include "partition_making.h"
#include "partition_outside.h"
#include "segment.h"
#include "uuid.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define SEGMENT_BYTES_MIN ((uint64_t)1 << 20)

/* --- Tensors --- */

/* Sets n_rows to the part's share of a tensor and returns the share's first row. */
static dg_id take_share(const struct dgi_making *m, dg_tensor_info *info)
{
	dg_id start;
	dg_id end;

	dg_book_tensor_range(m->graph->book, info, m->part, &start, &end);
	info->n_rows = end - start;
	return start;
}

static dg_status make_id_table(struct dgi_making *m, dg_side side, uint16_t type,
			       dg_numbering numbering, const char *name, const struct dgi_ids *ids,
			       dg_error *err)
{
	dg_tensor_info info = {
		.side = side, .type = type, .numbering = numbering, .flags = DG_TENSOR_SYSTEM
	};
	struct dgi_slice slice = { .column = ids, .progress = m->progress };

	(void)snprintf(info.name, sizeof info.name, "%s", name);
	info.id = ++m->n_tensors;
	info.dtype = slice.dtype = dgi_dtype_for(dg_book_count(m->graph->book, side, type));
	slice.first = take_share(m, &info);
	return dgi_volume_maker_tensor(m->maker, &info, dgi_slice_fill, &slice, err);
}

static dg_status make_id_tables(struct dgi_making *m, dg_side side, uint16_t type,
				const struct dgi_ids *original, const struct dgi_ids *internal,
				dg_error *err)
{
	dg_status st =
		make_id_table(m, side, type, DG_INTERNAL, DG_TENSOR_ORIGINAL_ID, original, err);

	if (!st)
		st = make_id_table(m, side, type, DG_ORIGINAL, DG_TENSOR_INTERNAL_ID, internal,
				   err);
	return st;
}

/* The caller's rows of a part. */
struct share_of_rows {
	struct dgi_rows *rows;
	dg_id first;
	struct dgi_progress *progress;
};

static dg_status fill_rows(void *context, int64_t first, int64_t n, void *out, dg_error *err)
{
	const struct share_of_rows *c = context;
	dg_status st = dgi_rows_fill(c->rows, c->first + first, n, out, err);

	return st ? st : dgi_progress_add(c->progress, (uint64_t)n, err);
}

static dg_status make_data(struct dgi_making *m, size_t number, dg_error *err)
{
	dg_tensor_info info = m->graph->view.source->data[number].info;
	struct share_of_rows rows = { .rows = m->graph->rows[number], .progress = m->progress };

	info.id = ++m->n_tensors;
	rows.first = take_share(m, &info);
	return dgi_volume_maker_tensor(m->maker, &info, fill_rows, &rows, err);
}

/* --- Trainers --- */

struct trainers {
	const struct dgi_node_order *nodes;
	const uint16_t *owners;
	const struct dgi_edge_order *edges; /* NULL: of nodes */
	dg_id first;
	struct dgi_progress *progress;
};

static int64_t trainer_of(const struct trainers *c, dg_id node)
{
	return c->owners[dgi_ids_get(&c->nodes->original, node)];
}

static dg_status fill_node_trainers(void *context, int64_t first, int64_t n, void *out,
				    dg_error *err)
{
	const struct trainers *c = context;
	int64_t *to = out;

	for (int64_t i = 0; i < n; i++)
		to[i] = trainer_of(c, c->first + first + i);
	return dgi_progress_add(c->progress, (uint64_t)n, err);
}

/* An edge belongs to its destination's trainer. */
static dg_status fill_edge_trainers(void *context, int64_t first, int64_t n, void *out,
				    dg_error *err)
{
	const struct trainers *c = context;
	int64_t *to = out;
	dg_id edge = c->first + first;
	dg_id node = dgi_edge_order_destination(c->edges, edge);

	for (int64_t i = 0; i < n; i++, edge++) {
		while (dgi_ids_get(&c->edges->indptr, node + 1) <= edge)
			node++;
		to[i] = trainer_of(c, node);
	}
	return dgi_progress_add(c->progress, (uint64_t)n, err);
}

static dg_status make_trainers(struct dgi_making *m, dg_side side, uint16_t type, dg_error *err)
{
	const struct dgi_cut_view *view = &m->graph->view;
	const uint16_t node_type = side == DG_NODE ? type : view->source->edges[type].dst_type;
	dg_tensor_info info = { .side = side,
				.type = type,
				.name = DGI_TRAINER_ID,
				.dtype = DG_INT64,
				.id = ++m->n_tensors };
	struct trainers trainers = { .nodes = &view->nodes[node_type],
				     .owners = m->graph->owners[node_type],
				     .edges = side == DG_NODE ? NULL : &view->edges[type],
				     .progress = m->progress };

	trainers.first = take_share(m, &info);
	return dgi_volume_maker_tensor(m->maker, &info,
				       side == DG_NODE ? fill_node_trainers : fill_edge_trainers,
				       &trainers, err);
}

static dg_status make_all_trainers(struct dgi_making *m, dg_error *err)
{
	const struct dgi_source *source = m->graph->view.source;
	dg_status st = DG_OK;

	for (uint16_t t = 0; !st && t < source->n_node_types; t++)
		st = make_trainers(m, DG_NODE, t, err);
	for (uint16_t t = 0; !st && t < source->n_edge_types; t++)
		st = make_trainers(m, DG_EDGE, t, err);
	return st;
}

/* --- Stores --- */

static dg_status make_contents(struct dgi_making *m, dg_error *err)
{
	const struct dgi_cut_view *view = &m->graph->view;
	dg_status st = dgi_structure_make(m, err);

	if (!st)
		st = dgi_outside_ids_write(m->outside, m->part, m->maker, err);
	for (uint16_t t = 0; !st && t < view->source->n_node_types; t++)
		st = make_id_tables(m, DG_NODE, t, &view->nodes[t].original,
				    &view->nodes[t].internal, err);
	for (uint16_t t = 0; !st && t < view->source->n_edge_types; t++)
		st = make_id_tables(m, DG_EDGE, t, &view->edges[t].original,
				    &view->edges[t].internal, err);
	for (size_t i = 0; !st && i < view->source->n_data; i++)
		st = make_data(m, i, err);
	if (!st && m->graph->n_classes > 1)
		st = make_all_trainers(m, err);
	return st;
}

/* Values lie in memory until they are written: an eighth of it for one. */
static uint64_t segment_bytes(uint64_t memory)
{
	uint64_t bytes = memory / 8 / 8 * 8;

	if (bytes < SEGMENT_BYTES_MIN)
		bytes = SEGMENT_BYTES_MIN;
	return bytes < DGI_SEGMENT_BYTES ? bytes : DGI_SEGMENT_BYTES;
}

static dg_status begin_store(struct dgi_making *m, const char *path, const void *book,
			     size_t book_bytes, dg_error *err)
{
	struct dgi_superblock superblock = { .cluster_uuid = m->graph->cluster_uuid,
					     .part = m->part,
					     .n_parts = m->graph->view.n_parts };
	dg_status st = dgi_tree_remove(path, err); /* what an interrupted run has left */

	if (m->outside && dgi_outside_writer_has_any(m->outside))
		superblock.incompatible |= DGI_FEATURE_OUTSIDE_IDS;
	if (!st)
		st = dgi_uuid_new(&superblock.store_uuid, err);
	if (st)
		return st;
	if (mkdir(path, 0700) != 0)
		return dgi_fail_errno(err, errno, "create directory '%s'", path);
	st = dgi_volume_make(path, &superblock, book, book_bytes, &m->maker, err);
	if (!st)
		dgi_volume_maker_set_segment_bytes(m->maker, segment_bytes(m->graph->memory));
	return st;
}

static dg_status make_store(struct dgi_making *m, const char *path, const void *book,
			    size_t book_bytes, dg_error *err)
{
	dg_status st = begin_store(m, path, book, book_bytes, err);
	dg_status closed;

	if (st)
		return st;
	st = make_contents(m, err);
	closed = dgi_volume_maker_close(m->maker, !st, st ? NULL : err);
	return st ? st : closed;
}

/* Elements and rows of one part. */
static uint64_t work_of(const struct dgi_cut_graph *g, uint32_t part)
{
	const struct dgi_cut_view *v = &g->view;
	uint64_t n = 0;

	for (uint16_t t = 0; t < v->source->n_node_types; t++)
		n += (g->n_classes > 1 ? 3 : 2) *
		     (uint64_t)(v->nodes[t].start[part + 1] - v->nodes[t].start[part]);
	for (uint16_t t = 0; t < v->source->n_edge_types; t++)
		n += (g->n_classes > 1 ? 4 : 3) *
		     (uint64_t)(v->edges[t].start[part + 1] - v->edges[t].start[part]);
	for (size_t i = 0; i < v->source->n_data; i++) {
		const dg_tensor_info *info = &v->source->data[i].info;
		const int64_t *start = info->side == DG_NODE ? v->nodes[info->type].start
							     : v->edges[info->type].start;

		n += (uint64_t)(start[part + 1] - start[part]);
	}
	return n;
}

static dg_status make_part(struct dgi_making *m, const char *directory, const void *book,
			   size_t book_bytes, struct dgi_work *work, dg_error *err)
{
	char stage[32], text[DGI_WORK_TEXT_BYTES];
	struct stat info;
	char *path;
	dg_status st;

	(void)snprintf(stage, sizeof stage, "part%" PRIu32, m->part);
	if (asprintf(&path, "%s/%s", directory, stage) < 0)
		return dgi_fail_memory(err, directory);
	if (dgi_work_finished(work, stage, text) && stat(path, &info) == 0 &&
	    sscanf(text, "%" SCNd64 " %" SCNd64, &m->halo_nodes, &m->halo_edges) == 2) {
		free(path);
		return dgi_progress_add(m->progress, work_of(m->graph, m->part), err);
	}
	st = make_store(m, path, book, book_bytes, err);
	free(path);
	(void)snprintf(text, sizeof text, "%" PRId64 " %" PRId64, m->halo_nodes, m->halo_edges);
	return st ? st : dgi_work_finish(work, stage, text, true, err);
}

dg_status dgi_partition_write(const char *directory, const struct dgi_cut_graph *graph,
			      struct dgi_work *work, struct dgi_progress *progress,
			      struct dgi_written *out, dg_error *err)
{
	const uint32_t n_parts = graph->view.n_parts;
	struct dgi_written written = { 0 };
	struct dgi_partition_outside outside = { 0 };
	uint8_t *book = NULL;
	size_t book_bytes;
	uint64_t total = 0;
	dg_status st = dgi_book_encode(graph->book, &book, &book_bytes, err);

	for (uint32_t p = 0; p < n_parts; p++)
		total += work_of(graph, p);
	if (!st)
		st = dgi_partition_outside_open(graph, work->path, &outside, err);
	if (!st)
		st = dgi_progress_begin(progress, "write", total, err);
	for (uint32_t p = 0; !st && p < n_parts; p++) {
		struct dgi_making m = {
			.graph = graph, .part = p, .outside = outside.writer, .progress = progress
		};

		st = make_part(&m, directory, book, book_bytes, work, err);
		if (st)
			(void)dgi_context(err, st, "partition %" PRIu32, p);
		written.halo_nodes += m.halo_nodes;
		written.halo_edges += m.halo_edges;
	}
	if (!st)
		st = dgi_progress_end(progress, err);
	dgi_partition_outside_clear(&outside);
	free(book);
	if (!st)
		*out = written;
	return st;
}
