/*
 * piece.h -- one request to one server, as the client keeps it: a share of a pull or push, or a call.
 *
 * A pull refers to memory of its caller: the row numbers, and where rows go. A push has its bytes to
 * itself, for it is repeated until the server has it on disk, which may be long after the caller was
 * answered. A call refers to the memory of a caller who waits for it.
 */
#ifndef DGI_PIECE_H
#define DGI_PIECE_H

#include "call.h"
#include "client_session.h"

struct dg_request;

enum dgi_piece_kind {
	DGI_PIECE_PULL,
	DGI_PIECE_PUSH,
	DGI_PIECE_CALL,
};

struct dgi_piece {
	struct dgi_piece *next;	    /* in the channel's queue, or among those sent */
	struct dg_request *request; /* that waits for it; NULL: nobody does any more */
	enum dgi_piece_kind kind;
	uint64_t id;   /* on the present connection; 0: not sent on it */
	uint64_t cost; /* credits */
	bool was_sent; /* on any connection */

	/* A pull: */
	uint32_t tensor;
	uint32_t row_bytes;
	size_t n;
	const dg_id *rows;	/* lent */
	const uint32_t *places; /* of the caller's rows; NULL: side by side. Lent */
	char *out;		/* of row 0 where there are places, of the piece's first else */

	/* A push: */
	struct dgi_kept_push kept;
	struct dgi_push push; /* but for its numbers */
	uint8_t *block;	      /* the body behind the prefix */
	size_t block_bytes;

	/* A call: */
	enum dgi_message_type type;
	const struct dgi_body *body; /* lent; without a block */
	struct dgi_message *reply;   /* lent; the answer, once there is one */

	struct iovec lent[1];
};

/* The piece whose push @kept is. */
struct dgi_piece *dgi_piece_of(struct dgi_kept_push *kept);

/*
 * Gives the push its body: row numbers, zeros, operands. @places: rows of @data by the piece's;
 * NULL: in order. Fails with NOMEM.
 */
dg_status dgi_piece_fill(struct dgi_piece *piece, struct dgi_pool *pool, const dg_id *rows,
			 const uint32_t *places, const void *data, dg_error *err);
void dgi_piece_free(struct dgi_piece *piece, struct dgi_pool *pool);

/* Bytes of the answer, as far as is known before. */
uint64_t dgi_piece_reply_bytes(const struct dgi_piece *piece);

/*
 * Queues the request on @conn. @session gives a push its numbers; @after is what a pull names.
 * Fails as dgi_conn_send().
 */
dg_status dgi_piece_send(struct dgi_piece *piece, struct dgi_conn *conn,
			 const struct dgi_client_session *session, uint64_t after,
			 struct dgi_deadline deadline, dg_error *err);

/* Where the answer to a pull goes as it arrives. */
void dgi_piece_place(const struct dgi_piece *piece, const struct dgi_frame *frame,
		     struct dgi_place *out);
/* Puts the rows of a sound answer where they belong. Fails with PROTO, MISMATCH. */
dg_status dgi_piece_take_rows(const struct dgi_piece *piece, const struct dgi_message *reply,
			      dg_error *err);

#endif
