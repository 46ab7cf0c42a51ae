/*
 * session.h -- one client's connection on the server: messages to the service, answers back.
 *
 * Threads: each session belongs to one loop, whose thread alone touches it.
 */
#ifndef DGI_SESSION_H
#define DGI_SESSION_H

#include "conn.h"
#include "pulls.h"
#include "seats.h"
#include "server.h"
#include "server_session.h"

#define DGI_SLICE_BYTES (1U << 20) /* of rows that are gathered before others have their turn */

/* What an event of a loop's poller points to begins with this. */
enum dgi_source {
	DGI_SOURCE_LISTENER,
	DGI_SOURCE_SESSION,
};

struct dgi_session {
	enum dgi_source source; /* DGI_SOURCE_SESSION */
	struct dg_server *server;
	struct dgi_loop *loop;
	struct dgi_session *previous, *next; /* in the loop's list of all */
	struct dgi_session *next_ready, *next_starved, *next_awaiting; /* in others of its lists */
	bool in_ready, in_starved, in_awaiting;
	uint32_t events; /* asked of the poller */
	struct dgi_conn conn;
	struct dgi_server_session numbers; /* of the client's pushes */
	struct dgi_seat *seat;		   /* of its session; NULL: it has none */
	struct dgi_progress progress;	   /* of pushes at the writer */
	bool is_counted;		   /* among the service's connections */
	bool is_ready;			   /* has something to do without waiting */
	bool is_starved;		   /* waits for memory */
	bool is_closing;	/* takes no more requests; ends when what it owes is sent */
	bool is_refused;	/* closing, and the peer is to read why */
	bool is_shut;		/* our direction is closed: waits for the peer's end */
	int64_t closing_ms;	/* since when */
	bool is_dead;		/* the socket is gone; the session goes when n_pending is 0 */
	unsigned n_pending;	/* jobs at the writer, answers of groups */
	uint64_t request_bytes; /* what its unanswered requests cost */
	uint64_t reply_bytes;	/* taken from the budget of replies, and in the outbox */
	uint64_t served_bytes;	/* since its turn began */
	struct dgi_pulls pulls; /* that are kept */
	struct dgi_held *held;	/* requests of groups that wait; under the group service's lock */
	unsigned n_held;
};

/* Takes @fd, also on failure. Gives NULL when out of memory. */
struct dgi_session *dgi_session_new(struct dg_server *server, int fd);
/* Begins to be served by @loop, which has put it into its poller. */
void dgi_session_begin(struct dgi_session *session, struct dgi_loop *loop, struct dgi_pool *pool);
/* Frees one that is dead and owed nothing by the writer. */
void dgi_session_free(struct dgi_session *session);

/* Does what @events of the poller allow. 0 where there were none: memory has been given back. */
void dgi_session_work(struct dgi_session *session, uint32_t events);
/* A job has come back from the writer; frees it. */
void dgi_session_pushed(struct dgi_session *session, struct dgi_job *job);
/* Refuses the client with @error, once what is queued before is sent, and ends. */
void dgi_session_refuse(struct dgi_session *session, const dg_error *error);
/* Takes no more requests. */
void dgi_session_drain(struct dgi_session *session);
/* Ends it if its peer has not kept within its time. */
void dgi_session_check_time(struct dgi_session *session, int64_t now_ms);
/* Closes the socket at once. */
void dgi_session_kill(struct dgi_session *session);

/* The session whose push @job is. */
struct dgi_session *dgi_session_of(struct dgi_job *job);

/* Has it so much to send that nothing more is prepared for it? */
bool dgi_session_is_congested(const struct dgi_session *session);
/* Pushes of the connection that are settled. */
uint64_t dgi_session_settled(struct dgi_session *session);
/*
 * Memory from a budget. One small request at a time of each client, and its answer, need not wait
 * for the memory that large ones take: clients that do little are served whatever the others do.
 */
bool dgi_session_take(struct dgi_budget *budget, uint64_t n, bool is_only);
/* Frees the message of a request that is answered. */
void dgi_session_release(struct dgi_session *session, struct dgi_message *message);

#endif
