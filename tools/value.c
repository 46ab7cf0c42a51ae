/* value.c -- elements of a tensor as numbers, as text and as JSON. */
#include "value.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

bool value_is_float(dg_dtype dtype)
{
	return dtype == DG_FLOAT16 || dtype == DG_BFLOAT16 || dtype == DG_FLOAT32 ||
	       dtype == DG_FLOAT64;
}

/* IEEE 754 binary16: 1 sign, 5 exponent, 10 fraction bits. */
static double half_number(uint16_t bits)
{
	int exponent = bits >> 10 & 0x1f;
	int fraction = bits & 0x3ff;
	double size;

	if (exponent == 0x1f)
		size = fraction ? (double)NAN : (double)INFINITY;
	else if (exponent)
		size = ldexp(fraction + 0x400, exponent - 25);
	else
		size = ldexp(fraction, -24);
	return bits >> 15 ? -size : size;
}

/* The upper half of a float. */
static double bfloat_number(uint16_t bits)
{
	uint32_t wide = (uint32_t)bits << 16;
	float value;

	memcpy(&value, &wide, sizeof value);
	return (double)value;
}

int64_t value_integer(dg_dtype dtype, const void *element)
{
	int16_t i16;
	int32_t i32;
	int64_t i64;

	switch (dtype) {
	case DG_BOOL:
		return *(const uint8_t *)element != 0;
	case DG_UINT8:
		return *(const uint8_t *)element;
	case DG_INT8:
		return *(const int8_t *)element;
	case DG_INT16:
		memcpy(&i16, element, sizeof i16);
		return i16;
	case DG_INT32:
		memcpy(&i32, element, sizeof i32);
		return i32;
	default:
		memcpy(&i64, element, sizeof i64);
		return i64;
	}
}

double value_number(dg_dtype dtype, const void *element)
{
	uint16_t bits;
	float single;
	double number;

	switch (dtype) {
	case DG_FLOAT16:
		memcpy(&bits, element, sizeof bits);
		return half_number(bits);
	case DG_BFLOAT16:
		memcpy(&bits, element, sizeof bits);
		return bfloat_number(bits);
	case DG_FLOAT32:
		memcpy(&single, element, sizeof single);
		return (double)single;
	case DG_FLOAT64:
		memcpy(&number, element, sizeof number);
		return number;
	default:
		return (double)value_integer(dtype, element);
	}
}

/* Does @text read back as @number, in the precision of @dtype? */
static bool reads_back(dg_dtype dtype, const char *text, double number)
{
	if (dtype == DG_FLOAT32)
		return strtof(text, NULL) == (float)number;
	return strtod(text, NULL) == number;
}

static void float_text(dg_dtype dtype, double number, char out[VALUE_TEXT_BYTES])
{
	/* Digits that always suffice to tell neighbouring values apart. */
	int digits_max = dtype == DG_FLOAT64   ? 17
			 : dtype == DG_FLOAT32 ? 9
			 : dtype == DG_FLOAT16 ? 5
					       : 4;
	int digits = dtype == DG_FLOAT64 ? 15 : dtype == DG_FLOAT32 ? 6 : digits_max;

	if (isnan(number)) {
		memcpy(out, "nan", sizeof "nan");
		return;
	}
	do
		(void)snprintf(out, VALUE_TEXT_BYTES, "%.*g", digits, number);
	while (digits++ < digits_max && !reads_back(dtype, out, number));
}

void value_text(dg_dtype dtype, const void *element, char out[VALUE_TEXT_BYTES])
{
	if (value_is_float(dtype))
		float_text(dtype, value_number(dtype, element), out);
	else if (dtype == DG_BOOL)
		(void)snprintf(out, VALUE_TEXT_BYTES, "%s",
			       value_integer(dtype, element) ? "true" : "false");
	else
		(void)snprintf(out, VALUE_TEXT_BYTES, "%" PRId64, value_integer(dtype, element));
}

void value_print_row(FILE *out, const dg_tensor_info *tensor, const void *row, char between)
{
	size_t bytes = dg_dtype_bytes(tensor->dtype);
	char text[VALUE_TEXT_BYTES];

	for (size_t at = 0; at < tensor->row_bytes; at += bytes) {
		value_text(tensor->dtype, (const char *)row + at, text);
		if (at)
			putc(between, out);
		fputs(text, out);
	}
}

/* A number or a boolean as it is; what JSON has no number for as a string. */
static void print_json_element(FILE *out, dg_dtype dtype, const void *element)
{
	char text[VALUE_TEXT_BYTES];
	bool quoted = !isfinite(value_number(dtype, element));

	value_text(dtype, element, text);
	fprintf(out, quoted ? "\"%s\"" : "%s", text);
}

/* The elements from *element on that belong to @axis, which moves behind them. */
static void print_json_axis(FILE *out, const dg_tensor_info *tensor, uint32_t axis,
			    const char **element)
{
	if (axis == tensor->rank) {
		print_json_element(out, tensor->dtype, *element);
		*element += dg_dtype_bytes(tensor->dtype);
		return;
	}
	putc('[', out);
	for (int64_t i = 0; i < tensor->shape[axis]; i++) {
		if (i)
			putc(',', out);
		print_json_axis(out, tensor, axis + 1, element);
	}
	putc(']', out);
}

void value_print_json_row(FILE *out, const dg_tensor_info *tensor, const void *row)
{
	const char *element = row;

	print_json_axis(out, tensor, 0, &element);
}
