/* frame.c -- the 64-byte header in front of every message. */
#include "frame.h"

#include "bytes.h"
#include "check.h"
#include "fail.h"

#include <inttypes.h>
#include <stdbool.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#define CHECK_AT 56
#define RESERVED_BYTES 12

void dgi_frame_encode(const struct dgi_frame *frame, uint8_t out[DGI_FRAME_BYTES])
{
	struct dgi_writer w = dgi_writer_of(out, DGI_FRAME_BYTES);

	DGI_ASSERT(frame->body_bytes <= DGI_FRAME_BODY_BYTES_MAX);
	dgi_write_u32(&w, DGI_FRAME_MAGIC);
	dgi_write_u16(&w, frame->version);
	dgi_write_u16(&w, frame->type);
	dgi_write_u16(&w, frame->flags);
	dgi_write_u16(&w, frame->status);
	dgi_write_u32(&w, frame->deadline_ms);
	dgi_write_u64(&w, frame->request_id);
	dgi_write_u64(&w, frame->body_bytes);
	dgi_write_u64(&w, frame->durable);
	dgi_write_u32(&w, frame->credits);
	dgi_write_zeros(&w, RESERVED_BYTES);
	DGI_ASSERT(w.written == CHECK_AT);
	dgi_write_u64(&w, XXH3_64bits(out, CHECK_AT));
}

static bool is_zero(const uint8_t *bytes, size_t n)
{
	uint8_t any = 0;

	for (size_t i = 0; i < n; i++)
		any |= bytes[i];
	return any == 0;
}

static dg_status check_fields(const struct dgi_frame *f, const uint8_t *reserved, dg_error *err)
{
	if (f->version != DGI_PROTOCOL_VERSION)
		return dgi_fail(err, DG_VERSION, "frame header: protocol version %u, want %d",
				f->version, DGI_PROTOCOL_VERSION);
	if ((f->flags & ~DGI_FRAME_REPLY) || !is_zero(reserved, RESERVED_BYTES))
		return dgi_fail(err, DG_PROTO, "frame header: reserved bits are set (flags %x)",
				f->flags);
	if (!(f->flags & DGI_FRAME_REPLY) && (f->status != DG_OK || f->durable || f->credits))
		return dgi_fail(err, DG_PROTO,
				"frame header: request with status %u, durable %" PRIu64
				", credits %" PRIu32,
				f->status, f->durable, f->credits);
	return DG_OK;
}

dg_status dgi_frame_decode(const uint8_t in[DGI_FRAME_BYTES], uint64_t body_bytes_max,
			   struct dgi_frame *out, dg_error *err)
{
	struct dgi_reader r = dgi_reader_of(in, DGI_FRAME_BYTES);
	uint32_t magic = dgi_read_u32(&r);
	struct dgi_frame f;
	const uint8_t *reserved;
	dg_status st;

	if (magic != DGI_FRAME_MAGIC)
		return dgi_fail(err, DG_PROTO,
				"frame header: begins with %08" PRIx32
				", want %08x: no distgraph peer",
				magic, DGI_FRAME_MAGIC);
	f.version = dgi_read_u16(&r);
	f.type = dgi_read_u16(&r);
	f.flags = dgi_read_u16(&r);
	f.status = dgi_read_u16(&r);
	f.deadline_ms = dgi_read_u32(&r);
	f.request_id = dgi_read_u64(&r);
	f.body_bytes = dgi_read_u64(&r);
	f.durable = dgi_read_u64(&r);
	f.credits = dgi_read_u32(&r);
	reserved = dgi_read_run(&r, RESERVED_BYTES);
	if (dgi_read_u64(&r) != XXH3_64bits(in, CHECK_AT))
		return dgi_fail(err, DG_PROTO, "frame header: damaged, its check does not fit");
	st = check_fields(&f, reserved, err);
	if (st)
		return st;
	if (f.body_bytes > body_bytes_max)
		return dgi_fail(err, DG_PROTO,
				"frame header: body of %" PRIu64 " bytes, at most %" PRIu64,
				f.body_bytes, body_bytes_max);
	*out = f;
	return DG_OK;
}
