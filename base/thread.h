/*
 * thread.h -- threads of the library: a small stack, and no signals, which are the program's own.
 */
#ifndef DGI_THREAD_H
#define DGI_THREAD_H

#include <distgraph/error.h>

#include <pthread.h>

/* Starts one, to be joined. @what is for the message. Fails with NOMEM. */
dg_status dgi_thread_start(pthread_t *thread, void *(*run)(void *), void *argument,
			   const char *what, dg_error *err);

#endif
