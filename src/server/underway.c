/* underway.c -- large writes that a server's writer has begun. */
#include "underway.h"

#include "deadline.h"
#include "fail.h"
#include "uuid.h"
#include "writer.h"

#include <stdlib.h>

#define ROOM_RETRY_MS 1000 /* between tries where there is no room */

static bool comes_after(const struct dgi_job *large, const struct dgi_job *job)
{
	if (job->progress && job->progress == large->progress)
		return true;
	return !dgi_uuid_is_zero(&job->write.session) &&
	       dgi_uuid_equal(&job->write.session, &large->write.session);
}

static void hold(struct dgi_under_way *u, struct dgi_job *job)
{
	job->next = NULL;
	if (u->held)
		*u->held_end = job;
	else
		u->held = job;
	u->held_end = &job->next;
}

bool dgi_larges_hold(struct dgi_larges *larges, struct dgi_job *job)
{
	for (struct dgi_job *large = larges->first; large; large = large->next)
		if (comes_after(large, job)) {
			hold(&large->under_way, job);
			return true;
		}
	return false;
}

void dgi_larges_add(struct dgi_larges *larges, struct dgi_job *job)
{
	job->next = NULL;
	if (larges->last)
		larges->last->next = job;
	else
		larges->first = job;
	larges->last = job;
}

dg_status dgi_larges_add_unfinished(struct dgi_larges *larges, struct dgi_volume *volume,
				    void (*done)(void *owner, struct dgi_job *jobs), dg_error *err)
{
	struct dgi_unfinished *fill;
	dg_status st = dgi_large_unfinished(volume, &fill, err);

	while (fill) {
		struct dgi_unfinished *next = fill->next;
		struct dgi_job *job = calloc(1, sizeof *job);

		if (job) {
			job->write = fill->write;
			job->done = done;
			job->under_way.fill = fill;
			dgi_larges_add(larges, job);
		} else {
			st = dgi_fail_memory(err, "unfinished fill");
			free(fill);
		}
		fill = next;
	}
	return st;
}

int64_t dgi_larges_wait_ms(const struct dgi_larges *larges)
{
	const int64_t now = dgi_now_ms();
	int64_t least = -1;

	for (const struct dgi_job *job = larges->first; job; job = job->next) {
		int64_t left = job->under_way.not_before_ms - now;

		if (left < 0)
			left = 0;
		if (least < 0 || left < least)
			least = left;
	}
	return least;
}

/* Takes out the first that may go on. */
static struct dgi_job *take_next(struct dgi_larges *larges)
{
	const int64_t now = dgi_now_ms();
	struct dgi_job **link = &larges->first, *before = NULL, *job;

	while (*link && (*link)->under_way.not_before_ms > now) {
		before = *link;
		link = &before->next;
	}
	job = *link;
	if (!job)
		return NULL;
	*link = job->next;
	if (larges->last == job)
		larges->last = before;
	job->next = NULL;
	return job;
}

static void begin(struct dgi_job *job, struct dgi_volume *volume)
{
	struct dgi_under_way *u = &job->under_way;
	struct dgi_write *w = &job->write;

	u->is_begun = true;
	if (!u->fill) {
		w->status = dgi_large_begin(&u->large, volume, w, &w->error);
		return;
	}
	dgi_large_resume(&u->large, volume, u->fill);
	u->large.whole = w;
}

/* Of what is begun the rest follows as soon as there is room: its sender was promised all or nothing. */
static bool waits_for_room(struct dgi_job *job)
{
	struct dgi_write *w = &job->write;

	if ((w->status != DG_FULL && w->status != DG_NOMEM) || job->under_way.large.part.done == 0)
		return false;
	job->under_way.not_before_ms = dgi_now_ms() + ROOM_RETRY_MS;
	w->status = DG_OK;
	w->error = (dg_error){ 0 };
	return true;
}

dg_status dgi_larges_step(struct dgi_larges *larges, struct dgi_service *service,
			  struct dgi_job **ended, dg_error *err)
{
	struct dgi_job *job = take_next(larges);
	struct dgi_write part;
	bool goes_on = false;
	dg_status st = DG_OK;

	*ended = NULL;
	if (!job)
		return DG_OK;
	if (!job->under_way.is_begun)
		begin(job, service->volume);
	if (job->write.status == DG_OK && dgi_large_next(&job->under_way.large, &part)) {
		st = dgi_service_apply_part(service, &part, err);
		if (dgi_large_note(&job->under_way.large, &part))
			goes_on = part.part.done < part.part.total;
		else
			goes_on = waits_for_room(job);
	}
	if (goes_on)
		dgi_larges_add(larges, job);
	else
		*ended = job;
	return st;
}

struct dgi_job *dgi_larges_take_all(struct dgi_larges *larges)
{
	struct dgi_job *all = larges->first;

	for (struct dgi_job *job = all; job;) {
		struct dgi_under_way *u = &job->under_way;
		struct dgi_job *next = job->next;

		if (u->held) {
			job->next = u->held;
			*u->held_end = next;
			u->held = NULL;
		}
		job = next;
	}
	*larges = (struct dgi_larges){ 0 };
	return all;
}
