/* rng.c -- seeded random numbers by counter. */
#include "rng.h"

#include "check.h"

__extension__ typedef unsigned __int128 uint128; /* both compilers have it */

#define GOLDEN_GAMMA UINT64_C(0x9e3779b97f4a7c15)

static uint64_t mix(uint64_t z)
{
	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

struct dgi_rng dgi_rng_of(uint64_t seed, uint64_t stream)
{
	return (struct dgi_rng){ .base = mix(mix(seed + GOLDEN_GAMMA) ^
					     (stream + 1) * GOLDEN_GAMMA) };
}

uint64_t dgi_rng_at(const struct dgi_rng *rng, uint64_t index)
{
	return mix(rng->base + (index + 1) * GOLDEN_GAMMA);
}

uint64_t dgi_rng_next(struct dgi_rng *rng)
{
	return dgi_rng_at(rng, rng->counter++);
}

uint64_t dgi_rng_below(struct dgi_rng *rng, uint64_t bound)
{
	uint128 product;
	uint64_t threshold;

	DGI_ASSERT(bound > 0);
	product = (uint128)dgi_rng_next(rng) * bound;
	if ((uint64_t)product >= bound)
		return (uint64_t)(product >> 64);
	threshold = (0 - bound) % bound;
	while ((uint64_t)product < threshold)
		product = (uint128)dgi_rng_next(rng) * bound;
	return (uint64_t)(product >> 64);
}

double dgi_rng_unit(struct dgi_rng *rng)
{
	return (double)(dgi_rng_next(rng) >> 11) * 0x1.0p-53;
}
