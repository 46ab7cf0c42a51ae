/* What src/graph/book.c and src/graph/book_codec.c promise. */
#include "test.h"

#include "book.h"
#include "bytes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const two_types[] = { "A", "B" };
static const struct dgi_edge_type_spec two_relations[] = { { "r", 0, 1 }, { "r", 1, 0 } };
/* The worked example: partition 0 owns 2 A and 3 B, partition 1 owns 1 A and 2 B. */
static const int64_t two_types_counts[] = { 2, 1, 3, 2 };
static const int64_t two_relations_counts[] = { 4, 0, 0, 7 };

static struct dgi_book_spec worked_example(void)
{
	return (struct dgi_book_spec){
		.n_parts = 2,
		.n_node_types = 2,
		.n_edge_types = 2,
		.node_types = two_types,
		.edge_types = two_relations,
		.node_counts = two_types_counts,
		.edge_counts = two_relations_counts,
	};
}

static dg_book *book_of(const struct dgi_book_spec *spec)
{
	dg_error err = { 0 };
	dg_book *book = NULL;

	assert_ok(dgi_book_new(spec, &book, &err), &err);
	return book;
}

static dg_book *worked_book(void)
{
	struct dgi_book_spec spec = worked_example();

	return book_of(&spec);
}

static dg_tensor_info tensor_of(dg_side side, uint16_t type, dg_numbering numbering)
{
	dg_tensor_info info = { .name = "t", .side = side, .type = type, .numbering = numbering };

	return info;
}

static void types_and_counts_are_as_given(void **state)
{
	dg_book *book = worked_book();

	(void)state;
	assert_int_equal(dg_book_n_parts(book), 2);
	assert_string_equal(dg_book_node_type(book, 1), "B");
	assert_null(dg_book_node_type(book, 2));
	assert_string_equal(dg_book_edge_type(book, 1).src, "B");
	assert_string_equal(dg_book_edge_type(book, 1).dst, "A");
	assert_null(dg_book_edge_type(book, 2).relation);
	assert_int_equal(dg_book_count(book, DG_NODE, 0), 3);
	assert_int_equal(dg_book_count(book, DG_NODE, 1), 5);
	assert_int_equal(dg_book_count(book, DG_EDGE, 1), 7);
	assert_int_equal(dg_book_count(book, DG_EDGE, 2), 0);
	dgi_book_free(book);
}

static void assert_range(const dg_book *book, uint16_t type, uint32_t part, dg_id start, dg_id end,
			 dg_id homogeneous_start, dg_id homogeneous_end)
{
	dg_id a, b;

	dg_book_range(book, DG_NODE, type, part, &a, &b);
	assert_int_equal(a, start);
	assert_int_equal(b, end);
	dg_book_homogeneous_range(book, DG_NODE, type, part, &a, &b);
	assert_int_equal(a, homogeneous_start);
	assert_int_equal(b, homogeneous_end);
}

static void ranges_are_those_of_the_worked_example(void **state)
{
	dg_book *book = worked_book();

	(void)state;
	assert_range(book, 0, 0, 0, 2, 0, 2);
	assert_range(book, 0, 1, 2, 3, 5, 6);
	assert_range(book, 1, 0, 0, 3, 2, 5);
	assert_range(book, 1, 1, 3, 5, 6, 8);
	dgi_book_free(book);
}

static void an_empty_range_lies_where_its_rows_would_be(void **state)
{
	dg_book *book = worked_book();
	dg_id start, end;

	(void)state;
	dg_book_homogeneous_range(book, DG_EDGE, 1, 0, &start, &end);
	assert_int_equal(start, 4);
	assert_int_equal(end, 4);
	dg_book_homogeneous_range(book, DG_EDGE, 0, 1, &start, &end);
	assert_int_equal(start, 4);
	assert_int_equal(end, 4);
	dg_book_homogeneous_range(book, DG_EDGE, 1, 1, &start, &end);
	assert_int_equal(start, 4);
	assert_int_equal(end, 11);
	dgi_book_free(book);
}

static void a_range_that_is_not_there_is_empty(void **state)
{
	dg_book *book = worked_book();
	dg_id start = 7, end = 9;

	(void)state;
	dg_book_range(book, DG_NODE, 2, 0, &start, &end);
	assert_int_equal(end - start, 0);
	dg_book_homogeneous_range(book, DG_NODE, 0, 2, &start, &end);
	assert_int_equal(end - start, 0);
	dgi_book_free(book);
}

/* Every row of every type lies in the range of the part that locate() names. */
static void assert_every_row_is_located(const dg_book *book, const dg_tensor_info *tensor)
{
	int64_t n = dg_book_count(book, tensor->side, tensor->type);
	dg_error err = { 0 };

	for (dg_id row = 0; row < n; row++) {
		uint32_t part;
		int64_t local;
		dg_id start, end;

		assert_ok(dg_book_locate(book, tensor, row, &part, &local, &err), &err);
		dg_book_tensor_range(book, tensor, part, &start, &end);
		assert_true(start <= row && row < end);
		assert_int_equal(local, row - start);
	}
}

static void every_row_has_one_owner_in_both_numberings(void **state)
{
	static const int64_t counts[] = { 0, 0, 3, 0, 1, 0, 0, 9, 0 };
	static const char *const name[] = { "n" };
	struct dgi_book_spec spec = { .n_node_types = 1,
				      .node_types = name,
				      .node_counts = counts };

	(void)state;
	for (spec.n_parts = 1; spec.n_parts <= 9; spec.n_parts++) {
		dg_book *book = book_of(&spec);
		dg_tensor_info internal = tensor_of(DG_NODE, 0, DG_INTERNAL);
		dg_tensor_info original = tensor_of(DG_NODE, 0, DG_ORIGINAL);

		assert_every_row_is_located(book, &internal);
		assert_every_row_is_located(book, &original);
		dgi_book_free(book);
	}
}

static void original_rows_are_cut_evenly_even_when_they_are_many(void **state)
{
	static const char *const name[] = { "n" };
	static const int64_t counts[] = { INT64_MAX - 1, 0, 1 };
	struct dgi_book_spec spec = {
		.n_parts = 3, .n_node_types = 1, .node_types = name, .node_counts = counts
	};
	dg_book *book = book_of(&spec);
	dg_tensor_info original = tensor_of(DG_NODE, 0, DG_ORIGINAL);
	dg_error err = { 0 };
	dg_id start, end;
	uint32_t part;
	int64_t local;

	(void)state;
	dg_book_tensor_range(book, &original, 1, &start, &end);
	assert_int_equal(start, INT64_MAX / 3);
	assert_int_equal(end, INT64_MAX / 3 * 2);
	assert_ok(dg_book_locate(book, &original, INT64_MAX - 1, &part, &local, &err), &err);
	assert_int_equal(part, 2);
	dgi_book_free(book);
}

static void a_row_outside_the_graph_is_refused(void **state)
{
	dg_book *book = worked_book();
	dg_tensor_info tensor = tensor_of(DG_NODE, 1, DG_INTERNAL);
	dg_tensor_info unknown = tensor_of(DG_NODE, 9, DG_INTERNAL);
	dg_error err = { 0 };
	uint32_t part;
	int64_t local;

	(void)state;
	assert_ok(dg_book_locate(book, &tensor, 4, &part, &local, &err), &err);
	assert_fails(dg_book_locate(book, &tensor, 5, &part, &local, &err), DG_RANGE, &err,
		     "id 5 of tensor 't': the graph has 5");
	assert_fails(dg_book_locate(book, &tensor, -1, &part, &local, &err), DG_RANGE, &err, "-1");
	assert_fails(dg_book_locate(book, &unknown, 0, &part, &local, &err), DG_RANGE, &err,
		     "has 0");
	dgi_book_free(book);
}

static void assert_refused(const struct dgi_book_spec *spec, const char *part)
{
	dg_error err = { 0 };
	dg_book *book;

	assert_fails(dgi_book_new(spec, &book, &err), DG_INVALID, &err, part);
}

static void partitions_have_a_largest_number(void **state)
{
	static const char *const name[] = { "n" };
	static const int64_t counts[DG_PARTS_MAX];
	struct dgi_book_spec spec = { .n_node_types = 1,
				      .node_types = name,
				      .node_counts = counts };

	(void)state;
	assert_refused(&spec, "0 partitions, want 1 to 4096");
	spec.n_parts = DG_PARTS_MAX;
	dgi_book_free(book_of(&spec));
	spec.n_parts++;
	assert_refused(&spec, "4097 partitions");
}

static void types_have_a_largest_number(void **state)
{
	struct dgi_book_spec spec = worked_example();

	(void)state;
	spec.n_node_types = 0;
	assert_refused(&spec, "0 node types, want 1 to 4096");
	spec.n_node_types = DG_NODE_TYPES_MAX + 1;
	assert_refused(&spec, "4097 node types");
}

static void ranges_have_a_largest_number(void **state)
{
	enum { EDGE_TYPES = DGI_BOOK_RANGES_MAX / DG_PARTS_MAX };
	static char names[EDGE_TYPES][8];
	static struct dgi_edge_type_spec types[EDGE_TYPES];
	struct dgi_book_spec spec = worked_example();
	int64_t *counts = calloc(DGI_BOOK_RANGES_MAX, sizeof *counts);

	(void)state;
	for (int t = 0; t < EDGE_TYPES; t++) {
		(void)snprintf(names[t], sizeof names[t], "r%d", t);
		types[t].relation = names[t];
	}
	spec.n_parts = DG_PARTS_MAX;
	spec.n_node_types = 1;
	spec.edge_types = types;
	spec.node_counts = counts;
	spec.edge_counts = counts;
	spec.n_edge_types = EDGE_TYPES - 1;
	dgi_book_free(book_of(&spec));
	spec.n_edge_types++;
	assert_refused(&spec, "4096 partitions of 513 types, at most 2097152 ranges");
	free(counts);
}

static void types_that_cannot_be_are_refused(void **state)
{
	static const char *const same[] = { "A", "A" };
	static const struct dgi_edge_type_spec stray[] = { { "r", 0, 2 }, { "r", 1, 0 } };
	static const struct dgi_edge_type_spec twice[] = { { "r", 1, 0 }, { "r", 1, 0 } };
	static const struct dgi_edge_type_spec unnamed[] = { { "r", 1, 0 }, { "", 1, 0 } };
	struct dgi_book_spec spec = worked_example();

	(void)state;
	spec.node_types = same;
	assert_refused(&spec, "node type 'A' is there twice");
	spec = worked_example();
	spec.edge_types = stray;
	assert_refused(&spec, "edge type 0: from node type 0 to 2, the graph has 2");
	spec.edge_types = twice;
	assert_refused(&spec, "edge type 'B:r:A' is there twice");
	spec.edge_types = unnamed;
	assert_refused(&spec, "edge type: empty");
}

static void counts_that_cannot_be_are_refused(void **state)
{
	static const int64_t negative[] = { 2, 1, -1, 2 };
	static const int64_t many[] = { INT64_MAX, 0, 0, 1 };
	struct dgi_book_spec spec = worked_example();

	(void)state;
	spec.node_counts = negative;
	assert_refused(&spec, "node type 1 in partition 0: -1 rows");
	spec.node_counts = two_types_counts;
	spec.edge_counts = many;
	assert_refused(&spec, "edge type 1 in partition 1: 1 rows");
}

static void a_book_comes_back_from_its_bytes(void **state)
{
	dg_book *book = worked_book(), *back;
	dg_error err = { 0 };
	uint8_t *data;
	size_t n;

	(void)state;
	assert_ok(dgi_book_encode(book, &data, &n, &err), &err);
	assert_ok(dgi_book_decode(data, n, &back, &err), &err);
	assert_true(dgi_book_equal(book, back));
	dgi_book_free(back);
	free(data);
	dgi_book_free(book);
}

static void books_differ_by_types_and_by_ranges(void **state)
{
	static const int64_t counts[] = { 1, 2, 3, 2 };
	static const char *const names[] = { "A", "C" };
	static const struct dgi_edge_type_spec relations[] = { { "r", 0, 1 }, { "q", 1, 0 } };
	struct dgi_book_spec specs[4];
	dg_book *book = worked_book();

	(void)state;
	for (int i = 0; i < 4; i++)
		specs[i] = worked_example();
	specs[0].node_counts = counts;
	specs[1].node_types = names;
	specs[2].edge_types = relations;
	specs[3].n_edge_types = 1;
	for (int i = 0; i < 4; i++) {
		dg_book *other = book_of(&specs[i]);

		assert_false(dgi_book_equal(book, other));
		dgi_book_free(other);
	}
	dgi_book_free(book);
}

static void bytes_cut_anywhere_or_longer_are_refused(void **state)
{
	dg_book *book = worked_book(), *back;
	dg_error err = { 0 };
	uint8_t *data, *longer;
	size_t n;

	(void)state;
	assert_ok(dgi_book_encode(book, &data, &n, &err), &err);
	for (size_t cut = 0; cut < n; cut++)
		assert_int_equal(dgi_book_decode(data, cut, &back, &err), DG_CORRUPT);
	longer = calloc(1, n + 1);
	memcpy(longer, data, n);
	assert_fails(dgi_book_decode(longer, n + 1, &back, &err), DG_CORRUPT, &err, "want 64");
	free(longer);
	free(data);
	dgi_book_free(book);
}

static void damaged_bytes_are_refused_with_what_was_found(void **state)
{
	dg_book *book = worked_book(), *back;
	dg_error err = { 0 };
	uint8_t *data;
	size_t n;

	(void)state;
	assert_ok(dgi_book_encode(book, &data, &n, &err), &err);
	data[0] ^= 1;
	assert_fails(dgi_book_decode(data, n, &back, &err), DG_CORRUPT, &err, "magic");
	data[0] ^= 1;
	dgi_put_u16(data + 4, 2);
	assert_fails(dgi_book_decode(data, n, &back, &err), DG_VERSION, &err,
		     "format 2, this program reads 1");
	dgi_put_u16(data + 4, 1);
	dgi_put_u32(data + 12, UINT32_MAX);
	assert_fails(dgi_book_decode(data, n, &back, &err), DG_CORRUPT, &err, "partitions");
	dgi_put_u32(data + 12, 2);
	data[n - 1] = 0x80;
	assert_fails(dgi_book_decode(data, n, &back, &err), DG_CORRUPT, &err, "edge type 1");
	free(data);
	dgi_book_free(book);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(types_and_counts_are_as_given),
		cmocka_unit_test(ranges_are_those_of_the_worked_example),
		cmocka_unit_test(an_empty_range_lies_where_its_rows_would_be),
		cmocka_unit_test(a_range_that_is_not_there_is_empty),
		cmocka_unit_test(every_row_has_one_owner_in_both_numberings),
		cmocka_unit_test(original_rows_are_cut_evenly_even_when_they_are_many),
		cmocka_unit_test(a_row_outside_the_graph_is_refused),
		cmocka_unit_test(partitions_have_a_largest_number),
		cmocka_unit_test(types_have_a_largest_number),
		cmocka_unit_test(ranges_have_a_largest_number),
		cmocka_unit_test(types_that_cannot_be_are_refused),
		cmocka_unit_test(counts_that_cannot_be_are_refused),
		cmocka_unit_test(a_book_comes_back_from_its_bytes),
		cmocka_unit_test(books_differ_by_types_and_by_ranges),
		cmocka_unit_test(bytes_cut_anywhere_or_longer_are_refused),
		cmocka_unit_test(damaged_bytes_are_refused_with_what_was_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
