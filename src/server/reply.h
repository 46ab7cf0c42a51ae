/*
 * reply.h -- answers of a server, put into a connection's outbox. Where that fails for want of
 * memory the connection ends, since an answer left out would never be missed.
 *
 * Threads: that of the session's loop.
 */
#ifndef DGI_REPLY_H
#define DGI_REPLY_H

#include "session.h"

/* Bytes of requests that a client may have unanswered, if there is memory for more than that. */
#define DGI_CREDITS_MAX (16U << 20)

/* @data is copied: at most DGI_OUTBOX_COPIED_MAX. */
void dgi_reply_bytes(struct dgi_session *s, const struct dgi_frame *request, const void *data,
		     size_t n);
/* @block of @n bytes, got from the session's pool for as many, is taken. */
void dgi_reply_block(struct dgi_session *s, const struct dgi_frame *request, void *block, size_t n);
void dgi_reply_error(struct dgi_session *s, const struct dgi_frame *request, const dg_error *error);

#endif
