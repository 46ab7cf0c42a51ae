/* channel.c -- a client's traffic with the server of one partition. */
#include "channel.h"

#include "check.h"
#include "fail.h"
#include "request.h"
#include "rng.h"
#include "uuid.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define SENT_MAX 64			     /* requests under way */
#define REPLY_BYTES_MAX (UINT64_C(32) << 20) /* that their answers may add up to, beyond one */
#define RETRY_MS_LEAST 10		     /* between two attempts to connect, doubled up to */
#define RETRY_MS_MOST 1000
#define CONNECT_MS 2000 /* for an attempt with a server that was there before */
#define BROKEN_MAX 5	/* connections in a row that end with nonsense are no accident */
#define FULL_PAUSE_MS 100
#define LEAVE_MS 1000
#define QUIET_MS \
	5000 /* a server that owes an answer and says nothing is asked whether it is there */
#define DEAD_MS 15000	 /* … and is taken for dead */
#define KEPT_PING_MS 100 /* between pings that ask what is on disk */

static dg_status begin_session(struct dgi_channel *channel, dg_error *err)
{
	dg_uuid id;
	dg_status st = dgi_uuid_new(&id, err);

	if (!st)
		dgi_client_session_init(&channel->session, &id);
	return st;
}

dg_status dgi_channel_init(struct dgi_channel *channel, const struct dgi_link *link, dg_error *err)
{
	*channel = (struct dgi_channel){ .link = *link, .retry_ms = RETRY_MS_LEAST };
	channel->link.session = &channel->session;
	return begin_session(channel, err);
}

/* --- Pieces --- */

static struct dgi_pool *pool_of(const struct dgi_channel *channel)
{
	return channel->link.pool;
}

/* Tells its request, if somebody waits for it, that a piece is settled. */
static void settle(struct dgi_channel *channel, struct dgi_piece *piece, dg_status status,
		   const dg_error *why)
{
	dg_error error = { 0 };

	if (!piece->request)
		return;
	if (status) {
		error = *why;
		(void)dgi_link_context(&channel->link, status, &error);
	}
	if (piece->kind == DGI_PIECE_PUSH)
		channel->n_unsettled--;
	dgi_request_settle(piece->request, status, &error);
	piece->request = NULL;
}

static void append_waiting(struct dgi_channel *channel, struct dgi_piece *piece)
{
	piece->next = NULL;
	if (channel->waiting)
		channel->waiting_last->next = piece;
	else
		channel->waiting = piece;
	channel->waiting_last = piece;
}

static struct dgi_piece *take_waiting(struct dgi_channel *channel)
{
	struct dgi_piece *piece = channel->waiting;

	channel->waiting = piece->next;
	return piece;
}

static void append_sent(struct dgi_channel *channel, struct dgi_piece *piece)
{
	struct dgi_piece **end = &channel->sent;

	while (*end)
		end = &(*end)->next;
	piece->next = NULL;
	*end = piece;
	if (channel->n_sent++ == 0)
		channel->owed_ms = dgi_now_ms();
	channel->reply_bytes += dgi_piece_reply_bytes(piece);
}

static struct dgi_piece *find_sent(struct dgi_channel *channel, uint64_t id)
{
	struct dgi_piece *piece = channel->sent;

	while (piece && piece->id != id)
		piece = piece->next;
	return piece;
}

static void remove_sent(struct dgi_channel *channel, struct dgi_piece *piece)
{
	struct dgi_piece **at = &channel->sent;

	while (*at != piece)
		at = &(*at)->next;
	*at = piece->next;
	piece->id = 0;
	channel->n_sent--;
	channel->reply_bytes -= dgi_piece_reply_bytes(piece);
}

static void free_push(struct dgi_channel *channel, struct dgi_piece *piece)
{
	channel->kept_bytes -= piece->block_bytes;
	dgi_piece_free(piece, pool_of(channel));
}

static void free_done(struct dgi_channel *channel)
{
	struct dgi_kept_push *kept;

	while ((kept = dgi_client_session_take_done(&channel->session)))
		free_push(channel, dgi_piece_of(kept));
}

void dgi_channel_add(struct dgi_channel *channel, struct dgi_piece *piece)
{
	if (piece->kind != DGI_PIECE_PUSH) {
		append_waiting(channel, piece);
		return;
	}
	channel->kept_bytes += piece->block_bytes;
	channel->n_unsettled++;
	dgi_client_session_add(&channel->session, &piece->kept, piece->cost);
}

bool dgi_channel_is_busy(const struct dgi_channel *channel)
{
	return channel->waiting || channel->sent || channel->n_unsettled ||
	       channel->session.waiting || (channel->session.n_kept && !channel->link.is_open);
}

/* --- Losing the connection --- */

/* The connection goes; what was under way is to be sent again, in its order. */
static void drop_connection(struct dgi_channel *channel)
{
	struct dgi_piece *later = channel->waiting;
	struct dgi_piece *piece;

	dgi_link_close(&channel->link);
	dgi_client_session_lost(&channel->session);
	channel->is_pinged = false;
	channel->waiting = NULL;
	while ((piece = channel->sent)) {
		remove_sent(channel, piece);
		if (piece->kind == DGI_PIECE_PUSH)
			continue; /* its session has it */
		if (piece->request)
			append_waiting(channel, piece);
		else
			dgi_piece_free(piece, pool_of(channel));
	}
	while ((piece = later)) {
		later = piece->next;
		append_waiting(channel, piece);
	}
}

/* A new session, with nothing kept; what is known of the store stays. */
static void forget_session(struct dgi_channel *channel)
{
	const struct dgi_client_session old = channel->session;

	dgi_client_session_init(&channel->session, &old.id);
	if (begin_session(channel, NULL) != DG_OK) /* then its numbers go on */
	{
		channel->session.last_number = old.last_number;
		channel->session.attempts = old.attempts;
	}
	channel->session.incarnation = old.incarnation;
	channel->session.durable = old.durable;
}

/* Nothing of what is there can be done: settled with why, and forgotten. */
static void fail_all(struct dgi_channel *channel, dg_status status, const dg_error *why)
{
	struct dgi_kept_push *kept = channel->session.first;

	drop_connection(channel);
	while (channel->waiting) {
		struct dgi_piece *piece = take_waiting(channel);

		settle(channel, piece, status, why);
		dgi_piece_free(piece, pool_of(channel));
	}
	while (kept) {
		struct dgi_piece *piece = dgi_piece_of(kept);

		dg_error error = *why;

		kept = kept->next;
		if (piece->was_sent)
			(void)dgi_context(&error, status, "rows may or may not be set");
		settle(channel, piece, status, &error);
		free_push(channel, piece);
	}
	channel->n_broken = 0;
	channel->retry_at_ms = 0;
	forget_session(channel);
}

/* From half the pause to all of it, so that clients lost together do not come back together. */
static int64_t jittered(const struct dgi_channel *channel, uint32_t ms)
{
	uint64_t seed = 0;
	struct dgi_rng rng;

	memcpy(&seed, channel->session.id.bytes, sizeof seed);
	rng = dgi_rng_of(seed, (uint64_t)dgi_now_us());
	return ms / 2 + (int64_t)dgi_rng_below(&rng, ms / 2 + 1);
}

static void note_lost(struct dgi_channel *channel, dg_status status, const dg_error *why)
{
	channel->lost_status = status;
	channel->lost = *why;
	channel->retry_at_ms = dgi_now_ms() + jittered(channel, channel->retry_ms);
	channel->retry_ms =
		channel->retry_ms * 2 < RETRY_MS_MOST ? channel->retry_ms * 2 : RETRY_MS_MOST;
}

static void lose(struct dgi_channel *channel, dg_status status, const dg_error *why)
{
	if (status == DG_PROTO || status == DG_VERSION)
		channel->n_broken++;
	if (channel->n_broken >= BROKEN_MAX || status == DG_NOMEM) {
		fail_all(channel, status, why);
		return;
	}
	drop_connection(channel);
	note_lost(channel, status, why);
}

/* --- Connecting --- */

static bool place_answer(void *context, const struct dgi_frame *frame, struct dgi_place *out)
{
	struct dgi_channel *channel = context;
	const struct dgi_piece *piece = find_sent(channel, frame->request_id);

	if (piece)
		dgi_piece_place(piece, frame, out);
	return true;
}

/* May the next attempt fare better? */
static bool may_pass(dg_status status)
{
	return status == DG_CLOSED || status == DG_TIMEOUT || status == DG_NOTFOUND ||
	       status == DG_IO || status == DG_BUSY || status == DG_PROTO;
}

/* Returns whether there is a connection. */
static bool connect_channel(struct dgi_channel *channel, struct dgi_deadline deadline)
{
	struct dgi_link *link = &channel->link;
	struct dgi_deadline soon = dgi_deadline_in(CONNECT_MS);
	dg_error error = { 0 };
	dg_status st;

	if (link->is_open)
		return true;
	if (dgi_now_ms() < channel->retry_at_ms)
		return false;
	if (link->was_open && soon.at_ms < deadline.at_ms)
		deadline = soon;
	st = dgi_link_open(link, deadline, &error);
	if (st == DG_OK) {
		link->conn.in.place = place_answer;
		link->conn.in.place_context = channel;
		return true;
	}
	if (link->was_open && may_pass(st))
		note_lost(channel, st, &error);
	else
		fail_all(channel, st, &error);
	return false;
}

bool dgi_channel_meet(struct dgi_channel *channel, struct dgi_deadline deadline)
{
	return connect_channel(channel, deadline);
}

/* --- Sending --- */

/* The piece to send next; NULL: none may be sent now. *after: what a pull names. */
static struct dgi_piece *next_piece(struct dgi_channel *channel, uint64_t *after)
{
	struct dgi_client_session *session = &channel->session;
	struct dgi_kept_push *kept = dgi_client_session_next(session);
	struct dgi_piece *piece = channel->waiting;

	*after = 0;
	if (channel->n_sent >= SENT_MAX)
		return NULL;
	if (kept && dgi_now_ms() >= channel->push_at_ms)
		return dgi_piece_of(kept);
	if (!piece || !dgi_client_session_may_begin(session, piece->cost))
		return NULL;
	if (channel->reply_bytes &&
	    channel->reply_bytes + dgi_piece_reply_bytes(piece) > REPLY_BYTES_MAX)
		return NULL;
	if (piece->kind == DGI_PIECE_PULL && !dgi_client_session_pull(session, after))
		return NULL; /* what was pushed before goes first */
	return piece;
}

static dg_status send_piece(struct dgi_channel *channel, struct dgi_piece *piece, uint64_t after,
			    dg_error *err)
{
	struct dgi_deadline deadline =
		piece->request ? piece->request->deadline : dgi_deadline_in(0);
	dg_status st;

	if (piece == channel->waiting)
		(void)take_waiting(channel);
	piece->id = ++channel->link.last_id;
	piece->was_sent = true;
	append_sent(channel, piece);
	st = dgi_piece_send(piece, &channel->link.conn, &channel->session, after, deadline, err);
	if (piece->kind == DGI_PIECE_PUSH)
		dgi_client_session_sent(&channel->session, &piece->kept);
	else
		dgi_client_session_began(&channel->session, piece->cost);
	return st;
}

/* --- Silence --- */

static int64_t quiet_ms(const struct dgi_channel *channel)
{
	int64_t heard_ms = channel->link.conn.heard_ms;

	return dgi_now_ms() - (heard_ms > channel->owed_ms ? heard_ms : channel->owed_ms);
}

/* Is it time to ask? Of pushes that are answered and kept, since no reply may tell of them otherwise. */
static bool wants_ping(const struct dgi_channel *channel)
{
	if (!channel->link.is_open || channel->is_pinged)
		return false;
	if (channel->sent)
		return quiet_ms(channel) > QUIET_MS;
	return channel->session.n_kept && !channel->session.open &&
	       dgi_now_ms() - channel->pinged_ms > KEPT_PING_MS;
}

/* Whatever the credits: the server's silence is to be told from its death. */
static dg_status ping(struct dgi_channel *channel, dg_error *err)
{
	struct dgi_piece *piece = calloc(1, sizeof *piece);

	if (!piece)
		return dgi_fail_memory(err, "request");
	piece->kind = DGI_PIECE_CALL;
	piece->type = DGI_PING;
	piece->cost = DGI_REQUEST_OVERHEAD_BYTES;
	channel->is_pinged = true;
	channel->pinged_ms = dgi_now_ms();
	return send_piece(channel, piece, 0, err);
}

static dg_status check_alive(const struct dgi_channel *channel, dg_error *err)
{
	if (channel->sent && quiet_ms(channel) > DEAD_MS)
		return dgi_fail(err, DG_TIMEOUT, "the server has said nothing for %d ms", DEAD_MS);
	return DG_OK;
}

void dgi_channel_send(struct dgi_channel *channel, struct dgi_deadline deadline)
{
	dg_error error = { 0 };
	dg_status st = DG_OK;
	struct dgi_piece *piece;
	uint64_t after;

	if (!dgi_channel_is_busy(channel) && !wants_ping(channel))
		return;
	if (!connect_channel(channel, deadline))
		return;
	if (wants_ping(channel))
		st = ping(channel, &error);
	while (!st && (piece = next_piece(channel, &after)))
		st = send_piece(channel, piece, after, &error);
	if (!st)
		st = dgi_conn_flush(&channel->link.conn, &error);
	/* A server that refuses us says why before it closes: dgi_channel_take() reads that. */
	if (st == DG_NOMEM)
		lose(channel, st, &error);
}

/* --- Answers --- */

static enum dgi_message_type type_of(const struct dgi_piece *piece)
{
	switch (piece->kind) {
	case DGI_PIECE_PULL:
		return DGI_PULL;
	case DGI_PIECE_PUSH:
		return DGI_PUSH;
	case DGI_PIECE_CALL:
		break;
	}
	return piece->type;
}

/* A push is answered with @st. Fails with PROTO. */
static dg_status take_pushed(struct dgi_channel *channel, struct dgi_piece *piece,
			     const struct dgi_message *reply, dg_status st, dg_error *err)
{
	struct dgi_pushed pushed = { 0 };
	struct dgi_kept_push *kept;

	if (!st && (st = dgi_pushed_decode(reply->body, reply->head_bytes, &pushed, err)))
		return st;
	kept = dgi_client_session_answered(&channel->session, piece->kept.number, st,
					   pushed.log_number);
	if (!kept)
		return dgi_fail(err, DG_PROTO, "push %" PRIu64 " was answered twice",
				piece->kept.number);
	if (kept->state == DGI_PUSH_SENT) /* by a server that ends, see client_session.h */
		return st;
	remove_sent(channel, piece);
	if (kept->state == DGI_PUSH_WAITING)
		channel->push_at_ms = dgi_now_ms() + FULL_PAUSE_MS;
	else
		settle(channel, piece, st, err);
	return DG_OK;
}

/* A pull or a call is answered with @st. Takes the reply's body where it is wanted. */
static void take_other(struct dgi_channel *channel, struct dgi_piece *piece,
		       struct dgi_message *reply, dg_status st, dg_error *err)
{
	dgi_client_session_ended(&channel->session, piece->cost);
	remove_sent(channel, piece);
	if (!piece->request && type_of(piece) == DGI_PING)
		channel->is_pinged = false;
	if (!st && piece->request && piece->kind == DGI_PIECE_PULL) {
		st = dgi_piece_take_rows(piece, reply, err);
		if (st)
			(void)dgi_context(err, st, "tensor '%s'", piece->request->tensor.name);
	}
	if (!st && piece->request && piece->kind == DGI_PIECE_CALL) {
		*piece->reply = *reply;
		reply->body = NULL;
	}
	settle(channel, piece, st, err);
	dgi_piece_free(piece, pool_of(channel));
}

/* Fails where the connection is of no further use. */
static dg_status take_answer(struct dgi_channel *channel, struct dgi_message *reply, dg_error *err)
{
	const struct dgi_frame *frame = &reply->frame;
	struct dgi_piece *piece = find_sent(channel, frame->request_id);
	dg_status st = dgi_reply_check(reply, err);

	if (st &&
	    (frame->request_id == 0 || frame->status == DG_OK || !(frame->flags & DGI_FRAME_REPLY)))
		return st; /* about the whole connection; or nonsense */
	if (!piece || frame->type != type_of(piece))
		return dgi_fail(err, DG_PROTO, "an answer (%s) to nothing asked",
				dgi_message_name(frame->type));
	dgi_client_session_heard(&channel->session, frame);
	if (piece->kind == DGI_PIECE_PUSH) {
		st = take_pushed(channel, piece, reply, st, err);
	} else if (st == DG_CLOSED) {
		return st; /* the server ends: asked again of the next */
	} else {
		take_other(channel, piece, reply, st, err);
		st = DG_OK;
	}
	if (st)
		return st;
	channel->n_broken = 0;
	channel->retry_ms = RETRY_MS_LEAST;
	free_done(channel);
	return DG_OK;
}

/* Takes the answers that are there. */
static dg_status take_all(struct dgi_channel *channel, dg_error *err)
{
	for (;;) {
		enum dgi_inbox_answer answer;
		struct dgi_message reply;
		dg_status st = dgi_conn_next(&channel->link.conn, &answer, &reply, err);

		if (st || answer != DGI_INBOX_MESSAGE)
			return st;
		st = take_answer(channel, &reply, err);
		dgi_message_clear(pool_of(channel), &reply);
		if (st)
			return st;
	}
}

void dgi_channel_take(struct dgi_channel *channel, dg_status moved, const dg_error *error)
{
	dg_error err = { 0 };
	dg_status st = DG_OK;

	if (!channel->link.is_open)
		return;
	if (moved)
		err = *error;
	else
		st = take_all(channel, &err);
	if (!moved && !st)
		st = check_alive(channel, &err);
	if (moved || st)
		lose(channel, moved ? moved : st, &err);
}

int64_t dgi_channel_wakes_ms(const struct dgi_channel *channel)
{
	if (!dgi_channel_is_busy(channel))
		return INT64_MAX;
	if (!channel->link.is_open)
		return channel->retry_at_ms;
	return channel->session.waiting && channel->push_at_ms > dgi_now_ms() ? channel->push_at_ms
									      : INT64_MAX;
}

/* --- Ending --- */

bool dgi_channel_has(const struct dgi_channel *channel, const struct dg_request *request)
{
	for (const struct dgi_piece *p = channel->waiting; p; p = p->next)
		if (p->request == request)
			return true;
	for (const struct dgi_piece *p = channel->sent; p; p = p->next)
		if (p->request == request)
			return true;
	for (struct dgi_kept_push *k = channel->session.first; k; k = k->next)
		if (dgi_piece_of(k)->request == request)
			return true;
	return false;
}

static void abandon_waiting(struct dgi_channel *channel, const struct dg_request *request)
{
	struct dgi_piece *left = channel->waiting;

	channel->waiting = NULL;
	while (left) {
		struct dgi_piece *piece = left;

		left = piece->next;
		if (piece->request == request)
			dgi_piece_free(piece, pool_of(channel));
		else
			append_waiting(channel, piece);
	}
}

/* Does the connection still read from the memory of what is sent, or write to that of @piece? */
static bool uses_memory(const struct dgi_channel *channel, const struct dgi_piece *piece)
{
	const struct dgi_conn *conn = &channel->link.conn;

	return conn->out.first || (conn->in.in_body && conn->in.frame.request_id == piece->id);
}

void dgi_channel_abandon(struct dgi_channel *channel, const struct dg_request *request)
{
	bool close = false;

	abandon_waiting(channel, request);
	for (struct dgi_piece *p = channel->sent; p; p = p->next)
		if (p->request == request && p->kind != DGI_PIECE_PUSH) {
			close |= uses_memory(channel, p);
			p->request = NULL;
		}
	for (struct dgi_kept_push *k = channel->session.first; k; k = k->next)
		if (dgi_piece_of(k)->request == request) {
			dgi_piece_of(k)->request = NULL;
			channel->n_unsettled--;
		}
	if (close)
		drop_connection(channel);
}

/* So that the server need not remember the session: nobody will repeat anything. */
static void leave(struct dgi_channel *channel)
{
	const struct dgi_session_end end = { .operation = DGI_SESSION_CLOSE,
					     .session_uuid = channel->session.id };
	struct dgi_deadline deadline = dgi_deadline_in(LEAVE_MS);
	uint8_t encoded[DGI_SESSION_BYTES];
	const struct dgi_body body = { .copied = encoded, .copied_bytes = sizeof encoded };
	struct dgi_message reply;

	if (!channel->link.is_open || channel->session.last_number == 0 || channel->sent ||
	    channel->session.open)
		return;
	dgi_session_end_encode(&end, encoded);
	if (dgi_link_ask(&channel->link, DGI_SESSION, &body, deadline, &reply, NULL) == DG_OK)
		dgi_message_clear(pool_of(channel), &reply);
}

void dgi_channel_clear(struct dgi_channel *channel)
{
	dg_error closed = { 0 };

	if (!channel->link.pool)
		return;
	leave(channel);
	(void)dgi_fail(&closed, DG_CLOSED, "the client was closed");
	fail_all(channel, DG_CLOSED, &closed);
}
