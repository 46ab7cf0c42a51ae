/* What storage/key.c, record.c and superblock.c promise. */
#include "test.h"

#include "bytes.h"
#include "record.h"
#include "superblock.h"
#include "uuid.h"

#include <string.h>

static const dg_uuid store_a = { { 1, 2, 3 } };
static const dg_uuid store_b = { { 1, 2, 4 } };

static void keys_sort_by_their_numbers_and_come_back(void **state)
{
	const struct dgi_key keys[] = {
		{ .kind = DGI_KIND_SUPERBLOCK },
		{ .kind = DGI_KIND_IDENTITY },
		{ .kind = DGI_KIND_BOOK },
		{ .kind = DGI_KIND_ARRAY, .etype = 255, .array = 2 },
		{ .kind = DGI_KIND_ARRAY, .etype = 256, .array = 1 },
		{ .kind = DGI_KIND_SEGMENT, .etype = 1, .array = 2, .segment = 255 },
		{ .kind = DGI_KIND_SEGMENT, .etype = 1, .array = 2, .segment = 256 },
		{ .kind = DGI_KIND_TENSOR, .tensor = 65535 },
		{ .kind = DGI_KIND_TENSOR, .tensor = 65536 },
		{ .kind = DGI_KIND_CHUNK, .tensor = 1, .chunk = 255, .log = 9 },
		{ .kind = DGI_KIND_CHUNK, .tensor = 1, .chunk = 256, .log = 255 },
		{ .kind = DGI_KIND_CHUNK, .tensor = 1, .chunk = 256, .log = 256 },
	};
	uint8_t last[DGI_KEY_BYTES_MAX] = { 0 };
	size_t last_n = 0;
	dg_error err = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
		uint8_t bytes[DGI_KEY_BYTES_MAX], again[DGI_KEY_BYTES_MAX];
		size_t n = dgi_key_encode(&keys[i], bytes);
		int order = memcmp(last, bytes, last_n < n ? last_n : n);
		struct dgi_key back;

		assert_true(order < 0 || (order == 0 && last_n < n));
		assert_ok(dgi_key_decode(bytes, n, &back, &err), &err);
		assert_int_equal(dgi_key_encode(&back, again), n);
		assert_memory_equal(again, bytes, n);
		memcpy(last, bytes, n);
		last_n = n;
	}
}

static void a_key_of_the_wrong_length_or_kind_is_refused(void **state)
{
	const uint8_t unknown[] = { 100, 0 };
	const uint8_t optional[] = { DGI_KIND_OPTIONAL, 1, 2, 3 };
	struct dgi_key key = { .kind = DGI_KIND_CHUNK };
	uint8_t bytes[DGI_KEY_BYTES_MAX + 1] = { 0 };
	size_t n = dgi_key_encode(&key, bytes);
	dg_error err = { 0 };

	(void)state;
	assert_fails(dgi_key_decode(bytes, n - 1, &key, &err), DG_CORRUPT, &err,
		     "20 bytes, want 21");
	assert_fails(dgi_key_decode(bytes, n + 1, &key, &err), DG_CORRUPT, &err,
		     "22 bytes, want 21");
	assert_fails(dgi_key_decode(bytes, 0, &key, &err), DG_CORRUPT, &err, "no bytes");
	assert_fails(dgi_key_decode(unknown, 2, &key, &err), DG_CORRUPT, &err, "unknown kind 100");
	assert_ok(dgi_key_decode(optional, 4, &key, &err), &err);
	assert_int_equal(key.kind, DGI_KIND_OPTIONAL);
}

/* A record of kind TENSOR with the payload "payload". */
static size_t make_record(uint8_t value[64], const dg_uuid *uuid, const struct dgi_key *key)
{
	struct dgi_record record = { .kind = key->kind,
				     .version = DGI_RECORD_VERSION,
				     .payload_bytes = 7,
				     .log = 12,
				     .count = 3 };

	memcpy(value + DGI_RECORD_HEADER_BYTES, "payload", 7);
	dgi_record_seal(value, &record, uuid, key, value + DGI_RECORD_HEADER_BYTES, 7);
	return DGI_RECORD_HEADER_BYTES + 7;
}

static void a_record_comes_back_whole(void **state)
{
	const struct dgi_key key = { .kind = DGI_KIND_TENSOR, .tensor = 5 };
	uint8_t value[64];
	size_t n = make_record(value, &store_a, &key);
	struct dgi_record record;
	dg_error err = { 0 };

	(void)state;
	assert_ok(dgi_record_read(value, n, &store_a, &key, &record, &err), &err);
	assert_int_equal(record.payload_bytes, 7);
	assert_int_equal(record.log, 12);
	assert_int_equal(record.count, 3);
	assert_memory_equal(value, "DGR1", 4);
}

static void every_flipped_bit_of_a_record_is_noticed(void **state)
{
	const struct dgi_key key = { .kind = DGI_KIND_TENSOR, .tensor = 5 };
	uint8_t value[64];
	size_t n = make_record(value, &store_a, &key);
	struct dgi_record record;
	dg_error err = { 0 };

	(void)state;
	for (size_t bit = 0; bit < n * 8; bit++) {
		dg_status st;

		value[bit / 8] ^= (uint8_t)(1 << bit % 8);
		st = dgi_record_read(value, n, &store_a, &key, &record, &err);
		if (st != DG_CORRUPT && st != DG_VERSION)
			fail_msg("bit %zu flipped: status %d", bit, (int)st);
		value[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
}

static void a_record_in_the_wrong_place_is_noticed(void **state)
{
	struct dgi_key key = { .kind = DGI_KIND_TENSOR, .tensor = 5 };
	uint8_t value[64];
	size_t n = make_record(value, &store_a, &key);
	struct dgi_record record;
	dg_error err = { 0 };

	(void)state;
	assert_fails(dgi_record_read(value, n, &store_b, &key, &record, &err), DG_CORRUPT, &err,
		     "wrong place");
	key.tensor = 6;
	assert_fails(dgi_record_read(value, n, &store_a, &key, &record, &err), DG_CORRUPT, &err,
		     "description of tensor 6: its checksum does not match");
	key.kind = DGI_KIND_BOOK;
	assert_fails(dgi_record_read(value, n, &store_a, &key, &record, &err), DG_CORRUPT, &err,
		     "its key says 3");
}

static void a_record_cut_short_is_refused(void **state)
{
	const struct dgi_key key = { .kind = DGI_KIND_TENSOR, .tensor = 5 };
	uint8_t value[64];
	size_t n = make_record(value, &store_a, &key);
	struct dgi_record record;
	dg_error err = { 0 };

	(void)state;
	for (size_t cut = 0; cut < n; cut++)
		assert_int_equal(dgi_record_read(value, cut, &store_a, &key, &record, &err),
				 DG_CORRUPT);
}

static struct dgi_superblock example(void)
{
	return (struct dgi_superblock){
		.store_uuid = store_a,
		.cluster_uuid = store_b,
		.part = 4095,
		.n_parts = 4096,
		.format_read = 1,
		.format_write = 1,
		.compatible = 3,
		.read_only = 5,
		.incompatible = 7,
	};
}

static void a_superblock_comes_back_whole_and_may_be_longer(void **state)
{
	struct dgi_superblock s = example(), back;
	uint8_t data[DGI_SUPERBLOCK_BYTES + 8] = { 0 };
	dg_error err = { 0 };

	(void)state;
	dgi_superblock_encode(&s, data);
	memset(&back, 0, sizeof back);
	assert_ok(dgi_superblock_decode(data, DGI_SUPERBLOCK_BYTES, &back, &err), &err);
	assert_true(dgi_uuid_equal(&back.store_uuid, &store_a));
	assert_true(dgi_uuid_equal(&back.cluster_uuid, &store_b));
	assert_int_equal(back.part, 4095);
	assert_int_equal(back.incompatible, 7);
	assert_ok(dgi_superblock_decode(data, sizeof data, &back, &err), &err);
	for (size_t cut = 0; cut < DGI_SUPERBLOCK_BYTES; cut++)
		assert_int_equal(dgi_superblock_decode(data, cut, &back, &err), DG_CORRUPT);
}

static void a_superblock_out_of_its_limits_is_refused(void **state)
{
	struct dgi_superblock s = example(), back;
	uint8_t data[DGI_SUPERBLOCK_BYTES];
	dg_error err = { 0 };

	(void)state;
	s.part = 4096;
	dgi_superblock_encode(&s, data);
	assert_fails(dgi_superblock_decode(data, sizeof data, &back, &err), DG_CORRUPT, &err,
		     "part 4096 of 4096");
	s.n_parts = 4097;
	dgi_superblock_encode(&s, data);
	assert_fails(dgi_superblock_decode(data, sizeof data, &back, &err), DG_CORRUPT, &err,
		     "at most 4096");
	s = example();
	s.store_uuid = (dg_uuid){ { 0 } };
	dgi_superblock_encode(&s, data);
	assert_fails(dgi_superblock_decode(data, sizeof data, &back, &err), DG_CORRUPT, &err,
		     "UUID is zero");
	s = example();
	s.format_read = 2;
	dgi_superblock_encode(&s, data);
	assert_fails(dgi_superblock_decode(data, sizeof data, &back, &err), DG_CORRUPT, &err,
		     "format 2 to read, 1 to write");
}

static void versions_and_features_say_who_may_read_and_write(void **state)
{
	struct dgi_superblock s = example();
	dg_error err = { 0 };

	(void)state;
	s.compatible = UINT64_MAX;
	s.read_only = 0;
	s.incompatible = 0;
	assert_ok(dgi_superblock_check(&s, true, &err), &err);
	s.format_write = DGI_FORMAT_VERSION + 1;
	assert_ok(dgi_superblock_check(&s, false, &err), &err);
	assert_fails(dgi_superblock_check(&s, true, &err), DG_VERSION, &err, "writes up to");
	s.format_read = DGI_FORMAT_VERSION + 1;
	assert_fails(dgi_superblock_check(&s, false, &err), DG_VERSION, &err, "reads up to");
	s.format_read = s.format_write = DGI_FORMAT_VERSION;
	s.read_only = 0x10;
	assert_ok(dgi_superblock_check(&s, false, &err), &err);
	assert_fails(dgi_superblock_check(&s, true, &err), DG_VERSION, &err, "features 10 ");
	s.incompatible = 0x8000;
	assert_fails(dgi_superblock_check(&s, false, &err), DG_VERSION, &err, "features 8000 ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_sort_by_their_numbers_and_come_back),
		cmocka_unit_test(a_key_of_the_wrong_length_or_kind_is_refused),
		cmocka_unit_test(a_record_comes_back_whole),
		cmocka_unit_test(every_flipped_bit_of_a_record_is_noticed),
		cmocka_unit_test(a_record_in_the_wrong_place_is_noticed),
		cmocka_unit_test(a_record_cut_short_is_refused),
		cmocka_unit_test(a_superblock_comes_back_whole_and_may_be_longer),
		cmocka_unit_test(a_superblock_out_of_its_limits_is_refused),
		cmocka_unit_test(versions_and_features_say_who_may_read_and_write),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
