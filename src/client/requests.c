/* requests.c -- pulls, pushes and calls of a client: begun, moved on together, waited for. */
#include "client_state.h"

#include "fail.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REQUEST_BYTES \
	(UINT64_C(8) << 20) /* rows of one piece; numbers count where rows are small */
#define KEPT_BYTES_MAX \
	(UINT64_C(256) << 20) /* of pushes to one server, until it has them on disk */
#define TURN_MS 100	      /* one wait; then deadlines and interruption are looked at */

dg_status dgi_client_check(const dg_client *client, dg_error *err)
{
	if (getpid() == client->pid)
		return DG_OK;
	return dgi_fail(err, DG_DENIED,
			"the client was opened by process %ld: a forked process must open its own",
			(long)client->pid);
}

/* --- Requests --- */

void dgi_request_settle(struct dg_request *request, dg_status status, const dg_error *error)
{
	request->n_left--;
	if (status && !request->status) {
		request->status = status;
		request->error = *error;
	}
}

static dg_status request_new(dg_client *client, struct dgi_deadline deadline,
			     struct dg_request **out, dg_error *err)
{
	struct dg_request *request = client->spare;
	struct dgi_split split = { 0 };

	if (request)
		split = request->split;
	else
		request = malloc(sizeof *request);
	if (!request)
		return dgi_fail_memory(err, "request");
	client->spare = NULL;
	*request = (struct dg_request){
		.client = client, .next = client->requests, .deadline = deadline, .split = split
	};
	client->requests = request;
	*out = request;
	return DG_OK;
}

static void abandon(struct dg_request *request)
{
	dg_client *client = request->client;

	for (uint32_t p = 0; p < client->n_channels && request->n_left; p++)
		dgi_channel_abandon(&client->channels[p], request);
	request->n_left = 0;
}

/* Takes the request from the client's, and gives its memory back. */
static void request_end(struct dg_request *request)
{
	dg_client *client = request->client;
	struct dg_request **at = &client->requests;

	abandon(request);
	while (*at != request)
		at = &(*at)->next;
	*at = request->next;
	if (!client->spare) {
		client->spare = request;
		return;
	}
	dgi_split_clear(&request->split);
	free(request);
}

void dgi_client_end_requests(dg_client *client)
{
	while (client->requests)
		request_end(client->requests);
	if (client->spare) {
		dgi_split_clear(&client->spare->split);
		free(client->spare);
	}
	client->spare = NULL;
}

/* --- Moving on --- */

static void fail_late(struct dg_request *request)
{
	dg_client *client = request->client;
	const struct dgi_channel *late = NULL;
	dg_error *error = &request->error;
	unsigned n_late = 0;

	for (uint32_t p = 0; p < client->n_channels; p++)
		if (dgi_channel_has(&client->channels[p], request)) {
			late = late ? late : &client->channels[p];
			n_late++;
		}
	request->status = dgi_fail(error, DG_TIMEOUT, "no answer within %" PRIu32 " ms%s%s%.200s",
				   client->timeout_ms, n_late > 1 ? ", nor from others" : "",
				   late && !late->link.is_open && late->lost_status ? "; " : "",
				   late && !late->link.is_open ? late->lost.text : "");
	if (request->is_push)
		(void)dgi_context(error, DG_TIMEOUT, "rows may or may not be set, or be set later");
	if (late)
		(void)dgi_link_context(&late->link, DG_TIMEOUT, error);
	abandon(request);
}

static void fail_all_late(dg_client *client)
{
	for (struct dg_request *r = client->requests; r; r = r->next)
		if (r->n_left && dgi_deadline_passed(r->deadline))
			fail_late(r);
}

static struct dgi_deadline earliest(const dg_client *client)
{
	struct dgi_deadline deadline = dgi_deadline_in(client->timeout_ms);

	for (const struct dg_request *r = client->requests; r; r = r->next)
		if (r->n_left && r->deadline.at_ms < deadline.at_ms)
			deadline = r->deadline;
	return deadline;
}

static void send_all(dg_client *client)
{
	struct dgi_deadline deadline = earliest(client);

	for (uint32_t p = 0; p < client->n_channels; p++)
		dgi_channel_send(&client->channels[p], deadline);
}

/* Until when to wait for news, @until at most. */
static struct dgi_deadline next_event(const dg_client *client, struct dgi_deadline until)
{
	struct dgi_deadline next = dgi_deadline_in(TURN_MS);
	struct dgi_deadline deadline = earliest(client);

	next.at_ms = until.at_ms < next.at_ms ? until.at_ms : next.at_ms;
	next.at_ms = deadline.at_ms < next.at_ms ? deadline.at_ms : next.at_ms;
	for (uint32_t p = 0; p < client->n_channels; p++) {
		int64_t wakes_ms = dgi_channel_wakes_ms(&client->channels[p]);

		next.at_ms = wakes_ms < next.at_ms ? wakes_ms : next.at_ms;
	}
	return next;
}

/* Waits for news, @until at most, and takes it. */
static dg_status take_all(dg_client *client, struct dgi_deadline until, dg_error *err)
{
	dg_status st;

	for (uint32_t p = 0; p < client->n_channels; p++) {
		struct dgi_channel *channel = &client->channels[p];

		client->moved[p] = DG_OK;
		client->conns[p] = channel->link.is_open && dgi_channel_is_busy(channel)
					   ? &channel->link.conn
					   : NULL;
	}
	st = dgi_conns_move(client->conns, client->n_channels, next_event(client, until),
			    client->moved, client->errors, err);
	if (st && st != DG_TIMEOUT)
		return st;
	for (uint32_t p = 0; p < client->n_channels; p++)
		if (client->conns[p])
			dgi_channel_take(&client->channels[p], client->moved[p],
					 &client->errors[p]);
	return DG_OK;
}

/* Lets everything go on until @request is settled, or for one wait. */
static dg_status turn(dg_client *client, const struct dg_request *request,
		      struct dgi_deadline until, dg_error *err)
{
	dg_status st = DG_OK;

	if (atomic_exchange(&client->interrupted, false))
		return dgi_fail(err, DG_CANCELLED, "interrupted");
	send_all(client);
	if (!request || request->n_left)
		st = take_all(client, until, err);
	fail_all_late(client);
	return st;
}

/* Waits until @request is settled. Fails with CANCELLED, NOMEM; not with what the request says. */
static dg_status settle_request(struct dg_request *request, dg_error *err)
{
	dg_status st = DG_OK;

	while (!st && request->n_left)
		st = turn(request->client, request, request->deadline, err);
	return st;
}

/* Waits, and ends the request whatever comes. */
static dg_status finish(struct dg_request *request, dg_error *err)
{
	dg_status st = settle_request(request, err);

	if (!st && request->status) {
		st = request->status;
		if (err)
			*err = request->error;
	}
	request_end(request);
	return st;
}

/* --- Pieces of a request --- */

static dg_status piece_new(struct dg_request *request, enum dgi_piece_kind kind,
			   struct dgi_piece **out, dg_error *err)
{
	*out = calloc(1, sizeof **out);
	if (!*out)
		return dgi_fail_memory(err, "request");
	(*out)->kind = kind;
	(*out)->request = request;
	return DG_OK;
}

static void piece_add(struct dg_request *request, uint32_t part, struct dgi_piece *piece,
		      uint64_t body_bytes)
{
	piece->cost = body_bytes + DGI_REQUEST_OVERHEAD_BYTES;
	request->n_left++;
	dgi_channel_add(&request->client->channels[part], piece);
}

static dg_status split_rows(struct dg_request *request, const dg_id *rows, size_t n, dg_error *err)
{
	const dg_book *book = request->client->book;
	const dg_tensor_info *tensor = &request->tensor;
	const int64_t *starts =
		dgi_book_starts(book, tensor->side, tensor->type, tensor->numbering);
	size_t bad = 0;
	uint32_t part;
	int64_t local;
	dg_status st;

	if (!starts || tensor->row_bytes == 0)
		return dgi_fail(err, DG_INVALID, "tensor '%s': no tensor of this graph",
				tensor->name);
	if (n > DG_REQUEST_ROWS_MAX)
		return dgi_fail(err, DG_INVALID, "tensor '%s': a request of %zu rows, at most %u",
				tensor->name, n, DG_REQUEST_ROWS_MAX);
	st = dgi_split_rows(&request->split, starts, dg_book_n_parts(book), rows, n, &bad);
	if (st == DG_RANGE) /* says it in words */
		return dg_book_locate(book, tensor, rows[bad], &part, &local, err);
	return st ? dgi_fail_memory(err, "row numbers") : DG_OK;
}

/* Rows of a piece for @part, by our measure and what its server takes. */
static size_t rows_max(const struct dg_request *request, uint32_t part)
{
	const struct dgi_link *link = &request->client->channels[part].link;
	const uint64_t row_bytes = request->tensor.row_bytes;
	uint64_t n = REQUEST_BYTES / (row_bytes < sizeof(dg_id) ? sizeof(dg_id) : row_bytes);

	if (link->was_open && n > link->welcome.rows_max)
		n = link->welcome.rows_max;
	if (link->was_open && n >= link->welcome.body_bytes_max / (sizeof(dg_id) + row_bytes))
		n = link->welcome.body_bytes_max / (sizeof(dg_id) + row_bytes) - 1;
	return n > 0 && n <= DG_REQUEST_ROWS_MAX ? (size_t)n : 1;
}

static dg_status add_pull(struct dg_request *request, uint32_t part, size_t first, size_t n,
			  char *out, dg_error *err)
{
	const struct dgi_split *split = &request->split;
	struct dgi_piece *piece;
	dg_status st = piece_new(request, DGI_PIECE_PULL, &piece, err);

	if (st)
		return st;
	piece->tensor = request->tensor.id;
	piece->row_bytes = request->tensor.row_bytes;
	piece->n = n;
	piece->rows = split->rows + first;
	piece->places = split->places ? split->places + first : NULL;
	piece->out = split->places ? out : out + first * piece->row_bytes;
	piece_add(request, part, piece, DGI_PREFIX_BYTES + n * sizeof(dg_id));
	return DG_OK;
}

static dg_status add_push(struct dg_request *request, uint32_t part, size_t first, size_t n,
			  dg_operation operation, const char *data, dg_error *err)
{
	const struct dgi_split *split = &request->split;
	const uint32_t row_bytes = request->tensor.row_bytes;
	struct dgi_pool *pool = &request->client->pool;
	struct dgi_piece *piece;
	dg_status st = piece_new(request, DGI_PIECE_PUSH, &piece, err);

	if (st)
		return st;
	piece->push = (struct dgi_push){ .tensor = request->tensor.id,
					 .operation = (uint16_t)operation,
					 .row_bytes = row_bytes,
					 .n = n };
	st = dgi_piece_fill(piece, pool, split->rows + first,
			    split->places ? split->places + first : NULL,
			    split->places ? data : data + first * row_bytes, err);
	if (st) {
		dgi_piece_free(piece, pool);
		return st;
	}
	piece_add(request, part, piece, DGI_PREFIX_BYTES + piece->block_bytes);
	return DG_OK;
}

/* A pull where @data is NULL. */
static dg_status add_pieces(struct dg_request *request, dg_operation operation, void *out,
			    const void *data, dg_error *err)
{
	dg_status st = DG_OK;

	for (uint32_t p = 0; p < request->client->n_channels; p++) {
		const size_t end = request->split.begins[p + 1];
		const size_t most = rows_max(request, p);

		for (size_t at = request->split.begins[p], n; !st && at < end; at += n) {
			n = end - at < most ? end - at : most;
			st = data ? add_push(request, p, at, n, operation, data, err)
				  : add_pull(request, p, at, n, out, err);
		}
	}
	return st;
}

/* A server's limits are known once it was met; it is met when first needed. */
static void meet_servers(struct dg_request *request)
{
	dg_client *client = request->client;

	for (uint32_t p = 0; p < client->n_channels; p++) {
		struct dgi_link *link = &client->channels[p].link;

		if (!link->was_open && request->split.begins[p] < request->split.begins[p + 1])
			(void)dgi_channel_meet(&client->channels[p], request->deadline);
	}
}

/* Pushes that are kept have their bound: more wait. */
static dg_status wait_for_room(dg_client *client, struct dgi_deadline deadline, dg_error *err)
{
	for (uint32_t p = 0; p < client->n_channels; p++)
		while (client->channels[p].kept_bytes > KEPT_BYTES_MAX) {
			dg_status st = turn(client, NULL, deadline, err);

			if (st)
				return st;
			if (dgi_deadline_passed(deadline))
				return dgi_fail(err, DG_FULL,
						"%" PRIu64 " MiB of pushes to partition %" PRIu32
						" are not on its disk yet",
						client->channels[p].kept_bytes >> 20, p);
		}
	return DG_OK;
}

static dg_status begin_rows(dg_client *client, const dg_tensor_info *tensor, dg_operation operation,
			    const dg_id *rows, size_t n, void *out, const void *data,
			    struct dgi_deadline deadline, dg_request **result, dg_error *err)
{
	struct dg_request *request;
	dg_status st = request_new(client, deadline, &request, err);

	if (st)
		return st;
	request->tensor = *tensor;
	request->is_push = data != NULL;
	st = split_rows(request, rows, n, err);
	if (!st)
		meet_servers(request);
	if (!st)
		st = add_pieces(request, operation, out, data, err);
	if (st) {
		request_end(request);
		return st;
	}
	send_all(client);
	*result = request;
	return DG_OK;
}

/* --- Outside --- */

dg_status dg_client_begin_pull(dg_client *client, const dg_tensor_info *tensor, const dg_id *rows,
			       size_t n, void *out, dg_request **request, dg_error *err)
{
	dg_status st = dgi_client_check(client, err);

	if (st)
		return st;
	return begin_rows(client, tensor, DG_OP_ASSIGN, rows, n, out, NULL,
			  dgi_deadline_in(client->timeout_ms), request, err);
}

static dg_status check_push(const dg_client *client, const dg_tensor_info *tensor,
			    dg_operation operation, dg_error *err)
{
	dg_status st = dgi_client_check(client, err);

	if (st)
		return st;
	if (operation < DG_OP_ASSIGN || operation > DG_OP_MULTIPLY)
		return dgi_fail(err, DG_INVALID, "tensor '%s': unknown operation %d", tensor->name,
				(int)operation);
	if (tensor->flags & DG_TENSOR_SYSTEM)
		return dgi_fail(err, DG_INVALID, "tensor '%s': kept by the store itself",
				tensor->name);
	return DG_OK;
}

dg_status dg_client_begin_push(dg_client *client, const dg_tensor_info *tensor,
			       dg_operation operation, const dg_id *rows, size_t n,
			       const void *data, dg_request **request, dg_error *err)
{
	struct dgi_deadline deadline = dgi_deadline_in(client->timeout_ms);
	dg_status st = check_push(client, tensor, operation, err);

	if (!st)
		st = wait_for_room(client, deadline, err);
	if (st)
		return st;
	return begin_rows(client, tensor, operation, rows, n, NULL, n ? data : "", deadline,
			  request, err);
}

int dg_request_is_done(const dg_request *request)
{
	return request->n_left == 0;
}

dg_status dg_request_wait(dg_request *request, dg_error *err)
{
	dg_status st = dgi_client_check(request->client, err);

	if (!st)
		st = settle_request(request, err);
	return st ? st : finish(request, err);
}

void dg_request_abandon(dg_request *request)
{
	if (request)
		request_end(request);
}

dg_status dg_client_poll(dg_client *client, uint32_t timeout_ms, dg_error *err)
{
	dg_status st = dgi_client_check(client, err);

	return st ? st : turn(client, NULL, dgi_deadline_in(timeout_ms), err);
}

void dg_client_interrupt(dg_client *client)
{
	atomic_store(&client->interrupted, true);
}

/* A large call is several requests, one after the other. */
static dg_status transfer(dg_client *client, const dg_tensor_info *tensor, dg_operation operation,
			  const dg_id *rows, size_t n, char *out, const char *data,
			  struct dgi_deadline deadline, dg_error *err)
{
	dg_status st = DG_OK;

	for (size_t at = 0; !st && at < n; at += DG_REQUEST_ROWS_MAX) {
		size_t share = n - at < DG_REQUEST_ROWS_MAX ? n - at : DG_REQUEST_ROWS_MAX;
		size_t offset = at * tensor->row_bytes;
		dg_request *request;

		if (data)
			st = wait_for_room(client, deadline, err);
		if (!st)
			st = begin_rows(client, tensor, operation, rows + at, share,
					out ? out + offset : NULL, data ? data + offset : NULL,
					deadline, &request, err);
		if (!st)
			st = finish(request, err);
	}
	return st;
}

dg_status dgi_client_pull(dg_client *client, const dg_tensor_info *tensor, const dg_id *rows,
			  size_t n, void *out, struct dgi_deadline deadline, dg_error *err)
{
	return transfer(client, tensor, DG_OP_ASSIGN, rows, n, out, NULL, deadline, err);
}

dg_status dg_client_pull(dg_client *client, const dg_tensor_info *tensor, const dg_id *rows,
			 size_t n, void *out, dg_error *err)
{
	struct dgi_deadline deadline = dgi_deadline_in(client->timeout_ms);
	dg_status st = dgi_client_check(client, err);

	return st ? st : dgi_client_pull(client, tensor, rows, n, out, deadline, err);
}

dg_status dg_client_update(dg_client *client, const dg_tensor_info *tensor, dg_operation operation,
			   const dg_id *rows, size_t n, const void *data, dg_error *err)
{
	struct dgi_deadline deadline = dgi_deadline_in(client->timeout_ms);
	dg_status st = check_push(client, tensor, operation, err);

	return st ? st : transfer(client, tensor, operation, rows, n, NULL, data, deadline, err);
}

dg_status dg_client_push(dg_client *client, const dg_tensor_info *tensor, const dg_id *rows,
			 size_t n, const void *data, dg_error *err)
{
	return dg_client_update(client, tensor, DG_OP_ASSIGN, rows, n, data, err);
}

/* The part's share of a run of rows, as one piece. */
static dg_status add_fill(struct dg_request *request, uint32_t part, dg_id first, int64_t count,
			  const void *row, dg_error *err)
{
	const dg_id run[2] = { first, count };
	struct dgi_pool *pool = &request->client->pool;
	struct dgi_piece *piece;
	dg_status st = piece_new(request, DGI_PIECE_PUSH, &piece, err);

	if (st)
		return st;
	piece->push = (struct dgi_push){ .tensor = request->tensor.id,
					 .operation = DG_OP_ASSIGN,
					 .row_bytes = request->tensor.row_bytes,
					 .flags = DGI_PUSH_FILL,
					 .n = 2 };
	st = dgi_piece_fill(piece, pool, run, NULL, row, err);
	if (st) {
		dgi_piece_free(piece, pool);
		return st;
	}
	piece_add(request, part, piece, DGI_PREFIX_BYTES + piece->block_bytes);
	return DG_OK;
}

dg_status dg_client_fill(dg_client *client, const dg_tensor_info *tensor, dg_id first,
			 int64_t count, const void *row, dg_error *err)
{
	struct dgi_deadline deadline = dgi_deadline_in(client->timeout_ms);
	struct dg_request *request;
	dg_status st = check_push(client, tensor, DG_OP_ASSIGN, err);

	if (st)
		return st;
	if (first < 0 || count < 0 || first > tensor->n_rows || count > tensor->n_rows - first)
		return dgi_fail(err, DG_RANGE,
				"tensor '%s': rows from %" PRId64 ", %" PRId64
				" of them, there are %" PRId64,
				tensor->name, first, count, tensor->n_rows);
	st = request_new(client, deadline, &request, err);
	if (st)
		return st;
	request->tensor = *tensor;
	request->is_push = true;
	for (uint32_t p = 0; !st && p < client->n_channels; p++) {
		dg_id start, end;

		dg_book_tensor_range(client->book, tensor, p, &start, &end);
		start = start > first ? start : first;
		end = end < first + count ? end : first + count;
		if (start < end)
			st = add_fill(request, p, start, end - start, row, err);
	}
	if (st) {
		request_end(request);
		return st;
	}
	return finish(request, err);
}

dg_status dgi_client_call(dg_client *client, uint32_t part, enum dgi_message_type type,
			  const struct dgi_body *body, struct dgi_deadline deadline,
			  struct dgi_message *out, dg_error *err)
{
	uint64_t body_bytes = body ? body->copied_bytes : 0;
	struct dgi_message reply = { 0 };
	struct dg_request *request;
	struct dgi_piece *piece;
	dg_status st = request_new(client, deadline, &request, err);

	if (st)
		return st;
	st = piece_new(request, DGI_PIECE_CALL, &piece, err);
	if (st) {
		request_end(request);
		return st;
	}
	for (size_t i = 0; body && i < body->n_lent; i++)
		body_bytes += body->lent[i].iov_len;
	piece->type = type;
	piece->body = body;
	piece->reply = &reply;
	piece_add(request, part, piece, body_bytes);
	st = finish(request, err);
	if (!st)
		*out = reply;
	return st;
}
