/* What src/partition/relabel.c promises. */
#include "test.h"

#include "relabel.h"

#include <string.h>

/* The worked example of two partitions, 0 owning nodes 1, 3, 4 and 1 owning 0, 2, 5. */
static const uint16_t owners[] = { 1, 0, 1, 0, 0, 1 };

static void assert_column(const struct dgi_ids *column, const int64_t *wanted, int64_t n)
{
	assert_int_equal(column->n, n);
	for (int64_t i = 0; i < n; i++)
		assert_int_equal(dgi_ids_get(column, i), wanted[i]);
}

#define assert_ids(column, ...) \
	assert_column(&(column), ((const int64_t[]){ __VA_ARGS__ }), \
		      (int64_t)(sizeof((const int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t)))

static void nodes_are_ordered_by_owner_and_original_id(void **state)
{
	struct dgi_node_order o;
	dg_error err = { 0 };

	(void)state;
	assert_ok(dgi_node_order_make(owners, 6, 2, 1, &o, &err), &err);
	assert_ids(o.original, 1, 3, 4, 0, 2, 5);
	assert_ids(o.internal, 3, 0, 4, 1, 2, 5);
	assert_memory_equal(o.start, ((const int64_t[]){ 0, 3, 6 }), 24);
	assert_int_equal(o.original.bytes, 4);
	dgi_node_order_clear(&o);
	assert_null(o.original.data);
}

static void classes_of_a_partition_do_not_change_its_order(void **state)
{
	static const uint16_t trainers[] = { 2, 1, 3, 0, 1, 2 };
	struct dgi_node_order o;
	dg_error err = { 0 };

	(void)state;
	assert_ok(dgi_node_order_make(trainers, 6, 2, 2, &o, &err), &err);
	assert_ids(o.original, 1, 3, 4, 0, 2, 5);
	dgi_node_order_clear(&o);
}

static void one_partition_changes_no_id_and_partitions_may_be_empty(void **state)
{
	static const uint16_t third[] = { 2, 2, 2 };
	struct dgi_node_order o;
	dg_error err = { 0 };

	(void)state;
	assert_ok(dgi_node_order_make(third, 3, 1, 3, &o, &err), &err);
	assert_ids(o.original, 0, 1, 2);
	dgi_node_order_clear(&o);
	assert_ok(dgi_node_order_make(third, 3, 4, 1, &o, &err), &err);
	assert_memory_equal(o.start, ((const int64_t[]){ 0, 0, 0, 3, 3 }), 40);
	dgi_node_order_clear(&o);
	assert_ok(dgi_node_order_make(NULL, 0, 2, 1, &o, &err), &err);
	assert_int_equal(o.start[2], 0);
	dgi_node_order_clear(&o);
}

static void an_impossible_number_of_nodes_is_refused(void **state)
{
	struct dgi_node_order o;
	dg_error err = { 0 };

	(void)state;
	assert_fails(dgi_node_order_make(owners, INT64_MAX, 2, 1, &o, &err), DG_NOMEM, &err,
		     "9223372036854775807 nodes");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nodes_are_ordered_by_owner_and_original_id),
		cmocka_unit_test(classes_of_a_partition_do_not_change_its_order),
		cmocka_unit_test(one_partition_changes_no_id_and_partitions_may_be_empty),
		cmocka_unit_test(an_impossible_number_of_nodes_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
