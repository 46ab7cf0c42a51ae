/*
 * seats.h -- which connection a client's session of pushes is served on: the newest that named it.
 *
 * A client that lost its connection makes another, and pushes that it sent by the first may still
 * wait here. They would count once all the same, but not when the session is closed meanwhile and
 * forgotten; so whoever has lost the seat is refused.
 *
 * Threads: any; each seat belongs to the connection that took it, others only look at is_taken.
 */
#ifndef DGI_SEATS_H
#define DGI_SEATS_H

#include <distgraph/types.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#define DGI_SEAT_BUCKETS 4096

struct dgi_seat {
	struct dgi_seat *next; /* in its bucket */
	dg_uuid session;
	uint64_t attempt;      /* see dgi_hello */
	_Atomic bool is_taken; /* by another connection, or the session has ended */
};

struct dgi_seats {
	pthread_mutex_t lock;
	struct dgi_seat *buckets[DGI_SEAT_BUCKETS];
};

void dgi_seats_init(struct dgi_seats *seats);
void dgi_seats_clear(struct dgi_seats *seats);

/*
 * Takes the seat of @session, whoever has it; but from a connection of a later attempt the seat is
 * not taken: the new one is, at once. Gives NULL when out of memory.
 */
struct dgi_seat *dgi_seats_take(struct dgi_seats *seats, const dg_uuid *session, uint64_t attempt);
/* Frees a seat. Accepts NULL. */
void dgi_seats_leave(struct dgi_seats *seats, struct dgi_seat *seat);
/* The session has ended: whoever serves it is refused from now on. */
void dgi_seats_end(struct dgi_seats *seats, const dg_uuid *session);

#endif
