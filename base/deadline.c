/* deadline.c -- points in monotonic time; every wait has one. */
#include "deadline.h"

#include <limits.h>
#include <time.h>

int64_t dgi_now_us(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t dgi_now_ms(void)
{
	return dgi_now_us() / 1000;
}

struct dgi_deadline dgi_deadline_in(int64_t timeout_ms)
{
	return (struct dgi_deadline){ .at_ms = dgi_now_ms() + timeout_ms };
}

int dgi_deadline_left_ms(struct dgi_deadline deadline)
{
	int64_t left = deadline.at_ms - dgi_now_ms();

	if (left <= 0)
		return 0;
	return left > INT_MAX ? INT_MAX : (int)left;
}

bool dgi_deadline_passed(struct dgi_deadline deadline)
{
	return dgi_deadline_left_ms(deadline) == 0;
}

void dgi_sleep_ms(int64_t ms)
{
	struct timespec pause = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	(void)nanosleep(&pause, NULL);
}
