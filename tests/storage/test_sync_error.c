/*
 * A sync that failed: what was being written is not acknowledged, the store takes no more writes,
 * rows are still read, and a new opening finds what was durable before.
 */
#include "test.h"

#include "fixture.h"

#include "tmpdir.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static _Atomic int sync_fails;

/* liblmdb finds this one before the C library's. */
__attribute__((visibility("default"))) int fdatasync(int fd)
{
	if (atomic_load(&sync_fails)) {
		errno = EIO;
		return -1;
	}
	return (int)syscall(SYS_fdatasync, fd);
}

static void after_a_failed_sync_a_store_takes_no_more_writes(void **state)
{
	char *dir = tmpdir_new();
	char *store = tmpdir_path(dir, "part1");
	const dg_id row = 5;
	const uint8_t data[512] = { 0 };
	struct dgi_write writes[] = {
		{ .tensor = FIXTURE_FEAT, .rows = &row, .n = 1, .data = data },
		{ .tensor = FIXTURE_LABEL, .rows = &row, .n = 1, .data = data },
	};
	struct dgi_volume *volume;
	dg_error err = { 0 };

	(void)state;
	fixture_make(store, 1);
	assert_ok(dgi_volume_open(store, &(struct dgi_volume_options){ .writable = true }, &volume,
				  &err),
		  &err);
	assert_ok(fixture_write(volume, FIXTURE_FEAT, &row, 1, 1, &err), &err);
	atomic_store(&sync_fails, 1);
	assert_fails(dgi_volume_write(volume, writes, 2, &err), DG_IO, &err,
		     "takes no more writes: commit to");
	assert_int_equal(writes[0].status, DG_IO);
	assert_int_equal(writes[1].status, DG_IO);
	atomic_store(&sync_fails, 0);
	assert_fails(dgi_volume_write(volume, writes, 2, &err), DG_IO, &err, "no more writes");
	assert_fails(writes[1].status, DG_IO, &writes[1].error, "no more writes");
	dgi_volume_close(volume);

	assert_ok(dgi_volume_open(store, &(struct dgi_volume_options){ .writable = true }, &volume,
				  &err),
		  &err);
	fixture_expect_rows(volume, FIXTURE_FEAT, &row, 1, 1);
	fixture_expect_rows(volume, FIXTURE_LABEL, &row, 1, 0);
	assert_ok(fixture_write(volume, FIXTURE_FEAT, &row, 1, 2, &err), &err);
	dgi_volume_close(volume);
	free(store);
	tmpdir_remove(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(after_a_failed_sync_a_store_takes_no_more_writes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
