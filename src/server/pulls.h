/*
 * pulls.h -- the pulls of one connection that cannot be answered at once: they wait for pushes before
 * them to be applied, for memory, or for their turn, since a long one is gathered in slices between
 * which the loop serves others.
 *
 * Threads: that of the session's loop.
 */
#ifndef DGI_PULLS_H
#define DGI_PULLS_H

#include "inbox.h"
#include "service.h"

struct dgi_session;
struct dgi_pull_task;

struct dgi_pulls {
	struct dgi_pull_task *first, *last; /* in the order they came */
	bool is_awaiting;		    /* one waits for pushes to be applied */
	bool is_held;			    /* they wait for the client to read its answers */
};

/*
 * A pull has come, to be served once @turn pushes of the connection are settled. Answers it or keeps
 * it; returns true when @message is kept.
 */
bool dgi_pulls_begin(struct dgi_session *s, struct dgi_message *message,
		     const struct dgi_pull_plan *plan, uint64_t turn);
/* Goes on with those that are kept, for about a slice; sets s->is_starved or s->is_ready where more can
 * be done with memory, or later. */
void dgi_pulls_go_on(struct dgi_session *s);
/* Forgets them all: the connection is gone. */
void dgi_pulls_clear(struct dgi_session *s);

#endif
