/* membership.c -- a member's side of its group. */
#include "membership.h"

#include "check.h"
#include "fail.h"

#include <string.h>

#define AGAIN_MS 100  /* the pause after "ask again" */
#define GRACE_MS 2000 /* for the coordinator to say who was missing, which it knows better */

static void want(struct dgi_membership *m, enum dgi_group_kind kind, int64_t deadline_ms)
{
	DGI_ASSERT(!m->is_waiting);
	m->is_waiting = true;
	m->is_sent = false;
	m->wanted = kind;
	m->deadline_ms = deadline_ms;
	m->status = DG_OK;
	m->missing.text[0] = '\0';
	m->ask_at_ms = 0;
}

void dgi_membership_init(struct dgi_membership *m, const struct dgi_group_claim *claim,
			 int64_t beat_every_ms, int64_t deadline_ms)
{
	*m = (struct dgi_membership){ .claim = *claim, .beat_every_ms = beat_every_ms };
	m->claim.place = (struct dgi_group_place){ 0 };
	want(m, DGI_GROUP_JOIN, deadline_ms);
}

void dgi_membership_arrive(struct dgi_membership *m, enum dgi_group_scope scope,
			   const char *barrier, int64_t deadline_ms)
{
	DGI_ASSERT(m->claim.place.instance && strlen(barrier) < sizeof m->barrier);
	want(m, DGI_GROUP_BARRIER, deadline_ms);
	m->scope = scope;
	memset(m->barrier, 0, sizeof m->barrier);
	memcpy(m->barrier, barrier, strlen(barrier));
}

void dgi_membership_leave(struct dgi_membership *m, int64_t deadline_ms)
{
	want(m, DGI_GROUP_LEAVE, deadline_ms);
}

/* Whoever leaves, or has left, says nothing else: a beat would look like staying. */
static bool has_to_beat(const struct dgi_membership *m)
{
	return !m->is_over && m->wanted != DGI_GROUP_LEAVE;
}

bool dgi_membership_next(struct dgi_membership *m, int64_t now_ms, struct dgi_group_request *out)
{
	*out = (struct dgi_group_request){ .claim = &m->claim };
	if (m->is_waiting && !m->is_sent && now_ms >= m->ask_at_ms) {
		m->is_sent = true;
		m->wanted_token = out->token = ++m->last_token;
		out->kind = m->wanted;
		out->scope = m->scope;
		out->deadline_ms = m->deadline_ms;
		memcpy(out->barrier, m->barrier, sizeof out->barrier);
		return true;
	}
	if (m->has_beat || now_ms < m->beat_at_ms || !has_to_beat(m))
		return false;
	m->has_beat = true;
	out->token = ++m->last_token;
	m->beat_at_ms = now_ms + m->beat_every_ms;
	out->kind = DGI_GROUP_BEAT;
	return true;
}

int64_t dgi_membership_wakes_ms(const struct dgi_membership *m)
{
	int64_t at_ms = m->is_waiting ? m->deadline_ms : INT64_MAX;

	if (m->is_waiting && !m->is_sent && m->ask_at_ms < at_ms)
		at_ms = m->ask_at_ms;
	if (!m->has_beat && has_to_beat(m) && m->beat_at_ms < at_ms)
		at_ms = m->beat_at_ms;
	return at_ms;
}

static void end_wait(struct dgi_membership *m, dg_status status, const dg_error *error)
{
	m->is_waiting = false;
	m->status = status;
	m->error = *error;
	if (status)
		m->error.status = status;
	if (status != DG_OK && m->wanted == DGI_GROUP_JOIN)
		m->is_over = true;
	if (m->wanted == DGI_GROUP_LEAVE)
		m->is_over = true;
}

static void learn_left(struct dgi_membership *m, const struct dgi_group_place *place)
{
	for (size_t i = 0; i < DGI_GROUP_LEFT_WORDS; i++)
		m->claim.place.left[i] |= place->left[i];
}

static void take_beat(struct dgi_membership *m, const struct dgi_group_answer *a)
{
	m->has_beat = false;
	if (a->status == DG_DENIED)
		m->is_over = true;
	if (a->status)
		return;
	if (m->claim.place.instance && a->place.instance == m->claim.place.instance) {
		/* Word of others that have left is passed on at once: they wait for it. */
		if (memcmp(m->claim.place.left, a->place.left, sizeof a->place.left) != 0)
			m->beat_at_ms = 0;
		learn_left(m, &a->place);
	}
	m->missing = a->error;
}

void dgi_membership_answered(struct dgi_membership *m, uint64_t token,
			     const struct dgi_group_answer *a, int64_t now_ms)
{
	if (a->kind == DGI_GROUP_BEAT) {
		take_beat(m, a);
		return;
	}
	if (!m->is_waiting || !m->is_sent || token != m->wanted_token || a->kind != m->wanted)
		return;
	if (a->status == DG_CANCELLED || a->status == DG_CLOSED || a->status == DG_NOMEM) {
		m->is_sent = false;
		m->ask_at_ms = now_ms + AGAIN_MS;
		return;
	}
	if (a->status == DG_DENIED)
		m->is_over = true;
	if (a->status == DG_OK && a->kind == DGI_GROUP_JOIN)
		m->claim.place = a->place;
	if (a->status == DG_OK && a->kind == DGI_GROUP_BARRIER) {
		m->claim.place.passed[m->scope]++;
		learn_left(m, &a->place);
	}
	end_wait(m, a->status, &a->error);
}

void dgi_membership_lost(struct dgi_membership *m)
{
	m->is_sent = false;
	m->has_beat = false;
	m->ask_at_ms = 0;
	m->beat_at_ms = 0;
}

void dgi_membership_check_time(struct dgi_membership *m, int64_t now_ms)
{
	dg_error err;

	if (!m->is_waiting || now_ms - GRACE_MS < m->deadline_ms)
		return;
	(void)dgi_fail(&err, DG_TIMEOUT, "%s",
		       m->missing.text[0] ? m->missing.text
					  : "the server of partition 0 has not answered");
	end_wait(m, DG_TIMEOUT, &err);
}
