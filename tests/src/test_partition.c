/* What <distgraph/partition.h> promises. */
#include "test.h"
#include "tmpdir.h"

#include "cut_graph.h"
#include "files.h"

#include <distgraph/array.h>
#include <distgraph/cluster.h>
#include <distgraph/partition.h>
#include <distgraph/store.h>

#include <dirent.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define KARATE TEST_DATA "/karate.csv"
#define KARATE_NODES 34
#define KARATE_EDGES 78

/* A directory for each test: the input beside the output. */
struct place {
	char *dir;
	char *edges;  /* path of an edge file to be written */
	char *output; /* path of the output, not there yet */
	char *feat;
	char *weight;
};

static int make_place(void **state)
{
	struct place *p = calloc(1, sizeof *p);

	assert_non_null(p);
	p->dir = tmpdir_new();
	p->edges = tmpdir_path(p->dir, "edges.csv");
	p->output = tmpdir_path(p->dir, "graph");
	p->feat = tmpdir_path(p->dir, "feat.npy");
	p->weight = tmpdir_path(p->dir, "weight.npy");
	*state = p;
	return 0;
}

static int remove_place(void **state)
{
	struct place *p = *state;

	free(p->edges);
	free(p->output);
	free(p->feat);
	free(p->weight);
	tmpdir_remove(p->dir);
	free(p);
	return 0;
}

static void write_text(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

/* Features as assert_is_cut() wants them. */
static void write_features(const struct place *p, int64_t n_nodes, int64_t n_edges)
{
	const int64_t feat_shape[] = { n_nodes, 3 };
	dg_array_writer *w;
	dg_error err = { 0 };

	assert_ok(dg_array_writer_open(p->feat, DG_FLOAT32, 2, feat_shape, &w, &err), &err);
	for (int64_t i = 0; i < n_nodes; i++) {
		const float row[] = { (float)(10 * i), (float)(10 * i + 1), (float)(10 * i + 2) };

		assert_ok(dg_array_writer_append(w, row, sizeof row, &err), &err);
	}
	assert_ok(dg_array_writer_close(w, 1, &err), &err);
	assert_ok(dg_array_writer_open(p->weight, DG_INT64, 1, &n_edges, &w, &err), &err);
	for (int64_t i = 0; i < n_edges; i++) {
		const int64_t row = 100 * i;

		assert_ok(dg_array_writer_append(w, &row, sizeof row, &err), &err);
	}
	assert_ok(dg_array_writer_close(w, 1, &err), &err);
}

/* A bfloat16 a node. */
static void write_bits(const char *path)
{
	static const int64_t shape[] = { KARATE_NODES };
	uint16_t bits[KARATE_NODES];
	dg_array_writer *w;
	dg_error err = { 0 };

	for (int i = 0; i < KARATE_NODES; i++)
		bits[i] = (uint16_t)(0x3f80 + i);
	assert_ok(dg_array_writer_open(path, DG_BFLOAT16, 1, shape, &w, &err), &err);
	assert_ok(dg_array_writer_append(w, bits, sizeof bits, &err), &err);
	assert_ok(dg_array_writer_close(w, 1, &err), &err);
}

/* What the library reads with one parser is read here with another. */
static void read_karate(dg_id src[KARATE_EDGES], dg_id dst[KARATE_EDGES])
{
	FILE *f = fopen(KARATE, "r");
	char line[100];
	int n = 0;

	assert_non_null(f);
	while (fgets(line, sizeof line, f)) {
		long s, d;

		if (sscanf(line, "%ld,%ld", &s, &d) != 2)
			continue;
		assert_true(n < KARATE_EDGES);
		src[n] = s;
		dst[n++] = d;
	}
	(void)fclose(f);
	assert_int_equal(n, KARATE_EDGES);
}

/* How many names the directory has, "." and ".." not counted. */
static int n_names(const char *dir)
{
	struct dirent **entries;
	int n = scandir(dir, &entries, NULL, NULL);

	for (int i = 0; i < n; i++)
		free(entries[i]);
	if (n >= 0)
		free(entries);
	return n - 2;
}

static void tree_remove(const char *path)
{
	dg_error err = { 0 };

	assert_ok(dgi_tree_remove(path, &err), &err);
}

static dg_partition_options options_of(const dg_input_edges *edges, uint32_t n_parts,
				       const char *output)
{
	return (dg_partition_options){ .input = { .edges = edges, .n_edges = 1 },
				       .n_parts = n_parts,
				       .output = output };
}

/* How many nodes there are; 0: not told. */
static void tell_nodes(dg_partition_options *o, int64_t n)
{
	static dg_input_nodes nodes;

	nodes = (dg_input_nodes){ .count = n };
	o->input.nodes = &nodes;
	o->input.n_nodes = n != 0;
}

/* --- What is made --- */

static void karate_club_is_cut_by_both_methods(void **state)
{
	static const char *const methods[] = { "metis", "random" };
	static const uint32_t parts[] = { 1, 2, 4, 34 };
	const struct place *p = *state;
	const dg_input_edges edges[] = { { .path = KARATE } };
	const dg_input_data feat = { .name = "feat", .path = p->feat };
	const dg_input_data weight = { .type = "_N:_E:_N", .name = "weight", .path = p->weight };
	dg_id src[KARATE_EDGES], dst[KARATE_EDGES];
	const struct edge_list list = { KARATE_NODES, KARATE_EDGES, src, dst };

	read_karate(src, dst);
	write_features(p, KARATE_NODES, KARATE_EDGES);
	for (int m = 0; m < 2; m++)
		for (int i = 0; i < 4; i++) {
			dg_partition_options o = options_of(edges, parts[i], p->output);
			dg_partition_report report;
			dg_error err = { 0 };

			o.method = methods[m];
			o.input.node_data = &feat;
			o.input.edge_data = &weight;
			o.input.n_node_data = o.input.n_edge_data = 1;
			o.force = 1;
			assert_ok(dg_partition(&o, &report, &err), &err);
			assert_int_equal(report.n_nodes, KARATE_NODES);
			assert_int_equal(report.n_edges, KARATE_EDGES);
			assert_is_cut(report.cluster_path, parts[i], &list, report.edges_cut);
			if (m == 0 && parts[i] == 2)
				assert_in_range(report.edges_cut, 8, 15); /* 10 is known */
		}
}

static void duplicates_loops_and_isolated_nodes_are_kept(void **state)
{
	static const dg_id src[] = { 0, 0, 3, 3, 3, 5, 0 };
	static const dg_id dst[] = { 1, 1, 3, 3, 0, 1, 1 };
	static const struct edge_list list = { 9, 7, src, dst };
	const struct place *p = *state;
	const dg_input_edges edges[] = { { .path = p->edges } };
	dg_partition_options o = options_of(edges, 3, p->output);
	dg_partition_report report;
	dg_error err = { 0 };

	write_text(p->edges, "0,1\n0,1\n3,3\n3,3\n3,0\n5,1\n0,1\n");
	tell_nodes(&o, 9);
	assert_ok(dg_partition(&o, &report, &err), &err);
	assert_is_cut(report.cluster_path, 3, &list, report.edges_cut);
}

static void a_graph_without_edges_is_cut_when_its_nodes_are_told(void **state)
{
	static const struct edge_list list = { 5, 0, NULL, NULL };
	const struct place *p = *state;
	const dg_input_edges edges[] = { { .path = p->edges } };
	dg_partition_options o = options_of(edges, 5, p->output);
	dg_partition_report report;
	dg_error err = { 0 };

	write_text(p->edges, "# nobody knows anybody\n");
	assert_fails(dg_partition(&o, &report, &err), DG_INVALID, &err, "no edges");
	tell_nodes(&o, 5);
	assert_ok(dg_partition(&o, &report, &err), &err);
	assert_is_cut(report.cluster_path, 5, &list, 0);
}

static void several_files_are_one_graph(void **state)
{
	static const dg_id src[] = { 0, 1, 2 };
	static const dg_id dst[] = { 1, 2, 0 };
	static const struct edge_list list = { 3, 3, src, dst };
	const struct place *p = *state;
	char *more = tmpdir_path(p->dir, "more.tsv");
	const dg_input_edges edges[] = { { .path = p->edges }, { .path = more } };
	dg_partition_options o = options_of(edges, 2, p->output);
	dg_partition_report report;
	dg_error err = { 0 };

	write_text(p->edges, "0,1\n1,2\n");
	write_text(more, "src\tdst\n2\t0\n");
	o.input.n_edges = 2;
	assert_ok(dg_partition(&o, &report, &err), &err);
	assert_is_cut(report.cluster_path, 2, &list, report.edges_cut);
	free(more);
}

static void the_first_node_feature_tells_the_number_of_nodes(void **state)
{
	static const dg_id src[] = { 0 };
	static const dg_id dst[] = { 1 };
	static const struct edge_list list = { 6, 1, src, dst };
	const struct place *p = *state;
	const dg_input_edges edges[] = { { .path = p->edges } };
	const dg_input_data feat = { .type = "_N", .name = "feat", .path = p->feat };
	dg_partition_options o = options_of(edges, 2, p->output);
	dg_partition_report report;
	dg_error err = { 0 };

	write_features(p, 6, 1);
	write_text(p->edges, "0,1\n");
	o.input.node_data = &feat;
	o.input.n_node_data = 1;
	assert_ok(dg_partition(&o, &report, &err), &err);
	assert_is_cut(report.cluster_path, 2, &list, report.edges_cut);
	write_text(p->edges, "0,1\n5,6\n");
	o.force = 1;
	assert_fails(dg_partition(&o, &report, &err), DG_RANGE, &err,
		     ":2: node id 6, want less than 6");
	assert_fails(dg_partition(&o, &report, &err), DG_RANGE, &err,
		     "6, the number of nodes by the rows of node feature 'feat' in '");
	assert_non_null(strstr(err.text, p->feat));
	tell_nodes(&o, 6); /* the reason is not the feature */
	assert_fails(dg_partition(&o, &report, &err), DG_RANGE, &err, "node id 6");
	assert_null(strstr(err.text, p->feat));
}

static void the_same_seed_gives_the_same_cut_and_other_uuids(void **state)
{
	const struct place *p = *state;
	const dg_input_edges edges[] = { { .path = KARATE } };
	char *twin = tmpdir_path(p->dir, "twin");
	dg_partition_options o = options_of(edges, 4, p->output);
	dg_partition_report report;
	dg_cluster *a, *b;
	dg_uuid x, y;
	dg_error err = { 0 };

	o.seed = 7;
	o.graph_name = "karate club";
	assert_ok(dg_partition(&o, &report, &err), &err);
	assert_non_null(strstr(report.cluster_path, "/graph/karate club.json"));
	assert_ok(dg_cluster_open(report.cluster_path, &a, &err), &err);
	assert_string_equal(dg_cluster_graph_name(a), "karate club");
	o.output = twin;
	assert_ok(dg_partition(&o, &report, &err), &err);
	assert_ok(dg_cluster_open(report.cluster_path, &b, &err), &err);
	for (uint32_t part = 0; part < 4; part++) {
		dg_id start[2], end[2];

		dg_book_range(dg_cluster_book(a), DG_EDGE, 0, part, &start[0], &end[0]);
		dg_book_range(dg_cluster_book(b), DG_EDGE, 0, part, &start[1], &end[1]);
		assert_int_equal(start[0], start[1]);
		assert_int_equal(end[0], end[1]);
	}
	x = dg_cluster_uuid(a);
	y = dg_cluster_uuid(b);
	assert_memory_not_equal(&x, &y, sizeof x);
	dg_cluster_close(a);
	dg_cluster_close(b);
	free(twin);
}

/* --- What is refused; nothing is left of it --- */

static void assert_refused(const struct place *p, const dg_partition_options *o, dg_status status,
			   const char *text)
{
	const int before = n_names(p->dir);
	dg_partition_report report;
	dg_error err = { 0 };

	assert_fails(dg_partition(o, &report, &err), status, &err, text);
	assert_int_equal(n_names(p->dir), before);
}

static void bad_edge_files_are_refused_by_file_and_line(void **state)
{
	static const struct {
		const char *text;
		dg_status status;
		const char *what;
	} bad[] = {
		{ "", DG_INVALID, "no edges" },
		{ "0,1\n1,2,3\n", DG_INVALID, "edges.csv:2: 3 columns, want 2" },
		{ "0,1\n1,x\n", DG_INVALID, "edges.csv:2: found 'x'" },
		{ "0,1\n1,-2\n", DG_RANGE, "edges.csv:2: node id -2 is negative" },
		{ "0,1000000000000000000\n", DG_NOMEM, "1000000000000000001 nodes" },
	};
	const struct place *p = *state;
	const dg_input_edges edges[] = { { .path = p->edges } };
	dg_partition_options o = options_of(edges, 3, p->output);

	o.method = "random";
	assert_refused(p, &o, DG_NOTFOUND, "edges.csv");
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		write_text(p->edges, bad[i].text);
		assert_refused(p, &o, bad[i].status, bad[i].what);
	}
	write_text(p->edges, "0,1\n2,3\n");
	tell_nodes(&o, 3);
	assert_refused(p, &o, DG_RANGE, "edges.csv:2: node id 3, want less than 3");
}

static void bad_options_are_refused(void **state)
{
	const struct place *p = *state;
	const dg_input_edges edges[] = { { .path = KARATE } };
	const dg_partition_options good = options_of(edges, 2, p->output);
	dg_partition_options o = good;

	o.input.n_edges = 0;
	assert_refused(p, &o, DG_INVALID, "no edge file");
	o = good;
	o.n_parts = 0;
	assert_refused(p, &o, DG_INVALID, "0 partitions, want 1 to 4096");
	o.n_parts = DG_PARTS_MAX + 1;
	assert_refused(p, &o, DG_INVALID, "4097 partitions");
	o = good;
	o.n_trainers = 32768;
	assert_refused(p, &o, DG_INVALID, "32768 trainers for each of 2 partitions");
	o = good;
	o.halo_hops = DG_HALO_HOPS_MAX + 1;
	assert_refused(p, &o, DG_INVALID, "a halo of 65 hops, want at most 64");
	o = good;
	o.memory_bytes = (16U << 20) - 1;
	assert_refused(p, &o, DG_INVALID, "memory of 16777215 bytes, want 16777216 or more");
	o = good;
	o.method = "magic";
	assert_refused(p, &o, DG_NOTFOUND, "magic");
	o = good;
	tell_nodes(&o, -2);
	assert_refused(p, &o, DG_INVALID, "-2 nodes");
	tell_nodes(&o, 33);
	assert_refused(p, &o, DG_RANGE, "node id 33, want less than 33");
	o = good;
	o.output = "";
	assert_refused(p, &o, DG_INVALID, "no output");
	o.output = "..";
	assert_refused(p, &o, DG_INVALID, "'..'");
	o.output = "/";
	assert_refused(p, &o, DG_INVALID, "'/'");
	o = good;
	o.graph_name = "a/b";
	assert_refused(p, &o, DG_INVALID, "graph name 'a/b'");
	o.graph_name = "";
	assert_refused(p, &o, DG_INVALID, "graph name");
	o = good;
	o.output = "/nowhere/at/all";
	assert_refused(p, &o, DG_NOTFOUND, "/nowhere/at/all");
}

static void bad_features_are_refused_by_name(void **state)
{
	const struct place *p = *state;
	const dg_input_edges edges[] = { { .path = KARATE } };
	dg_input_data data[] = { { .name = "feat", .path = p->feat },
				 { .name = "feat", .path = p->feat } };
	const dg_partition_options good = options_of(edges, 2, p->output);
	dg_partition_options o = good;
	char *bits = tmpdir_path(p->dir, "bits.npy");

	write_bits(bits);
	write_features(p, KARATE_NODES, KARATE_EDGES - 1);
	o.input.node_data = data;
	o.input.n_node_data = 2;
	assert_refused(p, &o, DG_INVALID, "node feature 'feat' is given twice");
	o.input.n_node_data = 1;
	tell_nodes(&o, 35);
	assert_refused(p, &o, DG_MISMATCH, "has 34 rows, want 35, one per node");
	tell_nodes(&o, 0);
	data[0].name = "_ORIGINAL_ID";
	assert_refused(p, &o, DG_INVALID, "'_ORIGINAL_ID'");
	data[0].name = "_INTERNAL_ID_2";
	assert_refused(p, &o, DG_INVALID, "'_INTERNAL_ID_2'");
	data[0].name = "a\nb";
	assert_refused(p, &o, DG_INVALID, "control character");
	data[0].name = "feat";
	data[0].type = "person";
	assert_refused(p, &o, DG_NOTFOUND, "no node type 'person', want _N");
	data[0].type = NULL;
	data[0].path = KARATE;
	assert_refused(p, &o, DG_INVALID, "not a .npy file");
	data[0].path = "/nowhere.npy";
	assert_refused(p, &o, DG_NOTFOUND, "/nowhere.npy");
	data[0].path = p->feat;
	data[0].bfloat16 = 1;
	assert_refused(p, &o, DG_MISMATCH, "float32 values, want the bits of bfloat16");
	data[0].path = bits;
	data[0].bfloat16 = 0;
	assert_refused(p, &o, DG_UNSUPPORTED, "no tensor has uint16");
	o = good;
	data[0] = (dg_input_data){ .name = "weight", .path = p->weight };
	o.input.edge_data = data;
	o.input.n_edge_data = 1;
	assert_refused(p, &o, DG_MISMATCH, "weight.npy' has 77 rows, want 78, one per edge");
	free(bits);
}

static void an_existing_output_is_replaced_only_by_force(void **state)
{
	const struct place *p = *state;
	const dg_input_edges edges[] = { { .path = KARATE } };
	dg_partition_options o = options_of(edges, 4, p->output);
	dg_partition_report report;
	dg_id src[KARATE_EDGES], dst[KARATE_EDGES];
	const struct edge_list list = { KARATE_NODES, KARATE_EDGES, src, dst };
	dg_error err = { 0 };

	read_karate(src, dst);
	assert_ok(dg_partition(&o, &report, &err), &err);
	assert_refused(p, &o, DG_EXISTS, "/graph' exists");
	o.force = 1;
	tell_nodes(&o, 33); /* fails: what is there stays whole */
	assert_refused(p, &o, DG_RANGE, "node id 33");
	assert_is_cut(report.cluster_path, 4, &list, report.edges_cut);
	tell_nodes(&o, 0);
	o.n_parts = 2;
	assert_ok(dg_partition(&o, &report, &err), &err);
	assert_is_cut(report.cluster_path, 2, &list, report.edges_cut);
	assert_int_equal(n_names(p->output), 3); /* parts 2 and 3 are gone */
	assert_int_equal(n_names(p->dir), 1);
}

static void force_replaces_nothing_but_a_partitioned_graph(void **state)
{
	const struct place *p = *state;
	const dg_input_edges edges[] = { { .path = KARATE } };
	dg_partition_options o = options_of(edges, 2, p->output);
	char *letter = tmpdir_path(p->output, "letter.txt");
	dg_error err = { 0 };

	o.force = 1;
	write_text(p->output, "a file\n");
	assert_refused(p, &o, DG_EXISTS, "is no directory");
	assert_int_equal(unlink(p->output), 0);
	assert_int_equal(mkdir(p->output, 0700), 0);
	write_text(letter, "dear\n");
	assert_refused(p, &o, DG_EXISTS, "'letter.txt'");
	assert_int_equal(access(letter, F_OK), 0);
	assert_int_equal(unlink(letter), 0);
	assert_ok(dg_partition(&o, NULL, &err), &err); /* an empty directory is nobody's */
	free(letter);
}

/* --- Progress --- */

struct watcher {
	int calls;
	int stop_at; /* call number, 0 for never */
	char phases[200];
	uint64_t done;
	uint64_t total;
};

static int watch(void *context, const char *phase, uint64_t done, uint64_t total)
{
	struct watcher *w = context;
	size_t n = strlen(w->phases);

	if (!strstr(w->phases, phase)) {
		(void)snprintf(w->phases + n, sizeof w->phases - n, "%s;", phase);
		w->done = 0;
	}
	assert_true(done >= w->done);
	assert_true(total == 0 || done <= total);
	w->done = done;
	w->total = total;
	return ++w->calls == w->stop_at;
}

static void progress_tells_each_phase_to_its_end(void **state)
{
	const struct place *p = *state;
	const dg_input_edges edges[] = { { .path = KARATE } };
	dg_partition_options o = options_of(edges, 2, p->output);
	struct watcher w = { 0 };
	dg_error err = { 0 };

	o.progress = watch;
	o.progress_context = &w;
	assert_ok(dg_partition(&o, NULL, &err), &err);
	assert_string_equal(w.phases, "read;cut;sort;write;verify;");
	assert_true(w.done > 0 && w.done == w.total);
}

/* Cancelled at each call of progress in turn, and called again. */
static void a_call_cancelled_anywhere_goes_on_when_it_is_called_again(void **state)
{
	const struct place *p = *state;
	const dg_input_edges edges[] = { { .path = KARATE } };
	const dg_input_data feat = { .name = "feat", .path = p->feat };
	const dg_input_data weight = { .name = "weight", .path = p->weight };
	dg_partition_options o = options_of(edges, 2, p->output);
	dg_id src[KARATE_EDGES], dst[KARATE_EDGES];
	const struct edge_list list = { KARATE_NODES, KARATE_EDGES, src, dst };
	struct watcher w = { 0 };
	dg_partition_report report;
	int n_resumed = 0;
	dg_error err = { 0 };
	dg_status st = DG_CANCELLED;

	read_karate(src, dst);
	write_features(p, KARATE_NODES, KARATE_EDGES);
	o.input.node_data = &feat;
	o.input.n_node_data = 1;
	o.input.edge_data = &weight;
	o.input.n_edge_data = 1;
	o.progress = watch;
	o.progress_context = &w;
	for (int i = 1; st == DG_CANCELLED; i++) {
		w = (struct watcher){ .stop_at = i };
		st = dg_partition(&o, &report, &err);
		if (st) {
			const bool kept = n_names(p->dir) == 3;

			assert_int_equal(st, DG_CANCELLED);
			assert_int_not_equal(access(p->output, F_OK), 0);
			assert_int_equal(kept, strstr(err.text, "kept in '") != NULL);
			w = (struct watcher){ 0 };
			assert_ok(dg_partition(&o, &report, &err), &err);
			assert_int_equal(report.resumed, kept);
			n_resumed += report.resumed;
		}
		assert_is_cut(report.cluster_path, 2, &list, report.edges_cut);
		assert_int_equal(n_names(p->dir), 3); /* the features and the graph */
		tree_remove(p->output);
	}
	assert_int_equal(st, DG_OK);
	assert_true(w.stop_at > 15);
	assert_true(n_resumed > 10);
}

static int kill_at(void *context, const char *phase, uint64_t done, uint64_t total)
{
	(void)phase;
	(void)done;
	(void)total;
	if (--*(int *)context == 0)
		(void)kill(getpid(), SIGKILL);
	return 0;
}

/* Returns whether it was killed before it was done. */
static bool killed_at(const dg_partition_options *options, int call)
{
	dg_partition_options o = *options;
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		o.progress = kill_at;
		o.progress_context = &call;
		_exit(dg_partition(&o, NULL, NULL) ? 1 : 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
	return WIFSIGNALED(status);
}

static void a_process_killed_anywhere_leaves_what_the_next_one_goes_on_with(void **state)
{
	const struct place *p = *state;
	const dg_input_edges edges[] = { { .path = KARATE } };
	const dg_input_data feat = { .name = "feat", .path = p->feat };
	dg_partition_options o = options_of(edges, 3, p->output);
	dg_id src[KARATE_EDGES], dst[KARATE_EDGES];
	const struct edge_list list = { KARATE_NODES, KARATE_EDGES, src, dst };
	dg_partition_report report;
	dg_error err = { 0 };
	bool killed = true;

	read_karate(src, dst);
	write_features(p, KARATE_NODES, KARATE_EDGES);
	o.method = "random";
	o.input.node_data = &feat;
	o.input.n_node_data = 1;
	for (int call = 1; killed; call += 3) {
		killed = killed_at(&o, call);
		assert_int_equal(access(p->output, F_OK) == 0, !killed);
		if (!killed)
			break;
		assert_ok(dg_partition(&o, &report, &err), &err);
		assert_is_cut(report.cluster_path, 3, &list, report.edges_cut);
		assert_int_equal(n_names(p->dir), 3);
		tree_remove(p->output);
	}
}

static void an_input_that_changed_since_is_read_anew(void **state)
{
	static const dg_id src[] = { 0, 1 }, dst[] = { 1, 2 };
	const struct edge_list list = { 3, 2, src, dst };
	const struct place *p = *state;
	const dg_input_edges edges[] = { { .path = p->edges } };
	dg_partition_options o = options_of(edges, 2, p->output);
	struct watcher w = { .stop_at = 5 };
	dg_partition_report report;
	dg_error err = { 0 };

	o.progress = watch;
	o.progress_context = &w;
	write_text(p->edges, "0,1\n1,0\n0,0\n");
	assert_fails(dg_partition(&o, &report, &err), DG_CANCELLED, &err, "kept in '");
	write_text(p->edges, "0,1\n1,2\n");
	w = (struct watcher){ 0 };
	assert_ok(dg_partition(&o, &report, &err), &err);
	assert_false(report.resumed);
	assert_is_cut(report.cluster_path, 2, &list, report.edges_cut);
}

static void too_little_memory_says_what_is_needed_and_more_goes_on(void **state)
{
	const struct place *p = *state;
	const dg_input_edges edges[] = { { .path = KARATE } };
	dg_partition_options o = options_of(edges, 2, p->output);
	dg_partition_report report;
	dg_error err = { 0 };

	o.memory_bytes = 16U << 20;
	tell_nodes(&o, 1000000);
	o.method = "random";
	assert_fails(dg_partition(&o, &report, &err), DG_NOMEM, &err,
		     "the tables of nodes alone need");
	o.memory_bytes = 64U << 20;
	assert_ok(dg_partition(&o, &report, &err), &err);
	assert_true(report.resumed);
}

static void more_partitions_than_nodes_leave_some_empty(void **state)
{
	const struct place *p = *state;
	const dg_input_edges edges[] = { { .path = KARATE } };
	dg_partition_options o = options_of(edges, KARATE_NODES + 1, p->output);
	dg_partition_report report;
	dg_error err = { 0 };

	assert_ok(dg_partition(&o, &report, &err), &err);
	assert_int_equal(n_names(p->output), KARATE_NODES + 2);
	assert_int_equal(report.n_nodes, KARATE_NODES);
}

#define in_a_place(test) cmocka_unit_test_setup_teardown(test, make_place, remove_place)

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_a_place(karate_club_is_cut_by_both_methods),
		in_a_place(duplicates_loops_and_isolated_nodes_are_kept),
		in_a_place(a_graph_without_edges_is_cut_when_its_nodes_are_told),
		in_a_place(several_files_are_one_graph),
		in_a_place(the_first_node_feature_tells_the_number_of_nodes),
		in_a_place(the_same_seed_gives_the_same_cut_and_other_uuids),
		in_a_place(bad_edge_files_are_refused_by_file_and_line),
		in_a_place(bad_options_are_refused),
		in_a_place(bad_features_are_refused_by_name),
		in_a_place(an_existing_output_is_replaced_only_by_force),
		in_a_place(force_replaces_nothing_but_a_partitioned_graph),
		in_a_place(progress_tells_each_phase_to_its_end),
		in_a_place(a_call_cancelled_anywhere_goes_on_when_it_is_called_again),
		in_a_place(a_process_killed_anywhere_leaves_what_the_next_one_goes_on_with),
		in_a_place(an_input_that_changed_since_is_read_anew),
		in_a_place(too_little_memory_says_what_is_needed_and_more_goes_on),
		in_a_place(more_partitions_than_nodes_leave_some_empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
