/*
 * A network between two hosts that goes away and comes back, both ways and one way: client and server
 * in network namespaces of their own. Left out where the machine does not allow that.
 */
#include "test.h"

#include "deadline.h"
#include "processes.h"
#include "tmpdir.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { N_NODES = 100, WIDTH = 4, N_ROWS = 20, TIMEOUT_MS = 30000, AWAY_MS = 700, CALM_MS = 300 };

#define SERVER "10.91.0.2"
#define CLIENT "10.91.0.1"
#define NOBODY "02:00:00:00:00:99" /* a neighbour that is not there */

struct scene {
	char *dir, *cluster;
	struct process server;
	dg_client *client;
	dg_tensor_info feat;
	dg_id rows[N_ROWS];
	float ones[N_ROWS][WIDTH];
	float n_pushes;
};

static struct scene scene;
static bool is_possible;

static bool shell(const char *command)
{
	return system(command) == 0; /* NOLINT: constants of this file */
}

/* A command within the server's namespace. */
static bool at_server(const char *command)
{
	char text[300];

	(void)snprintf(text, sizeof text, "nsenter -t %d -n %s", (int)scene.server.pid, command);
	return shell(text);
}

static bool join_namespaces(void)
{
	char text[200];

	(void)snprintf(text, sizeof text, "ip link add here type veth peer name there netns %d",
		       (int)scene.server.pid);
	return shell(text) && shell("ip addr add " CLIENT "/24 dev here && ip link set here up") &&
	       at_server("ip addr add " SERVER "/24 dev there") &&
	       at_server("ip link set there up");
}

static int set_up(void **state)
{
	const char *address = SERVER ":30050";
	const dg_client_options options = { .timeout_ms = TIMEOUT_MS,
					    .addresses = &address,
					    .n_addresses = 1 };
	char line[DG_PATH_BYTES_MAX];
	dg_error err = { 0 };

	(void)state;
	scene.dir = tmpdir_new();
	scene.cluster = cluster_make(scene.dir, "ring", N_NODES, 1, WIDTH);
	is_possible = unshare(CLONE_NEWNET) == 0 && shell("unshare -n true 2>/dev/null") &&
		      shell("command -v nsenter ip >/dev/null");
	if (!is_possible)
		return 0;
	process_start_program(&scene.server, "/usr/bin/unshare",
			      (const char *const[]){ "-n", getenv("DISTGRAPH"), "serve",
						     scene.cluster, "--part", "0", "--listen",
						     "0.0.0.0:30050", "--insecure", NULL });
	process_read_line(&scene.server, line, sizeof line);
	is_possible = join_namespaces();
	if (!is_possible)
		return 0;
	for (dg_id i = 0; i < N_ROWS; i++) {
		scene.rows[i] = i * 5;
		for (int j = 0; j < WIDTH; j++)
			scene.ones[i][j] = 1;
	}
	assert_ok(dg_client_open(scene.cluster, &options, &scene.client, &err), &err);
	assert_ok(dg_client_find(scene.client, "feat", &scene.feat, &err), &err);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	dg_client_close(scene.client);
	if (scene.server.pid) {
		process_signal(&scene.server, SIGTERM);
		assert_int_equal(process_wait(&scene.server), 0);
	}
	tmpdir_remove(scene.dir);
	free(scene.cluster);
	return 0;
}

static void push_and_pull(void)
{
	float found[N_ROWS][WIDTH];
	dg_error err = { 0 };

	assert_ok(dg_client_update(scene.client, &scene.feat, DG_OP_ADD, scene.rows, N_ROWS,
				   scene.ones, &err),
		  &err);
	scene.n_pushes += 1;
	assert_ok(dg_client_pull(scene.client, &scene.feat, scene.rows, N_ROWS, found, &err), &err);
	for (int i = 0; i < N_ROWS; i++)
		for (int j = 0; j < WIDTH; j++)
			assert_true(found[i][j] == scene.n_pushes);
}

/* Returns how long the longest round took, in ms. */
static int64_t work_for(int64_t ms)
{
	struct dgi_deadline deadline = dgi_deadline_in(ms);
	int64_t longest = 0;

	do {
		int64_t begun = dgi_now_ms(), took;

		push_and_pull();
		took = dgi_now_ms() - begun;
		longest = took > longest ? took : longest;
	} while (!dgi_deadline_passed(deadline));
	return longest;
}

/* While the client works, @away happens, and after a while @back. */
static void go_through(const char *what, const char *away, const char *back)
{
	char text[600];
	int64_t longest;
	float before = scene.n_pushes;

	(void)work_for(CALM_MS);
	assert_true(scene.n_pushes > before + 1);
	(void)snprintf(text, sizeof text, "(%s; sleep %d.%03d; %s) &", away, AWAY_MS / 1000,
		       AWAY_MS % 1000, back);
	assert_true(shell(text));
	longest = work_for(AWAY_MS + CALM_MS);
	printf("%s: the longest push and pull took %d ms\n", what, (int)longest);
	assert_true(longest > AWAY_MS / 2); /* it was away */
}

static void each_push_counts_once_while_the_network_comes_and_goes(void **state)
{
	char away[200], back[200];

	(void)state;
	if (!is_possible)
		skip();
	for (int i = 0; i < 3; i++) {
		go_through("both ways", "ip link set here down", "ip link set here up");
		go_through("nothing to the server",
			   "ip neigh replace " SERVER " lladdr " NOBODY " dev here nud permanent",
			   "ip neigh del " SERVER " dev here");
		(void)snprintf(away, sizeof away,
			       "nsenter -t %d -n ip neigh replace " CLIENT " lladdr " NOBODY
			       " dev there nud permanent",
			       (int)scene.server.pid);
		(void)snprintf(back, sizeof back,
			       "nsenter -t %d -n ip neigh del " CLIENT " dev there",
			       (int)scene.server.pid);
		go_through("nothing to the client", away, back);
	}
	printf("%g pushes counted\n", (double)scene.n_pushes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			each_push_counts_once_while_the_network_comes_and_goes, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
