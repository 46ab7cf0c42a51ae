/* What dgi_assign() promises, for every method: against slow and obvious counts. */
#include "made_source.h"
#include "test.h"
#include "tmpdir.h"

#include "assign.h"
#include "methods.h"
#include "neighbours.h"
#include "rng.h"

#include <distgraph/log.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define PAIRS_MAX 4000

static char last_log[512];

static void remember_log(void *context, dg_log_level level, const char *text)
{
	(void)context;
	(void)level;
	snprintf(last_log, sizeof last_log, "%s", text);
}

struct place {
	char *dir;
	struct dgi_source source;
	dg_id *pairs[8]; /* by edge type, as given */
	uint16_t **owners;
};

static int make_place(void **state)
{
	struct place *p = calloc(1, sizeof *p);

	assert_non_null(p);
	p->dir = tmpdir_new();
	last_log[0] = '\0';
	dg_log_set(remember_log, NULL, DG_LOG_WARNING);
	*state = p;
	return 0;
}

static void forget_graph(struct place *p)
{
	made_owners_free(&p->source, p->owners);
	for (int t = 0; t < 8; t++) {
		free(p->pairs[t]);
		p->pairs[t] = NULL;
	}
	dgi_source_clear(&p->source);
	p->source = (struct dgi_source){ 0 };
	p->owners = NULL;
}

static int remove_place(void **state)
{
	struct place *p = *state;

	dg_log_set(NULL, NULL, DG_LOG_WARNING);
	forget_graph(p);
	tmpdir_remove(p->dir);
	free(p);
	return 0;
}

static dg_status assign(struct place *p, struct dgi_assign_request request,
			struct dgi_assign_report *report, dg_error *err)
{
	request.source = &p->source;
	request.work = p->dir;
	if (!p->owners)
		p->owners = made_owners_new(&p->source);
	return dgi_assign(&request, p->owners, report, err);
}

/* Pairs to be filled in, of the edge type added next. */
static dg_id *new_pairs(struct place *p, int64_t n)
{
	dg_id *pairs = calloc((size_t)n * 2 + 1, sizeof *pairs);

	assert_non_null(pairs);
	p->pairs[p->source.n_edge_types] = pairs;
	return pairs;
}

/* Types of random sizes, some empty; edges with many duplicates, loops and nodes without any. */
static void make_random_graph(struct place *p, struct dgi_rng *rng)
{
	static const char *const names[] = { "a", "b", "c", "d" };
	const uint16_t n_types = (uint16_t)(1 + dgi_rng_below(rng, 4));
	const uint16_t n_edge_types = (uint16_t)dgi_rng_below(rng, 5);

	for (uint16_t t = 0; t < n_types; t++)
		made_source_add_nodes(
			&p->source, names[t],
			dgi_rng_below(rng, 4) == 0 ? 0 : (int64_t)dgi_rng_below(rng, 300));
	for (uint16_t t = 0; t < n_edge_types; t++) {
		uint16_t src = (uint16_t)dgi_rng_below(rng, n_types);
		uint16_t dst = (uint16_t)dgi_rng_below(rng, n_types);
		int64_t n_src = p->source.nodes[src].n, n_dst = p->source.nodes[dst].n;
		int64_t n = n_src && n_dst ? (int64_t)dgi_rng_below(rng, PAIRS_MAX / 2) : 0;
		char relation[8];
		dg_id *pairs = new_pairs(p, n);

		for (int64_t e = 0; e < n; e++) {
			pairs[2 * e] = (dg_id)dgi_rng_below(rng, (uint64_t)(n_src + 1) / 2);
			pairs[2 * e + 1] = dgi_rng_below(rng, 8) == 0 && src == dst
						   ? pairs[2 * e]
						   : (dg_id)dgi_rng_below(rng, (uint64_t)n_dst);
		}
		snprintf(relation, sizeof relation, "r%d", t);
		made_source_add_edges(&p->source, p->dir, src, relation, dst, pairs, n);
	}
}

static int64_t count_nodes(const struct dgi_source *source)
{
	int64_t n = 0;

	for (uint16_t t = 0; t < source->n_node_types; t++)
		n += source->nodes[t].n;
	return n;
}

/* Counts edge by edge, from the arrays the source was made of. */
static void check_against_oracle(const struct place *p, uint32_t n_parts,
				 const struct dgi_assign_report *report)
{
	int64_t *nodes = calloc(n_parts, sizeof *nodes), *edges = calloc(n_parts, sizeof *edges);
	int64_t n_nodes = count_nodes(&p->source), n_edges = 0, cut = 0, most[2] = { 0, 0 };

	assert_true(nodes && edges);
	for (uint16_t t = 0; t < p->source.n_node_types; t++)
		for (int64_t i = 0; i < p->source.nodes[t].n; i++) {
			assert_true(p->owners[t][i] < n_parts);
			nodes[p->owners[t][i]]++;
		}
	for (uint16_t t = 0; t < p->source.n_edge_types; t++)
		for (int64_t e = 0; e < p->source.edges[t].n; e++) {
			const struct dgi_source_edges *type = &p->source.edges[t];
			uint16_t a = p->owners[type->src_type][p->pairs[t][2 * e]];
			uint16_t b = p->owners[type->dst_type][p->pairs[t][2 * e + 1]];

			edges[b]++;
			cut += a != b;
			n_edges++;
		}
	for (uint32_t i = 0; i < n_parts; i++) {
		if (n_nodes >= (int64_t)n_parts && strcmp(report->method, "file") != 0)
			assert_true(nodes[i] > 0);
		most[0] = nodes[i] > most[0] ? nodes[i] : most[0];
		most[1] = edges[i] > most[1] ? edges[i] : most[1];
	}
	assert_int_equal(report->n_nodes, n_nodes);
	assert_int_equal(report->n_edges, n_edges);
	assert_int_equal(report->edges_cut, cut);
	assert_true(report->n_constraints >= 1);
	if (n_nodes)
		assert_true((int64_t)(report->node_balance * (double)n_nodes + 0.5) ==
			    most[0] * n_parts);
	if (n_edges)
		assert_true((int64_t)(report->edge_balance * (double)n_edges + 0.5) ==
			    most[1] * n_parts);
	free(nodes);
	free(edges);
}

static uint64_t hash_owners(const struct place *p)
{
	uint64_t hash = 1;

	for (uint16_t t = 0; t < p->source.n_node_types; t++)
		for (int64_t i = 0; i < p->source.nodes[t].n; i++)
			hash = hash * 6364136223846793005U + p->owners[t][i] + 1;
	return hash;
}

/* Every method and option; parts from one to more than there are nodes. */
static void random_graphs_are_cut_as_the_oracle_counts(void **state)
{
	static const char *const methods[] = { "random", "metis", "stream" };
	static const uint32_t parts[] = { 1, 2, 3, 7, 64, 1000 };
	struct place *p = *state;
	struct dgi_rng rng = dgi_rng_of(20261201, 0);

	for (int i = 0; i < 150; i++) {
		struct dgi_assign_request r = { .method = methods[i % 3],
						.n_parts = parts[dgi_rng_below(&rng, 6)],
						.seed = (uint64_t)i,
						.balance_types = dgi_rng_below(&rng, 2),
						.balance_edges = dgi_rng_below(&rng, 2) };
		struct dgi_assign_report report;
		dg_error err = { 0 };
		uint64_t hash;

		if (i % 3 != 2)
			r.objective = (enum dgi_objective)dgi_rng_below(&rng, 2);
		if (i % 3 == 2 && dgi_rng_below(&rng, 2))
			r.memory = 1; /* everything goes through files */
		make_random_graph(p, &rng);
		assert_ok(assign(p, r, &report, &err), &err);
		if (strcmp(report.method, r.method) != 0) /* METIS crashed: a few do it */
			assert_non_null(strstr(last_log, "method stream cuts the graph instead"));
		check_against_oracle(p, r.n_parts, &report);
		hash = hash_owners(p);
		assert_ok(assign(p, r, &report, &err), &err);
		assert_true(hash == hash_owners(p));
		forget_graph(p);
	}
}

/* --- Cuts that everybody sees --- */

#define RING 200

/* Two rings of each type and one edge between them, with directions turned and doubled. */
static void make_rings(struct place *p, bool decorated)
{
	const int64_t n = decorated ? 6 * RING + 1 : 2 * RING + 1;
	dg_id *pairs;

	made_source_add_nodes(&p->source, "x", 2 * RING);
	pairs = new_pairs(p, n);
	for (int64_t i = 0; i < 2 * RING; i++) {
		pairs[2 * i] = i;
		pairs[2 * i + 1] = i / RING * RING + (i + 1) % RING;
	}
	pairs[4 * RING] = 7;
	pairs[4 * RING + 1] = RING + 7;
	for (int64_t i = 0; decorated && i < 2 * RING; i++) {
		dg_id *twice = pairs + 2 * (2 * RING + 1 + 2 * i);

		twice[0] = pairs[2 * i + 1]; /* back */
		twice[1] = pairs[2 * i];
		twice[2] = twice[3] = i; /* a loop */
	}
	made_source_add_edges(&p->source, p->dir, 0, "r", 0, pairs, n);
}

static void metis_and_stream_find_the_obvious_cut(void **state)
{
	static const char *const methods[] = { "metis", "stream" };
	struct place *p = *state;

	for (int decorated = 0; decorated < 2; decorated++)
		for (int i = 0; i < 2; i++) {
			const struct dgi_assign_request r = { .method = methods[i], .n_parts = 2 };
			struct dgi_assign_report report;
			dg_error err = { 0 };

			make_rings(p, decorated);
			assert_ok(assign(p, r, &report, &err), &err);
			assert_int_equal(report.edges_cut, 1);
			for (int v = 0; v < 2 * RING; v++)
				assert_int_equal(p->owners[0][v], p->owners[0][v / RING * RING]);
			forget_graph(p);
		}
}

static void both_count_parallel_edges_when_they_choose_what_to_cut(void **state)
{
	static const char *const methods[] = { "metis", "stream" };
	struct place *p = *state;

	for (int m = 0; m < 2; m++) {
		const struct dgi_assign_request r = { .method = methods[m], .n_parts = 2 };
		struct dgi_assign_report report;
		dg_error err = { 0 };
		dg_id *pairs;
		int64_t n = 0;

		/* A ring whose edges are tenfold but for two opposite ones. */
		made_source_add_nodes(&p->source, "x", 100);
		pairs = new_pairs(p, 2000);
		for (dg_id v = 0; v < 100; v++)
			for (int k = 0; k < (v % 50 == 20 ? 1 : 10); k++) {
				pairs[2 * n] = v;
				pairs[2 * n++ + 1] = (v + 1) % 100;
			}
		made_source_add_edges(&p->source, p->dir, 0, "r", 0, pairs, n);
		assert_ok(assign(p, r, &report, &err), &err);
		assert_int_equal(report.edges_cut, 2);
		forget_graph(p);
	}
}

/* --- Balance --- */

/* Users first meet items of few kinds: without balance by types a part gets most of the items. */
static void make_two_types(struct place *p)
{
	struct dgi_rng rng = dgi_rng_of(5, 5);
	dg_id *pairs;

	made_source_add_nodes(&p->source, "user", 4000);
	made_source_add_nodes(&p->source, "item", 400);
	pairs = new_pairs(p, 2000);
	for (int e = 0; e < 2000; e++) { /* the first tenth of the users has all the items */
		pairs[2 * e] = (dg_id)dgi_rng_below(&rng, 400);
		pairs[2 * e + 1] = (dg_id)dgi_rng_below(&rng, 400);
	}
	made_source_add_edges(&p->source, p->dir, 0, "buys", 1, pairs, 2000);
	pairs = new_pairs(p, 4000);
	for (int e = 0; e < 4000; e++) {
		pairs[2 * e] = e;
		pairs[2 * e + 1] = (e + 1) % 4000;
	}
	made_source_add_edges(&p->source, p->dir, 0, "knows", 0, pairs, 4000);
}

static int64_t largest_share(const struct place *p, uint16_t type, uint32_t n_parts)
{
	int64_t counts[64] = { 0 }, most = 0;

	for (int64_t i = 0; i < p->source.nodes[type].n; i++)
		counts[p->owners[type][i]]++;
	for (uint32_t k = 0; k < n_parts; k++)
		most = counts[k] > most ? counts[k] : most;
	return most;
}

static void types_and_edges_are_balanced_when_asked_for(void **state)
{
	static const char *const methods[] = { "metis", "stream" };
	struct place *p = *state;

	for (int m = 0; m < 2; m++) {
		struct dgi_assign_request r = { .method = methods[m], .n_parts = 4 };
		struct dgi_assign_report report;
		dg_error err = { 0 };

		make_two_types(p);
		assert_ok(assign(p, r, &report, &err), &err);
		assert_int_equal(report.n_constraints, 1);
		assert_true(largest_share(p, 1, 4) > 150);
		r.balance_types = true;
		assert_ok(assign(p, r, &report, &err), &err);
		assert_int_equal(report.n_constraints, 2);
		assert_in_range(largest_share(p, 0, 4), 1000, 1050);
		assert_in_range(largest_share(p, 1, 4), 100, 110);
		r.balance_edges = true;
		assert_ok(assign(p, r, &report, &err), &err);
		assert_int_equal(report.n_constraints, 4);
		assert_true(report.edge_balance < 1.15);
		r.balance_types = false;
		assert_ok(assign(p, r, &report, &err), &err);
		assert_int_equal(report.n_constraints, 2);
		assert_true(report.edge_balance < 1.1);
		assert_true(report.node_balance < 1.1);
		forget_graph(p);
	}
}

static void a_type_smaller_than_the_parts_is_left_to_chance_with_a_warning(void **state)
{
	const struct dgi_assign_request r = { .method = "metis",
					      .n_parts = 4,
					      .balance_types = true };
	struct place *p = *state;
	struct dgi_assign_report report;
	dg_error err = { 0 };

	made_source_add_nodes(&p->source, "rare", 2);
	make_rings(p, false);
	p->source.edges[0].src_type = p->source.edges[0].dst_type = 1;
	assert_ok(assign(p, r, &report, &err), &err);
	assert_non_null(strstr(last_log, "'rare' is not balanced by itself"));
	assert_int_equal(report.n_constraints, 1);
	assert_in_range(largest_share(p, 1, 4), RING / 2, RING / 2 + 10);
}

static void what_a_method_does_not_look_at_is_told(void **state)
{
	struct place *p = *state;
	struct dgi_assign_request r = { .method = "random", .n_parts = 2, .balance_types = true };
	struct dgi_assign_report report;
	dg_error err = { 0 };

	make_rings(p, false);
	assert_ok(assign(p, r, &report, &err), &err);
	assert_non_null(strstr(last_log, "method random looks neither at balance"));
	r = (struct dgi_assign_request){ .method = "stream",
					 .n_parts = 2,
					 .objective = DGI_OBJECTIVE_VOL };
	assert_fails(assign(p, r, &report, &err), DG_UNSUPPORTED, &err, "vol needs metis");
}

/* --- Limits --- */

static void more_than_metis_can_count_is_refused_before_anything_is_read(void **state)
{
	dg_error err = { 0 };

	(void)state;
	assert_ok(dgi_neighbours_check(DGI_METIS_MAX, DGI_METIS_MAX / 2, &err), &err);
	assert_fails(dgi_neighbours_check((int64_t)DGI_METIS_MAX + 1, 0, &err), DG_UNSUPPORTED,
		     &err, "use method stream");
	assert_fails(dgi_neighbours_check(10, (int64_t)DGI_METIS_MAX / 2 + 1, &err), DG_UNSUPPORTED,
		     &err, "use method stream");
}

/* Files that claim more edges than 2^31 and are never read. */
static void edges_beyond_two_to_the_31_are_summed_and_refused_by_metis(void **state)
{
	struct place *p = *state;
	struct dgi_assign_request r = { .method = "metis", .n_parts = 2 };
	struct dgi_assign_report report;
	struct dgi_joined graph;
	dg_error err = { 0 };

	make_rings(p, false);
	p->source.edges[0].n = 3000000000;
	assert_fails(assign(p, r, &report, &err), DG_UNSUPPORTED, &err,
		     "3000000000 edges, this METIS can be given 536870911; use method stream");
	p->source.edges[0].n = INT64_MAX;
	assert_ok(dgi_joined_make(&p->source, &graph, &err), &err);
	assert_true(graph.n_edges == INT64_MAX);
	dgi_joined_clear(&graph);
	made_source_add_edges(&p->source, p->dir, 0, "more", 0, p->pairs[0], 1);
	assert_fails(dgi_joined_make(&p->source, &graph, &err), DG_RANGE, &err, "more than");
	p->source.edges[0].n = 1;
	p->source.nodes[0].n = (int64_t)1 << 32;
	assert_fails(dgi_method_stream(
			     &(struct dgi_assign_request){ .source = &p->source, .n_parts = 2 },
			     &(struct dgi_joined){ .source = &p->source, .n_nodes = 1L << 32 },
			     NULL, &report, &err),
		     DG_UNSUPPORTED, &err, "use method random");
	p->source.nodes[0].n = 2 * RING; /* what is freed was made for it */
}

static void a_graph_too_large_for_the_memory_allowed_is_refused_by_metis(void **state)
{
	struct place *p = *state;
	const struct dgi_assign_request r = { .method = "metis", .n_parts = 2, .memory = 1000 };
	struct dgi_assign_report report;
	dg_error err = { 0 };

	make_rings(p, false);
	assert_fails(assign(p, r, &report, &err), DG_UNSUPPORTED, &err, "use method stream");
}

static void parts_that_no_owner_can_name_are_refused(void **state)
{
	struct place *p = *state;
	struct dgi_assign_request r = { .method = "random", .n_parts = 0 };
	struct dgi_assign_report report;
	dg_error err = { 0 };

	make_rings(p, false);
	assert_fails(assign(p, r, &report, &err), DG_INVALID, &err, "want 1 to 65535");
	r.n_parts = DGI_OWNERS_MAX + 1;
	assert_fails(assign(p, r, &report, &err), DG_INVALID, &err, "want 1 to 65535");
	r.n_parts = DGI_OWNERS_MAX;
	assert_ok(assign(p, r, &report, &err), &err);
	r.n_parts = 10;
	r.n_trainers = 3;
	assert_fails(assign(p, r, &report, &err), DG_INVALID, &err, "10 parts for 3 trainers");
}

/* --- METIS in its process --- */

static int cancel_at_once(void *context, const char *phase, uint64_t done, uint64_t total)
{
	int *left = context;

	(void)phase;
	(void)done;
	(void)total;
	return (*left)-- <= 0;
}

static void metis_is_killed_when_the_caller_cancels_and_takes_no_signal_of_ours(void **state)
{
	struct place *p = *state;
	struct dgi_rng rng = dgi_rng_of(1, 1);
	struct dgi_assign_report report;
	struct sigaction before, after;
	dg_error err = { 0 };
	dg_id *pairs;
	int left;

	made_source_add_nodes(&p->source, "x", 300000);
	pairs = new_pairs(p, 1000000);
	for (int i = 0; i < 2000000; i++)
		pairs[i] = (dg_id)dgi_rng_below(&rng, 300000);
	made_source_add_edges(&p->source, p->dir, 0, "r", 0, pairs, 1000000);
	/* Two passes over 16 blocks each and their ends; then METIS is asked to wait for. */
	left = 34;
	sigaction(SIGTERM, NULL, &before);
	assert_fails(assign(p,
			    (struct dgi_assign_request){
				    .method = "metis",
				    .n_parts = 64,
				    .progress = &(struct dgi_progress){ .fn = cancel_at_once,
									.context = &left,
									.phase = "cut" } },
			    &report, &err),
		     DG_CANCELLED, &err, "cut");
	sigaction(SIGTERM, NULL, &after);
	assert_true(before.sa_handler == after.sa_handler);
	assert_int_equal(left, -1);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child is left */
	assert_int_equal(errno, ECHILD);
}

/* --- Assignment files --- */

static char *write_file(const struct place *p, const char *name, const void *data, size_t n)
{
	char *path = tmpdir_path(p->dir, name);
	FILE *f = fopen(path, "wb");

	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
	return path;
}

static dg_status assign_by_text(struct place *p, const char *text, uint32_t n_parts, dg_error *err)
{
	char *path = write_file(p, "owners.txt", text, strlen(text));
	struct dgi_assign_report report;
	dg_status st = assign(p, (struct dgi_assign_request){ .method = path, .n_parts = n_parts },
			      &report, err);

	if (!st) {
		assert_string_equal(report.method, "file");
		check_against_oracle(p, n_parts, &report);
	}
	free(path);
	return st;
}

static void make_four_nodes(struct place *p)
{
	made_source_add_nodes(&p->source, "x", 4);
}

static void a_text_file_assigns_one_number_a_node(void **state)
{
	struct place *p = *state;
	dg_error err = { 0 };

	make_four_nodes(p);
	assert_ok(assign_by_text(p, "# of my own\n2\n\n 0\t\r\n1\n2", 3, &err), &err);
	assert_memory_equal(p->owners[0], ((uint16_t[]){ 2, 0, 1, 2 }), 8);
}

static void a_bad_line_of_an_assignment_is_named(void **state)
{
	struct place *p = *state;
	dg_error err = { 0 };

	make_four_nodes(p);
	assert_fails(assign_by_text(p, "0\n1\n3\n0\n", 3, &err), DG_RANGE, &err,
		     "owners.txt:3: partition 3, want 0 to 2");
	assert_fails(assign_by_text(p, "0\n99999999999999999999999\n", 3, &err), DG_RANGE, &err,
		     "owners.txt:2: ");
	assert_fails(assign_by_text(p, "0\n-1\n", 3, &err), DG_INVALID, &err,
		     "owners.txt:2: '-1' is no partition number");
	assert_fails(assign_by_text(p, "0\n1 2\n", 3, &err), DG_INVALID, &err,
		     "owners.txt:2: '1 2'");
	assert_fails(assign_by_text(p, "0\n1\n0\n", 3, &err), DG_INVALID, &err,
		     "3 numbers, node type 'x' has 4 nodes");
	assert_fails(assign_by_text(p, "0\n1\n0\n0\n\n0\n", 3, &err), DG_INVALID, &err,
		     "owners.txt:6: one number more");
	assert_fails(
		assign(p, (struct dgi_assign_request){ .method = "/nowhere/at/all", .n_parts = 2 },
		       &(struct dgi_assign_report){ 0 }, &err),
		DG_NOTFOUND, &err, "/nowhere/at/all");
}

static void an_overlong_line_is_refused_unless_it_is_a_comment(void **state)
{
	struct place *p = *state;
	char text[2000];
	dg_error err = { 0 };

	make_four_nodes(p);
	memset(text, ' ', sizeof text);
	memcpy(text + 1000, "\n1\n1\n1\n1\n", 10);
	text[0] = '#';
	assert_ok(assign_by_text(p, text, 2, &err), &err);
	text[0] = '1';
	assert_fails(assign_by_text(p, text, 2, &err), DG_INVALID, &err, "owners.txt:1: a line of");
}

static char *write_npy(const struct place *p, const char *name, const char *descr,
		       const char *shape, const void *data, size_t n)
{
	uint8_t bytes[512];
	int n_header;

	memcpy(bytes, "\x93NUMPY\x01\x00\x76\x00", 10);
	n_header = snprintf((char *)bytes + 10, 119,
			    "{'descr': '%s', 'fortran_order': False, 'shape': %s, }", descr, shape);
	memset(bytes + 10 + n_header, ' ', (size_t)(118 - n_header));
	bytes[127] = '\n';
	memcpy(bytes + 128, data, n);
	return write_file(p, name, bytes, 128 + n);
}

static dg_status assign_by(struct place *p, char *path, uint32_t n_parts, dg_error *err)
{
	struct dgi_assign_report report;
	dg_status st = assign(p, (struct dgi_assign_request){ .method = path, .n_parts = n_parts },
			      &report, err);

	free(path);
	return st;
}

static void an_array_assigns_one_number_a_node(void **state)
{
	struct place *p = *state;
	dg_error err = { 0 };

	make_four_nodes(p);
	assert_ok(assign_by(p, write_npy(p, "a.npy", "<i8", "(4,)", (int64_t[]){ 1, 0, 2, 1 }, 32),
			    3, &err),
		  &err);
	assert_memory_equal(p->owners[0], ((uint16_t[]){ 1, 0, 2, 1 }), 8);
	assert_ok(assign_by(p, write_npy(p, "a.npy", "<u2", "(4,)", (uint16_t[]){ 2, 1, 0, 0 }, 8),
			    3, &err),
		  &err);
	assert_memory_equal(p->owners[0], ((uint16_t[]){ 2, 1, 0, 0 }), 8);
	assert_fails(
		assign_by(p, write_npy(p, "a.npy", "|i1", "(4,)", "\x00\x01\xff\x00", 4), 3, &err),
		DG_RANGE, &err, "a.npy:row 2: partition -1, want 0 to 2");
	assert_fails(assign_by(p, write_npy(p, "a.npy", "|u1", "(3,)", "\x00\x01\x01", 3), 3, &err),
		     DG_INVALID, &err, "3 numbers, node type 'x' has 4 nodes");
	assert_fails(
		assign_by(p, write_npy(p, "a.npy", "<f4", "(4,)", (float[4]){ 0 }, 16), 3, &err),
		DG_INVALID, &err, "want integers of one");
}

static void every_type_has_a_file_of_its_own(void **state)
{
	struct place *p = *state;
	char *a, *b, *both;
	dg_error err = { 0 };

	made_source_add_nodes(&p->source, "a", 2);
	made_source_add_nodes(&p->source, "b", 1);
	made_source_add_nodes(&p->source, "none", 0);
	a = write_file(p, "x,1", "1\n0\n", 4);
	b = write_file(p, "y", "1\n", 2);
	assert_true(asprintf(&both, "a=%s,b=%s", a, b) > 0);
	assert_ok(assign_by(p, strdup(both), 2, &err), &err);
	assert_int_equal(p->owners[0][0], 1);
	assert_int_equal(p->owners[0][1], 0);
	assert_int_equal(p->owners[1][0], 1);
	both[strlen(both) - strlen(b) - 3] = '\0';
	assert_fails(assign_by(p, strdup(both), 2, &err), DG_INVALID, &err,
		     "no assignment file for node type 'b'");
	assert_fails(assign_by(p, strdup(b), 2, &err), DG_INVALID, &err,
		     "want metis, random, stream");
	free(both);
	assert_true(asprintf(&both, "b=%s,b=%s", b, b) > 0);
	assert_fails(assign_by(p, both, 2, &err), DG_INVALID, &err, "given twice");
	free(a);
	free(b);
}

static void a_partitions_nodes_are_dealt_to_its_trainers(void **state)
{
	struct place *p = *state;
	char *path;
	struct dgi_assign_report report;
	dg_error err = { 0 };

	make_four_nodes(p);
	path = write_file(p, "o", "1\n1\n0\n1\n", 8);
	assert_ok(
		assign(p,
		       (struct dgi_assign_request){ .method = path, .n_parts = 4, .n_trainers = 2 },
		       &report, &err),
		&err);
	for (int i = 0; i < 4; i++)
		assert_int_equal(p->owners[0][i] / 2, i != 2);
	assert_int_not_equal(p->owners[0][0], p->owners[0][1]);
	assert_fails(
		assign(p,
		       (struct dgi_assign_request){ .method = path, .n_parts = 2, .n_trainers = 2 },
		       &report, &err),
		DG_RANGE, &err, "o:1: partition 1, want 0 to 0");
	free(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define PLACED(name) cmocka_unit_test_setup_teardown(name, make_place, remove_place)
		PLACED(random_graphs_are_cut_as_the_oracle_counts),
		PLACED(metis_and_stream_find_the_obvious_cut),
		PLACED(both_count_parallel_edges_when_they_choose_what_to_cut),
		PLACED(types_and_edges_are_balanced_when_asked_for),
		PLACED(a_type_smaller_than_the_parts_is_left_to_chance_with_a_warning),
		PLACED(what_a_method_does_not_look_at_is_told),
		PLACED(more_than_metis_can_count_is_refused_before_anything_is_read),
		PLACED(edges_beyond_two_to_the_31_are_summed_and_refused_by_metis),
		PLACED(a_graph_too_large_for_the_memory_allowed_is_refused_by_metis),
		PLACED(parts_that_no_owner_can_name_are_refused),
		PLACED(metis_is_killed_when_the_caller_cancels_and_takes_no_signal_of_ours),
		PLACED(a_text_file_assigns_one_number_a_node),
		PLACED(a_bad_line_of_an_assignment_is_named),
		PLACED(an_overlong_line_is_refused_unless_it_is_a_comment),
		PLACED(an_array_assigns_one_number_a_node),
		PLACED(every_type_has_a_file_of_its_own),
		PLACED(a_partitions_nodes_are_dealt_to_its_trainers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
