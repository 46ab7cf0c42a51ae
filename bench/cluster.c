/* cluster.c -- a graph of one partition, served by a process of its own. */
#include "cluster.h"

#include "harness.h"
#include "store.h"

#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROWS_AT_ONCE 4096

static void must(dg_status st, const dg_error *err)
{
	if (st)
		bench_fail("%s: %s", dg_status_text(st), err->text);
}

static char *path_in(const char *dir, const char *name)
{
	char *path;

	if (asprintf(&path, "%s/%s", dir, name) < 0)
		bench_fail("out of memory");
	return path;
}

static void write_rows(const char *path, int64_t n_rows, size_t row_bytes)
{
	const int64_t shape[2] = { n_rows, (int64_t)(row_bytes / sizeof(float)) };
	uint8_t *buffer = bench_memory(ROWS_AT_ONCE * row_bytes);
	dg_array_writer *writer;
	dg_error err = { 0 };

	must(dg_array_writer_open(path, DG_FLOAT32, 2, shape, &writer, &err), &err);
	for (int64_t first = 0; first < n_rows; first += ROWS_AT_ONCE) {
		int64_t n = n_rows - first < ROWS_AT_ONCE ? n_rows - first : ROWS_AT_ONCE;

		bench_rows(first, n, row_bytes, buffer);
		must(dg_array_writer_append(writer, buffer, (size_t)n * row_bytes, &err), &err);
	}
	must(dg_array_writer_close(writer, 1, &err), &err);
	free(buffer);
}

static char *write_an_edge(const char *dir)
{
	char *path = path_in(dir, "edges.csv");
	FILE *file = fopen(path, "we");

	if (!file || fputs("0,1\n", file) < 0 || fclose(file) != 0)
		bench_fail("cannot write '%s'", path);
	return path;
}

void bench_cluster_make(struct bench_cluster *cluster, int64_t n_rows, size_t row_bytes)
{
	const char *base = getenv("TMPDIR");
	char *edges, *output;
	dg_input_data data = { .name = BENCH_FEATURE };
	dg_input_edges one = { 0 };
	dg_partition_options options = {
		.input = { .edges = &one, .n_edges = 1, .node_data = &data, .n_node_data = 1 },
		.n_parts = 1,
		.method = "random"
	};
	dg_partition_report report;
	struct stat st;
	dg_error err = { 0 };

	if (asprintf(&cluster->dir, "%s/distgraph-bench-XXXXXX", base ? base : "/tmp") < 0 ||
	    !mkdtemp(cluster->dir))
		bench_fail("no directory for a graph");
	cluster->feature_path = path_in(cluster->dir, "feat.npy");
	write_rows(cluster->feature_path, n_rows, row_bytes);
	if (stat(cluster->feature_path, &st) != 0)
		bench_fail("'%s' is not there", cluster->feature_path);
	cluster->feature_at = (size_t)st.st_size - (size_t)n_rows * row_bytes;
	edges = write_an_edge(cluster->dir);
	output = path_in(cluster->dir, "graph");
	data.path = cluster->feature_path;
	one.path = edges;
	options.output = output;
	must(dg_partition(&options, &report, &err), &err);
	cluster->path = strdup(report.cluster_path);
	free(edges);
	free(output);
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	(void)st;
	(void)kind;
	(void)ftw;
	return remove(path);
}

void bench_cluster_remove(struct bench_cluster *cluster)
{
	(void)nftw(cluster->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	free(cluster->path);
	free(cluster->feature_path);
	free(cluster->dir);
}

/* --- The server --- */

static _Noreturn void serve(const struct bench_cluster *cluster, bool tcp, uint32_t threads,
			    int tell)
{
	static const char *const loopback[] = { "127.0.0.1:0" };
	dg_server_options options = { .threads = threads };
	char *store = path_in(cluster->dir, "graph/part0");
	char text[DG_PATH_BYTES_MAX] = { 0 };
	dg_server *server;
	dg_error err = { 0 };
	size_t n;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (tcp) {
		options.listen = loopback;
		options.n_listen = 1;
	}
	must(dg_server_open(store, &options, &server, &err), &err);
	(void)snprintf(text, sizeof text, "%s", *dg_server_addresses(server, &n));
	if (write(tell, text, sizeof text) != (ssize_t)sizeof text)
		bench_fail("cannot tell the address");
	must(dg_server_run(server, &err), &err);
	_exit(0);
}

void bench_server_start(struct bench_server *server, const struct bench_cluster *cluster, bool tcp,
			uint32_t threads)
{
	int tell[2];

	if (pipe(tell) != 0)
		bench_fail("no pipe");
	(void)fflush(stdout);
	server->pid = fork();
	if (server->pid == 0)
		serve(cluster, tcp, threads, tell[1]);
	(void)close(tell[1]);
	if (read(tell[0], server->address, sizeof server->address) !=
	    (ssize_t)sizeof server->address)
		bench_fail("the server did not start");
	(void)close(tell[0]);
}

void bench_server_stop(struct bench_server *server)
{
	(void)kill(server->pid, SIGKILL);
	(void)waitpid(server->pid, NULL, 0);
}

dg_client *bench_client_open(const struct bench_cluster *cluster, const struct bench_server *server,
			     dg_tensor_info *feature)
{
	const char *const addresses[] = { server->address };
	const dg_client_options options = { .addresses = addresses, .n_addresses = 1 };
	dg_client *client;
	dg_error err = { 0 };

	must(dg_client_open(cluster->path, &options, &client, &err), &err);
	must(dg_client_find(client, BENCH_FEATURE, feature, &err), &err);
	return client;
}
