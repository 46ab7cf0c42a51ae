/*
 * group.h -- what members of a group and its coordinator (the server of part 0) say to each other.
 *
 * Nothing of a group is on disk. Each message of a member carries its whole claim: who it is and, once
 * it has been placed, its place and the barriers it has passed. So a coordinator that was started
 * again learns all it has to know from the first message of each member.
 */
#ifndef DGI_GROUP_H
#define DGI_GROUP_H

#include <distgraph/error.h>
#include <distgraph/types.h>

#include <stdbool.h>
#include <stdint.h>

#define DGI_GROUP_MEMBERS_MAX 4096U
#define DGI_GROUP_ROLES_MAX 16U
#define DGI_GROUP_NAME_BYTES 64U /* of a group, role, barrier or host, with its NUL */
/* A member that was not heard of for as long is lost; each says something several times as often. */
#define DGI_GROUP_LEASE_MS 10000
#define DGI_GROUP_BEAT_MS 2500
#define DGI_GROUP_LEFT_WORDS (DGI_GROUP_MEMBERS_MAX / 64)

struct dgi_group_role {
	char name[DGI_GROUP_NAME_BYTES];
	uint32_t size;
};

/* Whose barrier: each scope counts its own, one after another. */
enum dgi_group_scope {
	DGI_GROUP_ALL,	/* every member's */
	DGI_GROUP_ROLE, /* of the members of one role */
	DGI_GROUP_SCOPES,
};

/* What a member was told when it was placed, and has learnt since. */
struct dgi_group_place {
	uint64_t instance; /* of the group among those of its name; 0: not placed */
	uint32_t life;	   /* of its rank: how many processes had it, this one included */
	uint32_t rank;	   /* in the group: roles in their order, then role_rank */
	uint32_t role_rank;
	uint32_t local_rank; /* among those of its role on its machine */
	uint32_t n_local;
	uint32_t n_roles;
	struct dgi_group_role roles[DGI_GROUP_ROLES_MAX];
	uint64_t passed[DGI_GROUP_SCOPES];   /* barriers */
	uint64_t left[DGI_GROUP_LEFT_WORDS]; /* ranks that are known to have left, a bit each */
};

struct dgi_group_claim {
	dg_uuid id; /* of this process's membership */
	char group[DGI_GROUP_NAME_BYTES];
	char role[DGI_GROUP_NAME_BYTES];
	char host[DGI_GROUP_NAME_BYTES];
	uint32_t size; /* of the group */
	int32_t machine;
	int64_t pid;
	int32_t wanted_rank;  /* in its role; -1: any */
	int32_t wanted_local; /* -1: any */
	struct dgi_group_place place;
};

enum dgi_group_kind {
	DGI_GROUP_JOIN,	   /* answered when the group is complete, with the place */
	DGI_GROUP_BEAT,	   /* answered at once: who has left, whom the member waits for */
	DGI_GROUP_BARRIER, /* answered when it is passed */
	DGI_GROUP_LEAVE,   /* answered when those that stay know it */
};

struct dgi_group_request {
	enum dgi_group_kind kind;
	const struct dgi_group_claim *claim;
	enum dgi_group_scope scope; /* of a barrier */
	char barrier[DGI_GROUP_NAME_BYTES];
	int64_t deadline_ms; /* of a join or barrier: answered by then, with TIMEOUT at worst */
	uint64_t token;	     /* by which it is answered; not 0 */
};

/* CANCELLED: nothing was decided, ask again. DENIED: this membership is over. */
struct dgi_group_answer {
	enum dgi_group_kind kind;
	dg_status status;
	dg_error error; /* where status is not OK; of a beat whom the member waits for */
	struct dgi_group_place place; /* of all but a leave */
};

static inline bool dgi_group_has_left(const struct dgi_group_place *place, uint32_t rank)
{
	return place->left[rank / 64] >> (rank % 64) & 1;
}

#endif
