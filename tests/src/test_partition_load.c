/* What src/store/partition_load.c promises: the worked example, and a graph without halo. */
#include "test.h"

#include "book.h"
#include "cluster.h"
#include "graph_fixture.h"
#include "tmpdir.h"
#include "volume.h"

#include <distgraph/partition_load.h>

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/*
 * 8 edges e0 0>1, e1 1>2, e2 2>0, e3 2>3, e4 3>4, e5 4>5, e6 5>3, e7 4>1; nodes 1, 3, 4 in partition 0,
 * nodes 0, 2, 5 in partition 1; one hop. In relabelled ids the edges are
 * 3>0, 2>0, 4>1, 5>1, 1>2 of partition 0, and 4>3, 0>4, 2>5 of partition 1.
 */
struct array {
	uint8_t kind;
	const int64_t *values;
	int64_t n;
};

#define ARRAY(kind_, ...) \
	{ \
		.kind = kind_, .values = (const int64_t[]){ __VA_ARGS__ }, \
		.n = sizeof((const int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t) \
	}

static const struct array part0[] = {
	ARRAY(1, 0, 2, 4, 5), ARRAY(2, 3, 2, 4, 5, 1), ARRAY(3, 1, 1, 2), ARRAY(4, 0, 0, 1, 2),
	ARRAY(5, 0, 2),	      ARRAY(6, 6, 7),	       ARRAY(7, 3, 4, 5),
};
static const struct array part1[] = {
	ARRAY(1, 0, 1, 2, 3), ARRAY(2, 4, 0, 2), ARRAY(3, 1, 2, 1), ARRAY(4, 0, 1, 3, 3),
	ARRAY(5, 3, 4, 5),    ARRAY(6, 0, 2, 3), ARRAY(7, 0, 1, 2),
};

static dg_status fill(void *context, int64_t first, int64_t n, void *out, dg_error *err)
{
	(void)err;
	memcpy(out, (const int64_t *)context + first, (size_t)n * sizeof(int64_t));
	return DG_OK;
}

static dg_book *example_book(void)
{
	static const char *const names[] = { "_N" };
	static const struct dgi_edge_type_spec types[] = { { "_E", 0, 0 } };
	static const int64_t nodes[] = { 3, 3 }, edges[] = { 5, 3 };
	const struct dgi_book_spec spec = { .n_parts = 2,
					    .n_node_types = 1,
					    .n_edge_types = 1,
					    .node_types = names,
					    .edge_types = types,
					    .node_counts = nodes,
					    .edge_counts = edges };
	dg_error err = { 0 };
	dg_book *book = NULL;

	assert_ok(dgi_book_new(&spec, &book, &err), &err);
	return book;
}

static void make_store(const char *dir, const dg_book *book, uint32_t part,
		       const struct array *arrays, size_t n)
{
	const struct dgi_superblock superblock = { .store_uuid = { { 1, (uint8_t)part } },
						   .cluster_uuid = { { 9 } },
						   .part = part,
						   .n_parts = 2 };
	char *path = tmpdir_path(dir, part ? "part1" : "part0");
	struct dgi_volume_maker *maker;
	dg_error err = { 0 };
	uint8_t *bytes;
	size_t n_bytes;

	assert_int_equal(mkdir(path, 0700), 0);
	assert_ok(dgi_book_encode(book, &bytes, &n_bytes, &err), &err);
	assert_ok(dgi_volume_make(path, &superblock, bytes, n_bytes, &maker, &err), &err);
	for (size_t i = 0; i < n; i++)
		assert_ok(dgi_volume_maker_array(maker, 0, arrays[i].kind, DG_INT64, arrays[i].n,
						 fill, (void *)(uintptr_t)arrays[i].values, &err),
			  &err);
	assert_ok(dgi_volume_maker_close(maker, true, &err), &err);
	free(bytes);
	free(path);
}

/* Gives the path of the cluster file. */
static char *make_example(const char *dir, const struct array *first, size_t n_first)
{
	dg_book *book = example_book();
	const struct dgi_cluster_spec spec = { .graph_name = "g",
					       .part_method = "file",
					       .cluster_uuid = { { 9 } },
					       .halo_hops = 1,
					       .book = book };
	dg_error err = { 0 };

	assert_ok(dgi_cluster_write(dir, &spec, &err), &err);
	make_store(dir, book, 0, first, n_first);
	make_store(dir, book, 1, part1, sizeof part1 / sizeof *part1);
	dgi_book_free(book);
	return tmpdir_path(dir, "g.json");
}

static void assert_numbers(const dg_id *got, const dg_id *want, size_t n)
{
	for (size_t i = 0; i < n; i++)
		assert_int_equal(got[i], want[i]);
}

static void assert_flags(const uint8_t *got, size_t n_ones, size_t n)
{
	for (size_t i = 0; i < n; i++)
		assert_int_equal(got[i], i < n_ones);
}

static void the_local_graphs_are_those_of_the_worked_example(void **state)
{
	char *dir = tmpdir_new();
	char *path = make_example(dir, part0, sizeof part0 / sizeof *part0);
	dg_local_graph *graph = NULL;
	dg_error err = { 0 };

	(void)state;
	assert_ok(dg_partition_load(path, 0, &graph, &err), &err);
	assert_string_equal(graph->graph_name, "g");
	assert_int_equal(graph->n_nodes, 6);
	assert_int_equal(graph->n_edges, 7);
	assert_numbers(graph->node_ids, (const dg_id[]){ 0, 1, 2, 3, 4, 5 }, 6);
	assert_numbers(graph->node_parts, (const int64_t[]){ 0, 0, 0, 1, 1, 1 }, 6);
	assert_flags(graph->inner_node, 3, 6);
	assert_numbers(graph->edge_ids, (const dg_id[]){ 0, 1, 2, 3, 4, 6, 7 }, 7);
	assert_flags(graph->inner_edge, 5, 7);
	assert_numbers(graph->src, (const dg_id[]){ 3, 2, 4, 5, 1, 0, 2 }, 7);
	assert_numbers(graph->dst, (const dg_id[]){ 0, 0, 1, 1, 2, 4, 5 }, 7);
	dg_partition_close(graph);

	assert_ok(dg_partition_load(path, 1, &graph, &err), &err);
	assert_numbers(graph->node_ids, (const dg_id[]){ 3, 4, 5, 0, 1, 2 }, 6);
	assert_int_equal(graph->n_inner_nodes, 3);
	assert_numbers(graph->edge_ids, (const dg_id[]){ 5, 6, 7, 0, 2, 3 }, 6);
	assert_int_equal(graph->n_inner_edges, 3);
	/* 4>3, 0>4, 2>5, and those that leave: 3>0, 4>1, 5>1. */
	assert_numbers(graph->src, (const dg_id[]){ 1, 3, 5, 0, 1, 2 }, 6);
	assert_numbers(graph->dst, (const dg_id[]){ 0, 1, 2, 3, 4, 4 }, 6);
	dg_partition_close(graph);
	assert_fails(dg_partition_load(path, 2, &graph, &err), DG_RANGE, &err,
		     "partition 2: the graph of");
	free(path);
	tmpdir_remove(dir);
}

static void arrays_that_do_not_fit_are_damage(void **state)
{
	const struct array bad[][2] = {
		{ ARRAY(1, 0, 2, 4, 6), ARRAY(2, 3, 2, 4, 5, 1) },
		{ ARRAY(1, 0, 4, 2, 5), ARRAY(2, 3, 2, 4, 5, 1) },
		{ ARRAY(1, 0, 2, 5), ARRAY(2, 3, 2, 4, 5, 1) },
		{ ARRAY(1, 0, 2, 4, 5), ARRAY(2, 3, 2, 4, 5, 6) },
	};
	static const char *const text[] = { "row pointers", "row pointers", "row pointers",
					    "a source is no node" };

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		char *dir = tmpdir_new();
		char *path = make_example(dir, bad[i], 2);
		dg_local_graph *graph;
		dg_error err = { 0 };

		assert_fails(dg_partition_load(path, 0, &graph, &err), DG_CORRUPT, &err, text[i]);
		free(path);
		tmpdir_remove(dir);
	}
}

/* In the ring, node v has one edge, number v, from node v + 1. */
static void without_a_halo_the_sources_of_own_edges_are_there(void **state)
{
	char *dir = tmpdir_new(), *path = tmpdir_path(dir, "g.json");
	char key[DG_KEY_TEXT_BYTES];
	dg_local_graph *graph = NULL;
	const dg_tensor_info *tensors;
	dg_error err = { 0 };
	dg_id local = 3;
	float feat[GRAPH_FIXTURE_FEAT_WIDTH];
	size_t n;

	(void)state;
	assert_int_equal(graph_fixture_make(dir), DG_OK);
	assert_ok(dg_partition_load(path, 1, &graph, &err), &err);
	assert_int_equal(graph->n_inner_nodes, 14);
	assert_int_equal(graph->n_nodes, 15);
	assert_int_equal(graph->node_ids[14], 24);
	assert_int_equal(graph->node_parts[14], 2);
	assert_int_equal(graph->n_edges, 14);
	for (int64_t i = 0; i < graph->n_edges; i++) {
		assert_int_equal(graph->edge_ids[i], 10 + i);
		assert_int_equal(graph->dst[i], i);
		assert_int_equal(graph->src[i], i + 1);
	}
	tensors = dg_store_tensors(graph->store, &n);
	dg_book_feature_key(graph->book, &tensors[0], key);
	assert_string_equal(key, "_N/feat");
	dg_book_feature_key(graph->book, &tensors[2], key);
	assert_string_equal(key, "_N:_E:_N/weight");
	assert_ok(dg_store_gather(graph->store, &tensors[0], &local, 1, feat, &err), &err);
	assert_true(feat[0] == graph_fixture_feat(graph->node_ids[local], 0));
	dg_partition_close(graph);
	dg_partition_close(NULL);
	free(path);
	tmpdir_remove(dir);
}

static void the_store_of_another_cluster_is_refused(void **state)
{
	char *dir = tmpdir_new(), *path = tmpdir_path(dir, "g.json");
	dg_local_graph *graph;
	dg_error err = { 0 };

	(void)state;
	assert_int_equal(graph_fixture_make(dir), DG_OK);
	assert_int_equal(graph_fixture_make_cluster(dir, 3), DG_OK);
	assert_fails(dg_partition_load(path, 1, &graph, &err), DG_MISMATCH, &err,
		     "is not partition 1 of");
	free(path);
	tmpdir_remove(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_local_graphs_are_those_of_the_worked_example),
		cmocka_unit_test(arrays_that_do_not_fit_are_damage),
		cmocka_unit_test(without_a_halo_the_sources_of_own_edges_are_there),
		cmocka_unit_test(the_store_of_another_cluster_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
