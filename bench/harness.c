/* harness.c -- alternating pairs, medians and their confidence. */
#include "harness.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define PAIRS_MIN 15
#define WIDTH_MAX 0.15

static double seconds_of(clockid_t clock)
{
	struct timespec now;

	(void)clock_gettime(clock, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

double bench_wall_seconds(void)
{
	return seconds_of(CLOCK_MONOTONIC);
}

double bench_thread_seconds(void)
{
	return seconds_of(CLOCK_THREAD_CPUTIME_ID);
}

void bench_fail(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	(void)vfprintf(stderr, format, args);
	va_end(args);
	(void)fputc('\n', stderr);
	exit(1);
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median_of(double *values, int n)
{
	qsort(values, (size_t)n, sizeof *values, compare_doubles);
	return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

/* Order statistics between which the median lies with 90 % confidence (binomial, normal limit). */
static void interval_of(const double *sorted, int n, double *low, double *high)
{
	int k = (int)floor((n - 1.645 * sqrt(n)) / 2);

	*low = sorted[k];
	*high = sorted[n - 1 - k];
}

double bench_ratio(const char *name, int pairs, bench_side *measured, bench_side *baseline,
		   void *context)
{
	int n = pairs < PAIRS_MIN ? PAIRS_MIN : pairs;
	double *ratios = calloc((size_t)n * 3, sizeof *ratios);
	double *ours = ratios + n, *theirs = ratios + 2 * (size_t)n;
	double ratio, low, high;
	unsigned order = 12345;

	if (!ratios)
		bench_fail("%s: out of memory", name);
	for (int i = -1; i < n; i++) {
		double a, b;

		order = order * 1103515245 + 12345;
		if (order >> 16 & 1) {
			a = measured(context, (uint64_t)(i + 1));
			b = baseline(context, (uint64_t)(i + 1));
		} else {
			b = baseline(context, (uint64_t)(i + 1));
			a = measured(context, (uint64_t)(i + 1));
		}
		if (i < 0)
			continue; /* warm-up */
		ours[i] = a;
		theirs[i] = b;
		ratios[i] = b / a;
	}
	ratio = median_of(ratios, n);
	interval_of(ratios, n, &low, &high);
	printf("%s ratio %.3f [%.3f, %.3f]%s  (%d pairs; %.3f ms, baseline %.3f ms)\n", name, ratio,
	       low, high, high - low > WIDTH_MAX * ratio ? " too noisy" : "", n,
	       median_of(ours, n) * 1e3, median_of(theirs, n) * 1e3);
	(void)fflush(stdout);
	free(ratios);
	return ratio;
}

void bench_value(const char *name, double value)
{
	printf("%s ratio %.3f\n", name, value);
	(void)fflush(stdout);
}
