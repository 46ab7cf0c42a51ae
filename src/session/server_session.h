/*
 * server_session.h -- what a server makes of the numbers of a client's pushes on one connection:
 * are they all there, and which pulls have to wait for which of them (docs/protocol.md §5).
 *
 * That a push counts once is the storage engine's part, which stores the numbers it has seen with
 * their effect (storage/sessions.h) and answers a repeat. Here is what a connection adds: frames come
 * in order and none is missing, or the connection is of no use; a session is served on its newest
 * connection only; a pull sees the pushes sent before it.
 *
 * Pure. Threads: one at a time.
 */
#ifndef DGI_SERVER_SESSION_H
#define DGI_SERVER_SESSION_H

#include "message.h"

struct dgi_server_session {
	dg_uuid id;	      /* zero: pushes have no numbers */
	bool is_taken;	      /* by a newer connection, or it was closed or expired */
	uint64_t last_number; /* of the newest push that has come; 0: none */
	uint64_t n_handed_on; /* pushes */
	uint64_t n_settled;   /* of them: applied, repeated or refused, in the order they came */
};

/* @id may be zero. */
void dgi_server_session_init(struct dgi_server_session *s, const dg_uuid *id);

/*
 * A push has come. OK: hand it on, or refuse it for another reason. Fails with PROTO (a push before it is missing, or numbers do not fit the
 * connection: it ends), DENIED (the session is served elsewhere now: this push is refused).
 */
dg_status dgi_server_session_push(struct dgi_server_session *s, const struct dgi_push *push,
				  dg_error *err);
/* It is handed on; @n that were are settled, in the order they came. */
void dgi_server_session_hand_on(struct dgi_server_session *s);
void dgi_server_session_settle(struct dgi_server_session *s, uint64_t n);

/*
 * A pull has come: it may be served once n_settled is *turn. Fails with PROTO (it names a push that
 * has not come: the connection ends), DENIED as above.
 */
dg_status dgi_server_session_pull(const struct dgi_server_session *s, uint64_t after,
				  uint64_t *turn, dg_error *err);

#endif
