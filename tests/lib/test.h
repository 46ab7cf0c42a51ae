/* test.h -- cmocka with what it needs before it, and helpers that every test uses. */
#ifndef DGI_TEST_H
#define DGI_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include <distgraph/error.h>

/* Fails with the error's text, which assert_int_equal would not show. */
#define assert_ok(call, err) \
	do { \
		dg_status assert_ok_status = (call); \
		if (assert_ok_status != DG_OK) \
			fail_msg("%s: %s: %s", #call, dg_status_text(assert_ok_status), \
				 (err)->text); \
	} while (0)

/* The call fails with @wanted and its text contains @part. */
#define assert_fails(call, wanted, err, part) \
	do { \
		dg_status assert_fails_status = (call); \
		if (assert_fails_status != (wanted)) \
			fail_msg("%s: status %d (%s), want %d", #call, (int)assert_fails_status, \
				 (err)->text, (int)(wanted)); \
		if (!strstr((err)->text, (part))) \
			fail_msg("%s: '%s' does not contain '%s'", #call, (err)->text, (part)); \
	} while (0)

#endif
