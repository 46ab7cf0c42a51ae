/*
 * A fill of many rows goes on in parts: others are served in between, what its own session sends waits
 * behind it, and through servers killed with SIGKILL every row is changed once.
 */
#include "test.h"

#include "address.h"
#include "call.h"
#include "deadline.h"
#include "processes.h"
#include "tmpdir.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

enum {
	N_ROWS = 60000,
	WIDTH = 1024, /* int64: 8 KiB a row, 480 MiB in all */
	ROW_BYTES = WIDTH * 8,
	LAST = N_ROWS - 1,
	N_KILLS = 2,
	PATIENCE_MS = 120000,
};

struct scene {
	char *dir, *cluster, *store;
	struct process server;
	uint32_t tensor;
};

struct peer {
	struct dgi_conn conn;
	struct dgi_pool pool;
	struct dgi_welcome welcome;
	uint64_t last_id, last_number;
	struct dgi_message early; /* an answer that came before another; body NULL: none */
};

static int64_t operand[WIDTH];

static struct dgi_deadline soon(void)
{
	return dgi_deadline_in(PATIENCE_MS);
}

static int set_up(void **state)
{
	struct scene *s = calloc(1, sizeof *s);
	dg_tensor_spec spec = {
		.info = { .name = "big", .dtype = DG_INT64, .rank = 1, .shape = { WIDTH } }
	};
	dg_store *store;
	dg_error err = { 0 };
	int existed;

	s->dir = tmpdir_new();
	s->cluster = cluster_make(s->dir, "ring", N_ROWS, 1, 1);
	s->store = tmpdir_path(s->dir, "ring/part0");
	assert_ok(dg_store_open(s->store, &(dg_store_options){ .writable = 1 }, &store, &err),
		  &err);
	assert_ok(dg_store_create(store, &spec, 1, &existed, &err), &err);
	s->tensor = spec.info.id;
	dg_store_close(store);
	server_start(&s->server, s->cluster, 0);
	for (size_t i = 0; i < WIDTH; i++)
		operand[i] = 1;
	*state = s;
	return 0;
}

static int tear_down(void **state)
{
	struct scene *s = *state;

	if (s->server.pid) {
		process_signal(&s->server, SIGTERM);
		assert_int_equal(process_wait(&s->server), 0);
	}
	tmpdir_remove(s->dir);
	free(s->store);
	free(s->cluster);
	free(s);
	return 0;
}

/* A connection that pushes for session @id. */
static void peer_open(struct peer *peer, const struct scene *s, uint8_t id)
{
	struct dgi_hello hello = { .version_min = 1, .version_max = 1, .part = -1 };
	struct dgi_address address;
	dg_error err = { 0 };

	*peer = (struct peer){ .pool = dgi_pool_of(0), .last_id = 1 };
	hello.session_uuid.bytes[0] = id;
	assert_ok(dgi_address_local(s->store, NULL, &address, &err), &err);
	assert_ok(
		dgi_dial(&address, &hello, &peer->pool, soon(), &peer->conn, &peer->welcome, &err),
		&err);
}

static void peer_close(struct peer *peer)
{
	dgi_conn_clear(&peer->conn);
	dgi_pool_clear(&peer->pool);
}

/* Adds 1 to the row, or to the run of rows, as push @number; returns the request's id. */
static uint64_t send_add(struct peer *peer, const struct scene *s, uint64_t number,
			 const dg_id rows[2], uint16_t flags)
{
	const struct dgi_push push = { .tensor = s->tensor,
				       .operation = DG_OP_ADD,
				       .row_bytes = ROW_BYTES,
				       .flags = flags,
				       .n = flags & DGI_PUSH_FILL ? 2 : 1,
				       .number = number,
				       .previous = peer->last_number,
				       .floor = 1 };
	struct dgi_body body = { .block_bytes = (size_t)dgi_push_bytes(&push) };
	uint8_t *block = dgi_pool_get(&peer->pool, body.block_bytes);
	dg_error err = { 0 };

	memset(block, 0, body.block_bytes);
	dgi_push_encode(&push, block);
	memcpy(block + DGI_PREFIX_BYTES, rows, push.n * sizeof *rows);
	memcpy(block + dgi_push_data_at(push.n, 0), operand, ROW_BYTES);
	body.block = block;
	assert_ok(dgi_conn_send(&peer->conn, dgi_request(DGI_PUSH, ++peer->last_id, soon()), &body,
				&err),
		  &err);
	peer->last_number = number;
	return peer->last_id;
}

static uint64_t send_fill(struct peer *peer, const struct scene *s, uint64_t number)
{
	return send_add(peer, s, number, (const dg_id[]){ 0, N_ROWS }, DGI_PUSH_FILL);
}

static uint64_t send_row(struct peer *peer, const struct scene *s, uint64_t number, dg_id row)
{
	return send_add(peer, s, number, (const dg_id[]){ row, 0 }, 0);
}

/* Has what is queued sent, and waits for nothing. */
static void flush(struct peer *peer)
{
	dg_error err = { 0 };

	assert_ok(dgi_conn_flush(&peer->conn, &err), &err);
}

/* The next message that comes. */
static struct dgi_message next_message(struct peer *peer)
{
	struct dgi_conn *conn = &peer->conn;
	const struct dgi_deadline deadline = soon();
	struct dgi_message message;
	dg_error err = { 0 };

	for (;;) {
		enum dgi_inbox_answer answer;
		dg_status moved = DG_OK;

		assert_ok(dgi_conn_next(conn, &answer, &message, &err), &err);
		if (answer == DGI_INBOX_MESSAGE)
			return message;
		assert_ok(dgi_conns_move(&conn, 1, deadline, &moved, &err, &err), &err);
		assert_ok(moved, &err);
	}
}

/* Waits for the answer to request @id, of two under way: answers come in any order. */
static struct dgi_message answer_to(struct peer *peer, uint64_t id)
{
	struct dgi_message reply = peer->early;
	dg_error err = { 0 };

	peer->early = (struct dgi_message){ 0 };
	if (!reply.body)
		reply = next_message(peer);
	if (reply.frame.request_id != id) {
		peer->early = reply;
		reply = next_message(peer);
	}
	assert_int_equal(reply.frame.request_id, id);
	assert_ok(dgi_reply_check(&reply, &err), &err);
	return reply;
}

static bool was_repeat(struct peer *peer, uint64_t id)
{
	struct dgi_message reply = answer_to(peer, id);
	struct dgi_pushed pushed;
	dg_error err = { 0 };

	assert_ok(dgi_pushed_decode(reply.body, reply.head_bytes, &pushed, &err), &err);
	dgi_message_clear(&peer->pool, &reply);
	return pushed.repeat;
}

/* What a row holds in all its elements. */
static int64_t row_of(struct peer *peer, const struct scene *s, dg_id row)
{
	static int64_t words[WIDTH];
	uint8_t prefix[DGI_PREFIX_BYTES];
	struct iovec lent = { &row, sizeof row };
	const struct dgi_body body = { prefix, sizeof prefix, NULL, 0, 0, &lent, 1 };
	struct dgi_message reply;
	dg_error err = { 0 };

	dgi_pull_encode(&(struct dgi_pull){ .tensor = s->tensor, .n = 1 }, prefix);
	assert_ok(dgi_conn_send(&peer->conn, dgi_request(DGI_PULL, ++peer->last_id, soon()), &body,
				&err),
		  &err);
	reply = answer_to(peer, peer->last_id);
	assert_int_equal(reply.head_bytes, DGI_PREFIX_BYTES + ROW_BYTES);
	memcpy(words, reply.body + DGI_PREFIX_BYTES, ROW_BYTES);
	dgi_message_clear(&peer->pool, &reply);
	for (size_t i = 1; i < WIDTH; i++)
		if (words[i] != words[0])
			fail_msg("row %" PRId64 " is torn", row);
	return words[0];
}

/* Adds to the last row, which the fill comes to last, while the fill is under way. */
static void push_in_between(struct peer *other, const struct scene *s, int64_t *n_added)
{
	const uint64_t id = send_row(other, s, (uint64_t)*n_added + 1, LAST);

	assert_false(was_repeat(other, id));
	++*n_added;
	assert_int_equal(row_of(other, s, LAST), *n_added);
}

static void kill_server(struct scene *s)
{
	process_signal(&s->server, SIGKILL);
	assert_true(WIFSIGNALED(process_wait(&s->server)));
}

static void a_fill_lets_others_in_and_counts_once_through_kills(void **state)
{
	struct scene *s = *state;
	struct peer filler, other;
	int64_t n_added = 0;
	uint64_t fill, behind;

	peer_open(&filler, s, 1);
	peer_open(&other, s, 2);
	(void)send_fill(&filler, s, 1);
	(void)send_row(&filler, s, 2, 0);
	flush(&filler);
	while (row_of(&other, s, 0) == 0)
		;
	push_in_between(&other, s, &n_added);
	push_in_between(&other, s, &n_added);
	assert_int_equal(row_of(&other, s, 0), 1); /* what comes behind waits */
	for (int i = 0; i < N_KILLS; i++) {
		peer_close(&other);
		kill_server(s);
		server_start(&s->server, s->cluster, 0);
		peer_open(&other, s, 2);
		assert_int_equal(row_of(&other, s, 0), 1);
		if (row_of(&other, s, LAST) > n_added)
			break; /* done already */
		push_in_between(&other, s, &n_added);
	}
	while (row_of(&other, s, LAST) == n_added)
		dgi_sleep_ms(5); /* nobody repeats it: it goes on by itself */
	peer_close(&filler);
	peer_open(&filler, s, 1);
	fill = send_fill(&filler, s, 1);
	behind = send_row(&filler, s, 2, 0);
	assert_true(was_repeat(&filler, fill));
	assert_false(was_repeat(&filler, behind));
	assert_int_equal(row_of(&other, s, 0), 2);
	assert_int_equal(row_of(&other, s, LAST), n_added + 1);
	for (dg_id row = 1; row < LAST; row += 7)
		assert_int_equal(row_of(&other, s, row), 1);
	peer_close(&filler);
	peer_close(&other);
}

/* The client notices that its server is gone, and says everything again to the next one. */
static void a_repeated_fill_waits_for_the_one_that_goes_on(void **state)
{
	struct scene *s = *state;
	struct peer filler, other;
	int64_t n_added = 0;
	uint64_t fill, behind;

	peer_open(&filler, s, 3);
	peer_open(&other, s, 4);
	n_added = row_of(&other, s, LAST);
	assert_int_equal(n_added, 4 + 1);
	(void)send_fill(&filler, s, 1);
	flush(&filler);
	while (row_of(&other, s, 0) == 2)
		;
	assert_false(was_repeat(&other, send_row(&other, s, 1, 0)));
	kill_server(s);
	server_start(&s->server, s->cluster, 0);
	peer_close(&filler);
	peer_close(&other);
	peer_open(&filler, s, 3);
	fill = send_fill(&filler, s, 1);
	behind = send_row(&filler, s, 2, LAST);
	(void)was_repeat(&filler, fill);
	assert_false(was_repeat(&filler, behind));
	assert_int_equal(row_of(&filler, s, 0), 2 + 1 + 1);
	assert_int_equal(row_of(&filler, s, LAST), n_added + 1 + 1);
	for (dg_id row = 1; row < LAST; row += 7)
		assert_int_equal(row_of(&filler, s, row), 2);
	peer_close(&filler);
}

static int64_t stored(dg_store *store, const dg_tensor_info *tensor, dg_id row)
{
	static int64_t words[WIDTH];
	dg_error err = { 0 };

	assert_ok(dg_store_gather(store, tensor, &row, 1, words, &err), &err);
	return words[0];
}

/* Without a server: reading does not wait for the fill, and what is written comes after it. */
static void a_store_opened_by_a_program_goes_on_too(void **state)
{
	static int64_t thousand[WIDTH];
	struct scene *s = *state;
	struct peer filler, other;
	dg_tensor_info tensor = { 0 };
	const dg_tensor_info *big = &tensor;
	const dg_id last = LAST;
	int64_t before;
	dg_store *store;
	dg_error err = { 0 };
	size_t n;

	for (size_t i = 0; i < WIDTH; i++)
		thousand[i] = 1000;
	peer_open(&filler, s, 5);
	peer_open(&other, s, 6);
	before = row_of(&other, s, LAST);
	(void)send_fill(&filler, s, 1);
	flush(&filler);
	while (row_of(&other, s, 0) == 4)
		;
	assert_false(was_repeat(&other, send_row(&other, s, 1, 0)));
	kill_server(s);
	peer_close(&filler);
	peer_close(&other);
	assert_ok(dg_store_open(s->store, &(dg_store_options){ .writable = 1 }, &store, &err),
		  &err);
	for (const dg_tensor_info *t = dg_store_tensors(store, &n); n; n--, t++)
		if (t->id == s->tensor)
			tensor = *t;
	assert_int_equal(stored(store, big, LAST), before); /* not yet */
	assert_int_equal(stored(store, big, 0), 6);
	assert_ok(dg_store_assign(store, big, &last, 1, thousand, &err), &err);
	for (dg_id row = 1; row < LAST; row += 7)
		assert_int_equal(stored(store, big, row), 3);
	dg_store_close(store);
	assert_ok(dg_store_open(s->store, NULL, &store, &err), &err);
	assert_int_equal(stored(store, big, LAST), 1000);
	assert_int_equal(stored(store, big, LAST - 1), 3);
	dg_store_close(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_fill_lets_others_in_and_counts_once_through_kills),
		cmocka_unit_test(a_repeated_fill_waits_for_the_one_that_goes_on),
		cmocka_unit_test(a_store_opened_by_a_program_goes_on_too),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
