/* crowd.c -- many clients that are of no use to a server. */
#include "crowd.h"

#include "harness.h"

#include "message.h"
#include "socket.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_MS 10000
#define LEFT_OVER 16 /* connections that are not the crowd's */
#define TICK_MS 100

/* A client, and how far its request has been sent. */
struct member {
	int fd;
	size_t sent;
};

/* What members send after their hello, again and again. */
struct request {
	uint8_t *bytes;
	size_t n;
};

static void make_frame(uint8_t *out, uint16_t type, size_t body_bytes)
{
	const struct dgi_frame frame = { .version = DGI_PROTOCOL_VERSION,
					 .type = type,
					 .request_id = 1,
					 .body_bytes = body_bytes };

	dgi_frame_encode(&frame, out);
}

static struct request make_push(void)
{
	size_t body = 4096;
	struct request request = { calloc(1, DGI_FRAME_BYTES + body), DGI_FRAME_BYTES + body };

	if (!request.bytes)
		bench_fail("out of memory");
	make_frame(request.bytes, DGI_PUSH, body);
	return request;
}

static int say_hello(const struct dgi_address *address)
{
	const struct dgi_hello hello = { .version_min = DGI_PROTOCOL_VERSION,
					 .version_max = DGI_PROTOCOL_VERSION,
					 .part = -1 };
	struct dgi_deadline deadline = dgi_deadline_in(PATIENCE_MS);
	uint8_t bytes[DGI_FRAME_BYTES + DGI_HELLO_BYTES];
	uint8_t welcome[DGI_FRAME_BYTES + DGI_WELCOME_BYTES];
	size_t have = 0;
	dg_error err = { 0 };
	int fd;

	if (dgi_connect(address, deadline, &fd, &err))
		bench_fail("crowd: %s", err.text);
	make_frame(bytes, DGI_HELLO, DGI_HELLO_BYTES);
	dgi_hello_encode(&hello, bytes + DGI_FRAME_BYTES);
	if (send(fd, bytes, sizeof bytes, MSG_NOSIGNAL) != (ssize_t)sizeof bytes)
		bench_fail("crowd: hello was not taken");
	while (have < sizeof welcome) {
		struct pollfd ready = { .fd = fd, .events = POLLIN };
		ssize_t n = 0;

		if (poll(&ready, 1, dgi_deadline_left_ms(deadline)) == 1)
			n = recv(fd, welcome + have, sizeof welcome - have, 0);
		if (n <= 0)
			bench_fail("crowd: no welcome");
		have += (size_t)n;
	}
	return fd;
}

/* One more byte of a request without end. */
static void go_on(struct member *m, const struct request *request)
{
	if (send(m->fd, request->bytes + m->sent, 1, MSG_NOSIGNAL | MSG_DONTWAIT) == 1)
		m->sent = (m->sent + 1) % request->n;
}

static _Noreturn void be_a_crowd(const struct bench_server *server, enum crowd_manner manner,
				 size_t n, int tell)
{
	struct member *members = calloc(n, sizeof *members);
	struct request push = make_push();
	struct dgi_address address;
	dg_error err = { 0 };

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!members || dgi_address_parse(server->address, 0, &address, &err))
		bench_fail("crowd: %s", err.text);
	for (size_t i = 0; i < n; i++)
		members[i].fd = say_hello(&address);
	if (write(tell, "r", 1) != 1)
		bench_fail("crowd: nobody listens");
	for (;;) {
		for (size_t i = 0; manner == CROWD_SLOW && i < n; i++)
			go_on(&members[i], &push);
		dgi_sleep_ms(TICK_MS);
	}
}

void crowd_start(struct crowd *crowd, const struct bench_server *server, enum crowd_manner manner,
		 size_t n)
{
	int tell[2];
	char byte;

	if (pipe(tell) != 0)
		bench_fail("no pipe");
	(void)fflush(stdout);
	crowd->pid = fork();
	if (crowd->pid == 0)
		be_a_crowd(server, manner, n, tell[1]);
	(void)close(tell[1]);
	if (crowd->pid < 0 || read(tell[0], &byte, 1) != 1)
		bench_fail("the crowd did not come");
	(void)close(tell[0]);
}

static void ask_server(const struct bench_server *server, dg_server_status *status)
{
	dg_error err = { 0 };

	if (dg_server_status_at(server->address, PATIENCE_MS, status, &err))
		bench_fail("%s", err.text);
}

void crowd_stop(struct crowd *crowd, const struct bench_server *server)
{
	struct dgi_deadline deadline = dgi_deadline_in(PATIENCE_MS);
	dg_server_status status;

	(void)kill(crowd->pid, SIGKILL);
	(void)waitpid(crowd->pid, NULL, 0);
	do {
		ask_server(server, &status);
		if (dgi_deadline_passed(deadline))
			bench_fail("the crowd does not go");
	} while (status.connections > LEFT_OVER);
}
