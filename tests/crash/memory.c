/* memory.c -- malloc and its like, which fail when told to. */
#include "memory.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static uint64_t fail_at;
static bool fail_all;
static _Atomic uint64_t asked;
static _Atomic int64_t held;

void memory_fail(uint64_t at, bool all)
{
	fail_at = at;
	fail_all = all;
	atomic_store(&asked, 0);
	atomic_store(&held, 0);
}

uint64_t memory_asked(void)
{
	return atomic_load(&asked);
}

int64_t memory_held(void)
{
	return atomic_load(&held);
}

static bool fails_now(void)
{
	uint64_t number = atomic_fetch_add(&asked, 1) + 1;

	if (fail_at == 0 || number < fail_at || (number > fail_at && !fail_all))
		return false;
	errno = ENOMEM;
	return true;
}

static void *given(void *memory)
{
#ifndef CRASH_WRAP_MALLOC
	if (memory)
		atomic_fetch_add(&held, 1);
#endif
	return memory;
}

#ifdef CRASH_WRAP_MALLOC

#define NAME(function) __wrap_##function
#define REAL(function) __real_##function

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *old, size_t n);
void *__real_aligned_alloc(size_t alignment, size_t n);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t n);

char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t n);

char *__wrap_strdup(const char *text)
{
	return fails_now() ? NULL : __real_strdup(text);
}

char *__wrap_strndup(const char *text, size_t n)
{
	return fails_now() ? NULL : __real_strndup(text, n);
}

#else

#define NAME(function) function
#define REAL(function) __libc_##function
#define __libc_aligned_alloc __libc_memalign

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *old, size_t n);
void *__libc_memalign(size_t alignment, size_t n);
void __libc_free(void *memory);

void free(void *memory)
{
	if (memory)
		atomic_fetch_sub(&held, 1);
	__libc_free(memory);
}

int posix_memalign(void **out, size_t alignment, size_t n)
{
	void *memory = fails_now() ? NULL : given(__libc_memalign(alignment, n));

	if (memory)
		*out = memory;
	return memory ? 0 : ENOMEM;
}

#endif

void *NAME(malloc)(size_t n);
void *NAME(calloc)(size_t n, size_t size);
void *NAME(realloc)(void *old, size_t n);
void *NAME(reallocarray)(void *old, size_t n, size_t size);
void *NAME(aligned_alloc)(size_t alignment, size_t n);

void *NAME(malloc)(size_t n)
{
	return fails_now() ? NULL : given(REAL(malloc)(n));
}

void *NAME(calloc)(size_t n, size_t size)
{
	return fails_now() ? NULL : given(REAL(calloc)(n, size));
}

void *NAME(realloc)(void *old, size_t n)
{
	void *memory = fails_now() ? NULL : REAL(realloc)(old, n);

	return old ? memory : given(memory);
}

void *NAME(reallocarray)(void *old, size_t n, size_t size)
{
	if (size && n > SIZE_MAX / size) {
		errno = ENOMEM;
		return NULL;
	}
	return NAME(realloc)(old, n * size);
}

void *NAME(aligned_alloc)(size_t alignment, size_t n)
{
	return fails_now() ? NULL : given(REAL(aligned_alloc)(alignment, n));
}
