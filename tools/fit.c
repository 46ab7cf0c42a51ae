/* fit.c -- does an array from a .npy file fit a tensor? */
#include "fit.h"

#include "describe.h"
#include "report.h"

#include <string.h>

static const char *dtype_of_file(dg_dtype dtype)
{
	return dtype == DG_BFLOAT16 ? "uint16 or bfloat16" : dg_dtype_name(dtype);
}

dg_status fit_check(const char *path, const dg_array *array, const dg_tensor_info *tensor,
		    int64_t n_rows, const char *why, dg_error *err)
{
	dg_tensor_info found = *tensor, wanted = *tensor;
	char found_text[SHAPE_TEXT_BYTES], wanted_text[SHAPE_TEXT_BYTES];

	if (array->dtype != tensor->dtype)
		return fail(err, DG_MISMATCH, "%s: %s values, '%s' has %s", path,
			    dtype_of_file(array->dtype), tensor->name,
			    dg_dtype_name(tensor->dtype));
	if (!array->rank)
		return fail(err, DG_MISMATCH, "%s: a single value, wanted an array of rows", path);
	found.rank = array->rank - 1;
	found.n_rows = array->shape[0];
	memcpy(found.shape, array->shape + 1, found.rank * sizeof *found.shape);
	wanted.n_rows = n_rows;
	describe_shape(&found, found_text);
	describe_shape(&wanted, wanted_text);
	if (strcmp(found_text, wanted_text) != 0)
		return fail(err, DG_MISMATCH, "%s: shape %s, wanted %s for %s '%s'", path,
			    found_text, wanted_text, why, tensor->name);
	return DG_OK;
}
