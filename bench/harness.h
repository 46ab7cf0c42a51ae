/*
 * harness.h -- measures a side against its baseline in alternating pairs, and prints one line a
 * figure: "NAME ratio VALUE [low, high]", larger is better, the interval being that of the median
 * with 90 % confidence. A run whose interval is wider than 15 % says "too noisy" and counts for
 * nothing.
 */
#ifndef BENCH_HARNESS_H
#define BENCH_HARNESS_H

#include <stdint.h>

/* Does the work once and returns the seconds it took, by a clock of its own choosing. */
typedef double bench_side(void *context, uint64_t round);

/*
 * Runs @pairs pairs (at least 15) after one that is not counted; which side goes first is drawn
 * anew for each. @round is the same for both sides of a pair, so that they can draw the same rows.
 * Prints the line and the median times; returns the median ratio of baseline to measured time.
 */
double bench_ratio(const char *name, int pairs, bench_side *measured, bench_side *baseline,
		   void *context);

/* For what is not timed in pairs: prints "NAME ratio VALUE". */
void bench_value(const char *name, double value);

double bench_wall_seconds(void);
double bench_thread_seconds(void); /* CPU time of this thread: not moved by others' work */

/* Prints the message and ends the program with 1: a benchmark that cannot run is a failure. */
_Noreturn void bench_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
