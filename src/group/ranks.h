/*
 * ranks.h -- who gets which rank: the same whatever the order in which members came.
 *
 * Roles come in the order "default", "trainer", then by name; a role's members by machine, then by the
 * local rank they ask for, host, pid and id. Who asks for a rank of its role has it, others fill up.
 */
#ifndef DGI_RANKS_H
#define DGI_RANKS_H

#include "group.h"

#include <stddef.h>

/* The order of members that ask for nothing; never 0 for two members. */
int dgi_ranks_compare(const struct dgi_group_claim *a, const struct dgi_group_claim *b);

/*
 * Sets the place of all @n members of a group but for instance, life, passed and left. @claims is
 * put into order of ranks. Where a member asks for a rank that it cannot have, *bad is its claim.
 * Fails with RANGE (the role has fewer members), EXISTS (another asks for the same), FULL (roles).
 */
dg_status dgi_ranks_assign(struct dgi_group_claim **claims, size_t n, struct dgi_group_claim **bad,
			   dg_error *err);

/* The place of @role in the table; n_roles where it is not there. *first is its first rank. */
uint32_t dgi_ranks_role(const struct dgi_group_place *place, const char *role, uint32_t *first);
/* The role of @rank, which is in the group. */
uint32_t dgi_ranks_role_of(const struct dgi_group_place *place, uint32_t rank);

#endif
