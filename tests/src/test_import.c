/* What src/import promises: each format, ids, types, data, and what is refused where. */
#include "import_fixture.h"

#include "gather.h"
#include "tmpdir.h"

#include <stdio.h>
#include <stdlib.h>

static struct import_fixture f;

static int set_up(void **state)
{
	(void)state;
	import_set_up(&f);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	import_tear_down(&f);
	return 0;
}

/* A file of this text and name gives this. */
static void gives(const char *name, const char *text, const char *wanted)
{
	import_again(&f);
	import_add_edges(&f, NULL, import_file(&f, name, text));
	import_gives(&f, wanted);
}

static void refuses(const char *name, const char *text, dg_status status, const char *part)
{
	import_again(&f);
	import_add_edges(&f, NULL, import_file(&f, name, text));
	import_refuses(&f, status, part);
	f.n_kept--;
	free(f.kept[f.n_kept]);
}

/* --- Text --- */

static void every_separator_line_end_and_decoration_is_understood(void **state)
{
	static const char *const texts[] = {
		"0,1\n1,2\n7,3\n",
		"0,1\n1,2\n7,3",
		"0,1\r\n1,2\r\n7,3\r\n",
		"0\t1\n1\t2\n7\t3\n",
		"0 1\n1  2\n 7\t3 \n",
		"0;1\n1;2\n7;3\n",
		"0|1\n1|2\n7|3\n",
		"0 , 1\n1, 2\n7 ,3\n",
		"src,dst\n0,1\n1,2\n7,3\n",
		"who,whom\n0,1\n1,2\n7,3\n",
		"# karate\n% and so on\nsrc dst\n0 1\n# within\n\n1 2\n  \n7 3\n\n",
		"\357\273\2770,1\n1,2\n7,3\n",
		"0,1,0.5\n1,2,\n7,3,x\n",
		"0 1 5 6\n1 2 5 6\n7 3 5 6  \n",
		"000000000000000000000,1\n01,2\n7,3\n",
		"\"0\",\"1\"\n1,\"2\"\n\"7\",3\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
		gives("e.txt", texts[i], "_N=8 | _N:_E:_N 0>1 1>2 7>3");
	gives("e.csv.gz", texts[0], "_N=8 | _N:_E:_N 0>1 1>2 7>3");
}

static void names_are_numbered_in_the_order_they_come(void **state)
{
	(void)state;
	gives("e.csv", "ann,bob\nbob,eve\nann,\"al, \"\"x\"\"\"\n",
	      "_N=4[ann bob eve al, \"x\"] | _N:_E:_N 0>1 1>2 0>3");
	gives("e.csv", "source,target\nann,bob\n", "_N=2[ann bob] | _N:_E:_N 0>1");
	gives("e.tsv", "\"a b\tc\nc\t\"a b\n", "_N=2[\"a b c] | _N:_E:_N 0>1 1>0");
	import_again(&f);
	f.input.ids = DG_INPUT_IDS_INTEGERS;
	import_add_edges(&f, NULL, import_file(&f, "e.csv", "100,-7\n-7,100\n100,5\n"));
	import_gives(&f, "_N=3[100 -7 5] | _N:_E:_N 0>1 1>0 0>2");
	f.input.ids = DG_INPUT_IDS_STRINGS;
	import_gives(&f, "_N=3[100 -7 5] | _N:_E:_N 0>1 1>0 0>2");
	assert_int_equal(f.source.nodes[0].ids, DGI_IDS_STRINGS);
}

static void columns_delimiter_and_header_can_be_told(void **state)
{
	(void)state;
	import_again(&f);
	f.input.columns = "to,from";
	import_add_edges(&f, NULL, import_file(&f, "e.csv", "id,from,to\n9,0,1\n9,1,2\n"));
	import_gives(&f, "_N=3 | _N:_E:_N 1>0 2>1");
	f.input.columns = "3,2";
	import_gives(&f, "_N=3 | _N:_E:_N 1>0 2>1");
	f.input.columns = "from,nobody";
	import_refuses(&f, DG_INVALID, "e.csv:1: column 'nobody': the header has none");
	f.input.columns = "from";
	import_refuses(&f, DG_INVALID, "columns 'from', want 2");
	import_again(&f);
	f.input.header = -1;
	f.input.delimiter = ':';
	import_add_edges(&f, NULL, import_file(&f, "e.csv", "src:dst\nb:c\n"));
	import_gives(&f, "_N=4[src dst b c] | _N:_E:_N 0>1 2>3");
	f.input.header = 1;
	import_gives(&f, "_N=2[b c] | _N:_E:_N 0>1");
}

static void a_line_of_another_form_is_named(void **state)
{
	static const struct {
		const char *text;
		const char *what;
	} bad[] = {
		{ "0,1\nx,2\n", "e.csv:2: found 'x', want a node id" },
		{ "0,1\n1,x\n", "e.csv:2: found 'x', want a node id" },
		{ "# c\n\n0,1\n1\n", "e.csv:4: 1 column, want 2, parted by a comma" },
		{ "0,1\n1,\n", "e.csv:2: found nothing, want a node id" },
		{ "0,1\n1 2\n", "e.csv:2: 1 column, want 2" },
		{ "0 1\n1,2\n", "e.csv:2: 1 column, want 2, parted by a blank" },
		{ "0,1\n1,2,3\n", "e.csv:2: 3 columns, want 2" },
		{ "0,1,2\n1,2\n", "e.csv:2: 2 columns, want 3" },
		{ "0,1\n1.5,2\n", "e.csv:2: found '1.5'" },
		{ "0,1\n1,2\rx\n", "e.csv:2: found '2?x'" },
		{ "+1,2\n", "e.csv:1: found '+1'" },
		{ "5\n", "e.csv:1: 1 column, want 2" },
		{ "# x\n\n5x6\n", "e.csv:3: 1 column, want 2" },
		{ "a,b\nc,\n", "e.csv:2: an empty node id" },
		{ "a,b\nc,\xff\n", "e.csv:2: node id '\xff': not UTF-8" },
		{ "a,b\nc,\"d\n", "e.csv:2: column 2: a quote that does not end" },
		{ "a,b\nc,\"d\"e\n", "e.csv:2: column 2: found 'e' behind the closing quote" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		refuses("e.csv", bad[i].text, DG_INVALID, bad[i].what);
}

static void ids_out_of_range_are_named(void **state)
{
	(void)state;
	refuses("e.csv", "0,1\n1,-2\n", DG_RANGE, "e.csv:2: node id -2 is negative");
	refuses("e.csv", "0,1\n1,9223372036854775808\n", DG_RANGE, "e.csv:2: a node id 9223372");
	refuses("e.csv", "9223372036854775807,1\n", DG_RANGE, "is above 2^63 - 2");
	import_again(&f);
	import_add_nodes(&f, NULL, 5, NULL);
	import_add_edges(&f, NULL, import_file(&f, "e.csv", "0,1\n4,5\n"));
	import_refuses(&f, DG_RANGE, "e.csv:2: node id 5, want less than 5");
	f.nodes[0].count = 6;
	import_gives(&f, "_N=6 | _N:_E:_N 0>1 4>5");
	f.nodes[0].count = 3;
	f.input.ids = DG_INPUT_IDS_STRINGS;
	import_refuses(&f, DG_RANGE, "e.csv:2: node id '5' is new");
}

static void a_file_without_edges_is_refused_unless_the_nodes_are_told(void **state)
{
	static const char *const empty[] = { "", "\n\n", "# nothing\n", "src,dst\n" };

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		refuses("e.csv", empty[i], DG_INVALID, "no edges");
		import_again(&f);
		import_add_nodes(&f, NULL, 3, NULL);
		import_add_edges(&f, NULL, import_file(&f, "e.csv", empty[i]));
		import_gives(&f, "_N=3 | _N:_E:_N");
	}
	import_again(&f);
	import_add_edges(&f, NULL, "/nowhere/e.csv");
	import_refuses(&f, DG_NOTFOUND, "/nowhere/e.csv");
}

static void large_files_come_out_whole(void **state)
{
	static const int n = 400000; /* several blocks, several pieces of the edges' file */
	char *text = malloc((size_t)n * 32);
	struct dgi_edge_reader *reader;
	const dg_id *src, *dst;
	size_t bytes = 0, got;
	int64_t at = 0;

	(void)state;
	assert_non_null(text);
	for (int i = 0; i < n; i++)
		bytes += (size_t)sprintf(text + bytes, i % 1000 ? "%d,%d,w\n" : "%d, %d,\"w\"\n", i,
					 n - i);
	import_again(&f);
	import_add_edges(&f, NULL, import_file(&f, "e.csv.gz", text));
	assert_ok(import_run(&f), &f.err);
	assert_int_equal(f.source.nodes[0].n, n + 1);
	assert_int_equal(f.source.edges[0].n, n);
	assert_int_equal(f.source.edges[0].id_bytes, 4);
	assert_ok(dgi_edge_reader_open(&f.source, 0, 0, &reader, &f.err), &f.err);
	do {
		assert_ok(dgi_edge_reader_next(reader, &src, &dst, &got, &f.err), &f.err);
		for (size_t i = 0; i < got; i++, at++)
			if (src[i] != at || dst[i] != n - at)
				fail_msg("edge %d", (int)at);
	} while (got > 0);
	assert_int_equal(at, n);
	dgi_edge_reader_close(reader);
	free(text);
}

static void an_id_beyond_32_bits_widens_those_before_it(void **state)
{
	static const dg_id large = INT64_C(5000000000);
	struct dgi_edge_reader *reader;
	struct dgi_gather g;
	const dg_id *src, *dst;
	uint16_t node, edge;
	size_t n;

	(void)state;
	import_again(&f);
	assert_ok(dgi_gather_begin(f.work, &g, &f.err), &f.err);
	assert_ok(dgi_gather_node_type(&g, "x", &node, &f.err), &f.err);
	assert_ok(dgi_gather_edge_type(&g, node, "r", 1, node, &edge, &f.err), &f.err);
	g.nodes[node].n = large + 1;
	for (dg_id i = 0; i < 40000; i++)
		assert_ok(dgi_gather_append(&g, edge, &i, &i, 1, &f.err), &f.err);
	assert_ok(dgi_gather_append(&g, edge, &large, &large, 1, &f.err), &f.err);
	assert_ok(dgi_gather_finish(&g, &f.source, &f.err), &f.err);
	dgi_gather_clear(&g);
	assert_int_equal(f.source.edges[0].id_bytes, 8);
	assert_ok(dgi_edge_reader_open(&f.source, 0, 0, &reader, &f.err), &f.err);
	assert_ok(dgi_edge_reader_next(reader, &src, &dst, &n, &f.err), &f.err);
	assert_int_equal(n, 40001);
	for (size_t i = 0; i < 40000; i++)
		if (src[i] != (dg_id)i || dst[i] != (dg_id)i)
			fail_msg("edge %zu", i);
	assert_true(src[40000] == large);
	dgi_edge_reader_close(reader);
}

static void a_line_without_end_is_refused(void **state)
{
	size_t n = (size_t)3 << 20;
	char *text = malloc(n + 1);

	(void)state;
	assert_non_null(text);
	memset(text, '1', n);
	memcpy(text, "0,1\n", 4);
	text[n] = '\0';
	refuses("e.csv", text, DG_INVALID, ":2: a line longer than 65536 bytes");
	text[70000] = '\n';
	refuses("e.csv", text, DG_INVALID, ":3: a line longer than 65536 bytes");
	free(text);
}

/* --- Types --- */

static void types_are_numbered_as_they_are_named(void **state)
{
	(void)state;
	import_again(&f);
	import_add_edges(&f, "user:buys:item", import_file(&f, "a.csv", "ann,0\nbob,3\n"));
	import_add_edges(&f, "item:like:item", import_file(&f, "b.csv", "0,1\n"));
	import_add_edges(&f, "user:buys:item", import_file(&f, "c.csv", "eve,1\n"));
	import_add_edges(&f, "user:a:b:user", import_file(&f, "d.csv", "eve,ann\n"));
	import_gives(&f, "user=3[ann bob eve] item=4 | user:buys:item 0>0 1>3 2>1 | "
			 "item:like:item 0>1 | user:a:b:user 2>0");
	import_add_nodes(&f, "shop", 7, NULL);
	import_add_nodes(&f, "item", 4, NULL);
	import_gives(&f, "shop=7 item=4 user=3[ann bob eve] | user:buys:item 0>0 1>3 2>1 | "
			 "item:like:item 0>1 | user:a:b:user 2>0");
	import_again(&f);
	import_add_edges(&f, "user:buys", import_file(&f, "a.csv", "0,0\n"));
	import_refuses(&f, DG_INVALID, "edge type 'user:buys', want SOURCE:RELATION:DESTINATION");
	import_again(&f);
	import_add_nodes(&f, "x", 1, NULL);
	import_add_nodes(&f, "x", 1, NULL);
	import_add_edges(&f, NULL, import_file(&f, "a.csv", "0,0\n"));
	import_refuses(&f, DG_INVALID, "node type 'x' is told twice");
}

static void listed_ids_have_the_number_of_their_line(void **state)
{
	(void)state;
	import_again(&f);
	import_add_edges(&f, NULL, import_file(&f, "e.csv", "30,10\n10,20\n"));
	import_add_nodes(&f, NULL, -1, import_file(&f, "n.txt", "10\n20\n30\n40\n"));
	import_gives(&f, "_N=4[10 20 30 40] | _N:_E:_N 2>0 0>1");
	f.nodes[0].path = import_file(&f, "n.csv", "id,label\n20,\"x,y\"\n30,y\n10,z\n");
	import_gives(&f, "_N=3[20 30 10] | _N:_E:_N 1>2 2>0");
	f.nodes[0].path = import_file(&f, "m.csv", "label;key\nx;20\ny;30\nz;010\n");
	f.nodes[0].column = "key";
	import_refuses(&f, DG_NOTFOUND, "e.csv:1: node id '10' is not in the list of nodes '_N'");
	f.nodes[0].column = NULL;
	f.nodes[0].path =
		import_npy(&f, "n.npy", DG_INT64, 1, (int64_t[]){ 3 }, (int64_t[]){ 10, 20, 30 });
	import_gives(&f, "_N=3[10 20 30] | _N:_E:_N 2>0 0>1");
	f.nodes[0].path = import_file(&f, "n2.txt", "10\n20\n10\n");
	import_refuses(&f, DG_INVALID, "n2.txt:3: '10' is the id of number 0 already");
	f.nodes[0].path = import_file(&f, "n3.txt", "10\n\n10\n");
	import_refuses(&f, DG_INVALID, "n3.txt:2: an empty node id");
	f.nodes[0].path = import_file(&f, "n4.txt", "Ann O.\n#2\nEve, the 3rd\n");
	f.nodes[0].ids = DG_INPUT_IDS_NUMBERS;
	import_refuses(&f, DG_RANGE, "want less than 3, the number of nodes by the ids in");
	f.edges[0].path = import_file(&f, "e2.csv", "2,1\n");
	import_gives(&f, "_N=3[Ann O. #2 Eve, the 3rd] | _N:_E:_N 2>1");
}

/* --- Triples --- */

static void triples_have_their_relations_as_types(void **state)
{
	(void)state;
	gives("t.txt", "007\tlikes\tbob\nbob\tknows\teve\neve\tlikes\t007\n",
	      "_N=3[007 bob eve] | _N:likes:_N 0>1 2>0 | _N:knows:_N 1>2");
	gives("t.csv", "head,relation,tail\na,r,b\n", "_N=2[a b] | _N:r:_N 0>1");
	import_again(&f);
	f.input.format = DG_INPUT_TRIPLES;
	import_add_edges(&f, NULL, import_file(&f, "t.csv", "0,1,2\n2,0,1\n"));
	import_gives(&f, "_N=3 | _N:1:_N 0>2 | _N:0:_N 2>1");
	f.input.relations = import_file(&f, "r.txt", "is\nhas part\nnever\n");
	import_gives(&f, "_N=3 | _N:is:_N 2>1 | _N:has part:_N 0>2 | _N:never:_N");
	f.edges[0].path = import_file(&f, "t2.csv", "a,is,b\nb,ist,c\n");
	import_refuses(&f, DG_NOTFOUND, "t2.csv:2: relation 'ist' is not in the list");
	f.edges[0].path = import_file(&f, "t3.csv", "0,1,2\n0,3,2\n");
	import_refuses(&f, DG_RANGE, "t3.csv:2: relation 3, want less than 3");
	import_again(&f);
	import_add_edges(&f, "user:*:item", import_file(&f, "t.csv", "ann,buys,x\nbob,sees,y\n"));
	import_gives(&f, "user=2[ann bob] item=2[x y] | user:buys:item 0>0 | user:sees:item 1>1");
	f.input.columns = "3,2,1";
	import_gives(&f, "user=2[x y] item=2[ann bob] | user:buys:item 0>0 | user:sees:item 1>1");
	refuses("t.txt", "a\tr\tb\na\tr\n", DG_INVALID, "t.txt:2: 2 columns, want 3");
}

/* --- Arrays --- */

static void arrays_of_every_integer_and_either_shape_are_read(void **state)
{
	static const int64_t rows[] = { 0, 1, 1, 2, 7, 3 };
	static const int64_t columns[] = { 0, 1, 7, 1, 2, 3 };
	static const int32_t rows32[] = { 0, 1, 1, 2, 7, 3 };
	static const uint8_t columns8[] = { 0, 1, 7, 1, 2, 3 };
	static const struct {
		dg_dtype dtype;
		int64_t shape[2];
		const void *data;
	} arrays[] = { { DG_INT64, { 3, 2 }, rows },
		       { DG_INT64, { 2, 3 }, columns },
		       { DG_INT32, { 3, 2 }, rows32 },
		       { DG_UINT8, { 2, 3 }, columns8 } };

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		import_again(&f);
		import_add_edges(&f, NULL,
				 import_npy(&f, "e.npy", arrays[i].dtype, 2, arrays[i].shape,
					    arrays[i].data));
		import_gives(&f, "_N=8 | _N:_E:_N 0>1 1>2 7>3");
	}
	import_again(&f);
	import_add_edges(&f, NULL, import_npy(&f, "t.npy", DG_INT64, 2, (int64_t[]){ 2, 3 }, rows));
	f.input.format = DG_INPUT_TRIPLES;
	import_gives(&f, "_N=4 | _N:1:_N 0>1 | _N:7:_N 2>3");
	import_again(&f);
	f.input.ids = DG_INPUT_IDS_INTEGERS;
	import_add_edges(&f, NULL, f.kept[0]);
	import_gives(&f, "_N=5[0 1 7 2 3] | _N:_E:_N 0>1 1>3 2>4");
}

static void transposed_and_long_arrays_are_read_column_by_column(void **state)
{
	enum { N = 20000 };
	char *path = tmpdir_path(f.dir, "transposed.npy");
	FILE *file = fopen(path, "wb");
	char header[128] = "\x93NUMPY\x01";
	struct dgi_edge_reader *reader;
	const dg_id *src, *dst;
	size_t got;

	(void)state;
	assert_non_null(file);
	memset(header + 10, ' ', 118);
	header[8] = 118;
	memcpy(header + 10, "{'descr': '<u4', 'fortran_order': True, 'shape': (20000, 2)}", 60);
	header[127] = '\n';
	assert_int_equal(fwrite(header, 1, 128, file), 128);
	for (uint32_t i = 0; i < 2 * N; i++)
		assert_int_equal(fwrite(&i, 4, 1, file), 1);
	assert_int_equal(fclose(file), 0);
	import_again(&f);
	import_add_edges(&f, NULL, path);
	assert_ok(import_run(&f), &f.err);
	assert_ok(dgi_edge_reader_open(&f.source, 0, 0, &reader, &f.err), &f.err);
	assert_ok(dgi_edge_reader_next(reader, &src, &dst, &got, &f.err), &f.err);
	assert_int_equal(got, N);
	for (size_t i = 0; i < N; i++)
		if (src[i] != (dg_id)i || dst[i] != (dg_id)i + N)
			fail_msg("edge %zu: %d %d", i, (int)src[i], (int)dst[i]);
	dgi_edge_reader_close(reader);
	free(path);
}

static void arrays_that_are_no_edges_are_refused(void **state)
{
	static const int64_t data[] = { 0, -3, INT64_MAX, 0, 0, 0 };

	(void)state;
	import_again(&f);
	import_add_edges(&f, NULL, import_npy(&f, "e.npy", DG_INT64, 1, (int64_t[]){ 6 }, data));
	import_refuses(&f, DG_INVALID, "e.npy': edges of 1 dimensions");
	(void)import_npy(&f, "e.npy", DG_INT64, 2, (int64_t[]){ 1, 6 }, data);
	import_refuses(&f, DG_INVALID, "edges of shape (1,6)");
	(void)import_npy(&f, "e.npy", DG_FLOAT64, 2, (int64_t[]){ 3, 2 }, data);
	import_refuses(&f, DG_INVALID, "'f8', want integers");
	(void)import_npy(&f, "e.npy", DG_INT64, 2, (int64_t[]){ 1, 2 }, data);
	import_refuses(&f, DG_RANGE, "row 0: node id -3 is negative");
	(void)import_npy(&f, "e.npy", DG_INT64, 2, (int64_t[]){ 0, 2 }, data);
	import_refuses(&f, DG_INVALID, "no edges");
	import_add_nodes(&f, NULL, 100, NULL);
	(void)import_npy(&f, "e.npy", DG_INT64, 2, (int64_t[]){ 2, 2 }, data + 2);
	import_refuses(&f, DG_RANGE, "row 0: node id 9223372036854775807, want less than 100");
	f.edges[0].path = import_file(&f, "x.npy", "no array");
	import_refuses(&f, DG_INVALID, "x.npy");
}

/* --- MatrixMarket --- */

static void matrices_are_edges_from_row_to_column(void **state)
{
	(void)state;
	gives("m.mtx",
	      "%%MatrixMarket matrix coordinate real general\n% c\n3 3 2\n1 3 0.5\n3 1 -1e3\n",
	      "_N=3 | _N:_E:_N 0>2 2>0");
	gives("m.txt", "%%MatrixMarket MATRIX Coordinate pattern symmetric\n4 4 2\n2 1\n3 3\n",
	      "_N=4 | _N:_E:_N 1>0 0>1 2>2");
	gives("m.mtx.gz",
	      "%%MatrixMarket matrix coordinate complex skew-symmetric\n2 2 1\n2 1 1 2\n",
	      "_N=2 | _N:_E:_N 1>0 0>1");
	import_again(&f);
	import_add_edges(&f, "doc:has:word",
			 import_file(&f, "m.mtx",
				     "%%MatrixMarket matrix coordinate integer "
				     "general\n2 5 1\n2 5 9\n"));
	import_gives(&f, "doc=2 word=5 | doc:has:word 1>4");
}

static void malformed_matrices_are_named(void **state)
{
#define GENERAL "%%MatrixMarket matrix coordinate pattern general\n"
	static const struct {
		const char *text;
		dg_status status;
		const char *what;
	} bad[] = {
		{ "", DG_INVALID, "m.mtx:0: ends before its banner" },
		{ "1 2\n", DG_INVALID, "m.mtx:1: not a MatrixMarket file" },
		{ "%%MatrixMarket matrix coordinate pattern\n", DG_INVALID, ":1: a banner of 4" },
		{ "%%MatrixMarket vector coordinate pattern general\n", DG_INVALID, "'vector'" },
		{ "%%MatrixMarket matrix array real general\n", DG_UNSUPPORTED, "dense" },
		{ "%%MatrixMarket matrix coordinate quaternion general\n", DG_INVALID, "'quater" },
		{ "%%MatrixMarket matrix coordinate real odd\n", DG_INVALID, "symmetry 'odd'" },
		{ GENERAL, DG_INVALID, ":1: ends before its size" },
		{ GENERAL "2 2\n", DG_INVALID, ":2: 2 numbers, want 3" },
		{ GENERAL "2 3 0\n", DG_INVALID, ":2: a matrix of 2 x 3, want a square one" },
		{ GENERAL "2 -2 0\n", DG_INVALID, ":2: a size of -2" },
		{ GENERAL "2 2 1\n", DG_INVALID, "ends after 0 entries, want 1" },
		{ GENERAL "2 2 1\n1 1\n2 2\n", DG_INVALID, ":4: an entry more than the 1 told" },
		{ GENERAL "2 2 1\n0 1\n", DG_RANGE, ":3: row 0, want 1 to 2" },
		{ GENERAL "2 2 1\n1 3\n", DG_RANGE, ":3: column 3, want 1 to 2" },
		{ GENERAL "2 2 1\n1 1 7\n", DG_INVALID, ":3: 3 columns, want 2" },
		{ GENERAL "2 2 1\n1 x\n", DG_INVALID, ":3: found 'x', want a column" },
		{ "%%MatrixMarket matrix coordinate pattern symmetric\n2 2 1\n1 2\n", DG_INVALID,
		  ":3: entry (1, 2) of a symmetric matrix is above the diagonal" },
		{ "%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n1 1 1\n",
		  DG_INVALID, ":3: entry (1, 1) on the diagonal" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		refuses("m.mtx", bad[i].text, bad[i].status, bad[i].what);
}

/* --- METIS --- */

static void metis_graphs_are_edges_from_each_line(void **state)
{
	(void)state;
	gives("g.graph", "% c\n3 2\n2\n1 3\n% c\n2\n", "_N=3 | _N:_E:_N 0>1 1>0 1>2 2>1");
	gives("g.graph", "3 1\n2\n1\n\n", "_N=3 | _N:_E:_N 0>1 1>0");
	gives("g.graph", "2 1 11 2\n7 7 2 5\n7 7 1 5", "_N=2 | _N:_E:_N 0>1 1>0");
	gives("g.graph.gz", "2 1 100\n9 2\n9 1\n\n\n", "_N=2 | _N:_E:_N 0>1 1>0");
	gives("g.graph", "1 1\n1\n", "_N=1 | _N:_E:_N 0>0");
}

static void malformed_metis_graphs_are_named(void **state)
{
	static const struct {
		const char *text;
		dg_status status;
		const char *what;
	} bad[] = {
		{ "", DG_INVALID, "g.graph:1: ends before its header" },
		{ "3\n", DG_INVALID, "g.graph:1: 1 numbers, want 2 to 4" },
		{ "2 1 2\n", DG_INVALID, ":1: format 002" },
		{ "2 1 10 0\n", DG_INVALID, ":1: 0 weights a node" },
		{ "2 1 0 1 1\n", DG_INVALID, ":1: more than 4 numbers" },
		{ "2 1\n2\n", DG_INVALID, ":2: ends after 1 nodes, want 2" },
		{ "2 1\n2\n1\n1\n", DG_INVALID, ":4: a line more than the 2 nodes" },
		{ "2 1\n3\n1\n", DG_RANGE, ":2: neighbour 3, want 1 to 2" },
		{ "2 1\n0\n1\n", DG_RANGE, ":2: neighbour 0, want 1 to 2" },
		{ "2 1\n2 2\n1\n", DG_INVALID, ":3: a neighbour more than twice the 1 edges" },
		{ "3 2\n2\n1\n\n", DG_INVALID, "2 neighbours in all, want 4" },
		{ "3 1\n2\n3\n\n", DG_INVALID, "does not list it" },
		{ "2 1\nx\n1\n", DG_INVALID, ":2: found 'x', want numbers" },
		{ "2 1\n-2\n1\n", DG_INVALID, ":2: found '-', want numbers" },
		{ "2 1 1\n2\n1 1\n", DG_INVALID, ":2: the last neighbour has no weight" },
		{ "2 1 10 3\n1\n1\n", DG_INVALID, ":2: 1 numbers, want 3 before" },
		{ "99999999999999999999 1\n", DG_RANGE, ":1: a number beyond 64 bits" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		refuses("g.graph", bad[i].text, bad[i].status, bad[i].what);
}

/* --- Data --- */

static void rows_of_data_are_checked_and_packed_files_unpacked(void **state)
{
	static const float rows[] = { 1, 2, 3, 4, 5, 6 };
	const char *three, *one;

	(void)state;
	three = import_npy(&f, "x.npy", DG_FLOAT32, 2, (int64_t[]){ 3, 2 }, rows);
	one = import_npy(&f, "y.npy", DG_FLOAT32, 2, (int64_t[]){ 1, 2 }, rows);
	import_again(&f);
	import_add_edges(&f, NULL, import_file(&f, "e.csv", "0,1\n"));
	import_add_data(&f, DG_NODE, NULL, "feat", three);
	import_gives(&f, "_N=3 | _N:_E:_N 0>1");
	assert_int_equal(f.source.n_data, 1);
	assert_int_equal(f.source.data[0].info.row_bytes, 8);
	assert_string_equal(f.source.data[0].paths[0], three);
	import_add_data(&f, DG_NODE, NULL, "feat", one);
	import_gives(&f, "_N=4 | _N:_E:_N 0>1");
	assert_int_equal(f.source.data[0].n_paths, 2);
	import_add_data(&f, DG_EDGE, "_E", "w", three);
	import_refuses(&f, DG_MISMATCH, "edge feature 'w': '");
	f.data[DG_EDGE][0].path = one;
	import_gives(&f, "_N=4 | _N:_E:_N 0>1");
	f.data[DG_EDGE][0].type = "x";
	import_refuses(&f, DG_NOTFOUND, "edge feature 'w': no edge type 'x', want _E");
	f.edges[0].path = import_file(&f, "e2.csv", "a,b\n");
	f.input.n_edge_data = 0;
	import_refuses(&f, DG_INVALID, "nodes of type '_N' have ids of their own");
}

static void columns_of_text_are_data(void **state)
{
	static const float weights[] = { 0.5F, -2, 1e3F };
	const char *path;
	dg_input_data *d;
	dg_array array;

	(void)state;
	path = import_file(&f, "e.csv", "src,dst,w,t\n0,1,0.5,7\n# c\n1,2,-2,8\n2,0,1e3,9\n");
	import_again(&f);
	import_add_edges(&f, NULL, path);
	import_add_data(&f, DG_EDGE, NULL, "w", path)->column = "w";
	d = import_add_data(&f, DG_EDGE, NULL, "t", path);
	d->column = "4";
	d->dtype = DG_UINT8;
	import_gives(&f, "_N=3 | _N:_E:_N 0>1 1>2 2>0");
	assert_ok(dg_array_load(f.source.data[0].paths[0], &array, &f.err), &f.err);
	assert_int_equal(array.bytes, sizeof weights);
	assert_memory_equal(array.data, weights, sizeof weights);
	dg_array_clear(&array);
	assert_ok(dg_array_load(f.source.data[1].paths[0], &array, &f.err), &f.err);
	assert_memory_equal(array.data, "\7\10\11", 3);
	dg_array_clear(&array);
	d->column = "3";
	import_refuses(&f, DG_INVALID, "e.csv:2: found '0.5', want an integer");
	d->column = "x";
	import_refuses(&f, DG_INVALID, "e.csv:1: column 'x'");
	d->path = import_file(&f, "t.csv", "x\n1\n256\n3\n");
	import_refuses(&f, DG_RANGE, "t.csv:3: 256 does not fit uint8");
	d->path = import_file(&f, "t.csv", "x\n1\n3\n");
	import_refuses(&f, DG_MISMATCH, "has 2 rows, want 3, one per edge");
}

/* --- Chunked --- */

#define CHUNKED_HEAD \
	"{\"graph_name\": \"g\", \"node_type\": [\"u\", \"v\"], \"num_nodes_per_chunk\": [[2, " \
	"1], " \
	"[2]], \"edge_type\": [\"u:r:v\"], \"num_edges_per_chunk\": [[2, 1]], "
#define CHUNKED_EDGES \
	"\"edges\": {\"u:r:v\": {\"format\": {\"name\": \"csv\", \"delimiter\": \" \"}, " \
	"\"data\": [\"e0.csv\", \"e1.csv\"]}}"

static void chunked_graphs_are_read(void **state)
{
	static const int32_t year[] = { 1, 2, 3 };
	char *directory = tmpdir_path(f.dir, ".");

	(void)state;
	import_file(&f, "e0.csv", "0 1\n1 0\n");
	import_file(&f, "e1.csv", "2 1\n");
	import_npy(&f, "y0.npy", DG_INT32, 1, (int64_t[]){ 1 }, year);
	import_npy(&f, "y1.npy", DG_INT32, 1, (int64_t[]){ 2 }, year + 1);
	import_file(&f, "w.csv", "1,2\n3,4\n5,6\n");
	gives("metadata.json",
	      CHUNKED_HEAD CHUNKED_EDGES
	      ", \"node_data\": {\"u\": {\"year\": {\"format\": {\"name\": \"numpy\"}, \"data\": "
	      "[\"y0.npy\", \"y1.npy\"]}}}, \"edge_data\": {\"u:r:v\": {\"w\": {\"format\": "
	      "{\"name\": \"csv\"}, \"data\": [\"w.csv\"]}}}}",
	      "u=3 v=2 | u:r:v 0>1 1>0 2>1");
	assert_int_equal(f.source.n_data, 2);
	assert_int_equal(f.source.data[0].n_paths, 2);
	assert_int_equal(f.source.data[1].info.shape[0], 2);
	import_again(&f);
	import_add_edges(&f, NULL, directory);
	import_gives(&f, "u=3 v=2 | u:r:v 0>1 1>0 2>1");
	import_file(&f, "e1.csv", "2 1\n2 1\n");
	import_refuses(&f, DG_MISMATCH, "e1.csv': 2 edges, want 1");
	import_file(&f, "e1.csv", "2 2\n");
	import_refuses(&f, DG_RANGE, "e1.csv:1: node id 2, want less than 2");
	import_file(&f, "e1.csv", "2,2\n");
	import_refuses(&f, DG_INVALID, "e1.csv:1: 1 column, want 2");
	free(directory);
}

static void metadata_of_another_shape_is_named(void **state)
{
	static const struct {
		const char *text;
		dg_status status;
		const char *what;
	} bad[] = {
		{ "{", DG_INVALID, "metadata.json': line 1, column" },
		{ "[]", DG_INVALID, "metadata: found an array, want an object" },
		{ "{}", DG_INVALID, "node_type: found nothing, want an array of names" },
		{ "{\"node_type\": [3]}", DG_INVALID, "node_type: found an integer" },
		{ "{\"node_type\": [\"u\"]}", DG_INVALID, "neither num_nodes_per_chunk nor" },
		{ "{\"node_type\": [\"u\"], \"num_nodes_per_chunk\": []}", DG_MISMATCH,
		  "num_nodes_per_chunk: 0 elements, want 1" },
		{ "{\"node_type\": [\"u\"], \"num_nodes_per_chunk\": [[-1]]}", DG_INVALID,
		  "num_nodes_per_chunk[0][0]" },
		{ "{\"node_type\": [\"u\"], \"num_nodes_per_chunk\": [[1, 1]], "
		  "\"num_nodes_per_type\": [3]}",
		  DG_MISMATCH, "num_nodes_per_type[0] is 3, but its chunks have 2" },
		{ "{\"node_type\": [\"u\", \"u\"], \"num_nodes_per_type\": [1, 1]}", DG_INVALID,
		  "node_type[1]: a name given twice" },
		{ "{\"node_type\": [\"u\"], \"num_nodes_per_type\": [3], \"edge_type\": "
		  "[\"u:r:w\"]}",
		  DG_NOTFOUND, "edge_type 'u:r:w': no node type 'w'" },
		{ CHUNKED_HEAD "\"edges\": {}}", DG_INVALID, "edges 'u:r:v': found nothing" },
		{ CHUNKED_HEAD "\"edges\": {\"u:r:v\": {\"format\": {\"name\": \"parquet\"}, "
			       "\"data\": []}}}",
		  DG_UNSUPPORTED, "python -m distgraph.tools.parquet" },
		{ CHUNKED_HEAD "\"edges\": {\"u:r:v\": {\"format\": {\"name\": \"csv\"}, "
			       "\"data\": [7]}}}",
		  DG_INVALID, "edges 'u:r:v': data[0]: found an integer, want a path" },
		{ CHUNKED_HEAD "\"edges\": {\"u:r:v\": {\"format\": {\"name\": \"csv\"}, "
			       "\"data\": []}}}",
		  DG_MISMATCH, "edge type 'u:r:v': its files have 0 edges, want 3" },
		{ CHUNKED_HEAD CHUNKED_EDGES ", \"node_data\": {\"x\": {}}}", DG_NOTFOUND,
		  "node_data 'x': there is no such type" },
		{ CHUNKED_HEAD CHUNKED_EDGES ", \"node_data\": {\"u\": 1}}", DG_INVALID,
		  "node_data 'u': found an integer" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		refuses("metadata.json", bad[i].text, bad[i].status, bad[i].what);
	refuses("e.parquet", "PAR1xxxx", DG_UNSUPPORTED, "python -m distgraph.tools.parquet");
}

static int stop_at_once(void *context, const char *phase, uint64_t done, uint64_t total)
{
	(void)context;
	(void)done;
	(void)total;
	return strcmp(phase, "read") == 0;
}

static void reading_can_be_cancelled(void **state)
{
	struct dgi_progress progress = { .fn = stop_at_once };

	(void)state;
	import_again(&f);
	import_add_edges(&f, NULL, import_file(&f, "e.csv", "0,1\n"));
	assert_fails(dgi_import(&f.input, f.work, &f.source, &progress, &f.err), DG_CANCELLED,
		     &f.err, "read");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(every_separator_line_end_and_decoration_is_understood),
		TEST(names_are_numbered_in_the_order_they_come),
		TEST(columns_delimiter_and_header_can_be_told),
		TEST(a_line_of_another_form_is_named),
		TEST(ids_out_of_range_are_named),
		TEST(a_file_without_edges_is_refused_unless_the_nodes_are_told),
		TEST(large_files_come_out_whole),
		TEST(an_id_beyond_32_bits_widens_those_before_it),
		TEST(a_line_without_end_is_refused),
		TEST(types_are_numbered_as_they_are_named),
		TEST(listed_ids_have_the_number_of_their_line),
		TEST(triples_have_their_relations_as_types),
		TEST(arrays_of_every_integer_and_either_shape_are_read),
		TEST(transposed_and_long_arrays_are_read_column_by_column),
		TEST(arrays_that_are_no_edges_are_refused),
		TEST(matrices_are_edges_from_row_to_column),
		TEST(malformed_matrices_are_named),
		TEST(metis_graphs_are_edges_from_each_line),
		TEST(malformed_metis_graphs_are_named),
		TEST(rows_of_data_are_checked_and_packed_files_unpacked),
		TEST(columns_of_text_are_data),
		TEST(chunked_graphs_are_read),
		TEST(metadata_of_another_shape_is_named),
		TEST(reading_can_be_cancelled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
