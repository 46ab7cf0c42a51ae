/* cluster_check.c -- dg_cluster_check(): dgi_verify() of stores whose source is gone. */
#include "verify.h"

#include "fail.h"

#include <stdlib.h>

dg_status dg_cluster_check(const dg_cluster *cluster, dg_error *err)
{
	const uint32_t n_parts = dg_book_n_parts(dg_cluster_book(cluster));
	const char **paths = calloc(n_parts, sizeof *paths);
	const struct dgi_verify_request request = { .store_paths = paths, .n_parts = n_parts };
	dg_status st;

	if (!paths)
		return dgi_fail_memory(err, "paths of stores");
	for (uint32_t p = 0; p < n_parts; p++)
		paths[p] = dg_cluster_part_path(cluster, p);
	st = dgi_verify(&request, err);
	free(paths);
	return st;
}
