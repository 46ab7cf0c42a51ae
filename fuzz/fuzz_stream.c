/*
 * A connection's bytes, cut anywhere, give the same messages and the same end as uncut. The first
 * 16 bytes are the lengths of the pieces, in turn; the rest is the stream. Its headers' checks are
 * put right first, or else nothing but refusals would be tested.
 */
#include "inbox.h"

#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#define CUTS 16
#define BODY_BYTES_MAX 100000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* What came of a stream. */
struct outcome {
	uint64_t messages;
	uint64_t hash; /* of all headers and bodies */
	dg_status end;
	bool amid;
};

static void note(struct outcome *o, const struct dgi_message *m)
{
	uint8_t header[DGI_FRAME_BYTES];
	uint64_t parts[3];

	dgi_frame_encode(&m->frame, header);
	parts[0] = o->hash;
	parts[1] = XXH3_64bits(header, sizeof header);
	parts[2] = m->body ? XXH3_64bits(m->body, m->head_bytes) : 0;
	o->messages++;
	o->hash = XXH3_64bits(parts, sizeof parts);
}

static void take_all(struct dgi_inbox *in, struct outcome *o)
{
	enum dgi_inbox_answer answer = DGI_INBOX_MESSAGE;
	struct dgi_message m;

	while (!o->end && answer == DGI_INBOX_MESSAGE) {
		o->end = dgi_inbox_next(in, &answer, &m, NULL);
		if (!o->end && answer == DGI_INBOX_MESSAGE) {
			note(o, &m);
			dgi_message_clear(in->pool, &m);
		}
	}
}

static size_t feed(struct dgi_inbox *in, const uint8_t *bytes, size_t n)
{
	struct iovec room[DGI_INBOX_ROOM_MAX];
	int rooms = dgi_inbox_room(in, room);
	size_t fed = 0;

	for (int i = 0; i < rooms && fed < n; i++) {
		size_t piece = n - fed < room[i].iov_len ? n - fed : room[i].iov_len;

		memcpy(room[i].iov_base, bytes + fed, piece);
		fed += piece;
	}
	dgi_inbox_filled(in, fed);
	return fed;
}

/* @cuts NULL: uncut. */
static struct outcome run(const uint8_t *cuts, const uint8_t *stream, size_t n)
{
	static struct dgi_inbox in;
	struct dgi_pool pool = dgi_pool_of(1 << 20);
	struct outcome o = { 0 };
	size_t turn = 0;

	dgi_inbox_init(&in, &pool, BODY_BYTES_MAX);
	for (size_t at = 0; at < n && !o.end;) {
		size_t piece = cuts ? cuts[turn++ % CUTS] + (size_t)1 : n;

		at += feed(&in, stream + at, piece < n - at ? piece : n - at);
		take_all(&in, &o);
	}
	o.amid = dgi_inbox_is_amid(&in);
	dgi_inbox_clear(&in);
	dgi_pool_clear(&pool);
	return o;
}

/* Makes the checks right, header after header, as a reader would find them. */
static void mend(uint8_t *stream, size_t n)
{
	size_t at = 0;

	while (n - at >= DGI_FRAME_BYTES) {
		uint64_t body_bytes, check = XXH3_64bits(stream + at, DGI_FRAME_BYTES - 8);

		memcpy(stream + at + DGI_FRAME_BYTES - 8, &check, 8);
		memcpy(&body_bytes, stream + at + 24, 8);
		at += DGI_FRAME_BYTES;
		if (body_bytes > n - at)
			return;
		at += (size_t)body_bytes;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct outcome whole, cut;
	uint8_t *stream;

	if (n < CUTS)
		return 0;
	stream = malloc(n);
	if (!stream)
		return 0;
	memcpy(stream, data + CUTS, n - CUTS);
	mend(stream, n - CUTS);
	whole = run(NULL, stream, n - CUTS);
	cut = run(data, stream, n - CUTS);
	if (whole.messages != cut.messages || whole.hash != cut.hash || whole.end != cut.end ||
	    (!whole.end && whole.amid != cut.amid))
		abort();
	free(stream);
	return 0;
}
