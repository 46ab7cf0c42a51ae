/* What src/cut/stream_adjacency.h promises, against a matrix. */
#include "test.h"
#include "tmpdir.h"

#include "stream_adjacency.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define N 200

struct arcs {
	uint32_t weight[N][N]; /* given, all together */
	uint64_t counts[N];
	uint32_t (*list)[3];
	size_t n;
};

/* A hub whose arcs are too many for a bucket, nodes of a few, and some without any. */
static struct arcs *draw_arcs(uint64_t seed, size_t n)
{
	struct arcs *a = calloc(1, sizeof *a);
	struct dgi_rng rng = dgi_rng_of(seed, 0);

	assert_non_null(a);
	a->list = calloc(n, sizeof *a->list);
	assert_non_null(a->list);
	while (a->n < n) {
		uint32_t from = dgi_rng_below(&rng, 2) ? 17 : (uint32_t)dgi_rng_below(&rng, N - 20);
		uint32_t to = (uint32_t)dgi_rng_below(&rng, N - 20);

		if (from == to)
			continue;
		memcpy(a->list[a->n++], ((uint32_t[]){ from, to, 1 + to % 3 }), 12);
		a->weight[from][to] += 1 + to % 3;
		a->counts[from]++;
	}
	return a;
}

static void assert_is(const struct dgi_adjacency *graph, const struct arcs *a, struct dgi_rng *rng)
{
	bool seen[N] = { false };
	struct dgi_walk walk;
	const struct dgi_arc *arcs;
	uint32_t node, degree;
	uint64_t weight = 0, n_arcs = 0;
	dg_error err = { 0 };

	assert_ok(dgi_walk_begin(&walk, graph, rng, &err), &err);
	for (;;) {
		uint32_t wanted = 0;

		assert_ok(dgi_walk_next(&walk, &node, &arcs, &degree, &err), &err);
		if (node == UINT32_MAX)
			break;
		assert_true(node < N && !seen[node]);
		seen[node] = true;
		for (uint32_t v = 0; v < N; v++)
			wanted += a->weight[node][v] > 0;
		assert_int_equal(degree, wanted);
		for (uint32_t i = 0; i < degree; i++) {
			assert_int_equal(arcs[i].weight, a->weight[node][arcs[i].to]);
			weight += arcs[i].weight;
			n_arcs++;
		}
		assert_true(degree <= graph->largest_degree);
	}
	dgi_walk_end(&walk);
	for (uint32_t v = 0; v < N; v++)
		assert_true(seen[v]);
	assert_int_equal(graph->weight, weight);
	assert_int_equal(graph->n_arcs, n_arcs);
}

static void check_grouping(uint64_t budget, size_t n, bool in_memory)
{
	char *dir = tmpdir_new();
	struct arcs *a = draw_arcs(n, n);
	struct dgi_adjacency graph = dgi_adjacency_none();
	struct dgi_rng rng = dgi_rng_of(1, 1);
	struct dgi_grouper *grouper;
	dg_error err = { 0 };

	assert_ok(dgi_grouper_open(dir, N, a->counts, budget, &grouper, &err), &err);
	for (size_t i = 0; i < n; i++)
		assert_ok(
			dgi_grouper_add(grouper, a->list[i][0], a->list[i][1], a->list[i][2], &err),
			&err);
	assert_ok(dgi_grouper_finish(grouper, &graph, &err), &err);
	dgi_grouper_close(grouper);
	assert_int_equal(graph.start != NULL, in_memory);
	assert_is(&graph, a, NULL);
	assert_is(&graph, a, &rng);
	dgi_adjacency_clear(&graph);
	free(a->list);
	free(a);
	tmpdir_remove(dir);
}

static void equal_neighbours_are_merged_in_memory_and_on_disk(void **state)
{
	(void)state;
	check_grouping(1 << 20, 5000, true);
	check_grouping(0, 5000, false);
	check_grouping(0, 0, true);
}

/* With no budget a bucket holds 4,096 records: some are of many nodes, the hub's is its own. */
static void a_node_larger_than_a_bucket_is_summed_over_all_nodes(void **state)
{
	(void)state;
	check_grouping(0, 40000, false);
}

static void weights_stop_at_the_largest_number(void **state)
{
	char *dir = tmpdir_new();
	const uint64_t counts[2] = { 3, 0 };
	struct dgi_adjacency graph;
	struct dgi_grouper *grouper;
	dg_error err = { 0 };

	(void)state;
	assert_ok(dgi_grouper_open(dir, 2, counts, 1 << 20, &grouper, &err), &err);
	for (int i = 0; i < 3; i++)
		assert_ok(dgi_grouper_add(grouper, 0, 1, 3000000000U, &err), &err);
	assert_ok(dgi_grouper_finish(grouper, &graph, &err), &err);
	assert_int_equal(graph.n_arcs, 1);
	assert_int_equal(graph.arcs[0].weight, UINT32_MAX);
	dgi_grouper_close(grouper);
	dgi_adjacency_clear(&graph);
	tmpdir_remove(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_neighbours_are_merged_in_memory_and_on_disk),
		cmocka_unit_test(a_node_larger_than_a_bucket_is_summed_over_all_nodes),
		cmocka_unit_test(weights_stop_at_the_largest_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
