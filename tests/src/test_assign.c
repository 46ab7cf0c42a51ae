/* What src/cut/assign.c and src/cut/assign_metis.c promise. */
#include "test.h"

#include "assign.h"

#include <string.h>

static void count(const uint16_t *owners, int n_nodes, uint32_t n_parts, int *counts)
{
	memset(counts, 0, n_parts * sizeof *counts);
	for (int i = 0; i < n_nodes; i++) {
		assert_true(owners[i] < n_parts);
		counts[owners[i]]++;
	}
}

static void a_random_owner_depends_on_seed_type_and_node_alone(void **state)
{
	uint16_t all[1000], some[10], other[1000];

	(void)state;
	dgi_assign_random(0, 1000, 7, 42, all);
	dgi_assign_random(0, 10, 7, 42, some);
	assert_memory_equal(all, some, sizeof some);
	dgi_assign_random(0, 1000, 7, 43, other);
	assert_memory_not_equal(all, other, sizeof all);
	dgi_assign_random(1, 1000, 7, 42, other);
	assert_memory_not_equal(all, other, sizeof all);
}

static void twice_as_many_random_partitions_split_each_in_two(void **state)
{
	uint16_t coarse[1000], fine[1000];

	(void)state;
	dgi_assign_random(0, 1000, 8, 1, coarse);
	dgi_assign_random(0, 1000, 16, 1, fine);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(coarse[i], fine[i] / 2);
}

static void random_partitions_are_about_equal(void **state)
{
	static uint16_t owners[100000];
	int counts[10];

	(void)state;
	dgi_assign_random(0, 100000, 10, 5, owners);
	count(owners, 100000, 10, counts);
	for (int p = 0; p < 10; p++)
		assert_in_range(counts[p], 9600, 10400); /* 4 standard deviations are 380 */
}

static void every_empty_partition_gets_a_node(void **state)
{
	uint16_t owners[5] = { 3, 3, 3, 3, 3 };
	int counts[5];

	(void)state;
	dgi_assign_fill_empty(5, 5, owners);
	count(owners, 5, 5, counts);
	for (int p = 0; p < 5; p++)
		assert_int_equal(counts[p], 1);
	memcpy(owners, (const uint16_t[]){ 0, 2, 0, 2, 1 }, sizeof owners);
	dgi_assign_fill_empty(5, 4, owners);
	assert_memory_equal(owners, ((const uint16_t[]){ 0, 2, 0, 3, 1 }), sizeof owners);
	dgi_assign_fill_empty(5, 4, owners); /* nothing to do */
	assert_memory_equal(owners, ((const uint16_t[]){ 0, 2, 0, 3, 1 }), sizeof owners);
}

/* Two rings of 50 nodes and one edge between them. */
#define RING 50
#define N_RING_EDGES (2 * RING + 1)

static void make_rings(dg_id *src, dg_id *dst)
{
	for (int i = 0; i < 2 * RING; i++) {
		src[i] = i;
		dst[i] = i / RING * RING + (i + 1) % RING;
	}
	src[2 * RING] = 7;
	dst[2 * RING] = 77;
}

static void metis_finds_the_obvious_cut_and_the_same_for_a_seed(void **state)
{
	dg_id src[N_RING_EDGES], dst[N_RING_EDGES];
	uint16_t owners[2 * RING], again[2 * RING];
	dg_error err = { 0 };

	(void)state;
	make_rings(src, dst);
	assert_ok(dgi_assign_metis(2 * RING, N_RING_EDGES, src, dst, 2, 1, owners, &err), &err);
	for (int i = 0; i < 2 * RING; i++)
		assert_int_equal(owners[i], owners[i / RING * RING]);
	assert_int_not_equal(owners[0], owners[RING]);
	assert_ok(dgi_assign_metis(2 * RING, N_RING_EDGES, src, dst, 2, 1, again, &err), &err);
	assert_memory_equal(owners, again, sizeof owners);
}

static void metis_sees_neither_loops_nor_duplicates_nor_directions(void **state)
{
	dg_id src[3 * N_RING_EDGES], dst[3 * N_RING_EDGES];
	uint16_t plain[2 * RING], decorated[2 * RING];
	dg_error err = { 0 };

	(void)state;
	make_rings(src, dst);
	for (int i = 0; i < N_RING_EDGES; i++) {
		src[N_RING_EDGES + i] = dst[N_RING_EDGES + i] = i % 9;
		src[2 * N_RING_EDGES + i] = dst[i];
		dst[2 * N_RING_EDGES + i] = src[i];
	}
	assert_ok(dgi_assign_metis(2 * RING, N_RING_EDGES, src + 2 * N_RING_EDGES,
				   dst + 2 * N_RING_EDGES, 4, 1, plain, &err),
		  &err);
	assert_ok(dgi_assign_metis(2 * RING, 3 * N_RING_EDGES, src, dst, 4, 1, decorated, &err),
		  &err);
	assert_memory_equal(plain, decorated, sizeof plain);
}

static void a_graph_without_edges_is_cut_evenly(void **state)
{
	const dg_id loop = 1;
	uint16_t owners[10];
	int counts[3];
	dg_error err = { 0 };

	(void)state;
	assert_ok(dgi_assign_metis(10, 0, NULL, NULL, 3, 0, owners, &err), &err);
	count(owners, 10, 3, counts);
	for (int p = 0; p < 3; p++)
		assert_in_range(counts[p], 3, 4);
	assert_ok(dgi_assign_metis(10, 1, &loop, &loop, 3, 0, owners, &err), &err);
	assert_ok(dgi_assign_metis(10, 1, &loop, &loop, 1, 0, owners, &err), &err);
	count(owners, 10, 1, counts);
}

static void tiny_graphs_in_many_parts_are_survived(void **state)
{
	uint16_t owners[12];
	int counts[12];
	dg_error err = { 0 };

	(void)state;
	for (int n = 1; n <= 12; n++)
		for (uint32_t p = 1; p <= (uint32_t)n; p++) {
			dg_id src[12], dst[12];

			for (int i = 0; i < n; i++) { /* a star and a few isolated nodes */
				src[i] = 0;
				dst[i] = i / 2;
			}
			assert_ok(dgi_assign_metis(n, n, src, dst, p, p, owners, &err), &err);
			dgi_assign_fill_empty(n, p, owners);
			count(owners, n, p, counts);
			for (uint32_t k = 0; k < p; k++)
				assert_true(counts[k] > 0);
		}
}

static void more_nodes_than_metis_counts_are_refused(void **state)
{
	dg_error err = { 0 };

	(void)state;
	assert_fails(dgi_assign_metis(INT64_MAX, 0, NULL, NULL, 2, 0, NULL, &err), DG_UNSUPPORTED,
		     &err, "use method random");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_random_owner_depends_on_seed_type_and_node_alone),
		cmocka_unit_test(twice_as_many_random_partitions_split_each_in_two),
		cmocka_unit_test(random_partitions_are_about_equal),
		cmocka_unit_test(every_empty_partition_gets_a_node),
		cmocka_unit_test(metis_finds_the_obvious_cut_and_the_same_for_a_seed),
		cmocka_unit_test(metis_sees_neither_loops_nor_duplicates_nor_directions),
		cmocka_unit_test(a_graph_without_edges_is_cut_evenly),
		cmocka_unit_test(tiny_graphs_in_many_parts_are_survived),
		cmocka_unit_test(more_nodes_than_metis_counts_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
