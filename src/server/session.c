/* session.c -- one client's connection on the server. */
#include "session.h"

#include "deadline.h"
#include "fail.h"
#include "log.h"
#include "loop.h"
#include "reply.h"
#include "uuid.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#define SMALL_BYTES 8192
#define REQUEST_BYTES_MAX ((uint64_t)DGI_CREDITS_MAX * 2) /* of a client that heeds no credits */
#define LINGER_MS 2000					  /* for the peer to read our last words */

static const struct dgi_conn_limits limits = {
	.handshake_ms = 5000,
	.frame_ms = 30000,
	.idle_ms = 2 * 3600 * 1000, /* trainers compute for long; dead hosts are found by probes */
	.send_bytes_max = 8U << 20,
};

struct job {
	struct dgi_job job; /* first */
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

bool dgi_session_take(struct dgi_budget *budget, uint64_t n, bool is_only)
{
	if (!is_only || n > SMALL_BYTES)
		return dgi_budget_take(budget, n);
	dgi_budget_take_anyway(budget, n);
	return true;
}

static bool place(void *context, const struct dgi_frame *frame, struct dgi_place *out)
{
	struct dgi_session *s = context;
	uint64_t cost = cost_of(frame);

	(void)out;
	if (s->request_bytes && s->request_bytes + cost > REQUEST_BYTES_MAX)
		return false;
	if (!dgi_session_take(&s->server->requests, cost, s->request_bytes == 0))
		return false;
	s->request_bytes += cost;
	return true;
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
	dgi_seats_leave(&s->server->seats, s->seat);
	free(s);
}

static void give_request(struct dgi_session *s, const struct dgi_frame *frame)
{
	s->request_bytes -= cost_of(frame);
	dgi_server_give(s->server, &s->server->requests, cost_of(frame));
}

void dgi_session_release(struct dgi_session *s, struct dgi_message *message)
{
	dgi_message_clear(dgi_loop_pool(s->loop), message);
	give_request(s, &message->frame);
}

void dgi_session_kill(struct dgi_session *s)
{
	if (s->is_dead)
		return;
	s->is_dead = true;
	s->is_ready = s->is_starved = false;
	if (s->conn.in.in_body)
		give_request(s, &s->conn.in.frame);
	dgi_pulls_clear(s);
	dgi_group_service_forget(&s->server->groups, s);
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
	dgi_group_service_end(&s->server->groups, s);
}

/* --- Answers --- */

void dgi_session_refuse(struct dgi_session *s, const dg_error *error)
{
	struct dgi_frame whole_connection = { .type = DGI_HELLO };

	s->is_refused = true;
	dgi_reply_error(s, &whole_connection, error);
	begin_closing(s);
}

/* --- Requests --- */

/* From here on the client's pushes come on this connection. */
static dg_status take_seat(struct dgi_session *s, const struct dgi_hello *hello, dg_error *err)
{
	dgi_server_session_init(&s->numbers, &hello->session_uuid);
	if (dgi_uuid_is_zero(&hello->session_uuid))
		return DG_OK;
	s->seat = dgi_seats_take(&s->server->seats, &hello->session_uuid, hello->attempt);
	return s->seat ? DG_OK : dgi_fail_memory(err, "session");
}

static void handle_hello(struct dgi_session *s, const struct dgi_message *m)
{
	uint8_t welcome[DGI_WELCOME_BYTES];
	struct dgi_hello hello;
	dg_error err = { 0 };
	dg_status st;

	if (s->conn.established)
		st = dgi_fail(&err, DG_PROTO, "hello: said already");
	else
		st = dgi_service_hello(&s->server->service, m->body, m->head_bytes, welcome, &hello,
				       &err);
	if (!st)
		st = take_seat(s, &hello, &err);
	if (st) {
		s->is_refused = true;
		dgi_reply_error(s, &m->frame, &err);
		begin_closing(s);
		return;
	}
	dgi_conn_establish(&s->conn);
	dgi_reply_bytes(s, &m->frame, welcome, sizeof welcome);
}

static void handle_ping(struct dgi_session *s, const struct dgi_message *m)
{
	uint8_t status[DGI_STATUS_BYTES];

	dgi_service_ping(&s->server->service, status);
	dgi_reply_bytes(s, &m->frame, status, sizeof status);
}

static dg_status describe(struct dgi_session *s, const struct dgi_message *m, uint8_t *room,
			  uint8_t **block, size_t *n, dg_error *err)
{
	dg_status st = dgi_service_describe(&s->server->service, m->body, m->head_bytes, room,
					    DGI_DESCRIBED_BYTES_MAX, n, err);

	if (st)
		return st;
	*block = dgi_pool_get(s->conn.in.pool,
			      *n); /* what waits to be sent is no larger than it is */
	if (!*block)
		return dgi_fail_memory(err, "describe");
	memcpy(*block, room, *n);
	return DG_OK;
}

static void handle_describe(struct dgi_session *s, const struct dgi_message *m)
{
	struct dgi_pool *pool = s->conn.in.pool;
	uint8_t *room = dgi_pool_get(pool, DGI_DESCRIBED_BYTES_MAX);
	uint8_t *block = NULL;
	dg_error err = { 0 };
	size_t n = 0;
	dg_status st;

	st = room ? describe(s, m, room, &block, &n, &err) : dgi_fail_memory(&err, "describe");
	dgi_pool_put(pool, room, DGI_DESCRIBED_BYTES_MAX);
	if (st)
		dgi_reply_error(s, &m->frame, &err);
	else
		dgi_reply_block(s, &m->frame, block, n);
}

static void handle_ids(struct dgi_session *s, const struct dgi_message *m)
{
	uint8_t *block = NULL;
	dg_error err = { 0 };
	size_t n = 0;

	if (dgi_service_ids(&s->server->service, m->body, m->head_bytes, s->conn.in.pool, &block,
			    &n, &err) != DG_OK)
		dgi_reply_error(s, &m->frame, &err);
	else
		dgi_reply_block(s, &m->frame, block, n);
}

uint64_t dgi_session_settled(struct dgi_session *s)
{
	uint64_t settled = atomic_load(&s->progress.n_settled);

	dgi_server_session_settle(&s->numbers, settled - s->numbers.n_settled);
	return settled;
}

/* The numbers of a client that does not keep to the protocol are the end of its connection. */
static void refuse_numbers(struct dgi_session *s, const struct dgi_frame *request, dg_status st,
			   const dg_error *err)
{
	if (st == DG_PROTO)
		dgi_session_refuse(s, err);
	else
		dgi_reply_error(s, request, err);
}

static void look_at_seat(struct dgi_session *s)
{
	s->numbers.is_taken = s->seat && atomic_load(&s->seat->is_taken);
}

/* Returns true when the message is kept. */
static bool handle_pull(struct dgi_session *s, struct dgi_message *m)
{
	struct dgi_pull_plan plan;
	uint64_t turn = 0;
	dg_error err = { 0 };

	if (dgi_service_plan_pull(&s->server->service, m->body, m->head_bytes, &plan, &err)) {
		dgi_reply_error(s, &m->frame, &err);
		return false;
	}
	if (plan.after) {
		dg_status st;

		look_at_seat(s);
		st = dgi_server_session_pull(&s->numbers, plan.after, &turn, &err);
		if (st) {
			refuse_numbers(s, &m->frame, st, &err);
			return false;
		}
	}
	return dgi_pulls_begin(s, m, &plan, turn);
}

static struct dgi_job *new_job(struct dgi_session *s, const struct dgi_message *m)
{
	struct job *job = calloc(1, sizeof *job);

	if (!job)
		return NULL;
	job->session = s;
	job->message = *m;
	if (m->frame.deadline_ms)
		job->job.expires_ms = dgi_now_ms() + m->frame.deadline_ms;
	job->job.seat = s->seat;
	job->job.owner = s->loop;
	job->job.done = dgi_loop_deliver;
	return &job->job;
}

static void submit(struct dgi_session *s, struct dgi_job *job)
{
	s->n_pending++;
	dgi_writer_submit(&s->server->writer, job);
}

/* Returns true when the message is kept: the writer has it. */
static bool handle_push(struct dgi_session *s, struct dgi_message *m)
{
	struct dgi_job *job = NULL;
	struct dgi_push push;
	dg_error err = { 0 };
	dg_status st = dgi_push_decode(m->body, m->head_bytes, &push, &err);

	if (st) {
		dgi_reply_error(s, &m->frame, &err);
		return false;
	}
	look_at_seat(s);
	st = dgi_server_session_push(&s->numbers, &push, &err);
	if (st) {
		refuse_numbers(s, &m->frame, st, &err);
		return false;
	}
	job = new_job(s, m);
	if (!job)
		st = dgi_fail_memory(&err, "push");
	else
		st = dgi_service_plan_push(&s->server->service, m->body, &push, &job->write, &err);
	if (st) {
		free(job);
		dgi_reply_error(s, &m->frame, &err);
		return false;
	}
	job->wait_durable = push.flags & DGI_PUSH_WAIT_DURABLE;
	job->write.session = s->numbers.id;
	job->progress = &s->progress;
	job->settled = dgi_loop_settled;
	dgi_server_session_hand_on(&s->numbers);
	submit(s, job);
	return true;
}

static dg_status check_end(const struct dgi_session *s, const struct dgi_session_end *end,
			   dg_error *err)
{
	if (dgi_uuid_is_zero(&end->session_uuid))
		return dgi_fail(err, DG_INVALID, "session: its id is zero");
	if (end->operation == DGI_SESSION_EXPIRE)
		return DG_OK;
	if (!s->seat)
		return dgi_fail(err, DG_NOTFOUND, "this connection has no session to close");
	if (!dgi_uuid_equal(&end->session_uuid, &s->numbers.id))
		return dgi_fail(err, DG_INVALID, "another session than the connection's own");
	return DG_OK;
}

/* Returns true when the message is kept: the writer has it. */
static bool handle_session_end(struct dgi_session *s, struct dgi_message *m)
{
	struct dgi_session_end end;
	struct dgi_job *job = NULL;
	dg_error err = { 0 };
	dg_status st = dgi_session_end_decode(m->body, m->head_bytes, &end, &err);

	if (!st)
		st = check_end(s, &end, &err);
	if (!st) {
		job = new_job(s, m);
		st = job ? dgi_service_plan_end(&s->server->service, &end, &job->write, &err)
			 : dgi_fail_memory(&err, "session");
	}
	if (st) {
		free(job);
		dgi_reply_error(s, &m->frame, &err);
		return false;
	}
	job->forget = end.operation == DGI_SESSION_CLOSE;
	if (!job->forget) {
		job->seat = NULL; /* anybody may */
		dgi_seats_end(&s->server->seats, &end.session_uuid);
	}
	submit(s, job);
	return true;
}

struct dgi_session *dgi_session_of(struct dgi_job *job)
{
	return ((struct job *)job)->session;
}

static void answer_job(struct dgi_session *s, const struct job *job)
{
	const struct dgi_write *write = &job->job.write;
	const struct dgi_pushed pushed = { .log_number = write->log_number,
					   .repeat = write->repeat };
	uint8_t encoded[DGI_PUSHED_BYTES];

	dgi_pushed_encode(&pushed, encoded);
	dgi_reply_bytes(s, &job->message.frame, encoded,
			job->message.frame.type == DGI_PUSH ? sizeof encoded : 0);
}

void dgi_session_pushed(struct dgi_session *s, struct dgi_job *done)
{
	struct job *job = (struct job *)done;

	s->n_pending--;
	if (!s->is_dead && done->write.status != DG_OK) {
		done->write.error.status = done->write.status;
		dgi_reply_error(s, &job->message.frame, &done->write.error);
	} else if (!s->is_dead) {
		answer_job(s, job);
	}
	if (done->forget && done->write.status == DG_OK)
		atomic_store(&s->seat->is_taken, true); /* what comes now would open it again */
	dgi_session_release(s, &job->message);
	free(job);
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
		dgi_reply_error(s, &m->frame, &err);
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
		case DGI_IDS:
			handle_ids(s, m);
			break;
		case DGI_JOIN:
		case DGI_BEAT:
		case DGI_BARRIER:
		case DGI_LEAVE:
			dgi_group_service_ask(&s->server->groups, s, m);
			break;
		case DGI_PULL:
			kept = handle_pull(s, m);
			break;
		case DGI_PUSH:
			kept = handle_push(s, m);
			break;
		case DGI_SESSION:
			kept = handle_session_end(s, m);
			break;
		}
	}
	if (!kept)
		dgi_session_release(s, m);
}

/* --- Coming and going of bytes --- */

bool dgi_session_is_congested(const struct dgi_session *s)
{
	return s->conn.out.bytes > limits.send_bytes_max;
}

/* Handles what has arrived, one message; false when there is nothing to handle now. */
static bool serve_next(struct dgi_session *s)
{
	enum dgi_inbox_answer answer;
	struct dgi_message message;
	dg_error err = { 0 };
	dg_status st;

	if (s->is_dead || s->is_closing || s->is_starved || dgi_session_is_congested(s))
		return false;
	if (s->served_bytes >= DGI_SLICE_BYTES) {
		s->is_ready = true; /* for the next turn */
		return false;
	}
	st = dgi_conn_next(&s->conn, &answer, &message, &err);
	if (st == DG_NOMEM) /* memory for it was promised, but there is none */
		give_request(s, &s->conn.in.frame);
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

	if (s->is_dead || !s->is_closing || s->n_pending || s->pulls.first || s->conn.out.first)
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
	s->is_starved = s->is_ready = false;
	s->served_bytes = 0;
	if (!s->is_dead)
		dgi_pulls_go_on(s);
	while (more) {
		while (serve_next(s))
			;
		more = !s->is_dead && dgi_session_is_congested(s) && !s->is_closing &&
		       !s->is_starved && !s->is_ready;
		flush(s);
		more = more && !s->is_dead && !dgi_session_is_congested(s);
	}
	if (s->is_dead)
		return;
	finish(s);
	if (s->is_dead)
		return;
	if (s->pulls.is_held && !dgi_session_is_congested(s))
		s->is_ready = true;
	dgi_conn_pause(&s->conn, s->is_starved);
	dgi_loop_note(s->loop, s);
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
	if (dgi_conn_check_time(&s->conn, now_ms, &err) == DG_OK) {
		if (s->pulls.first) /* one may be late */
			dgi_session_work(s, 0);
		return;
	}
	dgi_log(DG_LOG_INFO, "a client is dropped: %s", err.text);
	dgi_session_kill(s);
}
