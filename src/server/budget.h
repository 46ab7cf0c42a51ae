/*
 * budget.h -- bytes of memory that many share; who gets none waits until some are given back.
 *
 * Threads: any number at once.
 */
#ifndef DGI_BUDGET_H
#define DGI_BUDGET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct dgi_budget {
	uint64_t max;
	_Atomic uint64_t used;
};

/* One alone may exceed the budget: it would wait for ever. */
bool dgi_budget_take(struct dgi_budget *budget, uint64_t n);
/* For a few bytes, whose number is bounded otherwise: they may exceed the budget. */
void dgi_budget_take_anyway(struct dgi_budget *budget, uint64_t n);
void dgi_budget_give(struct dgi_budget *budget, uint64_t n);

#endif
