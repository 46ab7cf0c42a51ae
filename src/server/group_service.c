/* group_service.c -- the groups that the server of part 0 coordinates. */
#include "group_service.h"

#include "deadline.h"
#include "fail.h"
#include "group_message.h"
#include "loop.h"
#include "reply.h"
#include "uuid.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define TICK_MS 250
#define DEADLINE_DEFAULT_MS (30 * 60 * 1000) /* of a wait whose frame names none */

/* The token of a request is where it is held. */
static uint64_t token_of(const struct dgi_held *held)
{
	return (uint64_t)(uintptr_t)held;
}

static void drop(struct dgi_held *held)
{
	free(held->body);
	free(held);
}

static void unlink_held(struct dgi_held *held)
{
	struct dgi_held **at = &held->session->held;

	while (*at != held)
		at = &(*at)->next;
	*at = held->next;
	held->session->n_held--;
}

/* Under the lock. */
static void take_answer(void *context, uint64_t token, const struct dgi_group_answer *answer)
{
	struct dgi_held *held = (struct dgi_held *)(uintptr_t)token;
	uint8_t body[DGI_GROUP_BYTES_MAX];

	(void)context;
	unlink_held(held);
	held->error = answer->error;
	held->error.status = answer->status;
	if (answer->status == DG_OK) {
		held->n = dgi_group_answer_encode(answer, held->size, body);
		held->body = malloc(held->n);
		if (held->body)
			memcpy(held->body, body, held->n);
		else
			(void)dgi_fail_memory(&held->error, "group");
	}
	dgi_loop_answer(held->session->loop, held);
}

dg_status dgi_group_service_open(struct dgi_group_service *service, uint32_t part, dg_error *err)
{
	uint64_t instances;
	dg_uuid random;
	dg_status st = dgi_uuid_new(&random, err);

	if (st)
		return st;
	memcpy(&instances, random.bytes + sizeof random.bytes - sizeof instances, sizeof instances);
	dgi_coordinator_init(&service->coordinator, instances, DGI_GROUP_LEASE_MS, take_answer,
			     NULL);
	(void)pthread_mutex_init(&service->lock, NULL);
	service->part = part;
	service->is_open = true;
	return DG_OK;
}

void dgi_group_service_close(struct dgi_group_service *service)
{
	if (!service->is_open)
		return;
	dgi_coordinator_clear(&service->coordinator);
	(void)pthread_mutex_destroy(&service->lock);
	service->is_open = false;
}

static dg_status decode(const struct dgi_group_service *service, const struct dgi_session *s,
			const struct dgi_message *m, struct dgi_group_claim *claim,
			struct dgi_group_request *out, dg_error *err)
{
	dg_status st = dgi_group_request_decode(m->body, m->head_bytes, claim, out, err);

	if (st)
		return st;
	if (service->part != 0)
		return dgi_fail(err, DG_UNSUPPORTED,
				"groups are with the server of partition 0, this one has %" PRIu32,
				service->part);
	if (s->n_held >= DGI_GROUP_HELD_MAX)
		return dgi_fail(err, DG_BUSY, "%d requests of groups wait on this connection",
				DGI_GROUP_HELD_MAX);
	return DG_OK;
}

static struct dgi_held *hold(struct dgi_session *s, const struct dgi_frame *frame, uint32_t size)
{
	struct dgi_held *held = calloc(1, sizeof *held);

	if (!held)
		return NULL;
	held->session = s;
	held->frame = *frame;
	held->size = size;
	held->next = s->held;
	s->held = held;
	s->n_held++;
	s->n_pending++;
	return held;
}

void dgi_group_service_ask(struct dgi_group_service *service, struct dgi_session *s,
			   const struct dgi_message *m)
{
	const int64_t now_ms = dgi_now_ms();
	struct dgi_group_request request = { 0 };
	struct dgi_group_claim claim;
	struct dgi_held *held;
	dg_error err = { 0 };
	dg_status st;

	(void)pthread_mutex_lock(&service->lock);
	st = decode(service, s, m, &claim, &request, &err);
	held = st ? NULL : hold(s, &m->frame, claim.size);
	if (!st && !held)
		st = dgi_fail_memory(&err, "group");
	if (!st) {
		(void)dgi_group_kind_of(m->frame.type, &request.kind);
		request.token = token_of(held);
		request.deadline_ms = now_ms + (m->frame.deadline_ms ? m->frame.deadline_ms
								     : DEADLINE_DEFAULT_MS);
		dgi_coordinator_ask(&service->coordinator, &request, now_ms);
	}
	(void)pthread_mutex_unlock(&service->lock);
	if (st)
		dgi_reply_error(s, &m->frame, &err);
}

/* Takes the list of what the session waits for away; none of it is answered by the coordinator. */
static struct dgi_held *take_all(struct dgi_group_service *service, struct dgi_session *s)
{
	struct dgi_held *first;

	(void)pthread_mutex_lock(&service->lock);
	first = s->held;
	for (struct dgi_held *held = first; held; held = held->next)
		dgi_coordinator_forget(&service->coordinator, token_of(held));
	s->held = NULL;
	s->n_held = 0;
	(void)pthread_mutex_unlock(&service->lock);
	return first;
}

void dgi_group_service_forget(struct dgi_group_service *service, struct dgi_session *s)
{
	struct dgi_held *held, *next;

	if (!service->is_open)
		return;
	for (held = take_all(service, s); held; held = next) {
		next = held->next;
		s->n_pending--;
		drop(held);
	}
}

void dgi_group_service_end(struct dgi_group_service *service, struct dgi_session *s)
{
	struct dgi_held *held, *next;

	for (held = take_all(service, s); held; held = next) {
		next = held->next;
		(void)dgi_fail(&held->error, DG_CLOSED, "the server ends");
		dgi_group_answer_held(held);
	}
}

void dgi_group_service_tick(struct dgi_group_service *service, int64_t now_ms)
{
	(void)pthread_mutex_lock(&service->lock);
	if (now_ms - service->ticked_ms >= TICK_MS) {
		service->ticked_ms = now_ms;
		dgi_coordinator_tick(&service->coordinator, now_ms);
	}
	(void)pthread_mutex_unlock(&service->lock);
}

static void reply_body(struct dgi_session *s, struct dgi_held *held)
{
	void *block = dgi_pool_get(dgi_loop_pool(s->loop), held->n);

	if (!block) {
		(void)dgi_fail_memory(&held->error, "group");
		dgi_reply_error(s, &held->frame, &held->error);
		return;
	}
	memcpy(block, held->body, held->n);
	dgi_reply_block(s, &held->frame, block, held->n);
}

void dgi_group_answer_held(struct dgi_held *held)
{
	struct dgi_session *s = held->session;

	s->n_pending--;
	if (!s->is_dead && held->error.status)
		dgi_reply_error(s, &held->frame, &held->error);
	else if (!s->is_dead)
		reply_body(s, held);
	drop(held);
}
