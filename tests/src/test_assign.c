/* What dgi_assign_random() promises; the rest of src/cut/assign.h is test_assign_methods.c's. */
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_random_owner_depends_on_seed_type_and_node_alone),
		cmocka_unit_test(twice_as_many_random_partitions_split_each_in_two),
		cmocka_unit_test(random_partitions_are_about_equal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
