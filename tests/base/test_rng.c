/* What base/rng.c, base/uuid.c and base/deadline.c promise. */
#include "test.h"

#include "deadline.h"
#include "rng.h"
#include "uuid.h"

#include <string.h>

static void values_depend_on_seed_stream_and_index_alone(void **state)
{
	struct dgi_rng a = dgi_rng_of(42, 7);
	struct dgi_rng b = dgi_rng_of(42, 7);
	uint64_t third;

	(void)state;
	(void)dgi_rng_next(&a);
	(void)dgi_rng_next(&a);
	third = dgi_rng_next(&a);
	assert_true(dgi_rng_at(&b, 2) == third);
	b = dgi_rng_of(42, 8);
	assert_false(dgi_rng_at(&b, 2) == third);
	b = dgi_rng_of(43, 7);
	assert_false(dgi_rng_at(&b, 2) == third);
}

/* Chi-square over 10 cells, 9 degrees of freedom: 27.9 is the 0.999 quantile. */
static void below_is_uniform(void **state)
{
	struct dgi_rng rng = dgi_rng_of(1, 0);
	long cells[10] = { 0 };
	double chi_square = 0;

	(void)state;
	for (int i = 0; i < 100000; i++)
		cells[dgi_rng_below(&rng, 10)]++;
	for (int i = 0; i < 10; i++) {
		double off = (double)cells[i] - 10000;

		chi_square += off * off / 10000;
	}
	assert_true(chi_square < 27.9);
	assert_true(dgi_rng_below(&rng, 1) == 0);
	for (int i = 0; i < 1000; i++) {
		double unit = dgi_rng_unit(&rng);

		assert_true(unit >= 0 && unit < 1);
	}
}

static void a_uuid_survives_its_text(void **state)
{
	dg_uuid uuid, other;
	char text[DG_UUID_TEXT_BYTES];
	dg_error err = { 0 };

	(void)state;
	assert_ok(dgi_uuid_new(&uuid, &err), &err);
	dgi_uuid_text(&uuid, text);
	assert_int_equal(text[14], '4');
	assert_ok(dgi_uuid_parse(text, &other, &err), &err);
	assert_true(dgi_uuid_equal(&uuid, &other));
	text[0] = 'x';
	assert_fails(dgi_uuid_parse(text, &other, &err), DG_INVALID, &err, "want 8-4-4-4-12");
	assert_fails(dgi_uuid_parse("", &other, &err), DG_INVALID, &err, "uuid ''");
}

static void a_deadline_passes(void **state)
{
	struct dgi_deadline deadline = dgi_deadline_in(20);

	(void)state;
	assert_false(dgi_deadline_passed(deadline));
	assert_in_range(dgi_deadline_left_ms(deadline), 1, 20);
	while (!dgi_deadline_passed(deadline))
		dgi_sleep_ms(5);
	assert_int_equal(dgi_deadline_left_ms(deadline), 0);
	assert_true(dgi_deadline_left_ms(dgi_deadline_in(INT64_C(1) << 40)) > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_depend_on_seed_stream_and_index_alone),
		cmocka_unit_test(below_is_uniform),
		cmocka_unit_test(a_uuid_survives_its_text),
		cmocka_unit_test(a_deadline_passes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
