/* policy.c -- types and partition policies as text, in DGL's spelling and its older one. */
#include "book.h"

#include "fail.h"
#include "name.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Types in a message; those that do not fit are left out. */
struct type_list {
	char text[DG_ERROR_TEXT_BYTES / 2];
	size_t n;
};

static void list_add(struct type_list *list, const char *text)
{
	size_t used = strlen(list->text);
	size_t more = strlen(text) + (list->n ? 2 : 0);

	if (more >= sizeof list->text - used)
		return;
	(void)snprintf(list->text + used, sizeof list->text - used, "%s%s", list->n ? ", " : "",
		       text);
	list->n++;
}

static void type_text(const dg_book *book, dg_side side, uint16_t type,
		      char out[DGI_EDGE_TYPE_TEXT_BYTES])
{
	dg_edge_type edge = dg_book_edge_type(book, type);

	if (side == DG_EDGE)
		(void)dgi_edge_type_text(&edge, out);
	else
		(void)dgi_name_escape(dg_book_node_type(book, type), out);
}

/* The types of a side, or with @relation the edge types that have it. */
static struct type_list list_types(const dg_book *book, dg_side side, const char *relation)
{
	struct type_list list = { 0 };

	for (uint16_t t = 0; t < dgi_book_n_types(book, side); t++) {
		char text[DGI_EDGE_TYPE_TEXT_BYTES];

		if (relation && strcmp(dg_book_edge_type(book, t).relation, relation) != 0)
			continue;
		type_text(book, side, t, text);
		list_add(&list, text);
	}
	return list;
}

dg_status dg_book_find_node_type(const dg_book *book, const char *name, uint16_t *type,
				 dg_error *err)
{
	for (uint16_t t = 0; t < dg_book_n_node_types(book); t++)
		if (strcmp(dg_book_node_type(book, t), name) == 0) {
			*type = t;
			return DG_OK;
		}
	return dgi_fail(err, DG_NOTFOUND, "node type '%.80s': the graph has %s", name,
			list_types(book, DG_NODE, NULL).text);
}

static dg_status find_triple(const dg_book *book, const char *text, uint16_t *type, dg_error *err)
{
	for (uint16_t t = 0; t < dg_book_n_edge_types(book); t++) {
		char triple[DGI_EDGE_TYPE_TEXT_BYTES];

		type_text(book, DG_EDGE, t, triple);
		if (strcmp(triple, text) == 0) {
			*type = t;
			return DG_OK;
		}
	}
	return dgi_fail(err, DG_NOTFOUND, "edge type '%.120s': the graph has %s", text,
			list_types(book, DG_EDGE, NULL).text);
}

static dg_status find_relation(const dg_book *book, const char *name, uint16_t *type, dg_error *err)
{
	size_t n = 0;

	for (uint16_t t = dg_book_n_edge_types(book); t-- > 0;)
		if (strcmp(dg_book_edge_type(book, t).relation, name) == 0) {
			*type = t;
			n++;
		}
	if (n == 0)
		return dgi_fail(err, DG_NOTFOUND, "edge type '%.80s': the graph has %s", name,
				list_types(book, DG_EDGE, NULL).text);
	if (n > 1)
		return dgi_fail(err, DG_INVALID,
				"edge type '%.80s' is ambiguous, name source and destination: %s",
				name, list_types(book, DG_EDGE, name).text);
	return DG_OK;
}

dg_status dg_book_find_edge_type(const dg_book *book, const char *text, uint16_t *type,
				 dg_error *err)
{
	uint16_t found = 0;
	dg_status st;

	/* A plain relation may hold a ':', so two of them make a triple only where it is one. */
	st = strchr(text, ':') ? find_triple(book, text, &found, err) : DG_NOTFOUND;
	if (st)
		st = find_relation(book, text, &found, err);
	if (!st)
		*type = found;
	return st;
}

/* --- Policies --- */

void dg_book_policy(const dg_book *book, dg_side side, uint16_t type,
		    char out[DG_POLICY_TEXT_BYTES])
{
	char text[DGI_EDGE_TYPE_TEXT_BYTES];

	out[0] = '\0';
	if (type >= dgi_book_n_types(book, side))
		return;
	type_text(book, side, type, text);
	(void)snprintf(out, DG_POLICY_TEXT_BYTES, "%s~%s", side == DG_EDGE ? "edge" : "node", text);
}

static dg_status fail_form(const char *text, dg_error *err)
{
	return dgi_fail(err, DG_INVALID,
			"policy '%.120s': want node~TYPE or edge~SOURCE:RELATION:DESTINATION",
			text);
}

/* The type that @n bytes of escaped text mean. */
static dg_status find_type(const dg_book *book, dg_side side, const char *text, size_t n,
			   uint16_t *type, dg_error *err)
{
	char copy[DGI_EDGE_TYPE_TEXT_BYTES];
	char name[DG_NAME_BYTES_MAX + 1];

	if (n == 0 || n >= sizeof copy)
		return dgi_fail(err, DG_INVALID, "'%.80s': want the name of a type", text);
	memcpy(copy, text, n);
	copy[n] = '\0';
	if (side == DG_EDGE && strchr(copy, ':'))
		return find_triple(book, copy, type, err);
	if (!dgi_name_unescape(text, n, name))
		return dgi_fail(err, DG_INVALID,
				"'%.80s': want a name with ~ : / %% written %%7E %%3A %%2F %%25",
				copy);
	return side == DG_EDGE ? find_relation(book, name, type, err)
			       : dg_book_find_node_type(book, name, type, err);
}

/* "node" or "edge" alone: the only type, or else the one called by default. */
static dg_status find_default(const dg_book *book, dg_side side, uint16_t *type, dg_error *err)
{
	if (dgi_book_n_types(book, side) == 1) {
		*type = 0;
		return DG_OK;
	}
	return side == DG_EDGE ? find_triple(book, "_N:_E:_N", type, err)
			       : dg_book_find_node_type(book, "_N", type, err);
}

/* Reads the side; returns what stands behind it, or NULL. */
static const char *read_side(const char *text, dg_side *side)
{
	*side = strncmp(text, "edge", 4) == 0 ? DG_EDGE : DG_NODE;
	return *side == DG_EDGE || strncmp(text, "node", 4) == 0 ? text + 4 : NULL;
}

dg_status dg_book_parse_policy(const dg_book *book, const char *text, dg_side *side, uint16_t *type,
			       dg_error *err)
{
	dg_side found_side;
	const char *rest = read_side(text, &found_side);
	uint16_t found = 0;
	dg_status st;

	if (!rest || (*rest && *rest != '~' && *rest != ':'))
		return fail_form(text, err);
	if (*rest)
		st = find_type(book, found_side, rest + 1, strlen(rest + 1), &found, err);
	else
		st = find_default(book, found_side, &found, err);
	if (st)
		return dgi_context(err, st, "policy '%.120s'", text);
	*side = found_side;
	*type = found;
	return DG_OK;
}

dg_status dg_book_policy_by_length(const dg_book *book, int64_t n_rows, dg_side *side,
				   uint16_t *type, dg_error *err)
{
	struct type_list list = { 0 };
	size_t n = 0;

	for (int s = 0; s < 2; s++)
		for (uint16_t t = 0; t < dgi_book_n_types(book, (dg_side)s); t++) {
			char text[DG_POLICY_TEXT_BYTES];

			if (dg_book_count(book, (dg_side)s, t) != n_rows)
				continue;
			dg_book_policy(book, (dg_side)s, t, text);
			list_add(&list, text);
			if (n++ > 0)
				continue;
			*side = (dg_side)s;
			*type = t;
		}
	if (n > 1)
		return dgi_fail(err, DG_INVALID,
				"Multiple partition policies match the input shape. Please provide "
				"a partition policy explicitly. (%" PRId64 " rows: %s)",
				n_rows, list.text);
	if (n == 0)
		return dgi_fail(err, DG_INVALID,
				"Cannot find a right partition policy. It is either because its "
				"first dimension does not match the number of nodes or edges of a "
				"distributed graph or there does not exist a distributed graph. "
				"(%" PRId64 " rows)",
				n_rows);
	return DG_OK;
}

dg_status dg_book_parse_key(const dg_book *book, const char *text, dg_side *side, uint16_t *type,
			    char name[DG_NAME_BYTES_MAX + 1], dg_error *err)
{
	dg_side found_side;
	const char *rest = read_side(text, &found_side);
	const char *last;
	char plain[DG_NAME_BYTES_MAX + 1];
	uint16_t found = 0;
	dg_status st;

	/* The older form parts with ':' what an edge type parts with it too: the last one counts. */
	last = rest && (*rest == '~' || *rest == ':') ? strrchr(rest + 1, *rest) : NULL;
	if (!last || !dgi_name_unescape(last + 1, strlen(last + 1), plain))
		return dgi_fail(err, DG_INVALID,
				"key '%.120s': want node~TYPE~NAME or "
				"edge~SOURCE:RELATION:DESTINATION~NAME",
				text);
	st = find_type(book, found_side, rest + 1, (size_t)(last - rest - 1), &found, err);
	if (st)
		return dgi_context(err, st, "key '%.120s'", text);
	*side = found_side;
	*type = found;
	memcpy(name, plain, sizeof plain);
	return DG_OK;
}
