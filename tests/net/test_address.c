/* What net/address.c promises. */
#include "test.h"

#include "address.h"
#include "tmpdir.h"
#include "uuid.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static struct dgi_address parsed(const char *text, uint16_t default_port)
{
	struct dgi_address a;
	dg_error err = { 0 };

	assert_ok(dgi_address_parse(text, default_port, &a, &err), &err);
	return a;
}

static void expect_text(const char *text, uint16_t default_port, const char *wanted)
{
	struct dgi_address a = parsed(text, default_port);
	char out[DGI_ADDRESS_BYTES];

	dgi_address_format(&a, out);
	assert_string_equal(out, wanted);
}

static void every_form_is_read_and_written(void **state)
{
	(void)state;
	expect_text("localhost:30050", 0, "localhost:30050");
	expect_text("localhost 30050", 0, "localhost:30050");
	expect_text("10.0.0.1 \t 0", 0, "10.0.0.1:0");
	expect_text("host", 30050, "host:30050");
	expect_text("host:65535", 30050, "host:65535");
	expect_text("[::1]:7", 0, "[::1]:7");
	expect_text("[fe80::1] 7", 0, "[fe80::1]:7");
	expect_text("[::1]", 9, "[::1]:9");
	expect_text("unix:/run/a b.sock", 0, "unix:/run/a b.sock");
	expect_text("unix:part0/serve.sock", 30050, "unix:part0/serve.sock");
}

static void what_is_no_address_is_refused_with_the_reason(void **state)
{
	struct dgi_address a;
	dg_error err = { 0 };

	(void)state;
	assert_fails(dgi_address_parse("host", 0, &a, &err), DG_INVALID, &err, "no port");
	assert_fails(dgi_address_parse("", 1, &a, &err), DG_INVALID, &err, "host of 0 bytes");
	assert_fails(dgi_address_parse(":1", 1, &a, &err), DG_INVALID, &err, "host of 0 bytes");
	assert_fails(dgi_address_parse("h:65536", 0, &a, &err), DG_INVALID, &err, "port '65536'");
	assert_fails(dgi_address_parse("h:", 0, &a, &err), DG_INVALID, &err, "port ''");
	assert_fails(dgi_address_parse("h:1x", 0, &a, &err), DG_INVALID, &err, "port '1x'");
	assert_fails(dgi_address_parse("h:-1", 0, &a, &err), DG_INVALID, &err, "port '-1'");
	assert_fails(dgi_address_parse("::1:7", 0, &a, &err), DG_INVALID, &err, "stands in []");
	assert_fails(dgi_address_parse("[::1", 0, &a, &err), DG_INVALID, &err, "[v6]:port");
	assert_fails(dgi_address_parse("[::1]7", 0, &a, &err), DG_INVALID, &err, "[v6]:port");
	assert_fails(dgi_address_parse("unix:", 0, &a, &err), DG_INVALID, &err, "no path");
}

static void a_unix_path_and_a_host_have_longest_lengths(void **state)
{
	char text[400] = "unix:";
	struct dgi_address a;
	dg_error err = { 0 };

	(void)state;
	memset(text + 5, 'p', 107);
	assert_int_equal(strlen(parsed(text, 0).path), 107);
	text[5 + 107] = 'p';
	assert_fails(dgi_address_parse(text, 0, &a, &err), DG_INVALID, &err,
		     "path of 108 bytes, a Unix socket takes 107");
	memset(text, 'h', sizeof text);
	memcpy(text + 255, ":1", 3);
	assert_int_equal(strlen(parsed(text, 0).host), 255);
	memcpy(text + 255, "h:1", 4);
	assert_fails(dgi_address_parse(text, 0, &a, &err), DG_INVALID, &err, "host of 256 bytes");
}

static struct dgi_endpoints resolved(const char *text)
{
	struct dgi_address a = parsed(text, 0);
	struct dgi_endpoints e;
	dg_error err = { 0 };

	assert_ok(dgi_address_resolve(&a, dgi_deadline_in(10000), &e, &err), &err);
	return e;
}

static bool is_local(const char *text)
{
	struct dgi_endpoints e = resolved(text);

	return dgi_endpoints_are_local(&e);
}

static void only_this_host_reaches_loopback_and_unix_sockets(void **state)
{
	(void)state;
	assert_true(is_local("127.0.0.1:1"));
	assert_true(is_local("127.9.9.9:1"));
	assert_true(is_local("[::1]:1"));
	assert_true(is_local("[::ffff:127.0.0.1]:1"));
	assert_true(is_local("unix:/tmp/s"));
	assert_false(is_local("0.0.0.0:1"));
	assert_false(is_local("128.0.0.1:1"));
	assert_false(is_local("[::]:1"));
	assert_false(is_local("[::ffff:10.0.0.1]:1"));
}

static void endpoints_become_addresses_again(void **state)
{
	static const char *const texts[] = { "127.0.0.1:30050", "[::1]:30051", "unix:/tmp/x" };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct dgi_endpoints e = resolved(texts[i]);
		struct dgi_address a;
		char out[DGI_ADDRESS_BYTES];

		dgi_endpoint_address(&e.at[0], &a);
		dgi_address_format(&a, out);
		assert_string_equal(out, texts[i]);
	}
}

static void names_are_looked_up(void **state)
{
	struct dgi_address a = parsed("localhost:5", 0);
	struct dgi_endpoints e = resolved("localhost:5");
	dg_error err = { 0 };
	dg_status st;

	(void)state;
	assert_true(dgi_endpoints_are_local(&e));
	a = parsed("no-such-host.invalid:5", 0);
	st = dgi_address_resolve(&a, dgi_deadline_in(10000), &e, &err);
	assert_true(st == DG_NOTFOUND || st == DG_TIMEOUT); /* no resolver: it cannot tell */
	assert_non_null(strstr(err.text, "no-such-host.invalid"));
}

static void a_store_has_a_socket_of_its_own(void **state)
{
	char *dir = tmpdir_new();
	struct dgi_address a;
	char wanted[DGI_ADDRESS_BYTES], *real = realpath(dir, NULL);
	dg_error err = { 0 };

	(void)state;
	assert_ok(dgi_address_local(dir, NULL, &a, &err), &err);
	(void)snprintf(wanted, sizeof wanted, "%s/serve.sock", real);
	assert_true(a.is_unix);
	assert_string_equal(a.path, wanted);
	free(real);
	tmpdir_remove(dir);
	assert_fails(dgi_address_local("/no/such/store", NULL, &a, &err), DG_NOTFOUND, &err,
		     "/no/such/store");
}

/* A directory under @dir whose real path has @n bytes, to be freed. */
static char *directory_of_length(const char *dir, size_t n)
{
	char *real = realpath(dir, NULL), *path = malloc(n + 1);
	size_t used = strlen(real);

	assert_true(used + 2 < n);
	memset(path, 'd', n);
	memcpy(path, real, used);
	path[used] = '/';
	path[n] = '\0';
	assert_int_equal(mkdir(path, 0700), 0);
	free(real);
	return path;
}

static void a_deep_store_has_its_socket_in_the_runtime_directory(void **state)
{
	dg_uuid uuid = { { 0xab } };
	char *dir = tmpdir_new(), *path;
	struct dgi_address a;
	dg_error err = { 0 };

	(void)state;
	path = directory_of_length(dir, 100 - strlen("/serve.sock"));
	assert_ok(dgi_address_local(path, NULL, &a, &err), &err);
	assert_int_equal(strlen(a.path), 100);
	free(path);
	path = directory_of_length(dir, 101 - strlen("/serve.sock"));
	(void)setenv("XDG_RUNTIME_DIR", "/run/user/7", 1);
	assert_ok(dgi_address_local(path, &uuid, &a, &err), &err);
	assert_string_equal(a.path,
			    "/run/user/7/distgraph-ab000000-0000-0000-0000-000000000000.sock");
	assert_fails(dgi_address_local(path, NULL, &a, &err), DG_INVALID, &err, "not known to run");
	(void)unsetenv("XDG_RUNTIME_DIR");
	assert_fails(dgi_address_local(path, &uuid, &a, &err), DG_INVALID, &err,
		     "XDG_RUNTIME_DIR is not set");
	free(path);
	tmpdir_remove(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_form_is_read_and_written),
		cmocka_unit_test(what_is_no_address_is_refused_with_the_reason),
		cmocka_unit_test(a_unix_path_and_a_host_have_longest_lengths),
		cmocka_unit_test(only_this_host_reaches_loopback_and_unix_sockets),
		cmocka_unit_test(endpoints_become_addresses_again),
		cmocka_unit_test(names_are_looked_up),
		cmocka_unit_test(a_store_has_a_socket_of_its_own),
		cmocka_unit_test(a_deep_store_has_its_socket_in_the_runtime_directory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
