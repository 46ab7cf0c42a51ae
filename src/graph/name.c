/* name.c -- keys of tensors: how they are written, and which tensor a text means. */
#include "name.h"

#include "fail.h"

#include <stdio.h>
#include <string.h>

#define CLOSE_NAMES_MAX 3 /* named in a message */

static const char escaped_bytes[] = "~:/%";

size_t dgi_name_escape(const char *name, char out[DGI_NAME_TEXT_BYTES])
{
	static const char digits[] = "0123456789ABCDEF";
	size_t n = 0;

	for (size_t i = 0; i < DG_NAME_BYTES_MAX && name[i]; i++) {
		unsigned char byte = (unsigned char)name[i];

		if (!strchr(escaped_bytes, byte)) {
			out[n++] = name[i];
			continue;
		}
		out[n++] = '%';
		out[n++] = digits[byte >> 4];
		out[n++] = digits[byte & 15];
	}
	out[n] = '\0';
	return n;
}

/* The byte that an escape of three characters stands for, or NUL. */
static char escaped_byte(const char *text)
{
	char escape[DGI_NAME_TEXT_BYTES];

	for (const char *c = escaped_bytes; *c; c++) {
		(void)dgi_name_escape((const char[]){ *c, '\0' }, escape);
		if (strncmp(text, escape, 3) == 0)
			return *c;
	}
	return '\0';
}

bool dgi_name_unescape(const char *text, size_t n, char out[DG_NAME_BYTES_MAX + 1])
{
	size_t length = 0;

	for (size_t i = 0; i < n; i++) {
		char c = text[i];

		if (c == '%') {
			c = n - i >= 3 ? escaped_byte(text + i) : '\0';
			i += 2;
		} else if (strchr(escaped_bytes, c)) {
			return false;
		}
		if (c == '\0' || length == DG_NAME_BYTES_MAX)
			return false;
		out[length++] = c;
	}
	out[length] = '\0';
	return length > 0;
}

size_t dgi_edge_type_text(const dg_edge_type *type, char out[DGI_EDGE_TYPE_TEXT_BYTES])
{
	size_t n = dgi_name_escape(type->src, out);

	out[n++] = ':';
	n += dgi_name_escape(type->relation, out + n);
	out[n++] = ':';
	return n + dgi_name_escape(type->dst, out + n);
}

/* Writes the type of a tensor as a key has it. */
static void type_text(const dg_book *book, const dg_tensor_info *tensor,
		      char out[DGI_EDGE_TYPE_TEXT_BYTES])
{
	dg_edge_type edge = dg_book_edge_type(book, tensor->type);
	const char *node = dg_book_node_type(book, tensor->type);

	if (tensor->side == DG_EDGE && edge.relation)
		(void)dgi_edge_type_text(&edge, out);
	else if (tensor->side == DG_NODE && node)
		(void)dgi_name_escape(node, out);
	else
		(void)snprintf(out, DGI_EDGE_TYPE_TEXT_BYTES, "type %u", tensor->type);
}

void dg_book_tensor_key(const dg_book *book, const dg_tensor_info *tensor,
			char out[DG_KEY_TEXT_BYTES])
{
	char type[DGI_EDGE_TYPE_TEXT_BYTES];
	char name[DGI_NAME_TEXT_BYTES];

	type_text(book, tensor, type);
	(void)dgi_name_escape(tensor->name, name);
	(void)snprintf(out, DG_KEY_TEXT_BYTES, "%s~%s~%s",
		       tensor->side == DG_EDGE ? "edge" : "node", type, name);
}

void dg_book_feature_key(const dg_book *book, const dg_tensor_info *tensor,
			 char out[DG_KEY_TEXT_BYTES])
{
	char type[DGI_EDGE_TYPE_TEXT_BYTES];
	char name[DGI_NAME_TEXT_BYTES];

	type_text(book, tensor, type);
	(void)dgi_name_escape(tensor->name, name);
	(void)snprintf(out, DG_KEY_TEXT_BYTES, "%s/%s", type, name);
}

/* --- Finding --- */

/* Is @text "<type><separator><name>" of this tensor, names escaped? */
static bool is_type_and_name(const char *text, const char *type, char separator, const char *name)
{
	size_t n = strlen(type);

	return strncmp(text, type, n) == 0 && text[n] == separator &&
	       strcmp(text + n + 1, name) == 0;
}

static bool is_of_type(const char *text, const dg_book *book, const dg_tensor_info *tensor,
		       char separator)
{
	dg_edge_type edge = dg_book_edge_type(book, tensor->type);
	char type[DGI_EDGE_TYPE_TEXT_BYTES];
	char name[DGI_NAME_TEXT_BYTES];

	(void)dgi_name_escape(tensor->name, name);
	type_text(book, tensor, type);
	if (is_type_and_name(text, type, separator, name))
		return true;
	if (tensor->side != DG_EDGE || !edge.relation)
		return false;
	(void)dgi_name_escape(edge.relation, type);
	return is_type_and_name(text, type, separator, name);
}

static bool is_full_key(const char *text, const dg_book *book, const dg_tensor_info *tensor)
{
	char key[DG_KEY_TEXT_BYTES];

	dg_book_tensor_key(book, tensor, key);
	return strcmp(text, key) == 0;
}

/* The spellings that more than one tensor may have. */
static bool is_short_form(const char *text, const dg_book *book, const dg_tensor_info *tensor)
{
	const char *side = tensor->side == DG_EDGE ? "edge:" : "node:";
	char name[DGI_NAME_TEXT_BYTES];

	if (tensor->flags & DG_TENSOR_SYSTEM)
		return false;
	(void)dgi_name_escape(tensor->name, name);
	return strcmp(text, tensor->name) == 0 || strcmp(text, name) == 0 ||
	       is_of_type(text, book, tensor, '/') ||
	       (strncmp(text, side, 5) == 0 && is_of_type(text + 5, book, tensor, ':'));
}

/* --- Saying what there is --- */

/* A list of keys in a message; what does not fit is left out. */
struct key_list {
	char text[DG_ERROR_TEXT_BYTES / 2];
	size_t n;
};

static void key_list_add(struct key_list *list, const dg_book *book, const dg_tensor_info *tensor)
{
	size_t used = strlen(list->text);
	char key[DG_KEY_TEXT_BYTES];
	char item[DG_KEY_TEXT_BYTES + 2];

	dg_book_tensor_key(book, tensor, key);
	(void)snprintf(item, sizeof item, "%s%s", list->n++ ? ", " : "", key);
	if (strlen(item) < sizeof list->text - used)
		memcpy(list->text + used, item, strlen(item) + 1);
}

/* Insertions, deletions and changes that make @a of @b (Levenshtein). */
static size_t edit_distance(const char *a, const char *b)
{
	size_t row[DG_NAME_BYTES_MAX + 1];
	size_t n = strnlen(b, DG_NAME_BYTES_MAX);

	for (size_t j = 0; j <= n; j++)
		row[j] = j;
	for (size_t i = 0; a[i]; i++) {
		size_t diagonal = row[0];

		row[0] = i + 1;
		for (size_t j = 0; j < n; j++) {
			size_t best = diagonal + (a[i] != b[j]);

			diagonal = row[j + 1];
			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (diagonal + 1 < best)
				best = diagonal + 1;
			row[j + 1] = best;
		}
	}
	return row[n];
}

/* How far a name is from what was asked; its beginning is as good as the whole. */
static size_t distance(const char *asked, const char *name)
{
	size_t n = strlen(asked);

	if (n > 0 && strncmp(asked, name, n) == 0)
		return 0;
	return edit_distance(asked, name);
}

/* What was asked, without side and type. */
static const char *last_component(const char *text)
{
	const char *at = text + strlen(text);

	while (at > text && !strchr("~:/", at[-1]))
		at--;
	return at;
}

/* The nearest names found so far, best first. */
struct candidates {
	size_t index[CLOSE_NAMES_MAX];
	size_t distance[CLOSE_NAMES_MAX];
	size_t n;
};

static void candidates_add(struct candidates *c, size_t index, size_t distance)
{
	size_t at = c->n < CLOSE_NAMES_MAX ? c->n++ : CLOSE_NAMES_MAX;

	for (; at > 0 && c->distance[at - 1] > distance; at--)
		if (at < CLOSE_NAMES_MAX) {
			c->index[at] = c->index[at - 1];
			c->distance[at] = c->distance[at - 1];
		}
	if (at < CLOSE_NAMES_MAX) {
		c->index[at] = index;
		c->distance[at] = distance;
	}
}

static dg_status fail_not_found(const dg_book *book, const dg_tensor_info *tensors,
				size_t n_tensors, const char *text, dg_error *err)
{
	struct candidates near = { 0 };
	struct key_list list = { 0 };
	const char *asked = last_component(text);
	size_t limit = 1 + strlen(asked) / 3;
	bool close;

	if (strlen(asked) > DG_NAME_BYTES_MAX)
		return dgi_fail(err, DG_NOTFOUND, "tensor '%.80s…': no name is so long", text);
	for (size_t i = 0; i < n_tensors; i++)
		if (!(tensors[i].flags & DG_TENSOR_SYSTEM))
			candidates_add(&near, i, distance(asked, tensors[i].name));
	if (near.n == 0)
		return dgi_fail(err, DG_NOTFOUND, "tensor '%.80s': the graph has none", text);
	close = near.distance[0] <= limit;
	for (size_t i = 0; i < near.n; i++)
		if (!close || near.distance[i] <= limit)
			key_list_add(&list, book, &tensors[near.index[i]]);
	return dgi_fail(err, DG_NOTFOUND, "tensor '%.80s': no such tensor; %s %s", text,
			close ? "close:" : "there is", list.text);
}

static dg_status fail_ambiguous(const dg_book *book, const dg_tensor_info *tensors,
				size_t n_tensors, const char *text, dg_error *err)
{
	struct key_list list = { 0 };

	for (size_t i = 0; i < n_tensors; i++)
		if (is_short_form(text, book, &tensors[i]))
			key_list_add(&list, book, &tensors[i]);
	return dgi_fail(err, DG_INVALID, "tensor '%.80s' is ambiguous: %s", text, list.text);
}

dg_status dg_book_find_tensor(const dg_book *book, const dg_tensor_info *tensors, size_t n_tensors,
			      const char *text, size_t *index, dg_error *err)
{
	size_t n_found = 0;
	size_t found = 0;

	for (size_t i = 0; i < n_tensors; i++)
		if (is_full_key(text, book, &tensors[i])) {
			*index = i;
			return DG_OK;
		}
	for (size_t i = 0; i < n_tensors; i++)
		if (is_short_form(text, book, &tensors[i])) {
			n_found++;
			found = i;
		}
	if (n_found == 0)
		return fail_not_found(book, tensors, n_tensors, text, err);
	if (n_found > 1)
		return fail_ambiguous(book, tensors, n_tensors, text, err);
	*index = found;
	return DG_OK;
}
