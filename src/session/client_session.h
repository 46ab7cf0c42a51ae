/*
 * client_session.h -- what a client remembers of its pushes to one server, so that each counts once
 * through any number of lost connections and restarts of the server (docs/protocol.md §5).
 *
 * A push is numbered when it is added. It is *waiting* until it is sent, *sent* until it is answered,
 * then *promised* until it is on the server's disk; until then the owner keeps its bytes. On a new
 * connection all that is kept is sent again, in order, and the server applies what it lacks.
 *
 * Pure: told of events, it says what to do. No clock, no socket, no memory of its own.
 * Threads: one at a time.
 *
 *	connected      dgi_client_session_hello(), and with the answer dgi_client_session_welcome()
 *	may send       while ((p = dgi_client_session_next(s))) send it; dgi_client_session_sent(s, p)
 *	any reply      dgi_client_session_heard(), then per its kind _answered() or _ended(); then free
 *	               what dgi_client_session_take_done() gives
 *	no reply to    a ping now and then, while anything is kept: its reply tells what is on disk
 *	come
 *	pull           dgi_client_session_pull(): what it must name, or that pushes go first
 *	lost           dgi_client_session_lost()
 */
#ifndef DGI_CLIENT_SESSION_H
#define DGI_CLIENT_SESSION_H

#include "message.h"

enum dgi_push_state {
	DGI_PUSH_WAITING,
	DGI_PUSH_SENT,
	DGI_PUSH_UNKNOWN, /* answered by a server that ends before it knows */
	DGI_PUSH_PROMISED,
	DGI_PUSH_DONE, /* on disk, or refused */
};

/* A push as the session knows it; part of something of the owner's that has its bytes. */
struct dgi_kept_push {
	struct dgi_kept_push *next;
	uint64_t number;
	uint64_t cost; /* body bytes + DGI_REQUEST_OVERHEAD_BYTES */
	enum dgi_push_state state;
	/* Answered OK once: its caller has been told, so a server that has lost it must take it again
	 * whatever the caller's deadline was: send it without one. */
	bool was_promised;
	uint64_t log_number; /* promised: on disk once that is */
	dg_status status;    /* done: why it was refused, or OK */
};

struct dgi_client_session {
	dg_uuid id;
	uint64_t attempts;		    /* to connect */
	uint64_t last_number;		    /* given to a push */
	struct dgi_kept_push *first, *last; /* kept, by number */
	struct dgi_kept_push *open;	    /* the first without an answer that counts */
	struct dgi_kept_push *waiting;	    /* the first that is waiting */
	uint64_t n_kept;
	uint64_t n_refused;  /* done, and not taken yet */
	uint64_t n_repeated; /* promised once, lost by a server, and not promised again yet */
	/* Of the store, as far as this client was told: */
	uint64_t incarnation; /* 0: never met */
	uint64_t durable;
	/* Of the connection: */
	bool is_connected;
	uint64_t last_sent;  /* number of the push sent last; 0: none */
	uint64_t credits;    /* bytes that may be unanswered */
	uint64_t unanswered; /* … and are */
	uint64_t n_requests; /* unanswered */
};

/* @id is random and not zero. */
void dgi_client_session_init(struct dgi_client_session *s, const dg_uuid *id);

/* Numbers @push, of which the owner has set nothing but cost, and takes it in as waiting. Lent until
 * dgi_client_session_take_done() gives it. */
void dgi_client_session_add(struct dgi_client_session *s, struct dgi_kept_push *push,
			    uint64_t cost);

/* --- Connections --- */

/* Sets what the session has to say in hello, of another attempt. */
void dgi_client_session_hello(struct dgi_client_session *s, struct dgi_hello *hello);
/*
 * A connection is there: all that is kept is waiting again. Fails with MISMATCH where the server's
 * store is older than what this client was told is on disk: the session is of no further use there.
 */
dg_status dgi_client_session_welcome(struct dgi_client_session *s,
				     const struct dgi_welcome *welcome, dg_error *err);
/* The connection is gone, with all requests that were not answered. */
void dgi_client_session_lost(struct dgi_client_session *s);

/* --- Sending --- */

/* The push to send next; NULL where there is none, or window or credits allow none now. */
struct dgi_kept_push *dgi_client_session_next(const struct dgi_client_session *s);
/* number, previous and floor of @push, as it is to be sent now. */
void dgi_client_session_numbers(const struct dgi_client_session *s,
				const struct dgi_kept_push *push, struct dgi_push *out);
void dgi_client_session_sent(struct dgi_client_session *s, struct dgi_kept_push *push);

/* May a request other than a push, which costs @cost, be sent now? */
bool dgi_client_session_may_begin(const struct dgi_client_session *s, uint64_t cost);
/* It is sent; it is answered. */
void dgi_client_session_began(struct dgi_client_session *s, uint64_t cost);
void dgi_client_session_ended(struct dgi_client_session *s, uint64_t cost);

/*
 * What a pull sent now must name in `after` to see every push of this session. Returns false while
 * pushes are waiting: they go first. So do, until they are answered, pushes that had been promised and
 * were lost with a server: one that is refused now for want of room will still come.
 */
bool dgi_client_session_pull(const struct dgi_client_session *s, uint64_t *after);

/* --- Replies --- */

/* The header of any reply: credits, and what is on disk now. */
void dgi_client_session_heard(struct dgi_client_session *s, const struct dgi_frame *reply);
/*
 * Push @number, which was sent, is answered. @log_number is of the reply, where @status is OK.
 * Returns the push; NULL where none of this number is sent (the peer broke the protocol).
 *
 * A refused push is done, with two exceptions. CLOSED and IO come from a server that ends before it
 * knows: such a push is unknown until the connection is lost, and is asked again on the next. And one
 * that had been promised before and is refused for want of room, memory or time is waiting again: send
 * it after a pause.
 */
struct dgi_kept_push *dgi_client_session_answered(struct dgi_client_session *s, uint64_t number,
						  dg_status status, uint64_t log_number);
/* Gives back a push that is done, in order of numbers where several are; NULL: no more now. */
struct dgi_kept_push *dgi_client_session_take_done(struct dgi_client_session *s);

#endif
