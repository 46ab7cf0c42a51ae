/* writer.c -- the one thread of a server that writes, and what it does when pushes are durable. */
#include "writer.h"

#include "deadline.h"
#include "fail.h"
#include "log.h"
#include "thread.h"

#include <stdlib.h>
#include <string.h>

#define WRITES_MAX DGI_WRITES_MAX
#define DURABLE_WAIT_MS 5000 /* at the end */

static struct timespec time_of(struct dgi_deadline deadline)
{
	return (struct timespec){ .tv_sec = deadline.at_ms / 1000,
				  .tv_nsec = deadline.at_ms % 1000 * 1000000 };
}

static const char disk_failed[] = "the disk failed: nothing more can be made durable";

/* Waits for something to do, or not at all where a large write goes on. With the lock held. */
static void wait_for_work(struct dgi_writer *writer)
{
	int64_t wait_ms = dgi_larges_wait_ms(&writer->larges);

	while (!writer->first && !writer->stopping && wait_ms != 0) {
		struct timespec until;

		if (wait_ms < 0) {
			(void)pthread_cond_wait(&writer->wake, &writer->lock);
			continue;
		}
		until = time_of(dgi_deadline_in(wait_ms));
		(void)pthread_cond_timedwait(&writer->wake, &writer->lock, &until);
		wait_ms = dgi_larges_wait_ms(&writer->larges);
	}
}

/* Takes what has come, at most WRITES_MAX; false: stop. */
static bool take(struct dgi_writer *writer, struct dgi_job **jobs)
{
	struct dgi_job *last;
	bool goes_on;

	(void)pthread_mutex_lock(&writer->lock);
	wait_for_work(writer);
	*jobs = last = writer->first;
	for (size_t n = 1; last && last->next && n < WRITES_MAX; n++)
		last = last->next;
	writer->first = last ? last->next : NULL;
	if (!writer->first)
		writer->last = NULL;
	if (last)
		last->next = NULL;
	goes_on = *jobs || !writer->stopping;
	(void)pthread_mutex_unlock(&writer->lock);
	return goes_on;
}

/* Puts back what waited behind a large write: its turn is before all that came later. */
static void put_first(struct dgi_writer *writer, struct dgi_job *jobs)
{
	struct dgi_job *last = jobs;

	if (!jobs)
		return;
	while (last->next)
		last = last->next;
	(void)pthread_mutex_lock(&writer->lock);
	last->next = writer->first;
	writer->first = jobs;
	if (!writer->last)
		writer->last = last;
	(void)pthread_mutex_unlock(&writer->lock);
}

/* Hands jobs back, neighbours of one owner together, so that it is woken once. */
static void hand_back(struct dgi_job *jobs)
{
	while (jobs) {
		struct dgi_job *first = jobs, *last = jobs;

		while (last->next && last->next->owner == first->owner)
			last = last->next;
		jobs = last->next;
		last->next = NULL;
		first->done(first->owner, first);
	}
}

static bool is_expired(struct dgi_job *job)
{
	if (job->expires_ms == 0 || dgi_now_ms() <= job->expires_ms)
		return false;
	job->write.status = dgi_fail(&job->write.error, DG_TIMEOUT,
				     "the push waited longer than its sender wanted to; it was not "
				     "applied");
	return true;
}

/* A session that went on by another connection, or has ended. */
static bool is_fenced(struct dgi_job *job)
{
	if (!job->seat || !atomic_load(&job->seat->is_taken))
		return false;
	job->write.status = dgi_fail(&job->write.error, DG_DENIED,
				     "the session has ended, or another connection has taken it "
				     "over; the push was not applied");
	return true;
}

/* --- Becoming durable --- */

/* Takes the jobs that are durable now, or all of them, from the front of those applied. */
static struct dgi_job *take_applied(struct dgi_writer *writer, uint64_t durable, bool all)
{
	struct dgi_job *jobs = NULL, *last = NULL;

	(void)pthread_mutex_lock(&writer->lock);
	while (writer->first_applied && (all || writer->first_applied->write.wait_for <= durable)) {
		if (!jobs)
			jobs = writer->first_applied;
		last = writer->first_applied;
		writer->first_applied = last->next;
	}
	if (last)
		last->next = NULL;
	if (!writer->first_applied) {
		writer->last_applied = NULL;
		(void)pthread_cond_broadcast(&writer->all_durable);
	}
	(void)pthread_mutex_unlock(&writer->lock);
	return jobs;
}

static void refuse_jobs(struct dgi_job *jobs, dg_status status, const char *text)
{
	for (struct dgi_job *job = jobs; job; job = job->next)
		job->write.status = dgi_fail(&job->write.error, status, "%s", text);
}

static void note_broken(struct dgi_writer *writer, const dg_error *error)
{
	bool is_first;

	(void)pthread_mutex_lock(&writer->lock);
	is_first = !writer->is_broken;
	writer->is_broken = true;
	(void)pthread_mutex_unlock(&writer->lock);
	if (is_first)
		writer->broken(writer->context, error);
}

/* Told by the journal's thread. */
static void on_durable(void *context, uint64_t log_number, dg_status status)
{
	struct dgi_writer *writer = context;
	struct dgi_job *jobs;
	dg_error error = { 0 };

	if (status) {
		(void)dgi_fail(&error, status, "%s", disk_failed);
		note_broken(writer, &error);
	}
	hand_back(take_applied(writer, log_number, false));
	if (!status)
		return;
	jobs = take_applied(writer, 0, true);
	refuse_jobs(jobs, DG_IO, disk_failed);
	hand_back(jobs);
}

/* --- Applying --- */

/* Jobs whose senders wait for the disk wait, in order; the others go back as they are. */
static void wait_for_disk(struct dgi_writer *writer, struct dgi_job *jobs)
{
	struct dgi_job *ready = NULL, **ready_end = &ready;

	(void)pthread_mutex_lock(&writer->lock);
	while (jobs) {
		struct dgi_job *job = jobs;

		jobs = job->next;
		job->next = NULL;
		/* Told of the disk's failure but once, nobody would hand this one back later. */
		if (job->write.status == DG_OK && job->write.wait_for && writer->is_broken)
			refuse_jobs(job, DG_IO, disk_failed);
		if (job->write.status != DG_OK || job->write.wait_for == 0) {
			*ready_end = job;
			ready_end = &job->next;
			continue;
		}
		if (writer->last_applied)
			writer->last_applied->next = job;
		else
			writer->first_applied = job;
		writer->last_applied = job;
	}
	(void)pthread_mutex_unlock(&writer->lock);
	hand_back(ready);
	/* The journal may have been faster. */
	hand_back(take_applied(writer, dgi_volume_durable(writer->service->volume), false));
}

/* Tells how far the connections have come: what is applied can be read. */
static void settle(struct dgi_job *jobs)
{
	for (struct dgi_job *job = jobs; job; job = job->next) {
		if (!job->progress)
			continue;
		atomic_fetch_add(&job->progress->n_settled, 1);
		if (atomic_load(&job->progress->is_awaited))
			job->settled(job->owner);
	}
}

static void apply_writes(struct dgi_writer *writer, struct dgi_job **taken, size_t n)
{
	static const size_t size = sizeof(struct dgi_write);
	dg_error error = { 0 };
	dg_status st;

	if (n == 0)
		return;
	for (size_t i = 0; i < n; i++)
		memcpy(&writer->writes[i], &taken[i]->write, size);
	st = dgi_service_apply(writer->service, writer->writes, n, &error);
	for (size_t i = 0; i < n; i++) {
		memcpy(&taken[i]->write, &writer->writes[i], size);
		if (taken[i]->wait_durable && taken[i]->write.wait_for == 0)
			taken[i]->write.wait_for = taken[i]->write.log_number;
	}
	if (st)
		note_broken(writer, &error);
}

/* Applies a list of jobs in order; each gets its status. */
static void apply_jobs(struct dgi_writer *writer, struct dgi_job *jobs)
{
	struct dgi_job *taken[WRITES_MAX];
	size_t n = 0;

	for (struct dgi_job *job = jobs; job; job = job->next) {
		if (is_expired(job) || is_fenced(job))
			continue;
		if (!job->forget) {
			taken[n++] = job;
			continue;
		}
		apply_writes(writer, taken, n); /* the session's own pushes come first */
		n = 0;
		dgi_volume_forget_session(writer->service->volume, &job->write.session);
		job->write.status = DG_OK;
	}
	apply_writes(writer, taken, n);
	settle(jobs);
}

/* --- Large writes --- */

/* Takes out of a list what is to be applied in parts, and what comes after such a write. */
static struct dgi_job *set_aside(struct dgi_writer *writer, struct dgi_job *jobs)
{
	struct dgi_job *rest = NULL, **rest_end = &rest;

	while (jobs) {
		struct dgi_job *job = jobs;

		jobs = job->next;
		job->next = NULL;
		if (dgi_larges_hold(&writer->larges, job))
			continue;
		if (!job->forget && dgi_write_is_long(writer->service->volume, &job->write) &&
		    !is_expired(job) && !is_fenced(job)) {
			dgi_larges_add(&writer->larges, job);
			continue;
		}
		*rest_end = job;
		rest_end = &job->next;
	}
	return rest;
}

static void go_on_with_large(struct dgi_writer *writer)
{
	struct dgi_job *job;
	dg_error error = { 0 };
	dg_status st = dgi_larges_step(&writer->larges, writer->service, &job, &error);

	if (st)
		note_broken(writer, &error);
	if (!job)
		return;
	put_first(writer, job->under_way.held);
	job->under_way.held = NULL;
	if (job->wait_durable && job->write.wait_for == 0)
		job->write.wait_for = job->write.log_number;
	settle(job);
	wait_for_disk(writer, job);
}

/* Their senders repeat them to the next server, which goes on with fills by itself. */
static void abandon_large(struct dgi_writer *writer)
{
	struct dgi_job *jobs = dgi_larges_take_all(&writer->larges);

	refuse_jobs(jobs, DG_CLOSED, "the server ended before the push was applied, or all of it");
	hand_back(jobs);
}

static void free_resumed(void *owner, struct dgi_job *jobs)
{
	(void)owner;
	while (jobs) {
		struct dgi_job *job = jobs;

		jobs = job->next;
		if (job->write.status != DG_OK && job->write.status != DG_CLOSED)
			dgi_log(DG_LOG_WARNING, "a fill that was under way ends: %s",
				job->write.error.text);
		free(job->under_way.fill);
		free(job);
	}
}

static void *run(void *argument)
{
	struct dgi_writer *writer = argument;
	struct dgi_job *jobs;

	while (take(writer, &jobs)) {
		jobs = set_aside(writer, jobs);
		apply_jobs(writer, jobs);
		wait_for_disk(writer, jobs);
		go_on_with_large(writer);
	}
	abandon_large(writer);
	return NULL;
}

dg_status dgi_writer_start(struct dgi_writer *writer, struct dgi_service *service,
			   void (*broken)(void *context, const dg_error *error), void *context,
			   dg_error *err)
{
	pthread_condattr_t attributes;
	dg_status st;

	*writer = (struct dgi_writer){ .service = service, .broken = broken, .context = context };
	(void)pthread_mutex_init(&writer->lock, NULL);
	(void)pthread_condattr_init(&attributes);
	(void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&writer->wake, &attributes);
	(void)pthread_cond_init(&writer->all_durable, &attributes);
	(void)pthread_condattr_destroy(&attributes);
	dgi_volume_on_durable(service->volume, on_durable, writer);
	st = dgi_larges_add_unfinished(&writer->larges, service->volume, free_resumed, err);
	if (!st)
		st = dgi_thread_start(&writer->thread, run, writer, "writer", err);
	if (st) {
		abandon_large(writer);
		return st;
	}
	writer->is_running = true;
	return DG_OK;
}

void dgi_writer_submit(struct dgi_writer *writer, struct dgi_job *job)
{
	job->next = NULL;
	(void)pthread_mutex_lock(&writer->lock);
	if (writer->last)
		writer->last->next = job;
	else
		writer->first = job;
	writer->last = job;
	(void)pthread_cond_signal(&writer->wake);
	(void)pthread_mutex_unlock(&writer->lock);
}

/* What was applied is on its way to the disk; a full one may keep it for longer than we wait. */
static void wait_until_durable(struct dgi_writer *writer)
{
	struct dgi_deadline deadline = dgi_deadline_in(DURABLE_WAIT_MS);
	struct timespec until = time_of(deadline);
	struct dgi_job *jobs;

	(void)pthread_mutex_lock(&writer->lock);
	while (writer->first_applied && !dgi_deadline_passed(deadline))
		(void)pthread_cond_timedwait(&writer->all_durable, &writer->lock, &until);
	(void)pthread_mutex_unlock(&writer->lock);
	dgi_volume_on_durable(writer->service->volume, NULL, NULL);
	jobs = take_applied(writer, 0, true);
	refuse_jobs(jobs, DG_CLOSED, /* as after a lost connection: it may be there or not */
		    "the push was applied, but was not on disk when the server ended");
	hand_back(jobs);
}

void dgi_writer_stop(struct dgi_writer *writer)
{
	if (!writer->is_running)
		return;
	(void)pthread_mutex_lock(&writer->lock);
	writer->stopping = true;
	(void)pthread_cond_signal(&writer->wake);
	(void)pthread_mutex_unlock(&writer->lock);
	(void)pthread_join(writer->thread, NULL);
	wait_until_durable(writer);
	(void)pthread_mutex_destroy(&writer->lock);
	(void)pthread_cond_destroy(&writer->wake);
	(void)pthread_cond_destroy(&writer->all_durable);
	writer->is_running = false;
}
