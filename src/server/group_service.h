/*
 * group_service.h -- the groups that the server of part 0 coordinates: requests of members in, answers
 * out when the coordinator (src/group/coordinator.h) gives them. A join or barrier that waits is a few
 * bytes on a list, no thread.
 *
 * Threads: any loop's; a lock keeps the coordinator to one at a time. An answer goes through the
 * mailbox of the loop that has the session.
 */
#ifndef DGI_GROUP_SERVICE_H
#define DGI_GROUP_SERVICE_H

#include "coordinator.h"
#include "inbox.h"

#include <pthread.h>

#define DGI_GROUP_HELD_MAX 8 /* requests of one connection that wait */

struct dgi_session;

/* A request that waits, or its answer on its way. */
struct dgi_held {
	struct dgi_held *next; /* of its session; then in its loop's mailbox */
	struct dgi_session *session;
	struct dgi_frame frame;
	uint32_t size; /* of the group */
	dg_error error;
	uint8_t *body; /* NULL where error has a status */
	size_t n;
};

struct dgi_group_service {
	pthread_mutex_t lock; /* guards all below, and the list of each session */
	bool is_open;
	uint32_t part;
	int64_t ticked_ms;
	struct dgi_coordinator coordinator;
};

/* Fails with IO (random numbers). */
dg_status dgi_group_service_open(struct dgi_group_service *service, uint32_t part, dg_error *err);
/* When no session is left. Accepts a zero one. */
void dgi_group_service_close(struct dgi_group_service *service);

/* A message of a group has come; it is not kept. For the session's loop, as all below. */
void dgi_group_service_ask(struct dgi_group_service *service, struct dgi_session *session,
			   const struct dgi_message *message);
/* The session's connection is gone: what it waits for need not be answered. */
void dgi_group_service_forget(struct dgi_group_service *service, struct dgi_session *session);
/* The server ends: whoever waits is told CLOSED, to ask the next one. */
void dgi_group_service_end(struct dgi_group_service *service, struct dgi_session *session);
/* Time passes. */
void dgi_group_service_tick(struct dgi_group_service *service, int64_t now_ms);

/* An answer has come through the mailbox: sends it, and frees @held. */
void dgi_group_answer_held(struct dgi_held *held);

#endif
