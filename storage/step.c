/* step.c -- finding the rule of a step. */
#include "step.h"

const struct dgi_step_rule *dgi_step_find(const struct dgi_step_rule *rules, size_t n,
					  uint16_t number)
{
	for (size_t i = 0; i < n; i++)
		if (rules[i].number == number)
			return &rules[i];
	return NULL;
}
