/*
 * distgraph/client.h -- all partitions of a graph, seen as one.
 *
 * Ids are relabelled type-wise ids unless a function says otherwise; dg_client_to_internal() and
 * dg_client_to_original() translate the caller's own.
 *
 * Threads: one thread at a time, but for dg_client_interrupt(); requests belong to their client. A
 * process that was forked must open its own client (DENIED).
 * Ownership: dg_client_open() gives a client to close. Arrays passed in are only read during the
 * call, arrays to fill are the caller's; of dg_client_begin_pull() both are lent until the request
 * ends.
 * Time: every call ends within the client's timeout_ms, with TIMEOUT at worst. An error names the
 * partition and its address.
 *
 * Servers may be killed and started again under a client: connections are made again, what was under
 * way is asked again, each push counts exactly once (docs/consistency.md), and calls just take longer.
 * That nobody serves a partition is told at once (CLOSED) only while the client has never met its
 * server. A server whose store is older than what this client was told is on disk is refused
 * (MISMATCH).
 */
#ifndef DISTGRAPH_CLIENT_H
#define DISTGRAPH_CLIENT_H

#include <distgraph/cluster.h>
#include <distgraph/store.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dg_client dg_client;

/* Zero is the default of every field. */
typedef struct dg_client_options {
	uint32_t timeout_ms; /* for one call, all partitions; 0: 30,000 */
	const char
		*ip_config; /* a file with a line per partition; NULL: DGL_IP_CONFIG, then none */
	const char *const
		*addresses; /* explicit: one per partition; NULL: by the rules of cluster.h */
	size_t n_addresses;
} dg_client_options;

/*
 * Opens the cluster file at @path. Servers are contacted when they are first needed, and again
 * after a lost connection.
 * Fails as dg_cluster_open() does.
 */
DG_API dg_status dg_client_open(const char *path, const dg_client_options *options, dg_client **out,
				dg_error *err);
DG_API void dg_client_close(dg_client *client);

DG_API const dg_cluster *dg_client_cluster(const dg_client *client);
DG_API const dg_book *dg_client_book(const dg_client *client);

/*
 * The tensors of the graph, as partition 0 knows them; n_rows counts the whole graph. Lent until
 * the next call of this function. Fails with CLOSED, TIMEOUT, PROTO, MISMATCH, NOMEM.
 */
DG_API dg_status dg_client_tensors(dg_client *client, const dg_tensor_info **out, size_t *n,
				   dg_error *err);

/*
 * The tensor meant by @text (see dg_book_find_tensor()), among those last told by
 * dg_client_tensors(), which is asked first if it never was. Fails with NOTFOUND, INVALID, ….
 */
DG_API dg_status dg_client_find(dg_client *client, const char *text, dg_tensor_info *out,
				dg_error *err);

/*
 * Fetches rows: the i-th row of @out is row rows[i] of the tensor, in any order, repeats allowed.
 * @out has room for n * tensor->row_bytes bytes; on failure its contents are undefined.
 * Fails with RANGE (names the first bad id), NOTFOUND, CORRUPT, CLOSED, TIMEOUT, PROTO, NOMEM.
 * Cost: one request, or one per 8 MiB of rows, to each partition that owns some.
 */
DG_API dg_status dg_client_pull(dg_client *client, const dg_tensor_info *tensor, const dg_id *rows,
				size_t n, void *out, dg_error *err);

/*
 * Changes rows: row rows[i] by @operation with the i-th row of @data, in the caller's order; of equal
 * rows each counts, and the last assignment wins. Returns when every partition concerned has
 * acknowledged: by then it is on disk or not, as the tensor's durability says. Atomic per partition
 * and request of 8 MiB, not over several.
 * Fails as dg_client_pull() does, with INVALID (a system tensor; an operation its dtype lacks) and
 * FULL (the server's disk, or 256 MiB of pushes that are not on it yet). Where the text says so, after
 * TIMEOUT, rows may or may not be changed, or be changed later, while the client lives: it goes
 * on repeating what a server may have taken.
 */
DG_API dg_status dg_client_update(dg_client *client, const dg_tensor_info *tensor,
				  dg_operation operation, const dg_id *rows, size_t n,
				  const void *data, dg_error *err);
/* The same with DG_OP_ASSIGN. */
DG_API dg_status dg_client_push(dg_client *client, const dg_tensor_info *tensor, const dg_id *rows,
				size_t n, const void *data, dg_error *err);
/* Sets rows [first, first + count) to the one row at @row, on the servers. Fails as an update. */
DG_API dg_status dg_client_fill(dg_client *client, const dg_tensor_info *tensor, dg_id first,
				int64_t count, const void *row, dg_error *err);

/* --- Several at once ---
 *
 * A request that was begun goes on whenever its client is used, and while it is waited for. Any
 * number may be under way. Pulls see the pushes that were begun before them.
 */
typedef struct dg_request dg_request;

#define DG_REQUEST_ROWS_MAX (4U << 20) /* rows of one request */

/* Begins a pull. @rows and @out are lent until the request ends. Fails as dg_client_pull(). */
DG_API dg_status dg_client_begin_pull(dg_client *client, const dg_tensor_info *tensor,
				      const dg_id *rows, size_t n, void *out, dg_request **request,
				      dg_error *err);
/* Begins an update. @rows and @data are copied. Fails as dg_client_update(). */
DG_API dg_status dg_client_begin_push(dg_client *client, const dg_tensor_info *tensor,
				      dg_operation operation, const dg_id *rows, size_t n,
				      const void *data, dg_request **request, dg_error *err);

/* Is there nothing more to wait for? Looks only: dg_client_poll() moves requests on. */
DG_API int dg_request_is_done(const dg_request *request);
/*
 * Waits for the request, and ends it: it is gone afterwards, whatever is returned but CANCELLED (see
 * dg_client_interrupt()). Fails as the blocking call would.
 */
DG_API dg_status dg_request_wait(dg_request *request, dg_error *err);
/* Ends a request without waiting; its push counts or not. NULL is fine. */
DG_API void dg_request_abandon(dg_request *request);
/*
 * Moves all requests on: waits for news, @timeout_ms and 100 ms at most, and takes it; 0 only looks.
 * Fails with CANCELLED, NOMEM.
 */
DG_API dg_status dg_client_poll(dg_client *client, uint32_t timeout_ms, dg_error *err);
/*
 * Ends the wait of the call under way, or of the next one, within 100 ms: it fails with CANCELLED.
 * While the call connects it is noticed after that attempt: 2 s at most for a server that was met
 * before. Any thread; may be called by a signal handler.
 */
DG_API void dg_client_interrupt(dg_client *client);

/* The caller's own ids to relabelled ids and back. @out may be @ids. Fails as a pull does. */
DG_API dg_status dg_client_to_internal(dg_client *client, dg_side side, uint16_t type,
				       const dg_id *ids, size_t n, dg_id *out, dg_error *err);
DG_API dg_status dg_client_to_original(dg_client *client, dg_side side, uint16_t type,
				       const dg_id *ids, size_t n, dg_id *out, dg_error *err);

/* How one server is. */
typedef struct dg_server_status {
	dg_store_info store;
	int64_t pid;
	uint64_t uptime_ms;
	uint64_t connections; /* open now */
	uint64_t pulls;	      /* requests since the start */
	uint64_t pushes;
	uint64_t rows_pulled;
	uint64_t rows_pushed;
	char address[DG_PATH_BYTES_MAX]; /* the one this client used */
	double round_trip_ms;
} dg_server_status;

/* Asks the server of @part. Fails with CLOSED (not running; the text says where it was sought), … */
DG_API dg_status dg_client_server_status(dg_client *client, uint32_t part, dg_server_status *out,
					 dg_error *err);

/*
 * Asks the server at @address ("host:port", "host", "[v6]:port" or "unix:/path"), whatever its
 * cluster and partition; within @timeout_ms, 0 being 30,000. Any thread. Fails with INVALID (the
 * address), NOTFOUND (the host), CLOSED, TIMEOUT, DENIED, BUSY, PROTO, VERSION, NOMEM.
 */
DG_API dg_status dg_server_status_at(const char *address, uint32_t timeout_ms,
				     dg_server_status *out, dg_error *err);

#ifdef __cplusplus
}
#endif

#endif
