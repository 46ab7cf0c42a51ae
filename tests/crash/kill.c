/*
 * kill.c -- SIGKILL at random moments of a workload: opening, pushing, closing, making a store.
 *
 * After each kill, in one of four cases after killing the recovery as well, the store is compared
 * with what was acknowledged. Moments are drawn log-uniform, since what happens first after a
 * start is as interesting as what happens later. A moment cannot be replayed; the store as the
 * kill left it is kept, and the plan replays by its seed.
 */
#include "jobs.h"
#include "meanwhile.h"

#include "deadline.h"
#include "rng.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SHORT_RUNS 2000
#define RUNS_A_STORE 250 /* then a new one, whose making is killed too */
#define US_MIN 32
#define GROUPS_MAX 12 /* between opening and closing */

/* The time given to what is killed: US_MIN, doubled at least and at most so many times. */
struct span {
	uint64_t least;
	uint64_t most;
};

static const struct span work_span = { 4, 10 }; /* up to 32 ms */
static const struct span recovery_span = { 0, 6 };
static const struct span making_span = { 2, 8 };

static const char *const phase_names[ORACLE_PHASES] = {
	"starting",	  "making",  "opening", "writing", "creating or dropping",
	"between writes", "closing", "closed",
};

/* Shared by the jobs. */
struct counters {
	_Atomic uint64_t kills;
	_Atomic uint64_t by_phase[ORACLE_PHASES];
	_Atomic uint64_t recoveries; /* killed */
	_Atomic uint64_t makings;
	_Atomic uint64_t acknowledged;
};

static struct counters *counters;

/* --- What is killed --- */

static int make_store(void *context)
{
	struct crash_case *c = context;
	static struct workload w;
	dg_error err;

	workload_init(&w, &c->plan, c->oracle, c->store);
	if (workload_make(&w, &err)) {
		fprintf(stderr, "WRONG: the store cannot be made: %s\n", err.text);
		return 1;
	}
	workload_clear(&w);
	return 0;
}

/* Opens the store, pushes some groups, in half of the cases during checkpoints, closes it. */
static enum workload_end push_some(struct crash_case *c, struct workload *w, struct dgi_rng *rng,
				   dg_error *err)
{
	static struct checkpoints checkpoints;
	uint64_t groups = 1 + dgi_rng_below(rng, GROUPS_MAX);
	bool meanwhile = dgi_rng_below(rng, 2) == 0;
	enum workload_end end = workload_open(w, true, err);

	if (end)
		return end;
	if (meanwhile)
		checkpoints_begin(&checkpoints, w, rng);
	for (uint64_t i = 0; !end && i < groups; i++) {
		if (!oracle_has_room(c->oracle))
			(void)pause();
		end = workload_group(w, err);
	}
	if (meanwhile)
		checkpoints_end(&checkpoints);
	workload_close(w);
	return end;
}

/* Pushes until it is killed. */
static int push(void *context)
{
	struct crash_case *c = context;
	struct dgi_rng rng = dgi_rng_of(c->plan.seed, c->oracle->next);
	static struct workload w;
	dg_error err = { 0 };

	workload_init(&w, &c->plan, c->oracle, c->store);
	while (!push_some(c, &w, &rng, &err))
		;
	fprintf(stderr, "WRONG: no fault was injected, but: %s\n", err.text);
	return 1;
}

static int recover(void *context)
{
	struct crash_case *c = context;
	static struct workload w;
	dg_error err;

	workload_init(&w, &c->plan, c->oracle, c->store);
	if (workload_open(&w, true, &err)) {
		fprintf(stderr, "WRONG: it cannot be opened: %s\n", err.text);
		return 1;
	}
	workload_close(&w);
	workload_clear(&w);
	return 0;
}

/* --- Killing --- */

static bool is_running(pid_t pid)
{
	siginfo_t info = { 0 };

	return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
	       info.si_pid == 0;
}

/*
 * Kills @fn some time after it has begun its work. Was it killed, or done before? Whatever else it
 * was is wrong.
 */
static bool kill_soon(crash_child_fn *fn, struct crash_case *c, struct dgi_rng *rng,
		      struct span span)
{
	uint64_t doublings = span.least + dgi_rng_below(rng, span.most - span.least + 1);
	uint64_t us = dgi_rng_below(rng, (uint64_t)US_MIN << doublings);
	pid_t pid;
	int status;

	atomic_store(&c->oracle->phase, ORACLE_STARTING);
	pid = crash_child_begin(fn, c);
	while (atomic_load(&c->oracle->phase) == ORACLE_STARTING && is_running(pid))
		crash_sleep_us(US_MIN);
	crash_sleep_us(us);
	(void)kill(pid, SIGKILL);
	status = crash_child_end(pid);
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
		return true;
	return crash_child_exited(status, 0);
}

static bool make_with_kills(struct crash_case *c, struct dgi_rng *rng)
{
	for (uint64_t i = dgi_rng_below(rng, 4); i > 0 && !atomic_load(&c->oracle->created); i--) {
		if (!kill_soon(make_store, c, rng, making_span) || !crash_case_verify(c, true))
			return false;
		atomic_fetch_add(&counters->makings, 1);
	}
	if (!atomic_load(&c->oracle->created) &&
	    !crash_child_exited(crash_child_run(make_store, c), 0))
		return false;
	return true;
}

static void count(const struct crash_case *c)
{
	uint64_t n = atomic_load(&c->oracle->n_attempts);

	atomic_fetch_add(&counters->kills, 1);
	atomic_fetch_add(&counters->by_phase[atomic_load(&c->oracle->phase)], 1);
	for (uint64_t i = 0; i < n; i++)
		if (atomic_load(&c->oracle->attempts[i].outcome) == ORACLE_ACKNOWLEDGED)
			atomic_fetch_add(&counters->acknowledged, 1);
}

static bool kill_once(struct crash_case *c, struct dgi_rng *rng)
{
	if (!kill_soon(push, c, rng, work_span))
		return false;
	count(c);
	while (dgi_rng_below(rng, 4) == 0) {
		if (!kill_soon(recover, c, rng, recovery_span))
			return false;
		atomic_fetch_add(&counters->recoveries, 1);
	}
	crash_case_snapshot(c);
	/* Reading only leaves recovery to the next process that pushes. */
	return crash_case_verify(c, dgi_rng_below(rng, 2) == 0);
}

static bool run_store(const struct crash_options *options, uint64_t seed, uint64_t runs)
{
	struct dgi_rng rng = dgi_rng_of(seed, 77);
	struct crash_case c;
	bool sound;

	crash_case_new(&c, options, seed, 1);
	sound = make_with_kills(&c, &rng);
	for (uint64_t i = 0; sound && i < runs; i++)
		sound = kill_once(&c, &rng);
	if (sound)
		crash_case_remove(&c);
	else
		crash_case_keep(&c);
	return sound;
}

static bool run_stores(void *context, unsigned job, uint64_t runs)
{
	const struct crash_options *options = context;
	uint64_t seed = options->seed + job;

	for (uint64_t done = 0; done < runs; done += RUNS_A_STORE) {
		uint64_t left = runs - done;

		if (!run_store(options, seed, left < RUNS_A_STORE ? left : RUNS_A_STORE))
			return false;
		seed += options->jobs;
	}
	return true;
}

int main(int argc, char **argv)
{
	struct crash_options options = crash_options_read(argc, argv);
	int64_t begun = dgi_now_ms();
	double seconds;
	bool sound;

	counters = crash_shared_new(sizeof *counters);
	sound = crash_jobs_run(&options, options.runs ? options.runs : SHORT_RUNS, run_stores,
			       &options);
	seconds = (double)(dgi_now_ms() - begun) / 1000;
	printf("%" PRIu64 " kills, %" PRIu64 " of recoveries, %" PRIu64 " of makings; %" PRIu64
	       " pushes acknowledged; %.0f kills/s\n",
	       counters->kills, counters->recoveries, counters->makings, counters->acknowledged,
	       (double)counters->kills / seconds);
	for (int i = 0; i < ORACLE_PHASES; i++)
		printf("  %-15s %" PRIu64 "\n", phase_names[i], counters->by_phase[i]);
	printf("%s\n", sound ? "nothing lost, doubled, torn or unreadable" : "FAILED");
	return sound ? 0 : 1;
}
