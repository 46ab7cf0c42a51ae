/* log.c -- one callback for what is not an error of a call; silent by default. */
#include "log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>

#define TEXT_BYTES 1024

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static dg_log_fn *log_fn;
static void *log_context;
static _Atomic int log_level = -1; /* read without the lock: a silent library costs a load */

void dg_log_set(dg_log_fn *fn, void *context, dg_log_level level)
{
	(void)pthread_mutex_lock(&lock);
	log_fn = fn;
	log_context = context;
	atomic_store(&log_level, fn ? (int)level : -1);
	(void)pthread_mutex_unlock(&lock);
}

static void escape_control_bytes(char *text)
{
	for (char *c = text; *c; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			*c = '?';
}

void dgi_log(dg_log_level level, const char *format, ...)
{
	char text[TEXT_BYTES];
	va_list args;

	if ((int)level > atomic_load(&log_level))
		return;
	va_start(args, format);
	(void)vsnprintf(text, sizeof text, format, args);
	va_end(args);
	escape_control_bytes(text);
	(void)pthread_mutex_lock(&lock);
	if (log_fn)
		log_fn(log_context, level, text);
	(void)pthread_mutex_unlock(&lock);
}
