/*
 * filler.h -- the fills that an earlier process left unfinished, while a store is open: a thread goes on with
 * them, a part at a time, between the writes of the store's user.
 *
 * A write to a tensor comes after the fills that the tensor still waits for: they are older.
 */
#ifndef DGI_FILLER_H
#define DGI_FILLER_H

#include "large.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

struct dgi_filler {
	struct dgi_volume *volume;
	pthread_t thread;
	bool has_thread;
	pid_t pid;		    /* whose the thread is */
	_Atomic unsigned n_writers; /* that want to write: they come first */
	pthread_mutex_t writing;    /* whoever writes holds it; over the next */
	pthread_cond_t ending;
	struct dgi_unfinished *fills; /* in the order in which they began */
	bool stopping;
};

/* Lists the fills and starts the thread if there are any. Fails with NOMEM. */
dg_status dgi_filler_open(struct dgi_filler *filler, struct dgi_volume *volume, dg_error *err);
/* Stops between two parts. Accepts a zero one. */
void dgi_filler_close(struct dgi_filler *filler);
/*
 * To be called before a write to @tensor: finishes its fills, and keeps the thread off until
 * dgi_filler_leave(). Fails as these fills do; then there is nothing to leave.
 */
dg_status dgi_filler_enter(struct dgi_filler *filler, uint32_t tensor, dg_error *err);
void dgi_filler_leave(struct dgi_filler *filler);

#endif
