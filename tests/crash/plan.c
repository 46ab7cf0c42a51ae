/* plan.c -- what a workload writes, as a pure function of a seed. */
#include "plan.h"

#include "rng.h"

#include <stdio.h>
#include <string.h>

/* Streams of random numbers; push number k draws from PUSH_STREAM + k. */
enum { GROUP_STREAM = 0, PUSH_STREAM = 1 };

struct shape {
	dg_dtype dtype;
	uint32_t rank;
	int64_t length; /* of a row of rank 1 */
	int64_t n_rows;
	uint32_t chunk_pages;
	uint32_t interval_ms; /* 0: durable when acknowledged */
};

/* Rows shorter than a cache line, longer than a page, of odd size; chunks of one page, so that
 * a push touches many, and of four. More sizes would cost a segment of hot chunks each. */
static const struct shape shapes[PLAN_TENSORS] = {
	{ DG_INT64, 0, 1, 2000, 1, 0 },	  { DG_FLOAT32, 1, 128, 200, 4, 0 },
	{ DG_UINT8, 1, 3, 3000, 1, 0 },	  { DG_INT32, 1, 7, 500, 1, 20 },
	{ DG_FLOAT64, 1, 600, 20, 4, 0 }, { DG_FLOAT16, 1, 64, 100, 4, 0 },
	{ DG_INT64, 1, 64, 300, 1, 0 },
};

void plan_init(struct plan *plan, uint64_t seed, unsigned scale)
{
	*plan = (struct plan){ .seed = seed };
	for (uint32_t i = 0; i < PLAN_TENSORS; i++) {
		const struct shape *shape = &shapes[i];
		dg_tensor_info *info = &plan->tensors[i];

		info->id = i + 1;
		(void)snprintf(info->name, sizeof info->name, "tensor-%u", i);
		info->dtype = shape->dtype;
		info->rank = shape->rank;
		if (shape->rank)
			info->shape[0] = shape->length;
		info->n_rows = shape->n_rows * scale;
		info->row_bytes = (uint32_t)(dg_dtype_bytes(shape->dtype) * (size_t)shape->length);
		info->chunk_pages = shape->chunk_pages;
		info->durability = shape->interval_ms ? DG_DURABLE_INTERVAL : DG_DURABLE_COMMIT;
		info->interval_ms = shape->interval_ms;
		plan->at[i] = plan->model_bytes;
		/* Rows of every dtype are aligned in a model. */
		plan->model_bytes += ((size_t)info->n_rows * info->row_bytes + 7) / 8 * 8;
	}
}

static enum plan_op draw_op(struct dgi_rng *rng, dg_dtype dtype)
{
	static const enum plan_op integer_ops[8] = { PLAN_ADD, PLAN_ADD, PLAN_ADD,    PLAN_MULTIPLY,
						     PLAN_ADD, PLAN_MIN, PLAN_ASSIGN, PLAN_MAX };
	static const enum plan_op float_ops[4] = { PLAN_MULTIPLY, PLAN_ADD, PLAN_ADD, PLAN_ASSIGN };

	switch (dtype) {
	case DG_FLOAT16:
		return PLAN_ASSIGN;
	case DG_FLOAT32:
	case DG_FLOAT64:
		return float_ops[dgi_rng_below(rng, 4)];
	default:
		return integer_ops[dgi_rng_below(rng, 8)];
	}
}

/* The operand of one element, as an integer: small for floats, odd where it multiplies. */
static int64_t draw_operand(struct dgi_rng *rng, enum plan_op op, dg_dtype dtype)
{
	uint64_t random = dgi_rng_next(rng);

	if (dtype == DG_FLOAT32 || dtype == DG_FLOAT64) {
		if (op == PLAN_MULTIPLY)
			return -1;
		return (int64_t)(random % 2001) - 1000;
	}
	return (int64_t)(op == PLAN_MULTIPLY ? random | 1 : random);
}

static void put_element(dg_dtype dtype, void *at, int64_t value)
{
	float single = (float)value;
	double twice = (double)value;

	if (dtype == DG_FLOAT32)
		memcpy(at, &single, sizeof single);
	else if (dtype == DG_FLOAT64)
		memcpy(at, &twice, sizeof twice);
	else
		memcpy(at, &value, dg_dtype_bytes(dtype));
}

/* Mostly few rows, sometimes as many as there is room for. */
static size_t draw_count(struct dgi_rng *rng, uint32_t row_bytes)
{
	size_t most = PLAN_BYTES_MAX / row_bytes;
	uint64_t kind = dgi_rng_below(rng, 8);

	if (most > PLAN_ROWS_MAX)
		most = PLAN_ROWS_MAX;
	if (kind < 4 && most > 8)
		most = 8;
	else if (kind < 7 && most > 48)
		most = 48;
	else if (kind == 7 && dgi_rng_below(rng, 8) == 0)
		return 0;
	return 1 + (size_t)dgi_rng_below(rng, most);
}

/* Gives true for a fill. */
static bool draw_rows(struct dgi_rng *rng, int64_t n_rows, size_t n, dg_id *rows)
{
	uint64_t kind = dgi_rng_below(rng, 4);
	uint64_t first = dgi_rng_below(rng, (uint64_t)n_rows);
	bool fill =
		n > 0 && kind == 0 && first + n <= (uint64_t)n_rows && dgi_rng_below(rng, 4) == 0;

	for (size_t i = 0; i < n; i++) {
		if (kind == 0) /* a run, around the end */
			rows[i] = (dg_id)((first + i) % (uint64_t)n_rows);
		else if (kind == 1) /* the same few, many times */
			rows[i] = (dg_id)((first + dgi_rng_below(rng, 5)) % (uint64_t)n_rows);
		else
			rows[i] = (dg_id)dgi_rng_below(rng, (uint64_t)n_rows);
	}
	return fill;
}

void plan_push_make(const struct plan *plan, uint64_t number, struct plan_push *out)
{
	struct dgi_rng rng = dgi_rng_of(plan->seed, PUSH_STREAM + number);
	const dg_tensor_info *info;
	size_t element;

	out->number = number;
	out->tensor = (uint32_t)dgi_rng_below(&rng, PLAN_TENSORS);
	info = &plan->tensors[out->tensor];
	element = dg_dtype_bytes(info->dtype);
	out->op = draw_op(&rng, info->dtype);
	out->n = draw_count(&rng, info->row_bytes);
	out->fill = draw_rows(&rng, info->n_rows, out->n, out->rows);
	for (size_t at = 0; at < out->n * info->row_bytes; at += element)
		put_element(info->dtype, out->data + at, draw_operand(&rng, out->op, info->dtype));
}

bool plan_is_interval(const struct plan *plan, uint64_t number)
{
	struct dgi_rng rng = dgi_rng_of(plan->seed, PUSH_STREAM + number);

	return plan->tensors[dgi_rng_below(&rng, PLAN_TENSORS)].interval_ms != 0;
}

size_t plan_group_size(const struct plan *plan, uint64_t number)
{
	struct dgi_rng rng = dgi_rng_of(plan->seed, GROUP_STREAM);
	uint64_t random = dgi_rng_at(&rng, number);

	return random & 1 ? 1 : 1 + (size_t)(random >> 1) % PLAN_GROUP_MAX;
}

void plan_fill(const struct plan *plan, uint32_t tensor, int64_t first, int64_t n, void *out)
{
	const dg_tensor_info *info = &plan->tensors[tensor];
	size_t element = dg_dtype_bytes(info->dtype);
	size_t per_row = info->row_bytes / element;
	uint8_t *at = out;

	for (int64_t row = first; row < first + n; row++)
		for (size_t i = 0; i < per_row; i++, at += element)
			put_element(info->dtype, at, row * 7 + (int64_t)i + tensor);
}

void plan_model_init(const struct plan *plan, uint8_t *model)
{
	for (uint32_t i = 0; i < PLAN_TENSORS; i++)
		plan_fill(plan, i, 0, plan->tensors[i].n_rows, model + plan->at[i]);
}

uint8_t *plan_model_row(const struct plan *plan, uint8_t *model, uint32_t tensor, dg_id row)
{
	return model + plan->at[tensor] + (size_t)row * plan->tensors[tensor].row_bytes;
}

/* Written for its own sake, not with the library's arithmetic: it is the judge of that. */
#define APPLY(type, wide) \
	do { \
		type a; \
		type b; \
		memcpy(&a, old, sizeof a); \
		memcpy(&b, operand, sizeof b); \
		if (op == PLAN_ADD) \
			a = (type)((wide)a + (wide)b); \
		else if (op == PLAN_MULTIPLY) \
			a = (type)((wide)a * (wide)b); \
		else if (op == PLAN_MIN) \
			a = b < a ? b : a; \
		else if (op == PLAN_MAX) \
			a = b > a ? b : a; \
		else \
			a = b; \
		memcpy(old, &a, sizeof a); \
	} while (0)

static void apply_element(dg_dtype dtype, enum plan_op op, void *old, const void *operand)
{
	switch (dtype) {
	case DG_INT64:
		APPLY(int64_t, uint64_t);
		break;
	case DG_INT32:
		APPLY(int32_t, uint64_t);
		break;
	case DG_UINT8:
		APPLY(uint8_t, uint64_t);
		break;
	case DG_FLOAT32:
		APPLY(float, float);
		break;
	case DG_FLOAT64:
		APPLY(double, double);
		break;
	default: /* only assigned to */
		memcpy(old, operand, dg_dtype_bytes(dtype));
		break;
	}
}

void plan_model_apply(const struct plan *plan, uint8_t *model, const struct plan_push *push)
{
	const dg_tensor_info *info = &plan->tensors[push->tensor];
	size_t element = dg_dtype_bytes(info->dtype);

	for (size_t i = 0; i < push->n; i++) {
		uint8_t *row = plan_model_row(plan, model, push->tensor, push->rows[i]);
		const uint8_t *operand = push->data + (push->fill ? 0 : i * info->row_bytes);

		for (size_t at = 0; at < info->row_bytes; at += element)
			apply_element(info->dtype, push->op, row + at, operand + at);
	}
}
