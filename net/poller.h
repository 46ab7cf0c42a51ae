/*
 * poller.h -- epoll with a wake-up that any thread and any signal handler may give.
 */
#ifndef DGI_POLLER_H
#define DGI_POLLER_H

#include <distgraph/error.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>

#define DGI_POLLER_BATCH 64 /* events taken by one wait */

struct dgi_poller {
	int epoll_fd;
	int wake_fd;
	struct epoll_event events[DGI_POLLER_BATCH];
};

/* Fails with FULL (descriptors), IO. dgi_poller_close() accepts a failed one. */
dg_status dgi_poller_open(struct dgi_poller *out, dg_error *err);
void dgi_poller_close(struct dgi_poller *poller);

/* @events are EPOLLIN and EPOLLOUT; @tag comes back in events[].data.ptr and is not NULL. */
dg_status dgi_poller_add(struct dgi_poller *poller, int fd, uint32_t events, void *tag,
			 dg_error *err);
dg_status dgi_poller_change(struct dgi_poller *poller, int fd, uint32_t events, void *tag,
			    dg_error *err);
void dgi_poller_remove(struct dgi_poller *poller, int fd);

/*
 * Waits until something is ready, a wake-up or @timeout_ms; sets *n to the events found in
 * poller->events. A wake-up gives no event. Fails with IO.
 */
dg_status dgi_poller_wait(struct dgi_poller *poller, int timeout_ms, size_t *n, dg_error *err);

/* Ends the present or the next wait. Any thread; async-signal-safe. */
void dgi_poller_wake(const struct dgi_poller *poller);

#endif
