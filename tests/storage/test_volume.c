/* What storage/volume.c, write.c and make.c promise of a sound store. */
#include "test.h"

#include "fixture.h"

#include "tmpdir.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct place {
	char *dir;
	char *store;
};

static int make_place(void **state)
{
	struct place *p = malloc(sizeof *p);

	p->dir = tmpdir_new();
	p->store = tmpdir_path(p->dir, "part1");
	fixture_make(p->store, 1);
	*state = p;
	return 0;
}

static int remove_place(void **state)
{
	struct place *p = *state;

	tmpdir_remove(p->dir);
	free(p->store);
	free(p);
	return 0;
}

static struct dgi_volume *open_volume(const struct place *p, bool writable)
{
	struct dgi_volume *volume;
	dg_error err = { 0 };

	assert_ok(dgi_volume_open(p->store, &(struct dgi_volume_options){ .writable = writable },
				  &volume, &err),
		  &err);
	return volume;
}

static void a_store_says_what_it_was_made_of(void **state)
{
	struct dgi_volume *volume = open_volume(*state, false);
	dg_tensor_info *infos;
	const uint8_t *book;
	dg_store_info info;
	dg_error err = { 0 };
	size_t n;

	book = dgi_volume_book(volume, &n);
	assert_int_equal(n, strlen(FIXTURE_BOOK));
	assert_memory_equal(book, FIXTURE_BOOK, n);
	assert_ok(dgi_volume_list(volume, &infos, &n, &err), &err);
	assert_int_equal(n, 5);
	assert_string_equal(infos[1].name, "feat");
	assert_int_equal(infos[1].row_bytes, 512);
	assert_int_equal(infos[1].chunk_pages, 16);
	assert_memory_equal(dgi_volume_tensor(volume, FIXTURE_FEAT), &infos[1], sizeof infos[1]);
	free(infos);
	assert_null(dgi_volume_tensor(volume, 2));
	dgi_volume_get_info(volume, &info);
	assert_int_equal(info.part, 1);
	assert_int_equal(info.n_parts, 4);
	assert_int_equal(info.incarnation, 0);
	assert_int_equal(info.log_number, 0);
	assert_true(info.file_bytes > FIXTURE_ROWS * 512 + FIXTURE_WIDE_ROWS * 100000);
	dgi_volume_close(volume);
}

static void rows_come_back_in_the_order_asked_with_repeats(void **state)
{
	struct dgi_volume *volume = open_volume(*state, false);
	const dg_id some[] = { 999, 0, 126, 127, 128, 999, 500, 0 };
	const dg_id wide[] = { 6, 0, 3, 3 };
	dg_id all[FIXTURE_ROWS];

	for (int i = 0; i < FIXTURE_ROWS; i++)
		all[i] = i;
	fixture_expect_rows(volume, FIXTURE_FEAT, some, 8, 0);
	fixture_expect_rows(volume, FIXTURE_FEAT, all, FIXTURE_ROWS, 0);
	fixture_expect_rows(volume, FIXTURE_LABEL, all, FIXTURE_ROWS, 0);
	fixture_expect_rows(volume, FIXTURE_WIDE, wide, 4, 0);
	fixture_expect_rows(volume, FIXTURE_EMPTY, wide, 0, 0);
	dgi_volume_close(volume);
}

static void a_row_that_is_not_there_is_refused(void **state)
{
	struct dgi_volume *volume = open_volume(*state, false);
	dg_error err = { 0 };
	uint8_t out[1024];
	dg_id row = FIXTURE_ROWS;

	assert_fails(dgi_volume_gather(volume, FIXTURE_FEAT, &row, 1, out, &err), DG_RANGE, &err,
		     "tensor 'feat': row 1000, there are 1000 rows");
	row = -1;
	assert_fails(dgi_volume_gather(volume, FIXTURE_FEAT, &row, 1, out, &err), DG_RANGE, &err,
		     "row -1");
	row = 0;
	assert_fails(dgi_volume_gather(volume, FIXTURE_EMPTY, &row, 1, out, &err), DG_RANGE, &err,
		     "there are 0 rows");
	assert_fails(dgi_volume_gather(volume, 2, &row, 1, out, &err), DG_NOTFOUND, &err,
		     "no tensor 2");
	dgi_volume_close(volume);
}

static void structure_arrays_are_read_across_segments(void **state)
{
	struct dgi_volume *volume = open_volume(*state, false);
	int32_t *out = malloc(FIXTURE_ELEMENTS * sizeof *out);
	dg_error err = { 0 };
	dg_dtype dtype;
	int64_t n;

	assert_ok(dgi_volume_array(volume, 0, DG_GRAPH_INDICES, &dtype, &n, &err), &err);
	assert_int_equal(dtype, DG_INT32);
	assert_int_equal(n, FIXTURE_ELEMENTS);
	assert_ok(dgi_volume_array_read(volume, 0, DG_GRAPH_INDICES, 0, n, out, &err), &err);
	for (int64_t i = 0; i < n; i++)
		assert_int_equal(out[i], fixture_element(i));
	assert_ok(dgi_volume_array_read(volume, 0, DG_GRAPH_INDICES, 262143, 2, out, &err), &err);
	assert_int_equal(out[0], fixture_element(262143));
	assert_int_equal(out[1], fixture_element(262144));
	assert_ok(dgi_volume_array_read(volume, 0, DG_GRAPH_INDICES, n, 0, out, &err), &err);
	assert_fails(dgi_volume_array_read(volume, 0, DG_GRAPH_INDICES, n - 1, 2, out, &err),
		     DG_RANGE, &err, "there are 600000");
	assert_fails(dgi_volume_array_read(volume, 0, DG_GRAPH_INDICES, -1, 1, out, &err), DG_RANGE,
		     &err, "from -1");
	assert_ok(dgi_volume_array(volume, 5, DG_GRAPH_INDPTR, &dtype, &n, &err), &err);
	assert_int_equal(n, 0);
	assert_ok(dgi_volume_array_read(volume, 5, DG_GRAPH_INDPTR, 0, 0, out, &err), &err);
	assert_fails(dgi_volume_array(volume, 5, DG_GRAPH_INDICES, &dtype, &n, &err), DG_NOTFOUND,
		     &err, "edge type 5");
	free(out);
	dgi_volume_close(volume);
}

static void written_rows_are_seen_at_once_and_after_reopening(void **state)
{
	struct dgi_volume *volume = open_volume(*state, true);
	const dg_id changed[] = { 5, 999, 127, 300 };
	const dg_id kept[] = { 4, 6, 998, 126, 128 };
	const dg_id wide[] = { 6 };
	dg_store_info info;
	dg_error err = { 0 };

	assert_ok(fixture_write(volume, FIXTURE_FEAT, changed, 4, 1, &err), &err);
	fixture_expect_rows(volume, FIXTURE_FEAT, changed, 4, 1);
	fixture_expect_rows(volume, FIXTURE_FEAT, kept, 5, 0);
	assert_ok(fixture_write(volume, FIXTURE_WIDE, wide, 1, 1, &err), &err);
	assert_ok(fixture_write(volume, FIXTURE_LABEL, changed, 4, 1, &err), &err);
	dgi_volume_get_info(volume, &info);
	assert_int_equal(info.log_number, 3);
	assert_int_equal(info.incarnation, 1);
	dgi_volume_close(volume);

	volume = open_volume(*state, false);
	fixture_expect_rows(volume, FIXTURE_FEAT, changed, 4, 1);
	fixture_expect_rows(volume, FIXTURE_FEAT, kept, 5, 0);
	fixture_expect_rows(volume, FIXTURE_WIDE, wide, 1, 1);
	fixture_expect_rows(volume, FIXTURE_LABEL, changed, 4, 1);
	dgi_volume_get_info(volume, &info);
	assert_int_equal(info.log_number, 3);
	assert_int_equal(info.incarnation, 1);
	dgi_volume_close(volume);
}

static void of_equal_rows_the_last_wins_within_and_between_writes(void **state)
{
	struct dgi_volume *volume = open_volume(*state, true);
	const dg_id rows[] = { 7, 8, 7 };
	const uint8_t first[] = { 1, 2, 3 };
	const uint8_t second[] = { 4 };
	struct dgi_write writes[] = {
		{ .tensor = FIXTURE_LABEL, .rows = rows, .n = 3, .data = first },
		{ .tensor = FIXTURE_LABEL, .rows = rows + 1, .n = 1, .data = second },
	};
	dg_error err = { 0 };
	uint8_t out[2];

	assert_ok(dgi_volume_write(volume, writes, 2, &err), &err);
	assert_int_equal(writes[0].status, DG_OK);
	assert_int_equal(writes[1].status, DG_OK);
	assert_ok(dgi_volume_gather(volume, FIXTURE_LABEL, rows, 2, out, &err), &err);
	assert_int_equal(out[0], 3);
	assert_int_equal(out[1], 4);
	dgi_volume_close(volume);
}

static void a_refused_write_hinders_no_other(void **state)
{
	struct dgi_volume *volume = open_volume(*state, true);
	const dg_id good[] = { 1 };
	const dg_id bad[] = { 2, FIXTURE_ROWS };
	const uint8_t data[512] = { 9 };
	struct dgi_write writes[] = {
		{ .tensor = FIXTURE_LABEL, .rows = bad, .n = 2, .data = data },
		{ .tensor = FIXTURE_LABEL, .rows = good, .n = 1, .data = data },
		{ .tensor = 1234, .rows = good, .n = 1, .data = data },
		{ .tensor = FIXTURE_SYSTEM, .rows = good, .n = 1, .data = data },
		{ .tensor = FIXTURE_EMPTY, .rows = good, .n = 1, .data = data },
		{ .tensor = FIXTURE_FEAT, .rows = good, .n = 0, .data = data },
	};
	dg_error err = { 0 };
	uint8_t out;

	assert_ok(dgi_volume_write(volume, writes, 6, &err), &err);
	assert_fails(writes[0].status, DG_RANGE, &writes[0].error, "'label': row 1000");
	assert_int_equal(writes[1].status, DG_OK);
	assert_fails(writes[2].status, DG_NOTFOUND, &writes[2].error, "1234");
	assert_fails(writes[3].status, DG_INVALID, &writes[3].error, "'_ORIGINAL_ID'");
	assert_int_equal(writes[4].status, DG_RANGE);
	assert_int_equal(writes[5].status, DG_OK);
	assert_ok(dgi_volume_gather(volume, FIXTURE_LABEL, good, 1, &out, &err), &err);
	assert_int_equal(out, 9);
	fixture_expect_rows(volume, FIXTURE_LABEL, bad, 1, 0); /* all or nothing */
	dgi_volume_close(volume);
}

static void a_store_open_to_be_read_takes_no_writes(void **state)
{
	struct dgi_volume *volume = open_volume(*state, false);
	const dg_id row = 0;
	dg_error err = { 0 };

	assert_fails(fixture_write(volume, FIXTURE_LABEL, &row, 1, 1, &err), DG_DENIED, &err,
		     "read only");
	fixture_expect_rows(volume, FIXTURE_LABEL, &row, 1, 0);
	dgi_volume_close(volume);
}

static void the_file_does_not_grow_when_rows_are_written_over_and_over(void **state)
{
	struct dgi_volume *volume = open_volume(*state, true);
	dg_store_info before, after;
	dg_error err = { 0 };
	dg_id rows[FIXTURE_ROWS];

	for (int i = 0; i < FIXTURE_ROWS; i++)
		rows[i] = i;
	for (uint64_t version = 1; version <= 40; version++) {
		assert_ok(fixture_write(volume, FIXTURE_FEAT, rows, FIXTURE_ROWS, version, &err),
			  &err);
		assert_ok(dgi_volume_checkpoint(volume, 20000, &err), &err);
		fixture_expect_rows(volume, FIXTURE_FEAT, rows, FIXTURE_ROWS, version);
		if (version == 6)
			dgi_volume_get_info(volume, &before);
	}
	dgi_volume_get_info(volume, &after);
	assert_true(after.file_bytes <= before.file_bytes + before.file_bytes / 4);
	dgi_volume_close(volume);
}

static void only_the_owner_may_touch_its_files(void **state)
{
	const struct place *p = *state;
	static const char *const files[] = { "graph.mdb", "tensors.mdb", "lock" };
	struct stat info;

	for (size_t i = 0; i < 3; i++) {
		char *path = tmpdir_path(p->store, files[i]);

		assert_int_equal(stat(path, &info), 0);
		assert_int_equal(info.st_mode & 07777, 0600);
		free(path);
	}
	assert_int_not_equal(access(p->store, F_OK), -1);
}

/* --- Every dtype, many shapes and lengths --- */

struct shape {
	uint32_t rank;
	int64_t shape[3];
};

static const struct shape shapes[] = {
	{ 0, { 0 } },	 { 1, { 1 } },	     { 1, { 3 } },
	{ 2, { 2, 3 } }, { 3, { 7, 1, 5 } }, { 1, { 1031 } },
};
static const int64_t lengths[] = { 0, 1, 2, 31, 4096 };

static dg_status fill_pattern(void *context, int64_t first, int64_t n, void *out, dg_error *err)
{
	const dg_tensor_info *info = context;

	(void)err;
	for (int64_t i = 0; i < n; i++)
		fixture_row(info->id, first + i, 0, (uint8_t *)out + (size_t)i * info->row_bytes,
			    info->row_bytes);
	return DG_OK;
}

static dg_tensor_info tensor_number(uint32_t id)
{
	const size_t n_shapes = sizeof shapes / sizeof shapes[0];
	const size_t n_lengths = sizeof lengths / sizeof lengths[0];
	const struct shape *shape = &shapes[id % n_shapes];
	dg_tensor_info info = { .id = id + 1, .name = "t", .rank = shape->rank };

	info.dtype = (dg_dtype)(DG_BOOL + id / n_shapes / n_lengths);
	info.n_rows = lengths[id / n_shapes % n_lengths];
	info.row_bytes = (uint32_t)dg_dtype_bytes(info.dtype);
	for (uint32_t i = 0; i < shape->rank; i++) {
		info.shape[i] = shape->shape[i];
		info.row_bytes *= (uint32_t)shape->shape[i];
	}
	return info;
}

static void tensors_of_every_dtype_shape_and_length_come_back(void **state)
{
	const struct place *p = *state;
	struct place all = { .store = tmpdir_path(p->dir, "all") };
	struct dgi_superblock s = { .n_parts = 1,
				    .store_uuid = { { 1 } },
				    .cluster_uuid = { { 2 } } };
	struct dgi_volume_maker *maker;
	struct dgi_volume *volume;
	dg_tensor_info *infos;
	dg_id *rows = malloc(4096 * sizeof *rows);
	dg_error err = { 0 };
	size_t n;

	for (int i = 0; i < 4096; i++)
		rows[i] = i * 1231 % 4096;
	assert_int_equal(mkdir(all.store, 0700), 0);
	assert_ok(dgi_volume_make(all.store, &s, "", 0, &maker, &err), &err);
	for (uint32_t id = 0; tensor_number(id).dtype <= DG_FLOAT64; id++) {
		dg_tensor_info info = tensor_number(id);

		assert_ok(dgi_volume_maker_tensor(maker, &info, fill_pattern, &info, &err), &err);
	}
	assert_ok(dgi_volume_maker_close(maker, true, &err), &err);
	volume = open_volume(&all, true);
	assert_ok(dgi_volume_list(volume, &infos, &n, &err), &err);
	assert_int_equal(n, 10 * 5 * 6);
	for (size_t i = 0; i < n; i++) {
		dg_id last = infos[i].n_rows - 1;

		if (infos[i].n_rows == 4096)
			fixture_expect_rows(volume, infos[i].id, rows, 4096, 0);
		if (infos[i].n_rows == 0)
			continue;
		fixture_expect_rows(volume, infos[i].id, &last, 1, 0);
		assert_ok(fixture_write(volume, infos[i].id, &last, 1, 1, &err), &err);
		fixture_expect_rows(volume, infos[i].id, &last, 1, 1);
	}
	dgi_volume_close(volume);
	free(infos);
	free(rows);
	free(all.store);
}

/* --- Limits of a write --- */

#define ROWS_MAX 16611 /* of 4032 bytes and a number of 8: one more passes 64 MiB */
#define PAGE_ROW_BYTES 4032

static void an_entry_has_a_largest_size_and_several_may_have_more(void **state)
{
	const struct place *p = *state;
	struct place one = { .store = tmpdir_path(p->dir, "one") };
	struct dgi_superblock s = { .n_parts = 1,
				    .store_uuid = { { 1 } },
				    .cluster_uuid = { { 2 } } };
	dg_tensor_info info = { .id = 1,
				.name = "t",
				.dtype = DG_UINT8,
				.rank = 1,
				.shape = { PAGE_ROW_BYTES },
				.n_rows = ROWS_MAX + 1,
				.row_bytes = PAGE_ROW_BYTES,
				.chunk_pages = 1 };
	uint8_t *data = calloc(ROWS_MAX + 1, PAGE_ROW_BYTES);
	dg_id *rows = malloc((ROWS_MAX + 1) * sizeof *rows);
	struct dgi_write writes[] = {
		{ .tensor = 1, .rows = rows, .n = ROWS_MAX + 1, .data = data },
		{ .tensor = 1, .rows = rows, .n = ROWS_MAX, .data = data },
		{ .tensor = 1, .rows = rows + ROWS_MAX, .n = 1, .data = data + 1 },
	};
	struct dgi_volume_maker *maker;
	struct dgi_volume *volume;
	dg_store_info store_info;
	dg_error err = { 0 };
	uint8_t out[PAGE_ROW_BYTES];

	for (int i = 0; i <= ROWS_MAX; i++)
		rows[i] = i;
	data[PAGE_ROW_BYTES] = 9; /* the last byte of write 2's row, the first of row 1 */
	assert_int_equal(mkdir(one.store, 0700), 0);
	assert_ok(dgi_volume_make(one.store, &s, "", 0, &maker, &err), &err);
	assert_ok(dgi_volume_maker_tensor(maker, &info, fill_pattern, &info, &err), &err);
	assert_ok(dgi_volume_maker_close(maker, true, &err), &err);
	volume = open_volume(&one, true);
	assert_ok(dgi_volume_apply(volume, writes, 1, &err), &err);
	assert_fails(writes[0].status, DG_INVALID, &writes[0].error,
		     "tensor 't': 16612 rows of 4032 bytes are more than one push may hold");
	assert_ok(dgi_volume_write(volume, writes + 1, 2, &err), &err);
	assert_ok(writes[1].status, &writes[1].error);
	assert_ok(writes[2].status, &writes[2].error);
	dgi_volume_get_info(volume, &store_info);
	assert_int_equal(store_info.log_number, 2);
	assert_ok(dgi_volume_gather(volume, 1, rows + ROWS_MAX, 1, out, &err), &err);
	assert_memory_equal(out, data + 1, PAGE_ROW_BYTES);
	assert_ok(dgi_volume_gather(volume, 1, rows + 1, 1, out, &err), &err);
	assert_int_equal(out[0], 9);
	dgi_volume_close(volume);
	free(data);
	free(rows);
	free(one.store);
}

int main(void)
{
#define with_store(test) cmocka_unit_test_setup_teardown(test, make_place, remove_place)
	const struct CMUnitTest tests[] = {
		with_store(a_store_says_what_it_was_made_of),
		with_store(rows_come_back_in_the_order_asked_with_repeats),
		with_store(a_row_that_is_not_there_is_refused),
		with_store(structure_arrays_are_read_across_segments),
		with_store(written_rows_are_seen_at_once_and_after_reopening),
		with_store(of_equal_rows_the_last_wins_within_and_between_writes),
		with_store(a_refused_write_hinders_no_other),
		with_store(a_store_open_to_be_read_takes_no_writes),
		with_store(the_file_does_not_grow_when_rows_are_written_over_and_over),
		with_store(tensors_of_every_dtype_shape_and_length_come_back),
		with_store(an_entry_has_a_largest_size_and_several_may_have_more),
		with_store(only_the_owner_may_touch_its_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
