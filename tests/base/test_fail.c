/* What base/fail.c and base/log.c promise. */
#include "test.h"

#include "fail.h"
#include "log.h"

#include <errno.h>
#include <string.h>

static void context_goes_in_front(void **state)
{
	dg_error err = { 0 };

	(void)state;
	assert_int_equal(dgi_fail(&err, DG_RANGE, "row %d", 7), DG_RANGE);
	assert_int_equal(dgi_context(&err, DG_RANGE, "tensor '%s'", "feat"), DG_RANGE);
	assert_string_equal(err.text, "tensor 'feat': row 7");
	assert_int_equal(err.status, DG_RANGE);
}

static void a_long_text_is_cut_and_ends(void **state)
{
	dg_error err = { 0 };
	char word[400];

	(void)state;
	memset(word, 'x', sizeof word - 1);
	word[sizeof word - 1] = '\0';
	(void)dgi_fail(&err, DG_IO, "%s", word);
	(void)dgi_context(&err, DG_IO, "%s", word);
	assert_int_equal(strnlen(err.text, sizeof err.text), sizeof err.text - 1);
}

static void control_bytes_never_reach_a_message(void **state)
{
	dg_error err = { 0 };

	(void)state;
	(void)dgi_fail(&err, DG_INVALID, "name '%s'", "a\nb\033[2J");
	assert_string_equal(err.text, "name 'a?b?[2J'");
}

static void errno_gets_a_status_and_a_text(void **state)
{
	dg_error err = { 0 };

	(void)state;
	assert_int_equal(dgi_fail_errno(&err, ENOSPC, "write '%s'", "f"), DG_FULL);
	assert_string_equal(err.text, "write 'f': No space left on device");
	assert_int_equal(dgi_status_of_errno(EADDRINUSE), DG_BUSY);
}

static void no_error_object_is_fine(void **state)
{
	(void)state;
	assert_int_equal(dgi_fail(NULL, DG_IO, "x"), DG_IO);
	assert_int_equal(dgi_context(NULL, DG_IO, "x"), DG_IO);
	assert_string_equal(dg_status_text((dg_status)9999), "unknown status");
	assert_string_equal(dg_status_text((dg_status)-1), "unknown status");
}

struct heard {
	int n;
	dg_log_level level;
	char text[100];
};

static void hear(void *context, dg_log_level level, const char *text)
{
	struct heard *heard = context;

	heard->n++;
	heard->level = level;
	(void)strncpy(heard->text, text, sizeof heard->text - 1);
}

static void the_log_is_silent_until_asked_and_keeps_its_level(void **state)
{
	struct heard heard = { 0 };

	(void)state;
	dgi_log(DG_LOG_ERROR, "nobody hears this");
	dg_log_set(hear, &heard, DG_LOG_WARNING);
	dgi_log(DG_LOG_INFO, "too fine");
	assert_int_equal(heard.n, 0);
	dgi_log(DG_LOG_WARNING, "part %d\tlate", 3);
	assert_int_equal(heard.n, 1);
	assert_string_equal(heard.text, "part 3?late");
	dg_log_set(NULL, NULL, DG_LOG_DEBUG);
	dgi_log(DG_LOG_ERROR, "nobody again");
	assert_int_equal(heard.n, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(context_goes_in_front),
		cmocka_unit_test(a_long_text_is_cut_and_ends),
		cmocka_unit_test(control_bytes_never_reach_a_message),
		cmocka_unit_test(errno_gets_a_status_and_a_text),
		cmocka_unit_test(no_error_object_is_fine),
		cmocka_unit_test(the_log_is_silent_until_asked_and_keeps_its_level),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
