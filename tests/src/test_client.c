/* What <distgraph/client.h> promises, with real servers, each in a thread of this process. */
#include "test.h"

#include "deadline.h"
#include "graph_fixture.h"
#include "rng.h"
#include "tmpdir.h"

#include <distgraph/client.h>
#include <distgraph/server.h>
#include <distgraph/split.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PARTS GRAPH_FIXTURE_PARTS
#define NODES GRAPH_FIXTURE_NODES
#define WIDTH GRAPH_FIXTURE_FEAT_WIDTH

struct running {
	dg_server *server;
	pthread_t thread;
	dg_status status;
	dg_error err;
};

static char *dir;
static char *path; /* of the cluster file */
static struct running servers[PARTS];
static dg_client *client;

static void *run(void *context)
{
	struct running *r = context;

	r->status = dg_server_run(r->server, &r->err);
	return NULL;
}

/* @address NULL: the local default, a Unix socket. */
static void start(const char *in, uint32_t part, const char *address)
{
	dg_server_options options = { .listen = &address, .n_listen = address != NULL };
	struct running *r = &servers[part];
	dg_error err = { 0 };
	char name[16];
	char *store;

	(void)snprintf(name, sizeof name, "part%u", part);
	store = tmpdir_path(in, name);
	assert_ok(dg_server_open(store, &options, &r->server, &err), &err);
	assert_int_equal(pthread_create(&r->thread, NULL, run, r), 0);
	free(store);
}

static void stop(uint32_t part)
{
	struct running *r = &servers[part];

	if (!r->server)
		return;
	dg_server_stop(r->server);
	assert_int_equal(pthread_join(r->thread, NULL), 0);
	assert_ok(r->status, &r->err);
	dg_server_close(r->server);
	r->server = NULL;
}

/* Partition 1 is served over TCP, the others over Unix sockets. */
static int set_up(void **state)
{
	dg_client_options options = { .timeout_ms = 60000 };

	(void)state;
	dir = tmpdir_new();
	path = tmpdir_path(dir, "g.json");
	if (unsetenv("DGL_IP_CONFIG") != 0 || graph_fixture_make(dir) != DG_OK)
		return -1;
	start(dir, 0, NULL);
	start(dir, 1, "127.0.0.1:0");
	start(dir, 2, NULL);
	return dg_client_open(path, &options, &client, NULL) == DG_OK ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	dg_client_close(client);
	for (uint32_t p = 0; p < PARTS; p++)
		stop(p);
	free(path);
	tmpdir_remove(dir);
	return 0;
}

static dg_tensor_info found(const char *text)
{
	dg_tensor_info info = { 0 };
	dg_error err = { 0 };

	assert_ok(dg_client_find(client, text, &info, &err), &err);
	return info;
}

static void the_tensors_are_the_graphs(void **state)
{
	const dg_tensor_info *list;
	dg_error err = { 0 };
	size_t n;

	(void)state;
	assert_ok(dg_client_tensors(client, &list, &n, &err), &err);
	assert_int_equal(n, GRAPH_FIXTURE_TENSORS);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(list[i].n_rows, NODES);
	assert_string_equal(dg_cluster_graph_name(dg_client_cluster(client)), "g");
	assert_int_equal(dg_book_n_parts(dg_client_book(client)), PARTS);
}

/* Row i of "label" is i: all but node 0 are selected. */
static void a_mask_is_pulled_from_the_servers(void **state)
{
	const dg_column mask = { .client = client, .tensor = found("label") };
	const dg_split_options options = {
		.part = 1, .rank = 1, .n_trainers = PARTS, .mask = &mask, .trainer_ids = &mask
	};
	dg_error err = { 0 };
	dg_id *got = NULL;
	size_t n = 0;

	(void)state;
	assert_ok(dg_split(dg_client_book(client), &options, &got, &n, &err), &err);
	assert_int_equal(n, 10);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(got[i], 11 + i);
	dg_free(got);
}

static void a_tensor_that_is_not_there_gets_close_names(void **state)
{
	dg_tensor_info info;
	dg_error err = { 0 };

	(void)state;
	assert_fails(dg_client_find(client, "lable", &info, &err), DG_NOTFOUND, &err,
		     "close: node~_N~label");
}

static void rows_come_in_the_callers_order(void **state)
{
	static const dg_id rows[] = { 30, 0, 12, 12, 9, 10, 23, 24, 5 };
	dg_tensor_info feat = found("feat"), label = found("node~_N~label");
	float features[9][WIDTH];
	int64_t labels[9];
	dg_error err = { 0 };

	(void)state;
	assert_ok(dg_client_pull(client, &feat, rows, 9, features, &err), &err);
	assert_ok(dg_client_pull(client, &label, rows, 9, labels, &err), &err);
	for (int i = 0; i < 9; i++) {
		assert_int_equal(labels[i], rows[i]);
		for (int c = 0; c < WIDTH; c++)
			assert_true(features[i][c] == graph_fixture_feat(rows[i], c));
	}
}

/* Several requests to each partition: rows apart, then side by side. */
static void a_large_pull_is_right_to_the_last_row(void **state)
{
	enum { N = 2500000 };
	dg_tensor_info label = found("label");
	struct dgi_rng rng = dgi_rng_of(3, 3);
	dg_id *rows = malloc(N * sizeof *rows);
	int64_t *labels = malloc(N * sizeof *labels);
	dg_error err = { 0 };

	(void)state;
	for (size_t i = 0; i < N; i++)
		rows[i] = (dg_id)dgi_rng_below(&rng, NODES);
	assert_ok(dg_client_pull(client, &label, rows, N, labels, &err), &err);
	assert_memory_equal(labels, rows, N * sizeof *rows);
	for (size_t i = 0; i < N; i++)
		rows[i] = (dg_id)(i * NODES / N);
	assert_ok(dg_client_pull(client, &label, rows, N, labels, &err), &err);
	assert_memory_equal(labels, rows, N * sizeof *rows);
	free(rows);
	free(labels);
}

static void a_push_is_seen_and_of_equal_rows_the_last_wins(void **state)
{
	static const dg_id rows[] = { 30, 1, 12, 1, 30 };
	static const float data[] = { 1, 2, 3, 4, 5 };
	static const float wanted[] = { 5, 4, 3, 4, 5 };
	dg_tensor_info weight = found("weight");
	float back[5];
	dg_error err = { 0 };

	(void)state;
	assert_ok(dg_client_push(client, &weight, rows, 5, data, &err), &err);
	assert_ok(dg_client_pull(client, &weight, rows, 5, back, &err), &err);
	assert_memory_equal(back, wanted, sizeof wanted);
}

/* More than one request to a partition, each row many times: the order must be kept. */
static void a_large_push_keeps_its_order(void **state)
{
	enum { N = 2500000 };
	dg_tensor_info weight = found("weight");
	struct dgi_rng rng = dgi_rng_of(4, 4);
	dg_id *rows = malloc(N * sizeof *rows), all[NODES];
	float *data = malloc(N * sizeof *data), last[NODES] = { 0 }, back[NODES];
	dg_error err = { 0 };

	(void)state;
	for (size_t i = 0; i < N; i++) {
		rows[i] = (dg_id)dgi_rng_below(&rng, NODES);
		data[i] = (float)i;
		last[rows[i]] = data[i];
	}
	for (int i = 0; i < NODES; i++)
		all[i] = i;
	assert_ok(dg_client_push(client, &weight, rows, N, data, &err), &err);
	assert_ok(dg_client_pull(client, &weight, all, NODES, back, &err), &err);
	assert_memory_equal(back, last, sizeof last);
	free(rows);
	free(data);
}

static void what_a_server_refuses_is_told(void **state)
{
	dg_tensor_info feat = found("feat"), ids = found("node~_N~" DG_TENSOR_ORIGINAL_ID);
	static const dg_id inside = 12, outside = NODES;
	float row[WIDTH] = { 0 };
	dg_error err = { 0 };

	(void)state;
	assert_fails(dg_client_pull(client, &feat, &outside, 1, row, &err), DG_RANGE, &err,
		     "id 31 of tensor 'feat': the graph has 31");
	assert_fails(dg_client_push(client, &ids, &inside, 1, row, &err), DG_INVALID, &err,
		     "kept by the store itself");
	feat.id = 4711;
	assert_fails(dg_client_pull(client, &feat, &inside, 1, row, &err), DG_NOTFOUND, &err,
		     "partition 1 at 127.0.0.1:");
	assert_fails(dg_client_push(client, &feat, &inside, 1, row, &err), DG_NOTFOUND, &err,
		     "partition 1 at 127.0.0.1:");
}

static void ids_are_translated_both_ways(void **state)
{
	dg_error err = { 0 };

	(void)state;
	for (int side = DG_NODE; side <= DG_EDGE; side++) {
		dg_id ids[NODES];

		for (int i = 0; i < NODES; i++)
			ids[i] = NODES - 1 - i;
		assert_ok(dg_client_to_original(client, (dg_side)side, 0, ids, NODES, ids, &err),
			  &err);
		for (int i = 0; i < NODES; i++)
			assert_int_equal(ids[i], graph_fixture_original(NODES - 1 - i));
		assert_ok(dg_client_to_internal(client, (dg_side)side, 0, ids, NODES, ids, &err),
			  &err);
		for (int i = 0; i < NODES; i++)
			assert_int_equal(ids[i], NODES - 1 - i);
		ids[3] = NODES;
		assert_fails(dg_client_to_internal(client, (dg_side)side, 0, ids, 4, ids, &err),
			     DG_RANGE, &err, "id 31");
	}
	assert_fails(dg_client_to_internal(client, DG_NODE, 1, NULL, 0, NULL, &err), DG_NOTFOUND,
		     &err, "node type 1: no tensor '_INTERNAL_ID'");
}

static void a_server_tells_how_it_is(void **state)
{
	dg_server_status status;
	dg_error err = { 0 };

	(void)state;
	assert_ok(dg_client_server_status(client, 1, &status, &err), &err);
	assert_int_equal(status.store.part, 1);
	assert_int_equal(status.store.n_parts, PARTS);
	assert_int_equal(status.pid, getpid());
	assert_true(status.connections >= 1);
	assert_non_null(strstr(status.address, "127.0.0.1:"));
	assert_ok(dg_client_server_status(client, 2, &status, &err), &err);
	assert_non_null(strstr(status.address, "unix:/"));
}

static void a_server_is_asked_by_its_address_alone(void **state)
{
	dg_server_status known, status;
	dg_error err = { 0 };

	(void)state;
	for (uint32_t part = 0; part < PARTS; part++) {
		assert_ok(dg_client_server_status(client, part, &known, &err), &err);
		assert_ok(dg_server_status_at(known.address, 0, &status, &err), &err);
		assert_string_equal(status.address, known.address);
		assert_int_equal(status.store.part, part);
		assert_memory_equal(&status.store, &known.store, sizeof status.store);
		assert_true(status.round_trip_ms > 0);
	}
	assert_fails(dg_server_status_at("127.0.0.1:1", 1000, &status, &err), DG_CLOSED, &err,
		     "no server at 127.0.0.1:1: ");
	assert_fails(dg_server_status_at("unix:/no/such.sock", 1000, &status, &err), DG_CLOSED,
		     &err, "no server at unix:/no/such.sock: ");
	assert_fails(dg_server_status_at("here:there", 1000, &status, &err), DG_INVALID, &err,
		     "port 'there'");
}

static void a_stopped_server_is_waited_for_and_named_at_the_deadline(void **state)
{
	static const dg_id rows[] = { 3, 12, 29 };
	static const float data[] = { 7, 8, 9 };
	const dg_client_options options = { .timeout_ms = 2000 };
	dg_tensor_info weight = found("weight");
	dg_client *hasty;
	float back[3];
	dg_error err = { 0 };

	(void)state;
	assert_ok(dg_client_open(path, &options, &hasty, &err), &err);
	assert_ok(dg_client_push(hasty, &weight, rows, 3, data, &err), &err);
	stop(1);
	assert_fails(dg_client_pull(hasty, &weight, rows, 3, back, &err), DG_TIMEOUT, &err,
		     "partition 1");
	assert_fails(dg_client_push(hasty, &weight, rows, 3, data, &err), DG_TIMEOUT, &err,
		     "may or may not be set");
	start(dir, 1, "127.0.0.1:0");
	assert_ok(dg_client_pull(hasty, &weight, rows, 3, back, &err), &err);
	assert_memory_equal(back, data, sizeof data);
	dg_client_close(hasty);
	assert_ok(dg_client_pull(client, &weight, rows, 3, back, &err), &err);
	assert_memory_equal(back, data, sizeof data);
}

static void nobody_who_never_listened_is_waited_for(void **state)
{
	dg_tensor_info weight = found("weight");
	int64_t began = dgi_now_ms();
	dg_client *stranger;
	float back;
	dg_error err = { 0 };

	(void)state;
	stop(1);
	assert_ok(dg_client_open(path, NULL, &stranger, &err), &err);
	assert_fails(dg_client_pull(stranger, &weight, &(dg_id){ 12 }, 1, &back, &err), DG_CLOSED,
		     &err, "partition 1");
	assert_true(dgi_now_ms() - began < 5000);
	dg_client_close(stranger);
	start(dir, 1, "127.0.0.1:0");
}

static void servers_of_another_cluster_are_refused(void **state)
{
	char *other = tmpdir_new(), *file = tmpdir_path(other, "g.json");
	const char *const *of_1;
	const char *addresses[PARTS];
	dg_client_options options = { .addresses = addresses, .n_addresses = PARTS };
	static const dg_id row = 12;
	dg_tensor_info label = found("label");
	dg_client *stranger;
	int64_t out;
	dg_error err = { 0 };
	size_t n;

	(void)state;
	of_1 = dg_server_addresses(servers[1].server, &n);
	assert_true(n > 0);
	for (int p = 0; p < PARTS; p++)
		addresses[p] = of_1[0];
	assert_int_equal(graph_fixture_make_cluster(other, 8), DG_OK);
	assert_ok(dg_client_open(file, &options, &stranger, &err), &err);
	assert_fails(dg_client_pull(stranger, &label, &row, 1, &out, &err), DG_MISMATCH, &err,
		     "partition 1 at 127.0.0.1:");
	dg_client_close(stranger);
	assert_ok(dg_client_open(path, &options, &stranger, &err), &err);
	assert_ok(dg_client_pull(stranger, &label, &row, 1, &out, &err), &err);
	assert_fails(dg_client_pull(stranger, &label, &(dg_id){ 0 }, 1, &out, &err), DG_MISMATCH,
		     &err, "partition 0 at 127.0.0.1:");
	dg_client_close(stranger);
	free(file);
	tmpdir_remove(other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_tensors_are_the_graphs),
		cmocka_unit_test(a_mask_is_pulled_from_the_servers),
		cmocka_unit_test(a_tensor_that_is_not_there_gets_close_names),
		cmocka_unit_test(rows_come_in_the_callers_order),
		cmocka_unit_test(a_large_pull_is_right_to_the_last_row),
		cmocka_unit_test(a_push_is_seen_and_of_equal_rows_the_last_wins),
		cmocka_unit_test(a_large_push_keeps_its_order),
		cmocka_unit_test(what_a_server_refuses_is_told),
		cmocka_unit_test(ids_are_translated_both_ways),
		cmocka_unit_test(a_server_tells_how_it_is),
		cmocka_unit_test(a_server_is_asked_by_its_address_alone),
		cmocka_unit_test(a_stopped_server_is_waited_for_and_named_at_the_deadline),
		cmocka_unit_test(nobody_who_never_listened_is_waited_for),
		cmocka_unit_test(servers_of_another_cluster_are_refused),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
