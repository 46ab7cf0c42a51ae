/* What src/graph/name.c promises. */
#include "test.h"

#include "book.h"
#include "name.h"

#include <stdlib.h>
#include <string.h>

static const char *const types[] = { "user", "a~b:c/d%" };
static const struct dgi_edge_type_spec relations[] = { { "likes", 0, 0 }, { "likes", 0, 1 } };
static const int64_t counts[] = { 5, 7 };

static dg_tensor_info tensor(const char *name, dg_side side, uint16_t type, uint32_t flags)
{
	dg_tensor_info info = { .side = side, .type = type, .flags = flags };

	memcpy(info.name, name, strlen(name) + 1);
	return info;
}

static dg_tensor_info tensors[7];
static dg_book *book;

static int set_up(void **state)
{
	struct dgi_book_spec spec = {
		.n_parts = 1,
		.n_node_types = 2,
		.n_edge_types = 2,
		.node_types = types,
		.edge_types = relations,
		.node_counts = counts,
		.edge_counts = counts,
	};

	(void)state;
	tensors[0] = tensor("feat", DG_NODE, 0, 0);
	tensors[1] = tensor("feat", DG_NODE, 1, 0);
	tensors[2] = tensor("label", DG_NODE, 0, 0);
	tensors[3] = tensor("weight", DG_EDGE, 0, 0);
	tensors[4] = tensor("weight", DG_EDGE, 1, 0);
	tensors[5] = tensor(DG_TENSOR_ORIGINAL_ID, DG_NODE, 0, DG_TENSOR_SYSTEM);
	tensors[6] = tensor("x/y", DG_NODE, 0, 0);
	return dgi_book_new(&spec, &book, NULL) == DG_OK ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	dgi_book_free(book);
	return 0;
}

static size_t found(const char *text)
{
	dg_error err = { 0 };
	size_t index = 99;

	assert_ok(dg_book_find_tensor(book, tensors, 7, text, &index, &err), &err);
	return index;
}

static void keys_are_escaped(void **state)
{
	char key[DG_KEY_TEXT_BYTES];

	(void)state;
	dg_book_tensor_key(book, &tensors[0], key);
	assert_string_equal(key, "node~user~feat");
	dg_book_tensor_key(book, &tensors[1], key);
	assert_string_equal(key, "node~a%7Eb%3Ac%2Fd%25~feat");
	dg_book_tensor_key(book, &tensors[4], key);
	assert_string_equal(key, "edge~user:likes:a%7Eb%3Ac%2Fd%25~weight");
}

static void the_longest_key_has_room(void **state)
{
	char name[DG_NAME_BYTES_MAX + 1];
	const char *longest[] = { name };
	struct dgi_edge_type_spec relation = { name, 0, 0 };
	struct dgi_book_spec spec = {
		.n_parts = 1,
		.n_node_types = 1,
		.n_edge_types = 1,
		.node_types = longest,
		.edge_types = &relation,
		.node_counts = counts,
		.edge_counts = counts,
	};
	char key[DG_KEY_TEXT_BYTES];
	dg_error err = { 0 };
	dg_tensor_info info;
	size_t index = 99;
	dg_book *long_book;

	(void)state;
	memset(name, '%', DG_NAME_BYTES_MAX);
	name[DG_NAME_BYTES_MAX] = '\0';
	info = tensor(name, DG_EDGE, 0, 0);
	assert_ok(dgi_book_new(&spec, &long_book, &err), &err);
	dg_book_tensor_key(long_book, &info, key);
	assert_int_equal(strlen(key), 4 + 4 + 4 * 3 * DG_NAME_BYTES_MAX);
	assert_ok(dg_book_find_tensor(long_book, &info, 1, key, &index, &err), &err);
	assert_int_equal(index, 0);
	dgi_book_free(long_book);
}

static void escaped_names_come_back(void **state)
{
	char text[DGI_NAME_TEXT_BYTES], name[DG_NAME_BYTES_MAX + 1];
	size_t n = dgi_name_escape("a~b:c/d%é", text);

	(void)state;
	assert_true(dgi_name_unescape(text, n, name));
	assert_string_equal(name, "a~b:c/d%é");
	assert_false(dgi_name_unescape("a:b", 3, name));
	assert_false(dgi_name_unescape("a%", 2, name));
	assert_false(dgi_name_unescape("a%4", 3, name));
	assert_false(dgi_name_unescape("a%41", 4, name));
	assert_false(dgi_name_unescape("", 0, name));
	assert_false(dgi_name_unescape("a\0b", 3, name));
}

static void an_unescaped_name_has_a_longest(void **state)
{
	char text[300], name[DG_NAME_BYTES_MAX + 1];

	(void)state;
	memset(text, 'n', sizeof text);
	assert_true(dgi_name_unescape(text, DG_NAME_BYTES_MAX, name));
	assert_false(dgi_name_unescape(text, DG_NAME_BYTES_MAX + 1, name));
}

static void full_keys_bare_names_and_types_find_a_tensor(void **state)
{
	(void)state;
	assert_int_equal(found("node~user~feat"), 0);
	assert_int_equal(found("node~a%7Eb%3Ac%2Fd%25~feat"), 1);
	assert_int_equal(found("user/feat"), 0);
	assert_int_equal(found("label"), 2);
	assert_int_equal(found("edge~user:likes:user~weight"), 3);
	assert_int_equal(found("user:likes:user/weight"), 3);
	assert_int_equal(found("x/y"), 6);
	assert_int_equal(found("x%2Fy"), 6);
	assert_int_equal(found("user/x%2Fy"), 6);
}

static void the_older_form_with_colons_is_understood(void **state)
{
	(void)state;
	assert_int_equal(found("node:user:feat"), 0);
	assert_int_equal(found("edge:user:likes:user:weight"), 3);
	tensors[4].name[0] = 'h';
	assert_int_equal(found("edge:likes:weight"), 3);
	tensors[4].name[0] = 'w';
}

static void an_ambiguous_name_lists_the_keys(void **state)
{
	dg_error err = { 0 };
	size_t index;

	(void)state;
	assert_fails(dg_book_find_tensor(book, tensors, 7, "feat", &index, &err), DG_INVALID, &err,
		     "'feat' is ambiguous: node~user~feat, node~a%7Eb%3Ac%2Fd%25~feat");
	assert_fails(dg_book_find_tensor(book, tensors, 7, "likes/weight", &index, &err),
		     DG_INVALID, &err, "ambiguous");
}

static void a_system_tensor_is_found_by_its_key_only(void **state)
{
	dg_error err = { 0 };
	size_t index;

	(void)state;
	assert_int_equal(found("node~user~_ORIGINAL_ID"), 5);
	assert_fails(dg_book_find_tensor(book, tensors, 7, "_ORIGINAL_ID", &index, &err),
		     DG_NOTFOUND, &err, "no such tensor");
}

static void a_name_not_found_gets_close_ones(void **state)
{
	dg_error err = { 0 };
	size_t index;

	(void)state;
	assert_fails(dg_book_find_tensor(book, tensors, 7, "lable", &index, &err), DG_NOTFOUND,
		     &err, "tensor 'lable': no such tensor; close: node~user~label");
	assert_null(strstr(err.text, "weight"));
	assert_fails(dg_book_find_tensor(book, tensors, 7, "node~user~wei", &index, &err),
		     DG_NOTFOUND, &err, "close: edge~user:likes:user~weight");
	assert_fails(dg_book_find_tensor(book, tensors, 7, "qqqq", &index, &err), DG_NOTFOUND, &err,
		     "there is node~user~");
	assert_fails(dg_book_find_tensor(book, tensors, 0, "feat", &index, &err), DG_NOTFOUND, &err,
		     "the graph has none");
}

static void a_text_of_any_length_is_refused_politely(void **state)
{
	char *text = malloc(100001);
	dg_error err = { 0 };
	size_t index;

	(void)state;
	memset(text, 'x', 100000);
	text[100000] = '\0';
	assert_fails(dg_book_find_tensor(book, tensors, 7, text, &index, &err), DG_NOTFOUND, &err,
		     "no name is so long");
	text[DG_NAME_BYTES_MAX] = '\0';
	assert_fails(dg_book_find_tensor(book, tensors, 7, text, &index, &err), DG_NOTFOUND, &err,
		     "no such tensor");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_are_escaped),
		cmocka_unit_test(the_longest_key_has_room),
		cmocka_unit_test(escaped_names_come_back),
		cmocka_unit_test(an_unescaped_name_has_a_longest),
		cmocka_unit_test(full_keys_bare_names_and_types_find_a_tensor),
		cmocka_unit_test(the_older_form_with_colons_is_understood),
		cmocka_unit_test(an_ambiguous_name_lists_the_keys),
		cmocka_unit_test(a_system_tensor_is_found_by_its_key_only),
		cmocka_unit_test(a_name_not_found_gets_close_ones),
		cmocka_unit_test(a_text_of_any_length_is_refused_politely),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
