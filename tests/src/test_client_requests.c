/*
 * Requests of <distgraph/client.h> under way at once, with real servers, each in a thread of this
 * process.
 */
#include "test.h"

#include "client_state.h"
#include "deadline.h"
#include "graph_fixture.h"
#include "tmpdir.h"

#include <distgraph/client.h>
#include <distgraph/server.h>

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PARTS GRAPH_FIXTURE_PARTS
#define NODES GRAPH_FIXTURE_NODES

struct running {
	dg_server *server;
	pthread_t thread;
	dg_status status;
	dg_error err;
};

static char *dir;
static struct running servers[PARTS];
static dg_client *client;
static dg_tensor_info number; /* float64, one a row; on disk when it is acknowledged */
static dg_tensor_info lazy;   /* … within a second */

static void *run(void *context)
{
	struct running *r = context;

	r->status = dg_server_run(r->server, &r->err);
	return NULL;
}

static char *store_path(uint32_t part)
{
	char name[16];

	(void)snprintf(name, sizeof name, "part%u", part);
	return tmpdir_path(dir, name);
}

static void start(uint32_t part)
{
	struct running *r = &servers[part];
	char *store = store_path(part);
	dg_error err = { 0 };

	assert_ok(dg_server_open(store, NULL, &r->server, &err), &err);
	assert_int_equal(pthread_create(&r->thread, NULL, run, r), 0);
	free(store);
}

static void stop(uint32_t part)
{
	struct running *r = &servers[part];

	dg_server_stop(r->server);
	assert_int_equal(pthread_join(r->thread, NULL), 0);
	assert_ok(r->status, &r->err);
	dg_server_close(r->server);
}

static void create(uint32_t part)
{
	dg_tensor_spec specs[2] = {
		{ .info = { .name = "number", .dtype = DG_FLOAT64 }, .uuid = { { 1 } } },
		{ .info = { .name = "lazy",
			    .dtype = DG_FLOAT64,
			    .durability = DG_DURABLE_INTERVAL,
			    .interval_ms = 1000 },
		  .uuid = { { 2 } } },
	};
	const dg_store_options options = { .writable = 1 };
	char *path = store_path(part);
	dg_store *store;
	dg_error err = { 0 };
	int existed;

	assert_ok(dg_store_open(path, &options, &store, &err), &err);
	for (int i = 0; i < 2; i++)
		assert_ok(dg_store_create(store, &specs[i], 1, &existed, &err), &err);
	dg_store_close(store);
	free(path);
}

static int set_up(void **state)
{
	char *path;
	dg_error err = { 0 };

	(void)state;
	dir = tmpdir_new();
	path = tmpdir_path(dir, "g.json");
	if (unsetenv("DGL_IP_CONFIG") != 0 || graph_fixture_make(dir) != DG_OK)
		return -1;
	for (uint32_t p = 0; p < PARTS; p++) {
		create(p);
		start(p);
	}
	assert_ok(dg_client_open(path, NULL, &client, &err), &err);
	assert_ok(dg_client_find(client, "number", &number, &err), &err);
	assert_ok(dg_client_find(client, "lazy", &lazy, &err), &err);
	free(path);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	dg_client_close(client);
	for (uint32_t p = 0; p < PARTS; p++)
		stop(p);
	tmpdir_remove(dir);
	return 0;
}

/* Rows of all parts; the first lies in part 0, the last in part 2. */
static const dg_id some[] = { 3, 12, 13, 29 };
#define N_SOME 4

static dg_request *begin_push(const dg_tensor_info *tensor, dg_operation operation, double value)
{
	double data[N_SOME];
	dg_request *request;
	dg_error err = { 0 };

	for (int i = 0; i < N_SOME; i++)
		data[i] = value;
	assert_ok(
		dg_client_begin_push(client, tensor, operation, some, N_SOME, data, &request, &err),
		&err);
	return request;
}

static void push(dg_operation operation, double value)
{
	dg_error err = { 0 };

	assert_ok(dg_request_wait(begin_push(&number, operation, value), &err), &err);
}

static void assert_all(const dg_tensor_info *tensor, double wanted)
{
	double found[N_SOME];
	dg_error err = { 0 };

	assert_ok(dg_client_pull(client, tensor, some, N_SOME, found, &err), &err);
	for (int i = 0; i < N_SOME; i++)
		if (found[i] != wanted)
			fail_msg("row %ld is %g, want %g", (long)some[i], found[i], wanted);
}

static void every_operation_is_done_on_the_servers(void **state)
{
	double row = 2;
	dg_error err = { 0 };

	(void)state;
	push(DG_OP_ASSIGN, 5);
	push(DG_OP_ADD, 3);
	assert_all(&number, 8);
	push(DG_OP_MIN, 6);
	push(DG_OP_MIN, 7);
	assert_all(&number, 6);
	push(DG_OP_MAX, 9);
	push(DG_OP_MAX, 1);
	assert_all(&number, 9);
	push(DG_OP_MULTIPLY, 3);
	assert_all(&number, 27);
	assert_ok(dg_client_fill(client, &number, 0, NODES, &row, &err), &err);
	assert_all(&number, 2);
	assert_fails(dg_client_update(client, &number, (dg_operation)6, some, 1, &row, &err),
		     DG_INVALID, &err, "operation 6");
}

static void requests_are_waited_for_in_any_order(void **state)
{
	enum { N = 40 };
	dg_request *adds[N], *pulls[N];
	double found[N][N_SOME];
	dg_error err = { 0 };

	(void)state;
	push(DG_OP_ASSIGN, 0);
	for (int i = 0; i < N; i++) {
		adds[i] = begin_push(&number, DG_OP_ADD, 1);
		assert_ok(dg_client_begin_pull(client, &number, some, N_SOME, found[i], &pulls[i],
					       &err),
			  &err);
	}
	for (int i = N - 1; i >= 0; i--) {
		assert_ok(dg_request_wait(pulls[i], &err), &err);
		assert_ok(dg_request_wait(adds[i], &err), &err);
	}
	/* Each saw the pushes begun before it, and at most those begun since. */
	for (int i = 0; i < N; i++)
		for (int j = 0; j < N_SOME; j++)
			if (found[i][j] < i + 1 || found[i][j] > N)
				fail_msg("pull %d saw %g", i, found[i][j]);
	assert_all(&number, N);
}

static void polls_move_requests_on(void **state)
{
	struct dgi_deadline deadline = dgi_deadline_in(20000);
	dg_request *request = begin_push(&number, DG_OP_ASSIGN, 4);
	dg_error err = { 0 };

	(void)state;
	while (!dg_request_is_done(request)) {
		assert_ok(dg_client_poll(client, 10, &err), &err);
		assert_false(dgi_deadline_passed(deadline));
	}
	assert_ok(dg_request_wait(request, &err), &err);
	assert_all(&number, 4);
}

static void a_push_that_was_abandoned_still_counts(void **state)
{
	(void)state;
	push(DG_OP_ASSIGN, 1);
	for (int i = 0; i < 10; i++)
		dg_request_abandon(begin_push(&number, DG_OP_ADD, 1));
	assert_all(&number, 11);
}

static void the_memory_of_an_abandoned_pull_is_left_alone(void **state)
{
	const dg_id row = 12;
	double found = -1;
	dg_request *request;
	dg_error err = { 0 };

	(void)state;
	push(DG_OP_ASSIGN, 6);
	assert_ok(dg_client_begin_pull(client, &number, &row, 1, &found, &request, &err), &err);
	dg_request_abandon(request);
	assert_all(&number, 6); /* the answer to the first comes before these */
	assert_true(found == -1);
}

/* --- Interruption --- */

static void interrupt_client(int number_of_signal)
{
	(void)number_of_signal;
	dg_client_interrupt(client);
}

static void a_signal_ends_a_wait_which_may_be_taken_up_again(void **state)
{
	const struct sigaction action = { .sa_handler = interrupt_client };
	struct sigaction before;
	int64_t began = dgi_now_ms();
	dg_request *request;
	dg_error err = { 0 };

	(void)state;
	push(DG_OP_ASSIGN, 1);
	stop(1);
	request = begin_push(&number, DG_OP_ADD, 1);
	assert_int_equal(sigaction(SIGALRM, &action, &before), 0);
	(void)alarm(1);
	assert_fails(dg_request_wait(request, &err), DG_CANCELLED, &err, "interrupted");
	assert_true(dgi_now_ms() - began < 4000);
	assert_int_equal(sigaction(SIGALRM, &before, NULL), 0);
	assert_int_equal(dg_request_is_done(request), 0);
	start(1);
	assert_ok(dg_request_wait(request, &err), &err);
	assert_all(&number, 2);
}

/* --- Processes --- */

static void a_forked_process_may_neither_begin_nor_wait(void **state)
{
	dg_request *request = begin_push(&number, DG_OP_ASSIGN, 3);
	dg_error err = { 0 };
	double found;
	int status;
	pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		dg_request *other;
		int right = dg_client_begin_pull(client, &number, some, 1, &found, &other, &err) ==
				    DG_DENIED &&
			    dg_request_wait(request, &err) == DG_DENIED &&
			    dg_client_poll(client, 0, &err) == DG_DENIED;

		_exit(right ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_ok(dg_request_wait(request, &err), &err);
	assert_all(&number, 3);
}

/* --- What is kept --- */

static uint64_t n_kept(void)
{
	uint64_t n = 0;

	for (uint32_t p = 0; p < PARTS; p++)
		n += client->channels[p].session.n_kept;
	return n;
}

static void pushes_are_kept_until_they_are_on_disk_which_is_asked_for(void **state)
{
	struct dgi_deadline deadline = dgi_deadline_in(20000);
	dg_error err = { 0 };

	(void)state;
	for (int i = 0; i < 20; i++)
		assert_ok(dg_request_wait(begin_push(&lazy, DG_OP_ADD, 1), &err), &err);
	assert_true(n_kept() > 0);
	while (n_kept() > 0) {
		assert_ok(dg_client_poll(client, 50, &err), &err);
		assert_false(dgi_deadline_passed(deadline));
	}
	assert_all(&lazy, 20);
	assert_int_equal(n_kept(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_operation_is_done_on_the_servers),
		cmocka_unit_test(requests_are_waited_for_in_any_order),
		cmocka_unit_test(polls_move_requests_on),
		cmocka_unit_test(a_push_that_was_abandoned_still_counts),
		cmocka_unit_test(the_memory_of_an_abandoned_pull_is_left_alone),
		cmocka_unit_test(a_signal_ends_a_wait_which_may_be_taken_up_again),
		cmocka_unit_test(a_forked_process_may_neither_begin_nor_wait),
		cmocka_unit_test(pushes_are_kept_until_they_are_on_disk_which_is_asked_for),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
