/*
 * ops.h -- what a push does to a row: assign, add, min, max, multiply, element by element.
 *
 * Pure functions of old row and operand, so that replay after a crash gives the same bits.
 * Integers wrap around. bool: add and max are "or", multiply and min are "and". float16 and bfloat16
 * are computed in float32 and rounded to nearest even. min and max give NaN where either is NaN.
 */
#ifndef DGI_OPS_H
#define DGI_OPS_H

#include <distgraph/types.h>

#include <stdbool.h>

bool dgi_op_known(uint32_t op);

/*
 * out[i] = old[i] op operand[i] for @n elements of @dtype. @out may be @old; none need be aligned.
 */
void dgi_op_apply(dg_operation op, dg_dtype dtype, size_t n, const void *old, const void *operand,
		  void *out);

/* IEEE 754 half precision and bfloat16, exact to float32; back with rounding to nearest even. */
float dgi_float_of_half(uint16_t half);
uint16_t dgi_half_of_float(float value);
float dgi_float_of_bfloat(uint16_t bfloat);
uint16_t dgi_bfloat_of_float(float value);

#endif
