/* jobs.c -- the work of a program shared out to processes. */
#include "jobs.h"

#include "deadline.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define JOBS_MAX 64
#define WRONGS_MAX 3 /* then the rest is not tried */

void *crash_shared_new(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED) {
		perror("shared memory");
		exit(1);
	}
	return memory;
}

struct share {
	crash_job_fn *fn;
	void *context;
	unsigned job;
	uint64_t runs;
};

static int run_share(void *context)
{
	const struct share *share = context;

	(void)alarm(0); /* its own children have limits */
	return share->fn(share->context, share->job, share->runs) ? 0 : 1;
}

bool crash_jobs_run(const struct crash_options *options, uint64_t runs, crash_job_fn *fn,
		    void *context)
{
	unsigned n = options->jobs < JOBS_MAX ? options->jobs : JOBS_MAX;
	pid_t pids[JOBS_MAX];
	bool sound = true;

	for (unsigned i = 0; i < n; i++) {
		struct share share = { fn, context, i, runs / n + (i < runs % n) };

		pids[i] = crash_child_begin(run_share, &share);
	}
	for (unsigned i = 0; i < n; i++)
		if (!crash_child_exited(crash_child_end(pids[i]), 0))
			sound = false;
	return sound;
}

struct points {
	const struct crash_options *options;
	crash_point_fn *fn;
	void *context;
	_Atomic uint64_t reached;
	_Atomic uint64_t wrongs;
};

/* Every jobs-th point, beginning with the job's own. */
static bool try_points(void *context, unsigned job, uint64_t runs)
{
	struct points *points = context;
	bool reached = true;

	(void)runs;
	for (uint64_t at = 1 + job; reached && atomic_load(&points->wrongs) < WRONGS_MAX;
	     at += points->options->jobs) {
		if (!points->fn(points->context, at, &reached))
			atomic_fetch_add(&points->wrongs, 1);
		atomic_fetch_add(&points->reached, reached);
	}
	return true;
}

bool crash_points_try(const struct crash_options *options, const char *name, crash_point_fn *fn,
		      void *context)
{
	struct points *points = crash_shared_new(sizeof *points);
	int64_t begun = dgi_now_ms();
	bool reached;
	bool sound;

	*points = (struct points){ .options = options, .fn = fn, .context = context };
	if (options->at)
		return fn(context, options->at, &reached);
	sound = crash_jobs_run(options, 0, try_points, points) && points->wrongs == 0;
	printf("%-12s %6" PRIu64 " points in %.1f s, %s\n", name, points->reached,
	       (double)(dgi_now_ms() - begun) / 1000,
	       !sound		      ? "FAILED"
	       : points->reached == 0 ? "not possible here"
				      : "all sound");
	(void)fflush(stdout);
	(void)munmap(points, sizeof *points);
	return sound;
}
