/*
 * group.c -- a member of a group: its own connection to the server of partition 0, over which
 * src/group/membership.c says what to send.
 *
 * Whoever has the lock moves the connection: the caller while it waits, else the group's thread, which
 * looks in several times a second, so that the member is heard of.
 */
#include <distgraph/group.h>

#include "client_state.h"
#include "group_message.h"
#include "group_options.h"
#include "membership.h"
#include "ranks.h"

#include "fail.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define WAIT_DEFAULT_MS (30 * 60 * 1000)
#define PROGRESS_DEFAULT_MS 30000
#define LOOK_EVERY_MS 250
#define TURN_MS 100	  /* one wait of a caller; then interruption is looked at */
#define CONNECT_MS 2000	  /* one attempt */
#define RECONNECT_MS 200  /* the pause after a failed one */
#define BEAT_WAIT_MS 5000 /* for its answer */

struct dg_group {
	dg_client *client; /* lent */
	dg_group_options options;
	pthread_mutex_t lock; /* guards all below */
	pthread_cond_t ends;  /* … and wakes the thread */
	bool is_ending;
	pthread_t thread;
	bool has_thread;
	struct dgi_membership member;
	struct dgi_pool pool;
	struct dgi_link link;
	int64_t connect_at_ms;
	dg_error lost; /* why there is no connection */
};

/* --- Under the lock --- */

static void lose(struct dg_group *g, int64_t now_ms)
{
	dgi_link_close(&g->link);
	dgi_membership_lost(&g->member);
	g->connect_at_ms = now_ms + RECONNECT_MS;
}

static void need_connection(struct dg_group *g)
{
	if (g->link.is_open || dgi_now_ms() < g->connect_at_ms)
		return;
	if (dgi_link_open(&g->link, dgi_deadline_in(CONNECT_MS), &g->lost) != DG_OK)
		lose(g, dgi_now_ms());
}

static dg_status send_request(struct dg_group *g, const struct dgi_group_request *r)
{
	struct dgi_deadline deadline = { .at_ms = r->deadline_ms };
	uint8_t bytes[DGI_GROUP_BYTES_MAX];
	struct dgi_body body = { .block_bytes = dgi_group_request_encode(r, bytes) };
	struct dgi_frame frame;
	void *block = dgi_pool_get(&g->pool, body.block_bytes);

	if (!block)
		return DG_NOMEM;
	memcpy(block, bytes, body.block_bytes);
	body.block = block;
	if (r->kind == DGI_GROUP_BEAT)
		deadline = dgi_deadline_in(BEAT_WAIT_MS);
	frame = dgi_request((enum dgi_message_type)dgi_group_type_of(r->kind), r->token, deadline);
	return dgi_conn_send(&g->link.conn, frame, &body, &g->lost);
}

static dg_status take_reply(struct dg_group *g, const struct dgi_message *reply)
{
	struct dgi_group_answer answer = { .kind = DGI_GROUP_BEAT };
	dg_status st;

	if (!dgi_group_kind_of(reply->frame.type, &answer.kind))
		return dgi_fail(&g->lost, DG_PROTO, "a reply of type %u", reply->frame.type);
	answer.status = dgi_reply_check(reply, &answer.error);
	if (answer.status == DG_OK) {
		st = dgi_group_answer_decode(reply->body, reply->head_bytes, g->member.claim.size,
					     &answer, &g->lost);
		if (st)
			return st;
	}
	dgi_membership_answered(&g->member, reply->frame.request_id, &answer, dgi_now_ms());
	return DG_OK;
}

static dg_status take_replies(struct dg_group *g)
{
	for (;;) {
		enum dgi_inbox_answer kind;
		struct dgi_message reply;
		dg_status st = dgi_conn_next(&g->link.conn, &kind, &reply, &g->lost);

		if (st || kind != DGI_INBOX_MESSAGE)
			return st;
		st = take_reply(g, &reply);
		dgi_message_clear(&g->pool, &reply);
		if (st)
			return st;
	}
}

/* Sends what is to be sent, waits for news @wait_ms at most, and takes it. */
static dg_status exchange(struct dg_group *g, int64_t wait_ms)
{
	struct dgi_conn *conn = &g->link.conn;
	struct dgi_group_request r;
	dg_status moved = DG_OK, st = DG_OK;

	while (!st && dgi_membership_next(&g->member, dgi_now_ms(), &r))
		st = send_request(g, &r);
	if (!st)
		st = dgi_conns_move(&conn, 1, dgi_deadline_in(wait_ms), &moved, &g->lost, &g->lost);
	if (st && st != DG_TIMEOUT)
		return st;
	return moved ? moved : take_replies(g);
}

static void move(struct dg_group *g, int64_t wait_ms)
{
	need_connection(g);
	if (!g->link.is_open)
		dgi_sleep_ms(wait_ms);
	else if (exchange(g, wait_ms) != DG_OK)
		lose(g, dgi_now_ms());
	dgi_membership_check_time(&g->member, dgi_now_ms());
}

/* --- The thread --- */

static void wait_a_little(struct dg_group *g)
{
	struct timespec at;

	(void)clock_gettime(CLOCK_MONOTONIC, &at);
	at.tv_nsec += LOOK_EVERY_MS * 1000000L;
	at.tv_sec += at.tv_nsec / 1000000000L;
	at.tv_nsec %= 1000000000L;
	(void)pthread_cond_timedwait(&g->ends, &g->lock, &at);
}

static void *live(void *argument)
{
	struct dg_group *g = argument;

	(void)pthread_mutex_lock(&g->lock);
	while (!g->is_ending) {
		move(g, 0);
		if (!g->is_ending)
			wait_a_little(g);
	}
	(void)pthread_mutex_unlock(&g->lock);
	return NULL;
}

/* With all signals blocked: handlers run on the program's own threads. */
static dg_status start_thread(struct dg_group *g, dg_error *err)
{
	sigset_t all, before;
	int failed;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	failed = pthread_create(&g->thread, NULL, live, g);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (failed)
		return dgi_fail(err, DG_NOMEM, "group: cannot start its thread");
	g->has_thread = true;
	return DG_OK;
}

/* --- Calls --- */

static void tell_progress(struct dg_group *g, int64_t *next_ms)
{
	const uint32_t every_ms =
		g->options.progress_every_ms ? g->options.progress_every_ms : PROGRESS_DEFAULT_MS;
	const int64_t now_ms = dgi_now_ms();
	const char *text = g->member.missing.text;

	if (*next_ms == 0)
		*next_ms = now_ms + every_ms;
	if (now_ms < *next_ms || !g->options.progress)
		return;
	*next_ms = now_ms + every_ms;
	if (!g->link.is_open)
		text = g->lost.text;
	g->options.progress(g->options.progress_context, text[0] ? text : "waits for the server");
}

static dg_status wait_for_end(struct dg_group *g, dg_error *err)
{
	struct dgi_membership *m = &g->member;
	int64_t progress_ms = 0;

	while (m->is_waiting) {
		if (atomic_exchange(&g->client->interrupted, false))
			return dgi_fail(err, DG_CANCELLED, "interrupted");
		move(g, TURN_MS);
		tell_progress(g, &progress_ms);
		if (m->is_over && m->is_waiting)
			return dgi_fail(err, DG_DENIED,
					"group '%s': rank %u is another process's by now",
					m->claim.group, m->claim.place.rank);
	}
	if (m->status && err)
		*err = m->error;
	return m->status;
}

static dg_status wait_locked(struct dg_group *g, dg_error *err)
{
	dg_status st;

	(void)pthread_mutex_lock(&g->lock);
	st = wait_for_end(g, err);
	(void)pthread_mutex_unlock(&g->lock);
	return st;
}

static struct dgi_deadline deadline_of(uint32_t timeout_ms)
{
	return dgi_deadline_in(timeout_ms ? timeout_ms : WAIT_DEFAULT_MS);
}

static void group_free(struct dg_group *g)
{
	if (g->has_thread) {
		(void)pthread_mutex_lock(&g->lock);
		g->is_ending = true;
		(void)pthread_cond_signal(&g->ends);
		(void)pthread_mutex_unlock(&g->lock);
		(void)pthread_join(g->thread, NULL);
	}
	dgi_link_close(&g->link);
	dgi_pool_clear(&g->pool);
	(void)pthread_cond_destroy(&g->ends);
	(void)pthread_mutex_destroy(&g->lock);
	free(g);
}

static struct dg_group *group_new(dg_client *client, const dg_group_options *options,
				  const struct dgi_group_claim *claim)
{
	struct dg_group *g = calloc(1, sizeof *g);
	pthread_condattr_t monotonic;

	if (!g)
		return NULL;
	g->client = client;
	g->options = *options;
	g->pool = dgi_pool_of(1U << 16);
	g->link = (struct dgi_link){
		.cluster = client->cluster,
		.pool = &g->pool,
		.ip_config = client->ip_config,
		.address = client->addresses ? client->addresses[0] : NULL,
	};
	(void)pthread_mutex_init(&g->lock, NULL);
	(void)pthread_condattr_init(&monotonic);
	(void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&g->ends, &monotonic);
	(void)pthread_condattr_destroy(&monotonic);
	dgi_membership_init(&g->member, claim, DGI_GROUP_BEAT_MS,
			    deadline_of(options->timeout_ms).at_ms);
	return g;
}

dg_status dg_group_join(dg_client *client, const dg_group_options *options, dg_group **out,
			dg_error *err)
{
	static const dg_group_options defaults = { 0 };
	struct dgi_group_claim claim;
	struct dg_group *g;
	dg_status st = dgi_client_check(client, err);

	options = options ? options : &defaults;
	if (!st)
		st = dgi_group_claim_make(options, &claim, err);
	if (st)
		return st;
	g = group_new(client, options, &claim);
	if (!g)
		return dgi_fail_memory(err, "group");
	st = wait_locked(g, err);
	if (!st)
		st = start_thread(g, err);
	if (st) {
		group_free(g);
		return st;
	}
	*out = g;
	return DG_OK;
}

/* A place is set once, but for what has been passed and who has left. */
void dg_group_get_info(const dg_group *group, dg_group_info *out)
{
	const struct dgi_group_claim *claim = &group->member.claim;
	const struct dgi_group_place *place = &claim->place;

	*out = (dg_group_info){
		.rank = place->rank,
		.size = claim->size,
		.role_rank = place->role_rank,
		.role_size = place->roles[dgi_ranks_role_of(place, place->rank)].size,
		.local_rank = place->local_rank,
		.local_size = place->n_local,
		.machine = (uint32_t)claim->machine,
		.life = place->life,
	};
}

uint32_t dg_group_rank(const dg_group *group)
{
	return group->member.claim.place.rank;
}

uint32_t dg_group_size(const dg_group *group)
{
	return group->member.claim.size;
}

/* Waits for the answers to the pushes that are under way. */
static dg_status settle_pushes(dg_client *client, struct dgi_deadline deadline, dg_error *err)
{
	for (const struct dg_request *r = client->requests; r;) {
		dg_status st;

		if (!r->is_push || r->n_left == 0) {
			r = r->next;
			continue;
		}
		if (dgi_deadline_passed(deadline))
			return dgi_fail(err, DG_TIMEOUT, "pushes of this member are not answered");
		st = dg_client_poll(client, TURN_MS, err);
		if (st)
			return st;
	}
	return DG_OK;
}

static dg_status arrive(struct dg_group *g, enum dgi_group_scope scope, const char *name,
			struct dgi_deadline deadline, dg_error *err)
{
	struct dgi_membership *m = &g->member;

	if (m->is_over)
		return dgi_fail(err, DG_DENIED, "group '%s': rank %u is another process's by now",
				m->claim.group, m->claim.place.rank);
	if (!m->is_waiting)
		dgi_membership_arrive(m, scope, name, deadline.at_ms);
	else if (m->scope != scope || strcmp(m->barrier, name) != 0)
		return dgi_fail(err, DG_INVALID, "barrier '%s': this member is at '%s'", name,
				m->barrier);
	return wait_for_end(g, err);
}

dg_status dg_group_barrier(dg_group *group, dg_group_scope scope, const char *name,
			   uint32_t timeout_ms, dg_error *err)
{
	const struct dgi_deadline deadline = deadline_of(timeout_ms);
	dg_status st = dgi_client_check(group->client, err);

	name = name ? name : "";
	if (!st && strlen(name) > DG_GROUP_NAME_MAX)
		st = dgi_fail(err, DG_INVALID, "barrier: a name of %zu bytes, at most %d",
			      strlen(name), DG_GROUP_NAME_MAX);
	if (!st && scope != DG_GROUP_ALL && scope != DG_GROUP_ROLE)
		st = dgi_fail(err, DG_INVALID, "barrier '%s': scope %d", name, (int)scope);
	if (!st)
		st = settle_pushes(group->client, deadline, err);
	if (st)
		return st;
	(void)pthread_mutex_lock(&group->lock);
	st = arrive(group, (enum dgi_group_scope)scope, name, deadline, err);
	(void)pthread_mutex_unlock(&group->lock);
	return st;
}

dg_status dg_group_leave(dg_group *group, dg_error *err)
{
	dg_status st = DG_OK;

	if (!group)
		return DG_OK;
	(void)pthread_mutex_lock(&group->lock);
	group->member.is_waiting = false; /* at a barrier, when it was interrupted */
	if (!group->member.is_over) {
		dgi_membership_leave(&group->member,
				     dgi_deadline_in(group->client->timeout_ms).at_ms);
		st = wait_for_end(group, err);
	}
	(void)pthread_mutex_unlock(&group->lock);
	group_free(group);
	return st;
}
