/*
 * pull.c -- how fast are random rows pulled through the wire, against a raw request/response
 * program that moves as many bytes over the same kind of socket, plus gathering the rows from a file?
 *
 *   pull [MIB]     size of the table, 256 by default
 */
#include "cluster.h"
#include "harness.h"
#include "store.h"

#include "baseline/flat.h"
#include "baseline/raw.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define PAIRS 21
#define ROW_BYTES 512
#define BATCH_MAX 131072
#define ROWS_MIN 65536 /* of one measurement, in several batches if need be */
#define IN_FLIGHT 4
#define REQUEST_BYTES 128 /* of a request and of its answer, beside the arrays */

struct bench {
	struct bench_cluster cluster;
	struct bench_server server;
	struct raw raw;
	dg_client *client;
	dg_tensor_info feature;
	const uint8_t *flat; /* the rows, as a file in the page cache */
	int64_t n_rows;
	size_t batch; /* rows of a request */
	size_t small; /* … of the request that the batch is compared with */
	dg_id *ids;
	uint8_t *out; /* of IN_FLIGHT requests */
	dg_request *requests[IN_FLIGHT];
};

static size_t batches_of(size_t batch)
{
	return batch < ROWS_MIN / IN_FLIGHT ? ROWS_MIN / batch : IN_FLIGHT;
}

/* Other rows for each side, so that none finds in the cache what the other brought there. */
static void draw(struct bench *b, uint64_t round, uint64_t side)
{
	bench_draw(round * 2 + side, b->n_rows, 1, 0, b->ids, b->batch * batches_of(b->batch));
}

static uint8_t *out_of(const struct bench *b, size_t i)
{
	return b->out + i % IN_FLIGHT * b->batch * ROW_BYTES;
}

static double pull(void *context, uint64_t round)
{
	struct bench *b = context;
	size_t n = batches_of(b->batch);
	dg_error err = { 0 };
	double begun;

	draw(b, round, 0);
	begun = bench_wall_seconds();
	for (size_t i = 0; i < n; i++) {
		dg_request **request = &b->requests[i % IN_FLIGHT];

		if (i >= IN_FLIGHT && dg_request_wait(*request, &err))
			bench_fail("%s", err.text);
		if (dg_client_begin_pull(b->client, &b->feature, b->ids + i * b->batch, b->batch,
					 out_of(b, i), request, &err))
			bench_fail("%s", err.text);
	}
	for (size_t i = n < IN_FLIGHT ? 0 : n - IN_FLIGHT; i < n; i++)
		if (dg_request_wait(b->requests[i % IN_FLIGHT], &err))
			bench_fail("%s", err.text);
	return bench_wall_seconds() - begun;
}

static double raw_and_gather(void *context, uint64_t round)
{
	struct bench *b = context;
	size_t n = batches_of(b->batch);
	double begun;

	draw(b, round, 1);
	begun = bench_wall_seconds();
	raw_ask(&b->raw, n, IN_FLIGHT, REQUEST_BYTES + b->batch * sizeof *b->ids,
		REQUEST_BYTES + b->batch * ROW_BYTES, b->out);
	for (size_t i = 0; i < n; i++)
		flat_gather(b->flat, ROW_BYTES, b->ids + i * b->batch, b->batch, out_of(b, i));
	return bench_wall_seconds() - begun;
}

/* As many rows as pull(), in smaller requests, to as much memory. */
static double pull_small(void *context, uint64_t round)
{
	struct bench *b = context;
	size_t batch = b->batch, pieces = batch / b->small;
	uint8_t *out = b->out;
	double seconds = 0;

	b->batch = b->small;
	for (size_t i = 0; i < pieces; i++) {
		b->out = out + i * IN_FLIGHT * b->small * ROW_BYTES;
		seconds += pull(b, round * pieces + i);
	}
	b->out = out;
	b->batch = batch;
	return seconds;
}

/* Both sides give the same bytes. */
static void compare_sides(struct bench *b)
{
	uint8_t *flat = bench_memory((size_t)BATCH_MAX * ROW_BYTES);

	b->batch = BATCH_MAX;
	(void)pull(b, 0); /* ids of the last batch and its rows are still there */
	flat_gather(b->flat, ROW_BYTES, b->ids + (IN_FLIGHT - 1) * b->batch, b->batch, flat);
	if (memcmp(flat, out_of(b, IN_FLIGHT - 1), b->batch * ROW_BYTES) != 0)
		bench_fail("the rows pulled are not those of the file");
	free(flat);
}

static void run(struct bench *b, bool tcp)
{
	static const size_t batches[] = { 64, 1024, 16384 };
	const char *kind = tcp ? "tcp" : "unix";
	char name[100];

	raw_start(&b->raw, tcp);
	bench_server_start(&b->server, &b->cluster, tcp, 1);
	b->client = bench_client_open(&b->cluster, &b->server, &b->feature);
	compare_sides(b);
	for (size_t i = 0; i < sizeof batches / sizeof *batches; i++) {
		b->batch = batches[i];
		(void)snprintf(name, sizeof name, "pull/%s/%zux%d", kind, b->batch, ROW_BYTES);
		(void)bench_ratio(name, PAIRS, pull, raw_and_gather, b);
	}
	b->batch = BATCH_MAX;
	b->small = 16384;
	(void)snprintf(name, sizeof name, "pull/%s/%zu/as_%zu", kind, b->batch, b->small);
	(void)bench_ratio(name, PAIRS, pull, pull_small, b);
	dg_client_close(b->client);
	bench_server_stop(&b->server);
	raw_stop(&b->raw);
}

int main(int argc, char **argv)
{
	double mib = bench_argument(argc, argv, 1, 256);
	struct bench b = { .n_rows = (int64_t)(mib * 1048576 / ROW_BYTES) };
	struct stat st;
	const uint8_t *file;

	printf("# table of %.0f MiB, rows of %d bytes, %d requests in flight, 1 server thread\n",
	       mib, ROW_BYTES, IN_FLIGHT);
	bench_cluster_make(&b.cluster, b.n_rows, ROW_BYTES);
	if (stat(b.cluster.feature_path, &st) != 0)
		bench_fail("'%s' is not there", b.cluster.feature_path);
	file = flat_file_map(b.cluster.feature_path, (size_t)st.st_size);
	b.flat = file + b.cluster.feature_at;
	b.ids = bench_memory((size_t)BATCH_MAX * IN_FLIGHT * sizeof *b.ids);
	b.out = bench_memory((size_t)IN_FLIGHT * (BATCH_MAX * ROW_BYTES + REQUEST_BYTES));
	run(&b, true);
	run(&b, false);
	flat_unmap(file, (size_t)st.st_size);
	bench_cluster_remove(&b.cluster);
	free(b.ids);
	free(b.out);
	return 0;
}
