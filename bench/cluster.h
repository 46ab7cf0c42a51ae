/*
 * cluster.h -- a graph of one partition with one tensor of rows, served by a process of its own.
 */
#ifndef BENCH_CLUSTER_H
#define BENCH_CLUSTER_H

#include <distgraph/distgraph.h>

#include <stdbool.h>
#include <sys/types.h>

#define BENCH_FEATURE "feat"

struct bench_cluster {
	char *path;	    /* of the cluster file */
	char *dir;	    /* all of it, to be removed */
	char *feature_path; /* the rows as they were given: a .npy file, kept */
	size_t feature_at;  /* where its rows begin */
};

/* @n_rows nodes with a row of @row_bytes (a multiple of 8) each, as bench_rows() has them. */
void bench_cluster_make(struct bench_cluster *cluster, int64_t n_rows, size_t row_bytes);
void bench_cluster_remove(struct bench_cluster *cluster);

struct bench_server {
	pid_t pid;
	char address[DG_PATH_BYTES_MAX];
};

/*
 * Serves it with @threads network threads, over TCP on the loopback or over a Unix socket. To be
 * called while this process has one thread. The server dies with this process.
 */
void bench_server_start(struct bench_server *server, const struct bench_cluster *cluster, bool tcp,
			uint32_t threads);
void bench_server_stop(struct bench_server *server);

/* A client of it, and the tensor. */
dg_client *bench_client_open(const struct bench_cluster *cluster, const struct bench_server *server,
			     dg_tensor_info *feature);

#endif
