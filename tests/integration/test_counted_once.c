/*
 * A client adds and pulls in a loop, several requests under way, while servers are killed with SIGKILL
 * and started again: it sees nothing of that but time, and each push counts exactly once, whether it is
 * on disk when it is acknowledged or only some time later.
 */
#include "test.h"

#include "deadline.h"
#include "processes.h"
#include "rng.h"
#include "tmpdir.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

enum {
	N_NODES = 3000,
	WIDTH = 16,
	N_PARTS = 2,
	N_TENSORS = 2,
	N_ADDS = 4, /* under way at a time */
	ADD_ROWS = 64,
	PULL_ROWS = 100,
	N_KILLS = 6,
};

static const uint64_t seed = 27;

struct scene {
	char *dir, *cluster;
	struct process servers[N_PARTS];
	dg_client *client;
	dg_tensor_info tensors[N_TENSORS]; /* durable when acknowledged; within 200 ms */
	float wanted[N_TENSORS][N_NODES];
	struct dgi_rng rng;
	pthread_t killer;
	_Atomic bool is_killing, is_over;
};

/* One tensor more, in every part. */
static void create_lazy(const struct scene *s)
{
	dg_tensor_spec spec = { .info = { .name = "lazy",
					  .dtype = DG_FLOAT32,
					  .rank = 1,
					  .shape = { WIDTH },
					  .durability = DG_DURABLE_INTERVAL,
					  .interval_ms = 200 },
				.uuid = { .bytes = { 1, 2, 3, 4 } } };

	for (uint32_t part = 0; part < N_PARTS; part++) {
		dg_tensor_spec asked = spec;
		char name[32];
		char *path;
		dg_store *store;
		dg_error err = { 0 };
		int existed;

		(void)snprintf(name, sizeof name, "ring/part%" PRIu32, part);
		path = tmpdir_path(s->dir, name);
		assert_ok(dg_store_open(path, &(dg_store_options){ .writable = 1 }, &store, &err),
			  &err);
		assert_ok(dg_store_create(store, &asked, 1, &existed, &err), &err);
		dg_store_close(store);
		free(path);
	}
}

static int set_up(void **state)
{
	struct scene *s = calloc(1, sizeof *s);
	dg_error err = { 0 };

	s->dir = tmpdir_new();
	s->cluster = cluster_make(s->dir, "ring", N_NODES, N_PARTS, WIDTH);
	s->rng = dgi_rng_of(seed, 0);
	create_lazy(s);
	for (uint32_t part = 0; part < N_PARTS; part++)
		server_start(&s->servers[part], s->cluster, part);
	assert_ok(dg_client_open(s->cluster, NULL, &s->client, &err), &err);
	assert_ok(dg_client_find(s->client, "feat", &s->tensors[0], &err), &err);
	assert_ok(dg_client_find(s->client, "lazy", &s->tensors[1], &err), &err);
	*state = s;
	return 0;
}

static int tear_down(void **state)
{
	struct scene *s = *state;

	dg_client_close(s->client);
	for (uint32_t part = 0; part < N_PARTS; part++) {
		process_signal(&s->servers[part], SIGTERM);
		assert_int_equal(process_wait(&s->servers[part]), 0);
	}
	s->is_over = true;
	assert_int_equal(pthread_join(s->killer, NULL), 0);
	tmpdir_remove(s->dir);
	free(s->cluster);
	free(s);
	return 0;
}

static void *kill_and_restart(void *context)
{
	struct scene *s = context;
	struct dgi_rng rng = dgi_rng_of(seed, 1);

	for (int i = 0; i < N_KILLS; i++) {
		uint32_t part = (uint32_t)dgi_rng_below(&rng, N_PARTS);

		dgi_sleep_ms(100 + (int64_t)dgi_rng_below(&rng, 300));
		process_signal(&s->servers[part], SIGKILL);
		assert_true(WIFSIGNALED(process_wait(&s->servers[part])));
		server_start(&s->servers[part], s->cluster, part);
	}
	s->is_killing = false;
	while (!s->is_over) /* what a thread has started dies with it */
		dgi_sleep_ms(5);
	return NULL;
}

/* Adds one number to some rows, of which some are the same. */
static dg_request *begin_add(struct scene *s)
{
	static float data[ADD_ROWS][WIDTH]; /* copied before the call returns */
	dg_id rows[ADD_ROWS];
	const size_t t = dgi_rng_below(&s->rng, N_TENSORS);
	const float value = (float)(1 + dgi_rng_below(&s->rng, 3));
	dg_request *request;
	dg_error err = { 0 };

	for (size_t i = 0; i < ADD_ROWS; i++) {
		rows[i] = (dg_id)dgi_rng_below(&s->rng, N_NODES);
		s->wanted[t][rows[i]] += value;
		for (size_t j = 0; j < WIDTH; j++)
			data[i][j] = value;
	}
	assert_ok(dg_client_begin_push(s->client, &s->tensors[t], DG_OP_ADD, rows, ADD_ROWS, data,
				       &request, &err),
		  &err);
	return request;
}

static void look_whole(const float row[WIDTH], dg_id id)
{
	for (size_t j = 1; j < WIDTH; j++)
		if (row[j] != row[0])
			fail_msg("row %" PRId64 " is torn", id);
}

/* A pull sees what was pushed before it, acknowledged or not. */
static void add_and_pull(struct scene *s)
{
	static float found[PULL_ROWS][WIDTH];
	const size_t t = dgi_rng_below(&s->rng, N_TENSORS);
	dg_request *adds[N_ADDS], *pull;
	dg_id rows[PULL_ROWS];
	dg_error err = { 0 };

	for (size_t i = 0; i < N_ADDS; i++)
		adds[i] = begin_add(s);
	for (size_t i = 0; i < PULL_ROWS; i++)
		rows[i] = (dg_id)dgi_rng_below(&s->rng, N_NODES);
	assert_ok(dg_client_begin_pull(s->client, &s->tensors[t], rows, PULL_ROWS, found, &pull,
				       &err),
		  &err);
	assert_ok(dg_request_wait(pull, &err), &err);
	for (size_t i = 0; i < PULL_ROWS; i++) {
		look_whole(found[i], rows[i]);
		if (found[i][0] != s->wanted[t][rows[i]])
			fail_msg("tensor %zu, row %" PRId64 " is %g, pushed was %g", t, rows[i],
				 (double)found[i][0], (double)s->wanted[t][rows[i]]);
	}
	for (size_t i = 0; i < N_ADDS; i++)
		assert_ok(dg_request_wait(adds[i], &err), &err);
}

static void compare_all(struct scene *s)
{
	static float found[N_NODES][WIDTH];
	static dg_id all[N_NODES];
	dg_error err = { 0 };

	for (dg_id row = 0; row < N_NODES; row++)
		all[row] = row;
	for (size_t t = 0; t < N_TENSORS; t++) {
		assert_ok(dg_client_pull(s->client, &s->tensors[t], all, N_NODES, found, &err),
			  &err);
		for (dg_id row = 0; row < N_NODES; row++) {
			look_whole(found[row], row);
			if (found[row][0] != s->wanted[t][row])
				fail_msg("tensor %zu, row %" PRId64 " is %g, pushed was %g", t, row,
					 (double)found[row][0], (double)s->wanted[t][row]);
		}
	}
}

static void each_push_counts_once_while_servers_are_killed(void **state)
{
	struct scene *s = *state;
	unsigned n_rounds = 0;

	printf("seed %" PRIu64 "\n", seed);
	s->is_killing = true;
	assert_int_equal(pthread_create(&s->killer, NULL, kill_and_restart, s), 0);
	for (; s->is_killing; n_rounds++)
		add_and_pull(s);
	add_and_pull(s);
	compare_all(s);
	printf("%d kills, %u rounds of %d adds and a pull\n", N_KILLS, n_rounds, N_ADDS);
}

/* So too when the last server to be killed never hears of its client again. */
static void what_was_acknowledged_is_there_for_another_client(void **state)
{
	struct scene *s = *state;
	dg_error err = { 0 };

	s->is_killing = true;
	assert_int_equal(pthread_create(&s->killer, NULL, kill_and_restart, s), 0);
	while (s->is_killing)
		add_and_pull(s);
	dg_client_close(s->client);
	assert_ok(dg_client_open(s->cluster, NULL, &s->client, &err), &err);
	compare_all(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(each_push_counts_once_while_servers_are_killed,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_was_acknowledged_is_there_for_another_client,
						set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
