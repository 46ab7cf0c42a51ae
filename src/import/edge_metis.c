/*
 * edge_metis.c -- edges from a METIS graph file (METIS 5 manual, section 4.5).
 *
 * "nodes edges [format [constraints]]", then a line a node: its size, weights, and its neighbours,
 * each with a weight, as the format says. Neighbours count from 1. The file has every undirected
 * edge twice; each of the two becomes an edge, from the line's node. Sizes and weights are read over.
 * Lines may be of any length, so that bytes are taken one by one.
 */
#include "edge_files.h"

#include "fail.h"
#include "rng.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define CONSTRAINTS_MAX 1024
#define HEADER_NUMBERS_MAX 4

struct reader {
	struct dgi_gather *g;
	const struct dgi_edge_file *file;
	struct dgi_lines *lines;
	uint16_t type;
	bool has_header;
	bool edge_weights;
	uint64_t n_before; /* numbers of a line before the neighbours */
	int64_t n_nodes, n_edges;

	/* The line so far. */
	bool comment, begun;
	uint64_t n_numbers;
	bool in_number;
	int64_t number;
	int64_t header[HEADER_NUMBERS_MAX];

	int64_t node;	/* whose line it is */
	int64_t listed; /* neighbours so far, of all nodes */
	int64_t loops;	/* of these, the node itself */
	uint64_t
		sum; /* over pairs listed, of the smaller's line minus the larger's: 0 in the end */
	dg_id src[DGI_EDGE_BATCH], dst[DGI_EDGE_BATCH];
	size_t n;
};

static dg_status flush(struct reader *r, dg_error *err)
{
	dg_status st = r->n ? dgi_gather_append(r->g, r->type, r->src, r->dst, r->n, err) : DG_OK;

	r->n = 0;
	return st;
}

/* Two runs over the pairs, one from either end, have the same sum only by a chance of 2^-64. */
static uint64_t pair_hash(int64_t a, int64_t b)
{
	struct dgi_rng rng = dgi_rng_of((uint64_t)a, (uint64_t)b);

	return dgi_rng_at(&rng, 0);
}

static dg_status add_neighbour(struct reader *r, int64_t number, dg_error *err)
{
	const int64_t other = number - 1;

	if (number < 1 || number > r->n_nodes)
		return dgi_fail(err, DG_RANGE, "neighbour %" PRId64 ", want 1 to %" PRId64, number,
				r->n_nodes);
	if (r->listed == 2 * r->n_edges)
		return dgi_fail(err, DG_INVALID,
				"a neighbour more than twice the %" PRId64 " edges told",
				r->n_edges);
	r->listed++;
	if (other > r->node)
		r->sum += pair_hash(r->node, other);
	else if (other < r->node)
		r->sum -= pair_hash(other, r->node);
	else
		r->loops++;
	r->src[r->n] = r->node;
	r->dst[r->n++] = other;
	return r->n == DGI_EDGE_BATCH ? flush(r, err) : DG_OK;
}

static dg_status take_number(struct reader *r, dg_error *err)
{
	const uint64_t place = r->n_numbers++;

	if (!r->has_header) {
		if (place >= HEADER_NUMBERS_MAX)
			return dgi_fail(err, DG_INVALID, "more than %d numbers in the header",
					HEADER_NUMBERS_MAX);
		r->header[place] = r->number;
		return DG_OK;
	}
	if (place < r->n_before || (r->edge_weights && (place - r->n_before) % 2 == 1))
		return DG_OK; /* a size or weight */
	return add_neighbour(r, r->number, err);
}

/* The format is three digits: sizes of nodes, weights of nodes, weights of edges. */
static dg_status take_format(struct reader *r, dg_error *err)
{
	const int64_t format = r->n_numbers > 2 ? r->header[2] : 0;
	const int64_t constraints = r->n_numbers > 3 ? r->header[3] : 1;

	if (format > 111 || format % 10 > 1 || format / 10 % 10 > 1)
		return dgi_fail(err, DG_INVALID, "format %03" PRId64 ", want three digits 0 or 1",
				format);
	if (constraints < 1 || constraints > CONSTRAINTS_MAX)
		return dgi_fail(err, DG_INVALID, "%" PRId64 " weights a node, want 1 to %d",
				constraints, CONSTRAINTS_MAX);
	r->edge_weights = format % 10 == 1;
	r->n_before =
		(uint64_t)(format / 100) + (format / 10 % 10 == 1 ? (uint64_t)constraints : 0);
	return DG_OK;
}

static dg_status end_header(struct reader *r, dg_error *err)
{
	uint16_t src, dst;
	dg_status st;

	if (r->n_numbers < 2)
		return dgi_fail(err, DG_INVALID,
				"%" PRIu64 " numbers, want 2 to 4: nodes, edges, format, weights",
				r->n_numbers);
	r->n_nodes = r->header[0];
	r->n_edges = r->header[1];
	if (r->n_nodes == INT64_MAX || r->n_edges > INT64_MAX / 2)
		return dgi_fail(err, DG_RANGE, "%" PRId64 " nodes and %" PRId64 " edges: too many",
				r->n_nodes, r->n_edges);
	st = take_format(r, err);
	if (!st)
		st = dgi_edge_file_ends(r->g, r->file, &src, &dst, err);
	if (!st)
		st = dgi_edge_file_type(r->g, r->file, &r->type, err);
	if (!st && src != dst)
		st = dgi_fail(err, DG_INVALID,
			      "edge type '%.300s': a METIS graph has nodes of one type",
			      r->file->type);
	if (!st)
		st = dgi_tell_count(&r->g->nodes[src], r->n_nodes, r->file->path, err);
	r->has_header = true;
	r->node = 0;
	return st;
}

static dg_status end_node(struct reader *r, dg_error *err)
{
	if (r->node >= r->n_nodes) {
		if (r->n_numbers == 0)
			return DG_OK; /* empty lines behind the last */
		return dgi_fail(err, DG_INVALID, "a line more than the %" PRId64 " nodes told",
				r->n_nodes);
	}
	if (r->n_numbers < r->n_before)
		return dgi_fail(err, DG_INVALID,
				"%" PRIu64 " numbers, want %" PRIu64 " before the neighbours",
				r->n_numbers, r->n_before);
	if (r->edge_weights && (r->n_numbers - r->n_before) % 2 == 1)
		return dgi_fail(err, DG_INVALID, "the last neighbour has no weight");
	r->node++;
	return DG_OK;
}

static dg_status end_number(struct reader *r, dg_error *err)
{
	if (!r->in_number)
		return DG_OK;
	r->in_number = false;
	if (r->has_header && r->node >= r->n_nodes)
		return dgi_fail(err, DG_INVALID, "a line more than the %" PRId64 " nodes told",
				r->n_nodes);
	return take_number(r, err);
}

static dg_status end_line(struct reader *r, dg_error *err)
{
	dg_status st = DG_OK;

	if (!r->comment) {
		st = end_number(r, err);
		if (!st && r->has_header)
			st = end_node(r, err);
		else if (!st && r->n_numbers > 0)
			st = end_header(r, err);
	}
	if (st)
		return st;
	r->comment = r->begun = false;
	r->n_numbers = 0;
	r->lines->line++;
	return DG_OK;
}

static dg_status take_digit(struct reader *r, char c, dg_error *err)
{
	if (!r->in_number)
		r->number = 0;
	r->in_number = true;
	if (__builtin_mul_overflow(r->number, 10, &r->number) ||
	    __builtin_add_overflow(r->number, c - '0', &r->number))
		return dgi_fail(err, DG_RANGE, "a number beyond 64 bits");
	return DG_OK;
}

static dg_status take_byte(struct reader *r, char c, dg_error *err)
{
	if (c == '\n')
		return end_line(r, err);
	if (r->comment)
		return DG_OK;
	if (c >= '0' && c <= '9') {
		r->begun = true;
		return take_digit(r, c, err);
	}
	if (c == ' ' || c == '\t' || c == '\r')
		return end_number(r, err);
	if (c == '%' && !r->begun) {
		r->comment = true;
		return DG_OK;
	}
	return dgi_fail(err, DG_INVALID, "found '%c', want numbers", c);
}

static dg_status check_end(const struct reader *r, dg_error *err)
{
	if (!r->has_header)
		return dgi_fail(err, DG_INVALID, "ends before its header");
	if (r->node != r->n_nodes)
		return dgi_fail(err, DG_INVALID, "ends after %" PRId64 " nodes, want %" PRId64,
				r->node, r->n_nodes);
	/* Some count a loop, which METIS does not know, once. */
	if (r->listed != 2 * r->n_edges && r->listed + r->loops != 2 * r->n_edges)
		return dgi_fail(err, DG_INVALID,
				"%" PRId64 " neighbours in all, want %" PRId64
				", twice the edges told",
				r->listed, 2 * r->n_edges);
	if (r->sum != 0)
		return dgi_fail(err, DG_INVALID,
				"some node lists a neighbour that does not list it");
	return DG_OK;
}

static dg_status read_all(struct reader *r, dg_error *err)
{
	char *data;
	size_t n = 1;
	char last = '\n';
	dg_status st = DG_OK;

	r->lines->line = 1; /* that being read */
	while (!st && n > 0) {
		st = dgi_lines_bytes(r->lines, &data, &n, err);
		if (st)
			return st;
		for (size_t i = 0; !st && i < n; i++)
			st = take_byte(r, data[i], err);
		last = n ? data[n - 1] : last;
	}
	if (!st && last != '\n')
		st = end_line(r, err);
	if (!st) {
		r->lines->line -= r->lines->line > 1; /* the last there was */
		st = check_end(r, err);
	}
	return st ? dgi_lines_blame(r->lines, st, err) : flush(r, err);
}

dg_status dgi_edges_from_metis(struct dgi_gather *g, const struct dgi_edge_file *file,
			       const struct dgi_edge_rules *rules, struct dgi_lines *lines,
			       dg_error *err)
{
	struct reader *r = calloc(1, sizeof *r);
	dg_status st;

	(void)rules; /* neighbours are numbers, whatever is told of others */
	if (!r)
		return dgi_fail_memory(err, "edges");
	r->g = g;
	r->file = file;
	r->lines = lines;
	st = read_all(r, err);
	free(r);
	return st;
}
