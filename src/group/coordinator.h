/*
 * coordinator.h -- the groups of a graph, as the server of part 0 sees them: who is in, who waits for
 * whom, and which barriers are passed. All in memory: after a restart it learns what was from what its
 * members say (group.h).
 *
 * Pure: told of requests, of the time and of lost connections, it gives answers. A member lives while
 * it is heard of within each lease; one that is not is lost, and whoever joins next with its role gets
 * its rank. A group of which nobody lives ends when another of its name is complete, or when all have
 * left; until then lost members may come back. Who asks for more than a group's size waits for the
 * next of that name.
 *
 * Threads: one at a time.
 */
#ifndef DGI_COORDINATOR_H
#define DGI_COORDINATOR_H

#include "group.h"

#include <stddef.h>

#define DGI_GROUPS_MAX 1024U
#define DGI_GROUP_WAITING_MAX 16384U /* that have no rank yet, all groups */

/* Takes an answer to the request of @token. */
typedef void dgi_group_sink(void *context, uint64_t token, const struct dgi_group_answer *answer);

/* One rank of a group. */
struct dgi_group_slot {
	enum dgi_group_slot_state {
		DGI_SLOT_UNHEARD, /* since the coordinator started */
		DGI_SLOT_LIVE,
		DGI_SLOT_LEAVING, /* others do not know yet */
		DGI_SLOT_LOST,
		DGI_SLOT_LEFT,
	} state;
	struct dgi_group_claim *claim; /* the last that had it; NULL: not known */
	int64_t seen_ms;
	bool knows_left; /* all that have left */
	uint64_t leave_token;
	/* Its arrival at a barrier: */
	bool has_arrived;
	enum dgi_group_scope scope;
	uint64_t passed; /* in that scope, before */
	char barrier[DGI_GROUP_NAME_BYTES];
	uint64_t barrier_token; /* 0: its connection is gone, and it will ask again */
	int64_t barrier_deadline_ms;
};

/* One that waits for a rank. */
struct dgi_group_pending {
	struct dgi_group_pending *next;
	struct dgi_group_claim claim;
	uint64_t token; /* 0: its connection is gone */
	int64_t since_ms, seen_ms, deadline_ms;
};

struct dgi_group {
	struct dgi_group *next;
	char name[DGI_GROUP_NAME_BYTES];
	struct dgi_group_place place; /* what all share of it; instance 0: not complete yet */
	uint32_t size;
	struct dgi_group_slot *slots;
	uint64_t passed_by_role[DGI_GROUP_ROLES_MAX];
	struct dgi_group_pending *pending; /* in the order they came */
};

struct dgi_coordinator {
	struct dgi_group *groups;
	size_t n_groups, n_pending;
	uint64_t instances; /* the next is one more */
	int64_t lease_ms;
	int64_t now_ms;
	dgi_group_sink *sink;
	void *context;
};

/* @instances is random, so that groups of two starts differ. */
void dgi_coordinator_init(struct dgi_coordinator *c, uint64_t instances, int64_t lease_ms,
			  dgi_group_sink *sink, void *context);
void dgi_coordinator_clear(struct dgi_coordinator *c); /* answers nobody */

/* Each may give any number of answers; a request has one in the end, or none after _forget(). */
void dgi_coordinator_ask(struct dgi_coordinator *c, const struct dgi_group_request *request,
			 int64_t now_ms);
/* To be called several times a lease. */
void dgi_coordinator_tick(struct dgi_coordinator *c, int64_t now_ms);
/* Nobody waits for the answer of @token any more. */
void dgi_coordinator_forget(struct dgi_coordinator *c, uint64_t token);

/* For coordinator.c and who shows groups: whom the member of @rank waits for, in words. */
void dgi_group_tell_missing(const struct dgi_group *group, uint32_t rank, int64_t now_ms,
			    dg_error *out);
/* … and one that has no rank yet. */
void dgi_group_tell_incomplete(const struct dgi_group *group,
			       const struct dgi_group_pending *pending, int64_t now_ms,
			       dg_error *out);
/* Does nobody of it live? Nor of one that is not complete yet. */
bool dgi_group_is_asleep(const struct dgi_group *group);
/* Is the member of @rank one that a barrier of @scope, at which @of stands, waits for? */
bool dgi_group_takes_part(const struct dgi_group *group, uint32_t rank, enum dgi_group_scope scope,
			  uint32_t of);

#endif
