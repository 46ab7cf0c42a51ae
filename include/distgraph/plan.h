/*
 * distgraph/plan.h -- what cutting a graph will take, before it is begun.
 *
 * Threads: any thread; calls share nothing.
 */
#ifndef DISTGRAPH_PLAN_H
#define DISTGRAPH_PLAN_H

#include <distgraph/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Zero is the default of every field but n_parts. */
typedef struct dg_plan_options {
	/* Edge lists as text (.gz too), .npy of shape (E,2), (E,3) or (2,E), MatrixMarket. None where
	 * n_nodes and n_edges say it all. */
	const char *const *paths;
	size_t n_paths;
	uint32_t n_parts;
	int64_t n_nodes;	 /* 0: the largest id of a sample and 1 */
	int64_t n_edges;	 /* 0: as the files say, or as many as fit into them by a sample */
	uint64_t node_row_bytes; /* of all features of a node */
	uint64_t edge_row_bytes;
	uint64_t memory_bytes; /* that partitioning will be told to stay within; 0: 1 GiB for method
				* stream, no limit for the rest */
} dg_plan_options;

typedef struct dg_plan_method {
	const char *method;
	uint64_t memory_bytes; /* at most, of all processes together; mapped files not counted */
	uint64_t disk_bytes;   /* at most, for temporary files of the cut */
	double seconds;	       /* about, on one core of our time */
	int possible;
	char why_not[DG_ERROR_TEXT_BYTES]; /* empty where it is */
} dg_plan_method;

#define DG_PLAN_METHODS 3

typedef struct dg_plan {
	int64_t n_nodes;
	int64_t n_edges;
	int sampled;	      /* non-zero: one of them is from a sample */
	uint64_t store_bytes; /* of all partitions, about */
	uint64_t work_bytes;  /* of temporary files besides those of the method, at most */
	dg_plan_method methods[DG_PLAN_METHODS]; /* metis, stream, random */
} dg_plan;

/*
 * Reads the beginnings of the files and samples of them. Fails with INVALID (options; ids that are
 * no numbers while n_nodes is not told; a file that is none of the formats), NOTFOUND, DENIED,
 * UNSUPPORTED, IO, NOMEM.
 */
DG_API dg_status dg_plan_make(const dg_plan_options *options, dg_plan *out, dg_error *err);

#ifdef __cplusplus
}
#endif

#endif
