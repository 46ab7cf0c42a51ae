/* Sorting in little memory: edges, rows and spilled records against what memory alone makes. */
#include "test.h"
#include "tmpdir.h"

#include "edge_sort.h"
#include "partition_making.h"
#include "rows.h"
#include "bucket_file.h"
#include "work.h"

#include <distgraph/array.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define N_NODES 1000
#define N_EDGES 900000 /* more than sort at once in the least memory */
#define N_PARTS 3
#define HUB 17 /* of so many in-edges that it alone fills more than a bucket */

struct place {
	char *dir, *output;
	struct dgi_work work;
	struct dgi_source source;
	struct dgi_node_order nodes;
	struct dgi_progress progress;
	dg_id *src, *dst;
	uint16_t owners[N_NODES];
};

static uint64_t random_state = 7;

static uint64_t below(uint64_t n)
{
	random_state = random_state * 6364136223846793005U + 1442695040888963407U;
	return (random_state >> 33) % n;
}

static void make_edges(struct place *p)
{
	struct dgi_edge_writer *w;
	dg_error err = { 0 };

	p->src = malloc(N_EDGES * sizeof(dg_id));
	p->dst = malloc(N_EDGES * sizeof(dg_id));
	assert_true(p->src && p->dst);
	for (int64_t i = 0; i < N_EDGES; i++) {
		p->src[i] = (dg_id)below(N_NODES);
		p->dst[i] = below(2) ? HUB : (dg_id)below(N_NODES);
	}
	assert_ok(dgi_work_path(&p->work, &p->source.edges[0].path, &err, "pairs"), &err);
	assert_ok(dgi_edge_writer_open(p->source.edges[0].path, 4, &w, &err), &err);
	assert_ok(dgi_edge_writer_append(w, p->src, p->dst, N_EDGES, &err), &err);
	assert_ok(dgi_edge_writer_close(w, true, &err), &err);
}

static int make_place(void **state)
{
	struct place *p = calloc(1, sizeof *p);
	dg_error err = { 0 };

	assert_non_null(p);
	p->dir = tmpdir_new();
	p->output = tmpdir_path(p->dir, "graph");
	assert_ok(dgi_work_begin(p->output, "of a test\n", &p->work, &err), &err);
	p->source.nodes = calloc(1, sizeof *p->source.nodes);
	p->source.edges = calloc(1, sizeof *p->source.edges);
	assert_true(p->source.nodes && p->source.edges);
	p->source.n_node_types = p->source.n_edge_types = 1;
	p->source.nodes[0] = (struct dgi_source_nodes){ .name = "n", .n = N_NODES };
	p->source.edges[0] =
		(struct dgi_source_edges){ .relation = "r", .n = N_EDGES, .id_bytes = 4 };
	for (int i = 0; i < N_NODES; i++)
		p->owners[i] = (uint16_t)below(N_PARTS);
	assert_ok(dgi_node_order_make(p->owners, N_NODES, N_PARTS, 1, &p->nodes, &err), &err);
	make_edges(p);
	*state = p;
	return 0;
}

static int remove_place(void **state)
{
	struct place *p = *state;

	dgi_node_order_clear(&p->nodes);
	dgi_source_clear(&p->source);
	dgi_work_end(&p->work, false);
	free(p->src);
	free(p->dst);
	free(p->output);
	tmpdir_remove(p->dir);
	free(p);
	return 0;
}

static struct dgi_edge_sort sort_of(const struct place *p, uint64_t memory)
{
	return (struct dgi_edge_sort){ .source = &p->source,
				       .sources = &p->nodes,
				       .destinations = &p->nodes,
				       .n_parts = N_PARTS,
				       .halo = true,
				       .memory = memory };
}

static void assert_same(const struct dgi_ids *a, const struct dgi_ids *b)
{
	assert_int_equal(a->n, b->n);
	assert_int_equal(a->bytes, b->bytes);
	assert_memory_equal(a->data, b->data, (size_t)a->n * a->bytes);
}

static void edges_sorted_through_buckets_are_as_sorted_at_once(void **state)
{
	struct place *p = *state;
	struct dgi_edge_sort at_once = sort_of(p, (uint64_t)1 << 30), in_little = sort_of(p, 0);
	struct dgi_edge_order a, b;
	char *done;
	dg_error err = { 0 };

	assert_ok(dgi_edge_sort(&at_once, &p->work, &p->progress, &err), &err);
	assert_ok(dgi_edge_order_open(&at_once, &p->work, &a, &err), &err);
	/* The files stay mapped when they are removed. */
	assert_ok(dgi_work_path(&p->work, &done, &err, "edges0.done"), &err);
	assert_int_equal(unlink(done), 0);
	free(done);
	for (int i = 0; i < 7; i++) {
		static const char *const names[] = { "indptr",	 "indices",  "outdegrees",
						     "original", "internal", "out",
						     "outptr" };
		char *path;

		assert_ok(dgi_work_path(&p->work, &path, &err, "edges0.%s", names[i]), &err);
		assert_int_equal(unlink(path), 0);
		free(path);
	}
	assert_ok(dgi_edge_sort(&in_little, &p->work, &p->progress, &err), &err);
	assert_ok(dgi_edge_order_open(&in_little, &p->work, &b, &err), &err);
	assert_same(&a.indptr, &b.indptr);
	assert_same(&a.indices, &b.indices);
	assert_same(&a.out_degrees, &b.out_degrees);
	assert_same(&a.original, &b.original);
	assert_same(&a.internal, &b.internal);
	assert_same(&a.out, &b.out);
	assert_int_equal(a.cut, b.cut);
	dgi_edge_order_clear(&a);
	dgi_edge_order_clear(&b);
}

static void edges_are_ordered_by_destination_and_original_id(void **state)
{
	struct place *p = *state;
	struct dgi_edge_sort sort = sort_of(p, 0);
	struct dgi_edge_order o;
	dg_error err = { 0 };

	assert_ok(dgi_edge_sort(&sort, &p->work, &p->progress, &err), &err);
	assert_ok(dgi_edge_order_open(&sort, &p->work, &o, &err), &err);
	for (dg_id v = 0; v < N_NODES; v++)
		for (dg_id e = dgi_ids_get(&o.indptr, v); e < dgi_ids_get(&o.indptr, v + 1); e++) {
			dg_id original = dgi_ids_get(&o.original, e);

			assert_int_equal(dgi_ids_get(&p->nodes.internal, p->dst[original]), v);
			assert_int_equal(dgi_ids_get(&p->nodes.internal, p->src[original]),
					 dgi_ids_get(&o.indices, e));
			assert_int_equal(dgi_ids_get(&o.internal, original), e);
			assert_true(e == dgi_ids_get(&o.indptr, v) ||
				    dgi_ids_get(&o.original, e - 1) < original);
		}
	assert_int_equal(dgi_ids_get(&o.indptr, N_NODES), N_EDGES);
	assert_int_equal(dgi_edge_order_destination(&o, 0), 0);
	assert_int_equal(dgi_edge_order_destination(&o, N_EDGES - 1), N_NODES - 1);
	dgi_edge_order_clear(&o);
}

static void sorted_edges_are_not_sorted_again(void **state)
{
	struct place *p = *state;
	struct dgi_edge_sort sort = sort_of(p, 0);
	struct dgi_edge_order o;
	dg_error err = { 0 };

	assert_ok(dgi_edge_sort(&sort, &p->work, &p->progress, &err), &err);
	assert_int_equal(unlink(p->source.edges[0].path), 0);
	assert_ok(dgi_edge_sort(&sort, &p->work, &p->progress, &err), &err);
	assert_ok(dgi_edge_order_open(&sort, &p->work, &o, &err), &err);
	dgi_edge_order_clear(&o);
}

/* Row i of two files is i, i + 0.5. */
static void give_data(struct place *p)
{
	struct dgi_source_data *data = calloc(1, sizeof *data);
	dg_error err = { 0 };

	assert_non_null(data);
	p->source.data = data;
	p->source.n_data = 1;
	data->info = (dg_tensor_info){
		.name = "feat", .dtype = DG_FLOAT64, .rank = 1, .shape = { 2 }, .row_bytes = 16
	};
	data->paths = calloc(2, sizeof(char *));
	assert_non_null(data->paths);
	for (int file = 0; file < 2; file++) {
		const int64_t shape[] = { file ? N_NODES - 301 : 301, 2 };
		dg_array_writer *w;

		data->paths[file] = tmpdir_path(p->dir, file ? "b.npy" : "a.npy");
		data->n_paths++;
		assert_ok(dg_array_writer_open(data->paths[file], DG_FLOAT64, 2, shape, &w, &err),
			  &err);
		for (int64_t i = 0; i < shape[0]; i++) {
			double first = (double)(file ? 301 + i : i);
			const double row[] = { first, first + 0.5 };

			assert_ok(dg_array_writer_append(w, row, sizeof row, &err), &err);
		}
		assert_ok(dg_array_writer_close(w, 1, &err), &err);
	}
}

/* In the memory of so many rows. */
static void check_rows(struct place *p, uint64_t memory)
{
	struct dgi_rows *rows;
	double found[N_NODES][2];
	dg_error err = { 0 };

	assert_ok(dgi_rows_open(&p->source, 0, &p->nodes.internal, &p->nodes.original, memory,
				&p->work, &p->progress, &rows, &err),
		  &err);
	for (int64_t at = 0; at < N_NODES; at += 250)
		assert_ok(dgi_rows_fill(rows, at, 250, found[at], &err), &err);
	for (int64_t i = 0; i < N_NODES; i++) {
		assert_true(found[i][0] == (double)dgi_ids_get(&p->nodes.original, i));
		assert_true(found[i][1] == found[i][0] + 0.5);
	}
	dgi_rows_close(rows);
}

static void rows_are_put_into_order_in_any_memory(void **state)
{
	struct place *p = *state;

	give_data(p);
	check_rows(p, (uint64_t)1 << 30);
	check_rows(p, N_NODES * 16);
	check_rows(p, N_NODES * 16 - 1);
	check_rows(p, 700);
	check_rows(p, 700); /* buckets that were made before */
	check_rows(p, 1);
}

static void rows_that_changed_since_are_refused(void **state)
{
	struct place *p = *state;
	struct dgi_rows *rows;
	dg_error err = { 0 };

	give_data(p);
	p->source.data[0].info.dtype = DG_INT64;
	assert_fails(dgi_rows_open(&p->source, 0, &p->nodes.internal, &p->nodes.original, 1000,
				   &p->work, &p->progress, &rows, &err),
		     DG_MISMATCH, &err, "node data 'feat': ");
	p->source.data[0].info.dtype = DG_FLOAT64;
	assert_int_equal(truncate(p->source.data[0].paths[1], 4000), 0);
	assert_fails(dgi_rows_open(&p->source, 0, &p->nodes.internal, &p->nodes.original, 1000,
				   &p->work, &p->progress, &rows, &err),
		     DG_INVALID, &err, "4000 bytes");
	p->source.data[0].n_paths = 1;
	free(p->source.data[0].paths[1]);
	assert_fails(dgi_rows_open(&p->source, 0, &p->nodes.internal, &p->nodes.original, 1000,
				   &p->work, &p->progress, &rows, &err),
		     DG_MISMATCH, &err, "301 rows in its files, want 1000");
}

static void records_keep_their_order_in_their_bucket(void **state)
{
	static const uint64_t counts[] = { 5, 0, 3 };
	static const uint32_t buckets[] = { 2, 0, 0, 2, 0, 0, 2, 0 };
	static const uint64_t wanted[] = { 1, 2, 4, 5, 7, 0, 3, 6 };
	struct place *p = *state;
	char *path = tmpdir_path(p->dir, "spill");

	for (uint64_t memory = 0; memory <= 100; memory += 50) {
		struct dgi_bucket_file spill;
		uint64_t found[8];
		dg_error err = { 0 };

		assert_ok(dgi_bucket_file_open(path, counts, 3, sizeof(uint64_t), memory, &spill,
					       &err),
			  &err);
		for (uint64_t i = 0; i < 8; i++) {
			void *record;

			assert_ok(dgi_bucket_file_next(&spill, buckets[i], &record, &err), &err);
			memcpy(record, &i, sizeof i);
		}
		assert_ok(dgi_bucket_file_finish(&spill, &err), &err);
		assert_ok(dgi_bucket_file_read(&spill, 0, 8, found, &err), &err);
		assert_memory_equal(found, wanted, sizeof wanted);
		dgi_bucket_file_close(&spill);
	}
	free(path);
}

/* Row pointers of a part far behind 2^31 edges, which alone has few. */
static void large_numbers_are_stored_small_where_they_fit(void **state)
{
	const int64_t base = (int64_t)5 << 31;
	struct dgi_ids wide;
	struct dgi_slice slice = { .column = &wide, .first = 1, .base = base, .dtype = DG_INT32 };
	int32_t narrow[2];
	int64_t same[2];
	dg_error err = { 0 };

	(void)state;
	assert_int_equal(dgi_ids_bytes_for(INT32_MAX), 4);
	assert_int_equal(dgi_ids_bytes_for((int64_t)INT32_MAX + 1), 8);
	assert_ok(dgi_ids_new(3, 8, &wide, &err), &err);
	dgi_ids_set(&wide, 0, 0);
	dgi_ids_set(&wide, 1, base);
	dgi_ids_set(&wide, 2, base + 9);
	assert_ok(dgi_slice_fill(&slice, 0, 2, narrow, &err), &err);
	assert_int_equal(narrow[0], 0);
	assert_int_equal(narrow[1], 9);
	slice.base = 0;
	slice.dtype = DG_INT64;
	assert_ok(dgi_slice_fill(&slice, 0, 2, same, &err), &err);
	assert_int_equal(same[1], base + 9);
	dgi_ids_clear(&wide);
}

/* --- Work directories --- */

static void work_goes_on_with_the_same_arguments_alone(void **state)
{
	struct place *p = *state;
	char text[DGI_WORK_TEXT_BYTES];
	struct dgi_work other;
	dg_error err = { 0 };

	assert_fails(dgi_work_begin(p->output, "of a test\n", &other, &err), DG_BUSY, &err,
		     "another process");
	assert_false(dgi_work_finished(&p->work, "cut", text));
	assert_ok(dgi_work_finish(&p->work, "cut", "1 2 3", true, &err), &err);
	assert_true(dgi_work_finished(&p->work, "cut", text));
	assert_string_equal(text, "1 2 3");
	dgi_work_end(&p->work, true);
	assert_ok(dgi_work_begin(p->output, "of a test\n", &p->work, &err), &err);
	assert_true(p->work.resumed);
	assert_true(dgi_work_finished(&p->work, "cut", NULL));
	dgi_work_end(&p->work, true);
	assert_ok(dgi_work_begin(p->output, "of another\n", &p->work, &err), &err);
	assert_false(p->work.resumed);
	assert_false(dgi_work_finished(&p->work, "cut", NULL));
}

static void a_directory_of_somebody_else_is_not_used(void **state)
{
	struct place *p = *state;
	char *output = tmpdir_path(p->dir, "mine");
	char *path = tmpdir_path(p->dir, "mine.work");
	char *file = tmpdir_path(p->dir, "mine.work/letter");
	struct dgi_work work;
	FILE *f;
	dg_error err = { 0 };

	assert_int_equal(mkdir(path, 0700), 0);
	f = fopen(file, "w");
	assert_non_null(f);
	assert_int_equal(fclose(f), 0);
	assert_fails(dgi_work_begin(output, "", &work, &err), DG_EXISTS, &err,
		     "is not what an interrupted run has left");
	assert_int_equal(access(file, F_OK), 0);
	free(output);
	free(path);
	free(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_place, remove_place)
		TEST(edges_sorted_through_buckets_are_as_sorted_at_once),
		TEST(edges_are_ordered_by_destination_and_original_id),
		TEST(sorted_edges_are_not_sorted_again),
		TEST(rows_are_put_into_order_in_any_memory),
		TEST(rows_that_changed_since_are_refused),
		TEST(records_keep_their_order_in_their_bucket),
		cmocka_unit_test(large_numbers_are_stored_small_where_they_fit),
		TEST(work_goes_on_with_the_same_arguments_alone),
		TEST(a_directory_of_somebody_else_is_not_used),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
