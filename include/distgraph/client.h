/*
 * distgraph/client.h -- all partitions of a graph, seen as one.
 *
 * Ids are relabelled type-wise ids unless a function says otherwise; dg_client_to_internal() and
 * dg_client_to_original() translate the caller's own.
 *
 * Threads: one thread at a time. A process that was forked must open its own client.
 * Ownership: dg_client_open() gives a client to close. Arrays passed in are only read during the
 * call; arrays to fill are the caller's.
 * Time: every call ends within the client's timeout_ms, with TIMEOUT at worst. An error names the
 * partition and its address.
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
 * Sets rows: row rows[i] becomes the i-th row of @data; of equal rows the last wins. Returns when
 * every partition concerned has acknowledged, and acknowledged means durable. Atomic per
 * partition and request, not over several.
 * Fails as dg_client_pull() does, with INVALID (a system tensor) and FULL. Where the text says so, as
 * after a lost connection or no answer in time, the rows of the partition named may or may not be
 * set; so may rows of other partitions after any failure.
 */
DG_API dg_status dg_client_push(dg_client *client, const dg_tensor_info *tensor, const dg_id *rows,
				size_t n, const void *data, dg_error *err);

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
