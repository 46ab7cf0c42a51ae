/* transfer.c -- one pull or push of a client: requests to all partitions concerned. */
#include "transfer.h"

#include "fail.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define PUSH_ALIGNMENT 64 /* zeros in front of the rows are less than this */

/* One request under way. */
struct request {
	uint64_t id;  /* 0: none is */
	size_t first; /* its rows are [first, first + n) of the split */
	size_t n;
	struct iovec lent[3];
};

/* A partition's share of a transfer. */
struct lane {
	struct dgi_link *link;
	const struct job *job;
	size_t at, end; /* rows of the split that are still to be asked for */
	size_t n_under_way;
	bool was_lost;	  /* the connection, once already */
	bool was_refused; /* by an answer: the connection is sound */
	struct request requests[DGI_REQUESTS_IN_FLIGHT];
};

/* A transfer while it runs. The arrays have one entry a lane. */
struct job {
	const struct dgi_transfer *transfer;
	size_t rows_max; /* of a request */
	struct lane *lanes;
	struct dgi_conn **conns; /* NULL once a lane is done */
	dg_status *status;
	dg_error *errs;
	size_t n_lanes;
};

static bool lane_is_done(const struct lane *lane)
{
	return lane->at == lane->end && lane->n_under_way == 0;
}

static struct request *find_request(struct lane *lane, uint64_t id)
{
	for (size_t i = 0; id != 0 && i < DGI_REQUESTS_IN_FLIGHT; i++)
		if (lane->requests[i].id == id)
			return &lane->requests[i];
	return NULL;
}

static char *out_at(const struct dgi_transfer *t, size_t row)
{
	return (char *)t->out + row * t->tensor->row_bytes;
}

/* --- Asking --- */

/* Where rows lie as they go out the network reads them there. */
static dg_status send_pull(struct lane *lane, struct request *r, dg_error *err)
{
	const struct dgi_transfer *t = lane->job->transfer;
	uint8_t prefix[DGI_PREFIX_BYTES];
	struct dgi_body body = {
		.copied = prefix, .copied_bytes = sizeof prefix, .lent = r->lent, .n_lent = 1
	};

	dgi_pull_encode(&(struct dgi_pull){ .tensor = t->tensor->id, .n = r->n }, prefix);
	r->lent[0].iov_base = (void *)(uintptr_t)(t->split->rows + r->first);
	r->lent[0].iov_len = r->n * sizeof(dg_id);
	return dgi_conn_send(&lane->link->conn, dgi_request(DGI_PULL, r->id, t->deadline), &body,
			     err);
}

/* The rows of a push that lie apart, behind their numbers, as one block of the body. */
static void *collect_push(const struct dgi_transfer *t, struct dgi_pool *pool,
			  const struct request *r, size_t block_bytes)
{
	size_t ids_bytes = r->n * sizeof(dg_id);
	size_t data_at = dgi_push_data_at(r->n, 0) - DGI_PREFIX_BYTES;
	char *block = dgi_pool_get(pool, block_bytes);

	if (!block)
		return NULL;
	memcpy(block, t->split->rows + r->first, ids_bytes);
	memset(block + ids_bytes, 0, data_at - ids_bytes);
	dgi_rows_collect(block + data_at, t->data, t->split->places + r->first, r->n,
			 t->tensor->row_bytes);
	return block;
}

static dg_status send_push(struct lane *lane, struct request *r, dg_error *err)
{
	static const uint8_t zeros[PUSH_ALIGNMENT];
	const struct dgi_transfer *t = lane->job->transfer;
	const struct dgi_push push = { .tensor = t->tensor->id,
				       .operation = DG_OP_ASSIGN,
				       .row_bytes = t->tensor->row_bytes,
				       .n = r->n };
	size_t row_bytes = t->tensor->row_bytes;
	size_t data_at = dgi_push_data_at(r->n, 0);
	size_t ids_end = DGI_PREFIX_BYTES + r->n * sizeof(dg_id);
	uint8_t prefix[DGI_PREFIX_BYTES];
	struct dgi_body body = { .copied = prefix, .copied_bytes = sizeof prefix };

	dgi_push_encode(&push, prefix);
	if (t->split->places) {
		body.block_bytes = data_at - DGI_PREFIX_BYTES + r->n * row_bytes;
		body.block = collect_push(t, lane->link->pool, r, body.block_bytes);
		if (!body.block)
			return dgi_fail_memory(err, "rows to push");
	} else {
		r->lent[0].iov_base = (void *)(uintptr_t)(t->split->rows + r->first);
		r->lent[0].iov_len = r->n * sizeof(dg_id);
		r->lent[1].iov_base = (void *)(uintptr_t)zeros;
		r->lent[1].iov_len = data_at - ids_end;
		r->lent[2].iov_base = (void *)((uintptr_t)t->data + r->first * row_bytes);
		r->lent[2].iov_len = r->n * row_bytes;
		body.lent = r->lent;
		body.n_lent = 3;
	}
	return dgi_conn_send(&lane->link->conn, dgi_request(DGI_PUSH, r->id, t->deadline), &body,
			     err);
}

static dg_status send_request(struct lane *lane, struct request *r, dg_error *err)
{
	r->id = ++lane->link->last_id;
	return lane->job->transfer->data ? send_push(lane, r, err) : send_pull(lane, r, err);
}

/* Rows of the next request, by what the server takes. */
static size_t rows_of_next(const struct lane *lane)
{
	const struct dgi_welcome *server = &lane->link->welcome;
	size_t bytes = sizeof(dg_id) + lane->job->transfer->tensor->row_bytes;
	uint64_t body_rows = server->body_bytes_max / bytes;
	size_t n = lane->end - lane->at;

	if (n > lane->job->rows_max)
		n = lane->job->rows_max;
	if (n > server->rows_max)
		n = server->rows_max;
	if (n >= body_rows) /* a row less, for what stands in front of them */
		n = body_rows > 1 ? body_rows - 1 : 1;
	return n;
}

/* Asks for as much as may be under way. */
static dg_status fill(struct lane *lane, dg_error *err)
{
	for (size_t i = 0; i < DGI_REQUESTS_IN_FLIGHT && lane->at < lane->end; i++) {
		struct request *r = &lane->requests[i];
		dg_status st;

		if (r->id != 0)
			continue;
		r->first = lane->at;
		r->n = rows_of_next(lane);
		st = send_request(lane, r, err);
		lane->n_under_way++;
		lane->at += r->n;
		if (st)
			return st;
	}
	return dgi_conn_flush(&lane->link->conn, err);
}

/* --- Answers --- */

/* Rows that the caller has side by side go straight into their place. */
static bool place_answer(void *context, const struct dgi_frame *frame, struct dgi_place *out)
{
	struct lane *lane = context;
	const struct dgi_transfer *t = lane->job->transfer;
	const struct request *r = find_request(lane, frame->request_id);

	if (r && !t->data && !t->split->places && frame->type == DGI_PULL &&
	    frame->status == DG_OK && (frame->flags & DGI_FRAME_REPLY) &&
	    frame->body_bytes == dgi_pulled_bytes(r->n, t->tensor->row_bytes)) {
		out->head_bytes = DGI_PREFIX_BYTES;
		out->tail = out_at(t, r->first);
	}
	return true;
}

static dg_status take_pulled(struct lane *lane, const struct request *r,
			     const struct dgi_message *reply, dg_error *err)
{
	const struct dgi_transfer *t = lane->job->transfer;
	struct dgi_pulled pulled;
	const uint8_t *rows;
	dg_status st = dgi_pulled_decode(reply->body, reply->frame.body_bytes, &pulled, err);

	if (st)
		return st;
	if (pulled.n != r->n || pulled.row_bytes != t->tensor->row_bytes)
		return dgi_fail(
			err, DG_MISMATCH,
			"tensor '%s': asked for %zu rows of %" PRIu32 " bytes, got %zu of %" PRIu32,
			t->tensor->name, r->n, t->tensor->row_bytes, pulled.n, pulled.row_bytes);
	if (reply->head_bytes != reply->frame.body_bytes)
		return DG_OK; /* they lie where they belong */
	rows = reply->body + DGI_PREFIX_BYTES;
	if (t->split->places)
		dgi_rows_scatter(t->out, t->split->places + r->first, rows, r->n, pulled.row_bytes);
	else
		memcpy(out_at(t, r->first), rows, r->n * pulled.row_bytes);
	return DG_OK;
}

static dg_status take_answer(struct lane *lane, const struct dgi_message *reply, dg_error *err)
{
	bool push = lane->job->transfer->data != NULL;
	struct request *r = find_request(lane, reply->frame.request_id);
	dg_status st = dgi_reply_check(reply, err);
	struct dgi_pushed pushed;

	if (r) {
		r->id = 0;
		lane->n_under_way--;
		lane->was_refused = st && reply->frame.status != DG_OK;
	}
	if (st)
		return st;
	if (!r || reply->frame.type != (push ? DGI_PUSH : DGI_PULL))
		return dgi_fail(err, DG_PROTO, "an answer (%s) to nothing asked",
				dgi_message_name(reply->frame.type));
	if (push)
		return dgi_pushed_decode(reply->body, reply->head_bytes, &pushed, err);
	return take_pulled(lane, r, reply, err);
}

/* Takes the answers that have arrived and asks for more. */
static dg_status advance(struct lane *lane, dg_error *err)
{
	struct dgi_conn *conn = &lane->link->conn;

	while (!lane_is_done(lane)) {
		enum dgi_inbox_answer answer;
		struct dgi_message reply;
		dg_status st = dgi_conn_next(conn, &answer, &reply, err);

		if (st)
			return st;
		if (answer != DGI_INBOX_MESSAGE)
			return fill(lane, err);
		st = take_answer(lane, &reply, err);
		dgi_message_clear(conn->in.pool, &reply);
		if (st)
			return st;
	}
	return DG_OK;
}

/* --- Connections --- */

static dg_status connect_lane(struct lane *lane, dg_error *err)
{
	dg_status st = dgi_link_open(lane->link, lane->job->transfer->deadline, err);

	if (!st) {
		lane->link->conn.in.place = place_answer;
		lane->link->conn.in.place_context = lane;
	}
	return st;
}

/* Connects again and asks again for what was under way. */
static dg_status recover(struct lane *lane, dg_error *err)
{
	dg_status st;

	lane->was_lost = true;
	dgi_link_close(lane->link);
	st = connect_lane(lane, err);
	if (st)
		return st;
	for (size_t i = 0; !st && i < DGI_REQUESTS_IN_FLIGHT; i++)
		if (lane->requests[i].id != 0)
			st = send_request(lane, &lane->requests[i], err);
	if (!st)
		st = fill(lane, err);
	return st ? dgi_link_context(lane->link, st, err) : DG_OK;
}

/*
 * A push that was sent and has no answer may have been applied; so may one that was answered CLOSED,
 * by a server that stopped before it knew.
 */
static void tell_unknown(const struct dgi_transfer *t, dg_status st, dg_error *err)
{
	if (t->data)
		(void)dgi_context(err, st, "rows may or may not be set");
}

/* A lane has failed: goes on by a new connection where that is possible, once. */
static dg_status survive(struct lane *lane, dg_status st, dg_error *err)
{
	const struct dgi_transfer *t = lane->job->transfer;

	if (st == DG_CLOSED && !t->data && !lane->was_lost)
		return recover(lane, err);
	if (!lane->was_refused)
		dgi_link_close(lane->link);
	if (!lane->was_refused || st == DG_CLOSED)
		tell_unknown(t, st, err);
	return dgi_link_context(lane->link, st, err);
}

/* --- The whole --- */

static dg_status fail_late(const struct job *job, dg_error *err)
{
	const struct lane *late = NULL;
	size_t n_late = 0;

	for (size_t i = 0; i < job->n_lanes; i++)
		if (!lane_is_done(&job->lanes[i])) {
			late = late ? late : &job->lanes[i];
			n_late++;
		}
	(void)dgi_fail(err, DG_TIMEOUT, "no answer within %" PRIu32 " ms%s",
		       job->transfer->timeout_ms, n_late > 1 ? ", nor from others" : "");
	tell_unknown(job->transfer, DG_TIMEOUT, err);
	return late ? dgi_link_context(late->link, DG_TIMEOUT, err) : DG_TIMEOUT;
}

/* One round: waits, then lets each lane go on. */
static dg_status turn(struct job *job, bool *done, dg_error *err)
{
	dg_status st;

	*done = true;
	for (size_t i = 0; i < job->n_lanes; i++) {
		bool lane_done = lane_is_done(&job->lanes[i]);

		job->conns[i] = lane_done ? NULL : &job->lanes[i].link->conn;
		job->status[i] = DG_OK;
		*done &= lane_done;
	}
	if (*done)
		return DG_OK;
	if (dgi_deadline_passed(job->transfer->deadline))
		return fail_late(job, err);
	st = dgi_conns_move(job->conns, job->n_lanes, job->transfer->deadline, job->status,
			    job->errs, err);
	if (st == DG_TIMEOUT)
		return fail_late(job, err);
	for (size_t i = 0; !st && i < job->n_lanes; i++) {
		struct lane *lane = &job->lanes[i];
		dg_status lost = job->status[i];

		if (lost && err)
			*err = job->errs[i];
		if (!lost)
			lost = advance(lane, err);
		if (lost)
			st = survive(lane, lost, err);
	}
	return st;
}

static dg_status run(struct job *job, dg_error *err)
{
	dg_status st = DG_OK;
	bool done = false;

	for (size_t i = 0; !st && i < job->n_lanes; i++) {
		struct lane *lane = &job->lanes[i];

		st = connect_lane(lane, err);
		if (!st) {
			st = fill(lane, err);
			st = st ? survive(lane, st, err) : DG_OK;
		}
	}
	while (!st && !done)
		st = turn(job, &done, err);
	return st;
}

/* What is under way refers to the caller's memory: after a failure it goes with its connection. */
static void finish(struct job *job)
{
	for (size_t i = 0; i < job->n_lanes; i++) {
		struct lane *lane = &job->lanes[i];

		if (lane->n_under_way > 0)
			dgi_link_close(lane->link);
		lane->link->conn.in.place = NULL;
	}
}

static void add_lanes(struct job *job)
{
	const struct dgi_transfer *t = job->transfer;

	for (uint32_t p = 0; p < t->n_parts; p++) {
		struct lane *lane = &job->lanes[job->n_lanes];

		if (t->split->begins[p] == t->split->begins[p + 1])
			continue;
		lane->link = &t->links[p];
		lane->job = job;
		lane->at = t->split->begins[p];
		lane->end = t->split->begins[p + 1];
		job->n_lanes++;
	}
}

dg_status dgi_transfer(const struct dgi_transfer *transfer, dg_error *err)
{
	size_t bytes = transfer->tensor->row_bytes;
	struct job job = {
		.transfer = transfer,
		.rows_max = DGI_REQUEST_BYTES / (bytes < sizeof(dg_id) ? sizeof(dg_id) : bytes),
		.lanes = calloc(transfer->n_parts, sizeof *job.lanes),
		.conns = calloc(transfer->n_parts, sizeof(struct dgi_conn *)),
		.status = calloc(transfer->n_parts, sizeof *job.status),
		.errs = calloc(transfer->n_parts, sizeof *job.errs),
	};
	dg_status st;

	if (job.lanes && job.conns && job.status && job.errs) {
		add_lanes(&job);
		st = run(&job, err);
		finish(&job);
	} else {
		st = dgi_fail_memory(err, "requests");
	}
	free(job.lanes);
	free(job.conns);
	free(job.status);
	free(job.errs);
	return st;
}
