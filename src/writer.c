/* writer.c -- the one thread of a server that writes. */
#include "writer.h"

#include "deadline.h"
#include "fail.h"

#define WRITES_MAX 256 /* of one commit; it bounds how long the first waits for the last */

/* Takes what has come, at most WRITES_MAX; waits for something. NULL: stop. */
static struct dgi_push_job *take(struct dgi_writer *writer, size_t *n)
{
	struct dgi_push_job *jobs, *last;

	(void)pthread_mutex_lock(&writer->lock);
	while (!writer->first && !writer->stopping)
		(void)pthread_cond_wait(&writer->wake, &writer->lock);
	jobs = last = writer->first;
	*n = jobs != NULL;
	while (last && last->next && *n < WRITES_MAX) {
		last = last->next;
		++*n;
	}
	writer->first = last ? last->next : NULL;
	if (!writer->first)
		writer->last = NULL;
	if (last)
		last->next = NULL;
	(void)pthread_mutex_unlock(&writer->lock);
	return jobs;
}

/* Hands jobs back, neighbours of one owner together, so that it is woken once. */
static void hand_back(struct dgi_push_job *jobs)
{
	while (jobs) {
		struct dgi_push_job *first = jobs, *last = jobs;

		while (last->next && last->next->owner == first->owner)
			last = last->next;
		jobs = last->next;
		last->next = NULL;
		first->done(first->owner, first);
	}
}

static bool is_expired(struct dgi_push_job *job)
{
	if (job->expires_ms == 0 || dgi_now_ms() <= job->expires_ms)
		return false;
	job->write.status = dgi_fail(&job->write.error, DG_TIMEOUT,
				     "the push waited longer than its sender wanted to; it was not "
				     "applied");
	return true;
}

/* Writes a list of jobs; each gets its status. Returns false when the store is broken. */
static bool write_jobs(struct dgi_writer *writer, struct dgi_push_job *jobs)
{
	struct dgi_push_job *taken[WRITES_MAX];
	struct dgi_write writes[WRITES_MAX];
	dg_error error = { 0 };
	size_t n = 0;
	dg_status st = DG_OK;

	for (struct dgi_push_job *job = jobs; job; job = job->next)
		if (!is_expired(job)) {
			taken[n] = job;
			writes[n++] = job->write;
		}
	if (n)
		st = dgi_service_write(writer->service, writes, n, &error);
	for (size_t i = 0; i < n; i++) {
		taken[i]->write = writes[i];
		taken[i]->log_number = atomic_load(&writer->service->log_number);
	}
	if (st)
		writer->broken(writer->context, &error);
	return st == DG_OK;
}

static void refuse_jobs(struct dgi_push_job *jobs)
{
	for (struct dgi_push_job *job = jobs; job; job = job->next)
		job->write.status = dgi_fail(&job->write.error, DG_IO,
					     "the store takes no more writes; its server ends");
}

static void *run(void *argument)
{
	struct dgi_writer *writer = argument;
	struct dgi_push_job *jobs;
	bool works = true;
	size_t n;

	while ((jobs = take(writer, &n))) {
		if (works)
			works = write_jobs(writer, jobs);
		else
			refuse_jobs(jobs);
		hand_back(jobs);
	}
	return NULL;
}

dg_status dgi_writer_start(struct dgi_writer *writer, struct dgi_service *service,
			   void (*broken)(void *context, const dg_error *error), void *context,
			   dg_error *err)
{
	int error_number;

	*writer = (struct dgi_writer){ .service = service, .broken = broken, .context = context };
	(void)pthread_mutex_init(&writer->lock, NULL);
	(void)pthread_cond_init(&writer->wake, NULL);
	error_number = pthread_create(&writer->thread, NULL, run, writer);
	if (error_number)
		return dgi_fail(err, DG_NOMEM, "writer: cannot start a thread");
	writer->is_running = true;
	return DG_OK;
}

void dgi_writer_submit(struct dgi_writer *writer, struct dgi_push_job *job)
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

void dgi_writer_stop(struct dgi_writer *writer)
{
	if (!writer->is_running)
		return;
	(void)pthread_mutex_lock(&writer->lock);
	writer->stopping = true;
	(void)pthread_cond_signal(&writer->wake);
	(void)pthread_mutex_unlock(&writer->lock);
	(void)pthread_join(writer->thread, NULL);
	(void)pthread_mutex_destroy(&writer->lock);
	(void)pthread_cond_destroy(&writer->wake);
	writer->is_running = false;
}
