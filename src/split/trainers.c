/* trainers.c -- a partition's run of ids cut among its trainers. */
#include "trainers.h"

#include "fail.h"
#include "rng.h"

#include <stdlib.h>
#include <string.h>

static int compare_ids(const void *a, const void *b)
{
	dg_id x = *(const dg_id *)a, y = *(const dg_id *)b;

	return (x > y) - (x < y);
}

void dgi_trainers_shuffle(dg_id *run, size_t *n, uint32_t n_trainers, uint32_t position,
			  uint64_t seed, uint64_t stream)
{
	struct dgi_rng rng = dgi_rng_of(seed, stream);
	size_t begin = dgi_even_begin(*n, n_trainers, position);
	size_t end = dgi_even_begin(*n, n_trainers, position + 1);

	for (size_t i = *n; i > 1; i--) {
		size_t j = dgi_rng_below(&rng, i);
		dg_id swap = run[i - 1];

		run[i - 1] = run[j];
		run[j] = swap;
	}
	memmove(run, run + begin, (end - begin) * sizeof *run);
	*n = end - begin;
	qsort(run, *n, sizeof *run, compare_ids);
}

/*
 * Puts ids at home in the order of their trainers into @local, others into @remote; all orders are
 * kept within. Returns how many are local.
 */
static size_t part_run(const dg_id *run, size_t n, const int64_t *trainers, uint32_t n_trainers,
		       uint32_t home, size_t *begins, dg_id *local, dg_id *remote)
{
	size_t n_local = 0, n_remote = 0;

	for (size_t i = 0; i < n; i++)
		if (trainers[i] / n_trainers == home)
			begins[trainers[i] % n_trainers + 1]++;
	for (uint32_t t = 0; t < n_trainers; t++)
		begins[t + 1] += begins[t];
	for (size_t i = 0; i < n; i++) {
		if (trainers[i] / n_trainers != home) {
			remote[n_remote++] = run[i];
			continue;
		}
		local[begins[trainers[i] % n_trainers]++] = run[i];
		n_local++;
	}
	return n_local;
}

static size_t take_piece(const dg_id *ids, size_t n, uint32_t n_trainers, uint32_t position,
			 dg_id *out)
{
	size_t begin = dgi_even_begin(n, n_trainers, position);
	size_t end = dgi_even_begin(n, n_trainers, position + 1);

	memcpy(out, ids + begin, (end - begin) * sizeof *out);
	return end - begin;
}

dg_status dgi_trainers_assign(dg_id *run, size_t *n, const int64_t *trainers, uint32_t n_trainers,
			      uint32_t position, uint32_t home, dg_error *err)
{
	size_t *begins = calloc((size_t)n_trainers + 1, sizeof *begins);
	dg_id *local = malloc((*n + 1) * sizeof *local);
	dg_id *remote = malloc((*n + 1) * sizeof *remote);
	dg_status st = DG_OK;
	size_t n_local, taken;

	if (begins && local && remote) {
		n_local = part_run(run, *n, trainers, n_trainers, home, begins, local, remote);
		taken = take_piece(local, n_local, n_trainers, position, run);
		taken += take_piece(remote, *n - n_local, n_trainers, position, run + taken);
		*n = taken;
	} else {
		st = dgi_fail_memory(err, "the split by trainers");
	}
	free(begins);
	free(local);
	free(remote);
	return st;
}
