/* message.c -- the messages and what their bodies hold. */
#include "message.h"

#include "bytes.h"
#include "check.h"
#include "fail.h"
#include "tensor_info.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#define ROWS_ALIGNMENT 64

static const struct message {
	const char *name;
	uint64_t least, most; /* bytes of the request's body */
	uint64_t reply_least, reply_most;
} messages[] = {
#define MESSAGE_ENTRY(name, number, text, least, most, reply_least, reply_most) \
	[number] = { text, least, most, reply_least, reply_most },
	DGI_MESSAGE_MAP(MESSAGE_ENTRY)
#undef MESSAGE_ENTRY
};

#define MESSAGE_FITS(name, number, text, least, most, reply_least, reply_most) \
	static_assert((most) <= DGI_FRAME_BODY_BYTES_MAX && \
			      (reply_most) <= DGI_FRAME_BODY_BYTES_MAX, \
		      text " fits a frame");
DGI_MESSAGE_MAP(MESSAGE_FITS)
#undef MESSAGE_FITS

static const struct message *find(uint16_t type)
{
	if (type >= DGI_COUNT_OF(messages) || !messages[type].name)
		return NULL;
	return &messages[type];
}

const char *dgi_message_name(uint16_t type)
{
	const struct message *m = find(type);

	return m ? m->name : "?";
}

dg_status dgi_message_check(const struct dgi_frame *frame, dg_error *err)
{
	const struct message *m = find(frame->type);
	bool reply = frame->flags & DGI_FRAME_REPLY;
	uint64_t least, most;

	if (!m)
		return dgi_fail(err, DG_UNSUPPORTED, "message type %u: unknown", frame->type);
	least = reply ? m->reply_least : m->least;
	most = reply ? m->reply_most : m->most;
	if (frame->body_bytes < least || frame->body_bytes > most)
		return dgi_fail(err, DG_PROTO,
				"%s%s: body of %" PRIu64 " bytes, want %" PRIu64 " to %" PRIu64,
				m->name, reply ? " reply" : "", frame->body_bytes, least, most);
	return DG_OK;
}

/* Where a body of fixed length is decoded, all of its fields are read before this is asked. */
static dg_status check_end(const struct dgi_reader *r, const char *what, size_t n, dg_error *err)
{
	if (r->short_read || r->left)
		return dgi_fail(err, DG_PROTO, "%s: body of %zu bytes has the wrong length", what,
				n);
	return DG_OK;
}

static void write_uuid(struct dgi_writer *w, const dg_uuid *uuid)
{
	dgi_write_bytes(w, uuid->bytes, sizeof uuid->bytes);
}

static dg_uuid read_uuid(struct dgi_reader *r)
{
	dg_uuid uuid;

	dgi_read_bytes(r, uuid.bytes, sizeof uuid.bytes);
	return uuid;
}

/* Reserved for later versions: sent as zeros, not looked at. */
static void skip(struct dgi_reader *r, size_t n)
{
	(void)dgi_read_run(r, n);
}

void dgi_hello_encode(const struct dgi_hello *hello, uint8_t out[DGI_HELLO_BYTES])
{
	struct dgi_writer w = dgi_writer_of(out, DGI_HELLO_BYTES);

	dgi_write_u16(&w, hello->version_min);
	dgi_write_u16(&w, hello->version_max);
	dgi_write_u32(&w, (uint32_t)hello->part);
	dgi_write_u64(&w, hello->capabilities);
	write_uuid(&w, &hello->cluster_uuid);
	write_uuid(&w, &hello->store_uuid);
	write_uuid(&w, &hello->session_uuid);
	dgi_write_u64(&w, hello->incarnation);
	dgi_write_u64(&w, hello->durable);
	dgi_write_u64(&w, hello->attempt);
	dgi_write_zeros(&w, w.left);
}

dg_status dgi_hello_decode(const void *body, size_t n, struct dgi_hello *out, dg_error *err)
{
	struct dgi_reader r = dgi_reader_of(body, n);
	struct dgi_hello hello;
	dg_status st;

	hello.version_min = dgi_read_u16(&r);
	hello.version_max = dgi_read_u16(&r);
	hello.part = (int32_t)dgi_read_u32(&r);
	hello.capabilities = dgi_read_u64(&r);
	hello.cluster_uuid = read_uuid(&r);
	hello.store_uuid = read_uuid(&r);
	hello.session_uuid = read_uuid(&r);
	hello.incarnation = dgi_read_u64(&r);
	hello.durable = dgi_read_u64(&r);
	hello.attempt = dgi_read_u64(&r);
	skip(&r, 40);
	st = check_end(&r, "hello", n, err);
	if (st)
		return st;
	if (hello.version_min > hello.version_max || hello.part < -1)
		return dgi_fail(err, DG_PROTO, "hello: versions %u to %u, part %" PRId32,
				hello.version_min, hello.version_max, hello.part);
	*out = hello;
	return DG_OK;
}

void dgi_welcome_encode(const struct dgi_welcome *welcome, uint8_t out[DGI_WELCOME_BYTES])
{
	struct dgi_writer w = dgi_writer_of(out, DGI_WELCOME_BYTES);

	dgi_write_u16(&w, welcome->version);
	dgi_write_u16(&w, 0);
	dgi_write_u32(&w, welcome->part);
	dgi_write_u32(&w, welcome->n_parts);
	dgi_write_u32(&w, 0);
	dgi_write_u64(&w, welcome->capabilities);
	write_uuid(&w, &welcome->cluster_uuid);
	write_uuid(&w, &welcome->store_uuid);
	dgi_write_u64(&w, welcome->incarnation);
	dgi_write_i64(&w, welcome->pid);
	dgi_write_u64(&w, welcome->body_bytes_max);
	dgi_write_u64(&w, welcome->rows_max);
	dgi_write_u64(&w, welcome->log_number);
	dgi_write_zeros(&w, w.left);
}

dg_status dgi_welcome_decode(const void *body, size_t n, struct dgi_welcome *out, dg_error *err)
{
	struct dgi_reader r = dgi_reader_of(body, n);
	struct dgi_welcome welcome;
	dg_status st;

	welcome.version = dgi_read_u16(&r);
	skip(&r, 2);
	welcome.part = dgi_read_u32(&r);
	welcome.n_parts = dgi_read_u32(&r);
	skip(&r, 4);
	welcome.capabilities = dgi_read_u64(&r);
	welcome.cluster_uuid = read_uuid(&r);
	welcome.store_uuid = read_uuid(&r);
	welcome.incarnation = dgi_read_u64(&r);
	welcome.pid = dgi_read_i64(&r);
	welcome.body_bytes_max = dgi_read_u64(&r);
	welcome.rows_max = dgi_read_u64(&r);
	welcome.log_number = dgi_read_u64(&r);
	skip(&r, 32);
	st = check_end(&r, "hello reply", n, err);
	if (st)
		return st;
	if (welcome.part >= welcome.n_parts || welcome.n_parts > DG_PARTS_MAX)
		return dgi_fail(err, DG_PROTO, "hello reply: part %" PRIu32 " of %" PRIu32,
				welcome.part, welcome.n_parts);
	*out = welcome;
	return DG_OK;
}

void dgi_status_encode(const dg_server_status *status, uint8_t out[DGI_STATUS_BYTES])
{
	struct dgi_writer w = dgi_writer_of(out, DGI_STATUS_BYTES);

	write_uuid(&w, &status->store.store_uuid);
	write_uuid(&w, &status->store.cluster_uuid);
	dgi_write_u32(&w, status->store.part);
	dgi_write_u32(&w, status->store.n_parts);
	dgi_write_u64(&w, status->store.incarnation);
	dgi_write_u64(&w, status->store.log_number);
	dgi_write_u64(&w, status->store.file_bytes);
	dgi_write_u16(&w, status->store.format_read);
	dgi_write_u16(&w, status->store.format_write);
	dgi_write_u32(&w, 0);
	dgi_write_i64(&w, status->pid);
	dgi_write_u64(&w, status->uptime_ms);
	dgi_write_u64(&w, status->connections);
	dgi_write_u64(&w, status->pulls);
	dgi_write_u64(&w, status->pushes);
	dgi_write_u64(&w, status->rows_pulled);
	dgi_write_u64(&w, status->rows_pushed);
	DGI_ASSERT(w.written == DGI_STATUS_BYTES);
}

dg_status dgi_status_decode(const void *body, size_t n, dg_server_status *out, dg_error *err)
{
	struct dgi_reader r = dgi_reader_of(body, n);
	dg_server_status status = *out;
	dg_status st;

	status.store.store_uuid = read_uuid(&r);
	status.store.cluster_uuid = read_uuid(&r);
	status.store.part = dgi_read_u32(&r);
	status.store.n_parts = dgi_read_u32(&r);
	status.store.incarnation = dgi_read_u64(&r);
	status.store.log_number = dgi_read_u64(&r);
	status.store.file_bytes = dgi_read_u64(&r);
	status.store.format_read = dgi_read_u16(&r);
	status.store.format_write = dgi_read_u16(&r);
	skip(&r, 4);
	status.pid = dgi_read_i64(&r);
	status.uptime_ms = dgi_read_u64(&r);
	status.connections = dgi_read_u64(&r);
	status.pulls = dgi_read_u64(&r);
	status.pushes = dgi_read_u64(&r);
	status.rows_pulled = dgi_read_u64(&r);
	status.rows_pushed = dgi_read_u64(&r);
	st = check_end(&r, "ping reply", n, err);
	if (!st)
		*out = status;
	return st;
}

void dgi_describe_encode(uint32_t first, uint8_t out[DGI_DESCRIBE_BYTES])
{
	dgi_put_u32(out, first);
	dgi_put_u32(out + 4, 0);
}

dg_status dgi_describe_decode(const void *body, size_t n, uint32_t *first, dg_error *err)
{
	struct dgi_reader r = dgi_reader_of(body, n);
	uint32_t number = dgi_read_u32(&r);
	dg_status st;

	skip(&r, 4);
	st = check_end(&r, "describe", n, err);
	if (!st)
		*first = number;
	return st;
}

size_t dgi_described_encode(const dg_tensor_info *infos, size_t n_infos, uint32_t first, void *out,
			    size_t room)
{
	struct dgi_writer w = dgi_writer_of(out, room);
	uint8_t one[DGI_TENSOR_INFO_BYTES_MAX];
	uint32_t n = 0;

	dgi_write_u32(&w, (uint32_t)n_infos);
	dgi_write_u32(&w, 0);
	for (size_t i = first; i < n_infos; i++) {
		size_t bytes = dgi_tensor_info_encode(&infos[i], one);

		if (bytes > w.left)
			break;
		dgi_write_bytes(&w, one, bytes);
		n++;
	}
	DGI_ASSERT(!w.short_write);
	dgi_put_u32((uint8_t *)out + 4, n);
	return w.written;
}

dg_status dgi_described_decode(const void *body, size_t n, struct dgi_described *out, dg_error *err)
{
	struct dgi_reader r = dgi_reader_of(body, n);
	struct dgi_described described;

	described.total = dgi_read_u32(&r);
	described.n = dgi_read_u32(&r);
	if (r.short_read || described.total > DG_TENSORS_MAX || described.n > described.total)
		return dgi_fail(err, DG_PROTO,
				"describe reply: %zu bytes, %" PRIu32 " tensors of %" PRIu32, n,
				described.n, described.total);
	described.at = r.at;
	described.left = r.left;
	*out = described;
	return DG_OK;
}

dg_status dgi_described_next(struct dgi_described *described, dg_tensor_info *out, dg_error *err)
{
	size_t used;
	dg_status st = dgi_tensor_info_decode(described->at, described->left, out, &used, err);

	if (st)
		return dgi_context(err, DG_PROTO, "describe reply");
	described->at += used;
	described->left -= used;
	return DG_OK;
}

static dg_status check_rows(const char *what, uint64_t n, dg_error *err)
{
	if (n > DGI_ROWS_MAX)
		return dgi_fail(err, DG_PROTO, "%s: %" PRIu64 " rows, at most %u", what, n,
				DGI_ROWS_MAX);
	return DG_OK;
}

void dgi_pull_encode(const struct dgi_pull *pull, uint8_t out[DGI_PREFIX_BYTES])
{
	struct dgi_writer w = dgi_writer_of(out, DGI_PREFIX_BYTES);

	dgi_write_u32(&w, pull->tensor);
	dgi_write_u32(&w, 0);
	dgi_write_u64(&w, pull->n);
	dgi_write_u64(&w, pull->after);
	dgi_write_zeros(&w, w.left);
}

dg_status dgi_pull_decode(const void *body, size_t n, struct dgi_pull *out, dg_error *err)
{
	struct dgi_reader r = dgi_reader_of(body, n);
	struct dgi_pull pull = { .tensor = dgi_read_u32(&r) };
	uint64_t n_rows;
	dg_status st;

	skip(&r, 4);
	n_rows = dgi_read_u64(&r);
	pull.after = dgi_read_u64(&r);
	skip(&r, DGI_PREFIX_BYTES - 24);
	st = check_rows("pull", n_rows, err);
	if (st)
		return st;
	if (r.short_read || r.left != n_rows * sizeof(dg_id))
		return dgi_fail(err, DG_PROTO, "pull: body of %zu bytes for %" PRIu64 " rows", n,
				n_rows);
	pull.n = n_rows;
	pull.rows = (const void *)r.at;
	*out = pull;
	return DG_OK;
}

uint64_t dgi_pulled_bytes(size_t n, uint32_t row_bytes)
{
	return n > DGI_ROWS_MAX ? UINT64_MAX : DGI_PREFIX_BYTES + (uint64_t)n * row_bytes;
}

void dgi_pulled_encode(const struct dgi_pulled *pulled, uint8_t out[DGI_PREFIX_BYTES])
{
	struct dgi_writer w = dgi_writer_of(out, DGI_PREFIX_BYTES);

	dgi_write_u32(&w, pulled->row_bytes);
	dgi_write_u32(&w, 0);
	dgi_write_u64(&w, pulled->n);
	dgi_write_u64(&w, pulled->log_number);
	dgi_write_zeros(&w, w.left);
}

dg_status dgi_pulled_decode(const void *body, size_t body_bytes, struct dgi_pulled *out,
			    dg_error *err)
{
	struct dgi_reader r =
		dgi_reader_of(body, body_bytes < DGI_PREFIX_BYTES ? body_bytes : DGI_PREFIX_BYTES);
	struct dgi_pulled pulled;
	uint64_t n;
	dg_status st;

	pulled.row_bytes = dgi_read_u32(&r);
	skip(&r, 4);
	n = dgi_read_u64(&r);
	pulled.log_number = dgi_read_u64(&r);
	skip(&r, DGI_PREFIX_BYTES - 24);
	st = check_rows("pull reply", n, err);
	if (st)
		return st;
	pulled.n = n;
	if (r.short_read || body_bytes != dgi_pulled_bytes(pulled.n, pulled.row_bytes))
		return dgi_fail(err, DG_PROTO,
				"pull reply: body of %zu bytes for %" PRIu64 " rows of %" PRIu32
				" bytes",
				body_bytes, n, pulled.row_bytes);
	*out = pulled;
	return DG_OK;
}

size_t dgi_push_operands(size_t n, uint16_t flags)
{
	return flags & DGI_PUSH_FILL ? 1 : n;
}

size_t dgi_push_data_at(size_t n, uint16_t parameters_bytes)
{
	size_t end = DGI_PREFIX_BYTES + n * sizeof(dg_id) + parameters_bytes;

	DGI_ASSERT(n <= DGI_ROWS_MAX);
	return (end + ROWS_ALIGNMENT - 1) / ROWS_ALIGNMENT * ROWS_ALIGNMENT;
}

uint64_t dgi_push_bytes(const struct dgi_push *push)
{
	if (push->n > DGI_ROWS_MAX)
		return UINT64_MAX;
	return dgi_push_data_at(push->n, push->parameters_bytes) +
	       (uint64_t)dgi_push_operands(push->n, push->flags) * push->row_bytes;
}

void dgi_push_encode(const struct dgi_push *push, uint8_t out[DGI_PREFIX_BYTES])
{
	struct dgi_writer w = dgi_writer_of(out, DGI_PREFIX_BYTES);

	dgi_write_u32(&w, push->tensor);
	dgi_write_u16(&w, push->operation);
	dgi_write_u16(&w, push->rule);
	dgi_write_u64(&w, push->n);
	dgi_write_u32(&w, push->row_bytes);
	dgi_write_u16(&w, push->flags);
	dgi_write_u16(&w, push->parameters_bytes);
	dgi_write_u64(&w, push->number);
	dgi_write_u64(&w, push->previous);
	dgi_write_u64(&w, push->floor);
	dgi_write_zeros(&w, w.left);
}

/* Does what is to be done agree with itself? */
static dg_status check_operation(const struct dgi_push *p, dg_error *err)
{
	bool step = p->operation == DGI_PUSH_STEP;

	if (p->operation > DG_OP_MULTIPLY || (p->flags & ~DGI_PUSH_FLAGS))
		return dgi_fail(err, DG_UNSUPPORTED, "push: unknown operation %u, flags %x",
				p->operation, p->flags);
	if (step != (p->rule != 0) || (!step && p->parameters_bytes) ||
	    p->parameters_bytes > DGI_PARAMETERS_MAX || (step && (p->flags & DGI_PUSH_FILL)))
		return dgi_fail(err, DG_PROTO,
				"push: operation %u with rule %u, %u bytes of parameters, flags %x",
				p->operation, p->rule, p->parameters_bytes, p->flags);
	if ((p->flags & DGI_PUSH_FILL) && p->n != 2)
		return dgi_fail(err, DG_PROTO, "push: a fill with %zu row numbers, want 2", p->n);
	return DG_OK;
}

static dg_status check_numbers(const struct dgi_push *p, dg_error *err)
{
	bool right = p->number == 0 ? p->previous == 0 && p->floor == 0
				    : p->floor > 0 && p->floor <= p->number &&
					      p->number - p->floor < DGI_PUSH_WINDOW &&
					      p->number <= UINT64_MAX - DGI_PUSH_WINDOW;

	if (!right)
		return dgi_fail(err, DG_PROTO,
				"push: number %" PRIu64 " after %" PRIu64 ", all below %" PRIu64
				" answered: they may lie %d apart",
				p->number, p->previous, p->floor, DGI_PUSH_WINDOW);
	return DG_OK;
}

dg_status dgi_push_decode(const void *body, size_t n, struct dgi_push *out, dg_error *err)
{
	struct dgi_reader r = dgi_reader_of(body, n);
	struct dgi_push push = { .tensor = dgi_read_u32(&r) };
	uint64_t n_rows;
	dg_status st;

	push.operation = dgi_read_u16(&r);
	push.rule = dgi_read_u16(&r);
	n_rows = dgi_read_u64(&r);
	push.row_bytes = dgi_read_u32(&r);
	push.flags = dgi_read_u16(&r);
	push.parameters_bytes = dgi_read_u16(&r);
	push.number = dgi_read_u64(&r);
	push.previous = dgi_read_u64(&r);
	push.floor = dgi_read_u64(&r);
	skip(&r, DGI_PREFIX_BYTES - 48);
	st = check_rows("push", n_rows, err);
	if (st)
		return st;
	push.n = n_rows;
	st = check_operation(&push, err);
	if (!st)
		st = check_numbers(&push, err);
	if (st)
		return st;
	if (r.short_read || n != dgi_push_bytes(&push))
		return dgi_fail(err, DG_PROTO,
				"push: body of %zu bytes for %" PRIu64 " rows of %" PRIu32 " bytes",
				n, n_rows, push.row_bytes);
	push.rows = (const void *)r.at;
	push.parameters = r.at + push.n * sizeof(dg_id);
	push.data = (const uint8_t *)body + dgi_push_data_at(push.n, push.parameters_bytes);
	*out = push;
	return DG_OK;
}

void dgi_pushed_encode(const struct dgi_pushed *pushed, uint8_t out[DGI_PUSHED_BYTES])
{
	dgi_put_u64(out, pushed->log_number);
	dgi_put_u64(out + 8, pushed->repeat);
}

dg_status dgi_pushed_decode(const void *body, size_t n, struct dgi_pushed *out, dg_error *err)
{
	struct dgi_reader r = dgi_reader_of(body, n);
	struct dgi_pushed pushed;
	dg_status st;

	pushed.log_number = dgi_read_u64(&r);
	pushed.repeat = dgi_read_u32(&r) & 1;
	skip(&r, 4);
	st = check_end(&r, "push reply", n, err);
	if (!st)
		*out = pushed;
	return st;
}

void dgi_session_end_encode(const struct dgi_session_end *end, uint8_t out[DGI_SESSION_BYTES])
{
	struct dgi_writer w = dgi_writer_of(out, DGI_SESSION_BYTES);

	dgi_write_u32(&w, end->operation);
	dgi_write_u32(&w, 0);
	write_uuid(&w, &end->session_uuid);
	dgi_write_zeros(&w, w.left);
}

dg_status dgi_session_end_decode(const void *body, size_t n, struct dgi_session_end *out,
				 dg_error *err)
{
	struct dgi_reader r = dgi_reader_of(body, n);
	struct dgi_session_end end = { .operation = dgi_read_u32(&r) };
	dg_status st;

	skip(&r, 4);
	end.session_uuid = read_uuid(&r);
	skip(&r, 8);
	st = check_end(&r, "session", n, err);
	if (st)
		return st;
	if (end.operation != DGI_SESSION_CLOSE && end.operation != DGI_SESSION_EXPIRE)
		return dgi_fail(err, DG_UNSUPPORTED, "session: unknown operation %" PRIu32,
				end.operation);
	*out = end;
	return DG_OK;
}

dg_status dgi_error_decode(const struct dgi_frame *frame, const void *body, size_t n, dg_error *err)
{
	dg_status status = (dg_status)frame->status;

	switch (status) {
#define KNOWN_STATUS(name, number, text) case DG_##name:
		DG_STATUS_MAP(KNOWN_STATUS)
#undef KNOWN_STATUS
		break;
	default:
		status = DG_INVALID;
	}
	DGI_ASSERT(frame->status != DG_OK);
	if (n == 0)
		return dgi_fail(err, status, "%s", dg_status_text(status));
	return dgi_fail(err, status, "%.*s", n < DG_ERROR_TEXT_BYTES ? (int)n : DG_ERROR_TEXT_BYTES,
			(const char *)body);
}
