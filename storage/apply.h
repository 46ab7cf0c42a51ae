/*
 * apply.h -- changing a row by an entry of the journal: the same for a push and for its replay.
 */
#ifndef DGI_APPLY_H
#define DGI_APPLY_H

#include "catalogue.h"
#include "entry.h"
#include "step.h"

/* What an entry does, with the tensors it does it to. */
struct dgi_applying {
	const struct dgi_catalogue *catalogue;
	struct dgi_table *table;
	const struct dgi_entry *entry;
	const struct dgi_step_rule *rule; /* of a step */
	size_t members[DGI_GROUP_MAX];	  /* in the catalogue; the entry's own tensor first */
	size_t n_members;		  /* 1, or those of the group */
	const dg_tensor_info *infos[DGI_GROUP_MAX];
	uint8_t *scratch; /* a row of each member; NULL where rows are only assigned */
};

/*
 * Finds the tensors of @entry and, for a step, its rule among @rules. Fails with NOTFOUND (tensor,
 * rule), INVALID (the rule refuses them, or another row size), NOMEM. To be cleared in any case.
 */
dg_status dgi_applying_begin(struct dgi_applying *a, const struct dgi_catalogue *catalogue,
			     struct dgi_table *table, const struct dgi_entry *entry,
			     const struct dgi_step_rule *rules, size_t n_rules, dg_error *err);
void dgi_applying_clear(struct dgi_applying *a);

/* Where a row of a member lies, in a slot. */
struct dgi_place {
	size_t entry; /* of the chunk table */
	uint8_t *row;
	bool shown; /* readers see that slot: change it so that they see a whole row */
};

/* Changes one row of each member by @operand. For the table's mutator. */
void dgi_applying_row(struct dgi_applying *a, const struct dgi_place *places,
		      const uint8_t *operand);

#endif
