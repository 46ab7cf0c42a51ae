/* What src/graph/server_record.c promises. */
#include "test.h"

#include "files.h"
#include "lock.h"
#include "server_record.h"
#include "tmpdir.h"
#include "uuid.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static struct dgi_server_record record_of(int64_t pid)
{
	struct dgi_server_record record = {
		.pid = pid,
		.incarnation = 7,
		.store_uuid = { { 1, 2, 3 } },
		.n_addresses = 2,
		.addresses = { "unix:/a/b", "127.0.0.1:30050" },
	};

	return record;
}

static void the_record_of_a_living_server_is_read(void **state)
{
	char *dir = tmpdir_new();
	struct dgi_server_record record = record_of(getpid()), back;
	struct dgi_lock *lock;
	dg_server_record public;
	dg_error err = { 0 };

	(void)state;
	assert_ok(dgi_lock_take(dir, true, &lock, &err), &err);
	assert_ok(dgi_server_record_write(dir, &record, &err), &err);
	assert_ok(dgi_server_record_load(dir, &back, &err), &err);
	assert_memory_equal(&back, &record, sizeof back);
	assert_ok(dg_server_record_read(dir, &public, &err), &err);
	assert_int_equal(public.pid, getpid());
	assert_int_equal(public.incarnation, 7);
	dgi_lock_release(lock);
	tmpdir_remove(dir);
}

static void a_record_is_stale_when_nobody_has_the_store(void **state)
{
	char *dir = tmpdir_new();
	struct dgi_server_record record = record_of(getpid());
	struct dgi_lock *lock;
	dg_server_record public;
	dg_error err = { 0 };

	(void)state;
	assert_ok(dgi_server_record_write(dir, &record, &err), &err);
	assert_fails(dg_server_record_read(dir, &public, &err), DG_NOTFOUND, &err, dir);
	assert_ok(dgi_lock_take(dir, false, &lock, &err), &err);
	assert_fails(dg_server_record_read(dir, &public, &err), DG_NOTFOUND, &err,
		     "nobody writes it");
	dgi_lock_release(lock);
	assert_fails(dg_server_record_read(dir, &public, &err), DG_NOTFOUND, &err,
		     "nobody writes it");
	tmpdir_remove(dir);
}

/* A child that has the store until it is killed. */
static pid_t start_holder(const char *dir)
{
	int ready[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		struct dgi_lock *lock;

		(void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* also when the test fails */
		if (dgi_lock_take(dir, true, &lock, NULL) != DG_OK || write(ready[1], "x", 1) != 1)
			_exit(1);
		(void)pause();
		_exit(1);
	}
	(void)close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	(void)close(ready[0]);
	return pid;
}

static void a_record_must_be_of_the_process_that_has_the_store(void **state)
{
	char *dir = tmpdir_new();
	pid_t pid = start_holder(dir);
	struct dgi_server_record record = record_of(pid), back;
	dg_error err = { 0 };

	(void)state;
	assert_ok(dgi_server_record_write(dir, &record, &err), &err);
	assert_ok(dgi_server_record_load(dir, &back, &err), &err);
	record.pid++;
	assert_ok(dgi_server_record_write(dir, &record, &err), &err);
	assert_fails(dgi_server_record_load(dir, &back, &err), DG_NOTFOUND, &err, "has the store");
	record.pid--;
	assert_ok(dgi_server_record_write(dir, &record, &err), &err);
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	assert_fails(dgi_server_record_load(dir, &back, &err), DG_NOTFOUND, &err, "nobody");
	tmpdir_remove(dir);
}

static void a_removed_record_is_not_found(void **state)
{
	char *dir = tmpdir_new();
	struct dgi_server_record record = record_of(1), back;
	dg_error err = { 0 };

	(void)state;
	assert_ok(dgi_server_record_write(dir, &record, &err), &err);
	dgi_server_record_remove(dir);
	dgi_server_record_remove(dir);
	assert_fails(dgi_server_record_load(dir, &back, &err), DG_NOTFOUND, &err, "server.json");
	tmpdir_remove(dir);
}

static void assert_refused(const char *text, const char *part)
{
	struct dgi_server_record record;
	dg_error err = { 0 };

	assert_fails(dgi_server_record_decode(text, strlen(text), &record, &err), DG_INVALID, &err,
		     part);
}

static void a_damaged_record_is_refused_by_field(void **state)
{
	(void)state;
	assert_refused("", "line 1");
	assert_refused("[]", "'pid'");
	assert_refused("{\"pid\": 0}", "'pid'");
	assert_refused("{\"pid\": 1, \"incarnation\": -1}", "'incarnation'");
	assert_refused("{\"pid\": 1, \"incarnation\": 1, \"store_uuid\": 2}", "'store_uuid'");
	assert_refused("{\"pid\": 1, \"incarnation\": 1, \"store_uuid\":"
		       " \"01020304-0506-4708-890a-0b0c0d0e0f10\", \"addresses\": [1]}",
		       "'addresses'");
}

/* A record with @n addresses of @length bytes each, to be freed. */
static char *text_with(size_t n, size_t length)
{
	char *text = malloc(200 + n * (length + 4));
	char *at = text + sprintf(text, "{\"pid\": 1, \"incarnation\": 1, \"store_uuid\": "
					"\"01020304-0506-4708-890a-0b0c0d0e0f10\", "
					"\"addresses\": [");

	for (size_t i = 0; i < n; i++) {
		at += sprintf(at, "%s\"", i ? "," : "");
		memset(at, 'a', length);
		at += length;
		*at++ = '"';
	}
	(void)strcpy(at, "]}");
	return text;
}

static void addresses_have_a_largest_number_and_length(void **state)
{
	char *many = text_with(DGI_SERVER_ADDRESSES_MAX, DGI_SERVER_ADDRESS_BYTES - 1);
	char *more = text_with(DGI_SERVER_ADDRESSES_MAX + 1, 1);
	char *longer = text_with(1, DGI_SERVER_ADDRESS_BYTES);
	struct dgi_server_record record;
	dg_error err = { 0 };

	(void)state;
	assert_ok(dgi_server_record_decode(many, strlen(many), &record, &err), &err);
	assert_int_equal(record.n_addresses, DGI_SERVER_ADDRESSES_MAX);
	assert_refused(more, "at most 64");
	assert_refused(longer, "less than 320 bytes");
	free(many);
	free(more);
	free(longer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_record_of_a_living_server_is_read),
		cmocka_unit_test(a_record_is_stale_when_nobody_has_the_store),
		cmocka_unit_test(a_record_must_be_of_the_process_that_has_the_store),
		cmocka_unit_test(a_removed_record_is_not_found),
		cmocka_unit_test(a_damaged_record_is_refused_by_field),
		cmocka_unit_test(addresses_have_a_largest_number_and_length),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
