/*
 * inbox.h -- bytes in, messages out: puts the frames of one connection together again, however the
 * bytes were cut on the way. Pure: no socket, no clock.
 *
 * Bytes are put where dgi_inbox_room() says: the rest of a body straight into its place, anything
 * else into a small stage. A caller that has enough to do simply does not ask for the next
 * message: what has arrived waits in the stage, and room ends there.
 */
#ifndef DGI_INBOX_H
#define DGI_INBOX_H

#include "frame.h"
#include "pool.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/uio.h>

#define DGI_INBOX_STAGE_BYTES 4096
#define DGI_INBOX_ROOM_MAX 3 /* runs of memory that dgi_inbox_room() gives */

/* A message that has arrived whole. */
struct dgi_message {
	struct dgi_frame frame;
	uint8_t *body;	   /* 64-byte aligned, from the pool; NULL when there is none */
	size_t head_bytes; /* bytes at @body: all of them unless the owner took the tail elsewhere */
};

/* Where the body of a message goes. */
struct dgi_place {
	size_t head_bytes; /* this much into memory of the message's own, at most all */
	void *tail;	   /* the rest goes here; lent until the message is there */
};

/*
 * Asked when a header has arrived. @out is set to "all into the message's own memory". Returns
 * false to hold the message back for now: it will be asked again.
 */
typedef bool dgi_place_fn(void *context, const struct dgi_frame *frame, struct dgi_place *out);

struct dgi_inbox {
	struct dgi_pool *pool;
	dgi_place_fn *place; /* NULL: bodies go into memory of their own */
	void *place_context;
	uint64_t body_bytes_max;

	bool in_body; /* the fields below are those of a message that is arriving */
	struct dgi_frame frame;
	struct dgi_place to;
	uint8_t *body;
	size_t have; /* bytes of the body that are there */

	size_t begin, end; /* of what is in the stage */
	uint8_t stage[DGI_INBOX_STAGE_BYTES];
};

/* Sets everything but place, which the caller may set afterwards. */
void dgi_inbox_init(struct dgi_inbox *in, struct dgi_pool *pool, uint64_t body_bytes_max);
void dgi_inbox_clear(struct dgi_inbox *in);

/* Where the next bytes go, in order; returns the number of runs, 0 when there is no room. */
int dgi_inbox_room(struct dgi_inbox *in, struct iovec out[DGI_INBOX_ROOM_MAX]);
/* @n bytes have been put there. */
void dgi_inbox_filled(struct dgi_inbox *in, size_t n);

enum dgi_inbox_answer {
	DGI_INBOX_MESSAGE,  /* *out is the next message, to be given back by dgi_message_clear() */
	DGI_INBOX_HUNGRY,   /* more bytes are needed */
	DGI_INBOX_HELD_BACK /* a message waits for place() to agree */
};

/*
 * Gives the next message. Fails with PROTO, VERSION (dgi_frame_decode()), NOMEM: the connection is
 * then of no further use.
 */
dg_status dgi_inbox_next(struct dgi_inbox *in, enum dgi_inbox_answer *answer,
			 struct dgi_message *out, dg_error *err);
void dgi_message_clear(struct dgi_pool *pool, struct dgi_message *message);

/* Has a message begun to arrive that is not whole yet? */
bool dgi_inbox_is_amid(const struct dgi_inbox *in);

#endif
