/*
 * plan.h -- what a workload writes: tensors, pushes and what they make of the rows, each a pure
 * function of a seed, so that a checker can say what a store must hold without having seen it.
 *
 * Pushes are numbered from 0. Their effect depends on their order, and a push that counts twice
 * leaves another value than one that counts once: integers are added to and multiplied by odd
 * numbers, floats change their sign.
 */
#ifndef CRASH_PLAN_H
#define CRASH_PLAN_H

#include <distgraph/types.h>

#include <stdbool.h>

#define PLAN_TENSORS 7
#define PLAN_SESSIONS 3
#define PLAN_GROUP_MAX 8 /* pushes that share a commit */
#define PLAN_ROWS_MAX 256
#define PLAN_BYTES_MAX 65536 /* of one push's data */

/* Numbered as dg_operation. */
enum plan_op {
	PLAN_ASSIGN = 1,
	PLAN_ADD = 2,
	PLAN_MIN = 3,
	PLAN_MAX = 4,
	PLAN_MULTIPLY = 5,
};

struct plan {
	uint64_t seed;
	dg_tensor_info tensors[PLAN_TENSORS];
	size_t at[PLAN_TENSORS]; /* of each tensor's first row in a model */
	size_t model_bytes;
};

struct plan_push {
	uint64_t number;
	uint32_t tensor;
	enum plan_op op;
	bool fill; /* one row of data for all rows, which are a run */
	size_t n;  /* may be 0 */
	dg_id rows[PLAN_ROWS_MAX];
	_Alignas(8) uint8_t data[PLAN_BYTES_MAX];
};

/* @scale multiplies the rows: 1 makes a store of about half a megabyte. */
void plan_init(struct plan *plan, uint64_t seed, unsigned scale);

/* Push number @number. */
void plan_push_make(const struct plan *plan, uint64_t number, struct plan_push *out);
/* Is it acknowledged before it is on disk? */
bool plan_is_interval(const struct plan *plan, uint64_t number);
/* How many pushes go in one group when the next is number @number: 1 to PLAN_GROUP_MAX. */
size_t plan_group_size(const struct plan *plan, uint64_t number);

/* Fills @out with rows [first, first + n) as the tensor is created. */
void plan_fill(const struct plan *plan, uint32_t tensor, int64_t first, int64_t n, void *out);
/* A model is the rows of all tensors, one behind the other, as created. */
void plan_model_init(const struct plan *plan, uint8_t *model);
void plan_model_apply(const struct plan *plan, uint8_t *model, const struct plan_push *push);
uint8_t *plan_model_row(const struct plan *plan, uint8_t *model, uint32_t tensor, dg_id row);

#endif
