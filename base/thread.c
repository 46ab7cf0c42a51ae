/* thread.c -- threads of the library: a small stack, and no signals. */
#include "thread.h"

#include "fail.h"

#include <signal.h>

/* Far more than the deepest call chain needs; the default, 8 MiB, is address space that a process
 * with a limit (RLIMIT_AS) misses elsewhere. Sanitizers need more. */
#define STACK_BYTES ((size_t)1 << 20)

dg_status dgi_thread_start(pthread_t *thread, void *(*run)(void *), void *argument,
			   const char *what, dg_error *err)
{
	pthread_attr_t attributes;
	sigset_t all, before;
	int code;

	(void)pthread_attr_init(&attributes);
	(void)pthread_attr_setstacksize(&attributes, STACK_BYTES);
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	code = pthread_create(thread, &attributes, run, argument);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	(void)pthread_attr_destroy(&attributes);
	if (code)
		return dgi_fail(err, DG_NOMEM, "%s: no thread could be started", what);
	return DG_OK;
}
