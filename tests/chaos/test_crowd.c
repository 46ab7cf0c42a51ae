/* Crowds: a thousand clients, slow ones and deaf ones beside good ones, and no descriptors left. */
#include "test.h"

#include "deadline.h"
#include "network.h"
#include "tmpdir.h"
#include "wire.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum { N_NODES = 20000, WIDTH = 16, PULL_ROWS = 200, GOOD = 3, CROWD = 1000, DEAF = 50 };

struct scene {
	char *dir, *cluster, *address;
	struct process server;
	dg_tensor_info feat;
};

static dg_client *open_client(const struct scene *s, const char *address)
{
	const dg_client_options options = { .addresses = &address,
					    .n_addresses = 1,
					    .timeout_ms = 20000 };
	dg_client *client;
	dg_error err = { 0 };

	assert_ok(dg_client_open(s->cluster, &options, &client, &err), &err);
	return client;
}

static int set_up(void **state)
{
	struct scene *s = calloc(1, sizeof *s);
	struct rlimit limit;
	dg_client *client;
	dg_error err = { 0 };
	char path[300];

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &limit);
	}
	s->dir = tmpdir_new();
	s->cluster = cluster_make(s->dir, "ring", N_NODES, 1, WIDTH);
	(void)snprintf(path, sizeof path, "unix:%s/s", s->dir);
	s->address = strdup(path);
	server_start_at(&s->server, s->cluster, 0, s->address);
	client = open_client(s, s->address);
	assert_ok(dg_client_find(client, "feat", &s->feat, &err), &err);
	dg_client_close(client);
	*state = s;
	return 0;
}

static int tear_down(void **state)
{
	struct scene *s = *state;

	process_signal(&s->server, SIGTERM);
	assert_int_equal(process_wait(&s->server), 0);
	tmpdir_remove(s->dir);
	free(s->cluster);
	free(s->address);
	free(s);
	return 0;
}

/* --- Good clients, each in a thread --- */

struct good {
	const struct scene *scene;
	pthread_t thread;
	_Atomic bool stop, failed;
	_Atomic uint64_t n_done;
	dg_id first; /* of the rows that are its own */
	float value; /* that it pushed last */
	dg_error err;
};

/* Pushes to rows of its own and pulls them again. */
static dg_status push_and_pull(struct good *g, dg_client *client)
{
	dg_id rows[PULL_ROWS];
	float data[PULL_ROWS][WIDTH], found[PULL_ROWS][WIDTH];
	dg_status st;

	for (size_t i = 0; i < PULL_ROWS; i++) {
		rows[i] = g->first + (dg_id)i;
		for (size_t j = 0; j < WIDTH; j++)
			data[i][j] = g->value + (float)i;
	}
	st = dg_client_push(client, &g->scene->feat, rows, PULL_ROWS, data, &g->err);
	if (!st)
		st = dg_client_pull(client, &g->scene->feat, rows, PULL_ROWS, found, &g->err);
	if (!st && memcmp(data, found, sizeof data) != 0) {
		g->err.status = DG_CORRUPT;
		(void)snprintf(g->err.text, sizeof g->err.text, "not the rows that were pushed");
		return DG_CORRUPT;
	}
	return st;
}

static void *be_good(void *argument)
{
	struct good *g = argument;
	dg_client *client = open_client(g->scene, g->scene->address);

	while (!atomic_load(&g->stop) && !atomic_load(&g->failed)) {
		g->value += 1;
		if (push_and_pull(g, client) != DG_OK)
			atomic_store(&g->failed, true);
		else
			(void)atomic_fetch_add(&g->n_done, 1);
	}
	dg_client_close(client);
	return NULL;
}

static void good_start(struct good good[GOOD], const struct scene *s)
{
	for (size_t i = 0; i < GOOD; i++) {
		good[i] = (struct good){ .scene = s, .first = (dg_id)i * PULL_ROWS };
		assert_int_equal(pthread_create(&good[i].thread, NULL, be_good, &good[i]), 0);
	}
}

/* Each of them does @n rounds more, within 20 s. */
static void good_go_on(struct good good[GOOD], uint64_t n)
{
	for (size_t i = 0; i < GOOD; i++) {
		struct dgi_deadline deadline = dgi_deadline_in(20000);
		uint64_t until = atomic_load(&good[i].n_done) + n;

		while (atomic_load(&good[i].n_done) < until) {
			if (atomic_load(&good[i].failed))
				fail_msg("a good client: %s", good[i].err.text);
			assert_false(dgi_deadline_passed(deadline));
			dgi_sleep_ms(1);
		}
	}
}

static void good_stop(struct good good[GOOD])
{
	for (size_t i = 0; i < GOOD; i++)
		atomic_store(&good[i].stop, true);
	for (size_t i = 0; i < GOOD; i++) {
		assert_int_equal(pthread_join(good[i].thread, NULL), 0);
		assert_false(atomic_load(&good[i].failed));
	}
}

/* --- Others --- */

/* @n sockets that have been welcomed. */
static int *crowd_open(const struct scene *s, size_t n)
{
	int *fds = calloc(n, sizeof *fds);
	struct chaos_bytes hello = { 0 };

	wire_add_hello(&hello, NULL);
	for (size_t i = 0; i < n; i++) {
		fds[i] = wire_open(s->address);
		wire_send(fds[i], hello.data, hello.n);
	}
	for (size_t i = 0; i < n; i++) {
		struct dgi_frame frame;

		assert_true(wire_read(fds[i], &frame, NULL, 0));
		assert_int_equal(frame.status, DG_OK);
	}
	free(hello.data);
	return fds;
}

static void crowd_close(int *fds, size_t n)
{
	for (size_t i = 0; i < n; i++)
		(void)close(fds[i]);
	free(fds);
}

static void a_thousand_clients_are_served_and_good_ones_beside_them(void **state)
{
	const struct scene *s = *state;
	const dg_id rows[] = { 19999, 1 };
	struct chaos_bytes pull = { 0 };
	struct good good[GOOD];
	int *fds;

	wire_add_pull(&pull, 2, s->feat.id, rows, 2);
	good_start(good, s);
	fds = crowd_open(s, CROWD);
	for (int round = 0; round < 3; round++) {
		for (size_t i = 0; i < CROWD; i++)
			wire_send(fds[i], pull.data, pull.n);
		for (size_t i = 0; i < CROWD; i++) {
			struct dgi_frame frame;

			assert_true(wire_read(fds[i], &frame, NULL, 0));
			assert_int_equal(frame.status, DG_OK);
			assert_int_equal(frame.body_bytes,
					 DGI_PREFIX_BYTES + 2 * WIDTH * sizeof(float));
		}
	}
	good_go_on(good, 20);
	crowd_close(fds, CROWD);
	good_go_on(good, 20);
	good_stop(good);
	free(pull.data);
}

static void slow_clients_slow_nobody_else_down(void **state)
{
	const struct scene *s = *state;
	struct chaos_bytes push = { 0 };
	struct good good[GOOD];
	int *fds = crowd_open(s, CROWD);

	wire_add_push(&push, 2, s->feat.id, DG_OP_ASSIGN, 19000, 1, WIDTH, 0);
	good_start(good, s);
	for (size_t at = 0; at < push.n; at++) { /* each of them a byte at a time */
		for (size_t i = 0; i < CROWD; i++)
			wire_send(fds[i], push.data + at, 1);
		if (at % 20 == 0)
			good_go_on(good, 1);
	}
	for (size_t i = 0; i < CROWD; i++) { /* they get their answers all the same */
		struct dgi_frame frame;

		assert_true(wire_read(fds[i], &frame, NULL, 0));
		assert_int_equal(frame.status, DG_OK);
	}
	good_stop(good);
	crowd_close(fds, CROWD);
	free(push.data);
}

static void deaf_clients_slow_nobody_else_down(void **state)
{
	const struct scene *s = *state;
	dg_id *rows = calloc(N_NODES, sizeof *rows);
	struct chaos_bytes pull = { 0 };
	struct good good[GOOD];
	int *fds = crowd_open(s, DEAF);

	wire_add_pull(&pull, 2, s->feat.id, rows, N_NODES);
	good_start(good, s);
	/* 32 MiB of answers each, more than the server keeps for all of them together. */
	for (int i = 0; i < 25; i++) {
		for (size_t j = 0; j < DEAF; j++)
			(void)!send(fds[j], pull.data, pull.n, MSG_NOSIGNAL | MSG_DONTWAIT);
		good_go_on(good, 2);
	}
	good_go_on(good, 50);
	good_stop(good);
	crowd_close(fds, DEAF);
	free(pull.data);
	free(rows);
}

static size_t descriptors_of(pid_t pid)
{
	char path[64], target[8];
	size_t n = 0;

	for (int fd = 0; fd < 1000; fd++) {
		(void)snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)pid, fd);
		n += readlink(path, target, sizeof target) > 0;
	}
	return n;
}

static void a_server_without_descriptors_serves_whom_it_has(void **state)
{
	enum { MORE = 20, TRIES = 60 };
	const struct scene *s = *state;
	struct chaos_bytes hello = { 0 };
	struct dgi_deadline deadline = dgi_deadline_in(20000);
	struct good good[GOOD];
	struct rlimit limit;
	int fds[TRIES];
	int n_welcome = 0;
	bool back = false;

	wire_add_hello(&hello, NULL);
	good_start(good, s);
	good_go_on(good, 5);
	limit.rlim_cur = limit.rlim_max = descriptors_of(s->server.pid) + MORE;
	assert_int_equal(prlimit(s->server.pid, RLIMIT_NOFILE, &limit, NULL), 0);
	for (int i = 0; i < TRIES; i++) {
		struct dgi_frame frame;

		fds[i] = wire_open(s->address);
		(void)!send(fds[i], hello.data, hello.n, MSG_NOSIGNAL);
		n_welcome += wire_read(fds[i], &frame, NULL, 0) && frame.status == DG_OK;
	}
	assert_in_range(n_welcome, 1, TRIES - MORE);
	good_go_on(good, 20);
	for (int i = 0; i < TRIES; i++)
		(void)close(fds[i]);
	while (!back) { /* once the server has seen them go */
		struct dgi_frame frame;
		int fd = wire_open(s->address);

		(void)!send(fd, hello.data, hello.n, MSG_NOSIGNAL);
		back = wire_read(fd, &frame, NULL, 0) && frame.status == DG_OK;
		(void)close(fd);
		assert_false(dgi_deadline_passed(deadline));
	}
	good_go_on(good, 20);
	good_stop(good);
	free(hello.data);
}

/* --- Everybody is dropped at once --- */

enum { STORM = 500 };

struct dropped {
	const struct scene *scene;
	const char *address;
	pthread_barrier_t *barrier;
	pthread_t thread;
	dg_error err;
};

static void *be_dropped(void *argument)
{
	struct dropped *d = argument;
	dg_client *client = open_client(d->scene, d->address);
	float row[WIDTH];
	const dg_id id = 5;

	d->err.status = dg_client_pull(client, &d->scene->feat, &id, 1, row, &d->err);
	(void)pthread_barrier_wait(d->barrier); /* all are connected */
	(void)pthread_barrier_wait(d->barrier); /* all connections have been cut */
	if (!d->err.status)
		d->err.status = dg_client_pull(client, &d->scene->feat, &id, 1, row, &d->err);
	dg_client_close(client);
	return NULL;
}

static void five_hundred_clients_dropped_at_once_come_back(void **state)
{
	const struct scene *s = *state;
	static struct dropped all[STORM];
	pthread_barrier_t barrier;
	struct network network;
	char front[300], counts[300];
	int64_t begun;

	(void)snprintf(front, sizeof front, "unix:%s/front", s->dir);
	network_start(&network, front, s->address, NULL);
	assert_int_equal(pthread_barrier_init(&barrier, NULL, STORM + 1), 0);
	for (size_t i = 0; i < STORM; i++) {
		all[i] = (struct dropped){ .scene = s,
					   .address = network.address,
					   .barrier = &barrier };
		assert_int_equal(pthread_create(&all[i].thread, NULL, be_dropped, &all[i]), 0);
	}
	(void)pthread_barrier_wait(&barrier);
	assert_int_equal(network_command(&network, "cut"), STORM);
	begun = dgi_now_ms();
	(void)pthread_barrier_wait(&barrier);
	for (size_t i = 0; i < STORM; i++) {
		assert_int_equal(pthread_join(all[i].thread, NULL), 0);
		assert_ok(all[i].err.status, &all[i].err);
	}
	printf("all back within %d ms\n", (int)(dgi_now_ms() - begun));
	network_stop(&network, counts, sizeof counts);
	(void)pthread_barrier_destroy(&barrier);
}

#define scene_test(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		scene_test(a_thousand_clients_are_served_and_good_ones_beside_them),
		scene_test(slow_clients_slow_nobody_else_down),
		scene_test(deaf_clients_slow_nobody_else_down),
		scene_test(a_server_without_descriptors_serves_whom_it_has),
		scene_test(five_hundred_clients_dropped_at_once_come_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
