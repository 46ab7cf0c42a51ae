/*
 * assign.h -- which partition owns which node.
 *
 * An owner is a partition number below DG_PARTS_MAX. Nodes are named by their original ids.
 */
#ifndef DGI_ASSIGN_H
#define DGI_ASSIGN_H

#include <distgraph/types.h>

/*
 * Uniform by a number drawn from (seed, type, node) alone, whatever the number of partitions: a
 * node's number does not change when the graph is cut in more of them, or grows.
 */
void dgi_assign_random(uint16_t type, int64_t n_nodes, uint32_t n_parts, uint64_t seed,
		       uint16_t *owners);

/*
 * Few edges between partitions of about equal size: METIS on the graph without directions,
 * duplicates and loops. The same seed gives the same cut.
 *
 * METIS counts in 32 bits (or whatever width it was built with): a larger graph is refused. While
 * it runs it handles SIGTERM and SIGABRT of the process by giving up, uses rand(), and prints to
 * stderr when memory runs out; calls take turns.
 *
 * Fails with UNSUPPORTED (too large), NOMEM, CANCELLED (SIGTERM).
 */
dg_status dgi_assign_metis(int64_t n_nodes, int64_t n_edges, const dg_id *src, const dg_id *dst,
			   uint32_t n_parts, uint64_t seed, uint16_t *owners, dg_error *err);

/* Gives each empty partition a node of one that has several. There are as many nodes as parts. */
void dgi_assign_fill_empty(int64_t n_nodes, uint32_t n_parts, uint16_t *owners);

#endif
