/* reply.c -- answers of a server. */
#include "reply.h"

#include <string.h>

/* An eighth of what is left, so that a few clients can use it up and many do not wait much. */
static uint32_t credits_now(const struct dgi_budget *requests)
{
	uint64_t used = atomic_load_explicit(&requests->used, memory_order_relaxed);
	uint64_t share = used < requests->max ? (requests->max - used) / 8 : 0;

	if (share < DGI_CREDITS_EARLY)
		return DGI_CREDITS_EARLY;
	return share < DGI_CREDITS_MAX ? (uint32_t)share : DGI_CREDITS_MAX;
}

static struct dgi_frame reply_to(const struct dgi_session *s, const struct dgi_frame *request)
{
	struct dgi_frame reply = { .version = DGI_PROTOCOL_VERSION,
				   .type = request->type,
				   .flags = DGI_FRAME_REPLY,
				   .request_id = request->request_id };

	if (s->conn.established) {
		reply.durable = dgi_volume_durable(s->server->service.volume);
		reply.credits = credits_now(&s->server->requests);
	}
	return reply;
}

static void send_reply(struct dgi_session *s, struct dgi_frame frame, const struct dgi_body *body)
{
	if (dgi_conn_send(&s->conn, frame, body, NULL) != DG_OK)
		dgi_session_kill(s);
}

void dgi_reply_bytes(struct dgi_session *s, const struct dgi_frame *request, const void *data,
		     size_t n)
{
	const struct dgi_body body = { .copied = data, .copied_bytes = n };

	send_reply(s, reply_to(s, request), &body);
}

void dgi_reply_block(struct dgi_session *s, const struct dgi_frame *request, void *block, size_t n)
{
	const struct dgi_body body = { .block = block, .block_bytes = n };

	send_reply(s, reply_to(s, request), &body);
}

void dgi_reply_error(struct dgi_session *s, const struct dgi_frame *request, const dg_error *error)
{
	const struct dgi_body body = { .copied = error->text,
				       .copied_bytes = strnlen(error->text, sizeof error->text) };
	struct dgi_frame frame = reply_to(s, request);

	frame.status = (uint16_t)error->status;
	send_reply(s, frame, &body);
}
