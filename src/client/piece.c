/* piece.c -- one request to one server, as the client keeps it. */
#include "piece.h"

#include "check.h"
#include "fail.h"
#include "split.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct dgi_piece *dgi_piece_of(struct dgi_kept_push *kept)
{
	return (struct dgi_piece *)(void *)((char *)kept - offsetof(struct dgi_piece, kept));
}

dg_status dgi_piece_fill(struct dgi_piece *piece, struct dgi_pool *pool, const dg_id *rows,
			 const uint32_t *places, const void *data, dg_error *err)
{
	const struct dgi_push *push = &piece->push;
	const size_t ids_bytes = push->n * sizeof *rows;
	const size_t data_at = dgi_push_data_at(push->n, 0) - DGI_PREFIX_BYTES;
	const size_t n = dgi_push_operands(push->n, push->flags);

	piece->block_bytes = data_at + n * push->row_bytes;
	piece->block = dgi_pool_get(pool, piece->block_bytes);
	if (!piece->block)
		return dgi_fail_memory(err, "rows to push");
	memcpy(piece->block, rows, ids_bytes);
	memset(piece->block + ids_bytes, 0, data_at - ids_bytes);
	if (places)
		dgi_rows_collect(piece->block + data_at, data, places, n, push->row_bytes);
	else
		memcpy(piece->block + data_at, data, n * push->row_bytes);
	return DG_OK;
}

void dgi_piece_free(struct dgi_piece *piece, struct dgi_pool *pool)
{
	if (!piece)
		return;
	if (piece->block)
		dgi_pool_put(pool, piece->block, piece->block_bytes);
	free(piece);
}

uint64_t dgi_piece_reply_bytes(const struct dgi_piece *piece)
{
	return piece->kind == DGI_PIECE_PULL ? dgi_pulled_bytes(piece->n, piece->row_bytes) : 0;
}

static dg_status send_pull(struct dgi_piece *piece, struct dgi_conn *conn, uint64_t after,
			   struct dgi_deadline deadline, dg_error *err)
{
	const struct dgi_pull pull = { .tensor = piece->tensor, .n = piece->n, .after = after };
	uint8_t prefix[DGI_PREFIX_BYTES];
	const struct dgi_body body = {
		.copied = prefix, .copied_bytes = sizeof prefix, .lent = piece->lent, .n_lent = 1
	};

	dgi_pull_encode(&pull, prefix);
	piece->lent[0].iov_base = (void *)(uintptr_t)piece->rows;
	piece->lent[0].iov_len = piece->n * sizeof *piece->rows;
	return dgi_conn_send(conn, dgi_request(DGI_PULL, piece->id, deadline), &body, err);
}

static dg_status send_push(struct dgi_piece *piece, struct dgi_conn *conn,
			   const struct dgi_client_session *session, struct dgi_deadline deadline,
			   dg_error *err)
{
	struct dgi_frame frame = dgi_request(DGI_PUSH, piece->id, deadline);
	struct dgi_push push = piece->push;
	uint8_t prefix[DGI_PREFIX_BYTES];
	const struct dgi_body body = {
		.copied = prefix, .copied_bytes = sizeof prefix, .lent = piece->lent, .n_lent = 1
	};

	dgi_client_session_numbers(session, &piece->kept, &push);
	dgi_push_encode(&push, prefix);
	piece->lent[0].iov_base = piece->block;
	piece->lent[0].iov_len = piece->block_bytes;
	/* Its caller has been told that it is there, or waits no more: no deadline holds for it. */
	if (piece->kept.was_promised || !piece->request)
		frame.deadline_ms = 0;
	return dgi_conn_send(conn, frame, &body, err);
}

dg_status dgi_piece_send(struct dgi_piece *piece, struct dgi_conn *conn,
			 const struct dgi_client_session *session, uint64_t after,
			 struct dgi_deadline deadline, dg_error *err)
{
	switch (piece->kind) {
	case DGI_PIECE_PULL:
		return send_pull(piece, conn, after, deadline, err);
	case DGI_PIECE_PUSH:
		return send_push(piece, conn, session, deadline, err);
	case DGI_PIECE_CALL:
		break;
	}
	return dgi_conn_send(conn, dgi_request(piece->type, piece->id, deadline), piece->body, err);
}

void dgi_piece_place(const struct dgi_piece *piece, const struct dgi_frame *frame,
		     struct dgi_place *out)
{
	if (!piece->request || piece->kind != DGI_PIECE_PULL || piece->places ||
	    frame->type != DGI_PULL || frame->status != DG_OK ||
	    !(frame->flags & DGI_FRAME_REPLY) ||
	    frame->body_bytes != dgi_pulled_bytes(piece->n, piece->row_bytes))
		return;
	out->head_bytes = DGI_PREFIX_BYTES;
	out->tail = piece->out;
}

dg_status dgi_piece_take_rows(const struct dgi_piece *piece, const struct dgi_message *reply,
			      dg_error *err)
{
	struct dgi_pulled pulled;
	const uint8_t *rows = reply->body + DGI_PREFIX_BYTES;
	dg_status st = dgi_pulled_decode(reply->body, reply->frame.body_bytes, &pulled, err);

	if (st)
		return st;
	if (pulled.n != piece->n || pulled.row_bytes != piece->row_bytes)
		return dgi_fail(err, DG_MISMATCH,
				"asked for %zu rows of %" PRIu32 " bytes, got %zu of %" PRIu32,
				piece->n, piece->row_bytes, pulled.n, pulled.row_bytes);
	if (reply->head_bytes != reply->frame.body_bytes)
		return DG_OK; /* they lie where they belong */
	if (piece->places)
		dgi_rows_scatter(piece->out, piece->places, rows, piece->n, piece->row_bytes);
	else
		memcpy(piece->out, rows, piece->n * piece->row_bytes);
	return DG_OK;
}
