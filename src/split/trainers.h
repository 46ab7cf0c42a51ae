/* trainers.h -- a partition's run of ids cut among its trainers. */
#ifndef DGI_TRAINERS_H
#define DGI_TRAINERS_H

#include <distgraph/types.h>

/* Where piece @i of @n_pieces of @n begins: the first n mod n_pieces are one longer. */
static inline size_t dgi_even_begin(size_t n, size_t n_pieces, size_t i)
{
	size_t longer = n % n_pieces;

	return n / n_pieces * i + (i < longer ? i : longer);
}

/*
 * Leaves in @run the share of number @position of @n_trainers, drawn at random by seed and stream,
 * ascending, and its length in *@n.
 */
void dgi_trainers_shuffle(dg_id *run, size_t *n, uint32_t n_trainers, uint32_t position,
			  uint64_t seed, uint64_t stream);

/*
 * The same by @trainers, the trainer of each id of the run: first those at home, with a number in
 * [home * n_trainers, (home + 1) * n_trainers), in order of their trainers, then the others; both cut
 * evenly. Fails with NOMEM.
 */
dg_status dgi_trainers_assign(dg_id *run, size_t *n, const int64_t *trainers, uint32_t n_trainers,
			      uint32_t position, uint32_t home, dg_error *err);

#endif
