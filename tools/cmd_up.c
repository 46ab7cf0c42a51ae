/*
 * cmd_up.c -- `distgraph up`: every server of this machine as a child process. What they print is
 * passed on with the part's number; when one ends unasked, the others are stopped too.
 */
#include "cmd.h"
#include "option.h"
#include "report.h"

#include <distgraph/cluster.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TIMEOUT_DEFAULT_S = 60, LINE_BYTES = 1024, SERVE_ARGUMENTS = 10 };

struct arguments {
	const char *path;
	const char *ip_config;
	uint64_t threads, timeout_s;
	bool insecure;
};

static const char about[] =
	"Starts a server for every partition of this machine and keeps them until Ctrl-C, SIGTERM\n"
	"or `distgraph stop`. Says on stdout when all are ready. When a server ends unasked it is\n"
	"named, the others are stopped, and the exit status is 1.\n";

static const char examples[] =
	"  distgraph up karate/karate.json\n"
	"  distgraph up karate/karate.json --ip-config hosts.txt --insecure\n";

/* A pipe from a child, cut into lines. */
struct stream {
	int fd; /* -1 when it has ended */
	size_t n;
	char line[LINE_BYTES];
};

struct child {
	uint32_t part;
	pid_t pid; /* 0 when it is gone */
	bool ready;
	struct stream out, err;
};

struct family {
	struct child *children;
	size_t n;
	int signals; /* SIGCHLD, SIGINT, SIGTERM */
	bool stopping;
	bool ready;
	bool failed;
	int64_t deadline_ms; /* to be ready, or to be gone; 0: none */
	int64_t timeout_ms;
};

/* Can a socket of this machine have the address of @host? */
static bool is_host_here(const char *host)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_DGRAM };
	struct addrinfo *list, *at;
	bool here = false;

	if (getaddrinfo(host, "0", &hints, &list))
		return false;
	for (at = list; at && !here; at = at->ai_next) {
		int fd = socket(at->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

		here = fd >= 0 && !bind(fd, at->ai_addr, at->ai_addrlen);
		if (fd >= 0)
			(void)close(fd);
	}
	freeaddrinfo(list);
	return here;
}

/* "unix:/path", "host:port" or "[v6]:port". */
static bool is_address_here(const char *address)
{
	char host[DG_PATH_BYTES_MAX];
	char *colon;
	size_t n;

	if (!strncmp(address, "unix:", 5))
		return true;
	(void)snprintf(host, sizeof host, "%s", address);
	colon = strrchr(host, ':');
	if (colon)
		*colon = '\0';
	n = strlen(host);
	if (host[0] != '[' || host[n - 1] != ']')
		return is_host_here(host);
	host[n - 1] = '\0';
	return is_host_here(host + 1);
}

static dg_status is_part_here(const dg_cluster *cluster, uint32_t part, const char *ip_config,
			      bool *here, dg_error *err)
{
	char **addresses;
	size_t n;
	dg_status st = dg_cluster_addresses(cluster, part, ip_config, 0, &addresses, &n, err);

	if (st)
		return st;
	*here = false;
	for (size_t i = 0; i < n && !*here; i++)
		*here = is_address_here(addresses[i]);
	dg_free(addresses);
	return DG_OK;
}

/* By its path, so that the process has its proper name; else, if it was replaced, what runs now. */
static void run_self(char *const *argv)
{
	char path[DG_PATH_BYTES_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);

	if (n > 0) {
		path[n] = '\0';
		(void)execv(path, argv);
	}
	(void)execv("/proc/self/exe", argv);
}

/* In the child: becomes a server that ends with its parent. Never returns. */
static void become_server(const struct arguments *a, uint32_t part, pid_t parent)
{
	char part_text[16], threads_text[24];
	const char *argv[SERVE_ARGUMENTS + 1] = { "distgraph", "serve", a->path, "--part",
						  part_text };
	size_t n = 5;
	sigset_t none;

	(void)snprintf(part_text, sizeof part_text, "%" PRIu32, part);
	(void)snprintf(threads_text, sizeof threads_text, "--threads=%" PRIu64, a->threads);
	argv[n++] = threads_text;
	if (a->insecure)
		argv[n++] = "--insecure";
	if (a->ip_config) {
		argv[n++] = "--ip-config";
		argv[n++] = a->ip_config;
	}
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() == parent)
		run_self((char *const *)(uintptr_t)argv);
	_exit(EXIT_FAILED);
}

/* A pipe whose end to read is in @stream. */
static int open_pipe(struct stream *stream, int *write_end)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return report("pipe: %s", strerror(errno));
	(void)fcntl(ends[0], F_SETFL, O_NONBLOCK);
	stream->fd = ends[0];
	*write_end = ends[1];
	return EXIT_DONE;
}

static int start_child(const struct arguments *a, struct child *child)
{
	pid_t parent = getpid();
	int out = -1, err = -1;
	int code = open_pipe(&child->out, &out) || open_pipe(&child->err, &err);

	if (!code) {
		child->pid = fork();
		if (child->pid < 0) {
			child->pid = 0;
			code = report("fork: %s", strerror(errno));
		} else if (!child->pid) {
			if (dup2(out, STDOUT_FILENO) < 0 || dup2(err, STDERR_FILENO) < 0)
				_exit(EXIT_FAILED);
			become_server(a, child->part, parent);
		}
	}
	if (out >= 0)
		(void)close(out);
	if (err >= 0)
		(void)close(err);
	return code;
}

/* Prints the line collected. A line on stdout says that the server is ready. */
static void pass_line_on(struct child *child, struct stream *stream)
{
	fprintf(stderr, "[part %" PRIu32 "] %.*s\n", child->part, (int)stream->n, stream->line);
	if (stream == &child->out)
		child->ready = true;
	stream->n = 0;
}

static void pass_bytes_on(struct child *child, struct stream *stream, const char *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (bytes[i] == '\n' || stream->n == sizeof stream->line)
			pass_line_on(child, stream);
		if (bytes[i] != '\n')
			stream->line[stream->n++] = bytes[i];
	}
}

/* Passes on what is there now. */
static void drain(struct child *child, struct stream *stream)
{
	char bytes[4096];
	ssize_t n = 0;

	while (stream->fd >= 0 && (n = read(stream->fd, bytes, sizeof bytes)) > 0)
		pass_bytes_on(child, stream, bytes, (size_t)n);
	if (stream->fd < 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)))
		return;
	if (stream->n)
		pass_line_on(child, stream);
	(void)close(stream->fd);
	stream->fd = -1;
}

static size_t count_running(const struct family *family)
{
	size_t n = 0;

	for (size_t i = 0; i < family->n; i++)
		n += family->children[i].pid > 0;
	return n;
}

static void signal_all(const struct family *family, int number)
{
	for (size_t i = 0; i < family->n; i++)
		if (family->children[i].pid > 0)
			(void)kill(family->children[i].pid, number);
}

static void begin_stopping(struct family *family)
{
	if (family->stopping)
		return;
	family->stopping = true;
	family->deadline_ms = now_ms() + family->timeout_ms;
	signal_all(family, SIGTERM);
}

/* Ended with 0: by `distgraph stop`, or because the same Ctrl-C reached it first. One that we told to
 * end may not have come as far as to do so with grace. */
static bool has_failed(const struct family *family, int status)
{
	if (WIFSIGNALED(status))
		return !family->stopping || WTERMSIG(status) != SIGTERM;
	return WEXITSTATUS(status) != 0;
}

static void bury(struct family *family, struct child *child, int status)
{
	drain(child, &child->out);
	drain(child, &child->err);
	if (has_failed(family, status)) {
		if (WIFSIGNALED(status))
			(void)report("part %" PRIu32
				     ": its server, pid %d, was killed by signal %d (%s)",
				     child->part, (int)child->pid, WTERMSIG(status),
				     strsignal(WTERMSIG(status)));
		else
			(void)report("part %" PRIu32
				     ": its server, pid %d, ended with exit status %d",
				     child->part, (int)child->pid, WEXITSTATUS(status));
		family->failed = true;
		begin_stopping(family);
	}
	child->pid = 0;
}

static void reap(struct family *family)
{
	for (size_t i = 0; i < family->n; i++) {
		struct child *child = &family->children[i];
		int status;

		if (child->pid > 0 && waitpid(child->pid, &status, WNOHANG) == child->pid)
			bury(family, child, status);
	}
}

static void take_signals(struct family *family)
{
	struct signalfd_siginfo info;

	while (read(family->signals, &info, sizeof info) == (ssize_t)sizeof info)
		if (info.ssi_signo != SIGCHLD)
			begin_stopping(family);
	reap(family);
}

static void check_ready(struct family *family)
{
	if (family->ready || family->stopping)
		return;
	for (size_t i = 0; i < family->n; i++)
		if (!family->children[i].ready)
			return;
	family->ready = true;
	family->deadline_ms = 0;
	printf("ready: %zu server%s\n", family->n, family->n == 1 ? "" : "s");
	(void)fflush(stdout);
}

static void check_deadline(struct family *family)
{
	if (!family->deadline_ms || now_ms() < family->deadline_ms)
		return;
	family->failed = true;
	if (family->stopping) {
		(void)report("%zu servers did not end in time and are killed",
			     count_running(family));
		signal_all(family, SIGKILL);
		family->deadline_ms = 0; /* SIGKILL needs no second one */
		return;
	}
	for (size_t i = 0; i < family->n; i++)
		if (!family->children[i].ready)
			(void)report("part %" PRIu32 ": its server is not ready after %" PRId64
				     " s",
				     family->children[i].part, family->timeout_ms / 1000);
	begin_stopping(family);
}

static int wait_ms(const struct family *family)
{
	int64_t left = family->deadline_ms - now_ms();

	if (!family->deadline_ms)
		return -1;
	return left < 0 ? 0 : left > 60000 ? 60000 : (int)left + 1;
}

/* Until every child is gone. */
static void watch(struct family *family, struct pollfd *fds)
{
	while (count_running(family)) {
		fds[0] = (struct pollfd){ .fd = family->signals, .events = POLLIN };
		for (size_t i = 0; i < family->n; i++) {
			fds[1 + 2 * i] = (struct pollfd){ .fd = family->children[i].out.fd,
							  .events = POLLIN };
			fds[2 + 2 * i] = (struct pollfd){ .fd = family->children[i].err.fd,
							  .events = POLLIN };
		}
		(void)poll(fds, 1 + 2 * family->n, wait_ms(family));
		for (size_t i = 0; i < family->n; i++) {
			drain(&family->children[i], &family->children[i].out);
			drain(&family->children[i], &family->children[i].err);
		}
		check_ready(family);
		take_signals(family);
		check_deadline(family);
	}
}

static int open_signals(void)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGCHLD);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGHUP);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static int run_family(const struct arguments *a, struct family *family)
{
	struct pollfd *fds = calloc(1 + 2 * family->n, sizeof *fds);

	family->signals = open_signals();
	family->timeout_ms = (int64_t)a->timeout_s * 1000;
	family->deadline_ms = now_ms() + family->timeout_ms;
	if (!fds || family->signals < 0) {
		free(fds);
		return report("signals: %s", strerror(errno));
	}
	for (size_t i = 0; i < family->n && !family->failed; i++)
		family->failed = start_child(a, &family->children[i]) != EXIT_DONE;
	if (family->failed)
		begin_stopping(family);
	watch(family, fds);
	(void)close(family->signals);
	free(fds);
	return family->failed ? EXIT_FAILED : EXIT_DONE;
}

/* Lists the partitions of this machine; @children has room for all. */
static dg_status find_children(const struct arguments *a, const dg_cluster *cluster,
			       struct child *children, size_t *n, dg_error *err)
{
	uint32_t n_parts = dg_book_n_parts(dg_cluster_book(cluster));

	*n = 0;
	for (uint32_t part = 0; part < n_parts; part++) {
		bool here;
		dg_status st = is_part_here(cluster, part, a->ip_config, &here, err);

		if (st)
			return st;
		if (here)
			children[(*n)++] = (struct child){ .part = part,
							   .out = { .fd = -1 },
							   .err = { .fd = -1 } };
	}
	if (!*n)
		return fail(err, DG_NOTFOUND, "no partition of '%s' has an address of this machine",
			    a->path);
	return DG_OK;
}

static void close_streams(const struct family *family)
{
	for (size_t i = 0; i < family->n; i++) {
		if (family->children[i].out.fd >= 0)
			(void)close(family->children[i].out.fd);
		if (family->children[i].err.fd >= 0)
			(void)close(family->children[i].err.fd);
	}
}

static int up(const struct arguments *a)
{
	struct family family = { 0 };
	dg_cluster *cluster;
	dg_error err;
	int code;

	if (dg_cluster_open(a->path, &cluster, &err))
		return report_error(&err);
	family.children =
		calloc(dg_book_n_parts(dg_cluster_book(cluster)), sizeof *family.children);
	if (!family.children)
		code = report("out of memory");
	else if (find_children(a, cluster, family.children, &family.n, &err))
		code = report_error(&err);
	else
		code = run_family(a, &family);
	if (family.children)
		close_streams(&family);
	free(family.children);
	dg_cluster_close(cluster);
	return code;
}

int cmd_up(int argc, char **argv)
{
	struct arguments a = { .timeout_s = TIMEOUT_DEFAULT_S };
	const struct option options[] = {
		{ .name = "ip-config",
		  .value = "FILE",
		  .text = &a.ip_config,
		  .help = "addresses of the servers, one partition a line" },
		{ .name = "threads",
		  .value = "N",
		  .number = &a.threads,
		  .max = 1024,
		  .help = "network threads of each server (default: cores, at most 4)" },
		{ .name = "insecure",
		  .flag = &a.insecure,
		  .help = "allow addresses that other hosts can reach" },
		{ .name = "timeout",
		  .value = "SECONDS",
		  .number = &a.timeout_s,
		  .max = 1000000,
		  .help = "for all to be ready, and for all to end (default 60)" },
	};
	const struct option_set set = {
		.command = "up",
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

	if (code != OPTION_GO)
		return code;
	a.path = argv[0];
	return up(&a);
}
