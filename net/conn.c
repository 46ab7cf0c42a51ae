/* conn.c -- one connection: a socket between an inbox and an outbox. */
#include "conn.h"

#include "deadline.h"
#include "fail.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define RUNS_PER_SEND 64
#define BYTES_PER_MS 64 /* the slowest peer that is served */

void dgi_conn_init(struct dgi_conn *conn, int fd, struct dgi_pool *pool,
		   const struct dgi_conn_limits *limits)
{
	conn->fd = fd;
	conn->limits = *limits;
	conn->established = false;
	conn->ended = false;
	conn->paused = false;
	conn->opened_ms = conn->active_ms = conn->heard_ms = dgi_now_ms();
	conn->arriving_ms = conn->leaving_ms = 0;
	dgi_inbox_init(&conn->in, pool, DGI_FRAME_BODY_BYTES_EARLY);
	dgi_outbox_init(&conn->out, pool);
}

void dgi_conn_clear(struct dgi_conn *conn)
{
	if (conn->fd < 0)
		return;
	(void)close(conn->fd);
	conn->fd = -1;
	dgi_inbox_clear(&conn->in);
	dgi_outbox_clear(&conn->out);
}

void dgi_conn_establish(struct dgi_conn *conn)
{
	conn->established = true;
	conn->in.body_bytes_max = DGI_FRAME_BODY_BYTES_MAX;
}

/* Bytes that are not taken in do not count against the peer's time. */
static void note_arriving(struct dgi_conn *conn, bool anew)
{
	if (!dgi_inbox_is_amid(&conn->in))
		conn->arriving_ms = 0;
	else if (anew || !conn->arriving_ms)
		conn->arriving_ms = dgi_now_ms();
}

void dgi_conn_pause(struct dgi_conn *conn, bool paused)
{
	if (conn->paused && !paused)
		note_arriving(conn, true);
	conn->paused = paused;
}

static bool is_reading(const struct dgi_conn *conn)
{
	return !conn->ended && !conn->paused && conn->out.bytes <= conn->limits.send_bytes_max;
}

short dgi_conn_events(struct dgi_conn *conn)
{
	struct iovec room[DGI_INBOX_ROOM_MAX];
	short events = 0;

	if (is_reading(conn) && dgi_inbox_room(&conn->in, room) > 0)
		events = (short)(events | POLLIN);
	if (conn->out.first)
		events = (short)(events | POLLOUT);
	return events;
}

dg_status dgi_conn_send(struct dgi_conn *conn, struct dgi_frame frame, const struct dgi_body *body,
			dg_error *err)
{
	dg_status st = dgi_outbox_put(&conn->out, frame, body, err);

	if (!st && !conn->leaving_ms)
		conn->leaving_ms = dgi_now_ms();
	return st;
}

dg_status dgi_conn_flush(struct dgi_conn *conn, dg_error *err)
{
	struct iovec runs[RUNS_PER_SEND];
	uint64_t before = conn->out.n_taken;
	bool was_reading = is_reading(conn);

	while (conn->out.first) {
		struct msghdr message = { .msg_iov = runs };
		ssize_t n;

		message.msg_iovlen = (size_t)dgi_outbox_gather(&conn->out, runs, RUNS_PER_SEND);
		n = sendmsg(conn->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			break;
		if (n < 0)
			return dgi_fail_errno(err, errno, "send");
		dgi_outbox_sent(&conn->out, (size_t)n);
		conn->active_ms = dgi_now_ms();
	}
	if (!conn->out.first)
		conn->leaving_ms = 0;
	else if (conn->out.n_taken != before)
		conn->leaving_ms = conn->active_ms;
	if (!was_reading && is_reading(conn))
		note_arriving(conn, true);
	return DG_OK;
}

dg_status dgi_conn_receive(struct dgi_conn *conn, dg_error *err)
{
	struct iovec room[DGI_INBOX_ROOM_MAX];
	struct msghdr message = { .msg_iov = room };
	ssize_t n;

	if (!is_reading(conn))
		return DG_OK;
	message.msg_iovlen = (size_t)dgi_inbox_room(&conn->in, room);
	if (message.msg_iovlen == 0)
		return DG_OK;
	do
		n = recvmsg(conn->fd, &message, MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
		return DG_OK;
	if (n < 0)
		return dgi_fail_errno(err, errno, "receive");
	if (n == 0) {
		conn->ended = true;
		return DG_OK;
	}
	dgi_inbox_filled(&conn->in, (size_t)n);
	conn->active_ms = conn->heard_ms = dgi_now_ms();
	note_arriving(conn, false);
	return DG_OK;
}

dg_status dgi_conn_next(struct dgi_conn *conn, enum dgi_inbox_answer *answer,
			struct dgi_message *out, dg_error *err)
{
	dg_status st = dgi_inbox_next(&conn->in, answer, out, err);

	if (st)
		return st;
	if (*answer == DGI_INBOX_MESSAGE) {
		note_arriving(conn, true);
		return DG_OK;
	}
	if (*answer == DGI_INBOX_HUNGRY && conn->ended)
		return dgi_fail(err, DG_CLOSED, "the peer closed the connection%s",
				dgi_inbox_is_amid(&conn->in) ? " in the middle of a message" : "");
	return DG_OK;
}

static bool is_late(int64_t since_ms, uint64_t limit_ms, int64_t now_ms)
{
	return now_ms - since_ms > (int64_t)limit_ms;
}

dg_status dgi_conn_check_time(const struct dgi_conn *conn, int64_t now_ms, dg_error *err)
{
	const struct dgi_conn_limits *limits = &conn->limits;
	uint64_t arriving = conn->in.in_body ? conn->in.frame.body_bytes : 0;
	uint64_t leaving = dgi_outbox_head_bytes(&conn->out);

	if (!conn->established && limits->handshake_ms &&
	    is_late(conn->opened_ms, limits->handshake_ms, now_ms))
		return dgi_fail(err, DG_TIMEOUT, "no hello within %u ms", limits->handshake_ms);
	if (conn->arriving_ms && is_reading(conn) &&
	    is_late(conn->arriving_ms, limits->frame_ms + arriving / BYTES_PER_MS, now_ms))
		return dgi_fail(err, DG_TIMEOUT, "a message has been arriving for %lld ms",
				(long long)(now_ms - conn->arriving_ms));
	if (conn->leaving_ms &&
	    is_late(conn->leaving_ms, limits->frame_ms + leaving / BYTES_PER_MS, now_ms))
		return dgi_fail(err, DG_TIMEOUT, "the peer has not taken a message for %lld ms",
				(long long)(now_ms - conn->leaving_ms));
	if (limits->idle_ms && !conn->out.first &&
	    is_late(conn->active_ms, limits->idle_ms, now_ms))
		return dgi_fail(err, DG_TIMEOUT, "idle for %u ms", limits->idle_ms);
	return DG_OK;
}
