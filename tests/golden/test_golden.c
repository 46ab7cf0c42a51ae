/*
 * Stores made by earlier versions are opened and read as they were, for ever: each archive in
 * tests/golden/v1 is unpacked and compared with what the second reader found in it when it was made.
 */
#include "test.h"

#include "tmpdir.h"
#include "uuid.h"
#include "volume.h"

#include <jansson.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct golden {
	char *dir;
	char *store;
	json_t *expected;
};

/* tar keeps the modes that a store must have. */
static void unpack(const char *archive, const char *dir)
{
	int status = 0;
	pid_t child = fork();

	if (child == 0) {
		(void)execlp("tar", "tar", "--no-same-owner", "-xzpf", archive, "-C", dir,
			     (char *)NULL);
		_exit(127);
	}
	assert_true(child > 0 && waitpid(child, &status, 0) == child);
	assert_int_equal(status, 0);
}

static struct golden open_golden(const char *name)
{
	struct golden golden = { .dir = tmpdir_new() };
	json_error_t error;
	char path[4096];

	golden.store = tmpdir_path(golden.dir, name);
	(void)snprintf(path, sizeof path, "%s/%s.tar.gz", GOLDEN, name);
	unpack(path, golden.dir);
	(void)snprintf(path, sizeof path, "%s/%s.json", GOLDEN, name);
	golden.expected = json_load_file(path, 0, &error);
	assert_non_null(golden.expected);
	return golden;
}

static void close_golden(struct golden *golden)
{
	json_decref(golden->expected);
	free(golden->store);
	tmpdir_remove(golden->dir);
}

static json_int_t number_of(const json_t *object, const char *field)
{
	json_t *value = json_object_get(object, field);

	assert_true(json_is_integer(value));
	return json_integer_value(value);
}

static const char *text_of(const json_t *object, const char *field)
{
	const char *text = json_string_value(json_object_get(object, field));

	assert_non_null(text);
	return text;
}

static void expect_row(const uint8_t *row, size_t n, const char *hex, const char *tensor, size_t i)
{
	char found[2 * 4096 + 1] = "";

	assert_true(n <= 4096);
	for (size_t at = 0; at < n; at++)
		(void)snprintf(found + 2 * at, 3, "%02x", row[at]);
	if (strcmp(found, hex) != 0)
		fail_msg("tensor '%s' row %zu: %s, want %s", tensor, i, found, hex);
}

static void expect_tensor(dg_store *store, const dg_tensor_info *info, const json_t *expected)
{
	const json_t *rows = json_object_get(expected, "rows");
	const json_t *shape = json_object_get(expected, "shape");
	dg_error err = { 0 };
	uint8_t *row = malloc(info->row_bytes);

	assert_non_null(row);
	assert_string_equal(info->name, text_of(expected, "name"));
	assert_string_equal(dg_dtype_name(info->dtype), text_of(expected, "dtype"));
	assert_int_equal(info->id, number_of(expected, "id"));
	assert_int_equal(info->type, number_of(expected, "type"));
	assert_int_equal(info->flags, number_of(expected, "flags"));
	assert_int_equal(info->durability, number_of(expected, "durability"));
	assert_int_equal(info->rank, json_array_size(shape));
	for (size_t i = 0; i < info->rank; i++)
		assert_int_equal(info->shape[i], json_integer_value(json_array_get(shape, i)));
	assert_int_equal(info->n_rows, json_array_size(rows));
	for (dg_id i = 0; i < info->n_rows; i++) {
		assert_ok(dg_store_gather(store, info, &i, 1, row, &err), &err);
		expect_row(row, info->row_bytes, json_string_value(json_array_get(rows, (size_t)i)),
			   info->name, (size_t)i);
	}
	free(row);
}

static void expect_array(dg_store *store, const json_t *expected)
{
	const json_t *elements = json_object_get(expected, "elements");
	const uint16_t etype = (uint16_t)number_of(expected, "edge_type");
	const dg_graph_array array = (dg_graph_array)number_of(expected, "array");
	dg_error err = { 0 };
	dg_dtype dtype;
	int64_t n;

	assert_ok(dg_store_graph_array(store, etype, array, &dtype, &n, &err), &err);
	assert_string_equal(dg_dtype_name(dtype), text_of(expected, "dtype"));
	assert_int_equal(n, json_array_size(elements));
	for (int64_t i = 0; i < n; i++) {
		int64_t wide;
		int32_t narrow;
		void *out = dtype == DG_INT64 ? (void *)&wide : &narrow;

		assert_ok(dg_store_graph_read(store, etype, array, i, 1, out, &err), &err);
		assert_int_equal(dtype == DG_INT64 ? wide : narrow,
				 json_integer_value(json_array_get(elements, (size_t)i)));
	}
}

static void expect_book(const dg_book *book, const json_t *expected)
{
	const json_t *types = json_object_get(json_object_get(expected, "book"), "node_types");

	assert_int_equal(dg_book_n_parts(book), number_of(expected, "n_parts"));
	assert_int_equal(dg_book_n_node_types(book), json_array_size(types));
	for (uint16_t t = 0; t < dg_book_n_node_types(book); t++) {
		const json_t *counts = json_object_get(json_array_get(types, t), "nodes");

		for (uint32_t p = 0; p < dg_book_n_parts(book); p++) {
			dg_id start, end;

			dg_book_range(book, DG_NODE, t, p, &start, &end);
			assert_int_equal(end - start,
					 json_integer_value(json_array_get(counts, p)));
		}
	}
}

/* Opens the store, read only, and compares all that it says. */
static void expect_all(const struct golden *golden, int64_t incarnation)
{
	const json_t *tensors = json_object_get(golden->expected, "tensors");
	const json_t *arrays = json_object_get(golden->expected, "arrays");
	const dg_tensor_info *infos;
	char text[DG_UUID_TEXT_BYTES];
	dg_store_info info;
	dg_store *store;
	dg_error err = { 0 };
	size_t n;

	assert_ok(dg_store_open(golden->store, NULL, &store, &err), &err);
	dg_store_get_info(store, &info);
	dgi_uuid_text(&info.store_uuid, text);
	assert_string_equal(text, text_of(golden->expected, "store_uuid"));
	assert_int_equal(info.part, number_of(golden->expected, "part"));
	assert_int_equal(info.log_number, number_of(golden->expected, "log_number"));
	assert_int_equal(info.incarnation, incarnation);
	expect_book(dg_store_book(store), golden->expected);
	infos = dg_store_tensors(store, &n);
	assert_int_equal(n, json_array_size(tensors));
	for (size_t i = 0; i < n; i++)
		expect_tensor(store, &infos[i], json_array_get(tensors, i));
	for (size_t i = 0; i < json_array_size(arrays); i++)
		expect_array(store, json_array_get(arrays, i));
	dg_store_close(store);
}

/* Every push that the session's mark counts is a repeat. */
static void expect_session(struct dgi_volume *volume, uint32_t tensor, const json_t *expected)
{
	const uint64_t number = (uint64_t)number_of(expected, "number");
	const uint64_t window = strtoull(text_of(expected, "window"), NULL, 16);
	const dg_id rows[2] = { 0, 0 };
	const uint8_t data[4096] = { 0 };
	dg_error err = { 0 };

	for (uint64_t i = 0; i <= 64 && i < number; i++) {
		struct dgi_write write = {
			.tensor = tensor,
			.rows = rows,
			.n = 1,
			.data = data,
			.number = number - i,
		};

		if (i > 0 && !(window >> (i - 1) & 1))
			continue;
		assert_ok(dgi_uuid_parse(text_of(expected, "id"), &write.session, &err), &err);
		assert_ok(dgi_volume_write(volume, &write, 1, &err), &err);
		assert_ok(write.status, &write.error);
		assert_true(write.repeat);
	}
}

/* A server starts on it, knows who pushed what, folds the journal and ends. */
static void take_over(const struct golden *golden)
{
	const json_t *sessions = json_object_get(golden->expected, "sessions");
	const json_t *tensors = json_object_get(golden->expected, "tensors");
	const struct dgi_volume_options options = { .writable = true };
	struct dgi_volume *volume;
	dg_error err = { 0 };
	uint32_t tensor;

	assert_ok(dgi_volume_open(golden->store, &options, &volume, &err), &err);
	assert_true(json_array_size(sessions) > 0);
	tensor = (uint32_t)number_of(json_array_get(tensors, 0), "id");
	for (size_t i = 0; i < json_array_size(sessions); i++)
		expect_session(volume, tensor, json_array_get(sessions, i));
	dgi_volume_close(volume);
}

static void check_golden(const char *name)
{
	struct golden golden = open_golden(name);
	int64_t incarnation = number_of(golden.expected, "incarnation");

	expect_all(&golden, incarnation);
	take_over(&golden);
	expect_all(&golden, incarnation + 1);
	close_golden(&golden);
}

static void a_store_whose_server_was_killed_is_read_and_taken_over(void **state)
{
	(void)state;
	check_golden("journaled");
}

static void a_store_that_was_closed_is_read_and_taken_over(void **state)
{
	(void)state;
	check_golden("closed");
}

static void a_store_whose_tensors_came_and_went_is_read_and_taken_over(void **state)
{
	(void)state;
	check_golden("grown");
}

/* Of a graph of one type in two parts, each with a halo of two hops and two trainers. */
static void a_store_with_a_halo_is_read(void **state)
{
	struct golden golden = open_golden("halo");

	(void)state;
	expect_all(&golden, number_of(golden.expected, "incarnation"));
	close_golden(&golden);
}

static void a_store_with_fills_under_way_is_read_and_taken_over(void **state)
{
	(void)state;
	check_golden("under_way");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_store_whose_server_was_killed_is_read_and_taken_over),
		cmocka_unit_test(a_store_that_was_closed_is_read_and_taken_over),
		cmocka_unit_test(a_store_with_a_halo_is_read),
		cmocka_unit_test(a_store_whose_tensors_came_and_went_is_read_and_taken_over),
		cmocka_unit_test(a_store_with_fills_under_way_is_read_and_taken_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
