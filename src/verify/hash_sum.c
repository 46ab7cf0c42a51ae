/* hash_sum.c -- a sum of hashes. */
#include "hash_sum.h"

#include <xxhash.h>

static void add(struct dgi_hash_sum *sum, XXH128_hash_t hash)
{
	sum->low += hash.low64;
	sum->high += hash.high64;
	sum->n++;
}

void dgi_hash_sum_add(struct dgi_hash_sum *sum, const int64_t *numbers, size_t n)
{
	add(sum, XXH3_128bits(numbers, n * sizeof *numbers));
}

void dgi_hash_sum_add_row(struct dgi_hash_sum *sum, int64_t id, const void *row, size_t n)
{
	add(sum, XXH3_128bits_withSeed(row, n, XXH3_64bits(&id, sizeof id)));
}

void dgi_hash_sum_add_times(struct dgi_hash_sum *sum, int64_t id, uint64_t factor)
{
	XXH128_hash_t hash = XXH3_128bits(&id, sizeof id);

	sum->low += hash.low64 * factor;
	sum->high += hash.high64 * factor;
}

bool dgi_hash_sum_equal(const struct dgi_hash_sum *a, const struct dgi_hash_sum *b)
{
	return a->low == b->low && a->high == b->high && a->n == b->n;
}
