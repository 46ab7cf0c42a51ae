/* called.c -- rows by what they are called, and what rows are called. */
#include "called.h"

#include "names.h"
#include "report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void called_clear(struct called *called)
{
	ids_clear(&called->ids);
	dg_outside_ids_clear(&called->names);
	*called = (struct called){ 0 };
}

/* --- What rows are called --- */

static dg_status copy_numbers(const dg_id *ids, size_t n, dg_outside_ids *out, dg_error *err)
{
	*out = (dg_outside_ids){ .n = n, .integers = malloc((n ? n : 1) * sizeof *ids) };
	if (!out->integers)
		return fail(err, DG_NOMEM, "%zu ids: out of memory", n);
	if (n)
		memcpy(out->integers, ids, n * sizeof *ids);
	return DG_OK;
}

dg_status called_of(struct source *s, const dg_tensor_info *tensor, dg_outside_form form,
		    bool internal, const dg_id *ids, size_t n, dg_outside_ids *out, dg_error *err)
{
	dg_outside_ids numbers;
	dg_status st = copy_numbers(ids, n, &numbers, err);

	if (st || form == DG_OUTSIDE_NUMBERS) {
		*out = numbers;
		return st;
	}
	if (!internal)
		st = source_to_internal(s, tensor, numbers.integers, n, err);
	if (!st)
		st = source_to_outside(s, tensor, numbers.integers, n, out, err);
	dg_outside_ids_clear(&numbers);
	return st;
}

static dg_status copy_names(const dg_outside_ids *names, dg_outside_ids *out, dg_error *err)
{
	uint64_t bytes;

	if (names->form != DG_OUTSIDE_STRINGS) {
		dg_status st = copy_numbers(names->integers, names->n, out, err);

		out->form = names->form;
		return st;
	}
	bytes = names->offsets[names->n] - names->offsets[0];
	*out = (dg_outside_ids){ .form = names->form,
				 .n = names->n,
				 .offsets = malloc((names->n + 1) * sizeof *out->offsets),
				 .text = malloc(bytes ? bytes : 1) };
	if (!out->offsets || !out->text) {
		dg_outside_ids_clear(out);
		return fail(err, DG_NOMEM, "%zu ids: out of memory", names->n);
	}
	for (size_t i = 0; i <= names->n; i++)
		out->offsets[i] = names->offsets[i] - names->offsets[0];
	if (bytes)
		memcpy(out->text, names->text + names->offsets[0], bytes);
	return DG_OK;
}

dg_status called_names(struct source *s, const dg_tensor_info *tensor, const struct called *called,
		       size_t first, size_t n, dg_outside_ids *out, dg_error *err)
{
	if (called->names.n) {
		const dg_outside_ids names = outside_slice(&called->names, first, n);

		return copy_names(&names, out, err);
	}
	return called_of(s, tensor, called->form, called->internal, called->ids.items + first, n,
			 out, err);
}

dg_status called_rows(struct source *s, const dg_tensor_info *tensor, const struct called *called,
		      size_t first, size_t n, dg_id *out, dg_error *err)
{
	const bool by_original = tensor->numbering == DG_ORIGINAL;

	if (n)
		memcpy(out, called->ids.items + first, n * sizeof *out);
	if (called->internal == !by_original)
		return DG_OK;
	return by_original ? source_to_original(s, tensor, out, n, err)
			   : source_to_internal(s, tensor, out, n, err);
}

/* --- A list --- */

/* What there is tells what a wrong name should look like. */
static dg_status add_example(struct source *s, const dg_tensor_info *tensor, dg_status why,
			     dg_error *err)
{
	const dg_id first = 0;
	dg_outside_ids example = { 0 };
	char text[DG_ERROR_TEXT_BYTES];
	dg_error ignored;
	size_t n;

	if (why != DG_NOTFOUND || source_to_outside(s, tensor, &first, 1, &example, &ignored))
		return why;
	memcpy(text, err->text, sizeof text);
	if (example.form == DG_OUTSIDE_STRINGS) {
		n = (size_t)(example.offsets[1] - example.offsets[0]);
		(void)fail(err, why, "%s; ids are strings such as '%.*s'", text,
			   (int)(n < 40 ? n : 40), example.text);
	} else {
		(void)fail(err, why, "%s; ids are integers such as %" PRId64, text,
			   example.integers[0]);
	}
	dg_outside_ids_clear(&example);
	return why;
}

static dg_status resolve(struct source *s, const dg_tensor_info *tensor, struct called *called,
			 dg_error *err)
{
	const size_t n = called->names.n;
	dg_status st = DG_OK;

	called->internal = true;
	called->ids.n = n;
	called->ids.items = malloc((n ? n : 1) * sizeof(dg_id));
	if (!called->ids.items)
		return fail(err, DG_NOMEM, "%zu ids: out of memory", n);
	for (size_t at = 0; !st && at < n; at += IDS_BATCH) {
		const dg_outside_ids part =
			outside_slice(&called->names, at, n - at < IDS_BATCH ? n - at : IDS_BATCH);

		st = source_from_outside(s, tensor, &part, called->ids.items + at, err);
	}
	return st ? add_example(s, tensor, st, err) : DG_OK;
}

static dg_status parse_names(struct source *s, const dg_tensor_info *tensor, const char *text,
			     struct called *called, dg_error *err)
{
	dg_status st = names_read(text, called->form, s, tensor, &called->names, err);

	return st ? st : resolve(s, tensor, called, err);
}

dg_status called_parse(struct source *s, const dg_tensor_info *tensor, const char *text,
		       bool internal, struct called *out, dg_error *err)
{
	/* --internal is by the tensor's own numbering, whichever that is */
	struct called called = { .internal = internal && tensor->numbering == DG_INTERNAL };
	dg_status st = internal ? DG_OK : source_form(s, tensor, &called.form, err);

	if (!st && (called.form == DG_OUTSIDE_NUMBERS || !strcmp(text, ":")))
		st = ids_parse(text, dg_book_count(s->book, tensor->side, tensor->type),
			       tensor->name, &called.ids, err);
	else if (!st)
		st = parse_names(s, tensor, text, &called, err);
	if (st)
		called_clear(&called);
	else
		*out = called;
	return st;
}
