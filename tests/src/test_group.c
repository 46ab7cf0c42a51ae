/* Ranks and barriers of a group, as its coordinator gives them, case by case. */
#include "test.h"

#include "coordinator.h"
#include "ranks.h"

#include <stdio.h>
#include <string.h>

enum { LEASE_MS = 10000, TOKENS = 64 };

struct fixture {
	struct dgi_coordinator c;
	struct dgi_group_answer answers[TOKENS];
	unsigned n[TOKENS]; /* answers of each token */
};

static void take(void *context, uint64_t token, const struct dgi_group_answer *answer)
{
	struct fixture *f = context;

	assert_in_range(token, 1, TOKENS - 1);
	f->answers[token] = *answer;
	f->n[token]++;
}

static int set_up(void **state)
{
	static struct fixture f;

	f = (struct fixture){ .n = { 0 } };
	dgi_coordinator_init(&f.c, 77, LEASE_MS, take, &f);
	*state = &f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	dgi_coordinator_clear(&f->c);
	return 0;
}

static struct dgi_group_claim claim_of(const char *role, int32_t machine, unsigned id,
				       uint32_t size)
{
	struct dgi_group_claim claim = { .size = size,
					 .machine = machine,
					 .pid = 1000 + (int64_t)id,
					 .wanted_rank = -1,
					 .wanted_local = -1 };

	claim.id.bytes[0] = (uint8_t)id;
	(void)snprintf(claim.group, sizeof claim.group, "job");
	(void)snprintf(claim.role, sizeof claim.role, "%s", role);
	(void)snprintf(claim.host, sizeof claim.host, "h%d", machine);
	return claim;
}

static void ask(struct fixture *f, enum dgi_group_kind kind, const struct dgi_group_claim *claim,
		uint64_t token, int64_t now_ms)
{
	struct dgi_group_request r = { .kind = kind,
				       .claim = claim,
				       .token = token,
				       .barrier = "b",
				       .deadline_ms = now_ms + 60000 };

	dgi_coordinator_ask(&f->c, &r, now_ms);
}

/* All of @claims join at 0 with tokens from 1 on, and have their places. */
static void join_all(struct fixture *f, struct dgi_group_claim *claims, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		ask(f, DGI_GROUP_JOIN, &claims[i], i + 1, 0);
	for (unsigned i = 0; i < n; i++) {
		assert_int_equal(f->n[i + 1], 1);
		assert_ok(f->answers[i + 1].status, &f->answers[i + 1].error);
		claims[i].place = f->answers[i + 1].place;
	}
}

static void ranks_are_those_of_role_and_machine_whatever_the_order(void **state)
{
	/* The worked example of two machines with two trainers and two samplers each. */
	static const unsigned orders[3][6] = { { 0, 1, 2, 3, 4, 5 },
					       { 5, 4, 3, 2, 1, 0 },
					       { 3, 0, 5, 1, 4, 2 } };

	for (unsigned o = 0; o < 3; o++) {
		struct dgi_group_claim made[6], *claims[6], *bad;
		dg_error err;

		for (unsigned i = 0; i < 6; i++)
			made[i] = claim_of(i % 3 == 2 ? "sampler" : "trainer", i < 3 ? 0 : 4, i, 6);
		for (unsigned i = 0; i < 6; i++)
			claims[i] = &made[orders[o][i]];
		assert_ok(dgi_ranks_assign(claims, 6, &bad, &err), &err);
		assert_int_equal(made[0].place.rank, 0);
		assert_int_equal(made[1].place.rank, 1);
		assert_int_equal(made[3].place.rank, 2);
		assert_int_equal(made[4].place.rank, 3);
		assert_int_equal(made[2].place.rank, 4);
		assert_int_equal(made[5].place.rank, 5);
		assert_int_equal(made[5].place.role_rank, 1);
		assert_int_equal(made[4].place.local_rank, 1);
		assert_int_equal(made[4].place.n_local, 2);
		assert_int_equal(made[0].place.n_roles, 2);
	}
	(void)state;
}

static void a_rank_that_is_asked_for_is_given(void **state)
{
	struct dgi_group_claim a = claim_of("trainer", 0, 1, 3), b = claim_of("trainer", 0, 2, 3),
			       c = claim_of("trainer", 0, 3, 3);
	struct dgi_group_claim *claims[] = { &a, &b, &c }, *bad;
	dg_error err;

	(void)state;
	a.wanted_rank = 2;
	a.wanted_local = 0;
	c.wanted_rank = 0;
	assert_ok(dgi_ranks_assign(claims, 3, &bad, &err), &err);
	assert_int_equal(a.place.rank, 2);
	assert_int_equal(b.place.rank, 1);
	assert_int_equal(c.place.rank, 0);
	assert_int_equal(a.place.local_rank, 0);
	assert_int_equal(c.place.local_rank, 1);
	b.wanted_rank = 0;
	assert_fails(dgi_ranks_assign(claims, 3, &bad, &err), DG_EXISTS, &err, "twice");
	b.wanted_rank = 3;
	assert_fails(dgi_ranks_assign(claims, 3, &bad, &err), DG_RANGE, &err, "has 3 members");
	assert_ptr_equal(bad, &b);
}

static void nobody_has_a_rank_before_all_have_come(void **state)
{
	struct fixture *f = *state;
	struct dgi_group_claim a = claim_of("trainer", 0, 1, 2), b = claim_of("trainer", 0, 2, 2);

	ask(f, DGI_GROUP_JOIN, &a, 1, 0);
	assert_int_equal(f->n[1], 0);
	ask(f, DGI_GROUP_JOIN, &b, 2, 500);
	assert_int_equal(f->n[1] + f->n[2], 2);
	assert_ok(f->answers[1].status, &f->answers[1].error);
}

static void a_group_of_another_size_is_refused(void **state)
{
	struct fixture *f = *state;
	struct dgi_group_claim a = claim_of("trainer", 0, 1, 2), b = claim_of("trainer", 0, 2, 3);

	ask(f, DGI_GROUP_JOIN, &a, 1, 0);
	ask(f, DGI_GROUP_JOIN, &b, 2, 0);
	assert_fails(f->answers[2].status, DG_MISMATCH, &f->answers[2].error, "of 3");
}

static void a_barrier_waits_for_all_and_names_who_is_missing(void **state)
{
	struct fixture *f = *state;
	struct dgi_group_claim claims[3];

	for (unsigned i = 0; i < 3; i++)
		claims[i] = claim_of("trainer", 0, i, 3);
	join_all(f, claims, 3);
	ask(f, DGI_GROUP_BARRIER, &claims[0], 10, 1000);
	ask(f, DGI_GROUP_BARRIER, &claims[2], 11, 1000);
	for (int64_t now = 1000; now <= 61000; now += 1000) { /* they live */
		ask(f, DGI_GROUP_BEAT, &claims[0], 20, now);
		ask(f, DGI_GROUP_BEAT, &claims[2], 21, now);
		dgi_coordinator_tick(&f->c, now);
		if (now == 5000)
			assert_non_null(strstr(f->answers[20].error.text,
					       "trainer rank 1 (host h0, pid 1001, last seen 5.0"));
	}
	assert_fails(f->answers[10].status, DG_TIMEOUT, &f->answers[10].error,
		     "waits for trainer rank 1 (host h0, pid 1001, lost, last seen 61.0 s ago)");
	assert_int_equal(f->n[11], 1);
	/* Once all are there it is passed. */
	for (unsigned i = 0; i < 3; i++)
		ask(f, DGI_GROUP_BARRIER, &claims[i], 30 + i, 62000);
	for (unsigned i = 0; i < 3; i++) {
		assert_ok(f->answers[30 + i].status, &f->answers[30 + i].error);
		assert_int_equal(f->answers[30 + i].place.passed[DGI_GROUP_ALL], 1);
	}
}

static void barriers_of_other_names_do_not_meet(void **state)
{
	struct fixture *f = *state;
	struct dgi_group_claim claims[2] = { claim_of("trainer", 0, 1, 2),
					     claim_of("trainer", 0, 2, 2) };
	struct dgi_group_request r = { .kind = DGI_GROUP_BARRIER,
				       .claim = &claims[1],
				       .token = 11,
				       .barrier = "other",
				       .deadline_ms = 60000 };

	join_all(f, claims, 2);
	ask(f, DGI_GROUP_BARRIER, &claims[0], 10, 0);
	dgi_coordinator_ask(&f->c, &r, 0);
	assert_fails(f->answers[11].status, DG_MISMATCH, &f->answers[11].error, "at 'b'");
	assert_int_equal(f->n[10], 0);
}

static void a_barrier_that_a_member_has_passed_is_passed_after_a_restart(void **state)
{
	struct fixture *f = *state;
	struct dgi_group_claim claims[2] = { claim_of("trainer", 0, 1, 2),
					     claim_of("trainer", 0, 2, 2) };

	join_all(f, claims, 2);
	ask(f, DGI_GROUP_BARRIER, &claims[0], 10, 0);
	ask(f, DGI_GROUP_BARRIER, &claims[1], 11, 0);
	assert_int_equal(f->n[10] + f->n[11], 2);
	claims[0].place = f->answers[10].place; /* the other's answer is lost with the server */
	dgi_coordinator_clear(&f->c);
	dgi_coordinator_init(&f->c, 1234, LEASE_MS, take, f);
	ask(f, DGI_GROUP_BARRIER, &claims[1], 12, 100);
	assert_int_equal(f->n[12], 0);
	ask(f, DGI_GROUP_BEAT, &claims[0], 13, 200);
	assert_int_equal(f->n[12], 1);
	assert_ok(f->answers[12].status, &f->answers[12].error);
}

static void who_comes_gets_the_rank_of_a_lost_member(void **state)
{
	struct fixture *f = *state;
	struct dgi_group_claim claims[2] = { claim_of("trainer", 0, 1, 2),
					     claim_of("trainer", 0, 2, 2) };
	struct dgi_group_claim again = claim_of("trainer", 0, 9, 2);

	join_all(f, claims, 2);
	ask(f, DGI_GROUP_JOIN, &again, 10, 0);
	ask(f, DGI_GROUP_BEAT, &claims[0], 11, LEASE_MS);
	ask(f, DGI_GROUP_BEAT, &again, 12, LEASE_MS);
	dgi_coordinator_tick(&f->c, LEASE_MS);
	assert_int_equal(f->n[10], 0);
	assert_non_null(strstr(f->answers[12].error.text, "has no free rank"));
	dgi_coordinator_tick(&f->c, LEASE_MS + 1);
	assert_int_equal(f->n[10], 1);
	assert_int_equal(f->answers[10].place.rank, 1);
	assert_int_equal(f->answers[10].place.life, 2);
	/* The one that was lost has lost its rank. */
	ask(f, DGI_GROUP_BEAT, &claims[1], 13, LEASE_MS + 2);
	assert_fails(f->answers[13].status, DG_DENIED, &f->answers[13].error, "given to host h0");
}

static void a_leave_is_told_once_the_others_know_and_a_next_group_follows(void **state)
{
	struct fixture *f = *state;
	struct dgi_group_claim claims[2] = { claim_of("trainer", 0, 1, 2),
					     claim_of("trainer", 0, 2, 2) };
	struct dgi_group_claim next[1] = { claim_of("trainer", 0, 3, 1) };

	join_all(f, claims, 2);
	ask(f, DGI_GROUP_JOIN, &next[0], 20, 0);
	ask(f, DGI_GROUP_LEAVE, &claims[0], 10, 0);
	assert_int_equal(f->n[10], 0);
	ask(f, DGI_GROUP_BARRIER, &claims[1], 12, 0); /* alone: passed at once */
	assert_int_equal(f->n[12], 1);
	ask(f, DGI_GROUP_BEAT, &claims[1], 11, 0);
	assert_true(dgi_group_has_left(&f->answers[11].place, claims[0].place.rank));
	memcpy(claims[1].place.left, f->answers[11].place.left, sizeof claims[1].place.left);
	ask(f, DGI_GROUP_BEAT, &claims[1], 11, 0);
	assert_int_equal(f->n[10], 1);
	assert_int_equal(f->n[20], 0);
	ask(f, DGI_GROUP_LEAVE, &claims[1], 13, 0);
	assert_int_equal(f->n[13], 1);
	assert_int_equal(f->n[20], 1);
	assert_int_not_equal(f->answers[20].place.instance, claims[0].place.instance);
}

static void a_rank_asked_for_twice_is_refused_after_a_lease(void **state)
{
	struct fixture *f = *state;
	struct dgi_group_claim a = claim_of("trainer", 0, 1, 2), b = claim_of("trainer", 0, 2, 2);

	a.wanted_rank = b.wanted_rank = 0;
	ask(f, DGI_GROUP_JOIN, &a, 1, 0);
	ask(f, DGI_GROUP_JOIN, &b, 2, 0);
	ask(f, DGI_GROUP_BEAT, &a, 3, LEASE_MS);
	ask(f, DGI_GROUP_BEAT, &b, 3, LEASE_MS);
	assert_int_equal(f->n[2], 0);
	dgi_coordinator_tick(&f->c, LEASE_MS + 1);
	assert_fails(f->answers[2].status, DG_EXISTS, &f->answers[2].error, "asks for rank 0");
	assert_int_equal(f->n[1], 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(ranks_are_those_of_role_and_machine_whatever_the_order),
		CASE(a_rank_that_is_asked_for_is_given),
		CASE(nobody_has_a_rank_before_all_have_come),
		CASE(a_group_of_another_size_is_refused),
		CASE(a_barrier_waits_for_all_and_names_who_is_missing),
		CASE(barriers_of_other_names_do_not_meet),
		CASE(a_barrier_that_a_member_has_passed_is_passed_after_a_restart),
		CASE(who_comes_gets_the_rank_of_a_lost_member),
		CASE(a_leave_is_told_once_the_others_know_and_a_next_group_follows),
		CASE(a_rank_asked_for_twice_is_refused_after_a_lease),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
