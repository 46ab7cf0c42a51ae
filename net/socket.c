/* socket.c -- non-blocking sockets: listening, accepting, connecting by a deadline. */
#include "socket.h"

#include "fail.h"
#include "holder.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define BACKLOG 1024
#define LOOKUP_MS 10000	     /* for the host name of an address to listen on */
#define LOCK_MS 2000	     /* for others that bind in the same directory */
#define ANSWER_MS 1000	     /* for a Unix socket that may be stale */
#define KEEPALIVE_IDLE_S 30  /* silence after which the peer is probed */
#define KEEPALIVE_EVERY_S 10 /* between probes */
#define KEEPALIVE_PROBES 3
#define USER_TIMEOUT_MS 30000 /* sent but not acknowledged by the peer's host */

static void set_option(int fd, int level, int name, int value)
{
	(void)setsockopt(fd, level, name, &value, sizeof value);
}

/* bbr, the default of some hosts, halves the rate over loopback; cubic is the best there. */
static void prefer_cubic(int fd)
{
	if (setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "cubic", 5) != 0)
		(void)setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "reno", 4);
}

/* All of it is advice: a system that refuses an option still serves. */
static void tune(int fd)
{
	struct dgi_endpoint self = { .bytes = sizeof self.address };

	if (getsockname(fd, (struct sockaddr *)&self.address, &self.bytes) != 0 ||
	    self.address.ss_family == AF_UNIX)
		return;
	set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
	set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, KEEPALIVE_IDLE_S);
	set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, KEEPALIVE_EVERY_S);
	set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, KEEPALIVE_PROBES);
	set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, USER_TIMEOUT_MS);
	if (dgi_endpoint_is_local(&self))
		prefer_cubic(fd);
}

static dg_status check_peer(int fd, dg_error *err)
{
	struct ucred peer = { 0 };
	socklen_t n = sizeof peer;
	int domain = 0;
	socklen_t domain_bytes = sizeof domain;

	if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &domain_bytes) == 0 && domain != AF_UNIX)
		return DG_OK;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) != 0)
		return dgi_fail_errno(err, errno, "peer of a Unix socket");
	if (peer.uid != geteuid() && peer.uid != 0)
		return dgi_fail(err, DG_DENIED,
				"Unix socket: peer is user %lu (process %ld), want user %lu",
				(unsigned long)peer.uid, (long)peer.pid, (unsigned long)geteuid());
	return DG_OK;
}

static int new_socket(int family)
{
	return socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

static dg_status wait_connected(int fd, struct dgi_deadline deadline, dg_error *err)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	int error_number = 0;
	socklen_t n = sizeof error_number;
	int ready;

	do
		ready = poll(&p, 1, dgi_deadline_left_ms(deadline));
	while (ready < 0 && errno == EINTR);
	if (ready == 0)
		return dgi_fail(err, DG_TIMEOUT, "connect: timed out");
	if (ready < 0 || getsockopt(fd, SOL_SOCKET, SO_ERROR, &error_number, &n) != 0)
		return dgi_fail_errno(err, errno, "connect");
	return error_number ? dgi_fail_errno(err, error_number, "connect") : DG_OK;
}

static dg_status connect_endpoint(const struct dgi_endpoint *to, struct dgi_deadline deadline,
				  int *out, dg_error *err)
{
	int fd = new_socket(to->address.ss_family);
	dg_status st = DG_OK;
	int rc;

	if (fd < 0)
		return dgi_fail_errno(err, errno, "socket");
	/* A Unix socket whose backlog is full says EAGAIN at once and cannot be waited for. */
	while ((rc = connect(fd, (const struct sockaddr *)&to->address, to->bytes)) != 0 &&
	       errno == EAGAIN && !dgi_deadline_passed(deadline))
		dgi_sleep_ms(1);
	if (rc != 0 && errno == EAGAIN)
		st = dgi_fail(err, DG_TIMEOUT, "connect: timed out");
	else if (rc != 0 && (errno == EINPROGRESS || errno == EINTR))
		st = wait_connected(fd, deadline, err);
	else if (rc != 0)
		st = dgi_fail_errno(err, errno, "connect");
	if (!st)
		st = check_peer(fd, err);
	if (st) {
		(void)close(fd);
		return st;
	}
	tune(fd);
	*out = fd;
	return DG_OK;
}

dg_status dgi_connect(const struct dgi_address *address, struct dgi_deadline deadline, int *fd,
		      dg_error *err)
{
	struct dgi_endpoints to;
	dg_status st = dgi_address_resolve(address, deadline, &to, err);

	for (size_t i = 0; !st && i < to.n; i++) {
		st = connect_endpoint(&to.at[i], deadline, fd, err);
		if (!st || i + 1 == to.n)
			return st;
		st = DG_OK;
	}
	return st;
}

/* --- Listening --- */

static dg_status bind_and_listen(int fd, const struct dgi_endpoint *at, dg_error *err)
{
	if (bind(fd, (const struct sockaddr *)&at->address, at->bytes) != 0)
		return dgi_fail_errno(err, errno, "bind");
	if (listen(fd, BACKLOG) != 0)
		return dgi_fail_errno(err, errno, "listen");
	return DG_OK;
}

static dg_status listen_tcp(int fd, const struct dgi_endpoint *at, dg_error *err)
{
	struct dgi_address wanted;
	char text[DGI_ADDRESS_BYTES], holder[64];
	dg_status st;

	set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
	if (at->address.ss_family == AF_INET6)
		set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
	st = bind_and_listen(fd, at, err);
	if (st != DG_BUSY)
		return st;
	dgi_endpoint_address(at, &wanted);
	dgi_address_format(&wanted, text);
	dgi_process_text(dgi_port_holder(wanted.port), holder, sizeof holder);
	return dgi_fail(err, DG_BUSY, "port %u of %s is in use by %s", wanted.port, text, holder);
}

/* The process that answers on a Unix socket; 0 when nobody does. */
static pid_t unix_holder(const struct dgi_endpoint *at)
{
	struct ucred peer = { 0 };
	socklen_t n = sizeof peer;
	int fd = -1;
	dg_status st = connect_endpoint(at, dgi_deadline_in(ANSWER_MS), &fd, NULL);

	if (st == DG_CLOSED || st == DG_NOTFOUND)
		return 0;
	if (st) /* somebody is there, though not for us */
		return -1;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) != 0 || peer.pid == 0)
		peer.pid = -1;
	(void)close(fd);
	return peer.pid;
}

static dg_status remove_stale(const struct dgi_endpoint *at, const char *path, dg_error *err)
{
	struct stat st;
	pid_t pid;
	char holder[64];

	if (lstat(path, &st) != 0)
		return errno == ENOENT ? DG_OK : dgi_fail_errno(err, errno, "'%s'", path);
	if (!S_ISSOCK(st.st_mode))
		return dgi_fail(err, DG_EXISTS, "'%s' exists and is no socket", path);
	pid = unix_holder(at);
	if (pid != 0) {
		dgi_process_text(pid, holder, sizeof holder);
		return dgi_fail(err, DG_BUSY, "socket '%s' is in use by %s", path, holder);
	}
	if (unlink(path) != 0 && errno != ENOENT)
		return dgi_fail_errno(err, errno, "stale socket '%s'", path);
	return DG_OK;
}

/* Locks the directory of @path, so that two servers do not take the same file for stale. */
static dg_status lock_directory(const char *path, int *out, dg_error *err)
{
	struct dgi_deadline deadline = dgi_deadline_in(LOCK_MS);
	char directory[DGI_UNIX_PATH_BYTES];
	const char *slash = strrchr(path, '/');
	size_t n = slash ? (size_t)(slash - path) : 0;
	int fd;

	memcpy(directory, path, n);
	directory[n] = '\0';
	fd = open(n ? directory : (slash ? "/" : "."), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return dgi_fail_errno(err, errno, "directory of socket '%s'", path);
	while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
		if ((errno != EWOULDBLOCK && errno != EINTR) || dgi_deadline_passed(deadline)) {
			(void)close(fd);
			return dgi_fail(err, DG_BUSY, "directory of socket '%s' is locked", path);
		}
		dgi_sleep_ms(5);
	}
	*out = fd;
	return DG_OK;
}

static dg_status listen_unix(int fd, const struct dgi_endpoint *at, struct dgi_listener *l,
			     dg_error *err)
{
	const char *path = l->address.path;
	struct stat file;
	int lock = -1;
	dg_status st = lock_directory(path, &lock, err);

	if (st)
		return st;
	st = remove_stale(at, path, err);
	/* The file gets the mode that the socket has when it is bound. */
	if (!st && fchmod(fd, 0600) != 0)
		st = dgi_fail_errno(err, errno, "socket '%s'", path);
	if (!st)
		st = bind_and_listen(fd, at, err);
	if (!st && lstat(path, &file) != 0)
		st = dgi_fail_errno(err, errno, "socket '%s'", path);
	if (!st) {
		l->file_device = file.st_dev;
		l->file_inode = file.st_ino;
	}
	(void)close(lock);
	return st;
}

static dg_status listen_endpoint(const struct dgi_endpoint *at, struct dgi_listener *l,
				 dg_error *err)
{
	struct dgi_endpoint bound = { .bytes = sizeof bound.address };
	dg_status st;

	l->fd = new_socket(at->address.ss_family);
	if (l->fd < 0)
		return dgi_fail_errno(err, errno, "socket");
	st = l->address.is_unix ? listen_unix(l->fd, at, l, err) : listen_tcp(l->fd, at, err);
	if (!st && !l->address.is_unix) {
		if (getsockname(l->fd, (struct sockaddr *)&bound.address, &bound.bytes) != 0)
			st = dgi_fail_errno(err, errno, "bound address");
		else
			dgi_endpoint_address(&bound, &l->address);
	}
	if (st)
		dgi_listener_close(l);
	return st;
}

/*
 * Listens at the first endpoint that this host has; of a name such as localhost preferably the
 * IPv4 one, which is what others mean by it.
 */
static dg_status listen_first(const struct dgi_endpoints *at, struct dgi_listener *l, dg_error *err)
{
	dg_status st = DG_NOTFOUND;

	for (int turn = 0; turn < 2; turn++)
		for (size_t i = 0; i < at->n; i++) {
			if ((at->at[i].address.ss_family == AF_INET6) != turn)
				continue;
			st = listen_endpoint(&at->at[i], l, err);
			if (st != DG_IO && st != DG_UNSUPPORTED)
				return st;
		}
	return st;
}

dg_status dgi_listen(const struct dgi_address *address, bool beyond_host, struct dgi_listener *out,
		     dg_error *err)
{
	struct dgi_listener l = { .fd = -1, .address = *address };
	struct dgi_endpoints at;
	char text[DGI_ADDRESS_BYTES];
	dg_status st;

	dgi_address_format(address, text);
	st = dgi_address_resolve(address, dgi_deadline_in(LOOKUP_MS), &at, err);
	if (!st && !beyond_host && !dgi_endpoints_are_local(&at))
		st = dgi_fail(err, DG_DENIED,
			      "other hosts reach this address, and anyone there could read and "
			      "write; allow it as insecure, or use loopback or a Unix socket");
	if (!st)
		st = listen_first(&at, &l, err);
	if (st)
		return dgi_context(err, st, "listen on %s", text);
	*out = l;
	return DG_OK;
}

void dgi_listener_close(struct dgi_listener *listener)
{
	struct stat file;

	if (listener->fd < 0)
		return;
	(void)close(listener->fd);
	listener->fd = -1;
	if (listener->address.is_unix && listener->file_inode &&
	    lstat(listener->address.path, &file) == 0 && file.st_ino == listener->file_inode &&
	    file.st_dev == listener->file_device)
		(void)unlink(listener->address.path);
}

dg_status dgi_accept(const struct dgi_listener *listener, int *fd, dg_error *err)
{
	dg_status st;
	int accepted;

	do
		accepted = accept4(listener->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	while (accepted < 0 && (errno == EINTR || errno == ECONNABORTED));
	if (accepted < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
		*fd = -1;
		return DG_OK;
	}
	if (accepted < 0 && (errno == EMFILE || errno == ENFILE))
		return dgi_fail(err, DG_FULL, "accept: no file descriptors left");
	if (accepted < 0)
		return dgi_fail_errno(err, errno, "accept");
	st = check_peer(accepted, err);
	if (st) {
		(void)close(accepted);
		return st;
	}
	tune(accepted);
	*fd = accepted;
	return DG_OK;
}
