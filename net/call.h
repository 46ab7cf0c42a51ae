/*
 * call.h -- the client's side of a connection: dialling with the handshake, and one request with
 * its reply, both by a deadline.
 */
#ifndef DGI_CALL_H
#define DGI_CALL_H

#include "address.h"
#include "conn.h"
#include "message.h"

/* A request's header. @deadline also tells the server how long the client will wait. */
struct dgi_frame dgi_request(enum dgi_message_type type, uint64_t request_id,
			     struct dgi_deadline deadline);

/*
 * Connects to @address, says hello and checks the answer against it. On success @conn is
 * established; on failure it is clear.
 *
 * Fails with CLOSED (nobody listens), TIMEOUT, MISMATCH (another cluster, store or part), VERSION,
 * BUSY (the server has its fill of connections), NOTFOUND (the host), DENIED, PROTO, IO, NOMEM.
 */
dg_status dgi_dial(const struct dgi_address *address, const struct dgi_hello *hello,
		   struct dgi_pool *pool, struct dgi_deadline deadline, struct dgi_conn *conn,
		   struct dgi_welcome *welcome, dg_error *err);

/*
 * Sends one request and waits for its reply, which must be OK and within its type's sizes; replies
 * to other requests are thrown away. @out is to be given back by dgi_message_clear().
 * Fails with TIMEOUT, CLOSED, PROTO and with what the reply says; after the first three and IO,
 * NOMEM, VERSION the connection is of no further use, which *broken tells (it may be NULL).
 */
dg_status dgi_call(struct dgi_conn *conn, struct dgi_frame frame, const struct dgi_body *body,
		   struct dgi_deadline deadline, struct dgi_message *out, bool *broken,
		   dg_error *err);

/*
 * Reads a reply: OK, what it says, or, where it does not keep to its type, PROTO. A reply with
 * request id 0 is about the whole connection and ends it.
 */
dg_status dgi_reply_check(const struct dgi_message *reply, dg_error *err);

/* Waits until one of @conns has something to do or the deadline comes (TIMEOUT), does it:
 * sends what is queued, takes in what has arrived. A connection that fails gets its status in
 * @status (and its text in @errs, unless that is NULL), which the caller set to OK before; NULL
 * entries are skipped. */
dg_status dgi_conns_move(struct dgi_conn *const *conns, size_t n, struct dgi_deadline deadline,
			 dg_status *status, dg_error *errs, dg_error *err);

#endif
