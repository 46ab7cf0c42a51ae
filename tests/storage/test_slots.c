/* What storage/slots.c promises. */
#include "test.h"

#include "slots.h"

#include <string.h>

static void slots_are_apart_and_page_aligned(void **state)
{
	struct dgi_slots *pool;
	dg_error err = { 0 };
	uint32_t slots[1000];

	(void)state;
	assert_ok(dgi_slots_new(UINT64_C(1) << 30, &pool, &err), &err);
	for (int i = 0; i < 1000; i++) {
		assert_ok(dgi_slots_take(pool, 16, &slots[i], &err), &err);
		memset(dgi_slot_at(dgi_slots_segments(pool), slots[i]), i & 0xff,
		       (size_t)16 * 4096);
	}
	for (int i = 0; i < 1000; i++) {
		const uint8_t *at = dgi_slot_at(dgi_slots_segments(pool), slots[i]);

		assert_int_equal((uintptr_t)at % 4096, 0);
		for (size_t k = 0; k < (size_t)16 * 4096; k += 4095)
			assert_int_equal(at[k], i & 0xff);
	}
	dgi_slots_free(pool);
}

static void a_slot_given_back_is_taken_again(void **state)
{
	struct dgi_slots *pool;
	struct dgi_slots_stats stats;
	dg_error err = { 0 };
	uint32_t first, second, other;

	(void)state;
	assert_ok(dgi_slots_new(UINT64_C(1) << 30, &pool, &err), &err);
	assert_ok(dgi_slots_take(pool, 4, &first, &err), &err);
	assert_ok(dgi_slots_take(pool, 256, &other, &err), &err);
	dgi_slots_give(pool, first);
	assert_ok(dgi_slots_take(pool, 4, &second, &err), &err);
	assert_int_equal(first, second);
	dgi_slots_get_stats(pool, &stats);
	assert_int_equal(stats.used_bytes, 260 * 4096);
	assert_int_equal(stats.mapped_bytes, 2 * DGI_SLOTS_SEGMENT_BYTES);
	dgi_slots_free(pool);
}

static void the_budget_is_kept_to_the_byte(void **state)
{
	struct dgi_slots *pool;
	dg_error err = { 0 };
	uint32_t slot;

	(void)state;
	assert_ok(dgi_slots_new(3 * 4096, &pool, &err), &err);
	assert_ok(dgi_slots_take(pool, 1, &slot, &err), &err);
	assert_ok(dgi_slots_take(pool, 2, &slot, &err), &err);
	assert_fails(dgi_slots_take(pool, 1, &slot, &err), DG_FULL, &err, "budget");
	dgi_slots_give(pool, slot);
	assert_ok(dgi_slots_take(pool, 1, &slot, &err), &err);
	dgi_slots_free(pool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slots_are_apart_and_page_aligned),
		cmocka_unit_test(a_slot_given_back_is_taken_again),
		cmocka_unit_test(the_budget_is_kept_to_the_byte),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
