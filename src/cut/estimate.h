/* estimate.h -- what a method will take at most, from counts alone; beside what it is a bound of. */
#ifndef DGI_ESTIMATE_H
#define DGI_ESTIMATE_H

#include <stdint.h>

struct dgi_estimate {
	uint64_t memory_bytes; /* anonymous, of all processes, owners included */
	uint64_t disk_bytes;   /* temporary files */
	double seconds;	       /* about */
};

/* @memory: what the request will allow, 0 as there. */
struct dgi_estimate dgi_estimate_metis(int64_t n_nodes, int64_t n_edges);
struct dgi_estimate dgi_estimate_stream(int64_t n_nodes, int64_t n_edges, uint64_t memory);
struct dgi_estimate dgi_estimate_random(int64_t n_nodes, int64_t n_edges);

#endif
