/* filler.c -- the fills that an earlier process left unfinished. */
#include "filler.h"

#include "deadline.h"
#include "fail.h"
#include "log.h"
#include "thread.h"

#include <stdlib.h>
#include <unistd.h>

#define RETRY_MS 1000 /* where there was no room */
#define YIELD_MS 1

/* --- With the lock held --- */

static void forget(struct dgi_unfinished **link)
{
	struct dgi_unfinished *fill = *link;

	*link = fill->next;
	free(fill);
}

/* Applies the next part of a fill, and forgets it with the last. */
static dg_status step(struct dgi_filler *f, struct dgi_unfinished **link, dg_error *err)
{
	struct dgi_large large;
	struct dgi_write part;
	dg_status st;

	dgi_large_resume(&large, f->volume, *link);
	(void)dgi_large_next(&large, &part);
	st = dgi_volume_apply(f->volume, &part, 1, err);
	if (st)
		return st;
	if (part.status) {
		if (err)
			*err = part.error;
		if (part.status == DG_NOTFOUND) { /* dropped: it is over */
			forget(link);
			return DG_OK;
		}
		return part.status;
	}
	(*link)->part.done = part.part.done;
	if (part.part.done == part.part.total)
		forget(link);
	return DG_OK;
}

static struct dgi_unfinished **find(struct dgi_filler *f, uint32_t tensor)
{
	struct dgi_unfinished **link = &f->fills;

	while (*link && (*link)->write.tensor != tensor)
		link = &(*link)->next;
	return link;
}

static void sleep_until_retry(struct dgi_filler *f)
{
	const struct dgi_deadline deadline = dgi_deadline_in(RETRY_MS);
	const struct timespec until = { .tv_sec = deadline.at_ms / 1000,
					.tv_nsec = deadline.at_ms % 1000 * 1000000 };

	while (!f->stopping && !dgi_deadline_passed(deadline))
		(void)pthread_cond_timedwait(&f->ending, &f->writing, &until);
}

/* --- The thread --- */

/* False: nothing is left to be done, or can be. */
static bool work(struct dgi_filler *f)
{
	dg_error error = { 0 };
	dg_status st;

	if (f->stopping || !f->fills)
		return false;
	st = step(f, &f->fills, &error);
	if (st == DG_FULL || st == DG_NOMEM) {
		sleep_until_retry(f);
	} else if (st) {
		dgi_log(DG_LOG_WARNING, "a fill that was under way is put off: %s", error.text);
		return false;
	}
	return f->fills != NULL;
}

static void *run(void *argument)
{
	struct dgi_filler *f = argument;
	bool more = true;

	while (more) {
		while (atomic_load(&f->n_writers))
			dgi_sleep_ms(YIELD_MS);
		(void)pthread_mutex_lock(&f->writing);
		more = work(f);
		(void)pthread_mutex_unlock(&f->writing);
	}
	return NULL;
}

dg_status dgi_filler_open(struct dgi_filler *filler, struct dgi_volume *volume, dg_error *err)
{
	pthread_condattr_t attributes;
	dg_status st;

	filler->volume = volume;
	(void)pthread_mutex_init(&filler->writing, NULL);
	(void)pthread_condattr_init(&attributes);
	(void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&filler->ending, &attributes);
	(void)pthread_condattr_destroy(&attributes);
	filler->pid = getpid();
	st = dgi_large_unfinished(volume, &filler->fills, err);
	if (st || !filler->fills)
		return st;
	st = dgi_thread_start(&filler->thread, run, filler, "filler", err);
	filler->has_thread = st == DG_OK;
	return st;
}

void dgi_filler_close(struct dgi_filler *filler)
{
	/* A forked child has none of its parent's threads, and may have a lock that stays locked. */
	if (!filler->volume || filler->pid != getpid())
		return;
	if (filler->has_thread) {
		atomic_fetch_add(&filler->n_writers, 1);
		(void)pthread_mutex_lock(&filler->writing);
		filler->stopping = true;
		(void)pthread_cond_signal(&filler->ending);
		(void)pthread_mutex_unlock(&filler->writing);
		atomic_fetch_sub(&filler->n_writers, 1);
		(void)pthread_join(filler->thread, NULL);
	}
	while (filler->fills)
		forget(&filler->fills);
	(void)pthread_cond_destroy(&filler->ending);
	(void)pthread_mutex_destroy(&filler->writing);
}

/* --- The store's user --- */

dg_status dgi_filler_enter(struct dgi_filler *filler, uint32_t tensor, dg_error *err)
{
	struct dgi_unfinished **link;
	dg_status st = DG_OK;

	if (!filler->volume)
		return DG_OK;
	if (filler->pid != getpid())
		return dgi_fail(err, DG_DENIED, "the store belongs to the process that opened it");
	atomic_fetch_add(&filler->n_writers, 1);
	(void)pthread_mutex_lock(&filler->writing);
	while (!st && *(link = find(filler, tensor)))
		st = step(filler, link, err);
	/* Somebody who writes all the time does not keep the others from going on. */
	if (!st && filler->fills)
		(void)step(filler, &filler->fills, NULL);
	if (!st)
		return DG_OK;
	dgi_filler_leave(filler);
	return dgi_context(err, st, "a fill that was under way");
}

void dgi_filler_leave(struct dgi_filler *filler)
{
	if (!filler->volume)
		return;
	(void)pthread_mutex_unlock(&filler->writing);
	atomic_fetch_sub(&filler->n_writers, 1);
}
