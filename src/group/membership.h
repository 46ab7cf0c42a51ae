/*
 * membership.h -- a member's side of its group: what to say to the coordinator next, through lost
 * connections and restarts of it.
 *
 * Pure: told of events, it says what to send. What is lost with a connection is sent again on the
 * next one. Threads: one at a time.
 *
 *	connected, or time has passed	while (dgi_membership_next(m, now_ms, &request)) send it
 *	an answer			dgi_membership_answered()
 *	the connection is gone		dgi_membership_lost()
 *	the caller wants something	dgi_membership_arrive(), _leave(); done when !is_waiting
 */
#ifndef DGI_MEMBERSHIP_H
#define DGI_MEMBERSHIP_H

#include "group.h"

struct dgi_membership {
	struct dgi_group_claim claim;
	int64_t beat_every_ms; /* several times in a lease */
	/* What the caller waits for: to be placed, to pass a barrier, to have left. */
	bool is_waiting;
	enum dgi_group_kind wanted; /* all but BEAT */
	enum dgi_group_scope scope;
	char barrier[DGI_GROUP_NAME_BYTES];
	int64_t deadline_ms;
	dg_status status; /* of the last thing waited for; its text: */
	dg_error error;
	dg_error missing;   /* whom it waits for, as last told; text is empty while not told */
	bool is_over;	    /* DENIED: the rank is somebody else's, or the group has ended */
	bool is_sent;	    /* what is wanted; on this connection */
	bool has_beat;	    /* under way */
	int64_t beat_at_ms; /* the next */
	uint64_t last_token, wanted_token; /* of the last request; of the one for what is wanted */
	int64_t ask_at_ms;		   /* what is wanted, not before then */
};

/* @claim has no place: joins, until @deadline_ms. */
void dgi_membership_init(struct dgi_membership *m, const struct dgi_group_claim *claim,
			 int64_t beat_every_ms, int64_t deadline_ms);
/* Of one that is placed and waits for nothing. */
void dgi_membership_arrive(struct dgi_membership *m, enum dgi_group_scope scope,
			   const char *barrier, int64_t deadline_ms);
void dgi_membership_leave(struct dgi_membership *m, int64_t deadline_ms);

/* Sets @out to what to send now; false: nothing. The claim is lent. Tokens count from 1. */
bool dgi_membership_next(struct dgi_membership *m, int64_t now_ms, struct dgi_group_request *out);
/* When to ask dgi_membership_next() without any news. */
int64_t dgi_membership_wakes_ms(const struct dgi_membership *m);
/* To the request of @token, sent on the connection that there is now. */
void dgi_membership_answered(struct dgi_membership *m, uint64_t token,
			     const struct dgi_group_answer *answer, int64_t now_ms);
void dgi_membership_lost(struct dgi_membership *m);
/* Ends the wait with TIMEOUT some time after its deadline: the coordinator has not said so itself. */
void dgi_membership_check_time(struct dgi_membership *m, int64_t now_ms);

#endif
