/* cmd_stop.c -- `distgraph stop`: end the servers of a cluster that run on this machine. */
#include "cmd.h"
#include "option.h"
#include "report.h"

#include <distgraph/cluster.h>

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <unistd.h>

enum { TIMEOUT_DEFAULT_S = 30 };

static const char about[] =
	"Asks every server of the cluster on this machine to finish what it has taken and to end,\n"
	"and waits until all are gone. Names the parts that do not run. Nothing is lost: what was\n"
	"acknowledged is on disk.\n";

static const char examples[] = "  distgraph stop karate/karate.json\n"
			       "  distgraph stop karate/karate.json --timeout 5\n";

struct target {
	uint32_t part;
	int64_t pid;
	int fd; /* of the process, so that no other that got its number is meant; -1: not running */
};

/* The process is pinned first and then looked up again: it may have ended in between. */
static dg_status find_server(const char *part_path, struct target *t, dg_error *err)
{
	dg_server_record record, again;
	dg_status st = dg_server_record_read(part_path, &record, err);

	t->fd = -1;
	if (st)
		return st == DG_NOTFOUND ? DG_OK : st;
	t->fd = pidfd_open((pid_t)record.pid, 0);
	if (t->fd < 0)
		return errno == ESRCH ? DG_OK
				      : fail(err, DG_IO, "process %" PRId64 ": %s", record.pid,
					     strerror(errno));
	st = dg_server_record_read(part_path, &again, err);
	if (st || again.pid != record.pid) {
		(void)close(t->fd);
		t->fd = -1;
	}
	t->pid = record.pid;
	return st == DG_NOTFOUND ? DG_OK : st;
}

static dg_status ask_to_end(const char *part_path, struct target *t, dg_error *err)
{
	dg_status st = find_server(part_path, t, err);

	if (st || t->fd < 0)
		return st;
	if (pidfd_send_signal(t->fd, SIGTERM, NULL, 0) && errno != ESRCH)
		return fail(err, DG_DENIED, "part %" PRIu32 ", process %" PRId64 ": %s", t->part,
			    t->pid, strerror(errno));
	return DG_OK;
}

static int wait_for(struct target *t, int64_t deadline_ms)
{
	struct pollfd ended = { .fd = t->fd, .events = POLLIN };
	int64_t left = deadline_ms - now_ms();

	if (t->fd < 0) {
		printf("part %" PRIu32 ": not running\n", t->part);
		return EXIT_DONE;
	}
	if (poll(&ended, 1, left > 0 ? (int)left : 0) == 1) {
		printf("part %" PRIu32 ": stopped, pid %" PRId64 "\n", t->part, t->pid);
		return EXIT_DONE;
	}
	return report("part %" PRIu32 ": process %" PRId64 " still runs; 'kill -9 %" PRId64
		      "' ends it, and loses nothing acknowledged",
		      t->part, t->pid, t->pid);
}

static int stop_all(const dg_cluster *cluster, struct target *targets, uint32_t n_parts,
		    uint64_t timeout_s)
{
	int64_t deadline_ms = now_ms() + (int64_t)timeout_s * 1000;
	int code = EXIT_DONE;
	dg_error err;

	for (uint32_t part = 0; part < n_parts; part++) {
		targets[part].part = part;
		if (ask_to_end(dg_cluster_part_path(cluster, part), &targets[part], &err))
			code = report_error(&err);
	}
	for (uint32_t part = 0; part < n_parts; part++) {
		if (wait_for(&targets[part], deadline_ms) != EXIT_DONE)
			code = EXIT_FAILED;
		if (targets[part].fd >= 0)
			(void)close(targets[part].fd);
	}
	return code;
}

static int stop(const char *path, uint64_t timeout_s)
{
	dg_cluster *cluster;
	struct target *targets;
	uint32_t n_parts;
	dg_error err;
	int code;

	if (dg_cluster_open(path, &cluster, &err))
		return report_error(&err);
	n_parts = dg_book_n_parts(dg_cluster_book(cluster));
	targets = calloc(n_parts, sizeof *targets);
	code = targets ? stop_all(cluster, targets, n_parts, timeout_s) : report("out of memory");
	free(targets);
	dg_cluster_close(cluster);
	return code;
}

int cmd_stop(int argc, char **argv)
{
	uint64_t timeout_s = TIMEOUT_DEFAULT_S;
	const struct option options[] = {
		{ .name = "timeout",
		  .value = "SECONDS",
		  .number = &timeout_s,
		  .max = 1000000,
		  .help = "how long to wait for all (default 30)" },
	};
	const struct option_set set = {
		.command = "stop",
		.arguments = "CLUSTER.json",
		.about = about,
		.examples = examples,
		.options = options,
		.n_options = sizeof options / sizeof options[0],
		.n_arguments_min = 1,
		.n_arguments_max = 1,
	};
	size_t n;
	int code = option_parse(&set, argc, argv, &n);

	return code == OPTION_GO ? stop(argv[0], timeout_s) : code;
}
