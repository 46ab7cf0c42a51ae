/* value.h -- elements of a tensor as numbers, as text and as JSON. */
#ifndef TOOL_VALUE_H
#define TOOL_VALUE_H

#include <distgraph/types.h>

#include <stdbool.h>
#include <stdio.h>

/* Room for the text of any element. */
#define VALUE_TEXT_BYTES 32

/* Is it one of the floating-point types? */
bool value_is_float(dg_dtype dtype);

double value_number(dg_dtype dtype, const void *element);
/* Of an integer or bool. */
int64_t value_integer(dg_dtype dtype, const void *element);

/* Enough digits to read back as the same value, few where few do; or "true", "false", "nan", "inf",
 * "-inf". */
void value_text(dg_dtype dtype, const void *element, char out[VALUE_TEXT_BYTES]);

/* Prints the elements of one row on @out, with @between between them. */
void value_print_row(FILE *out, const dg_tensor_info *tensor, const void *row, char between);

/* The same as JSON: a scalar, or nested arrays in the row's shape. NaN and infinities are strings. */
void value_print_json_row(FILE *out, const dg_tensor_info *tensor, const void *row);

#endif
