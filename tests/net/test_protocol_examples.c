/* The session in hex of docs/protocol.md is read out of it and decoded. */
#include "test.h"

#include "ids_message.h"
#include "message.h"
#include "outside.h"
#include "uuid.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *document;

struct example {
	struct dgi_frame frame;
	size_t n; /* of the body */
	_Alignas(64) uint8_t data[512];
	const uint8_t *body;
};

/* Appends the bytes of one line: an offset, then hex pairs. */
static const char *read_line(const char *at, uint8_t *data, size_t *n, size_t room)
{
	const char *end = strchr(at, '\n');

	assert_non_null(end);
	assert_int_equal(strtoul(at, NULL, 16), *n);
	at += strcspn(at, " ");
	while (at < end) {
		char *behind;

		if (*at == ' ') {
			at++;
			continue;
		}
		assert_true(isxdigit((unsigned char)*at) && *n < room);
		data[(*n)++] = (uint8_t)strtoul(at, &behind, 16);
		assert_int_equal(behind - at, 2);
		at = behind;
	}
	return end + 1;
}

/* Reads an example, whose header must be right and whose body must have the length it says. */
static struct example *find(const char *name)
{
	static struct example example;
	char fence[64];
	const char *at;
	size_t n = 0;
	dg_error err = { 0 };

	(void)snprintf(fence, sizeof fence, "```hex %s\n", name);
	at = strstr(document, fence);
	if (!at)
		fail_msg("no example '%s' in docs/protocol.md", name);
	at += strlen(fence);
	while (strncmp(at, "```", 3) != 0)
		at = read_line(at, example.data, &n, sizeof example.data);
	assert_ok(dgi_frame_decode(example.data, DGI_FRAME_BODY_BYTES_MAX, &example.frame, &err),
		  &err);
	example.n = n - DGI_FRAME_BYTES;
	example.body = example.data + DGI_FRAME_BYTES;
	assert_int_equal(example.frame.body_bytes, example.n);
	if (example.frame.status == DG_OK)
		assert_ok(dgi_message_check(&example.frame, &err), &err);
	return &example;
}

static const struct example *request(const char *name, uint16_t type, uint64_t id)
{
	const struct example *e = find(name);

	assert_int_equal(e->frame.type, type);
	assert_int_equal(e->frame.flags, 0);
	assert_int_equal(e->frame.request_id, id);
	assert_true(e->frame.deadline_ms > 0);
	return e;
}

static const struct example *reply(const char *name, uint16_t type, uint64_t id, dg_status status)
{
	const struct example *e = find(name);

	assert_int_equal(e->frame.type, type);
	assert_int_equal(e->frame.flags, DGI_FRAME_REPLY);
	assert_int_equal(e->frame.request_id, id);
	assert_int_equal(e->frame.status, status);
	return e;
}

static void expect_uuid(const dg_uuid *uuid, const char *wanted)
{
	char text[DG_UUID_TEXT_BYTES];

	dgi_uuid_text(uuid, text);
	assert_string_equal(text, wanted);
}

#define CLUSTER "9d2f7c1e-58b4-4e0a-8c3d-6b1f0a7e5d42"
#define SESSION "6ba7b810-9dad-41d1-80b4-00c04fd430c8"
#define STORE "3f2504e0-4f89-41d3-9a0c-0305e82c3301"

static void hands_are_shaken(void **state)
{
	const struct example *e = request("hello", DGI_HELLO, 1);
	struct dgi_hello hello;
	struct dgi_welcome welcome;
	dg_error err = { 0 };

	(void)state;
	assert_ok(dgi_hello_decode(e->body, e->n, &hello, &err), &err);
	assert_int_equal(hello.version_min, 1);
	assert_int_equal(hello.version_max, 1);
	assert_int_equal(hello.part, 1);
	expect_uuid(&hello.cluster_uuid, CLUSTER);
	assert_true(dgi_uuid_is_zero(&hello.store_uuid));
	expect_uuid(&hello.session_uuid, SESSION);
	assert_int_equal(hello.incarnation, 0);
	assert_int_equal(hello.durable, 0);

	e = reply("hello-reply", DGI_HELLO, 1, DG_OK);
	assert_ok(dgi_welcome_decode(e->body, e->n, &welcome, &err), &err);
	assert_int_equal(welcome.version, 1);
	assert_int_equal(welcome.part, 1);
	assert_int_equal(welcome.n_parts, 4);
	expect_uuid(&welcome.cluster_uuid, CLUSTER);
	expect_uuid(&welcome.store_uuid, STORE);
	assert_int_equal(welcome.incarnation, 3);
	assert_int_equal(welcome.pid, 4711);
	assert_int_equal(welcome.body_bytes_max, DGI_FRAME_BODY_BYTES_MAX);
	assert_int_equal(welcome.rows_max, DGI_ROWS_MAX);
	assert_int_equal(welcome.log_number, 40);
	assert_int_equal(e->frame.durable, 40);
	assert_int_equal(e->frame.credits, 16 << 20);
}

static void the_tensors_are_described(void **state)
{
	const struct example *e = request("describe", DGI_DESCRIBE, 2);
	struct dgi_described described;
	dg_tensor_info info;
	uint32_t first = 1;
	dg_error err = { 0 };

	(void)state;
	assert_ok(dgi_describe_decode(e->body, e->n, &first, &err), &err);
	assert_int_equal(first, 0);
	e = reply("describe-reply", DGI_DESCRIBE, 2, DG_OK);
	assert_ok(dgi_described_decode(e->body, e->n, &described, &err), &err);
	assert_int_equal(described.total, 1);
	assert_int_equal(described.n, 1);
	assert_ok(dgi_described_next(&described, &info, &err), &err);
	assert_int_equal(described.left, 0);
	assert_string_equal(info.name, "feat");
	assert_int_equal(info.id, 3);
	assert_int_equal(info.dtype, DG_FLOAT32);
	assert_int_equal(info.rank, 1);
	assert_int_equal(info.shape[0], 2);
	assert_int_equal(info.n_rows, 100);
}

static void rows_are_pulled(void **state)
{
	const struct example *e = request("pull", DGI_PULL, 4);
	const float wanted[] = { 0.5F, -1, 3, 4 };
	struct dgi_pull pull;
	struct dgi_pulled pulled;
	dg_error err = { 0 };

	(void)state;
	assert_ok(dgi_pull_decode(e->body, e->n, &pull, &err), &err);
	assert_int_equal(pull.tensor, 3);
	assert_int_equal(pull.n, 2);
	assert_int_equal(pull.rows[0], 107);
	assert_int_equal(pull.rows[1], 100);
	assert_int_equal(pull.after, 1);
	e = reply("pull-reply", DGI_PULL, 4, DG_OK);
	assert_ok(dgi_pulled_decode(e->body, e->n, &pulled, &err), &err);
	assert_int_equal(pulled.row_bytes, 8);
	assert_int_equal(pulled.log_number, 41);
	assert_int_equal(e->frame.durable, 40);
	assert_memory_equal(e->body + DGI_PREFIX_BYTES, wanted, sizeof wanted);
}

static void a_row_is_pushed(void **state)
{
	const struct example *e = request("push", DGI_PUSH, 3);
	const float wanted[] = { 0.5F, -1 };
	struct dgi_push push;
	struct dgi_pushed pushed;
	dg_error err = { 0 };

	(void)state;
	assert_ok(dgi_push_decode(e->body, e->n, &push, &err), &err);
	assert_int_equal(push.tensor, 3);
	assert_int_equal(push.operation, DG_OP_ASSIGN);
	assert_int_equal(push.flags, 0);
	assert_int_equal(push.number, 1);
	assert_int_equal(push.previous, 0);
	assert_int_equal(push.floor, 1);
	assert_int_equal(push.n, 1);
	assert_int_equal(push.rows[0], 107);
	assert_memory_equal(push.data, wanted, sizeof wanted);
	e = reply("push-reply", DGI_PUSH, 3, DG_OK);
	assert_ok(dgi_pushed_decode(e->body, e->n, &pushed, &err), &err);
	assert_int_equal(pushed.log_number, 41);
	assert_false(pushed.repeat);
	assert_int_equal(e->frame.durable, 41);
}

static void a_run_is_filled_and_a_rule_is_applied(void **state)
{
	const struct example *e = request("fill", DGI_PUSH, 7);
	const float zeros[] = { 0, 0 }, gradient[] = { 0.25F, 0.75F };
	struct dgi_push push;
	dg_error err = { 0 };

	(void)state;
	assert_ok(dgi_push_decode(e->body, e->n, &push, &err), &err);
	assert_int_equal(push.operation, DG_OP_MULTIPLY);
	assert_int_equal(push.flags, DGI_PUSH_FILL);
	assert_int_equal(push.number, 2);
	assert_int_equal(push.previous, 1);
	assert_int_equal(push.floor, 2);
	assert_int_equal(push.rows[0], 150);
	assert_int_equal(push.rows[1], 50);
	assert_memory_equal(push.data, zeros, sizeof zeros);
	e = request("step", DGI_PUSH, 8);
	assert_ok(dgi_push_decode(e->body, e->n, &push, &err), &err);
	assert_int_equal(push.operation, DGI_PUSH_STEP);
	assert_int_equal(push.rule, 1);
	assert_int_equal(push.parameters_bytes, 4);
	assert_int_equal(push.number, 3);
	assert_int_equal(push.previous, 2);
	assert_int_equal(push.floor, 2);
	assert_memory_equal(push.parameters, &(float){ 0.5F }, 4);
	assert_memory_equal(push.data, gradient, sizeof gradient);
}

static void a_session_is_closed(void **state)
{
	const struct example *e = request("session", DGI_SESSION, 9);
	struct dgi_session_end end;
	dg_error err = { 0 };

	(void)state;
	assert_ok(dgi_session_end_decode(e->body, e->n, &end, &err), &err);
	assert_int_equal(end.operation, DGI_SESSION_CLOSE);
	expect_uuid(&end.session_uuid, SESSION);
	assert_int_equal(reply("session-reply", DGI_SESSION, 9, DG_OK)->n, 0);
}

static void nodes_are_looked_up_and_named(void **state)
{
	const struct example *e = request("ids-lookup", DGI_IDS, 10);
	const uint64_t hash = dgi_outside_hash_string("ada", 3, 0);
	struct dgi_ids_request asked;
	struct dgi_ids_answer answer;
	dg_error err = { 0 };

	(void)state;
	assert_ok(dgi_ids_request_decode(e->body, e->n, &asked, &err), &err);
	assert_int_equal(asked.type, 0);
	assert_int_equal(asked.operation, DGI_IDS_LOOKUP);
	assert_int_equal(asked.n, 1);
	assert_true((uint64_t)asked.numbers[0] == hash && hash == 0x691d4463952c802f);
	assert_int_equal(dgi_outside_cut(hash, 4), 1);
	e = reply("ids-lookup-reply", DGI_IDS, 10, DG_OK);
	assert_ok(dgi_ids_answer_decode(e->body, e->n, &answer, &err), &err);
	assert_int_equal(answer.form, DG_OUTSIDE_STRINGS);
	assert_false(answer.strings);
	assert_int_equal(answer.n, 1);
	assert_int_equal(answer.numbers[0], 150);
	dgi_ids_answer_clear(&answer);
	e = request("ids-outside", DGI_IDS, 11);
	assert_ok(dgi_ids_request_decode(e->body, e->n, &asked, &err), &err);
	assert_int_equal(asked.operation, DGI_IDS_OUTSIDE);
	assert_int_equal(asked.n, 2);
	assert_int_equal(asked.numbers[1], 151);
	e = reply("ids-outside-reply", DGI_IDS, 11, DG_OK);
	assert_ok(dgi_ids_answer_decode(e->body, e->n, &answer, &err), &err);
	assert_true(answer.strings);
	assert_int_equal(answer.n, 2);
	assert_int_equal(answer.numbers[1], 3);
	assert_int_equal(answer.text_bytes, 7);
	assert_memory_equal(answer.text, "adazo\xc3\xab", 7);
	dgi_ids_answer_clear(&answer);
}

static void errors_say_what_is_wrong(void **state)
{
	const struct example *e = reply("error-reply", DGI_PULL, 5, DG_RANGE);
	dg_error err = { 0 };

	(void)state;
	assert_int_equal(dgi_error_decode(&e->frame, e->body, e->n, &err), DG_RANGE);
	assert_string_equal(err.text,
			    "tensor 'feat': row 99 is not of part 1, which has [100, 200)");
	assert_int_equal(request("ping", DGI_PING, 6)->n, 0);
	e = reply("refusal", DGI_HELLO, 0, DG_BUSY);
	assert_int_equal(dgi_error_decode(&e->frame, e->body, e->n, &err), DG_BUSY);
	assert_string_equal(err.text, "the server has its fill of 10000 connections");
}

static int load_document(void **state)
{
	FILE *f = fopen(PROTOCOL_MD, "r");
	size_t n;

	(void)state;
	document = calloc(1, 1 << 20);
	if (!f || !document)
		return -1;
	n = fread(document, 1, (1 << 20) - 1, f);
	(void)fclose(f);
	return n > 0 ? 0 : -1;
}

static int free_document(void **state)
{
	(void)state;
	free(document);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hands_are_shaken),
		cmocka_unit_test(the_tensors_are_described),
		cmocka_unit_test(rows_are_pulled),
		cmocka_unit_test(a_row_is_pushed),
		cmocka_unit_test(a_run_is_filled_and_a_rule_is_applied),
		cmocka_unit_test(a_session_is_closed),
		cmocka_unit_test(nodes_are_looked_up_and_named),
		cmocka_unit_test(errors_say_what_is_wrong),
	};

	return cmocka_run_group_tests(tests, load_document, free_document);
}
