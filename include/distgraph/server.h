/*
 * distgraph/server.h -- serve one store to clients.
 *
 * Threads: dg_server_run() keeps its thread until the end; dg_server_stop() may be called by any
 * thread and from a signal handler; the rest is for one thread at a time.
 */
#ifndef DISTGRAPH_SERVER_H
#define DISTGRAPH_SERVER_H

#include <distgraph/store.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dg_server dg_server;

/* Zero is the default of every field. */
typedef struct dg_server_options {
	const char *const
		*listen; /* "host:port", "[v6]:port" or "unix:/path"; none: the local default */
	size_t n_listen;
	uint32_t threads;	      /* network threads; 0: the number of cores, at most 4 */
	uint32_t connections_max;     /* 0: 10,000 */
	uint64_t bytes_in_flight_max; /* requests and replies in memory; 0: 1 GiB */
	int insecure;		      /* non-zero: an address that leaves the host is allowed */
} dg_server_options;

/*
 * Binds every address, so that a taken port is known before anything else is done, and writes
 * `server.json` into the store's directory. @path is the store's directory. On success the server
 * owns the store and closes it.
 *
 * Fails with BUSY (an address in use, or the store; names holder where visible), DENIED (an address
 * that leaves the host, without @insecure), INVALID (an address), and as dg_store_open() does.
 */
DG_API dg_status dg_server_open(const char *path, const dg_server_options *options, dg_server **out,
				dg_error *err);

/* The addresses bound, with the ports the system chose; "host:port" or "unix:/path". Lent. */
DG_API const char *const *dg_server_addresses(const dg_server *server, size_t *n);

/* Serves until dg_server_stop(). Fails with IO when the disk does: restart to recover. */
DG_API dg_status dg_server_run(dg_server *server, dg_error *err);

/* Makes dg_server_run() finish what it has taken, then return. */
DG_API void dg_server_stop(dg_server *server);

DG_API void dg_server_close(dg_server *server);

#ifdef __cplusplus
}
#endif

#endif
