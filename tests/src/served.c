/* served.c -- part 1 of the fixture's graph, served in this process. */
#include "test.h"

#include "served.h"

#include "graph_fixture.h"
#include "socket.h"
#include "tmpdir.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATIENCE_MS 20000

static const uint8_t zeros[64];

struct dgi_deadline soon(void)
{
	return dgi_deadline_in(PATIENCE_MS);
}

void served_make(struct served *served)
{
	*served = (struct served){ .dir = tmpdir_new() };
	served->path = tmpdir_path(served->dir, "part1");
	assert_int_equal(graph_fixture_make(served->dir), DG_OK);
}

void served_remove(struct served *served)
{
	free(served->path);
	tmpdir_remove(served->dir);
}

static void *run(void *argument)
{
	struct served *served = argument;

	served->status = dg_server_run(served->server, &served->error);
	return NULL;
}

void served_start(struct served *served, bool tcp, dg_server_options options)
{
	static const char *const loopback[] = { "127.0.0.1:0" };
	const char *const *bound;
	dg_error err = { 0 };
	size_t n;

	if (tcp) {
		options.listen = loopback;
		options.n_listen = 1;
	}
	assert_ok(dg_server_open(served->path, &options, &served->server, &err), &err);
	bound = dg_server_addresses(served->server, &n);
	assert_int_equal(n, 1);
	assert_ok(dgi_address_parse(bound[0], 0, &served->address, &err), &err);
	assert_int_equal(pthread_create(&served->thread, NULL, run, served), 0);
}

int64_t served_stop(struct served *served)
{
	int64_t begun = dgi_now_ms();

	dg_server_stop(served->server);
	(void)pthread_join(served->thread, NULL);
	dg_server_close(served->server);
	served->server = NULL;
	return dgi_now_ms() - begun;
}

dg_status peer_dial(struct peer *peer, const struct served *served, dg_error *err)
{
	struct dgi_hello hello = { .version_min = 1, .version_max = 1, .part = -1 };

	peer->pool = dgi_pool_of(0);
	peer->last_id = 1;
	return dgi_dial(&served->address, &hello, &peer->pool, soon(), &peer->conn, &peer->welcome,
			err);
}

void peer_open(struct peer *peer, const struct served *served)
{
	dg_error err = { 0 };

	assert_ok(peer_dial(peer, served, &err), &err);
}

void peer_close(struct peer *peer)
{
	dgi_conn_clear(&peer->conn);
	dgi_pool_clear(&peer->pool);
}

dg_status peer_pull(struct peer *peer, uint32_t tensor, const dg_id *rows, size_t n, void *out,
		    dg_error *err)
{
	struct iovec lent = { (void *)(uintptr_t)rows, n * sizeof *rows };
	uint8_t prefix[DGI_PREFIX_BYTES];
	struct dgi_body body = { prefix, sizeof prefix, NULL, 0, 0, &lent, 1 };
	struct dgi_message reply;
	struct dgi_pulled pulled;
	dg_status st;

	dgi_pull_encode(&(struct dgi_pull){ .tensor = tensor, .n = n }, prefix);
	st = dgi_call(&peer->conn, dgi_request(DGI_PULL, ++peer->last_id, soon()), &body, soon(),
		      &reply, &peer->broken, err);
	if (st)
		return st;
	assert_ok(dgi_pulled_decode(reply.body, reply.head_bytes, &pulled, err), err);
	assert_int_equal(pulled.n, n);
	memcpy(out, reply.body + DGI_PREFIX_BYTES, reply.head_bytes - DGI_PREFIX_BYTES);
	dgi_message_clear(&peer->pool, &reply);
	return DG_OK;
}

static void push_body(uint32_t tensor, const dg_id *rows, size_t n, const void *data,
		      uint32_t row_bytes, uint8_t prefix[DGI_PREFIX_BYTES], struct iovec lent[3])
{
	struct dgi_push push = {
		.tensor = tensor, .operation = DG_OP_ASSIGN, .row_bytes = row_bytes, .n = n
	};

	dgi_push_encode(&push, prefix);
	lent[0] = (struct iovec){ (void *)(uintptr_t)rows, n * sizeof *rows };
	lent[1] = (struct iovec){ (void *)(uintptr_t)zeros,
				  dgi_push_data_at(n, 0) - DGI_PREFIX_BYTES - n * sizeof *rows };
	lent[2] = (struct iovec){ (void *)(uintptr_t)data, n * row_bytes };
}

dg_status peer_push(struct peer *peer, uint32_t tensor, const dg_id *rows, size_t n,
		    const void *data, uint32_t row_bytes, struct dgi_pushed *out, dg_error *err)
{
	uint8_t prefix[DGI_PREFIX_BYTES];
	struct iovec lent[3];
	struct dgi_body body = { prefix, sizeof prefix, NULL, 0, 0, lent, 3 };
	struct dgi_message reply;
	dg_status st;

	push_body(tensor, rows, n, data, row_bytes, prefix, lent);
	st = dgi_call(&peer->conn, dgi_request(DGI_PUSH, ++peer->last_id, soon()), &body, soon(),
		      &reply, &peer->broken, err);
	if (st)
		return st;
	st = dgi_pushed_decode(reply.body, reply.head_bytes, out, err);
	dgi_message_clear(&peer->pool, &reply);
	return st;
}

void peer_queue_push(struct peer *peer, const dg_id *rows, size_t n, const void *data)
{
	uint8_t prefix[DGI_PREFIX_BYTES];
	struct iovec lent[3];
	struct dgi_body body = { prefix, sizeof prefix, NULL, 0, 0, lent, 3 };
	dg_error err = { 0 };

	push_body(FEAT, rows, n, data, ROW_BYTES, prefix, lent);
	assert_ok(dgi_conn_send(&peer->conn, dgi_request(DGI_PUSH, ++peer->last_id, soon()), &body,
				&err),
		  &err);
}

void peer_queue_pull(struct peer *peer, const dg_id *rows, size_t n)
{
	struct iovec lent = { (void *)(uintptr_t)rows, n * sizeof *rows };
	uint8_t prefix[DGI_PREFIX_BYTES];
	struct dgi_body body = { prefix, sizeof prefix, NULL, 0, 0, &lent, 1 };
	dg_error err = { 0 };

	dgi_pull_encode(&(struct dgi_pull){ .tensor = FEAT, .n = n }, prefix);
	assert_ok(dgi_conn_send(&peer->conn, dgi_request(DGI_PULL, ++peer->last_id, soon()), &body,
				&err),
		  &err);
}

dg_status peer_next(struct peer *peer, struct dgi_message *out, dg_error *err)
{
	struct dgi_conn *conn = &peer->conn;
	struct dgi_deadline deadline = soon();

	for (;;) {
		enum dgi_inbox_answer answer;
		dg_status moved = DG_OK;
		dg_status st = dgi_conn_next(conn, &answer, out, err);

		if (st || answer == DGI_INBOX_MESSAGE)
			return st;
		st = dgi_conns_move(&conn, 1, deadline, &moved, err, err);
		if (st || moved)
			return st ? st : moved;
	}
}

int raw_open(const struct served *served)
{
	dg_error err = { 0 };
	int fd;

	assert_ok(dgi_connect(&served->address, soon(), &fd, &err), &err);
	(void)fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
	return fd;
}

static bool read_all(int fd, uint8_t *at, size_t n)
{
	while (n) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		ssize_t got;

		assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
		got = read(fd, at, n);
		if (got <= 0)
			return false;
		at += got;
		n -= (size_t)got;
	}
	return true;
}

bool raw_read(int fd, struct dgi_frame *frame, uint8_t *body, size_t room)
{
	uint8_t header[DGI_FRAME_BYTES];
	dg_error err = { 0 };

	if (!read_all(fd, header, sizeof header))
		return false;
	assert_ok(dgi_frame_decode(header, room, frame, &err), &err);
	return read_all(fd, body, (size_t)frame->body_bytes);
}
