/* apply.c -- changing a row by an entry of the journal. */
#include "apply.h"

#include "buffer.h"
#include "fail.h"
#include "ops.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static dg_status find_rule(struct dgi_applying *a, const struct dgi_step_rule *rules,
			   size_t n_rules, dg_error *err)
{
	const struct dgi_entry *entry = a->entry;

	if (a->infos[0]->group && a->infos[0]->group != a->infos[0]->id)
		return dgi_fail(err, DG_INVALID, "a step is for the first tensor of a group");
	a->rule = dgi_step_find(rules, n_rules, entry->op);
	if (!a->rule)
		return dgi_fail(err, DG_NOTFOUND, "no step rule %u", entry->op);
	return a->rule->check(a->infos, a->n_members, entry->parameters, entry->parameters_bytes,
			      err);
}

/* Members stand in the ring in the order of their ids but for the first, newest first: sort them. */
static void collect_members(struct dgi_applying *a, size_t first)
{
	const struct dgi_rows *rows = a->catalogue->rows;

	a->members[a->n_members++] = first;
	for (size_t m = rows[first].next_member; m != first; m = rows[m].next_member) {
		size_t at = a->n_members++;

		while (at > 1 && a->members[at - 1] > m) {
			a->members[at] = a->members[at - 1];
			at--;
		}
		a->members[at] = m;
	}
}

static uint32_t aligned_bytes(const dg_tensor_info *info)
{
	return (info->row_bytes + 7U) & ~7U;
}

/* Room for a row of each member; at most 8 MiB. */
static dg_status take_scratch(struct dgi_applying *a, dg_error *err)
{
	size_t bytes = 0;

	for (size_t i = 0; i < a->n_members; i++)
		bytes += aligned_bytes(a->infos[i]);
	a->scratch = dgi_aligned_alloc(bytes);
	return a->scratch ? DG_OK : dgi_fail_memory(err, "push");
}

dg_status dgi_applying_begin(struct dgi_applying *a, const struct dgi_catalogue *catalogue,
			     struct dgi_table *table, const struct dgi_entry *entry,
			     const struct dgi_step_rule *rules, size_t n_rules, dg_error *err)
{
	const bool is_step = entry->kind == DGI_ENTRY_STEP;
	size_t first;
	dg_status st = DG_OK;

	*a = (struct dgi_applying){ .catalogue = catalogue, .table = table, .entry = entry };
	if (!dgi_catalogue_find(catalogue, entry->tensor, &first))
		return dgi_fail(err, DG_NOTFOUND, "no tensor %" PRIu32, entry->tensor);
	if (entry->row_bytes != catalogue->infos[first].row_bytes)
		return dgi_fail(err, DG_INVALID,
				"rows of %" PRIu32 " bytes, the tensor's have %" PRIu32,
				entry->row_bytes, catalogue->infos[first].row_bytes);
	if (is_step)
		collect_members(a, first);
	else
		a->members[a->n_members++] = first;
	for (size_t i = 0; i < a->n_members; i++)
		a->infos[i] = &catalogue->infos[a->members[i]];
	if (is_step)
		st = find_rule(a, rules, n_rules, err);
	if (!st && (is_step || entry->op != DG_OP_ASSIGN))
		st = take_scratch(a, err);
	return st;
}

void dgi_applying_clear(struct dgi_applying *a)
{
	free(a->scratch);
	a->scratch = NULL;
}

static void put(struct dgi_applying *a, const struct dgi_place *place, const uint8_t *row, size_t n)
{
	if (place->shown)
		dgi_table_store_row(a->table, place->entry, place->row, row, n);
	else
		dgi_row_put(place->row, row, n);
}

/* All members are copied, changed and put back: computed before any sequence is odd. */
static void step_row(struct dgi_applying *a, const struct dgi_place *places, const uint8_t *operand)
{
	const struct dgi_entry *entry = a->entry;
	void *rows[DGI_GROUP_MAX];
	uint8_t *at = a->scratch;

	for (size_t i = 0; i < a->n_members; i++) {
		rows[i] = at;
		memcpy(at, places[i].row, a->infos[i]->row_bytes);
		at += aligned_bytes(a->infos[i]);
	}
	a->rule->apply(a->infos, a->n_members, entry->parameters, entry->parameters_bytes, operand,
		       rows);
	for (size_t i = 0; i < a->n_members; i++)
		put(a, &places[i], rows[i], a->infos[i]->row_bytes);
}

void dgi_applying_row(struct dgi_applying *a, const struct dgi_place *places,
		      const uint8_t *operand)
{
	const dg_tensor_info *info = a->infos[0];
	const dg_operation op = (dg_operation)a->entry->op;

	if (a->rule) {
		step_row(a, places, operand);
	} else if (op == DG_OP_ASSIGN) {
		put(a, places, operand, info->row_bytes);
	} else {
		dgi_op_apply(op, info->dtype, info->row_bytes / dg_dtype_bytes(info->dtype),
			     places->row, operand, a->scratch);
		put(a, places, a->scratch, info->row_bytes);
	}
}
