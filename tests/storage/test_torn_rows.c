/* Copy and check: a row is read whole while it is being rewritten, over and over. */
#include "test.h"

#include "torn_rows.h"

static void no_row_is_torn_under_a_writer(void **state)
{
	struct torn_rows result = torn_rows_run(2000, 0);

	(void)state;
	print_message("%llu rows read, %llu commits\n", (unsigned long long)result.read,
		      (unsigned long long)result.commits);
	assert_int_equal(result.wrong, 0);
	assert_true(result.read > 0);
	assert_true(result.commits > 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_row_is_torn_under_a_writer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
