/* source_json.c -- "source.json": a source kept in its work directory. */
#include "source.h"

#include "fail.h"
#include "files.h"
#include "tensor_info.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_NAME "source.json"
#define FILE_BYTES_MAX ((size_t)1 << 30)
#define FORMAT 1

static const char *const ids_names[] = { "numbers", "integers", "strings" };

/* --- Writing --- */

/* A path below @work as the rest of it, any other absolute. New; NULL without memory. */
static json_t *path_json(const char *path, const char *work)
{
	size_t n = strlen(work);
	char *absolute;
	json_t *json;

	if (strncmp(path, work, n) == 0 && path[n] == '/')
		return json_string(path + n + 1);
	absolute = realpath(path, NULL);
	json = json_string(absolute ? absolute : path);
	free(absolute);
	return json;
}

static json_t *nodes_json(const struct dgi_source_nodes *nodes, const char *work)
{
	json_t *json = json_pack("{s:s, s:I, s:s}", "name", nodes->name, "n", (json_int_t)nodes->n,
				 "ids", ids_names[nodes->ids]);

	if (nodes->ids_path &&
	    json_object_set_new(json, "ids_path", path_json(nodes->ids_path, work)) != 0) {
		json_decref(json);
		return NULL;
	}
	return json;
}

static json_t *edges_json(const struct dgi_source_edges *edges, const char *work)
{
	return json_pack("{s:i, s:s, s:i, s:I, s:o, s:I, s:i}", "src", edges->src_type, "relation",
			 edges->relation, "dst", edges->dst_type, "n", (json_int_t)edges->n, "path",
			 path_json(edges->path, work), "offset", (json_int_t)edges->offset,
			 "id_bytes", (int)edges->id_bytes);
}

static json_t *data_json(const struct dgi_source_data *data, const char *work)
{
	json_t *shape = json_array();
	json_t *paths = json_array();
	int failed = 0;

	for (uint32_t i = 0; i < data->info.rank; i++)
		failed |= json_array_append_new(shape, json_integer(data->info.shape[i]));
	for (size_t i = 0; i < data->n_paths; i++)
		failed |= json_array_append_new(paths, path_json(data->paths[i], work));
	if (failed) {
		json_decref(shape);
		json_decref(paths);
		return NULL;
	}
	return json_pack("{s:i, s:i, s:s, s:s, s:o, s:o}", "side", (int)data->info.side, "type",
			 data->info.type, "name", data->info.name, "dtype",
			 dg_dtype_name(data->info.dtype), "shape", shape, "paths", paths);
}

dg_status dgi_source_encode(const struct dgi_source *source, const char *work, char **out,
			    size_t *n, dg_error *err)
{
	json_t *nodes = json_array();
	json_t *edges = json_array();
	json_t *data = json_array();
	int failed = 0;
	json_t *root;

	for (size_t i = 0; i < source->n_node_types; i++)
		failed |= json_array_append_new(nodes, nodes_json(&source->nodes[i], work));
	for (size_t i = 0; i < source->n_edge_types; i++)
		failed |= json_array_append_new(edges, edges_json(&source->edges[i], work));
	for (size_t i = 0; i < source->n_data; i++)
		failed |= json_array_append_new(data, data_json(&source->data[i], work));
	root = json_pack("{s:i, s:o, s:o, s:o}", "format", FORMAT, "nodes", nodes, "edges", edges,
			 "data", data);
	*out = failed ? NULL : json_dumps(root, JSON_INDENT(1) | JSON_ENSURE_ASCII);
	json_decref(root);
	if (!*out)
		return dgi_fail_memory(err, FILE_NAME);
	*n = strlen(*out);
	return DG_OK;
}

/* --- Reading --- */

static dg_status fail_field(const char *list, size_t i, const char *field, dg_error *err)
{
	return dgi_fail(err, DG_INVALID, FILE_NAME ": %s %zu: no sound '%s'", list, i, field);
}

/* Reads entry @i of a list; the first failure stays, the rest does nothing. */
struct entry {
	const char *list;
	size_t i;
	const json_t *json;
	const char *work;
	dg_status status;
	dg_error *err;
};

static void fail_entry(struct entry *e, const char *field)
{
	if (!e->status)
		e->status = fail_field(e->list, e->i, field, e->err);
}

static int64_t get_integer(struct entry *e, const char *field, int64_t min, int64_t max)
{
	const json_t *value = json_object_get(e->json, field);

	if (json_is_integer(value) && json_integer_value(value) >= min &&
	    json_integer_value(value) <= max)
		return json_integer_value(value);
	fail_entry(e, field);
	return min;
}

static const char *get_text(struct entry *e, const char *field)
{
	const char *text = json_string_value(json_object_get(e->json, field));

	if (!text)
		fail_entry(e, field);
	return text ? text : "";
}

static void get_name(struct entry *e, const char *field, char out[DG_NAME_BYTES_MAX + 1])
{
	const char *text = get_text(e, field);

	if (!e->status)
		e->status = dgi_name_check(field, text, e->err);
	if (!e->status)
		memcpy(out, text, strlen(text) + 1);
}

static char *make_path(struct entry *e, const json_t *json, const char *field)
{
	const char *text = json_string_value(json);
	char *path = NULL;

	if (!text || !*text)
		fail_entry(e, field);
	else if (asprintf(&path, "%s%s%s", text[0] == '/' ? "" : e->work, text[0] == '/' ? "" : "/",
			  text) < 0)
		path = NULL;
	if (!path && !e->status)
		e->status = dgi_fail_memory(e->err, FILE_NAME);
	return path;
}

static void read_nodes(struct entry *e, struct dgi_source_nodes *out)
{
	const char *ids = get_text(e, "ids");

	get_name(e, "name", out->name);
	out->n = get_integer(e, "n", 0, INT64_MAX);
	while (out->ids <= DGI_IDS_STRINGS && strcmp(ids, ids_names[out->ids]) != 0)
		out->ids++;
	if (out->ids > DGI_IDS_STRINGS)
		fail_entry(e, "ids");
	else if (out->ids != DGI_IDS_ARE_NUMBERS)
		out->ids_path = make_path(e, json_object_get(e->json, "ids_path"), "ids_path");
}

static void read_edges(struct entry *e, uint16_t n_node_types, struct dgi_source_edges *out)
{
	const int64_t last_type = (int64_t)n_node_types - 1;

	out->src_type = (uint16_t)get_integer(e, "src", 0, last_type);
	out->dst_type = (uint16_t)get_integer(e, "dst", 0, last_type);
	get_name(e, "relation", out->relation);
	out->n = get_integer(e, "n", 0, INT64_MAX);
	out->path = make_path(e, json_object_get(e->json, "path"), "path");
	out->offset = (uint64_t)get_integer(e, "offset", 0, INT64_MAX);
	out->id_bytes = (uint32_t)get_integer(e, "id_bytes", 4, 8);
	if (out->id_bytes != 4 && out->id_bytes != 8)
		fail_entry(e, "id_bytes");
}

static void read_shape(struct entry *e, dg_tensor_info *info)
{
	const json_t *shape = json_object_get(e->json, "shape");
	size_t rank = json_array_size(shape);

	if (!json_is_array(shape) || rank > DG_RANK_MAX) {
		fail_entry(e, "shape");
		return;
	}
	info->rank = (uint32_t)rank;
	for (size_t i = 0; i < rank; i++)
		info->shape[i] = json_integer_value(json_array_get(shape, i));
	if (!e->status)
		e->status = dgi_tensor_info_set_row_bytes(info, e->err);
}

static void read_data(struct entry *e, const struct dgi_source *source, struct dgi_source_data *out)
{
	const json_t *paths = json_object_get(e->json, "paths");

	out->info.side = (dg_side)get_integer(e, "side", DG_NODE, DG_EDGE);
	out->info.type = (uint16_t)get_integer(
		e, "type", 0,
		(out->info.side == DG_NODE ? source->n_node_types : source->n_edge_types) - 1);
	get_name(e, "name", out->info.name);
	if (!e->status)
		e->status = dg_dtype_parse(get_text(e, "dtype"), &out->info.dtype, e->err);
	if (!e->status)
		read_shape(e, &out->info);
	if (!json_is_array(paths))
		fail_entry(e, "paths");
	out->paths = calloc(json_array_size(paths) + 1, sizeof *out->paths);
	if (!out->paths && !e->status)
		e->status = dgi_fail_memory(e->err, FILE_NAME);
	for (size_t i = 0; !e->status && i < json_array_size(paths); i++)
		out->paths[out->n_paths++] = make_path(e, json_array_get(paths, i), "paths");
}

/* The lists have been counted: allocates all three. */
static dg_status allocate(struct dgi_source *source, size_t n_nodes, size_t n_edges, size_t n_data,
			  dg_error *err)
{
	source->nodes = calloc(n_nodes + 1, sizeof *source->nodes);
	source->edges = calloc(n_edges + 1, sizeof *source->edges);
	source->data = calloc(n_data + 1, sizeof *source->data);
	if (!source->nodes || !source->edges || !source->data)
		return dgi_fail_memory(err, FILE_NAME);
	source->n_node_types = (uint16_t)n_nodes;
	source->n_edge_types = (uint16_t)n_edges;
	source->n_data = n_data;
	return DG_OK;
}

static dg_status read_lists(const json_t *root, const char *work, struct dgi_source *source,
			    dg_error *err)
{
	const json_t *nodes = json_object_get(root, "nodes");
	const json_t *edges = json_object_get(root, "edges");
	const json_t *data = json_object_get(root, "data");
	struct entry e = { .work = work, .err = err };

	if (json_integer_value(json_object_get(root, "format")) != FORMAT)
		return dgi_fail(err, DG_INVALID, FILE_NAME ": want format %d", FORMAT);
	if (!json_is_array(nodes) || !json_is_array(edges) || !json_is_array(data) ||
	    json_array_size(nodes) > DG_NODE_TYPES_MAX ||
	    json_array_size(edges) > DG_EDGE_TYPES_MAX || json_array_size(data) > DG_TENSORS_MAX)
		return dgi_fail(err, DG_INVALID,
				FILE_NAME ": want lists of nodes, edges and data, none too long");
	e.status = allocate(source, json_array_size(nodes), json_array_size(edges),
			    json_array_size(data), err);
	e.list = "nodes";
	for (e.i = 0; !e.status && e.i < json_array_size(nodes); e.i++) {
		e.json = json_array_get(nodes, e.i);
		read_nodes(&e, &source->nodes[e.i]);
	}
	e.list = "edges";
	for (e.i = 0; !e.status && e.i < json_array_size(edges); e.i++) {
		e.json = json_array_get(edges, e.i);
		read_edges(&e, source->n_node_types, &source->edges[e.i]);
	}
	e.list = "data";
	for (e.i = 0; !e.status && e.i < json_array_size(data); e.i++) {
		e.json = json_array_get(data, e.i);
		read_data(&e, source, &source->data[e.i]);
	}
	return e.status;
}

dg_status dgi_source_decode(const char *text, size_t n, const char *work, struct dgi_source *out,
			    dg_error *err)
{
	struct dgi_source source = { 0 };
	json_error_t found;
	json_t *root = json_loadb(text, n, JSON_REJECT_DUPLICATES, &found);
	dg_status st;

	if (!root)
		return dgi_fail(err, DG_INVALID, FILE_NAME ":%d: %.80s", found.line, found.text);
	st = read_lists(root, work, &source, err);
	json_decref(root);
	if (st) {
		dgi_source_clear(&source);
		return st;
	}
	*out = source;
	return DG_OK;
}

/* --- Outside --- */

dg_status dgi_source_save(const struct dgi_source *source, const char *work, dg_error *err)
{
	char *text = NULL;
	char *path = NULL;
	size_t n;
	dg_status st = dgi_source_encode(source, work, &text, &n, err);

	if (!st && asprintf(&path, "%s/" FILE_NAME, work) < 0) {
		path = NULL;
		st = dgi_fail_memory(err, work);
	}
	if (!st)
		st = dgi_file_replace(path, text, n, err);
	free(path);
	free(text);
	return st;
}

dg_status dgi_source_load(const char *work, struct dgi_source *out, dg_error *err)
{
	char *text = NULL;
	char *path;
	size_t n;
	dg_status st;

	if (asprintf(&path, "%s/" FILE_NAME, work) < 0)
		return dgi_fail_memory(err, work);
	st = dgi_file_read(path, FILE_BYTES_MAX, &text, &n, err);
	if (!st)
		st = dgi_source_decode(text, n, work, out, err);
	free(path);
	free(text);
	return st;
}
