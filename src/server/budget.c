/* budget.c -- bytes of memory that many share. */
#include "budget.h"

#include "check.h"

bool dgi_budget_take(struct dgi_budget *budget, uint64_t n)
{
	uint64_t used = atomic_load(&budget->used);

	do {
		if (used != 0 && (n > budget->max || used > budget->max - n))
			return false;
	} while (!atomic_compare_exchange_weak(&budget->used, &used, used + n));
	return true;
}

void dgi_budget_take_anyway(struct dgi_budget *budget, uint64_t n)
{
	atomic_fetch_add(&budget->used, n);
}

void dgi_budget_give(struct dgi_budget *budget, uint64_t n)
{
	uint64_t before = atomic_fetch_sub(&budget->used, n);

	DGI_ASSERT(before >= n);
}
