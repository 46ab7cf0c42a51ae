/* poller.c -- epoll with a wake-up. */
#include "poller.h"

#include "check.h"
#include "fail.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

static dg_status fail_open(dg_error *err, int error_number)
{
	if (error_number == EMFILE || error_number == ENFILE)
		return dgi_fail(err, DG_FULL, "poller: no file descriptors left");
	return dgi_fail_errno(err, error_number, "poller");
}

dg_status dgi_poller_open(struct dgi_poller *out, dg_error *err)
{
	struct epoll_event wake = { .events = EPOLLIN, .data = { .ptr = NULL } };
	dg_status st;

	out->wake_fd = -1;
	out->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (out->epoll_fd >= 0)
		out->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (out->wake_fd >= 0 && epoll_ctl(out->epoll_fd, EPOLL_CTL_ADD, out->wake_fd, &wake) == 0)
		return DG_OK;
	st = fail_open(err, errno);
	dgi_poller_close(out);
	return st;
}

void dgi_poller_close(struct dgi_poller *poller)
{
	if (poller->wake_fd >= 0)
		(void)close(poller->wake_fd);
	if (poller->epoll_fd >= 0)
		(void)close(poller->epoll_fd);
	poller->wake_fd = -1;
	poller->epoll_fd = -1;
}

static dg_status control(struct dgi_poller *poller, int operation, int fd, uint32_t events,
			 void *tag, dg_error *err)
{
	struct epoll_event event = { .events = events, .data = { .ptr = tag } };

	DGI_ASSERT(tag);
	if (epoll_ctl(poller->epoll_fd, operation, fd, &event) != 0)
		return dgi_fail_errno(err, errno, "poller: descriptor %d", fd);
	return DG_OK;
}

dg_status dgi_poller_add(struct dgi_poller *poller, int fd, uint32_t events, void *tag,
			 dg_error *err)
{
	return control(poller, EPOLL_CTL_ADD, fd, events, tag, err);
}

dg_status dgi_poller_change(struct dgi_poller *poller, int fd, uint32_t events, void *tag,
			    dg_error *err)
{
	return control(poller, EPOLL_CTL_MOD, fd, events, tag, err);
}

void dgi_poller_remove(struct dgi_poller *poller, int fd)
{
	(void)epoll_ctl(poller->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
}

static void drain_wake(const struct dgi_poller *poller)
{
	uint64_t count;

	while (read(poller->wake_fd, &count, sizeof count) < 0 && errno == EINTR)
		;
}

dg_status dgi_poller_wait(struct dgi_poller *poller, int timeout_ms, size_t *n, dg_error *err)
{
	int ready = epoll_wait(poller->epoll_fd, poller->events, DGI_POLLER_BATCH, timeout_ms);
	size_t kept = 0;

	if (ready < 0 && errno != EINTR)
		return dgi_fail_errno(err, errno, "poller: wait");
	for (int i = 0; i < ready; i++) {
		if (poller->events[i].data.ptr)
			poller->events[kept++] = poller->events[i];
		else
			drain_wake(poller);
	}
	*n = kept;
	return DG_OK;
}

void dgi_poller_wake(const struct dgi_poller *poller)
{
	int saved = errno;
	uint64_t one = 1;

	/* A full counter already wakes. */
	while (write(poller->wake_fd, &one, sizeof one) < 0 && errno == EINTR)
		;
	errno = saved;
}
