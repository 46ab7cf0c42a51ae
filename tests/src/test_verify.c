/* What src/verify/verify.h promises: what is right passes, each single thing that is wrong does not. */
#include "made_source.h"
#include "test.h"
#include "tmpdir.h"

#include "rng.h"
#include "verify.h"

#include <distgraph/array.h>
#include <distgraph/partition.h>
#include <distgraph/store.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_NODES 300
#define N_EDGES 2000
#define N_PARTS 3

/* A graph with duplicates and loops, and rows for nodes and edges; and the stores made of it. */
struct place {
	char *dir;
	dg_id pairs[2 * N_EDGES];
	float feat[N_NODES][3];
	int64_t weight[N_EDGES];
	struct dgi_source source;
	char *paths[N_PARTS];
};

static char *write_npy(const struct place *p, const char *name, const char *descr,
		       const char *shape, const void *data, size_t n)
{
	char *path = tmpdir_path(p->dir, name);
	FILE *f = fopen(path, "wb");
	char header[128];
	int used;

	assert_non_null(f);
	memset(header, ' ', sizeof header);
	memcpy(header, "\x93NUMPY\x01\x00\x76\x00", 10);
	used = snprintf(header + 10, 118, "{'descr': '%s', 'fortran_order': False, 'shape': %s, }",
			descr, shape);
	header[10 + used] = ' ';
	header[127] = '\n';
	assert_int_equal(fwrite(header, 1, sizeof header, f), sizeof header);
	assert_int_equal(fwrite(data, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
	return path;
}

static void add_data(struct dgi_source *source, dg_side side, const char *name, dg_dtype dtype,
		     uint32_t row_bytes, char *path)
{
	struct dgi_source_data *data =
		realloc(source->data, (source->n_data + 1) * sizeof *source->data);

	assert_non_null(data);
	source->data = data;
	data += source->n_data++;
	*data = (struct dgi_source_data){ .n_paths = 1, .paths = malloc(sizeof(char *)) };
	data->info = (dg_tensor_info){ .side = side, .dtype = dtype, .row_bytes = row_bytes };
	snprintf(data->info.name, sizeof data->info.name, "%s", name);
	assert_non_null(data->paths);
	data->paths[0] = path;
}

/* The source as the importer would leave it, of the arrays as they are now. */
static void make_source(struct place *p)
{
	dgi_source_clear(&p->source);
	p->source = (struct dgi_source){ 0 };
	made_source_add_nodes(&p->source, "_N", N_NODES);
	made_source_add_edges(&p->source, p->dir, 0, "_E", 0, p->pairs, N_EDGES);
	add_data(&p->source, DG_NODE, "feat", DG_FLOAT32, 12,
		 write_npy(p, "feat.npy", "<f4", "(300, 3)", p->feat, sizeof p->feat));
	add_data(&p->source, DG_EDGE, "weight", DG_INT64, 8,
		 write_npy(p, "weight.npy", "<i8", "(2000,)", p->weight, sizeof p->weight));
}

static void partition(struct place *p)
{
	char *edges = write_npy(p, "edges.npy", "<i8", "(2000, 2)", p->pairs, sizeof p->pairs);
	char *output = tmpdir_path(p->dir, "g");
	const dg_input_data feat = { .name = "feat", .path = p->source.data[0].paths[0] };
	const dg_input_data weight = { .name = "weight", .path = p->source.data[1].paths[0] };
	const dg_input_edges list = { .path = edges };
	const dg_partition_options options = { .input = { .edges = &list,
							  .n_edges = 1,
							  .node_data = &feat,
							  .n_node_data = 1,
							  .edge_data = &weight,
							  .n_edge_data = 1 },
					       .n_parts = N_PARTS,
					       .output = output,
					       .method = "random",
					       .seed = 3 };
	dg_partition_report report;
	dg_error err = { 0 };

	assert_ok(dg_partition(&options, &report, &err), &err);
	for (int i = 0; i < N_PARTS; i++)
		assert_true(asprintf(&p->paths[i], "%s/part%d", output, i) > 0);
	free(edges);
	free(output);
}

static int make_place(void **state)
{
	struct place *p = calloc(1, sizeof *p);
	struct dgi_rng rng = dgi_rng_of(9, 9);

	assert_non_null(p);
	p->dir = tmpdir_new();
	for (int i = 0; i < 2 * N_EDGES; i++)
		p->pairs[i] = (dg_id)dgi_rng_below(&rng, N_NODES - 7); /* the last are isolated */
	for (int i = 0; i < N_NODES; i++)
		for (int k = 0; k < 3; k++)
			p->feat[i][k] = (float)(10 * i + k);
	for (int i = 0; i < N_EDGES; i++)
		p->weight[i] = i % 100; /* equal rows are ordinary */
	make_source(p);
	partition(p);
	*state = p;
	return 0;
}

static int remove_place(void **state)
{
	struct place *p = *state;

	dgi_source_clear(&p->source);
	for (int i = 0; i < N_PARTS; i++)
		free(p->paths[i]);
	tmpdir_remove(p->dir);
	free(p);
	return 0;
}

static dg_status verify(struct place *p, dg_error *err)
{
	const struct dgi_verify_request r = { .store_paths = (const char *const *)p->paths,
					      .n_parts = N_PARTS,
					      .source = &p->source };

	make_source(p);
	return dgi_verify(&r, err);
}

static void what_was_partitioned_is_verified_with_and_without_its_source(void **state)
{
	struct place *p = *state;
	struct dgi_verify_request r = { .store_paths = (const char *const *)p->paths,
					.n_parts = N_PARTS };
	dg_error err = { 0 };

	assert_ok(verify(p, &err), &err);
	assert_ok(dgi_verify(&r, &err), &err);
}

static void an_edge_with_another_end_is_found(void **state)
{
	struct place *p = *state;
	dg_error err = { 0 };

	p->pairs[2 * 777] += p->pairs[2 * 777] ? -1 : 1;
	assert_fails(verify(p, &err), DG_CORRUPT, &err, "edges have other ends");
}

static void an_edge_turned_round_is_found(void **state)
{
	struct place *p = *state;
	dg_error err = { 0 };
	int e = 0;
	dg_id src;

	while (p->pairs[2 * e] == p->pairs[2 * e + 1])
		e++;
	src = p->pairs[2 * e];
	p->pairs[2 * e] = p->pairs[2 * e + 1];
	p->pairs[2 * e + 1] = src;
	assert_fails(verify(p, &err), DG_CORRUPT, &err, "edges have other ends");
}

static void two_edges_that_changed_places_are_found(void **state)
{
	struct place *p = *state;
	dg_id pair[2];
	dg_error err = { 0 };

	memcpy(pair, p->pairs, sizeof pair);
	memcpy(p->pairs, p->pairs + 2, sizeof pair);
	memcpy(p->pairs + 2, pair, sizeof pair);
	assert_fails(verify(p, &err), DG_CORRUPT, &err, "edges have other ends");
}

static void rows_that_changed_places_are_found(void **state)
{
	struct place *p = *state;
	dg_error err = { 0 };
	float row[3];

	memcpy(row, p->feat[5], sizeof row);
	memcpy(p->feat[5], p->feat[6], sizeof row);
	memcpy(p->feat[6], row, sizeof row);
	assert_fails(verify(p, &err), DG_CORRUPT, &err,
		     "feature 'feat': rows are not with the nodes");
	memcpy(p->feat[6], p->feat[5], sizeof row);
	memcpy(p->feat[5], row, sizeof row);
	assert_ok(verify(p, &err), &err);
	p->weight[1999] ^= 1;
	assert_fails(verify(p, &err), DG_CORRUPT, &err,
		     "feature 'weight': rows are not with the edges");
}

static void a_row_changed_in_a_store_is_found(void **state)
{
	struct place *p = *state;
	const dg_store_options writable = { .writable = 1 };
	const dg_id row = 1;
	const float data[3] = { 1, 2, 3 };
	const dg_tensor_info *tensors;
	dg_store *store;
	size_t n, i = 0;
	dg_error err = { 0 };

	assert_ok(dg_store_open(p->paths[1], &writable, &store, &err), &err);
	tensors = dg_store_tensors(store, &n);
	while (strcmp(tensors[i].name, "feat") != 0)
		i++;
	assert_ok(dg_store_assign(store, &tensors[i], &row, 1, data, &err), &err);
	dg_store_close(store);
	assert_fails(verify(p, &err), DG_CORRUPT, &err, "feature 'feat'");
}

static void a_part_in_anothers_place_is_found(void **state)
{
	struct place *p = *state;
	char *second = p->paths[2];
	dg_error err = { 0 };

	p->paths[2] = p->paths[1];
	assert_true(verify(p, &err) != DG_OK);
	p->paths[2] = second;
	assert_ok(verify(p, &err), &err);
}

static void a_node_where_it_was_not_assigned_is_found(void **state)
{
	struct place *p = *state;
	uint16_t owners[N_NODES] = { 0 }, *by_type[] = { owners };
	const struct dgi_verify_request r = { .store_paths = (const char *const *)p->paths,
					      .n_parts = N_PARTS,
					      .owners = by_type };
	dg_error err = { 0 };

	assert_fails(dgi_verify(&r, &err), DG_CORRUPT, &err, "is in part 1, it was assigned to 0");
}

static void another_number_of_nodes_edges_or_parts_is_found(void **state)
{
	struct place *p = *state;
	struct dgi_verify_request r = { .store_paths = (const char *const *)p->paths,
					.n_parts = N_PARTS,
					.source = &p->source };
	dg_error err = { 0 };

	p->source.nodes[0].n++;
	assert_fails(dgi_verify(&r, &err), DG_CORRUPT, &err, "300 are stored, the source has 301");
	p->source.nodes[0].n--;
	p->source.edges[0].n--;
	assert_fails(dgi_verify(&r, &err), DG_CORRUPT, &err,
		     "2000 are stored, the source has 1999");
	r.n_parts = 2;
	assert_fails(dgi_verify(&r, &err), DG_CORRUPT, &err, "2 parts, the store knows of 3");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define PLACED(name) cmocka_unit_test_setup_teardown(name, make_place, remove_place)
		PLACED(what_was_partitioned_is_verified_with_and_without_its_source),
		PLACED(an_edge_with_another_end_is_found),
		PLACED(an_edge_turned_round_is_found),
		PLACED(two_edges_that_changed_places_are_found),
		PLACED(rows_that_changed_places_are_found),
		PLACED(a_row_changed_in_a_store_is_found),
		PLACED(a_part_in_anothers_place_is_found),
		PLACED(a_node_where_it_was_not_assigned_is_found),
		PLACED(another_number_of_nodes_edges_or_parts_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
