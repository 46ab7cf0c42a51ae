/* check_outside.c -- the outside ids of a store, checked as their arrays go by. */
#include "check_outside.h"

#include "fail.h"
#include "outside_format.h"

#include <distgraph/outside.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void dgi_check_outside_clear(struct dgi_check_outside *c)
{
	free(c->head);
	c->head = NULL;
}

static void tell_once(struct dgi_check_outside *c, uint8_t kind, dgi_check_outside_tell *tell,
		      void *context, const dg_error *what)
{
	if (!c->told[kind])
		tell(context, kind, what);
	c->told[kind] = true;
}

void dgi_check_outside_array(struct dgi_check_outside *c, uint8_t kind, dg_dtype dtype, int64_t n,
			     dgi_check_outside_tell *tell, void *context)
{
	int64_t n_head = (int64_t)dg_book_n_node_types(c->book) * DGI_OUTSIDE_FIELDS;
	dg_error what;

	if (kind < DGI_OUTSIDE_HEAD || kind > DGI_OUTSIDE_IDS) {
		(void)dgi_fail(&what, DG_MISMATCH, "no array of outside ids has this number");
		tell(context, kind, &what);
		return;
	}
	c->lengths[kind] = n;
	c->dtypes[kind] = (uint8_t)dtype;
	if ((kind != DGI_OUTSIDE_IDS && dtype != DG_INT64) ||
	    (kind == DGI_OUTSIDE_HEAD && n != n_head) ||
	    (kind == DGI_OUTSIDE_IDS && n != c->lengths[DGI_OUTSIDE_HASHES])) {
		(void)dgi_fail(&what, DG_MISMATCH,
			       "%" PRId64 " elements of %s do not fit the others", n,
			       dg_dtype_name(dtype));
		tell_once(c, kind, tell, context, &what);
	}
}

/* --- The head --- */

static int64_t owned(const struct dgi_check_outside *c, uint16_t type)
{
	dg_id start, end;

	dg_book_range(c->book, DG_NODE, type, c->part, &start, &end);
	return end - start;
}

/* Types follow each other without a gap in VALUES and in the index. */
static bool head_is_sound(const struct dgi_check_outside *c)
{
	int64_t values = 0, index = 0;

	for (uint16_t t = 0; t < dg_book_n_node_types(c->book); t++) {
		const int64_t *head = c->head + (size_t)t * DGI_OUTSIDE_FIELDS;
		int64_t form = head[DGI_OUTSIDE_FORM], n = head[DGI_OUTSIDE_INDEX_N];

		if (form == DG_OUTSIDE_NUMBERS)
			continue;
		if ((form != DG_OUTSIDE_INTEGERS && form != DG_OUTSIDE_STRINGS) || n < 0 ||
		    n > dg_book_count(c->book, DG_NODE, t) ||
		    head[DGI_OUTSIDE_VALUES_AT] != values || head[DGI_OUTSIDE_INDEX_AT] != index)
			return false;
		values += owned(c, t) + (form == DG_OUTSIDE_STRINGS);
		index += n;
	}
	return values == c->lengths[DGI_OUTSIDE_VALUES] && index == c->lengths[DGI_OUTSIDE_HASHES];
}

static void take_head(struct dgi_check_outside *c, int64_t first, int64_t n, const void *elements,
		      dgi_check_outside_tell *tell, void *context)
{
	dg_error what;

	if (c->told[DGI_OUTSIDE_HEAD] || first != c->n_head)
		return;
	if (!c->head)
		c->head = calloc((size_t)c->lengths[DGI_OUTSIDE_HEAD] + 1, sizeof *c->head);
	if (!c->head || n > c->lengths[DGI_OUTSIDE_HEAD] - first)
		return;
	memcpy(c->head + first, elements, (size_t)n * sizeof *c->head);
	c->n_head += n;
	if (c->n_head < c->lengths[DGI_OUTSIDE_HEAD] || head_is_sound(c))
		return;
	(void)dgi_fail(&what, DG_MISMATCH, "it does not fit the other arrays");
	tell_once(c, DGI_OUTSIDE_HEAD, tell, context, &what);
}

static bool has_head(const struct dgi_check_outside *c)
{
	return c->head && c->n_head == c->lengths[DGI_OUTSIDE_HEAD] && !c->told[DGI_OUTSIDE_HEAD];
}

/* --- The others --- */

/* The type that element @i of an array belongs to; *at is its place among the type's. */
static uint16_t type_of(const struct dgi_check_outside *c, uint8_t kind, int64_t i, int64_t *at)
{
	uint16_t n_types = dg_book_n_node_types(c->book), t = 0;

	for (; t < n_types; t++) {
		const int64_t *head = c->head + (size_t)t * DGI_OUTSIDE_FIELDS;
		bool values = kind == DGI_OUTSIDE_VALUES;
		int64_t n = values ? owned(c, t) + (head[DGI_OUTSIDE_FORM] == DG_OUTSIDE_STRINGS)
				   : head[DGI_OUTSIDE_INDEX_N];

		*at = i - head[values ? DGI_OUTSIDE_VALUES_AT : DGI_OUTSIDE_INDEX_AT];
		if (head[DGI_OUTSIDE_FORM] != DG_OUTSIDE_NUMBERS && *at >= 0 && *at < n)
			return t;
	}
	return n_types;
}

static const char *fault_of(const struct dgi_check_outside *c, uint8_t kind, uint16_t type,
			    int64_t at, int64_t value)
{
	const int64_t *head = c->head + (size_t)type * DGI_OUTSIDE_FIELDS;
	bool strings = head[DGI_OUTSIDE_FORM] == DG_OUTSIDE_STRINGS;

	switch (kind) {
	case DGI_OUTSIDE_VALUES:
		if (strings && (value < 0 || (at > 0 && value < c->before) ||
				value > c->lengths[DGI_OUTSIDE_TEXT] * 8))
			return "a string does not lie in the text";
		return NULL;
	case DGI_OUTSIDE_HASHES:
		if (at > 0 && (uint64_t)value <= (uint64_t)c->before)
			return "hashes do not ascend";
		if (dgi_outside_cut((uint64_t)value, dg_book_n_parts(c->book)) != c->part)
			return "a hash belongs to another partition";
		return NULL;
	case DGI_OUTSIDE_IDS:
		if (value < 0 || value >= dg_book_count(c->book, DG_NODE, type))
			return "a node id is none of the graph";
		return NULL;
	default:
		return NULL;
	}
}

void dgi_check_outside_elements(struct dgi_check_outside *c, uint8_t kind, int64_t first, int64_t n,
				const void *elements, dgi_check_outside_tell *tell, void *context)
{
	if (kind == DGI_OUTSIDE_HEAD)
		take_head(c, first, n, elements, tell, context);
	if (kind <= DGI_OUTSIDE_HEAD || kind > DGI_OUTSIDE_IDS || !has_head(c) || c->told[kind] ||
	    kind == DGI_OUTSIDE_TEXT)
		return;
	for (int64_t i = 0; i < n && !c->told[kind]; i++) {
		const char *fault;
		int32_t narrow;
		int64_t value, at = 0;
		uint16_t type = type_of(c, kind, first + i, &at);

		if (c->dtypes[kind] == DG_INT32) {
			memcpy(&narrow, (const char *)elements + (size_t)i * sizeof narrow,
			       sizeof narrow);
			value = narrow;
		} else {
			memcpy(&value, (const char *)elements + (size_t)i * sizeof value,
			       sizeof value);
		}
		fault = type < dg_book_n_node_types(c->book) ? fault_of(c, kind, type, at, value)
							     : NULL;
		c->before = value;
		if (fault) {
			dg_error what;

			(void)dgi_fail(&what, DG_CORRUPT, "element %" PRId64 ": %s", first + i,
				       fault);
			tell_once(c, kind, tell, context, &what);
		}
	}
}
