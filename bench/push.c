/*
 * push.c -- how fast are rows pushed durably, against appending the same bytes to a file, and how
 * much does a checkpoint slow pushes and pulls?
 *
 *   push [MIB]     size of the table, 128 by default
 */
#include "harness.h"
#include "store.h"

#include "baseline/append.h"

#include "inside.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAIRS 15
#define ROW_BYTES 512
#define PUSH_ROWS 1024
#define GROUP_PUSHES 4
#define GROUPS 16	   /* of one measurement */
#define GROUPS_IN_FLIGHT 2 /* a client sends the next before the last is acknowledged */
#define CHECKPOINT_MS 60000
#define JOURNAL_BYTES (UINT64_C(128) << 20) /* checkpoint between measurements from here on */
#define FILE_BYTES (UINT64_C(256) << 20)

struct bench {
	struct dgi_volume *volume;
	struct append file;
	int64_t n_rows;
	dg_id *rows;
	uint8_t *data;
	uint8_t *out;
	uint64_t last_log;
	pthread_mutex_t lock;
	pthread_cond_t grown;
	uint64_t durable;
	_Atomic bool checkpointing;
	double pull_s; /* what a measurement spent in pulls and in pushes */
	double push_s;
	uint64_t units;
};

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

static void draw(struct bench *b, uint64_t seed)
{
	bench_draw(seed, b->n_rows, 1, 0, b->rows, (size_t)PUSH_ROWS * GROUP_PUSHES * GROUPS);
}

/* Applies group number @group of a measurement; returns its log number. */
static uint64_t apply_group(struct bench *b, size_t group)
{
	struct dgi_write writes[GROUP_PUSHES];
	dg_error err = { 0 };

	for (size_t i = 0; i < GROUP_PUSHES; i++)
		writes[i] = (struct dgi_write){
			.tensor = BENCH_TENSOR,
			.rows = b->rows + (group * GROUP_PUSHES + i) * PUSH_ROWS,
			.n = PUSH_ROWS,
			.data = b->data + i * PUSH_ROWS * ROW_BYTES,
		};
	if (dgi_volume_apply(b->volume, writes, GROUP_PUSHES, &err))
		bench_fail("%s", err.text);
	for (size_t i = 0; i < GROUP_PUSHES; i++)
		if (writes[i].status)
			bench_fail("%s", writes[i].error.text);
	return writes[GROUP_PUSHES - 1].log_number;
}

/* What a checkpoint costs is measured apart: none becomes due in between. */
static void shorten_journal(struct bench *b)
{
	dg_error err = { 0 };

	if (dgi_journal_bytes(b->volume->journal) < JOURNAL_BYTES)
		return;
	if (dgi_volume_checkpoint(b->volume, CHECKPOINT_MS, &err))
		bench_fail("%s", err.text);
	bench_store_heat(b->volume);
}

static double push_engine(void *context, uint64_t round)
{
	struct bench *b = context;
	uint64_t logs[GROUPS];
	double begun;

	shorten_journal(b);
	draw(b, round);
	begun = bench_wall_seconds();
	for (size_t i = 0; i < GROUPS; i++) {
		logs[i] = apply_group(b, i);
		if (i + 1 >= GROUPS_IN_FLIGHT)
			wait_durable(b, logs[i + 1 - GROUPS_IN_FLIGHT]);
	}
	wait_durable(b, logs[GROUPS - 1]);
	return bench_wall_seconds() - begun;
}

static double push_one_group_at_a_time(void *context, uint64_t round)
{
	struct bench *b = context;
	double begun;

	shorten_journal(b);
	draw(b, round);
	begun = bench_wall_seconds();
	for (size_t i = 0; i < GROUPS; i++)
		wait_durable(b, apply_group(b, i));
	return bench_wall_seconds() - begun;
}

static double append_file(void *context, uint64_t round)
{
	struct bench *b = context;
	double begun;

	draw(b, round);
	begun = bench_wall_seconds();
	for (size_t i = 0; i < GROUPS; i++) {
		for (size_t j = 0; j < GROUP_PUSHES; j++) {
			append_piece(&b->file, b->rows + (i * GROUP_PUSHES + j) * PUSH_ROWS,
				     PUSH_ROWS * sizeof *b->rows);
			append_piece(&b->file, b->data + j * PUSH_ROWS * ROW_BYTES,
				     (size_t)PUSH_ROWS * ROW_BYTES);
		}
		append_sync(&b->file);
	}
	return bench_wall_seconds() - begun;
}

/* Bytes that this process has passed to write calls. */
static double bytes_written(void)
{
	FILE *file = fopen("/proc/self/io", "r");
	unsigned long long value;

	if (!file || fscanf(file, "rchar: %*u wchar: %llu", &value) != 1)
		bench_fail("cannot read /proc/self/io");
	(void)fclose(file);
	return (double)value;
}

static void measure_amplification(struct bench *b)
{
	double before, pushed = (double)GROUPS * GROUP_PUSHES * PUSH_ROWS * ROW_BYTES;

	shorten_journal(b);
	before = bytes_written();
	(void)push_engine(b, 1);
	printf("# journal bytes written / rows' bytes pushed: %.3f (at most 1.2 wanted)\n",
	       (bytes_written() - before) / pushed);
	bench_value("push/journal_bytes", 1.2 * pushed / (bytes_written() - before));
}

/* --- While a checkpoint runs --- */

static void *run_checkpoint(void *context)
{
	struct bench *b = context;
	dg_error err = { 0 };

	if (dgi_volume_checkpoint(b->volume, CHECKPOINT_MS, &err))
		bench_fail("%s", err.text);
	b->checkpointing = false;
	return NULL;
}

/* A unit of work: a group pushed durably, and as many batches pulled. */
static void do_unit(struct bench *b, uint64_t seed)
{
	dg_error err = { 0 };
	double begun, pushed;

	draw(b, seed);
	begun = bench_wall_seconds();
	wait_durable(b, apply_group(b, 0));
	pushed = bench_wall_seconds();
	for (size_t i = 1; i <= 4 * GROUP_PUSHES; i++)
		if (dgi_volume_gather(b->volume, BENCH_TENSOR, b->rows + i * PUSH_ROWS, PUSH_ROWS,
				      b->out, &err))
			bench_fail("%s", err.text);
	b->push_s += pushed - begun;
	b->pull_s += bench_wall_seconds() - pushed;
	b->units++;
}

/* All is hot; then units until the checkpoint is done, or as many without one. */
static void work(struct bench *b, uint64_t round, bool checkpoint, uint64_t units)
{
	pthread_t thread;
	dg_error err = { 0 };

	if (dgi_volume_checkpoint(b->volume, CHECKPOINT_MS, &err))
		bench_fail("%s", err.text);
	bench_store_heat(b->volume);
	b->push_s = b->pull_s = 0;
	b->units = 0;
	b->checkpointing = checkpoint;
	if (checkpoint && pthread_create(&thread, NULL, run_checkpoint, b) != 0)
		bench_fail("no thread");
	while (checkpoint ? b->checkpointing : b->units < units)
		do_unit(b, round << 20 | b->units);
	if (checkpoint)
		(void)pthread_join(thread, NULL);
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void print_slowdown(const char *name, double *ratios, int n)
{
	qsort(ratios, (size_t)n, sizeof *ratios, compare_doubles);
	printf("%s ratio %.3f [%.3f, %.3f]  (%d pairs)\n", name, ratios[n / 2], ratios[n / 2 - 4],
	       ratios[n / 2 + 4], n);
}

/* Both figures come from the same run, so this measures its pairs itself. */
static void measure_checkpoint(struct bench *b)
{
	enum { N = 15 };
	double pulls[N], pushes[N];

	for (int i = 0; i < N; i++) {
		double pull, push;

		work(b, (uint64_t)i * 2, true, 0);
		if (b->units == 0)
			bench_fail("the checkpoint was over at once");
		pull = b->pull_s / (double)b->units;
		push = b->push_s / (double)b->units;
		work(b, (uint64_t)i * 2 + 1, false, b->units);
		pulls[i] = b->pull_s / (double)b->units / pull;
		pushes[i] = b->push_s / (double)b->units / push;
	}
	printf("# last checkpoint: %llu units of %d pushes and %d pulls\n",
	       (unsigned long long)b->units, GROUP_PUSHES, 4 * GROUP_PUSHES);
	print_slowdown("push/checkpoint/pulls", pulls, N);
	print_slowdown("push/checkpoint/pushes", pushes, N);
}

/* What was pushed last is what is read. */
static void compare_bytes(struct bench *b)
{
	dg_error err = { 0 };
	dg_id *rows = b->rows;

	for (int64_t i = 0; i < PUSH_ROWS * GROUP_PUSHES * GROUPS; i++)
		rows[i] = i * 7 % b->n_rows; /* each row once */
	wait_durable(b, apply_group(b, 0));
	if (dgi_volume_gather(b->volume, BENCH_TENSOR, rows, PUSH_ROWS * GROUP_PUSHES, b->out,
			      &err))
		bench_fail("%s", err.text);
	if (memcmp(b->out, b->data, (size_t)PUSH_ROWS * GROUP_PUSHES * ROW_BYTES) != 0)
		bench_fail("the rows pushed are not the rows read");
}

int main(int argc, char **argv)
{
	double mib = bench_argument(argc, argv, 1, 128);
	struct bench b = { .n_rows = (int64_t)(mib * 1048576 / ROW_BYTES),
			   .lock = PTHREAD_MUTEX_INITIALIZER,
			   .grown = PTHREAD_COND_INITIALIZER };
	char *path = bench_store_make(ROW_BYTES, b.n_rows);
	size_t group_bytes = (size_t)GROUP_PUSHES * PUSH_ROWS * ROW_BYTES;

	printf("# table of %.0f MiB, groups of %d pushes of %d rows of %d bytes\n", mib,
	       GROUP_PUSHES, PUSH_ROWS, ROW_BYTES);
	b.volume = bench_store_open(path, NULL);
	dgi_volume_on_durable(b.volume, note_durable, &b);
	b.file = append_open(path, FILE_BYTES);
	b.rows = bench_memory((size_t)GROUPS * GROUP_PUSHES * PUSH_ROWS * sizeof *b.rows);
	b.data = bench_memory(group_bytes);
	b.out = bench_memory(group_bytes);
	bench_rows(0, GROUP_PUSHES * PUSH_ROWS, ROW_BYTES, b.data);
	compare_bytes(&b);
	bench_store_heat(b.volume);
	/* Once past the first checkpoint the journal's pages are reused. */
	for (uint64_t i = 0; i < 12; i++)
		(void)push_engine(&b, i);
	(void)bench_ratio("push/1024x512/2_groups_in_flight", PAIRS, push_engine, append_file, &b);
	(void)bench_ratio("push/1024x512/1_group", PAIRS, push_one_group_at_a_time, append_file,
			  &b);
	measure_amplification(&b);
	measure_checkpoint(&b);
	dgi_volume_close(b.volume);
	append_close(&b.file);
	bench_store_remove(path);
	free(b.rows);
	free(b.data);
	free(b.out);
	return 0;
}
