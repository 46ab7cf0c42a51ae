/*
 * rng.h -- seeded random numbers by counter: value number i of a stream is a pure function of
 * (seed, stream, i), so that results do not depend on timing, threads or order.
 *
 * The function is the output mix of SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom
 * Number Generators, OOPSLA 2014) over a Weyl sequence.
 */
#ifndef DGI_RNG_H
#define DGI_RNG_H

#include <stdint.h>

struct dgi_rng {
	uint64_t base;	  /* from seed and stream */
	uint64_t counter; /* number of the next value */
};

struct dgi_rng dgi_rng_of(uint64_t seed, uint64_t stream);
/* The value number @index, whatever was drawn before. */
uint64_t dgi_rng_at(const struct dgi_rng *rng, uint64_t index);
uint64_t dgi_rng_next(struct dgi_rng *rng);
/* Uniform in [0, bound), without bias; @bound >= 1 (Lemire, ACM TOMACS 29(1), 2019). */
uint64_t dgi_rng_below(struct dgi_rng *rng, uint64_t bound);
/* Uniform in [0, 1) with 53 random bits. */
double dgi_rng_unit(struct dgi_rng *rng);

#endif
