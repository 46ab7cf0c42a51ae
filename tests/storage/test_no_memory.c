/* Each allocation of ours fails once: the call says so, frees what it has, and works next time. */
#include "test.h"

#include "fixture.h"

#include "tmpdir.h"

#include <stdlib.h>
#include <string.h>

static long allocations_left = -1; /* before one fails; negative: none does */

void *__real_malloc(size_t n);
void *__real_calloc(size_t count, size_t n);
void *__real_realloc(void *old, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t count, size_t n);
void *__wrap_realloc(void *old, size_t n);

static int fails_now(void)
{
	return allocations_left >= 0 && allocations_left-- == 0;
}

void *__wrap_malloc(size_t n)
{
	return fails_now() ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t count, size_t n)
{
	return fails_now() ? NULL : __real_calloc(count, n);
}

void *__wrap_realloc(void *old, size_t n)
{
	return fails_now() ? NULL : __real_realloc(old, n);
}

/* Opens, reads, writes, closes; the first failure ends it. */
static dg_status use_store(const char *store, uint64_t version, dg_error *err)
{
	static uint8_t data[3 * 512];
	const dg_id rows[] = { 1, 200, 999 };
	struct dgi_write write = { .tensor = FIXTURE_FEAT, .rows = rows, .n = 3, .data = data };
	struct dgi_volume *volume;
	int32_t elements[4];
	uint8_t out[3 * 512];
	dg_status st = dgi_volume_open(store, &(struct dgi_volume_options){ .writable = true },
				       &volume, err);

	if (st)
		return st;
	for (size_t i = 0; i < 3; i++)
		fixture_row(FIXTURE_FEAT, rows[i], version, data + i * 512, 512);
	st = dgi_volume_array_read(volume, 0, DG_GRAPH_INDICES, 262142, 4, elements, err);
	if (!st)
		st = dgi_volume_gather(volume, FIXTURE_FEAT, rows, 3, out, err);
	if (!st)
		st = dgi_volume_write(volume, &write, 1, err);
	if (!st && write.status) {
		st = write.status;
		*err = write.error;
	}
	dgi_volume_close(volume);
	return st;
}

static void every_allocation_may_fail(void **state)
{
	char *dir = tmpdir_new();
	char *store = tmpdir_path(dir, "part1");
	struct dgi_volume *volume;
	dg_error err = { 0 };
	dg_status st = DG_NOMEM;
	long n = 0;

	(void)state;
	fixture_make(store, 1);
	for (; st == DG_NOMEM && n < 1000; n++) {
		allocations_left = n;
		st = use_store(store, (uint64_t)n + 1, &err);
		allocations_left = -1;
		if (st == DG_NOMEM)
			assert_non_null(strstr(err.text, "out of memory"));
	}
	assert_ok(st, &err);
	assert_true(n > 10);
	assert_ok(dgi_volume_open(store, NULL, &volume, &err), &err);
	fixture_expect_rows(volume, FIXTURE_FEAT, &(dg_id){ 200 }, 1, (uint64_t)n);
	dgi_volume_close(volume);
	free(store);
	tmpdir_remove(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_allocation_may_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
