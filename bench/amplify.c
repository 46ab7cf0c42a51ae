/*
 * amplify.c -- how large does the file become, how much is written for each byte pushed, and how
 * long does a push wait at worst, over minutes of random pushes and checkpoints?
 *
 *   amplify [MINUTES [MIB]]     of each of the two cases, 0.25 by default; size of the table, 256
 */
#include "harness.h"
#include "store.h"

#include "inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define ROW_BYTES 512
#define PUSH_ROWS 1024
#define PUSHES 4 /* of one call */
#define QUOTA_BYTES (UINT64_C(2) << 30)
#define STALL_S 1.0

/* Bytes that this process has passed to write calls (nothing is written by maps). */
static double bytes_written(void)
{
	FILE *file = fopen("/proc/self/io", "r");
	unsigned long long value;

	if (!file || fscanf(file, "rchar: %*u wchar: %llu", &value) != 1)
		bench_fail("cannot read /proc/self/io");
	(void)fclose(file);
	return (double)value;
}

static double file_bytes(const char *directory, const char *name)
{
	struct stat info;
	char *path;

	if (asprintf(&path, "%s/%s", directory, name) < 0 || stat(path, &info) != 0)
		bench_fail("cannot stat '%s'", name);
	free(path);
	return (double)info.st_size;
}

struct totals {
	double pushed_bytes;
	double written_bytes;
	double seconds;
	double stall_s;
	uint64_t refused;
};

static void push_for(struct dgi_volume *volume, int64_t n_rows, double seconds, struct totals *t)
{
	uint8_t *data = bench_memory((size_t)PUSH_ROWS * ROW_BYTES);
	dg_id *rows = bench_memory(PUSHES * PUSH_ROWS * sizeof *rows);
	double begun = bench_wall_seconds(), now = begun, before = bytes_written();
	dg_error err = { 0 };

	for (uint64_t i = 0; now - begun < seconds; i++) {
		struct dgi_write writes[PUSHES];
		double started = now;

		bench_draw(i, n_rows, 1, 0, rows, PUSHES * PUSH_ROWS);
		for (size_t j = 0; j < PUSHES; j++)
			writes[j] = (struct dgi_write){ .tensor = BENCH_TENSOR,
							.rows = rows + j * PUSH_ROWS,
							.n = PUSH_ROWS,
							.data = data };
		for (size_t j = 0; j < PUSHES; j++) {
			if (dgi_volume_apply(volume, &writes[j], 1, &err))
				bench_fail("%s", err.text);
			now = bench_wall_seconds();
			t->stall_s = now - started > t->stall_s ? now - started : t->stall_s;
			started = now;
			if (writes[j].status == DG_OK)
				t->pushed_bytes += PUSH_ROWS * ROW_BYTES;
			else if (writes[j].status == DG_FULL)
				t->refused++;
			else
				bench_fail("%s", writes[j].error.text);
		}
		if (dgi_journal_wait(volume->journal, writes[PUSHES - 1].log_number, 30000, &err))
			bench_fail("%s", err.text);
		now = bench_wall_seconds();
	}
	t->seconds = now - begun;
	t->written_bytes = bytes_written() - before;
	free(data);
	free(rows);
}

static void run(const char *name, double minutes, double mib, uint64_t hot_bytes)
{
	const struct dgi_volume_options options = { .writable = true, .hot_bytes = hot_bytes };
	int64_t n_rows = (int64_t)(mib * 1048576 / ROW_BYTES);
	char *path = bench_store_make(ROW_BYTES, n_rows);
	double data_bytes = file_bytes(path, DGI_TENSORS_FILE), bytes, journal_bytes;
	struct dgi_volume *volume = bench_store_open(path, &options);
	struct totals t = { 0 };
	char figure[100];

	push_for(volume, n_rows, minutes * 60, &t);
	bytes = file_bytes(path, DGI_TENSORS_FILE);
	journal_bytes = file_bytes(path, DGI_JOURNAL_FILE);
	printf("# %s: %.0f MiB pushed in %.0f s (%.0f MiB/s), %llu pushes refused; written %.2f x "
	       "pushed; tensors.mdb %.2f x data, journal.mdb %.0f MiB; longest push %.3f s\n",
	       name, t.pushed_bytes / 1048576, t.seconds, t.pushed_bytes / 1048576 / t.seconds,
	       (unsigned long long)t.refused, t.written_bytes / t.pushed_bytes, bytes / data_bytes,
	       journal_bytes / 1048576, t.stall_s);
	(void)snprintf(figure, sizeof figure, "amplify/%s/file", name);
	bench_value(figure, (1.3 * data_bytes + QUOTA_BYTES) / (bytes + journal_bytes));
	(void)snprintf(figure, sizeof figure, "amplify/%s/written", name);
	bench_value(figure, 2.5 * t.pushed_bytes / t.written_bytes);
	(void)snprintf(figure, sizeof figure, "amplify/%s/stall", name);
	bench_value(figure, STALL_S / t.stall_s);
	dgi_volume_close(volume);
	bench_store_remove(path);
}

int main(int argc, char **argv)
{
	double minutes = bench_argument(argc, argv, 1, 0.25);
	double mib = bench_argument(argc, argv, 2, 256);

	printf("# %.2f minutes each, table of %.0f MiB, %d pushes of %d rows of %d bytes a call\n",
	       minutes, mib, PUSHES, PUSH_ROWS, ROW_BYTES);
	run("within_budget", minutes, mib, 0);
	run("4x_budget", minutes, mib, (uint64_t)(mib * 1048576 / 4));
	return 0;
}
