/*
 * session.h -- one client's connection on the server: messages to the service, answers back.
 *
 * Threads: each session belongs to one loop, whose thread alone touches it.
 */
#ifndef DGI_SESSION_H
#define DGI_SESSION_H

#include "conn.h"
#include "server.h"

/* What an event of a loop's poller points to begins with this. */
enum dgi_source {
	DGI_SOURCE_LISTENER,
	DGI_SOURCE_SESSION,
};

struct dgi_session {
	enum dgi_source source; /* DGI_SOURCE_SESSION */
	struct dg_server *server;
	struct dgi_loop *loop;
	struct dgi_session *previous, *next; /* in the loop's list */
	uint32_t events;		     /* asked of the poller */
	struct dgi_conn conn;
	bool is_counted;      /* among the service's connections */
	bool is_starved;      /* waits for memory */
	bool is_closing;      /* takes no more requests; ends when what it owes is sent */
	bool is_refused;      /* closing, and the peer is to read why */
	bool is_shut;	      /* our direction is closed: waits for the peer's end */
	int64_t closing_ms;   /* since when */
	bool is_dead;	      /* the socket is gone; the session goes when n_pending is 0 */
	unsigned n_pending;   /* pushes at the writer */
	uint64_t reply_bytes; /* taken from the budget of replies */
	bool has_waiting;     /* a pull that waits for memory for its answer: */
	struct dgi_message waiting;
	struct dgi_pull_plan plan;
};

/* Takes @fd, also on failure. Gives NULL when out of memory. */
struct dgi_session *dgi_session_new(struct dg_server *server, int fd);
/* Begins to be served by @loop, which has put it into its poller. */
void dgi_session_begin(struct dgi_session *session, struct dgi_loop *loop, struct dgi_pool *pool);
/* Frees one that is dead and owed nothing by the writer. */
void dgi_session_free(struct dgi_session *session);

/* Does what @events of the poller allow. 0 where there were none: memory has been given back. */
void dgi_session_work(struct dgi_session *session, uint32_t events);
/* A push has come back from the writer; frees the job. */
void dgi_session_pushed(struct dgi_session *session, struct dgi_push_job *job);
/* Refuses the client with @error, once what is queued before is sent, and ends. */
void dgi_session_refuse(struct dgi_session *session, const dg_error *error);
/* Takes no more requests. */
void dgi_session_drain(struct dgi_session *session);
/* Ends it if its peer has not kept within its time. */
void dgi_session_check_time(struct dgi_session *session, int64_t now_ms);
/* Closes the socket at once. */
void dgi_session_kill(struct dgi_session *session);

/* The session whose push @job is. */
struct dgi_session *dgi_session_of(struct dgi_push_job *job);

#endif
