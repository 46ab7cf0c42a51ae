/*
 * cluster_read.c -- a cluster file's text decoded.
 *
 * Every field is checked before it is used, also against the others. DGL's own files are read too,
 * with their older forms: maps that are bare lists, ends in place of ranges, types left out.
 */
#include "cluster.h"

#include "book.h"
#include "fail.h"
#include "name.h"
#include "tensor_info.h"
#include "uuid.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FORMAT 1
#define ADDRESSES_MAX 64 /* of one partition */

static const char default_node_type[] = "_N";
static const char default_edge_type[] = "_N:_E:_N";

/* The types of one side while they are read, by number. */
struct types {
	size_t n;
	const char **keys; /* as the file writes them */
	int64_t *counts;   /* [type * n_parts + part] */
};

struct decoder {
	json_t *root;
	dg_cluster *cluster;
	struct types nodes;
	struct types edges;
	char (*names)[DG_NAME_BYTES_MAX + 1]; /* of node types, then of relations */
	const char **node_names;
	struct dgi_edge_type_spec *edge_types;
	dg_error *err;
};

/* --- Fields --- */

static dg_status fail_field(struct decoder *d, const char *field, const json_t *found,
			    const char *wanted)
{
	char text[61];
	size_t n;

	if (!found)
		return dgi_fail(d->err, DG_INVALID, "field '%.80s' is missing, want %s", field,
				wanted);
	n = json_dumpb(found, text, sizeof text - 1, JSON_COMPACT | JSON_ENCODE_ANY);
	text[n < sizeof text - 1 ? n : sizeof text - 1] = '\0';
	return dgi_fail(d->err, DG_INVALID, "field '%.80s' is %s%s, want %s", field, text,
			n < sizeof text ? "" : "…", wanted);
}

static dg_status read_integer(struct decoder *d, const char *field, int64_t min, int64_t max,
			      int64_t *out)
{
	const json_t *value = json_object_get(d->root, field);
	char wanted[80];

	(void)snprintf(wanted, sizeof wanted, "an integer from %" PRId64 " to %" PRId64, min, max);
	if (!json_is_integer(value) || json_integer_value(value) < min ||
	    json_integer_value(value) > max)
		return fail_field(d, field, value, wanted);
	*out = json_integer_value(value);
	return DG_OK;
}

static dg_status read_name(struct decoder *d, const char *field, char **out)
{
	const json_t *value = json_object_get(d->root, field);
	dg_status st;

	if (!json_is_string(value))
		return fail_field(d, field, value, "a string");
	st = dgi_name_check(field, json_string_value(value), d->err);
	if (st)
		return st;
	*out = strdup(json_string_value(value));
	return *out ? DG_OK : dgi_fail_memory(d->err, field);
}

/* A file with our mark has a UUID; DGL's have neither. */
static dg_status read_identity(struct decoder *d)
{
	const json_t *format = json_object_get(d->root, "distgraph_format");
	const json_t *uuid = json_object_get(d->root, "cluster_uuid");

	if (!format && !uuid)
		return DG_OK;
	if (!json_is_integer(format) || json_integer_value(format) < 1)
		return fail_field(d, "distgraph_format", format, "1");
	if (json_integer_value(format) > FORMAT)
		return dgi_fail(d->err, DG_VERSION,
				"field 'distgraph_format' is %" JSON_INTEGER_FORMAT
				", this program reads %d",
				json_integer_value(format), FORMAT);
	if (!json_is_string(uuid) ||
	    dgi_uuid_parse(json_string_value(uuid), &d->cluster->uuid, NULL) ||
	    dgi_uuid_is_zero(&d->cluster->uuid))
		return fail_field(d, "cluster_uuid", uuid, "a UUID");
	return DG_OK;
}

static dg_status read_scalars(struct decoder *d)
{
	int64_t n_parts = 0, halo_hops = 0;
	dg_status st = read_identity(d);

	if (!st)
		st = read_name(d, "graph_name", &d->cluster->graph_name);
	if (!st)
		st = read_name(d, "part_method", &d->cluster->part_method);
	if (!st)
		st = read_integer(d, "num_parts", 1, DG_PARTS_MAX, &n_parts);
	if (!st && json_object_get(d->root, "halo_hops"))
		st = read_integer(d, "halo_hops", 0, UINT32_MAX, &halo_hops);
	d->cluster->n_parts = (uint32_t)n_parts;
	d->cluster->halo_hops = (uint32_t)halo_hops;
	return st;
}

/* --- Types --- */

/* Puts what older files leave out: the types, and the only type of a map that is a bare list. */
static dg_status complete(struct decoder *d, const char *types_field, const char *map_field,
			  const char *default_type)
{
	json_t *types = json_object_get(d->root, types_field);
	json_t *map = json_object_get(d->root, map_field);
	int failed = 0;

	if (!types) {
		types = json_pack("{s:i}", default_type, 0);
		failed |= json_object_set_new(d->root, types_field, types);
	}
	if (!failed && json_is_array(map) && json_object_size(types) == 1)
		failed |= json_object_set_new(
			d->root, map_field,
			json_pack("{s:O}", json_object_iter_key(json_object_iter(types)), map));
	return failed ? dgi_fail_memory(d->err, types_field) : DG_OK;
}

/* The types of "ntypes" or "etypes", put in the order of their numbers. */
static dg_status read_types(struct decoder *d, const char *field, size_t max, struct types *out)
{
	json_t *types = json_object_get(d->root, field);
	const char *key;
	json_t *value;

	if (!json_is_object(types) || json_object_size(types) > max)
		return fail_field(d, field, types, "an object of names with their numbers");
	out->n = json_object_size(types);
	if (out->n * d->cluster->n_parts > DGI_BOOK_RANGES_MAX)
		return dgi_fail(d->err, DG_INVALID,
				"field '%s': %zu types in %" PRIu32
				" partitions, at most %u ranges",
				field, out->n, d->cluster->n_parts, DGI_BOOK_RANGES_MAX);
	out->keys = calloc(out->n + 1, sizeof *out->keys);
	out->counts = calloc(out->n * d->cluster->n_parts + 1, sizeof *out->counts);
	if (!out->keys || !out->counts)
		return dgi_fail_memory(d->err, field);
	json_object_foreach(types, key, value)
	{
		json_int_t number = json_integer_value(value);

		if (!json_is_integer(value) || number < 0 || (size_t)number >= out->n ||
		    out->keys[number])
			return fail_field(d, field, types, "numbers 0, 1, 2, …, each once");
		out->keys[number] = key;
	}
	return DG_OK;
}

/* The three names of an edge type's text, which must be three. */
static bool split_edge_type(const char *text, const char *at[3], size_t n[3])
{
	size_t i = 0;

	at[0] = text;
	for (; *text; text++)
		if (*text == ':') {
			if (i == 2)
				return false;
			n[i] = (size_t)(text - at[i]);
			at[++i] = text + 1;
		}
	n[i] = (size_t)(text - at[i]);
	return i == 2;
}

static bool find_node_type(const struct decoder *d, const char *text, size_t n, uint16_t *out)
{
	const json_t *number = json_object_getn(json_object_get(d->root, "ntypes"), text, n);

	*out = (uint16_t)json_integer_value(number);
	return number != NULL;
}

static dg_status read_edge_type(struct decoder *d, size_t type)
{
	const char *key = d->edges.keys[type];
	struct dgi_edge_type_spec *edge = &d->edge_types[type];
	char *relation = d->names[d->nodes.n + type];
	const char *at[3];
	size_t n[3];

	if (!split_edge_type(key, at, n) || !dgi_name_unescape(at[1], n[1], relation))
		return dgi_fail(
			d->err, DG_INVALID,
			"field 'etypes' has '%.80s', want source:relation:destination "
			"(DGL's change_etype_to_canonical_etype.py makes them of relations)",
			key);
	if (!find_node_type(d, at[0], n[0], &edge->src_type) ||
	    !find_node_type(d, at[2], n[2], &edge->dst_type))
		return dgi_fail(d->err, DG_INVALID,
				"field 'etypes' has '%.80s' with a node type that is not in "
				"'ntypes'",
				key);
	edge->relation = relation;
	return DG_OK;
}

static dg_status read_type_names(struct decoder *d)
{
	d->names = malloc((d->nodes.n + d->edges.n + 1) * sizeof *d->names);
	d->node_names = calloc(d->nodes.n + 1, sizeof *d->node_names);
	d->edge_types = calloc(d->edges.n + 1, sizeof *d->edge_types);
	if (!d->names || !d->node_names || !d->edge_types)
		return dgi_fail_memory(d->err, "types");
	for (size_t t = 0; t < d->nodes.n; t++) {
		const char *key = d->nodes.keys[t];

		if (!dgi_name_unescape(key, strlen(key), d->names[t]))
			return dgi_fail(d->err, DG_INVALID,
					"field 'ntypes' has '%.80s', want a name of 1 to %d bytes "
					"with ~ : / %% written %%7E %%3A %%2F %%25",
					key, DG_NAME_BYTES_MAX);
		d->node_names[t] = d->names[t];
	}
	for (size_t t = 0; t < d->edges.n; t++) {
		dg_status st = read_edge_type(d, t);

		if (st)
			return st;
	}
	return DG_OK;
}

/* --- Maps --- */

/* Each type of @types has a list of one entry for each partition in @map, and nothing else has. */
static dg_status check_map(struct decoder *d, const char *field, const json_t *map,
			   const struct types *types)
{
	char wanted[80];

	if (json_is_string(map))
		return dgi_fail(d->err, DG_INVALID,
				"field '%s' names a file, \"%.80s\": a partition for each id, as "
				"graphs cut without relabelling have it; only ranges are read, cut "
				"the graph again",
				field, json_string_value(map));
	if (json_is_array(map))
		return dgi_fail(d->err, DG_INVALID,
				"field '%s' is a bare list, which only a graph of one type may "
				"have; this one has %zu",
				field, types->n);
	if (!json_is_object(map))
		return fail_field(d, field, map, "an object of ranges by type");
	for (size_t t = 0; t < types->n; t++) {
		const json_t *list = json_object_get(map, types->keys[t]);

		(void)snprintf(wanted, sizeof wanted, "a list of %" PRIu32 " ranges for '%.30s'",
			       d->cluster->n_parts, types->keys[t]);
		if (!json_is_array(list) || json_array_size(list) != d->cluster->n_parts)
			return fail_field(d, field, list ? list : map, wanted);
	}
	if (json_object_size(map) != types->n)
		return dgi_fail(d->err, DG_INVALID, "field '%s' has %zu types, want %zu", field,
				json_object_size(map), types->n);
	return DG_OK;
}

/* Why a range that is one cannot stand where it stands. */
static const char *misplaced(const json_t *first, const json_t *last, int64_t at)
{
	if (!json_is_integer(last) || !json_is_integer(first))
		return "";
	if (json_integer_value(last) < json_integer_value(first))
		return ", which ends before it starts";
	if (json_integer_value(first) < at)
		return ", which overlaps the range before it";
	return json_integer_value(first) > at ? ", which leaves a gap" : "";
}

/* One entry: [start, end], or in a map of one type an end alone. The start must be @at. */
static dg_status read_range(struct decoder *d, const char *field, const json_t *entry,
			    const struct types *types, int64_t at, int64_t *end)
{
	const json_t *first = json_array_get(entry, 0);
	const json_t *last = json_array_get(entry, 1);
	char wanted[120];

	if (types->n == 1 && json_is_integer(entry)) {
		first = NULL;
		last = entry;
	} else if (!json_is_integer(first) || json_array_size(entry) != 2) {
		last = NULL;
	}
	(void)snprintf(wanted, sizeof wanted, "a range [%" PRId64 ", end] there%s", at,
		       misplaced(first, last, at));
	if (!json_is_integer(last) || json_integer_value(last) < at ||
	    (first && json_integer_value(first) != at))
		return fail_field(d, field, entry, wanted);
	*end = json_integer_value(last);
	return DG_OK;
}

/* Ranges follow each other without a gap, partition by partition, type by type. */
static dg_status read_map(struct decoder *d, const char *field, const char *total_field,
			  struct types *types)
{
	const json_t *map = json_object_get(d->root, field);
	uint32_t n_parts = d->cluster->n_parts;
	int64_t at = 0, end = 0, total = 0;
	dg_status st = check_map(d, field, map, types);

	for (uint32_t p = 0; !st && p < n_parts; p++)
		for (size_t t = 0; !st && t < types->n; t++) {
			const json_t *list = json_object_get(map, types->keys[t]);

			st = read_range(d, field, json_array_get(list, p), types, at, &end);
			if (st)
				return dgi_context(d->err, st, "type '%.80s' part %" PRIu32,
						   types->keys[t], p);
			types->counts[t * n_parts + p] = end - at;
			at = end;
		}
	if (!st)
		st = read_integer(d, total_field, 0, INT64_MAX, &total);
	if (!st && total != at)
		return dgi_fail(d->err, DG_INVALID,
				"field '%s' is %" PRId64 ", want %" PRId64 " as '%s' says",
				total_field, total, at, field);
	return st;
}

/* "int32" or "int64": what the caller's arrays of a map hold. */
static dg_status read_map_dtype(struct decoder *d, const char *field, const char *total_field,
				dg_dtype *out)
{
	const json_t *value = json_object_get(d->root, field);
	const char *text = json_string_value(value);

	*out = DG_INT64;
	if (!value)
		return DG_OK;
	if (!text || (strcmp(text, "int32") != 0 && strcmp(text, "int64") != 0))
		return fail_field(d, field, value, "\"int32\" or \"int64\"");
	if (strcmp(text, "int32") == 0)
		*out = DG_INT32;
	if (*out == DG_INT32 &&
	    json_integer_value(json_object_get(d->root, total_field)) > INT32_MAX)
		return fail_field(d, field, value, "\"int64\", for so many ids");
	return DG_OK;
}

static dg_status read_book(struct decoder *d)
{
	struct dgi_book_spec spec = { .n_parts = d->cluster->n_parts };
	dg_status st = complete(d, "ntypes", "node_map", default_node_type);

	if (!st)
		st = complete(d, "etypes", "edge_map", default_edge_type);
	if (!st)
		st = read_types(d, "ntypes", DG_NODE_TYPES_MAX, &d->nodes);
	if (!st)
		st = read_types(d, "etypes", DG_EDGE_TYPES_MAX, &d->edges);
	if (!st)
		st = read_type_names(d);
	if (!st)
		st = read_map(d, "node_map", "num_nodes", &d->nodes);
	if (!st)
		st = read_map(d, "edge_map", "num_edges", &d->edges);
	if (!st)
		st = read_map_dtype(d, "node_map_dtype", "num_nodes", &spec.map_dtypes[DG_NODE]);
	if (!st)
		st = read_map_dtype(d, "edge_map_dtype", "num_edges", &spec.map_dtypes[DG_EDGE]);
	if (st)
		return st;
	spec.n_node_types = (uint16_t)d->nodes.n;
	spec.n_edge_types = (uint16_t)d->edges.n;
	spec.node_types = d->node_names;
	spec.edge_types = d->edge_types;
	spec.node_counts = d->nodes.counts;
	spec.edge_counts = d->edges.counts;
	return dgi_book_new(&spec, &d->cluster->book, d->err);
}

/* --- Partitions --- */

/* The folder of @file, below @directory unless absolute. NULL when there is no memory. */
static char *store_path(const char *directory, const char *file)
{
	const char *slash = strrchr(file, '/');
	int n = slash ? (int)(slash - file) : 0;
	bool bare = *file == '/' || *directory == '\0' || strcmp(directory, ".") == 0;
	char *path;

	if (slash == file)
		n = 1;
	if (asprintf(&path, "%s%s%.*s", bare ? "" : directory, bare || n == 0 ? "" : "/", n, file) <
	    0)
		return NULL;
	if (*path == '\0') {
		free(path);
		return strdup(".");
	}
	return path;
}

static dg_status read_addresses(struct decoder *d, const char *field, const json_t *list,
				struct dgi_cluster_part *part)
{
	size_t n = json_array_size(list);

	if (!list)
		return DG_OK;
	if (!json_is_array(list) || n > ADDRESSES_MAX)
		return fail_field(d, field, list, "\"address\": a list of at most 64 strings");
	part->addresses = calloc(n + 1, sizeof *part->addresses);
	if (!part->addresses)
		return dgi_fail_memory(d->err, field);
	for (size_t i = 0; i < n; i++) {
		const json_t *address = json_array_get(list, i);

		if (!json_is_string(address))
			return fail_field(d, field, address, "\"address\": a list of strings");
		part->addresses[i] = strdup(json_string_value(address));
		if (!part->addresses[i])
			return dgi_fail_memory(d->err, field);
		part->n_addresses++;
	}
	return DG_OK;
}

static dg_status read_part(struct decoder *d, const char *directory, uint32_t number)
{
	struct dgi_cluster_part *part = &d->cluster->parts[number];
	const json_t *value, *file;
	char field[24];

	(void)snprintf(field, sizeof field, "part-%" PRIu32, number);
	value = json_object_get(d->root, field);
	file = json_object_get(value, "part_graph");
	if (!file)
		file = json_object_get(value, "part_graph_graphbolt");
	if (!json_is_string(file) || json_string_length(file) == 0)
		return fail_field(d, field, value, "an object with \"part_graph\": a path");
	if (json_string_length(file) + strlen(directory) + 2 > DG_PATH_BYTES_MAX)
		return fail_field(d, field, value, "a shorter path");
	part->path = store_path(directory, json_string_value(file));
	if (!part->path)
		return dgi_fail_memory(d->err, field);
	return read_addresses(d, field, json_object_get(value, "address"), part);
}

static dg_status read_parts(struct decoder *d, const char *directory)
{
	dg_status st = DG_OK;

	d->cluster->parts = calloc(d->cluster->n_parts, sizeof *d->cluster->parts);
	if (!d->cluster->parts)
		return dgi_fail_memory(d->err, "partitions");
	for (uint32_t p = 0; !st && p < d->cluster->n_parts; p++)
		st = read_part(d, directory, p);
	return st;
}

/* --- The whole --- */

static dg_status load(struct decoder *d, const char *text, size_t n)
{
	json_error_t where;

	d->root = json_loadb(text, n, JSON_REJECT_DUPLICATES, &where);
	if (!d->root)
		return dgi_fail(d->err, DG_INVALID, "line %d column %d: %s", where.line,
				where.column, where.text);
	if (!json_is_object(d->root))
		return dgi_fail(d->err, DG_INVALID, "not a JSON object");
	return DG_OK;
}

static void decoder_clear(struct decoder *d)
{
	json_decref(d->root);
	free(d->nodes.keys);
	free(d->nodes.counts);
	free(d->edges.keys);
	free(d->edges.counts);
	free(d->names);
	free(d->node_names);
	free(d->edge_types);
}

dg_status dgi_cluster_decode(const char *text, size_t n, const char *directory, dg_cluster **out,
			     dg_error *err)
{
	struct decoder d = { .cluster = calloc(1, sizeof(dg_cluster)), .err = err };
	dg_status st;

	if (!d.cluster)
		return dgi_fail_memory(err, "cluster file");
	st = load(&d, text, n);
	if (!st)
		st = read_scalars(&d);
	if (!st)
		st = read_book(&d);
	if (!st)
		st = read_parts(&d, directory);
	decoder_clear(&d);
	if (st) {
		dg_cluster_close(d.cluster);
		return st;
	}
	*out = d.cluster;
	return DG_OK;
}
