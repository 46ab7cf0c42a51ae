/* session.c -- one client's connection on the server. */
#include "session.h"

#include "deadline.h"
#include "fail.h"
#include "log.h"
#include "loop.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#define CREDITS (16U << 20) /* bytes of requests that a client may have unanswered */
#define SMALL_BYTES 8192
#define LINGER_MS 2000 /* for the peer to read our last words */

static const struct dgi_conn_limits limits = {
	.handshake_ms = 5000,
	.frame_ms = 30000,
	.idle_ms = 2 * 3600 * 1000, /* trainers compute for long; dead hosts are found by probes */
	.send_bytes_max = 8U << 20,
};

struct push {
	struct dgi_push_job job; /* first */
	struct dgi_session *session;
	struct dgi_message message;
};

struct dgi_session *dgi_session_new(struct dg_server *server, int fd)
{
	struct dgi_session *s = calloc(1, sizeof *s);

	if (!s) {
		struct dgi_conn lost = { .fd = fd };

		dgi_conn_clear(&lost);
		return NULL;
	}
	s->source = DGI_SOURCE_SESSION;
	s->server = server;
	s->conn.fd = fd;
	return s;
}

static uint64_t cost_of(const struct dgi_frame *frame)
{
	return frame->body_bytes + DGI_REQUEST_OVERHEAD_BYTES;
}

/*
 * One small request at a time of each client, and its answer, need not wait for the memory that
 * large ones take: clients that do little are served whatever the others do.
 */
static bool take_memory(struct dgi_budget *budget, uint64_t n, bool is_only)
{
	if (!is_only || n > SMALL_BYTES)
		return dgi_budget_take(budget, n);
	dgi_budget_take_anyway(budget, n);
	return true;
}

static bool place(void *context, const struct dgi_frame *frame, struct dgi_place *out)
{
	struct dgi_session *s = context;

	(void)out;
	return take_memory(&s->server->requests, cost_of(frame), s->n_pending == 0);
}

void dgi_session_begin(struct dgi_session *s, struct dgi_loop *loop, struct dgi_pool *pool)
{
	dgi_conn_init(&s->conn, s->conn.fd, pool, &limits);
	s->conn.in.place = place;
	s->conn.in.place_context = s;
	s->loop = loop;
}

void dgi_session_free(struct dgi_session *s)
{
	dgi_conn_clear(&s->conn);
	free(s);
}

static void release(struct dgi_session *s, struct dgi_message *message)
{
	dgi_message_clear(s->conn.in.pool, message);
	dgi_server_give(s->server, &s->server->requests, cost_of(&message->frame));
}

void dgi_session_kill(struct dgi_session *s)
{
	if (s->is_dead)
		return;
	s->is_dead = true;
	s->is_starved = false;
	if (s->conn.in.in_body)
		dgi_server_give(s->server, &s->server->requests, cost_of(&s->conn.in.frame));
	if (s->has_waiting)
		release(s, &s->waiting);
	s->has_waiting = false;
	dgi_server_give(s->server, &s->server->replies, s->reply_bytes);
	s->reply_bytes = 0;
	dgi_conn_clear(&s->conn);
	if (s->is_counted)
		atomic_fetch_sub(&s->server->service.connections, 1);
}

static void begin_closing(struct dgi_session *s)
{
	if (s->is_closing)
		return;
	s->is_closing = true;
	s->closing_ms = dgi_now_ms();
}

/* --- Answers --- */

static struct dgi_frame reply_to(const struct dgi_session *s, const struct dgi_frame *request)
{
	return (struct dgi_frame){
		.version = DGI_PROTOCOL_VERSION,
		.type = request->type,
		.flags = DGI_FRAME_REPLY,
		.request_id = request->request_id,
		.durable = s->conn.established ? dgi_volume_durable(s->server->service.volume) : 0,
		.credits = s->conn.established ? CREDITS : 0
	};
}

static void send_reply(struct dgi_session *s, struct dgi_frame frame, const struct dgi_body *body)
{
	if (dgi_conn_send(&s->conn, frame, body, NULL) != DG_OK)
		dgi_session_kill(s); /* out of memory: an answer left out would never be missed */
}

static void reply_bytes(struct dgi_session *s, const struct dgi_frame *request, const void *data,
			size_t n)
{
	struct dgi_body body = { .copied = data, .copied_bytes = n };

	send_reply(s, reply_to(s, request), &body);
}

static void reply_error(struct dgi_session *s, const struct dgi_frame *request,
			const dg_error *error)
{
	struct dgi_frame frame = reply_to(s, request);
	struct dgi_body body = { .copied = error->text,
				 .copied_bytes = strnlen(error->text, sizeof error->text) };

	frame.status = (uint16_t)error->status;
	send_reply(s, frame, &body);
}

void dgi_session_refuse(struct dgi_session *s, const dg_error *error)
{
	struct dgi_frame whole_connection = { .type = DGI_HELLO };

	s->is_refused = true;
	reply_error(s, &whole_connection, error);
	begin_closing(s);
}

/* --- Requests --- */

static void handle_hello(struct dgi_session *s, const struct dgi_message *m)
{
	uint8_t welcome[DGI_WELCOME_BYTES];
	dg_error err = { 0 };

	if (dgi_service_hello(&s->server->service, m->body, m->head_bytes, welcome, &err) !=
	    DG_OK) {
		s->is_refused = true;
		reply_error(s, &m->frame, &err);
		begin_closing(s);
		return;
	}
	dgi_conn_establish(&s->conn);
	reply_bytes(s, &m->frame, welcome, sizeof welcome);
}

static void handle_ping(struct dgi_session *s, const struct dgi_message *m)
{
	uint8_t status[DGI_STATUS_BYTES];

	dgi_service_ping(&s->server->service, status);
	reply_bytes(s, &m->frame, status, sizeof status);
}

static void handle_describe(struct dgi_session *s, const struct dgi_message *m)
{
	struct dgi_pool *pool = s->conn.in.pool;
	struct dgi_body body = { .block = dgi_pool_get(pool, DGI_DESCRIBED_BYTES_MAX),
				 .block_room = DGI_DESCRIBED_BYTES_MAX };
	dg_error err = { 0 };
	dg_status st;

	if (!body.block)
		st = dgi_fail_memory(&err, "describe");
	else
		st = dgi_service_describe(&s->server->service, m->body, m->head_bytes, body.block,
					  DGI_DESCRIBED_BYTES_MAX, &body.block_bytes, &err);
	if (!st) {
		send_reply(s, reply_to(s, &m->frame), &body);
		return;
	}
	dgi_pool_put(pool, body.block, DGI_DESCRIBED_BYTES_MAX);
	reply_error(s, &m->frame, &err);
}

/* Serves a pull for which memory has been taken from the budget. */
static void answer_pull(struct dgi_session *s, const struct dgi_frame *request,
			const struct dgi_pull_plan *plan)
{
	struct dgi_pool *pool = s->conn.in.pool;
	struct dgi_body body = { .block = dgi_pool_get(pool, plan->reply_bytes),
				 .block_bytes = plan->reply_bytes };
	dg_error err = { 0 };
	dg_status st = DG_OK;

	s->reply_bytes += plan->reply_bytes;
	if (!body.block)
		st = dgi_fail_memory(&err, "rows pulled");
	else
		st = dgi_service_pull(&s->server->service, plan, body.block, &err);
	if (!st) {
		send_reply(s, reply_to(s, request), &body);
		return;
	}
	dgi_pool_put(pool, body.block, body.block_bytes);
	reply_error(s, request, &err);
}

/* Returns true when the message is kept: it waits for memory. */
static bool handle_pull(struct dgi_session *s, struct dgi_message *m)
{
	struct dgi_pull_plan plan;
	dg_error err = { 0 };

	if (dgi_service_plan_pull(&s->server->service, m->body, m->head_bytes, &plan, &err)) {
		reply_error(s, &m->frame, &err);
		return false;
	}
	if (!take_memory(&s->server->replies, plan.reply_bytes, !s->conn.out.first)) {
		s->has_waiting = true;
		s->waiting = *m;
		s->plan = plan;
		s->is_starved = true;
		return true;
	}
	answer_pull(s, &m->frame, &plan);
	return false;
}

/* Returns true when the message is kept: the writer has it. */
static bool handle_push(struct dgi_session *s, struct dgi_message *m)
{
	struct push *push = calloc(1, sizeof *push);
	dg_error err = { 0 };
	dg_status st;

	if (!push)
		st = dgi_fail_memory(&err, "push");
	else
		st = dgi_service_plan_push(&s->server->service, m->body, m->head_bytes,
					   &push->job.write, &err);
	if (st) {
		free(push);
		reply_error(s, &m->frame, &err);
		return false;
	}
	push->session = s;
	push->message = *m;
	if (m->frame.deadline_ms)
		push->job.expires_ms = dgi_now_ms() + m->frame.deadline_ms;
	push->job.owner = s->loop;
	push->job.done = dgi_loop_deliver;
	s->n_pending++;
	dgi_writer_submit(&s->server->writer, &push->job);
	return true;
}

struct dgi_session *dgi_session_of(struct dgi_push_job *job)
{
	return ((struct push *)job)->session;
}

void dgi_session_pushed(struct dgi_session *s, struct dgi_push_job *job)
{
	struct push *push = (struct push *)job;
	struct dgi_pushed pushed = { .log_number = job->write.log_number,
				     .repeat = job->write.repeat };
	uint8_t encoded[DGI_PUSHED_BYTES];

	s->n_pending--;
	if (!s->is_dead && job->write.status != DG_OK) {
		job->write.error.status = job->write.status;
		reply_error(s, &push->message.frame, &job->write.error);
	} else if (!s->is_dead) {
		dgi_pushed_encode(&pushed, encoded);
		reply_bytes(s, &push->message.frame, encoded, sizeof encoded);
	}
	dgi_message_clear(dgi_loop_pool(s->loop), &push->message);
	dgi_server_give(s->server, &s->server->requests, cost_of(&push->message.frame));
	free(push);
}

/* May this request be answered on this connection? Else the connection ends. */
static dg_status check_request(const struct dgi_session *s, const struct dgi_frame *frame,
			       dg_error *err)
{
	if (frame->flags & DGI_FRAME_REPLY)
		return dgi_fail(err, DG_PROTO, "the client sent a reply");
	if (frame->request_id == 0)
		return dgi_fail(err, DG_PROTO, "request id 0 stands for the connection");
	if (!s->conn.established && frame->type != DGI_HELLO)
		return dgi_fail(err, DG_PROTO, "%s before hello", dgi_message_name(frame->type));
	return DG_OK;
}

static void handle(struct dgi_session *s, struct dgi_message *m)
{
	dg_error err = { 0 };
	bool kept = false;

	if (check_request(s, &m->frame, &err) != DG_OK) {
		dgi_session_refuse(s, &err);
	} else if (dgi_message_check(&m->frame, &err) != DG_OK) {
		reply_error(s, &m->frame, &err);
	} else {
		switch ((enum dgi_message_type)m->frame.type) {
		case DGI_HELLO:
			handle_hello(s, m);
			break;
		case DGI_PING:
			handle_ping(s, m);
			break;
		case DGI_DESCRIBE:
			handle_describe(s, m);
			break;
		case DGI_PULL:
			kept = handle_pull(s, m);
			break;
		case DGI_PUSH:
			kept = handle_push(s, m);
			break;
		case DGI_SESSION:
			(void)dgi_fail(&err, DG_UNSUPPORTED, "this server has no sessions");
			reply_error(s, &m->frame, &err);
			break;
		}
	}
	if (!kept)
		release(s, m);
}

/* --- Coming and going of bytes --- */

static bool is_congested(const struct dgi_session *s)
{
	return s->conn.out.bytes > limits.send_bytes_max;
}

static void serve_waiting(struct dgi_session *s)
{
	if (!take_memory(&s->server->replies, s->plan.reply_bytes, !s->conn.out.first)) {
		s->is_starved = true;
		return;
	}
	answer_pull(s, &s->waiting.frame, &s->plan);
	if (s->has_waiting)
		release(s, &s->waiting);
	s->has_waiting = false;
}

/* Handles what has arrived, one message; false when there is nothing to handle now. */
static bool serve_next(struct dgi_session *s)
{
	enum dgi_inbox_answer answer;
	struct dgi_message message;
	dg_error err = { 0 };
	dg_status st;

	if (s->is_dead || s->is_closing || s->is_starved || is_congested(s))
		return false;
	st = dgi_conn_next(&s->conn, &answer, &message, &err);
	if (st == DG_CLOSED)
		begin_closing(s);
	else if (st)
		dgi_session_refuse(s, &err);
	if (st)
		return false;
	if (answer == DGI_INBOX_HELD_BACK)
		s->is_starved = true;
	if (answer == DGI_INBOX_MESSAGE)
		handle(s, &message);
	return answer == DGI_INBOX_MESSAGE;
}

static void flush(struct dgi_session *s)
{
	if (s->is_dead)
		return;
	if (dgi_conn_flush(&s->conn, NULL) != DG_OK) {
		dgi_session_kill(s);
	} else if (s->reply_bytes > s->conn.out.bytes) {
		uint64_t sent = s->reply_bytes - s->conn.out.bytes;

		s->reply_bytes -= sent;
		dgi_server_give(s->server, &s->server->replies, sent);
	}
}

/* Reads and forgets, so that closing does not destroy what the peer has yet to read. */
static void read_away(struct dgi_session *s)
{
	char sink[4096];
	ssize_t n = recv(s->conn.fd, sink, sizeof sink, MSG_DONTWAIT);

	if (n == 0)
		dgi_session_kill(s);
}

/* Once all is sent that is owed, says so to the peer and waits a little for its end. */
static void finish(struct dgi_session *s)
{
	int unread;

	if (s->is_dead || !s->is_closing || s->n_pending || s->has_waiting || s->conn.out.first)
		return;
	if (!s->is_shut) {
		(void)shutdown(s->conn.fd, SHUT_WR);
		s->is_shut = true;
		s->closing_ms = dgi_now_ms();
	}
	if (s->conn.ended ||
	    (!s->is_refused && ioctl(s->conn.fd, FIONREAD, &unread) == 0 && !unread))
		dgi_session_kill(s);
}

static uint32_t wanted_events(struct dgi_session *s)
{
	if (s->is_closing)
		return s->is_shut ? EPOLLIN : (s->conn.out.first ? EPOLLOUT : 0);
	return (uint32_t)dgi_conn_events(&s->conn);
}

void dgi_session_work(struct dgi_session *s, uint32_t events)
{
	bool more = true;

	if (s->is_dead)
		return;
	/* Nobody is there any more: what was handed to the writer is written all the same. */
	if (events & (EPOLLHUP | EPOLLERR))
		dgi_session_kill(s);
	else if ((events & EPOLLIN) && s->is_shut)
		read_away(s);
	else if ((events & EPOLLIN) && dgi_conn_receive(&s->conn, NULL) != DG_OK)
		dgi_session_kill(s);
	s->is_starved = false;
	if (!s->is_dead && s->has_waiting)
		serve_waiting(s);
	while (more) {
		while (serve_next(s))
			;
		more = !s->is_dead && is_congested(s) && !s->is_closing && !s->is_starved;
		flush(s);
		more = more && !s->is_dead && !is_congested(s);
	}
	if (s->is_dead)
		return;
	finish(s);
	if (s->is_dead)
		return;
	dgi_conn_pause(&s->conn, s->is_starved);
	events = wanted_events(s);
	if (events != s->events && dgi_loop_watch(s->loop, s, events) != DG_OK)
		dgi_session_kill(s);
}

void dgi_session_drain(struct dgi_session *s)
{
	begin_closing(s);
	dgi_session_work(s, 0);
}

void dgi_session_check_time(struct dgi_session *s, int64_t now_ms)
{
	dg_error err = { 0 };

	if (s->is_dead)
		return;
	if (s->is_shut) {
		if (now_ms - s->closing_ms > LINGER_MS)
			dgi_session_kill(s);
		return;
	}
	if (dgi_conn_check_time(&s->conn, now_ms, &err) == DG_OK)
		return;
	dgi_log(DG_LOG_INFO, "a client is dropped: %s", err.text);
	dgi_session_kill(s);
}
