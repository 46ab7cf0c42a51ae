/*
 * alloc.c -- a fixed script, once for each allocation that fails, alone or with all after it.
 *
 * What cannot have its memory must fail with NOMEM and leave no trace; when memory is there again
 * the next try succeeds. In the end nothing is held: memory, descriptors, maps of the store's
 * files.
 */
#include "jobs.h"
#include "memory.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SHORT_GROUPS 2
#define TRIES_MAX 3 /* of one action; the fault comes once */
#define NOT_REACHED 10

struct run {
	struct crash_case c;
	uint64_t at;
	uint64_t groups;
	bool all; /* allocations fail from then on */
};

typedef enum workload_end action_fn(struct workload *w, dg_error *err);

static enum workload_end open_store(struct workload *w, dg_error *err)
{
	return workload_open(w, true, err);
}

/*
 * Tries until it succeeds; where memory never comes back, gives up at the first failure. Whatever
 * fails must do so for want of memory, but that the journal, which tries for ever, calls it FULL.
 */
static enum workload_end insist(const struct run *run, struct workload *w, const char *what,
				action_fn *action)
{
	enum workload_end end = WORKLOAD_DONE;
	dg_error err = { 0 };

	for (int i = 0; i < TRIES_MAX; i++) {
		end = action(w, &err);
		if (end == WORKLOAD_DONE || end == WORKLOAD_WRONG)
			return end;
		if (memory_asked() < run->at ||
		    (err.status != DG_NOMEM && !(run->all && err.status == DG_FULL)))
			break;
		if (run->all)
			return end;
	}
	fprintf(stderr, "WRONG: %s: %s (%s)\n", what, err.text, dg_status_text(err.status));
	return WORKLOAD_WRONG;
}

static enum workload_end script(const struct run *run, struct workload *w)
{
	enum workload_end end = insist(run, w, "make", workload_make);

	if (!end)
		end = insist(run, w, "check", workload_check);
	if (!end)
		end = insist(run, w, "open", open_store);
	for (uint64_t i = 0; !end && i < run->groups; i++) {
		end = insist(run, w, "push", workload_group);
		if (!end)
			end = insist(run, w, "read", workload_read);
	}
	workload_close(w);
	return end;
}

/* --- What is held --- */

static int count_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	while (dir && readdir(dir))
		n++;
	(void)closedir(dir);
	return n;
}

/* Maps of files below @path. */
static int count_maps(const char *path)
{
	FILE *f = fopen("/proc/self/maps", "re");
	char line[1024];
	int n = 0;

	while (f && fgets(line, sizeof line, f))
		n += strstr(line, path) != NULL;
	if (f)
		(void)fclose(f);
	return n;
}

static int play(void *context)
{
	struct run *run = context;
	static struct workload w;
	enum workload_end end;
	int64_t held;
	bool reached;
	int descriptors;

	workload_init(&w, &run->c.plan, run->c.oracle, run->c.store);
	w.unsure = true;
	descriptors = count_descriptors();
	memory_fail(run->at, run->all);
	end = script(run, &w);
	held = memory_held();
	reached = run->at && memory_asked() >= run->at;
	memory_fail(0, false);
	if (end == WORKLOAD_WRONG)
		return 1;
	workload_clear(&w);
	if (held != 0 || count_descriptors() != descriptors || count_maps(run->c.files) != 0) {
		fprintf(stderr,
			"WRONG: still held: %" PRId64 " allocations, %d descriptors, %d maps\n",
			held, count_descriptors() - descriptors, count_maps(run->c.files));
		return 1;
	}
	return reached ? 0 : NOT_REACHED;
}

/* --- Every point of it --- */

/* What libc and liblmdb allocate once and keep is allocated before the children are made. */
static int warm_up(const struct crash_options *options)
{
	struct run run = { .groups = 1 };
	static struct workload w;
	enum workload_end end;

	crash_case_new(&run.c, options, options->seed, 1);
	workload_init(&w, &run.c.plan, run.c.oracle, run.c.store);
	end = script(&run, &w);
	workload_clear(&w);
	crash_case_remove(&run.c);
	return end == WORKLOAD_DONE;
}

struct suite_run {
	const struct crash_options *options;
	const char *name;
	bool all;
};

static bool try_point(void *context, uint64_t at, bool *reached)
{
	const struct suite_run *suite = context;
	const struct crash_options *options = suite->options;
	struct run run = { .at = at, .all = suite->all };
	bool sound;
	int status;

	run.groups = options->runs ? options->runs : SHORT_GROUPS;
	crash_case_new(&run.c, options, options->seed, 1);
	status = crash_child_run(play, &run);
	*reached = !WIFEXITED(status) || WEXITSTATUS(status) != NOT_REACHED;
	sound = !*reached || crash_child_exited(status, 0);
	crash_case_snapshot(&run.c);
	sound = sound && crash_case_verify(&run.c, at % 2 == 0);
	if (sound) {
		crash_case_remove(&run.c);
		return true;
	}
	fprintf(stderr,
		"allocation %" PRIu64 ": replay with crash_alloc --seed %" PRIu64 " --runs %" PRIu64
		" --at %" PRIu64 " %s\n",
		at, options->seed, options->runs, at, suite->name);
	crash_case_keep(&run.c);
	return false;
}

static bool try_suite(const struct crash_options *options, const char *name, bool all)
{
	struct suite_run suite = { options, name, all };

	if (!crash_suite_wanted(options, name))
		return true;
	return crash_points_try(options, name, try_point, &suite);
}

int main(int argc, char **argv)
{
	struct crash_options options = crash_options_read(argc, argv);
	bool sound;

	if (!warm_up(&options))
		return 1;
	sound = try_suite(&options, "once", false);
	sound = try_suite(&options, "all", true) && sound;
	printf("%s\n", sound ? "every point is sound" : "FAILED");
	return sound ? 0 : 1;
}
