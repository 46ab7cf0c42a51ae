/* What net/frame.c promises. */
#include "test.h"

#include "frame.h"

#include <string.h>

static const struct dgi_frame pull = { .version = 1,
				       .type = 4,
				       .deadline_ms = 30000,
				       .request_id = 0x1122334455667788,
				       .body_bytes = 12345 };

static void a_header_comes_back_whole(void **state)
{
	struct dgi_frame reply = pull, back;
	uint8_t bytes[DGI_FRAME_BYTES];
	dg_error err = { 0 };

	(void)state;
	reply.flags = DGI_FRAME_REPLY;
	reply.status = DG_RANGE;
	reply.durable = 0x8877665544332211;
	reply.credits = 0x10203040;
	dgi_frame_encode(&reply, bytes);
	memset(&back, 0, sizeof back);
	assert_ok(dgi_frame_decode(bytes, 12345, &back, &err), &err);
	assert_memory_equal(&back, &reply, sizeof back);
}

static void a_bit_flipped_anywhere_is_noticed(void **state)
{
	uint8_t bytes[DGI_FRAME_BYTES];
	struct dgi_frame back;

	(void)state;
	dgi_frame_encode(&pull, bytes);
	for (size_t bit = 0; bit < 8 * sizeof bytes; bit++) {
		bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_int_equal(dgi_frame_decode(bytes, UINT64_MAX, &back, NULL), DG_PROTO);
		bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	assert_int_equal(dgi_frame_decode(bytes, UINT64_MAX, &back, NULL), DG_OK);
}

static void a_body_has_a_largest_size(void **state)
{
	uint8_t bytes[DGI_FRAME_BYTES];
	struct dgi_frame back;
	dg_error err = { 0 };

	(void)state;
	dgi_frame_encode(&pull, bytes);
	assert_ok(dgi_frame_decode(bytes, 12346, &back, &err), &err);
	assert_ok(dgi_frame_decode(bytes, 12345, &back, &err), &err);
	assert_fails(dgi_frame_decode(bytes, 12344, &back, &err), DG_PROTO, &err,
		     "body of 12345 bytes, at most 12344");
}

static void what_is_reserved_must_not_be_used(void **state)
{
	struct dgi_frame frame = pull, back;
	uint8_t bytes[DGI_FRAME_BYTES];
	dg_error err = { 0 };

	(void)state;
	frame.flags = 2;
	dgi_frame_encode(&frame, bytes);
	assert_fails(dgi_frame_decode(bytes, 99999, &back, &err), DG_PROTO, &err, "flags 2");
	frame.flags = 0;
	frame.status = 1;
	dgi_frame_encode(&frame, bytes);
	assert_fails(dgi_frame_decode(bytes, 99999, &back, &err), DG_PROTO, &err,
		     "request with status 1");
	frame.status = 0;
	frame.durable = 5;
	dgi_frame_encode(&frame, bytes);
	assert_fails(dgi_frame_decode(bytes, 99999, &back, &err), DG_PROTO, &err,
		     "request with status 0, durable 5, credits 0");
	frame.durable = 0;
	frame.credits = 1;
	dgi_frame_encode(&frame, bytes);
	assert_fails(dgi_frame_decode(bytes, 99999, &back, &err), DG_PROTO, &err, "credits 1");
	frame.credits = 0;
	frame.version = 2;
	dgi_frame_encode(&frame, bytes);
	assert_fails(dgi_frame_decode(bytes, 99999, &back, &err), DG_VERSION, &err,
		     "version 2, want 1");
}

static void other_protocols_are_told_apart(void **state)
{
	uint8_t bytes[DGI_FRAME_BYTES] = "GET / HTTP/1.1";
	struct dgi_frame back;
	dg_error err = { 0 };

	(void)state;
	assert_fails(dgi_frame_decode(bytes, 99999, &back, &err), DG_PROTO, &err,
		     "begins with 20544547, want 31464744");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_header_comes_back_whole),
		cmocka_unit_test(a_bit_flipped_anywhere_is_noticed),
		cmocka_unit_test(a_body_has_a_largest_size),
		cmocka_unit_test(what_is_reserved_must_not_be_used),
		cmocka_unit_test(other_protocols_are_told_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
