/*
 * A writer process is killed at any moment, over and over: every write it was told is durable is
 * there afterwards, whole, and at most the one it was waiting for besides.
 */
#include "test.h"

#include "fixture.h"

#include "deadline.h"
#include "rng.h"
#include "tmpdir.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define KILLS 50
#define SEED 20240607
#define N_FEAT 40
#define N_LABEL 10

static void chosen_rows(dg_id feat[N_FEAT], dg_id label[N_LABEL])
{
	for (int i = 0; i < N_FEAT; i++)
		feat[i] = i * 25 % FIXTURE_ROWS;
	for (int i = 0; i < N_LABEL; i++)
		label[i] = i * 99;
}

/* Writes version after version, each in one call, and says on standard output what is durable. */
static int write_until_killed(const char *store, uint64_t version)
{
	static uint8_t feat_data[N_FEAT * 512];
	uint8_t label_data[N_LABEL];
	dg_id feat[N_FEAT], label[N_LABEL];
	struct dgi_volume *volume;
	dg_error err = { 0 };

	chosen_rows(feat, label);
	if (dgi_volume_open(store, &(struct dgi_volume_options){ .writable = true }, &volume,
			    &err)) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	for (;; version++) {
		struct dgi_write writes[] = {
			{ .tensor = FIXTURE_FEAT, .rows = feat, .n = N_FEAT, .data = feat_data },
			{ .tensor = FIXTURE_LABEL,
			  .rows = label,
			  .n = N_LABEL,
			  .data = label_data },
		};

		for (int i = 0; i < N_FEAT; i++)
			fixture_row(FIXTURE_FEAT, feat[i], version, feat_data + i * 512, 512);
		for (int i = 0; i < N_LABEL; i++)
			fixture_row(FIXTURE_LABEL, label[i], version, label_data + i, 1);
		if (dgi_volume_write(volume, writes, 2, &err) || writes[0].status ||
		    writes[1].status)
			return 2;
		if (write(STDOUT_FILENO, &version, sizeof version) != (ssize_t)sizeof version)
			return 3;
	}
}

/* Starts a writer at @version, kills it @after_us after its first word, and gives its last. */
static uint64_t run_writer(const char *program, const char *store, uint64_t version,
			   int64_t after_us)
{
	int ends[2];
	char text[32];
	uint64_t durable = version - 1, told;
	pid_t pid;
	int status;

	assert_int_equal(pipe(ends), 0);
	(void)snprintf(text, sizeof text, "%llu", (unsigned long long)version);
	pid = fork();
	if (pid == 0) {
		(void)dup2(ends[1], STDOUT_FILENO);
		(void)close(ends[0]);
		(void)close(ends[1]);
		(void)execl(program, program, store, text, (char *)NULL);
		_exit(127);
	}
	(void)close(ends[1]);
	if (read(ends[0], &told, sizeof told) == (ssize_t)sizeof told)
		durable = told;
	(void)usleep((useconds_t)after_us);
	(void)kill(pid, SIGKILL);
	while (read(ends[0], &told, sizeof told) == (ssize_t)sizeof told)
		durable = told;
	(void)close(ends[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	return durable;
}

/* The last acknowledged version, or the one behind it. */
static uint64_t version_in(struct dgi_volume *volume, uint32_t tensor, size_t row_bytes,
			   uint64_t durable)
{
	uint8_t got[512], wanted[512];
	dg_id row = 0;
	dg_error err = { 0 };

	assert_ok(dgi_volume_gather(volume, tensor, &row, 1, got, &err), &err);
	fixture_row(tensor, 0, durable, wanted, row_bytes);
	return memcmp(got, wanted, row_bytes) == 0 ? durable : durable + 1;
}

static const char *program_path;

static void acknowledged_writes_survive_kills(void **state)
{
	struct dgi_rng rng = dgi_rng_of(SEED, 0);
	char *dir = tmpdir_new();
	char *store = tmpdir_path(dir, "part1");
	dg_id feat[N_FEAT], label[N_LABEL];
	uint64_t version = 0, last_version = 0, label_version, pushes = 0;
	int ahead = 0;

	(void)state;
	print_message("seed %d\n", SEED);
	chosen_rows(feat, label);
	fixture_make(store, 1);
	for (uint64_t i = 1; i <= KILLS; i++) {
		uint64_t durable = run_writer(program_path, store, version + 1,
					      (int64_t)dgi_rng_below(&rng, 8000));
		struct dgi_volume *volume;
		dg_store_info info;
		dg_error err = { 0 };

		assert_ok(dgi_volume_open(store, NULL, &volume, &err), &err);
		version = version_in(volume, FIXTURE_FEAT, 512, durable);
		label_version = version_in(volume, FIXTURE_LABEL, 1, durable);
		ahead += version > durable;
		/* Each push is whole, and they are durable in order. */
		assert_true(label_version <= version);
		fixture_expect_rows(volume, FIXTURE_FEAT, feat, N_FEAT, version);
		fixture_expect_rows(volume, FIXTURE_LABEL, label, N_LABEL, label_version);
		fixture_expect_rows(volume, FIXTURE_FEAT, &(dg_id){ 1 }, 1, 0);
		dgi_volume_get_info(volume, &info);
		assert_int_equal(info.incarnation, i);
		pushes += 2 * (version - last_version);
		if (label_version < version)
			assert_int_equal(info.log_number, pushes - 1);
		else
			assert_int_equal(info.log_number, pushes);
		pushes = info.log_number;
		last_version = version;
		dgi_volume_close(volume);
	}
	print_message("%d kills, %llu writes, %d durable before they were acknowledged\n", KILLS,
		      (unsigned long long)version, ahead);
	free(store);
	tmpdir_remove(dir);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(acknowledged_writes_survive_kills),
	};

	if (argc == 3)
		return write_until_killed(argv[1], strtoull(argv[2], NULL, 10));
	program_path = argv[0];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
