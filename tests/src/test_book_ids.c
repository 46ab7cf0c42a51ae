/* What src/graph/book_ids.c and src/graph/book_new.c promise. */
#include "test.h"

#include "book.h"
#include "rng.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const two_types[] = { "A", "B" };
static const struct dg_edge_type_spec two_relations[] = { { "A", "r", "B" }, { "B", "s", "A" } };
/* The worked example: partition 0 owns 2 A and 3 B, partition 1 owns 1 A and 2 B. */
static const dg_id worked_nodes[] = { 0, 2, 5, 6, 2, 5, 6, 8 };
static const dg_id worked_edges[] = { 0, 4, 4, 4, 4, 4, 4, 11 };

static dg_book_spec worked_spec(void)
{
	return (dg_book_spec){ .n_parts = 2,
			       .n_node_types = 2,
			       .n_edge_types = 2,
			       .node_types = two_types,
			       .edge_types = two_relations,
			       .node_map = worked_nodes,
			       .edge_map = worked_edges };
}

static dg_book *made(const dg_book_spec *spec)
{
	dg_error err = { 0 };
	dg_book *book = NULL;

	assert_ok(dg_book_new(spec, &book, &err), &err);
	return book;
}

static dg_book *worked_book(void)
{
	dg_book_spec spec = worked_spec();

	return made(&spec);
}

static void assert_ids(const dg_id *got, const dg_id *want, size_t n)
{
	for (size_t i = 0; i < n; i++)
		assert_int_equal(got[i], want[i]);
}

static void homogeneous_ids_become_types_and_back(void **state)
{
	static const dg_id ids[] = { 1, 4, 5, 7 };
	static const uint16_t want_types[] = { 0, 1, 0, 1 };
	static const dg_id want[] = { 1, 2, 2, 4 };
	dg_book *book = worked_book();
	dg_error err = { 0 };
	uint16_t types[4];
	dg_id out[4], three = 3;

	(void)state;
	assert_ok(dg_book_to_per_type(book, DG_NODE, ids, 4, types, out, &err), &err);
	assert_memory_equal(types, want_types, sizeof types);
	assert_ids(out, want, 4);
	assert_ok(dg_book_to_homogeneous(book, DG_NODE, 1, &three, 1, out, &err), &err);
	assert_int_equal(out[0], 6);
	dg_book_free(book);
}

static void ids_have_the_partitions_of_the_worked_example(void **state)
{
	static const dg_id b_ids[] = { 3, 4 };
	dg_book *book = worked_book();
	dg_error err = { 0 };
	dg_id three = 3, four = 4, locals[2], start, end;
	uint32_t part;

	(void)state;
	assert_ok(dg_book_locate_ids(book, DG_NODE, 1, &three, 1, &part, NULL, &err), &err);
	assert_int_equal(part, 1);
	assert_ok(dg_book_locate_ids(book, DG_NODE, DG_ALL_TYPES, &four, 1, &part, locals, &err),
		  &err);
	assert_int_equal(part, 0);
	assert_int_equal(locals[0], 4);
	dg_book_range(book, DG_NODE, 1, 1, &start, &end);
	assert_int_equal(start, 3);
	assert_int_equal(end, 5);
	assert_ok(dg_book_to_local(book, DG_NODE, 1, 1, b_ids, 2, locals, &err), &err);
	assert_int_equal(locals[0], 0);
	assert_int_equal(locals[1], 1);
	dg_book_free(book);
}

static void local_offsets_are_those_of_the_worked_example(void **state)
{
	dg_book *book = worked_book();
	int64_t offsets[3];

	(void)state;
	dg_book_local_offsets(book, DG_NODE, 0, offsets);
	assert_ids(offsets, (const dg_id[]){ 0, 2, 5 }, 3);
	dg_book_local_offsets(book, DG_NODE, 1, offsets);
	assert_ids(offsets, (const dg_id[]){ 0, 1, 3 }, 3);
	dg_book_free(book);
}

static void counts_are_those_of_the_metadata(void **state)
{
	dg_book *book = worked_book();
	dg_id start, end;

	(void)state;
	assert_int_equal(dg_book_count(book, DG_NODE, DG_ALL_TYPES), 8);
	assert_int_equal(dg_book_count(book, DG_EDGE, DG_ALL_TYPES), 11);
	dg_book_range(book, DG_NODE, DG_ALL_TYPES, 1, &start, &end);
	assert_int_equal(start, 5);
	assert_int_equal(end, 8);
	dg_book_range(book, DG_EDGE, DG_ALL_TYPES, 1, &start, &end);
	assert_int_equal(end - start, 7);
	assert_false(dg_book_is_homogeneous(book));
	dg_book_free(book);
}

static void an_id_past_the_end_is_refused_and_named(void **state)
{
	static const dg_id past[] = { 0, 4, 5 }, negative[] = { 2, -1, 9 }, all[] = { 7, 8 };
	dg_book *book = worked_book();
	dg_error err = { 0 };
	uint32_t parts[3];
	uint16_t types[3];
	dg_id out[3];

	(void)state;
	assert_fails(dg_book_locate_ids(book, DG_NODE, 1, past, 3, parts, NULL, &err), DG_RANGE,
		     &err, "node id 5 of type 1 (number 2 of the batch): want [0, 5)");
	assert_fails(dg_book_locate_ids(book, DG_EDGE, 0, negative, 3, parts, NULL, &err), DG_RANGE,
		     &err, "edge id -1 of type 0 (number 1 of the batch): want [0, 4)");
	assert_fails(dg_book_locate_ids(book, DG_NODE, DG_ALL_TYPES, all, 2, parts, NULL, &err),
		     DG_RANGE, &err, "node id 8 (number 1 of the batch): want [0, 8)");
	assert_fails(dg_book_to_per_type(book, DG_NODE, all, 2, types, out, &err), DG_RANGE, &err,
		     "node id 8");
	assert_fails(dg_book_to_homogeneous(book, DG_NODE, 0, past, 3, out, &err), DG_RANGE, &err,
		     "node id 4 of type 0");
	assert_fails(dg_book_to_local(book, DG_NODE, 1, 1, past, 3, out, &err), DG_RANGE, &err,
		     "partition 1: node id 0 of type 1");
	assert_fails(dg_book_to_local(book, DG_NODE, 1, 2, past, 3, out, &err), DG_RANGE, &err,
		     "partition 2: the graph has 2");
	assert_fails(dg_book_locate_ids(book, DG_NODE, 2, past, 3, parts, NULL, &err), DG_NOTFOUND,
		     &err, "node type 2: the graph has 2");
	dg_book_free(book);
}

static void the_bad_id_is_found_in_any_block(void **state)
{
	enum { N = 10000 };
	dg_id *ids = calloc(N, sizeof *ids);
	dg_book *book = worked_book();
	dg_error err = { 0 };
	char text[40];

	(void)state;
	for (size_t bad = 4090; bad < 4100; bad++) {
		ids[bad] = 77;
		(void)snprintf(text, sizeof text, "number %zu of the batch", bad);
		assert_fails(dg_book_locate_ids(book, DG_NODE, 0, ids, N, NULL, NULL, &err),
			     DG_RANGE, &err, text);
		ids[bad] = 0;
	}
	free(ids);
	dg_book_free(book);
}

static void ranges_that_overlap_answer_by_type_only(void **state)
{
	static const dg_id same[] = { 0, 1000, 1000, 2000, 0, 1000, 1000, 2000 };
	dg_book_spec spec = worked_spec();
	dg_error err = { 0 };
	dg_id id = 1500, out;
	uint16_t type;
	uint32_t part;
	dg_book *book;

	(void)state;
	spec.node_map = same;
	book = made(&spec);
	assert_ok(dg_book_locate_ids(book, DG_NODE, 1, &id, 1, &part, &out, &err), &err);
	assert_int_equal(part, 1);
	assert_int_equal(out, 500);
	assert_int_equal(dg_book_count(book, DG_NODE, DG_ALL_TYPES), 4000);
	assert_ok(dg_book_to_homogeneous(book, DG_NODE, 1, &id, 1, &out, &err), &err);
	assert_int_equal(out, 1500);
	assert_fails(dg_book_to_per_type(book, DG_NODE, &id, 1, &type, &out, &err), DG_INVALID,
		     &err, "do not tile");
	assert_fails(dg_book_locate_ids(book, DG_NODE, DG_ALL_TYPES, &id, 1, &part, NULL, &err),
		     DG_INVALID, &err, "ask by type");
	dg_book_free(book);
}

static void assert_refused(const dg_book_spec *spec, dg_status status, const char *text)
{
	dg_error err = { 0 };
	dg_book *book;

	assert_fails(dg_book_new(spec, &book, &err), status, &err, text);
}

static void ranges_that_cannot_be_are_refused(void **state)
{
	static const dg_id backward[] = { 0, 2, 6, 5, 2, 5, 6, 8 };
	static const dg_id long_ids[] = { 0, 2, 5, 6, 2, 5, 6, INT64_C(1) << 31 };
	static const struct dg_edge_type_spec stray[] = { { "A", "r", "B" }, { "B", "s", "C" } };
	dg_book_spec spec = worked_spec();

	(void)state;
	spec.node_map = backward;
	assert_refused(&spec, DG_INVALID, "node map: type 0 part 1 is [6, 5)");
	spec = worked_spec();
	spec.node_map = long_ids;
	spec.node_map_dtype = DG_INT32;
	assert_refused(&spec, DG_INVALID, "more than its int32 holds");
	spec = worked_spec();
	spec.edge_map_dtype = DG_FLOAT32;
	assert_refused(&spec, DG_INVALID, "edge map: dtype float32");
	spec = worked_spec();
	spec.edge_types = stray;
	assert_refused(&spec, DG_NOTFOUND, "node type 'C', which is none");
	spec = worked_spec();
	spec.n_parts = 5000;
	assert_refused(&spec, DG_INVALID, "5000 partitions");
}

static void the_dtype_of_a_map_is_kept(void **state)
{
	dg_book_spec spec = worked_spec();
	dg_book *book;

	(void)state;
	spec.node_map_dtype = DG_INT32;
	book = made(&spec);
	assert_int_equal(dg_book_map_dtype(book, DG_NODE), DG_INT32);
	assert_int_equal(dg_book_map_dtype(book, DG_EDGE), DG_INT64);
	dg_book_free(book);
}

/* --- Random books against a table of every id --- */

#define TYPES_MAX 5
#define PARTS_MAX 40

static dg_book *random_book(struct dgi_rng *rng)
{
	static const char *const names[TYPES_MAX] = { "a", "b", "c", "d", "e" };
	int64_t counts[TYPES_MAX * PARTS_MAX];
	struct dgi_book_spec spec = { .n_parts = (uint32_t)(1 + dgi_rng_below(rng, PARTS_MAX)),
				      .n_node_types = (uint16_t)(1 + dgi_rng_below(rng, TYPES_MAX)),
				      .node_types = names,
				      .node_counts = counts };
	dg_error err = { 0 };
	dg_book *book = NULL;

	for (size_t i = 0; i < TYPES_MAX * PARTS_MAX; i++)
		counts[i] = dgi_rng_below(rng, 3) ? (int64_t)dgi_rng_below(rng, 9) : 0;
	assert_ok(dgi_book_new(&spec, &book, &err), &err);
	return book;
}

/* Walks all ids in homogeneous order and asks about each. */
static void assert_agrees_with_a_walk(const dg_book *book)
{
	int64_t typed[TYPES_MAX] = { 0 };
	dg_id homogeneous = 0;
	dg_error err = { 0 };

	for (uint32_t p = 0; p < dg_book_n_parts(book); p++) {
		dg_id in_part = 0;

		for (uint16_t t = 0; t < dg_book_n_node_types(book); t++) {
			dg_id start, end, got, local;
			uint32_t part;
			uint16_t type;

			dg_book_range(book, DG_NODE, t, p, &start, &end);
			for (dg_id i = 0; i < end - start; i++, homogeneous++, in_part++) {
				dg_id id = typed[t]++;

				assert_ok(dg_book_locate_ids(book, DG_NODE, t, &id, 1, &part,
							     &local, &err),
					  &err);
				assert_int_equal(part, p);
				assert_int_equal(local, i);
				assert_ok(dg_book_locate_ids(book, DG_NODE, DG_ALL_TYPES,
							     &homogeneous, 1, &part, &local, &err),
					  &err);
				assert_int_equal(part, p);
				assert_int_equal(local, in_part);
				assert_ok(dg_book_to_per_type(book, DG_NODE, &homogeneous, 1, &type,
							      &got, &err),
					  &err);
				assert_int_equal(type, t);
				assert_int_equal(got, id);
				assert_ok(dg_book_to_homogeneous(book, DG_NODE, t, &id, 1, &got,
								 &err),
					  &err);
				assert_int_equal(got, homogeneous);
			}
		}
	}
	assert_int_equal(homogeneous, dg_book_count(book, DG_NODE, DG_ALL_TYPES));
}

static void random_books_agree_with_a_walk_over_all_ids(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 200; seed++) {
		struct dgi_rng rng = dgi_rng_of(seed, 1);
		dg_book *book = random_book(&rng);

		assert_agrees_with_a_walk(book);
		dgi_book_free(book);
	}
}

/* Large batches are searched by other tables than single ids. */
static void large_batches_agree_with_single_ids(void **state)
{
	enum { N = 20000 };
	dg_id *ids = malloc(N * sizeof *ids), *locals = malloc(N * sizeof *locals);
	uint32_t *parts = malloc(N * sizeof *parts);
	dg_error err = { 0 };

	(void)state;
	for (uint64_t seed = 0; seed < 60; seed++) {
		static const char *const names[] = { "_N" };
		struct dgi_rng rng = dgi_rng_of(seed, 2);
		int64_t counts[600];
		struct dgi_book_spec spec = { .n_parts = (uint32_t)(1 + dgi_rng_below(&rng, 600)),
					      .n_node_types = 1,
					      .node_types = names,
					      .node_counts = counts };
		int64_t largest = INT64_C(1) << dgi_rng_below(&rng, 50);
		dg_book *book = NULL;
		int64_t n;

		for (size_t p = 0; p < 600; p++)
			counts[p] = dgi_rng_below(&rng, 4)
					    ? (int64_t)dgi_rng_below(&rng, (uint64_t)largest)
					    : 0;
		assert_ok(dgi_book_new(&spec, &book, &err), &err);
		n = dg_book_count(book, DG_NODE, 0);
		for (size_t i = 0; n > 0 && i < N; i++) {
			dg_id start, end;

			/* Ids about the ends, and anywhere. */
			dg_book_range(book, DG_NODE, 0, (uint32_t)dgi_rng_below(&rng, spec.n_parts),
				      &start, &end);
			ids[i] = i % 3 == 0   ? start - 1
				 : i % 3 == 1 ? start
					      : (dg_id)dgi_rng_below(&rng, (uint64_t)n);
			if (ids[i] < 0 || ids[i] >= n)
				ids[i] = n - 1;
		}
		if (n > 0)
			assert_ok(dg_book_locate_ids(book, DG_NODE, 0, ids, N, parts, locals, &err),
				  &err);
		for (size_t i = 0; n > 0 && i < N; i++) {
			dg_id start, end;

			dg_book_range(book, DG_NODE, 0, parts[i], &start, &end);
			if (ids[i] < start || ids[i] >= end || locals[i] != ids[i] - start)
				fail_msg("seed %d: id %lld", (int)seed, (long long)ids[i]);
		}
		dgi_book_free(book);
	}
	free(ids);
	free(locals);
	free(parts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(homogeneous_ids_become_types_and_back),
		cmocka_unit_test(ids_have_the_partitions_of_the_worked_example),
		cmocka_unit_test(local_offsets_are_those_of_the_worked_example),
		cmocka_unit_test(counts_are_those_of_the_metadata),
		cmocka_unit_test(an_id_past_the_end_is_refused_and_named),
		cmocka_unit_test(the_bad_id_is_found_in_any_block),
		cmocka_unit_test(ranges_that_overlap_answer_by_type_only),
		cmocka_unit_test(ranges_that_cannot_be_are_refused),
		cmocka_unit_test(the_dtype_of_a_map_is_kept),
		cmocka_unit_test(random_books_agree_with_a_walk_over_all_ids),
		cmocka_unit_test(large_batches_agree_with_single_ids),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
