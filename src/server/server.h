/*
 * server.h -- a server from inside: what its threads share; see <distgraph/server.h>.
 *
 * N network threads (loop.h) have the connections (session.h) among them, serve pulls themselves
 * and hand pushes to one writing thread (writer.h).
 */
#ifndef DGI_SERVER_H
#define DGI_SERVER_H

#include "budget.h"
#include "group_service.h"
#include "seats.h"
#include "socket.h"
#include "writer.h"

#include <distgraph/server.h>

#define DGI_LISTENERS_MAX 16

struct dgi_loop;

struct dg_server {
	char *path;	 /* of the store's directory */
	dg_store *store; /* owned */
	struct dgi_service service;
	struct dgi_writer writer;
	struct dgi_budget requests; /* bodies that have come or are coming */
	struct dgi_budget replies;  /* rows on their way out */
	_Atomic unsigned n_starved; /* loops with a session that waits for one of the two */
	_Atomic uint64_t n_given;   /* times that bytes were given back while there were any */
	struct dgi_seats seats;
	struct dgi_group_service groups;
	uint64_t connections_max;

	struct dgi_listener listeners[DGI_LISTENERS_MAX];
	size_t n_listeners;
	char address_texts[DGI_LISTENERS_MAX][DGI_ADDRESS_BYTES];
	const char *addresses[DGI_LISTENERS_MAX];
	bool has_record; /* server.json is ours */

	struct dgi_loop *loops;
	size_t n_loops;
	size_t next_loop; /* that gets a connection; the accepting loop's own */
	int stop_fd;	  /* an eventfd, written by dg_server_stop() */
	_Atomic bool draining;
	_Atomic bool failed; /* the first failure is in: */
	dg_error failure;
};

/* Records the first failure and ends dg_server_run(). Any thread of the server. */
void dgi_server_fail(struct dg_server *server, const dg_error *error);

/* Gives bytes back and wakes who waits for them. */
void dgi_server_give(struct dg_server *server, struct dgi_budget *budget, uint64_t n);

#endif
