/*
 * partition.c -- a graph into its stores, method random: the time of sorting the same edges by
 * (partition, destination) and writing them, over it; what stands in graph.mdb and in memory, over
 * what may; and with METIS, what is not METIS.
 *
 * The baseline is one stable merge sort of (key, edge) pairs, which does in one pass of half the
 * compares what NumPy's lexsort does in two indirect ones, and plain writes without a sync.
 */
#include "harness.h"
#include "tmpdir.h"

#include "rng.h"

#include <distgraph/array.h>
#include <distgraph/cluster.h>
#include <distgraph/partition.h>
#include <distgraph/store.h>

#include <inttypes.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define SCALE 17
#define N_NODES ((int64_t)1 << SCALE)
#define N_EDGES ((int64_t)2000000)
#define N_PARTS 4
#define PAIRS 15

struct graph {
	char *dir, *npy, *output;
	dg_id *pairs;
	uint16_t *owners;
	/* What the calls of progress have seen. */
	double began, cut_began, cut_ended;
	int64_t anonymous_max; /* bytes, above what there was before */
	int64_t anonymous_before;
};

/* --- The graph: R-MAT --- */

static void make_edge(struct dgi_rng *rng, dg_id *pair)
{
	pair[0] = pair[1] = 0;
	for (int level = 0; level < SCALE; level++) {
		double u = dgi_rng_unit(rng);

		pair[0] = 2 * pair[0] + (u >= 0.76);
		pair[1] = 2 * pair[1] + ((u >= 0.57 && u < 0.76) || u >= 0.95);
	}
	/* Degrees shall say nothing about ids. */
	pair[0] = (dg_id)((uint64_t)pair[0] * 0x9E3779B1U % (uint64_t)N_NODES);
	pair[1] = (dg_id)((uint64_t)pair[1] * 0x9E3779B1U % (uint64_t)N_NODES);
}

static void make_graph(struct graph *g)
{
	const int64_t shape[] = { N_EDGES, 2 };
	struct dgi_rng rng = dgi_rng_of(1, 0);
	dg_array_writer *w;
	dg_error err;

	g->dir = tmpdir_new();
	g->npy = tmpdir_path(g->dir, "edges.npy");
	g->output = tmpdir_path(g->dir, "graph");
	g->pairs = malloc(2 * sizeof *g->pairs * (size_t)N_EDGES);
	g->owners = malloc(sizeof *g->owners * (size_t)N_NODES);
	if (!g->pairs || !g->owners)
		bench_fail("out of memory");
	for (int64_t e = 0; e < N_EDGES; e++)
		make_edge(&rng, g->pairs + 2 * e);
	for (int64_t v = 0; v < N_NODES; v++)
		g->owners[v] = (uint16_t)dgi_rng_below(&rng, N_PARTS);
	if (dg_array_writer_open(g->npy, DG_INT64, 2, shape, &w, &err) ||
	    dg_array_writer_append(w, g->pairs, 2 * sizeof *g->pairs * (size_t)N_EDGES, &err) ||
	    dg_array_writer_close(w, 1, &err))
		bench_fail("%s", err.text);
}

/* --- Ours --- */

static int64_t anonymous_bytes(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[256];
	int64_t kib = 0;

	while (f && fgets(line, sizeof line, f))
		if (sscanf(line, "RssAnon: %" SCNd64, &kib) == 1)
			break;
	if (f)
		(void)fclose(f);
	return kib * 1024;
}

static int watch(void *context, const char *phase, uint64_t done, uint64_t total)
{
	struct graph *g = context;
	int64_t more = anonymous_bytes() - g->anonymous_before;

	(void)done;
	(void)total;
	if (strcmp(phase, "cut") != 0 && g->cut_began > 0 && g->cut_ended == 0)
		g->cut_ended = bench_wall_seconds();
	if (strcmp(phase, "cut") == 0 && g->cut_began == 0)
		g->cut_began = bench_wall_seconds();
	if (more > g->anonymous_max)
		g->anonymous_max = more;
	return 0;
}

static double partition(struct graph *g, const char *method, bool watched,
			dg_partition_report *report)
{
	const dg_input_edges edges[] = { { .path = g->npy } };
	const dg_input_nodes nodes[] = { { .count = N_NODES } };
	const dg_partition_options options = {
		.input = { .edges = edges, .n_edges = 1, .nodes = nodes, .n_nodes = 1 },
		.n_parts = N_PARTS,
		.output = g->output,
		.method = method,
		.force = 1,
		.progress = watched ? watch : NULL,
		.progress_context = g
	};
	double began;
	dg_error err;

	(void)malloc_trim(0); /* what is free shall not hide what is taken */
	g->anonymous_before = anonymous_bytes();
	g->anonymous_max = 0;
	g->cut_began = g->cut_ended = 0;
	began = bench_wall_seconds();
	if (dg_partition(&options, report, &err))
		bench_fail("%s", err.text);
	return bench_wall_seconds() - began;
}

static double by_random(void *context, uint64_t round)
{
	dg_partition_report report;

	(void)round;
	return partition(context, "random", false, &report);
}

/* --- The baseline --- */

struct keyed {
	uint64_t key;
	int64_t edge;
};

static void merge(const struct keyed *a, size_t n_a, const struct keyed *b, size_t n_b,
		  struct keyed *out)
{
	while (n_a > 0 && n_b > 0)
		if (b->key < a->key) {
			*out++ = *b++;
			n_b--;
		} else {
			*out++ = *a++;
			n_a--;
		}
	memcpy(out, a, n_a * sizeof *out);
	memcpy(out + n_a, b, n_b * sizeof *out);
}

/* Stable; returns where the sorted ones are. */
static struct keyed *merge_sort(struct keyed *from, struct keyed *to, size_t n)
{
	for (size_t run = 1; run < n; run *= 2) {
		struct keyed *t = from;

		for (size_t at = 0; at < n; at += 2 * run) {
			size_t n_a = n - at < run ? n - at : run;
			size_t n_b = n - at - n_a < run ? n - at - n_a : run;

			merge(from + at, n_a, from + at + n_a, n_b, to + at);
		}
		from = to;
		to = t;
	}
	return from;
}

static void write_sorted(const struct graph *g, const struct keyed *sorted)
{
	char *path = tmpdir_path(g->dir, "sorted");
	FILE *f = fopen(path, "wb");
	dg_id *out = malloc(2 * sizeof *out * (size_t)N_EDGES);

	if (!f || !out)
		bench_fail("cannot write '%s'", path);
	for (int64_t e = 0; e < N_EDGES; e++)
		memcpy(out + 2 * e, g->pairs + 2 * sorted[e].edge, 2 * sizeof *out);
	if (fwrite(out, 2 * sizeof *out, (size_t)N_EDGES, f) != (size_t)N_EDGES || fclose(f) != 0)
		bench_fail("cannot write '%s'", path);
	free(out);
	free(path);
}

static double by_sorting(void *context, uint64_t round)
{
	const struct graph *g = context;
	struct keyed *a = malloc(sizeof *a * (size_t)N_EDGES);
	struct keyed *b = malloc(sizeof *b * (size_t)N_EDGES);
	double began = bench_wall_seconds();
	double seconds;

	(void)round;
	if (!a || !b)
		bench_fail("out of memory");
	for (int64_t e = 0; e < N_EDGES; e++) {
		dg_id dst = g->pairs[2 * e + 1];

		a[e] = (struct keyed){ (uint64_t)g->owners[dst] << 32 | (uint64_t)dst, e };
	}
	write_sorted(g, merge_sort(a, b, (size_t)N_EDGES));
	seconds = bench_wall_seconds() - began;
	free(a);
	free(b);
	return seconds;
}

/* --- What is stored --- */

static int64_t structure_bytes(const struct graph *g)
{
	int64_t bytes = 0;

	for (int p = 0; p < N_PARTS; p++) {
		char name[32];
		char *path;
		struct stat info;

		(void)snprintf(name, sizeof name, "part%d/graph.mdb", p);
		path = tmpdir_path(g->output, name);
		if (stat(path, &info) != 0)
			bench_fail("no '%s'", path);
		bytes += info.st_size;
		free(path);
	}
	return bytes;
}

static void print_structure(const struct graph *g, const dg_partition_report *r)
{
	int64_t may = 4 * (r->n_edges + r->halo_edges) + 9 * r->n_nodes + 8 * r->halo_nodes;
	int64_t ids = 4 * r->halo_edges;
	int64_t bytes = structure_bytes(g);

	printf("graph.mdb: %" PRId64 " bytes, %" PRId64 " of them ids of halo edges; %" PRId64
	       " may be beyond ids\n",
	       bytes, ids, may);
	bench_value("partition_structure_bytes", (double)may / (double)(bytes - ids));
}

int main(void)
{
	struct graph g = { 0 };
	dg_partition_report report;
	double seconds;

	make_graph(&g);
	bench_ratio("partition_random", PAIRS, by_random, by_sorting, &g);
	seconds = partition(&g, "random", true, &report);
	printf("%.2f s for %" PRId64 " edges: %.2f M edges a second\n", seconds, report.n_edges,
	       (double)report.n_edges / seconds / 1e6);
	bench_value("partition_memory", 24 * (double)report.n_edges / (double)g.anonymous_max);
	print_structure(&g, &report);
	seconds = partition(&g, "metis", true, &report);
	printf("with METIS %.2f s, of which the cut %.2f s\n", seconds, g.cut_ended - g.cut_began);
	bench_value("partition_outside_metis",
		    0.35 * seconds / (seconds - (g.cut_ended - g.cut_began)));
	free(g.pairs);
	free(g.owners);
	free(g.npy);
	free(g.output);
	tmpdir_remove(g.dir);
	return 0;
}
