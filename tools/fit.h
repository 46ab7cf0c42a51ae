/* fit.h -- does an array from a .npy file fit a tensor? */
#ifndef TOOL_FIT_H
#define TOOL_FIT_H

#include <distgraph/array.h>

/*
 * Has @array, from @path, the tensor's dtype and @n_rows rows of its shape? Fails with MISMATCH, the
 * text naming what was found and, as @why, what the number of rows is wanted for.
 */
dg_status fit_check(const char *path, const dg_array *array, const dg_tensor_info *tensor,
		    int64_t n_rows, const char *why, dg_error *err);

#endif
