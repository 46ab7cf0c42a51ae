/* What src/partition/relabel.c promises. */
#include "test.h"

#include "relabel.h"

#include <string.h>

/* The worked example of two partitions, 0 owning nodes 1, 3, 4 and 1 owning 0, 2, 5. */
static const uint16_t owners[] = { 1, 0, 1, 0, 0, 1 };
static const dg_id src[] = { 0, 1, 2, 2, 3, 4, 5, 4 };
static const dg_id dst[] = { 1, 2, 0, 3, 4, 5, 3, 1 };

#define assert_ids(found, ...) \
	assert_memory_equal(found, ((const int64_t[]){ __VA_ARGS__ }), \
			    sizeof((const int64_t[]){ __VA_ARGS__ }))

static void nodes_are_ordered_by_owner_and_original_id(void **state)
{
	struct dgi_node_order o;
	dg_error err = { 0 };

	(void)state;
	assert_ok(dgi_node_order_make(owners, 6, 2, &o, &err), &err);
	assert_ids(o.original, 1, 3, 4, 0, 2, 5);
	assert_ids(o.internal, 3, 0, 4, 1, 2, 5);
	assert_ids(o.start, 0, 3, 6);
	dgi_node_order_clear(&o);
	assert_null(o.original);
}

static void edges_are_ordered_by_destination_and_original_id(void **state)
{
	struct dgi_node_order nodes;
	struct dgi_edge_order o;
	dg_error err = { 0 };

	(void)state;
	assert_ok(dgi_node_order_make(owners, 6, 2, &nodes, &err), &err);
	assert_ok(dgi_edge_order_make(src, dst, 8, &nodes, &nodes, 2, &o, &err), &err);
	assert_ids(o.original, 0, 7, 3, 6, 4, 2, 1, 5);
	assert_ids(o.internal, 0, 6, 5, 2, 4, 7, 3, 1);
	assert_ids(o.start, 0, 5, 8);
	assert_ids(o.indptr, 0, 2, 4, 5, 6, 7, 8);
	assert_ids(o.indices, 3, 2, 4, 5, 1, 4, 0, 2);
	assert_ids(o.out_degrees, 1, 1, 2, 1, 2, 1);
	assert_int_equal(o.largest_out_degree, 2);
	assert_int_equal(o.cut, 5); /* e0, e1, e3, e5, e6 */
	dgi_edge_order_clear(&o);
	dgi_node_order_clear(&nodes);
}

/* Sources and destinations of different types, each with an order of its own. */
static void an_edge_type_between_two_node_types_follows_its_destinations(void **state)
{
	static const uint16_t user_owners[] = { 1, 0 };
	static const uint16_t item_owners[] = { 1, 2, 1 }; /* partition 0 has none */
	static const dg_id users[] = { 0, 1, 1, 0 };
	static const dg_id items[] = { 1, 2, 1, 1 };
	struct dgi_node_order from, to;
	struct dgi_edge_order o;
	dg_error err = { 0 };

	(void)state;
	assert_ok(dgi_node_order_make(user_owners, 2, 3, &from, &err), &err);
	assert_ok(dgi_node_order_make(item_owners, 3, 3, &to, &err), &err);
	assert_ids(to.start, 0, 0, 2, 3);
	assert_ok(dgi_edge_order_make(users, items, 4, &from, &to, 3, &o, &err), &err);
	assert_ids(o.start, 0, 0, 1, 4);
	assert_ids(o.indptr, 0, 0, 1, 4);
	assert_ids(o.original, 1, 0, 2, 3);
	assert_ids(o.indices, 0, 1, 0, 1);
	assert_ids(o.out_degrees, 2, 2);
	assert_int_equal(o.cut, 4); /* users 0 in partition 1, items 1 in partition 2, … */
	dgi_edge_order_clear(&o);
	dgi_node_order_clear(&from);
	dgi_node_order_clear(&to);
}

static void loops_duplicates_and_isolated_nodes_are_ordinary(void **state)
{
	static const uint16_t one_owner[] = { 0, 0, 0 };
	static const dg_id from[] = { 2, 1, 2, 2 };
	static const dg_id to[] = { 2, 2, 2, 1 };
	struct dgi_node_order nodes;
	struct dgi_edge_order o;
	dg_error err = { 0 };

	(void)state;
	assert_ok(dgi_node_order_make(one_owner, 3, 1, &nodes, &err), &err);
	assert_ids(nodes.original, 0, 1, 2); /* one partition changes no node's id */
	assert_ok(dgi_edge_order_make(from, to, 4, &nodes, &nodes, 1, &o, &err), &err);
	assert_ids(o.indptr, 0, 0, 1, 4);
	assert_ids(o.original, 3, 0, 1, 2);
	assert_ids(o.out_degrees, 0, 1, 3);
	assert_int_equal(o.cut, 0);
	dgi_edge_order_clear(&o);
	assert_ok(dgi_edge_order_make(NULL, NULL, 0, &nodes, &nodes, 1, &o, &err), &err);
	assert_ids(o.indptr, 0, 0, 0, 0);
	assert_ids(o.start, 0, 0);
	dgi_edge_order_clear(&o);
	dgi_node_order_clear(&nodes);
}

static void an_impossible_number_of_nodes_is_refused(void **state)
{
	struct dgi_node_order o;
	dg_error err = { 0 };

	(void)state;
	assert_fails(dgi_node_order_make(owners, INT64_MAX, 2, &o, &err), DG_NOMEM, &err,
		     "9223372036854775807 nodes");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nodes_are_ordered_by_owner_and_original_id),
		cmocka_unit_test(edges_are_ordered_by_destination_and_original_id),
		cmocka_unit_test(an_edge_type_between_two_node_types_follows_its_destinations),
		cmocka_unit_test(loops_duplicates_and_isolated_nodes_are_ordinary),
		cmocka_unit_test(an_impossible_number_of_nodes_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
