/* What src/graph/policy.c promises. */
#include "test.h"

#include <distgraph/book.h>

static const char *const users[] = { "user", "item", "a:b" };
static const struct dg_edge_type_spec relations[] = {
	{ "user", "buys", "item" },
	{ "user", "likes", "item" },
	{ "user", "likes", "user" },
	{ "item", "of:sort", "a:b" },
};
static const dg_id users_nodes[] = { 0, 5, 5, 9, 9, 13 };
static const dg_id users_edges[] = { 0, 7, 7, 16, 16, 16, 16, 17 };

static dg_book *typed_book(void)
{
	const dg_book_spec spec = { .n_parts = 1,
				    .n_node_types = 3,
				    .n_edge_types = 4,
				    .node_types = users,
				    .edge_types = relations,
				    .node_map = users_nodes,
				    .edge_map = users_edges };
	dg_error err = { 0 };
	dg_book *book = NULL;

	assert_ok(dg_book_new(&spec, &book, &err), &err);
	return book;
}

static dg_book *plain_book(int64_t n_nodes, int64_t n_edges)
{
	static const char *const names[] = { "_N" };
	static const struct dg_edge_type_spec types[] = { { "_N", "_E", "_N" } };
	const dg_id nodes[] = { 0, n_nodes }, edges[] = { 0, n_edges };
	const dg_book_spec spec = { .n_parts = 1,
				    .n_node_types = 1,
				    .n_edge_types = 1,
				    .node_types = names,
				    .edge_types = types,
				    .node_map = nodes,
				    .edge_map = edges };
	dg_error err = { 0 };
	dg_book *book = NULL;

	assert_ok(dg_book_new(&spec, &book, &err), &err);
	return book;
}

static void assert_policy(const dg_book *book, const char *text, dg_side side, uint16_t type)
{
	dg_error err = { 0 };
	uint16_t found_type = 99;
	dg_side found_side;

	assert_ok(dg_book_parse_policy(book, text, &found_side, &found_type, &err), &err);
	assert_int_equal(found_side, side);
	assert_int_equal(found_type, type);
}

static void assert_key(const dg_book *book, const char *text, dg_side side, uint16_t type,
		       const char *name)
{
	char found_name[DG_NAME_BYTES_MAX + 1];
	dg_error err = { 0 };
	uint16_t found_type = 99;
	dg_side found_side;

	assert_ok(dg_book_parse_key(book, text, &found_side, &found_type, found_name, &err), &err);
	assert_int_equal(found_side, side);
	assert_int_equal(found_type, type);
	assert_string_equal(found_name, name);
}

static void policies_are_read_in_both_spellings_and_as_shorthands(void **state)
{
	dg_book *book = plain_book(3, 4);

	(void)state;
	assert_policy(book, "node", DG_NODE, 0);
	assert_policy(book, "edge", DG_EDGE, 0);
	assert_policy(book, "node~_N", DG_NODE, 0);
	assert_policy(book, "node:_N", DG_NODE, 0);
	assert_policy(book, "edge~_N:_E:_N", DG_EDGE, 0);
	assert_policy(book, "edge:_E", DG_EDGE, 0);
	dg_book_free(book);
}

static void policies_of_typed_graphs_name_their_type(void **state)
{
	dg_book *book = typed_book();
	dg_error err = { 0 };
	char text[DG_POLICY_TEXT_BYTES];
	uint16_t type;
	dg_side side;

	(void)state;
	for (uint16_t t = 0; t < 4; t++) {
		dg_book_policy(book, DG_EDGE, t, text);
		assert_policy(book, text, DG_EDGE, t);
	}
	assert_string_equal(text, "edge~item:of%3Asort:a%3Ab");
	dg_book_policy(book, DG_EDGE, 4, text);
	assert_string_equal(text, "");
	assert_policy(book, "node~a%3Ab", DG_NODE, 2);
	assert_policy(book, "edge:buys", DG_EDGE, 0);
	assert_fails(dg_book_parse_policy(book, "node", &side, &type, &err), DG_NOTFOUND, &err,
		     "policy 'node': node type '_N': the graph has user, item, a%3Ab");
	assert_fails(dg_book_parse_policy(book, "edge", &side, &type, &err), DG_NOTFOUND, &err,
		     "'_N:_E:_N'");
	assert_fails(dg_book_parse_policy(book, "edge:likes", &side, &type, &err), DG_INVALID, &err,
		     "ambiguous");
	assert_fails(dg_book_parse_policy(book, "nodes", &side, &type, &err), DG_INVALID, &err,
		     "want node~TYPE or edge~");
	assert_fails(dg_book_parse_policy(book, "node~", &side, &type, &err), DG_INVALID, &err,
		     "want the name of a type");
	assert_fails(dg_book_parse_policy(book, "vertex~_N", &side, &type, &err), DG_INVALID, &err,
		     "policy 'vertex~_N'");
	dg_book_free(book);
}

static void keys_are_read_in_both_spellings(void **state)
{
	dg_book *plain = plain_book(3, 4), *typed = typed_book();
	char name[DG_NAME_BYTES_MAX + 1];
	dg_error err = { 0 };
	uint16_t type;
	dg_side side;

	(void)state;
	assert_key(plain, "node~_N~feat", DG_NODE, 0, "feat");
	assert_key(plain, "node:_N:feat", DG_NODE, 0, "feat");
	assert_key(plain, "edge~_N:_E:_N~w", DG_EDGE, 0, "w");
	assert_key(plain, "edge:_E:w", DG_EDGE, 0, "w");
	assert_key(plain, "node~_N~test1_0", DG_NODE, 0, "test1_0");
	assert_key(plain, "node~_N~anonymous-default-0_0", DG_NODE, 0, "anonymous-default-0_0");
	assert_key(plain, "node:_N:anonymous-default-0", DG_NODE, 0, "anonymous-default-0");
	assert_key(plain, "edge:_N:_E:_N:w", DG_EDGE, 0, "w");
	assert_key(typed, "edge~item:of%3Asort:a%3Ab~x%7Ey", DG_EDGE, 3, "x~y");
	assert_fails(dg_book_parse_key(plain, "node~_N", &side, &type, name, &err), DG_INVALID,
		     &err, "want node~TYPE~NAME");
	assert_fails(dg_book_parse_key(plain, "node~_N~", &side, &type, name, &err), DG_INVALID,
		     &err, "want node~TYPE~NAME");
	assert_fails(dg_book_parse_key(plain, "node~x~y", &side, &type, name, &err), DG_NOTFOUND,
		     &err, "key 'node~x~y': node type 'x'");
	dg_book_free(plain);
	dg_book_free(typed);
}

static void an_edge_type_is_found_by_triple_or_by_its_own_name(void **state)
{
	dg_book *book = typed_book();
	dg_error err = { 0 };
	uint16_t type = 99;

	(void)state;
	assert_ok(dg_book_find_edge_type(book, "user:likes:user", &type, &err), &err);
	assert_int_equal(type, 2);
	assert_ok(dg_book_find_edge_type(book, "buys", &type, &err), &err);
	assert_int_equal(type, 0);
	assert_ok(dg_book_find_edge_type(book, "of:sort", &type, &err), &err);
	assert_int_equal(type, 3);
	assert_fails(dg_book_find_edge_type(book, "likes", &type, &err), DG_INVALID, &err,
		     "'likes' is ambiguous, name source and destination: user:likes:item, "
		     "user:likes:user");
	assert_fails(dg_book_find_edge_type(book, "hates", &type, &err), DG_NOTFOUND, &err,
		     "edge type 'hates': the graph has user:buys:item, ");
	assert_fails(dg_book_find_edge_type(book, "user:buys:user", &type, &err), DG_NOTFOUND, &err,
		     "'user:buys:user'");
	dg_book_free(book);
}

static void a_length_chooses_the_only_policy_of_its_size(void **state)
{
	dg_book *book = plain_book(101, 300), *square = plain_book(7, 7), *typed = typed_book();
	dg_error err = { 0 };
	uint16_t type = 99;
	dg_side side;

	(void)state;
	assert_ok(dg_book_policy_by_length(book, 101, &side, &type, &err), &err);
	assert_int_equal(side, DG_NODE);
	assert_ok(dg_book_policy_by_length(book, 300, &side, &type, &err), &err);
	assert_int_equal(side, DG_EDGE);
	assert_fails(dg_book_policy_by_length(book, 102, &side, &type, &err), DG_INVALID, &err,
		     "Cannot find a right partition policy.");
	assert_fails(dg_book_policy_by_length(square, 7, &side, &type, &err), DG_INVALID, &err,
		     "Multiple partition policies match the input shape. Please provide a "
		     "partition policy explicitly. (7 rows: node~_N, edge~_N:_E:_N)");
	assert_fails(dg_book_policy_by_length(typed, 4, &side, &type, &err), DG_INVALID, &err,
		     "(4 rows: node~item, node~a%3Ab)");
	dg_book_free(book);
	dg_book_free(square);
	dg_book_free(typed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(policies_are_read_in_both_spellings_and_as_shorthands),
		cmocka_unit_test(policies_of_typed_graphs_name_their_type),
		cmocka_unit_test(keys_are_read_in_both_spellings),
		cmocka_unit_test(an_edge_type_is_found_by_triple_or_by_its_own_name),
		cmocka_unit_test(a_length_chooses_the_only_policy_of_its_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
