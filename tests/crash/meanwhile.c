/* meanwhile.c -- checkpoints on a thread of their own. */
#include "meanwhile.h"

#include "check.h"

#include <time.h>

#define BETWEEN_US_MAX 4000

void crash_sleep_us(uint64_t us)
{
	struct timespec time = { .tv_sec = (time_t)(us / 1000000),
				 .tv_nsec = (long)(us % 1000000) * 1000 };

	(void)nanosleep(&time, NULL);
}

/* Writes down what the journal holds, again and again. What goes wrong the pushes will meet. */
static void *run(void *context)
{
	struct checkpoints *c = context;
	dg_error err;

	while (!atomic_load(&c->stop)) {
		crash_sleep_us(dgi_rng_below(&c->rng, BETWEEN_US_MAX));
		(void)workload_checkpoint(c->w, &err);
	}
	return NULL;
}

void checkpoints_begin(struct checkpoints *c, struct workload *w, struct dgi_rng *rng)
{
	int code;

	*c = (struct checkpoints){ .w = w, .rng = dgi_rng_of(dgi_rng_next(rng), 0) };
	code = pthread_create(&c->thread, NULL, run, c);
	DGI_ASSERT(code == 0);
}

void checkpoints_end(struct checkpoints *c)
{
	atomic_store(&c->stop, true);
	(void)pthread_join(c->thread, NULL);
}
