/*
 * step.h -- rules that change rows of a whole row group at once, such as an optimizer's: a row of
 * the group's first tensor and the same rows of the others, from one operand (a gradient).
 *
 * A rule is given to the volume at opening, by number: the number, the parameters and the operands
 * stand in the journal, so that replay gives the same bits. A rule is therefore a pure function of
 * what it is given, and a changed rule gets a new number.
 */
#ifndef DGI_STEP_H
#define DGI_STEP_H

#include <distgraph/types.h>

#define DGI_GROUP_MAX 8		    /* tensors of a row group */
#define DGI_STEP_PARAMETERS_MAX 256 /* bytes */

struct dgi_step_rule {
	uint16_t number; /* from 1 on; never reused */
	const char *name;
	/*
	 * May the rule be applied to these tensors, the group's first one first, the others by id,
	 * with these parameters? The text of a refusal says why not.
	 */
	dg_status (*check)(const dg_tensor_info *const *members, size_t n_members,
			   const void *parameters, size_t parameters_bytes, dg_error *err);
	/*
	 * Changes one row of each member in place. @operand has the shape and dtype of a row of the
	 * first. Rows are 8-byte aligned copies; parameters have no alignment.
	 */
	void (*apply)(const dg_tensor_info *const *members, size_t n_members,
		      const void *parameters, size_t parameters_bytes, const void *operand,
		      void *const *rows);
};

/* The rule with this number among @n, or NULL. */
const struct dgi_step_rule *dgi_step_find(const struct dgi_step_rule *rules, size_t n,
					  uint16_t number);

#endif
