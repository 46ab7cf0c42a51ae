/* cmd_serve.c -- `distgraph serve`: one server in this process, until a signal. */
#include "cmd.h"
#include "option.h"
#include "report.h"

#include <distgraph/cluster.h>
#include <distgraph/server.h>

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct arguments {
	const char *path;
	uint64_t part, threads;
	struct option_texts listen;
	const char *ip_config;
	bool insecure;
};

static const char about[] =
	"Serves partition I of a cluster until SIGTERM or SIGINT. Says on stdout when it is "
	"ready,\n"
	"with the addresses it listens on: those of --listen, else of the ip_config file, else of\n"
	"the cluster file, else a Unix socket in the partition's directory.\n";

static const char examples[] =
	"  distgraph serve karate/karate.json --part 0\n"
	"  distgraph serve karate/karate.json --part 1 --listen 127.0.0.1:30051\n"
	"  distgraph serve karate/karate.json --part 2 --ip-config hosts.txt --insecure\n";

static dg_server *served; /* for the signal handler */

static void on_signal(int number)
{
	(void)number;
	dg_server_stop(served);
}

static void block_signals(int how)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGTERM);
	(void)sigprocmask(how, &set, NULL);
}

/* Is the store in the partition's directory this partition of this cluster? */
static dg_status check_store(const dg_cluster *cluster, uint32_t part, dg_error *err)
{
	const dg_store_options read_only = { 0 };
	const char *path = dg_cluster_part_path(cluster, part);
	const dg_uuid wanted = dg_cluster_uuid(cluster);
	dg_store_info info;
	dg_store *store;
	char found_text[DG_UUID_TEXT_BYTES], wanted_text[DG_UUID_TEXT_BYTES];
	dg_status st = dg_store_open(path, &read_only, &store, err);

	if (st)
		return st;
	dg_store_get_info(store, &info);
	dg_store_close(store);
	uuid_text(&info.cluster_uuid, found_text);
	uuid_text(&wanted, wanted_text);
	if (memcmp(&info.cluster_uuid, &wanted, sizeof wanted) != 0)
		return fail(err, DG_MISMATCH, "'%s' is a store of cluster %s, wanted %s", path,
			    found_text, wanted_text);
	if (info.part != part)
		return fail(err, DG_MISMATCH,
			    "'%s' is the store of part %" PRIu32 ", wanted %" PRIu32, path,
			    info.part, part);
	return DG_OK;
}

static void say_ready(const dg_cluster *cluster, uint32_t part, const dg_server *server)
{
	size_t n;
	const char *const *addresses = dg_server_addresses(server, &n);

	printf("part %" PRIu32 " of '%s' is ready, pid %d:", part, dg_cluster_graph_name(cluster),
	       (int)getpid());
	for (size_t i = 0; i < n; i++)
		printf(" %s", addresses[i]);
	putchar('\n');
	(void)fflush(stdout);
}

/* Signals are held back until there is a server to stop. */
static dg_status run_server(const dg_cluster *cluster, uint32_t part,
			    const dg_server_options *options, dg_error *err)
{
	const struct sigaction action = { .sa_handler = on_signal };
	dg_status st;

	block_signals(SIG_BLOCK);
	st = dg_server_open(dg_cluster_part_path(cluster, part), options, &served, err);
	if (st)
		return st;
	(void)sigaction(SIGINT, &action, NULL);
	(void)sigaction(SIGTERM, &action, NULL);
	block_signals(SIG_UNBLOCK);
	say_ready(cluster, part, served);
	st = dg_server_run(served, err);
	block_signals(SIG_BLOCK);
	dg_server_close(served);
	return st;
}

static dg_status serve_addresses(const struct arguments *a, const dg_cluster *cluster,
				 dg_error *err)
{
	dg_server_options options = { .threads = (uint32_t)a->threads, .insecure = a->insecure };
	uint32_t part = (uint32_t)a->part;
	char **addresses = NULL;
	size_t n = 0;
	dg_status st = DG_OK;

	if (!a->listen.n)
		st = dg_cluster_addresses(cluster, part, a->ip_config, 0, &addresses, &n, err);
	if (st)
		return st;
	options.listen = a->listen.n ? a->listen.items : (const char *const *)addresses;
	options.n_listen = a->listen.n ? a->listen.n : n;
	st = run_server(cluster, part, &options, err);
	dg_free(addresses);
	return st;
}

static int serve(const struct arguments *a)
{
	dg_cluster *cluster = NULL;
	dg_error err;
	dg_status st = dg_cluster_open(a->path, &cluster, &err);
	uint32_t n_parts = st ? 0 : dg_book_n_parts(dg_cluster_book(cluster));

	if (!st && a->part >= n_parts)
		st = fail(&err, DG_RANGE, "part %" PRIu64 ": '%s' has parts 0 to %" PRIu32, a->part,
			  a->path, n_parts - 1);
	if (!st)
		st = check_store(cluster, (uint32_t)a->part, &err);
	if (!st)
		st = serve_addresses(a, cluster, &err);
	dg_cluster_close(cluster);
	return st ? report_error(&err) : EXIT_DONE;
}

int cmd_serve(int argc, char **argv)
{
	struct arguments a = { .part = UINT64_MAX };
	const struct option options[] = {
		{ .name = "part",
		  .value = "I",
		  .number = &a.part,
		  .max = DG_PARTS_MAX - 1,
		  .help = "the partition to serve, from 0" },
		{ .name = "listen",
		  .value = "ADDRESS",
		  .texts = &a.listen,
		  .help = "HOST:PORT or unix:PATH; repeatable; port 0 lets the system choose" },
		{ .name = "ip-config",
		  .value = "FILE",
		  .text = &a.ip_config,
		  .help = "addresses of the servers, one partition a line" },
		{ .name = "threads",
		  .value = "N",
		  .number = &a.threads,
		  .max = 1024,
		  .help = "network threads (default: cores, at most 4)" },
		{ .name = "insecure",
		  .flag = &a.insecure,
		  .help = "allow addresses that other hosts can reach" },
	};
	const struct option_set set = {
		.command = "serve",
		.arguments = "CLUSTER.json --part I",
		.about = about,
		.examples = examples,
		.options = options,
		.n_options = sizeof options / sizeof options[0],
		.n_arguments_min = 1,
		.n_arguments_max = 1,
	};
	size_t n;
	int code = option_parse(&set, argc, argv, &n);

	if (code == OPTION_GO && a.part == UINT64_MAX)
		code = option_usage_error(&set, "--part I is wanted");
	if (code == OPTION_GO) {
		a.path = argv[0];
		dg_log_set(report_log, NULL, DG_LOG_INFO);
		code = serve(&a);
	}
	option_texts_clear(&a.listen);
	return code;
}
