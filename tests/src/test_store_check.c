/* What src/store/check.c promises: a store is compared with the graph in its book. */
#include "test.h"

#include "book.h"
#include "tmpdir.h"
#include "volume.h"

#include <distgraph/store.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What a store of part 1 of 2 is made of; tests spoil one thing each. Users 5..7 and items 2..5 are
 * its own, edges 3..8 of "rates" too, none of "knows". */
struct recipe {
	uint32_t n_parts; /* of the superblock */
	int64_t indptr[5];
	int32_t indices[6];
	int32_t out_degrees[3];
	dg_dtype indptr_dtype;
	int64_t n_indices;
	int32_t halo_indptr[3]; /* of edges to items 0 and 1 */
	int32_t halo_sources[2];
	int32_t halo_edges[2];
	int32_t halo_users[2];
	int32_t halo_items[2];
	int64_t n_halo_items;
	bool no_halo_indptr;
	uint16_t extra_etype; /* 0: none */
	bool no_degrees;
	uint16_t tensor_type;
	int64_t tensor_rows;
	bool no_book;
};

static const struct recipe sound = {
	.n_parts = 2,
	.indptr = { 0, 2, 2, 5, 6 },
	.indices = { 0, 5, 7, 1, 6, 5 },
	.out_degrees = { 3, 1, 1 },
	.indptr_dtype = DG_INT64,
	.n_indices = 6,
	.halo_indptr = { 0, 1, 2 },
	.halo_sources = { 5, 6 },
	.halo_edges = { 0, 2 },
	.halo_users = { 0, 1 },
	.halo_items = { 0, 1 },
	.n_halo_items = 2,
	.tensor_rows = 3,
};

struct lines {
	char text[8192];
};

static void hear(void *context, const dg_finding *finding)
{
	struct lines *lines = context;
	size_t used = strlen(lines->text);

	(void)snprintf(lines->text + used, sizeof lines->text - used, "%s%s: %s\n",
		       finding->status ? "" : "remark: ", finding->where, finding->what);
}

static void make_book(uint8_t **bytes, size_t *n)
{
	static const char *const node_types[] = { "user", "item" };
	static const struct dgi_edge_type_spec edge_types[] = { { "rates", 0, 1 },
								{ "knows", 0, 0 } };
	static const int64_t node_counts[] = { 5, 3, 2, 4 };
	static const int64_t edge_counts[] = { 3, 6, 0, 0 };
	const struct dgi_book_spec spec = {
		.n_parts = 2,
		.n_node_types = 2,
		.n_edge_types = 2,
		.node_types = node_types,
		.edge_types = edge_types,
		.node_counts = node_counts,
		.edge_counts = edge_counts,
	};
	dg_book *book;
	dg_error err = { 0 };

	assert_ok(dgi_book_new(&spec, &book, &err), &err);
	assert_ok(dgi_book_encode(book, bytes, n, &err), &err);
	dgi_book_free(book);
}

/* Elements or rows out of an array in memory. */
struct source {
	const void *data;
	size_t row_bytes;
};

static dg_status fill(void *context, int64_t first, int64_t n, void *out, dg_error *err)
{
	const struct source *source = context;

	(void)err;
	if (n > 0)
		memcpy(out, (const char *)source->data + (size_t)first * source->row_bytes,
		       (size_t)n * source->row_bytes);
	return DG_OK;
}

static void add_array(struct dgi_volume_maker *maker, uint16_t etype, uint8_t kind, dg_dtype dtype,
		      int64_t n, const void *data)
{
	struct source source = { data, dg_dtype_bytes(dtype) };
	dg_error err = { 0 };

	assert_ok(dgi_volume_maker_array(maker, etype, kind, dtype, n, fill, &source, &err), &err);
}

static void add_tensor(struct dgi_volume_maker *maker, const struct recipe *recipe)
{
	static const float rows[3 * 6] = { 1, 2, 3 };
	struct source source = { rows, 3 * sizeof *rows };
	dg_tensor_info feat = {
		.id = 1,
		.name = "feat",
		.type = recipe->tensor_type,
		.dtype = DG_FLOAT32,
		.rank = 1,
		.shape = { 3 },
		.n_rows = recipe->tensor_rows,
	};
	dg_tensor_info weight = {
		.id = 4, .name = "weight", .side = DG_EDGE, .dtype = DG_FLOAT32, .n_rows = 6
	};
	dg_error err = { 0 };

	assert_ok(dgi_volume_maker_tensor(maker, &feat, fill, &source, &err), &err);
	source.row_bytes = sizeof *rows;
	assert_ok(dgi_volume_maker_tensor(maker, &weight, fill, &source, &err), &err);
}

static void make(const char *path, const struct recipe *recipe)
{
	static const int64_t zeros[4];
	struct dgi_superblock superblock = { .store_uuid = { { 1 } },
					     .cluster_uuid = { { 2 } },
					     .part = 1,
					     .n_parts = recipe->n_parts };
	struct dgi_volume_maker *maker;
	dg_error err = { 0 };
	uint8_t *book;
	size_t n;

	make_book(&book, &n);
	if (recipe->no_book)
		n = 10;
	assert_int_equal(mkdir(path, 0700), 0);
	assert_ok(dgi_volume_make(path, &superblock, book, n, &maker, &err), &err);
	free(book);
	add_array(maker, 0, DG_GRAPH_INDPTR, recipe->indptr_dtype, 5, recipe->indptr);
	add_array(maker, 0, DG_GRAPH_INDICES, DG_INT32, recipe->n_indices, recipe->indices);
	if (!recipe->no_degrees)
		add_array(maker, 0, DG_GRAPH_OUT_DEGREES, DG_INT32, 3, recipe->out_degrees);
	if (!recipe->no_halo_indptr)
		add_array(maker, 0, DG_GRAPH_HALO_INDPTR, DG_INT32, 3, recipe->halo_indptr);
	add_array(maker, 0, DG_GRAPH_HALO_INDICES, DG_INT32, 2, recipe->halo_sources);
	add_array(maker, 0, DG_GRAPH_HALO_EDGES, DG_INT32, 2, recipe->halo_edges);
	add_array(maker, 0, DG_GRAPH_HALO_NODES, DG_INT32, 2, recipe->halo_users);
	add_array(maker, 1, DG_GRAPH_INDPTR, DG_INT64, 4, zeros);
	add_array(maker, 1, DG_GRAPH_INDICES, DG_INT32, 0, NULL);
	add_array(maker, 1, DG_GRAPH_OUT_DEGREES, DG_INT64, 3, zeros);
	add_array(maker, 1, DG_GRAPH_HALO_NODES, DG_INT32, recipe->n_halo_items,
		  recipe->halo_items);
	if (recipe->extra_etype)
		add_array(maker, recipe->extra_etype, DG_GRAPH_INDPTR, DG_INT64, 1, zeros);
	add_tensor(maker, recipe);
	assert_ok(dgi_volume_maker_close(maker, true, &err), &err);
}

/* A store made by @recipe gives exactly these lines. */
static void expect(const struct recipe *recipe, const char *wanted)
{
	char *dir = tmpdir_new();
	char *store = tmpdir_path(dir, "part1");
	struct lines lines = { 0 };
	dg_check_report report;
	dg_error err = { 0 };

	make(store, recipe);
	assert_ok(dg_store_check(store, 1, hear, &lines, &report, &err), &err);
	assert_string_equal(lines.text, wanted);
	assert_int_equal(report.damaged > 0, wanted[0] != '\0');
	free(store);
	tmpdir_remove(dir);
}

static void a_sound_store_passes(void **state)
{
	struct recipe r = sound;

	(void)state;
	expect(&r, "");
	/* All edges that end elsewhere may leave from here, or none. */
	r.out_degrees[0] = 5;
	expect(&r, "");
	r.out_degrees[0] = 2;
	expect(&r, "");
}

static void indptr_ascends_from_0_to_the_number_of_edges(void **state)
{
	struct recipe r = sound;

	(void)state;
	r.indptr[0] = 1;
	expect(&r, "graph.mdb: user:rates:item indptr: element 0 is 1, want exactly 0\n");
	r = sound;
	r.indptr[2] = 1;
	expect(&r, "graph.mdb: user:rates:item indptr: element 2 is 1, want at least 2\n");
	r = sound;
	r.indptr[3] = 7;
	expect(&r, "graph.mdb: user:rates:item indptr: element 3 is 7, want at most 6\n");
	r = sound;
	r.indptr[4] = 5;
	expect(&r, "graph.mdb: user:rates:item indptr: element 4 is 5, want the number of edges, "
		   "6\n");
}

static void indices_are_nodes_of_the_source_type(void **state)
{
	struct recipe r = sound;

	(void)state;
	r.indices[1] = 8;
	expect(&r, "graph.mdb: user:rates:item indices: element 1 is 8, want 0 or more, below 8\n");
	r.indices[1] = -1;
	expect(&r, "graph.mdb: user:rates:item indices: element 1 is -1, want 0 or more, below "
		   "8\n");
}

static void out_degrees_agree_with_the_edges(void **state)
{
	struct recipe r = sound;

	(void)state;
	r.out_degrees[0] = 1;
	expect(&r, "graph.mdb: user:rates:item out-degrees: they sum to 3, the edges want 4 to "
		   "7\n");
	r.out_degrees[0] = 6;
	expect(&r, "graph.mdb: user:rates:item out-degrees: they sum to 8, the edges want 4 to "
		   "7\n");
	r.out_degrees[1] = 4;
	expect(&r, "graph.mdb: user:rates:item out-degrees: element 1 is 4, want 0 or more, at "
		   "most 3\n");
	r.out_degrees[1] = -2;
	expect(&r, "graph.mdb: user:rates:item out-degrees: element 1 is -2, want 0 or more, at "
		   "most 3\n");
}

static void arrays_are_those_of_the_book(void **state)
{
	struct recipe r = sound;

	(void)state;
	r.n_indices = 5;
	expect(&r, "graph.mdb: user:rates:item indices: 5 elements of int32, want 6 by the book\n");
	r = sound;
	r.no_degrees = true;
	expect(&r, "graph.mdb: user:rates:item out-degrees: missing\n");
	r = sound;
	r.extra_etype = 2;
	expect(&r, "graph.mdb: edge type 2 indptr: no type of the book has it\n");
}

static void halo_nodes_and_edges_ascend_outside_the_partition(void **state)
{
	struct recipe r = sound;

	(void)state;
	r.halo_users[1] = 0;
	expect(&r, "graph.mdb: user halo nodes: element 1 is 0, want above 0\n");
	r.halo_users[1] = 5;
	expect(&r, "graph.mdb: user halo nodes: element 1 is 5, want none of the partition's own, "
		   "which begin at 5\n");
	r.halo_users[1] = 8;
	expect(&r, "graph.mdb: user halo nodes: element 1 is 8, want below 8\n");
	r = sound;
	r.halo_edges[0] = -1;
	expect(&r, "graph.mdb: user:rates:item halo edges: element 0 is -1, want at least 0\n");
	r.halo_edges[0] = 0;
	r.halo_edges[1] = 3;
	expect(&r, "graph.mdb: user:rates:item halo edges: element 1 is 3, want none of the "
		   "partition's own, which begin at 3\n");
	r = sound;
	r.halo_sources[1] = 8;
	expect(&r, "graph.mdb: user:rates:item halo indices: element 1 is 8, want 0 or more, below "
		   "8\n");
}

static void halo_row_pointers_are_those_of_the_halo(void **state)
{
	struct recipe r = sound;

	(void)state;
	r.halo_indptr[2] = 1;
	expect(&r,
	       "graph.mdb: user:rates:item halo indptr: element 2 is 1, want the number of halo "
	       "edges, 2\n");
	r.halo_indptr[2] = 3;
	expect(&r, "graph.mdb: user:rates:item halo indptr: element 2 is 3, want at most 2\n");
	r = sound;
	r.n_halo_items = 1;
	expect(&r, "graph.mdb: user:rates:item halo edges: 3 row pointers and 2 sources of 2 halo "
		   "edges to 1 nodes (-1: no array)\n");
	r = sound;
	r.no_halo_indptr = true;
	expect(&r, "graph.mdb: user:rates:item halo edges: -1 row pointers and 2 sources of 2 halo "
		   "edges to 2 nodes (-1: no array)\n");
}

static void tensors_have_the_rows_of_the_book(void **state)
{
	struct recipe r = sound;

	(void)state;
	r.tensor_rows = 4;
	expect(&r, "tensors.mdb: node~user~feat: 4 rows, want 3 by the book\n");
	r.tensor_rows = 3;
	r.tensor_type = 9;
	expect(&r, "tensors.mdb: node tensor 'feat' of type 9: the book has no such type\n");
}

static void a_useless_book_is_one_finding(void **state)
{
	struct recipe r = sound;

	(void)state;
	r.n_parts = 3;
	expect(&r, "graph.mdb: book: 2 partitions, the store is part 1 of 3\n");
	r = sound;
	r.no_book = true;
	expect(&r, "graph.mdb: book: partition book of 10 bytes: shorter than its header of 16 "
		   "bytes\n");
}

static void flip(const char *store, const char *file, const char *pattern, size_t n, size_t offset)
{
	char *path = tmpdir_path(store, file);
	int fd = open(path, O_RDWR);
	uint8_t bytes[64 * 4096];
	ssize_t length = pread(fd, bytes, sizeof bytes, 0);
	uint8_t *at;

	assert_true(length > 0);
	at = memmem(bytes, (size_t)length, pattern, n);
	assert_non_null(at);
	at[offset] ^= 0xff;
	assert_int_equal(pwrite(fd, bytes, (size_t)length, 0), length);
	close(fd);
	free(path);
}

static void damage_is_told_in_the_words_of_the_graph(void **state)
{
	static const char chunk[] = { 'D', 'G', 'R', '1', 7, 0 };
	static const char segment[] = { 'D', 'G', 'R', '1', 5, 0 };
	char *dir = tmpdir_new();
	char *store = tmpdir_path(dir, "part1");
	struct lines lines = { 0 };
	dg_check_report report;
	dg_error err = { 0 };

	(void)state;
	make(store, &sound);
	flip(store, DGI_TENSORS_FILE, chunk, sizeof chunk, 50);
	flip(store, DGI_GRAPH_FILE, segment, sizeof segment, 50);
	assert_ok(dg_store_check(store, 1, hear, &lines, &report, &err), &err);
	assert_string_equal(lines.text, "graph.mdb: user:rates:item indptr elements 0..4: checksum "
					"does not match\n"
					"tensors.mdb: node~user~feat rows 0..2: checksum does not "
					"match\n");
	assert_int_equal(report.damaged, 2);
	assert_ok(dg_store_check(store, 0, NULL, NULL, &report, &err), &err);
	assert_int_equal(report.damaged, 0);
	free(store);
	tmpdir_remove(dir);
}

static void no_store_is_no_finding(void **state)
{
	dg_check_report report;
	dg_error err = { 0 };

	(void)state;
	assert_fails(dg_store_check("/no/such/place", 1, NULL, NULL, &report, &err), DG_NOTFOUND,
		     &err, "/no/such/place");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sound_store_passes),
		cmocka_unit_test(indptr_ascends_from_0_to_the_number_of_edges),
		cmocka_unit_test(indices_are_nodes_of_the_source_type),
		cmocka_unit_test(out_degrees_agree_with_the_edges),
		cmocka_unit_test(arrays_are_those_of_the_book),
		cmocka_unit_test(halo_nodes_and_edges_ascend_outside_the_partition),
		cmocka_unit_test(halo_row_pointers_are_those_of_the_halo),
		cmocka_unit_test(tensors_have_the_rows_of_the_book),
		cmocka_unit_test(a_useless_book_is_one_finding),
		cmocka_unit_test(damage_is_told_in_the_words_of_the_graph),
		cmocka_unit_test(no_store_is_no_finding),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
