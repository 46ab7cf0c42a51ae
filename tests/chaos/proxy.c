/*
 * proxy.c -- a bad network as a process: takes connections at one address, makes one to another
 * for each, and carries bytes both ways with faults drawn from a seed (stream.h).
 *
 *   chaos_proxy LISTEN TARGET [--seed N] [--faults NAME,…] [--every-bytes N] [--every-frames N]
 *               [--delay-ms N] [--stall-ms N]
 *
 * Prints "ready ADDRESS". Then each line on stdin is a command, answered by "ok N", N being the
 * number of connections there were:
 *
 *   block, block-up, block-down   nothing passes (towards the server, towards the client)
 *   open                          it does again
 *   cut                           all connections are reset
 *   faults NAME,… or none         draws these from now on, on new connections
 *
 * It ends at the end of stdin, with a line of how many faults of each kind there were.
 */
#include "stream.h"

#include "deadline.h"
#include "frame.h"
#include "socket.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONNECTIONS_MAX 2048
#define READ_BYTES 65536
#define CONNECT_MS 2000
#define TICK_MS 1000

enum direction { UP, DOWN }; /* from the client, from the server */

/* One direction of a connection. */
struct way {
	struct chaos_stream stream;
	struct chaos_bytes raw;	  /* read, not yet looked at */
	struct chaos_bytes ready; /* to be written */
	int64_t held_until_ms;	  /* until when nothing is looked at */
	bool source_ended;
	bool sink_ended; /* the other side has been told of the end */
	bool is_silent;	 /* what still comes goes nowhere */
};

struct connection {
	int fds[2]; /* the client's, the server's */
	struct way ways[2];
	int64_t ends_ms; /* reset then; 0: not so far */
	bool is_cut;	 /* reset or closed once what is ready has been written */
	bool by_reset;
};

static struct proxy {
	struct dgi_listener listener;
	struct dgi_address target;
	struct chaos_plan plan;
	int64_t delay_ms, stall_ms;
	bool is_blocked[2];
	struct connection *connections[CONNECTIONS_MAX];
	size_t n;
	uint64_t n_ever;
	uint64_t counts[CHAOS_FAULTS];
	char command[256];
	size_t command_bytes;
	bool is_done;
} proxy;

static _Noreturn void die(const char *what, const char *why)
{
	(void)fprintf(stderr, "chaos_proxy: %s: %s\n", what, why);
	exit(2);
}

/* --- Connections --- */

static void reset_at_close(int fd)
{
	const struct linger at_once = { .l_onoff = 1 };

	(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

static void end_connection(size_t i, bool by_reset)
{
	struct connection *c = proxy.connections[i];

	for (int side = 0; side < 2; side++) {
		struct way *way = &c->ways[side];

		if (by_reset)
			reset_at_close(c->fds[side]);
		(void)close(c->fds[side]);
		for (int f = 0; f < CHAOS_FAULTS; f++)
			proxy.counts[f] += way->stream.counts[f];
		chaos_stream_clear(&way->stream);
		free(way->raw.data);
		free(way->ready.data);
	}
	free(c);
	proxy.connections[i] = proxy.connections[--proxy.n];
}

static void accept_one(void)
{
	struct connection *c;
	dg_error err = { 0 };
	int client = -1, server = -1;

	if (dgi_accept(&proxy.listener, &client, &err) != DG_OK || client < 0)
		return;
	if (proxy.n == CONNECTIONS_MAX ||
	    dgi_connect(&proxy.target, dgi_deadline_in(CONNECT_MS), &server, &err) != DG_OK) {
		reset_at_close(client); /* nobody there: the client learns so */
		(void)close(client);
		return;
	}
	c = calloc(1, sizeof *c);
	if (!c)
		die("connection", "out of memory");
	c->fds[UP] = client;
	c->fds[DOWN] = server;
	for (unsigned way = 0; way < 2; way++)
		chaos_stream_init(&c->ways[way].stream, &proxy.plan, proxy.n_ever * 2 + way);
	proxy.n_ever++;
	proxy.connections[proxy.n++] = c;
}

/* --- Bytes --- */

static int64_t draw_ms(struct way *way, int64_t most)
{
	return 1 + (int64_t)dgi_rng_below(&way->stream.rng, (uint64_t)most);
}

static void commit_fault(struct connection *c, struct way *way, enum chaos_fault fault)
{
	int64_t now_ms = dgi_now_ms();

	if (fault == CHAOS_DELAY) {
		way->held_until_ms = now_ms + draw_ms(way, proxy.delay_ms);
	} else if (fault == CHAOS_CUT) {
		c->is_cut = true;
		c->by_reset = dgi_rng_below(&way->stream.rng, 2);
	} else {
		way->is_silent = true;
		way->source_ended = fault == CHAOS_HALF_CLOSE;
		c->ends_ms = now_ms + draw_ms(way, proxy.stall_ms);
	}
}

/* Lets what was read pass the stream, as far as there is no delay. */
static void look(struct connection *c, struct way *way)
{
	while (way->raw.n > 0 && way->ready.n < READ_BYTES && !c->is_cut && !way->is_silent &&
	       dgi_now_ms() >= way->held_until_ms) {
		enum chaos_fault fault;

		chaos_bytes_drop(&way->raw, chaos_stream_take(&way->stream, way->raw.data,
							      way->raw.n, &way->ready, &fault));
		if (fault != CHAOS_FAULTS)
			commit_fault(c, way, fault);
	}
	if (way->is_silent)
		way->raw.n = 0;
}

/* False: the connection is broken. */
static bool read_some(struct connection *c, enum direction from)
{
	static uint8_t buffer[READ_BYTES];
	struct way *way = &c->ways[from];
	ssize_t n = recv(c->fds[from], buffer, sizeof buffer, MSG_DONTWAIT);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	if (n == 0)
		way->source_ended = true;
	chaos_bytes_add(&way->raw, buffer, (size_t)n);
	return true;
}

static bool write_some(struct connection *c, enum direction from)
{
	struct way *way = &c->ways[from];
	int to = c->fds[!from];
	ssize_t n = 0;

	if (way->ready.n > 0)
		n = send(to, way->ready.data, way->ready.n, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (n < 0 && errno != EAGAIN && errno != EINTR)
		return false;
	if (n > 0)
		chaos_bytes_drop(&way->ready, (size_t)n);
	if (way->source_ended && !way->sink_ended && way->raw.n == 0 && way->ready.n == 0) {
		/* A stream that ends within a header ends there. */
		if (!way->is_silent && way->stream.frame.n < DGI_FRAME_BYTES)
			(void)!send(to, way->stream.frame.data, way->stream.frame.n,
				    MSG_DONTWAIT | MSG_NOSIGNAL);
		(void)shutdown(to, SHUT_WR);
		way->sink_ended = true;
	}
	return true;
}

/* Does what can be done for connection @i; it may be gone afterwards. */
static void serve(size_t i, const struct pollfd *fds)
{
	struct connection *c = proxy.connections[i];
	bool sound = !c->ends_ms || dgi_now_ms() < c->ends_ms;

	for (int from = UP; sound && from <= DOWN; from++) {
		struct way *way = &c->ways[from];

		if (proxy.is_blocked[from])
			continue;
		if (fds[from].revents & (POLLIN | POLLHUP | POLLERR) && way->raw.n < READ_BYTES &&
		    !way->source_ended)
			sound = read_some(c, (enum direction)from);
		look(c, way);
		sound = sound && write_some(c, (enum direction)from);
	}
	if (!sound)
		end_connection(i, true);
	else if (c->is_cut && c->ways[UP].ready.n + c->ways[DOWN].ready.n == 0)
		end_connection(i, c->by_reset);
	else if (c->ways[UP].sink_ended && c->ways[DOWN].sink_ended)
		end_connection(i, false);
}

/* What to wait for, and how long at most. */
static int watch(const struct connection *c, struct pollfd fds[2], int wait_ms)
{
	int64_t now_ms = dgi_now_ms(), until_ms = now_ms + wait_ms;

	fds[UP] = (struct pollfd){ .fd = c->fds[UP] };
	fds[DOWN] = (struct pollfd){ .fd = c->fds[DOWN] };
	if (c->ends_ms && c->ends_ms < until_ms)
		until_ms = c->ends_ms;
	for (int from = UP; from <= DOWN; from++) {
		const struct way *way = &c->ways[from];

		if (proxy.is_blocked[from])
			continue;
		if (way->raw.n < READ_BYTES && !way->source_ended)
			fds[from].events |= POLLIN;
		if (way->ready.n > 0)
			fds[!from].events |= POLLOUT;
		if (way->raw.n > 0 && way->held_until_ms > now_ms && way->held_until_ms < until_ms)
			until_ms = way->held_until_ms;
	}
	for (int side = 0; side < 2; side++)
		if (!fds[side].events)
			fds[side].fd = -1; /* poll() would report its end for ever */
	return until_ms > now_ms ? (int)(until_ms - now_ms) : 0;
}

/* --- Commands --- */

static void obey(const char *command)
{
	size_t n = proxy.n;

	if (!strncmp(command, "block", 5)) {
		proxy.is_blocked[UP] |= strcmp(command, "block-down") != 0;
		proxy.is_blocked[DOWN] |= strcmp(command, "block-up") != 0;
	} else if (!strcmp(command, "open")) {
		proxy.is_blocked[UP] = proxy.is_blocked[DOWN] = false;
	} else if (!strcmp(command, "cut")) {
		while (proxy.n > 0)
			end_connection(proxy.n - 1, true);
	} else if (!strcmp(command, "faults none")) {
		proxy.plan.faults = 0;
	} else if (strncmp(command, "faults ", 7) != 0 ||
		   !chaos_faults_parse(command + 7, &proxy.plan.faults)) {
		die("no such command", command);
	}
	(void)printf("ok %zu\n", n);
	(void)fflush(stdout);
}

static void read_commands(void)
{
	char c;

	if (read(STDIN_FILENO, &c, 1) != 1) {
		proxy.is_done = true;
	} else if (c == '\n') {
		proxy.command[proxy.command_bytes] = '\0';
		proxy.command_bytes = 0;
		obey(proxy.command);
	} else if (proxy.command_bytes + 1 < sizeof proxy.command) {
		proxy.command[proxy.command_bytes++] = c;
	}
}

static void print_counts(void)
{
	while (proxy.n > 0)
		end_connection(proxy.n - 1, true);
	(void)printf("%" PRIu64 " connections", proxy.n_ever);
	for (int f = 0; f < CHAOS_FAULTS; f++)
		if (proxy.counts[f])
			(void)printf(", %" PRIu64 " %s", proxy.counts[f],
				     chaos_fault_name((enum chaos_fault)f));
	(void)printf("\n");
	(void)fflush(stdout);
}

/* --- The whole --- */

static void run(void)
{
	static struct pollfd fds[2 + 2 * CONNECTIONS_MAX];

	while (!proxy.is_done) {
		size_t n = proxy.n;
		int wait_ms = TICK_MS;

		fds[0] = (struct pollfd){ .fd = STDIN_FILENO, .events = POLLIN };
		fds[1] = (struct pollfd){ .fd = proxy.listener.fd, .events = POLLIN };
		for (size_t i = 0; i < n; i++)
			wait_ms = watch(proxy.connections[i], &fds[2 + 2 * i], wait_ms);
		if (poll(fds, 2 + 2 * n, wait_ms) < 0 && errno != EINTR)
			die("poll", strerror(errno));
		for (size_t i = n; i-- > 0;) /* from behind: the last one takes a gap */
			serve(i, &fds[2 + 2 * i]);
		if (fds[1].revents)
			accept_one();
		if (fds[0].revents)
			read_commands();
	}
}

static uint64_t number_of(const char *text)
{
	char *end;
	uint64_t value = text ? strtoull(text, &end, 10) : 0;

	if (!text || *end || end == text)
		die("no number", text ? text : "nothing");
	return value;
}

static void read_option(const char *name, const char *value)
{
	if (!strcmp(name, "--seed"))
		proxy.plan.seed = number_of(value);
	else if (!strcmp(name, "--every-bytes"))
		proxy.plan.every_bytes = number_of(value);
	else if (!strcmp(name, "--every-frames"))
		proxy.plan.every_frames = number_of(value);
	else if (!strcmp(name, "--delay-ms"))
		proxy.delay_ms = (int64_t)number_of(value);
	else if (!strcmp(name, "--stall-ms"))
		proxy.stall_ms = (int64_t)number_of(value);
	else if (strcmp(name, "--faults") != 0 || !value ||
		 !chaos_faults_parse(value, &proxy.plan.faults))
		die("no such option or fault", name);
}

int main(int argc, char **argv)
{
	struct dgi_address at;
	char text[DGI_ADDRESS_BYTES];
	dg_error err = { 0 };

	proxy.delay_ms = proxy.stall_ms = 100;
	if (argc < 3)
		die("wanted", "LISTEN TARGET [option…]");
	for (int i = 3; i < argc; i += 2)
		read_option(argv[i], argv[i + 1]);
	if (dgi_address_parse(argv[1], 0, &at, &err) ||
	    dgi_address_parse(argv[2], 0, &proxy.target, &err) ||
	    dgi_listen(&at, false, &proxy.listener, &err))
		die("address", err.text);
	dgi_address_format(&proxy.listener.address, text);
	(void)printf("ready %s\n", text);
	(void)fflush(stdout);
	run();
	print_counts();
	dgi_listener_close(&proxy.listener);
	return 0;
}
