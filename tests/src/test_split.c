/* What src/client/split.c promises. */
#include "test.h"

#include "rng.h"
#include "split.h"

#include <stdlib.h>
#include <string.h>

/* Parts of 3, 0, 4 and 1 rows. */
static const int64_t starts[] = { 0, 3, 3, 7, 8 };
#define PARTS 4

static void rows_go_to_their_owners_in_the_callers_order(void **state)
{
	static const dg_id rows[] = { 7, 2, 5, 0, 2, 6 };
	static const dg_id grouped[] = { 2, 0, 2, 5, 6, 7 };
	static const uint32_t places[] = { 1, 3, 4, 2, 5, 0 };
	static const size_t begins[] = { 0, 3, 3, 5, 6 };
	struct dgi_split split = { 0 };
	size_t bad;

	(void)state;
	assert_int_equal(dgi_split_rows(&split, starts, PARTS, rows, 6, &bad), DG_OK);
	assert_memory_equal(split.rows, grouped, sizeof grouped);
	assert_memory_equal(split.places, places, sizeof places);
	assert_memory_equal(split.begins, begins, sizeof begins);
	dgi_split_clear(&split);
}

static void grouped_rows_are_not_copied(void **state)
{
	static const dg_id rows[] = { 2, 0, 6, 3, 7 };
	struct dgi_split split = { 0 };
	size_t bad;

	(void)state;
	assert_int_equal(dgi_split_rows(&split, starts, PARTS, rows, 5, &bad), DG_OK);
	assert_ptr_equal(split.rows, rows);
	assert_null(split.places);
	assert_int_equal(split.begins[1], 2);
	assert_int_equal(split.begins[3], 4);
	assert_int_equal(split.begins[4], 5);
	dgi_split_clear(&split);
}

static void the_first_row_outside_is_told(void **state)
{
	dg_id rows[] = { 1, 7, 8, -1 };
	struct dgi_split split = { 0 };
	size_t bad;

	(void)state;
	assert_int_equal(dgi_split_rows(&split, starts, PARTS, rows, 4, &bad), DG_RANGE);
	assert_int_equal(bad, 2);
	rows[2] = INT64_MIN;
	assert_int_equal(dgi_split_rows(&split, starts, PARTS, rows, 4, &bad), DG_RANGE);
	assert_int_equal(bad, 2);
	assert_int_equal(dgi_split_rows(&split, starts, PARTS, rows, 2, &bad), DG_OK);
	assert_int_equal(dgi_split_rows(&split, starts, PARTS, rows, 0, &bad), DG_OK);
	assert_int_equal(split.begins[PARTS], 0);
	dgi_split_clear(&split);
}

static void a_split_is_used_again_for_more_rows_and_parts(void **state)
{
	static const int64_t one[] = { 0, 100000 };
	struct dgi_rng rng = dgi_rng_of(1, 1);
	struct dgi_split split = { 0 };
	dg_id *rows = malloc(100000 * sizeof *rows);
	size_t bad;

	(void)state;
	for (size_t n = 1; n <= 100000; n *= 10) {
		for (size_t i = 0; i < n; i++)
			rows[i] = (dg_id)dgi_rng_below(&rng, 8);
		assert_int_equal(dgi_split_rows(&split, one, 1, rows, n, &bad), DG_OK);
		assert_null(split.places);
		assert_int_equal(dgi_split_rows(&split, starts, PARTS, rows, n, &bad), DG_OK);
		assert_int_equal(split.begins[PARTS], n);
		for (size_t i = 0; split.places && i < n; i++)
			assert_int_equal(split.rows[i], rows[split.places[i]]);
	}
	dgi_split_clear(&split);
	free(rows);
}

static void rows_of_any_size_are_moved_there_and_back(void **state)
{
	static const size_t sizes[] = { 1, 2, 3, 4, 8, 16, 63, 64, 65, 512, 2408 };
	enum { N = 50 };
	uint32_t places[N];
	uint8_t *from = malloc(N * 2408), *moved = malloc(N * 2408), *back = malloc(N * 2408);
	struct dgi_rng rng = dgi_rng_of(2, 2);

	(void)state;
	for (uint32_t i = 0; i < N; i++)
		places[i] = (i * 7 + 3) % N;
	for (size_t i = 0; i < N * 2408; i++)
		from[i] = (uint8_t)dgi_rng_next(&rng);
	for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
		dgi_rows_scatter(moved, places, from, N, sizes[s]);
		assert_memory_equal(moved + places[1] * sizes[s], from + sizes[s], sizes[s]);
		dgi_rows_collect(back, moved, places, N, sizes[s]);
		assert_memory_equal(back, from, N * sizes[s]);
	}
	free(from);
	free(moved);
	free(back);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_go_to_their_owners_in_the_callers_order),
		cmocka_unit_test(grouped_rows_are_not_copied),
		cmocka_unit_test(the_first_row_outside_is_told),
		cmocka_unit_test(a_split_is_used_again_for_more_rows_and_parts),
		cmocka_unit_test(rows_of_any_size_are_moved_there_and_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
