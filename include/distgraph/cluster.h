/*
 * distgraph/cluster.h -- the cluster file `<graph>.json`: what a partitioned graph consists of and
 * where its servers listen.
 *
 * Fields are those of DGL's partition JSON, plus "cluster_uuid" and optional addresses.
 * Threads: any thread, once opened. Ownership: dg_cluster_open() gives a cluster to close; the
 * rest is lent and dies with it.
 */
#ifndef DISTGRAPH_CLUSTER_H
#define DISTGRAPH_CLUSTER_H

#include <distgraph/book.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dg_cluster dg_cluster;

/*
 * Fails with NOTFOUND, INVALID (names the field, what was found, what was wanted), VERSION, IO,
 * NOMEM.
 */
DG_API dg_status dg_cluster_open(const char *path, dg_cluster **out, dg_error *err);
DG_API void dg_cluster_close(dg_cluster *cluster);

DG_API const char *dg_cluster_graph_name(const dg_cluster *cluster);
DG_API dg_uuid dg_cluster_uuid(const dg_cluster *cluster);
DG_API const dg_book *dg_cluster_book(const dg_cluster *cluster);

/* Directory of a partition's store, relative to the working directory or absolute. Lent. */
DG_API const char *dg_cluster_part_path(const dg_cluster *cluster, uint32_t part);

/*
 * Checks what no store can tell alone: that ids of the parts tile, each node is owned once, each
 * edge stored once where its destination is, out-degrees count the edges of all parts, and that
 * the id tables are each other's inverse. Takes 8 bytes of memory a node.
 *
 * Fails with CORRUPT or MISMATCH at the first thing that is wrong; NOTFOUND, BUSY (a server has a
 * store), VERSION, IO, NOMEM when it cannot be found out.
 */
DG_API dg_status dg_cluster_check(const dg_cluster *cluster, dg_error *err);

/*
 * The addresses of a partition's server, best first and Unix sockets before TCP: from @ip_config (a
 * file, or NULL) or DGL_IP_CONFIG; from "address" of the cluster file; else the local default, the
 * Unix socket in the partition's directory. A client on the server's host may also find what is
 * bound in the partition's server.json (@running non-zero: ask it first). Each is "host:port" or
 * "unix:/path".
 *
 * Gives an array of *n strings in one block, to be freed by dg_free(). *n is 0 where the local
 * default depends on the store's UUID, for a path too long for a socket, and no server runs: a
 * server told no address takes that default. Fails with INVALID (names the file and line), RANGE,
 * NOTFOUND (no address, and no store here either), NOMEM.
 */
DG_API dg_status dg_cluster_addresses(const dg_cluster *cluster, uint32_t part,
				      const char *ip_config, int running, char ***out, size_t *n,
				      dg_error *err);

/* What `part<I>/server.json` says while a server runs. */
typedef struct dg_server_record {
	int64_t pid;
	uint64_t incarnation;
} dg_server_record;

/*
 * The process that serves the store in directory @part_path on this host; a stale record is
 * ignored. Fails with NOTFOUND (nobody does), IO.
 */
DG_API dg_status dg_server_record_read(const char *part_path, dg_server_record *out, dg_error *err);

#ifdef __cplusplus
}
#endif

#endif
