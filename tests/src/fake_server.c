/* fake_server.c -- a server made of one thread and a table in memory. */
#include "fake_server.h"

#include "address.h"
#include "buffer.h"
#include "message.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define HELD_MAX 4

struct request {
	struct dgi_frame frame;
	uint8_t *body;
};

static bool receive_all(int fd, void *data, size_t n)
{
	char *at = data;

	while (n > 0) {
		ssize_t got = recv(fd, at, n, 0);

		if (got <= 0)
			return false;
		at += got;
		n -= (size_t)got;
	}
	return true;
}

static bool send_all(int fd, const void *data, size_t n)
{
	const char *at = data;

	while (n > 0) {
		ssize_t sent = send(fd, at, n, MSG_NOSIGNAL);

		if (sent <= 0)
			return false;
		at += sent;
		n -= (size_t)sent;
	}
	return true;
}

static bool answer(int fd, const struct request *r, dg_status status, const void *body, size_t n)
{
	struct dgi_frame frame = {
		.version = DGI_PROTOCOL_VERSION,
		.type = r->frame.type,
		.flags = DGI_FRAME_REPLY,
		.status = (uint16_t)status,
		.request_id = r->frame.request_id,
		.body_bytes = n,
	};
	uint8_t header[DGI_FRAME_BYTES];

	dgi_frame_encode(&frame, header);
	return send_all(fd, header, sizeof header) && send_all(fd, body, n);
}

static bool receive_request(int fd, struct request *out)
{
	uint8_t header[DGI_FRAME_BYTES];

	out->body = NULL;
	if (!receive_all(fd, header, sizeof header) ||
	    dgi_frame_decode(header, DGI_FRAME_BODY_BYTES_MAX, &out->frame, NULL) != DG_OK)
		return false;
	out->body = dgi_aligned_alloc(out->frame.body_bytes);
	return receive_all(fd, out->body, out->frame.body_bytes);
}

static bool answer_hello(struct fake_server *s, int fd, const struct request *r)
{
	struct dgi_welcome welcome = {
		.version = DGI_PROTOCOL_VERSION,
		.part = s->part,
		.n_parts = dg_book_n_parts(s->book),
		.cluster_uuid = s->cluster_uuid,
		.store_uuid = s->store_uuid,
		.incarnation = s->incarnation,
		.pid = getpid(),
		.body_bytes_max = DGI_FRAME_BODY_BYTES_MAX,
		.rows_max = s->rows_max ? s->rows_max : DGI_ROWS_MAX,
	};
	uint8_t body[DGI_WELCOME_BYTES];

	dgi_welcome_encode(&welcome, body);
	return answer(fd, r, DG_OK, body, sizeof body);
}

/* Few descriptions at a time, so that the client must ask again. */
static bool answer_describe(struct fake_server *s, int fd, const struct request *r)
{
	uint8_t body[200];
	uint32_t first;
	size_t n;

	if (dgi_describe_decode(r->body, r->frame.body_bytes, &first, NULL) != DG_OK)
		return false;
	n = dgi_described_encode(s->tensors, s->n_tensors, first, body, sizeof body);
	return answer(fd, r, DG_OK, body, n);
}

static bool answer_ping(struct fake_server *s, int fd, const struct request *r)
{
	dg_server_status status = { .store = { .part = s->part, .store_uuid = s->store_uuid },
				    .pid = getpid(),
				    .pulls = s->n_requests };
	uint8_t body[DGI_STATUS_BYTES];

	dgi_status_encode(&status, body);
	return answer(fd, r, DG_OK, body, sizeof body);
}

static dg_id start_of(const struct fake_server *s)
{
	dg_id start, end;

	dg_book_tensor_range(s->book, &s->tensors[0], s->part, &start, &end);
	return start;
}

static bool trickle(int fd, const uint8_t *data, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		(void)nanosleep(&(struct timespec){ .tv_nsec = 2000000 }, NULL);
		if (!send_all(fd, data + i, 1))
			return false;
	}
	return true;
}

static bool answer_pull(struct fake_server *s, int fd, const struct request *r)
{
	size_t row_bytes = s->tensors[0].row_bytes;
	struct dgi_pulled pulled = { .row_bytes = (uint32_t)row_bytes };
	struct dgi_pull pull;
	uint8_t *body;
	bool sent;

	if (dgi_pull_decode(r->body, r->frame.body_bytes, &pull, NULL) != DG_OK)
		return false;
	pulled.n = pull.n - (s->manner == FAKE_SHORT);
	body = malloc(DGI_PREFIX_BYTES + pull.n * row_bytes);
	dgi_pulled_encode(&pulled, body);
	for (size_t i = 0; i < pulled.n; i++)
		memcpy(body + DGI_PREFIX_BYTES + i * row_bytes,
		       s->data + (size_t)(pull.rows[i] - start_of(s)) * row_bytes, row_bytes);
	if (s->manner == FAKE_TRICKLES)
		sent = trickle(fd, body, DGI_PREFIX_BYTES);
	else
		sent = answer(fd, r, DG_OK, body, DGI_PREFIX_BYTES + pulled.n * row_bytes);
	free(body);
	return sent;
}

static bool answer_push(struct fake_server *s, int fd, const struct request *r)
{
	size_t row_bytes = s->tensors[0].row_bytes;
	uint8_t body[DGI_PUSHED_BYTES];
	struct dgi_push push;

	if (dgi_push_decode(r->body, r->frame.body_bytes, &push, NULL) != DG_OK)
		return false;
	for (size_t i = 0; i < push.n; i++)
		memcpy(s->data + (size_t)(push.rows[i] - start_of(s)) * row_bytes,
		       (const char *)push.data + i * row_bytes, row_bytes);
	dgi_pushed_encode(&(struct dgi_pushed){ .log_number = 1 }, body);
	return answer(fd, r, DG_OK, body, sizeof body);
}

static bool answer_rows(struct fake_server *s, int fd, const struct request *r)
{
	static const char full[] = "the disk is full";
	uint8_t garbage[DGI_FRAME_BYTES] = { 'x' };

	if (s->manner == FAKE_GARBAGE)
		return send_all(fd, garbage, sizeof garbage);
	if (s->manner == FAKE_REFUSES)
		return answer(fd, r, DG_FULL, full, sizeof full - 1);
	return r->frame.type == DGI_PUSH ? answer_push(s, fd, r) : answer_pull(s, fd, r);
}

static bool is_mute(const struct fake_server *s)
{
	return s->manner == FAKE_MUTE_ONCE && s->n_connections == 1;
}

/* Requests for rows: answered now, held back for a while, or for ever. */
static bool take_rows(struct fake_server *s, int fd, struct request *r, struct request *held,
		      size_t *n_held)
{
	bool going = true;
	unsigned number = ++s->n_requests;

	if (s->manner == FAKE_SILENT || is_mute(s))
		return true;
	if (s->manner == FAKE_LOSES || (s->manner == FAKE_LOSES_ONCE && number == 2))
		return false;
	if (s->manner != FAKE_REVERSED)
		return answer_rows(s, fd, r);
	held[(*n_held)++] = *r;
	r->body = NULL;
	while (*n_held == HELD_MAX || (going && *n_held > 0 && *n_held < HELD_MAX &&
				       recv(fd, &(char){ 0 }, 1, MSG_PEEK | MSG_DONTWAIT) < 0)) {
		for (; *n_held > 0; --*n_held) {
			going &= answer_rows(s, fd, &held[*n_held - 1]);
			free(held[*n_held - 1].body);
		}
	}
	return going;
}

static bool take(struct fake_server *s, int fd, struct request *r, struct request *held,
		 size_t *n_held)
{
	switch (r->frame.type) {
	case DGI_HELLO:
		return answer_hello(s, fd, r);
	case DGI_DESCRIBE:
		return answer_describe(s, fd, r);
	case DGI_PING:
		return is_mute(s) || answer_ping(s, fd, r);
	default:
		return take_rows(s, fd, r, held, n_held);
	}
}

static void serve(struct fake_server *s, int fd)
{
	struct request held[HELD_MAX];
	size_t n_held = 0;
	bool going = true;

	while (going) {
		struct request r;

		going = receive_request(fd, &r) && take(s, fd, &r, held, &n_held);
		free(r.body);
	}
	while (n_held > 0)
		free(held[--n_held].body);
}

static void *run(void *context)
{
	struct fake_server *s = context;

	for (;;) {
		int fd = accept(s->listener, NULL, NULL);

		if (fd < 0)
			return NULL;
		s->n_connections++;
		s->connection = fd;
		serve(s, fd);
		s->connection = -1;
		(void)close(fd);
	}
}

static int make_data(struct fake_server *s)
{
	size_t row_bytes = s->tensors[0].row_bytes;
	dg_id start, end;

	dg_book_tensor_range(s->book, &s->tensors[0], s->part, &start, &end);
	s->data = calloc((size_t)(end - start) + 1, row_bytes);
	for (dg_id row = start; row < end; row++)
		memset(s->data + (size_t)(row - start) * row_bytes, (int)(row + 1), row_bytes);
	return s->data ? 0 : -1;
}

int fake_server_start(struct fake_server *s)
{
	struct dgi_address address;
	struct dgi_endpoints endpoints;
	struct dgi_endpoint bound = { .bytes = sizeof bound.address };
	const char *wanted = s->address[0] ? s->address : "127.0.0.1:0";

	if (dgi_address_parse(wanted, 0, &address, NULL) != DG_OK ||
	    dgi_address_resolve(&address, dgi_deadline_in(1000), &endpoints, NULL) != DG_OK)
		return -1;
	s->listener = socket(endpoints.at[0].address.ss_family, SOCK_STREAM, 0);
	if (s->listener < 0 ||
	    setsockopt(s->listener, SOL_SOCKET, SO_REUSEADDR, &(int){ 1 }, sizeof(int)) != 0 ||
	    bind(s->listener, (struct sockaddr *)&endpoints.at[0].address, endpoints.at[0].bytes) !=
		    0 ||
	    listen(s->listener, 5) != 0 ||
	    getsockname(s->listener, (struct sockaddr *)&bound.address, &bound.bytes) != 0)
		return -1;
	if (!address.is_unix) {
		char text[DGI_ADDRESS_BYTES];

		dgi_endpoint_address(&bound, &address);
		dgi_address_format(&address, text);
		(void)snprintf(s->address, sizeof s->address, "%.*s", (int)sizeof s->address - 1,
			       text);
	}
	if (!s->data && make_data(s) != 0)
		return -1;
	s->connection = -1;
	return pthread_create(&s->thread, NULL, run, s);
}

void fake_server_stop(struct fake_server *s)
{
	(void)shutdown(s->listener, SHUT_RDWR);
	(void)shutdown(s->connection, SHUT_RDWR);
	(void)pthread_join(s->thread, NULL);
	(void)close(s->listener);
	if (strncmp(s->address, "unix:", 5) == 0)
		(void)unlink(s->address + 5);
}
