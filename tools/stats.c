/* stats.c -- minimum, maximum, mean, deviation and counts of a tensor's elements. */
#include "stats.h"

#include "value.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct stats stats_of(dg_dtype dtype)
{
	return (struct stats){ .dtype = dtype };
}

static bool is_less(dg_dtype dtype, const void *a, const void *b)
{
	if (value_is_float(dtype))
		return value_number(dtype, a) < value_number(dtype, b);
	return value_integer(dtype, a) < value_integer(dtype, b);
}

static void add_finite(struct stats *s, const void *element, size_t bytes, double number)
{
	double distance = number - s->mean;

	if (!s->n_finite || is_less(s->dtype, element, s->min))
		memcpy(s->min, element, bytes);
	if (!s->n_finite || is_less(s->dtype, s->max, element))
		memcpy(s->max, element, bytes);
	s->n_finite++;
	s->mean += distance / (double)s->n_finite;
	s->squares += distance * (number - s->mean);
}

void stats_add(struct stats *stats, const void *elements, size_t bytes)
{
	size_t size = dg_dtype_bytes(stats->dtype);

	for (size_t at = 0; at < bytes; at += size) {
		const char *element = (const char *)elements + at;
		double number = value_number(stats->dtype, element);

		stats->n++;
		stats->n_zero += fpclassify(number) == FP_ZERO;
		if (isnan(number))
			stats->n_nan++;
		else if (isinf(number))
			stats->n_infinite++;
		else
			add_finite(stats, element, size, number);
	}
}

static double deviation(const struct stats *s)
{
	return s->n_finite ? sqrt(s->squares / (double)s->n_finite) : 0;
}

void stats_print(const struct stats *stats)
{
	char min[VALUE_TEXT_BYTES] = "-", max[VALUE_TEXT_BYTES] = "-";

	if (stats->n_finite) {
		value_text(stats->dtype, stats->min, min);
		value_text(stats->dtype, stats->max, max);
	}
	printf("elements %" PRIu64 "  nan %" PRIu64 "  inf %" PRIu64 "  zero %" PRIu64 "\n",
	       stats->n, stats->n_nan, stats->n_infinite, stats->n_zero);
	printf("min %s  max %s  mean %.9g  std %.9g\n", min, max, stats->mean, deviation(stats));
}

static json_t *json_text(dg_dtype dtype, const void *element)
{
	char text[VALUE_TEXT_BYTES];

	if (!value_is_float(dtype))
		return json_integer(value_integer(dtype, element));
	value_text(dtype, element, text);
	return json_real(strtod(text, NULL));
}

json_t *stats_json(const struct stats *stats)
{
	json_t *json = json_pack("{s:I, s:I, s:I, s:I}", "elements", (json_int_t)stats->n, "nan",
				 (json_int_t)stats->n_nan, "inf", (json_int_t)stats->n_infinite,
				 "zero", (json_int_t)stats->n_zero);

	if (!stats->n_finite)
		return json;
	(void)json_object_set_new(json, "min", json_text(stats->dtype, stats->min));
	(void)json_object_set_new(json, "max", json_text(stats->dtype, stats->max));
	(void)json_object_set_new(json, "mean", json_real(stats->mean));
	(void)json_object_set_new(json, "std", json_real(deviation(stats)));
	return json;
}
