/*
 * calls.c -- a fixed script, once for each call that writes: the n-th kills the process, tears,
 * fails, falls short, finds the disk full.
 *
 * The script makes a store, opens it, pushes, closes it, opens it again and pushes again. What may
 * follow a fault depends on its kind; in the end the store is opened without faults and compared
 * with what was acknowledged.
 */
#include "jobs.h"
#include "shim.h"

#include "deadline.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#define SHORT_GROUPS 10
#define OPENINGS 2
#define NOT_REACHED 10 /* exit status: the script ended before its n-th call */
#define NOT_ALLOWED 11 /* … mounting needs rights that we have not */
#define PAGE_BYTES 4096
#define SMALL_PAGES 4096
#define SHORT_STEP 96 /* pages from point to point, in the short form */
#define BIG_SIZE "size=64m"
#define NOTICE_MS 50 /* for a fault on another thread to be noticed */

/* What may follow the fault. */
enum rule {
	MAY_DIE,     /* it does */
	MUST_STOP,   /* nothing may be acknowledged any more */
	MAY_STOP,    /* … or go on, as long as it keeps what it promises */
	MUST_RESUME, /* refuses with FULL, reads, and goes on once there is room */
};

/* What the point's number, times a step, says of a file system. */
enum small {
	NOT_SMALL,
	SMALL_WHOLE, /* it has so many pages */
	SMALL_REST,  /* the store once made, one fewer are left */
};

struct suite {
	const char *name;
	enum rule rule;
	struct shim_order order;
	enum small small; /* no fault, but a file system of its own */
};

#define SUITE(suite_name, suite_rule, ...) \
	{ \
		.name = (suite_name), .rule = (suite_rule), __VA_ARGS__ \
	}

static const struct suite suites[] = {
	SUITE("kill", MAY_DIE, .order = { .calls = SHIM_ANY, .fault = SHIM_KILL }),
	SUITE("tear", MAY_DIE, .order = { .calls = SHIM_WRITE, .fault = SHIM_KILL_HALF }),
	SUITE("sync", MUST_STOP,
	      .order = { .calls = SHIM_SYNC, .fault = SHIM_ERROR, .error = EIO }),
	SUITE("sync-full", MUST_STOP,
	      .order = { .calls = SHIM_SYNC,
			 .fault = SHIM_ERROR,
			 .error = EIO,
			 .looks_full = true }),
	SUITE("write", MAY_STOP,
	      .order = { .calls = SHIM_WRITE, .fault = SHIM_ERROR, .error = EIO }),
	SUITE("name", MAY_STOP,
	      .order = { .calls = SHIM_NAME | SHIM_SIZE, .fault = SHIM_ERROR, .error = EIO }),
	SUITE("short", MAY_STOP, .order = { .calls = SHIM_WRITE, .fault = SHIM_HALF }),
	SUITE("interrupt", MAY_STOP,
	      .order = { .calls = SHIM_WRITE | SHIM_SYNC, .fault = SHIM_ERROR, .error = EINTR }),
	SUITE("full", MUST_RESUME, .order = { .calls = SHIM_GROW, .fault = SHIM_FULL }),
	SUITE("small-disk", MUST_RESUME, .small = SMALL_WHOLE),
	SUITE("filled-disk", MUST_RESUME, .small = SMALL_REST),
};

struct run {
	struct crash_case c;
	const struct suite *suite;
	uint64_t at;
	uint64_t groups;
	uint64_t step; /* pages from point to point */
	bool was_full;
	bool fired_before; /* the present opening: it has started afresh since */
};

static int say_wrong(const char *what, const dg_error *err)
{
	fprintf(stderr, "WRONG: %s: %s (%s)\n", what, err->text, dg_status_text(err->status));
	return 1;
}

/* --- The script --- */

static bool fault_came(const struct run *run)
{
	return shim_fired() || run->suite->small;
}

/* Is that how an action may end after the fault? A short write mostly means a full disk. */
static bool may_fail(const struct run *run, const char *what, const dg_error *err)
{
	bool may_be_full = run->suite->rule == MUST_RESUME ||
			   run->suite->order.fault == SHIM_HALF || run->suite->order.looks_full;
	bool may_be_other = run->suite->rule != MUST_RESUME;

	if (fault_came(run) &&
	    ((may_be_full && err->status == DG_FULL) || (may_be_other && err->status == DG_IO)))
		return true;
	(void)say_wrong(what, err);
	return false;
}

/* The small file system in place of the case's files/; this process alone sees it. */
static bool mount_small(const struct run *run)
{
	uint64_t pages = run->suite->small == SMALL_WHOLE ? run->at * run->step : SMALL_PAGES;
	char size[64];

	(void)snprintf(size, sizeof size, "size=%" PRIu64, pages * PAGE_BYTES);
	return unshare(CLONE_NEWNS) == 0 &&
	       mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	       mount("tmpfs", run->c.files, "tmpfs", 0, size) == 0;
}

/* Leaves so many pages of the file system. */
static void fill_up(const struct run *run, uint64_t pages)
{
	struct statvfs info;
	char path[400];
	int fd;

	(void)snprintf(path, sizeof path, "%s/.filler", run->c.files);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || statvfs(run->c.files, &info) != 0 ||
	    fallocate(fd, 0, 0, (off_t)((info.f_bavail - pages) * PAGE_BYTES)) != 0)
		perror(path);
	(void)close(fd);
}

static void make_room(struct run *run)
{
	run->was_full = true;
	if (!run->suite->small)
		shim_make_room();
	else if (mount(NULL, run->c.files, NULL, MS_REMOUNT, BIG_SIZE) != 0)
		perror("remount");
}

static enum workload_end read_all(struct workload *w)
{
	dg_error err;
	enum workload_end end = workload_read(w, &err);

	if (end == WORKLOAD_FAILED)
		(void)say_wrong("reading fails", &err);
	return end ? WORKLOAD_WRONG : WORKLOAD_DONE;
}

/* The disk is full: what was refused stays refused, what is there can be read; then there is room. */
static enum workload_end ride_out(struct run *run, struct workload *w, dg_error *err)
{
	enum workload_end end;

	if (err->status != DG_FULL) {
		(void)say_wrong("refused for another reason than the full disk", err);
		return WORKLOAD_WRONG;
	}
	end = read_all(w);
	if (end == WORKLOAD_DONE)
		end = workload_group(w, err); /* may fit by now, or be smaller */
	if (end == WORKLOAD_REFUSED && err->status == DG_FULL)
		end = read_all(w);
	if (end)
		return end;
	make_room(run);
	while ((end = workload_group(w, err)) == WORKLOAD_DONE && w->n_retry)
		;
	if (end)
		(void)say_wrong("refused although there is room again", err);
	return end ? WORKLOAD_WRONG : read_all(w);
}

/* After a failure that may end a store: another group must be refused as well. */
static enum workload_end try_again(struct workload *w, dg_error *err)
{
	enum workload_end end = workload_group(w, err);

	if (end == WORKLOAD_DONE || end == WORKLOAD_REFUSED) {
		fprintf(stderr,
			"WRONG: writes went on after the store had said it takes no more\n");
		return WORKLOAD_WRONG;
	}
	return end;
}

/* Refused for a disk that looks full: where a sync has failed, it must not be taken later. */
static enum workload_end refused_again(const struct run *run, struct workload *w, dg_error *err)
{
	enum workload_end end;

	if (run->suite->rule != MUST_STOP)
		return WORKLOAD_DONE;
	end = workload_group(w, err);
	if (end != WORKLOAD_DONE)
		return WORKLOAD_FAILED;
	fprintf(stderr, "WRONG: acknowledged after a failed sync\n");
	return WORKLOAD_WRONG;
}

static enum workload_end one_group(struct run *run, struct workload *w, dg_error *err)
{
	bool before = shim_fired() && !run->fired_before;
	enum workload_end end = workload_group(w, err);

	if (!before && shim_fired() && run->suite->rule == MUST_STOP && end == WORKLOAD_DONE)
		dgi_sleep_ms(NOTICE_MS);
	if (before && run->suite->rule == MUST_STOP && end == WORKLOAD_DONE) {
		fprintf(stderr, "WRONG: acknowledged after a failed sync\n");
		return WORKLOAD_WRONG;
	}
	if (end == WORKLOAD_REFUSED && run->suite->rule == MUST_RESUME)
		return ride_out(run, w, err);
	if (end == WORKLOAD_REFUSED)
		return may_fail(run, "push", err) ? refused_again(run, w, err) : WORKLOAD_WRONG;
	if (end == WORKLOAD_FAILED && run->suite->rule == MUST_RESUME) {
		(void)say_wrong("the store has stopped because the disk is full", err);
		return WORKLOAD_WRONG;
	}
	if (end == WORKLOAD_FAILED)
		return may_fail(run, "push", err) ? try_again(w, err) : WORKLOAD_WRONG;
	return end;
}

static enum workload_end open_and_push(struct run *run, struct workload *w)
{
	enum workload_end end;
	dg_error err;
	bool fired;

	run->fired_before = shim_fired();
	end = workload_open(w, true, &err);
	if (end && !may_fail(run, "open", &err))
		return WORKLOAD_WRONG;
	if (end && run->suite->rule == MUST_RESUME) {
		make_room(run);
		if (workload_open(w, true, &err)) {
			(void)say_wrong("cannot be opened although there is room again", &err);
			return WORKLOAD_WRONG;
		}
		end = WORKLOAD_DONE;
	}
	if (end)
		return end;
	for (uint64_t i = 0; !end && i < run->groups; i++)
		end = one_group(run, w, &err);
	fired = shim_fired();
	workload_close(w);
	/* Pushes that did not wait for the disk may be gone when closing has met the fault. */
	if (!end && (shim_fired() != fired || (fired && run->suite->rule != MUST_RESUME)))
		return WORKLOAD_FAILED;
	return end;
}

static enum workload_end make(struct run *run, struct workload *w)
{
	dg_error err;
	enum workload_end end = workload_make(w, &err);

	if (end && !may_fail(run, "make", &err))
		return WORKLOAD_WRONG;
	if (end && run->suite->rule == MUST_RESUME) {
		make_room(run);
		end = workload_make(w, &err);
		if (end)
			(void)say_wrong("cannot be made although there is room again", &err);
		return end ? WORKLOAD_WRONG : WORKLOAD_DONE;
	}
	return end;
}

static enum workload_end script(struct run *run)
{
	static struct workload w;
	enum workload_end end;

	workload_init(&w, &run->c.plan, run->c.oracle, run->c.store);
	end = make(run, &w);
	if (run->suite->small == SMALL_REST)
		fill_up(run, (run->at - 1) * run->step);
	for (int i = 0; !end && i < OPENINGS; i++)
		end = open_and_push(run, &w);
	workload_clear(&w);
	return end;
}

static int play(void *context)
{
	struct run *run = context;
	struct shim_order order = run->suite->order;
	enum workload_end end;
	bool reached;

	order.at = run->at;
	shim_watch(run->c.files);
	shim_order(&order);
	end = script(run);
	reached = shim_calls() >= run->at;
	shim_watch(NULL);
	if (end == WORKLOAD_WRONG) {
		fprintf(stderr, "  the fault struck %s\n", shim_fired_at());
		return 1;
	}
	return reached ? 0 : NOT_REACHED;
}

/* --- Every point of it --- */

/* Only a killed process may leave its staging directory behind. */
static bool left_clean(const struct run *run)
{
	DIR *dir = opendir(run->c.files);
	struct dirent *entry;
	bool clean = true;

	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.' && strcmp(entry->d_name, "store") != 0) {
			fprintf(stderr, "WRONG: '%s' was left behind\n", entry->d_name);
			clean = false;
		}
	(void)closedir(dir);
	return clean;
}

/* What is on the small disk goes with this process, which therefore looks at it itself. */
static int play_on_small_disk(void *context)
{
	struct run *run = context;
	bool sound;

	if (!mount_small(run))
		return NOT_ALLOWED;
	sound = script(run) == WORKLOAD_DONE && left_clean(run);
	crash_case_snapshot(&run->c);
	if (!sound || !crash_case_verify(&run->c, run->at % 2 == 0))
		return 1;
	return run->was_full ? 0 : NOT_REACHED;
}

struct suite_run {
	const struct crash_options *options;
	const struct suite *suite;
};

static bool try_point(void *context, uint64_t at, bool *reached)
{
	const struct suite_run *suite_run = context;
	const struct crash_options *options = suite_run->options;
	const struct suite *suite = suite_run->suite;
	struct run run = { .suite = suite, .at = at };
	bool sound;
	int status;

	run.groups = options->runs ? options->runs : SHORT_GROUPS;
	run.step = run.groups > SHORT_GROUPS ? 1 : SHORT_STEP;
	crash_case_new(&run.c, options, options->seed, 1);
	status = crash_child_run(suite->small ? play_on_small_disk : play, &run);
	*reached = !WIFEXITED(status) ||
		   (WEXITSTATUS(status) != NOT_REACHED && WEXITSTATUS(status) != NOT_ALLOWED);
	if (!*reached)
		sound = true;
	else if (suite->rule == MAY_DIE)
		sound = (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) ||
			crash_child_exited(status, -1);
	else
		sound = crash_child_exited(status, 0) && left_clean(&run);
	if (!suite->small) {
		crash_case_snapshot(&run.c);
		sound = sound && crash_case_verify(&run.c, at % 2 == 0);
	}
	if (sound) {
		crash_case_remove(&run.c);
		return true;
	}
	fprintf(stderr,
		"%s, point %" PRIu64 ": replay with crash_calls --seed %" PRIu64 " --runs %" PRIu64
		" --at %" PRIu64 " %s\n",
		suite->name, at, options->seed, options->runs, at, suite->name);
	crash_case_keep(&run.c);
	return false;
}

int main(int argc, char **argv)
{
	struct crash_options options = crash_options_read(argc, argv);
	bool sound = true;
	bool found = false;

	for (size_t i = 0; i < sizeof suites / sizeof suites[0]; i++) {
		if (!crash_suite_wanted(&options, suites[i].name))
			continue;
		found = true;
		if (!crash_points_try(&options, suites[i].name, try_point,
				      &(struct suite_run){ &options, &suites[i] }))
			sound = false;
	}
	printf("%s\n", sound && found ? "every point is sound" : "FAILED");
	return sound && found ? 0 : 1;
}
