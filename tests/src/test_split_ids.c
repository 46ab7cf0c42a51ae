/* What src/split/ promises, against sets and the worked examples. */
#include "test.h"

#include "book.h"
#include "graph_fixture.h"
#include "rng.h"
#include "tmpdir.h"
#include "trainers.h"

#include <distgraph/split.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PARTS_MAX 8
#define IDS_MAX 400

static dg_book *book_of(const int64_t *counts, uint32_t n_parts)
{
	static const char *const names[] = { "_N" };
	const struct dgi_book_spec spec = {
		.n_parts = n_parts, .n_node_types = 1, .node_types = names, .node_counts = counts
	};
	dg_error err = { 0 };
	dg_book *book = NULL;

	assert_ok(dgi_book_new(&spec, &book, &err), &err);
	return book;
}

static void assert_share(const dg_book *book, const dg_split_options *options, const dg_id *want,
			 size_t n_want)
{
	dg_error err = { 0 };
	dg_id *got = NULL;
	size_t n = 0;

	assert_ok(dg_split(book, options, &got, &n, &err), &err);
	assert_int_equal(n, n_want);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(got[i], want[i]);
	dg_free(got);
}

/* --- Worked examples --- */

static void local_shares_are_blocks_and_the_last_has_the_remainder(void **state)
{
	static const dg_id want[3][3] = { { 10, 11 }, { 13, 14 }, { 17, 18, 19 } };
	static const int64_t counts[] = { 10, 10 };
	uint8_t mask[20] = {
		[3] = 1, [10] = 1, [11] = 1, [13] = 1, [14] = 1, [17] = 1, [18] = 1, [19] = 1
	};
	const dg_column column = { .data = mask, .dtype = DG_UINT8, .n = 20 };
	dg_book *book = book_of(counts, 2);
	dg_split_options o = { .part = 1, .n_trainers = 6, .mask = &column, .local = 1 };

	(void)state;
	for (o.rank = 3; o.rank < 6; o.rank++)
		assert_share(book, &o, want[o.rank - 3], o.rank == 5 ? 3 : 2);
	dgi_book_free(book);
}

static void equal_shares_are_runs_of_the_selected_ids(void **state)
{
	static const int64_t counts[] = { 6, 6 };
	bool mask[12] = { [1] = true, [2] = true, [3] = true, [9] = true, [11] = true };
	const dg_column column = { .data = mask, .dtype = DG_BOOL, .n = 12 };
	dg_book *book = book_of(counts, 2);
	dg_split_options o = { .n_trainers = 2, .mask = &column };

	(void)state;
	assert_share(book, &o, (const dg_id[]){ 1, 2, 3 }, 3);
	o.part = o.rank = 1;
	assert_share(book, &o, (const dg_id[]){ 9, 11 }, 2);
	dgi_book_free(book);
}

static void runs_differ_by_one_and_the_longer_come_first(void **state)
{
	static const size_t ten[] = { 0, 3, 6, 8, 10 }, six[] = { 0, 2, 4, 5, 6 };

	(void)state;
	for (size_t i = 0; i <= 4; i++) {
		assert_int_equal(dgi_even_begin(10, 4, i), ten[i]);
		assert_int_equal(dgi_even_begin(6, 4, i), six[i]);
	}
}

static void trainers_of_a_run_share_it_evenly_each_in_order(void **state)
{
	static const int64_t counts[] = { 6, 6 };
	static const size_t want[] = { 2, 1, 1, 1 };
	uint8_t mask[12] = { [1] = 1, [2] = 1, [3] = 1, [9] = 1, [11] = 1 }, seen[12] = { 0 };
	const dg_column column = { .data = mask, .dtype = DG_UINT8, .n = 12 };
	dg_book *book = book_of(counts, 2);
	dg_split_options o = { .n_trainers = 4, .mask = &column };
	dg_error err = { 0 };

	(void)state;
	for (o.rank = 0; o.rank < 4; o.rank++) {
		dg_id *got = NULL;
		size_t n = 0;

		o.part = o.rank / 2;
		assert_ok(dg_split(book, &o, &got, &n, &err), &err);
		assert_int_equal(n, want[o.rank]);
		for (size_t i = 0; i < n; i++) {
			assert_true(o.part ? got[i] >= 9 : got[i] <= 3);
			assert_true(i == 0 || got[i] > got[i - 1]);
			seen[got[i]]++;
		}
		dg_free(got);
	}
	assert_memory_equal(seen, mask, sizeof mask);
	dgi_book_free(book);
}

static void trainer_ids_decide_who_gets_what(void **state)
{
	static const int64_t counts[] = { 4, 4 };
	static const int64_t trainer_ids[] = { 1, 0, 0, 1, 3, 2, 2, 3 };
	static const dg_id want[4][2] = { { 1, 2 }, { 0, 3 }, { 5, 6 }, { 7 } };
	const uint8_t mask[] = { 1, 1, 1, 1, 0, 1, 1, 1 };
	const dg_column column = { .data = mask, .dtype = DG_UINT8, .n = 8 };
	const dg_column trainers = { .data = trainer_ids, .dtype = DG_INT64, .n = 8 };
	dg_book *book = book_of(counts, 2);
	dg_split_options o = { .n_trainers = 4, .mask = &column, .trainer_ids = &trainers };

	(void)state;
	for (o.rank = 0; o.rank < 4; o.rank++) {
		o.part = o.rank / 2;
		assert_share(book, &o, want[o.rank], o.rank == 3 ? 1 : 2);
	}
	dgi_book_free(book);
}

static void ids_of_other_trainers_come_behind_the_own(void **state)
{
	static const int64_t counts[] = { 3, 3 };
	static const int32_t trainer_ids[] = { 0, 2, 1, 3, 1, 2 };
	const uint8_t mask[] = { 1, 1, 1, 1, 1, 1 };
	const dg_column column = { .data = mask, .dtype = DG_UINT8, .n = 6 };
	const dg_column trainers = { .data = trainer_ids, .dtype = DG_INT32, .n = 6 };
	dg_book *book = book_of(counts, 2);
	dg_split_options o = { .n_trainers = 4, .mask = &column, .trainer_ids = &trainers };

	(void)state;
	/* Run 0, 1, 2: at home 0 and 2, away 1. */
	assert_share(book, &o, (const dg_id[]){ 0, 1 }, 2);
	o.rank = 1;
	assert_share(book, &o, (const dg_id[]){ 2 }, 1);
	/* Run 3, 4, 5: at home 5 (trainer 2) and 3, away 4. */
	o.part = 1;
	o.rank = 2;
	assert_share(book, &o, (const dg_id[]){ 5, 4 }, 2);
	o.rank = 3;
	assert_share(book, &o, (const dg_id[]){ 3 }, 1);
	dgi_book_free(book);
}

static void one_partition_and_one_trainer_have_all_in_order(void **state)
{
	static const int64_t counts[] = { 101 };
	int64_t mask[101];
	dg_id want[101];
	const dg_column column = { .data = mask, .dtype = DG_INT64, .n = 101 };
	dg_book *book = book_of(counts, 1);
	dg_split_options o = { .n_trainers = 1, .mask = &column };
	size_t n = 0;

	(void)state;
	for (dg_id i = 0; i < 101; i++) {
		mask[i] = i % 30 == 7 ? -3 : 0;
		if (mask[i])
			want[n++] = i;
	}
	assert_share(book, &o, want, n);
	dgi_book_free(book);
}

static void trainer_ids_for_more_trainers_than_there_are_are_divided(void **state)
{
	static const int64_t counts[] = { 4 };
	static const int8_t trainer_ids[] = { 3, 0, 2, 1 };
	const uint8_t mask[] = { 1, 1, 1, 1 };
	const dg_column column = { .data = mask, .dtype = DG_UINT8, .n = 4 };
	const dg_column trainers = { .data = trainer_ids, .dtype = DG_INT8, .n = 4 };
	dg_book *book = book_of(counts, 1);
	dg_split_options o = { .n_trainers = 2, .mask = &column, .trainer_ids = &trainers };
	dg_error err = { 0 };
	dg_id *got;
	size_t n;

	(void)state;
	assert_share(book, &o, (const dg_id[]){ 1, 3 }, 2);
	o.rank = 1;
	assert_share(book, &o, (const dg_id[]){ 0, 2 }, 2);
	o.n_trainer_ids = 5;
	assert_fails(dg_split(book, &o, &got, &n, &err), DG_INVALID, &err,
		     "trainer ids are of 5 trainers, want a multiple of the 2");
	dgi_book_free(book);
}

/* --- Refusals --- */

static void what_makes_no_sense_is_refused(void **state)
{
	static const int64_t counts[] = { 4, 4 };
	static const int64_t below[] = { 0, 0, -1, 0, 0, 0, 0, 0 };
	const uint8_t mask[8] = { 1, 1, 1, 1, 1, 1, 1, 1 };
	const float floats[8] = { 0 };
	const dg_column column = { .data = mask, .dtype = DG_UINT8, .n = 8 };
	const dg_column shorter = { .data = mask, .dtype = DG_UINT8, .n = 7 };
	const dg_column real = { .data = floats, .dtype = DG_FLOAT32, .n = 8 };
	const dg_column nothing = { .dtype = DG_UINT8, .n = 8 };
	const dg_column trainers = { .data = below, .dtype = DG_INT64, .n = 8 };
	const dg_split_options good = { .n_trainers = 4, .mask = &column };
	dg_book *book = book_of(counts, 2);
	dg_split_options o = good;
	dg_error err = { 0 };
	dg_id *got;
	size_t n;

	(void)state;
#define assert_split_fails(status, text) \
	assert_fails(dg_split(book, &o, &got, &n, &err), status, &err, text)
	o.rank = 4;
	assert_split_fails(DG_RANGE, "rank 4 of 4 trainers");
	o = good;
	o.part = 2;
	assert_split_fails(DG_RANGE, "partition 2: the graph has 2");
	o = good;
	o.n_trainers = 3;
	assert_split_fails(DG_INVALID, "3 trainers, want a multiple of the 2 partitions, or fewer");
	o = good;
	o.type = 1;
	assert_split_fails(DG_RANGE, "type 1: the graph has 1");
	o = good;
	o.mask = NULL;
	assert_split_fails(DG_INVALID, "wants a mask");
	o.mask = &shorter;
	assert_split_fails(DG_INVALID, "mask: 7 numbers, want one for each of the 8 nodes");
	o.mask = &real;
	assert_split_fails(DG_INVALID, "mask: dtype float32, want bool or integers");
	o.mask = &nothing;
	assert_split_fails(DG_INVALID, "mask: neither data, nor client, nor stores");
	o = good;
	o.trainer_ids = &trainers;
	assert_split_fails(DG_RANGE, "trainer ids: -1 of id 2, want 0 or more");
#undef assert_split_fails
	dgi_book_free(book);
}

/* --- Random splits against sets --- */

struct random_split {
	dg_book *book;
	uint32_t n_parts;
	int64_t n;
	uint8_t mask[IDS_MAX];
	int64_t trainer_ids[IDS_MAX];
	dg_column mask_column;
	dg_column trainer_column;
};

static void random_split_init(struct random_split *r, struct dgi_rng *rng)
{
	int64_t counts[PARTS_MAX];
	uint64_t rate = 1 + dgi_rng_below(rng, 5);

	*r = (struct random_split){ .n_parts = (uint32_t)(1 + dgi_rng_below(rng, PARTS_MAX)) };
	for (uint32_t p = 0; p < r->n_parts; p++) {
		counts[p] = dgi_rng_below(rng, 4) ? (int64_t)dgi_rng_below(rng, 40) : 0;
		r->n += counts[p];
	}
	for (int64_t i = 0; i < r->n; i++) {
		r->mask[i] = dgi_rng_below(rng, rate) == 0;
		r->trainer_ids[i] = (int64_t)dgi_rng_below(rng, 24);
	}
	r->book = book_of(counts, r->n_parts);
	r->mask_column = (dg_column){ .data = r->mask, .dtype = DG_UINT8, .n = r->n };
	r->trainer_column = (dg_column){ .data = r->trainer_ids, .dtype = DG_INT64, .n = r->n };
}

/* All shares together are the mask; equal ones are equal. Twice the same gives the same. */
static void assert_shares_are_the_mask(struct random_split *r, dg_split_options o)
{
	uint32_t c = o.n_trainers > r->n_parts ? o.n_trainers / r->n_parts : 1;
	uint8_t seen[IDS_MAX] = { 0 };
	size_t least = SIZE_MAX, most = 0;
	dg_error err = { 0 };

	for (o.rank = 0; o.rank < o.n_trainers; o.rank++) {
		dg_id *got = NULL, *again = NULL;
		size_t n = 0, n_again = 0;

		o.part = o.n_trainers < r->n_parts ? 0 : o.rank / c;
		assert_ok(dg_split(r->book, &o, &got, &n, &err), &err);
		assert_ok(dg_split(r->book, &o, &again, &n_again, &err), &err);
		assert_int_equal(n, n_again);
		assert_memory_equal(got, again, n * sizeof *got);
		for (size_t i = 0; i < n; i++) {
			dg_id start, end;

			dg_book_range(r->book, DG_NODE, 0, o.part, &start, &end);
			if (o.local && o.n_trainers >= r->n_parts)
				assert_true(got[i] >= start && got[i] < end);
			seen[got[i]]++;
		}
		least = n < least ? n : least;
		most = n > most ? n : most;
		dg_free(got);
		dg_free(again);
	}
	assert_memory_equal(seen, r->mask, (size_t)r->n);
	if (!o.local)
		assert_true(most - least <= (o.trainer_ids ? 3 : 2));
}

static void all_shares_together_are_exactly_what_is_selected(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 300; seed++) {
		struct dgi_rng rng = dgi_rng_of(seed, 3);
		struct random_split r;
		dg_split_options o = { .seed = seed };

		random_split_init(&r, &rng);
		o.mask = &r.mask_column;
		o.n_trainers = r.n_parts * (uint32_t)(1 + dgi_rng_below(&rng, 3));
		if (dgi_rng_below(&rng, 3) == 0)
			o.n_trainers = (uint32_t)(1 + dgi_rng_below(&rng, r.n_parts));
		assert_shares_are_the_mask(&r, o);
		o.local = 1;
		assert_shares_are_the_mask(&r, o);
		o.local = 0;
		o.trainer_ids = &r.trainer_column;
		o.n_trainer_ids = o.n_trainers * 2;
		assert_shares_are_the_mask(&r, o);
		dgi_book_free(r.book);
	}
}

/* --- Masks of several blocks, and in stores --- */

static void a_mask_of_many_blocks_is_cut_where_it_should_be(void **state)
{
	enum { N = 300000 };
	static const int64_t counts[] = { 100000, 70000, 130000 };
	uint8_t *mask = calloc(N, 1);
	dg_id *selected = malloc(N * sizeof *selected);
	const dg_column column = { .data = mask, .dtype = DG_UINT8, .n = N };
	dg_book *book = book_of(counts, 3);
	struct dgi_rng rng = dgi_rng_of(5, 5);
	dg_split_options o = { .n_trainers = 3, .mask = &column };
	size_t n = 0;

	(void)state;
	for (dg_id i = 0; i < N; i++) {
		mask[i] = dgi_rng_below(&rng, 10) == 0;
		if (mask[i])
			selected[n++] = i;
	}
	for (o.rank = 0; o.rank < 3; o.rank++) {
		size_t begin = dgi_even_begin(n, 3, o.rank);

		o.part = o.rank;
		assert_share(book, &o, selected + begin, dgi_even_begin(n, 3, o.rank + 1) - begin);
	}
	free(mask);
	free(selected);
	dgi_book_free(book);
}

static const dg_tensor_info *tensor_of(const dg_store *store, const char *name)
{
	size_t n;
	const dg_tensor_info *all = dg_store_tensors(store, &n);

	for (size_t i = 0; i < n; i++)
		if (strcmp(all[i].name, name) == 0)
			return &all[i];
	return NULL;
}

static void a_mask_in_the_stores_is_read_from_them(void **state)
{
	char *dir = tmpdir_new(), path[DG_PATH_BYTES_MAX];
	dg_store *stores[GRAPH_FIXTURE_PARTS];
	dg_column column = { .stores = stores, .n_stores = GRAPH_FIXTURE_PARTS };
	dg_split_options o = { .n_trainers = GRAPH_FIXTURE_PARTS, .mask = &column, .local = 1 };
	dg_id all[GRAPH_FIXTURE_NODES], *got;
	dg_error err = { 0 };
	size_t n;

	(void)state;
	assert_int_equal(graph_fixture_make(dir), DG_OK);
	for (uint32_t p = 0; p < GRAPH_FIXTURE_PARTS; p++) {
		(void)snprintf(path, sizeof path, "%s/part%u", dir, p);
		assert_ok(dg_store_open(path, NULL, &stores[p], &err), &err);
	}
	/* Row i of "label" is i: all but node 0 are selected. */
	column.tensor = *tensor_of(stores[0], "label");
	for (dg_id i = 0; i < GRAPH_FIXTURE_NODES; i++)
		all[i] = i;
	assert_share(dg_store_book(stores[0]), &o, all + 1, 9);
	o.part = o.rank = 1;
	assert_share(dg_store_book(stores[0]), &o, all + 10, 14);
	o.local = 0;
	assert_share(dg_store_book(stores[0]), &o, all + 11, 10);
	column.tensor = *tensor_of(stores[0], "feat");
	assert_fails(dg_split(dg_store_book(stores[0]), &o, &got, &n, &err), DG_INVALID, &err,
		     "tensor 'feat' has rows of 16 bytes, want one number");
	column.tensor = *tensor_of(stores[0], "weight");
	assert_fails(dg_split(dg_store_book(stores[0]), &o, &got, &n, &err), DG_INVALID, &err,
		     "tensor 'weight' belongs to other ids");
	for (uint32_t p = 0; p < GRAPH_FIXTURE_PARTS; p++)
		dg_store_close(stores[p]);
	tmpdir_remove(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(local_shares_are_blocks_and_the_last_has_the_remainder),
		cmocka_unit_test(equal_shares_are_runs_of_the_selected_ids),
		cmocka_unit_test(runs_differ_by_one_and_the_longer_come_first),
		cmocka_unit_test(trainers_of_a_run_share_it_evenly_each_in_order),
		cmocka_unit_test(trainer_ids_decide_who_gets_what),
		cmocka_unit_test(ids_of_other_trainers_come_behind_the_own),
		cmocka_unit_test(one_partition_and_one_trainer_have_all_in_order),
		cmocka_unit_test(trainer_ids_for_more_trainers_than_there_are_are_divided),
		cmocka_unit_test(what_makes_no_sense_is_refused),
		cmocka_unit_test(all_shares_together_are_exactly_what_is_selected),
		cmocka_unit_test(a_mask_of_many_blocks_is_cut_where_it_should_be),
		cmocka_unit_test(a_mask_in_the_stores_is_read_from_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
