/* inbox.c -- bytes in, messages out. */
#include "inbox.h"

#include "check.h"
#include "fail.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

static_assert(DGI_INBOX_STAGE_BYTES >= DGI_FRAME_BYTES, "a header fits the stage");

void dgi_inbox_init(struct dgi_inbox *in, struct dgi_pool *pool, uint64_t body_bytes_max)
{
	*in = (struct dgi_inbox){ .pool = pool, .body_bytes_max = body_bytes_max };
}

void dgi_inbox_clear(struct dgi_inbox *in)
{
	dgi_pool_put(in->pool, in->body, in->to.head_bytes);
	in->body = NULL;
	in->in_body = false;
	in->begin = in->end = 0;
}

/* The runs of memory that the rest of the arriving body goes to. */
static int body_room(const struct dgi_inbox *in, struct iovec *out)
{
	size_t head = in->to.head_bytes;
	size_t tail = (size_t)in->frame.body_bytes - head;
	int n = 0;

	if (in->have < head)
		out[n++] = (struct iovec){ in->body + in->have, head - in->have };
	if (tail) {
		size_t there = in->have > head ? in->have - head : 0;

		out[n++] = (struct iovec){ (uint8_t *)in->to.tail + there, tail - there };
	}
	return n;
}

int dgi_inbox_room(struct dgi_inbox *in, struct iovec out[DGI_INBOX_ROOM_MAX])
{
	int n = in->in_body ? body_room(in, out) : 0;

	if (in->begin) {
		memmove(in->stage, in->stage + in->begin, in->end - in->begin);
		in->end -= in->begin;
		in->begin = 0;
	}
	if (in->end < sizeof in->stage)
		out[n++] = (struct iovec){ in->stage + in->end, sizeof in->stage - in->end };
	return n;
}

static size_t body_left(const struct dgi_inbox *in)
{
	return in->in_body ? (size_t)in->frame.body_bytes - in->have : 0;
}

void dgi_inbox_filled(struct dgi_inbox *in, size_t n)
{
	size_t left = body_left(in);
	size_t to_body = n < left ? n : left;

	in->have += to_body;
	in->end += n - to_body;
	DGI_ASSERT(in->end <= sizeof in->stage);
}

/* Moves what the stage holds of the arriving body to its place. */
static void move_from_stage(struct dgi_inbox *in)
{
	struct iovec room[DGI_INBOX_ROOM_MAX];
	int n = body_room(in, room);

	for (int i = 0; i < n && in->begin < in->end; i++) {
		size_t staged = in->end - in->begin;
		size_t bytes = staged < room[i].iov_len ? staged : room[i].iov_len;

		memcpy(room[i].iov_base, in->stage + in->begin, bytes);
		in->begin += bytes;
		in->have += bytes;
	}
}

static dg_status begin_body(struct dgi_inbox *in, dg_error *err)
{
	in->in_body = true;
	in->have = 0;
	in->body = NULL;
	in->begin += DGI_FRAME_BYTES;
	if (in->to.head_bytes == 0)
		return DG_OK;
	in->body = dgi_pool_get(in->pool, in->to.head_bytes);
	if (!in->body) {
		in->in_body = false;
		return dgi_fail(err, DG_NOMEM, "body of %" PRIu64 " bytes: out of memory",
				in->frame.body_bytes);
	}
	return DG_OK;
}

/* Decodes the header at the head of the stage and finds a place for its body. */
static dg_status begin_message(struct dgi_inbox *in, bool *held, dg_error *err)
{
	dg_status st = dgi_frame_decode(in->stage + in->begin, in->body_bytes_max, &in->frame, err);

	if (st)
		return st;
	in->to = (struct dgi_place){ .head_bytes = (size_t)in->frame.body_bytes };
	*held = in->place && !in->place(in->place_context, &in->frame, &in->to);
	if (*held)
		return DG_OK;
	DGI_ASSERT(in->to.head_bytes <= in->frame.body_bytes);
	DGI_ASSERT(in->to.tail || in->to.head_bytes == in->frame.body_bytes);
	return begin_body(in, err);
}

dg_status dgi_inbox_next(struct dgi_inbox *in, enum dgi_inbox_answer *answer,
			 struct dgi_message *out, dg_error *err)
{
	bool held = false;
	dg_status st;

	*answer = DGI_INBOX_HUNGRY;
	if (!in->in_body) {
		if (in->end - in->begin < DGI_FRAME_BYTES)
			return DG_OK;
		st = begin_message(in, &held, err);
		if (held)
			*answer = DGI_INBOX_HELD_BACK;
		if (st || held)
			return st;
	}
	move_from_stage(in);
	if (body_left(in))
		return DG_OK;
	*out = (struct dgi_message){ .frame = in->frame,
				     .body = in->body,
				     .head_bytes = in->to.head_bytes };
	in->body = NULL;
	in->in_body = false;
	*answer = DGI_INBOX_MESSAGE;
	return DG_OK;
}

void dgi_message_clear(struct dgi_pool *pool, struct dgi_message *message)
{
	dgi_pool_put(pool, message->body, message->head_bytes);
	message->body = NULL;
}

bool dgi_inbox_is_amid(const struct dgi_inbox *in)
{
	return in->in_body || in->end > in->begin;
}
