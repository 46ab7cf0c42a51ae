/* method_files.c -- owners from assignment files: one partition number per node. */
#include "methods.h"

#include "fail.h"
#include "input.h"
#include "npy_file.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_BYTES 65536
/* A number and blanks round it. */
#define LINE_BYTES_MAX 256

struct assignment {
	const char *path;
	const struct dgi_source_nodes *nodes;
	uint32_t n_parts; /* numbers are below */
	uint32_t n_trainers;
	uint32_t *dealt; /* by partition: nodes dealt to its trainers */
	uint16_t *owners;
	int64_t n; /* read so far */
};

static dg_status add(struct assignment *a, int64_t part, const char *unit, uint64_t at,
		     dg_error *err)
{
	if (part < 0 || part >= (int64_t)a->n_parts)
		return dgi_fail(err, DG_RANGE,
				"%s:%s%" PRIu64 ": partition %" PRId64 ", want 0 to %" PRIu32,
				a->path, unit, at, part, a->n_parts - 1);
	if (a->n == a->nodes->n)
		return dgi_fail(err, DG_INVALID,
				"%s:%s%" PRIu64
				": one number more than node type '%s' has nodes, %" PRId64,
				a->path, unit, at, a->nodes->name, a->nodes->n);
	a->owners[a->n++] =
		(uint16_t)((uint32_t)part * a->n_trainers + a->dealt[part]++ % a->n_trainers);
	return DG_OK;
}

static dg_status check_complete(const struct assignment *a, dg_error *err)
{
	if (a->n == a->nodes->n)
		return DG_OK;
	return dgi_fail(err, DG_INVALID,
			"%s: %" PRId64 " numbers, node type '%s' has %" PRId64 " nodes", a->path,
			a->n, a->nodes->name, a->nodes->n);
}

/* --- Text --- */

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* One line without its end. Empty lines and those that begin with # or % are comments. */
static dg_status parse_line(struct assignment *a, const char *text, size_t n, uint64_t line,
			    dg_error *err)
{
	int64_t part = 0;
	size_t i = 0;

	while (n > 0 && is_blank(text[n - 1]))
		n--;
	while (i < n && is_blank(text[i]))
		i++;
	if (i == n || text[i] == '#' || text[i] == '%')
		return DG_OK;
	for (size_t k = i; k < n; k++) {
		if (text[k] < '0' || text[k] > '9')
			return dgi_fail(err, DG_INVALID,
					"%s:%" PRIu64
					": '%.*s' is no partition number, want 0 to %" PRIu32,
					a->path, line, (int)(n - i), text + i, a->n_parts - 1);
		if (part <= DGI_OWNERS_MAX) /* further digits make it only more wrong */
			part = part * 10 + (text[k] - '0');
	}
	return add(a, part, "", line, err);
}

struct text {
	char line[LINE_BYTES_MAX];
	size_t n;
	uint64_t number; /* of the line at hand */
};

static dg_status take_byte(struct assignment *a, struct text *t, char c, dg_error *err)
{
	dg_status st;

	if (c != '\n') {
		if (t->n < sizeof t->line)
			t->line[t->n++] = c;
		else if (t->line[0] != '#' && t->line[0] != '%')
			return dgi_fail(err, DG_INVALID,
					"%s:%" PRIu64
					": a line of more than %d bytes, want one number",
					a->path, t->number, LINE_BYTES_MAX);
		return DG_OK;
	}
	st = parse_line(a, t->line, t->n, t->number, err);
	t->number++;
	t->n = 0;
	return st;
}

static dg_status read_text(struct assignment *a, struct dgi_input *in, char *block, size_t n,
			   dg_error *err)
{
	struct text t = { .number = 1 };
	dg_status st = DG_OK;

	while (!st && n > 0) {
		for (size_t i = 0; !st && i < n; i++)
			st = take_byte(a, &t, block[i], err);
		if (!st)
			st = dgi_input_read(in, block, BLOCK_BYTES, &n, err);
	}
	if (!st && t.n > 0)
		st = take_byte(a, &t, '\n', err);
	return st;
}

/* --- .npy --- */

static int64_t number_at(const struct dgi_npy *npy, const uint8_t *data)
{
	uint64_t bits = 0;

	memcpy(&bits, data, npy->item_bytes); /* little-endian */
	if (npy->kind == 'u')
		return bits > INT64_MAX ? INT64_MAX : (int64_t)bits;
	switch (npy->item_bytes) {
	case 1:
		return (int8_t)bits;
	case 2:
		return (int16_t)bits;
	case 4:
		return (int32_t)bits;
	default:
		return (int64_t)bits;
	}
}

static dg_status read_npy(struct assignment *a, struct dgi_input *in, uint8_t *block, size_t n,
			  dg_error *err)
{
	struct dgi_npy npy;
	dg_status st = dgi_npy_begin(in, block, n, &npy, err);

	if (st)
		return dgi_context(err, st, "%s", a->path);
	if ((npy.kind != 'i' && npy.kind != 'u') || npy.rank != 1)
		return dgi_fail(err, DG_INVALID,
				"%s: an array of %" PRIu32
				" dimensions of kind '%c', want integers of one",
				a->path, npy.rank, npy.kind);
	if (npy.shape[0] != a->nodes->n)
		return dgi_fail(err, DG_INVALID,
				"%s: %" PRId64 " numbers, node type '%s' has %" PRId64 " nodes",
				a->path, npy.shape[0], a->nodes->name, a->nodes->n);
	do {
		st = dgi_input_read(in, block, BLOCK_BYTES, &n, err);
		for (size_t i = 0; !st && i + npy.item_bytes <= n; i += npy.item_bytes)
			st = add(a, number_at(&npy, block + i), "row ", (uint64_t)a->n, err);
	} while (!st && n == BLOCK_BYTES);
	return st;
}

/* --- Files --- */

static dg_status read_file(struct assignment *a, dg_error *err)
{
	struct dgi_input in = { 0 };
	uint8_t *block = malloc(BLOCK_BYTES);
	size_t n = 0;
	dg_status st =
		block ? dgi_input_open(a->path, &in, err) : dgi_fail_memory(err, "assignment file");

	if (!st)
		st = dgi_input_read(&in, block, DGI_NPY_PREFIX_BYTES, &n, err);
	if (!st)
		st = dgi_npy_magic(block, n) ? read_npy(a, &in, block, n, err)
					     : read_text(a, &in, (char *)block, n, err);
	dgi_input_close(&in);
	free(block);
	return st ? st : check_complete(a, err);
}

static dg_status read_type(const struct dgi_assign_request *r, uint16_t type, const char *path,
			   uint16_t *owners, dg_error *err)
{
	struct assignment a = { .path = path,
				.nodes = &r->source->nodes[type],
				.n_trainers = r->n_trainers ? r->n_trainers : 1,
				.owners = owners };
	dg_status st;

	a.n_parts = r->n_parts / a.n_trainers;
	a.dealt = calloc(a.n_parts, sizeof *a.dealt);
	st = a.dealt ? read_file(&a, err) : dgi_fail_memory(err, "assignment file");
	free(a.dealt);
	return st;
}

/* The node type that "TYPE=FILE" names, or -1. Type names may have '=' in them: the longest wins. */
static int32_t type_named(const struct dgi_source *source, const char *text, const char **path)
{
	int32_t found = -1;
	size_t longest = 0;

	for (uint16_t t = 0; t < source->n_node_types; t++) {
		size_t n = strlen(source->nodes[t].name);

		if (strncmp(text, source->nodes[t].name, n) != 0 || text[n] != '=' ||
		    (found >= 0 && n <= longest))
			continue;
		found = t;
		longest = n;
		*path = text + n + 1;
	}
	return found;
}

/* Cuts "TYPE=FILE,TYPE=FILE" at the commas behind which a type begins: paths may have others. */
static dg_status parse_list(const struct dgi_source *source, char *text, const char **paths,
			    dg_error *err)
{
	char *item = text;

	while (item) {
		const char *path = NULL, *ignored;
		int32_t type = type_named(source, item, &path);
		char *comma = item;

		if (type < 0)
			return dgi_fail(
				err, DG_INVALID,
				"method '%.80s': no node type is named so, want metis, random, "
				"stream, or TYPE=FILE for each of %d types",
				item, source->n_node_types);
		if (paths[type])
			return dgi_fail(err, DG_INVALID, "assignment of node type '%s' given twice",
					source->nodes[type].name);
		do
			comma = strchr(comma + 1, ',');
		while (comma && type_named(source, comma + 1, &ignored) < 0);
		if (comma)
			*comma++ = '\0';
		paths[type] = path;
		item = comma;
	}
	for (uint16_t t = 0; t < source->n_node_types; t++)
		if (!paths[t] && source->nodes[t].n > 0)
			return dgi_fail(err, DG_INVALID, "no assignment file for node type '%s'",
					source->nodes[t].name);
	return DG_OK;
}

dg_status dgi_method_files(const struct dgi_assign_request *request, uint16_t *const *owners,
			   dg_error *err)
{
	const struct dgi_source *source = request->source;
	const char **paths = calloc((size_t)source->n_node_types + 1, sizeof *paths);
	char *text = strdup(request->method);
	const char *ignored;
	dg_status st = DG_OK;

	if (!paths || !text)
		st = dgi_fail_memory(err, "assignment files");
	else if (source->n_node_types == 1 && type_named(source, text, &ignored) < 0)
		paths[0] = text;
	else
		st = parse_list(source, text, paths, err);
	for (uint16_t t = 0; !st && t < source->n_node_types; t++)
		if (paths[t])
			st = read_type(request, t, paths[t], owners[t], err);
	free(paths);
	free(text);
	return st;
}
