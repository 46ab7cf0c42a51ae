/*
 * outbox.h -- messages in, bytes out: what one connection has to send, in order. Pure: no socket.
 */
#ifndef DGI_OUTBOX_H
#define DGI_OUTBOX_H

#include "frame.h"
#include "pool.h"

#include <stddef.h>
#include <sys/uio.h>

#define DGI_OUTBOX_LENT_MAX 3
#define DGI_OUTBOX_COPIED_MAX 512 /* an error's text, the fixed replies, a prefix */

/* What a body is made of, in this order; zero is none of it. */
struct dgi_body {
	const void *copied; /* a few bytes, copied at once */
	size_t copied_bytes;
	void *block; /* from the outbox's pool; taken, also on failure */
	size_t block_bytes;
	size_t block_room;	  /* bytes that the block was got for; 0: block_bytes */
	const struct iovec *lent; /* must stay until they are sent or the outbox is cleared */
	size_t n_lent;
};

struct dgi_outbox {
	struct dgi_pool *pool;
	struct dgi_outgoing *first, *last;
	size_t bytes;	  /* still to be sent */
	size_t sent;	  /* bytes of the first message that are gone */
	uint64_t n_taken; /* messages sent whole since the beginning */
};

void dgi_outbox_init(struct dgi_outbox *out, struct dgi_pool *pool);
void dgi_outbox_clear(struct dgi_outbox *out);

/*
 * Queues a message; sets the header's body_bytes. @body may be NULL. Fails with INVALID (a body
 * longer than a frame may have), NOMEM; nothing is queued then.
 */
dg_status dgi_outbox_put(struct dgi_outbox *out, struct dgi_frame frame,
			 const struct dgi_body *body, dg_error *err);

/* The next bytes to send, at most @max runs; returns their number. */
int dgi_outbox_gather(const struct dgi_outbox *out, struct iovec *iov, int max);
/* @n bytes of them are gone. Frees the messages that are sent whole. */
void dgi_outbox_sent(struct dgi_outbox *out, size_t n);

/* Bytes of the message at the head, 0 when there is none. */
size_t dgi_outbox_head_bytes(const struct dgi_outbox *out);

#endif
