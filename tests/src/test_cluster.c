/* What src/graph/cluster.c, src/graph/cluster_read.c and src/graph/cluster_write.c promise. */
#include "test.h"

#include "book.h"
#include "cluster.h"
#include "tmpdir.h"
#include "uuid.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A typed graph whose file lists its types out of order. */
static const char typed[] =
	"{'graph_name': 'g', 'part_method': 'metis', 'num_parts': 2, 'halo_hops': 1,\n"
	" 'num_nodes': 8, 'num_edges': 11,\n"
	" 'node_map': {'B': [[2,5],[6,8]], 'A': [[0,2],[5,6]]},\n"
	" 'edge_map': {'A:r:B': [[0,4],[4,4]], 'B:r:A': [[4,4],[4,11]]},\n"
	" 'ntypes': {'B': 1, 'A': 0}, 'etypes': {'A:r:B': 0, 'B:r:A': 1},\n"
	" 'part-0': {'node_feats': 'part0/nf', 'edge_feats': 'part0/ef', 'part_graph': "
	"'part0/g'},\n"
	" 'part-1': {'part_graph': 'part1/g', 'address': ['h:1', 'unix:/s']}}";

/* The same text with @from replaced by @to, and ' by ", to be freed. */
static char *with(const char *text, const char *from, const char *to)
{
	char *out = malloc(strlen(text) + strlen(to) + 1);
	const char *at = from ? strstr(text, from) : NULL;

	assert_true(!from || at != NULL);
	if (at)
		(void)sprintf(out, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
	else
		(void)strcpy(out, text);
	for (char *c = out; *c; c++)
		if (*c == '\'')
			*c = '"';
	return out;
}

static dg_cluster *decoded(const char *text, const char *from, const char *to)
{
	char *json = with(text, from, to);
	dg_cluster *cluster = NULL;
	dg_error err = { 0 };

	assert_ok(dgi_cluster_decode(json, strlen(json), "dir", &cluster, &err), &err);
	free(json);
	return cluster;
}

static void assert_refused(const char *from, const char *to, const char *part)
{
	char *json = with(typed, from, to);
	dg_cluster *cluster;
	dg_error err = { 0 };

	assert_fails(dgi_cluster_decode(json, strlen(json), "dir", &cluster, &err), DG_INVALID,
		     &err, part);
	free(json);
}

static void assert_homogeneous(const dg_book *book, dg_side side, uint16_t type, uint32_t part,
			       dg_id start, dg_id end)
{
	dg_id a, b;

	dg_book_homogeneous_range(book, side, type, part, &a, &b);
	assert_int_equal(a, start);
	assert_int_equal(b, end);
}

static void a_typed_file_gives_its_book(void **state)
{
	dg_cluster *cluster = decoded(typed, NULL, "");
	const dg_book *book = dg_cluster_book(cluster);

	(void)state;
	assert_string_equal(dg_cluster_graph_name(cluster), "g");
	assert_int_equal(dg_book_n_parts(book), 2);
	assert_string_equal(dg_book_node_type(book, 0), "A");
	assert_string_equal(dg_book_edge_type(book, 1).src, "B");
	assert_homogeneous(book, DG_NODE, 0, 1, 5, 6);
	assert_homogeneous(book, DG_NODE, 1, 0, 2, 5);
	assert_homogeneous(book, DG_EDGE, 1, 1, 4, 11);
	assert_int_equal(cluster->halo_hops, 1);
	assert_string_equal(cluster->parts[1].addresses[1], "unix:/s");
	dg_cluster_close(cluster);
}

static void stores_lie_in_the_folder_of_the_file(void **state)
{
	dg_cluster *cluster = decoded(typed, "'part1/g'", "'/far/p/g'");

	(void)state;
	assert_string_equal(dg_cluster_part_path(cluster, 0), "dir/part0");
	assert_string_equal(dg_cluster_part_path(cluster, 1), "/far/p");
	assert_null(dg_cluster_part_path(cluster, 2));
	dg_cluster_close(cluster);
	cluster = decoded(typed, "'part1/g'", "'g'");
	assert_string_equal(dg_cluster_part_path(cluster, 1), "dir");
	dg_cluster_close(cluster);
	cluster = decoded(typed, "'part1/g'", "'/g'");
	assert_string_equal(dg_cluster_part_path(cluster, 1), "/");
	dg_cluster_close(cluster);
}

static void the_older_forms_are_read(void **state)
{
	static const char old[] =
		"{'graph_name': 'g', 'part_method': 'metis', 'num_parts': 2, 'halo_hops': 1,"
		" 'num_nodes': 6, 'num_edges': 9, 'node_map': [3, 6], 'edge_map': [[0, 4], [4, 9]],"
		" 'part-0': {'part_graph': 'part0/g'}, 'part-1': {'part_graph': 'part1/g'}}";
	dg_cluster *cluster = decoded(old, NULL, "");
	const dg_book *book = dg_cluster_book(cluster);
	dg_uuid uuid = dg_cluster_uuid(cluster);

	(void)state;
	assert_string_equal(dg_book_node_type(book, 0), "_N");
	assert_string_equal(dg_book_edge_type(book, 0).relation, "_E");
	assert_homogeneous(book, DG_NODE, 0, 1, 3, 6);
	assert_homogeneous(book, DG_EDGE, 0, 0, 0, 4);
	assert_true(dgi_uuid_is_zero(&uuid));
	dg_cluster_close(cluster);
}

static void ends_in_place_of_ranges_and_types_left_out_are_read(void **state)
{
	static const char old[] =
		"{'graph_name': 'g', 'part_method': 'metis', 'num_parts': 2,"
		" 'num_nodes': 6, 'num_edges': 9, 'node_map': {'_N': [3, 6]}, 'edge_map': [4, 9],"
		" 'node_map_dtype': 'int32', 'edge_map_dtype': 'int64',"
		" 'part-0': {'part_graph': 'part0/g'}, 'part-1': {'part_graph': 'part1/g'}}";
	dg_cluster *cluster = decoded(old, NULL, "");
	const dg_book *book = dg_cluster_book(cluster);

	(void)state;
	assert_homogeneous(book, DG_NODE, 0, 0, 0, 3);
	assert_homogeneous(book, DG_NODE, 0, 1, 3, 6);
	assert_homogeneous(book, DG_EDGE, 0, 1, 4, 9);
	assert_int_equal(dg_book_map_dtype(book, DG_NODE), DG_INT32);
	assert_int_equal(dg_book_map_dtype(book, DG_EDGE), DG_INT64);
	dg_cluster_close(cluster);
}

static void assert_offsets(const dg_book *book, dg_side side, uint32_t part, const int64_t *want,
			   size_t n)
{
	int64_t got[5];

	dg_book_local_offsets(book, side, part, got);
	assert_memory_equal(got, want, n * sizeof *want);
}

static void maps_that_are_not_in_the_order_of_types_are_sorted(void **state)
{
	static const char unsorted[] =
		"{'graph_name': 'g', 'part_method': 'metis', 'num_parts': 2, 'num_nodes': 1000,"
		" 'num_edges': 3600, 'ntypes': {'n2': 1, 'n1': 0},"
		" 'etypes': {'n1:e3:n2': 2, 'n1:e1:n1': 0, 'n2:e4:n1': 3, 'n1:e2:n2': 1},"
		" 'node_map': {'n2': [[100, 300], [600, 1000]], 'n1': [[0, 100], [300, 600]]},"
		" 'edge_map': {'n1:e3:n2': [[300, 600], [2100, 2800]],"
		"              'n1:e1:n1': [[0, 100], [1000, 1500]],"
		"              'n2:e4:n1': [[600, 1000], [2800, 3600]],"
		"              'n1:e2:n2': [[100, 300], [1500, 2100]]},"
		" 'part-0': {'part_graph': 'part0/g'}, 'part-1': {'part_graph': 'part1/g'}}";
	dg_cluster *cluster = decoded(unsorted, NULL, "");
	const dg_book *book = dg_cluster_book(cluster);

	(void)state;
	assert_offsets(book, DG_NODE, 0, (const int64_t[]){ 0, 100, 300 }, 3);
	assert_offsets(book, DG_EDGE, 0, (const int64_t[]){ 0, 100, 300, 600, 1000 }, 5);
	assert_offsets(book, DG_NODE, 1, (const int64_t[]){ 0, 300, 700 }, 3);
	assert_offsets(book, DG_EDGE, 1, (const int64_t[]){ 0, 500, 1100, 1800, 2600 }, 5);
	dg_cluster_close(cluster);
}

static void books_that_are_no_books_of_ranges_are_refused_clearly(void **state)
{
	(void)state;
	assert_refused("{'B': [[2,5],[6,8]], 'A': [[0,2],[5,6]]}", "'node_map.npy'",
		       "'node_map' names a file, \"node_map.npy\": a partition for each id");
	assert_refused("{'B': [[2,5],[6,8]], 'A': [[0,2],[5,6]]}", "[[0,2],[5,6]]",
		       "'node_map' is a bare list, which only a graph of one type may have; "
		       "this one has 2");
	assert_refused("{'B': [[2,5],[6,8]], 'A': [[0,2],[5,6]]}", "7",
		       "'node_map' is 7, want an object of ranges by type");
	assert_refused("[6,8]", "[5,8]", "which overlaps the range before it");
	assert_refused("[6,8]", "[7,8]", "which leaves a gap");
	assert_refused("[6,8]", "[6,7,8]", "is [6,7,8], want a range [6, end] there");
	assert_refused("'num_nodes': 8,", "'num_nodes': 8, 'node_map_dtype': 'int16',",
		       "'node_map_dtype' is \"int16\", want \"int32\" or \"int64\"");
	assert_refused("[4,11]]},", "[4,3000000000]]}, 'edge_map_dtype': 'int32',",
		       "'num_edges' is 11, want 3000000000");
}

static void every_refusal_names_field_found_and_wanted(void **state)
{
	(void)state;
	assert_refused("'graph_name': 'g',", "", "'graph_name' is missing, want a string");
	assert_refused("'num_parts': 2", "'num_parts': 0",
		       "'num_parts' is 0, want an integer from 1 to 4096");
	assert_refused("'num_parts': 2", "'num_parts': 4097", "4097");
	assert_refused("'num_parts': 2", "'num_parts': '2'", "is \"2\", want an integer");
	assert_refused("'num_parts': 2", "'num_parts': 3", "want a list of 3 ranges for 'A'");
	assert_refused("'num_nodes': 8", "'num_nodes': 9",
		       "'num_nodes' is 9, want 8 as 'node_map' says");
	assert_refused("[6,8]", "[7,8]",
		       "type 'B' part 1: field 'node_map' is [7,8], want a range [6, end]");
	assert_refused("[6,8]", "[6,5]", "is [6,5]");
	assert_refused("[6,8]", "[6]", "is [6]");
	assert_refused("[6,8]", "8", "is 8");
	assert_refused("'A': [[0,2],[5,6]]", "'A': 7", "want a list of 2 ranges for 'A'");
	assert_refused("'A': [[0,2],[5,6]]", "'C': [[0,2],[5,6]]", "for 'A'");
	assert_refused("'A': 0}", "'A': 2}", "'ntypes' is {\"B\":1,\"A\":2}, want numbers 0, 1");
	assert_refused("'A': 0}", "'A': 1}", "each once");
	assert_refused("'B:r:A': 1", "'B:r': 1", "'B:r', want source:relation:destination");
	assert_refused("'B:r:A': 1", "'B:r:A:x': 1", "want source:relation:destination");
	assert_refused("'B:r:A': 1", "'B:r:C': 1", "'B:r:C' with a node type that is not in");
	assert_refused("'part1/g'", "7", "'part-1'");
	assert_refused("['h:1', 'unix:/s']", "'h:1'", "\"address\": a list");
	assert_refused("['h:1', 'unix:/s']", "[7]", "'part-1' is 7");
}

static void text_that_is_no_json_object_is_refused_with_its_line(void **state)
{
	(void)state;
	assert_refused("'num_nodes': 8,", "'num_nodes': 8", "line 2");
	assert_refused("'num_nodes': 8,", "'num_nodes': 8, 'num_parts': 2,", "duplicate");
	assert_refused(typed, "[]", "not a JSON object");
	assert_refused(typed, "", "line 1");
}

static void a_file_of_ours_has_format_and_uuid(void **state)
{
	char *json = with(typed, "{'graph", "{'distgraph_format': 2, 'graph");
	dg_cluster *cluster;
	dg_error err = { 0 };

	(void)state;
	assert_refused("{'graph", "{'distgraph_format': 1, 'graph", "'cluster_uuid' is missing");
	assert_refused("{'graph", "{'distgraph_format': 1, 'cluster_uuid': 'x', 'graph",
		       "want a UUID");
	assert_fails(dgi_cluster_decode(json, strlen(json), "", &cluster, &err), DG_VERSION, &err,
		     "'distgraph_format' is 2, this program reads 1");
	free(json);
}

/* --- Writing --- */

static const char *const node_types[] = { "a~b", "qu\"o\\te" };
static const struct dgi_edge_type_spec edge_types[] = { { "r/s", 1, 0 } };
static const int64_t node_counts[] = { 3, 0, 2, 4 };
static const int64_t edge_counts[] = { 5, 6 };

static dg_book *book_to_write(void)
{
	struct dgi_book_spec spec = {
		.n_parts = 2,
		.n_node_types = 2,
		.n_edge_types = 1,
		.node_types = node_types,
		.edge_types = edge_types,
		.node_counts = node_counts,
		.edge_counts = edge_counts,
	};
	dg_error err = { 0 };
	dg_book *book = NULL;

	assert_ok(dgi_book_new(&spec, &book, &err), &err);
	return book;
}

static struct dgi_cluster_spec spec_to_write(const dg_book *book)
{
	struct dgi_cluster_spec spec = {
		.graph_name = "größe",
		.part_method = "random",
		.cluster_uuid = { { 1, 2, 3 } },
		.book = book,
	};

	return spec;
}

static void what_is_written_is_read_again(void **state)
{
	char *dir = tmpdir_new(), *path = tmpdir_path(dir, "größe.json");
	char *part = tmpdir_path(dir, "part1");
	dg_book *book = book_to_write();
	struct dgi_cluster_spec spec = spec_to_write(book);
	dg_cluster *cluster = NULL;
	dg_error err = { 0 };
	dg_uuid uuid;

	(void)state;
	assert_ok(dgi_cluster_write(dir, &spec, &err), &err);
	assert_ok(dg_cluster_open(path, &cluster, &err), &err);
	uuid = dg_cluster_uuid(cluster);
	assert_true(dgi_uuid_equal(&uuid, &spec.cluster_uuid));
	assert_true(dgi_book_equal(dg_cluster_book(cluster), book));
	assert_string_equal(dg_cluster_graph_name(cluster), "größe");
	assert_string_equal(dg_cluster_part_path(cluster, 1), part);
	dg_cluster_close(cluster);
	dgi_book_free(book);
	free(part);
	free(path);
	tmpdir_remove(dir);
}

static void a_file_is_written_one_type_a_line(void **state)
{
	dg_book *book = book_to_write();
	struct dgi_cluster_spec spec = spec_to_write(book);
	dg_error err = { 0 };
	char *text;
	size_t n;

	(void)state;
	assert_ok(dgi_cluster_encode(&spec, &text, &n, &err), &err);
	text = realloc(text, n + 1);
	text[n] = '\0';
	assert_non_null(strstr(text, "\n    \"a%7Eb\": [[0, 3], [5, 5]],\n"));
	assert_non_null(strstr(text, "\n    \"qu\\\"o\\\\te:r%2Fs:a%7Eb\": [[0, 5], [5, 11]]\n"));
	free(text);
	dgi_book_free(book);
}

static void a_graph_name_must_be_a_file_name(void **state)
{
	dg_book *book = book_to_write();
	struct dgi_cluster_spec spec = spec_to_write(book);
	dg_error err = { 0 };

	(void)state;
	spec.graph_name = "a/b";
	assert_fails(dgi_cluster_write(".", &spec, &err), DG_INVALID, &err, "want no '/'");
	spec.graph_name = "";
	assert_fails(dgi_cluster_write(".", &spec, &err), DG_INVALID, &err, "empty");
	dgi_book_free(book);
}

static void a_missing_file_is_named(void **state)
{
	dg_cluster *cluster;
	dg_error err = { 0 };

	(void)state;
	assert_fails(dg_cluster_open("/nowhere/g.json", &cluster, &err), DG_NOTFOUND, &err,
		     "/nowhere/g.json");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_typed_file_gives_its_book),
		cmocka_unit_test(stores_lie_in_the_folder_of_the_file),
		cmocka_unit_test(the_older_forms_are_read),
		cmocka_unit_test(ends_in_place_of_ranges_and_types_left_out_are_read),
		cmocka_unit_test(maps_that_are_not_in_the_order_of_types_are_sorted),
		cmocka_unit_test(books_that_are_no_books_of_ranges_are_refused_clearly),
		cmocka_unit_test(every_refusal_names_field_found_and_wanted),
		cmocka_unit_test(text_that_is_no_json_object_is_refused_with_its_line),
		cmocka_unit_test(a_file_of_ours_has_format_and_uuid),
		cmocka_unit_test(what_is_written_is_read_again),
		cmocka_unit_test(a_file_is_written_one_type_a_line),
		cmocka_unit_test(a_graph_name_must_be_a_file_name),
		cmocka_unit_test(a_missing_file_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
