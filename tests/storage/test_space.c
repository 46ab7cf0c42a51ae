/* What a store does when it runs out of address space, of disk, and grows beyond its map. */
#include "test.h"

#include "fixture.h"

#include "tmpdir.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif

#define MIB (UINT64_C(1) << 20)
#define ROW_BYTES 32000
#define N_ROWS 640 /* 20 MiB in 320 chunks of 16 pages */

#ifndef SANITIZED

/* Leaves @more bytes of address space. */
static void limit_address_space(uint64_t more)
{
	struct rlimit limit;
	unsigned long pages = 0;
	FILE *f = fopen("/proc/self/statm", "re");

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%lu", &pages), 1);
	(void)fclose(f);
	assert_int_equal(getrlimit(RLIMIT_AS, &limit), 0);
	limit.rlim_cur = pages * UINT64_C(4096) + more;
	assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
}

static int lift_limit(void **state)
{
	struct rlimit limit;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_AS, &limit), 0);
	limit.rlim_cur = limit.rlim_max;
	return setrlimit(RLIMIT_AS, &limit);
}

struct reader {
	struct dgi_volume *volume;
	_Atomic int stop;
	uint64_t wrong;
	uint64_t read;
};

static void *read_last_row(void *context)
{
	struct reader *r = context;
	uint8_t got[ROW_BYTES], version[2][ROW_BYTES];
	dg_id row = N_ROWS - 1;

	fixture_row(FIXTURE_FEAT, row, 0, version[0], ROW_BYTES);
	fixture_row(FIXTURE_FEAT, row, 1, version[1], ROW_BYTES);
	while (!atomic_load(&r->stop)) {
		r->wrong += dgi_volume_gather(r->volume, FIXTURE_FEAT, &row, 1, got, NULL) != DG_OK;
		r->wrong += memcmp(got, version[0], ROW_BYTES) != 0 &&
			    memcmp(got, version[1], ROW_BYTES) != 0;
		r->read++;
	}
	return NULL;
}

static void a_map_grows_under_readers_once_there_is_address_space(void **state)
{
	char *dir = tmpdir_new();
	char *store = tmpdir_path(dir, "part0");
	const struct dgi_volume_options options = { .writable = true, .map_bytes = 24 * MIB };
	struct reader reader = { 0 };
	struct dgi_volume *volume;
	dg_id rows[N_ROWS];
	pthread_t thread;
	dg_error err = { 0 };

	for (int i = 0; i < N_ROWS; i++)
		rows[i] = i;
	fixture_make_one(store, ROW_BYTES, N_ROWS);
	assert_ok(dgi_volume_open(store, &options, &volume, &err), &err);
	assert_ok(fixture_write(volume, FIXTURE_FEAT, rows, N_ROWS, 1, &err), &err);
	/* The journal has the rows, but tensors.mdb gets no room to map them. */
	limit_address_space(8 * MIB);
	assert_fails(dgi_volume_checkpoint(volume, 5000, &err), DG_FULL, &err, "no address space");
	assert_int_equal(lift_limit(state), 0);
	fixture_expect_rows(volume, FIXTURE_FEAT, rows, N_ROWS, 1);
	reader.volume = volume;
	assert_int_equal(pthread_create(&thread, NULL, read_last_row, &reader), 0);
	for (int i = 0; i < 4; i++) {
		assert_ok(fixture_write(volume, FIXTURE_FEAT, rows, N_ROWS, 1, &err), &err);
		assert_ok(dgi_volume_checkpoint(volume, 20000, &err), &err);
	}
	atomic_store(&reader.stop, 1);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(reader.wrong, 0);
	assert_true(reader.read > 0);
	fixture_expect_rows(volume, FIXTURE_FEAT, rows, N_ROWS, 1);
	dgi_volume_close(volume);
	assert_ok(dgi_volume_open(store, NULL, &volume, &err), &err);
	fixture_expect_rows(volume, FIXTURE_FEAT, rows, N_ROWS, 1);
	dgi_volume_close(volume);
	free(store);
	tmpdir_remove(dir);
}

#endif

/* Takes all the space that is left. */
static void fill_disk(const char *path)
{
	static const char zeros[65536];
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	size_t piece = sizeof zeros;

	assert_true(fd >= 0);
	while (piece > 0)
		if (write(fd, zeros, piece) <= 0)
			piece /= 2;
	(void)close(fd);
}

/* A directory with a small file system of its own, "disk", where we may mount one. */
static int mount_disk(void **state)
{
	char *dir = tmpdir_new();
	char *disk = tmpdir_path(dir, "disk");

	if (mkdir(disk, 0700) == 0 && mount("tmpfs", disk, "tmpfs", 0, "size=16m,mode=0700") == 0) {
		*state = disk;
		free(dir);
		return 0;
	}
	print_message("no small disk: %s\n", strerror(errno));
	free(disk);
	tmpdir_remove(dir);
	return 0;
}

static int unmount_disk(void **state)
{
	char *disk = *state;

	if (!disk)
		return 0;
	(void)umount2(disk, MNT_DETACH);
	*strrchr(disk, '/') = '\0';
	tmpdir_remove(disk);
	return 0;
}

static void a_full_disk_refuses_writes_and_serves_reads(void **state)
{
	const char *disk = *state;
	struct dgi_volume *volume;
	dg_id rows[FIXTURE_ROWS];
	char *store, *filler;
	dg_error err = { 0 };

	if (!disk)
		skip();
	store = tmpdir_path(disk, "part1");
	filler = tmpdir_path(disk, "filler");
	for (int i = 0; i < FIXTURE_ROWS; i++)
		rows[i] = i;
	fixture_make(store, 1);
	assert_ok(dgi_volume_open(store, &(struct dgi_volume_options){ .writable = true }, &volume,
				  &err),
		  &err);
	fill_disk(filler);
	for (int i = 0; i < 3; i++) {
		assert_fails(fixture_write(volume, FIXTURE_FEAT, rows, FIXTURE_ROWS, 1, &err),
			     DG_FULL, &err, "the disk is full");
		fixture_expect_rows(volume, FIXTURE_FEAT, rows, FIXTURE_ROWS, 0);
	}
	assert_int_equal(unlink(filler), 0);
	assert_ok(fixture_write(volume, FIXTURE_FEAT, rows, FIXTURE_ROWS, 2, &err), &err);
	fixture_expect_rows(volume, FIXTURE_FEAT, rows, FIXTURE_ROWS, 2);
	dgi_volume_close(volume);
	assert_ok(dgi_volume_open(store, NULL, &volume, &err), &err);
	fixture_expect_rows(volume, FIXTURE_FEAT, rows, FIXTURE_ROWS, 2);
	dgi_volume_close(volume);
	free(store);
	free(filler);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#ifndef SANITIZED
		cmocka_unit_test_teardown(a_map_grows_under_readers_once_there_is_address_space,
					  lift_limit),
#endif
		cmocka_unit_test_setup_teardown(a_full_disk_refuses_writes_and_serves_reads,
						mount_disk, unmount_disk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
