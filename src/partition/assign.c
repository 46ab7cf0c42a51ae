/* assign.c -- which partition owns which node: at random, and no partition without a node. */
#include "assign.h"

#include "check.h"
#include "rng.h"

__extension__ typedef unsigned __int128 uint128; /* both compilers have it */

void dgi_assign_random(uint16_t type, int64_t n_nodes, uint32_t n_parts, uint64_t seed,
		       uint16_t *owners)
{
	const struct dgi_rng rng = dgi_rng_of(seed, type);

	for (int64_t i = 0; i < n_nodes; i++)
		owners[i] = (uint16_t)(((uint128)dgi_rng_at(&rng, (uint64_t)i) * n_parts) >> 64);
}

void dgi_assign_fill_empty(int64_t n_nodes, uint32_t n_parts, uint16_t *owners)
{
	int64_t counts[DG_PARTS_MAX] = { 0 };
	int64_t i = n_nodes;

	DGI_ASSERT(n_parts <= DG_PARTS_MAX);
	DGI_ASSERT(n_nodes >= n_parts);
	for (int64_t k = 0; k < n_nodes; k++)
		counts[owners[k]]++;
	/* A node passed by is the only one of its partition and stays so: one way down is enough. */
	for (uint32_t p = 0; p < n_parts; p++) {
		if (counts[p] > 0)
			continue;
		do
			i--;
		while (counts[owners[i]] == 1);
		counts[owners[i]]--;
		counts[p]++;
		owners[i] = (uint16_t)p;
	}
}
