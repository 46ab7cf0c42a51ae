/* coordinator.c -- the groups of a graph: members, ranks, barriers. */
#include "coordinator.h"
#include "ranks.h"

#include "check.h"
#include "fail.h"
#include "uuid.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define FORGET_MS (3600 * 1000) /* a group of which nobody lives */

void dgi_coordinator_init(struct dgi_coordinator *c, uint64_t instances, int64_t lease_ms,
			  dgi_group_sink *sink, void *context)
{
	*c = (struct dgi_coordinator){
		.instances = instances, .lease_ms = lease_ms, .sink = sink, .context = context
	};
}

/* --- Answers --- */

static struct dgi_group_place place_of(const struct dgi_group *g, uint32_t rank)
{
	struct dgi_group_place place = g->slots[rank].claim->place;

	memcpy(place.left, g->place.left, sizeof place.left);
	return place;
}

/* Takes *token, which is 0 afterwards. */
static void answer(struct dgi_coordinator *c, uint64_t *token, const struct dgi_group_answer *a)
{
	const uint64_t to = *token;

	*token = 0;
	if (to)
		c->sink(c->context, to, a);
}

static void refuse(struct dgi_coordinator *c, uint64_t *token, enum dgi_group_kind kind,
		   dg_status status, const dg_error *error)
{
	struct dgi_group_answer a = { .kind = kind, .status = status, .error = *error };

	a.error.status = status;
	answer(c, token, &a);
}

/* Nothing was decided: a newer request has come, or the lease has run out. */
static void cancel(struct dgi_coordinator *c, uint64_t *token, enum dgi_group_kind kind)
{
	dg_error err;

	(void)dgi_fail(&err, DG_CANCELLED, "asked again, or not heard of for too long");
	refuse(c, token, kind, DG_CANCELLED, &err);
}

static void welcome(struct dgi_coordinator *c, const struct dgi_group *g, uint32_t rank,
		    uint64_t *token, enum dgi_group_kind kind)
{
	struct dgi_group_answer a = { .kind = kind, .place = place_of(g, rank) };

	answer(c, token, &a);
}

/* --- Groups --- */

static struct dgi_group *find_group(struct dgi_coordinator *c, const char *name)
{
	struct dgi_group *g = c->groups;

	while (g && strcmp(g->name, name) != 0)
		g = g->next;
	return g;
}

static struct dgi_group *need_group(struct dgi_coordinator *c, const char *name, dg_error *err)
{
	struct dgi_group *g = find_group(c, name);

	if (g)
		return g;
	if (c->n_groups == DGI_GROUPS_MAX) {
		(void)dgi_fail(err, DG_FULL, "group '%s': the server has %u groups", name,
			       DGI_GROUPS_MAX);
		return NULL;
	}
	g = calloc(1, sizeof *g);
	if (!g) {
		(void)dgi_fail_memory(err, "group");
		return NULL;
	}
	memcpy(g->name, name, strlen(name) + 1);
	g->next = c->groups;
	c->groups = g;
	c->n_groups++;
	return g;
}

bool dgi_group_is_asleep(const struct dgi_group *g)
{
	for (uint32_t i = 0; i < g->size; i++)
		if (g->slots[i].state != DGI_SLOT_LEFT && g->slots[i].state != DGI_SLOT_LOST)
			return false;
	return true;
}

static void clear_slots(struct dgi_group *g)
{
	for (uint32_t i = 0; g->slots && i < g->size; i++)
		free(g->slots[i].claim);
	free(g->slots);
	g->slots = NULL;
	g->size = 0;
	g->place = (struct dgi_group_place){ 0 };
	memset(g->passed_by_role, 0, sizeof g->passed_by_role);
}

static void drop_pending(struct dgi_coordinator *c, struct dgi_group *g,
			 struct dgi_group_pending *p)
{
	struct dgi_group_pending **at = &g->pending;

	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	c->n_pending--;
	free(p);
}

static void drop_group(struct dgi_coordinator *c, struct dgi_group *g)
{
	struct dgi_group **at = &c->groups;

	while (*at != g)
		at = &(*at)->next;
	*at = g->next;
	c->n_groups--;
	while (g->pending)
		drop_pending(c, g, g->pending);
	clear_slots(g);
	free(g);
}

void dgi_coordinator_clear(struct dgi_coordinator *c)
{
	while (c->groups)
		drop_group(c, c->groups);
}

/* What all members share of the group, as @place has it; nobody of it has been heard of. */
static dg_status found(struct dgi_coordinator *c, struct dgi_group *g,
		       const struct dgi_group_place *place, uint32_t size, dg_error *err)
{
	struct dgi_group_slot *slots = calloc(size, sizeof *slots);

	if (!slots)
		return dgi_fail_memory(err, "group");
	g->slots = slots;
	g->size = size;
	g->place = *place;
	memset(g->place.left, 0, sizeof g->place.left);
	memset(g->place.passed, 0, sizeof g->place.passed);
	for (uint32_t i = 0; i < size; i++)
		slots[i].seen_ms = c->now_ms;
	return DG_OK;
}

/* --- Leaving --- */

static void forget_arrival(struct dgi_coordinator *c, struct dgi_group_slot *slot)
{
	slot->has_arrived = false;
	cancel(c, &slot->barrier_token, DGI_GROUP_BARRIER);
}

static void note_left(struct dgi_group *g, uint32_t rank)
{
	if (dgi_group_has_left(&g->place, rank))
		return;
	g->place.left[rank / 64] |= UINT64_C(1) << (rank % 64);
	for (uint32_t i = 0; i < g->size; i++)
		g->slots[i].knows_left = false;
}

/* Does @known have all that have left? */
static bool knows_left(const struct dgi_group *g, const struct dgi_group_place *known)
{
	for (size_t i = 0; i < DGI_GROUP_LEFT_WORDS; i++)
		if (g->place.left[i] & ~known->left[i])
			return false;
	return true;
}

/* A leave is told only once nobody can wait for the leaver any more, were this server restarted. */
static void answer_leaves(struct dgi_coordinator *c, struct dgi_group *g)
{
	for (uint32_t i = 0; i < g->size; i++)
		if (g->slots[i].state == DGI_SLOT_UNHEARD ||
		    (g->slots[i].state == DGI_SLOT_LIVE && !g->slots[i].knows_left))
			return;
	for (uint32_t i = 0; i < g->size; i++) {
		struct dgi_group_slot *slot = &g->slots[i];
		struct dgi_group_answer a = { .kind = DGI_GROUP_LEAVE };

		if (slot->state != DGI_SLOT_LEAVING)
			continue;
		slot->state = DGI_SLOT_LEFT;
		answer(c, &slot->leave_token, &a);
	}
}

/* --- Barriers --- */

static uint64_t *passed_of(struct dgi_group *g, enum dgi_group_scope scope, uint32_t rank)
{
	return scope == DGI_GROUP_ALL ? &g->place.passed[DGI_GROUP_ALL]
				      : &g->passed_by_role[dgi_ranks_role_of(&g->place, rank)];
}

/* A barrier that any member has passed is passed. */
static void note_passed(struct dgi_group *g, uint32_t rank, const uint64_t passed[DGI_GROUP_SCOPES])
{
	for (int scope = 0; scope < DGI_GROUP_SCOPES; scope++) {
		uint64_t *mark = passed_of(g, (enum dgi_group_scope)scope, rank);

		*mark = passed[scope] > *mark ? passed[scope] : *mark;
	}
}

static void release(struct dgi_coordinator *c, struct dgi_group *g, uint32_t rank)
{
	struct dgi_group_slot *slot = &g->slots[rank];
	uint64_t *passed = &slot->claim->place.passed[slot->scope];

	slot->has_arrived = false;
	*passed = slot->passed + 1;
	welcome(c, g, rank, &slot->barrier_token, DGI_GROUP_BARRIER);
}

static bool is_complete(const struct dgi_group *g, uint32_t rank)
{
	const struct dgi_group_slot *own = &g->slots[rank];

	for (uint32_t i = 0; i < g->size; i++) {
		const struct dgi_group_slot *slot = &g->slots[i];

		if (dgi_group_takes_part(g, i, own->scope, rank) &&
		    !(slot->has_arrived && slot->scope == own->scope &&
		      slot->passed == own->passed))
			return false;
	}
	return true;
}

/* Of the scope of the member that has arrived first in it, for each such. */
static void pass_barriers(struct dgi_coordinator *c, struct dgi_group *g)
{
	bool seen[1 + DGI_GROUP_ROLES_MAX] = { false };

	for (uint32_t i = 0; i < g->size; i++) {
		const struct dgi_group_slot *slot = &g->slots[i];
		uint64_t *passed;
		uint32_t number;

		if (!slot->has_arrived)
			continue;
		passed = passed_of(g, slot->scope, i);
		number = slot->scope == DGI_GROUP_ALL ? 0 : 1 + dgi_ranks_role_of(&g->place, i);
		if (slot->passed == *passed && !seen[number]) {
			seen[number] = true;
			*passed += is_complete(g, i);
		}
	}
	for (uint32_t i = 0; i < g->size; i++)
		if (g->slots[i].has_arrived &&
		    g->slots[i].passed < *passed_of(g, g->slots[i].scope, i))
			release(c, g, i);
}

/* --- Places --- */

static void settle_in(struct dgi_coordinator *c, struct dgi_group *g, uint32_t rank,
		      struct dgi_group_claim *claim)
{
	struct dgi_group_slot *slot = &g->slots[rank];

	forget_arrival(c, slot);
	cancel(c, &slot->leave_token, DGI_GROUP_LEAVE);
	free(slot->claim);
	slot->claim = claim;
	slot->state = DGI_SLOT_LIVE;
	slot->seen_ms = c->now_ms;
	slot->knows_left = knows_left(g, &claim->place);
}

/* Is somebody there who has, or waits for, the rank that @p asks for? He came first. */
static bool is_shadowed(const struct dgi_group *g, const struct dgi_group_pending *p)
{
	const struct dgi_group_pending *other = g->pending;

	if (p->claim.wanted_rank < 0)
		return false;
	while (other != p && (!other->token || other->claim.wanted_rank != p->claim.wanted_rank ||
			      strcmp(other->claim.role, p->claim.role) != 0))
		other = other->next;
	return other != p;
}

/* One without a connection may be dead, and come again as another. */
static size_t collect(struct dgi_group *g, uint32_t size, struct dgi_group_claim **out)
{
	size_t n = 0;

	for (struct dgi_group_pending *p = g->pending; p && n < size; p = p->next)
		if (p->token && p->claim.size == size && !is_shadowed(g, p))
			out[n++] = &p->claim;
	return n;
}

static struct dgi_group_pending *pending_of(struct dgi_group_claim *claim)
{
	return (struct dgi_group_pending *)(void *)((char *)claim -
						    offsetof(struct dgi_group_pending, claim));
}

/* From waiting for a rank to having it: claim->place is set. */
static dg_status move_in(struct dgi_coordinator *c, struct dgi_group *g,
			 struct dgi_group_pending *p)
{
	struct dgi_group_claim *claim = malloc(sizeof *claim);
	const uint32_t rank = p->claim.place.rank;
	uint64_t token = p->token;

	if (!claim)
		return DG_NOMEM; /* tried again by the next tick */
	*claim = p->claim;
	memcpy(claim->place.left, g->place.left, sizeof claim->place.left);
	drop_pending(c, g, p);
	settle_in(c, g, rank, claim);
	g->slots[rank].seen_ms = c->now_ms;
	welcome(c, g, rank, &token, DGI_GROUP_JOIN);
	return DG_OK;
}

static void refuse_pending(struct dgi_coordinator *c, struct dgi_group *g,
			   struct dgi_group_pending *p, dg_status status, const dg_error *err)
{
	refuse(c, &p->token, DGI_GROUP_JOIN, status, err);
	drop_pending(c, g, p);
}

static void form_of(struct dgi_coordinator *c, struct dgi_group *g, struct dgi_group_claim **claims,
		    uint32_t size)
{
	struct dgi_group_claim *bad;
	dg_error err = { 0 };
	dg_status st = dgi_ranks_assign(claims, size, &bad, &err);

	if (st == DG_NOMEM)
		return;
	if (st) {
		refuse_pending(c, g, pending_of(bad), st, &err);
		return;
	}
	clear_slots(g);
	if (found(c, g, &claims[0]->place, size, &err) != DG_OK)
		return;
	g->place.instance = ++c->instances ? c->instances : ++c->instances;
	for (uint32_t i = 0; i < size; i++) {
		claims[i]->place.instance = g->place.instance;
		claims[i]->place.life = 1;
	}
	/* What is left for want of memory is unheard of, and placed once it is taken for lost. */
	for (uint32_t i = 0; i < size; i++)
		(void)move_in(c, g, pending_of(claims[i]));
}

/* A group begins when as many as it is to have are there; one before it of which nobody lives ends. */
static void form(struct dgi_coordinator *c, struct dgi_group *g)
{
	uint32_t size = g->pending->claim.size;
	struct dgi_group_claim **claims = malloc(size * sizeof *claims);

	if (claims && collect(g, size, claims) == size)
		form_of(c, g, claims, size);
	free(claims);
}

/* The rank of a lost member for one that comes: of the same machine, if there is. size: none. */
static uint32_t find_vacancy(const struct dgi_group *g, const struct dgi_group_claim *claim)
{
	uint32_t first, best = g->size;
	uint32_t role = dgi_ranks_role(&g->place, claim->role, &first);

	for (uint32_t i = 0; role < g->place.n_roles && i < g->place.roles[role].size; i++) {
		const uint32_t rank = first + i;
		const struct dgi_group_claim *last = g->slots[rank].claim;

		if (g->slots[rank].state != DGI_SLOT_LOST ||
		    (claim->wanted_rank >= 0 && (uint32_t)claim->wanted_rank != i))
			continue;
		if (last && last->machine == claim->machine)
			return rank;
		best = best == g->size ? rank : best;
	}
	return best;
}

static void inherit(struct dgi_group *g, struct dgi_group_claim *claim, uint32_t rank)
{
	const struct dgi_group_slot *slot = &g->slots[rank];
	uint32_t first, n_local = 0;
	bool taken[DGI_GROUP_MEMBERS_MAX] = { false };

	claim->place = slot->claim ? slot->claim->place : g->place;
	claim->place.rank = rank;
	(void)dgi_ranks_role(&g->place, claim->role, &first);
	claim->place.role_rank = rank - first;
	claim->place.life = slot->claim ? slot->claim->place.life + 1 : 2;
	claim->place.passed[DGI_GROUP_ALL] = *passed_of(g, DGI_GROUP_ALL, rank);
	claim->place.passed[DGI_GROUP_ROLE] = *passed_of(g, DGI_GROUP_ROLE, rank);
	if (slot->claim && slot->claim->machine == claim->machine)
		return;
	for (uint32_t i = 0; i < g->size; i++) {
		const struct dgi_group_claim *other = g->slots[i].claim;

		if (i == rank || !other || other->machine != claim->machine ||
		    strcmp(other->role, claim->role) != 0)
			continue;
		n_local++;
		if (other->place.local_rank < DGI_GROUP_MEMBERS_MAX)
			taken[other->place.local_rank] = true;
	}
	claim->place.n_local = n_local + 1;
	for (claim->place.local_rank = 0; taken[claim->place.local_rank];)
		claim->place.local_rank++;
}

/* The next of those that wait, in the order of ranks, for whom there is a vacancy. */
static struct dgi_group_pending *next_heir(const struct dgi_group *g, uint32_t *rank)
{
	struct dgi_group_pending *best = NULL;

	for (struct dgi_group_pending *p = g->pending; p; p = p->next) {
		uint32_t vacancy;

		if (best && dgi_ranks_compare(&best->claim, &p->claim) < 0)
			continue;
		vacancy = p->claim.size == g->size ? find_vacancy(g, &p->claim) : g->size;
		if (vacancy == g->size)
			continue;
		best = p;
		*rank = vacancy;
	}
	return best;
}

/*
 * Those that wait get the ranks of those that are lost. A rank that was not heard of since a restart
 * is not lost before its lease has run out: its member may live, and the one that waits may be there
 * for the next group.
 */
static void fill_vacancies(struct dgi_coordinator *c, struct dgi_group *g)
{
	struct dgi_group_pending *p;
	uint32_t rank = 0;

	while ((p = next_heir(g, &rank)) != NULL) {
		inherit(g, &p->claim, rank);
		if (move_in(c, g, p) != DG_OK)
			return;
	}
}

/* --- Time --- */

static bool is_over(const struct dgi_coordinator *c, int64_t since_ms)
{
	return c->now_ms - since_ms > c->lease_ms;
}

static void expire_slots(struct dgi_coordinator *c, struct dgi_group *g)
{
	for (uint32_t i = 0; i < g->size; i++) {
		struct dgi_group_slot *slot = &g->slots[i];

		if (is_over(c, slot->seen_ms) &&
		    (slot->state == DGI_SLOT_LIVE || slot->state == DGI_SLOT_UNHEARD)) {
			slot->state = DGI_SLOT_LOST;
			forget_arrival(c, slot);
		}
		if (slot->has_arrived && c->now_ms >= slot->barrier_deadline_ms) {
			dg_error err;

			dgi_group_tell_missing(g, i, c->now_ms, &err);
			slot->has_arrived = false;
			refuse(c, &slot->barrier_token, DGI_GROUP_BARRIER, DG_TIMEOUT, &err);
		}
	}
}

/* The one that came first with the rank that @p asks for still lives, a lease after @p came. */
static bool is_twice(const struct dgi_coordinator *c, const struct dgi_group *g,
		     const struct dgi_group_pending *p)
{
	return is_over(c, p->since_ms) && is_shadowed(g, p);
}

static void expire_pending(struct dgi_coordinator *c, struct dgi_group *g)
{
	struct dgi_group_pending *next;

	for (struct dgi_group_pending *p = g->pending; p; p = next) {
		dg_error err;

		next = p->next;
		if (is_over(c, p->seen_ms)) {
			cancel(c, &p->token, DGI_GROUP_JOIN);
			drop_pending(c, g, p);
		} else if (c->now_ms >= p->deadline_ms) {
			dgi_group_tell_incomplete(g, p, c->now_ms, &err);
			refuse_pending(c, g, p, DG_TIMEOUT, &err);
		} else if (is_twice(c, g, p)) {
			(void)dgi_fail(
				&err, DG_EXISTS,
				"group '%s': another member that waits asks for rank %" PRId32
				" of role '%s'",
				g->name, p->claim.wanted_rank, p->claim.role);
			refuse_pending(c, g, p, DG_EXISTS, &err);
		}
	}
}

/* Nobody will come back: all have left, or it is long ago. */
static bool is_forgotten(const struct dgi_coordinator *c, const struct dgi_group *g)
{
	for (uint32_t i = 0; i < g->size; i++)
		if (g->slots[i].state != DGI_SLOT_LEFT &&
		    (g->slots[i].state != DGI_SLOT_LOST ||
		     c->now_ms - g->slots[i].seen_ms <= FORGET_MS))
			return false;
	return true;
}

/* All that follows from what has happened; frees a group that nobody needs any more. */
static void move_on(struct dgi_coordinator *c, struct dgi_group *g)
{
	expire_slots(c, g);
	expire_pending(c, g);
	if (!dgi_group_is_asleep(g)) {
		fill_vacancies(c, g);
		pass_barriers(c, g);
		answer_leaves(c, g);
	}
	if (g->place.instance && is_forgotten(c, g))
		clear_slots(g);
	if (dgi_group_is_asleep(g) && g->pending)
		form(c, g);
	if (!g->place.instance && !g->pending)
		drop_group(c, g);
}

void dgi_coordinator_tick(struct dgi_coordinator *c, int64_t now_ms)
{
	struct dgi_group *next;

	c->now_ms = now_ms;
	for (struct dgi_group *g = c->groups; g; g = next) {
		next = g->next;
		move_on(c, g);
	}
}

void dgi_coordinator_forget(struct dgi_coordinator *c, uint64_t token)
{
	for (struct dgi_group *g = c->groups; g; g = g->next) {
		for (struct dgi_group_pending *p = g->pending; p; p = p->next)
			p->token = p->token == token ? 0 : p->token;
		for (uint32_t i = 0; i < g->size; i++) {
			struct dgi_group_slot *s = &g->slots[i];

			s->barrier_token = s->barrier_token == token ? 0 : s->barrier_token;
			s->leave_token = s->leave_token == token ? 0 : s->leave_token;
		}
	}
}

/* --- Requests of those that have no rank --- */

static struct dgi_group_pending *find_pending(const struct dgi_group *g, const dg_uuid *id)
{
	struct dgi_group_pending *p = g->pending;

	while (p && !dgi_uuid_equal(&p->claim.id, id))
		p = p->next;
	return p;
}

static dg_status check_new(const struct dgi_coordinator *c, const struct dgi_group *g,
			   const struct dgi_group_claim *claim, dg_error *err)
{
	uint32_t size = g->pending ? g->pending->claim.size : claim->size;

	if (claim->size != size)
		return dgi_fail(err, DG_MISMATCH,
				"group '%s' of %" PRIu32 ": others wait for it to be of %" PRIu32,
				g->name, claim->size, size);
	if (claim->wanted_rank >= 0 && (uint32_t)claim->wanted_rank >= size)
		return dgi_fail(err, DG_RANGE, "rank %" PRId32 " in group '%s' of %" PRIu32,
				claim->wanted_rank, g->name, size);
	if (c->n_pending == DGI_GROUP_WAITING_MAX)
		return dgi_fail(err, DG_FULL, "group '%s': %u wait for ranks already", g->name,
				DGI_GROUP_WAITING_MAX);
	return DG_OK;
}

static dg_status add_pending(struct dgi_coordinator *c, struct dgi_group *g,
			     const struct dgi_group_claim *claim, struct dgi_group_pending **out,
			     dg_error *err)
{
	struct dgi_group_pending **at = &g->pending;
	dg_status st = check_new(c, g, claim, err);

	if (st)
		return st;
	while (*at)
		at = &(*at)->next;
	*at = calloc(1, sizeof **at);
	if (!*at)
		return dgi_fail_memory(err, "group");
	(*at)->claim = *claim;
	(*at)->since_ms = c->now_ms;
	(*at)->deadline_ms = INT64_MAX;
	c->n_pending++;
	*out = *at;
	return DG_OK;
}

static uint32_t find_rank(const struct dgi_group *g, const dg_uuid *id)
{
	for (uint32_t i = 0; i < g->size; i++)
		if (g->slots[i].state == DGI_SLOT_LIVE &&
		    dgi_uuid_equal(&g->slots[i].claim->id, id))
			return i;
	return g->size;
}

static void beat_pending(struct dgi_coordinator *c, const struct dgi_group *g,
			 const struct dgi_group_pending *p, uint64_t *token)
{
	struct dgi_group_answer a = { .kind = DGI_GROUP_BEAT };

	if (p)
		dgi_group_tell_incomplete(g, p, c->now_ms, &a.error);
	answer(c, token, &a);
}

static void join(struct dgi_coordinator *c, struct dgi_group *g, const struct dgi_group_request *r,
		 uint64_t *token)
{
	struct dgi_group_pending *p = find_pending(g, &r->claim->id);
	dg_error err = { 0 };
	dg_status st = p ? DG_OK : add_pending(c, g, r->claim, &p, &err);

	if (st) {
		refuse(c, token, r->kind, st, &err);
		return;
	}
	cancel(c, &p->token, DGI_GROUP_JOIN);
	p->token = *token;
	p->seen_ms = c->now_ms;
	p->deadline_ms = r->deadline_ms;
	*token = 0;
}

static void ask_without_place(struct dgi_coordinator *c, struct dgi_group *g,
			      const struct dgi_group_request *r, uint64_t *token)
{
	struct dgi_group_pending *p = find_pending(g, &r->claim->id);
	const uint32_t rank = find_rank(g, &r->claim->id);
	struct dgi_group_answer left = { .kind = DGI_GROUP_LEAVE };
	dg_error err;

	if (rank < g->size)
		g->slots[rank].seen_ms = c->now_ms;
	if (p)
		p->seen_ms = c->now_ms;
	switch (r->kind) {
	case DGI_GROUP_JOIN: /* has its place, and the answer that told so was lost; or not */
		if (rank < g->size)
			welcome(c, g, rank, token, DGI_GROUP_JOIN);
		else
			join(c, g, r, token);
		break;
	case DGI_GROUP_BEAT:
		beat_pending(c, g, p, token);
		break;
	case DGI_GROUP_LEAVE: /* gives up; the rank that it was given meanwhile has a lease */
		if (p) {
			cancel(c, &p->token, DGI_GROUP_JOIN);
			drop_pending(c, g, p);
		}
		answer(c, token, &left);
		break;
	case DGI_GROUP_BARRIER:
		(void)dgi_fail(&err, DG_INVALID, "group '%s': a barrier of no member", g->name);
		refuse(c, token, r->kind, DG_INVALID, &err);
		break;
	}
}

/* --- Requests of members --- */

static dg_status check_rank(struct dgi_coordinator *c, struct dgi_group *g,
			    const struct dgi_group_claim *claim, dg_error *err)
{
	const struct dgi_group_place *place = &claim->place;
	const struct dgi_group_slot *slot;

	if (!g->place.instance) {
		dg_status st = found(c, g, place, claim->size, err);

		if (st)
			return st;
	}
	if (g->place.instance != place->instance || g->size != claim->size ||
	    g->place.n_roles != place->n_roles ||
	    memcmp(g->place.roles, place->roles, sizeof place->roles) != 0)
		return dgi_fail(err, DG_DENIED, "group '%s' has ended, and another one begun",
				g->name);
	slot = &g->slots[place->rank];
	if (slot->claim && !dgi_uuid_equal(&slot->claim->id, &claim->id) &&
	    slot->claim->place.life >= place->life)
		return dgi_fail(err, DG_DENIED,
				"group '%s': rank %" PRIu32 " was given to host %s, pid %" PRId64
				" meanwhile",
				g->name, place->rank, slot->claim->host, slot->claim->pid);
	return DG_OK;
}

/* Takes in all that a member knows. */
static dg_status recognise(struct dgi_coordinator *c, struct dgi_group *g,
			   const struct dgi_group_claim *claim, dg_error *err)
{
	struct dgi_group_claim *own;
	struct dgi_group_slot *slot;
	dg_status st = check_rank(c, g, claim, err);

	if (st)
		return st;
	slot = &g->slots[claim->place.rank];
	note_passed(g, claim->place.rank, claim->place.passed);
	for (uint32_t i = 0; i < g->size; i++)
		if (dgi_group_has_left(&claim->place, i))
			note_left(g, i);
	if ((slot->state == DGI_SLOT_LIVE || slot->state == DGI_SLOT_LEAVING) &&
	    dgi_uuid_equal(&slot->claim->id, &claim->id)) {
		slot->claim->place = claim->place;
		slot->seen_ms = c->now_ms;
		slot->knows_left = knows_left(g, &claim->place);
		return DG_OK;
	}
	if (slot->state == DGI_SLOT_LEFT)
		return DG_OK;
	own = malloc(sizeof *own);
	if (!own)
		return dgi_fail_memory(err, "group");
	*own = *claim;
	settle_in(c, g, claim->place.rank, own);
	return DG_OK;
}

/* Those that somebody said to have left, and who have not been heard of, have. */
static void believe_left(struct dgi_group *g)
{
	for (uint32_t i = 0; i < g->size; i++)
		if (dgi_group_has_left(&g->place, i) &&
		    (g->slots[i].state == DGI_SLOT_UNHEARD || g->slots[i].state == DGI_SLOT_LOST))
			g->slots[i].state = DGI_SLOT_LEFT;
}

static dg_status check_name(const struct dgi_group *g, uint32_t rank,
			    const struct dgi_group_request *r, dg_error *err)
{
	for (uint32_t i = 0; i < g->size; i++) {
		const struct dgi_group_slot *slot = &g->slots[i];

		if (i == rank || !slot->has_arrived || slot->scope != r->scope ||
		    slot->passed != r->claim->place.passed[r->scope] ||
		    !dgi_group_takes_part(g, i, r->scope, rank) ||
		    strcmp(slot->barrier, r->barrier) == 0)
			continue;
		return dgi_fail(err, DG_MISMATCH,
				"group '%s': rank %" PRIu32 " is at barrier '%s', rank %" PRIu32
				" (host %s, pid %" PRId64 ") at '%s'",
				g->name, rank, r->barrier, i, slot->claim->host, slot->claim->pid,
				slot->barrier);
	}
	return DG_OK;
}

static void arrive(struct dgi_coordinator *c, struct dgi_group *g,
		   const struct dgi_group_request *r, uint64_t *token)
{
	const uint32_t rank = r->claim->place.rank;
	struct dgi_group_slot *slot = &g->slots[rank];
	dg_error err = { 0 };
	dg_status st = check_name(g, rank, r, &err);

	forget_arrival(c, slot);
	if (st) {
		refuse(c, token, r->kind, st, &err);
		return;
	}
	slot->has_arrived = true;
	slot->scope = r->scope;
	slot->passed = r->claim->place.passed[r->scope];
	slot->barrier_token = *token;
	slot->barrier_deadline_ms = r->deadline_ms;
	memcpy(slot->barrier, r->barrier, sizeof slot->barrier);
	*token = 0;
}

static void leave(struct dgi_coordinator *c, struct dgi_group *g, uint32_t rank, uint64_t *token)
{
	struct dgi_group_slot *slot = &g->slots[rank];

	forget_arrival(c, slot);
	cancel(c, &slot->leave_token, DGI_GROUP_LEAVE);
	slot->state = DGI_SLOT_LEAVING;
	slot->leave_token = *token;
	*token = 0;
	note_left(g, rank);
}

static void ask_with_place(struct dgi_coordinator *c, struct dgi_group *g,
			   const struct dgi_group_request *r, uint64_t *token)
{
	const uint32_t rank = r->claim->place.rank;
	struct dgi_group_answer a = { .kind = r->kind };
	dg_error err = { 0 };
	dg_status st = recognise(c, g, r->claim, &err);

	if (!st)
		believe_left(g);
	if (!st && r->kind != DGI_GROUP_LEAVE &&
	    (g->slots[rank].state == DGI_SLOT_LEFT || g->slots[rank].state == DGI_SLOT_LEAVING))
		st = dgi_fail(&err, DG_DENIED, "group '%s': rank %" PRIu32 " has left", g->name,
			      rank);
	if (st) {
		refuse(c, token, r->kind, st, &err);
		return;
	}
	switch (r->kind) {
	case DGI_GROUP_JOIN:
		welcome(c, g, rank, token, r->kind);
		break;
	case DGI_GROUP_BEAT:
		a.place = place_of(g, rank);
		if (g->slots[rank].has_arrived)
			dgi_group_tell_missing(g, rank, c->now_ms, &a.error);
		answer(c, token, &a);
		break;
	case DGI_GROUP_BARRIER:
		arrive(c, g, r, token);
		break;
	case DGI_GROUP_LEAVE:
		if (g->slots[rank].state == DGI_SLOT_LEFT)
			answer(c, token, &a);
		else
			leave(c, g, rank, token);
		break;
	}
}

void dgi_coordinator_ask(struct dgi_coordinator *c, const struct dgi_group_request *r,
			 int64_t now_ms)
{
	uint64_t token = r->token;
	dg_error err = { 0 };
	struct dgi_group *g;

	c->now_ms = now_ms;
	g = need_group(c, r->claim->group, &err);
	if (!g) {
		refuse(c, &token, r->kind, err.status, &err);
		return;
	}
	if (r->claim->place.instance)
		ask_with_place(c, g, r, &token);
	else
		ask_without_place(c, g, r, &token);
	move_on(c, g);
}
