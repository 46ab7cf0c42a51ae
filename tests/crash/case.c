/* case.c -- arguments, directories and child processes of the crash programs. */
#include "case.h"

#include "check.h"
#include "deadline.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHILD_SECONDS 60

static _Noreturn void usage(const char *program)
{
	fprintf(stderr,
		"usage: %s [--seed N] [--runs N] [--at N] [--jobs N] [--dir DIR] [SUITE]...\n",
		program);
	exit(2);
}

static const char *default_dir(void)
{
	const char *dir = getenv("TMPDIR");

	if (dir)
		return dir;
	return access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
}

static uint64_t number_of(const char *program, const char *text)
{
	char *end;
	unsigned long long value = strtoull(text, &end, 0);

	if (*text == '\0' || *end != '\0')
		usage(program);
	return value;
}

struct crash_options crash_options_read(int argc, char **argv)
{
	struct crash_options options = { .jobs = 1, .dir = default_dir() };

	options.seed = (uint64_t)dgi_now_us() % 1000000000;
	for (int i = 1; i < argc; i++) {
		const char *value = i + 1 < argc ? argv[i + 1] : "";

		if (strncmp(argv[i], "--", 2) != 0) {
			if (options.n_suites == DGI_COUNT_OF(options.suites))
				usage(argv[0]);
			options.suites[options.n_suites++] = argv[i];
			continue;
		}
		if (strcmp(argv[i], "--seed") == 0)
			options.seed = number_of(argv[0], value);
		else if (strcmp(argv[i], "--runs") == 0)
			options.runs = number_of(argv[0], value);
		else if (strcmp(argv[i], "--at") == 0)
			options.at = number_of(argv[0], value);
		else if (strcmp(argv[i], "--jobs") == 0)
			options.jobs = (unsigned)number_of(argv[0], value);
		else if (strcmp(argv[i], "--dir") == 0)
			options.dir = value;
		else
			usage(argv[0]);
		i++;
	}
	if (options.jobs < 1)
		options.jobs = 1;
	printf("%s --seed %" PRIu64 "\n", argv[0], options.seed);
	(void)fflush(stdout);
	return options;
}

bool crash_suite_wanted(const struct crash_options *options, const char *name)
{
	for (size_t i = 0; i < options->n_suites; i++)
		if (strcmp(options->suites[i], name) == 0)
			return true;
	return options->n_suites == 0;
}

/* --- Directories --- */

static void set_names(struct crash_case *c)
{
	(void)snprintf(c->files, sizeof c->files, "%s/files", c->dir);
	(void)snprintf(c->store, sizeof c->store, "%s/store", c->files);
	(void)snprintf(c->kept, sizeof c->kept, "%s/kept", c->dir);
}

void crash_case_new(struct crash_case *c, const struct crash_options *options, uint64_t seed,
		    unsigned scale)
{
	char given[256];
	char oracle[300];

	(void)snprintf(given, sizeof given, "%s/crash-%" PRIu64 "-XXXXXX", options->dir, seed);
	if (!mkdtemp(given) || !realpath(given, c->dir)) {
		perror(given);
		exit(1);
	}
	set_names(c);
	if (mkdir(c->files, 0700) != 0 || mkdir(c->kept, 0700) != 0) {
		perror(c->dir);
		exit(1);
	}
	plan_init(&c->plan, seed, scale);
	(void)snprintf(oracle, sizeof oracle, "%s/oracle", c->dir);
	c->oracle = oracle_new(oracle, &c->plan, scale);
}

void crash_case_open(struct crash_case *c, const char *dir)
{
	char oracle[300];

	(void)snprintf(c->dir, sizeof c->dir, "%s", dir);
	set_names(c);
	(void)snprintf(oracle, sizeof oracle, "%s/oracle", c->dir);
	c->oracle = oracle_open(oracle, &c->plan);
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	(void)st;
	(void)kind;
	(void)ftw;
	return remove(path);
}

void crash_tree_remove(const char *path)
{
	(void)nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

void crash_case_remove(struct crash_case *c)
{
	oracle_close(c->oracle, &c->plan);
	crash_tree_remove(c->dir);
}

void crash_case_keep(struct crash_case *c)
{
	oracle_close(c->oracle, &c->plan);
	fprintf(stderr,
		"kept in %s (seed %" PRIu64 "): kept/store is as the crash left it; look with "
		"crash_workload --dir %s verify\n",
		c->dir, c->plan.seed, c->dir);
}

static bool copy_file(int from_dir, int to_dir, const char *name)
{
	static char buffer[1 << 18];
	int from = openat(from_dir, name, O_RDONLY | O_CLOEXEC);
	int to = openat(to_dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	ssize_t n = -1;

	while (from >= 0 && to >= 0 && (n = read(from, buffer, sizeof buffer)) > 0)
		if (write(to, buffer, (size_t)n) != n)
			n = -1;
	(void)close(from);
	(void)close(to);
	return n == 0;
}

void crash_case_snapshot(const struct crash_case *c)
{
	char target[300];
	DIR *dir = opendir(c->store);
	struct dirent *entry;
	int to;

	if (!dir)
		return;
	(void)snprintf(target, sizeof target, "%s/store", c->kept);
	(void)mkdir(target, 0700);
	to = open(target, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	while ((entry = readdir(dir)))
		if (entry->d_type == DT_REG && !copy_file(dirfd(dir), to, entry->d_name))
			fprintf(stderr, "%s/%s was not kept\n", c->store, entry->d_name);
	(void)close(to);
	(void)closedir(dir);
}

bool crash_case_has_store(const struct crash_case *c)
{
	return access(c->store, F_OK) == 0;
}

/* --- Children --- */

pid_t crash_child_begin(crash_child_fn *fn, void *context)
{
	pid_t pid = fork();

	if (pid < 0) {
		perror("fork");
		exit(1);
	}
	if (pid == 0) {
		(void)alarm(CHILD_SECONDS);
		/* exit(), not _exit(): leaks are looked for. */
		exit(fn(context));
	}
	return pid;
}

int crash_child_end(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) != pid)
		DGI_ASSERT(errno == EINTR);
	return status;
}

bool crash_child_exited(int status, int code)
{
	if (WIFEXITED(status) && WEXITSTATUS(status) == code)
		return true;
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
		fprintf(stderr, "WRONG: a process did not end within %d s\n", CHILD_SECONDS);
	else if (WIFSIGNALED(status))
		fprintf(stderr, "WRONG: a process died of signal %d (%s)\n", WTERMSIG(status),
			strsignal(WTERMSIG(status)));
	else
		fprintf(stderr, "WRONG: a process exited with %d, not %d\n", WEXITSTATUS(status),
			code);
	return false;
}

int crash_child_run(crash_child_fn *fn, void *context)
{
	return crash_child_end(crash_child_begin(fn, context));
}

struct verify_context {
	struct crash_case *c;
	bool writable;
};

static int verify_child(void *context)
{
	struct verify_context *verify = context;
	struct crash_case *c = verify->c;
	static struct workload w;
	bool sound;

	if (!atomic_load(&c->oracle->created)) {
		if (!crash_case_has_store(c))
			return 0;
		atomic_store(&c->oracle->created, 1);
	}
	workload_init(&w, &c->plan, c->oracle, c->store);
	sound = workload_verify(&w, verify->writable);
	workload_clear(&w);
	return sound ? 0 : 1;
}

bool crash_case_verify(struct crash_case *c, bool writable)
{
	struct verify_context verify = { c, writable };

	return crash_child_exited(crash_child_run(verify_child, &verify), 0);
}
