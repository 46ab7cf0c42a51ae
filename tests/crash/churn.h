/*
 * churn.h -- tensors that come and go beside those of the plan: event number e is a pure function of
 * e, so that how many events there were says which tensors there are and what they hold.
 *
 *   create 0, fill half of 0, nothing, create 1, fill half of 1, drop 0, create 2, …
 */
#ifndef CRASH_CHURN_H
#define CRASH_CHURN_H

#include "plan.h"

struct dgi_volume;

#define CHURN_FIRST_ID 100 /* above those of the plan */

/* Does event number @event to the store. *applied: it may be there although it failed. */
dg_status churn_do(const struct plan *plan, struct dgi_volume *volume, uint64_t event,
		   bool *applied, dg_error *err);

/* The one that does nothing. */
bool churn_is_nothing(uint64_t event);

/* Once begun, some of it may be there, and the rest any time. */
bool churn_may_be_in_part(uint64_t event);

/*
 * Does the store hold what so many events make, from @done to @begun? Sets *@found to the first that
 * fits, else says on stderr what is wrong. Fails, with @err, where it cannot be read.
 */
enum churn_verdict { CHURN_SOUND, CHURN_WRONG, CHURN_UNREADABLE };
enum churn_verdict churn_compare(struct dgi_volume *volume, uint64_t done, uint64_t begun,
				 uint64_t *found, dg_error *err);

#endif
