/*
 * writer.h -- the one thread of a server that writes: it applies pushes in the order in which they
 * came, and hands each back once it is durable.
 *
 * The store's journal commits on a thread of its own whatever was applied while its last commit ran,
 * so the writer goes on meanwhile. Large writes are applied in parts, with others between them; so are
 * the fills that an earlier process left unfinished.
 */
#ifndef DGI_WRITER_H
#define DGI_WRITER_H

#include "seats.h"
#include "service.h"
#include "underway.h"

#include <pthread.h>
#include <stdbool.h>

/* How far the pushes of a connection have come. */
struct dgi_progress {
	_Atomic uint64_t n_settled; /* applied or refused, in the order they were handed over */
	_Atomic bool is_awaited;    /* somebody wants to be told when it grows */
};

/* A push, or the end of a session, on its way: handed over by dgi_writer_submit(), handed back by its
 * own done(). */
struct dgi_job {
	struct dgi_job *next;
	struct dgi_write write;	       /* what to write, then what came of it */
	bool forget;		       /* nothing to write: the session is closed */
	bool wait_durable;	       /* handed back once on disk, whatever the tensor's class */
	int64_t expires_ms;	       /* not written later than this; 0: never too late */
	const struct dgi_seat *seat;   /* refused once that is taken; NULL: none */
	struct dgi_progress *progress; /* to be raised; NULL: none */
	/* Called by a thread of the writer or the journal, with a list of jobs of the same @owner. */
	void (*done)(void *owner, struct dgi_job *jobs);
	void (*settled)(void *owner); /* progress that is awaited was made */
	void *owner;
	struct dgi_under_way under_way; /* the writer's, of a large write */
};

#define DGI_WRITES_MAX 64 /* applied in one go */

struct dgi_writer {
	struct dgi_service *service;
	void (*broken)(void *context, const dg_error *error); /* the store takes no more writes */
	void *context;
	pthread_t thread;
	bool is_running;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	/* Guarded by lock. */
	struct dgi_job *first, *last;		      /* to be applied */
	struct dgi_job *first_applied, *last_applied; /* to become durable, by log number */
	pthread_cond_t all_durable;
	bool stopping;
	bool is_broken;

	/* The thread's own. */
	struct dgi_write writes[DGI_WRITES_MAX];
	struct dgi_larges larges;
};

/*
 * Starts the thread, which goes on with unfinished fills. @broken is called at most once, before the jobs that failed are handed back.
 * Fails with NOMEM.
 */
dg_status dgi_writer_start(struct dgi_writer *writer, struct dgi_service *service,
			   void (*broken)(void *context, const dg_error *error), void *context,
			   dg_error *err);
/* Any thread. */
void dgi_writer_submit(struct dgi_writer *writer, struct dgi_job *job);
/*
 * Applies what was submitted, waits a few seconds for it to be durable, then ends the thread.
 * Accepts one that was not started.
 */
void dgi_writer_stop(struct dgi_writer *writer);

#endif
