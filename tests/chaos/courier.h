/*
 * courier.h -- a client of one server with a session of pushes, made of the library's pure parts and a
 * socket: pushes go ahead unwaited, pulls see them, connections are made again until a deadline.
 *
 * A thin second client beside the library's own, for tests that want to see each push.
 */
#ifndef CHAOS_COURIER_H
#define CHAOS_COURIER_H

#include "client_session.h"
#include "conn.h"
#include "deadline.h"
#include "history.h"
#include "rng.h"

struct courier {
	const char *address;
	struct history *history; /* is told what is sent and what comes of it */
	size_t client;		 /* number of this one in it: adds to that column */
	uint32_t tensor;
	dg_id first; /* of the rows that the server has */
	struct dgi_client_session session;
	struct dgi_conn conn;
	struct dgi_pool pool;
	bool is_connected;
	uint64_t last_id;
	int64_t heard_ms; /* when anything was heard last */
	struct dgi_rng rng;
	uint64_t n_connections;
	uint64_t n_repeats;	   /* answers that said so */
	dg_error failure;	   /* status not OK: something that must not happen */
	struct courier_pull *pull; /* under way */
};

void courier_init(struct courier *courier, const char *address, struct history *history,
		  size_t client, uint32_t tensor, uint64_t seed);
void courier_clear(struct courier *courier);

/* Adds 1 to its column of @n rows; does not wait. */
void courier_push(struct courier *courier, const dg_id *rows, size_t n);
/* Pushes that are not known to be on disk. */
size_t courier_kept(const struct courier *courier);
/* Works until at most @n pushes are kept. False: failure, or too late. */
bool courier_settle(struct courier *courier, size_t n, struct dgi_deadline deadline);
/* Pulls @n rows after all pushes so far. */
bool courier_pull(struct courier *courier, const dg_id *rows, size_t n, float *out,
		  struct dgi_deadline deadline);
/* Closes the session, once all is settled. */
bool courier_close_session(struct courier *courier, struct dgi_deadline deadline);

#endif
