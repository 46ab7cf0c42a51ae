/* ops.c -- what a push does to a row, element by element. */
#include "ops.h"

#include "check.h"

#include <string.h>

bool dgi_op_known(uint32_t op)
{
	return op >= DG_OP_ASSIGN && op <= DG_OP_MULTIPLY;
}

static uint32_t bits_of_float(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof bits);
	return bits;
}

static float float_of_bits(uint32_t bits)
{
	float value;

	memcpy(&value, &bits, sizeof value);
	return value;
}

float dgi_float_of_half(uint16_t half)
{
	uint32_t sign = (uint32_t)(half & 0x8000) << 16;
	uint32_t exponent = (half >> 10) & 0x1f;
	uint32_t fraction = half & 0x3ff;

	if (exponent == 0x1f)
		return float_of_bits(sign | 0x7f800000 | fraction << 13);
	if (exponent != 0)
		return float_of_bits(sign | (exponent + 112) << 23 | fraction << 13);
	/* Subnormal: fraction times 2^-24, exact in float32. */
	return float_of_bits(sign | bits_of_float((float)fraction * 0x1p-24f));
}

/* Bits above the low @shift ones, rounded to nearest even by what is cut off. */
static uint32_t shift_rounded(uint32_t bits, uint32_t shift)
{
	uint32_t kept = bits >> shift;
	uint32_t cut = bits & ((UINT32_C(1) << shift) - 1);
	uint32_t half = UINT32_C(1) << (shift - 1);

	return kept + (cut > half || (cut == half && (kept & 1)));
}

uint16_t dgi_half_of_float(float value)
{
	uint32_t bits = bits_of_float(value);
	uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
	uint32_t magnitude = bits & 0x7fffffff;
	uint32_t exponent = magnitude >> 23;

	if (magnitude > 0x7f800000) /* NaN stays NaN, quiet */
		return (uint16_t)(sign | 0x7e00 | (magnitude >> 13 & 0x3ff));
	if (exponent >= 143) /* 2^16 and above */
		return (uint16_t)(sign | 0x7c00);
	if (exponent >= 113) /* normal; a carry moves on into the exponent, up to infinity */
		return (uint16_t)(sign | shift_rounded(magnitude - (UINT32_C(112) << 23), 13));
	if (exponent < 102) /* below half of the smallest subnormal */
		return sign;
	return (uint16_t)(sign | shift_rounded((magnitude & 0x7fffff) | 0x800000, 126 - exponent));
}

float dgi_float_of_bfloat(uint16_t bfloat)
{
	return float_of_bits((uint32_t)bfloat << 16);
}

uint16_t dgi_bfloat_of_float(float value)
{
	uint32_t bits = bits_of_float(value);

	if ((bits & 0x7fffffff) > 0x7f800000)
		return (uint16_t)(bits >> 16 | 0x40);
	return (uint16_t)shift_rounded(bits, 16);
}

/* The four arithmetic operations on elements as they are loaded: one switch per row, not element. */
#define MIN_OF(a, b) ((a) < (b) ? (a) : (b))
#define MAX_OF(a, b) ((a) > (b) ? (a) : (b))
#define FLOAT_MIN_OF(a, b) ((a) != (a) || (b) != (b) ? (a) + (b) : MIN_OF(a, b))
#define FLOAT_MAX_OF(a, b) ((a) != (a) || (b) != (b) ? (a) + (b) : MAX_OF(a, b))

#define LOOP(stored, computed, load, store, expression) \
	for (size_t i = 0; i < n; i++) { \
		stored x, y; \
		memcpy(&x, (const char *)old + i * sizeof x, sizeof x); \
		memcpy(&y, (const char *)operand + i * sizeof y, sizeof y); \
		computed a = load(x), b = load(y); \
		x = store(expression); \
		memcpy((char *)out + i * sizeof x, &x, sizeof x); \
	}

#define KERNEL(name, stored, computed, load, store, sum, product, min, max) \
	static void apply_##name(dg_operation op, size_t n, const void *old, const void *operand, \
				 void *out) \
	{ \
		switch (op) { \
		case DG_OP_ASSIGN: \
			memmove(out, operand, n * sizeof(stored)); \
			break; \
		case DG_OP_ADD: \
			LOOP(stored, computed, load, store, sum) \
			break; \
		case DG_OP_MIN: \
			LOOP(stored, computed, load, store, min) \
			break; \
		case DG_OP_MAX: \
			LOOP(stored, computed, load, store, max) \
			break; \
		case DG_OP_MULTIPLY: \
			LOOP(stored, computed, load, store, product) \
			break; \
		} \
	}

/* Integers are added and multiplied as unsigned numbers of 64 bits: defined, and the same low bits. */
#define INTEGER_KERNEL(name, type) \
	KERNEL(name, type, type, (type), (type), (uint64_t)a + (uint64_t)b, \
	       (uint64_t)a * (uint64_t)b, MIN_OF(a, b), MAX_OF(a, b))
#define FLOAT_KERNEL(name, stored, computed, load, store) \
	KERNEL(name, stored, computed, load, store, a + b, a * b, FLOAT_MIN_OF(a, b), \
	       FLOAT_MAX_OF(a, b))

KERNEL(bool, uint8_t, uint8_t, 0 !=, (uint8_t), a | b, a &b, a &b, a | b)
INTEGER_KERNEL(int8, int8_t)
INTEGER_KERNEL(int16, int16_t)
INTEGER_KERNEL(int32, int32_t)
INTEGER_KERNEL(int64, int64_t)
INTEGER_KERNEL(uint8, uint8_t)
FLOAT_KERNEL(float16, uint16_t, float, dgi_float_of_half, dgi_half_of_float)
FLOAT_KERNEL(bfloat16, uint16_t, float, dgi_float_of_bfloat, dgi_bfloat_of_float)
FLOAT_KERNEL(float32, float, float, (float), (float))
FLOAT_KERNEL(float64, double, double, (double), (double))

void dgi_op_apply(dg_operation op, dg_dtype dtype, size_t n, const void *old, const void *operand,
		  void *out)
{
	DGI_ASSERT(dgi_op_known((uint32_t)op));
	switch (dtype) {
	case DG_BOOL:
		apply_bool(op, n, old, operand, out);
		break;
	case DG_INT8:
		apply_int8(op, n, old, operand, out);
		break;
	case DG_INT16:
		apply_int16(op, n, old, operand, out);
		break;
	case DG_INT32:
		apply_int32(op, n, old, operand, out);
		break;
	case DG_INT64:
		apply_int64(op, n, old, operand, out);
		break;
	case DG_UINT8:
		apply_uint8(op, n, old, operand, out);
		break;
	case DG_FLOAT16:
		apply_float16(op, n, old, operand, out);
		break;
	case DG_BFLOAT16:
		apply_bfloat16(op, n, old, operand, out);
		break;
	case DG_FLOAT32:
		apply_float32(op, n, old, operand, out);
		break;
	case DG_FLOAT64:
		apply_float64(op, n, old, operand, out);
		break;
	}
}
