/* What net/message.c promises: each body comes back whole, and is refused cut or beyond a limit. */
#include "test.h"

#include "bytes.h"
#include "message.h"
#include "tensor_info.h"

#include <stdlib.h>
#include <string.h>

/* Decodes one kind of body; what it decodes to does not matter. */
typedef dg_status decode_fn(const void *body, size_t n);

/* @body of @n bytes is taken, and refused with any number of bytes less or one more. */
static void expect_only_whole(decode_fn *decode, const uint8_t *body, size_t n)
{
	_Alignas(8) uint8_t room[1024] = { 0 };

	assert_true(n < sizeof room);
	memcpy(room, body, n);
	assert_int_equal(decode(room, n), DG_OK);
	for (size_t cut = 0; cut < n; cut++)
		assert_int_equal(decode(room, cut), DG_PROTO);
	assert_int_equal(decode(room, n + 1), DG_PROTO);
}

static dg_status decode_hello(const void *body, size_t n)
{
	struct dgi_hello out;

	return dgi_hello_decode(body, n, &out, NULL);
}

static void a_hello_comes_back_whole(void **state)
{
	struct dgi_hello
		hello = { 1, 3, -1, 0x80, { { 1, 2 } }, { { 3, 4 } }, { { 5, 6 } }, 7, 8, 9 },
		back;
	uint8_t body[DGI_HELLO_BYTES];
	dg_error err = { 0 };

	(void)state;
	dgi_hello_encode(&hello, body);
	assert_ok(dgi_hello_decode(body, sizeof body, &back, &err), &err);
	assert_int_equal(back.version_min, 1);
	assert_int_equal(back.version_max, 3);
	assert_int_equal(back.part, -1);
	assert_int_equal(back.capabilities, 0x80);
	assert_memory_equal(&back.cluster_uuid, &hello.cluster_uuid, 16);
	assert_memory_equal(&back.store_uuid, &hello.store_uuid, 16);
	assert_memory_equal(&back.session_uuid, &hello.session_uuid, 16);
	assert_int_equal(back.incarnation, 7);
	assert_int_equal(back.durable, 8);
	assert_int_equal(back.attempt, 9);
	expect_only_whole(decode_hello, body, sizeof body);
	hello.version_min = 4;
	dgi_hello_encode(&hello, body);
	assert_fails(dgi_hello_decode(body, sizeof body, &back, &err), DG_PROTO, &err,
		     "versions 4 to 3");
	hello.version_min = 1;
	hello.part = -2;
	dgi_hello_encode(&hello, body);
	assert_fails(dgi_hello_decode(body, sizeof body, &back, &err), DG_PROTO, &err, "part -2");
}

static dg_status decode_welcome(const void *body, size_t n)
{
	struct dgi_welcome out;

	return dgi_welcome_decode(body, n, &out, NULL);
}

static void a_welcome_comes_back_whole(void **state)
{
	struct dgi_welcome welcome = { 1, 2, 3, 4, { { 5 } }, { { 6 } }, 7, 8, 9, 10, 11 }, back;
	uint8_t body[DGI_WELCOME_BYTES];
	dg_error err = { 0 };

	(void)state;
	dgi_welcome_encode(&welcome, body);
	assert_ok(dgi_welcome_decode(body, sizeof body, &back, &err), &err);
	assert_int_equal(back.version, 1);
	assert_int_equal(back.part, 2);
	assert_int_equal(back.n_parts, 3);
	assert_int_equal(back.capabilities, 4);
	assert_int_equal(back.log_number, 11);
	assert_int_equal(back.cluster_uuid.bytes[0], 5);
	assert_int_equal(back.store_uuid.bytes[0], 6);
	assert_int_equal(back.incarnation, 7);
	assert_int_equal(back.pid, 8);
	assert_int_equal(back.body_bytes_max, 9);
	assert_int_equal(back.rows_max, 10);
	expect_only_whole(decode_welcome, body, sizeof body);
	welcome.part = 3;
	dgi_welcome_encode(&welcome, body);
	assert_fails(dgi_welcome_decode(body, sizeof body, &back, &err), DG_PROTO, &err,
		     "part 3 of 3");
	welcome.n_parts = DG_PARTS_MAX + 1;
	dgi_welcome_encode(&welcome, body);
	assert_int_equal(decode_welcome(body, sizeof body), DG_PROTO);
}

static dg_status decode_status(const void *body, size_t n)
{
	dg_server_status out = { 0 };

	return dgi_status_decode(body, n, &out, NULL);
}

static void a_server_status_comes_back_whole(void **state)
{
	dg_server_status status = { .store = { .store_uuid = { { 1 } },
					       .cluster_uuid = { { 2 } },
					       .part = 3,
					       .n_parts = 4,
					       .incarnation = 5,
					       .log_number = 6,
					       .file_bytes = 7,
					       .format_read = 8,
					       .format_write = 9 },
				    .pid = 10,
				    .uptime_ms = 11,
				    .connections = 12,
				    .pulls = 13,
				    .pushes = 14,
				    .rows_pulled = 15,
				    .rows_pushed = 16 };
	dg_server_status back = { .address = "mine", .round_trip_ms = 2 };
	uint8_t body[DGI_STATUS_BYTES];
	dg_error err = { 0 };

	(void)state;
	dgi_status_encode(&status, body);
	assert_ok(dgi_status_decode(body, sizeof body, &back, &err), &err);
	assert_string_equal(back.address, "mine");
	memset(back.address, 0, sizeof back.address);
	back.round_trip_ms = 0;
	assert_int_equal(back.store.format_read, 8);
	assert_int_equal(back.store.format_write, 9);
	assert_int_equal(back.store.log_number, 6);
	assert_int_equal(back.rows_pushed, 16);
	assert_int_equal(back.uptime_ms, 11);
	expect_only_whole(decode_status, body, sizeof body);
}

static dg_tensor_info tensor(uint32_t id, size_t name_bytes)
{
	dg_tensor_info info = {
		.id = id, .dtype = DG_FLOAT32, .row_bytes = 4, .chunk_rows = 1, .chunk_pages = 1
	};

	memset(info.name, 'n', name_bytes);
	return info;
}

static void tensors_are_described_in_pieces(void **state)
{
	enum { N = 5 };
	dg_tensor_info infos[N], back;
	uint8_t body[200];
	uint32_t first = 0;
	unsigned pieces = 0;
	dg_error err = { 0 };

	(void)state;
	for (uint32_t i = 0; i < N; i++)
		infos[i] = tensor(i + 1, 40);
	while (first < N) {
		struct dgi_described described;
		size_t n = dgi_described_encode(infos, N, first, body, sizeof body);

		assert_true(n <= sizeof body);
		assert_ok(dgi_described_decode(body, n, &described, &err), &err);
		assert_int_equal(described.total, N);
		assert_int_equal(described.n, first < 4 ? 2 : 1); /* 8 + 2 × 74 bytes fit */
		for (uint32_t i = 0; i < described.n; i++) {
			assert_ok(dgi_described_next(&described, &back, &err), &err);
			assert_int_equal(back.id, ++first);
		}
		assert_int_equal(described.left, 0);
		assert_int_equal(dgi_described_next(&described, &back, &err), DG_PROTO);
		pieces++;
	}
	assert_int_equal(pieces, 3);
	assert_int_equal(dgi_described_encode(infos, N, N, body, sizeof body), 8);
}

static void a_list_of_tensors_that_cannot_be_is_refused(void **state)
{
	struct dgi_described described;
	uint8_t body[8];
	dg_error err = { 0 };

	(void)state;
	dgi_put_u32(body, DG_TENSORS_MAX);
	dgi_put_u32(body + 4, DG_TENSORS_MAX);
	assert_ok(dgi_described_decode(body, 8, &described, &err), &err);
	assert_int_equal(dgi_described_decode(body, 7, &described, &err), DG_PROTO);
	dgi_put_u32(body, DG_TENSORS_MAX + 1);
	assert_int_equal(dgi_described_decode(body, 8, &described, &err), DG_PROTO);
	dgi_put_u32(body, 1);
	dgi_put_u32(body + 4, 2);
	assert_fails(dgi_described_decode(body, 8, &described, &err), DG_PROTO, &err,
		     "2 tensors of 1");
}

static dg_status decode_describe(const void *body, size_t n)
{
	uint32_t first;

	return dgi_describe_decode(body, n, &first, NULL);
}

static dg_status decode_pull(const void *body, size_t n)
{
	struct dgi_pull out;

	return dgi_pull_decode(body, n, &out, NULL);
}

static void a_pull_comes_back_whole(void **state)
{
	dg_id rows[3] = { 5, -1, INT64_MAX };
	_Alignas(8) uint8_t body[DGI_PREFIX_BYTES + sizeof rows];
	uint8_t describe[DGI_DESCRIBE_BYTES];
	struct dgi_pull back;
	uint32_t first;
	dg_error err = { 0 };

	(void)state;
	dgi_pull_encode(&(struct dgi_pull){ .tensor = 77, .n = 3, .after = 12 }, body);
	memcpy(body + DGI_PREFIX_BYTES, rows, sizeof rows);
	assert_ok(dgi_pull_decode(body, sizeof body, &back, &err), &err);
	assert_int_equal(back.tensor, 77);
	assert_int_equal(back.n, 3);
	assert_int_equal(back.after, 12);
	assert_memory_equal(back.rows, rows, sizeof rows);
	expect_only_whole(decode_pull, body, sizeof body);
	dgi_describe_encode(9, describe);
	assert_ok(dgi_describe_decode(describe, sizeof describe, &first, &err), &err);
	assert_int_equal(first, 9);
	expect_only_whole(decode_describe, describe, sizeof describe);
}

static dg_status decode_push(const void *body, size_t n)
{
	struct dgi_push out;

	return dgi_push_decode(body, n, &out, NULL);
}

static void a_push_comes_back_whole_with_its_rows_aligned(void **state)
{
	(void)state;
	for (size_t n = 0; n < 20; n++) {
		struct dgi_push push = { .tensor = 7, .operation = 1, .row_bytes = 3, .n = n };
		_Alignas(64) uint8_t body[512] = { 0 };
		size_t bytes = (size_t)dgi_push_bytes(&push);
		struct dgi_push back;
		dg_error err = { 0 };

		dgi_push_encode(&push, body);
		for (size_t i = 0; i < n; i++)
			dgi_put_u64(body + DGI_PREFIX_BYTES + 8 * i, i * 1000);
		memset(body + dgi_push_data_at(n, 0), 0xee, 3 * n);
		assert_ok(dgi_push_decode(body, bytes, &back, &err), &err);
		assert_int_equal(back.tensor, 7);
		assert_int_equal(back.operation, 1);
		assert_int_equal(back.row_bytes, 3);
		assert_int_equal(back.n, n);
		assert_int_equal((uintptr_t)back.data % 64, 0);
		for (size_t i = 0; i < n; i++) {
			assert_int_equal(back.rows[i], i * 1000);
			assert_int_equal(((const uint8_t *)back.data)[3 * i + 2], 0xee);
		}
		expect_only_whole(decode_push, body, bytes);
	}
}

static void rows_of_a_request_have_a_largest_number(void **state)
{
	struct dgi_push push = { .operation = 1, .row_bytes = 1, .n = DGI_ROWS_MAX }, back;
	size_t bytes = (size_t)dgi_push_bytes(&push);
	uint8_t *body = aligned_alloc(64, bytes + 128);
	struct dgi_pulled pulled = { .row_bytes = 4, .n = DGI_ROWS_MAX };
	struct dgi_pull pull;
	uint8_t prefix[DGI_PREFIX_BYTES];
	dg_error err = { 0 };

	(void)state;
	memset(body, 0, bytes + 128);
	dgi_push_encode(&push, body);
	assert_ok(dgi_push_decode(body, bytes, &back, &err), &err);
	dgi_pull_encode(&(struct dgi_pull){ .tensor = 1, .n = DGI_ROWS_MAX }, body);
	assert_ok(dgi_pull_decode(body, 64 + 8 * (size_t)DGI_ROWS_MAX, &pull, &err), &err);
	dgi_pulled_encode(&pulled, prefix);
	assert_ok(dgi_pulled_decode(prefix, 64 + 4 * (size_t)DGI_ROWS_MAX, &pulled, &err), &err);

	push.n = DGI_ROWS_MAX + 1;
	dgi_push_encode(&push, body);
	assert_fails(dgi_push_decode(body, bytes + 9, &back, &err), DG_PROTO, &err,
		     "push: 4194305 rows, at most 4194304");
	dgi_pull_encode(&(struct dgi_pull){ .tensor = 1, .n = DGI_ROWS_MAX + 1 }, body);
	assert_int_equal(dgi_pull_decode(body, 64 + 8 * ((size_t)DGI_ROWS_MAX + 1), &pull, &err),
			 DG_PROTO);
	pulled.n = DGI_ROWS_MAX + 1;
	dgi_pulled_encode(&pulled, prefix);
	assert_int_equal(dgi_pulled_decode(prefix, 64, &pulled, &err), DG_PROTO);
	assert_true(dgi_push_bytes(&push) == UINT64_MAX);
	assert_true(dgi_pulled_bytes(SIZE_MAX, UINT32_MAX) == UINT64_MAX);
	free(body);
}

/* One push of each kind, its parameters and one operand behind it. */
static size_t encode_push(const struct dgi_push *push, uint8_t body[512])
{
	size_t bytes = (size_t)dgi_push_bytes(push);

	assert_true(bytes <= 512);
	memset(body, 0, 512);
	dgi_push_encode(push, body);
	return bytes;
}

static void every_kind_of_push_comes_back_whole(void **state)
{
	const struct dgi_push pushes[] = {
		{ .operation = DG_OP_ADD, .row_bytes = 4, .n = 3 },
		{ .operation = DG_OP_MULTIPLY, .flags = DGI_PUSH_FILL, .row_bytes = 4, .n = 2 },
		{ .operation = DGI_PUSH_STEP,
		  .rule = 9,
		  .parameters_bytes = 256,
		  .row_bytes = 4,
		  .n = 1 },
		{ .operation = DG_OP_MIN,
		  .flags = DGI_PUSH_WAIT_DURABLE,
		  .row_bytes = 4,
		  .n = 1,
		  .number = 100,
		  .previous = 102,
		  .floor = 37 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof pushes / sizeof *pushes; i++) {
		_Alignas(64) uint8_t body[512];
		size_t bytes = encode_push(&pushes[i], body);
		struct dgi_push back;
		dg_error err = { 0 };

		assert_ok(dgi_push_decode(body, bytes, &back, &err), &err);
		assert_int_equal(back.operation, pushes[i].operation);
		assert_int_equal(back.rule, pushes[i].rule);
		assert_int_equal(back.flags, pushes[i].flags);
		assert_int_equal(back.parameters_bytes, pushes[i].parameters_bytes);
		assert_int_equal(back.number, pushes[i].number);
		assert_int_equal(back.previous, pushes[i].previous);
		assert_int_equal(back.floor, pushes[i].floor);
		assert_ptr_equal(back.parameters, body + DGI_PREFIX_BYTES + 8 * back.n);
		expect_only_whole(decode_push, body, bytes);
	}
}

static void expect_push_refused(struct dgi_push push, dg_status wanted, const char *text)
{
	_Alignas(64) uint8_t body[512];
	size_t bytes = encode_push(&push, body);
	struct dgi_push back;
	dg_error err = { 0 };

	assert_fails(dgi_push_decode(body, bytes, &back, &err), wanted, &err, text);
}

static void a_push_that_contradicts_itself_is_refused(void **state)
{
	const struct dgi_push good = {
		.operation = 1, .row_bytes = 4, .n = 1, .number = 65, .floor = 2
	};
	struct dgi_push push = good;

	(void)state;
	push.operation = 6;
	expect_push_refused(push, DG_UNSUPPORTED, "operation 6");
	push = good;
	push.flags = 4;
	expect_push_refused(push, DG_UNSUPPORTED, "flags 4");
	push = good;
	push.operation = DGI_PUSH_STEP;
	expect_push_refused(push, DG_PROTO, "operation 0 with rule 0");
	push = good;
	push.rule = 1;
	expect_push_refused(push, DG_PROTO, "operation 1 with rule 1");
	push = good;
	push.parameters_bytes = 8;
	expect_push_refused(push, DG_PROTO, "8 bytes of parameters");
	push = (struct dgi_push){ .rule = 1, .parameters_bytes = 257, .row_bytes = 1, .n = 1 };
	expect_push_refused(push, DG_PROTO, "257 bytes of parameters");
	push = (struct dgi_push){ .rule = 1, .flags = DGI_PUSH_FILL, .row_bytes = 1, .n = 2 };
	expect_push_refused(push, DG_PROTO, "flags 1");
	push = good;
	push.flags = DGI_PUSH_FILL;
	expect_push_refused(push, DG_PROTO, "a fill with 1 row numbers");
	push = good;
	push.floor = 1; /* 64 apart */
	expect_push_refused(push, DG_PROTO, "they may lie 64 apart");
	push.floor = 0;
	expect_push_refused(push, DG_PROTO, "they may lie 64 apart");
	push.floor = 66;
	expect_push_refused(push, DG_PROTO, "they may lie 64 apart");
	push.number = 0;
	push.floor = 1;
	expect_push_refused(push, DG_PROTO, "number 0");
	push.number = push.floor = UINT64_MAX - 63;
	expect_push_refused(push, DG_PROTO, "number 18446744073709551552");
}

static dg_status decode_session(const void *body, size_t n)
{
	struct dgi_session_end out;

	return dgi_session_end_decode(body, n, &out, NULL);
}

static void the_end_of_a_session_comes_back_whole(void **state)
{
	struct dgi_session_end end = { DGI_SESSION_EXPIRE, { { 9, 8 } } }, back;
	uint8_t body[DGI_SESSION_BYTES];
	dg_error err = { 0 };

	(void)state;
	dgi_session_end_encode(&end, body);
	assert_ok(dgi_session_end_decode(body, sizeof body, &back, &err), &err);
	assert_int_equal(back.operation, DGI_SESSION_EXPIRE);
	assert_memory_equal(&back.session_uuid, &end.session_uuid, 16);
	expect_only_whole(decode_session, body, sizeof body);
	end.operation = 3;
	dgi_session_end_encode(&end, body);
	assert_fails(dgi_session_end_decode(body, sizeof body, &back, &err), DG_UNSUPPORTED, &err,
		     "unknown operation 3");
}

static dg_status decode_pushed(const void *body, size_t n)
{
	struct dgi_pushed out;

	return dgi_pushed_decode(body, n, &out, NULL);
}

static dg_status decode_pulled(const void *body, size_t n)
{
	struct dgi_pulled out;

	return dgi_pulled_decode(body, n, &out, NULL);
}

static void answers_about_rows_come_back_whole(void **state)
{
	struct dgi_pulled pulled = { .row_bytes = 5, .n = 4, .log_number = 99 }, pulled_back;
	struct dgi_pushed pushed = { 8, true }, pushed_back;
	uint8_t body[DGI_PREFIX_BYTES + 20] = { 0 };
	dg_error err = { 0 };

	(void)state;
	dgi_pulled_encode(&pulled, body);
	assert_ok(dgi_pulled_decode(body, sizeof body, &pulled_back, &err), &err);
	assert_int_equal(pulled_back.row_bytes, 5);
	assert_int_equal(pulled_back.n, 4);
	assert_int_equal(pulled_back.log_number, 99);
	expect_only_whole(decode_pulled, body, sizeof body);
	dgi_pushed_encode(&pushed, body);
	assert_ok(dgi_pushed_decode(body, DGI_PUSHED_BYTES, &pushed_back, &err), &err);
	assert_int_equal(pushed_back.log_number, 8);
	assert_true(pushed_back.repeat);
	expect_only_whole(decode_pushed, body, DGI_PUSHED_BYTES);
}

static void each_type_has_smallest_and_largest_bodies(void **state)
{
	static const struct {
		uint16_t type, flags;
		uint64_t least, most;
	} sizes[] = {
		{ DGI_HELLO, 0, 128, 128 },
		{ DGI_HELLO, 1, 128, 128 },
		{ DGI_PING, 0, 0, 0 },
		{ DGI_PING, 1, 128, 128 },
		{ DGI_DESCRIBE, 0, 8, 8 },
		{ DGI_DESCRIBE, 1, 8, 1 << 20 },
		{ DGI_PULL, 0, 64, 64 + (32 << 20) },
		{ DGI_PULL, 1, 64, 64 << 20 },
		{ DGI_PUSH, 0, 64, 64 << 20 },
		{ DGI_PUSH, 1, 16, 16 },
		{ DGI_SESSION, 0, 32, 32 },
		{ DGI_SESSION, 1, 0, 0 },
		{ DGI_IDS, 0, 64, 64 + 8 * 4096 },
		{ DGI_IDS, 1, 64, DGI_FRAME_BODY_BYTES_MAX },
		{ DGI_JOIN, 0, 64, 4096 },
		{ DGI_JOIN, 1, 10, 4096 },
		{ DGI_BEAT, 0, 64, 4096 },
		{ DGI_BARRIER, 0, 64, 4096 },
		{ DGI_LEAVE, 0, 64, 4096 },
	};
	struct dgi_frame frame = { .type = 12 };
	dg_error err = { 0 };

	(void)state;
	assert_fails(dgi_message_check(&frame, &err), DG_UNSUPPORTED, &err, "type 12: unknown");
	frame.type = 0;
	assert_int_equal(dgi_message_check(&frame, &err), DG_UNSUPPORTED);
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		frame = (struct dgi_frame){ .type = sizes[i].type, .flags = sizes[i].flags };
		frame.body_bytes = sizes[i].least;
		assert_ok(dgi_message_check(&frame, &err), &err);
		frame.body_bytes = sizes[i].most;
		assert_ok(dgi_message_check(&frame, &err), &err);
		frame.body_bytes = sizes[i].most + 1;
		assert_int_equal(dgi_message_check(&frame, &err), DG_PROTO);
		frame.body_bytes = sizes[i].least - 1;
		if (sizes[i].least)
			assert_int_equal(dgi_message_check(&frame, &err), DG_PROTO);
	}
	assert_string_equal(dgi_message_name(DGI_DESCRIBE), "describe");
	assert_string_equal(dgi_message_name(1000), "?");
}

static void an_error_comes_back_with_its_text(void **state)
{
	struct dgi_frame frame = { .flags = 1, .status = DG_RANGE };
	char text[1000];
	dg_error err = { 0 };

	(void)state;
	assert_int_equal(dgi_error_decode(&frame, "row 7\nis bad", 12, &err), DG_RANGE);
	assert_string_equal(err.text, "row 7?is bad"); /* one line, whatever was sent */
	assert_int_equal(err.status, DG_RANGE);
	assert_int_equal(dgi_error_decode(&frame, NULL, 0, &err), DG_RANGE);
	assert_string_equal(err.text, "out of range");
	memset(text, 'x', sizeof text);
	assert_int_equal(dgi_error_decode(&frame, text, sizeof text, &err), DG_RANGE);
	assert_int_equal(strlen(err.text), DG_ERROR_TEXT_BYTES - 1);
	frame.status = 999; /* of a later version */
	assert_int_equal(dgi_error_decode(&frame, "x", 1, &err), DG_INVALID);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_hello_comes_back_whole),
		cmocka_unit_test(a_welcome_comes_back_whole),
		cmocka_unit_test(a_server_status_comes_back_whole),
		cmocka_unit_test(tensors_are_described_in_pieces),
		cmocka_unit_test(a_list_of_tensors_that_cannot_be_is_refused),
		cmocka_unit_test(a_pull_comes_back_whole),
		cmocka_unit_test(a_push_comes_back_whole_with_its_rows_aligned),
		cmocka_unit_test(rows_of_a_request_have_a_largest_number),
		cmocka_unit_test(every_kind_of_push_comes_back_whole),
		cmocka_unit_test(a_push_that_contradicts_itself_is_refused),
		cmocka_unit_test(the_end_of_a_session_comes_back_whole),
		cmocka_unit_test(answers_about_rows_come_back_whole),
		cmocka_unit_test(each_type_has_smallest_and_largest_bodies),
		cmocka_unit_test(an_error_comes_back_with_its_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
