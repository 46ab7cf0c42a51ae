/* edge_files.c -- which format a file of edges has, and what the readers of all formats share. */
#include "edge_files.h"

#include "check.h"
#include "fail.h"
#include "npy.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define NODE_TYPE "_N"
#define RELATION "_E"

bool dgi_edge_file_is_triples(const struct dgi_edge_file *file)
{
	struct dgi_edge_type_text type;

	return file->type && !dgi_edge_type_text_cut(file->type, &type, NULL) &&
	       strcmp(type.relation, "*") == 0;
}

dg_status dgi_edge_file_ends(struct dgi_gather *g, const struct dgi_edge_file *file, uint16_t *src,
			     uint16_t *dst, dg_error *err)
{
	struct dgi_edge_type_text type = { .src = NODE_TYPE, .dst = NODE_TYPE };
	dg_status st = file->type ? dgi_edge_type_text_cut(file->type, &type, err) : DG_OK;

	if (!st)
		st = dgi_gather_node_type(g, type.src, src, err);
	if (!st)
		st = dgi_gather_node_type(g, type.dst, dst, err);
	return st;
}

dg_status dgi_edge_file_type(struct dgi_gather *g, const struct dgi_edge_file *file, uint16_t *type,
			     dg_error *err)
{
	struct dgi_edge_type_text text = { .relation = RELATION };
	uint16_t src, dst;
	dg_status st = dgi_edge_file_ends(g, file, &src, &dst, err);

	if (!st && file->type)
		st = dgi_edge_type_text_cut(file->type, &text, err);
	if (!st && strcmp(text.relation, "*") == 0)
		st = dgi_fail(err, DG_INVALID,
			      "edge type '%.300s': only triples bring their own relations",
			      file->type);
	if (!st)
		st = dgi_gather_edge_type(g, src, text.relation, strlen(text.relation), dst, type,
					  err);
	return st;
}

dg_status dgi_settle_ids(struct dgi_gather_nodes *nodes, dg_input_ids told, dg_input_ids found,
			 dg_error *err)
{
	dg_input_ids ids = told != DG_INPUT_IDS_AUTO ? told : found;

	if (nodes->ids == DG_INPUT_IDS_AUTO)
		nodes->ids = ids;
	if (nodes->ids == DG_INPUT_IDS_NUMBERS)
		return DG_OK;
	if (nodes->listed == DG_INPUT_IDS_AUTO) {
		if (nodes->map.n == 0)
			nodes->map.strings = nodes->ids == DG_INPUT_IDS_STRINGS;
		return DG_OK;
	}
	if (nodes->listed != nodes->ids)
		return dgi_fail(err, DG_INVALID,
				"node type '%s': edges name nodes by %s, the list of ids holds %s",
				nodes->name,
				nodes->ids == DG_INPUT_IDS_STRINGS ? "strings" : "integers",
				nodes->listed == DG_INPUT_IDS_STRINGS ? "strings" : "integers");
	return DG_OK;
}

dg_status dgi_tell_count(struct dgi_gather_nodes *nodes, int64_t n, const char *path, dg_error *err)
{
	dg_status st = dgi_settle_ids(nodes, DG_INPUT_IDS_NUMBERS, DG_INPUT_IDS_NUMBERS, err);

	if (st)
		return st;
	if (nodes->ids != DG_INPUT_IDS_NUMBERS)
		return dgi_fail(
			err, DG_INVALID,
			"node type '%s': its nodes are named by %s, those of this format by "
			"number",
			nodes->name, nodes->ids == DG_INPUT_IDS_STRINGS ? "strings" : "integers");
	if (nodes->n >= 0 && nodes->n != n)
		return dgi_fail(err, DG_MISMATCH,
				"%" PRId64 " nodes of type '%s', want %" PRId64 "%s%s", n,
				nodes->name, nodes->n, nodes->counted_by[0] ? " by " : "",
				nodes->counted_by);
	if (nodes->n < 0)
		(void)snprintf(nodes->counted_by, sizeof nodes->counted_by, "'%s'", path);
	nodes->n = n;
	if (nodes->largest >= n)
		return dgi_fail(err, DG_RANGE,
				"%" PRId64
				" nodes of type '%s', but an edge before had node %" PRId64,
				n, nodes->name, nodes->largest);
	return DG_OK;
}

dg_status dgi_relation_number(struct dgi_gather *g, const struct dgi_edge_rules *rules,
			      uint16_t src, int64_t number, uint16_t dst, uint16_t *type,
			      dg_error *err)
{
	char text[24];
	const char *name = text;
	size_t n;

	if (number < 0)
		return dgi_fail(err, DG_RANGE, "relation %" PRId64 " is negative", number);
	if (rules->relations && number >= rules->relations->n)
		return dgi_fail(err, DG_RANGE,
				"relation %" PRId64 ", want less than %" PRId64
				", the number of relations listed",
				number, rules->relations->n);
	if (rules->relations)
		name = dgi_id_map_text(rules->relations, number, &n);
	else
		n = (size_t)snprintf(text, sizeof text, "%" PRId64, number);
	return dgi_gather_edge_type(g, src, name, n, dst, type, err);
}

/* --- Formats --- */

/* Does the path end so, or so and ".gz"? */
static bool has_ending(const char *path, const char *ending)
{
	size_t n = strlen(path);
	size_t m = strlen(ending);

	if (n > 3 && strcasecmp(path + n - 3, ".gz") == 0)
		n -= 3;
	return n > m && strncasecmp(path + n - m, ending, m) == 0;
}

static bool begins_with(const void *data, size_t n, const char *text)
{
	return n >= strlen(text) && memcmp(data, text, strlen(text)) == 0;
}

/* A file that only its name says to be of a format is refused as such, not read as text. */
static dg_input_format detect(const char *path, const void *first, size_t n)
{
	if (dgi_npy_magic(first, n) || has_ending(path, ".npy"))
		return DG_INPUT_NPY;
	if (begins_with(first, n, "%%MatrixMark") || has_ending(path, ".mtx"))
		return DG_INPUT_MTX;
	if (has_ending(path, ".graph") || has_ending(path, ".metis"))
		return DG_INPUT_METIS;
	return DG_INPUT_AUTO;
}

static dg_status read_lines(struct dgi_gather *g, const struct dgi_edge_file *file,
			    const struct dgi_edge_rules *rules, dg_input_format format,
			    struct dgi_lines *lines, dg_error *err)
{
	switch (format) {
	case DG_INPUT_MTX:
		return dgi_edges_from_mtx(g, file, rules, lines, err);
	case DG_INPUT_METIS:
		return dgi_edges_from_metis(g, file, rules, lines, err);
	default:
		return dgi_edges_from_text(g, file, rules, lines, err);
	}
}

static dg_status check_parquet(const char *path, const void *first, size_t n, dg_error *err)
{
	if (!begins_with(first, n, "PAR1") && !has_ending(path, ".parquet"))
		return DG_OK;
	return dgi_fail(err, DG_UNSUPPORTED,
			"'%s': a Parquet file; convert it with `python -m distgraph.tools.parquet`",
			path);
}

static dg_status read_open(struct dgi_gather *g, const struct dgi_edge_file *file,
			   const struct dgi_edge_rules *rules, struct dgi_input *in,
			   struct dgi_progress *progress, dg_error *err)
{
	struct dgi_lines lines;
	uint8_t first[DGI_NPY_PREFIX_BYTES];
	dg_input_format format = file->format;
	size_t n;
	dg_status st = dgi_input_read(in, first, sizeof first, &n, err);

	if (!st)
		st = check_parquet(file->path, first, n, err);
	if (st)
		return st;
	if (format == DG_INPUT_AUTO || (format == DG_INPUT_TRIPLES && dgi_npy_magic(first, n)))
		format = detect(file->path, first, n);
	if (format == DG_INPUT_NPY) {
		st = dgi_edges_from_npy(g, file, rules, in, first, n, progress, err);
		return st ? dgi_context(err, st, "'%s'", file->path) : DG_OK;
	}
	st = dgi_lines_begin(in, first, n, progress, &lines, err);
	if (st)
		return st;
	st = read_lines(g, file, rules, format, &lines, err);
	dgi_lines_end(&lines);
	return st;
}

static int64_t count_all(const struct dgi_gather *g)
{
	int64_t n = 0;

	for (size_t i = 0; i < g->n_edges; i++)
		n += g->edges[i].n;
	return n;
}

/* Nobody would give an empty file on purpose, unless all nodes are known without it. */
static bool nodes_are_known(const struct dgi_gather *g)
{
	for (size_t i = 0; i < g->n_nodes; i++)
		if (g->nodes[i].n < 0)
			return false;
	return g->n_nodes > 0;
}

dg_status dgi_edge_file_read(struct dgi_gather *g, const struct dgi_edge_file *file,
			     const struct dgi_edge_rules *rules, struct dgi_progress *progress,
			     dg_error *err)
{
	const int64_t before = count_all(g);
	struct dgi_input in;
	dg_status st = dgi_input_open(file->path, &in, err);

	if (st)
		return st;
	st = read_open(g, file, rules, &in, progress, err);
	if (!st)
		st = dgi_progress_add(progress, in.file_bytes - in.file_at, err);
	dgi_input_close(&in);
	if (!st && file->n >= 0 && count_all(g) - before != file->n)
		st = dgi_fail(err, DG_MISMATCH, "'%s': %" PRId64 " edges, want %" PRId64,
			      file->path, count_all(g) - before, file->n);
	if (!st && file->n < 0 && count_all(g) == before && !nodes_are_known(g))
		st = dgi_fail(err, DG_INVALID, "'%s': no edges", file->path);
	return st;
}
