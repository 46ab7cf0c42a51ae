/* Servers as processes: `up` and `stop`, two clusters side by side, and how long starting takes. */
#include "test.h"

#include "deadline.h"
#include "processes.h"
#include "tmpdir.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

enum { N_NODES = 500, WIDTH = 4, N_PARTS = 2 };

struct scene {
	char *dir, *cluster;
};

static int set_up(void **state)
{
	struct scene *s = calloc(1, sizeof *s);

	s->dir = tmpdir_new();
	s->cluster = cluster_make(s->dir, "ring", N_NODES, N_PARTS, WIDTH);
	*state = s;
	return 0;
}

static int tear_down(void **state)
{
	struct scene *s = *state;

	tmpdir_remove(s->dir);
	free(s->cluster);
	free(s);
	return 0;
}

static dg_client *open_client(const char *cluster)
{
	const dg_client_options options = { .timeout_ms = 10000 };
	dg_client *client;
	dg_error err = { 0 };

	assert_ok(dg_client_open(cluster, &options, &client, &err), &err);
	return client;
}

static void start_up(struct process *up, const char *cluster)
{
	char line[256];

	process_start(up, (const char *const[]){ "up", cluster, NULL });
	process_read_line(up, line, sizeof line);
	assert_string_equal(line, "ready: 2 servers");
}

static int run(const char *const *arguments)
{
	struct process process;
	int status;

	process_start(&process, arguments);
	status = process_wait(&process);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static pid_t pid_of(const char *cluster, uint32_t part)
{
	dg_client *client = open_client(cluster);
	dg_server_status status;
	dg_error err = { 0 };

	assert_ok(dg_client_server_status(client, part, &status, &err), &err);
	dg_client_close(client);
	return (pid_t)status.pid;
}

/* Until nobody serves @part any more, at most 10 s. */
static void wait_until_gone(const char *cluster, uint32_t part)
{
	struct dgi_deadline deadline = dgi_deadline_in(10000);
	dg_client *client = open_client(cluster);
	dg_server_status status;
	dg_error err = { 0 };

	while (dg_client_server_status(client, part, &status, &err) == DG_OK) {
		assert_false(dgi_deadline_passed(deadline));
		dgi_sleep_ms(10);
	}
	dg_client_close(client);
}

static void up_starts_all_and_stop_ends_them(void **state)
{
	const struct scene *s = *state;
	struct process up;

	start_up(&up, s->cluster);
	assert_int_equal(run((const char *const[]){ "status", s->cluster, NULL }), 0);
	assert_int_equal(run((const char *const[]){ "stop", s->cluster, NULL }), 0);
	assert_int_equal(process_wait(&up), 0);
	assert_int_equal(run((const char *const[]){ "status", s->cluster, NULL }), 1);
	assert_int_equal(run((const char *const[]){ "stop", s->cluster, NULL }), 0);
}

static void up_ends_its_servers_when_it_is_asked_to_end(void **state)
{
	const struct scene *s = *state;
	struct process up;

	start_up(&up, s->cluster);
	process_signal(&up, SIGINT);
	assert_int_equal(process_wait(&up), 0);
	assert_int_equal(run((const char *const[]){ "status", s->cluster, NULL }), 1);
}

static void servers_of_up_end_with_it_even_when_it_is_killed(void **state)
{
	const struct scene *s = *state;
	struct process up;

	start_up(&up, s->cluster);
	process_signal(&up, SIGKILL);
	assert_true(WIFSIGNALED(process_wait(&up)));
	for (uint32_t part = 0; part < N_PARTS; part++)
		wait_until_gone(s->cluster, part);
}

static void up_fails_and_ends_the_others_when_a_server_dies(void **state)
{
	const struct scene *s = *state;
	struct process up;
	int status;

	start_up(&up, s->cluster);
	assert_int_equal(kill(pid_of(s->cluster, 1), SIGKILL), 0);
	status = process_wait(&up);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 1);
	assert_int_equal(run((const char *const[]){ "status", s->cluster, NULL }), 1);
}

static void two_clusters_live_side_by_side(void **state)
{
	const struct scene *s = *state;
	char *other = cluster_make(s->dir, "other", N_NODES, N_PARTS, WIDTH);
	struct process first, second;
	dg_client *client;
	dg_tensor_info feat;
	const dg_id row = 7;
	float ones[WIDTH] = { 1, 1, 1, 1 }, found[WIDTH] = { 1, 1, 1, 1 };
	dg_error err = { 0 };

	start_up(&first, s->cluster);
	start_up(&second, other);
	client = open_client(s->cluster);
	assert_ok(dg_client_find(client, "feat", &feat, &err), &err);
	assert_ok(dg_client_push(client, &feat, &row, 1, ones, &err), &err);
	dg_client_close(client);

	client = open_client(other);
	assert_ok(dg_client_find(client, "feat", &feat, &err), &err);
	assert_ok(dg_client_pull(client, &feat, &row, 1, found, &err), &err);
	assert_true(found[0] == 0); /* the other cluster's row is untouched */
	dg_client_close(client);

	assert_int_equal(run((const char *const[]){ "stop", s->cluster, NULL }), 0);
	assert_int_equal(process_wait(&first), 0);
	assert_int_equal(run((const char *const[]){ "status", other, NULL }), 0);
	assert_int_equal(run((const char *const[]){ "stop", other, NULL }), 0);
	assert_int_equal(process_wait(&second), 0);
	free(other);
}

/* Printed, not judged: a shared machine is not a stopwatch. */
static void figures(void **state)
{
	const struct scene *s = *state;
	struct process server;
	dg_client *client = open_client(s->cluster);
	const dg_tensor_info *tensors;
	dg_tensor_info original_id = { 0 };
	dg_id row = 0, end;
	int64_t id;
	size_t n;
	dg_error err = { 0 };
	int64_t begun = dgi_now_us();

	process_start(&server, (const char *const[]){ "serve", s->cluster, "--part", "0", NULL });
	while (dg_client_tensors(client, &tensors, &n, &err) != DG_OK)
		assert_true(dgi_now_us() - begun < 20000000);
	for (size_t i = 0; i < n; i++)
		if (!strcmp(tensors[i].name, DG_TENSOR_ORIGINAL_ID) && tensors[i].side == DG_NODE)
			original_id = tensors[i];
	dg_book_range(dg_client_book(client), DG_NODE, 0, 0, &row, &end);
	assert_ok(dg_client_pull(client, &original_id, &row, 1, &id, &err), &err);
	printf("server start to first pull: %.1f ms\n", (double)(dgi_now_us() - begun) / 1000);
	dg_client_close(client);
	process_signal(&server, SIGTERM);
	assert_int_equal(process_wait(&server), 0);

	begun = dgi_now_us();
	assert_int_equal(run((const char *const[]){ "ls", s->cluster, NULL }), 0);
	printf("distgraph ls: %.1f ms\n", (double)(dgi_now_us() - begun) / 1000);
}

#define scene_test(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		scene_test(up_starts_all_and_stop_ends_them),
		scene_test(up_ends_its_servers_when_it_is_asked_to_end),
		scene_test(servers_of_up_end_with_it_even_when_it_is_killed),
		scene_test(up_fails_and_ends_the_others_when_a_server_dies),
		scene_test(two_clusters_live_side_by_side),
		scene_test(figures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
