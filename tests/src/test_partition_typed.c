/*
 * The pipeline against a slow and obvious oracle: random typed graphs with duplicate edges, loops,
 * isolated nodes, empty types and empty partitions, cut at random.
 */
#include "test.h"
#include "tmpdir.h"

#include "planted.h"

#include <distgraph/array.h>
#include <distgraph/cluster.h>
#include <distgraph/partition.h>
#include <distgraph/store.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define N_RUNS 60

struct place {
	char *dir, *output, *edges, *data;
};

static int make_place(void **state)
{
	struct place *p = calloc(1, sizeof *p);
	FILE *f;

	assert_non_null(p);
	p->dir = tmpdir_new();
	p->output = tmpdir_path(p->dir, "graph");
	p->edges = tmpdir_path(p->dir, "edges.csv");
	p->data = tmpdir_path(p->dir, "data.npy");
	f = fopen(p->edges, "w");
	assert_non_null(f);
	assert_int_equal(fclose(f), 0);
	*state = p;
	return 0;
}

static int remove_place(void **state)
{
	struct place *p = *state;

	free(p->output);
	free(p->edges);
	free(p->data);
	tmpdir_remove(p->dir);
	free(p);
	return 0;
}

/* --- Random graphs --- */

static uint64_t random_state;

static uint64_t below(uint64_t n)
{
	random_state = random_state * 6364136223846793005U + 1442695040888963407U;
	return n ? (random_state >> 33) % n : 0;
}

static void *room(int64_t n)
{
	void *p = calloc((size_t)n + 1, sizeof(int64_t));

	assert_non_null(p);
	return p;
}

static void random_edges(struct planted *g, uint16_t type, int64_t n)
{
	struct dgi_source_edges *edges = &g->source.edges[type];
	const int64_t n_src = g->source.nodes[edges->src_type].n;
	const int64_t n_dst = g->source.nodes[edges->dst_type].n;

	edges->n = n_src && n_dst ? n : 0;
	g->src[type] = room(edges->n);
	g->dst[type] = room(edges->n);
	for (int64_t e = 0; e < edges->n; e++) {
		/* Few nodes are the ends of many edges. */
		g->src[type][e] = (dg_id)below(1 + below((uint64_t)n_src));
		g->dst[type][e] = (dg_id)below(1 + below((uint64_t)n_dst));
	}
}

static void random_graph(struct planted *g, uint32_t n_owners)
{
	struct dgi_source *s = &g->source;

	*g = (struct planted){ 0 };
	s->n_node_types = (uint16_t)(1 + below(3));
	s->n_edge_types = (uint16_t)below(5);
	s->nodes = calloc(8, sizeof *s->nodes);
	s->edges = calloc(8, sizeof *s->edges);
	assert_true(s->nodes && s->edges);
	for (uint16_t t = 0; t < s->n_node_types; t++) {
		(void)snprintf(s->nodes[t].name, sizeof s->nodes[t].name, "n%u", t);
		s->nodes[t].n = (int64_t)below(below(4) ? 40 : 1);
		g->owners[t] = room(s->nodes[t].n);
		for (int64_t i = 0; i < s->nodes[t].n; i++)
			g->owners[t][i] = (uint16_t)below(1 + below(n_owners));
	}
	for (uint16_t t = 0; t < s->n_edge_types; t++) {
		(void)snprintf(s->edges[t].relation, sizeof s->edges[t].relation, "r%u", t);
		s->edges[t].src_type = (uint16_t)below(s->n_node_types);
		s->edges[t].dst_type = (uint16_t)below(s->n_node_types);
		random_edges(g, t, (int64_t)below(150));
	}
}

/* Row i of node type 0 is 10 i, 10 i + 1. */
static void give_data(struct planted *g, const char *path)
{
	const int64_t shape[] = { g->source.nodes[0].n, 2 };
	dg_array_writer *w;
	dg_error err = { 0 };

	assert_ok(dg_array_writer_open(path, DG_INT32, 2, shape, &w, &err), &err);
	for (int32_t i = 0; i < shape[0]; i++) {
		const int32_t row[] = { 10 * i, 10 * i + 1 };

		assert_ok(dg_array_writer_append(w, row, sizeof row, &err), &err);
	}
	assert_ok(dg_array_writer_close(w, 1, &err), &err);
	g->source.data = calloc(1, sizeof *g->source.data);
	assert_non_null(g->source.data);
	g->source.n_data = 1;
	g->source.data[0].info = (dg_tensor_info){
		.name = "feat", .dtype = DG_INT32, .rank = 1, .shape = { 2 }, .row_bytes = 8
	};
	g->source.data[0].paths = calloc(1, sizeof(char *));
	assert_non_null(g->source.data[0].paths);
	g->source.data[0].paths[0] = strdup(path);
	g->source.data[0].n_paths = 1;
}

/* --- The oracle --- */

struct oracle {
	const struct planted *graph;
	uint32_t n_parts, n_trainers, hops;
	dg_id *node_original[8], *node_internal[8]; /* by node type */
	dg_id *edge_original[8], *edge_internal[8]; /* by edge type */
};

static uint32_t owner_of(const struct oracle *o, uint16_t type, dg_id original)
{
	return o->graph->owners[type][original] / o->n_trainers;
}

/* Sorting by selection: as plain as can be. */
static void order(int64_t n, const int64_t *keys, dg_id *original, dg_id *internal)
{
	int64_t at = 0;

	for (int64_t done = 0, key = 0; done < n; key++)
		for (int64_t i = 0; i < n; i++)
			if (keys[i] == key) {
				original[at] = i;
				internal[i] = at++;
				done++;
			}
}

static void oracle_make(struct oracle *o)
{
	const struct dgi_source *s = &o->graph->source;
	int64_t *keys = room(1000);

	for (uint16_t t = 0; t < s->n_node_types; t++) {
		const int64_t n = s->nodes[t].n;

		o->node_original[t] = room(n);
		o->node_internal[t] = room(n);
		for (int64_t i = 0; i < n; i++)
			keys[i] = owner_of(o, t, i);
		order(n, keys, o->node_original[t], o->node_internal[t]);
	}
	for (uint16_t t = 0; t < s->n_edge_types; t++) {
		const int64_t n = s->edges[t].n;

		o->edge_original[t] = room(n);
		o->edge_internal[t] = room(n);
		for (int64_t i = 0; i < n; i++)
			keys[i] = o->node_internal[s->edges[t].dst_type][o->graph->dst[t][i]];
		order(n, keys, o->edge_original[t], o->edge_internal[t]);
	}
	free(keys);
}

static void oracle_clear(struct oracle *o)
{
	for (int t = 0; t < 8; t++) {
		free(o->node_original[t]);
		free(o->node_internal[t]);
		free(o->edge_original[t]);
		free(o->edge_internal[t]);
	}
}

/* Marks by original id: nodes and edges of a partition's halo. */
struct marks {
	char nodes[8][64], edges[8][256];
};

static void oracle_halo(const struct oracle *o, uint32_t part, struct marks *m)
{
	const struct dgi_source *s = &o->graph->source;
	char last[8][64] = { { 0 } }, next[8][64];

	memset(m, 0, sizeof *m);
	if (o->hops == 0)
		return;
	/* The last layer begins as the inner nodes themselves, whose in-edges are owned. */
	for (uint16_t t = 0; t < s->n_node_types; t++)
		for (int64_t i = 0; i < s->nodes[t].n; i++)
			last[t][i] = owner_of(o, t, i) == part;
	for (uint32_t hop = 1; hop <= o->hops; hop++) {
		memset(next, 0, sizeof next);
		for (uint16_t t = 0; t < s->n_edge_types; t++)
			for (int64_t e = 0; e < s->edges[t].n; e++) {
				const dg_id src = o->graph->src[t][e], dst = o->graph->dst[t][e];

				if (!last[s->edges[t].dst_type][dst])
					continue;
				if (owner_of(o, s->edges[t].dst_type, dst) != part &&
				    owner_of(o, s->edges[t].src_type, src) != part)
					m->edges[t][e] = 1;
				if (owner_of(o, s->edges[t].src_type, src) != part) {
					if (!m->nodes[s->edges[t].src_type][src])
						next[s->edges[t].src_type][src] = 1;
					m->nodes[s->edges[t].src_type][src] = 1;
				}
			}
		memcpy(last, next, sizeof last);
	}
	for (uint16_t t = 0; t < s->n_edge_types; t++)
		for (int64_t e = 0; e < s->edges[t].n; e++)
			if (owner_of(o, s->edges[t].src_type, o->graph->src[t][e]) == part &&
			    owner_of(o, s->edges[t].dst_type, o->graph->dst[t][e]) != part) {
				m->edges[t][e] = 1;
				m->nodes[s->edges[t].dst_type][o->graph->dst[t][e]] = 1;
			}
}

/* --- Reading back --- */

/* A structure array as int64, to be freed. */
static int64_t *read_array(dg_store *store, uint16_t type, dg_graph_array array, int64_t *n)
{
	dg_dtype dtype;
	int64_t *out;
	int32_t *narrow;
	dg_error err = { 0 };

	assert_ok(dg_store_graph_array(store, type, array, &dtype, n, &err), &err);
	assert_int_equal(dtype, DG_INT32); /* small graphs are stored small */
	out = room(*n);
	narrow = room(*n);
	assert_ok(dg_store_graph_read(store, type, array, 0, *n, narrow, &err), &err);
	for (int64_t i = 0; i < *n; i++)
		out[i] = narrow[i];
	free(narrow);
	return out;
}

static void check_own(const struct oracle *o, dg_store *store, uint32_t part, uint16_t type)
{
	const struct dgi_source_edges *t = &o->graph->source.edges[type];
	const dg_book *book = dg_store_book(store);
	dg_id first, end, first_edge, end_edge;
	int64_t n, *indptr, *indices, *degrees;
	dg_id e;

	dg_book_range(book, DG_NODE, t->dst_type, part, &first, &end);
	dg_book_range(book, DG_EDGE, type, part, &first_edge, &end_edge);
	indptr = read_array(store, type, DG_GRAPH_INDPTR, &n);
	assert_int_equal(n, end - first + 1);
	indices = read_array(store, type, DG_GRAPH_INDICES, &n);
	assert_int_equal(n, end_edge - first_edge);
	e = first_edge;
	for (dg_id v = first; v < end; v++) {
		assert_int_equal(indptr[v - first], e - first_edge);
		for (; e < first_edge + indptr[v - first + 1]; e++) {
			dg_id original = o->edge_original[type][e];

			assert_int_equal(
				o->node_internal[t->dst_type][o->graph->dst[type][original]], v);
			assert_int_equal(
				o->node_internal[t->src_type][o->graph->src[type][original]],
				indices[e - first_edge]);
		}
	}
	assert_int_equal(e, end_edge);
	degrees = read_array(store, type, DG_GRAPH_OUT_DEGREES, &n);
	dg_book_range(book, DG_NODE, t->src_type, part, &first, &end);
	assert_int_equal(n, end - first);
	for (int64_t i = 0; i < t->n; i++) {
		dg_id src = o->node_internal[t->src_type][o->graph->src[type][i]];

		if (src >= first && src < end)
			degrees[src - first]--;
	}
	for (int64_t i = 0; i < n; i++)
		assert_int_equal(degrees[i], 0);
	free(indptr);
	free(indices);
	free(degrees);
}

static void check_halo_nodes(const struct oracle *o, dg_store *store, const struct marks *m,
			     uint16_t type)
{
	int64_t n, at = 0;
	int64_t *ids = read_array(store, type, DG_GRAPH_HALO_NODES, &n);

	for (dg_id v = 0; v < o->graph->source.nodes[type].n; v++)
		if (m->nodes[type][o->node_original[type][v]]) {
			assert_true(at < n);
			assert_int_equal(ids[at++], v);
		}
	assert_int_equal(at, n);
	free(ids);
}

static void check_halo_edges(const struct oracle *o, dg_store *store, const struct marks *m,
			     uint16_t type)
{
	const struct dgi_source_edges *t = &o->graph->source.edges[type];
	int64_t n, n_sources, n_pointers, n_nodes, at = 0, row = 0;
	int64_t *edges = read_array(store, type, DG_GRAPH_HALO_EDGES, &n);
	int64_t *sources = read_array(store, type, DG_GRAPH_HALO_INDICES, &n_sources);
	int64_t *indptr = read_array(store, type, DG_GRAPH_HALO_INDPTR, &n_pointers);
	int64_t *nodes = read_array(store, t->dst_type, DG_GRAPH_HALO_NODES, &n_nodes);

	assert_int_equal(n_sources, n);
	assert_int_equal(n_pointers, n ? n_nodes + 1 : 0);
	for (dg_id e = 0; e < t->n; e++) {
		dg_id original = o->edge_original[type][e];
		dg_id dst = o->node_internal[t->dst_type][o->graph->dst[type][original]];

		if (!m->edges[type][original])
			continue;
		assert_true(at < n);
		assert_int_equal(edges[at], e);
		assert_int_equal(sources[at],
				 o->node_internal[t->src_type][o->graph->src[type][original]]);
		while (indptr[row + 1] <= at)
			row++;
		assert_int_equal(nodes[row], dst);
		at++;
	}
	assert_int_equal(at, n);
	free(edges);
	free(sources);
	free(indptr);
	free(nodes);
}

/* Elements of the rows of a tensor as int64, to be freed; NULL: there is no such tensor. */
static int64_t *read_tensor(dg_store *store, dg_side side, uint16_t type, const char *name,
			    int64_t *n)
{
	const dg_tensor_info *info = NULL;
	size_t n_tensors;
	const dg_tensor_info *tensors = dg_store_tensors(store, &n_tensors);
	int64_t *rows, *out;
	void *data;
	dg_error err = { 0 };

	for (size_t i = 0; i < n_tensors; i++)
		if (tensors[i].side == side && tensors[i].type == type &&
		    strcmp(tensors[i].name, name) == 0)
			info = &tensors[i];
	*n = 0;
	if (!info)
		return NULL;
	rows = room(info->n_rows);
	for (int64_t i = 0; i < info->n_rows; i++)
		rows[i] = i;
	data = room(info->n_rows * info->row_bytes);
	assert_ok(dg_store_gather(store, info, rows, (size_t)info->n_rows, data, &err), &err);
	*n = info->n_rows * info->row_bytes / (int64_t)dg_dtype_bytes(info->dtype);
	out = room(*n);
	for (int64_t i = 0; i < *n; i++)
		out[i] = info->dtype == DG_INT32 ? ((int32_t *)data)[i] : ((int64_t *)data)[i];
	free(rows);
	free(data);
	return out;
}

static void check_ids(const struct oracle *o, dg_store *store, uint32_t part, dg_side side,
		      uint16_t type)
{
	const struct dgi_source *s = &o->graph->source;
	const int64_t count = dgi_source_count(s, side, type);
	const dg_id *original = side == DG_NODE ? o->node_original[type] : o->edge_original[type];
	const dg_id *internal = side == DG_NODE ? o->node_internal[type] : o->edge_internal[type];
	const uint16_t node_type = side == DG_NODE ? type : s->edges[type].dst_type;
	int64_t n, *values;
	dg_id first, end;

	dg_book_range(dg_store_book(store), side, type, part, &first, &end);
	values = read_tensor(store, side, type, DG_TENSOR_ORIGINAL_ID, &n);
	assert_int_equal(n, end - first);
	assert_true(n == 0 || !memcmp(values, original + first, (size_t)n * sizeof *values));
	free(values);
	values = read_tensor(store, side, type, DG_TENSOR_INTERNAL_ID, &n);
	assert_int_equal(n, count * (part + 1) / o->n_parts - count * part / o->n_parts);
	assert_true(n == 0 || !memcmp(values, internal + count * part / o->n_parts,
				      (size_t)n * sizeof *values));
	free(values);
	values = read_tensor(store, side, type, "trainer_id", &n);
	if (o->n_trainers == 1)
		assert_null(values);
	else
		assert_int_equal(n, end - first);
	for (int64_t i = 0; values && i < n; i++) {
		dg_id of = original[first + i];
		dg_id node = side == DG_NODE ? of : o->graph->dst[type][of];

		assert_int_equal(values[i], o->graph->owners[node_type][node]);
		assert_int_equal(values[i] / o->n_trainers, part);
	}
	free(values);
}

static void check_data(const struct oracle *o, dg_store *store, uint32_t part)
{
	int64_t n;
	int64_t *values = read_tensor(store, DG_NODE, 0, "feat", &n);
	dg_id first, end;

	dg_book_range(dg_store_book(store), DG_NODE, 0, part, &first, &end);
	assert_int_equal(n, 2 * (end - first));
	for (int64_t i = 0; i < n; i++)
		assert_int_equal(values[i], 10 * o->node_original[0][first + i / 2] + i % 2);
	free(values);
}

static void no_finding(void *context, const dg_finding *finding)
{
	(void)context;
	fail_msg("%s: %s", finding->where, finding->what);
}

static void check_part(const struct oracle *o, const char *path, uint32_t part)
{
	const struct dgi_source *s = &o->graph->source;
	struct marks marks;
	dg_check_report report;
	dg_store *store;
	dg_error err = { 0 };

	assert_ok(dg_store_check(path, 1, no_finding, NULL, &report, &err), &err);
	assert_ok(dg_store_open(path, NULL, &store, &err), &err);
	oracle_halo(o, part, &marks);
	for (uint16_t t = 0; t < s->n_edge_types; t++) {
		check_own(o, store, part, t);
		check_halo_edges(o, store, &marks, t);
		check_ids(o, store, part, DG_EDGE, t);
	}
	for (uint16_t t = 0; t < s->n_node_types; t++) {
		check_halo_nodes(o, store, &marks, t);
		check_ids(o, store, part, DG_NODE, t);
	}
	check_data(o, store, part);
	dg_store_close(store);
}

static void check_report(const struct oracle *o, const dg_partition_report *r)
{
	const struct dgi_source *s = &o->graph->source;
	int64_t nodes = 0, edges = 0, cut = 0;

	for (uint16_t t = 0; t < s->n_node_types; t++)
		nodes += s->nodes[t].n;
	for (uint16_t t = 0; t < s->n_edge_types; t++) {
		edges += s->edges[t].n;
		for (int64_t e = 0; e < s->edges[t].n; e++)
			cut += owner_of(o, s->edges[t].src_type, o->graph->src[t][e]) !=
			       owner_of(o, s->edges[t].dst_type, o->graph->dst[t][e]);
	}
	assert_int_equal(r->n_nodes, nodes);
	assert_int_equal(r->n_edges, edges);
	assert_int_equal(r->edges_cut, cut);
	assert_true(r->node_balance >= 1 && r->edge_balance >= 1);
	assert_true(r->resumed);
}

static void check_cut(const struct oracle *o, const dg_partition_report *report)
{
	dg_cluster *cluster;
	dg_error err = { 0 };

	assert_ok(dg_cluster_open(report->cluster_path, &cluster, &err), &err);
	for (uint32_t p = 0; p < o->n_parts; p++)
		check_part(o, dg_cluster_part_path(cluster, p), p);
	dg_cluster_close(cluster);
	check_report(o, report);
}

/* --- Tests --- */

static void random_graphs_are_as_the_oracle_says(void **state)
{
	struct place *p = *state;
	const dg_input_edges edges[] = { { .path = p->edges } };

	for (uint64_t seed = 1; seed <= N_RUNS; seed++) {
		dg_partition_options options = { .input = { .edges = edges, .n_edges = 1 },
						 .output = p->output,
						 .method = "random",
						 .force = 1 };
		struct planted graph;
		struct oracle oracle = { .graph = &graph };
		dg_partition_report report;
		dg_error err = { 0 };

		print_message("seed %d\n", (int)seed);
		random_state = seed;
		oracle.n_parts = options.n_parts = (uint32_t)(1 + below(5));
		oracle.n_trainers = (uint32_t)(1 + below(3));
		options.n_trainers = oracle.n_trainers;
		oracle.hops = (uint32_t)below(4);
		options.halo_hops = oracle.hops ? oracle.hops : DG_HALO_NONE;
		options.memory_bytes = (uint64_t)16 << 20;
		random_graph(&graph, oracle.n_parts * oracle.n_trainers);
		give_data(&graph, p->data);
		plant(&graph, &options);
		assert_ok(dg_partition(&options, &report, &err), &err);
		oracle_make(&oracle);
		check_cut(&oracle, &report);
		oracle_clear(&oracle);
		planted_clear(&graph);
	}
}

/* The worked example of two partitions, 0 owning nodes 1, 3, 4 and 1 owning 0, 2, 5. */
static void plant_example(struct planted *g, const dg_partition_options *options)
{
	static const dg_id src[] = { 0, 1, 2, 2, 3, 4, 5, 4 };
	static const dg_id dst[] = { 1, 2, 0, 3, 4, 5, 3, 1 };
	static const uint16_t owners[] = { 1, 0, 1, 0, 0, 1 };
	struct dgi_source *s = &g->source;

	*g = (struct planted){ 0 };
	s->nodes = calloc(1, sizeof *s->nodes);
	s->edges = calloc(1, sizeof *s->edges);
	assert_true(s->nodes && s->edges);
	s->n_node_types = s->n_edge_types = 1;
	s->nodes[0] = (struct dgi_source_nodes){ .name = "_N", .n = 6 };
	s->edges[0] = (struct dgi_source_edges){ .relation = "_E", .n = 8 };
	g->src[0] = room(8);
	g->dst[0] = room(8);
	g->owners[0] = room(6);
	memcpy(g->src[0], src, sizeof src);
	memcpy(g->dst[0], dst, sizeof dst);
	memcpy(g->owners[0], owners, sizeof owners);
	plant(g, options);
}

static void assert_array(dg_store *store, dg_graph_array array, int64_t n, const int64_t *wanted)
{
	int64_t found;
	int64_t *values = read_array(store, 0, array, &found);

	assert_int_equal(found, n);
	for (int64_t i = 0; i < n; i++)
		assert_int_equal(values[i], wanted[i]);
	free(values);
}

#define assert_elements(store, array, ...) \
	assert_array(store, array, \
		     (int64_t)(sizeof((const int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t)), \
		     (const int64_t[]){ __VA_ARGS__ })

static dg_store *open_part(const dg_partition_report *report, uint32_t part)
{
	dg_cluster *cluster;
	dg_store *store;
	dg_error err = { 0 };

	assert_ok(dg_cluster_open(report->cluster_path, &cluster, &err), &err);
	assert_ok(dg_store_open(dg_cluster_part_path(cluster, part), NULL, &store, &err), &err);
	dg_cluster_close(cluster);
	return store;
}

static dg_partition_report partition_example(struct place *p, uint32_t halo_hops)
{
	const dg_input_edges edges[] = { { .path = p->edges } };
	const dg_partition_options options = { .input = { .edges = edges, .n_edges = 1 },
					       .n_parts = 2,
					       .output = p->output,
					       .halo_hops = halo_hops,
					       .force = 1 };
	struct planted graph;
	dg_partition_report report;
	dg_error err = { 0 };

	plant_example(&graph, &options);
	assert_ok(dg_partition(&options, &report, &err), &err);
	planted_clear(&graph);
	return report;
}

static void the_worked_example_of_one_hop(void **state)
{
	struct place *p = *state;
	dg_partition_report report = partition_example(p, 1);
	dg_store *store = open_part(&report, 0);

	assert_elements(store, DG_GRAPH_INDPTR, 0, 2, 4, 5);
	assert_elements(store, DG_GRAPH_INDICES, 3, 2, 4, 5, 1);
	assert_elements(store, DG_GRAPH_HALO_NODES, 3, 4, 5);
	assert_elements(store, DG_GRAPH_HALO_EDGES, 6, 7);
	assert_elements(store, DG_GRAPH_HALO_INDICES, 0, 2);
	assert_elements(store, DG_GRAPH_HALO_INDPTR, 0, 0, 1, 2);
	dg_store_close(store);
	store = open_part(&report, 1);
	assert_elements(store, DG_GRAPH_INDICES, 4, 0, 2);
	assert_elements(store, DG_GRAPH_HALO_NODES, 0, 1, 2);
	assert_elements(store, DG_GRAPH_HALO_EDGES, 0, 2, 3);
	assert_elements(store, DG_GRAPH_HALO_INDICES, 3, 4, 5);
	assert_elements(store, DG_GRAPH_HALO_INDPTR, 0, 1, 3, 3);
	dg_store_close(store);
	assert_int_equal(report.halo_nodes, 6);
	assert_int_equal(report.halo_edges, 5);
}

static void the_worked_example_of_two_hops_has_the_edge_between_halo_nodes(void **state)
{
	struct place *p = *state;
	dg_partition_report report = partition_example(p, 2);
	dg_store *store = open_part(&report, 0);

	assert_elements(store, DG_GRAPH_HALO_NODES, 3, 4, 5);
	assert_elements(store, DG_GRAPH_HALO_EDGES, 5, 6, 7);
	assert_elements(store, DG_GRAPH_HALO_INDICES, 4, 0, 2);
	assert_elements(store, DG_GRAPH_HALO_INDPTR, 0, 1, 2, 3);
	dg_store_close(store);
}

static void without_a_halo_there_are_own_edges_alone(void **state)
{
	struct place *p = *state;
	dg_partition_report report = partition_example(p, DG_HALO_NONE);
	dg_store *store = open_part(&report, 0);
	dg_dtype dtype;
	int64_t n;
	dg_error err = { 0 };

	assert_elements(store, DG_GRAPH_INDICES, 3, 2, 4, 5, 1);
	for (int array = DG_GRAPH_HALO_INDPTR; array <= DG_GRAPH_HALO_NODES; array++) {
		assert_ok(dg_store_graph_array(store, 0, (dg_graph_array)array, &dtype, &n, &err),
			  &err);
		assert_int_equal(n, 0);
	}
	assert_fails(dg_store_graph_array(store, 1, DG_GRAPH_HALO_NODES, &dtype, &n, &err),
		     DG_RANGE, &err, "node type 1: the graph has 1");
	dg_store_close(store);
	assert_int_equal(report.halo_nodes, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_place, remove_place)
		TEST(random_graphs_are_as_the_oracle_says),
		TEST(the_worked_example_of_one_hop),
		TEST(the_worked_example_of_two_hops_has_the_edge_between_halo_nodes),
		TEST(without_a_halo_there_are_own_edges_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
