/*
 * Any members' requests, one after another as time goes by: each body decodes or is refused, what
 * decodes encodes to the same bytes, and the coordinator answers each request at most once and none
 * that is forgotten. A record is: kind, seconds, length, body.
 */
#include "check.h"
#include "coordinator.h"
#include "group_message.h"

#include <stdlib.h>
#include <string.h>

enum { TOKENS = 256 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static bool is_open[TOKENS];

static void expect(bool condition)
{
	if (!condition)
		abort();
}

/* What the server does with an answer, and the member. */
static void take(void *context, uint64_t token, const struct dgi_group_answer *answer)
{
	static uint8_t body[DGI_GROUP_BYTES_MAX];
	struct dgi_group_answer again = { .kind = answer->kind };
	const uint32_t size = *(const uint32_t *)context;
	size_t n;

	expect(token < TOKENS && is_open[token]);
	is_open[token] = false;
	expect(memchr(answer->error.text, 0, sizeof answer->error.text) != NULL);
	if (answer->status)
		return;
	n = dgi_group_answer_encode(answer, size, body);
	(void)dgi_group_answer_decode(body, n, size, &again, NULL);
}

static void ask(struct dgi_coordinator *c, uint64_t token, unsigned kind, const uint8_t *body,
		size_t n, int64_t now_ms, uint32_t *size)
{
	struct dgi_group_request request = { .kind = (enum dgi_group_kind)(kind & 3),
					     .token = token,
					     .deadline_ms = now_ms + 60000 };
	uint8_t again[DGI_GROUP_BYTES_MAX];
	struct dgi_group_claim claim;

	if (dgi_group_request_decode(body, n, &claim, &request, NULL) != DG_OK)
		return;
	expect(n <= sizeof again && dgi_group_request_encode(&request, again) == n);
	expect(memcmp(again, body, 44) == 0 && memcmp(again + 48, body + 48, n - 48) == 0);
	*size = DGI_GROUP_MEMBERS_MAX; /* of any group that is answered */
	is_open[token] = true;
	dgi_coordinator_ask(c, &request, now_ms);
	if (kind & 4) {
		dgi_coordinator_forget(c, token);
		is_open[token] = false;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct dgi_coordinator c;
	uint32_t size = DGI_GROUP_MEMBERS_MAX;
	int64_t now_ms = 1000;
	uint64_t token = 1;

	memset(is_open, 0, sizeof is_open);
	dgi_coordinator_init(&c, 5, DGI_GROUP_LEASE_MS, take, &size);
	for (; n >= 4 && token < TOKENS; token++) {
		const size_t length = data[2] | (size_t)data[3] << 8;
		const unsigned kind = data[0];

		now_ms += data[1] * INT64_C(1000);
		data += 4;
		n -= 4;
		if (length > n)
			break;
		dgi_coordinator_tick(&c, now_ms);
		ask(&c, token, kind, data, length, now_ms, &size);
		data += length;
		n -= length;
	}
	dgi_coordinator_clear(&c);
	return 0;
}
