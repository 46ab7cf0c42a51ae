/*
 * recover.c -- how long does opening take after kill -9?
 *
 *   recover [MIB [MIB]]     journal and table, 256 and 128 by default
 *
 * Once with a journal of a given size and no checkpoint, against a plain log of the same size that
 * is hashed and copied to its rows; and with default options, killed at random moments.
 */
#include "harness.h"
#include "store.h"

#include "baseline/log.h"

#include "inside.h"
#include "rng.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAIRS 15
#define KILLS 7
#define ROW_BYTES 512
#define PUSH_ROWS 1024
#define TARGET_S 2.0

struct bench {
	char *path;
	int64_t n_rows;
	struct log log;
};

/* Pushes until the journal is so long (0: for ever) and dies by SIGKILL, as a crash would. */
static _Noreturn void push_and_die(const struct bench *b, const struct dgi_volume_options *options,
				   uint64_t journal_bytes, uint64_t seed)
{
	struct dgi_volume *volume = bench_store_open(b->path, options);
	uint8_t *data = bench_memory((size_t)PUSH_ROWS * ROW_BYTES);
	dg_id rows[PUSH_ROWS];
	dg_error err = { 0 };

	for (uint64_t i = 0; !journal_bytes || dgi_journal_bytes(volume->journal) < journal_bytes;
	     i++) {
		struct dgi_write write = {
			.tensor = BENCH_TENSOR, .rows = rows, .n = PUSH_ROWS, .data = data
		};

		bench_draw(seed + i, b->n_rows, 1, 0, rows, PUSH_ROWS);
		for (size_t j = 0; j < PUSH_ROWS; j++)
			bench_rows(rows[j], 1, ROW_BYTES, data + j * ROW_BYTES);
		if (dgi_volume_apply(volume, &write, 1, &err) || write.status)
			bench_fail("%s", write.error.text);
		/* The last of them durable, many at a time. */
		if (i % 8 == 0 && (dgi_volume_write(volume, &write, 1, &err) || write.status))
			bench_fail("%s", write.error.text);
	}
	(void)kill(getpid(), SIGKILL);
	_exit(1);
}

static void end_child(pid_t child)
{
	int status;

	if (waitpid(child, &status, 0) != child)
		bench_fail("waitpid");
	if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
		bench_fail("the pushing process did not die as it should");
}

/* Opens the store in a process of its own, which dies without a checkpoint; seconds it took. */
static double open_and_die(const struct bench *b, uint64_t round)
{
	double seconds = 0;
	int ends[2];
	pid_t child;

	if (pipe(ends) != 0)
		bench_fail("pipe");
	child = fork();
	if (child == 0) {
		dg_id row = (dg_id)(round * 7919) % b->n_rows;
		uint8_t got[ROW_BYTES], wanted[ROW_BYTES];
		struct dgi_volume *volume;
		dg_error err = { 0 };
		double begun = bench_wall_seconds();

		volume = bench_store_open(b->path, NULL);
		if (dgi_volume_gather(volume, BENCH_TENSOR, &row, 1, got, &err))
			bench_fail("%s", err.text);
		seconds = bench_wall_seconds() - begun;
		bench_rows(row, 1, ROW_BYTES, wanted);
		if (memcmp(got, wanted, ROW_BYTES) != 0)
			bench_fail("row %lld is not what was stored", (long long)row);
		if (write(ends[1], &seconds, sizeof seconds) != sizeof seconds)
			bench_fail("pipe");
		(void)kill(getpid(), SIGKILL);
		_exit(1);
	}
	(void)close(ends[1]);
	if (child < 0 || read(ends[0], &seconds, sizeof seconds) != sizeof seconds)
		bench_fail("the opening process failed");
	(void)close(ends[0]);
	end_child(child);
	return seconds;
}

static double open_store(void *context, uint64_t round)
{
	return open_and_die(context, round);
}

static double replay_log(void *context, uint64_t round)
{
	struct bench *b = context;

	(void)round;
	return log_replay(&b->log);
}

static void measure_size(struct bench *b, double journal_mib)
{
	const struct dgi_volume_options options = { .writable = true,
						    .journal_quota_bytes = UINT64_C(16) << 30,
						    .checkpoint_bytes = UINT64_C(16) << 30 };
	uint64_t bytes = (uint64_t)(journal_mib * 1048576);
	double begun, seconds;
	pid_t child = fork();

	if (child == 0)
		push_and_die(b, &options, bytes, 0);
	end_child(child);
	b->log = log_make(b->n_rows, ROW_BYTES, PUSH_ROWS, bytes);
	begun = open_and_die(b, 0);
	seconds = open_and_die(b, 1);
	seconds = seconds < begun ? seconds : begun;
	printf("# journal of %.0f MiB: %.3f s, %.0f MiB/s; a GB in %.2f s\n", journal_mib, seconds,
	       journal_mib / seconds, seconds * 1e9 / (double)bytes);
	bench_value("recover/1GB_in_2s", TARGET_S / (seconds * 1e9 / (double)bytes));
	(void)bench_ratio("recover/log", PAIRS, open_store, replay_log, b);
	log_free(&b->log);
}

/* The recovery target holds whenever the process dies. */
static void measure_kills(const struct bench *b)
{
	struct dgi_rng rng = dgi_rng_of(4711, 0);
	double worst = 0;

	dgi_volume_close(bench_store_open(b->path, NULL)); /* folds what is there */
	for (uint64_t i = 0; i < KILLS; i++) {
		pid_t child = fork();
		double seconds;

		if (child == 0)
			push_and_die(b, NULL, 0, i << 32);
		(void)usleep((useconds_t)(500000 + dgi_rng_below(&rng, 2000000)));
		(void)kill(child, SIGKILL);
		end_child(child);
		seconds = open_and_die(b, i);
		worst = seconds > worst ? seconds : worst;
	}
	printf("# killed at %d random moments: at worst %.3f s\n", KILLS, worst);
	bench_value("recover/target_at_run_time", TARGET_S / worst);
}

int main(int argc, char **argv)
{
	double journal_mib = bench_argument(argc, argv, 1, 256);
	double table_mib = bench_argument(argc, argv, 2, 128);
	struct bench b = { .n_rows = (int64_t)(table_mib * 1048576 / ROW_BYTES) };

	printf("# table of %.0f MiB in rows of %d bytes\n", table_mib, ROW_BYTES);
	(void)fflush(stdout);
	b.path = bench_store_make(ROW_BYTES, b.n_rows);
	measure_size(&b, journal_mib);
	measure_kills(&b);
	bench_store_remove(b.path);
	return 0;
}
