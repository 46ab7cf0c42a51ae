/*
 * metadata.c -- the metadata.json of DGL's chunked graphs.
 *
 * {"graph_name": …, "node_type": [name…], "edge_type": ["src:relation:dst"…],
 *  "num_nodes_per_chunk": [[n…]…] or "num_nodes_per_type": [n…], the same of edges,
 *  "edges": {type: {"format": {"name": "csv", "delimiter": " "}, "data": [path…]}},
 *  "node_data", "edge_data": {type: {name: {"format": …, "data": [path…]}}}}
 */
#include "plan.h"

#include "fail.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

static const char *kind_of(const json_t *json)
{
	static const char *const kinds[] = {
		[JSON_OBJECT] = "an object",   [JSON_ARRAY] = "an array",
		[JSON_STRING] = "a string",    [JSON_INTEGER] = "an integer",
		[JSON_REAL] = "a real number", [JSON_TRUE] = "true",
		[JSON_FALSE] = "false",	       [JSON_NULL] = "null",
	};

	return json ? kinds[json_typeof(json)] : "nothing";
}

static dg_status shape_error(const char *where, const json_t *found, const char *wanted,
			     dg_error *err)
{
	return dgi_fail(err, DG_INVALID, "%.300s: found %s, want %s", where, kind_of(found),
			wanted);
}

/* --- Types and counts --- */

/* Sum of the chunks' sizes of type @i; -1 where nobody says. */
static dg_status count_of(const json_t *chunks, const json_t *totals, const char *side, size_t i,
			  int64_t *out, dg_error *err)
{
	const json_t *list = json_array_get(chunks, i);
	const json_t *total = json_array_get(totals, i);
	int64_t sum = 0;

	*out = -1;
	for (size_t k = 0; k < json_array_size(list); k++) {
		const json_t *n = json_array_get(list, k);

		if (!json_is_integer(n) || json_integer_value(n) < 0 ||
		    __builtin_add_overflow(sum, json_integer_value(n), &sum))
			return dgi_fail(err, DG_INVALID,
					"num_%ss_per_chunk[%zu][%zu]: found %s, want a count", side,
					i, k, kind_of(n));
		*out = sum;
	}
	if (!total)
		return DG_OK;
	if (!json_is_integer(total) || json_integer_value(total) < 0)
		return dgi_fail(err, DG_INVALID, "num_%ss_per_type[%zu]: found %s, want a count",
				side, i, kind_of(total));
	if (*out >= 0 && *out != json_integer_value(total))
		return dgi_fail(err, DG_MISMATCH,
				"num_%ss_per_type[%zu] is %" JSON_INTEGER_FORMAT
				", but its chunks have %" PRId64,
				side, i, json_integer_value(total), *out);
	*out = json_integer_value(total);
	return DG_OK;
}

/* An array with one element, of the kind wanted, a type; NULL where there is none. */
static dg_status counts_array(const json_t *root, const char *key, size_t n_types, bool of_arrays,
			      const json_t **out, dg_error *err)
{
	const json_t *array = json_object_get(root, key);

	*out = array;
	if (!array)
		return DG_OK;
	if (!json_is_array(array))
		return shape_error(key, array, "an array with an element a type", err);
	if (json_array_size(array) != n_types)
		return dgi_fail(err, DG_MISMATCH, "%s: %zu elements, want %zu, one a type", key,
				json_array_size(array), n_types);
	for (size_t i = 0; of_arrays && i < n_types; i++)
		if (!json_is_array(json_array_get(array, i)))
			return dgi_fail(err, DG_INVALID,
					"%s[%zu]: found %s, want an array of counts", key, i,
					kind_of(json_array_get(array, i)));
	return DG_OK;
}

struct types {
	const json_t *names, *chunks, *totals;
	size_t n;
};

static dg_status find_types(const json_t *root, const char *side, struct types *out, dg_error *err)
{
	char key[32];
	struct types t;
	dg_status st;

	(void)snprintf(key, sizeof key, "%s_type", side);
	t.names = json_object_get(root, key);
	if (!json_is_array(t.names))
		return shape_error(key, t.names, "an array of names", err);
	t.n = json_array_size(t.names);
	for (size_t i = 0; i < t.n; i++)
		if (!json_is_string(json_array_get(t.names, i)))
			return shape_error(key, json_array_get(t.names, i), "an array of names",
					   err);
	(void)snprintf(key, sizeof key, "num_%ss_per_chunk", side);
	st = counts_array(root, key, t.n, true, &t.chunks, err);
	(void)snprintf(key, sizeof key, "num_%ss_per_type", side);
	if (!st)
		st = counts_array(root, key, t.n, false, &t.totals, err);
	*out = t;
	return st;
}

static dg_status check_distinct(const struct types *t, const char *side, dg_error *err)
{
	json_t *seen = json_object();
	dg_status st = seen ? DG_OK : dgi_fail_memory(err, "types");

	for (size_t i = 0; !st && i < t->n; i++) {
		const char *name = json_string_value(json_array_get(t->names, i));

		if (json_object_get(seen, name))
			st = dgi_fail(err, DG_INVALID, "%s_type[%zu]: a name given twice", side, i);
		else if (json_object_set_new(seen, name, json_true()) != 0)
			st = dgi_fail_memory(err, "types");
	}
	json_decref(seen);
	return st;
}

static dg_status check_limit(const struct types *t, const char *side, size_t max, dg_error *err)
{
	if (t->n <= max)
		return DG_OK;
	return dgi_fail(err, DG_FULL, "%zu %s types, want at most %zu", t->n, side, max);
}

static dg_status add_node_types(struct dgi_plan *p, const json_t *root, dg_error *err)
{
	struct types t;
	dg_status st = find_types(root, "node", &t, err);

	if (!st)
		st = check_limit(&t, "node", DG_NODE_TYPES_MAX, err);
	if (!st)
		st = check_distinct(&t, "node", err);
	if (!st && !t.chunks && !t.totals)
		st = dgi_fail(err, DG_INVALID,
			      "found neither num_nodes_per_chunk nor num_nodes_per_type");
	for (size_t i = 0; !st && i < t.n; i++) {
		dg_input_nodes nodes = { .ids = DG_INPUT_IDS_NUMBERS };

		st = count_of(t.chunks, t.totals, "node", i, &nodes.count, err);
		if (!st && nodes.count < 0)
			nodes.count = 0;
		if (!st)
			st = dgi_plan_keep(p, NULL, json_string_value(json_array_get(t.names, i)),
					   &nodes.type, err);
		if (!st)
			st = dgi_plan_add_nodes(p, nodes, err);
	}
	return st;
}

static bool is_node_type(const struct dgi_plan *p, const char *name)
{
	for (size_t i = 0; i < p->n_nodes; i++)
		if (p->nodes[i].type && strcmp(p->nodes[i].type, name) == 0)
			return true;
	return false;
}

static dg_status check_edge_type(const struct dgi_plan *p, const char *type, dg_error *err)
{
	struct dgi_edge_type_text text;
	dg_status st = dgi_edge_type_text_cut(type, &text, err);

	if (st)
		return dgi_context(err, st, "edge_type");
	if (!is_node_type(p, text.src) || !is_node_type(p, text.dst))
		return dgi_fail(err, DG_NOTFOUND, "edge_type '%.300s': no node type '%.80s'", type,
				is_node_type(p, text.src) ? text.dst : text.src);
	return DG_OK;
}

static dg_status add_edge_types(struct dgi_plan *p, const json_t *root, dg_error *err)
{
	struct types t;
	dg_status st = find_types(root, "edge", &t, err);

	if (!st)
		st = check_limit(&t, "edge", DG_EDGE_TYPES_MAX, err);
	if (!st)
		st = check_distinct(&t, "edge", err);
	for (size_t i = 0; !st && i < t.n; i++) {
		struct dgi_edge_count count;

		st = count_of(t.chunks, t.totals, "edge", i, &count.n, err);
		if (!st)
			st = check_edge_type(p, json_string_value(json_array_get(t.names, i)), err);
		if (!st)
			st = dgi_plan_keep(p, NULL, json_string_value(json_array_get(t.names, i)),
					   &count.type, err);
		if (!st)
			st = dgi_plan_add_edge_type(p, count, err);
	}
	return st;
}

/* --- Files --- */

enum kind { CSV, NUMPY };

struct files {
	enum kind kind;
	char delimiter;
	const json_t *paths;
};

static dg_status find_format(const char *where, const json_t *json, struct files *out,
			     dg_error *err)
{
	const json_t *format = json_object_get(json, "format");
	const json_t *name = json_object_get(format, "name");
	const json_t *delimiter = json_object_get(format, "delimiter");

	if (!json_is_object(format))
		return dgi_fail(err, DG_INVALID, "%.300s: format: found %s, want an object", where,
				kind_of(format));
	if (!json_is_string(name))
		return dgi_fail(err, DG_INVALID, "%.300s: format.name: found %s, want a string",
				where, kind_of(name));
	if (strcmp(json_string_value(name), "parquet") == 0)
		return dgi_fail(err, DG_UNSUPPORTED,
				"%.300s: Parquet files; convert them with `python -m "
				"distgraph.tools.parquet`",
				where);
	out->kind = strcmp(json_string_value(name), "numpy") == 0 ? NUMPY : CSV;
	if (out->kind == CSV && strcmp(json_string_value(name), "csv") != 0)
		return dgi_fail(err, DG_UNSUPPORTED,
				"%.300s: format '%.40s', want csv, numpy or parquet", where,
				json_string_value(name));
	out->delimiter = ',';
	if (out->kind == CSV && delimiter) {
		if (!json_is_string(delimiter) || json_string_length(delimiter) != 1 ||
		    strchr("\n\r\"", json_string_value(delimiter)[0]))
			return dgi_fail(err, DG_INVALID,
					"%.300s: format.delimiter: found %s, want a string of one "
					"byte",
					where, kind_of(delimiter));
		out->delimiter = json_string_value(delimiter)[0];
	}
	return DG_OK;
}

static dg_status find_files(const char *where, const json_t *json, struct files *out, dg_error *err)
{
	dg_status st;

	if (!json_is_object(json))
		return shape_error(where, json, "an object with format and data", err);
	st = find_format(where, json, out, err);
	if (st)
		return st;
	out->paths = json_object_get(json, "data");
	if (!json_is_array(out->paths))
		return dgi_fail(err, DG_INVALID, "%.300s: data: found %s, want an array of paths",
				where, kind_of(out->paths));
	for (size_t i = 0; i < json_array_size(out->paths); i++)
		if (!json_is_string(json_array_get(out->paths, i)) ||
		    json_string_length(json_array_get(out->paths, i)) == 0)
			return dgi_fail(err, DG_INVALID, "%.300s: data[%zu]: found %s, want a path",
					where, i, kind_of(json_array_get(out->paths, i)));
	return DG_OK;
}

static const json_t *chunks_of(const json_t *root, size_t type)
{
	return json_array_get(json_object_get(root, "num_edges_per_chunk"), type);
}

/* Chunks' sizes tell those of the files where there are as many. */
static dg_status add_edge_files(struct dgi_plan *p, const struct dgi_edge_count *type,
				const json_t *chunks, const struct files *files,
				const char *directory, dg_error *err)
{
	const size_t n = json_array_size(files->paths);
	dg_status st = DG_OK;

	for (size_t i = 0; !st && i < n; i++) {
		struct dgi_edge_file file = { .type = type->type,
					      .format = files->kind == CSV ? DG_INPUT_TEXT
									   : DG_INPUT_NPY,
					      .delimiter = files->delimiter,
					      .header = files->kind == CSV ? -1 : 0,
					      .n = -1 };

		if (json_array_size(chunks) == n)
			file.n = json_integer_value(json_array_get(chunks, i));
		st = dgi_plan_keep(p, directory, json_string_value(json_array_get(files->paths, i)),
				   &file.path, err);
		if (!st)
			st = dgi_plan_add_file(p, file, err);
	}
	return st;
}

static dg_status add_edges(struct dgi_plan *p, const json_t *root, const char *directory,
			   dg_error *err)
{
	const json_t *edges = json_object_get(root, "edges");
	size_t found = 0;
	dg_status st = DG_OK;

	if (!json_is_object(edges))
		return shape_error("edges", edges, "an object with a member an edge type", err);
	for (size_t i = 0; !st && i < p->n_edge_types; i++) {
		const struct dgi_edge_count *type = &p->edge_types[i];
		const json_t *json = json_object_get(edges, type->type);
		char where[400];
		struct files files;

		if (!json && type->n == 0)
			continue; /* an empty type may lack its files */
		found++;
		(void)snprintf(where, sizeof where, "edges '%.300s'", type->type);
		st = find_files(where, json, &files, err);
		if (!st)
			st = add_edge_files(p, type, chunks_of(root, i), &files, directory, err);
	}
	if (!st && json_object_size(edges) != found)
		st = dgi_fail(err, DG_NOTFOUND,
			      "edges: %zu types, %zu of them in edge_type: want all",
			      json_object_size(edges), found);
	return st;
}

static bool has_type(const struct dgi_plan *p, dg_side side, const char *name)
{
	struct dgi_edge_type_text text;

	if (side == DG_NODE)
		return is_node_type(p, name);
	for (size_t i = 0; i < p->n_edge_types; i++)
		if (strcmp(p->edge_types[i].type, name) == 0 ||
		    (!dgi_edge_type_text_cut(p->edge_types[i].type, &text, NULL) &&
		     strcmp(text.relation, name) == 0))
			return true;
	return false;
}

static dg_status add_tensor(struct dgi_plan *p, dg_side side, const char *type, const char *name,
			    const struct files *files, const char *directory, dg_error *err)
{
	struct dgi_data_file file = { .side = side,
				      .text = files->kind == CSV,
				      .delimiter = files->delimiter,
				      .header = -1 };
	dg_status st = dgi_plan_keep(p, NULL, type, &file.type, err);

	if (!st)
		st = dgi_plan_keep(p, NULL, name, &file.name, err);
	if (!st && json_array_size(files->paths) == 0)
		st = dgi_fail(err, DG_INVALID, "'%.80s' of '%.300s': no files", name, type);
	for (size_t i = 0; !st && i < json_array_size(files->paths); i++) {
		st = dgi_plan_keep(p, directory, json_string_value(json_array_get(files->paths, i)),
				   &file.path, err);
		if (!st)
			st = dgi_plan_add_data(p, file, err);
	}
	return st;
}

static dg_status add_type_data(struct dgi_plan *p, dg_side side, const char *key, const char *type,
			       json_t *tensors, const char *directory, dg_error *err)
{
	const char *name;
	json_t *json;
	char where[700];
	dg_status st;

	(void)snprintf(where, sizeof where, "%s '%.300s'", key, type);
	if (!has_type(p, side, type))
		return dgi_fail(err, DG_NOTFOUND, "%s: there is no such type", where);
	if (!json_is_object(tensors))
		return shape_error(where, tensors, "an object with a member a tensor", err);
	json_object_foreach(tensors, name, json)
	{
		struct files files;

		(void)snprintf(where, sizeof where, "%s '%.150s': '%.80s'", key, type, name);
		st = find_files(where, json, &files, err);
		if (!st)
			st = add_tensor(p, side, type, name, &files, directory, err);
		if (st)
			return st;
	}
	return DG_OK;
}

static dg_status add_data(struct dgi_plan *p, const json_t *root, dg_side side,
			  const char *directory, dg_error *err)
{
	const char *key = side == DG_NODE ? "node_data" : "edge_data";
	json_t *data = json_object_get(root, key);
	const char *type;
	json_t *tensors;

	if (!data)
		return DG_OK;
	if (!json_is_object(data))
		return shape_error(key, data, "an object with a member a type", err);
	json_object_foreach(data, type, tensors)
	{
		dg_status st = add_type_data(p, side, key, type, tensors, directory, err);

		if (st)
			return st;
	}
	return DG_OK;
}

dg_status dgi_metadata_decode(const char *text, size_t n, const char *directory,
			      struct dgi_plan *plan, dg_error *err)
{
	json_error_t where;
	json_t *root = json_loadb(text, n, JSON_REJECT_DUPLICATES, &where);
	dg_status st = DG_OK;

	if (!root)
		return dgi_fail(err, DG_INVALID, "line %d, column %d: %s", where.line, where.column,
				where.text);
	if (!json_is_object(root))
		st = shape_error("metadata", root, "an object", err);
	if (!st)
		st = add_node_types(plan, root, err);
	if (!st)
		st = add_edge_types(plan, root, err);
	if (!st)
		st = add_edges(plan, root, directory, err);
	if (!st)
		st = add_data(plan, root, DG_NODE, directory, err);
	if (!st)
		st = add_data(plan, root, DG_EDGE, directory, err);
	json_decref(root);
	return st;
}
