/* hash_sum.h -- a sum of hashes: equal for equal collections of records, whatever their order. */
#ifndef DGI_HASH_SUM_H
#define DGI_HASH_SUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dgi_hash_sum {
	uint64_t low, high;
	int64_t n;
};

/* A record: numbers, or a number and bytes. */
void dgi_hash_sum_add(struct dgi_hash_sum *sum, const int64_t *numbers, size_t n);
void dgi_hash_sum_add_row(struct dgi_hash_sum *sum, int64_t id, const void *row, size_t n);
/* A weight of @id times @factor: sums of a node's edges and of its degree are the same. */
void dgi_hash_sum_add_times(struct dgi_hash_sum *sum, int64_t id, uint64_t factor);
bool dgi_hash_sum_equal(const struct dgi_hash_sum *a, const struct dgi_hash_sum *b);

#endif
