/*
 * distgraph/partition.h -- cut a graph into partitions and write their stores.
 *
 * Threads: any thread; calls share nothing.
 */
#ifndef DISTGRAPH_PARTITION_H
#define DISTGRAPH_PARTITION_H

#include <distgraph/input.h>
#include <distgraph/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Told how far the work is; @total is 0 while unknown. Return non-zero to cancel: the call then
 * fails with CANCELLED.
 */
typedef int dg_progress_fn(void *context, const char *phase, uint64_t done, uint64_t total);

#define DG_HALO_NONE UINT32_MAX
#define DG_HALO_HOPS_MAX 64

/* Zero is the default of every field but the first three. */
typedef struct dg_partition_options {
	/* What is read. Where nobody tells how many nodes a type has, it is as many as the rows of its
	 * first data, else the largest number + 1; an edge file without any edge is then refused as
	 * empty. */
	dg_graph_input input;
	uint32_t n_parts;
	const char *output; /* directory to make */

	const char *graph_name; /* NULL: last component of @output */
	/* NULL or "metis": few edges between partitions. "stream": the same in memory for the nodes
	 * alone. "random". Or "FILE" with a partition number for each node, .npy or a line each; of
	 * several node types "TYPE=FILE,TYPE=FILE,…". */
	const char *method;
	uint64_t seed;
	/* How far around its own nodes each partition stores the graph: 0: 1 hop; DG_HALO_NONE: not at
	 * all. Partitions own the in-edges of their nodes in any case. */
	uint32_t halo_hops;
	/* Above 1: each partition is cut further for so many trainers, at most 65,535 in all; which
	 * trainer has a node, or its in-edges, is kept as data "trainer_id" of every type (int64), and
	 * trainer_id / n_trainers is the partition. */
	uint32_t n_trainers;
	int balance_types; /* non-zero: each node type by itself is shared out evenly */
	int balance_edges; /* non-zero: edges are, too */
	int volume; /* non-zero: metis keeps small what partitions exchange, not the edges cut */
	/* Bytes of memory to stay within, at least 16 MiB and what the tables of nodes need (some 40 a
	 * node): what does not fit is sorted on disk. Files that are mapped do not count, nor does
	 * METIS. 0: half of the machine's. */
	uint64_t memory_bytes;
	int force; /* replace an existing @output that holds a partitioned graph and nothing else */

	dg_progress_fn *progress;
	void *progress_context;
} dg_partition_options;

typedef struct dg_partition_report {
	int64_t n_nodes;
	int64_t n_edges;
	int64_t edges_cut;		      /* edges whose ends have different owners */
	char cluster_path[DG_PATH_BYTES_MAX]; /* the cluster file written */
	/* The largest partition over the even share: 1 is perfect. Of all types together. */
	double node_balance;
	double edge_balance;
	int64_t halo_nodes; /* stored, of all partitions together */
	int64_t halo_edges;
	int resumed; /* non-zero: an interrupted run went on */
} dg_partition_report;

/*
 * Cuts the graph and writes one store per partition and the cluster file. Everything is made in the
 * directory "<output>.work" beside @output, and renamed into place when it is whole and durable: an
 * existing @output is as it was until then.
 *
 * A call that is cancelled or killed, or fails for want of space or memory, leaves that directory,
 * and a call with the same options, inputs unchanged, goes on behind the last stage that was
 * finished; one with others begins anew. Any other failure leaves nothing.
 *
 * In an edge file the first two columns count; a .npy of shape (2,2) is taken as (E,2). Duplicate
 * edges and loops are kept. Progress tells the phases "read" (bytes), "cut", "sort" (edges),
 * "read data", "write" (rows) and "verify": what was written is read again and held against the
 * input. METIS runs in a child process. Where there are nodes enough, no partition is left without
 * one, but by an assignment file.
 *
 * Fails with NOTFOUND, INVALID (names file, line or id, what was found and wanted), EXISTS (the
 * output, without @force), BUSY (a server has it, with @force; another call makes it), RANGE (ids),
 * MISMATCH (rows of a feature), UNSUPPORTED (too large for METIS), FULL, DENIED, IO, CANCELLED,
 * NOMEM, CORRUPT (it was not written as it should be).
 */
DG_API dg_status dg_partition(const dg_partition_options *options, dg_partition_report *report,
			      dg_error *err);

#ifdef __cplusplus
}
#endif

#endif
