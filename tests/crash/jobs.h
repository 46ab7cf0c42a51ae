/* jobs.h -- the work of a program shared out to processes: runs by their number, points by turns. */
#ifndef CRASH_JOBS_H
#define CRASH_JOBS_H

#include "case.h"

/* One process's share: @runs of them, its own number among the options' jobs. */
typedef bool crash_job_fn(void *context, unsigned job, uint64_t runs);

/* Shares @runs out to the options' jobs; were all sound? */
bool crash_jobs_run(const struct crash_options *options, uint64_t runs, crash_job_fn *fn,
		    void *context);

/* Tries point number @at. *reached: the script came as far as that. */
typedef bool crash_point_fn(void *context, uint64_t at, bool *reached);

/*
 * Tries all points from 1 on, or the options' one, until one is not reached or too many were
 * unsound; says what came of it.
 */
bool crash_points_try(const struct crash_options *options, const char *name, crash_point_fn *fn,
		      void *context);

/* Zeros shared by this process and its children. */
void *crash_shared_new(size_t bytes);

#endif
