/*
 * distgraph/partition.h -- cut a graph into partitions and write their stores.
 *
 * Threads: any thread; calls share nothing.
 */
#ifndef DISTGRAPH_PARTITION_H
#define DISTGRAPH_PARTITION_H

#include <distgraph/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Told how far the work is; @total is 0 while unknown. Return non-zero to cancel: the call then
 * fails with CANCELLED and leaves nothing behind.
 */
typedef int dg_progress_fn(void *context, const char *phase, uint64_t done, uint64_t total);

/* A feature: one row per node or edge, in the caller's order, from a .npy file. */
typedef struct dg_partition_data {
	const char *type; /* NULL: the only type of its side */
	const char *name;
	const char *path;
	int bfloat16; /* non-zero: the file's uint16 ("<u2") are the bits of bfloat16 */
} dg_partition_data;

/* Zero is the default of every field but the first four. */
typedef struct dg_partition_options {
	const char *const *edge_paths; /* CSV/TSV (.gz too) or .npy of shape (E,2) or (2,E) */
	size_t n_edge_paths;
	uint32_t n_parts;
	const char *output; /* directory to make */

	const char *graph_name; /* NULL: last component of @output */
	const char *method;	/* "metis" (NULL too), "random" */
	/* 0: rows of the first node feature, else largest id + 1; an edge file without any edge is
	 * then refused as empty unless there is a node feature. */
	int64_t n_nodes;
	const dg_partition_data *node_data;
	size_t n_node_data;
	const dg_partition_data *edge_data;
	size_t n_edge_data;
	uint64_t seed;
	int force; /* replace an existing @output that holds a partitioned graph and nothing else */

	dg_progress_fn *progress;
	void *progress_context;
} dg_partition_options;

typedef struct dg_partition_report {
	int64_t n_nodes;
	int64_t n_edges;
	int64_t edges_cut;		      /* edges whose ends have different owners */
	char cluster_path[DG_PATH_BYTES_MAX]; /* the cluster file written */
} dg_partition_report;

/*
 * Cuts the graph and writes one store per partition and the cluster file. Everything is made in a
 * temporary directory beside @output and renamed into place when it is durable: on failure
 * nothing is left, and an existing @output is as it was.
 *
 * In an edge file the first two columns count; a .npy of shape (2,2) is taken as (E,2). Duplicate
 * edges and loops are kept. Progress tells the phases "read edges" (bytes), "cut", "relabel" and
 * "write" (rows). Method metis is METIS in this process: meanwhile SIGTERM makes it give up, and
 * rand() is drawn from; calls take turns. No partition is left without a node.
 *
 * Fails with NOTFOUND, INVALID (names file, line or id, what was found and wanted), EXISTS (the
 * output, without @force), BUSY (a server has it, with @force), RANGE (ids), MISMATCH (rows of a
 * feature), UNSUPPORTED (too large for METIS), FULL, DENIED, IO, CANCELLED, NOMEM.
 */
DG_API dg_status dg_partition(const dg_partition_options *options, dg_partition_report *report,
			      dg_error *err);

#ifdef __cplusplus
}
#endif

#endif
