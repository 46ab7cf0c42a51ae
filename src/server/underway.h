/*
 * underway.h -- large writes that a server's writer has begun: a part of one, then of the next, while what
 * their sessions sent after them waits behind.
 *
 * Threads: the writer's.
 */
#ifndef DGI_UNDERWAY_H
#define DGI_UNDERWAY_H

#include "large.h"
#include "service.h"

struct dgi_job;

/* What a job is while it is applied in parts. Zero at first. */
struct dgi_under_way {
	struct dgi_large large;
	struct dgi_unfinished *fill;	  /* an earlier process began it; owned. NULL: a push */
	struct dgi_job *held, **held_end; /* to be applied after it, in order */
	int64_t not_before_ms;		  /* its next part: there was no room for it */
	bool is_begun;
};

/* Zero is an empty one. */
struct dgi_larges {
	struct dgi_job *first, *last; /* linked by next */
};

/* Keeps the job if it comes after one that is under way, in its connection or session. */
bool dgi_larges_hold(struct dgi_larges *larges, struct dgi_job *job);
void dgi_larges_add(struct dgi_larges *larges, struct dgi_job *job);
/*
 * Adds a job for each fill that an earlier process has not finished; @done is to free it. Fails with
 * NOMEM: those added go on.
 */
dg_status dgi_larges_add_unfinished(struct dgi_larges *larges, struct dgi_volume *volume,
				    void (*done)(void *owner, struct dgi_job *jobs), dg_error *err);
/* Milliseconds until one may go on: 0 at once, -1 there are none. */
int64_t dgi_larges_wait_ms(const struct dgi_larges *larges);
/*
 * Applies a part of one that may go on. *ended: it has ended with that, is applied or refused, and is in the list
 * no more; or NULL. The result is as dgi_volume_apply()'s.
 */
dg_status dgi_larges_step(struct dgi_larges *larges, struct dgi_service *service,
			  struct dgi_job **ended, dg_error *err);
/* Takes all out, with what waits behind: one list. */
struct dgi_job *dgi_larges_take_all(struct dgi_larges *larges);

#endif
