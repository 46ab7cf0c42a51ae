/* ranks.c -- who gets which rank. */
#include "ranks.h"

#include "check.h"
#include "fail.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Trainers count from 0 in the group too. */
static int role_order(const char *role)
{
	if (strcmp(role, "default") == 0)
		return 0;
	return strcmp(role, "trainer") == 0 ? 1 : 2;
}

static int compare_roles(const char *a, const char *b)
{
	int order = role_order(a) - role_order(b);

	return order ? order : strcmp(a, b);
}

static int compare_numbers(int64_t a, int64_t b)
{
	return (a > b) - (a < b);
}

int dgi_ranks_compare(const struct dgi_group_claim *a, const struct dgi_group_claim *b)
{
	int order = compare_roles(a->role, b->role);

	if (!order)
		order = compare_numbers(a->machine, b->machine);
	if (!order) /* who asks for none comes last */
		order = compare_numbers((uint32_t)a->wanted_local, (uint32_t)b->wanted_local);
	if (!order)
		order = strcmp(a->host, b->host);
	if (!order)
		order = compare_numbers(a->pid, b->pid);
	return order ? order : memcmp(&a->id, &b->id, sizeof a->id);
}

static int compare_entries(const void *a, const void *b)
{
	return dgi_ranks_compare(*(struct dgi_group_claim *const *)a,
				 *(struct dgi_group_claim *const *)b);
}

/* Puts those that ask for a rank of the role there, the others into what is left. */
static dg_status order_role(struct dgi_group_claim **claims, size_t n,
			    struct dgi_group_claim **ordered, struct dgi_group_claim **bad,
			    dg_error *err)
{
	size_t next = 0;

	memset(ordered, 0, n * sizeof *ordered);
	for (size_t i = 0; i < n; i++) {
		int32_t wanted = claims[i]->wanted_rank;

		*bad = claims[i];
		if (wanted < 0)
			continue;
		if ((size_t)wanted >= n)
			return dgi_fail(err, DG_RANGE,
					"rank %" PRId32 " of role '%s', which has %zu members",
					wanted, claims[i]->role, n);
		if (ordered[wanted])
			return dgi_fail(err, DG_EXISTS,
					"rank %" PRId32 " of role '%s' is asked for twice, also by "
					"host %s, pid %" PRId64,
					wanted, claims[i]->role, ordered[wanted]->host,
					ordered[wanted]->pid);
		ordered[wanted] = claims[i];
	}
	for (size_t i = 0; i < n; i++) {
		if (claims[i]->wanted_rank >= 0)
			continue;
		while (ordered[next])
			next++;
		ordered[next] = claims[i];
	}
	memcpy(claims, ordered, n * sizeof *claims);
	return DG_OK;
}

static bool has_local(struct dgi_group_claim *const *claims, size_t n, int32_t machine,
		      uint32_t local)
{
	for (size_t i = 0; i < n; i++)
		if (claims[i]->machine == machine && claims[i]->wanted_local >= 0 &&
		    (uint32_t)claims[i]->wanted_local == local)
			return true;
	return false;
}

/* Local ranks of one machine that are not asked for go to the others in order of rank. */
static void place_locally(struct dgi_group_claim *const *claims, size_t n, size_t from)
{
	const int32_t machine = claims[from]->machine;
	uint32_t local = 0, n_local = 0;

	for (size_t i = from; i < n; i++)
		n_local += claims[i]->machine == machine;
	for (size_t i = from; i < n; i++) {
		struct dgi_group_place *place = &claims[i]->place;

		if (claims[i]->machine != machine)
			continue;
		place->n_local = n_local;
		if (claims[i]->wanted_local >= 0) {
			place->local_rank = (uint32_t)claims[i]->wanted_local;
			continue;
		}
		while (has_local(claims, n, machine, local))
			local++;
		place->local_rank = local++;
	}
}

static void place_role(struct dgi_group_claim *const *claims, size_t n, size_t first)
{
	for (size_t i = 0; i < n; i++) {
		claims[i]->place.rank = (uint32_t)(first + i);
		claims[i]->place.role_rank = (uint32_t)i;
		claims[i]->place.n_local = 0;
	}
	for (size_t i = 0; i < n; i++)
		if (claims[i]->place.n_local == 0)
			place_locally(claims, n, i);
}

dg_status dgi_ranks_assign(struct dgi_group_claim **claims, size_t n, struct dgi_group_claim **bad,
			   dg_error *err)
{
	struct dgi_group_claim **ordered = malloc(n * sizeof *ordered + 1);
	struct dgi_group_role roles[DGI_GROUP_ROLES_MAX] = { 0 };
	uint32_t n_roles = 0;
	dg_status st = DG_OK;

	*bad = NULL;
	if (!ordered)
		return dgi_fail_memory(err, "ranks");
	qsort(claims, n, sizeof *claims, compare_entries);
	for (size_t first = 0, end; !st && first < n; first = end) {
		*bad = claims[first];
		for (end = first; end < n && !strcmp(claims[end]->role, claims[first]->role); end++)
			;
		if (n_roles == DGI_GROUP_ROLES_MAX) {
			st = dgi_fail(err, DG_FULL, "role '%s': a group has at most %u",
				      claims[first]->role, DGI_GROUP_ROLES_MAX);
			break;
		}
		st = order_role(claims + first, end - first, ordered, bad, err);
		place_role(claims + first, end - first, first);
		memcpy(roles[n_roles].name, claims[first]->role, sizeof roles[n_roles].name);
		roles[n_roles++].size = (uint32_t)(end - first);
	}
	for (size_t i = 0; !st && i < n; i++) {
		claims[i]->place.n_roles = n_roles;
		memcpy(claims[i]->place.roles, roles, sizeof roles);
	}
	free(ordered);
	return st;
}

uint32_t dgi_ranks_role(const struct dgi_group_place *place, const char *role, uint32_t *first)
{
	uint32_t i = 0;

	*first = 0;
	for (; i < place->n_roles && strcmp(place->roles[i].name, role) != 0; i++)
		*first += place->roles[i].size;
	return i;
}

uint32_t dgi_ranks_role_of(const struct dgi_group_place *place, uint32_t rank)
{
	uint32_t i = 0;

	for (; i < place->n_roles && rank >= place->roles[i].size; i++)
		rank -= place->roles[i].size;
	DGI_ASSERT(i < place->n_roles); /* the rank is in the group */
	return i;
}
