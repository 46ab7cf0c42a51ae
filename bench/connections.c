/*
 * connections.c -- what do thousands of connections cost: memory for idle ones, speed of good clients
 * beside bad ones, time until all are back when the server was killed?
 *
 *   connections [IDLE]     idle connections, 9000 by default
 */
#include "cluster.h"
#include "crowd.h"
#include "harness.h"
#include "store.h"

#include "deadline.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAIRS 25
#define ROW_BYTES 512
#define N_ROWS 65536
#define PULL_ROWS 256
#define GOOD_CLIENTS 4
#define GOOD_SECONDS 0.3
#define SLOW 1000
#define IDLE_BYTES_ALLOWED 8192.0
#define STORM 500
#define STORM_RUNS 5
#define STORM_SECONDS_ALLOWED 5.0
#define STORM_PATIENCE_MS 60000
#define RIDER_PAUSE_MS 20

struct bench {
	struct bench_cluster cluster;
	struct bench_server server;
	struct bench_cluster other_cluster; /* a second server, with the crowd */
	struct bench_server other;
};

/* --- Idle connections --- */

/* Memory of the server's own, without what it maps of files. */
static double memory_of(pid_t pid)
{
	char path[64], line[200];
	unsigned long long kib = 0;
	FILE *file;

	(void)snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
	file = fopen(path, "r");
	while (file && fgets(line, sizeof line, file))
		if (sscanf(line, "RssAnon: %llu kB", &kib) == 1)
			break;
	if (!file || kib == 0)
		bench_fail("cannot read '%s'", path);
	(void)fclose(file);
	return (double)kib * 1024;
}

static void measure_idle(struct bench *b, size_t n)
{
	struct crowd crowd;
	double before, each;

	crowd_start(&crowd, &b->server, CROWD_IDLE, 100); /* what any connection brings about */
	crowd_stop(&crowd, &b->server);
	before = memory_of(b->server.pid);
	crowd_start(&crowd, &b->server, CROWD_IDLE, n);
	each = (memory_of(b->server.pid) - before) / (double)n;
	printf("# %zu idle connections: %.0f bytes each, %.0f allowed\n", n, each,
	       IDLE_BYTES_ALLOWED);
	bench_value("connections/idle_memory", IDLE_BYTES_ALLOWED / each);
	crowd_stop(&crowd, &b->server);
}

/* --- Good clients beside bad ones --- */

struct good {
	const struct bench_cluster *cluster;
	const struct bench_server *server;
	pthread_t thread;
	double until;
	uint64_t seed;
	uint64_t n_pulls;
};

static void *pull_closed_loop(void *argument)
{
	struct good *g = argument;
	dg_tensor_info feature;
	dg_client *client = bench_client_open(g->cluster, g->server, &feature);
	uint8_t *out = bench_memory((size_t)PULL_ROWS * ROW_BYTES);
	dg_id rows[PULL_ROWS];
	dg_error err = { 0 };

	while (bench_wall_seconds() < g->until) {
		bench_draw(g->seed << 32 | g->n_pulls, N_ROWS, 1, 0, rows, PULL_ROWS);
		if (dg_client_pull(client, &feature, rows, PULL_ROWS, out, &err))
			bench_fail("good client: %s", err.text);
		g->n_pulls++;
	}
	dg_client_close(client);
	free(out);
	return NULL;
}

/* Seconds a pull, all good clients together. */
static double be_good(const struct bench_cluster *cluster, const struct bench_server *server,
		      uint64_t round)
{
	struct good good[GOOD_CLIENTS];
	double until = bench_wall_seconds() + GOOD_SECONDS;
	uint64_t n = 0;

	for (size_t i = 0; i < GOOD_CLIENTS; i++) {
		good[i] = (struct good){ .cluster = cluster,
					 .server = server,
					 .until = until,
					 .seed = round * GOOD_CLIENTS + i };
		if (pthread_create(&good[i].thread, NULL, pull_closed_loop, &good[i]) != 0)
			bench_fail("no thread");
	}
	for (size_t i = 0; i < GOOD_CLIENTS; i++) {
		(void)pthread_join(good[i].thread, NULL);
		n += good[i].n_pulls;
	}
	return GOOD_SECONDS / (double)(n ? n : 1);
}

static double beside_a_crowd(void *context, uint64_t round)
{
	struct bench *b = context;

	return be_good(&b->other_cluster, &b->other, round * 2);
}

static double alone(void *context, uint64_t round)
{
	struct bench *b = context;

	return be_good(&b->cluster, &b->server, round * 2 + 1);
}

/* The crowd stays for all pairs, which takes less than the 30 s after which it is dropped. */
static void measure_beside(struct bench *b, const char *name)
{
	struct crowd crowd;

	crowd_start(&crowd, &b->other, CROWD_SLOW, SLOW);
	(void)bench_ratio(name, PAIRS, beside_a_crowd, alone, b);
	crowd_stop(&crowd, &b->other);
}

/* --- Everybody comes back at once --- */

struct rider {
	const struct bench *bench;
	pthread_t thread;
	_Atomic size_t *n_here; /* clients that have met the first server */
	_Atomic size_t *n_back; /* … the second */
};

static uint64_t incarnation_of(dg_client *client)
{
	dg_server_status status;
	dg_error err = { 0 };

	return dg_client_server_status(client, 0, &status, &err) ? 0 : status.store.incarnation;
}

/* A client that goes on through the death of its server. */
static void *ride_through(void *argument)
{
	struct rider *r = argument;
	dg_tensor_info feature;
	dg_client *client = bench_client_open(&r->bench->cluster, &r->bench->server, &feature);
	uint64_t first = incarnation_of(client);
	uint8_t out[ROW_BYTES];
	const dg_id row = 1;
	dg_error err = { 0 };

	(void)atomic_fetch_add(r->n_here, 1);
	while (incarnation_of(client) <= first)
		dgi_sleep_ms(RIDER_PAUSE_MS);
	if (dg_client_pull(client, &feature, &row, 1, out, &err))
		bench_fail("a client that was dropped: %s", err.text);
	(void)atomic_fetch_add(r->n_back, 1);
	dg_client_close(client);
	return NULL;
}

static void wait_for_count(_Atomic size_t *count, size_t wanted)
{
	struct dgi_deadline deadline = dgi_deadline_in(STORM_PATIENCE_MS);

	while (atomic_load(count) < wanted) {
		if (dgi_deadline_passed(deadline))
			bench_fail("%zu of %zu clients came", atomic_load(count), wanted);
		dgi_sleep_ms(1);
	}
}

/* Says on @tell that all are there, then that all are back. */
static _Noreturn void be_riders(const struct bench *b, int tell)
{
	static struct rider riders[STORM];
	_Atomic size_t n_here = 0, n_back = 0;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (size_t i = 0; i < STORM; i++) {
		riders[i] = (struct rider){ .bench = b, .n_here = &n_here, .n_back = &n_back };
		if (pthread_create(&riders[i].thread, NULL, ride_through, &riders[i]) != 0)
			bench_fail("no thread");
	}
	wait_for_count(&n_here, STORM);
	(void)!write(tell, "h", 1);
	wait_for_count(&n_back, STORM);
	(void)!write(tell, "b", 1);
	_exit(0);
}

/* Seconds from the new server's start until all clients of the one that was killed are served. */
static double storm(struct bench *b)
{
	int tell[2];
	double begun;
	pid_t child;
	char byte;

	bench_server_start(&b->server, &b->cluster, false, 2);
	if (pipe(tell) != 0)
		bench_fail("no pipe");
	(void)fflush(stdout);
	child = fork();
	if (child == 0)
		be_riders(b, tell[1]);
	(void)close(tell[1]);
	if (read(tell[0], &byte, 1) != 1)
		bench_fail("the clients did not come");
	bench_server_stop(&b->server);
	bench_server_start(&b->server, &b->cluster, false, 2);
	begun = bench_wall_seconds();
	if (read(tell[0], &byte, 1) != 1)
		bench_fail("the clients did not come back");
	begun = bench_wall_seconds() - begun;
	(void)close(tell[0]);
	(void)waitpid(child, NULL, 0);
	bench_server_stop(&b->server);
	return begun;
}

/* The slowest of some runs counts. */
static void measure_storm(struct bench *b)
{
	double slowest = 0;

	for (int i = 0; i < STORM_RUNS; i++) {
		double seconds = storm(b);

		slowest = seconds > slowest ? seconds : slowest;
	}
	printf("# %d clients dropped at once: all back within %.2f s in %d runs, %.1f s allowed\n",
	       STORM, slowest, STORM_RUNS, STORM_SECONDS_ALLOWED);
	bench_value("connections/storm", STORM_SECONDS_ALLOWED / slowest);
}

int main(int argc, char **argv)
{
	size_t n_idle = (size_t)bench_argument(argc, argv, 1, 9000);
	struct rlimit limit;
	struct bench b;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &limit);
	}
	bench_cluster_make(&b.cluster, N_ROWS, ROW_BYTES);
	bench_cluster_make(&b.other_cluster, N_ROWS, ROW_BYTES);
	bench_server_start(&b.server, &b.cluster, true, 2);
	bench_server_start(&b.other, &b.other_cluster, true, 2);
	measure_idle(&b, n_idle);
	measure_beside(&b, "connections/beside_1000_slow");
	bench_server_stop(&b.other);
	bench_server_stop(&b.server);
	measure_storm(&b);
	bench_cluster_remove(&b.other_cluster);
	bench_cluster_remove(&b.cluster);
	return 0;
}
