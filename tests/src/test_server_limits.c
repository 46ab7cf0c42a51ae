/* A server with more clients, or worse ones, than it wants; and one that is killed. */
#include "test.h"

#include "graph_fixture.h"
#include "served.h"
#include "socket.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static struct served served;
static bool tcp;

static int set_up(void **state)
{
	tcp = *(bool *)*state;
	served_make(&served);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	if (served.server)
		(void)served_stop(&served);
	served_remove(&served);
	return 0;
}

static dg_id *many_rows(size_t n)
{
	dg_id *rows = malloc(n * sizeof *rows);

	for (size_t i = 0; i < n; i++)
		rows[i] = FIRST + (dg_id)(i % (BEHIND - FIRST));
	return rows;
}

static void expect_feat(const float *out, const dg_id *rows, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (int j = 0; j < 4; j++)
			if (out[i * 4 + (size_t)j] != graph_fixture_feat(rows[i], j))
				fail_msg("row %d is wrong", (int)i);
}

/* The server answers a pull of @n rows rightly. */
static void expect_served(struct peer *peer, size_t n)
{
	dg_id *rows = many_rows(n);
	float *out = malloc(n * ROW_BYTES);
	dg_error err = { 0 };

	assert_ok(peer_pull(peer, FEAT, rows, n, out, &err), &err);
	expect_feat(out, rows, n);
	free(rows);
	free(out);
}

#define N_CLIENTS 200

static void hundreds_of_clients_are_served_at_once(void **state)
{
	struct peer *peers = calloc(N_CLIENTS, sizeof *peers);
	dg_id *rows = many_rows(1000);
	dg_error err = { 0 };

	(void)state;
	served_start(&served, tcp, (dg_server_options){ .threads = 3 });
	for (size_t i = 0; i < N_CLIENTS; i++) {
		peer_open(&peers[i], &served);
		peer_queue_pull(&peers[i], rows, 1000);
		assert_ok(dgi_conn_flush(&peers[i].conn, &err), &err);
	}
	for (size_t i = 0; i < N_CLIENTS; i++) {
		struct dgi_message reply;

		assert_ok(peer_next(&peers[i], &reply, &err), &err);
		assert_int_equal(reply.frame.status, DG_OK);
		expect_feat((const float *)(const void *)(reply.body + DGI_PREFIX_BYTES), rows,
			    1000);
		dgi_message_clear(&peers[i].pool, &reply);
		peer_close(&peers[i]);
	}
	free(peers);
	free(rows);
}

static void clients_over_the_limit_are_told_so_and_may_come_again(void **state)
{
	struct peer peers[4];
	struct dgi_deadline deadline = soon();
	dg_error err = { 0 };
	dg_status st;

	(void)state;
	served_start(&served, tcp, (dg_server_options){ .connections_max = 3 });
	for (int i = 0; i < 3; i++)
		peer_open(&peers[i], &served);
	for (int i = 0; i < 20; i++)
		assert_fails(peer_dial(&peers[3], &served, &err), DG_BUSY, &err,
			     "its fill of 3 connections");
	expect_served(&peers[0], 10);
	peer_close(&peers[1]);
	do /* until the server has seen that one go */
		st = peer_dial(&peers[3], &served, &err);
	while (st == DG_BUSY && !dgi_deadline_passed(deadline));
	assert_ok(st, &err);
	expect_served(&peers[3], 10);
	peer_close(&peers[0]);
	peer_close(&peers[2]);
	peer_close(&peers[3]);
}

#define BIG_ROWS 65536 /* a pull of 1 MiB */

static void a_client_that_never_reads_stops_only_itself(void **state)
{
	dg_id *rows = many_rows(BIG_ROWS);
	struct peer slow, quick;
	dg_error err = { 0 };

	(void)state;
	served_start(&served, tcp, (dg_server_options){ .threads = 1 });
	peer_open(&slow, &served);
	peer_open(&quick, &served);
	for (int i = 0; i < 64; i++)
		peer_queue_pull(&slow, rows, BIG_ROWS); /* 64 MiB of answers */
	for (int i = 0; i < 100; i++) {
		assert_ok(dgi_conn_flush(&slow.conn, &err), &err);
		expect_served(&quick, 100);
	}
	/* The server stopped reading: the socket does not take the rest of the requests. */
	assert_true(slow.conn.out.bytes > 0);
	for (int i = 0; i < 64; i++) { /* it was only slow: it loses nothing */
		struct dgi_message reply;

		assert_ok(peer_next(&slow, &reply, &err), &err);
		assert_int_equal(reply.frame.status, DG_OK);
		assert_int_equal(reply.frame.body_bytes, DGI_PREFIX_BYTES + BIG_ROWS * ROW_BYTES);
		dgi_message_clear(&slow.pool, &reply);
	}
	peer_close(&slow);
	peer_close(&quick);
	free(rows);
}

/* Takes what has arrived; returns how many answers that was. */
static int take_answers(struct peer *peer)
{
	enum dgi_inbox_answer answer = DGI_INBOX_MESSAGE;
	dg_error err = { 0 };
	int n = 0;

	for (;;) {
		struct dgi_message reply;

		assert_ok(dgi_conn_next(&peer->conn, &answer, &reply, &err), &err);
		if (answer != DGI_INBOX_MESSAGE)
			return n;
		assert_int_equal(reply.frame.status, DG_OK);
		dgi_message_clear(&peer->pool, &reply);
		n++;
	}
}

static void clients_wait_for_each_others_memory(void **state)
{
	enum { CLIENTS = 8, EACH = 5 };
	struct peer peers[CLIENTS];
	struct dgi_conn *conns[CLIENTS];
	dg_id *rows = many_rows(BIG_ROWS), id = 13;
	static const float data[4];
	int n_answers = 0;

	(void)state;
	/* Half of it for requests of 512 KiB, half for answers of 1 MiB: one of each at a time. */
	served_start(&served, tcp,
		     (dg_server_options){ .threads = 2, .bytes_in_flight_max = 1 << 20 });
	for (size_t i = 0; i < CLIENTS; i++) {
		peer_open(&peers[i], &served);
		conns[i] = &peers[i].conn;
		for (int j = 0; j < EACH; j++) {
			peer_queue_pull(&peers[i], rows, BIG_ROWS);
			peer_queue_push(&peers[i], &id, 1, data);
		}
	}
	while (n_answers < CLIENTS * EACH * 2) {
		dg_status moved[CLIENTS] = { DG_OK };
		dg_error errs[CLIENTS], err = { 0 };

		assert_ok(dgi_conns_move(conns, CLIENTS, soon(), moved, errs, &err), &err);
		for (size_t i = 0; i < CLIENTS; i++) {
			assert_ok(moved[i], &errs[i]);
			n_answers += take_answers(&peers[i]);
		}
	}
	for (size_t i = 0; i < CLIENTS; i++)
		peer_close(&peers[i]);
	free(rows);
}

static void small_requests_pass_while_large_ones_have_all_memory(void **state)
{
	dg_id *rows = many_rows(BIG_ROWS);
	struct peer hog, other;
	dg_error err = { 0 };

	(void)state;
	served_start(&served, tcp,
		     (dg_server_options){ .threads = 2, .bytes_in_flight_max = 1 << 20 });
	peer_open(&hog, &served);
	for (int i = 0; i < 8; i++)
		peer_queue_pull(&hog, rows, BIG_ROWS);
	assert_ok(dgi_conn_flush(&hog.conn, &err), &err);
	for (int i = 0; i < 20; i++) { /* a whole life each time */
		peer_open(&other, &served);
		expect_served(&other, 100);
		peer_close(&other);
	}
	peer_close(&hog);
	free(rows);
}

static void dead_clients_give_their_memory_back(void **state)
{
	dg_id *rows = many_rows(BIG_ROWS);
	struct peer peer;
	dg_error err = { 0 };

	(void)state;
	served_start(&served, tcp,
		     (dg_server_options){ .threads = 2, .bytes_in_flight_max = 1 << 20 });
	for (int i = 0; i < 60; i++) {
		peer_open(&peer, &served);
		for (int j = 0; j < 4; j++)
			peer_queue_pull(&peer, rows, BIG_ROWS);
		assert_ok(dgi_conn_flush(&peer.conn, &err), &err);
		peer_close(&peer); /* in the middle of a request, or of an answer */
	}
	peer_open(&peer, &served);
	expect_served(&peer, BIG_ROWS);
	peer_close(&peer);
	free(rows);
}

static void a_client_that_says_nothing_is_sent_away(void **state)
{
	struct dgi_frame frame;
	uint8_t body[600];
	int64_t begun = dgi_now_ms();
	int fd;

	(void)state;
	served_start(&served, tcp, (dg_server_options){ 0 });
	fd = raw_open(&served);
	assert_int_equal(write(fd, "DGF1", 4), 4);
	assert_false(raw_read(fd, &frame, body, sizeof body));
	assert_true(dgi_now_ms() - begun >= 5000);
	(void)close(fd);
}

/* --- Servers in processes of their own --- */

struct child {
	pid_t pid;
	int tell;
};

/* Runs a server in a child; @descriptors 0: as many as it likes. */
static struct child child_start(rlim_t descriptors)
{
	int tell[2];
	struct child child;
	char text[DGI_ADDRESS_BYTES] = { 0 };
	dg_error err = { 0 };

	assert_int_equal(pipe(tell), 0);
	child.pid = fork();
	if (child.pid == 0) {
		static const char *const loopback[] = { "127.0.0.1:0" };
		dg_server_options options = { .threads = 1 };
		struct rlimit limit = { descriptors, descriptors };
		dg_server *server;
		size_t n;

		if (tcp) {
			options.listen = loopback;
			options.n_listen = 1;
		}
		if ((descriptors && setrlimit(RLIMIT_NOFILE, &limit) != 0) ||
		    dg_server_open(served.path, &options, &server, &err) != DG_OK) {
			fprintf(stderr, "child: %s\n", err.text);
			_exit(1);
		}
		(void)!write(tell[1], *dg_server_addresses(server, &n), DGI_ADDRESS_BYTES);
		(void)dg_server_run(server, NULL);
		_exit(0);
	}
	(void)close(tell[1]);
	assert_true(read(tell[0], text, sizeof text) > 0);
	(void)close(tell[0]);
	assert_ok(dgi_address_parse(text, 0, &served.address, &err), &err);
	return child;
}

static void child_kill(struct child *child)
{
	(void)kill(child->pid, SIGKILL);
	(void)waitpid(child->pid, NULL, 0);
}

static void a_server_without_descriptors_refuses_and_goes_on(void **state)
{
	enum { LIMIT = 64, CLIENTS = 80 };
	struct peer *peers = calloc(CLIENTS, sizeof *peers);
	struct child child;
	int n_open = 0, n_refused = 0;
	struct dgi_deadline deadline = soon();
	dg_error err = { 0 };
	dg_status st;

	(void)state;
	child = child_start(LIMIT);
	for (int i = 0; i < CLIENTS; i++) {
		st = peer_dial(&peers[n_open], &served, &err);
		if (st == DG_OK) {
			n_open++;
		} else {
			if (st != DG_BUSY && st != DG_CLOSED)
				fail_msg("%s: %s", dg_status_text(st), err.text);
			n_refused++;
		}
	}
	assert_true(n_open > 20 && n_open < LIMIT);
	assert_int_equal(n_open + n_refused, CLIENTS);
	expect_served(&peers[0], 10);
	while (n_open > 1)
		peer_close(&peers[--n_open]);
	do /* until the server has seen them go */
		st = peer_dial(&peers[1], &served, &err);
	while (st != DG_OK && !dgi_deadline_passed(deadline));
	assert_ok(st, &err);
	expect_served(&peers[1], 10);
	peer_close(&peers[0]);
	peer_close(&peers[1]);
	child_kill(&child);
	free(peers);
}

/* Takes the answers to pushes while they come, at most @n; returns how many came. */
static int take_acknowledgements(struct peer *peer, int n)
{
	struct dgi_message reply;
	dg_error err = { 0 };
	int taken = 0;

	while (taken < n && peer_next(peer, &reply, &err) == DG_OK) {
		assert_int_equal(reply.frame.status, DG_OK);
		dgi_message_clear(&peer->pool, &reply);
		taken++;
	}
	return taken;
}

static void what_a_killed_server_acknowledged_is_there(void **state)
{
	enum { ROUNDS = 5, PUSHES = 60, ANSWERED = 40 };
	float rows[PUSHES][4] = { { 0 } }, out[4];
	dg_id id = 20;
	float acknowledged = -1;

	(void)state;
	for (int round = 0; round <= ROUNDS; round++) {
		struct child child = child_start(0);
		struct peer peer;
		dg_error err = { 0 };
		int n;

		peer_open(&peer, &served);
		assert_int_equal(peer.welcome.incarnation, round + 1);
		assert_ok(peer_pull(&peer, FEAT, &id, 1, out, &err), &err);
		assert_true(round == 0 || out[0] >= acknowledged);
		for (int i = 0; i < PUSHES; i++) {
			rows[i][0] = (float)(round * PUSHES + i);
			peer_queue_push(&peer, &id, 1, rows[i]);
		}
		n = take_acknowledgements(&peer, ANSWERED);
		assert_int_equal(n, ANSWERED);
		child_kill(&child); /* the others are under way */
		n += take_acknowledgements(&peer, PUSHES - n);
		acknowledged = rows[n - 1][0];
		peer_close(&peer);
	}
}

static bool over_tcp = true, over_unix = false;

#define BOTH(test) \
	{ #test " (TCP)", test, set_up, tear_down, &over_tcp }, \
	{ \
#test " (Unix)", test, set_up, tear_down, &over_unix \
	}

int main(void)
{
	const struct CMUnitTest tests[] = {
		/* First those that fork, while this process has no threads. */
		BOTH(a_server_without_descriptors_refuses_and_goes_on),
		BOTH(what_a_killed_server_acknowledged_is_there),
		BOTH(hundreds_of_clients_are_served_at_once),
		BOTH(clients_over_the_limit_are_told_so_and_may_come_again),
		BOTH(a_client_that_never_reads_stops_only_itself),
		BOTH(clients_wait_for_each_others_memory),
		BOTH(small_requests_pass_while_large_ones_have_all_memory),
		{ "a_client_that_says_nothing_is_sent_away",
		  a_client_that_says_nothing_is_sent_away, set_up, tear_down, &over_unix },
		BOTH(dead_clients_give_their_memory_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
