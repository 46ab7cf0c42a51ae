/* call.c -- the client's side of a connection. */
#include "call.h"

#include "check.h"
#include "fail.h"
#include "socket.h"
#include "uuid.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>

#define HELLO_ID 1 /* request id of the hello */

/* A client waits by the deadlines of its calls; what it queues to send is its own affair. */
static const struct dgi_conn_limits client_limits = { .frame_ms = UINT32_MAX,
						      .send_bytes_max = SIZE_MAX };

struct dgi_frame dgi_request(enum dgi_message_type type, uint64_t request_id,
			     struct dgi_deadline deadline)
{
	return (struct dgi_frame){ .version = DGI_PROTOCOL_VERSION,
				   .type = (uint16_t)type,
				   .deadline_ms = (uint32_t)dgi_deadline_left_ms(deadline),
				   .request_id = request_id };
}

/*
 * Does for one connection what poll() said of it. A server that refuses us says why before it
 * closes: its last words count for more than that we could not send.
 */
static dg_status move_one(struct dgi_conn *conn, short ready, dg_error *err)
{
	dg_status unsent = DG_OK;
	dg_status st = DG_OK;

	if (ready & (POLLOUT | POLLERR))
		unsent = dgi_conn_flush(conn, err);
	if (unsent || (ready & (POLLIN | POLLHUP | POLLERR)))
		st = dgi_conn_receive(conn, unsent ? NULL : err);
	if (unsent && (st || conn->ended || !dgi_inbox_is_amid(&conn->in)))
		return unsent;
	return st;
}

static dg_status wait_ready(struct pollfd *polls, size_t n, struct dgi_deadline deadline,
			    dg_error *err)
{
	int ready;

	do
		ready = poll(polls, (nfds_t)n, dgi_deadline_left_ms(deadline));
	while (ready < 0 && errno == EINTR);
	if (ready < 0)
		return dgi_fail_errno(err, errno, "poll");
	if (ready == 0)
		return dgi_fail(err, DG_TIMEOUT, "no answer in time");
	return DG_OK;
}

dg_status dgi_conns_move(struct dgi_conn *const *conns, size_t n, struct dgi_deadline deadline,
			 dg_status *status, dg_error *errs, dg_error *err)
{
	struct pollfd *polls = calloc(n ? n : 1, sizeof *polls);
	dg_status st;

	if (!polls)
		return dgi_fail_memory(err, "connections to wait for");
	for (size_t i = 0; i < n; i++) {
		polls[i].fd = conns[i] ? conns[i]->fd : -1;
		if (conns[i])
			polls[i].events = dgi_conn_events(conns[i]);
	}
	st = wait_ready(polls, n, deadline, err);
	for (size_t i = 0; !st && i < n; i++)
		if (polls[i].revents)
			status[i] = move_one(conns[i], polls[i].revents, errs ? &errs[i] : NULL);
	free(polls);
	return st;
}

dg_status dgi_reply_check(const struct dgi_message *reply, dg_error *err)
{
	if (!(reply->frame.flags & DGI_FRAME_REPLY))
		return dgi_fail(err, DG_PROTO, "the server sent a request (%s)",
				dgi_message_name(reply->frame.type));
	if (reply->frame.status != DG_OK)
		return dgi_error_decode(&reply->frame, reply->body, reply->head_bytes, err);
	if (reply->frame.request_id == 0)
		return dgi_fail(err, DG_PROTO, "the server answered request 0");
	return dgi_message_check(&reply->frame, err);
}

/* Waits for the reply to request @id, or one about the whole connection. */
static dg_status await(struct dgi_conn *conn, uint64_t id, struct dgi_deadline deadline,
		       struct dgi_message *out, dg_error *err)
{
	for (;;) {
		enum dgi_inbox_answer answer;
		dg_status moved = DG_OK;
		dg_status st = dgi_conn_next(conn, &answer, out, err);

		if (st)
			return st;
		if (answer == DGI_INBOX_MESSAGE) {
			if (out->frame.request_id == id || out->frame.request_id == 0)
				return DG_OK;
			dgi_message_clear(conn->in.pool, out);
			continue;
		}
		st = dgi_conns_move(&conn, 1, deadline, &moved, err, err);
		if (st || moved)
			return st ? st : moved;
	}
}

dg_status dgi_call(struct dgi_conn *conn, struct dgi_frame frame, const struct dgi_body *body,
		   struct dgi_deadline deadline, struct dgi_message *out, bool *broken,
		   dg_error *err)
{
	struct dgi_message reply = { 0 };
	bool is_broken = true;
	dg_status st = dgi_conn_send(conn, frame, body, err);

	if (!st)
		st = await(conn, frame.request_id, deadline, &reply, err);
	if (!st) {
		st = dgi_reply_check(&reply, err);
		is_broken = st && (reply.frame.request_id == 0 || reply.frame.status == DG_OK);
		if (st)
			dgi_message_clear(conn->in.pool, &reply);
		else
			*out = reply;
	}
	if (broken)
		*broken = is_broken;
	return st;
}

static dg_status check_welcome(const struct dgi_hello *hello, const struct dgi_welcome *welcome,
			       dg_error *err)
{
	char found[DG_UUID_TEXT_BYTES], wanted[DG_UUID_TEXT_BYTES];

	if (welcome->version < hello->version_min || welcome->version > hello->version_max)
		return dgi_fail(err, DG_VERSION, "the server speaks protocol version %u",
				welcome->version);
	if (hello->part >= 0 && welcome->part != (uint32_t)hello->part)
		return dgi_fail(err, DG_MISMATCH, "the server has part %u, want %d", welcome->part,
				hello->part);
	dgi_uuid_text(&welcome->cluster_uuid, found);
	dgi_uuid_text(&hello->cluster_uuid, wanted);
	if (!dgi_uuid_is_zero(&hello->cluster_uuid) &&
	    !dgi_uuid_equal(&hello->cluster_uuid, &welcome->cluster_uuid))
		return dgi_fail(err, DG_MISMATCH, "the server belongs to cluster %s, want %s",
				found, wanted);
	dgi_uuid_text(&welcome->store_uuid, found);
	dgi_uuid_text(&hello->store_uuid, wanted);
	if (!dgi_uuid_is_zero(&hello->store_uuid) &&
	    !dgi_uuid_equal(&hello->store_uuid, &welcome->store_uuid))
		return dgi_fail(err, DG_MISMATCH, "the server has store %s, want %s", found,
				wanted);
	return DG_OK;
}

static dg_status shake_hands(struct dgi_conn *conn, const struct dgi_hello *hello,
			     struct dgi_deadline deadline, struct dgi_welcome *welcome,
			     dg_error *err)
{
	uint8_t encoded[DGI_HELLO_BYTES];
	struct dgi_body body = { .copied = encoded, .copied_bytes = sizeof encoded };
	struct dgi_message reply;
	dg_status st;

	dgi_hello_encode(hello, encoded);
	st = dgi_call(conn, dgi_request(DGI_HELLO, HELLO_ID, deadline), &body, deadline, &reply,
		      NULL, err);
	if (st)
		return st;
	st = dgi_welcome_decode(reply.body, reply.head_bytes, welcome, err);
	dgi_message_clear(conn->in.pool, &reply);
	return st ? st : check_welcome(hello, welcome, err);
}

dg_status dgi_dial(const struct dgi_address *address, const struct dgi_hello *hello,
		   struct dgi_pool *pool, struct dgi_deadline deadline, struct dgi_conn *conn,
		   struct dgi_welcome *welcome, dg_error *err)
{
	int fd;
	dg_status st;

	conn->fd = -1;
	st = dgi_connect(address, deadline, &fd, err);
	if (st)
		return st;
	dgi_conn_init(conn, fd, pool, &client_limits);
	st = shake_hands(conn, hello, deadline, welcome, err);
	if (st) {
		dgi_conn_clear(conn);
		return st;
	}
	dgi_conn_establish(conn);
	return DG_OK;
}
