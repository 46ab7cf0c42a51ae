/* The same with one rule broken (a file of storage/ compiled anew): proof that the test can fail. */
#include "test.h"

#include "torn_rows.h"

static void with_a_rule_broken_rows_are_wrong(void **state)
{
	struct torn_rows result = torn_rows_run(30000, 1);

	(void)state;
	print_message("%llu rows read, %llu commits, %llu wrong\n", (unsigned long long)result.read,
		      (unsigned long long)result.commits, (unsigned long long)result.wrong);
	assert_true(result.wrong > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(with_a_rule_broken_rows_are_wrong),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
