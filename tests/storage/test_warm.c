/* What storage/warm.c promises: a cold batch is asked for, and read right either way. */
#include "test.h"

#include "fixture.h"
#include "tmpdir.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define N_ROWS 4096
#define ROW_BYTES 4096

/* Share of the file's pages that are in memory. */
static double resident(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t bytes = (size_t)lseek(fd, 0, SEEK_END);
	size_t n = (bytes + 4095) / 4096, found = 0;
	unsigned char *pages = malloc(n);
	void *map = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);

	assert_int_equal(mincore(map, bytes, pages), 0);
	for (size_t i = 0; i < n; i++)
		found += pages[i] & 1;
	(void)munmap(map, bytes);
	free(pages);
	(void)close(fd);
	return (double)found / (double)n;
}

static void drop_from_memory(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_int_equal(fdatasync(fd), 0);
	assert_int_equal(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0);
	(void)close(fd);
}

static void a_cold_batch_is_read_right(void **state)
{
	char *dir = tmpdir_new();
	char *store = tmpdir_path(dir, "part0");
	char *file = tmpdir_path(store, DGI_TENSORS_FILE);
	struct dgi_volume *volume;
	dg_id rows[64];
	dg_error err = { 0 };

	(void)state;
	fixture_make_one(store, ROW_BYTES, N_ROWS);
	for (int i = 0; i < 64; i++)
		rows[i] = i * 61 % N_ROWS;
	for (int pass = 0; pass < 3; pass++) {
		drop_from_memory(file);
		print_message("pass %d: %.0f %% in memory\n", pass, 100 * resident(file));
		assert_ok(dgi_volume_open(store, NULL, &volume, &err), &err);
		fixture_expect_rows(volume, FIXTURE_FEAT, rows, 64, 0);
		drop_from_memory(file); /* verified now: asked for row by row */
		fixture_expect_rows(volume, FIXTURE_FEAT, rows, 64, 0);
		dgi_volume_close(volume);
	}
	free(file);
	free(store);
	tmpdir_remove(dir);
}

static void a_batch_with_rows_that_are_not_there_is_refused_as_ever(void **state)
{
	char *dir = tmpdir_new();
	char *store = tmpdir_path(dir, "part0");
	struct dgi_volume *volume;
	uint8_t *out = malloc((size_t)32 * ROW_BYTES);
	dg_id rows[32];
	dg_error err = { 0 };

	(void)state;
	fixture_make_one(store, ROW_BYTES, 100);
	assert_ok(dgi_volume_open(store, NULL, &volume, &err), &err);
	for (int i = 0; i < 32; i++)
		rows[i] = i % 2 ? -i : INT64_MAX - i;
	assert_fails(dgi_volume_gather(volume, FIXTURE_FEAT, rows, 32, out, &err), DG_RANGE, &err,
		     "there are 100 rows");
	dgi_volume_close(volume);
	free(out);
	free(store);
	tmpdir_remove(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cold_batch_is_read_right),
		cmocka_unit_test(a_batch_with_rows_that_are_not_there_is_refused_as_ever),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
