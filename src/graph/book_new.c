/* book_new.c -- a partition book made of ranges, as DGL's constructor has them. */
#include "book.h"

#include "fail.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* What is made of the ranges, by side. */
struct making {
	int64_t *counts[2];	 /* [type * n_parts + part] */
	int64_t *homogeneous[2]; /* [part * n_types + type] */
	struct dgi_edge_type_spec *edge_types;
};

static void making_clear(struct making *m)
{
	for (int side = 0; side < 2; side++) {
		free(m->counts[side]);
		free(m->homogeneous[side]);
	}
	free(m->edge_types);
}

static dg_status check_dtype(const char *side, dg_dtype dtype, dg_error *err)
{
	if (dtype && dtype != DG_INT32 && dtype != DG_INT64)
		return dgi_fail(err, DG_INVALID, "%s map: dtype %s, want int32 or int64", side,
				dg_dtype_name(dtype));
	return DG_OK;
}

static dg_status check_range(const char *side, size_t type, size_t part, const dg_id range[2],
			     dg_dtype dtype, dg_error *err)
{
	if (range[0] < 0 || range[1] < range[0])
		return dgi_fail(err, DG_INVALID,
				"%s map: type %zu part %zu is [%" PRId64 ", %" PRId64
				"), want 0 <= start <= end",
				side, type, part, range[0], range[1]);
	if (dtype == DG_INT32 && range[1] > INT32_MAX)
		return dgi_fail(err, DG_INVALID,
				"%s map: type %zu part %zu ends at %" PRId64
				", more than its int32 holds",
				side, type, part, range[1]);
	return DG_OK;
}

static dg_status read_map(struct making *m, const dg_book_spec *spec, dg_side side, dg_error *err)
{
	const char *name = side == DG_NODE ? "node" : "edge";
	const dg_id *map = side == DG_NODE ? spec->node_map : spec->edge_map;
	dg_dtype dtype = side == DG_NODE ? spec->node_map_dtype : spec->edge_map_dtype;
	size_t n_types = side == DG_NODE ? spec->n_node_types : spec->n_edge_types;
	size_t n_parts = spec->n_parts;
	dg_status st = check_dtype(name, dtype, err);

	m->counts[side] = calloc(n_types * n_parts + 1, sizeof(int64_t));
	m->homogeneous[side] = calloc(n_types * n_parts + 1, sizeof(int64_t));
	if (!m->counts[side] || !m->homogeneous[side])
		return dgi_fail_memory(err, "partition book");
	for (size_t t = 0; !st && t < n_types; t++)
		for (size_t p = 0; !st && p < n_parts; p++) {
			const dg_id *range = &map[(t * n_parts + p) * 2];

			st = check_range(name, t, p, range, dtype, err);
			m->counts[side][t * n_parts + p] = st ? 0 : range[1] - range[0];
			m->homogeneous[side][p * n_types + t] = range[0];
		}
	return st;
}

static dg_status find_node_type(const dg_book_spec *spec, const char *name, uint16_t *out,
				dg_error *err)
{
	for (uint16_t t = 0; t < spec->n_node_types; t++)
		if (strcmp(spec->node_types[t], name) == 0) {
			*out = t;
			return DG_OK;
		}
	return dgi_fail(err, DG_NOTFOUND, "an edge type names node type '%.80s', which is none",
			name);
}

static dg_status read_edge_types(struct making *m, const dg_book_spec *spec, dg_error *err)
{
	dg_status st = DG_OK;

	m->edge_types = calloc((size_t)spec->n_edge_types + 1, sizeof *m->edge_types);
	if (!m->edge_types)
		return dgi_fail_memory(err, "partition book");
	for (uint16_t t = 0; !st && t < spec->n_edge_types; t++) {
		m->edge_types[t].relation = spec->edge_types[t].relation;
		st = find_node_type(spec, spec->edge_types[t].src, &m->edge_types[t].src_type, err);
		if (!st)
			st = find_node_type(spec, spec->edge_types[t].dst,
					    &m->edge_types[t].dst_type, err);
	}
	return st;
}

static dg_status check_size(const dg_book_spec *spec, dg_error *err)
{
	uint64_t n_types = (uint64_t)spec->n_node_types + spec->n_edge_types;

	if (spec->n_parts > DG_PARTS_MAX || spec->n_parts * n_types > DGI_BOOK_RANGES_MAX)
		return dgi_fail(err, DG_INVALID,
				"%" PRIu32 " partitions of %" PRIu64 " types, at most %d and %u "
				"ranges",
				spec->n_parts, n_types, DG_PARTS_MAX, DGI_BOOK_RANGES_MAX);
	return DG_OK;
}

dg_status dg_book_new(const dg_book_spec *spec, dg_book **out, dg_error *err)
{
	struct making m = { 0 };
	struct dgi_book_spec inner = { .n_parts = spec->n_parts,
				       .n_node_types = spec->n_node_types,
				       .n_edge_types = spec->n_edge_types,
				       .node_types = spec->node_types,
				       .map_dtypes = { spec->node_map_dtype,
						       spec->edge_map_dtype } };
	dg_status st = check_size(spec, err);

	if (!st)
		st = read_map(&m, spec, DG_NODE, err);
	if (!st)
		st = read_map(&m, spec, DG_EDGE, err);
	if (!st)
		st = read_edge_types(&m, spec, err);
	inner.edge_types = m.edge_types;
	inner.node_counts = m.counts[DG_NODE];
	inner.edge_counts = m.counts[DG_EDGE];
	inner.homogeneous[DG_NODE] = m.homogeneous[DG_NODE];
	inner.homogeneous[DG_EDGE] = m.homogeneous[DG_EDGE];
	if (!st)
		st = dgi_book_new(&inner, out, err);
	making_clear(&m);
	return st;
}
