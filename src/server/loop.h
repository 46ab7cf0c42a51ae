/*
 * loop.h -- a network thread of a server: its sessions, their poller, and a mailbox for what other
 * threads have for it.
 */
#ifndef DGI_LOOP_H
#define DGI_LOOP_H

#include "poller.h"
#include "session.h"

struct dgi_loop {
	struct dg_server *server;
	struct dgi_poller poller;
	struct dgi_pool pool;
	pthread_t thread;
	bool is_running;
	bool accepts;	     /* the listeners are this loop's */
	int spare_fd;	     /* to accept with, and refuse, when there are no descriptors left */
	int64_t complain_ms; /* not of that before this time */
	struct dgi_session *sessions;
	struct dgi_session *ready;    /* have something to do; linked by next_ready */
	struct dgi_session *starved;  /* wait for memory; linked by next_starved */
	struct dgi_session *awaiting; /* wait for the writer; linked by next_awaiting */
	uint64_t seen_given;	      /* server->n_given when the starved were looked at */
	bool is_starved;	      /* counted in server->n_starved */
	bool is_draining;
	int64_t drain_until_ms;
	int64_t checked_ms; /* when the sessions' time was last looked at */

	pthread_mutex_t lock;	       /* guards the mailbox: */
	struct dgi_session *newcomers; /* linked by next */
	struct dgi_job *written;
	struct dgi_held *answered; /* of groups */
};

/* dgi_loop_close() accepts a zero or failed one. Fails with FULL, IO. */
dg_status dgi_loop_open(struct dgi_loop *loop, struct dg_server *server, bool accepts,
			dg_error *err);
dg_status dgi_loop_start(struct dgi_loop *loop, dg_error *err);
/* Waits for the end of the thread, which comes soon after server->draining is set. */
void dgi_loop_join(struct dgi_loop *loop);
/* To be called when the writer has ended too. */
void dgi_loop_close(struct dgi_loop *loop);
/* Any thread. */
void dgi_loop_wake(const struct dgi_loop *loop);

/* Takes jobs back from the writer; @owner is the loop. The writer's thread. */
void dgi_loop_deliver(void *owner, struct dgi_job *jobs);

/* Takes the answer to a request of a group. Any thread of the server. */
void dgi_loop_answer(struct dgi_loop *loop, struct dgi_held *held);

/* Some of the owner's pushes are settled. The writer's thread. */
void dgi_loop_settled(void *owner);

/* For sessions of the loop. */
/* Takes note of what a session waits for, as it says itself. */
void dgi_loop_note(struct dgi_loop *loop, struct dgi_session *session);
struct dgi_pool *dgi_loop_pool(struct dgi_loop *loop);
dg_status dgi_loop_watch(struct dgi_loop *loop, struct dgi_session *session, uint32_t events);

#endif
