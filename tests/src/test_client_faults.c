/*
 * What src/client/client.c, src/client/transfer.c and src/client/link.c promise when servers are slow, gone, changed or
 * wrong: each is a fake one that misbehaves as told.
 */
#include "test.h"

#include "book.h"
#include "cluster.h"
#include "deadline.h"
#include "fake_server.h"
#include "tmpdir.h"

#include <distgraph/client.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PARTS 3
#define ROWS 31
#define ROW_BYTES 16
#define TIMEOUT_MS 400
#define RETRIES_MS 2000 /* enough to connect some times on any machine */

static const char *const node_types[] = { "_N" };
static const int64_t counts[PARTS] = { 10, 14, 7 };
static dg_tensor_info tensors[5];
static dg_book *book;
static char *dir;
static char *path; /* of the cluster file */
static struct fake_server servers[PARTS];

static void set_tensor(size_t i, const char *name, uint32_t row_bytes)
{
	tensors[i] = (dg_tensor_info){ .id = (uint32_t)i + 1,
				       .dtype = DG_UINT8,
				       .rank = 1,
				       .shape = { row_bytes },
				       .row_bytes = row_bytes,
				       .n_rows = 10,
				       .chunk_pages = 64,
				       .chunk_rows = 1 };
	memcpy(tensors[i].name, name, strlen(name) + 1);
}

static int set_up(void **state)
{
	struct dgi_book_spec spec = {
		.n_parts = PARTS, .n_node_types = 1, .node_types = node_types, .node_counts = counts
	};
	struct dgi_cluster_spec cluster = { .graph_name = "g",
					    .part_method = "m",
					    .cluster_uuid = { { 9 } } };

	(void)state;
	dir = tmpdir_new();
	path = tmpdir_path(dir, "g.json");
	for (size_t i = 1; i < 5; i++)
		set_tensor(i, (const char[]){ (char)('a' + i), '\0' }, 1);
	if (dgi_book_new(&spec, &book, NULL) != DG_OK)
		return -1;
	cluster.book = book;
	return dgi_cluster_write(dir, &cluster, NULL) == DG_OK ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	dgi_book_free(book);
	free(path);
	tmpdir_remove(dir);
	return 0;
}

static void start(uint32_t part, enum fake_manner manner)
{
	servers[part].manner = manner;
	servers[part].part = part;
	servers[part].book = book;
	servers[part].tensors = tensors;
	servers[part].n_tensors = 5;
	servers[part].cluster_uuid = (dg_uuid){ { 9 } };
	servers[part].store_uuid = (dg_uuid){ { 1, (uint8_t)part } };
	servers[part].incarnation = 5;
	assert_int_equal(fake_server_start(&servers[part]), 0);
}

static void start_all(uint32_t row_bytes, enum fake_manner manner_of_1)
{
	set_tensor(0, "feat", row_bytes);
	memset(servers, 0, sizeof servers);
	start(0, FAKE_HONEST);
	start(1, manner_of_1);
	start(2, FAKE_HONEST);
}

static void stop_all(void)
{
	for (int p = 0; p < PARTS; p++) {
		if (servers[p].listener > 0)
			fake_server_stop(&servers[p]);
		free(servers[p].data);
	}
}

static void stop(uint32_t part)
{
	fake_server_stop(&servers[part]);
	servers[part].listener = 0;
}

static dg_client *client_of(uint32_t timeout_ms)
{
	const char *addresses[PARTS] = { servers[0].address, servers[1].address,
					 servers[2].address };
	dg_client_options options = { .timeout_ms = timeout_ms,
				      .addresses = addresses,
				      .n_addresses = PARTS };
	dg_client *client = NULL;
	dg_error err = { 0 };

	assert_ok(dg_client_open(path, &options, &client, &err), &err);
	return client;
}

static void assert_rows(const uint8_t *out, const dg_id *rows, size_t n, size_t row_bytes)
{
	for (size_t i = 0; i < n; i++)
		for (size_t b = 0; b < row_bytes; b += 1 + row_bytes / 64)
			if (out[i * row_bytes + b] != (uint8_t)(rows[i] + 1))
				fail_msg("row %zu, id %ld, byte %zu: %d", i, (long)rows[i], b,
					 out[i * row_bytes + b]);
}

/* Rows of all parts in no order, with repeats. */
static void mix(dg_id *rows, size_t n)
{
	for (size_t i = 0; i < n; i++)
		rows[i] = (dg_id)(i * 17 + i / 31) % ROWS;
}

static void assert_pull_works(dg_client *client)
{
	dg_id rows[100];
	uint8_t out[sizeof rows / sizeof rows[0] * ROW_BYTES];
	dg_error err = { 0 };

	mix(rows, 100);
	assert_ok(dg_client_pull(client, &tensors[0], rows, 100, out, &err), &err);
	assert_rows(out, rows, 100, ROW_BYTES);
}

static void assert_pull_fails(dg_client *client, dg_status status, const char *part)
{
	dg_id rows[100];
	uint8_t out[sizeof rows / sizeof rows[0] * ROW_BYTES];
	dg_error err = { 0 };

	mix(rows, 100);
	assert_fails(dg_client_pull(client, &tensors[0], rows, 100, out, &err), status, &err, part);
}

static void rows_come_in_the_callers_order(void **state)
{
	dg_client *client;

	(void)state;
	start_all(ROW_BYTES, FAKE_HONEST);
	client = client_of(0);
	assert_pull_works(client);
	assert_pull_works(client);
	assert_int_equal(servers[1].n_connections, 1);
	assert_int_equal(servers[1].n_requests, 2);
	dg_client_close(client);
	stop_all();
}

/* Many requests to each partition, with rows apart and rows side by side. */
static void assert_large_transfer(enum fake_manner manner)
{
	enum { BYTES = 65536, N = 1200 };
	dg_id *rows = malloc(N * sizeof *rows);
	uint8_t *out = malloc((size_t)N * BYTES);
	dg_error err = { 0 };
	dg_client *client;

	start_all(BYTES, manner);
	client = client_of(0);
	mix(rows, N);
	assert_ok(dg_client_pull(client, &tensors[0], rows, N, out, &err), &err);
	assert_rows(out, rows, N, BYTES);
	assert_true(servers[1].n_requests >= N * 14 / 31 / 128);
	for (size_t i = 0; i < N; i++)
		rows[i] = (dg_id)(i * ROWS / N);
	assert_ok(dg_client_pull(client, &tensors[0], rows, N, out, &err), &err);
	assert_rows(out, rows, N, BYTES);
	dg_client_close(client);
	stop_all();
	free(rows);
	free(out);
}

static void a_large_pull_is_many_requests(void **state)
{
	(void)state;
	assert_large_transfer(FAKE_HONEST);
}

static void answers_may_come_in_any_order(void **state)
{
	(void)state;
	assert_large_transfer(FAKE_REVERSED);
}

static void a_server_may_take_fewer_rows_at_a_time(void **state)
{
	dg_client *client;

	(void)state;
	start_all(ROW_BYTES, FAKE_HONEST);
	servers[1].rows_max = 7;
	client = client_of(0);
	assert_pull_works(client);
	assert_true(servers[1].n_requests >= 6);
	dg_client_close(client);
	stop_all();
}

/* Of a row that is pushed several times the last counts, whatever the order of the rest. */
static void of_equal_rows_in_a_push_the_last_wins(void **state)
{
	enum { BYTES = 65536, N = 700 };
	dg_id *rows = malloc(N * sizeof *rows);
	uint8_t *data = malloc((size_t)N * BYTES), last[ROWS] = { 0 };
	dg_error err = { 0 };
	dg_client *client;

	(void)state;
	for (int grouped = 0; grouped < 2; grouped++) {
		start_all(BYTES, FAKE_HONEST);
		client = client_of(0);
		mix(rows, N);
		for (size_t i = 0; i < N; i++) {
			if (grouped)
				rows[i] = (dg_id)(i * ROWS / N);
			last[rows[i]] = (uint8_t)(i % 251);
			memset(data + i * BYTES, (int)(i % 251), BYTES);
		}
		assert_ok(dg_client_push(client, &tensors[0], rows, N, data, &err), &err);
		for (int p = 0; p < PARTS; p++)
			for (int64_t i = 0; i < counts[p]; i++) {
				dg_id first, end;

				dg_book_range(book, DG_NODE, 0, (uint32_t)p, &first, &end);
				assert_int_equal(servers[p].data[i * BYTES], last[first + i]);
				assert_int_equal(servers[p].data[i * BYTES + BYTES - 1],
						 last[first + i]);
			}
		dg_client_close(client);
		stop_all();
	}
	free(rows);
	free(data);
}

static void the_list_of_tensors_comes_in_pieces(void **state)
{
	const dg_tensor_info *list;
	dg_tensor_info found;
	dg_error err = { 0 };
	dg_client *client;
	size_t n;

	(void)state;
	start_all(ROW_BYTES, FAKE_HONEST);
	client = client_of(0);
	assert_ok(dg_client_tensors(client, &list, &n, &err), &err);
	assert_int_equal(n, 5);
	assert_string_equal(list[4].name, "e");
	assert_int_equal(list[0].n_rows, ROWS);
	assert_ok(dg_client_find(client, "feat", &found, &err), &err);
	assert_int_equal(found.id, 1);
	assert_fails(dg_client_find(client, "faet", &found, &err), DG_NOTFOUND, &err,
		     "node~_N~feat");
	dg_client_close(client);
	stop_all();
}

static void a_tensor_of_a_type_the_file_lacks_is_refused(void **state)
{
	const dg_tensor_info *list;
	dg_error err = { 0 };
	dg_client *client;
	size_t n;

	(void)state;
	start_all(ROW_BYTES, FAKE_HONEST);
	tensors[4].type = 1;
	client = client_of(0);
	assert_fails(dg_client_tensors(client, &list, &n, &err), DG_MISMATCH, &err,
		     "tensor 'e' belongs to node type 1");
	tensors[4].type = 0;
	dg_client_close(client);
	stop_all();
}

/* --- Servers that are not there --- */

static void a_dead_server_is_named_at_once(void **state)
{
	int64_t began;
	dg_client *client;

	(void)state;
	start_all(ROW_BYTES, FAKE_HONEST);
	stop(1);
	client = client_of(5000);
	began = dgi_now_ms();
	assert_pull_fails(client, DG_CLOSED, "partition 1 at 127.0.0.1:");
	assert_true(dgi_now_ms() - began < 1000);
	dg_client_close(client);
	stop_all();
}

static void a_silent_server_is_named_within_the_deadline(void **state)
{
	int64_t began;
	dg_client *client;

	(void)state;
	start_all(ROW_BYTES, FAKE_SILENT);
	client = client_of(TIMEOUT_MS);
	began = dgi_now_ms();
	assert_pull_fails(client, DG_TIMEOUT, "partition 1 at 127.0.0.1:");
	assert_true(dgi_now_ms() - began < 3 * TIMEOUT_MS);
	dg_client_close(client);
	stop_all();
}

/* Nothing is lost, nothing comes: the connection is not trusted for ever. */
static void a_server_that_has_fallen_silent_is_asked_again_on_another_connection(void **state)
{
	int64_t began = dgi_now_ms();
	dg_client *client;
	dg_request *request;
	dg_id row = 12;
	uint8_t out[ROW_BYTES];
	dg_error err = { 0 };

	(void)state;
	start_all(ROW_BYTES, FAKE_MUTE_ONCE);
	client = client_of(0);
	assert_ok(dg_client_begin_pull(client, &tensors[0], &row, 1, out, &request, &err), &err);
	assert_ok(dg_client_poll(client, 100, &err), &err);
	assert_int_equal(dg_request_is_done(request), 0);
	assert_ok(dg_request_wait(request, &err), &err);
	assert_rows(out, &row, 1, ROW_BYTES);
	assert_int_equal(servers[1].n_connections, 2);
	assert_true(dgi_now_ms() - began < 25000); /* of 30,000 that the call has */
	dg_client_close(client);
	stop_all();
}

static void a_server_that_trickles_does_not_outlast_the_deadline(void **state)
{
	int64_t began;
	dg_client *client;

	(void)state;
	start_all(ROW_BYTES, FAKE_TRICKLES);
	client = client_of(50);
	began = dgi_now_ms();
	assert_pull_fails(client, DG_TIMEOUT, "partition 1 at");
	assert_true(dgi_now_ms() - began < 1000);
	dg_client_close(client);
	stop_all();
}

static void without_a_server_the_text_says_where_it_was_sought(void **state)
{
	dg_server_status status;
	dg_client *client;
	dg_error err = { 0 };
	char *part = tmpdir_path(dir, "part2");

	(void)state;
	assert_int_equal(unsetenv("DGL_IP_CONFIG"), 0);
	assert_ok(dg_client_open(path, NULL, &client, &err), &err);
	assert_fails(dg_client_server_status(client, 2, &status, &err), DG_NOTFOUND, &err, part);
	assert_fails(dg_client_server_status(client, 3, &status, &err), DG_RANGE, &err,
		     "partition 3: the graph has 3");
	dg_client_close(client);
	free(part);
}

/* --- Connections that are lost --- */

static void a_pull_survives_a_lost_connection(void **state)
{
	dg_client *client;

	(void)state;
	start_all(ROW_BYTES, FAKE_LOSES_ONCE);
	client = client_of(0);
	assert_pull_works(client);
	assert_pull_works(client); /* is lost and made again */
	assert_int_equal(servers[1].n_connections, 2);
	dg_client_close(client);
	stop_all();
}

static void a_pull_goes_on_until_its_deadline(void **state)
{
	dg_client *client;

	(void)state;
	start_all(ROW_BYTES, FAKE_LOSES);
	client = client_of(RETRIES_MS);
	assert_pull_fails(client, DG_TIMEOUT, "partition 1 at");
	assert_true(servers[1].n_connections > 2);
	servers[1].manner = FAKE_HONEST;
	assert_pull_works(client);
	dg_client_close(client);
	stop_all();
}

static void a_push_goes_on_until_its_deadline_and_then_says_that_its_fate_is_unknown(void **state)
{
	static const dg_id row = 12;
	uint8_t data[ROW_BYTES] = { 0 };
	dg_error err = { 0 };
	dg_client *client;

	(void)state;
	start_all(ROW_BYTES, FAKE_LOSES);
	client = client_of(RETRIES_MS);
	assert_fails(dg_client_push(client, &tensors[0], &row, 1, data, &err), DG_TIMEOUT, &err,
		     "rows may or may not be set");
	assert_non_null(strstr(err.text, "partition 1 at 127.0.0.1:"));
	assert_true(servers[1].n_connections > 2);
	dg_client_close(client);
	stop_all();
}

static void a_push_without_a_sound_answer_says_that_its_fate_is_unknown(void **state)
{
	static const struct {
		enum fake_manner manner;
		dg_status status;
		bool is_unknown;
	} cases[] = {
		{ FAKE_SILENT, DG_TIMEOUT, true },
		{ FAKE_GARBAGE, DG_PROTO, true },
		{ FAKE_REFUSES, DG_FULL, false }, /* was not applied */
	};
	static const dg_id row = 12;
	uint8_t data[ROW_BYTES] = { 0 };
	dg_error err = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		dg_client *client;

		start_all(ROW_BYTES, cases[i].manner);
		client = client_of(TIMEOUT_MS);
		assert_fails(dg_client_push(client, &tensors[0], &row, 1, data, &err),
			     cases[i].status, &err, "partition 1 at 127.0.0.1:");
		assert_int_equal(strstr(err.text, "may or may not be set") != NULL,
				 cases[i].is_unknown);
		dg_client_close(client);
		stop_all();
	}
}

static void a_push_goes_to_a_server_that_was_restarted_before_it(void **state)
{
	static const dg_id row = 12;
	uint8_t data[ROW_BYTES] = { 42 };
	dg_error err = { 0 };
	dg_client *client;

	(void)state;
	start_all(ROW_BYTES, FAKE_HONEST);
	client = client_of(0);
	assert_pull_works(client);
	stop(1);
	start(1, FAKE_HONEST);
	assert_ok(dg_client_push(client, &tensors[0], &row, 1, data, &err), &err);
	assert_int_equal(servers[1].data[2 * ROW_BYTES], 42);
	dg_client_close(client);
	stop_all();
}

/* --- Servers that are others than before --- */

/* A pull whose connection is lost comes upon a server that says it is @status's reason. */
static void assert_refused_on_return(int64_t newer, uint8_t store_bit, const char *text)
{
	dg_client *client;

	start_all(ROW_BYTES, FAKE_LOSES_ONCE);
	client = client_of(0);
	assert_pull_works(client);
	servers[1].store_uuid.bytes[0] ^= store_bit;
	servers[1].incarnation += (uint64_t)newer;
	assert_pull_fails(client, DG_MISMATCH, text);
	servers[1].store_uuid.bytes[0] ^= store_bit;
	servers[1].incarnation += 2;
	assert_pull_works(client);
	dg_client_close(client);
	stop_all();
}

static void another_store_or_an_older_one_is_refused(void **state)
{
	(void)state;
	assert_refused_on_return(0, 1, "partition 1 at");
	assert_refused_on_return(-1, 0, "an older copy of it is served");
}

static void another_cluster_or_part_is_refused(void **state)
{
	dg_client *client;

	(void)state;
	start_all(ROW_BYTES, FAKE_HONEST);
	client = client_of(0);
	servers[1].cluster_uuid.bytes[0] ^= 1;
	assert_pull_fails(client, DG_MISMATCH, "partition 1 at");
	servers[1].cluster_uuid.bytes[0] ^= 1;
	servers[1].part = 2;
	assert_pull_fails(client, DG_MISMATCH, "the server has part 2, want 1");
	servers[1].part = 1;
	assert_pull_works(client);
	dg_client_close(client);
	stop_all();
}

/* --- Answers that are wrong --- */

static void wrong_answers_are_refused_and_the_client_lives_on(void **state)
{
	static const struct {
		enum fake_manner manner;
		dg_status status;
		const char *text;
	} cases[] = {
		{ FAKE_SHORT, DG_MISMATCH, "rows of 16 bytes, got" },
		{ FAKE_GARBAGE, DG_PROTO, "partition 1 at" },
		{ FAKE_REFUSES, DG_FULL, "the disk is full" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		dg_client *client;

		start_all(ROW_BYTES, cases[i].manner);
		client = client_of(0);
		assert_pull_fails(client, cases[i].status, cases[i].text);
		servers[1].manner = FAKE_HONEST;
		assert_pull_works(client);
		dg_client_close(client);
		stop_all();
	}
}

static void a_refusal_keeps_the_connection(void **state)
{
	dg_client *client;

	(void)state;
	start_all(ROW_BYTES, FAKE_REFUSES);
	client = client_of(0);
	assert_pull_fails(client, DG_FULL, "partition 1 at");
	servers[1].manner = FAKE_HONEST;
	assert_pull_works(client);
	assert_int_equal(servers[1].n_connections, 1);
	dg_client_close(client);
	stop_all();
}

/* --- Callers that are wrong --- */

static void a_row_outside_the_graph_is_told_without_asking(void **state)
{
	static const dg_id rows[] = { 3, 31, -1 };
	uint8_t out[3 * ROW_BYTES];
	dg_error err = { 0 };
	dg_client *client;

	(void)state;
	start_all(ROW_BYTES, FAKE_HONEST);
	client = client_of(0);
	assert_fails(dg_client_pull(client, &tensors[0], rows, 3, out, &err), DG_RANGE, &err,
		     "id 31 of tensor 'feat': the graph has 31");
	assert_fails(dg_client_push(client, &tensors[0], rows, 3, out, &err), DG_RANGE, &err, "31");
	assert_int_equal(servers[0].n_connections, 0);
	assert_ok(dg_client_pull(client, &tensors[0], rows, 0, out, &err), &err);
	dg_client_close(client);
	stop_all();
}

static void options_that_cannot_be_are_refused(void **state)
{
	const char *addresses[] = { "h:1", "h:2", "nonsense" };
	dg_client_options options = { .addresses = addresses, .n_addresses = 2 };
	dg_error err = { 0 };
	dg_client *client;

	(void)state;
	assert_fails(dg_client_open(path, &options, &client, &err), DG_INVALID, &err,
		     "2 addresses, the graph has 3 partitions");
	options.n_addresses = 3;
	assert_fails(dg_client_open(path, &options, &client, &err), DG_INVALID, &err,
		     "address 'nonsense'");
	assert_fails(dg_client_open("/nowhere", NULL, &client, &err), DG_NOTFOUND, &err,
		     "/nowhere");
}

static void a_forked_process_must_open_its_own(void **state)
{
	dg_client *client;
	int status;
	pid_t pid;

	(void)state;
	start_all(ROW_BYTES, FAKE_HONEST);
	client = client_of(0);
	assert_pull_works(client);
	pid = fork();
	if (pid == 0) {
		static const dg_id row = 1;
		uint8_t out[ROW_BYTES];

		_exit(dg_client_pull(client, &tensors[0], &row, 1, out, NULL) == DG_DENIED ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_pull_works(client);
	dg_client_close(client);
	stop_all();
}

static void a_unix_socket_serves_as_well(void **state)
{
	dg_server_status status;
	dg_error err = { 0 };
	dg_client *client;
	char wanted[150];

	(void)state;
	set_tensor(0, "feat", ROW_BYTES);
	memset(servers, 0, sizeof servers);
	for (uint32_t p = 0; p < PARTS; p++) {
		(void)snprintf(servers[p].address, sizeof servers[p].address, "unix:%.90s/%u.sock",
			       dir, p);
		start(p, FAKE_HONEST);
	}
	(void)snprintf(wanted, sizeof wanted, "unix:%.90s/1.sock", dir);
	client = client_of(0);
	assert_pull_works(client);
	assert_ok(dg_client_server_status(client, 1, &status, &err), &err);
	assert_string_equal(status.address, wanted);
	assert_int_equal(status.store.part, 1);
	assert_int_equal(status.pulls, 1);
	assert_true(status.round_trip_ms > 0);
	dg_client_close(client);
	stop_all();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_come_in_the_callers_order),
		cmocka_unit_test(a_large_pull_is_many_requests),
		cmocka_unit_test(answers_may_come_in_any_order),
		cmocka_unit_test(a_server_may_take_fewer_rows_at_a_time),
		cmocka_unit_test(of_equal_rows_in_a_push_the_last_wins),
		cmocka_unit_test(the_list_of_tensors_comes_in_pieces),
		cmocka_unit_test(a_tensor_of_a_type_the_file_lacks_is_refused),
		cmocka_unit_test(a_dead_server_is_named_at_once),
		cmocka_unit_test(a_silent_server_is_named_within_the_deadline),
		cmocka_unit_test(
			a_server_that_has_fallen_silent_is_asked_again_on_another_connection),
		cmocka_unit_test(a_server_that_trickles_does_not_outlast_the_deadline),
		cmocka_unit_test(without_a_server_the_text_says_where_it_was_sought),
		cmocka_unit_test(a_pull_survives_a_lost_connection),
		cmocka_unit_test(a_pull_goes_on_until_its_deadline),
		cmocka_unit_test(
			a_push_goes_on_until_its_deadline_and_then_says_that_its_fate_is_unknown),
		cmocka_unit_test(a_push_without_a_sound_answer_says_that_its_fate_is_unknown),
		cmocka_unit_test(a_push_goes_to_a_server_that_was_restarted_before_it),
		cmocka_unit_test(another_store_or_an_older_one_is_refused),
		cmocka_unit_test(another_cluster_or_part_is_refused),
		cmocka_unit_test(wrong_answers_are_refused_and_the_client_lives_on),
		cmocka_unit_test(a_refusal_keeps_the_connection),
		cmocka_unit_test(a_row_outside_the_graph_is_told_without_asking),
		cmocka_unit_test(options_that_cannot_be_are_refused),
		cmocka_unit_test(a_forked_process_must_open_its_own),
		cmocka_unit_test(a_unix_socket_serves_as_well),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
