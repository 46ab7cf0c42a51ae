/*
 * conn.h -- one connection: a socket between an inbox and an outbox, with limits and deadlines.
 *
 * Used by both sides. Nothing here waits: the owner polls for dgi_conn_events(), calls
 * dgi_conn_receive() and dgi_conn_flush() when the socket is ready, and takes messages by
 * dgi_conn_next() until there is none. A failure of any of them is the end of the connection.
 *
 * Threads: one thread at a time.
 */
#ifndef DGI_CONN_H
#define DGI_CONN_H

#include "inbox.h"
#include "outbox.h"

#include <stdint.h>

/* Time a peer has; bounds of what is kept for it. */
struct dgi_conn_limits {
	uint32_t handshake_ms; /* from the beginning to dgi_conn_establish(); 0: no limit */
	uint32_t frame_ms;     /* for a frame to pass, either way, plus 1 ms per 64 bytes */
	uint32_t idle_ms;      /* without any byte; 0: no limit */
	size_t send_bytes_max; /* queued to send: above it nothing is read */
};

struct dgi_conn {
	int fd; /* -1 once closed */
	struct dgi_conn_limits limits;
	bool established;
	bool ended;  /* the peer sends no more */
	bool paused; /* the owner wants no bytes for now */
	int64_t opened_ms, active_ms;
	int64_t heard_ms;    /* when bytes came last; at first, when it began */
	int64_t arriving_ms; /* since when a message has been arriving; 0: none is */
	int64_t leaving_ms;  /* since when the head of the outbox is being sent; 0: none is */
	struct dgi_inbox in;
	struct dgi_outbox out;
};

/* Takes @fd, a non-blocking socket. The first body may have 64 KiB. */
void dgi_conn_init(struct dgi_conn *conn, int fd, struct dgi_pool *pool,
		   const struct dgi_conn_limits *limits);
/* Closes the socket and frees what it holds. Accepts a cleared one. */
void dgi_conn_clear(struct dgi_conn *conn);

/* The peer has said who it is: bodies up to the limit are taken from now on. */
void dgi_conn_establish(struct dgi_conn *conn);

/* The owner has, or has no longer, too much to do to take bytes in. */
void dgi_conn_pause(struct dgi_conn *conn, bool paused);

/* What to wait for: POLLIN, POLLOUT (the same numbers as EPOLLIN and EPOLLOUT). */
short dgi_conn_events(struct dgi_conn *conn);

/* Queues a message, see dgi_outbox_put(); dgi_conn_flush() sends it. */
dg_status dgi_conn_send(struct dgi_conn *conn, struct dgi_frame frame, const struct dgi_body *body,
			dg_error *err);
/* Sends what the socket takes. Fails with CLOSED, IO. */
dg_status dgi_conn_flush(struct dgi_conn *conn, dg_error *err);

/*
 * Takes in what has arrived, as far as there is room. Sets conn->ended at the end of the stream;
 * dgi_conn_next() may still give messages. Fails with CLOSED, IO.
 */
dg_status dgi_conn_receive(struct dgi_conn *conn, dg_error *err);

/* See dgi_inbox_next(). Fails also with CLOSED where the stream has ended. */
dg_status dgi_conn_next(struct dgi_conn *conn, enum dgi_inbox_answer *answer,
			struct dgi_message *out, dg_error *err);

/* Has the peer kept within its time? Fails with TIMEOUT. */
dg_status dgi_conn_check_time(const struct dgi_conn *conn, int64_t now_ms, dg_error *err);

#endif
