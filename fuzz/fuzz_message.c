/*
 * Any body of any type: decode or refuse, never read beyond it; what decodes encodes to the same
 * fields. The first byte chooses the type and whether it is a reply.
 */
#include "ids_message.h"
#include "message.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static volatile uint8_t seen; /* so that reading is not optimised away */

static void expect(bool condition)
{
	if (!condition)
		abort();
}

static void fuzz_hello(const void *body, size_t n)
{
	uint8_t again[DGI_HELLO_BYTES];
	struct dgi_hello hello;

	if (dgi_hello_decode(body, n, &hello, NULL) != DG_OK)
		return;
	dgi_hello_encode(&hello, again);
	expect(memcmp(again, body, 80) == 0);
}

static void fuzz_welcome(const void *body, size_t n)
{
	uint8_t again[DGI_WELCOME_BYTES];
	struct dgi_welcome welcome;

	if (dgi_welcome_decode(body, n, &welcome, NULL) != DG_OK)
		return;
	dgi_welcome_encode(&welcome, again);
	expect(memcmp(again + 16, (const uint8_t *)body + 16, 80) == 0);
}

static void fuzz_status(const void *body, size_t n)
{
	static dg_server_status status;
	uint8_t again[DGI_STATUS_BYTES];

	if (dgi_status_decode(body, n, &status, NULL) != DG_OK)
		return;
	dgi_status_encode(&status, again);
	expect(memcmp(again, body, 68) == 0);
}

static void fuzz_described(const void *body, size_t n)
{
	struct dgi_described described;
	dg_tensor_info info;

	if (dgi_described_decode(body, n, &described, NULL) != DG_OK)
		return;
	for (uint32_t i = 0; i < described.n; i++)
		if (dgi_described_next(&described, &info, NULL) != DG_OK)
			return;
}

/* Reads every byte that a decoded request says it has. */
static void touch(const void *data, size_t n)
{
	uint8_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum ^= ((const uint8_t *)data)[i];
	seen = (uint8_t)(seen ^ sum);
}

static void fuzz_pull(const void *body, size_t n)
{
	struct dgi_pull pull;

	if (dgi_pull_decode(body, n, &pull, NULL) != DG_OK)
		return;
	expect(pull.n <= DGI_ROWS_MAX);
	touch(pull.rows, pull.n * sizeof *pull.rows);
}

static void fuzz_pulled(const void *body, size_t n)
{
	struct dgi_pulled pulled;

	if (dgi_pulled_decode(body, n, &pulled, NULL) == DG_OK)
		touch((const uint8_t *)body + DGI_PREFIX_BYTES, pulled.n * pulled.row_bytes);
}

static void fuzz_push(const void *body, size_t n)
{
	struct dgi_push push;

	if (dgi_push_decode(body, n, &push, NULL) != DG_OK)
		return;
	expect(push.n <= DGI_ROWS_MAX);
	touch(push.rows, push.n * sizeof *push.rows);
	touch(push.parameters, push.parameters_bytes);
	touch(push.data, dgi_push_operands(push.n, push.flags) * push.row_bytes);
}

static void fuzz_ids(const void *body, size_t n)
{
	uint8_t again[DGI_PREFIX_BYTES];
	struct dgi_ids_request request;

	if (dgi_ids_request_decode(body, n, &request, NULL) != DG_OK)
		return;
	touch(request.numbers, request.n * sizeof *request.numbers);
	dgi_ids_request_encode(&request, again);
	expect(memcmp(again, body, 4) == 0 && memcmp(again + 8, (const uint8_t *)body + 8, 8) == 0);
}

static void fuzz_ids_answer(const void *body, size_t n)
{
	struct dgi_ids_answer answer;
	uint8_t *again;

	if (dgi_ids_answer_decode(body, n, &answer, NULL) != DG_OK)
		return;
	expect(dgi_ids_answer_bytes(&answer) == n);
	again = malloc(n);
	if (again) {
		dgi_ids_answer_encode(&answer, again);
		expect(memcmp(again + 8, (const uint8_t *)body + 8, 24) == 0);
		expect(memcmp(again + 64, (const uint8_t *)body + 64, n - 64) == 0);
	}
	free(again);
	dgi_ids_answer_clear(&answer);
}

static void fuzz_body(const struct dgi_frame *frame, const void *body, size_t n)
{
	bool reply = frame->flags & DGI_FRAME_REPLY;
	struct dgi_session_end end;
	struct dgi_pushed pushed;
	uint32_t first;

	switch (frame->type) {
	case DGI_HELLO:
		(reply ? fuzz_welcome : fuzz_hello)(body, n);
		break;
	case DGI_PING:
		fuzz_status(body, n);
		break;
	case DGI_DESCRIBE:
		fuzz_described(body, n);
		(void)dgi_describe_decode(body, n, &first, NULL);
		break;
	case DGI_PULL:
		(reply ? fuzz_pulled : fuzz_pull)(body, n);
		break;
	case DGI_IDS:
		(reply ? fuzz_ids_answer : fuzz_ids)(body, n);
		break;
	case DGI_SESSION:
		(void)dgi_session_end_decode(body, n, &end, NULL);
		break;
	default:
		fuzz_push(body, n);
		(void)dgi_pushed_decode(body, n, &pushed, NULL);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct dgi_frame frame = { 0 };
	dg_error err;
	void *body;

	if (n == 0)
		return 0;
	frame.type = data[0] & 7;
	frame.flags = data[0] >> 3 & 1;
	frame.body_bytes = n - 1;
	frame.status = data[0] >> 4;
	body = malloc(n); /* exactly as long as it is, and aligned */
	if (!body)
		return 0;
	memcpy(body, data + 1, n - 1);
	(void)dgi_message_check(&frame, &err);
	fuzz_body(&frame, body, n - 1);
	if (frame.status) {
		(void)dgi_error_decode(&frame, body, n - 1, &err);
		expect(memchr(err.text, 0, sizeof err.text) != NULL);
	}
	free(body);
	return 0;
}
