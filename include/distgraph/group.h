/*
 * distgraph/group.h -- processes that work together: ranks and barriers.
 *
 * As many processes as a group is to have join it by its name; then each has a rank. Several groups
 * may be there at once, and one of the same name after another. The server of partition 0 keeps them;
 * groups live through a restart of it. A member that is not heard of for 10 s is lost: whoever joins
 * next with its role gets its rank. A thread of the group's own says that its member lives.
 *
 * Ranks do not depend on the order in which processes come: roles in the order "default", "trainer",
 * then by name; in a role by machine, then by the local rank asked for, host and pid.
 *
 * Threads: one thread at a time, and that of the client.
 * Ownership: dg_group_join() gives a group to leave; its client must stay open until then.
 * Time: every call ends within two seconds of its deadline. TIMEOUT names who is missing: rank, host, pid, last seen.
 */
#ifndef DISTGRAPH_GROUP_H
#define DISTGRAPH_GROUP_H

#include <distgraph/client.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DG_GROUP_MEMBERS_MAX 4096
#define DG_GROUP_NAME_MAX 63 /* bytes of the name of a group, role or barrier */

typedef struct dg_group dg_group;

/* Told now and then while a call waits: for whom, in one line. The calling thread; it makes no calls of
 * the group. */
typedef void dg_group_progress(void *context, const char *text);

/* Zero is the default of every field. */
typedef struct dg_group_options {
	const char *name; /* NULL: "default" */
	/*
	 * Members. 0: this process was started by torchrun (WORLD_SIZE, RANK, LOCAL_RANK, GROUP_RANK) or
	 * by Slurm (SLURM_NTASKS, SLURM_PROCID, SLURM_LOCALID, SLURM_NODEID), which then also say
	 * rank, local rank and machine, unless they are given here.
	 */
	uint32_t size;
	const char *role; /* NULL: "trainer" */
	int has_rank;	  /* asks for one of its role; else any */
	uint32_t rank;
	int has_local_rank;
	uint32_t local_rank;
	int has_machine; /* else DG_MACHINE, then as above, then 0 */
	uint32_t machine;
	uint32_t timeout_ms;	     /* to join; 0: 30 minutes */
	dg_group_progress *progress; /* NULL: none */
	void *progress_context;
	uint32_t progress_every_ms; /* 0: 30 s */
} dg_group_options;

typedef struct dg_group_info {
	uint32_t rank; /* in the group */
	uint32_t size;
	uint32_t role_rank; /* in its role */
	uint32_t role_size;
	uint32_t local_rank; /* among those of its role on its machine */
	uint32_t local_size;
	uint32_t machine;
	uint32_t life; /* processes that had the rank, this one included */
} dg_group_info;

/*
 * Joins, and returns when the group is complete. Fails with INVALID (names, size, environment),
 * MISMATCH (others state another size), RANGE or EXISTS (the rank asked for), TIMEOUT, CANCELLED
 * (dg_client_interrupt()), UNSUPPORTED, FULL, NOMEM.
 */
DG_API dg_status dg_group_join(dg_client *client, const dg_group_options *options, dg_group **out,
			       dg_error *err);
DG_API void dg_group_get_info(const dg_group *group, dg_group_info *out);
DG_API uint32_t dg_group_rank(const dg_group *group);
DG_API uint32_t dg_group_size(const dg_group *group);

typedef enum dg_group_scope {
	DG_GROUP_ALL = 0,  /* every member */
	DG_GROUP_ROLE = 1, /* the members of the caller's role */
} dg_group_scope;

/*
 * Waits until all have arrived that have not left; then everyone sees what any of them pushed before
 * by its client: before it arrives a member waits for the answers to its pushes. Barriers of a scope
 * come one after another; @name (NULL: none) is checked to be the same for all. @timeout_ms 0: 30 minutes.
 * After TIMEOUT the member has not arrived, and may try again; after CANCELLED it has, and the same
 * call goes on. Fails with MISMATCH (another is at a barrier of another name), DENIED (the rank is
 * another process's by now), TIMEOUT, CANCELLED, NOMEM.
 */
DG_API dg_status dg_group_barrier(dg_group *group, dg_group_scope scope, const char *name,
				  uint32_t timeout_ms, dg_error *err);

/*
 * Leaves, and frees the group whatever is returned. Barriers of the others wait for this member no
 * more. Returns once they know, some seconds at most. NULL is fine. Fails with TIMEOUT (after
 * the client's timeout), DENIED.
 */
DG_API dg_status dg_group_leave(dg_group *group, dg_error *err);

#ifdef __cplusplus
}
#endif

#endif
