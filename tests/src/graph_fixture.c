/* graph_fixture.c -- a small partitioned graph on disk, for the tests of store and client. */
#include "graph_fixture.h"

#include "book.h"
#include "cluster.h"
#include "tmpdir.h"
#include "volume.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MARK 9 /* first byte of the cluster's UUID */

static const char *const node_types[] = { "_N" };
static const struct dgi_edge_type_spec edge_types[] = { { "_E", 0, 0 } };
static const int64_t counts[GRAPH_FIXTURE_PARTS] = { 10, 14, 7 };

/* What a tensor's rows are made from; the rows of a part begin at @start. */
struct source {
	const dg_tensor_info *info;
	dg_id start;
};

float graph_fixture_feat(dg_id row, int column)
{
	return (float)(row * 10 + column);
}

dg_id graph_fixture_original(dg_id internal)
{
	return (internal * 7 + 3) % GRAPH_FIXTURE_NODES;
}

static dg_id internal_of(dg_id original)
{
	dg_id id = 0;

	while (graph_fixture_original(id) != original)
		id++;
	return id;
}

static int64_t integer_of(const dg_tensor_info *info, dg_id row)
{
	if (!(info->flags & DG_TENSOR_SYSTEM))
		return row;
	return info->numbering == DG_ORIGINAL ? internal_of(row) : graph_fixture_original(row);
}

static dg_status fill_rows(void *context, int64_t first, int64_t n, void *out, dg_error *err)
{
	const struct source *source = context;
	char *at = out;

	(void)err;
	for (dg_id row = source->start + first; n-- > 0; row++) {
		int64_t wide = integer_of(source->info, row);
		int32_t narrow = (int32_t)wide;
		float feat[GRAPH_FIXTURE_FEAT_WIDTH];

		for (int i = 0; i < GRAPH_FIXTURE_FEAT_WIDTH; i++)
			feat[i] = graph_fixture_feat(row, i);
		if (source->info->dtype == DG_FLOAT32)
			memcpy(at, feat, source->info->row_bytes);
		else if (source->info->dtype == DG_INT32)
			memcpy(at, &narrow, sizeof narrow);
		else
			memcpy(at, &wide, sizeof wide);
		at += source->info->row_bytes;
	}
	return DG_OK;
}

static dg_status fill_indptr(void *context, int64_t first, int64_t n, void *out, dg_error *err)
{
	int64_t *at = out;

	(void)context;
	(void)err;
	for (int64_t i = 0; i < n; i++)
		at[i] = first + i;
	return DG_OK;
}

static dg_status fill_indices(void *context, int64_t first, int64_t n, void *out, dg_error *err)
{
	const dg_id *start = context;
	int64_t *at = out;

	(void)err;
	for (int64_t i = 0; i < n; i++)
		at[i] = (*start + first + i + 1) % GRAPH_FIXTURE_NODES;
	return DG_OK;
}

static dg_status fill_degrees(void *context, int64_t first, int64_t n, void *out, dg_error *err)
{
	int32_t *at = out;

	(void)context;
	(void)first;
	(void)err;
	for (int64_t i = 0; i < n; i++)
		at[i] = 1;
	return DG_OK;
}

static dg_status make_structure(struct dgi_volume_maker *maker, dg_id start, int64_t n,
				dg_error *err)
{
	dg_status st = dgi_volume_maker_array(maker, 0, DG_GRAPH_INDPTR, DG_INT64, n + 1,
					      fill_indptr, NULL, err);

	if (!st)
		st = dgi_volume_maker_array(maker, 0, DG_GRAPH_INDICES, DG_INT64, n, fill_indices,
					    &start, err);
	if (!st)
		st = dgi_volume_maker_array(maker, 0, DG_GRAPH_OUT_DEGREES, DG_INT32, n,
					    fill_degrees, NULL, err);
	return st;
}

static const dg_tensor_info tensors[GRAPH_FIXTURE_TENSORS] = {
	{ .name = "feat", .dtype = DG_FLOAT32, .rank = 1, .shape = { 4 }, .row_bytes = 16 },
	{ .name = "label", .dtype = DG_INT64, .row_bytes = 8 },
	{ .name = "weight", .side = DG_EDGE, .dtype = DG_FLOAT32, .row_bytes = 4 },
	{ .name = DG_TENSOR_ORIGINAL_ID,
	  .dtype = DG_INT32,
	  .row_bytes = 4,
	  .flags = DG_TENSOR_SYSTEM },
	{ .name = DG_TENSOR_INTERNAL_ID,
	  .dtype = DG_INT32,
	  .row_bytes = 4,
	  .numbering = DG_ORIGINAL,
	  .flags = DG_TENSOR_SYSTEM },
	{ .name = DG_TENSOR_ORIGINAL_ID,
	  .side = DG_EDGE,
	  .dtype = DG_INT64,
	  .row_bytes = 8,
	  .flags = DG_TENSOR_SYSTEM },
	{ .name = DG_TENSOR_INTERNAL_ID,
	  .side = DG_EDGE,
	  .dtype = DG_INT64,
	  .row_bytes = 8,
	  .numbering = DG_ORIGINAL,
	  .flags = DG_TENSOR_SYSTEM },
};

static dg_status make_tensors(struct dgi_volume_maker *maker, const dg_book *book, uint32_t part,
			      dg_error *err)
{
	dg_status st = DG_OK;

	for (uint32_t i = 0; !st && i < GRAPH_FIXTURE_TENSORS; i++) {
		dg_tensor_info info = tensors[i];
		struct source source = { .info = &info };
		dg_id end;

		dg_book_tensor_range(book, &info, part, &source.start, &end);
		info.id = i + 1;
		info.n_rows = end - source.start;
		st = dgi_volume_maker_tensor(maker, &info, fill_rows, &source, err);
	}
	return st;
}

static dg_status begin(const char *path, const dg_book *book, uint32_t part,
		       struct dgi_volume_maker **maker, dg_error *err)
{
	struct dgi_superblock superblock = {
		.store_uuid = { { 1, (uint8_t)part } },
		.cluster_uuid = { { MARK } },
		.part = part,
		.n_parts = dg_book_n_parts(book),
		.format_read = 1,
		.format_write = 1,
	};
	uint8_t *bytes;
	size_t n;
	dg_status st = dgi_book_encode(book, &bytes, &n, err);

	if (st)
		return st;
	st = mkdir(path, 0700) == 0 ? dgi_volume_make(path, &superblock, bytes, n, maker, err)
				    : DG_IO;
	free(bytes);
	return st;
}

static dg_status make_store(const char *path, const dg_book *book, uint32_t part, dg_error *err)
{
	struct dgi_volume_maker *maker;
	dg_id start, end;
	dg_status st = begin(path, book, part, &maker, err);

	if (st)
		return st;
	dg_book_range(book, DG_NODE, 0, part, &start, &end);
	st = make_structure(maker, start, end - start, err);
	if (!st)
		st = make_tensors(maker, book, part, err);
	if (st)
		(void)dgi_volume_maker_close(maker, false, NULL);
	else
		st = dgi_volume_maker_close(maker, true, err);
	return st;
}

static dg_status make_cluster(const char *dir, const dg_book *book, uint8_t mark, dg_error *err)
{
	struct dgi_cluster_spec spec = { .graph_name = "g",
					 .part_method = "fixture",
					 .cluster_uuid = { { mark } },
					 .book = book };

	return dgi_cluster_write(dir, &spec, err);
}

static dg_status make_all(const char *dir, const dg_book *book, dg_error *err)
{
	dg_status st = make_cluster(dir, book, MARK, err);

	for (uint32_t p = 0; !st && p < GRAPH_FIXTURE_PARTS; p++) {
		char name[16];
		char *path;

		(void)snprintf(name, sizeof name, "part%u", p);
		path = tmpdir_path(dir, name);
		st = make_store(path, book, p, err);
		free(path);
	}
	return st;
}

static dg_status book_new(const int64_t *rows, uint32_t n_parts, dg_book **out, dg_error *err)
{
	struct dgi_book_spec spec = {
		.n_parts = n_parts,
		.n_node_types = 1,
		.n_edge_types = 1,
		.node_types = node_types,
		.edge_types = edge_types,
		.node_counts = rows,
		.edge_counts = rows,
	};

	return dgi_book_new(&spec, out, err);
}

static dg_status report(dg_status st, const dg_error *err)
{
	if (st)
		(void)fprintf(stderr, "graph fixture: %s: %s\n", dg_status_text(st), err->text);
	return st;
}

dg_status graph_fixture_make(const char *dir)
{
	dg_error err = { 0 };
	dg_book *book;
	dg_status st = book_new(counts, GRAPH_FIXTURE_PARTS, &book, &err);

	if (st)
		return report(st, &err);
	st = make_all(dir, book, &err);
	dgi_book_free(book);
	return report(st, &err);
}

dg_status graph_fixture_make_cluster(const char *dir, uint8_t mark)
{
	dg_error err = { 0 };
	dg_book *book;
	dg_status st = book_new(counts, GRAPH_FIXTURE_PARTS, &book, &err);

	if (st)
		return report(st, &err);
	st = make_cluster(dir, book, mark, &err);
	dgi_book_free(book);
	return report(st, &err);
}

dg_status graph_fixture_make_strange(const char *path)
{
	dg_tensor_info info = tensors[1];
	struct source source = { .info = &info };
	struct dgi_volume_maker *maker;
	dg_error err = { 0 };
	dg_book *book;
	dg_status st = book_new((const int64_t[]){ 1 }, 1, &book, &err);

	if (st)
		return report(st, &err);
	st = begin(path, book, 0, &maker, &err);
	dgi_book_free(book);
	if (st)
		return report(st, &err);
	info.id = 1;
	info.n_rows = 2;
	st = dgi_volume_maker_tensor(maker, &info, fill_rows, &source, &err);
	if (st)
		(void)dgi_volume_maker_close(maker, false, NULL);
	else
		st = dgi_volume_maker_close(maker, true, &err);
	return report(st, &err);
}
