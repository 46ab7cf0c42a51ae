/*
 * cut.c -- how good is method stream? Edges cut by METIS (on a stochastic block model and on
 * Debian's packages) and at random (on citations), over those cut by it; and how even its
 * partitions are: 1.05 over the largest one's share.
 */
#include "harness.h"
#include "made_source.h"
#include "tmpdir.h"

#include "assign.h"
#include "input.h"
#include "npy_file.h"
#include "rng.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define SEED 1

/* --- Graphs --- */

#define SBM_NODES 200000
#define SBM_EDGES 2000000
#define SBM_BLOCKS 32
#define SBM_INSIDE 0.8

static void make_sbm(struct dgi_source *source, const char *dir)
{
	struct dgi_rng rng = dgi_rng_of(SEED, 0);
	dg_id *pairs = malloc(2 * sizeof *pairs * SBM_EDGES);

	if (!pairs)
		bench_fail("out of memory");
	for (int64_t e = 0; e < SBM_EDGES; e++) {
		dg_id u = (dg_id)dgi_rng_below(&rng, SBM_NODES);
		dg_id v = (dg_id)dgi_rng_below(&rng, SBM_NODES);

		if (dgi_rng_unit(&rng) < SBM_INSIDE) /* node v is in block v % SBM_BLOCKS */
			v = v / SBM_BLOCKS * SBM_BLOCKS + u % SBM_BLOCKS;
		pairs[2 * e] = u;
		pairs[2 * e + 1] = v < SBM_NODES ? v : u;
	}
	made_source_add_nodes(source, "_N", SBM_NODES);
	made_source_add_edges(source, dir, 0, "_E", 0, pairs, SBM_EDGES);
	free(pairs);
}

/* The edges of a data set, an int64 array of shape (E,2); NULL if there is no such file. */
static dg_id *load_edges(const char *path, int64_t *n)
{
	struct dgi_input in = { 0 };
	struct dgi_npy npy;
	void *data = NULL;
	dg_error err;
	dg_status st = dgi_input_open(path, &in, NULL);

	if (st)
		return NULL;
	st = dgi_npy_read(&in, NULL, 0, &npy, &data, &err);
	if (st || npy.rank != 2 || npy.shape[1] != 2 || npy.item_bytes != 8)
		bench_fail("%s: %s", path, st ? err.text : "no pairs of int64");
	dgi_input_close(&in);
	*n = npy.shape[0];
	return data;
}

static dg_id *load_edges_of(const char *data_set, const char *name, int64_t *n)
{
	char path[4096];
	dg_id *edges;

	snprintf(path, sizeof path, "%s/%s/%s.npy", SHARED_DATA, data_set, name);
	edges = load_edges(path, n);
	if (edges)
		return edges;
	snprintf(path, sizeof path, "%s/%s/%s.npy.gz", SHARED_DATA, data_set, name);
	return load_edges(path, n);
}

static int64_t largest_of(const dg_id *ids, int64_t n, int64_t step)
{
	dg_id largest = -1;

	for (int64_t i = 0; i < n; i += step)
		if (ids[i] > largest)
			largest = ids[i];
	return largest;
}

static bool make_citations(struct dgi_source *source, const char *dir, const char *data_set)
{
	int64_t n;
	dg_id *pairs = load_edges_of(data_set, "edges", &n);

	if (!pairs)
		return false;
	made_source_add_nodes(source, "_N", largest_of(pairs, 2 * n, 1) + 1);
	made_source_add_edges(source, dir, 0, "_E", 0, pairs, n);
	free(pairs);
	return true;
}

static bool make_debian(struct dgi_source *source, const char *dir)
{
	static const struct {
		const char *name;
		int64_t n;
	} types[] = { { "package", 63681 },
		      { "virtual", 43857 },
		      { "source", 34204 },
		      { "maintainer", 2099 } };
	static const struct {
		const char *relation;
		uint16_t src, dst;
	} edges[] = {
		{ "pre_depends", 0, 0 }, { "pre_depends", 0, 1 }, { "depends", 0, 0 },
		{ "depends", 0, 1 },	 { "recommends", 0, 0 },  { "recommends", 0, 1 },
		{ "suggests", 0, 0 },	 { "suggests", 0, 1 },	  { "enhances", 0, 0 },
		{ "enhances", 0, 1 },	 { "breaks", 0, 0 },	  { "breaks", 0, 1 },
		{ "conflicts", 0, 0 },	 { "conflicts", 0, 1 },	  { "replaces", 0, 0 },
		{ "replaces", 0, 1 },	 { "provides", 0, 0 },	  { "provides", 0, 1 },
		{ "built_from", 0, 2 },	 { "built_using", 0, 2 }, { "maintained_by", 2, 3 },
	};

	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		made_source_add_nodes(source, types[i].name, types[i].n);
	for (size_t i = 0; i < sizeof edges / sizeof *edges; i++) {
		char name[256];
		int64_t n;
		dg_id *pairs;

		snprintf(name, sizeof name, "edges_%s__%s__%s", types[edges[i].src].name,
			 edges[i].relation, types[edges[i].dst].name);
		pairs = load_edges_of("debian", name, &n);
		if (!pairs)
			return false;
		made_source_add_edges(source, dir, edges[i].src, edges[i].relation, edges[i].dst,
				      pairs, n);
		free(pairs);
	}
	return true;
}

/* --- Cutting them --- */

static struct dgi_assign_report assign(const struct dgi_source *source, const char *dir,
				       const char *method, uint32_t n_parts)
{
	const struct dgi_assign_request request = {
		.source = source, .work = dir, .method = method, .n_parts = n_parts, .seed = SEED
	};
	uint16_t **owners = made_owners_new(source);
	struct dgi_assign_report report;
	double begun = bench_wall_seconds();
	dg_error err;

	if (dgi_assign(&request, owners, &report, &err))
		bench_fail("%s", err.text);
	printf("# %-7s %3" PRIu32 " parts: %8" PRId64 " of %8" PRId64
	       " edges cut, balance %.3f nodes %.3f edges, %3" PRIu32 " passes, %.2f s\n",
	       method, n_parts, report.edges_cut, report.n_edges, report.node_balance,
	       report.edge_balance, report.n_passes, bench_wall_seconds() - begun);
	made_owners_free(source, owners);
	return report;
}

static void compare(const char *name, const struct dgi_source *source, const char *dir,
		    const char *baseline, uint32_t n_parts)
{
	struct dgi_assign_report other = assign(source, dir, baseline, n_parts);
	struct dgi_assign_report stream = assign(source, dir, "stream", n_parts);
	char line[128];

	snprintf(line, sizeof line, "cut/%s-%" PRIu32 "-%s", name, n_parts, baseline);
	bench_value(line, (double)other.edges_cut / (double)stream.edges_cut);
	snprintf(line, sizeof line, "cut/%s-%" PRIu32 "-balance", name, n_parts);
	bench_value(line, 1.05 / stream.node_balance);
}

static void compare_all(const char *name,
			bool (*make)(struct dgi_source *, const char *, const char *),
			const char *baseline)
{
	static const uint32_t parts[] = { 2, 4, 8, 32 };
	struct dgi_source source = { 0 };
	char *dir = tmpdir_new();

	if (make(&source, dir, name))
		for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
			compare(name, &source, dir, baseline, parts[i]);
	else
		printf("# no data set %s: left out\n", name);
	dgi_source_clear(&source);
	tmpdir_remove(dir);
}

static bool sbm(struct dgi_source *source, const char *dir, const char *name)
{
	(void)name;
	make_sbm(source, dir);
	return true;
}

static bool debian(struct dgi_source *source, const char *dir, const char *name)
{
	(void)name;
	return make_debian(source, dir);
}

static bool citations(struct dgi_source *source, const char *dir, const char *name)
{
	return make_citations(source, dir, name);
}

int main(void)
{
	compare_all("sbm", sbm, "metis");
	compare_all("debian", debian, "metis");
	compare_all("cora", citations, "random");
	compare_all("pubmed", citations, "random");
	compare_all("cora", citations, "metis");
	compare_all("pubmed", citations, "metis");
	return 0;
}
