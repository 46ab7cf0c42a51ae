/*
 * partition_load.c -- the local graph of one partition, made from the structure arrays of its store.
 *
 * Those name nodes by type-wise ids over the whole graph. First the halo of each type is collected and
 * sorted, which gives every local node its number; then edges are written with these.
 */
#include <distgraph/partition_load.h>

#include "book.h"
#include "fail.h"
#include "name.h"
#include "store.h"
#include "uuid.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Ids of one kind of one type, ascending. */
struct ids {
	dg_id *items;
	size_t n;
};

/* A local edge, until its number is known. */
struct edge {
	dg_id id; /* homogeneous */
	dg_id src, dst;
	uint16_t type;
};

struct loading {
	dg_local_graph graph; /* first: it is what the caller gets */
	dg_cluster *cluster;
	struct dgi_volume *volume;
	int64_t *offsets; /* where the types begin among inner nodes */
	uint16_t n_node_types;
	struct ids *halo;    /* by node type: type-wise */
	dg_id **halo_locals; /* their local ids */
	struct edge *halo_edges;
	size_t n_halo_edges;
	/* What the graph lends. */
	dg_id *node_ids, *src, *dst, *edge_ids;
	int32_t *node_types, *edge_types;
	int64_t *node_parts;
	uint8_t *inner_node, *inner_edge;
	dg_error *err;
};

/* --- Arrays of the store --- */

/* Gives all elements, widened, to be freed; without such an array none. */
static dg_status read_array(struct loading *l, uint16_t type, dg_graph_array array, int64_t **out,
			    int64_t *n)
{
	dg_dtype dtype;
	dg_status st = dgi_volume_array(l->volume, type, (uint8_t)array, &dtype, n, NULL);
	int64_t *data;

	*out = NULL;
	if (st == DG_NOTFOUND)
		*n = 0;
	if (st == DG_NOTFOUND || (!st && *n == 0))
		return DG_OK;
	if (st)
		return dgi_volume_array(l->volume, type, (uint8_t)array, &dtype, n, l->err);
	data = malloc((size_t)*n * sizeof *data);
	if (!data)
		return dgi_fail_memory(l->err, "a structure array");
	st = dgi_volume_array_read(l->volume, type, (uint8_t)array, 0, *n, data, l->err);
	if (st) {
		free(data);
		return st;
	}
	if (dtype == DG_INT32)
		for (int64_t i = *n; i-- > 0;) {
			int32_t narrow;

			memcpy(&narrow, (const char *)data + (size_t)i * sizeof narrow,
			       sizeof narrow);
			data[i] = narrow;
		}
	*out = data;
	return DG_OK;
}

static dg_status fail_array(const struct loading *l, uint16_t type, const char *what)
{
	return dgi_fail(l->err, DG_CORRUPT, "edge type %u: %s", type, what);
}

/* Row pointers that begin with 0, do not fall, and end with @n_columns. */
static bool is_sound_indptr(const int64_t *indptr, int64_t n, int64_t n_columns)
{
	if (n < 1 || indptr[0] != 0 || indptr[n - 1] != n_columns)
		return false;
	for (int64_t i = 1; i < n; i++)
		if (indptr[i] < indptr[i - 1])
			return false;
	return true;
}

static bool all_below(const int64_t *values, int64_t n, int64_t bound)
{
	for (int64_t i = 0; i < n; i++)
		if (values[i] < 0 || values[i] >= bound)
			return false;
	return true;
}

/* Edges of one type with their row pointers: a partition's own, or those of its halo. */
struct csc {
	int64_t *indptr, *indices, *edges; /* edges: of a halo only */
	int64_t n_rows, n;
};

static void csc_clear(struct csc *c)
{
	free(c->indptr);
	free(c->indices);
	free(c->edges);
	*c = (struct csc){ 0 };
}

static dg_status read_own(struct loading *l, uint16_t etype, struct csc *out)
{
	dg_edge_type type = dg_book_edge_type(l->graph.book, etype);
	dg_id start, end, first, last;
	int64_t n_indptr = 0;
	dg_status st = read_array(l, etype, DG_GRAPH_INDPTR, &out->indptr, &n_indptr);

	if (!st)
		st = read_array(l, etype, DG_GRAPH_INDICES, &out->indices, &out->n);
	if (st)
		return st;
	dg_book_range(l->graph.book, DG_NODE, type.dst_type, l->graph.part, &start, &end);
	dg_book_range(l->graph.book, DG_EDGE, etype, l->graph.part, &first, &last);
	out->n_rows = end - start;
	if (n_indptr != out->n_rows + 1 || out->n != last - first ||
	    !is_sound_indptr(out->indptr, n_indptr, out->n))
		return fail_array(l, etype, "row pointers do not fit the partition book");
	if (!all_below(out->indices, out->n, dg_book_count(l->graph.book, DG_NODE, type.src_type)))
		return fail_array(l, etype, "a source is no node of the graph");
	return DG_OK;
}

static dg_status read_halo_edges(struct loading *l, uint16_t etype, struct csc *out)
{
	dg_edge_type type = dg_book_edge_type(l->graph.book, etype);
	int64_t n_indptr = 0, n_edges = 0;
	dg_status st = read_array(l, etype, DG_GRAPH_HALO_INDPTR, &out->indptr, &n_indptr);

	if (!st)
		st = read_array(l, etype, DG_GRAPH_HALO_INDICES, &out->indices, &out->n);
	if (!st)
		st = read_array(l, etype, DG_GRAPH_HALO_EDGES, &out->edges, &n_edges);
	if (st || (n_indptr == 0 && out->n == 0 && n_edges == 0))
		return st;
	out->n_rows = n_indptr - 1;
	if (n_edges != out->n || out->n_rows != (int64_t)l->halo[type.dst_type].n ||
	    !is_sound_indptr(out->indptr, n_indptr, out->n))
		return fail_array(l, etype, "row pointers of the halo do not fit its nodes");
	if (!all_below(out->indices, out->n,
		       dg_book_count(l->graph.book, DG_NODE, type.src_type)) ||
	    !all_below(out->edges, out->n, dg_book_count(l->graph.book, DG_EDGE, etype)))
		return fail_array(l, etype, "a halo edge is none of the graph");
	return DG_OK;
}

/* --- Halo nodes --- */

static int compare_ids(const void *a, const void *b)
{
	dg_id x = *(const dg_id *)a, y = *(const dg_id *)b;

	return (x > y) - (x < y);
}

static void sort_unique(struct ids *ids)
{
	size_t n = 0;

	if (ids->n > 1)
		qsort(ids->items, ids->n, sizeof *ids->items, compare_ids);
	for (size_t i = 0; i < ids->n; i++)
		if (n == 0 || ids->items[i] != ids->items[n - 1])
			ids->items[n++] = ids->items[i];
	ids->n = n;
}

static bool is_own(const struct loading *l, uint16_t type, dg_id id)
{
	dg_id start, end;

	dg_book_range(l->graph.book, DG_NODE, type, l->graph.part, &start, &end);
	return id >= start && id < end;
}

/* Adds those of @ids that are not the partition's own. */
static dg_status add_halo(struct loading *l, uint16_t type, const int64_t *ids, int64_t n)
{
	struct ids *halo = &l->halo[type];
	size_t more = 0;
	dg_id *items;

	for (int64_t i = 0; i < n; i++)
		more += !is_own(l, type, ids[i]);
	items = realloc(halo->items, (halo->n + more + 1) * sizeof *items);
	if (!items)
		return dgi_fail_memory(l->err, "halo nodes");
	halo->items = items;
	for (int64_t i = 0; i < n; i++)
		if (!is_own(l, type, ids[i]))
			halo->items[halo->n++] = ids[i];
	sort_unique(halo);
	return DG_OK;
}

/* A type's halo as it is stored, or, of a graph without halo, the sources of own edges. */
static dg_status find_halo(struct loading *l, uint16_t type)
{
	int64_t *stored = NULL;
	int64_t n = 0;
	dg_status st = read_array(l, type, DG_GRAPH_HALO_NODES, &stored, &n);

	if (!st && !all_below(stored, n, dg_book_count(l->graph.book, DG_NODE, type)))
		st = dgi_fail(l->err, DG_CORRUPT, "node type %u: a halo node is none of the graph",
			      type);
	if (!st)
		st = add_halo(l, type, stored, n);
	free(stored);
	for (uint16_t e = 0; !st && n == 0 && e < dg_book_n_edge_types(l->graph.book); e++) {
		struct csc own = { 0 };

		if (dg_book_edge_type(l->graph.book, e).src_type != type)
			continue;
		st = read_own(l, e, &own);
		if (!st)
			st = add_halo(l, type, own.indices, own.n);
		csc_clear(&own);
	}
	return st;
}

/* --- Local nodes --- */

struct halo_node {
	dg_id id;  /* homogeneous */
	size_t at; /* among the halo of its type */
	uint16_t type;
};

static int compare_halo_nodes(const void *a, const void *b)
{
	return compare_ids(&((const struct halo_node *)a)->id, &((const struct halo_node *)b)->id);
}

static dg_status alloc_nodes(struct loading *l)
{
	size_t n = (size_t)l->graph.n_nodes + 1;

	l->node_ids = malloc(n * sizeof *l->node_ids);
	l->node_types = malloc(n * sizeof *l->node_types);
	l->node_parts = malloc(n * sizeof *l->node_parts);
	l->inner_node = calloc(n, sizeof *l->inner_node);
	return l->node_ids && l->node_types && l->node_parts && l->inner_node
		       ? DG_OK
		       : dgi_fail_memory(l->err, "local nodes");
}

static void write_inner_nodes(struct loading *l)
{
	int64_t at = 0;

	for (uint16_t t = 0; t < l->n_node_types; t++) {
		dg_id start, end;

		dg_book_homogeneous_range(l->graph.book, DG_NODE, t, l->graph.part, &start, &end);
		for (dg_id id = start; id < end; id++, at++) {
			l->node_ids[at] = id;
			l->node_types[at] = t;
			l->node_parts[at] = l->graph.part;
			l->inner_node[at] = 1;
		}
	}
}

static dg_status collect_halo(struct loading *l, struct halo_node *all)
{
	size_t n = 0;
	dg_status st = DG_OK;

	for (uint16_t t = 0; !st && t < l->n_node_types; t++) {
		struct ids *halo = &l->halo[t];

		l->halo_locals[t] = malloc((halo->n + 1) * sizeof(dg_id));
		if (!l->halo_locals[t])
			return dgi_fail_memory(l->err, "halo nodes");
		st = dg_book_to_homogeneous(l->graph.book, DG_NODE, t, halo->items, halo->n,
					    l->halo_locals[t], l->err);
		for (size_t i = 0; !st && i < halo->n; i++)
			all[n++] = (struct halo_node){ .id = l->halo_locals[t][i],
						       .at = i,
						       .type = t };
	}
	if (!st && n > 1)
		qsort(all, n, sizeof *all, compare_halo_nodes);
	return st;
}

static dg_status write_halo_nodes(struct loading *l)
{
	int64_t first = l->graph.n_inner_nodes, n = l->graph.n_nodes - first;
	struct halo_node *all = malloc((size_t)(n + 1) * sizeof *all);
	dg_status st = all ? collect_halo(l, all) : dgi_fail_memory(l->err, "halo nodes");

	for (int64_t i = 0; !st && i < n; i++) {
		uint32_t part;

		st = dg_book_locate_ids(l->graph.book, DG_NODE, DG_ALL_TYPES, &all[i].id, 1, &part,
					NULL, l->err);
		l->node_ids[first + i] = all[i].id;
		l->node_types[first + i] = all[i].type;
		l->node_parts[first + i] = st ? 0 : part;
		l->halo_locals[all[i].type][all[i].at] = first + i;
	}
	free(all);
	return st;
}

static dg_status make_nodes(struct loading *l)
{
	dg_id start, end;
	dg_status st = DG_OK;

	l->n_node_types = dg_book_n_node_types(l->graph.book);
	l->halo = calloc(l->n_node_types, sizeof *l->halo);
	l->halo_locals = calloc(l->n_node_types, sizeof *l->halo_locals);
	l->offsets = calloc((size_t)l->n_node_types + 1, sizeof *l->offsets);
	if (!l->halo || !l->halo_locals || !l->offsets)
		return dgi_fail_memory(l->err, "local nodes");
	dg_book_local_offsets(l->graph.book, DG_NODE, l->graph.part, l->offsets);
	dg_book_range(l->graph.book, DG_NODE, DG_ALL_TYPES, l->graph.part, &start, &end);
	l->graph.n_inner_nodes = l->graph.n_nodes = end - start;
	for (uint16_t t = 0; !st && t < l->n_node_types; t++) {
		st = find_halo(l, t);
		l->graph.n_nodes += (int64_t)l->halo[t].n;
	}
	if (!st)
		st = alloc_nodes(l);
	if (st)
		return st;
	write_inner_nodes(l);
	return write_halo_nodes(l);
}

/* --- Local edges --- */

/* The local id of a node; -1: it is none. */
static dg_id local_of(const struct loading *l, uint16_t type, dg_id id)
{
	const struct ids *halo = &l->halo[type];
	const dg_id *found;
	dg_id start, end;

	dg_book_range(l->graph.book, DG_NODE, type, l->graph.part, &start, &end);
	if (id >= start && id < end)
		return l->offsets[type] + (id - start);
	if (halo->n == 0)
		return -1;
	found = bsearch(&id, halo->items, halo->n, sizeof id, compare_ids);
	return found ? l->halo_locals[type][found - halo->items] : -1;
}

static dg_status write_inner_edges(struct loading *l, uint16_t etype, const struct csc *own,
				   int64_t *at)
{
	dg_edge_type type = dg_book_edge_type(l->graph.book, etype);
	dg_id id, end;

	dg_book_homogeneous_range(l->graph.book, DG_EDGE, etype, l->graph.part, &id, &end);
	for (int64_t row = 0; row < own->n_rows; row++)
		for (int64_t i = own->indptr[row]; i < own->indptr[row + 1]; i++, ++*at) {
			l->src[*at] = local_of(l, type.src_type, own->indices[i]);
			l->dst[*at] = l->offsets[type.dst_type] + row;
			l->edge_ids[*at] = id + i;
			l->edge_types[*at] = etype;
			l->inner_edge[*at] = 1;
			if (l->src[*at] < 0)
				return fail_array(l, etype, "a source is missing among halo nodes");
		}
	return DG_OK;
}

static dg_status add_halo_edges(struct loading *l, uint16_t etype, const struct csc *halo)
{
	dg_edge_type type = dg_book_edge_type(l->graph.book, etype);
	struct edge *edges =
		realloc(l->halo_edges, (l->n_halo_edges + (size_t)halo->n + 1) * sizeof *edges);
	dg_status st = DG_OK;

	if (!edges)
		return dgi_fail_memory(l->err, "halo edges");
	l->halo_edges = edges;
	for (int64_t row = 0; !st && row < halo->n_rows; row++)
		for (int64_t i = halo->indptr[row]; !st && i < halo->indptr[row + 1]; i++) {
			struct edge *e = &edges[l->n_halo_edges++];

			e->type = etype;
			e->src = local_of(l, type.src_type, halo->indices[i]);
			e->dst = l->halo_locals[type.dst_type][row];
			st = dg_book_to_homogeneous(l->graph.book, DG_EDGE, etype, &halo->edges[i],
						    1, &e->id, l->err);
			if (!st && e->src < 0)
				st = fail_array(l, etype,
						"a halo edge comes from no node of the halo");
		}
	return st;
}

static int compare_edges(const void *a, const void *b)
{
	return compare_ids(&((const struct edge *)a)->id, &((const struct edge *)b)->id);
}

static void write_halo_edges(struct loading *l)
{
	if (l->n_halo_edges > 1)
		qsort(l->halo_edges, l->n_halo_edges, sizeof *l->halo_edges, compare_edges);
	for (size_t i = 0; i < l->n_halo_edges; i++) {
		size_t at = (size_t)l->graph.n_inner_edges + i;

		l->src[at] = l->halo_edges[i].src;
		l->dst[at] = l->halo_edges[i].dst;
		l->edge_ids[at] = l->halo_edges[i].id;
		l->edge_types[at] = l->halo_edges[i].type;
	}
}

static dg_status alloc_edges(struct loading *l)
{
	size_t n = (size_t)l->graph.n_edges + 1;

	l->src = malloc(n * sizeof *l->src);
	l->dst = malloc(n * sizeof *l->dst);
	l->edge_ids = malloc(n * sizeof *l->edge_ids);
	l->edge_types = malloc(n * sizeof *l->edge_types);
	l->inner_edge = calloc(n, sizeof *l->inner_edge);
	return l->src && l->dst && l->edge_ids && l->edge_types && l->inner_edge
		       ? DG_OK
		       : dgi_fail_memory(l->err, "local edges");
}

static dg_status make_edges(struct loading *l)
{
	uint16_t n_types = dg_book_n_edge_types(l->graph.book);
	int64_t at = 0;
	dg_id start, end;
	dg_status st = DG_OK;

	for (uint16_t t = 0; !st && t < n_types; t++) {
		struct csc halo = { 0 };

		st = read_halo_edges(l, t, &halo);
		if (!st)
			st = add_halo_edges(l, t, &halo);
		csc_clear(&halo);
	}
	dg_book_range(l->graph.book, DG_EDGE, DG_ALL_TYPES, l->graph.part, &start, &end);
	l->graph.n_inner_edges = end - start;
	l->graph.n_edges = l->graph.n_inner_edges + (int64_t)l->n_halo_edges;
	if (!st)
		st = alloc_edges(l);
	for (uint16_t t = 0; !st && t < n_types; t++) {
		struct csc own = { 0 };

		st = read_own(l, t, &own);
		if (!st)
			st = write_inner_edges(l, t, &own, &at);
		csc_clear(&own);
	}
	if (!st)
		write_halo_edges(l);
	return st;
}

/* --- The whole --- */

static dg_status open_store(struct loading *l, const char *path)
{
	const char *part_path = dg_cluster_part_path(l->cluster, l->graph.part);
	dg_uuid uuid = dg_cluster_uuid(l->cluster);
	dg_store_info info;
	dg_status st;

	if (!part_path)
		return dgi_fail(l->err, DG_RANGE,
				"partition %" PRIu32 ": the graph of '%s' has %" PRIu32,
				l->graph.part, path, dg_book_n_parts(l->graph.book));
	st = dg_store_open(part_path, NULL, &l->graph.store, l->err);
	if (st)
		return st;
	dg_store_get_info(l->graph.store, &info);
	if (!dgi_uuid_equal(&info.cluster_uuid, &uuid) || info.part != l->graph.part ||
	    !dgi_book_equal(dg_store_book(l->graph.store), l->graph.book))
		return dgi_fail(l->err, DG_MISMATCH,
				"store '%s' is not partition %" PRIu32 " of '%s'", part_path,
				l->graph.part, path);
	l->volume = dgi_store_volume(l->graph.store);
	return DG_OK;
}

/* What is needed only to load. */
static void clear_scratch(struct loading *l)
{
	for (uint16_t t = 0; t < l->n_node_types; t++) {
		if (l->halo)
			free(l->halo[t].items);
		if (l->halo_locals)
			free(l->halo_locals[t]);
	}
	free(l->halo);
	free(l->halo_locals);
	free(l->halo_edges);
	free(l->offsets);
	l->halo = NULL;
	l->halo_locals = NULL;
	l->halo_edges = NULL;
	l->offsets = NULL;
}

static void lend(struct loading *l)
{
	l->graph.node_ids = l->node_ids;
	l->graph.node_types = l->node_types;
	l->graph.node_parts = l->node_parts;
	l->graph.inner_node = l->inner_node;
	l->graph.src = l->src;
	l->graph.dst = l->dst;
	l->graph.edge_ids = l->edge_ids;
	l->graph.edge_types = l->edge_types;
	l->graph.inner_edge = l->inner_edge;
	l->graph.graph_name = dg_cluster_graph_name(l->cluster);
}

dg_status dg_partition_load(const char *path, uint32_t part, dg_local_graph **out, dg_error *err)
{
	struct loading *l = calloc(1, sizeof *l);
	dg_status st;

	if (!l)
		return dgi_fail_memory(err, path);
	l->err = err;
	l->graph.part = part;
	st = dg_cluster_open(path, &l->cluster, err);
	if (!st) {
		l->graph.book = dg_cluster_book(l->cluster);
		st = open_store(l, path);
	}
	if (!st) {
		st = make_nodes(l);
		if (!st)
			st = make_edges(l);
		if (st)
			(void)dgi_context(err, st, "partition %" PRIu32 " of '%s'", part, path);
	}
	clear_scratch(l);
	if (st) {
		dg_partition_close(&l->graph);
		return st;
	}
	lend(l);
	*out = &l->graph;
	return DG_OK;
}

void dg_partition_close(dg_local_graph *graph)
{
	struct loading *l = (struct loading *)graph; /* its first member */

	if (!l)
		return;
	free(l->node_ids);
	free(l->node_types);
	free(l->node_parts);
	free(l->inner_node);
	free(l->src);
	free(l->dst);
	free(l->edge_ids);
	free(l->edge_types);
	free(l->inner_edge);
	dg_store_close(l->graph.store);
	dg_cluster_close(l->cluster);
	free(l);
}
