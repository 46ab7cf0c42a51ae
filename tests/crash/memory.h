/*
 * memory.h -- allocations that fail: the n-th, or all from the n-th on.
 *
 * In ordinary builds malloc and its like are replaced for the whole process, liblmdb and libc
 * included; in sanitized ones the linker wraps the calls of our own code.
 */
#ifndef CRASH_MEMORY_H
#define CRASH_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

/* From now on allocations count; number @at fails (the first is 1; 0: none), and with @all those
 * after it. */
void memory_fail(uint64_t at, bool all);
/* Since the order: how many were asked for, and how many of those given are still held (0 in
 * sanitized builds, which look for leaks themselves). */
uint64_t memory_asked(void);
int64_t memory_held(void);

#endif
