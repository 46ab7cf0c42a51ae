/* pulls.c -- the pulls of one connection that cannot be answered at once. */
#include "pulls.h"

#include "deadline.h"
#include "fail.h"
#include "reply.h"

#include <stdlib.h>

/* A pull that is kept. Without @block no memory has been taken for its answer yet. */
struct dgi_pull_task {
	struct dgi_pull_task *next;
	struct dgi_message message;
	struct dgi_pull_plan plan;
	uint64_t turn;
	int64_t expires_ms; /* 0: never */
	uint8_t *block;	    /* the answer */
	size_t n_done;	    /* rows in it */
};

static bool is_small(const struct dgi_pull_plan *plan)
{
	return plan->reply_bytes <= DGI_SLICE_BYTES;
}

/* Memory for an answer, from the budget and from the pool. Fails with BUSY (the budget is used up: try
 * again later), NOMEM. */
static dg_status take_block(struct dgi_session *s, const struct dgi_pull_plan *plan, uint8_t **out,
			    dg_error *err)
{
	if (!dgi_session_take(&s->server->replies, plan->reply_bytes, !s->conn.out.first))
		return DG_BUSY;
	*out = dgi_pool_get(s->conn.in.pool, plan->reply_bytes);
	if (*out)
		return DG_OK;
	dgi_server_give(s->server, &s->server->replies, plan->reply_bytes);
	return dgi_fail_memory(err, "rows pulled");
}

static void give_block(struct dgi_session *s, const struct dgi_pull_plan *plan, void *block)
{
	if (!block)
		return;
	dgi_pool_put(s->conn.in.pool, block, plan->reply_bytes);
	dgi_server_give(s->server, &s->server->replies, plan->reply_bytes);
}

/* All rows are gathered, or something is wrong. */
static void answer(struct dgi_session *s, const struct dgi_frame *request,
		   const struct dgi_pull_plan *plan, void *block, dg_status st, const dg_error *err)
{
	if (st) {
		give_block(s, plan, block);
		dgi_reply_error(s, request, err);
		return;
	}
	s->reply_bytes += plan->reply_bytes;
	dgi_reply_block(s, request, block, plan->reply_bytes);
}

/* --- One that is kept --- */

static bool keep(struct dgi_session *s, struct dgi_message *message,
		 const struct dgi_pull_plan *plan, uint64_t turn)
{
	struct dgi_pulls *pulls = &s->pulls;
	struct dgi_pull_task *task = calloc(1, sizeof *task);
	dg_error err = { 0 };

	if (!task) {
		(void)dgi_fail_memory(&err, "pull");
		dgi_reply_error(s, &message->frame, &err);
		return false;
	}
	task->message = *message;
	task->plan = *plan;
	task->turn = turn;
	if (message->frame.deadline_ms)
		task->expires_ms = dgi_now_ms() + message->frame.deadline_ms;
	if (pulls->last)
		pulls->last->next = task;
	else
		pulls->first = task;
	pulls->last = task;
	s->is_ready = true;
	return true;
}

/* Gives back the block too, where there is one. */
static void drop(struct dgi_session *s, struct dgi_pull_task *task, struct dgi_pull_task *previous)
{
	if (previous)
		previous->next = task->next;
	else
		s->pulls.first = task->next;
	if (s->pulls.last == task)
		s->pulls.last = previous;
	give_block(s, &task->plan, task->block);
	dgi_session_release(s, &task->message);
	free(task);
	if (!s->pulls.first) {
		s->pulls.is_awaiting = false;
		atomic_store(&s->progress.is_awaited, false);
	}
}

void dgi_pulls_clear(struct dgi_session *s)
{
	while (s->pulls.first)
		drop(s, s->pulls.first, NULL);
}

/* Gathers the next slice; true when the task is answered. */
static bool gather_slice(struct dgi_session *s, struct dgi_pull_task *task)
{
	const struct dgi_pull_plan *plan = &task->plan;
	size_t rows_max = DGI_SLICE_BYTES / (plan->tensor->row_bytes + sizeof(dg_id)) + 1;
	size_t left = plan->n - task->n_done;
	size_t n = left < rows_max ? left : rows_max;
	uint8_t *block = task->block;
	dg_error err = { 0 };
	dg_status st;

	if (task->n_done == 0)
		dgi_service_begin_pull(&s->server->service, plan, task->block);
	st = dgi_service_gather(&s->server->service, plan, task->n_done, n, task->block, &err);
	task->n_done += n;
	if (!st && task->n_done < plan->n)
		return false;
	task->block = NULL; /* a failure to answer frees the task with the session */
	answer(s, &task->message.frame, plan, block, st, &err);
	return true;
}

static bool is_late(const struct dgi_pull_task *task, int64_t now_ms)
{
	return task->expires_ms && now_ms > task->expires_ms;
}

static void refuse_late(struct dgi_session *s, const struct dgi_pull_task *task)
{
	dg_error err;

	(void)dgi_fail(&err, DG_TIMEOUT, "the pull waited longer than its sender wanted to");
	dgi_reply_error(s, &task->message.frame, &err);
}

/* Answers those that are late, whatever they wait for. */
static void drop_late(struct dgi_session *s)
{
	struct dgi_pull_task *previous = NULL, *next;
	int64_t now_ms = dgi_now_ms();

	for (struct dgi_pull_task *task = s->pulls.first; task && !s->is_dead; task = next) {
		next = task->next;
		if (!is_late(task, now_ms)) {
			previous = task;
			continue;
		}
		refuse_late(s, task);
		if (!s->is_dead)
			drop(s, task, previous);
	}
}

/* The first whose turn has come. Turns rise, but 0 is any time. */
static struct dgi_pull_task *find_task(struct dgi_session *s, struct dgi_pull_task **previous)
{
	const uint64_t settled = dgi_session_settled(s);
	struct dgi_pull_task *task = s->pulls.first;

	*previous = NULL;
	s->pulls.is_awaiting = false;
	while (task && task->turn > settled) {
		s->pulls.is_awaiting = true;
		*previous = task;
		task = task->next;
	}
	return task;
}

/* The writer is told to tell before the last look at how far it is. */
static struct dgi_pull_task *next_task(struct dgi_session *s, struct dgi_pull_task **previous)
{
	struct dgi_pull_task *task = find_task(s, previous);

	atomic_store(&s->progress.is_awaited, s->pulls.is_awaiting);
	return s->pulls.is_awaiting ? find_task(s, previous) : task;
}

void dgi_pulls_go_on(struct dgi_session *s)
{
	struct dgi_pull_task *task, *previous;
	dg_error err = { 0 };
	dg_status st = DG_OK;
	bool answered = true;

	if (!s->pulls.first)
		return;
	drop_late(s);
	if (s->is_dead)
		return;
	task = next_task(s, &previous);
	s->pulls.is_held = task && dgi_session_is_congested(s);
	if (!task || s->pulls.is_held)
		return;
	if (!task->block)
		st = take_block(s, &task->plan, &task->block, &err);
	if (st == DG_BUSY) {
		s->is_starved = true;
		return;
	}
	s->is_ready = true; /* for the rest of it, or for the next */
	if (st)
		dgi_reply_error(s, &task->message.frame, &err);
	else
		answered = gather_slice(s, task);
	if (answered && !s->is_dead)
		drop(s, task, previous);
}

/* --- One that comes --- */

bool dgi_pulls_begin(struct dgi_session *s, struct dgi_message *message,
		     const struct dgi_pull_plan *plan, uint64_t turn)
{
	uint8_t *block = NULL;
	dg_error err = { 0 };
	dg_status st;

	if (turn > dgi_session_settled(s) || !is_small(plan))
		return keep(s, message, plan, turn);
	st = take_block(s, plan, &block, &err);
	if (st == DG_BUSY)
		return keep(s, message, plan, turn);
	if (!st) {
		dgi_service_begin_pull(&s->server->service, plan, block);
		st = dgi_service_gather(&s->server->service, plan, 0, plan->n, block, &err);
	}
	answer(s, &message->frame, plan, block, st, &err);
	s->served_bytes += plan->reply_bytes;
	return false;
}
