/* wire.h -- frames by hand over a plain socket, for what no client of ours would send. */
#ifndef CHAOS_WIRE_H
#define CHAOS_WIRE_H

#include "message.h"
#include "stream.h"

/* A blocking socket to @address whose reads give up after 20 s; ends the test where it fails. */
int wire_open(const char *address);

/* Append a frame. @session may be NULL. */
void wire_add_hello(struct chaos_bytes *out, const dg_uuid *session);
void wire_add_ping(struct chaos_bytes *out, uint64_t request_id);
void wire_add_pull(struct chaos_bytes *out, uint64_t request_id, uint32_t tensor, const dg_id *rows,
		   size_t n);
/* One operand of @width floats, all @value, for row @row. @number 0: without session. */
void wire_add_push(struct chaos_bytes *out, uint64_t request_id, uint32_t tensor,
		   dg_operation operation, dg_id row, float value, size_t width, uint64_t number);

void wire_send(int fd, const void *data, size_t n);
/* A whole message; false when the stream ended or broke. The body is cut to @room. */
bool wire_read(int fd, struct dgi_frame *frame, void *body, size_t room);

#endif
