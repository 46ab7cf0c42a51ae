/* What src/session/ promises: the two sides of a session of pushes. */
#include "test.h"

#include "client_session.h"
#include "server_session.h"

static const dg_uuid id = { { 1, 2, 3 } };

#define COST 100

struct fixture {
	struct dgi_client_session s;
	struct dgi_kept_push pushes[200];
	size_t n;
};

static void add(struct fixture *f, size_t n)
{
	for (size_t i = 0; i < n; i++)
		dgi_client_session_add(&f->s, &f->pushes[f->n++], COST);
}

static void hear(struct fixture *f, uint64_t durable, uint32_t credits)
{
	const struct dgi_frame reply = { .durable = durable, .credits = credits };

	dgi_client_session_heard(&f->s, &reply);
}

static void connect(struct fixture *f, uint64_t incarnation, uint64_t log_number)
{
	const struct dgi_welcome welcome = { .incarnation = incarnation, .log_number = log_number };
	dg_error err = { 0 };

	assert_ok(dgi_client_session_welcome(&f->s, &welcome, &err), &err);
	hear(f, log_number, 1 << 20);
}

/* Sends all that may be sent; returns how many. */
static size_t send_all(struct fixture *f)
{
	struct dgi_kept_push *p;
	size_t n = 0;

	for (; (p = dgi_client_session_next(&f->s)); n++)
		dgi_client_session_sent(&f->s, p);
	return n;
}

static void answer(struct fixture *f, uint64_t number, dg_status status, uint64_t log_number)
{
	struct dgi_kept_push *p = dgi_client_session_answered(&f->s, number, status, log_number);

	assert_non_null(p);
	assert_int_equal(p->number, number);
}

static void begin(struct fixture *f)
{
	*f = (struct fixture){ 0 };
	dgi_client_session_init(&f->s, &id);
	connect(f, 1, 0);
}

static void expect_next(struct fixture *f, uint64_t number, uint64_t previous, uint64_t floor)
{
	struct dgi_kept_push *p = dgi_client_session_next(&f->s);
	struct dgi_push push;

	assert_non_null(p);
	dgi_client_session_numbers(&f->s, p, &push);
	assert_int_equal(push.number, number);
	assert_int_equal(push.previous, previous);
	assert_int_equal(push.floor, floor);
	dgi_client_session_sent(&f->s, p);
}

static void pushes_are_numbered_in_a_chain(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	add(&f, 2);
	expect_next(&f, 1, 0, 1);
	expect_next(&f, 2, 1, 1);
	assert_null(dgi_client_session_next(&f.s));
	answer(&f, 2, DG_OK, 7);
	add(&f, 1);
	expect_next(&f, 3, 2, 1);
	answer(&f, 1, DG_OK, 6);
	add(&f, 1);
	expect_next(&f, 4, 3, 3);
}

static void at_most_64_numbers_are_under_way(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	add(&f, 66);
	assert_int_equal(send_all(&f), DGI_PUSH_WINDOW);
	for (uint64_t i = 2; i <= 64; i++)
		answer(&f, i, DG_OK, i);
	assert_int_equal(send_all(&f), 0); /* 1 is not answered */
	answer(&f, 1, DG_RANGE, 0);
	assert_int_equal(send_all(&f), 2);
}

static void credits_bound_what_is_unanswered_but_one(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	hear(&f, 0, 3 * COST - 1);
	add(&f, 4);
	assert_int_equal(send_all(&f), 2);
	assert_false(dgi_client_session_may_begin(&f.s, COST));
	assert_true(dgi_client_session_may_begin(&f.s, COST - 1));
	answer(&f, 1, DG_OK, 1);
	hear(&f, 0, 1);
	assert_int_equal(send_all(&f), 0);
	answer(&f, 2, DG_OK, 2);
	assert_int_equal(send_all(&f), 1); /* or it would wait for ever */
}

static void a_push_is_kept_until_it_is_on_disk(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	add(&f, 3);
	(void)send_all(&f);
	answer(&f, 1, DG_OK, 11);
	answer(&f, 2, DG_OK, 12);
	answer(&f, 3, DG_OK, 13);
	assert_null(dgi_client_session_take_done(&f.s));
	hear(&f, 12, 1 << 20);
	assert_ptr_equal(dgi_client_session_take_done(&f.s), &f.pushes[0]);
	assert_ptr_equal(dgi_client_session_take_done(&f.s), &f.pushes[1]);
	assert_null(dgi_client_session_take_done(&f.s));
	assert_int_equal(f.s.n_kept, 1);
	hear(&f, 13, 1 << 20);
	assert_ptr_equal(dgi_client_session_take_done(&f.s), &f.pushes[2]);
	assert_null(f.s.first);
	add(&f, 1);
	assert_int_equal(f.pushes[3].number, 4);
}

static void a_refused_push_is_done_wherever_it_stands(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	add(&f, 3);
	(void)send_all(&f);
	answer(&f, 3, DG_FULL, 0);
	assert_ptr_equal(dgi_client_session_take_done(&f.s), &f.pushes[2]);
	assert_int_equal(f.pushes[2].status, DG_FULL);
	assert_null(dgi_client_session_take_done(&f.s));
	add(&f, 1);
	expect_next(&f, 4, 3, 1);
	assert_null(dgi_client_session_answered(&f.s, 3, DG_OK, 1));
	assert_null(dgi_client_session_answered(&f.s, 9, DG_OK, 1));
}

static void a_lost_connection_repeats_what_has_no_answer(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	add(&f, 4);
	(void)send_all(&f);
	answer(&f, 2, DG_OK, 5);
	answer(&f, 3, DG_RANGE, 0);
	dgi_client_session_lost(&f.s);
	assert_null(dgi_client_session_next(&f.s));
	connect(&f, 1, 5); /* the same server: it has what it promised */
	expect_next(&f, 1, 0, 1);
	expect_next(&f, 4, 1, 1);
	assert_null(dgi_client_session_next(&f.s));
}

static void a_new_incarnation_is_told_what_was_promised_too(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	add(&f, 4);
	(void)send_all(&f);
	for (uint64_t i = 1; i <= 4; i++)
		answer(&f, i, DG_OK, 10 + i);
	hear(&f, 12, 1 << 20); /* 1 and 2 are on disk, though nobody has taken them yet */
	dgi_client_session_lost(&f.s);
	connect(&f, 2, 13);
	assert_true(f.pushes[2].was_promised && f.pushes[3].was_promised);
	expect_next(&f, 3, 0, 3);
	expect_next(&f, 4, 3, 3);
	answer(&f, 4, DG_TIMEOUT, 0); /* promised: it must get there */
	expect_next(&f, 4, 4, 3);
	answer(&f, 3, DG_NOTFOUND, 0);
	answer(&f, 4, DG_OK, 14);
	assert_ptr_equal(dgi_client_session_take_done(&f.s), &f.pushes[0]);
}

static void a_server_that_ends_refuses_nothing(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	add(&f, 2);
	(void)send_all(&f);
	answer(&f, 1, DG_CLOSED, 0);
	answer(&f, 2, DG_IO, 0);
	assert_null(dgi_client_session_answered(&f.s, 2, DG_IO, 0)); /* once is enough */
	assert_null(dgi_client_session_next(&f.s));
	assert_null(dgi_client_session_take_done(&f.s));
	connect(&f, 2, 0);
	assert_int_equal(send_all(&f), 2);
}

static void an_older_store_is_not_believed(void **state)
{
	struct dgi_welcome welcome = { .incarnation = 2, .log_number = 9 };
	struct dgi_hello hello = { 0 };
	struct fixture f;
	dg_error err = { 0 };

	(void)state;
	begin(&f);
	connect(&f, 3, 10);
	dgi_client_session_hello(&f.s, &hello);
	assert_memory_equal(&hello.session_uuid, &id, sizeof id);
	assert_int_equal(hello.incarnation, 3);
	assert_int_equal(hello.durable, 10);
	welcome.log_number = 10;
	assert_fails(dgi_client_session_welcome(&f.s, &welcome, &err), DG_MISMATCH, &err,
		     "older copy");
	welcome.incarnation = 3;
	assert_ok(dgi_client_session_welcome(&f.s, &welcome, &err), &err);
	welcome.log_number = 9;
	assert_fails(dgi_client_session_welcome(&f.s, &welcome, &err), DG_MISMATCH, &err,
		     "older copy");
}

static void a_pull_names_the_push_sent_last_and_waits_for_those_not_sent(void **state)
{
	uint64_t after = 99;
	struct fixture f;

	(void)state;
	begin(&f);
	assert_true(dgi_client_session_pull(&f.s, &after));
	assert_int_equal(after, 0);
	add(&f, 2);
	assert_false(dgi_client_session_pull(&f.s, &after));
	(void)send_all(&f);
	assert_true(dgi_client_session_pull(&f.s, &after));
	assert_int_equal(after, 2);
	answer(&f, 1, DG_OK, 1);
	dgi_client_session_lost(&f.s);
	connect(&f, 2, 0);
	assert_false(dgi_client_session_pull(&f.s, &after));
	(void)send_all(&f);
	assert_false(dgi_client_session_pull(&f.s, &after)); /* 1 was promised: is it there? */
	answer(&f, 1, DG_FULL, 0);
	(void)send_all(&f);
	assert_false(dgi_client_session_pull(&f.s, &after));
	answer(&f, 1, DG_OK, 1);
	assert_true(dgi_client_session_pull(&f.s, &after));
	assert_int_equal(after, 1);
}

/* --- The server --- */

static dg_status come(struct dgi_server_session *s, uint64_t number, uint64_t previous,
		      dg_error *err)
{
	const struct dgi_push push = { .number = number, .previous = previous, .floor = number };

	return dgi_server_session_push(s, &push, err);
}

static void a_chain_with_a_gap_ends_the_connection(void **state)
{
	struct dgi_server_session s;
	dg_error err = { 0 };

	(void)state;
	dgi_server_session_init(&s, &id);
	assert_fails(come(&s, 6, 5, &err), DG_PROTO, &err, "number 6 follows 5");
	assert_ok(come(&s, 5, 0, &err), &err);
	assert_ok(come(&s, 8, 5, &err), &err); /* 6 and 7 were refused on another connection */
	assert_ok(come(&s, 7, 8, &err), &err); /* promised once, and tried again */
	assert_fails(come(&s, 7, 8, &err), DG_PROTO, &err, "number 7 follows 8"); /* twice */
	assert_ok(come(&s, 7, 7, &err), &err); /* refused, and tried again */
	assert_fails(come(&s, 9, 8, &err), DG_PROTO, &err, "newest that has come is 7");
	assert_fails(come(&s, 0, 0, &err), DG_PROTO, &err, "with a session");
}

static void without_a_session_pushes_have_no_numbers(void **state)
{
	struct dgi_server_session s;
	dg_error err = { 0 };
	uint64_t turn;

	(void)state;
	dgi_server_session_init(&s, &(dg_uuid){ { 0 } });
	assert_ok(come(&s, 0, 0, &err), &err);
	assert_fails(come(&s, 1, 0, &err), DG_PROTO, &err, "without a session");
	assert_ok(dgi_server_session_pull(&s, 0, &turn, &err), &err);
	assert_fails(dgi_server_session_pull(&s, 1, &turn, &err), DG_PROTO, &err,
		     "after push number 1");
}

static void a_pull_waits_for_the_pushes_before_it(void **state)
{
	struct dgi_server_session s;
	dg_error err = { 0 };
	uint64_t turn = 9;

	(void)state;
	dgi_server_session_init(&s, &id);
	for (uint64_t i = 1; i <= 3; i++) {
		assert_ok(come(&s, i, i - 1, &err), &err);
		if (i != 2) /* refused at once */
			dgi_server_session_hand_on(&s);
	}
	assert_ok(dgi_server_session_pull(&s, 3, &turn, &err), &err);
	assert_int_equal(turn, 2);
	dgi_server_session_settle(&s, 2);
	assert_int_equal(s.n_settled, 2);
	assert_ok(dgi_server_session_pull(&s, 0, &turn, &err), &err);
	assert_int_equal(turn, 0);
	assert_fails(dgi_server_session_pull(&s, 4, &turn, &err), DG_PROTO, &err,
		     "newest that has come is 3");
}

static void a_session_taken_over_is_served_no_more(void **state)
{
	struct dgi_server_session s;
	dg_error err = { 0 };
	uint64_t turn;

	(void)state;
	dgi_server_session_init(&s, &id);
	assert_ok(come(&s, 1, 0, &err), &err);
	s.is_taken = true;
	assert_fails(come(&s, 2, 1, &err), DG_DENIED, &err, "another connection has taken it over");
	assert_fails(dgi_server_session_pull(&s, 1, &turn, &err), DG_DENIED, &err, "taken it over");
	assert_ok(dgi_server_session_pull(&s, 0, &turn, &err), &err);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pushes_are_numbered_in_a_chain),
		cmocka_unit_test(at_most_64_numbers_are_under_way),
		cmocka_unit_test(credits_bound_what_is_unanswered_but_one),
		cmocka_unit_test(a_push_is_kept_until_it_is_on_disk),
		cmocka_unit_test(a_refused_push_is_done_wherever_it_stands),
		cmocka_unit_test(a_lost_connection_repeats_what_has_no_answer),
		cmocka_unit_test(a_new_incarnation_is_told_what_was_promised_too),
		cmocka_unit_test(a_server_that_ends_refuses_nothing),
		cmocka_unit_test(an_older_store_is_not_believed),
		cmocka_unit_test(a_pull_names_the_push_sent_last_and_waits_for_those_not_sent),
		cmocka_unit_test(a_chain_with_a_gap_ends_the_connection),
		cmocka_unit_test(without_a_session_pushes_have_no_numbers),
		cmocka_unit_test(a_pull_waits_for_the_pushes_before_it),
		cmocka_unit_test(a_session_taken_over_is_served_no_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
