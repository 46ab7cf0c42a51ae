/* gather.c -- types and ids of a graph while it is read. Its edges are gather_edges.c's. */
#include "gather_edges.h"

#include "fail.h"
#include "tensor_info.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

dg_status dgi_gather_begin(const char *work, struct dgi_gather *out, dg_error *err)
{
	struct dgi_gather g = { .work = work, .edge_types = dgi_id_map_new(true) };

	g.scratch = malloc(DGI_HELD_EDGES_MAX * 16);
	if (!g.scratch)
		return dgi_fail_memory(err, "edges");
	*out = g;
	return DG_OK;
}

void dgi_gather_clear(struct dgi_gather *g)
{
	for (size_t i = 0; i < g->n_nodes; i++)
		dgi_id_map_clear(&g->nodes[i].map);
	for (size_t i = 0; i < g->n_edges; i++) {
		free(g->edges[i].path);
		free(g->edges[i].held);
	}
	free(g->nodes);
	free(g->edges);
	free(g->scratch);
	dgi_id_map_clear(&g->edge_types);
	*g = (struct dgi_gather){ 0 };
}

/* --- Types --- */

/* One more element of @size at the end of an array of @n, which doubles at powers of two. */
static dg_status grow(void **array, size_t n, size_t size, dg_error *err)
{
	void *grown;

	if (n & (n - 1))
		return DG_OK;
	grown = realloc(*array, (n ? 2 * n : 1) * size);
	if (!grown)
		return dgi_fail_memory(err, "types");
	*array = grown;
	return DG_OK;
}

int dgi_gather_find_node_type(const struct dgi_gather *g, const char *name)
{
	for (size_t i = 0; i < g->n_nodes; i++)
		if (strcmp(g->nodes[i].name, name) == 0)
			return (int)i;
	return -1;
}

dg_status dgi_gather_node_type(struct dgi_gather *g, const char *name, uint16_t *out, dg_error *err)
{
	int found = dgi_gather_find_node_type(g, name);
	struct dgi_gather_nodes *t;
	dg_status st;

	if (found >= 0) {
		*out = (uint16_t)found;
		return DG_OK;
	}
	st = dgi_name_check("node type", name, err);
	if (!st && g->n_nodes == DG_NODE_TYPES_MAX)
		st = dgi_fail(err, DG_FULL, "node type '%s': more than %d node types", name,
			      DG_NODE_TYPES_MAX);
	if (!st)
		st = grow((void **)&g->nodes, g->n_nodes, sizeof *g->nodes, err);
	if (st)
		return st;
	t = &g->nodes[g->n_nodes];
	*t = (struct dgi_gather_nodes){ .n = -1, .largest = -1, .map = dgi_id_map_new(false) };
	memcpy(t->name, name, strlen(name) + 1);
	*out = (uint16_t)g->n_nodes++;
	return DG_OK;
}

/* The types' numbers and the relation: distinct for distinct types, and short to hash. */
static size_t edge_type_key(char *key, uint16_t src, const char *relation, size_t n, uint16_t dst)
{
	size_t used = (size_t)snprintf(key, 16, "%u:%u:", src, dst);

	memcpy(key + used, relation, n);
	return used + n;
}

static dg_status add_edge_type(struct dgi_gather *g, uint16_t src, const char *relation,
			       uint16_t dst, dg_error *err)
{
	struct dgi_gather_edges *t;
	dg_status st = dgi_name_check("relation", relation, err);

	if (!st && g->n_edges == DG_EDGE_TYPES_MAX)
		st = dgi_fail(err, DG_FULL, "relation '%s': more than %d edge types", relation,
			      DG_EDGE_TYPES_MAX);
	if (!st)
		st = grow((void **)&g->edges, g->n_edges, sizeof *g->edges, err);
	if (st)
		return st;
	t = &g->edges[g->n_edges];
	*t = (struct dgi_gather_edges){ .src = src, .dst = dst };
	memcpy(t->relation, relation, strlen(relation) + 1);
	g->n_edges++;
	return DG_OK;
}

dg_status dgi_gather_edge_type(struct dgi_gather *g, uint16_t src, const char *relation,
			       size_t relation_bytes, uint16_t dst, uint16_t *out, dg_error *err)
{
	char key[16 + DG_NAME_BYTES_MAX];
	char name[DG_NAME_BYTES_MAX + 1];
	size_t n;
	int64_t number;
	dg_status st;

	if (relation_bytes == 0 || relation_bytes > DG_NAME_BYTES_MAX ||
	    memchr(relation, 0, relation_bytes))
		return dgi_fail(err, DG_INVALID,
				"relation '%.*s': %zu bytes, want a name of 1 to %d",
				relation_bytes < 40 ? (int)relation_bytes : 40, relation,
				relation_bytes, DG_NAME_BYTES_MAX);
	n = edge_type_key(key, src, relation, relation_bytes, dst);
	number = dgi_id_map_find_string(&g->edge_types, key, n);
	if (number < 0) {
		memcpy(name, relation, relation_bytes);
		name[relation_bytes] = '\0';
		st = add_edge_type(g, src, name, dst, err);
		if (!st)
			st = dgi_id_map_string(&g->edge_types, key, n, &number, err);
		if (st)
			return st;
	}
	*out = (uint16_t)number;
	return DG_OK;
}

static bool take_name(char *to, const char *from, size_t n)
{
	if (n == 0 || n > DG_NAME_BYTES_MAX)
		return false;
	memcpy(to, from, n);
	to[n] = '\0';
	return true;
}

dg_status dgi_edge_type_text_cut(const char *text, struct dgi_edge_type_text *out, dg_error *err)
{
	const char *first = strchr(text, ':');
	const char *last = strrchr(text, ':');

	if (first && last > first && take_name(out->src, text, (size_t)(first - text)) &&
	    take_name(out->relation, first + 1, (size_t)(last - first) - 1) &&
	    take_name(out->dst, last + 1, strlen(last + 1)))
		return DG_OK;
	return dgi_fail(err, DG_INVALID,
			"edge type '%.300s', want SOURCE:RELATION:DESTINATION, names of 1 to %d "
			"bytes",
			text, DG_NAME_BYTES_MAX);
}

/* --- Ids --- */

static dg_status bad_number(const struct dgi_gather_nodes *nodes, int64_t id, dg_error *err)
{
	if (id < 0)
		return dgi_fail(err, DG_RANGE, "node id %" PRId64 " is negative", id);
	if (nodes->n < 0)
		return dgi_fail(err, DG_RANGE, "node id %" PRId64 " is above 2^63 - 2", id);
	return dgi_fail(err, DG_RANGE,
			"node id %" PRId64 ", want less than %" PRId64 ", the number of nodes%s%s",
			id, nodes->n, nodes->counted_by[0] ? " by " : "", nodes->counted_by);
}

dg_status dgi_gather_integer(struct dgi_gather_nodes *nodes, int64_t id, dg_id *out, dg_error *err)
{
	int64_t limit = nodes->n < 0 ? INT64_MAX : nodes->n;
	char text[24];

	if (nodes->ids == DG_INPUT_IDS_NUMBERS) {
		if (id < 0 || id >= limit)
			return bad_number(nodes, id, err);
		if (id > nodes->largest)
			nodes->largest = id;
		*out = id;
		return DG_OK;
	}
	if (nodes->ids == DG_INPUT_IDS_STRINGS)
		return dgi_gather_string(
			nodes, text, (size_t)snprintf(text, sizeof text, "%" PRId64, id), out, err);
	if (nodes->listed == DG_INPUT_IDS_AUTO) {
		dg_status st = dgi_id_map_integer(&nodes->map, id, out, err);

		if (!st && nodes->n >= 0 && *out >= nodes->n)
			return dgi_fail(err, DG_RANGE,
					"node id %" PRId64 " is new, and there are %" PRId64
					" others, the number of nodes told",
					id, nodes->n);
		return st;
	}
	*out = dgi_id_map_find_integer(&nodes->map, id);
	if (*out < 0)
		return dgi_fail(err, DG_NOTFOUND,
				"node id %" PRId64 " is not in the list of nodes '%s'", id,
				nodes->name);
	return DG_OK;
}

dg_status dgi_gather_string(struct dgi_gather_nodes *nodes, const char *id, size_t n, dg_id *out,
			    dg_error *err)
{
	if (nodes->listed == DG_INPUT_IDS_AUTO) {
		dg_status st = dgi_id_map_string(&nodes->map, id, n, out, err);

		if (!st && nodes->n >= 0 && *out >= nodes->n)
			return dgi_fail(err, DG_RANGE,
					"node id '%.*s' is new, and there are %" PRId64
					" others, the number of nodes told",
					n < 80 ? (int)n : 80, id, nodes->n);
		return st;
	}
	*out = dgi_id_map_find_string(&nodes->map, id, n);
	if (*out < 0)
		return dgi_fail(err, DG_NOTFOUND, "node id '%.*s' is not in the list of nodes '%s'",
				n < 80 ? (int)n : 80, id, nodes->name);
	return DG_OK;
}
