/* A store that was closed leaves nothing for the next start to read. */
#include "test.h"

#include "contents.h"
#include "fixture.h"
#include "tmpdir.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#define PUSHES 300 /* each a block of its own; more than one transaction deletes */

static size_t blocks_of(const char *store)
{
	char *path = tmpdir_path(store, DGI_JOURNAL_FILE);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct dgi_journal_contents journal = { 0 };
	dg_error err = { 0 };
	size_t n;

	assert_true(fd >= 0);
	assert_ok(dgi_journal_contents_read(fd, true, &journal, &err), &err);
	n = journal.n_blocks;
	dgi_journal_contents_clear(&journal);
	(void)close(fd);
	free(path);
	return n;
}

static void a_closed_store_has_its_newest_block_alone(void **state)
{
	const struct dgi_volume_options options = { .writable = true };
	char *dir = tmpdir_new();
	char *store = tmpdir_path(dir, "part1");
	const dg_id row = 5;
	struct dgi_volume *volume;
	dg_store_info info;
	dg_error err = { 0 };

	(void)state;
	fixture_make(store, 1);
	assert_int_equal(blocks_of(store), 0);
	assert_ok(dgi_volume_open(store, &options, &volume, &err), &err);
	for (uint64_t i = 1; i <= PUSHES; i++)
		assert_ok(fixture_write(volume, FIXTURE_FEAT, &row, 1, i, &err), &err);
	dgi_volume_close(volume);
	assert_int_equal(blocks_of(store), 1);

	assert_ok(dgi_volume_open(store, NULL, &volume, &err), &err);
	dgi_volume_get_info(volume, &info);
	assert_int_equal(info.log_number, PUSHES);
	fixture_expect_rows(volume, FIXTURE_FEAT, &row, 1, PUSHES);
	dgi_volume_close(volume);
	free(store);
	tmpdir_remove(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_closed_store_has_its_newest_block_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
