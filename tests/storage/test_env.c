/* What storage/env.c and map.c promise, and what they rely on liblmdb to do. */
#include "test.h"

#include "bytes.h"
#include "chunk.h"
#include "env.h"
#include "map.h"
#include "tmpdir.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAP_BYTES (UINT64_C(16) << 20)

struct place {
	char *dir;
	char *file;
	struct dgi_env *env;
};

static int open_place(void **state)
{
	struct place *p = calloc(1, sizeof *p);
	dg_error err = { 0 };

	p->dir = tmpdir_new();
	p->file = tmpdir_path(p->dir, "data.mdb");
	assert_ok(dgi_env_open(p->file, true, MAP_BYTES, &p->env, &err), &err);
	*state = p;
	return 0;
}

static int close_place(void **state)
{
	struct place *p = *state;

	dgi_env_close(p->env, true);
	tmpdir_remove(p->dir);
	free(p->file);
	free(p);
	return 0;
}

/* Puts a value of four pages under a number; gives its page. */
static uint64_t put(struct dgi_env *env, uint32_t number, uint8_t fill)
{
	struct dgi_env_value value;
	uint8_t key[4];
	dg_error err = { 0 };

	dgi_put_be32(key, number);
	assert_ok(dgi_env_reserve(env, key, 4, dgi_value_bytes_of_pages(4), false, &value, &err),
		  &err);
	memset(value.data, fill, dgi_value_bytes_of_pages(4));
	return value.page;
}

static void remove_value(struct dgi_env *env, uint32_t number)
{
	uint8_t key[4];
	dg_error err = { 0 };

	dgi_put_be32(key, number);
	assert_ok(dgi_env_delete(env, key, 4, &err), &err);
}

static void a_value_is_where_it_was_said_to_be(void **state)
{
	struct place *p = *state;
	struct dgi_map map = { 0 };
	uint64_t pages[3];
	dg_error err = { 0 };

	assert_ok(dgi_map_extend(&map, dgi_env_fd(p->env), MAP_BYTES, &err), &err);
	assert_ok(dgi_env_begin(p->env, &err), &err);
	for (uint32_t i = 0; i < 3; i++)
		pages[i] = put(p->env, i, (uint8_t)(i + 1));
	assert_ok(dgi_env_commit(p->env, &err), &err);
	for (uint32_t i = 0; i < 3; i++) {
		const uint8_t *value = dgi_map_at(&map, pages[i] * 4096 + 16);

		assert_int_equal(value[0], i + 1);
		assert_int_equal(value[dgi_value_bytes_of_pages(4) - 1], i + 1);
	}
	dgi_map_close(&map);
	dgi_map_close(&map);
}

static void an_aborted_transaction_leaves_nothing(void **state)
{
	struct place *p = *state;
	struct dgi_env_value value;
	uint8_t key[4] = { 0, 0, 0, 1 };
	dg_error err = { 0 };

	assert_ok(dgi_env_begin(p->env, &err), &err);
	(void)put(p->env, 1, 1);
	assert_fails(dgi_env_reserve(p->env, key, 4, 8, false, &value, &err), DG_EXISTS, &err,
		     "write");
	dgi_env_abort(p->env);
	dgi_env_abort(p->env);
	assert_ok(dgi_env_begin(p->env, &err), &err);
	assert_fails(dgi_env_delete(p->env, key, 4, &err), DG_NOTFOUND, &err, "delete from");
	dgi_env_abort(p->env);
}

/*
 * What copy and check rests on: pages freed in transaction N are used again from N + 2 on, not
 * before. (A transaction that comes to nothing counts: its number is used again.)
 */
static void a_freed_page_is_used_again_two_transactions_later_at_the_earliest(void **state)
{
	enum { ROUNDS = 200, PAGES = 4096 };
	struct place *p = *state;
	static uint32_t freed_in[PAGES]; /* round, 0: not free */
	uint64_t page = 0, before;
	uint32_t nearest = ROUNDS;
	dg_error err = { 0 };

	for (uint32_t round = 1; round <= ROUNDS; round++) {
		before = page;
		assert_ok(dgi_env_begin(p->env, &err), &err);
		page = put(p->env, round, 1);
		if (round > 1)
			remove_value(p->env, round - 1);
		assert_ok(dgi_env_commit(p->env, &err), &err);
		for (uint64_t i = page; i < page + 4; i++) {
			assert_true(i < PAGES);
			if (freed_in[i] && round - freed_in[i] < nearest)
				nearest = round - freed_in[i];
			freed_in[i] = 0;
		}
		for (uint64_t i = before; round > 1 && i < before + 4; i++)
			freed_in[i] = round;
	}
	assert_int_equal(nearest, 2);
}

static void a_map_that_is_too_small_is_full_until_it_grows(void **state)
{
	struct place *p = *state;
	struct dgi_env_value value;
	const size_t bytes = (size_t)MAP_BYTES;
	uint8_t key[4] = { 0 };
	uint64_t needed, wanted;
	dg_error err = { 0 };

	assert_ok(dgi_env_begin(p->env, &err), &err);
	assert_fails(dgi_env_reserve(p->env, key, 4, bytes, false, &value, &err), DG_FULL, &err,
		     p->file);
	dgi_env_abort(p->env);
	assert_int_equal(dgi_env_map_wanted(p->env, 4096, &needed), MAP_BYTES);
	wanted = dgi_env_map_wanted(p->env, bytes, &needed);
	assert_int_equal(wanted, 2 * MAP_BYTES);
	assert_true(needed > bytes && needed < wanted);
	assert_ok(dgi_env_grow(p->env, wanted, &err), &err);
	assert_int_equal(dgi_env_map_bytes(p->env), wanted);
	assert_ok(dgi_env_begin(p->env, &err), &err);
	assert_ok(dgi_env_reserve(p->env, key, 4, bytes, false, &value, &err), &err);
	memset(value.data, 3, bytes);
	assert_ok(dgi_env_commit(p->env, &err), &err);
}

static void a_file_that_is_not_there_is_not_made_by_mistake(void **state)
{
	struct place *p = *state;
	char *file = tmpdir_path(p->dir, "other.mdb");
	char *lock_file = tmpdir_path(p->dir, "other.mdb-lock");
	struct dgi_env *env;
	dg_error err = { 0 };

	assert_fails(dgi_env_open(file, false, MAP_BYTES, &env, &err), DG_NOTFOUND, &err,
		     "other.mdb");
	assert_int_equal(access(file, F_OK), -1);
	assert_ok(dgi_env_open(file, true, MAP_BYTES, &env, &err), &err);
	assert_int_equal(access(lock_file, F_OK), 0);
	dgi_env_close(env, true);
	assert_int_equal(access(lock_file, F_OK), -1);
	assert_int_equal(access(file, F_OK), 0);
	dgi_env_close(NULL, true);
	free(file);
	free(lock_file);
}

int main(void)
{
#define with_env(test) cmocka_unit_test_setup_teardown(test, open_place, close_place)
	const struct CMUnitTest tests[] = {
		with_env(a_value_is_where_it_was_said_to_be),
		with_env(an_aborted_transaction_leaves_nothing),
		with_env(a_freed_page_is_used_again_two_transactions_later_at_the_earliest),
		with_env(a_map_that_is_too_small_is_full_until_it_grows),
		with_env(a_file_that_is_not_there_is_not_made_by_mistake),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
