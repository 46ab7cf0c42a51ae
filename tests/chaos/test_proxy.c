/* The proxy as a process between real sockets does what it is told. */
#include "test.h"

#include "deadline.h"
#include "frame.h"
#include "network.h"
#include "socket.h"
#include "tmpdir.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/* Both ends of a connection through a proxy: the client's socket and the server's. */
struct scene {
	char *dir;
	struct dgi_listener listener;
	struct network network;
	int client, server;
};

static void connect_through(struct scene *s)
{
	struct dgi_address at;
	struct dgi_deadline deadline = dgi_deadline_in(5000);
	dg_error err = { 0 };

	assert_ok(dgi_address_parse(s->network.address, 0, &at, &err), &err);
	assert_ok(dgi_connect(&at, deadline, &s->client, &err), &err);
	s->server = -1;
	while (s->server < 0 && !dgi_deadline_passed(deadline)) {
		assert_ok(dgi_accept(&s->listener, &s->server, &err), &err);
		dgi_sleep_ms(1);
	}
	assert_true(s->server >= 0);
}

static void begin(struct scene *s, bool tcp, const char *const *options)
{
	char text[DGI_ADDRESS_BYTES], front[DGI_ADDRESS_BYTES];
	struct dgi_address at;
	dg_error err = { 0 };

	s->dir = tmpdir_new();
	(void)snprintf(text, sizeof text, tcp ? "127.0.0.1:0" : "unix:%s/back", s->dir);
	(void)snprintf(front, sizeof front, tcp ? "127.0.0.1:0" : "unix:%s/front", s->dir);
	assert_ok(dgi_address_parse(text, 0, &at, &err), &err);
	assert_ok(dgi_listen(&at, false, &s->listener, &err), &err);
	dgi_address_format(&s->listener.address, text);
	network_start(&s->network, front, text, options);
	connect_through(s);
}

static void end(struct scene *s, const char *wanted_counts)
{
	char counts[300];

	(void)close(s->client);
	(void)close(s->server);
	network_stop(&s->network, counts, sizeof counts);
	if (!strstr(counts, wanted_counts))
		fail_msg("'%s' does not contain '%s'", counts, wanted_counts);
	dgi_listener_close(&s->listener);
	tmpdir_remove(s->dir);
}

/* Bytes read within @wait_ms, at most @size; -1: a reset; *ended: the end of the stream. */
static ssize_t read_for(int fd, char *out, size_t size, int wait_ms, bool *ended)
{
	struct dgi_deadline deadline = dgi_deadline_in(wait_ms);
	struct pollfd ready = { .fd = fd, .events = POLLIN };
	size_t have = 0;

	*ended = false;
	while (have < size && poll(&ready, 1, dgi_deadline_left_ms(deadline)) == 1) {
		ssize_t n = recv(fd, out + have, size - have, 0);

		if (n < 0)
			return -1;
		*ended = n == 0;
		if (*ended)
			break;
		have += (size_t)n;
	}
	return (ssize_t)have;
}

enum { BODY = 40, FRAME = DGI_FRAME_BYTES + BODY };

static void send_frame(int fd)
{
	const struct dgi_frame frame = {
		.version = DGI_PROTOCOL_VERSION, .type = 4, .request_id = 9, .body_bytes = BODY
	};
	uint8_t bytes[FRAME] = { 0 };

	dgi_frame_encode(&frame, bytes);
	bytes[FRAME - 1] = 77;
	assert_int_equal(send(fd, bytes, FRAME, MSG_NOSIGNAL), FRAME);
}

static void expect_frame(int fd)
{
	char found[FRAME];
	bool ended;

	assert_int_equal(read_for(fd, found, FRAME, 5000, &ended), FRAME);
	assert_int_equal(found[FRAME - 1], 77);
}

static void expect_nothing(int fd)
{
	char byte;
	bool ended;

	assert_int_equal(read_for(fd, &byte, 1, 50, &ended), 0);
	assert_false(ended);
}

static void bytes_and_ends_pass_both_ways(void **state)
{
	(void)state;
	for (int tcp = 0; tcp < 2; tcp++) {
		struct scene s;
		char byte;
		bool ended;

		begin(&s, tcp, NULL);
		send_frame(s.client);
		expect_frame(s.server);
		send_frame(s.server);
		expect_frame(s.client);
		assert_int_equal(shutdown(s.client, SHUT_WR), 0);
		assert_int_equal(read_for(s.server, &byte, 1, 5000, &ended), 0);
		assert_true(ended);
		send_frame(s.server); /* the other way is open */
		expect_frame(s.client);
		end(&s, "1 connections");
	}
}

static void what_is_blocked_comes_when_it_is_opened(void **state)
{
	struct scene s;

	(void)state;
	begin(&s, true, NULL);
	assert_int_equal(network_command(&s.network, "block-up"), 1);
	send_frame(s.client);
	send_frame(s.server);
	expect_frame(s.client);
	expect_nothing(s.server);
	(void)network_command(&s.network, "open");
	expect_frame(s.server);
	(void)network_command(&s.network, "block");
	send_frame(s.server);
	expect_nothing(s.client);
	(void)network_command(&s.network, "open");
	expect_frame(s.client);
	end(&s, "1 connections");
}

static void a_cut_resets_both_ends(void **state)
{
	struct scene s;
	char byte;
	bool ended;

	(void)state;
	begin(&s, true, NULL);
	send_frame(s.client);
	expect_frame(s.server);
	assert_int_equal(network_command(&s.network, "cut"), 1);
	assert_int_equal(read_for(s.client, &byte, 1, 5000, &ended), -1);
	assert_int_equal(errno, ECONNRESET);
	assert_int_equal(read_for(s.server, &byte, 1, 5000, &ended), -1);
	(void)close(s.client);
	(void)close(s.server);
	connect_through(&s);
	send_frame(s.client);
	expect_frame(s.server);
	end(&s, "2 connections");
}

/* Frames until the connection ends for the receiver; returns the bytes that came. */
static size_t send_until_the_end(struct scene *s, bool *by_reset, bool *silent)
{
	size_t received = 0;
	char buffer[4 * FRAME];

	*silent = false;
	for (int i = 0; i < 200; i++) {
		bool ended;
		ssize_t n;

		send_frame(s->client);
		n = read_for(s->server, buffer, FRAME, 100, &ended);
		*by_reset = n < 0;
		if (n > 0)
			received += (size_t)n;
		*silent = n >= 0 && n < FRAME && !ended;
		if (n < FRAME)
			return received;
	}
	fail_msg("no fault within 200 frames");
	return 0;
}

static void a_fault_ends_the_connection_within_a_frame(const char *fault, uint64_t seed)
{
	char seed_text[30];
	struct scene s;
	bool by_reset, silent, ended;
	char byte;

	(void)snprintf(seed_text, sizeof seed_text, "%d", (int)seed);
	begin(&s, true,
	      (const char *const[]){ "--faults", fault, "--every-bytes", "1000", "--seed",
				     seed_text, "--stall-ms", "1000", NULL });
	(void)send_until_the_end(&s, &by_reset, &silent);
	if (!strcmp(fault, "one-way")) { /* nobody is told, until both are */
		assert_true(silent || by_reset);
		assert_int_equal(read_for(s.server, &byte, 1, 5000, &ended), by_reset ? 0 : -1);
	} else {
		assert_false(silent);
	}
	end(&s, fault);
}

static void connections_end_as_the_seed_says(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 5; seed++) {
		a_fault_ends_the_connection_within_a_frame("cut", seed);
		a_fault_ends_the_connection_within_a_frame("half-close", seed);
		a_fault_ends_the_connection_within_a_frame("one-way", seed);
	}
}

static void delayed_bytes_come_late_and_whole(void **state)
{
	struct scene s;
	int64_t begun = dgi_now_ms();

	(void)state;
	begin(&s, true,
	      (const char *const[]){ "--faults", "delay", "--every-bytes", "200", "--delay-ms",
				     "20", NULL });
	for (int i = 0; i < 50; i++) {
		send_frame(s.client);
		expect_frame(s.server);
	}
	assert_true(dgi_now_ms() - begun > 50);
	end(&s, "delay");
}

static void without_a_server_the_client_is_told_at_once(void **state)
{
	struct network network;
	struct dgi_address at;
	char nobody[100], counts[200], byte;
	dg_error err = { 0 };
	bool ended;
	int fd;

	(void)state;
	network_free_address(nobody, sizeof nobody);
	network_start(&network, "127.0.0.1:0", nobody, NULL);
	assert_ok(dgi_address_parse(network.address, 0, &at, &err), &err);
	/* Reset while it connects, or as soon as it has. */
	if (dgi_connect(&at, dgi_deadline_in(5000), &fd, &err) == DG_OK) {
		assert_int_equal(read_for(fd, &byte, 1, 5000, &ended), -1);
		(void)close(fd);
	} else {
		assert_int_equal(err.status, DG_CLOSED);
	}
	network_stop(&network, counts, sizeof counts);
	assert_non_null(strstr(counts, "0 connections"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_and_ends_pass_both_ways),
		cmocka_unit_test(what_is_blocked_comes_when_it_is_opened),
		cmocka_unit_test(a_cut_resets_both_ends),
		cmocka_unit_test(connections_end_as_the_seed_says),
		cmocka_unit_test(delayed_bytes_come_late_and_whole),
		cmocka_unit_test(without_a_server_the_client_is_told_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
