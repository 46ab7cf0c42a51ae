/* What storage/ops.c promises. */
#include "test.h"

#include "ops.h"

#include <math.h>
#include <string.h>

static void integers_wrap_around(void **state)
{
	int8_t old[2] = { 127, -128 }, operand[2] = { 1, -1 };
	int64_t wide = INT64_MAX, one = 1;

	(void)state;
	dgi_op_apply(DG_OP_ADD, DG_INT8, 2, old, operand, old);
	assert_int_equal(old[0], -128);
	assert_int_equal(old[1], 127);
	dgi_op_apply(DG_OP_ADD, DG_INT64, 1, &wide, &one, &wide);
	assert_true(wide == INT64_MIN);
	wide = INT64_MIN;
	one = -1;
	dgi_op_apply(DG_OP_MULTIPLY, DG_INT64, 1, &wide, &one, &wide);
	assert_true(wide == INT64_MIN);
}

static void every_operation_on_every_integer_type(void **state)
{
	int16_t a16[4] = { 3, -7, 100, 5 }, b16[4] = { 4, 2, -3, 5 }, out[4];
	uint8_t a8[2] = { 250, 3 }, b8[2] = { 10, 7 };
	int32_t a32 = -5, b32 = 6;

	(void)state;
	dgi_op_apply(DG_OP_MIN, DG_INT16, 4, a16, b16, out);
	assert_memory_equal(out, ((int16_t[]){ 3, -7, -3, 5 }), sizeof out);
	dgi_op_apply(DG_OP_MAX, DG_INT16, 4, a16, b16, out);
	assert_memory_equal(out, ((int16_t[]){ 4, 2, 100, 5 }), sizeof out);
	dgi_op_apply(DG_OP_MULTIPLY, DG_INT16, 4, a16, b16, out);
	assert_memory_equal(out, ((int16_t[]){ 12, -14, -300, 25 }), sizeof out);
	dgi_op_apply(DG_OP_ASSIGN, DG_INT16, 4, a16, b16, out);
	assert_memory_equal(out, b16, sizeof out);
	dgi_op_apply(DG_OP_ADD, DG_UINT8, 2, a8, b8, a8);
	assert_int_equal(a8[0], 4);
	assert_int_equal(a8[1], 10);
	dgi_op_apply(DG_OP_MULTIPLY, DG_INT32, 1, &a32, &b32, &a32);
	assert_int_equal(a32, -30);
}

static void bools_are_and_and_or(void **state)
{
	uint8_t a[4] = { 0, 0, 1, 1 }, b[4] = { 0, 1, 0, 255 }, out[4];

	(void)state;
	dgi_op_apply(DG_OP_ADD, DG_BOOL, 4, a, b, out);
	assert_memory_equal(out, ((uint8_t[]){ 0, 1, 1, 1 }), 4);
	dgi_op_apply(DG_OP_MULTIPLY, DG_BOOL, 4, a, b, out);
	assert_memory_equal(out, ((uint8_t[]){ 0, 0, 0, 1 }), 4);
}

static void floats_add_and_carry_nan_through_min_and_max(void **state)
{
	float a[3] = { 1.5F, NAN, 2.0F }, b[3] = { 2.25F, 1.0F, NAN }, out[3];
	double c = 0.1, d = 0.2;

	(void)state;
	dgi_op_apply(DG_OP_ADD, DG_FLOAT32, 3, a, b, out);
	assert_true(out[0] == 3.75F);
	dgi_op_apply(DG_OP_MIN, DG_FLOAT32, 3, a, b, out);
	assert_true(out[0] == 1.5F && isnan(out[1]) && isnan(out[2]));
	dgi_op_apply(DG_OP_MAX, DG_FLOAT32, 3, a, b, out);
	assert_true(out[0] == 2.25F && isnan(out[1]) && isnan(out[2]));
	dgi_op_apply(DG_OP_ADD, DG_FLOAT64, 1, &c, &d, &c);
	assert_true(c == 0.1 + 0.2);
}

static void every_half_survives_float32_and_back(void **state)
{
	(void)state;
	for (uint32_t half = 0; half <= 0xffff; half++) {
		float value = dgi_float_of_half((uint16_t)half);

		if (isnan(value))
			assert_true(isnan(dgi_float_of_half(dgi_half_of_float(value))));
		else
			assert_int_equal(dgi_half_of_float(value), half);
		value = dgi_float_of_bfloat((uint16_t)half);
		if (!isnan(value))
			assert_int_equal(dgi_bfloat_of_float(value), half);
	}
}

static void halves_round_to_nearest_even(void **state)
{
	(void)state;
	assert_int_equal(dgi_half_of_float(65504.0F), 0x7bff);
	assert_int_equal(dgi_half_of_float(65519.99F), 0x7bff);
	assert_int_equal(dgi_half_of_float(65520.0F), 0x7c00);	      /* to infinity */
	assert_int_equal(dgi_half_of_float(1.0F + 0x1p-11F), 0x3c00); /* tie, to even */
	assert_int_equal(dgi_half_of_float(1.0F + 3 * 0x1p-11F), 0x3c02);
	assert_int_equal(dgi_half_of_float(0x1p-24F), 0x0001);
	assert_int_equal(dgi_half_of_float(0x1p-25F), 0x0000); /* tie, to even */
	assert_int_equal(dgi_half_of_float(-0x1.8p-25F), 0x8001);
	assert_int_equal(dgi_bfloat_of_float(1.0F + 0x1p-8F), 0x3f80);
	assert_int_equal(dgi_bfloat_of_float(1.0F + 3 * 0x1p-8F), 0x3f82);
	assert_true(isnan(dgi_float_of_bfloat(dgi_bfloat_of_float(NAN))));
}

static void rows_may_lie_anywhere_in_memory(void **state)
{
	char room[32] = { 0 };
	float one = 1, sum;

	(void)state;
	memcpy(room + 1, &one, sizeof one);
	memcpy(room + 6, &one, sizeof one);
	dgi_op_apply(DG_OP_ADD, DG_FLOAT32, 1, room + 1, room + 6, room + 11);
	memcpy(&sum, room + 11, sizeof sum);
	assert_true(sum == 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(integers_wrap_around),
		cmocka_unit_test(every_operation_on_every_integer_type),
		cmocka_unit_test(bools_are_and_and_or),
		cmocka_unit_test(floats_add_and_carry_nan_through_min_and_max),
		cmocka_unit_test(every_half_survives_float32_and_back),
		cmocka_unit_test(halves_round_to_nearest_even),
		cmocka_unit_test(rows_may_lie_anywhere_in_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
