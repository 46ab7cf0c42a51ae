/*
 * wire.c -- what does the wire cost: a row pulled, against a raw echo program, and rows pushed
 * durably, against the storage engine alone?
 *
 *   wire [MIB]     size of the table, 128 by default
 */
#include "cluster.h"
#include "harness.h"
#include "store.h"

#include "baseline/raw.h"

#include "inside.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAIRS 21
#define ROW_BYTES 512
#define ECHOES 1000
#define PULL_REQUEST_BYTES (128 + sizeof(dg_id))
#define PULL_REPLY_BYTES (128 + ROW_BYTES)
#define PUSH_ROWS 1024
#define PUSHES 64      /* of one measurement */
#define PUSHES_AHEAD 8 /* sent before the first of them is acknowledged */

struct bench {
	struct bench_cluster cluster;
	struct bench_server server;
	struct raw raw;
	dg_client *client;
	dg_tensor_info feature;
	int64_t n_rows;
	dg_id *rows;
	uint8_t *data; /* of PUSHES_AHEAD pushes */
	uint8_t out[PULL_REPLY_BYTES];

	char *store; /* of the engine alone */
	struct dgi_volume *volume;
	pthread_mutex_t lock;
	pthread_cond_t grown;
	uint64_t durable;
};

/* --- A row --- */

static double pull_rows_one_by_one(void *context, uint64_t round)
{
	struct bench *b = context;
	dg_error err = { 0 };
	double begun;

	bench_draw(round, b->n_rows, 1, 0, b->rows, ECHOES);
	begun = bench_wall_seconds();
	for (size_t i = 0; i < ECHOES; i++)
		if (dg_client_pull(b->client, &b->feature, b->rows + i, 1, b->out, &err))
			bench_fail("%s", err.text);
	return bench_wall_seconds() - begun;
}

static double echo(void *context, uint64_t round)
{
	struct bench *b = context;
	double begun = bench_wall_seconds();

	(void)round;
	raw_ask(&b->raw, ECHOES, 1, PULL_REQUEST_BYTES, PULL_REPLY_BYTES, b->out);
	return bench_wall_seconds() - begun;
}

/* --- Pushes --- */

static void draw_pushes(struct bench *b, uint64_t round)
{
	bench_draw(round, b->n_rows, 1, 0, b->rows, (size_t)PUSHES * PUSH_ROWS);
}

static void *data_of(const struct bench *b, size_t i)
{
	return b->data + i % PUSHES_AHEAD * PUSH_ROWS * ROW_BYTES;
}

static double push_through_the_wire(void *context, uint64_t round)
{
	struct bench *b = context;
	dg_request *requests[PUSHES];
	dg_error err = { 0 };
	double begun;

	draw_pushes(b, round);
	begun = bench_wall_seconds();
	for (size_t i = 0; i < PUSHES + PUSHES_AHEAD; i++) {
		if (i >= PUSHES_AHEAD && dg_request_wait(requests[i - PUSHES_AHEAD], &err))
			bench_fail("%s", err.text);
		if (i < PUSHES && dg_client_begin_push(b->client, &b->feature, DG_OP_ASSIGN,
						       b->rows + i * PUSH_ROWS, PUSH_ROWS,
						       data_of(b, i), &requests[i], &err))
			bench_fail("%s", err.text);
	}
	return bench_wall_seconds() - begun;
}

static void note_durable(void *context, uint64_t log_number, dg_status status)
{
	struct bench *b = context;

	if (status)
		bench_fail("the store broke");
	(void)pthread_mutex_lock(&b->lock);
	b->durable = log_number;
	(void)pthread_cond_signal(&b->grown);
	(void)pthread_mutex_unlock(&b->lock);
}

static void wait_durable(struct bench *b, uint64_t log_number)
{
	(void)pthread_mutex_lock(&b->lock);
	while (b->durable < log_number)
		(void)pthread_cond_wait(&b->grown, &b->lock);
	(void)pthread_mutex_unlock(&b->lock);
}

static double push_into_the_engine(void *context, uint64_t round)
{
	struct bench *b = context;
	uint64_t logs[PUSHES];
	dg_error err = { 0 };
	double begun;

	draw_pushes(b, round);
	begun = bench_wall_seconds();
	for (size_t i = 0; i < PUSHES + PUSHES_AHEAD; i++) {
		struct dgi_write write = { .tensor = BENCH_TENSOR,
					   .rows = b->rows + i * PUSH_ROWS,
					   .n = PUSH_ROWS,
					   .data = data_of(b, i) };

		if (i >= PUSHES_AHEAD)
			wait_durable(b, logs[i - PUSHES_AHEAD]);
		if (i >= PUSHES)
			continue;
		if (dgi_volume_apply(b->volume, &write, 1, &err) || write.status)
			bench_fail("%s%s", err.text, write.error.text);
		logs[i] = write.log_number;
	}
	return bench_wall_seconds() - begun;
}

/* What was pushed last is what is pulled. */
static void compare_bytes(struct bench *b)
{
	uint8_t *out = bench_memory((size_t)PUSH_ROWS * ROW_BYTES);
	dg_error err = { 0 };

	for (int64_t i = 0; i < PUSHES * PUSH_ROWS; i++)
		b->rows[i] = i * 7 % b->n_rows; /* each row once */
	if (dg_client_push(b->client, &b->feature, b->rows, PUSH_ROWS, b->data, &err) ||
	    dg_client_pull(b->client, &b->feature, b->rows, PUSH_ROWS, out, &err))
		bench_fail("%s", err.text);
	if (memcmp(out, b->data, (size_t)PUSH_ROWS * ROW_BYTES) != 0)
		bench_fail("the rows pushed are not the rows pulled");
	free(out);
}

static void run_echo(struct bench *b, bool tcp)
{
	const char *kind = tcp ? "tcp" : "unix";
	char name[60];

	raw_start(&b->raw, tcp);
	bench_server_start(&b->server, &b->cluster, tcp, 1);
	b->client = bench_client_open(&b->cluster, &b->server, &b->feature);
	(void)snprintf(name, sizeof name, "wire/%s/one_row", kind);
	(void)bench_ratio(name, PAIRS, pull_rows_one_by_one, echo, b);
	dg_client_close(b->client);
	bench_server_stop(&b->server);
	raw_stop(&b->raw);
}

static void run_push(struct bench *b, bool tcp)
{
	const char *kind = tcp ? "tcp" : "unix";
	char name[60];

	bench_server_start(&b->server, &b->cluster, tcp, 1);
	b->store = bench_store_make(ROW_BYTES, b->n_rows);
	b->volume = bench_store_open(b->store, NULL);
	dgi_volume_on_durable(b->volume, note_durable, b);
	b->client = bench_client_open(&b->cluster, &b->server, &b->feature);
	compare_bytes(b);
	(void)snprintf(name, sizeof name, "wire/%s/push_%dx%d", kind, PUSH_ROWS, ROW_BYTES);
	(void)bench_ratio(name, PAIRS, push_through_the_wire, push_into_the_engine, b);
	dg_client_close(b->client);
	bench_server_stop(&b->server);
	dgi_volume_close(b->volume);
	bench_store_remove(b->store);
}

int main(int argc, char **argv)
{
	double mib = bench_argument(argc, argv, 1, 128);
	struct bench b = { .n_rows = (int64_t)(mib * 1048576 / ROW_BYTES),
			   .lock = PTHREAD_MUTEX_INITIALIZER,
			   .grown = PTHREAD_COND_INITIALIZER };

	printf("# table of %.0f MiB; a row of %d bytes; pushes of %d rows, %d ahead; 1 server "
	       "thread\n",
	       mib, ROW_BYTES, PUSH_ROWS, PUSHES_AHEAD);
	bench_cluster_make(&b.cluster, b.n_rows, ROW_BYTES);
	b.rows = bench_memory((size_t)PUSHES * PUSH_ROWS * sizeof *b.rows);
	b.data = bench_memory((size_t)PUSHES_AHEAD * PUSH_ROWS * ROW_BYTES);
	bench_rows(0, PUSHES_AHEAD * PUSH_ROWS, ROW_BYTES, b.data);
	run_echo(&b, true);
	run_echo(&b, false);
	run_push(&b, true);
	run_push(&b, false);
	bench_cluster_remove(&b.cluster);
	free(b.rows);
	free(b.data);
	return 0;
}
