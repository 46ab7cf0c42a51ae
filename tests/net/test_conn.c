/* What net/conn.c and net/call.c promise, on connected sockets. */
#include "test.h"

#include "call.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const struct dgi_conn_limits limits = {
	.handshake_ms = 1000, .frame_ms = 2000, .idle_ms = 4000, .send_bytes_max = 100000
};

static struct dgi_pool pool;
static struct dgi_conn *a, *b; /* the two ends */

static int set_up(void **state)
{
	int fds[2];

	(void)state;
	pool = dgi_pool_of(0);
	a = malloc(sizeof *a);
	b = malloc(sizeof *b);
	if (!a || !b || socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds) != 0)
		return -1;
	dgi_conn_init(a, fds[0], &pool, &limits);
	dgi_conn_init(b, fds[1], &pool, &limits);
	dgi_conn_establish(a);
	dgi_conn_establish(b);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	dgi_conn_clear(a);
	dgi_conn_clear(b);
	dgi_conn_clear(b);
	free(a);
	free(b);
	dgi_pool_clear(&pool);
	return 0;
}

static const struct dgi_frame ping = { .version = 1, .type = DGI_PING, .request_id = 3 };

/* Queues a message of @n bytes at @conn. */
static void put(struct dgi_conn *conn, size_t n)
{
	struct dgi_body body = { .block = n ? dgi_pool_get(&pool, n) : NULL, .block_bytes = n };
	dg_error err = { 0 };

	if (n)
		memset(body.block, 'b', n);
	assert_ok(dgi_conn_send(conn, ping, &body, &err), &err);
}

/* Moves bytes from a to b until b has a message. */
static struct dgi_message moved(void)
{
	for (;;) {
		enum dgi_inbox_answer answer;
		struct dgi_message m;
		dg_error err = { 0 };

		assert_ok(dgi_conn_flush(a, &err), &err);
		assert_ok(dgi_conn_receive(b, &err), &err);
		assert_ok(dgi_conn_next(b, &answer, &m, &err), &err);
		if (answer == DGI_INBOX_MESSAGE)
			return m;
	}
}

static void messages_cross_a_socket_that_takes_less_than_they_are(void **state)
{
	static const size_t lengths[] = { 0, 10, 5000000, 1 };

	(void)state;
	for (size_t i = 0; i < 4; i++)
		put(a, lengths[i]);
	for (size_t i = 0; i < 4; i++) {
		struct dgi_message m = moved();

		assert_int_equal(m.frame.body_bytes, lengths[i]);
		assert_int_equal(m.head_bytes, lengths[i]);
		if (lengths[i])
			assert_int_equal(m.body[lengths[i] - 1], 'b');
		dgi_message_clear(&pool, &m);
	}
	assert_int_equal(a->out.bytes, 0);
}

static void nothing_is_read_while_too_much_waits_to_be_sent(void **state)
{
	(void)state;
	assert_int_equal(dgi_conn_events(b), POLLIN);
	put(b, limits.send_bytes_max - DGI_FRAME_BYTES);
	assert_int_equal(dgi_conn_events(b), POLLIN | POLLOUT);
	put(b, 0);
	assert_int_equal(dgi_conn_events(b), POLLOUT);
	dgi_outbox_clear(&b->out);
	assert_int_equal(dgi_conn_events(b), POLLIN);
	dgi_conn_pause(b, true);
	assert_int_equal(dgi_conn_events(b), 0);
	dgi_conn_pause(b, false);
	assert_int_equal(dgi_conn_events(b), POLLIN);
}

static void the_end_of_the_stream_is_told_from_a_cut_message(void **state)
{
	uint8_t header[DGI_FRAME_BYTES];
	enum dgi_inbox_answer answer;
	struct dgi_message m;
	dg_error err = { 0 };

	(void)state;
	put(a, 0);
	m = moved();
	dgi_frame_encode(&ping, header);
	assert_int_equal(write(a->fd, header, sizeof header), 64);
	assert_int_equal(write(a->fd, header, 10), 10);
	(void)shutdown(a->fd, SHUT_WR);
	assert_ok(dgi_conn_receive(b, &err), &err);
	assert_ok(dgi_conn_receive(b, &err), &err);
	assert_true(b->ended);
	assert_ok(dgi_conn_next(b, &answer, &m, &err), &err); /* what came before counts */
	assert_int_equal(answer, DGI_INBOX_MESSAGE);
	assert_fails(dgi_conn_next(b, &answer, &m, &err), DG_CLOSED, &err, "in the middle");
	assert_int_equal(dgi_conn_events(b), 0);
}

static void a_peer_that_is_gone_is_an_error_and_no_signal(void **state)
{
	dg_error err = { 0 };

	(void)state;
	(void)close(b->fd);
	b->fd = -1;
	put(a, 0);
	assert_int_equal(dgi_conn_flush(a, &err), DG_CLOSED);
}

static void the_first_body_may_have_64_kib(void **state)
{
	struct dgi_frame frame = { .version = 1, .type = 1, .request_id = 1 };
	uint8_t header[DGI_FRAME_BYTES];
	enum dgi_inbox_answer answer;
	struct dgi_message m;
	dg_error err = { 0 };

	(void)state;
	dgi_inbox_init(&b->in, &pool, DGI_FRAME_BODY_BYTES_EARLY);
	frame.body_bytes = DGI_FRAME_BODY_BYTES_EARLY;
	dgi_frame_encode(&frame, header);
	assert_int_equal(write(a->fd, header, sizeof header), 64);
	assert_ok(dgi_conn_receive(b, &err), &err);
	assert_ok(dgi_conn_next(b, &answer, &m, &err), &err);
	dgi_inbox_clear(&b->in);
	frame.body_bytes++;
	dgi_frame_encode(&frame, header);
	assert_int_equal(write(a->fd, header, sizeof header), 64);
	assert_ok(dgi_conn_receive(b, &err), &err);
	assert_fails(dgi_conn_next(b, &answer, &m, &err), DG_PROTO, &err, "at most 65536");
}

static void a_peer_has_its_time_and_no_more(void **state)
{
	int64_t now = dgi_now_ms();
	dg_error err = { 0 };

	(void)state;
	b->established = false;
	assert_ok(dgi_conn_check_time(b, b->opened_ms + 1000, &err), &err);
	assert_fails(dgi_conn_check_time(b, b->opened_ms + 1001, &err), DG_TIMEOUT, &err,
		     "no hello within 1000 ms");
	b->established = true;
	assert_ok(dgi_conn_check_time(b, b->active_ms + 4000, &err), &err);
	assert_fails(dgi_conn_check_time(b, b->active_ms + 4001, &err), DG_TIMEOUT, &err, "idle");

	put(a, 640000); /* 10 s at the slowest rate, and 2 s */
	assert_ok(dgi_conn_flush(a, &err), &err);
	if (a->leaving_ms) {
		assert_ok(dgi_conn_check_time(a, a->leaving_ms + 12001, &err), &err);
		assert_fails(dgi_conn_check_time(a, a->leaving_ms + 12002, &err), DG_TIMEOUT, &err,
			     "has not taken a message");
	}
	assert_int_equal(b->arriving_ms, 0);
	assert_ok(dgi_conn_receive(b, &err), &err);
	assert_true(b->arriving_ms >= now);
	b->limits.idle_ms = 0;
	assert_ok(dgi_conn_check_time(b, b->arriving_ms + 2000, &err), &err);
	assert_fails(dgi_conn_check_time(b, b->arriving_ms + 2001, &err), DG_TIMEOUT, &err,
		     "arriving");
	dgi_conn_pause(b, true); /* our fault, not the peer's */
	assert_ok(dgi_conn_check_time(b, b->arriving_ms + 2001, &err), &err);
}

/* Answers the next request at b by @reply, whose id is set, and @body. */
static void answer(struct dgi_frame reply, const void *bytes, size_t n)
{
	struct dgi_body body = { .copied = bytes, .copied_bytes = n };
	dg_error err = { 0 };

	reply.version = 1;
	reply.flags = DGI_FRAME_REPLY;
	assert_ok(dgi_conn_send(b, reply, &body, &err), &err);
	assert_ok(dgi_conn_flush(b, &err), &err);
}

static void a_call_takes_its_own_answer(void **state)
{
	uint8_t status[DGI_STATUS_BYTES] = { 0 };
	struct dgi_message reply;
	bool broken = true;
	dg_error err = { 0 };

	(void)state;
	answer((struct dgi_frame){ .type = DGI_PING, .request_id = 2 }, status, sizeof status);
	answer((struct dgi_frame){ .type = DGI_PING, .request_id = 3 }, status, sizeof status);
	assert_ok(dgi_call(a, ping, NULL, dgi_deadline_in(5000), &reply, &broken, &err), &err);
	assert_int_equal(reply.frame.request_id, 3);
	assert_false(broken);
	dgi_message_clear(&pool, &reply);
}

static void a_call_fails_as_its_answer_says(void **state)
{
	struct dgi_message reply;
	bool broken = true;
	dg_error err = { 0 };

	(void)state;
	answer((struct dgi_frame){ .type = DGI_PING, .request_id = 3, .status = DG_FULL }, "no", 2);
	assert_fails(dgi_call(a, ping, NULL, dgi_deadline_in(5000), &reply, &broken, &err), DG_FULL,
		     &err, "no");
	assert_false(broken);
	answer((struct dgi_frame){ .type = DGI_PING, .request_id = 3 }, "short", 5);
	assert_fails(dgi_call(a, ping, NULL, dgi_deadline_in(5000), &reply, &broken, &err),
		     DG_PROTO, &err, "ping reply: body of 5 bytes");
	assert_true(broken);
	answer((struct dgi_frame){ .type = DGI_HELLO, .status = DG_BUSY }, "go away", 7);
	assert_fails(dgi_call(a, ping, NULL, dgi_deadline_in(5000), &reply, &broken, &err), DG_BUSY,
		     &err, "go away");
	assert_true(broken);
}

static void a_call_ends_at_its_deadline(void **state)
{
	struct dgi_message reply;
	int64_t begun = dgi_now_ms();
	bool broken = false;
	dg_error err = { 0 };

	(void)state;
	assert_fails(dgi_call(a, ping, NULL, dgi_deadline_in(50), &reply, &broken, &err),
		     DG_TIMEOUT, &err, "no answer in time");
	assert_true(broken);
	assert_true(dgi_now_ms() - begun >= 50 && dgi_now_ms() - begun < 5000);
}

static void last_words_are_heard_though_nothing_can_be_sent(void **state)
{
	struct dgi_message reply;
	dg_error err = { 0 };

	(void)state;
	answer((struct dgi_frame){ .type = DGI_HELLO, .status = DG_BUSY }, "full up", 7);
	(void)close(b->fd);
	b->fd = -1;
	assert_fails(dgi_call(a, ping, NULL, dgi_deadline_in(5000), &reply, NULL, &err), DG_BUSY,
		     &err, "full up");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(messages_cross_a_socket_that_takes_less_than_they_are),
		TEST(nothing_is_read_while_too_much_waits_to_be_sent),
		TEST(the_end_of_the_stream_is_told_from_a_cut_message),
		TEST(a_peer_that_is_gone_is_an_error_and_no_signal),
		TEST(the_first_body_may_have_64_kib),
		TEST(a_peer_has_its_time_and_no_more),
		TEST(a_call_takes_its_own_answer),
		TEST(a_call_fails_as_its_answer_says),
		TEST(a_call_ends_at_its_deadline),
		TEST(last_words_are_heard_though_nothing_can_be_sent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
