/* deadline.h -- points in monotonic time; every wait has one. */
#ifndef DGI_DEADLINE_H
#define DGI_DEADLINE_H

#include <stdbool.h>
#include <stdint.h>

struct dgi_deadline {
	int64_t at_ms; /* on the monotonic clock */
};

int64_t dgi_now_ms(void);
int64_t dgi_now_us(void);
struct dgi_deadline dgi_deadline_in(int64_t timeout_ms);
/* Milliseconds left, rounded up, 0 when it has passed; never more than INT_MAX. */
int dgi_deadline_left_ms(struct dgi_deadline deadline);
bool dgi_deadline_passed(struct dgi_deadline deadline);
/* Sleeps for @ms, or less when a signal comes. */
void dgi_sleep_ms(int64_t ms);

#endif
