/* missing.c -- whom somebody waits for, in words: rank, host, pid, last seen. */
#include "coordinator.h"
#include "ranks.h"

#include "fail.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define LINE_BYTES 400 /* of names; room is left in an error for what stands around them */

struct line {
	char text[LINE_BYTES];
	size_t n;
	unsigned n_omitted;
};

static void add(struct line *line, const char *item)
{
	size_t n = strlen(item);

	if (line->n_omitted || line->n + n + 3 > sizeof line->text) {
		line->n_omitted++;
		return;
	}
	line->n += (size_t)snprintf(line->text + line->n, sizeof line->text - line->n, "%s%s",
				    line->n ? ", " : "", item);
}

static void tell(dg_error *out, const char *what, const struct line *line)
{
	if (line->n_omitted)
		(void)dgi_fail(out, DG_TIMEOUT, "%.90s%s and %u more", what, line->text,
			       line->n_omitted);
	else
		(void)dgi_fail(out, DG_TIMEOUT, "%.90s%s", what, line->n ? line->text : "nobody");
}

static void add_slot(struct line *line, const struct dgi_group *g, uint32_t rank, int64_t now_ms)
{
	const struct dgi_group_slot *slot = &g->slots[rank];
	const uint32_t role = dgi_ranks_role_of(&g->place, rank);
	char item[256];
	uint32_t first;

	(void)dgi_ranks_role(&g->place, g->place.roles[role].name, &first);
	if (slot->claim)
		(void)snprintf(item, sizeof item,
			       "%s rank %" PRIu32 " (host %s, pid %" PRId64 ", %s %.1f s ago)",
			       g->place.roles[role].name, rank - first, slot->claim->host,
			       slot->claim->pid,
			       slot->state == DGI_SLOT_LOST ? "lost, last seen" : "last seen",
			       (double)(now_ms - slot->seen_ms) / 1000);
	else
		(void)snprintf(item, sizeof item,
			       "%s rank %" PRIu32 " (not seen since the server started)",
			       g->place.roles[role].name, rank - first);
	add(line, item);
}

bool dgi_group_takes_part(const struct dgi_group *g, uint32_t rank, enum dgi_group_scope scope,
			  uint32_t of)
{
	const struct dgi_group_slot *slot = &g->slots[rank];

	if (slot->state == DGI_SLOT_LEFT || slot->state == DGI_SLOT_LEAVING)
		return false;
	return scope == DGI_GROUP_ALL ||
	       dgi_ranks_role_of(&g->place, rank) == dgi_ranks_role_of(&g->place, of);
}

void dgi_group_tell_missing(const struct dgi_group *g, uint32_t rank, int64_t now_ms, dg_error *out)
{
	const struct dgi_group_slot *own = &g->slots[rank];
	struct line line = { .n = 0 };
	char what[192];

	(void)snprintf(what, sizeof what, "group '%.24s', barrier '%.24s': waits for ", g->name,
		       own->barrier);
	for (uint32_t i = 0; i < g->size; i++) {
		const struct dgi_group_slot *slot = &g->slots[i];

		if (dgi_group_takes_part(g, i, own->scope, rank) &&
		    !(slot->has_arrived && slot->scope == own->scope &&
		      slot->passed >= own->passed))
			add_slot(&line, g, i, now_ms);
	}
	tell(out, what, &line);
}

static void add_pending(struct line *line, const struct dgi_group_pending *p, int64_t now_ms)
{
	char item[256], rank[24] = "";

	if (p->claim.wanted_rank >= 0)
		(void)snprintf(rank, sizeof rank, " rank %" PRId32, p->claim.wanted_rank);
	(void)snprintf(item, sizeof item, "%s%s (host %s, pid %" PRId64 ", last seen %.1f s ago)",
		       p->claim.role, rank, p->claim.host, p->claim.pid,
		       (double)(now_ms - p->seen_ms) / 1000);
	add(line, item);
}

void dgi_group_tell_incomplete(const struct dgi_group *g, const struct dgi_group_pending *pending,
			       int64_t now_ms, dg_error *out)
{
	struct line line = { .n = 0 };
	char what[192];
	uint32_t n = 0;

	for (const struct dgi_group_pending *p = g->pending; p; p = p->next, n++)
		if (dgi_group_is_asleep(g))
			add_pending(&line, p, now_ms);
	if (!dgi_group_is_asleep(g)) {
		(void)snprintf(what, sizeof what,
			       "group '%.24s' of %" PRIu32 " has no free rank; it has ", g->name,
			       g->size);
		for (uint32_t i = 0; i < g->size; i++)
			if (g->slots[i].state != DGI_SLOT_LEFT)
				add_slot(&line, g, i, now_ms);
	} else {
		(void)snprintf(what, sizeof what,
			       "group '%.24s': %" PRIu32 " of %" PRIu32 " have come: ", g->name, n,
			       pending->claim.size);
	}
	tell(out, what, &line);
}
