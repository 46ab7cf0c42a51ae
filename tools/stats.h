/* stats.h -- figures about all elements of a tensor, collected batch by batch. */
#ifndef TOOL_STATS_H
#define TOOL_STATS_H

#include <distgraph/types.h>

#include <jansson.h>

struct stats {
	dg_dtype dtype;
	uint64_t n, n_nan, n_infinite, n_zero;
	/* Of the finite elements; the smallest and largest as they are stored, so that a large
	 * integer keeps its digits. */
	uint64_t n_finite;
	double mean, squares; /* sum of squared distances from the mean (Welford) */
	uint8_t min[8], max[8];
};

struct stats stats_of(dg_dtype dtype);
void stats_add(struct stats *stats, const void *elements, size_t bytes);
void stats_print(const struct stats *stats);
json_t *stats_json(const struct stats *stats);

#endif
