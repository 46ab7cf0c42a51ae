/*
 * writer.h -- the one thread of a server that writes: it applies pushes in the order in which they
 * came, and hands each back once it is durable.
 *
 * The store's journal commits on a thread of its own whatever was applied while its last commit ran,
 * so the writer goes on meanwhile.
 */
#ifndef DGI_WRITER_H
#define DGI_WRITER_H

#include "service.h"

#include <pthread.h>
#include <stdbool.h>

/* A push on its way: handed over by dgi_writer_submit(), handed back by its own done(). */
struct dgi_push_job {
	struct dgi_push_job *next;
	struct dgi_write write; /* what to write, then what came of it */
	int64_t expires_ms;	/* not written later than this; 0: never too late */
	/* Called by a thread of the writer or the journal, with a list of jobs of the same @owner. */
	void (*done)(void *owner, struct dgi_push_job *jobs);
	void *owner;
};

struct dgi_writer {
	struct dgi_service *service;
	void (*broken)(void *context, const dg_error *error); /* the store takes no more writes */
	void *context;
	pthread_t thread;
	bool is_running;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	/* Guarded by lock. */
	struct dgi_push_job *first, *last;		   /* to be applied */
	struct dgi_push_job *first_applied, *last_applied; /* to become durable, by log number */
	pthread_cond_t all_durable;
	bool stopping;
	bool is_broken;
};

/*
 * Starts the thread. @broken is called at most once, before the jobs that failed are handed back.
 * Fails with NOMEM.
 */
dg_status dgi_writer_start(struct dgi_writer *writer, struct dgi_service *service,
			   void (*broken)(void *context, const dg_error *error), void *context,
			   dg_error *err);
/* Any thread. */
void dgi_writer_submit(struct dgi_writer *writer, struct dgi_push_job *job);
/*
 * Applies what was submitted, waits a few seconds for it to be durable, then ends the thread.
 * Accepts one that was not started.
 */
void dgi_writer_stop(struct dgi_writer *writer);

#endif
