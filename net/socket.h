/*
 * socket.h -- non-blocking sockets: listening, accepting, connecting by a deadline.
 *
 * All descriptors are close-on-exec. Unix sockets are for one user: mode 0600, and both sides
 * refuse a peer of another user.
 */
#ifndef DGI_SOCKET_H
#define DGI_SOCKET_H

#include "address.h"

struct dgi_listener {
	int fd;			    /* -1 while closed */
	struct dgi_address address; /* as bound, with the port that the system chose */
	uint64_t file_device;	    /* of the Unix socket's file, to remove no other's */
	uint64_t file_inode;
};

/*
 * Binds and listens. Without @beyond_host an address that other hosts reach is refused. A Unix
 * socket's file that nobody answers on is removed first.
 *
 * Fails with BUSY (in use; names the port or path and, where visible, the process), DENIED,
 * NOTFOUND, INVALID, IO.
 */
dg_status dgi_listen(const struct dgi_address *address, bool beyond_host, struct dgi_listener *out,
		     dg_error *err);
/* Closes, and removes the Unix socket's file if it is still ours. Accepts a closed one. */
void dgi_listener_close(struct dgi_listener *listener);

/*
 * The next connection, tuned, or *fd = -1 when none waits. Fails with FULL (no descriptors left),
 * DENIED (a Unix peer of another user; it was closed), IO.
 */
dg_status dgi_accept(const struct dgi_listener *listener, int *fd, dg_error *err);

/*
 * Connects, trying each endpoint of the address in turn. *fd is non-blocking.
 * Fails with CLOSED (nobody listens), TIMEOUT, NOTFOUND (host, or no such Unix socket), DENIED, IO.
 */
dg_status dgi_connect(const struct dgi_address *address, struct dgi_deadline deadline, int *fd,
		      dg_error *err);

#endif
