/* source_ids.c -- ids by servers, by the stores of a cluster, or by one store. */
#include "source_ids.h"

#include "report.h"
#include "value.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* By an id table in the stores. */
static dg_status translate(struct source *s, const dg_tensor_info *tensor, const char *name,
			   dg_id *ids, size_t n, dg_error *err)
{
	const dg_tensor_info *table = NULL;
	size_t bytes;
	char *cells;
	dg_status st;

	for (size_t i = 0; i < s->n_tensors; i++)
		if (s->tensors[i].side == tensor->side && s->tensors[i].type == tensor->type &&
		    !strcmp(s->tensors[i].name, name))
			table = &s->tensors[i];
	if (!table)
		return fail(err, DG_CORRUPT, "'%s': no id table for '%s'", s->path, tensor->name);
	bytes = dg_dtype_bytes(table->dtype);
	cells = malloc((n ? n : 1) * bytes);
	if (!cells)
		return fail(err, DG_NOMEM, "%zu ids: out of memory", n);
	st = source_gather(s, table, ids, n, cells, err);
	for (size_t i = 0; !st && i < n; i++)
		ids[i] = value_integer(table->dtype, cells + i * bytes);
	free(cells);
	return st;
}

dg_status source_to_internal(struct source *s, const dg_tensor_info *tensor, dg_id *ids, size_t n,
			     dg_error *err)
{
	return s->client ? dg_client_to_internal(s->client, tensor->side, tensor->type, ids, n, ids,
						 err)
			 : translate(s, tensor, DG_TENSOR_INTERNAL_ID, ids, n, err);
}

dg_status source_to_original(struct source *s, const dg_tensor_info *tensor, dg_id *ids, size_t n,
			     dg_error *err)
{
	return s->client ? dg_client_to_original(s->client, tensor->side, tensor->type, ids, n, ids,
						 err)
			 : translate(s, tensor, DG_TENSOR_ORIGINAL_ID, ids, n, err);
}

/* The stores by number; of a single store, the others are NULL. */
struct stores {
	dg_store *const *items;
	dg_store **made;
	uint32_t n;
};

static dg_status stores_begin(struct source *s, struct stores *out, dg_error *err)
{
	dg_store_info info;

	*out = (struct stores){ .items = s->stores, .n = s->n_stores };
	if (s->is_cluster)
		return source_open_all(s, err);
	dg_store_get_info(s->stores[0], &info);
	out->n = info.n_parts;
	out->made = calloc(info.n_parts, sizeof *out->made);
	if (!out->made)
		return fail(err, DG_NOMEM, "%u stores: out of memory", info.n_parts);
	out->made[info.part] = s->stores[0];
	out->items = out->made;
	return DG_OK;
}

dg_status source_form(struct source *s, const dg_tensor_info *tensor, dg_outside_form *form,
		      dg_error *err)
{
	struct stores stores;
	dg_status st;

	if (s->client)
		return dg_client_outside_form(s->client, tensor->side, tensor->type, form, err);
	st = stores_begin(s, &stores, err);
	if (!st)
		st = dg_stores_outside_form(stores.items, stores.n, tensor->side, tensor->type,
					    form, err);
	free(stores.made);
	return st;
}

dg_status source_to_outside(struct source *s, const dg_tensor_info *tensor, const dg_id *ids,
			    size_t n, dg_outside_ids *out, dg_error *err)
{
	struct stores stores;
	dg_status st;

	if (s->client)
		return dg_client_to_outside(s->client, tensor->side, tensor->type, ids, n, out,
					    err);
	st = stores_begin(s, &stores, err);
	if (!st)
		st = dg_stores_to_outside(stores.items, stores.n, tensor->side, tensor->type, ids,
					  n, out, err);
	free(stores.made);
	return st;
}

dg_status source_from_outside(struct source *s, const dg_tensor_info *tensor,
			      const dg_outside_ids *ids, dg_id *out, dg_error *err)
{
	struct stores stores;
	dg_status st;

	if (s->client)
		return dg_client_from_outside(s->client, tensor->side, tensor->type, ids, out, err);
	st = stores_begin(s, &stores, err);
	if (!st)
		st = dg_stores_from_outside(stores.items, stores.n, tensor->side, tensor->type, ids,
					    out, err);
	free(stores.made);
	return st;
}

dg_outside_ids outside_slice(const dg_outside_ids *ids, size_t first, size_t n)
{
	return (dg_outside_ids){
		.form = ids->form,
		.n = n,
		.integers = ids->integers ? ids->integers + first : NULL,
		.offsets = ids->offsets ? ids->offsets + first : NULL,
		.text = ids->text,
	};
}

void outside_print(FILE *out, const dg_outside_ids *ids, size_t i)
{
	if (ids->form == DG_OUTSIDE_STRINGS)
		(void)fwrite(ids->text + ids->offsets[i], 1,
			     (size_t)(ids->offsets[i + 1] - ids->offsets[i]), out);
	else
		fprintf(out, "%" PRId64, ids->integers[i]);
}
