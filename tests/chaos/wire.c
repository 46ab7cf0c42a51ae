/* wire.c -- frames by hand over a plain socket. */
#include "wire.h"

#include "test.h"

#include "socket.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>

enum { PATIENCE_S = 20 };

int wire_open(const char *address)
{
	const struct timeval patience = { .tv_sec = PATIENCE_S };
	struct dgi_address at;
	dg_error err = { 0 };
	int fd;

	assert_ok(dgi_address_parse(address, 0, &at, &err), &err);
	assert_ok(dgi_connect(&at, dgi_deadline_in(PATIENCE_S * 1000), &fd, &err), &err);
	assert_int_equal(fcntl(fd, F_SETFL, 0), 0);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience), 0);
	return fd;
}

static void add_header(struct chaos_bytes *out, uint16_t type, uint64_t request_id, size_t n)
{
	const struct dgi_frame frame = { .version = DGI_PROTOCOL_VERSION,
					 .type = type,
					 .request_id = request_id,
					 .body_bytes = n };
	uint8_t header[DGI_FRAME_BYTES];

	dgi_frame_encode(&frame, header);
	chaos_bytes_add(out, header, sizeof header);
}

void wire_add_hello(struct chaos_bytes *out, const dg_uuid *session)
{
	struct dgi_hello hello = { .version_min = DGI_PROTOCOL_VERSION,
				   .version_max = DGI_PROTOCOL_VERSION,
				   .part = -1 };
	uint8_t body[DGI_HELLO_BYTES];

	if (session)
		hello.session_uuid = *session;
	dgi_hello_encode(&hello, body);
	add_header(out, DGI_HELLO, 1, sizeof body);
	chaos_bytes_add(out, body, sizeof body);
}

void wire_add_ping(struct chaos_bytes *out, uint64_t request_id)
{
	add_header(out, DGI_PING, request_id, 0);
}

void wire_add_pull(struct chaos_bytes *out, uint64_t request_id, uint32_t tensor, const dg_id *rows,
		   size_t n)
{
	uint8_t prefix[DGI_PREFIX_BYTES];

	dgi_pull_encode(&(struct dgi_pull){ .tensor = tensor, .n = n }, prefix);
	add_header(out, DGI_PULL, request_id, sizeof prefix + n * sizeof *rows);
	chaos_bytes_add(out, prefix, sizeof prefix);
	chaos_bytes_add(out, rows, n * sizeof *rows);
}

void wire_add_push(struct chaos_bytes *out, uint64_t request_id, uint32_t tensor,
		   dg_operation operation, dg_id row, float value, size_t width, uint64_t number)
{
	const struct dgi_push push = { .tensor = tensor,
				       .operation = (uint16_t)operation,
				       .row_bytes = (uint32_t)(width * sizeof value),
				       .n = 1,
				       .number = number,
				       .previous = number ? number - 1 : 0,
				       .floor = number };
	size_t bytes = (size_t)dgi_push_bytes(&push), data_at = dgi_push_data_at(1, 0);
	uint8_t *body = calloc(1, bytes);

	assert_non_null(body);
	dgi_push_encode(&push, body);
	memcpy(body + DGI_PREFIX_BYTES, &row, sizeof row);
	for (size_t i = 0; i < width; i++)
		memcpy(body + data_at + i * sizeof value, &value, sizeof value);
	add_header(out, DGI_PUSH, request_id, bytes);
	chaos_bytes_add(out, body, bytes);
	free(body);
}

void wire_send(int fd, const void *data, size_t n)
{
	assert_int_equal(send(fd, data, n, MSG_NOSIGNAL), n);
}

static bool read_all(int fd, void *out, size_t n)
{
	return recv(fd, out, n, MSG_WAITALL) == (ssize_t)n;
}

bool wire_read(int fd, struct dgi_frame *frame, void *body, size_t room)
{
	uint8_t header[DGI_FRAME_BYTES], sink[512];
	size_t left;
	dg_error err = { 0 };

	if (!read_all(fd, header, sizeof header))
		return false;
	assert_ok(dgi_frame_decode(header, DGI_FRAME_BODY_BYTES_MAX, frame, &err), &err);
	left = (size_t)frame->body_bytes;
	room = room < left ? room : left;
	if (room > 0 && !read_all(fd, body, room))
		return false;
	for (left -= room; left > 0; left -= room) {
		room = left < sizeof sink ? left : sizeof sink;
		if (!read_all(fd, sink, room))
			return false;
	}
	return true;
}
