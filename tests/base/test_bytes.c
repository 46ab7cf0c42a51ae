/* What base/bytes.c and base/buffer.c promise. */
#include "test.h"

#include "buffer.h"
#include "bytes.h"

#include <string.h>

static void fields_come_back_in_the_order_written(void **state)
{
	uint8_t data[64];
	struct dgi_writer w = dgi_writer_of(data, sizeof data);
	struct dgi_reader r;
	char text[8];

	(void)state;
	dgi_write_u8(&w, 0x12);
	dgi_write_u16(&w, 0x3456);
	dgi_write_u32(&w, 0x789abcde);
	dgi_write_u64(&w, UINT64_C(0x0123456789abcdef));
	dgi_write_i64(&w, -2);
	dgi_write_string(&w, "karate");
	assert_false(w.short_write);
	assert_int_equal(data[1], 0x56); /* little-endian */

	r = dgi_reader_of(data, w.written);
	assert_int_equal(dgi_read_u8(&r), 0x12);
	assert_int_equal(dgi_read_u16(&r), 0x3456);
	assert_int_equal(dgi_read_u32(&r), 0x789abcde);
	assert_true(dgi_read_u64(&r) == UINT64_C(0x0123456789abcdef));
	assert_int_equal(dgi_read_i64(&r), -2);
	dgi_read_string(&r, text, sizeof text);
	assert_string_equal(text, "karate");
	assert_false(r.short_read);
	assert_int_equal(r.left, 0);
}

static void a_short_reader_remembers_and_gives_zeros(void **state)
{
	const uint8_t data[3] = { 1, 2, 3 };
	struct dgi_reader r = dgi_reader_of(data, sizeof data);

	(void)state;
	assert_int_equal(dgi_read_u32(&r), 0);
	assert_true(r.short_read);
	assert_int_equal(dgi_read_u8(&r), 0); /* even though a byte is left */
}

static void a_short_writer_writes_nothing_more(void **state)
{
	uint8_t data[5] = { 0 };
	struct dgi_writer w = dgi_writer_of(data, sizeof data);

	(void)state;
	dgi_write_u32(&w, 7);
	dgi_write_u32(&w, 8);
	dgi_write_u8(&w, 9);
	assert_true(w.short_write);
	assert_int_equal(w.written, 4);
	assert_int_equal(data[4], 0);
}

static void a_string_that_does_not_fit_or_holds_a_nul_is_refused(void **state)
{
	const uint8_t long_one[] = { 4, 0, 'a', 'b', 'c', 'd' };
	const uint8_t nul_inside[] = { 2, 0, 'a', 0 };
	char text[4];
	struct dgi_reader r = dgi_reader_of(long_one, sizeof long_one);

	(void)state;
	dgi_read_string(&r, text, sizeof text);
	assert_true(r.short_read);
	r = dgi_reader_of(nul_inside, sizeof nul_inside);
	dgi_read_string(&r, text, sizeof text);
	assert_true(r.short_read);
}

static void big_endian_keys_sort_by_their_numbers(void **state)
{
	uint8_t small[8], large[8];

	(void)state;
	dgi_put_be64(small, 255);
	dgi_put_be64(large, 256);
	assert_true(memcmp(small, large, 8) < 0);
	assert_true(dgi_get_be64(large) == 256);
}

static void sizes_that_overflow_are_told(void **state)
{
	size_t out = 5;

	(void)state;
	assert_false(dgi_multiply_size(SIZE_MAX / 2, 3, &out));
	assert_false(dgi_add_size(SIZE_MAX, 1, &out));
	assert_int_equal(out, 5);
	assert_true(dgi_multiply_size(3, 4, &out));
	assert_int_equal(out, 12);
}

static void a_buffer_grows_up_to_its_maximum(void **state)
{
	struct dgi_buffer b = dgi_buffer_of(10);
	dg_error err = { 0 };

	(void)state;
	assert_ok(dgi_buffer_append(&b, "0123456789", 10, &err), &err);
	assert_fails(dgi_buffer_append(&b, "x", 1, &err), DG_FULL, &err, "at most 10");
	assert_memory_equal(b.data, "0123456789", 10);
	assert_int_equal((uintptr_t)b.data % 64, 0);
	dgi_buffer_clear(&b);
	assert_null(b.data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields_come_back_in_the_order_written),
		cmocka_unit_test(a_short_reader_remembers_and_gives_zeros),
		cmocka_unit_test(a_short_writer_writes_nothing_more),
		cmocka_unit_test(a_string_that_does_not_fit_or_holds_a_nul_is_refused),
		cmocka_unit_test(big_endian_keys_sort_by_their_numbers),
		cmocka_unit_test(sizes_that_overflow_are_told),
		cmocka_unit_test(a_buffer_grows_up_to_its_maximum),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
