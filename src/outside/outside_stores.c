/* outside_stores.c -- outside ids by the opened stores of all partitions. */
#include "outside.h"

#include "book.h"
#include "fail.h"
#include "store.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct stores {
	dg_store *const *items;
	uint32_t n;
};

/* There is one: check() has seen to that. */
static uint32_t first_present(const struct stores *stores)
{
	uint32_t part = 0;

	while (!stores->items[part])
		part++;
	return part;
}

static dg_status fail_absent(uint32_t part, dg_error *err)
{
	return dgi_fail(err, DG_NOTFOUND, "part %" PRIu32 " knows the id, its store is not opened",
			part);
}

static dg_status ask(void *context, uint32_t part, const struct dgi_ids_request *request,
		     struct dgi_ids_answer *out, dg_error *err)
{
	const struct stores *stores = context;
	struct dgi_outside_part opened;
	dg_status st;

	if (request->operation == DGI_IDS_ABOUT) /* each knows that */
		part = first_present(stores);
	if (!stores->items[part])
		return fail_absent(part, err);
	st = dgi_outside_part_open(dgi_store_volume(stores->items[part]),
				   dg_store_book(stores->items[part]), part, &opened, err);
	if (!st)
		st = dgi_outside_answer(&opened, request, SIZE_MAX, out, err);
	dgi_outside_part_clear(&opened);
	return st;
}

static dg_status find_table(const dg_store *store, dg_side side, uint16_t type, const char *name,
			    const dg_tensor_info **out, dg_error *err)
{
	size_t n;
	const dg_tensor_info *all = dg_store_tensors(store, &n);

	for (size_t i = 0; i < n; i++)
		if (all[i].side == side && all[i].type == type &&
		    (all[i].flags & DG_TENSOR_SYSTEM) && strcmp(all[i].name, name) == 0 &&
		    all[i].rank == 0 && (all[i].dtype == DG_INT32 || all[i].dtype == DG_INT64)) {
			*out = &all[i];
			return DG_OK;
		}
	return dgi_fail(err, DG_NOTFOUND, "%s type %u: no tensor '%s'",
			side == DG_NODE ? "node" : "edge", type, name);
}

static dg_status read_row(const struct stores *stores, dg_side side, uint16_t type,
			  const char *name, dg_id id, dg_id *out, dg_error *err)
{
	const dg_tensor_info *table = NULL;
	union {
		int32_t narrow;
		int64_t wide;
	} row = { 0 };
	uint32_t part = 0;
	int64_t local = 0;
	const dg_store *any = stores->items[first_present(stores)];
	dg_status st = find_table(any, side, type, name, &table, err);

	if (!st)
		st = dg_book_locate(dg_store_book(any), table, id, &part, &local, err);
	if (!st && !stores->items[part])
		st = fail_absent(part, err);
	if (!st)
		st = find_table(stores->items[part], side, type, name, &table, err);
	if (!st)
		st = dg_store_gather(stores->items[part], table, &local, 1, &row, err);
	if (!st)
		*out = table->dtype == DG_INT32 ? row.narrow : row.wide;
	return st;
}

static dg_status table(void *context, dg_side side, uint16_t type, const char *name,
		       const dg_id *ids, size_t n, dg_id *out, dg_error *err)
{
	dg_status st = DG_OK;

	for (size_t i = 0; !st && i < n; i++)
		st = read_row(context, side, type, name, ids[i], &out[i], err);
	return st;
}

/* The stores must be those of one cluster, each at its number; NULL for one that is not opened. */
static dg_status check(const struct stores *stores, dg_error *err)
{
	const dg_store *first = NULL;

	for (uint32_t p = 0; p < stores->n; p++) {
		dg_store_info info;

		if (!stores->items[p])
			continue;
		if (!first)
			first = stores->items[p];
		dg_store_get_info(stores->items[p], &info);
		if (info.part != p || info.n_parts != stores->n ||
		    !dgi_book_equal(dg_store_book(stores->items[p]), dg_store_book(first)))
			return dgi_fail(err, DG_MISMATCH,
					"store number %" PRIu32 " of %" PRIu32 " is part %" PRIu32
					" of %" PRIu32,
					p, stores->n, info.part, info.n_parts);
	}
	return first ? DG_OK : dgi_fail(err, DG_INVALID, "no stores");
}

static struct dgi_ids_asker asker_of(struct stores *stores)
{
	return (struct dgi_ids_asker){ .context = stores,
				       .book = dg_store_book(stores->items[first_present(stores)]),
				       .ask = ask,
				       .table = table };
}

dg_status dg_stores_outside_form(dg_store *const *stores, uint32_t n_stores, dg_side side,
				 uint16_t type, dg_outside_form *form, dg_error *err)
{
	struct stores s = { stores, n_stores };
	struct dgi_ids_asker asker;
	dg_status st = check(&s, err);

	if (st)
		return st;
	asker = asker_of(&s);
	return dgi_outside_form(&asker, side, type, form, err);
}

dg_status dg_stores_to_outside(dg_store *const *stores, uint32_t n_stores, dg_side side,
			       uint16_t type, const dg_id *ids, size_t n, dg_outside_ids *out,
			       dg_error *err)
{
	struct stores s = { stores, n_stores };
	struct dgi_ids_asker asker;
	dg_status st = check(&s, err);

	if (st)
		return st;
	asker = asker_of(&s);
	return dgi_to_outside(&asker, side, type, ids, n, out, err);
}

dg_status dg_stores_from_outside(dg_store *const *stores, uint32_t n_stores, dg_side side,
				 uint16_t type, const dg_outside_ids *ids, dg_id *out,
				 dg_error *err)
{
	struct stores s = { stores, n_stores };
	struct dgi_ids_asker asker;
	dg_status st = check(&s, err);

	if (st)
		return st;
	asker = asker_of(&s);
	return dgi_from_outside(&asker, side, type, ids, out, err);
}
