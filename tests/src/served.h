/*
 * served.h -- part 1 of the fixture's graph, served in this process over TCP or a Unix socket, and
 * clients that speak to it message by message.
 */
#ifndef DGI_SERVED_H
#define DGI_SERVED_H

#include "call.h"

#include <distgraph/server.h>

#include <pthread.h>

#define FEAT 1U /* tensor number: 4 float32 a row */
#define SYSTEM_TENSOR 4U
#define FIRST 10 /* rows that part 1 has: [10, 24) */
#define BEHIND 24
#define ROW_BYTES 16U

struct served {
	char *dir;
	char *path; /* of the store */
	dg_server *server;
	struct dgi_address address;
	pthread_t thread;
	dg_status status; /* what dg_server_run() returned */
	dg_error error;
};

struct peer {
	struct dgi_conn conn;
	struct dgi_pool pool;
	struct dgi_welcome welcome;
	uint64_t last_id;
	bool broken;
};

/* Makes the graph; then it may be served, again and again. */
void served_make(struct served *served);
void served_remove(struct served *served);

/* Opens and runs a server; @tcp chooses the transport. */
void served_start(struct served *served, bool tcp, dg_server_options options);
/* Stops, closes; gives how long that took in ms. */
int64_t served_stop(struct served *served);

/* A deadline that no sound test reaches. */
struct dgi_deadline soon(void);

dg_status peer_dial(struct peer *peer, const struct served *served, dg_error *err);
/* As peer_dial(), which must succeed. */
void peer_open(struct peer *peer, const struct served *served);
void peer_close(struct peer *peer);

/* Pulls rows of feat into @out of n * ROW_BYTES bytes. */
dg_status peer_pull(struct peer *peer, uint32_t tensor, const dg_id *rows, size_t n, void *out,
		    dg_error *err);
/* Pushes rows; @row_bytes as the client believes. */
dg_status peer_push(struct peer *peer, uint32_t tensor, const dg_id *rows, size_t n,
		    const void *data, uint32_t row_bytes, struct dgi_pushed *out, dg_error *err);
/* Queues a push without waiting; the arrays must stay. */
void peer_queue_push(struct peer *peer, const dg_id *rows, size_t n, const void *data);
/* Queues a pull without waiting; the array must stay. */
void peer_queue_pull(struct peer *peer, const dg_id *rows, size_t n);
/* Sends what is queued and waits for the next reply, whatever it says. */
dg_status peer_next(struct peer *peer, struct dgi_message *out, dg_error *err);

/* A blocking socket to the server, for bytes that no client would send. */
int raw_open(const struct served *served);
/* Reads one whole message from it; false when the server closed first. */
bool raw_read(int fd, struct dgi_frame *frame, uint8_t *body, size_t room);

#endif
