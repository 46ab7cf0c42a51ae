/* outbox.c -- messages in, bytes out. */
#include "outbox.h"

#include "bytes.h"
#include "check.h"
#include "fail.h"

#include <stdlib.h>
#include <string.h>

#define RUNS_MAX (2 + DGI_OUTBOX_LENT_MAX) /* header with what is copied, block, lent */

struct dgi_outgoing {
	struct dgi_outgoing *next;
	void *block;
	size_t block_room;
	size_t bytes; /* of the whole message */
	int n_runs;
	struct iovec runs[RUNS_MAX];
	uint8_t head[]; /* header and what is copied */
};

void dgi_outbox_init(struct dgi_outbox *out, struct dgi_pool *pool)
{
	*out = (struct dgi_outbox){ .pool = pool };
}

static void free_first(struct dgi_outbox *out)
{
	struct dgi_outgoing *m = out->first;

	out->first = m->next;
	if (!out->first)
		out->last = NULL;
	dgi_pool_put(out->pool, m->block, m->block_room);
	free(m);
}

void dgi_outbox_clear(struct dgi_outbox *out)
{
	while (out->first)
		free_first(out);
	out->bytes = out->sent = 0;
}

static size_t room_of(const struct dgi_body *body)
{
	return body->block_room ? body->block_room : body->block_bytes;
}

static dg_status length_of(const struct dgi_body *body, uint64_t *out, dg_error *err)
{
	size_t bytes = body->copied_bytes;

	DGI_ASSERT(body->copied_bytes <= DGI_OUTBOX_COPIED_MAX);
	DGI_ASSERT(body->n_lent <= DGI_OUTBOX_LENT_MAX);
	if (!dgi_add_size(bytes, body->block_bytes, &bytes))
		bytes = SIZE_MAX;
	for (size_t i = 0; i < body->n_lent; i++)
		if (!dgi_add_size(bytes, body->lent[i].iov_len, &bytes))
			bytes = SIZE_MAX;
	if (bytes > DGI_FRAME_BODY_BYTES_MAX)
		return dgi_fail(err, DG_INVALID, "message: body of %zu bytes, at most %u", bytes,
				DGI_FRAME_BODY_BYTES_MAX);
	*out = bytes;
	return DG_OK;
}

static void add_run(struct dgi_outgoing *m, const void *data, size_t n)
{
	/* writev() reads only, but its struct has no const. */
	if (n)
		m->runs[m->n_runs++] = (struct iovec){ (void *)(uintptr_t)data, n };
}

static struct dgi_outgoing *new_outgoing(const struct dgi_frame *frame, const struct dgi_body *body)
{
	size_t head_bytes = DGI_FRAME_BYTES + body->copied_bytes;
	struct dgi_outgoing *m = malloc(sizeof *m + head_bytes);

	if (!m)
		return NULL;
	*m = (struct dgi_outgoing){ .block = body->block,
				    .block_room = room_of(body),
				    .bytes = DGI_FRAME_BYTES + (size_t)frame->body_bytes };
	dgi_frame_encode(frame, m->head);
	if (body->copied_bytes)
		memcpy(m->head + DGI_FRAME_BYTES, body->copied, body->copied_bytes);
	add_run(m, m->head, head_bytes);
	add_run(m, body->block, body->block_bytes);
	for (size_t i = 0; i < body->n_lent; i++)
		add_run(m, body->lent[i].iov_base, body->lent[i].iov_len);
	return m;
}

dg_status dgi_outbox_put(struct dgi_outbox *out, struct dgi_frame frame,
			 const struct dgi_body *body, dg_error *err)
{
	static const struct dgi_body nothing = { 0 };
	struct dgi_outgoing *m = NULL;
	dg_status st;

	if (!body)
		body = &nothing;
	st = length_of(body, &frame.body_bytes, err);
	if (!st) {
		m = new_outgoing(&frame, body);
		if (!m)
			st = dgi_fail_memory(err, "message to send");
	}
	if (st) {
		dgi_pool_put(out->pool, body->block, room_of(body));
		return st;
	}
	if (out->last)
		out->last->next = m;
	else
		out->first = m;
	out->last = m;
	out->bytes += m->bytes;
	return DG_OK;
}

int dgi_outbox_gather(const struct dgi_outbox *out, struct iovec *iov, int max)
{
	size_t skip = out->sent;
	int n = 0;

	for (const struct dgi_outgoing *m = out->first; m; m = m->next)
		for (int i = 0; i < m->n_runs; i++) {
			const struct iovec *run = &m->runs[i];

			if (skip >= run->iov_len) {
				skip -= run->iov_len;
				continue;
			}
			if (n == max)
				return n;
			iov[n++] = (struct iovec){ (uint8_t *)run->iov_base + skip,
						   run->iov_len - skip };
			skip = 0;
		}
	return n;
}

void dgi_outbox_sent(struct dgi_outbox *out, size_t n)
{
	DGI_ASSERT(n <= out->bytes);
	out->bytes -= n;
	out->sent += n;
	while (out->first && out->sent >= out->first->bytes) {
		out->sent -= out->first->bytes;
		out->n_taken++;
		free_first(out);
	}
}

size_t dgi_outbox_head_bytes(const struct dgi_outbox *out)
{
	return out->first ? out->first->bytes : 0;
}
