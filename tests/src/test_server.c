/* What src/server/server.c and its parts promise, each test over TCP and over a Unix socket. */
#include "test.h"

#include "graph_fixture.h"
#include "served.h"
#include "server_record.h"
#include "socket.h"
#include "tmpdir.h"

#include <distgraph/client.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static struct served served;
static bool tcp;

static int set_up(void **state)
{
	tcp = *(bool *)*state;
	served_make(&served);
	served_start(&served, tcp, (dg_server_options){ .threads = 2 });
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

static void expect_rows(struct peer *peer, const dg_id *rows, size_t n)
{
	float *out = malloc(n * ROW_BYTES + 1);
	dg_error err = { 0 };

	assert_ok(peer_pull(peer, FEAT, rows, n, out, &err), &err);
	for (size_t i = 0; i < n; i++)
		for (int j = 0; j < 4; j++)
			assert_true(out[i * 4 + (size_t)j] == graph_fixture_feat(rows[i], j));
	free(out);
}

static const dg_id some_rows[] = { 23, 10, 17, 17, 11 };

static void a_client_learns_whose_server_this_is(void **state)
{
	struct peer peer;

	(void)state;
	peer_open(&peer, &served);
	assert_int_equal(peer.welcome.version, 1);
	assert_int_equal(peer.welcome.part, 1);
	assert_int_equal(peer.welcome.n_parts, 3);
	assert_int_equal(peer.welcome.cluster_uuid.bytes[0], 9);
	assert_int_equal(peer.welcome.store_uuid.bytes[1], 1);
	assert_int_equal(peer.welcome.incarnation, 1);
	assert_int_equal(peer.welcome.pid, getpid());
	assert_int_equal(peer.welcome.body_bytes_max, DGI_FRAME_BODY_BYTES_MAX);
	assert_int_equal(peer.welcome.rows_max, DGI_ROWS_MAX);
	peer_close(&peer);
}

static void a_client_of_another_cluster_part_or_version_is_refused(void **state)
{
	struct dgi_hello hello = { .version_min = 1, .version_max = 1, .part = 2 };
	struct dgi_pool pool = dgi_pool_of(0);
	struct dgi_welcome welcome;
	struct dgi_conn conn;
	dg_error err = { 0 };

	(void)state;
	assert_fails(dgi_dial(&served.address, &hello, &pool, soon(), &conn, &welcome, &err),
		     DG_MISMATCH, &err, "part 1, not 2");
	hello.part = -1;
	hello.cluster_uuid.bytes[3] = 7;
	assert_fails(dgi_dial(&served.address, &hello, &pool, soon(), &conn, &welcome, &err),
		     DG_MISMATCH, &err, "cluster 09");
	hello.cluster_uuid.bytes[3] = 0;
	hello.store_uuid.bytes[3] = 7;
	assert_fails(dgi_dial(&served.address, &hello, &pool, soon(), &conn, &welcome, &err),
		     DG_MISMATCH, &err, "store 01");
	hello.store_uuid.bytes[3] = 0;
	hello.incarnation = 2;
	assert_fails(dgi_dial(&served.address, &hello, &pool, soon(), &conn, &welcome, &err),
		     DG_MISMATCH, &err, "an older copy of it is served");
	hello.incarnation = 1;
	hello.durable = 1;
	assert_fails(dgi_dial(&served.address, &hello, &pool, soon(), &conn, &welcome, &err),
		     DG_MISMATCH, &err, "write 0, but the client met it at start 1, write 1");
	hello.durable = 0;
	hello.version_min = hello.version_max = 2;
	assert_fails(dgi_dial(&served.address, &hello, &pool, soon(), &conn, &welcome, &err),
		     DG_VERSION, &err, "speaks protocol version 1, the client 2 to 2");
}

static void tensors_are_described(void **state)
{
	struct peer peer;
	uint8_t request[DGI_DESCRIBE_BYTES];
	struct dgi_body body = { .copied = request, .copied_bytes = sizeof request };
	struct dgi_described described;
	struct dgi_message reply;
	dg_tensor_info info;
	dg_error err = { 0 };

	(void)state;
	peer_open(&peer, &served);
	dgi_describe_encode(0, request);
	assert_ok(dgi_call(&peer.conn, dgi_request(DGI_DESCRIBE, 2, soon()), &body, soon(), &reply,
			   NULL, &err),
		  &err);
	assert_ok(dgi_described_decode(reply.body, reply.head_bytes, &described, &err), &err);
	assert_int_equal(described.total, GRAPH_FIXTURE_TENSORS);
	assert_int_equal(described.n, GRAPH_FIXTURE_TENSORS);
	assert_ok(dgi_described_next(&described, &info, &err), &err);
	assert_string_equal(info.name, "feat");
	assert_int_equal(info.n_rows, BEHIND - FIRST);
	dgi_message_clear(&peer.pool, &reply);
	dgi_describe_encode(GRAPH_FIXTURE_TENSORS + 1, request);
	assert_fails(dgi_call(&peer.conn, dgi_request(DGI_DESCRIBE, 3, soon()), &body, soon(),
			      &reply, NULL, &err),
		     DG_RANGE, &err, "tensor number 8 of 7");
	peer_close(&peer);
}

static void rows_come_in_the_order_asked(void **state)
{
	struct peer peer;

	(void)state;
	peer_open(&peer, &served);
	expect_rows(&peer, some_rows, 5);
	expect_rows(&peer, some_rows, 0);
	peer_close(&peer);
}

static void a_pull_that_cannot_be_served_is_refused_alone(void **state)
{
	struct peer peer;
	dg_id rows[] = { 12, 24 };
	dg_id *many = calloc(DGI_ROWS_MAX, sizeof *many);
	char out[64];
	dg_error err = { 0 };

	(void)state;
	peer_open(&peer, &served);
	assert_fails(peer_pull(&peer, FEAT, rows, 2, out, &err), DG_RANGE, &err,
		     "tensor 'feat': row 24 is not of part 1, which has [10, 24)");
	rows[1] = 9;
	assert_fails(peer_pull(&peer, FEAT, rows, 2, out, &err), DG_RANGE, &err, "row 9");
	rows[1] = -1;
	assert_fails(peer_pull(&peer, FEAT, rows, 2, out, &err), DG_RANGE, &err, "row -1");
	assert_fails(peer_pull(&peer, 77, rows, 1, out, &err), DG_NOTFOUND, &err,
		     "part 1 has no tensor number 77");
	/* 4 Mi rows of 16 bytes are 64 MiB, and the prefix is too much. */
	assert_fails(peer_pull(&peer, FEAT, many, DGI_ROWS_MAX, out, &err), DG_RANGE, &err,
		     "an answer holds 67108864 bytes");
	assert_false(peer.broken);
	expect_rows(&peer, some_rows, 5);
	peer_close(&peer);
	free(many);
}

static void pushed_rows_are_there_when_acknowledged_and_after_a_restart(void **state)
{
	float rows[2][4] = { { 1, 2, 3, 4 }, { 5, 6, 7, 8 } }, out[2][4];
	dg_id ids[] = { 23, 10 };
	struct dgi_pushed first, second;
	struct peer peer;
	dg_error err = { 0 };

	(void)state;
	peer_open(&peer, &served);
	assert_ok(peer_push(&peer, FEAT, ids, 2, rows, ROW_BYTES, &first, &err), &err);
	assert_true(first.log_number > 0 && !first.repeat);
	assert_ok(peer_pull(&peer, FEAT, ids, 2, out, &err), &err);
	assert_memory_equal(out, rows, sizeof rows);
	assert_ok(peer_push(&peer, FEAT, ids, 0, rows, ROW_BYTES, &second, &err), &err);
	assert_true(second.log_number >= first.log_number);
	peer_close(&peer);

	(void)served_stop(&served);
	served_start(&served, tcp, (dg_server_options){ 0 });
	peer_open(&peer, &served);
	assert_int_equal(peer.welcome.incarnation, 2);
	assert_ok(peer_pull(&peer, FEAT, ids, 2, out, &err), &err);
	assert_memory_equal(out, rows, sizeof rows);
	peer_close(&peer);
}

static void a_push_that_cannot_be_served_is_refused_alone(void **state)
{
	float rows[2][4] = { { 1, 2, 3, 4 }, { 5, 6, 7, 8 } };
	dg_id ids[] = { 12, 24 };
	struct dgi_pushed pushed;
	struct peer peer;
	dg_error err = { 0 };

	(void)state;
	peer_open(&peer, &served);
	assert_fails(peer_push(&peer, FEAT, ids, 2, rows, ROW_BYTES, &pushed, &err), DG_RANGE, &err,
		     "row 24 is not of part 1");
	assert_fails(peer_push(&peer, FEAT, ids, 1, rows, 8, &pushed, &err), DG_MISMATCH, &err,
		     "tensor 'feat' has rows of 16 bytes, the push of 8");
	assert_fails(peer_push(&peer, 77, ids, 1, rows, 8, &pushed, &err), DG_NOTFOUND, &err,
		     "no tensor number 77");
	assert_fails(peer_push(&peer, SYSTEM_TENSOR, ids, 1, rows, 4, &pushed, &err), DG_INVALID,
		     &err, "takes no pushes");
	assert_false(peer.broken);
	expect_rows(&peer, some_rows, 5);
	expect_rows(&peer, (dg_id[]){ 12 }, 1);
	peer_close(&peer);
}

static void unknown_messages_and_sizes_are_refused_alone(void **state)
{
	struct dgi_frame frame = { .version = 1, .type = 99, .request_id = 5 };
	struct dgi_message reply;
	struct peer peer;
	dg_error err = { 0 };
	bool broken = true;

	(void)state;
	peer_open(&peer, &served);
	assert_fails(dgi_call(&peer.conn, frame, NULL, soon(), &reply, &broken, &err),
		     DG_UNSUPPORTED, &err, "message type 99: unknown");
	frame.type = DGI_PULL;
	assert_fails(dgi_call(&peer.conn, frame, NULL, soon(), &reply, &broken, &err), DG_PROTO,
		     &err, "pull: body of 0 bytes, want 64");
	assert_false(broken);
	expect_rows(&peer, some_rows, 5);
	peer_close(&peer);
}

static void a_server_says_how_it_is(void **state)
{
	dg_server_status status = { 0 };
	struct dgi_message reply;
	struct dgi_pushed pushed;
	struct peer peer, other;
	dg_error err = { 0 };
	float row[4] = { 0 };

	(void)state;
	peer_open(&peer, &served);
	peer_open(&other, &served);
	expect_rows(&peer, some_rows, 5);
	assert_ok(peer_push(&peer, FEAT, some_rows, 1, row, ROW_BYTES, &pushed, &err), &err);
	assert_ok(dgi_call(&peer.conn, dgi_request(DGI_PING, 50, soon()), NULL, soon(), &reply,
			   NULL, &err),
		  &err);
	assert_ok(dgi_status_decode(reply.body, reply.head_bytes, &status, &err), &err);
	dgi_message_clear(&peer.pool, &reply);
	assert_int_equal(status.store.part, 1);
	assert_int_equal(status.store.log_number, pushed.log_number);
	assert_true(status.store.file_bytes > 0);
	assert_int_equal(status.pid, getpid());
	assert_int_equal(status.connections, 2);
	assert_int_equal(status.pulls, 1);
	assert_int_equal(status.rows_pulled, 5);
	assert_int_equal(status.pushes, 1);
	assert_int_equal(status.rows_pushed, 1);
	peer_close(&peer);
	peer_close(&other);
}

#define IN_FLIGHT 200

static void requests_in_flight_are_all_answered(void **state)
{
	static float data[IN_FLIGHT][4];
	dg_id id = 13;
	struct peer peer;
	unsigned pulls = 0, pushes = 0;
	dg_error err = { 0 };
	float out[4];

	(void)state;
	peer_open(&peer, &served);
	for (int i = 0; i < IN_FLIGHT; i++) {
		data[i][0] = (float)i;
		peer_queue_push(&peer, &id, 1, data[i]);
		peer_queue_pull(&peer, some_rows, 5);
	}
	while (pulls + pushes < 2 * IN_FLIGHT) {
		struct dgi_message reply;

		assert_ok(peer_next(&peer, &reply, &err), &err);
		assert_int_equal(reply.frame.status, DG_OK);
		*(reply.frame.type == DGI_PULL ? &pulls : &pushes) += 1;
		dgi_message_clear(&peer.pool, &reply);
	}
	assert_int_equal(pulls, IN_FLIGHT);
	assert_ok(peer_pull(&peer, FEAT, &id, 1, out, &err), &err);
	assert_true(out[0] == (float)(IN_FLIGHT - 1)); /* pushes of a connection keep their order */
	peer_close(&peer);
}

/* --- Bytes that no client would send --- */

static size_t put_frame(uint8_t *out, uint16_t type, uint64_t id, const void *body, size_t n)
{
	struct dgi_frame frame = { .version = 1, .type = type, .request_id = id, .body_bytes = n };

	dgi_frame_encode(&frame, out);
	if (n)
		memcpy(out + DGI_FRAME_BYTES, body, n);
	return DGI_FRAME_BYTES + n;
}

static size_t put_hello(uint8_t *out)
{
	struct dgi_hello hello = { .version_min = 1, .version_max = 1, .part = -1 };
	uint8_t body[DGI_HELLO_BYTES];

	dgi_hello_encode(&hello, body);
	return put_frame(out, DGI_HELLO, 1, body, sizeof body);
}

/* The server answers @bytes by an error about the connection, then ends it. */
static void expect_end(const uint8_t *bytes, size_t n, dg_status status, const char *part)
{
	int fd = raw_open(&served);
	struct dgi_frame frame;
	char text[600] = { 0 };

	assert_int_equal(send(fd, bytes, n, MSG_NOSIGNAL), n);
	assert_true(raw_read(fd, &frame, (uint8_t *)text, sizeof text - 1));
	assert_int_equal(frame.status, status);
	assert_int_equal(frame.request_id, 0);
	if (!strstr(text, part))
		fail_msg("'%s' does not contain '%s'", text, part);
	assert_false(raw_read(fd, &frame, (uint8_t *)text, sizeof text));
	(void)close(fd);
}

static void strangers_are_told_what_is_wrong_and_sent_away(void **state)
{
	struct dgi_frame reply = { .version = 1, .type = DGI_HELLO, .flags = 1, .request_id = 1 };
	struct dgi_frame large = { .version = 1,
				   .type = DGI_HELLO,
				   .request_id = 1,
				   .body_bytes = DGI_FRAME_BODY_BYTES_EARLY + 1 };
	uint8_t bytes[256];
	struct peer peer;

	(void)state;
	memset(bytes, 0, sizeof bytes);
	memcpy(bytes, "GET / HTTP/1.1\r\n\r\n", 18);
	expect_end(bytes, 64, DG_PROTO, "no distgraph peer");
	expect_end(bytes, put_frame(bytes, DGI_PING, 1, NULL, 0), DG_PROTO, "ping before hello");
	expect_end(bytes, put_frame(bytes, DGI_PING, 0, NULL, 0), DG_PROTO, "request id 0");
	dgi_frame_encode(&reply, bytes);
	expect_end(bytes, 64, DG_PROTO, "sent a reply");
	dgi_frame_encode(&large, bytes);
	expect_end(bytes, 64, DG_PROTO, "body of 65537 bytes, at most 65536");
	(void)put_hello(bytes);
	bytes[20] ^= 1;
	expect_end(bytes, 128, DG_PROTO, "damaged");
	reply.flags = 0;
	reply.version = 2;
	dgi_frame_encode(&reply, bytes);
	expect_end(bytes, 64, DG_VERSION, "protocol version 2, want 1");

	peer_open(&peer, &served); /* nobody else was hurt */
	expect_rows(&peer, some_rows, 5);
	peer_close(&peer);
}

static void a_request_cut_into_single_bytes_is_answered(void **state)
{
	uint8_t bytes[512], body[DGI_PREFIX_BYTES + sizeof some_rows], answer[512];
	struct dgi_frame frame;
	size_t n = put_hello(bytes);
	int fd = raw_open(&served);

	(void)state;
	dgi_pull_encode(&(struct dgi_pull){ .tensor = FEAT, .n = 5 }, body);
	memcpy(body + DGI_PREFIX_BYTES, some_rows, sizeof some_rows);
	n += put_frame(bytes + n, DGI_PULL, 2, body, sizeof body);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(send(fd, bytes + i, 1, MSG_NOSIGNAL), 1);
	assert_true(raw_read(fd, &frame, answer, sizeof answer));
	assert_int_equal(frame.type, DGI_HELLO);
	assert_true(raw_read(fd, &frame, answer, sizeof answer));
	assert_int_equal(frame.type, DGI_PULL);
	assert_int_equal(frame.status, DG_OK);
	assert_int_equal(frame.body_bytes, DGI_PREFIX_BYTES + 5 * ROW_BYTES);
	(void)close(fd);
}

static void a_request_cut_off_at_any_byte_harms_nobody(void **state)
{
	float row[4] = { 9, 9, 9, 9 };
	uint8_t bytes[512], body[DGI_PREFIX_BYTES + 64 + sizeof row] = { 0 };
	struct dgi_push push = {
		.tensor = FEAT, .operation = DG_OP_ASSIGN, .row_bytes = ROW_BYTES, .n = 1
	};
	dg_id id = 15;
	size_t begin = put_hello(bytes);
	struct peer peer;
	size_t n;

	(void)state;
	dgi_push_encode(&push, body);
	memcpy(body + DGI_PREFIX_BYTES, &id, sizeof id);
	memcpy(body + dgi_push_data_at(1, 0), row, sizeof row);
	n = begin + put_frame(bytes + begin, DGI_PUSH, 2, body, sizeof body);
	for (size_t cut = 0; cut < n; cut++) {
		int fd = raw_open(&served);

		if (cut)
			assert_int_equal(send(fd, bytes, cut, MSG_NOSIGNAL), cut);
		(void)close(fd);
	}
	peer_open(&peer, &served);
	expect_rows(&peer, &id, 1); /* no part of a push was taken for a push */
	peer_close(&peer);
}

/* --- Opening and stopping --- */

static void who_serves_is_on_record_while_it_runs(void **state)
{
	struct dgi_server_record record;
	char text[DGI_ADDRESS_BYTES];
	dg_error err = { 0 };

	(void)state;
	assert_ok(dgi_server_record_load(served.path, &record, &err), &err);
	assert_int_equal(record.pid, getpid());
	assert_int_equal(record.incarnation, 1);
	assert_int_equal(record.n_addresses, 1);
	dgi_address_format(&served.address, text);
	assert_string_equal(record.addresses[0], text);
	(void)served_stop(&served);
	assert_int_equal(dgi_server_record_load(served.path, &record, &err), DG_NOTFOUND);
	if (served.address.is_unix)
		assert_int_equal(access(served.address.path, F_OK), -1);
}

static void a_second_server_is_refused_and_told_of_the_first(void **state)
{
	dg_server_options options = { 0 };
	char text[DGI_ADDRESS_BYTES], holder[32];
	const char *listen[] = { text };
	dg_server *second;
	struct peer peer;
	dg_error err = { 0 };

	(void)state;
	dgi_address_format(&served.address, text);
	options.listen = listen;
	options.n_listen = 1;
	(void)snprintf(holder, sizeof holder, "process %d", (int)getpid());
	assert_fails(dg_server_open(served.path, &options, &second, &err), DG_BUSY, &err, holder);
	assert_non_null(strstr(err.text, "in use"));
	listen[0] = "127.0.0.1:0"; /* the address is free, the store is not */
	assert_fails(dg_server_open(served.path, &options, &second, &err), DG_BUSY, &err, "part1");
	peer_open(&peer, &served);
	expect_rows(&peer, some_rows, 5);
	peer_close(&peer);
}

static void addresses_that_leave_the_host_must_be_wanted(void **state)
{
	const char *listen[] = { "0.0.0.0:0" };
	dg_server_options options = { .listen = listen, .n_listen = 1 };
	dg_server *server;
	dg_error err = { 0 };

	(void)state;
	(void)served_stop(&served);
	assert_fails(dg_server_open(served.path, &options, &server, &err), DG_DENIED, &err,
		     "0.0.0.0:0");
	options.insecure = 1;
	assert_ok(dg_server_open(served.path, &options, &server, &err), &err);
	dg_server_close(server); /* never run */
	listen[0] = "nonsense";
	assert_fails(dg_server_open(served.path, &options, &server, &err), DG_INVALID, &err,
		     "no port");
}

static void a_stop_answers_what_was_taken_and_does_not_wait_for_clients(void **state)
{
	static float data[IN_FLIGHT][4];
	dg_id id = 13;
	struct peer peer, idle;
	unsigned answered = 0;
	float last = -1, out[4];
	dg_error err = { 0 };
	struct dgi_message reply;

	(void)state;
	peer_open(&peer, &served);
	peer_open(&idle, &served);
	for (int i = 0; i < IN_FLIGHT; i++) {
		data[i][0] = (float)i;
		peer_queue_push(&peer, &id, 1, data[i]);
	}
	assert_ok(dgi_conn_flush(&peer.conn, &err), &err);
	assert_ok(peer_next(&peer, &reply, &err), &err); /* the server is at it */
	assert_true(served_stop(&served) < 2500);
	assert_int_equal(served.status, DG_OK);
	do {
		assert_int_equal(reply.frame.status, DG_OK);
		last = (float)answered++;
		dgi_message_clear(&peer.pool, &reply);
	} while (peer_next(&peer, &reply, &err) == DG_OK);
	peer_close(&peer);
	peer_close(&idle);

	served_start(&served, tcp, (dg_server_options){ 0 });
	peer_open(&peer, &served);
	assert_ok(peer_pull(&peer, FEAT, &id, 1, out, &err), &err);
	assert_true(out[0] == last); /* what was answered is there, and nothing else was taken */
	peer_close(&peer);
}

static void a_restarted_server_gets_its_address_again_at_once(void **state)
{
	char text[DGI_ADDRESS_BYTES];
	const char *listen[] = { text };
	dg_server_options options = { .listen = listen, .n_listen = 1 };
	struct peer peer;
	dg_error err = { 0 };

	(void)state;
	peer_open(&peer, &served); /* its end of the connection outlives the server */
	dgi_address_format(&served.address, text);
	(void)served_stop(&served);
	assert_ok(dg_server_open(served.path, &options, &served.server, &err), &err);
	dg_server_close(served.server);
	served.server = NULL;
	peer_close(&peer);
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
		BOTH(a_client_learns_whose_server_this_is),
		BOTH(a_client_of_another_cluster_part_or_version_is_refused),
		BOTH(tensors_are_described),
		BOTH(rows_come_in_the_order_asked),
		BOTH(a_pull_that_cannot_be_served_is_refused_alone),
		BOTH(pushed_rows_are_there_when_acknowledged_and_after_a_restart),
		BOTH(a_push_that_cannot_be_served_is_refused_alone),
		BOTH(unknown_messages_and_sizes_are_refused_alone),
		BOTH(a_server_says_how_it_is),
		BOTH(requests_in_flight_are_all_answered),
		BOTH(strangers_are_told_what_is_wrong_and_sent_away),
		BOTH(a_request_cut_into_single_bytes_is_answered),
		BOTH(a_request_cut_off_at_any_byte_harms_nobody),
		BOTH(who_serves_is_on_record_while_it_runs),
		BOTH(a_second_server_is_refused_and_told_of_the_first),
		BOTH(addresses_that_leave_the_host_must_be_wanted),
		BOTH(a_stop_answers_what_was_taken_and_does_not_wait_for_clients),
		BOTH(a_restarted_server_gets_its_address_again_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
