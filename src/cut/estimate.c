/*
 * estimate.c -- what a method will take at most, from counts alone.
 *
 * The tests run the methods and hold what they took against it. Seconds are of one core of a
 * machine of 2024, measured by bench/cut.
 */
#include "estimate.h"

#include "neighbours.h"

#define MIB ((uint64_t)1 << 20)
#define OWNER_BYTES 2
/* Buffers that are there whatever the size of the graph, and pages an allocator keeps. */
#define FIXED_BYTES (8 * MIB)

struct dgi_estimate dgi_estimate_metis(int64_t n_nodes, int64_t n_edges)
{
	const uint64_t n = (uint64_t)n_nodes, m = (uint64_t)n_edges;
	/* The graph, METIS's coarser ones and its tables: it takes most where degrees are skewed, so
	 * that the graph hardly shrinks. */
	const uint64_t graph = dgi_neighbours_bytes(n_nodes, n_edges);

	return (struct dgi_estimate){ .memory_bytes = 9 * graph + 16 * n + FIXED_BYTES,
				      .seconds = 1.5e-6 * (double)m + 1e-6 * (double)n };
}

struct dgi_estimate dgi_estimate_stream(int64_t n_nodes, int64_t n_edges, uint64_t memory)
{
	const uint64_t n = (uint64_t)n_nodes, m = (uint64_t)n_edges;
	const uint64_t allowed = memory ? memory : 1024 * MIB;
	/* A small graph stays in memory with all its levels, and heaps of moves. */
	const uint64_t in_memory = 80 * m;

	/* Records that are spilled, 24 bytes an edge; the graph, 16; two levels that hardly shrink. */
	return (struct dgi_estimate){
		.memory_bytes =
			80 * n + (in_memory < allowed / 4 ? in_memory : allowed / 4) + FIXED_BYTES,
		.disk_bytes = 72 * m + 12 * n,
		.seconds = 5e-6 * (double)m + 5e-6 * (double)n
	};
}

struct dgi_estimate dgi_estimate_random(int64_t n_nodes, int64_t n_edges)
{
	return (struct dgi_estimate){ .memory_bytes = OWNER_BYTES * (uint64_t)n_nodes + FIXED_BYTES,
				      .seconds = 1e-8 * (double)n_nodes + 5e-9 * (double)n_edges };
}
