/* What src/partition/edges.c and src/partition/edge_text.c promise. */
#include "test.h"
#include "tmpdir.h"

#include "edges.h"

#include <distgraph/array.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static char *dir;
static char *path; /* of the file each test writes */

static int make_dir(void **state)
{
	(void)state;
	dir = tmpdir_new();
	path = tmpdir_path(dir, "edges.csv");
	return 0;
}

static int remove_dir(void **state)
{
	(void)state;
	free(path);
	tmpdir_remove(dir);
	return 0;
}

static void write_text(const char *text, size_t n, const char *gz_mode)
{
	gzFile f = gzopen(path, gz_mode);

	assert_non_null(f);
	assert_int_equal(gzwrite(f, text, (unsigned)n), n);
	assert_int_equal(gzclose(f), Z_OK);
}

static dg_status read_text(const char *text, int64_t n_nodes, struct dgi_edges *edges,
			   dg_error *err)
{
	*edges = dgi_edges_none();
	write_text(text, strlen(text), "wbT");
	return dgi_edges_read(edges, path, n_nodes, NULL, err);
}

/* The text holds the edges 0→1, 1→2, 7→3. */
static void assert_three(const char *text)
{
	struct dgi_edges edges;
	dg_error err = { 0 };

	assert_ok(read_text(text, 0, &edges, &err), &err);
	assert_int_equal(edges.n, 3);
	assert_int_equal(edges.largest, 7);
	assert_memory_equal(dgi_edges_src(&edges), ((const dg_id[]){ 0, 1, 7 }), 24);
	assert_memory_equal(dgi_edges_dst(&edges), ((const dg_id[]){ 1, 2, 3 }), 24);
	dgi_edges_clear(&edges);
}

static void every_separator_line_end_and_decoration_is_understood(void **state)
{
	(void)state;
	assert_three("0,1\n1,2\n7,3\n");
	assert_three("0,1\n1,2\n7,3");
	assert_three("0,1\r\n1,2\r\n7,3\r\n");
	assert_three("0\t1\n1\t2\n7\t3\n");
	assert_three("0 1\n1  2\n 7\t3 \n");
	assert_three("0;1\n1;2\n7;3\n");
	assert_three("0 , 1\n1, 2\n7 ,3\n");
	assert_three("src,dst\n0,1\n1,2\n7,3\n");
	assert_three("# karate\n% and so on\nsrc dst\n0 1\n# within\n\n1 2\n  \n7 3\n\n");
	assert_three("\xef\xbb\xbf"
		     "0,1\n1,2\n7,3\n");
	assert_three("0,1,0.5\n1,2,\n7,3,x\n");
	assert_three("0 1 5 6\n1 2 5 6\n7 3 5 6  \n");
	assert_three("000000000000000000000,1\n01,2\n7,3\n");
}

static void a_line_of_another_form_is_named(void **state)
{
	static const struct {
		const char *text;
		const char *where;
		const char *what;
	} bad[] = {
		{ "0,1\nx,2\n", ":2:", "found 'x,2', want a node id" },
		{ "0,1\n1,x\n", ":2:", "found 'x', want a node id" },
		{ "# c\n\n0,1\n1\n", ":4:", "found the line's end, want a comma and a node id" },
		{ "0,1\n1,\n", ":2:", "found the line's end, want a node id" },
		{ "0,1\n1 2\n", ":2:", "found ' 2', want a comma" },
		{ "0;1\n1,2\n", ":2:", "found ',2', want a semicolon" },
		{ "0 1\n1,2\n", ":2:", "found ',2', want a blank" },
		{ "0,1\n1,2,3\n", ":2:", "3 columns, want 2" },
		{ "0,1,2\n1,2\n", ":2:", "2 columns, want 3" },
		{ "0,1\n1.5,2\n", ":2:", "found '.5,2'" },
		{ "0,1\n1,2.0\n", ":2:", "found '.0', want the end of a node id" },
		{ "0,1\n1,2\rx\n", ":2:", "want the end of a node id" },
		{ "a,b\nc,d\n", ":2:", "found 'c,d'" },
		{ "a,b\n\"0\",\"1\"\n", ":2:", "found '\"0\",\"1\"'" },
		{ "+1,2\n", ":1:", "found '+1,2'" },
		{ "5\n", ":1:", "want a comma, semicolon or blank" },
		{ "5x6\n", ":1:", "found 'x6', want a comma, semicolon or blank" },
	};
	struct dgi_edges edges;
	dg_error err = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		assert_fails(read_text(bad[i].text, 0, &edges, &err), DG_INVALID, &err,
			     bad[i].what);
		assert_non_null(strstr(err.text, path));
		assert_non_null(strstr(err.text, bad[i].where));
		dgi_edges_clear(&edges);
	}
}

static void ids_out_of_range_are_named(void **state)
{
	static const struct {
		const char *text;
		int64_t n_nodes;
		const char *what;
	} bad[] = {
		{ "0,1\n1,-2\n", 0, ":2: node id -2 is negative" },
		{ "-1,1\n", 0, ":1: node id -1 is negative" },
		{ "0,1\n5,4\n", 5, ":2: node id 5, want less than 5" },
		{ "0,1\n4,5\n", 5, ":2: node id 5, want less than 5" },
		{ "0,1\n1,9223372036854775808\n", 0, ":2: node id 9223372036854775808" },
		{ "9223372036854775807,1\n", 0, "is above 2^63 - 2" },
	};
	struct dgi_edges edges;
	dg_error err = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		assert_fails(read_text(bad[i].text, bad[i].n_nodes, &edges, &err), DG_RANGE, &err,
			     bad[i].what);
		dgi_edges_clear(&edges);
	}
	assert_ok(read_text("0,1\n4,3\n", 5, &edges, &err), &err);
	dgi_edges_clear(&edges);
	assert_ok(read_text("0,9223372036854775806\n", 0, &edges, &err), &err);
	assert_true(edges.largest == INT64_MAX - 1);
	dgi_edges_clear(&edges);
}

static void a_file_without_edges_is_refused_unless_the_nodes_are_told(void **state)
{
	static const char *const empty[] = { "", "\n\n", "# nothing\n", "src,dst\n" };
	struct dgi_edges edges;
	dg_error err = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof empty / sizeof empty[0]; i++) {
		assert_fails(read_text(empty[i], 0, &edges, &err), DG_INVALID, &err, "no edges");
		assert_ok(read_text(empty[i], 3, &edges, &err), &err);
		assert_int_equal(edges.n, 0);
		assert_int_equal(edges.largest, -1);
		dgi_edges_clear(&edges);
	}
	edges = dgi_edges_none();
	assert_fails(dgi_edges_read(&edges, "/nowhere/e.csv", 0, NULL, &err), DG_NOTFOUND, &err,
		     "/nowhere/e.csv");
}

static void lines_across_blocks_and_packed_files_come_out_whole(void **state)
{
	static const int n = 400000; /* several blocks */
	char *text = malloc((size_t)n * 16);
	size_t bytes = 0;
	dg_error err = { 0 };

	(void)state;
	assert_non_null(text);
	for (int i = 0; i < n; i++)
		bytes += (size_t)sprintf(text + bytes, i % 1000 ? "%d,%d\n" : "%d, %d\n", i, n - i);
	for (int packed = 0; packed < 2; packed++) {
		struct dgi_edges edges = dgi_edges_none();

		write_text(text, bytes, packed ? "wb1" : "wbT");
		assert_ok(dgi_edges_read(&edges, path, 0, NULL, &err), &err);
		assert_int_equal(edges.n, n);
		for (int i = 0; i < n; i++) {
			assert_int_equal(dgi_edges_src(&edges)[i], i);
			assert_int_equal(dgi_edges_dst(&edges)[i], n - i);
		}
		dgi_edges_clear(&edges);
	}
	text[bytes - 3] = 'x';
	write_text(text, bytes, "wbT");
	{
		struct dgi_edges edges = dgi_edges_none();

		assert_fails(dgi_edges_read(&edges, path, 0, NULL, &err), DG_INVALID, &err,
			     ":400000:");
		dgi_edges_clear(&edges);
	}
	free(text);
}

static void a_line_without_end_is_refused(void **state)
{
	size_t n = (size_t)3 << 20;
	char *text = malloc(n);
	struct dgi_edges edges = dgi_edges_none();
	dg_error err = { 0 };

	(void)state;
	assert_non_null(text);
	memset(text, '1', n);
	memcpy(text, "0,1\n", 4);
	write_text(text, n, "wbT");
	assert_fails(dgi_edges_read(&edges, path, 0, NULL, &err), DG_INVALID, &err,
		     ":2: a line longer than 65536 bytes");
	dgi_edges_clear(&edges);
	free(text);
}

/* --- .npy --- */

static void write_npy(dg_dtype dtype, uint32_t rank, const int64_t *shape, const void *data,
		      size_t n)
{
	dg_array_writer *w;
	dg_error err = { 0 };

	assert_ok(dg_array_writer_open(path, dtype, rank, shape, &w, &err), &err);
	assert_ok(dg_array_writer_append(w, data, n, &err), &err);
	assert_ok(dg_array_writer_close(w, 1, &err), &err);
}

static void assert_three_in_file(void)
{
	struct dgi_edges edges = dgi_edges_none();
	dg_error err = { 0 };

	assert_ok(dgi_edges_read(&edges, path, 8, NULL, &err), &err);
	assert_int_equal(edges.n, 3);
	assert_int_equal(edges.largest, 7);
	assert_memory_equal(dgi_edges_src(&edges), ((const dg_id[]){ 0, 1, 7 }), 24);
	assert_memory_equal(dgi_edges_dst(&edges), ((const dg_id[]){ 1, 2, 3 }), 24);
	dgi_edges_clear(&edges);
}

static void arrays_of_every_integer_and_either_shape_are_read(void **state)
{
	static const int64_t tall[] = { 3, 2 };
	static const int64_t wide[] = { 2, 3 };
	static const int64_t rows[] = { 0, 1, 1, 2, 7, 3 };
	static const int64_t columns[] = { 0, 1, 7, 1, 2, 3 };
	static const int32_t rows32[] = { 0, 1, 1, 2, 7, 3 };
	static const int16_t columns16[] = { 0, 1, 7, 1, 2, 3 };
	static const uint8_t rows8[] = { 0, 1, 1, 2, 7, 3 };

	(void)state;
	write_npy(DG_INT64, 2, tall, rows, sizeof rows);
	assert_three_in_file();
	write_npy(DG_INT64, 2, wide, columns, sizeof columns);
	assert_three_in_file();
	write_npy(DG_INT32, 2, tall, rows32, sizeof rows32);
	assert_three_in_file();
	write_npy(DG_INT16, 2, wide, columns16, sizeof columns16);
	assert_three_in_file();
	write_npy(DG_UINT8, 2, tall, rows8, sizeof rows8);
	assert_three_in_file();
}

/* A file with a header of its own making. */
static void write_raw(const char *descr, const char *order, const char *shape, const void *data,
		      size_t n)
{
	char text[512] = "\x93NUMPY\x01";
	int header = snprintf(text + 10, 200, "{'descr': '%s', 'fortran_order': %s, 'shape': %s}\n",
			      descr, order, shape);

	text[8] = (char)header;
	memcpy(text + 10 + header, data, n);
	write_text(text, 10 + (size_t)header + n, "wb");
}

static void transposed_and_unsigned_arrays_are_read(void **state)
{
	static const uint64_t rows[] = { 0, 1, 1, 2, 7, 3 };
	static const uint32_t columns[] = { 0, 1, 7, 1, 2, 3 };

	(void)state;
	write_raw("<u4", "True", "(3, 2)", columns, sizeof columns);
	assert_three_in_file();
	write_raw("<u8", "True", "(2, 3)", rows, sizeof rows);
	assert_three_in_file();
	write_raw("<u8", "False", "(3, 2)", rows, sizeof rows);
	assert_three_in_file();
}

static void two_by_two_is_two_edges_of_two_ends(void **state)
{
	static const int64_t shape[] = { 2, 2 };
	static const int64_t rows[] = { 5, 6, 7, 8 };
	struct dgi_edges edges = dgi_edges_none();
	dg_error err = { 0 };

	(void)state;
	write_npy(DG_INT64, 2, shape, rows, sizeof rows);
	assert_ok(dgi_edges_read(&edges, path, 0, NULL, &err), &err);
	assert_memory_equal(dgi_edges_src(&edges), ((const dg_id[]){ 5, 7 }), 16);
	assert_memory_equal(dgi_edges_dst(&edges), ((const dg_id[]){ 6, 8 }), 16);
	dgi_edges_clear(&edges);
}

static void arrays_that_are_no_edges_are_refused(void **state)
{
	static const int64_t data[] = { 0, -3, INT64_MAX, 0, 0, 0 };
	static const uint64_t huge[] = { 0, UINT64_C(1) << 63 };
	struct dgi_edges edges = dgi_edges_none();
	dg_error err = { 0 };

	(void)state;
	write_npy(DG_INT64, 1, (const int64_t[]){ 6 }, data, 48);
	assert_fails(dgi_edges_read(&edges, path, 0, NULL, &err), DG_INVALID, &err,
		     "1 dimensions, want shape (E,2) or (2,E)");
	write_npy(DG_INT64, 2, (const int64_t[]){ 1, 6 }, data, 48);
	assert_fails(dgi_edges_read(&edges, path, 0, NULL, &err), DG_INVALID, &err, "(1,6)");
	write_npy(DG_FLOAT64, 2, (const int64_t[]){ 3, 2 }, data, 48);
	assert_fails(dgi_edges_read(&edges, path, 0, NULL, &err), DG_INVALID, &err,
		     "'f8', want integers");
	write_npy(DG_INT64, 2, (const int64_t[]){ 1, 2 }, data, 16);
	assert_fails(dgi_edges_read(&edges, path, 0, NULL, &err), DG_RANGE, &err,
		     "row 0: node id -3 is negative");
	write_npy(DG_INT64, 2, (const int64_t[]){ 2, 2 }, data + 2, 32);
	assert_fails(dgi_edges_read(&edges, path, 100, NULL, &err), DG_RANGE, &err,
		     "row 0: node id 9223372036854775807, want less than 100");
	write_npy(DG_INT64, 2, (const int64_t[]){ 0, 2 }, data, 0);
	assert_fails(dgi_edges_read(&edges, path, 0, NULL, &err), DG_INVALID, &err, "no edges");
	write_raw("<u8", "False", "(1, 2)", huge, sizeof huge);
	assert_fails(dgi_edges_read(&edges, path, 0, NULL, &err), DG_RANGE, &err,
		     "9223372036854775808 is above 2^63 - 1");
	assert_int_equal(edges.n, 0);
	dgi_edges_clear(&edges);
}

static void several_files_follow_one_another(void **state)
{
	struct dgi_edges edges;
	dg_error err = { 0 };

	(void)state;
	assert_ok(read_text("0,1\n1,2\n", 0, &edges, &err), &err);
	write_text("a b\n7 3\n", 8, "wbT");
	assert_ok(dgi_edges_read(&edges, path, 0, NULL, &err), &err);
	assert_int_equal(edges.n, 3);
	assert_memory_equal(dgi_edges_src(&edges), ((const dg_id[]){ 0, 1, 7 }), 24);
	dgi_edges_clear(&edges);
}

static int stop_at_once(void *context, const char *phase, uint64_t done, uint64_t total)
{
	(void)phase;
	(void)done;
	(void)total;
	++*(int *)context;
	return 1;
}

static void reading_can_be_cancelled(void **state)
{
	int calls = 0;
	struct dgi_progress progress = { .fn = stop_at_once,
					 .context = &calls,
					 .phase = "read edges" };
	struct dgi_edges edges = dgi_edges_none();
	dg_error err = { 0 };

	(void)state;
	write_text("0,1\n", 4, "wbT");
	assert_fails(dgi_edges_read(&edges, path, 0, &progress, &err), DG_CANCELLED, &err,
		     "read edges");
	assert_int_equal(calls, 1);
	dgi_edges_clear(&edges);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_separator_line_end_and_decoration_is_understood),
		cmocka_unit_test(a_line_of_another_form_is_named),
		cmocka_unit_test(ids_out_of_range_are_named),
		cmocka_unit_test(a_file_without_edges_is_refused_unless_the_nodes_are_told),
		cmocka_unit_test(lines_across_blocks_and_packed_files_come_out_whole),
		cmocka_unit_test(a_line_without_end_is_refused),
		cmocka_unit_test(arrays_of_every_integer_and_either_shape_are_read),
		cmocka_unit_test(transposed_and_unsigned_arrays_are_read),
		cmocka_unit_test(two_by_two_is_two_edges_of_two_ends),
		cmocka_unit_test(arrays_that_are_no_edges_are_refused),
		cmocka_unit_test(several_files_follow_one_another),
		cmocka_unit_test(reading_can_be_cancelled),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
