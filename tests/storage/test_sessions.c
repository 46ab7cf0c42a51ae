/* What storage/sessions.c promises. */
#include "test.h"

#include "rng.h"
#include "sessions.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static dg_uuid session(uint8_t i)
{
	return (dg_uuid){ { i, 0x80 } };
}

/* Looks and, where it is new, sets; true where the push counts. */
static bool push(struct dgi_sessions *sessions, uint8_t who, uint64_t number)
{
	enum dgi_push_novelty novelty;
	struct dgi_session_mark mark;
	dg_uuid id = session(who);
	dg_error err = { 0 };

	assert_ok(dgi_sessions_look(sessions, &id, number, 0, &novelty, &mark, &err), &err);
	if (novelty == DGI_PUSH_NEW)
		assert_ok(dgi_sessions_set(sessions, &mark, &err), &err);
	return novelty == DGI_PUSH_NEW;
}

static void a_push_counts_once_per_session(void **state)
{
	struct dgi_sessions *sessions;
	dg_error err = { 0 };

	(void)state;
	assert_ok(dgi_sessions_new(&sessions, &err), &err);
	assert_true(push(sessions, 1, 1));
	assert_false(push(sessions, 1, 1));
	assert_true(push(sessions, 2, 1));
	assert_true(push(sessions, 1, 2));
	assert_false(push(sessions, 1, 1));
	assert_int_equal(dgi_sessions_count(sessions), 2);
	dgi_sessions_free(sessions);
}

/* Any order within the window, with repeats: each number counts exactly once. */
static void pushes_may_overtake_each_other_within_the_window(void **state)
{
	struct dgi_sessions *sessions;
	struct dgi_rng rng = dgi_rng_of(3, 0);
	static int counted[4000];
	uint64_t highest = 0;
	dg_error err = { 0 };

	(void)state;
	assert_ok(dgi_sessions_new(&sessions, &err), &err);
	for (uint64_t low = 1; low + 63 < 4000; low++)
		for (int i = 0; i < 20; i++) {
			uint64_t number = low + dgi_rng_below(&rng, 32);

			if (number > highest + DGI_SESSION_WINDOW)
				continue;
			if (number > highest)
				highest = number;
			counted[number] += push(sessions, 1, number);
			assert_int_equal(counted[number], 1);
		}
	dgi_sessions_free(sessions);
}

static void a_number_too_far_ahead_is_refused(void **state)
{
	struct dgi_sessions *sessions;
	enum dgi_push_novelty novelty;
	struct dgi_session_mark mark;
	dg_uuid id = session(1);
	dg_error err = { 0 };

	(void)state;
	assert_ok(dgi_sessions_new(&sessions, &err), &err);
	assert_fails(dgi_sessions_look(sessions, &id, 0, 0, &novelty, &mark, &err), DG_INVALID,
		     &err, "want 1 or more");
	assert_fails(dgi_sessions_look(sessions, &id, 65, 0, &novelty, &mark, &err), DG_INVALID,
		     &err, "newest known is 0, want at most 64 more");
	assert_true(push(sessions, 1, 64));
	assert_true(push(sessions, 1, 128));
	assert_false(push(sessions, 1, 64)); /* the last bit of the window */
	assert_true(push(sessions, 1, 65));
	assert_false(push(sessions, 1, 63)); /* out of the window: an old one */
	dgi_sessions_free(sessions);
}

static void what_lies_below_the_floor_counts_as_seen(void **state)
{
	struct dgi_sessions *sessions;
	enum dgi_push_novelty novelty;
	struct dgi_session_mark mark;
	dg_uuid id = session(1);
	dg_error err = { 0 };

	(void)state;
	assert_ok(dgi_sessions_new(&sessions, &err), &err);
	assert_true(push(sessions, 1, 2));
	/* 3 to 999 were refused, or changed what does not outlive the server. */
	assert_ok(dgi_sessions_look(sessions, &id, 1002, 1000, &novelty, &mark, &err), &err);
	assert_int_equal(novelty, DGI_PUSH_NEW);
	assert_int_equal(mark.number, 1002);
	assert_true(mark.window == ~UINT64_C(3)); /* 1001 and 1000 are open */
	assert_ok(dgi_sessions_set(sessions, &mark, &err), &err);
	assert_false(push(sessions, 1, 999));
	assert_true(push(sessions, 1, 1000));
	assert_false(push(sessions, 1, 1000));
	/* A floor below what is known changes nothing. */
	assert_ok(dgi_sessions_look(sessions, &id, 1001, 900, &novelty, &mark, &err), &err);
	assert_int_equal(novelty, DGI_PUSH_NEW);
	assert_fails(dgi_sessions_look(sessions, &id, 1100, 1036, &novelty, &mark, &err),
		     DG_INVALID, &err, "newest known is 1035");
	dgi_sessions_free(sessions);
}

static void an_expired_session_is_refused_for_ever(void **state)
{
	struct dgi_sessions *sessions, *back;
	enum dgi_push_novelty novelty;
	struct dgi_session_mark mark;
	dg_uuid ids[2] = { session(1), session(2) };
	dg_error err = { 0 };
	uint8_t *data;
	size_t n;

	(void)state;
	assert_ok(dgi_sessions_new(&sessions, &err), &err);
	assert_ok(dgi_sessions_new(&back, &err), &err);
	assert_true(push(sessions, 1, 7));
	for (int i = 0; i < 2; i++) { /* one known, one not */
		assert_ok(dgi_sessions_expire(sessions, &ids[i], &mark, &err), &err);
		assert_ok(dgi_sessions_set(sessions, &mark, &err), &err);
		dgi_sessions_remove(sessions, &ids[i]);
	}
	assert_ok(dgi_sessions_encode(sessions, &data, &n, &err), &err);
	assert_ok(dgi_sessions_decode(back, data, n, &err), &err);
	for (int i = 0; i < 2; i++) {
		assert_fails(dgi_sessions_look(back, &ids[i], 8, 1, &novelty, &mark, &err),
			     DG_NOTFOUND, &err, "has expired");
		assert_fails(dgi_sessions_look(back, &ids[i], UINT64_MAX, UINT64_MAX, &novelty,
					       &mark, &err),
			     DG_NOTFOUND, &err, "has expired");
	}
	assert_true(push(back, 3, 1));
	free(data);
	dgi_sessions_free(sessions);
	dgi_sessions_free(back);
}

static void the_table_survives_its_bytes(void **state)
{
	struct dgi_sessions *sessions, *back;
	dg_error err = { 0 };
	uint8_t *data, *again;
	size_t n, n_again;

	(void)state;
	assert_ok(dgi_sessions_new(&sessions, &err), &err);
	assert_ok(dgi_sessions_new(&back, &err), &err);
	for (int i = 1; i <= 200; i++)
		assert_true(push(sessions, (uint8_t)i, (uint64_t)(1 + i % 60)));
	assert_ok(dgi_sessions_encode(sessions, &data, &n, &err), &err);
	assert_ok(dgi_sessions_decode(back, data, n, &err), &err);
	assert_ok(dgi_sessions_encode(back, &again, &n_again, &err), &err);
	assert_int_equal(n, n_again);
	assert_memory_equal(data, again, n);
	assert_fails(dgi_sessions_decode(back, data, n - 1, &err), DG_CORRUPT, &err,
		     "multiple of 32");
	free(data);
	free(again);
	dgi_sessions_free(sessions);
	dgi_sessions_free(back);
}

static void a_removed_session_leaves_the_others_findable(void **state)
{
	struct dgi_sessions *sessions;
	dg_error err = { 0 };

	(void)state;
	assert_ok(dgi_sessions_new(&sessions, &err), &err);
	for (int i = 1; i <= 255; i++)
		assert_true(push(sessions, (uint8_t)i, 1));
	for (int i = 1; i <= 255; i += 2) {
		dg_uuid id = session((uint8_t)i);

		dgi_sessions_remove(sessions, &id);
		dgi_sessions_remove(sessions, &id); /* unknown: nothing */
	}
	assert_int_equal(dgi_sessions_count(sessions), 127);
	for (int i = 2; i <= 255; i += 2)
		assert_false(push(sessions, (uint8_t)i, 1));
	for (int i = 1; i <= 255; i += 2)
		assert_true(push(sessions, (uint8_t)i, 1));
	dgi_sessions_free(sessions);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_push_counts_once_per_session),
		cmocka_unit_test(pushes_may_overtake_each_other_within_the_window),
		cmocka_unit_test(a_number_too_far_ahead_is_refused),
		cmocka_unit_test(what_lies_below_the_floor_counts_as_seen),
		cmocka_unit_test(an_expired_session_is_refused_for_ever),
		cmocka_unit_test(the_table_survives_its_bytes),
		cmocka_unit_test(a_removed_session_leaves_the_others_findable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
