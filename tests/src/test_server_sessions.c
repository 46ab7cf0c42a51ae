/* What a server promises about sessions of pushes, and the operations that pushes name. */
#include "test.h"

#include "graph_fixture.h"
#include "served.h"
#include "socket.h"

#include <stdlib.h>
#include <string.h>

static struct served served;
static const dg_uuid session = { { 0x6b, 1, 2, 3 } };

static int set_up(void **state)
{
	(void)state;
	served_make(&served);
	served_start(&served, true, (dg_server_options){ .threads = 2 });
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	(void)served_stop(&served);
	served_remove(&served);
	return 0;
}

static void restart(void)
{
	(void)served_stop(&served);
	served_start(&served, true, (dg_server_options){ .threads = 2 });
}

/* A connection that serves @id, of attempt number @attempt. */
static void open_again(struct peer *peer, const dg_uuid *id, uint64_t attempt)
{
	struct dgi_hello hello = {
		.version_min = 1, .version_max = 1, .part = -1, .attempt = attempt
	};
	dg_error err = { 0 };

	hello.session_uuid = *id;
	peer->pool = dgi_pool_of(0);
	peer->last_id = 1;
	assert_ok(dgi_dial(&served.address, &hello, &peer->pool, soon(), &peer->conn,
			   &peer->welcome, &err),
		  &err);
}

static void open_as(struct peer *peer, const dg_uuid *id)
{
	open_again(peer, id, 0);
}

/* Queues a push of @n rows with the operands behind it; returns its request's id. */
static uint64_t queue(struct peer *peer, struct dgi_push push, const dg_id *rows,
		      const float *operands)
{
	struct dgi_body body = { 0 };
	dg_error err = { 0 };
	uint8_t *block;

	push.tensor = FEAT;
	push.row_bytes = ROW_BYTES;
	body.block_bytes = (size_t)dgi_push_bytes(&push);
	body.block = block = dgi_pool_get(&peer->pool, body.block_bytes);
	memset(block, 0, body.block_bytes);
	dgi_push_encode(&push, block);
	memcpy(block + DGI_PREFIX_BYTES, rows, push.n * sizeof *rows);
	memcpy(block + dgi_push_data_at(push.n, push.parameters_bytes), operands,
	       dgi_push_operands(push.n, push.flags) * ROW_BYTES);
	assert_ok(dgi_conn_send(&peer->conn, dgi_request(DGI_PUSH, ++peer->last_id, soon()), &body,
				&err),
		  &err);
	return peer->last_id;
}

/* The next reply must be to request @id; gives its status, and what it says of a push. */
static dg_status next(struct peer *peer, uint64_t id, struct dgi_pushed *pushed, dg_error *err)
{
	struct dgi_message reply;
	dg_status st;

	assert_ok(peer_next(peer, &reply, err), err);
	assert_int_equal(reply.frame.request_id, id);
	assert_true(reply.frame.credits >= DGI_CREDITS_EARLY);
	st = dgi_reply_check(&reply, err);
	if (!st && reply.frame.type == DGI_PUSH)
		assert_ok(dgi_pushed_decode(reply.body, reply.head_bytes, pushed, err), err);
	if (!st && reply.frame.type == DGI_PUSH)
		assert_true(pushed->log_number <= reply.frame.durable);
	dgi_message_clear(&peer->pool, &reply);
	return st;
}

/* Adds 1 to row 12 as push @number. */
static dg_status add_one(struct peer *peer, uint64_t number, uint64_t previous,
			 struct dgi_pushed *pushed, dg_error *err)
{
	const float ones[4] = { 1, 1, 1, 1 };
	const dg_id row = 12;
	const struct dgi_push push = { .operation = DG_OP_ADD,
				       .n = 1,
				       .number = number,
				       .previous = previous,
				       .floor = number };

	return next(peer, queue(peer, push, &row, ones), pushed, err);
}

static float row_12(void)
{
	struct peer peer;
	dg_error err = { 0 };
	const dg_id row = 12;
	float out[4];

	peer_open(&peer, &served);
	assert_ok(peer_pull(&peer, FEAT, &row, 1, out, &err), &err);
	peer_close(&peer);
	return out[0] - graph_fixture_feat(12, 0);
}

static void a_push_counts_once_however_often_it_comes(void **state)
{
	struct dgi_pushed first, again;
	struct peer peer, other;
	dg_error err = { 0 };

	(void)state;
	open_as(&peer, &session);
	assert_ok(add_one(&peer, 1, 0, &first, &err), &err);
	assert_false(first.repeat);
	assert_ok(add_one(&peer, 1, 1, &again, &err), &err);
	assert_true(again.repeat && again.log_number >= first.log_number);
	assert_ok(add_one(&peer, 2, 1, &again, &err), &err);
	open_as(&other, &session);
	for (uint64_t i = 1; i <= 2; i++) {
		assert_ok(add_one(&other, i, i - 1, &again, &err), &err);
		assert_true(again.repeat);
	}
	peer_close(&peer);
	peer_close(&other);
	restart();
	open_as(&other, &session);
	assert_ok(add_one(&other, 2, 0, &again, &err), &err);
	assert_true(again.repeat);
	assert_ok(add_one(&other, 3, 2, &again, &err), &err);
	assert_false(again.repeat);
	peer_close(&other);
	assert_true(row_12() == 3);
}

static void a_refused_push_leaves_no_hole(void **state)
{
	struct dgi_pushed pushed;
	struct peer peer;
	dg_error err = { 0 };

	(void)state;
	open_as(&peer, &session);
	for (uint64_t i = 1; i <= 200; i++) {
		const float ones[4] = { 1, 1, 1, 1 };
		const dg_id row = 99;
		const struct dgi_push push = {
			.operation = DG_OP_ADD, .n = 1, .number = i, .previous = i - 1, .floor = i
		};

		assert_fails(next(&peer, queue(&peer, push, &row, ones), &pushed, &err), DG_RANGE,
			     &err, "row 99");
	}
	assert_ok(add_one(&peer, 201, 200, &pushed, &err), &err);
	assert_false(pushed.repeat);
	peer_close(&peer);
	assert_true(row_12() == 1);
}

static void a_missing_push_ends_the_connection_with_a_reason(void **state)
{
	const struct dgi_push push = {
		.operation = DG_OP_ADD, .n = 0, .number = 3, .previous = 2, .floor = 3
	};
	struct dgi_message reply;
	struct dgi_pushed pushed;
	struct peer peer;
	dg_error err = { 0 };

	(void)state;
	open_as(&peer, &session);
	assert_ok(add_one(&peer, 1, 0, &pushed, &err), &err);
	(void)queue(&peer, push, &(dg_id){ 0 }, (float[4]){ 0 });
	assert_ok(peer_next(&peer, &reply, &err), &err);
	assert_int_equal(reply.frame.request_id, 0);
	assert_int_equal(dgi_error_decode(&reply.frame, reply.body, reply.head_bytes, &err),
			 DG_PROTO);
	assert_string_equal(err.text, "push number 3 follows 2, but the newest that has come is 1");
	dgi_message_clear(&peer.pool, &reply);
	assert_int_equal(peer_next(&peer, &reply, &err), DG_CLOSED);
	peer_close(&peer);
}

static void a_session_is_served_on_its_newest_connection_only(void **state)
{
	struct dgi_pushed pushed;
	struct peer older, newer;
	dg_error err = { 0 };

	(void)state;
	open_as(&older, &session);
	assert_ok(add_one(&older, 1, 0, &pushed, &err), &err);
	open_as(&newer, &session);
	assert_fails(add_one(&older, 2, 1, &pushed, &err), DG_DENIED, &err, "taken it over");
	assert_ok(add_one(&newer, 2, 0, &pushed, &err), &err);
	assert_false(pushed.repeat);
	peer_close(&older);
	assert_ok(add_one(&newer, 3, 2, &pushed, &err), &err);
	peer_close(&newer);
	assert_true(row_12() == 3);
}

static dg_status end_session(struct peer *peer, uint32_t operation, const dg_uuid *id,
			     dg_error *err)
{
	const struct dgi_session_end end = { operation, *id };
	uint8_t encoded[DGI_SESSION_BYTES];
	const struct dgi_body body = { .copied = encoded, .copied_bytes = sizeof encoded };
	struct dgi_message reply;
	dg_status st;

	dgi_session_end_encode(&end, encoded);
	st = dgi_call(&peer->conn, dgi_request(DGI_SESSION, ++peer->last_id, soon()), &body, soon(),
		      &reply, &peer->broken, err);
	if (!st)
		dgi_message_clear(&peer->pool, &reply);
	return st;
}

static void a_closed_session_is_forgotten(void **state)
{
	const dg_uuid other = { { 7 } };
	struct dgi_pushed pushed;
	struct peer peer, plain;
	dg_error err = { 0 };

	(void)state;
	open_as(&peer, &session);
	peer_open(&plain, &served);
	assert_ok(add_one(&peer, 1, 0, &pushed, &err), &err);
	assert_fails(end_session(&peer, DGI_SESSION_CLOSE, &other, &err), DG_INVALID, &err,
		     "another session");
	assert_fails(end_session(&plain, DGI_SESSION_CLOSE, &session, &err), DG_NOTFOUND, &err,
		     "no session to close");
	assert_ok(end_session(&peer, DGI_SESSION_CLOSE, &session, &err), &err);
	assert_fails(add_one(&peer, 2, 1, &pushed, &err), DG_DENIED, &err, "has ended");
	peer_close(&peer);
	peer_close(&plain);
	/* What is forgotten counts anew: clients draw a new id. */
	open_as(&peer, &session);
	assert_ok(add_one(&peer, 1, 0, &pushed, &err), &err);
	assert_false(pushed.repeat);
	peer_close(&peer);
}

static void an_expired_session_is_refused_after_a_restart_too(void **state)
{
	const dg_uuid none = { { 0 } };
	struct dgi_pushed pushed;
	struct peer peer, plain;
	dg_error err = { 0 };

	(void)state;
	open_as(&peer, &session);
	peer_open(&plain, &served);
	assert_ok(add_one(&peer, 1, 0, &pushed, &err), &err);
	assert_fails(end_session(&plain, DGI_SESSION_EXPIRE, &none, &err), DG_INVALID, &err,
		     "zero");
	assert_ok(end_session(&plain, DGI_SESSION_EXPIRE, &session, &err), &err);
	assert_fails(add_one(&peer, 2, 1, &pushed, &err), DG_DENIED, &err, "has ended");
	peer_close(&peer);
	peer_close(&plain);
	for (int i = 0; i < 2; i++) {
		open_as(&peer, &session);
		assert_fails(add_one(&peer, 2, 0, &pushed, &err), DG_NOTFOUND, &err, "has expired");
		assert_fails(add_one(&peer, 1, 2, &pushed, &err), DG_NOTFOUND, &err, "has expired");
		/* Closing it does not open it. */
		assert_ok(end_session(&peer, DGI_SESSION_CLOSE, &session, &err), &err);
		peer_close(&peer);
		restart();
	}
	assert_true(row_12() == 1);
}

static void a_pull_sees_the_pushes_it_names(void **state)
{
	enum { ROUNDS = 300 };
	const dg_id row = 12;
	struct peer peer;
	dg_error err = { 0 };

	(void)state;
	open_as(&peer, &session);
	for (uint64_t i = 1; i <= ROUNDS; i++) {
		const float ones[4] = { 1, 1, 1, 1 };
		const struct dgi_push push = {
			.operation = DG_OP_ADD, .n = 1, .number = i, .previous = i - 1, .floor = i
		};
		const struct dgi_pull pull = { .tensor = FEAT, .n = 1, .after = i };
		uint8_t prefix[DGI_PREFIX_BYTES];
		struct iovec lent = { (void *)(uintptr_t)&row, sizeof row };
		const struct dgi_body body = {
			.copied = prefix, .copied_bytes = sizeof prefix, .lent = &lent, .n_lent = 1
		};
		int n = 0;

		(void)queue(&peer, push, &row, ones);
		dgi_pull_encode(&pull, prefix);
		assert_ok(dgi_conn_send(&peer.conn, dgi_request(DGI_PULL, ++peer.last_id, soon()),
					&body, &err),
			  &err);
		while (n < 2) {
			struct dgi_message reply;
			float out[4];

			assert_ok(peer_next(&peer, &reply, &err), &err);
			assert_ok(dgi_reply_check(&reply, &err), &err);
			if (reply.frame.type == DGI_PULL) {
				memcpy(out, reply.body + DGI_PREFIX_BYTES, sizeof out);
				assert_true(out[0] - graph_fixture_feat(12, 0) == (float)i);
			}
			dgi_message_clear(&peer.pool, &reply);
			n++;
		}
	}
	peer_close(&peer);
}

static void a_pull_that_names_a_push_to_come_ends_the_connection(void **state)
{
	const struct dgi_pull pull = { .tensor = FEAT, .n = 0, .after = 1 };
	uint8_t prefix[DGI_PREFIX_BYTES];
	const struct dgi_body body = { .copied = prefix, .copied_bytes = sizeof prefix };
	struct dgi_message reply;
	struct peer peer;
	dg_error err = { 0 };

	(void)state;
	open_as(&peer, &session);
	dgi_pull_encode(&pull, prefix);
	assert_ok(dgi_conn_send(&peer.conn, dgi_request(DGI_PULL, 5, soon()), &body, &err), &err);
	assert_ok(peer_next(&peer, &reply, &err), &err);
	assert_int_equal(reply.frame.request_id, 0);
	assert_fails(dgi_error_decode(&reply.frame, reply.body, reply.head_bytes, &err), DG_PROTO,
		     &err, "pull after push number 1");
	dgi_message_clear(&peer.pool, &reply);
	peer_close(&peer);
}

static void expect_push(struct peer *peer, struct dgi_push push, const dg_id *rows, float operand,
			dg_id row, float wanted)
{
	const float operands[4] = { operand, operand, operand, operand };
	struct dgi_pushed pushed;
	dg_error err = { 0 };
	float out[4];

	assert_ok(next(peer, queue(peer, push, rows, operands), &pushed, &err), &err);
	assert_ok(peer_pull(peer, FEAT, &row, 1, out, &err), &err);
	for (int i = 0; i < 4; i++)
		assert_true(out[i] == wanted);
}

static void every_operation_reaches_the_rows(void **state)
{
	const dg_id row = 15, run[2] = { 14, 10 }, beyond[2] = { 14, 11 }, before[2] = { 9, 1 };
	const float zeros[4] = { 0 };
	struct dgi_push push = { .operation = DG_OP_ASSIGN, .n = 1 };
	struct dgi_pushed pushed;
	struct peer peer;
	dg_error err = { 0 };

	(void)state;
	peer_open(&peer, &served);
	expect_push(&peer, push, &row, 3, 15, 3);
	push.operation = DG_OP_ADD;
	expect_push(&peer, push, &row, 4, 15, 7);
	push.operation = DG_OP_MIN;
	expect_push(&peer, push, &row, 5, 15, 5);
	push.operation = DG_OP_MAX;
	expect_push(&peer, push, &row, 6, 15, 6);
	push.operation = DG_OP_MULTIPLY;
	expect_push(&peer, push, &row, -2, 15, -12);
	push = (struct dgi_push){ .operation = DG_OP_ASSIGN, .n = 2, .flags = DGI_PUSH_FILL };
	expect_push(&peer, push, run, 9, 23, 9);
	push.operation = DG_OP_ADD;
	push.flags |= DGI_PUSH_WAIT_DURABLE;
	expect_push(&peer, push, run, 1, 14, 10);
	assert_fails(next(&peer, queue(&peer, push, beyond, zeros), &pushed, &err), DG_RANGE, &err,
		     "11 rows from 14 on");
	assert_fails(next(&peer, queue(&peer, push, before, zeros), &pushed, &err), DG_RANGE, &err,
		     "1 rows from 9 on");
	push = (struct dgi_push){ .rule = 60000, .n = 1 };
	assert_fails(next(&peer, queue(&peer, push, &row, zeros), &pushed, &err), DG_NOTFOUND, &err,
		     "60000");
	peer_close(&peer);
}

static void a_long_pull_lets_short_ones_pass(void **state)
{
	enum { LONG = 2000000 };
	dg_id *rows = calloc(LONG, sizeof *rows);
	const dg_id row = 12;
	struct dgi_message reply;
	struct peer peer;
	dg_error err = { 0 };

	(void)state;
	for (int i = 0; i < LONG; i++)
		rows[i] = FIRST + i % 14;
	peer_open(&peer, &served);
	peer_queue_pull(&peer, rows, LONG);
	peer_queue_pull(&peer, &row, 1);
	assert_ok(peer_next(&peer, &reply, &err), &err);
	assert_int_equal(reply.frame.request_id, peer.last_id); /* the short one first */
	dgi_message_clear(&peer.pool, &reply);
	assert_ok(peer_next(&peer, &reply, &err), &err);
	assert_int_equal(reply.frame.body_bytes, DGI_PREFIX_BYTES + (size_t)LONG * ROW_BYTES);
	for (int i = 0; i < LONG; i += 997) {
		float out[4];

		memcpy(out, reply.body + DGI_PREFIX_BYTES + (size_t)i * ROW_BYTES, sizeof out);
		assert_true(out[3] == graph_fixture_feat(rows[i], 3));
	}
	dgi_message_clear(&peer.pool, &reply);
	peer_close(&peer);
	free(rows);
}

static void a_request_whose_time_is_over_is_not_done(void **state)
{
	enum { LONG = 2000000 };
	dg_id *rows = calloc(LONG, sizeof *rows);
	const struct dgi_pull pull = { .tensor = FEAT, .n = LONG };
	struct iovec lent = { rows, LONG * sizeof *rows };
	uint8_t prefix[DGI_PREFIX_BYTES];
	const struct dgi_body body = {
		.copied = prefix, .copied_bytes = sizeof prefix, .lent = &lent, .n_lent = 1
	};
	struct dgi_message reply;
	struct peer peer;
	dg_error err = { 0 };
	int n_late = 0;

	(void)state;
	for (int i = 0; i < LONG; i++)
		rows[i] = FIRST;
	peer_open(&peer, &served);
	dgi_pull_encode(&pull, prefix);
	for (uint64_t id = 2; id < 5; id++) {
		struct dgi_frame frame = dgi_request(DGI_PULL, id, soon());

		frame.deadline_ms = 1;
		assert_ok(dgi_conn_send(&peer.conn, frame, &body, &err), &err);
	}
	for (int i = 0; i < 3; i++) {
		assert_ok(peer_next(&peer, &reply, &err), &err);
		n_late += reply.frame.status == DG_TIMEOUT;
		dgi_message_clear(&peer.pool, &reply);
	}
	assert_true(n_late >= 1);
	peer_close(&peer);
	free(rows);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

static void a_hello_that_comes_late_does_not_take_the_session_from_a_later_attempt(void **state)
{
	static const dg_uuid own = { { 0x6c, 9 } };
	struct dgi_pushed pushed;
	struct peer later, late;
	dg_error err = { 0 };

	(void)state;
	open_again(&later, &own, 2);
	open_again(&late, &own, 1); /* its client has given it up */
	assert_ok(add_one(&later, 1, 0, &pushed, &err), &err);
	assert_fails(add_one(&late, 2, 0, &pushed, &err), DG_DENIED, &err, "");
	peer_close(&late);
	assert_ok(add_one(&later, 2, 1, &pushed, &err), &err);
	peer_close(&later);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_push_counts_once_however_often_it_comes),
		TEST(a_refused_push_leaves_no_hole),
		TEST(a_missing_push_ends_the_connection_with_a_reason),
		TEST(a_session_is_served_on_its_newest_connection_only),
		TEST(a_hello_that_comes_late_does_not_take_the_session_from_a_later_attempt),
		TEST(a_closed_session_is_forgotten),
		TEST(an_expired_session_is_refused_after_a_restart_too),
		TEST(a_pull_sees_the_pushes_it_names),
		TEST(a_pull_that_names_a_push_to_come_ends_the_connection),
		TEST(every_operation_reaches_the_rows),
		TEST(a_long_pull_lets_short_ones_pass),
		TEST(a_request_whose_time_is_over_is_not_done),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
