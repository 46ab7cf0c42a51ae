/* cut_graph.c -- a partitioned graph read back from its stores and held against its edge list. */
#include "cut_graph.h"

#include "test.h"

#include <distgraph/cluster.h>
#include <distgraph/store.h>

#include <stdlib.h>
#include <string.h>

/* The graph put together again. Arrays are indexed by internal ids. */
struct read_back {
	const struct edge_list *list;
	dg_id *node_original;
	dg_id *edge_original;
	dg_id *src; /* internal */
	dg_id *dst;
	int64_t *out_degrees;
	dg_id *node_internal; /* by original id */
	dg_id *edge_internal;
};

static void *zeros(int64_t n)
{
	void *p = calloc((size_t)n + 1, sizeof(int64_t));

	assert_non_null(p);
	return p;
}

static const dg_tensor_info *find(const dg_store *store, dg_side side, const char *name)
{
	size_t n;
	const dg_tensor_info *tensors = dg_store_tensors(store, &n);

	for (size_t i = 0; i < n; i++)
		if (tensors[i].side == side && strcmp(tensors[i].name, name) == 0)
			return &tensors[i];
	return NULL;
}

/* All rows of a tensor, to be freed. */
static void *gather(dg_store *store, const dg_tensor_info *tensor)
{
	size_t n = (size_t)tensor->n_rows;
	dg_id *rows = zeros(tensor->n_rows);
	void *out = malloc(n * tensor->row_bytes + 1);
	dg_error err = { 0 };

	assert_non_null(out);
	for (size_t i = 0; i < n; i++)
		rows[i] = (dg_id)i;
	assert_ok(dg_store_gather(store, tensor, rows, n, out, &err), &err);
	free(rows);
	return out;
}

static void widen(const void *values, dg_dtype dtype, int64_t n, int64_t *out)
{
	for (int64_t i = 0; i < n; i++)
		out[i] = dtype == DG_INT32 ? ((const int32_t *)values)[i]
					   : ((const int64_t *)values)[i];
}

static void read_ids(dg_store *store, dg_side side, const char *name, dg_numbering numbering,
		     uint32_t part, dg_id *all)
{
	const dg_tensor_info *tensor = find(store, side, name);
	dg_id start, end;
	void *values;

	assert_non_null(tensor);
	assert_int_equal(tensor->flags, DG_TENSOR_SYSTEM);
	assert_int_equal(tensor->numbering, numbering);
	assert_int_equal(tensor->dtype, DG_INT32);
	dg_book_tensor_range(dg_store_book(store), tensor, part, &start, &end);
	assert_int_equal(tensor->n_rows, end - start);
	values = gather(store, tensor);
	widen(values, tensor->dtype, tensor->n_rows, all + start);
	free(values);
}

/* A structure array as int64, to be freed; it has @n elements. */
static int64_t *read_array(dg_store *store, dg_graph_array array, int64_t n)
{
	dg_dtype dtype;
	int64_t found;
	void *values = zeros(n);
	int64_t *out = zeros(n);
	dg_error err = { 0 };

	assert_ok(dg_store_graph_array(store, 0, array, &dtype, &found, &err), &err);
	assert_int_equal(found, n);
	assert_int_equal(dtype, DG_INT32);
	assert_ok(dg_store_graph_read(store, 0, array, 0, n, values, &err), &err);
	widen(values, dtype, n, out);
	free(values);
	return out;
}

static void read_structure(dg_store *store, uint32_t part, struct read_back *g)
{
	dg_id first_node, end_node, first_edge, end_edge;
	int64_t *indptr, *indices, *degrees;

	dg_book_range(dg_store_book(store), DG_NODE, 0, part, &first_node, &end_node);
	dg_book_range(dg_store_book(store), DG_EDGE, 0, part, &first_edge, &end_edge);
	assert_true(end_node > first_node); /* no partition is empty */
	indptr = read_array(store, DG_GRAPH_INDPTR, end_node - first_node + 1);
	indices = read_array(store, DG_GRAPH_INDICES, end_edge - first_edge);
	degrees = read_array(store, DG_GRAPH_OUT_DEGREES, end_node - first_node);
	assert_int_equal(indptr[0], 0);
	assert_int_equal(indptr[end_node - first_node], end_edge - first_edge);
	for (dg_id v = first_node; v < end_node; v++) {
		g->out_degrees[v] = degrees[v - first_node];
		for (int64_t i = indptr[v - first_node]; i < indptr[v - first_node + 1]; i++) {
			g->src[first_edge + i] = indices[i];
			g->dst[first_edge + i] = v;
		}
	}
	free(indptr);
	free(indices);
	free(degrees);
}

static void check_features(dg_store *store, uint32_t part, const struct read_back *g)
{
	const dg_tensor_info *feat = find(store, DG_NODE, "feat");
	const dg_tensor_info *weight = find(store, DG_EDGE, "weight");
	dg_id start, end;

	if (feat) {
		float *rows = gather(store, feat);

		dg_book_range(dg_store_book(store), DG_NODE, 0, part, &start, &end);
		assert_int_equal(feat->n_rows, end - start);
		assert_int_equal(feat->flags, 0);
		for (dg_id v = start; v < end; v++)
			for (int j = 0; j < 3; j++)
				assert_true(rows[(v - start) * 3 + j] ==
					    (float)(10 * g->node_original[v] + j));
		free(rows);
	}
	if (weight) {
		int64_t *rows = gather(store, weight);

		dg_book_range(dg_store_book(store), DG_EDGE, 0, part, &start, &end);
		assert_int_equal(weight->n_rows, end - start);
		for (dg_id e = start; e < end; e++)
			assert_int_equal(rows[e - start], 100 * g->edge_original[e]);
		free(rows);
	}
}

static void read_part(const dg_cluster *cluster, uint32_t part, struct read_back *g)
{
	const char *path = dg_cluster_part_path(cluster, part);
	dg_store_info info;
	dg_store *store;
	dg_uuid uuid = dg_cluster_uuid(cluster);
	dg_error err = { 0 };

	assert_ok(dg_store_open(path, NULL, &store, &err), &err);
	dg_store_get_info(store, &info);
	assert_int_equal(info.part, part);
	assert_memory_equal(&info.cluster_uuid, &uuid, sizeof uuid);
	read_ids(store, DG_NODE, DG_TENSOR_ORIGINAL_ID, DG_INTERNAL, part, g->node_original);
	read_ids(store, DG_NODE, DG_TENSOR_INTERNAL_ID, DG_ORIGINAL, part, g->node_internal);
	read_ids(store, DG_EDGE, DG_TENSOR_ORIGINAL_ID, DG_INTERNAL, part, g->edge_original);
	read_ids(store, DG_EDGE, DG_TENSOR_INTERNAL_ID, DG_ORIGINAL, part, g->edge_internal);
	read_structure(store, part, g);
	check_features(store, part, g);
	dg_store_close(store);
}

static void check_inverse(const dg_id *original, const dg_id *internal, int64_t n)
{
	for (dg_id i = 0; i < n; i++) {
		assert_in_range(original[i], 0, n - 1);
		assert_int_equal(internal[original[i]], i);
	}
}

/* Original ids ascend within a partition and the owner of both ends is known. */
static void check_graph(const dg_book *book, const struct read_back *g, int64_t edges_cut)
{
	int64_t *degrees = zeros(g->list->n_nodes);
	int64_t cut = 0;

	check_inverse(g->node_original, g->node_internal, g->list->n_nodes);
	check_inverse(g->edge_original, g->edge_internal, g->list->n_edges);
	for (uint32_t p = 0; p < dg_book_n_parts(book); p++) {
		dg_id start, end;

		dg_book_range(book, DG_NODE, 0, p, &start, &end);
		for (dg_id v = start; v + 1 < end; v++)
			assert_true(g->node_original[v] < g->node_original[v + 1]);
		dg_book_range(book, DG_EDGE, 0, p, &start, &end);
		for (dg_id e = start; e < end; e++) {
			dg_id first, last;

			dg_book_range(book, DG_NODE, 0, p, &first, &last);
			cut += g->src[e] < first || g->src[e] >= last;
		}
	}
	for (dg_id e = 0; e < g->list->n_edges; e++) {
		dg_id original = g->edge_original[e];

		assert_int_equal(g->list->src[original], g->node_original[g->src[e]]);
		assert_int_equal(g->list->dst[original], g->node_original[g->dst[e]]);
		if (e > 0 && g->dst[e] == g->dst[e - 1])
			assert_true(g->edge_original[e - 1] < original);
		degrees[g->list->src[e]]++;
	}
	for (dg_id v = 0; v < g->list->n_nodes; v++)
		assert_int_equal(g->out_degrees[v], degrees[g->node_original[v]]);
	assert_int_equal(cut, edges_cut);
	free(degrees);
}

void assert_is_cut(const char *cluster_path, uint32_t n_parts, const struct edge_list *list,
		   int64_t edges_cut)
{
	struct read_back g = {
		.list = list,
		.node_original = zeros(list->n_nodes),
		.edge_original = zeros(list->n_edges),
		.src = zeros(list->n_edges),
		.dst = zeros(list->n_edges),
		.out_degrees = zeros(list->n_nodes),
		.node_internal = zeros(list->n_nodes),
		.edge_internal = zeros(list->n_edges),
	};
	dg_cluster *cluster;
	const dg_book *book;
	dg_error err = { 0 };

	assert_ok(dg_cluster_open(cluster_path, &cluster, &err), &err);
	book = dg_cluster_book(cluster);
	assert_int_equal(dg_book_n_parts(book), n_parts);
	assert_string_equal(dg_book_node_type(book, 0), "_N");
	assert_string_equal(dg_book_edge_type(book, 0).relation, "_E");
	assert_int_equal(dg_book_count(book, DG_NODE, 0), list->n_nodes);
	assert_int_equal(dg_book_count(book, DG_EDGE, 0), list->n_edges);
	for (uint32_t p = 0; p < n_parts; p++)
		read_part(cluster, p, &g);
	check_graph(book, &g, edges_cut);
	dg_cluster_close(cluster);
	free(g.node_original);
	free(g.edge_original);
	free(g.src);
	free(g.dst);
	free(g.out_degrees);
	free(g.node_internal);
	free(g.edge_internal);
}
