/* courier.c -- a client of one server with a session of pushes. */
#include "courier.h"

#include "call.h"
#include "fail.h"
#include "uuid.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CONNECT_MS = 1000, SILENCE_MS = 3000, PAUSE_MS = 50, STEP_MS = 100 };

/* A push with its bytes. */
struct parcel {
	struct dgi_kept_push kept; /* first */
	uint64_t request_id;	   /* of the current connection; 0: not sent on it */
	bool is_told;		   /* to the history */
	size_t n;
	dg_id *rows;
	size_t bytes; /* behind the prefix: */
	uint8_t *body;
};

/* The pull under way, or the closing of the session. */
struct courier_pull {
	uint16_t type;
	const dg_id *rows;
	size_t n;
	float *out;
	uint64_t request_id; /* of the current connection; 0: not sent on it */
	uint64_t cost;
	bool is_done;
};

void courier_init(struct courier *c, const char *address, struct history *history, size_t client,
		  uint32_t tensor, uint64_t seed)
{
	dg_uuid id;
	dg_error err = { 0 };

	*c = (struct courier){ .address = address,
			       .history = history,
			       .client = client,
			       .tensor = tensor,
			       .rng = dgi_rng_of(seed, client) };
	c->pool = dgi_pool_of(1U << 20);
	c->conn.fd = -1;
	if (dgi_uuid_new(&id, &err) != DG_OK)
		abort();
	dgi_client_session_init(&c->session, &id);
}

static void free_parcel(struct parcel *parcel)
{
	free(parcel->rows);
	free(parcel->body);
	free(parcel);
}

void courier_clear(struct courier *c)
{
	struct dgi_kept_push *next;

	dgi_conn_clear(&c->conn);
	for (struct dgi_kept_push *p = c->session.first; p; p = next) {
		next = p->next;
		free_parcel((struct parcel *)p);
	}
	dgi_pool_clear(&c->pool);
}

size_t courier_kept(const struct courier *c)
{
	return c->session.n_kept;
}

/* --- Sending --- */

static struct dgi_push push_of(const struct courier *c, const struct parcel *parcel)
{
	return (struct dgi_push){
		.tensor = c->tensor,
		.operation = DG_OP_ADD,
		.row_bytes = (uint32_t)(c->history->n_clients * sizeof(float)),
		.n = parcel->n,
	};
}

void courier_push(struct courier *c, const dg_id *rows, size_t n)
{
	struct parcel *parcel = calloc(1, sizeof *parcel);
	size_t width = c->history->n_clients, data_at = dgi_push_data_at(n, 0) - DGI_PREFIX_BYTES;
	const float one = 1;
	struct dgi_push push;

	if (!parcel)
		abort();
	parcel->n = n;
	push = push_of(c, parcel);
	parcel->bytes = (size_t)dgi_push_bytes(&push) - DGI_PREFIX_BYTES;
	parcel->rows = malloc(n * sizeof *rows);
	parcel->body = calloc(1, parcel->bytes);
	if (!parcel->rows || !parcel->body)
		abort();
	memcpy(parcel->rows, rows, n * sizeof *rows);
	memcpy(parcel->body, rows, n * sizeof *rows);
	for (size_t i = 0; i < n; i++)
		memcpy(parcel->body + data_at + (i * width + c->client) * sizeof one, &one,
		       sizeof one);
	history_send(c->history, c->client, rows, n);
	dgi_client_session_add(&c->session, &parcel->kept,
			       DGI_PREFIX_BYTES + parcel->bytes + DGI_REQUEST_OVERHEAD_BYTES);
}

static dg_status send_push(struct courier *c, struct parcel *parcel, dg_error *err)
{
	struct dgi_push push = push_of(c, parcel);
	uint8_t prefix[DGI_PREFIX_BYTES];
	uint8_t *block = dgi_pool_get(&c->pool, parcel->bytes);
	struct dgi_body body = { .copied = prefix,
				 .copied_bytes = sizeof prefix,
				 .block = block,
				 .block_bytes = parcel->bytes };

	if (!block)
		abort();
	memcpy(block, parcel->body, parcel->bytes);
	dgi_client_session_numbers(&c->session, &parcel->kept, &push);
	dgi_push_encode(&push, prefix);
	parcel->request_id = ++c->last_id;
	dgi_client_session_sent(&c->session, &parcel->kept);
	return dgi_conn_send(&c->conn,
			     (struct dgi_frame){ .version = DGI_PROTOCOL_VERSION,
						 .type = DGI_PUSH,
						 .request_id = parcel->request_id },
			     &body, err);
}

static dg_status send_pull(struct courier *c, struct courier_pull *pull, dg_error *err)
{
	uint8_t prefix[DGI_PREFIX_BYTES] = { 0 };
	size_t ids_bytes = pull->n * sizeof *pull->rows;
	struct dgi_body body = { .copied = prefix, .copied_bytes = sizeof prefix };
	uint64_t after = 0;

	pull->cost = DGI_PREFIX_BYTES + ids_bytes + DGI_REQUEST_OVERHEAD_BYTES;
	if (!dgi_client_session_pull(&c->session, &after) ||
	    !dgi_client_session_may_begin(&c->session, pull->cost))
		return DG_OK; /* not yet */
	if (pull->type == DGI_PULL) {
		dgi_pull_encode(
			&(struct dgi_pull){ .tensor = c->tensor, .n = pull->n, .after = after },
			prefix);
		body.block = dgi_pool_get(&c->pool, ids_bytes);
		body.block_bytes = ids_bytes;
		if (!body.block)
			abort();
		memcpy(body.block, pull->rows, ids_bytes);
	} else {
		dgi_session_end_encode(&(struct dgi_session_end){ .operation = DGI_SESSION_CLOSE,
								  .session_uuid = c->session.id },
				       prefix);
		body.copied_bytes = DGI_SESSION_BYTES;
	}
	pull->request_id = ++c->last_id;
	dgi_client_session_began(&c->session, pull->cost);
	return dgi_conn_send(&c->conn,
			     (struct dgi_frame){ .version = DGI_PROTOCOL_VERSION,
						 .type = pull->type,
						 .request_id = pull->request_id },
			     &body, err);
}

static dg_status send_all(struct courier *c, dg_error *err)
{
	struct dgi_kept_push *next;
	dg_status st = DG_OK;

	while (!st && (next = dgi_client_session_next(&c->session)))
		st = send_push(c, (struct parcel *)next, err);
	if (!st && c->pull && !c->pull->request_id)
		st = send_pull(c, c->pull, err);
	return st ? st : dgi_conn_flush(&c->conn, err);
}

/* --- Answers --- */

static void fail(struct courier *c, dg_status st, const char *what)
{
	if (!c->failure.status)
		(void)dgi_fail(&c->failure, st, "%s: %s", what, dg_status_text(st));
}

static struct parcel *find_parcel(const struct courier *c, uint64_t request_id)
{
	for (struct dgi_kept_push *p = c->session.first; p; p = p->next)
		if (((struct parcel *)p)->request_id == request_id)
			return (struct parcel *)p;
	return NULL;
}

static void take_pushed(struct courier *c, struct parcel *parcel, const struct dgi_message *m)
{
	struct dgi_pushed pushed = { 0 };
	dg_status st = (dg_status)m->frame.status;
	dg_error err = { 0 };

	if (!st && dgi_pushed_decode(m->body, m->head_bytes, &pushed, &err))
		fail(c, DG_PROTO, "the answer to a push");
	c->n_repeats += pushed.repeat;
	if (parcel->kept.state == DGI_PUSH_SENT)
		(void)dgi_client_session_answered(&c->session, parcel->kept.number, st,
						  pushed.log_number);
	if (!st && !parcel->is_told) {
		parcel->is_told = true;
		history_acknowledge(c->history, c->client, parcel->rows, parcel->n);
	}
}

static void take_pulled(struct courier *c, struct courier_pull *pull, const struct dgi_message *m)
{
	size_t row_bytes = c->history->n_clients * sizeof(float);

	dgi_client_session_ended(&c->session, pull->cost);
	pull->is_done = true;
	if (m->frame.status) {
		(void)dgi_error_decode(&m->frame, m->body, m->head_bytes, &c->failure);
		return;
	}
	if (pull->type != DGI_PULL)
		return;
	if (m->frame.body_bytes != DGI_PREFIX_BYTES + pull->n * row_bytes)
		fail(c, DG_PROTO, "the answer to a pull");
	else
		memcpy(pull->out, m->body + DGI_PREFIX_BYTES, pull->n * row_bytes);
}

/* An answer to something given up, or the second to one request, is nobody's. */
static dg_status take(struct courier *c, const struct dgi_message *m, dg_error *err)
{
	struct parcel *parcel;

	if (m->frame.request_id == 0)
		return dgi_error_decode(&m->frame, m->body, m->head_bytes, err);
	c->heard_ms = dgi_now_ms();
	dgi_client_session_heard(&c->session, &m->frame);
	parcel = find_parcel(c, m->frame.request_id);
	if (parcel)
		take_pushed(c, parcel, m);
	else if (c->pull && !c->pull->is_done && c->pull->request_id == m->frame.request_id)
		take_pulled(c, c->pull, m);
	return DG_OK;
}

/* What is done with; a push that was refused must not be. */
static void bury_done(struct courier *c)
{
	struct dgi_kept_push *done;

	while ((done = dgi_client_session_take_done(&c->session))) {
		if (done->status)
			fail(c, done->status, "a push was refused");
		free_parcel((struct parcel *)done);
	}
}

static dg_status take_all(struct courier *c, dg_error *err)
{
	for (;;) {
		enum dgi_inbox_answer answer;
		struct dgi_message m;
		dg_status st = dgi_conn_next(&c->conn, &answer, &m, err);

		if (st || answer != DGI_INBOX_MESSAGE)
			return st;
		st = take(c, &m, err);
		dgi_message_clear(&c->pool, &m);
		bury_done(c);
		if (st)
			return st;
	}
}

/* --- Connections --- */

static void lose(struct courier *c)
{
	if (c->is_connected)
		dgi_conn_clear(&c->conn);
	c->is_connected = false;
	dgi_client_session_lost(&c->session);
	for (struct dgi_kept_push *p = c->session.first; p; p = p->next)
		((struct parcel *)p)->request_id = 0;
	if (c->pull)
		c->pull->request_id = 0;
}

static bool is_passing(dg_status st)
{
	return st == DG_CLOSED || st == DG_TIMEOUT || st == DG_BUSY || st == DG_NOTFOUND ||
	       st == DG_IO || st == DG_PROTO || st == DG_VERSION;
}

static void connect_once(struct courier *c)
{
	struct dgi_hello hello = { .version_min = DGI_PROTOCOL_VERSION,
				   .version_max = DGI_PROTOCOL_VERSION,
				   .part = -1 };
	struct dgi_welcome welcome;
	struct dgi_address address;
	dg_error err = { 0 };
	dg_status st = dgi_address_parse(c->address, 0, &address, &err);

	dgi_client_session_hello(&c->session, &hello);
	if (!st)
		st = dgi_dial(&address, &hello, &c->pool, dgi_deadline_in(CONNECT_MS), &c->conn,
			      &welcome, &err);
	if (st) {
		if (!is_passing(st))
			c->failure = err;
		dgi_sleep_ms((int64_t)dgi_rng_below(&c->rng, PAUSE_MS));
		return;
	}
	c->is_connected = true;
	c->heard_ms = dgi_now_ms();
	c->n_connections++;
	if (dgi_client_session_welcome(&c->session, &welcome, &c->failure))
		lose(c);
	bury_done(c);
}

static dg_status step_connected(struct courier *c, dg_error *err)
{
	struct dgi_conn *conns[] = { &c->conn };
	dg_status moved = DG_OK, st = send_all(c, err);

	if (!st)
		st = dgi_conns_move(conns, 1, dgi_deadline_in(STEP_MS), &moved, err, err);
	if (st == DG_TIMEOUT) /* a frame was lost, perhaps: a ping would tell */
		st = dgi_now_ms() - c->heard_ms > SILENCE_MS ? DG_TIMEOUT : DG_OK;
	if (!st)
		st = moved;
	return st ? st : take_all(c, err);
}

/* Waits a moment for something to happen, and does it. False: a failure. */
static bool step(struct courier *c)
{
	dg_error err = { 0 };

	if (!c->is_connected)
		connect_once(c);
	else if (step_connected(c, &err) != DG_OK)
		lose(c);
	return c->failure.status == DG_OK;
}

static bool late(struct courier *c, const char *what)
{
	char state[200];

	(void)snprintf(state, sizeof state, "%s: %" PRIu64 " pushes kept, %sconnected", what,
		       c->session.n_kept, c->is_connected ? "" : "not ");
	(void)dgi_fail(&c->failure, DG_TIMEOUT, "%s", state);
	return false;
}

bool courier_settle(struct courier *c, size_t n, struct dgi_deadline deadline)
{
	while (courier_kept(c) > n) {
		if (!step(c))
			return false;
		if (dgi_deadline_passed(deadline))
			return late(c, "settling");
	}
	return true;
}

static bool carry(struct courier *c, struct courier_pull *pull, struct dgi_deadline deadline)
{
	c->pull = pull;
	c->heard_ms = dgi_now_ms();
	while (!pull->is_done && !c->failure.status) {
		if (step(c) && dgi_deadline_passed(deadline) && !pull->is_done)
			(void)late(c, "a pull");
	}
	c->pull = NULL;
	return c->failure.status == DG_OK;
}

bool courier_pull(struct courier *c, const dg_id *rows, size_t n, float *out,
		  struct dgi_deadline deadline)
{
	struct courier_pull pull = { .type = DGI_PULL, .rows = rows, .n = n, .out = out };

	return carry(c, &pull, deadline);
}

bool courier_close_session(struct courier *c, struct dgi_deadline deadline)
{
	struct courier_pull closing = { .type = DGI_SESSION };

	return courier_settle(c, 0, deadline) && carry(c, &closing, deadline);
}
