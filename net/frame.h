/*
 * frame.h -- the 64-byte header in front of every message (docs/protocol.md).
 */
#ifndef DGI_FRAME_H
#define DGI_FRAME_H

#include <distgraph/error.h>

#include <stdint.h>

#define DGI_PROTOCOL_VERSION 1
#define DGI_FRAME_BYTES 64
#define DGI_FRAME_MAGIC 0x31464744U /* "DGF1" */

/* Bytes of a body: of any, and of the first one, which comes from a stranger. */
#define DGI_FRAME_BODY_BYTES_MAX (64U << 20)
#define DGI_FRAME_BODY_BYTES_EARLY (64U << 10)

#define DGI_FRAME_REPLY 1U /* flag: answers the request of the same id */

struct dgi_frame {
	uint16_t version;
	uint16_t type;
	uint16_t flags;
	uint16_t status;      /* dg_status; of a reply only */
	uint32_t deadline_ms; /* of a request: how long its sender will wait; 0: it does not say */
	uint64_t request_id;  /* chosen by the client; 0: the connection as a whole */
	uint64_t body_bytes;
	/* Of a reply only, else 0: */
	uint64_t durable; /* every write of the store up to this log number is on disk */
	uint32_t
		credits; /* bytes of requests that may be unanswered on this connection from now on */
};

/* What a request counts beside its body where credits are counted. */
#define DGI_REQUEST_OVERHEAD_BYTES 1024U
/* Credits of a connection before the first reply tells. */
#define DGI_CREDITS_EARLY (64U << 10)

void dgi_frame_encode(const struct dgi_frame *frame, uint8_t out[DGI_FRAME_BYTES]);

/*
 * Reads a header. Fails with PROTO (no header of ours, damaged, reserved bits, a body longer than
 * @body_bytes_max), VERSION.
 */
dg_status dgi_frame_decode(const uint8_t in[DGI_FRAME_BYTES], uint64_t body_bytes_max,
			   struct dgi_frame *out, dg_error *err);

#endif
