/*
 * outside_translate.c -- outside ids to relabelled ids and back, over whoever answers.
 *
 * What is asked is grouped by the partition that knows, and answers are put back in the caller's order.
 */
#include "outside.h"

#include "book.h"
#include "fail.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void dg_outside_ids_clear(dg_outside_ids *ids)
{
	free(ids->integers);
	free(ids->offsets);
	free(ids->text);
	*ids = (dg_outside_ids){ 0 };
}

static dg_status ask_about(const struct dgi_ids_asker *asker, dg_side side, uint16_t type,
			   dg_outside_form *form, uint64_t *seed, dg_error *err)
{
	const struct dgi_ids_request request = { .type = type, .operation = DGI_IDS_ABOUT };
	struct dgi_ids_answer answer = { 0 };
	dg_status st;

	if ((side != DG_NODE && side != DG_EDGE) || type >= dgi_book_n_types(asker->book, side))
		return dgi_fail(err, DG_NOTFOUND, "%s type %u: the graph has %u",
				side == DG_EDGE ? "edge" : "node", type,
				dgi_book_n_types(asker->book, side));
	*form = DG_OUTSIDE_NUMBERS;
	*seed = 0;
	if (side == DG_EDGE)
		return DG_OK;
	st = asker->ask(asker->context, 0, &request, &answer, err);
	if (!st) {
		*form = answer.form;
		*seed = answer.seed;
		dgi_ids_answer_clear(&answer);
	}
	return st;
}

dg_status dgi_outside_form(const struct dgi_ids_asker *asker, dg_side side, uint16_t type,
			   dg_outside_form *form, dg_error *err)
{
	dg_outside_form found;
	uint64_t seed;
	dg_status st = ask_about(asker, side, type, &found, &seed, err);

	if (!st)
		*form = found;
	return st;
}

/* --- Questions by partition --- */

/* Numbers in order of the partition that is asked. */
struct grouped {
	size_t n;
	uint32_t n_parts;
	size_t *begins;	  /* of each partition, and the end */
	size_t *places;	  /* where each number stands in the caller's order */
	int64_t *numbers; /* grouped */
};

static void grouped_clear(struct grouped *g)
{
	free(g->begins);
	free(g->places);
	free(g->numbers);
}

static dg_status group(const int64_t *numbers, const uint32_t *parts, size_t n, uint32_t n_parts,
		       struct grouped *out, dg_error *err)
{
	*out = (struct grouped){
		.n = n,
		.n_parts = n_parts,
		.begins = calloc((size_t)n_parts + 1, sizeof *out->begins),
		.places = malloc((n + 1) * sizeof *out->places),
		.numbers = malloc((n + 1) * sizeof *out->numbers),
	};
	if (!out->begins || !out->places || !out->numbers)
		return dgi_fail_memory(err, "ids");
	for (size_t i = 0; i < n; i++)
		out->begins[parts[i] + 1]++;
	for (uint32_t p = 0; p < n_parts; p++)
		out->begins[p + 1] += out->begins[p];
	for (size_t i = 0; i < n; i++) {
		size_t at = out->begins[parts[i]]++;

		out->places[at] = i;
		out->numbers[at] = numbers[i];
	}
	memmove(out->begins + 1, out->begins, n_parts * sizeof *out->begins);
	out->begins[0] = 0;
	return DG_OK;
}

/* What is done with the answer to numbers [first, first + answer->n) of those grouped. */
typedef dg_status take_fn(void *context, const struct grouped *grouped, size_t first,
			  const struct dgi_ids_answer *answer, dg_error *err);

static dg_status check_answer(const struct dgi_ids_request *r, const struct dgi_ids_answer *a,
			      dg_outside_form form, dg_error *err)
{
	if (a->form != form)
		return dgi_fail(
			err, DG_MISMATCH,
			"node type %u: one partition has outside ids of form %d, another %d",
			r->type, (int)form, (int)a->form);
	if (a->n == 0 || a->n > r->n ||
	    a->strings != (form == DG_OUTSIDE_STRINGS && r->operation == DGI_IDS_OUTSIDE))
		return dgi_fail(err, DG_PROTO, "%zu ids answered of %zu", a->n, r->n);
	return DG_OK;
}

static dg_status ask_all(const struct dgi_ids_asker *asker, uint16_t type, uint16_t operation,
			 dg_outside_form form, const struct grouped *g, take_fn *take,
			 void *context, dg_error *err)
{
	dg_status st = DG_OK;

	for (uint32_t p = 0; !st && p < g->n_parts; p++)
		for (size_t at = g->begins[p]; !st && at < g->begins[p + 1];) {
			size_t left = g->begins[p + 1] - at;
			const struct dgi_ids_request request = { .type = type,
								 .operation = operation,
								 .n = left < DGI_IDS_BATCH
									      ? left
									      : DGI_IDS_BATCH,
								 .numbers = g->numbers + at };
			struct dgi_ids_answer answer = { 0 };

			st = asker->ask(asker->context, p, &request, &answer, err);
			if (!st)
				st = check_answer(&request, &answer, form, err);
			if (!st)
				st = take(context, g, at, &answer, err);
			at += answer.n;
			dgi_ids_answer_clear(&answer);
		}
	return st;
}

/* --- To outside --- */

/* Strings as they come, and where each is. */
struct strings {
	char *text;
	size_t n, capacity;
	size_t *at; /* by the caller's order */
	size_t *bytes;
};

static dg_status take_integers(void *context, const struct grouped *g, size_t first,
			       const struct dgi_ids_answer *answer, dg_error *err)
{
	int64_t *out = context;

	(void)err;
	for (size_t i = 0; i < answer->n; i++)
		out[g->places[first + i]] = answer->numbers[i];
	return DG_OK;
}

static dg_status take_strings(void *context, const struct grouped *g, size_t first,
			      const struct dgi_ids_answer *answer, dg_error *err)
{
	struct strings *s = context;
	size_t capacity = s->capacity ? s->capacity : 4096;
	char *text;

	while (capacity < s->n + answer->text_bytes)
		capacity *= 2;
	text = realloc(s->text, capacity);
	if (!text)
		return dgi_fail_memory(err, "ids");
	s->text = text;
	s->capacity = capacity;
	if (answer->text_bytes > 0)
		memcpy(s->text + s->n, answer->text, answer->text_bytes);
	for (size_t i = 0; i < answer->n; i++) {
		s->at[g->places[first + i]] = s->n + (size_t)answer->numbers[i];
		s->bytes[g->places[first + i]] =
			(size_t)(answer->numbers[i + 1] - answer->numbers[i]);
	}
	s->n += answer->text_bytes;
	return DG_OK;
}

/* Strings in the caller's order, in one text. */
static dg_status put_in_order(const struct strings *s, size_t n, dg_outside_ids *out, dg_error *err)
{
	uint64_t at = 0;

	for (size_t i = 0; i < n; i++)
		at += s->bytes[i]; /* ids may repeat, so more than there is text */
	out->offsets = malloc((n + 1) * sizeof *out->offsets);
	out->text = malloc((size_t)at + 1);
	if (!out->offsets || !out->text)
		return dgi_fail_memory(err, "ids");
	at = 0;
	for (size_t i = 0; i < n; i++) {
		out->offsets[i] = at;
		if (s->bytes[i] > 0)
			memcpy(out->text + at, s->text + s->at[i], s->bytes[i]);
		at += s->bytes[i];
	}
	out->offsets[n] = at;
	return DG_OK;
}

static dg_status fetch_strings(const struct dgi_ids_asker *asker, uint16_t type,
			       const struct grouped *g, dg_outside_ids *out, dg_error *err)
{
	struct strings s = { .at = malloc((g->n + 1) * sizeof(size_t)),
			     .bytes = malloc((g->n + 1) * sizeof(size_t)) };
	dg_status st = s.at && s.bytes ? DG_OK : dgi_fail_memory(err, "ids");

	if (!st)
		st = ask_all(asker, type, DGI_IDS_OUTSIDE, DG_OUTSIDE_STRINGS, g, take_strings, &s,
			     err);
	if (!st)
		st = put_in_order(&s, g->n, out, err);
	free(s.text);
	free(s.at);
	free(s.bytes);
	return st;
}

static dg_status fetch_outside(const struct dgi_ids_asker *asker, uint16_t type, const dg_id *ids,
			       size_t n, dg_outside_ids *out, dg_error *err)
{
	uint32_t *parts = malloc((n + 1) * sizeof *parts);
	struct grouped g = { 0 };
	dg_status st = DG_NOMEM;

	if (parts)
		st = dg_book_locate_ids(asker->book, DG_NODE, type, ids, n, parts, NULL, err);
	else
		(void)dgi_fail_memory(err, "ids");
	if (!st)
		st = group(ids, parts, n, dg_book_n_parts(asker->book), &g, err);
	if (!st && out->form == DG_OUTSIDE_INTEGERS)
		st = ask_all(asker, type, DGI_IDS_OUTSIDE, out->form, &g, take_integers,
			     out->integers, err);
	else if (!st)
		st = fetch_strings(asker, type, &g, out, err);
	grouped_clear(&g);
	free(parts);
	return st;
}

dg_status dgi_to_outside(const struct dgi_ids_asker *asker, dg_side side, uint16_t type,
			 const dg_id *ids, size_t n, dg_outside_ids *out, dg_error *err)
{
	dg_outside_ids found = { .n = n };
	uint64_t seed;
	dg_status st = ask_about(asker, side, type, &found.form, &seed, err);

	if (st)
		return st;
	if (found.form != DG_OUTSIDE_STRINGS) {
		found.integers = malloc((n + 1) * sizeof *found.integers);
		if (!found.integers)
			return dgi_fail_memory(err, "ids");
	}
	if (found.form == DG_OUTSIDE_NUMBERS)
		st = asker->table(asker->context, side, type, DG_TENSOR_ORIGINAL_ID, ids, n,
				  found.integers, err);
	else
		st = fetch_outside(asker, type, ids, n, &found, err);
	if (st)
		dg_outside_ids_clear(&found);
	else
		*out = found;
	return st;
}

/* --- From outside --- */

static dg_status fail_unknown(const struct dgi_ids_asker *asker, uint16_t type,
			      const dg_outside_ids *ids, size_t i, dg_error *err)
{
	const char *name = dg_book_node_type(asker->book, type);
	size_t n;

	if (ids->form != DG_OUTSIDE_STRINGS)
		return dgi_fail(err, DG_NOTFOUND, "no node of type '%s' is called %" PRId64, name,
				ids->integers[i]);
	n = (size_t)(ids->offsets[i + 1] - ids->offsets[i]);
	return dgi_fail(err, DG_NOTFOUND, "no node of type '%s' is called '%.*s'%s", name,
			(int)(n < 80 ? n : 80), ids->text + ids->offsets[i], n > 80 ? "…" : "");
}

static uint64_t hash_of(const dg_outside_ids *ids, size_t i, uint64_t seed)
{
	if (ids->form != DG_OUTSIDE_STRINGS)
		return dgi_outside_hash_integer(ids->integers[i]);
	return dgi_outside_hash_string(ids->text + ids->offsets[i],
				       (size_t)(ids->offsets[i + 1] - ids->offsets[i]), seed);
}

static dg_status lookup(const struct dgi_ids_asker *asker, uint16_t type, const dg_outside_ids *ids,
			dg_outside_form form, uint64_t seed, dg_id *out, dg_error *err)
{
	uint32_t n_parts = dg_book_n_parts(asker->book);
	int64_t *hashes = malloc((ids->n + 1) * sizeof *hashes);
	uint32_t *parts = malloc((ids->n + 1) * sizeof *parts);
	struct grouped g = { 0 };
	dg_status st = hashes && parts ? DG_OK : dgi_fail_memory(err, "ids");

	for (size_t i = 0; !st && i < ids->n; i++) {
		uint64_t hash = hash_of(ids, i, seed);

		hashes[i] = (int64_t)hash;
		parts[i] = (uint32_t)dgi_outside_cut(hash, n_parts);
	}
	if (!st)
		st = group(hashes, parts, ids->n, n_parts, &g, err);
	if (!st)
		st = ask_all(asker, type, DGI_IDS_LOOKUP, form, &g, take_integers, out, err);
	for (size_t i = 0; !st && i < ids->n; i++)
		if (out[i] < 0)
			st = fail_unknown(asker, type, ids, i, err);
	grouped_clear(&g);
	free(hashes);
	free(parts);
	return st;
}

/* A hash says who it may be; what that node is called says whether it is. */
static dg_status verify(const struct dgi_ids_asker *asker, uint16_t type, const dg_outside_ids *ids,
			const dg_id *found, dg_error *err)
{
	dg_outside_ids names = { .form = ids->form == DG_OUTSIDE_STRINGS ? DG_OUTSIDE_STRINGS
									 : DG_OUTSIDE_INTEGERS,
				 .n = ids->n };
	dg_status st = DG_OK;

	if (names.form == DG_OUTSIDE_INTEGERS) {
		names.integers = malloc((ids->n + 1) * sizeof *names.integers);
		if (!names.integers)
			return dgi_fail_memory(err, "ids");
	}
	st = fetch_outside(asker, type, found, ids->n, &names, err);
	for (size_t i = 0; !st && i < ids->n; i++) {
		bool same;

		if (names.form == DG_OUTSIDE_INTEGERS) {
			same = names.integers[i] == ids->integers[i];
		} else {
			size_t n = (size_t)(ids->offsets[i + 1] - ids->offsets[i]);

			same = names.offsets[i + 1] - names.offsets[i] == n &&
			       memcmp(names.text + names.offsets[i], ids->text + ids->offsets[i],
				      n) == 0;
		}
		if (!same)
			st = fail_unknown(asker, type, ids, i, err);
	}
	dg_outside_ids_clear(&names);
	return st;
}

static dg_status from_index(const struct dgi_ids_asker *asker, uint16_t type,
			    const dg_outside_ids *ids, dg_outside_form form, uint64_t seed,
			    dg_id *out, dg_error *err)
{
	dg_id *found = malloc((ids->n + 1) * sizeof *found);
	dg_status st;

	if (!found)
		return dgi_fail_memory(err, "ids");
	st = lookup(asker, type, ids, form, seed, found, err);
	if (!st)
		st = verify(asker, type, ids, found, err);
	if (!st && ids->n > 0)
		memcpy(out, found, ids->n * sizeof *out);
	free(found);
	return st;
}

dg_status dgi_from_outside(const struct dgi_ids_asker *asker, dg_side side, uint16_t type,
			   const dg_outside_ids *ids, dg_id *out, dg_error *err)
{
	dg_outside_form form = DG_OUTSIDE_NUMBERS;
	uint64_t seed = 0;
	dg_status st = ask_about(asker, side, type, &form, &seed, err);

	if (st)
		return st;
	if ((form == DG_OUTSIDE_STRINGS) != (ids->form == DG_OUTSIDE_STRINGS))
		return dgi_fail(err, DG_INVALID, "%s type %u has %s for ids, not %s",
				side == DG_EDGE ? "edge" : "node", type,
				form == DG_OUTSIDE_STRINGS ? "strings" : "integers",
				form == DG_OUTSIDE_STRINGS ? "integers" : "strings");
	if (form == DG_OUTSIDE_NUMBERS)
		return asker->table(asker->context, side, type, DG_TENSOR_INTERNAL_ID,
				    ids->integers, ids->n, out, err);
	return from_index(asker, type, ids, form, seed, out, err);
}
