/*
 * assign.h -- which partition owns which node.
 *
 * An owner is a number below the request's n_parts. Nodes are named by type and original id. The
 * same source, request and seed give the same owners.
 *
 * Threads: any thread; calls share nothing.
 */
#ifndef DGI_ASSIGN_H
#define DGI_ASSIGN_H

#include "progress.h"
#include "source.h"

/* Owners are uint16: partitions times trainers stay below. */
#define DGI_OWNERS_MAX 65535

enum dgi_objective {
	DGI_OBJECTIVE_CUT, /* few edges between partitions */
	DGI_OBJECTIVE_VOL, /* few nodes that other partitions need; METIS only */
};

struct dgi_assign_request {
	const struct dgi_source *source;
	const char
		*work; /* directory for temporary files; they have no names and go by themselves */
	/*
	 * "metis", "random", "stream", or an assignment file: "FILE" where there is one node type,
	 * else "TYPE=FILE,TYPE=FILE,…". A file is .npy or text with one number a line.
	 */
	const char *method;
	uint32_t n_parts; /* owners asked for: partitions times trainers, 1 to DGI_OWNERS_MAX */
	/* Trainers of each partition, 0 as 1. An assignment file numbers partitions, below n_parts /
	 * n_trainers; their nodes are dealt to their trainers. The other methods do not look at it. */
	uint32_t n_trainers;
	uint64_t seed;
	bool balance_types; /* each node type by itself */
	bool balance_edges; /* in-edges too */
	enum dgi_objective objective;
	uint64_t
		memory; /* bytes to stay within; 0: what the machine has for metis, 1 GiB for stream */
	struct dgi_progress *progress; /* may be NULL */
};

struct dgi_assign_report {
	const char *method; /* "metis", "random", "stream" or "file" */
	int64_t n_nodes;
	int64_t n_edges;
	int64_t edges_cut;	/* whose ends have different owners: each parallel edge counts */
	double node_balance;	/* nodes of the largest part over the even share; 1 is perfect */
	double edge_balance;	/* the same of in-edges */
	uint32_t n_passes;	/* over as much as all edges, by the method */
	uint32_t n_constraints; /* that were balanced, at least the nodes: 1 */
};

/*
 * Writes owners[t][i], the owner of node i of type t. Where there are as many nodes as parts, no
 * part is empty, unless an assignment file leaves it so. What could not be balanced or heeded is said through the log.
 *
 * Fails with INVALID (the request; an assignment file, with its line or row), NOTFOUND, RANGE (a
 * number in it), UNSUPPORTED (too large for the method; names the one to use), NOMEM, FULL, DENIED,
 * IO, CANCELLED.
 */
dg_status dgi_assign(const struct dgi_assign_request *request, uint16_t *const *owners,
		     struct dgi_assign_report *report, dg_error *err);

/*
 * Uniform by a number drawn from (seed, type, node) alone, whatever the number of partitions: a
 * node's number does not change when the graph is cut in more of them, or grows.
 */
void dgi_assign_random(uint16_t type, int64_t n_nodes, uint32_t n_parts, uint64_t seed,
		       uint16_t *owners);

#endif
