/* What src/import/id_map.h promises. */
#include "test.h"

#include "id_map.h"

#include <stdio.h>

/* So many that some have the bits of the hash in common that a slot keeps. */
#define N_IDS 1000000

static int64_t integer_of(int64_t i)
{
	return (int64_t)((uint64_t)i * 0x9E3779B97F4A7C15U);
}

static size_t string_of(int64_t i, char out[32])
{
	return (size_t)snprintf(out, 32, "node/%lld", (long long)i);
}

static void integers_are_numbered_as_they_come_however_their_hashes_fall(void **state)
{
	struct dgi_id_map map = dgi_id_map_new(false);
	int64_t n_wrong = 0, number;

	(void)state;
	for (int64_t i = 0; i < N_IDS; i++) {
		assert_int_equal(dgi_id_map_integer(&map, integer_of(i), &number, NULL), DG_OK);
		n_wrong += number != i;
	}
	for (int64_t i = 0; i < N_IDS; i++) {
		n_wrong += dgi_id_map_find_integer(&map, integer_of(i)) != i;
		n_wrong += dgi_id_map_find_integer(&map, integer_of(N_IDS + i)) != -1;
	}
	assert_int_equal(n_wrong, 0);
	assert_int_equal(map.n, N_IDS);
	dgi_id_map_clear(&map);
}

static void strings_are_numbered_as_they_come_however_their_hashes_fall(void **state)
{
	struct dgi_id_map map = dgi_id_map_new(true);
	int64_t n_wrong = 0, number;
	char text[32];

	(void)state;
	for (int64_t i = 0; i < N_IDS; i++) {
		assert_int_equal(dgi_id_map_string(&map, text, string_of(i, text), &number, NULL),
				 DG_OK);
		n_wrong += number != i;
	}
	for (int64_t i = 0; i < N_IDS; i++) {
		n_wrong += dgi_id_map_find_string(&map, text, string_of(i, text)) != i;
		n_wrong += dgi_id_map_find_string(&map, text, string_of(N_IDS + i, text)) != -1;
	}
	assert_int_equal(n_wrong, 0);
	assert_int_equal(map.n, N_IDS);
	dgi_id_map_clear(&map);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(integers_are_numbered_as_they_come_however_their_hashes_fall),
		cmocka_unit_test(strings_are_numbered_as_they_come_however_their_hashes_fall),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
