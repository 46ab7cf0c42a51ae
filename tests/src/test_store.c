/* What src/store/store.c promises. */
#include "test.h"

#include "graph_fixture.h"
#include "store.h"
#include "tmpdir.h"

#include <stdlib.h>
#include <string.h>

static char *dir;

static int set_up(void **state)
{
	(void)state;
	dir = tmpdir_new();
	return graph_fixture_make(dir) == DG_OK ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	tmpdir_remove(dir);
	return 0;
}

static dg_store *opened(int writable)
{
	dg_store_options options = { .writable = writable };
	char *path = tmpdir_path(dir, "part1");
	dg_store *store = NULL;
	dg_error err = { 0 };

	assert_ok(dg_store_open(path, &options, &store, &err), &err);
	free(path);
	return store;
}

static dg_tensor_info tensor_of(dg_store *store, const char *key)
{
	const dg_tensor_info *tensors;
	dg_error err = { 0 };
	size_t n, i = 0;

	tensors = dg_store_tensors(store, &n);
	assert_ok(dg_book_find_tensor(dg_store_book(store), tensors, n, key, &i, &err), &err);
	return tensors[i];
}

static void a_store_tells_what_it_is(void **state)
{
	dg_store *store = opened(0);
	dg_store_info info;
	size_t n;

	(void)state;
	dg_store_get_info(store, &info);
	assert_int_equal(info.part, 1);
	assert_int_equal(info.n_parts, GRAPH_FIXTURE_PARTS);
	assert_int_equal(dg_book_n_parts(dg_store_book(store)), GRAPH_FIXTURE_PARTS);
	(void)dg_store_tensors(store, &n);
	assert_int_equal(n, GRAPH_FIXTURE_TENSORS);
	assert_non_null(dgi_store_volume(store));
	dg_store_close(store);
}

static void a_store_without_its_journal_shows_what_is_in_the_chunks(void **state)
{
	static const dg_store_options options = { .without_journal = 1 };
	static const dg_store_options both = { .writable = 1, .without_journal = 1 };
	char *path = tmpdir_path(dir, "part1");
	dg_store *store;
	dg_store_info info;
	dg_error err = { 0 };

	(void)state;
	assert_ok(dg_store_open(path, &options, &store, &err), &err);
	dg_store_get_info(store, &info);
	assert_int_equal(info.left_out, 0);
	dg_store_close(store);
	assert_fails(dg_store_open(path, &both, &store, &err), DG_INVALID, &err,
		     "cannot be written without its journal");
	free(path);
}

static void rows_are_read_and_set(void **state)
{
	dg_store *store = opened(1);
	dg_tensor_info feat = tensor_of(store, "feat");
	float rows[3][GRAPH_FIXTURE_FEAT_WIDTH], back[3][GRAPH_FIXTURE_FEAT_WIDTH];
	dg_id start, end;
	dg_error err = { 0 };

	(void)state;
	dg_book_tensor_range(dg_store_book(store), &feat, 1, &start, &end);
	assert_ok(dg_store_gather(store, &feat, (dg_id[]){ 2, 0, 2 }, 3, rows, &err), &err);
	assert_true(rows[0][0] == graph_fixture_feat(start + 2, 0));
	assert_true(rows[1][1] == graph_fixture_feat(start, 1));
	assert_memory_equal(rows[0], rows[2], sizeof rows[0]);
	rows[1][0] = -1;
	assert_ok(dg_store_assign(store, &feat, (dg_id[]){ 1, 1 }, 2, rows, &err), &err);
	assert_ok(dg_store_gather(store, &feat, (dg_id[]){ 1 }, 1, back, &err), &err);
	assert_memory_equal(back[0], rows[1], sizeof rows[1]);
	dg_store_close(store);
	store = opened(0);
	assert_ok(dg_store_gather(store, &feat, (dg_id[]){ 1 }, 1, back, &err), &err);
	assert_memory_equal(back[0], rows[1], sizeof rows[1]);
	dg_store_close(store);
}

static void what_cannot_be_read_or_set_is_refused(void **state)
{
	dg_store *store = opened(0);
	dg_tensor_info feat = tensor_of(store, "feat");
	dg_tensor_info ids = tensor_of(store, "node~_N~" DG_TENSOR_ORIGINAL_ID);
	float row[GRAPH_FIXTURE_FEAT_WIDTH] = { 0 };
	dg_id past = feat.n_rows, first = 0, below = -1;
	dg_error err = { 0 };

	(void)state;
	assert_fails(dg_store_gather(store, &feat, &past, 1, row, &err), DG_RANGE, &err, "feat");
	assert_fails(dg_store_gather(store, &feat, &below, 1, row, &err), DG_RANGE, &err, "feat");
	assert_fails(dg_store_assign(store, &feat, &first, 1, row, &err), DG_DENIED, &err, "");
	assert_fails(dg_store_assign(store, &ids, &first, 1, &past, &err), DG_INVALID, &err,
		     "kept by the store itself");
	feat.row_bytes++;
	assert_fails(dg_store_gather(store, &feat, &first, 1, row, &err), DG_MISMATCH, &err,
		     "rows of 17 bytes, the store's have 16");
	feat.id = 999;
	assert_fails(dg_store_gather(store, &feat, &first, 1, row, &err), DG_NOTFOUND, &err,
		     "not in the store");
	dg_store_close(store);
}

static void tensors_come_change_and_go(void **state)
{
	dg_store *store = opened(1);
	dg_tensor_info feat = tensor_of(store, "feat");
	dg_tensor_spec spec = { .info = { .name = "count_g7", .dtype = DG_INT32 },
				.lifetime = DG_TEMPORARY,
				.owner = "g7" };
	const int32_t ones[2] = { 1, 1 }, three = 3;
	int32_t back[2];
	dg_error err = { 0 };
	size_t n, n_before;
	int existed;

	(void)state;
	(void)dg_store_tensors(store, &n_before);
	assert_ok(dg_store_create(store, &spec, 1, &existed, &err), &err);
	assert_false(existed);
	assert_int_equal(spec.info.n_rows, feat.n_rows);
	(void)dg_store_tensors(store, &n);
	assert_int_equal(n, n_before + 1);
	assert_ok(dg_store_write(store, &spec.info, DG_OP_ADD, (dg_id[]){ 1, 1 }, 2, ones, &err),
		  &err);
	assert_ok(dg_store_fill(store, &spec.info, DG_OP_MULTIPLY, 0, 2, &three, &err), &err);
	dg_store_close(store);
	store = opened(1);
	assert_ok(dg_store_gather(store, &spec.info, (dg_id[]){ 0, 1 }, 2, back, &err), &err);
	assert_int_equal(back[0], 0);
	assert_int_equal(back[1], 6);
	assert_ok(dg_store_create(store, &spec, 1, &existed, &err), &err);
	assert_true(existed);
	assert_ok(dg_store_spec(store, &spec.info, &spec, &err), &err);
	assert_string_equal(spec.owner, "g7");
	assert_ok(dg_store_release(store, "g7", &n, &err), &err);
	assert_int_equal(n, 1);
	assert_fails(dg_store_drop(store, &spec.info, &err), DG_NOTFOUND, &err, "no tensor");
	(void)dg_store_tensors(store, &n);
	assert_int_equal(n, n_before);
	spec.info.type = 77;
	assert_fails(dg_store_create(store, &spec, 1, &existed, &err), DG_NOTFOUND, &err,
		     "the graph has no node type 77");
	dg_store_close(store);
}

static void structure_is_read_by_edge_type(void **state)
{
	dg_store *store = opened(0);
	dg_error err = { 0 };
	dg_id start, end;
	dg_dtype dtype;
	int64_t n, indptr[GRAPH_FIXTURE_NODES + 1];

	(void)state;
	dg_book_range(dg_store_book(store), DG_NODE, 0, 1, &start, &end);
	assert_ok(dg_store_graph_array(store, 0, DG_GRAPH_INDPTR, &dtype, &n, &err), &err);
	assert_int_equal(dtype, DG_INT64);
	assert_int_equal(n, end - start + 1);
	assert_ok(dg_store_graph_read(store, 0, DG_GRAPH_INDPTR, 0, n, indptr, &err), &err);
	assert_int_equal(indptr[n - 1], end - start);
	assert_fails(dg_store_graph_read(store, 0, DG_GRAPH_INDPTR, 1, n, indptr, &err), DG_RANGE,
		     &err, "");
	assert_fails(dg_store_graph_array(store, 1, DG_GRAPH_INDPTR, &dtype, &n, &err), DG_RANGE,
		     &err, "edge type 1: the graph has 1");
	dg_store_close(store);
}

static void a_place_without_a_store_is_not_found(void **state)
{
	dg_store *store;
	dg_error err = { 0 };

	(void)state;
	assert_fails(dg_store_open("/nowhere", NULL, &store, &err), DG_NOTFOUND, &err, "/nowhere");
	assert_fails(dg_store_open(dir, NULL, &store, &err), DG_NOTFOUND, &err, "store");
}

static void a_book_of_another_graph_is_damage(void **state)
{
	char *path = tmpdir_path(dir, "strange");
	dg_store *store;
	dg_error err = { 0 };

	(void)state;
	assert_int_equal(graph_fixture_make_strange(path), DG_OK);
	assert_fails(dg_store_open(path, NULL, &store, &err), DG_CORRUPT, &err,
		     "want 1 by the partition book");
	free(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_store_tells_what_it_is),
		cmocka_unit_test(a_store_without_its_journal_shows_what_is_in_the_chunks),
		cmocka_unit_test(rows_are_read_and_set),
		cmocka_unit_test(what_cannot_be_read_or_set_is_refused),
		cmocka_unit_test(tensors_come_change_and_go),
		cmocka_unit_test(structure_is_read_by_edge_type),
		cmocka_unit_test(a_place_without_a_store_is_not_found),
		cmocka_unit_test(a_book_of_another_graph_is_damage),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
