/* raw.c -- baseline of the wire: requests and replies of so many bytes, by epoll. */
#include "raw.h"

#include "../harness.h"
#include "../store.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define REQUEST_MAX (64U << 20)
#define PIECE_BYTES 65536

/* What a request begins with: its own length and that of the reply wanted. */
struct header {
	uint64_t request_bytes;
	uint64_t reply_bytes;
};

static void tune(int fd, bool tcp)
{
	const int one = 1;

	if (tcp)
		(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	if (tcp && setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "cubic", 5) != 0)
		(void)setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "reno", 4);
	if (fcntl(fd, F_SETFL, O_NONBLOCK) != 0)
		bench_fail("raw: fcntl");
}

static int watch(int fd)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };
	int epoll = epoll_create1(EPOLL_CLOEXEC);

	if (epoll < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0)
		bench_fail("raw: epoll");
	return epoll;
}

static void wait_for(int epoll, int fd, uint32_t events, uint32_t *watched)
{
	struct epoll_event event = { .events = events, .data.fd = fd };

	if (events != *watched && epoll_ctl(epoll, EPOLL_CTL_MOD, fd, &event) != 0)
		bench_fail("raw: epoll");
	*watched = events;
	if (epoll_wait(epoll, &event, 1, -1) < 0 && errno != EINTR)
		bench_fail("raw: epoll");
}

/* Bytes moved, 0 where the socket is not ready; ends the program at the end of the stream. */
static size_t moved(ssize_t n)
{
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0)
		bench_fail("raw: the peer is gone");
	return (size_t)n;
}

/* --- The server --- */

/* What has been read: a request, and perhaps the beginning of the next. */
struct arrived {
	uint8_t *buffer;
	size_t have;
};

static struct header read_request(int fd, int epoll, uint32_t *watched, struct arrived *in)
{
	struct header header = { 0 };
	size_t want = sizeof header;

	for (;;) {
		size_t room = want - in->have < PIECE_BYTES ? PIECE_BYTES : want - in->have;
		size_t n;

		if (in->have >= sizeof header) {
			memcpy(&header, in->buffer, sizeof header);
			want = header.request_bytes;
		}
		if (in->have >= want)
			break;
		n = moved(recv(fd, in->buffer + in->have, room, 0));
		in->have += n;
		if (n == 0)
			wait_for(epoll, fd, EPOLLIN, watched);
	}
	in->have -= want;
	memmove(in->buffer, in->buffer + want, in->have);
	return header;
}

static void write_reply(int fd, int epoll, uint32_t *watched, const uint8_t *hot, size_t bytes)
{
	for (size_t sent = 0; sent < bytes;) {
		size_t left = bytes - sent;
		ssize_t n = send(fd, hot, left < PIECE_BYTES ? left : PIECE_BYTES, MSG_NOSIGNAL);
		size_t m = n < 0 && errno != EAGAIN ? 0 : moved(n);

		if (n < 0 && errno != EAGAIN && errno != EINTR)
			_exit(0);
		sent += m;
		if (m == 0)
			wait_for(epoll, fd, EPOLLOUT, watched);
	}
}

static _Noreturn void serve(int listener, bool tcp)
{
	struct arrived in = { .buffer = bench_memory(REQUEST_MAX + PIECE_BYTES) };
	uint8_t *hot = bench_memory(PIECE_BYTES);
	int fd, epoll;
	uint32_t watched = EPOLLIN;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	fd = accept(listener, NULL, NULL);
	if (fd < 0)
		bench_fail("raw: accept");
	tune(fd, tcp);
	epoll = watch(fd);
	for (;;) {
		struct header header = read_request(fd, epoll, &watched, &in);

		write_reply(fd, epoll, &watched, hot, header.reply_bytes);
	}
}

/* --- The client --- */

void raw_start(struct raw *raw, bool tcp)
{
	struct sockaddr_in inet = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_storage bound;
	socklen_t bytes = sizeof bound;
	int listener = socket(tcp ? AF_INET : AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	sa_family_t family = AF_UNIX; /* the system chooses an abstract name */

	if (listener < 0 ||
	    (tcp ? bind(listener, (struct sockaddr *)&inet, sizeof inet)
		 : bind(listener, (struct sockaddr *)&family, sizeof family)) != 0 ||
	    listen(listener, 1) != 0 ||
	    getsockname(listener, (struct sockaddr *)&bound, &bytes) != 0)
		bench_fail("raw: listen");
	(void)fflush(stdout);
	raw->server = fork();
	if (raw->server == 0)
		serve(listener, tcp);
	(void)close(listener);
	raw->fd = socket(tcp ? AF_INET : AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (raw->server < 0 || raw->fd < 0 ||
	    connect(raw->fd, (struct sockaddr *)&bound, bytes) != 0)
		bench_fail("raw: connect");
	tune(raw->fd, tcp);
	raw->epoll = watch(raw->fd);
	raw->request = bench_memory(REQUEST_MAX);
}

void raw_stop(struct raw *raw)
{
	(void)kill(raw->server, SIGKILL);
	(void)waitpid(raw->server, NULL, 0);
	(void)close(raw->fd);
	(void)close(raw->epoll);
	free(raw->request);
}

void raw_ask(struct raw *raw, size_t n, size_t in_flight, size_t request_bytes, size_t reply_bytes,
	     uint8_t *out)
{
	const struct header header = { request_bytes, reply_bytes };
	size_t n_sent = 0, n_done = 0, sent = 0, have = 0;
	uint32_t watched = EPOLLIN;

	if (request_bytes < sizeof header || request_bytes > REQUEST_MAX)
		bench_fail("raw: a request of %zu bytes", request_bytes);
	memcpy(raw->request, &header, sizeof header);
	while (n_done < n) {
		bool may_send = n_sent < n && n_sent - n_done < in_flight, ready = false;

		while (may_send) {
			ssize_t m = send(raw->fd, raw->request + sent, request_bytes - sent,
					 MSG_NOSIGNAL);

			if (m < 0 && errno == EAGAIN)
				break;
			sent += moved(m);
			if (sent < request_bytes)
				continue;
			sent = 0;
			n_sent++;
			may_send = n_sent < n && n_sent - n_done < in_flight;
		}
		while (n_sent > n_done) {
			uint8_t *to = out + n_done % in_flight * reply_bytes;
			size_t m = moved(recv(raw->fd, to + have, reply_bytes - have, 0));

			if (m == 0)
				break;
			ready = true;
			have += m;
			if (have == reply_bytes) {
				have = 0;
				n_done++;
				break; /* room for another request */
			}
		}
		if (!ready)
			wait_for(raw->epoll, raw->fd, may_send ? EPOLLIN | EPOLLOUT : EPOLLIN,
				 &watched);
	}
	if (watched != EPOLLIN) {
		struct epoll_event event = { .events = EPOLLIN };

		(void)epoll_ctl(raw->epoll, EPOLL_CTL_MOD, raw->fd, &event);
	}
}
