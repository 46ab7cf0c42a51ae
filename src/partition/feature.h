/* feature.h -- features given to dg_partition(): one row per node or edge, from .npy files. */
#ifndef DGI_FEATURE_H
#define DGI_FEATURE_H

#include <distgraph/array.h>
#include <distgraph/partition.h>

struct dgi_feature {
	dg_array rows;	     /* in the caller's order */
	dg_tensor_info info; /* but for id and n_rows; chunk_pages is 0 */
	const char *path;    /* lent */
};

/*
 * Loads a feature of the type numbered @type. Fails as dg_array_load(), and with INVALID (the name,
 * or rows that no tensor can have).
 */
dg_status dgi_feature_load(const dg_partition_data *data, dg_side side, uint16_t type,
			   struct dgi_feature *out, dg_error *err);
void dgi_feature_clear(struct dgi_feature *feature);

/* As many rows as there are nodes or edges? Fails with MISMATCH. */
dg_status dgi_feature_check_rows(const struct dgi_feature *feature, int64_t n, dg_error *err);

#endif
