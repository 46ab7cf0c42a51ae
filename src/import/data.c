/* data.c -- the caller's tensors: files checked, and made plain .npy where they are not. */
#include "data.h"

#include "check.h"
#include "fail.h"
#include "tensor_info.h"

#include <distgraph/array.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COPY_BYTES ((size_t)1 << 20)

static const char *side_name(dg_side side)
{
	return side == DG_NODE ? "node" : "edge";
}

static dg_status check_name(const char *name, dg_error *err)
{
	static const char *const reserved[] = { DG_TENSOR_ORIGINAL_ID, DG_TENSOR_INTERNAL_ID };
	dg_status st = dgi_name_check("feature", name, err);

	for (int i = 0; !st && i < 2; i++)
		if (strncmp(name, reserved[i], strlen(reserved[i])) == 0)
			st = dgi_fail(err, DG_INVALID,
				      "feature '%.80s': names that begin with %s are the store's",
				      name, reserved[i]);
	return st;
}

/* --- Types --- */

static bool is_edge_type(const struct dgi_gather *g, size_t i, const char *text)
{
	const struct dgi_gather_edges *t = &g->edges[i];
	struct dgi_edge_type_text cut;

	if (!text || strcmp(t->relation, text) == 0)
		return true;
	return !dgi_edge_type_text_cut(text, &cut, NULL) &&
	       strcmp(cut.relation, t->relation) == 0 &&
	       strcmp(cut.src, g->nodes[t->src].name) == 0 &&
	       strcmp(cut.dst, g->nodes[t->dst].name) == 0;
}

static bool is_type(const struct dgi_gather *g, dg_side side, size_t i, const char *text)
{
	if (side == DG_EDGE)
		return is_edge_type(g, i, text);
	return !text || strcmp(g->nodes[i].name, text) == 0;
}

static dg_status no_such_type(const struct dgi_gather *g, const struct dgi_data_file *file,
			      size_t n_found, dg_error *err)
{
	const char *side = side_name(file->side);
	const size_t n = file->side == DG_NODE ? g->n_nodes : g->n_edges;

	if (n_found > 1)
		return dgi_fail(err, DG_INVALID,
				"%s feature '%.80s': %zu %s types %s%.80s%s, say which: TYPE/NAME",
				side, file->name, n_found, side, file->type ? "are called '" : "",
				file->type ? file->type : "", file->type ? "'" : "");
	if (n == 1)
		return dgi_fail(err, DG_NOTFOUND, "%s feature '%.80s': no %s type '%.80s', want %s",
				side, file->name, side, file->type ? file->type : "",
				file->side == DG_NODE ? g->nodes[0].name : g->edges[0].relation);
	return dgi_fail(err, DG_NOTFOUND, "%s feature '%.80s': no %s type '%.300s'", side,
			file->name, side, file->type ? file->type : "");
}

static dg_status find_type(const struct dgi_gather *g, const struct dgi_data_file *file,
			   uint16_t *out, dg_error *err)
{
	const size_t n = file->side == DG_NODE ? g->n_nodes : g->n_edges;
	size_t found = 0;

	for (size_t i = 0; i < n; i++)
		if (is_type(g, file->side, i, file->type)) {
			*out = (uint16_t)i;
			found++;
		}
	return found == 1 ? DG_OK : no_such_type(g, file, found, err);
}

/* --- Files --- */

/* uint16 may be numbers or the bits of bfloat16: only the caller knows. */
static dg_status check_bits(const dg_array *rows, bool bfloat16, dg_error *err)
{
	if (rows->dtype == DG_BFLOAT16 && !bfloat16)
		return dgi_fail(err, DG_UNSUPPORTED,
				".npy dtype '<u2': no tensor has uint16; if these are the bits of "
				"bfloat16, say so");
	if (rows->dtype != DG_BFLOAT16 && bfloat16)
		return dgi_fail(err, DG_MISMATCH,
				"%s values, want the bits of bfloat16 as uint16 ('<u2')",
				dg_dtype_name(rows->dtype));
	return DG_OK;
}

/* Checks a file against those before it, or describes a row after the first. */
static dg_status take_array(const dg_array *array, const struct dgi_data_file *file, bool first,
			    dg_tensor_info *info, dg_error *err)
{
	dg_status st = check_bits(array, file->bfloat16, err);

	if (!st && array->rank == 0)
		st = dgi_fail(err, DG_INVALID, "a single number, want one row per %s",
			      side_name(file->side));
	if (st)
		return st;
	if (!first) {
		if (array->dtype == info->dtype && array->rank - 1 == info->rank &&
		    memcmp(array->shape + 1, info->shape, info->rank * sizeof info->shape[0]) == 0)
			return DG_OK;
		return dgi_fail(
			err, DG_MISMATCH,
			"rows of %s with %" PRIu32
			" dimensions, of another dtype or shape than those of the files before",
			dg_dtype_name(array->dtype), array->rank - 1);
	}
	info->dtype = array->dtype;
	info->rank = array->rank - 1;
	memcpy(info->shape, array->shape + 1, info->rank * sizeof info->shape[0]);
	return dgi_tensor_info_set_row_bytes(info, err);
}

static dg_status copy_rows(dg_array_reader *from, const dg_array *array, const char *to,
			   dg_error *err)
{
	dg_array_writer *writer;
	char *block = malloc(COPY_BYTES);
	dg_status st, closed;

	if (!block)
		return dgi_fail_memory(err, to);
	st = dg_array_writer_open(to, array->dtype, array->rank, array->shape, &writer, err);
	if (st) {
		free(block);
		return st;
	}
	for (size_t left = array->bytes; !st && left > 0;) {
		size_t n = left < COPY_BYTES ? left : COPY_BYTES;

		st = dg_array_reader_read(from, block, n, err);
		if (!st)
			st = dg_array_writer_append(writer, block, n, err);
		left -= n;
	}
	closed = dg_array_writer_close(writer, !st, st ? NULL : err);
	free(block);
	return st ? st : closed;
}

static dg_status is_plain(const char *path, bool *plain, dg_error *err)
{
	struct dgi_input in;
	dg_status st = dgi_input_open(path, &in, err);

	if (!st) {
		*plain = in.plain;
		dgi_input_close(&in);
	}
	return st;
}

/* A .npy file: as it is, or unpacked to @to. */
static dg_status take_npy(const struct dgi_data_file *file, const char *to, bool first,
			  dg_tensor_info *info, int64_t *rows, bool *copied, dg_error *err)
{
	dg_array_reader *reader;
	dg_array array;
	bool plain;
	dg_status st = is_plain(file->path, &plain, err);

	if (!st)
		st = dg_array_reader_open(file->path, &array, &reader, err);
	if (st)
		return st;
	st = take_array(&array, file, first, info, err);
	if (st)
		st = dgi_context(err, st, "'%s'", file->path);
	if (!st && !plain)
		st = copy_rows(reader, &array, to, err);
	dg_array_reader_close(reader);
	*rows = array.rank ? array.shape[0] : 0;
	*copied = !plain;
	return st;
}

static dg_status take_file(const struct dgi_gather *g, struct dgi_data_file file, size_t number,
			   struct dgi_source_data *out, int64_t *rows,
			   struct dgi_progress *progress, dg_error *err)
{
	const bool first = out->n_paths == 0;
	size_t room = strlen(g->work) + 48;
	char *to = malloc(room);
	bool copied = file.text;
	dg_status st = DG_OK;

	if (!to)
		return dgi_fail_memory(err, "path");
	(void)snprintf(to, room, "%s/data-%c%zu.npy", g->work, side_name(file.side)[0], number);
	if (file.text) {
		struct dgi_data_file made = file;

		st = dgi_columns_to_npy(&file, to, progress, err);
		made.path = to;
		made.bfloat16 = false;
		if (!st)
			st = take_npy(&made, NULL, first, &out->info, rows, &copied, err);
		copied = true;
	} else {
		st = take_npy(&file, to, first, &out->info, rows, &copied, err);
	}
	if (!st && !copied) {
		free(to);
		to = strdup(file.path);
		if (!to)
			st = dgi_fail_memory(err, "path");
	}
	if (st) {
		free(to);
		return st;
	}
	out->paths[out->n_paths++] = to;
	return DG_OK;
}

/* --- Tensors --- */

static bool same_tensor(const struct dgi_gather *g, const struct dgi_data_file *file,
			const struct dgi_source_data *have)
{
	uint16_t type;

	return have->info.side == file->side && strcmp(have->info.name, file->name) == 0 &&
	       !find_type(g, file, &type, NULL) && type == have->info.type;
}

static dg_status check_rows(struct dgi_gather *g, const struct dgi_source_data *d, int64_t rows,
			    const char *path, dg_error *err)
{
	const char *side = side_name(d->info.side);
	struct dgi_gather_nodes *nodes = &g->nodes[d->info.type];
	int64_t n = d->info.side == DG_EDGE ? g->edges[d->info.type].n : nodes->n;

	if (n < 0) {
		nodes->n = n = rows;
		(void)snprintf(nodes->counted_by, sizeof nodes->counted_by,
			       "the rows of node feature '%.80s' in '%.200s'", d->info.name, path);
	}
	if (rows == n)
		return DG_OK;
	if (d->n_paths > 1)
		return dgi_fail(err, DG_MISMATCH,
				"%s feature '%s': its %zu files have %" PRId64
				" rows, want %" PRId64 ", one per %s",
				side, d->info.name, d->n_paths, rows, n, side);
	return dgi_fail(err, DG_MISMATCH,
			"%s feature '%s': '%s' has %" PRId64 " rows, want %" PRId64 ", one per %s",
			side, d->info.name, path, rows, n, side);
}

dg_status dgi_data_check_order(const struct dgi_gather *g, const struct dgi_source_data *d,
			       dg_error *err)
{
	const struct dgi_gather_nodes *nodes = &g->nodes[d->info.type];

	if (d->info.side == DG_EDGE || nodes->listed != DG_INPUT_IDS_AUTO ||
	    (nodes->ids != DG_INPUT_IDS_STRINGS && nodes->ids != DG_INPUT_IDS_INTEGERS))
		return DG_OK;
	return dgi_fail(
		err, DG_INVALID,
		"node feature '%s': nodes of type '%s' have ids of their own; a list of them "
		"must tell which row is whose",
		d->info.name, nodes->name);
}

/* The same file twice is a slip of the hand, not more rows. */
static bool is_repeated(const struct dgi_plan *plan, size_t first, size_t i,
			const struct dgi_gather *g, const struct dgi_source_data *d)
{
	for (size_t k = first; k < i; k++)
		if (same_tensor(g, &plan->data[k], d) &&
		    strcmp(plan->data[k].path, plan->data[i].path) == 0)
			return true;
	return false;
}

/* Everything of one tensor, whose first file is @first. */
static dg_status take_tensor(struct dgi_gather *g, const struct dgi_plan *plan, size_t first,
			     struct dgi_source_data *d, struct dgi_progress *progress,
			     dg_error *err)
{
	const struct dgi_data_file *file = &plan->data[first];
	int64_t total = 0;
	dg_status st = check_name(file->name, err);

	if (!st)
		st = find_type(g, file, &d->info.type, err);
	if (st)
		return st;
	d->info.side = file->side;
	memcpy(d->info.name, file->name, strlen(file->name) + 1);
	for (size_t i = first; !st && i < plan->n_data; i++) {
		int64_t rows = 0;

		if (!same_tensor(g, &plan->data[i], d))
			continue;
		if (is_repeated(plan, first, i, g, d))
			return dgi_fail(err, DG_INVALID, "%s feature '%s' is given twice",
					side_name(file->side), file->name);
		st = take_file(g, plan->data[i], i, d, &rows, progress, err);
		if (!st && __builtin_add_overflow(total, rows, &total))
			st = dgi_fail(err, DG_RANGE, "too many rows");
		if (st)
			return dgi_context(err, st, "%s feature '%s'", side_name(file->side),
					   file->name);
	}
	return st ? st : check_rows(g, d, total, file->path, err);
}

static bool is_taken(const struct dgi_gather *g, const struct dgi_data_file *file,
		     const struct dgi_source *source)
{
	for (size_t i = 0; i < source->n_data; i++)
		if (same_tensor(g, file, &source->data[i]))
			return true;
	return false;
}

dg_status dgi_data_import(struct dgi_gather *g, const struct dgi_plan *plan, dg_side side,
			  struct dgi_source *out, struct dgi_progress *progress, dg_error *err)
{
	dg_status st = DG_OK;

	if (!out->data)
		out->data = calloc(plan->n_data + 1, sizeof *out->data);
	if (!out->data)
		return dgi_fail_memory(err, "data");
	for (size_t i = 0; !st && i < plan->n_data; i++) {
		struct dgi_source_data *d = &out->data[out->n_data];

		if (plan->data[i].side != side || is_taken(g, &plan->data[i], out))
			continue;
		d->paths = calloc(plan->n_data, sizeof *d->paths);
		if (!d->paths)
			return dgi_fail_memory(err, "data");
		out->n_data++;
		st = take_tensor(g, plan, i, d, progress, err);
	}
	return st;
}
