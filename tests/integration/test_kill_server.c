/* Servers killed with SIGKILL in mid-push lose nothing that was acknowledged, and tear no row. */
#include "test.h"

#include "deadline.h"
#include "processes.h"
#include "rng.h"
#include "tmpdir.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

enum { N_NODES = 3000, WIDTH = 16, N_PARTS = 2, PUSH_ROWS = 300, VICTIM = 1, ROUNDS = 5 };

/* A push gives up while its server is dead; what it may have done is repeated afterwards. */
enum { TIMEOUT_MS = 2000 };

static const uint64_t seed = 20;

struct scene {
	char *dir, *cluster;
	struct process servers[N_PARTS];
	dg_client *client;
	dg_tensor_info feat;
	float acked[N_NODES];  /* value of each row that was acknowledged last */
	float in_flight;       /* value of the push that failed */
	dg_id rows[PUSH_ROWS]; /* its rows */
	float data[PUSH_ROWS][WIDTH];
	float found[N_NODES][WIDTH];
	struct dgi_rng rng;
};

static int set_up(void **state)
{
	struct scene *s = calloc(1, sizeof *s);
	const dg_client_options options = { .timeout_ms = TIMEOUT_MS };
	dg_error err = { 0 };

	s->dir = tmpdir_new();
	s->cluster = cluster_make(s->dir, "ring", N_NODES, N_PARTS, WIDTH);
	s->rng = dgi_rng_of(seed, 0);
	for (uint32_t part = 0; part < N_PARTS; part++)
		server_start(&s->servers[part], s->cluster, part);
	assert_ok(dg_client_open(s->cluster, &options, &s->client, &err), &err);
	assert_ok(dg_client_find(s->client, "feat", &s->feat, &err), &err);
	*state = s;
	return 0;
}

static int tear_down(void **state)
{
	struct scene *s = *state;

	dg_client_close(s->client);
	for (uint32_t part = 0; part < N_PARTS; part++)
		if (s->servers[part].pid) {
			process_signal(&s->servers[part], SIGTERM);
			assert_int_equal(process_wait(&s->servers[part]), 0);
		}
	tmpdir_remove(s->dir);
	free(s->cluster);
	free(s);
	return 0;
}

/* A push of one value to random rows. */
static dg_status push(struct scene *s, float value, dg_error *err)
{
	for (size_t i = 0; i < PUSH_ROWS; i++) {
		s->rows[i] = (dg_id)dgi_rng_below(&s->rng, N_NODES);
		for (size_t j = 0; j < WIDTH; j++)
			s->data[i][j] = value;
	}
	return dg_client_push(s->client, &s->feat, s->rows, PUSH_ROWS, s->data, err);
}

struct murder {
	pid_t pid;
	int64_t delay_ms;
};

static void *kill_later(void *argument)
{
	const struct murder *murder = argument;

	dgi_sleep_ms(murder->delay_ms);
	(void)kill(murder->pid, SIGKILL);
	return NULL;
}

/* Pushes until the server's death is noticed; returns the number of pushes acknowledged. */
static size_t push_until_killed(struct scene *s, float *value, dg_error *err)
{
	struct murder murder = { .pid = s->servers[VICTIM].pid,
				 .delay_ms = 5 + (int64_t)dgi_rng_below(&s->rng, 60) };
	struct dgi_deadline deadline = dgi_deadline_in(30000);
	pthread_t thread;
	size_t n_acked = 0;

	assert_int_equal(pthread_create(&thread, NULL, kill_later, &murder), 0);
	while (push(s, ++*value, err) == DG_OK) {
		for (size_t i = 0; i < PUSH_ROWS; i++)
			s->acked[s->rows[i]] = *value;
		n_acked++;
		assert_false(dgi_deadline_passed(deadline));
	}
	s->in_flight = *value;
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_true(WIFSIGNALED(process_wait(&s->servers[VICTIM])));
	return n_acked;
}

static bool was_in_flight(const struct scene *s, dg_id row)
{
	for (size_t i = 0; i < PUSH_ROWS; i++)
		if (s->rows[i] == row)
			return true;
	return false;
}

/* Every row is whole and acknowledged, or of the push in flight; what is found is the new truth. */
static size_t compare(struct scene *s)
{
	static dg_id all[N_NODES];
	size_t n_new = 0;
	dg_error err = { 0 };

	for (dg_id row = 0; row < N_NODES; row++)
		all[row] = row;
	assert_ok(dg_client_pull(s->client, &s->feat, all, N_NODES, s->found, &err), &err);
	for (dg_id row = 0; row < N_NODES; row++) {
		float value = s->found[row][0];

		for (size_t j = 1; j < WIDTH; j++)
			if (s->found[row][j] != value)
				fail_msg("row %" PRId64 " is torn", row);
		if (value == s->acked[row])
			continue;
		if (value != s->in_flight || !was_in_flight(s, row))
			fail_msg("row %" PRId64 " is %g, acknowledged was %g", row, (double)value,
				 (double)s->acked[row]);
		s->acked[row] = value;
		n_new++;
	}
	return n_new;
}

static void every_acknowledged_row_is_there_after_five_kills(void **state)
{
	struct scene *s = *state;
	float value = 0;

	printf("seed %" PRIu64 "\n", seed);
	for (int round = 0; round < ROUNDS; round++) {
		dg_error err = { 0 };
		size_t n_acked = push_until_killed(s, &value, &err);

		if (err.status != DG_CLOSED && err.status != DG_TIMEOUT)
			fail_msg("%s: %s", dg_status_text(err.status), err.text);
		assert_non_null(strstr(err.text, "partition 1")); /* the one that died is named */
		server_start(&s->servers[VICTIM], s->cluster, VICTIM);
		printf("round %d: %zu pushes acknowledged, %zu rows of the one in flight are new\n",
		       round, n_acked, compare(s));
	}
}

static void a_dead_server_does_not_keep_others_from_answering(void **state)
{
	struct scene *s = *state;
	const dg_book *book = dg_client_book(s->client);
	dg_id start, end;
	float row[WIDTH];
	dg_error err = { 0 };

	process_signal(&s->servers[VICTIM], SIGKILL);
	assert_true(WIFSIGNALED(process_wait(&s->servers[VICTIM])));
	dg_book_range(book, DG_NODE, 0, 0, &start, &end);
	assert_ok(dg_client_pull(s->client, &s->feat, &start, 1, row, &err), &err);
	dg_book_range(book, DG_NODE, 0, VICTIM, &start, &end);
	assert_fails(dg_client_pull(s->client, &s->feat, &start, 1, row, &err), DG_CLOSED, &err,
		     "partition 1");
	server_start(&s->servers[VICTIM], s->cluster, VICTIM);
	assert_ok(dg_client_pull(s->client, &s->feat, &start, 1, row, &err), &err);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(every_acknowledged_row_is_there_after_five_kills,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_dead_server_does_not_keep_others_from_answering,
						set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
