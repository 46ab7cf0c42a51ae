/* What net/socket.c, net/holder.c and net/poller.c promise, on real sockets of both kinds. */
#include "test.h"

#include "holder.h"
#include "poller.h"
#include "socket.h"
#include "tmpdir.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char *dir;
static struct dgi_address wanted; /* to listen on */

static int set_up_unix(void **state)
{
	(void)state;
	dir = tmpdir_new();
	wanted = (struct dgi_address){ .is_unix = true };
	(void)snprintf(wanted.path, sizeof wanted.path, "%s/s", dir);
	return 0;
}

static int set_up_tcp(void **state)
{
	(void)set_up_unix(state);
	return dgi_address_parse("127.0.0.1:0", 0, &wanted, NULL) == DG_OK ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	tmpdir_remove(dir);
	return 0;
}

static struct dgi_deadline soon(void)
{
	return dgi_deadline_in(10000);
}

static int connected(const struct dgi_listener *l)
{
	dg_error err = { 0 };
	int fd = -1;

	assert_ok(dgi_connect(&l->address, soon(), &fd, &err), &err);
	return fd;
}

static int accepted(const struct dgi_listener *l)
{
	struct pollfd p = { .fd = l->fd, .events = POLLIN };
	dg_error err = { 0 };
	int fd = -1;

	assert_int_equal(poll(&p, 1, 10000), 1);
	assert_ok(dgi_accept(l, &fd, &err), &err);
	assert_true(fd >= 0);
	return fd;
}

static void bytes_pass_between_the_ends(void **state)
{
	struct dgi_listener l;
	dg_error err = { 0 };
	char got[6] = { 0 };
	int none, client, server;
	struct pollfd p;

	(void)state;
	assert_ok(dgi_listen(&wanted, false, &l, &err), &err);
	assert_ok(dgi_accept(&l, &none, &err), &err);
	assert_int_equal(none, -1);
	client = connected(&l);
	server = accepted(&l);
	assert_int_equal(write(client, "hello", 5), 5);
	p = (struct pollfd){ .fd = server, .events = POLLIN };
	assert_int_equal(poll(&p, 1, 10000), 1);
	assert_int_equal(read(server, got, sizeof got), 5);
	assert_string_equal(got, "hello");
	assert_int_equal(read(server, got, sizeof got), -1); /* it does not block */
	(void)close(client);
	(void)close(server);
	dgi_listener_close(&l);
	dgi_listener_close(&l);
}

static void an_address_in_use_is_refused_with_its_holder(void **state)
{
	struct dgi_listener l, second;
	struct dgi_address again;
	char holder[64];
	dg_error err = { 0 };

	(void)state;
	assert_ok(dgi_listen(&wanted, false, &l, &err), &err);
	again = l.address;
	dgi_process_text(getpid(), holder, sizeof holder);
	assert_fails(dgi_listen(&again, false, &second, &err), DG_BUSY, &err, holder);
	assert_non_null(strstr(err.text, "in use"));
	dgi_listener_close(&l);
	assert_ok(dgi_listen(&again, false, &second, &err), &err);
	dgi_listener_close(&second);
}

static void nobody_there_is_told_at_once(void **state)
{
	struct dgi_listener l;
	int64_t begun = dgi_now_ms();
	dg_error err = { 0 };
	dg_status st;
	int fd;

	(void)state;
	assert_ok(dgi_listen(&wanted, false, &l, &err), &err);
	dgi_listener_close(&l);
	st = dgi_connect(&l.address, soon(), &fd, &err);
	assert_int_equal(st, l.address.is_unix ? DG_NOTFOUND : DG_CLOSED);
	assert_true(dgi_now_ms() - begun < 5000);
}

/* Listens in a child process that is then killed: the address of a crashed server. */
static void leave_behind(const struct dgi_address *address)
{
	int tell[2];
	char byte;
	pid_t child;

	assert_int_equal(pipe(tell), 0);
	child = fork();
	if (child == 0) {
		struct dgi_listener l;

		if (dgi_listen(address, false, &l, NULL) == DG_OK)
			(void)!write(tell[1], "x", 1);
		(void)pause();
		_exit(0);
	}
	(void)close(tell[1]);
	assert_int_equal(read(tell[0], &byte, 1), 1);
	(void)close(tell[0]);
	(void)kill(child, SIGKILL);
	(void)waitpid(child, NULL, 0);
}

static void the_socket_of_a_killed_server_is_taken_over(void **state)
{
	struct dgi_listener l;
	dg_error err = { 0 };

	(void)state;
	leave_behind(&wanted);
	assert_int_equal(access(wanted.path, F_OK), 0);
	assert_ok(dgi_listen(&wanted, false, &l, &err), &err);
	(void)close(connected(&l));
	dgi_listener_close(&l);
	assert_int_equal(access(wanted.path, F_OK), -1);
}

static void what_is_no_socket_is_left_alone(void **state)
{
	struct dgi_listener l;
	dg_error err = { 0 };
	FILE *f = fopen(wanted.path, "w");

	(void)state;
	(void)fclose(f);
	assert_fails(dgi_listen(&wanted, false, &l, &err), DG_EXISTS, &err, "is no socket");
	assert_int_equal(access(wanted.path, F_OK), 0);
	(void)snprintf(wanted.path, sizeof wanted.path, "%s/missing/s", dir);
	assert_fails(dgi_listen(&wanted, false, &l, &err), DG_NOTFOUND, &err, "missing/s");
}

static void a_unix_socket_is_for_its_user_alone(void **state)
{
	struct dgi_listener l;
	struct stat st;
	dg_error err = { 0 };
	mode_t mask = umask(0);

	(void)state;
	assert_ok(dgi_listen(&wanted, false, &l, &err), &err);
	(void)umask(mask);
	assert_int_equal(stat(wanted.path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	dgi_listener_close(&l);
}

static void a_closing_server_removes_no_other_servers_socket(void **state)
{
	struct dgi_listener first, second;
	dg_error err = { 0 };

	(void)state;
	assert_ok(dgi_listen(&wanted, false, &first, &err), &err);
	assert_int_equal(unlink(wanted.path), 0);
	assert_ok(dgi_listen(&wanted, false, &second, &err), &err);
	dgi_listener_close(&first);
	(void)close(connected(&second));
	dgi_listener_close(&second);
}

static void a_peer_of_another_user_is_refused(void **state)
{
	struct dgi_listener l;
	dg_error err = { 0 };
	struct pollfd p;
	pid_t child;
	int fd, status;

	(void)state;
	if (geteuid() != 0)
		skip(); /* only root can become another user */
	assert_ok(dgi_listen(&wanted, false, &l, &err), &err);
	assert_int_equal(chmod(dir, 0711), 0);
	assert_int_equal(chmod(wanted.path, 0666), 0); /* the file's mode does not stop it */
	child = fork();
	if (child == 0) {
		int mine;
		dg_error error;

		if (setuid(12345) != 0)
			_exit(3);
		/* The server is root's, which a client accepts; the server must not. */
		_exit(dgi_connect(&wanted, soon(), &mine, &error) == DG_OK ? 0 : 2);
	}
	(void)waitpid(child, &status, 0);
	p = (struct pollfd){ .fd = l.fd, .events = POLLIN };
	assert_int_equal(poll(&p, 1, 10000), 1);
	assert_fails(dgi_accept(&l, &fd, &err), DG_DENIED, &err, "peer is user 12345");
	assert_int_equal(WEXITSTATUS(status), 0);
	dgi_listener_close(&l);
}

static void addresses_that_leave_the_host_must_be_wanted(void **state)
{
	struct dgi_address any = { .host = "0.0.0.0" };
	struct dgi_listener l;
	dg_error err = { 0 };

	(void)state;
	assert_fails(dgi_listen(&any, false, &l, &err), DG_DENIED, &err, "listen on 0.0.0.0:0");
	assert_ok(dgi_listen(&any, true, &l, &err), &err);
	assert_true(l.address.port > 0);
	dgi_listener_close(&l);
}

static int option_of(int fd, int level, int name)
{
	socklen_t n = sizeof(int);
	int value = -1;

	assert_int_equal(getsockopt(fd, level, name, &value, &n), 0);
	return value;
}

static void tcp_sockets_are_tuned_on_both_ends(void **state)
{
	struct dgi_listener l;
	dg_error err = { 0 };
	int ends[2];

	(void)state;
	assert_ok(dgi_listen(&wanted, false, &l, &err), &err);
	ends[0] = connected(&l);
	ends[1] = accepted(&l);
	for (int i = 0; i < 2; i++) {
		char congestion[16] = { 0 };
		socklen_t n = sizeof congestion;

		assert_int_equal(option_of(ends[i], IPPROTO_TCP, TCP_NODELAY), 1);
		assert_int_equal(option_of(ends[i], SOL_SOCKET, SO_KEEPALIVE), 1);
		assert_int_equal(option_of(ends[i], IPPROTO_TCP, TCP_USER_TIMEOUT), 30000);
		assert_int_equal(getsockopt(ends[i], IPPROTO_TCP, TCP_CONGESTION, congestion, &n),
				 0);
		assert_true(strcmp(congestion, "cubic") == 0 || strcmp(congestion, "reno") == 0);
		(void)close(ends[i]);
	}
	dgi_listener_close(&l);
}

static void a_silent_host_is_given_up_at_the_deadline(void **state)
{
	struct dgi_listener l;
	dg_error err = { 0 };
	int fds[4096], n = 0;
	dg_status st = DG_OK;

	(void)state;
	assert_ok(dgi_listen(&wanted, false, &l, &err), &err);
	assert_int_equal(listen(l.fd, 1), 0);
	while (st == DG_OK && n < 8) { /* until the backlog is full: nobody accepts */
		st = dgi_connect(&l.address, dgi_deadline_in(200), &fds[n], &err);
		n += st == DG_OK;
	}
	assert_int_equal(st, DG_TIMEOUT);
	while (n)
		(void)close(fds[--n]);
	dgi_listener_close(&l);
}

static void the_holder_of_a_port_is_found(void **state)
{
	struct dgi_listener l;
	dg_error err = { 0 };
	char text[64];

	(void)state;
	assert_ok(dgi_listen(&wanted, false, &l, &err), &err);
	assert_int_equal(dgi_port_holder(l.address.port), getpid());
	dgi_listener_close(&l);
	assert_int_equal(dgi_port_holder(l.address.port), 0);
	dgi_process_text(0, text, sizeof text);
	assert_string_equal(text, "an unknown process");
}

static void *wake_later(void *poller)
{
	dgi_sleep_ms(20);
	dgi_poller_wake(poller);
	return NULL;
}

static void a_poller_waits_for_events_wake_ups_and_time(void **state)
{
	struct dgi_poller poller;
	struct dgi_listener l;
	dg_error err = { 0 };
	pthread_t thread;
	int64_t begun;
	size_t n;
	int fd;

	(void)state;
	assert_ok(dgi_poller_open(&poller, &err), &err);
	assert_ok(dgi_listen(&wanted, false, &l, &err), &err);
	assert_ok(dgi_poller_add(&poller, l.fd, EPOLLIN, &l, &err), &err);
	assert_ok(dgi_poller_wait(&poller, 10, &n, &err), &err);
	assert_int_equal(n, 0);

	begun = dgi_now_ms();
	assert_int_equal(pthread_create(&thread, NULL, wake_later, &poller), 0);
	assert_ok(dgi_poller_wait(&poller, 10000, &n, &err), &err);
	assert_int_equal(n, 0);
	assert_true(dgi_now_ms() - begun < 5000);
	(void)pthread_join(thread, NULL);

	fd = connected(&l);
	assert_ok(dgi_poller_wait(&poller, 10000, &n, &err), &err);
	assert_int_equal(n, 1);
	assert_ptr_equal(poller.events[0].data.ptr, &l);
	assert_ok(dgi_poller_change(&poller, l.fd, 0, &l, &err), &err);
	assert_ok(dgi_poller_wait(&poller, 10, &n, &err), &err);
	assert_int_equal(n, 0);
	dgi_poller_remove(&poller, l.fd);
	(void)close(fd);
	dgi_listener_close(&l);
	dgi_poller_close(&poller);
	dgi_poller_close(&poller);
}

#define TCP(test) cmocka_unit_test_setup_teardown(test, set_up_tcp, tear_down)
#define UNIX(test) cmocka_unit_test_setup_teardown(test, set_up_unix, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TCP(bytes_pass_between_the_ends),
		UNIX(bytes_pass_between_the_ends),
		TCP(an_address_in_use_is_refused_with_its_holder),
		UNIX(an_address_in_use_is_refused_with_its_holder),
		TCP(nobody_there_is_told_at_once),
		UNIX(nobody_there_is_told_at_once),
		TCP(a_silent_host_is_given_up_at_the_deadline),
		UNIX(a_silent_host_is_given_up_at_the_deadline),
		UNIX(the_socket_of_a_killed_server_is_taken_over),
		UNIX(what_is_no_socket_is_left_alone),
		UNIX(a_unix_socket_is_for_its_user_alone),
		UNIX(a_closing_server_removes_no_other_servers_socket),
		UNIX(a_peer_of_another_user_is_refused),
		TCP(addresses_that_leave_the_host_must_be_wanted),
		TCP(tcp_sockets_are_tuned_on_both_ends),
		TCP(the_holder_of_a_port_is_found),
		TCP(a_poller_waits_for_events_wake_ups_and_time),
		UNIX(a_poller_waits_for_events_wake_ups_and_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
