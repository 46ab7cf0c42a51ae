/* meanwhile.h -- checkpoints on a thread of their own, while a workload pushes. */
#ifndef CRASH_MEANWHILE_H
#define CRASH_MEANWHILE_H

#include "workload.h"

#include "rng.h"

#include <pthread.h>
#include <stdatomic.h>

struct checkpoints {
	struct workload *w;
	struct dgi_rng rng;
	atomic_bool stop;
	pthread_t thread;
};

/* Between opening and closing. */
void checkpoints_begin(struct checkpoints *c, struct workload *w, struct dgi_rng *rng);
void checkpoints_end(struct checkpoints *c);

/* For a moment. */
void crash_sleep_us(uint64_t us);

#endif
