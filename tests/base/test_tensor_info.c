/* What base/tensor_info.c promises. */
#include "test.h"

#include "tensor_info.h"

#include <string.h>

static dg_tensor_info feat(void)
{
	dg_tensor_info info = {
		.id = 3,
		.name = "feat",
		.dtype = DG_FLOAT32,
		.rank = 2,
		.shape = { 4, 8 },
		.n_rows = 34,
		.row_bytes = 128,
		.chunk_pages = 16,
		.chunk_rows = 511,
	};

	return info;
}

static void a_description_comes_back_whole(void **state)
{
	dg_tensor_info info = feat(), back;
	uint8_t data[DGI_TENSOR_INFO_BYTES_MAX];
	dg_error err = { 0 };
	size_t n, used;

	(void)state;
	info.side = DG_EDGE;
	info.type = 513;
	info.numbering = DG_ORIGINAL;
	info.durability = DG_DURABLE_INTERVAL;
	info.interval_ms = 250;
	info.flags = DG_TENSOR_SYSTEM;
	info.group = 2;
	n = dgi_tensor_info_encode(&info, data);
	memset(&back, 0, sizeof back);
	assert_ok(dgi_tensor_info_decode(data, n, &back, &used, &err), &err);
	assert_int_equal(used, n);
	assert_memory_equal(&back, &info, sizeof info);
}

static void a_description_cut_anywhere_is_refused(void **state)
{
	dg_tensor_info info = feat(), back;
	uint8_t data[DGI_TENSOR_INFO_BYTES_MAX];
	dg_error err = { 0 };
	size_t used, n = dgi_tensor_info_encode(&info, data);

	(void)state;
	for (size_t cut = 0; cut < n; cut++)
		assert_int_equal(dgi_tensor_info_decode(data, cut, &back, &used, &err), DG_CORRUPT);
}

static void a_row_has_a_largest_size(void **state)
{
	dg_tensor_info info = feat();
	dg_error err = { 0 };

	(void)state;
	info.dtype = DG_UINT8;
	info.rank = 1;
	info.chunk_pages = 256;
	info.chunk_rows = 1;
	info.shape[0] = DG_ROW_BYTES_MAX;
	assert_ok(dgi_tensor_info_set_row_bytes(&info, &err), &err);
	assert_ok(dgi_tensor_info_check(&info, &err), &err);
	info.shape[0]++;
	assert_fails(dgi_tensor_info_set_row_bytes(&info, &err), DG_INVALID, &err,
		     "at most 1048512");
	info.shape[0] = 0;
	assert_int_equal(dgi_tensor_info_set_row_bytes(&info, &err), DG_INVALID);
	info.rank = 8;
	for (int i = 0; i < 8; i++)
		info.shape[i] = INT64_MAX;
	assert_int_equal(dgi_tensor_info_set_row_bytes(&info, &err), DG_INVALID);
}

static void names_are_utf8_without_control_characters(void **state)
{
	dg_error err = { 0 };
	char name[300];

	(void)state;
	assert_ok(dgi_name_check("name", "größe", &err), &err);
	assert_ok(dgi_name_check("name", "特徴~:/%", &err), &err);
	assert_fails(dgi_name_check("name", "", &err), DG_INVALID, &err, "empty");
	assert_fails(dgi_name_check("name", "a\tb", &err), DG_INVALID, &err, "control");
	assert_fails(dgi_name_check("name", "\xff", &err), DG_INVALID, &err, "UTF-8");
	assert_fails(dgi_name_check("name", "\xc0\xaf", &err), DG_INVALID, &err, "UTF-8");
	assert_fails(dgi_name_check("name", "\xed\xa0\x80", &err), DG_INVALID, &err, "UTF-8");
	memset(name, 'n', sizeof name);
	name[DG_NAME_BYTES_MAX] = '\0';
	assert_ok(dgi_name_check("name", name, &err), &err);
	name[DG_NAME_BYTES_MAX] = 'n';
	name[DG_NAME_BYTES_MAX + 1] = '\0';
	assert_fails(dgi_name_check("name", name, &err), DG_INVALID, &err, "longer than 255");
}

static void dtypes_have_names_and_sizes(void **state)
{
	dg_dtype dtype;
	dg_error err = { 0 };

	(void)state;
	assert_ok(dg_dtype_parse("bfloat16", &dtype, &err), &err);
	assert_int_equal(dg_dtype_bytes(dtype), 2);
	assert_string_equal(dg_dtype_name(DG_FLOAT64), "float64");
	assert_int_equal(dg_dtype_bytes((dg_dtype)99), 0);
	assert_fails(dg_dtype_parse("float", &dtype, &err), DG_INVALID, &err, "want one of");
}

static void rows_of_a_chunk_fit_its_pages(void **state)
{
	dg_tensor_info info = feat();
	dg_error err = { 0 };

	(void)state;
	assert_ok(dgi_tensor_info_check(&info, &err), &err);
	info.chunk_rows = 512;
	assert_fails(dgi_tensor_info_check(&info, &err), DG_INVALID, &err, "512 rows of 128 bytes");
	info.chunk_rows = 0;
	assert_int_equal(dgi_tensor_info_check(&info, &err), DG_INVALID);
	info.chunk_rows = 1;
	info.group = 4;
	assert_fails(dgi_tensor_info_check(&info, &err), DG_INVALID, &err, "id 3 in group 4");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_description_comes_back_whole),
		cmocka_unit_test(a_description_cut_anywhere_is_refused),
		cmocka_unit_test(a_row_has_a_largest_size),
		cmocka_unit_test(rows_of_a_chunk_fit_its_pages),
		cmocka_unit_test(names_are_utf8_without_control_characters),
		cmocka_unit_test(dtypes_have_names_and_sizes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
