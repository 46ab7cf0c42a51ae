/* feature.c -- features given to dg_partition(): one row per node or edge, from .npy files. */
#include "feature.h"

#include "fail.h"
#include "tensor_info.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

static const char *side_name(dg_side side)
{
	return side == DG_NODE ? "node" : "edge";
}

static dg_status check_name(const char *name, dg_error *err)
{
	static const char *const reserved[] = { DG_TENSOR_ORIGINAL_ID, DG_TENSOR_INTERNAL_ID };
	dg_status st = dgi_name_check("feature", name, err);

	for (int i = 0; !st && i < 2; i++)
		if (strncmp(name, reserved[i], strlen(reserved[i])) == 0)
			st = dgi_fail(err, DG_INVALID,
				      "feature '%.80s': names that begin with %s are the store's",
				      name, reserved[i]);
	return st;
}

/* uint16 may be numbers or the bits of bfloat16: only the caller knows. */
static dg_status check_bits(const dg_array *rows, bool bfloat16, dg_error *err)
{
	if (rows->dtype == DG_BFLOAT16 && !bfloat16)
		return dgi_fail(err, DG_UNSUPPORTED,
				".npy dtype '<u2': no tensor has uint16; if these are the bits of "
				"bfloat16, say so");
	if (rows->dtype != DG_BFLOAT16 && bfloat16)
		return dgi_fail(err, DG_MISMATCH,
				"%s values, want the bits of bfloat16 as uint16 ('<u2')",
				dg_dtype_name(rows->dtype));
	return DG_OK;
}

/* The description of a row, from the array's shape. */
static dg_status describe(const dg_array *rows, dg_tensor_info *info, dg_error *err)
{
	if (rows->rank == 0)
		return dgi_fail(err, DG_INVALID, "a single number, want one row per %s",
				side_name(info->side));
	info->dtype = rows->dtype;
	info->rank = rows->rank - 1;
	memcpy(info->shape, rows->shape + 1, info->rank * sizeof info->shape[0]);
	return dgi_tensor_info_set_row_bytes(info, err);
}

dg_status dgi_feature_load(const dg_partition_data *data, dg_side side, uint16_t type,
			   struct dgi_feature *out, dg_error *err)
{
	struct dgi_feature f = { .path = data->path };
	dg_status st = check_name(data->name, err);

	if (st)
		return st;
	f.info.side = side;
	f.info.type = type;
	memcpy(f.info.name, data->name, strlen(data->name) + 1);
	st = dg_array_load(data->path, &f.rows, err);
	if (!st)
		st = check_bits(&f.rows, data->bfloat16, err);
	if (!st)
		st = describe(&f.rows, &f.info, err);
	if (st) {
		dgi_feature_clear(&f);
		return dgi_context(err, st, "%s feature '%s'", side_name(side), data->name);
	}
	*out = f;
	return DG_OK;
}

void dgi_feature_clear(struct dgi_feature *feature)
{
	dg_array_clear(&feature->rows);
}

dg_status dgi_feature_check_rows(const struct dgi_feature *feature, int64_t n, dg_error *err)
{
	const char *side = side_name(feature->info.side);

	if (feature->rows.shape[0] == n)
		return DG_OK;
	return dgi_fail(err, DG_MISMATCH,
			"%s feature '%s': '%s' has %" PRId64 " rows, want %" PRId64 ", one per %s",
			side, feature->info.name, feature->path, feature->rows.shape[0], n, side);
}
