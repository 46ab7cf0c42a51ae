/* What storage/chunk.c and segment.c promise. */
#include "test.h"

#include "bytes.h"
#include "chunk.h"
#include "rng.h"
#include "segment.h"
#include "tensor_info.h"

#include <stdlib.h>
#include <string.h>

static void expect_quotients(uint64_t divisor, uint64_t around)
{
	const struct dgi_divider d = dgi_divider_of(divisor);

	for (uint64_t n = around > 3 ? around - 3 : 0; n <= around + 3 && n <= INT64_MAX; n++)
		if (dgi_divide(&d, n) != n / divisor)
			fail_msg("%llu / %llu is not %llu", (unsigned long long)n,
				 (unsigned long long)divisor,
				 (unsigned long long)dgi_divide(&d, n));
}

static void the_reciprocal_is_exact_for_every_row_number(void **state)
{
	struct dgi_rng rng = dgi_rng_of(1, 0);

	(void)state;
	for (uint64_t divisor = 1; divisor <= 70000; divisor++) {
		uint64_t last = (uint64_t)INT64_MAX / divisor * divisor;
		uint64_t some = dgi_rng_below(&rng, INT64_MAX);

		expect_quotients(divisor, 0);
		expect_quotients(divisor, divisor);
		expect_quotients(divisor, some);
		expect_quotients(divisor, some / divisor * divisor);
		expect_quotients(divisor, last);
		expect_quotients(divisor, INT64_MAX);
	}
	/* The most rows a chunk can have, and any other number. */
	expect_quotients(DG_ROW_BYTES_MAX, INT64_MAX);
	for (int i = 0; i < 100000; i++) {
		uint64_t divisor = 1 + dgi_rng_below(&rng, INT64_MAX);
		uint64_t some = dgi_rng_below(&rng, INT64_MAX);

		expect_quotients(divisor, some);
		expect_quotients(divisor, some / divisor * divisor);
		expect_quotients(divisor, INT64_MAX);
	}
}

static dg_tensor_info bytes_tensor(int64_t row_bytes, uint32_t pages, int64_t n_rows)
{
	dg_tensor_info info = {
		.id = 1,
		.name = "t",
		.dtype = DG_UINT8,
		.rank = 1,
		.shape = { row_bytes },
		.n_rows = n_rows,
		.row_bytes = (uint32_t)row_bytes,
		.chunk_pages = pages,
		.chunk_rows = (uint32_t)(((int64_t)pages * 4096 - 64) / row_bytes),
	};
	dg_error err = { 0 };

	assert_ok(dgi_tensor_info_check(&info, &err), &err);
	return info;
}

static void a_chunk_holds_what_fits_behind_its_64_bytes(void **state)
{
	dg_tensor_info info = bytes_tensor(512, 16, 255);
	struct dgi_cut cut = dgi_cut_of(&info);

	(void)state;
	assert_int_equal(cut.chunk_rows, 127);
	assert_int_equal(cut.value_bytes, 16 * 4096 - 16);
	assert_int_equal(cut.n_chunks, 3);
	assert_int_equal(dgi_cut_rows(&cut, 0), 127);
	assert_int_equal(dgi_cut_rows(&cut, 1), 127);
	assert_int_equal(dgi_cut_rows(&cut, 2), 1);
	info = bytes_tensor(512, 16, 254);
	cut = dgi_cut_of(&info);
	assert_int_equal(cut.n_chunks, 2);
	assert_int_equal(dgi_cut_rows(&cut, 1), 127);
	info = bytes_tensor(512, 16, 0);
	cut = dgi_cut_of(&info);
	assert_int_equal(cut.n_chunks, 0);
}

static void the_default_chunk_fits_rows_and_wastes_little(void **state)
{
	(void)state;
	assert_int_equal(dgi_chunk_pages_default(512, 1000000), 16);
	assert_int_equal(dgi_chunk_pages_default(1, 1000000), 16);
	assert_int_equal(dgi_chunk_pages_default(DG_ROW_BYTES_MAX, 1000000), 256);
	assert_int_equal(dgi_chunk_pages_default(512, 0), 1);
	assert_int_equal(dgi_chunk_pages_default(512, 7), 1);
	assert_int_equal(dgi_chunk_pages_default(512, 8), 2);
	assert_int_equal(dgi_chunk_pages_default(DG_ROW_BYTES_MAX, 0), 256);
	for (uint32_t row_bytes = 1; row_bytes <= DG_ROW_BYTES_MAX;
	     row_bytes += row_bytes < 140000 ? 1 : 997) {
		uint32_t pages = dgi_chunk_pages_default(row_bytes, INT64_MAX);
		size_t room = (size_t)pages * 4096 - 64;
		size_t waste = room % row_bytes;

		assert_in_range(pages, 1, 256);
		assert_true(room >= row_bytes);
		if (waste * 16 > (size_t)pages * 4096)
			fail_msg("rows of %u bytes: %zu of %u pages wasted", row_bytes, waste,
				 pages);
	}
}

static void an_array_is_cut_into_equal_segments_but_the_last(void **state)
{
	struct dgi_array_info info = { .dtype = DG_INT64, .n = 10, .segment_elements = 4 }, back;
	uint8_t data[DGI_ARRAY_INFO_BYTES];
	dg_error err = { 0 };

	(void)state;
	assert_int_equal(dgi_array_n_segments(&info), 3);
	assert_int_equal(dgi_array_elements(&info, 0), 4);
	assert_int_equal(dgi_array_elements(&info, 2), 2);
	info.n = 8;
	assert_int_equal(dgi_array_n_segments(&info), 2);
	assert_int_equal(dgi_array_elements(&info, 1), 4);
	dgi_array_info_encode(&info, data);
	assert_ok(dgi_array_info_decode(data, sizeof data, &back, &err), &err);
	assert_int_equal(back.dtype, info.dtype);
	assert_int_equal(back.n, info.n);
	assert_int_equal(back.segment_elements, info.segment_elements);
	for (size_t cut = 0; cut < sizeof data; cut++)
		assert_int_equal(dgi_array_info_decode(data, cut, &back, &err), DG_CORRUPT);
}

static void an_array_description_out_of_its_limits_is_refused(void **state)
{
	struct dgi_array_info info = { .dtype = DG_INT32 }, back;
	uint8_t data[DGI_ARRAY_INFO_BYTES];
	dg_error err = { 0 };

	(void)state;
	info.segment_elements = DGI_SEGMENT_BYTES_MAX / 4;
	dgi_array_info_encode(&info, data);
	assert_ok(dgi_array_info_decode(data, sizeof data, &back, &err), &err);
	info.segment_elements++;
	dgi_array_info_encode(&info, data);
	assert_fails(dgi_array_info_decode(data, sizeof data, &back, &err), DG_CORRUPT, &err,
		     "at most 256 MiB");
	info.segment_elements = 0;
	dgi_array_info_encode(&info, data);
	assert_fails(dgi_array_info_decode(data, sizeof data, &back, &err), DG_CORRUPT, &err,
		     "segments of 0 elements");
	info.segment_elements = 1;
	info.n = UINT64_MAX;
	dgi_array_info_encode(&info, data);
	assert_fails(dgi_array_info_decode(data, sizeof data, &back, &err), DG_CORRUPT, &err,
		     "more than there can be");
	info.dtype = DG_FLOAT32;
	dgi_array_info_encode(&info, data);
	assert_fails(dgi_array_info_decode(data, sizeof data, &back, &err), DG_CORRUPT, &err,
		     "want int32 or int64");
}

static void a_segment_is_verified_piece_by_piece(void **state)
{
	const dg_uuid uuid = { { 9 } };
	const uint64_t elements = (2 * DGI_SEGMENT_PIECE_BYTES + 4) / 4;
	struct dgi_segment_layout layout = dgi_segment_layout_of(elements * 4);
	struct dgi_key key = { .kind = DGI_KIND_SEGMENT, .array = 2 };
	uint8_t *value = calloc(1, layout.value_bytes);
	dg_error err = { 0 };
	uint64_t seed;

	(void)state;
	assert_int_equal(layout.n_sums, 3);
	assert_int_equal(layout.sums_at % 8, 0);
	assert_int_equal((layout.value_bytes + 16) % 4096, 0);
	memset(value, 0x55, layout.value_bytes);
	dgi_segment_seal(value, &layout, &uuid, &key, elements);
	assert_ok(dgi_segment_read(value, &layout, &uuid, &key, elements, &seed, &err), &err);
	for (size_t i = 0; i < 3; i++)
		assert_true(dgi_segment_piece_holds(value, &layout, seed, i));
	value[48 + DGI_SEGMENT_PIECE_BYTES] ^= 1;
	assert_true(dgi_segment_piece_holds(value, &layout, seed, 0));
	assert_false(dgi_segment_piece_holds(value, &layout, seed, 1));
	value[layout.sums_at] ^= 1;
	assert_fails(dgi_segment_read(value, &layout, &uuid, &key, elements, &seed, &err),
		     DG_CORRUPT, &err, "segment 0 of array 2 of edge type 0: its checksum");
	value[layout.sums_at] ^= 1;
	key.segment = 1;
	assert_fails(dgi_segment_read(value, &layout, &uuid, &key, elements, &seed, &err),
		     DG_CORRUPT, &err, "wrong place");
	free(value);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_reciprocal_is_exact_for_every_row_number),
		cmocka_unit_test(a_chunk_holds_what_fits_behind_its_64_bytes),
		cmocka_unit_test(the_default_chunk_fits_rows_and_wastes_little),
		cmocka_unit_test(an_array_is_cut_into_equal_segments_but_the_last),
		cmocka_unit_test(an_array_description_out_of_its_limits_is_refused),
		cmocka_unit_test(a_segment_is_verified_piece_by_piece),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
