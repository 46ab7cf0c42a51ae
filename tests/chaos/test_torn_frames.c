/* Frames that come in pieces, torn at every byte, and frames that never come to their end. */
#include "test.h"

#include "deadline.h"
#include "network.h"
#include "tmpdir.h"
#include "wire.h"

#include <linux/sockios.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum { N_NODES = 100, WIDTH = 4, ROW_BYTES = WIDTH * sizeof(float) };

struct scene {
	char *dir, *cluster, *address;
	struct process server;
	uint32_t tensor;
	float value; /* of the last push */
};

static const dg_id rows[] = { 7, 3, 7 };

/* What a client says in one go: it sets row 3, after which it pulls. */
static void say(struct scene *s, struct chaos_bytes *out)
{
	wire_add_hello(out, NULL);
	wire_add_ping(out, 2);
	wire_add_push(out, 3, s->tensor, DG_OP_ASSIGN, 3, ++s->value, WIDTH, 0);
	wire_add_pull(out, 4, s->tensor, rows, 3);
}

static int set_up(void **state)
{
	struct scene *s = calloc(1, sizeof *s);
	dg_client *client;
	dg_tensor_info feat;
	dg_error err = { 0 };
	char path[300];

	s->dir = tmpdir_new();
	s->cluster = cluster_make(s->dir, "ring", N_NODES, 1, WIDTH);
	(void)snprintf(path, sizeof path, "unix:%s/s", s->dir);
	s->address = strdup(path);
	server_start_at(&s->server, s->cluster, 0, s->address);
	assert_ok(dg_client_open(s->cluster, NULL, &client, &err), &err);
	assert_ok(dg_client_find(client, "feat", &feat, &err), &err);
	s->tensor = feat.id;
	dg_client_close(client);
	*state = s;
	return 0;
}

static int tear_down(void **state)
{
	struct scene *s = *state;

	process_signal(&s->server, SIGTERM);
	assert_int_equal(process_wait(&s->server), 0); /* it has lived through all of it */
	tmpdir_remove(s->dir);
	free(s->cluster);
	free(s->address);
	free(s);
	return 0;
}

/* Answers to all four requests, in any order but for the hello's. */
static void expect_answers(const struct scene *s, int fd)
{
	unsigned seen = 0;

	for (int i = 0; i < 4; i++) {
		struct dgi_frame frame;
		uint8_t body[DGI_PREFIX_BYTES + 3 * ROW_BYTES];
		float value;

		assert_true(wire_read(fd, &frame, body, sizeof body));
		assert_int_equal(frame.status, DG_OK);
		assert_true(i > 0 || frame.request_id == 1);
		seen |= 1U << frame.request_id;
		if (frame.request_id != 4)
			continue;
		assert_int_equal(frame.body_bytes, sizeof body);
		memcpy(&value, body + DGI_PREFIX_BYTES + ROW_BYTES, sizeof value);
		/* The pull does not wait for the push: row 3 is as it was, or as it is. */
		assert_true(value == s->value || value == s->value - 1);
	}
	assert_int_equal(seen, 1 << 1 | 1 << 2 | 1 << 3 | 1 << 4);
}

/* Until the server has read what was sent. */
static void wait_until_read(int fd)
{
	struct dgi_deadline deadline = dgi_deadline_in(10000);
	int unread = 1;

	while (unread > 0) {
		assert_int_equal(ioctl(fd, SIOCOUTQ, &unread), 0);
		assert_false(dgi_deadline_passed(deadline));
	}
}

static void frames_may_be_split_at_every_byte(void **state)
{
	struct scene *s = *state;
	size_t n = SIZE_MAX;

	for (size_t at = 1; at < n; at++) {
		struct chaos_bytes said = { 0 };
		int fd = wire_open(s->address);

		say(s, &said);
		n = said.n;
		wire_send(fd, said.data, at);
		wait_until_read(fd);
		wire_send(fd, said.data + at, said.n - at);
		expect_answers(s, fd);
		(void)close(fd);
		free(said.data);
	}
	assert_true(n > 500 && n < 1000); /* all of them were tried */
}

static void frames_may_come_byte_by_byte(void **state)
{
	struct scene *s = *state;

	for (int i = 0; i < 20; i++) {
		struct chaos_bytes said = { 0 };
		int fd = wire_open(s->address);

		say(s, &said);
		for (size_t at = 0; at < said.n; at++)
			wire_send(fd, said.data + at, 1);
		expect_answers(s, fd);
		(void)close(fd);
		free(said.data);
	}
}

/* The server answers what came whole and thinks no more of the rest. */
static void a_stream_may_end_at_every_byte(void **state)
{
	struct scene *s = *state;
	struct chaos_bytes said = { 0 };
	int fd;

	say(s, &said);
	for (size_t at = 0; at < said.n; at++) {
		struct dgi_frame frame;
		char body[512];
		int n = 0;

		fd = wire_open(s->address);
		wire_send(fd, said.data, at);
		if (at % 2)
			assert_int_equal(shutdown(fd, SHUT_WR), 0);
		else
			wait_until_read(fd);
		if (at % 2) { /* half-closed: the answers come, then the end */
			while (wire_read(fd, &frame, body, sizeof body)) {
				assert_int_equal(frame.status, DG_OK);
				n++;
			}
			assert_in_range(n, 0, 4);
			assert_true(n > 0 || at < 2 * DGI_FRAME_BYTES + DGI_HELLO_BYTES);
		}
		(void)close(fd);
	}
	free(said.data);
	said = (struct chaos_bytes){ 0 };
	say(s, &said);
	fd = wire_open(s->address);
	wire_send(fd, said.data, said.n);
	expect_answers(s, fd);
	(void)close(fd);
	free(said.data);
}

/* One byte of one header is not what it was: a reason, then the end, for every byte and bit. */
static void every_damaged_byte_of_a_header_ends_the_connection_with_a_reason(void **state)
{
	struct scene *s = *state;
	struct chaos_bytes hello = { 0 }, ping = { 0 };

	wire_add_hello(&hello, NULL);
	wire_add_ping(&ping, 2);
	for (size_t at = 0; at < DGI_FRAME_BYTES; at++)
		for (int bit = 0; bit < 8; bit++) {
			struct dgi_frame frame;
			char text[512] = { 0 };
			int fd = wire_open(s->address);

			wire_send(fd, hello.data, hello.n);
			assert_true(wire_read(fd, &frame, text, sizeof text));
			ping.data[at] ^= (uint8_t)(1 << bit);
			wire_send(fd, ping.data, ping.n);
			ping.data[at] ^= (uint8_t)(1 << bit);
			assert_true(wire_read(fd, &frame, text, sizeof text - 1));
			assert_int_equal(frame.request_id, 0);
			assert_true(frame.status == DG_PROTO || frame.status == DG_VERSION);
			assert_true(text[0] != '\0');
			assert_false(wire_read(fd, &frame, text, sizeof text));
			(void)close(fd);
		}
	free(hello.data);
	free(ping.data);
}

/* Through a proxy that damages headers: the client sees errors or right rows, never wrong ones. */
static void a_damaged_stream_never_gives_wrong_rows(void **state)
{
	struct scene *s = *state;
	struct network network;
	const char *addresses[1];
	const dg_client_options options = { .addresses = addresses,
					    .n_addresses = 1,
					    .timeout_ms = 5000 };
	dg_client *client;
	dg_tensor_info feat;
	dg_id id[200];
	int64_t found[200];
	char counts[300];
	int n_failed = 0;
	dg_error err = { 0 };

	network_start(&network, "127.0.0.1:0", s->address,
		      (const char *const[]){ "--faults", "drop,duplicate,reorder", "--every-frames",
					     "10", NULL });
	addresses[0] = network.address;
	assert_ok(dg_client_open(s->cluster, &options, &client, &err), &err);
	for (int i = 0; i < 300; i++) {
		size_t n = 2 + (size_t)i % 50;
		dg_status st;

		for (size_t j = 0; j < n; j++)
			id[j] = (dg_id)((size_t)i * 7 + j * 3) % N_NODES;
		st = dg_client_find(client, "feat", &feat, &err);
		if (!st)
			st = dg_client_to_original(client, DG_NODE, 0, id, n, found, &err);
		if (!st)
			st = dg_client_to_internal(client, DG_NODE, 0, found, n, found, &err);
		n_failed += st != DG_OK;
		for (size_t j = 0; !st && j < n; j++)
			assert_int_equal(found[j], id[j]);
	}
	dg_client_close(client);
	network_stop(&network, counts, sizeof counts);
	printf("%d of 300 failed; %s\n", n_failed, counts);
	assert_non_null(strstr(counts, "drop"));
	assert_true(n_failed < 150);
}

#define scene_test(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		scene_test(frames_may_be_split_at_every_byte),
		scene_test(frames_may_come_byte_by_byte),
		scene_test(a_stream_may_end_at_every_byte),
		scene_test(every_damaged_byte_of_a_header_ends_the_connection_with_a_reason),
		scene_test(a_damaged_stream_never_gives_wrong_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
