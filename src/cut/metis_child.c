/* metis_child.c -- METIS in a process of its own. */
#include "metis_child.h"

#include "fail.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define TELL_MS 100 /* how often progress is told, and may cancel */
/* Below so many ends of edges METIS bisects again and again, which it does better where parts are
 * small, and takes the best of several cuts. */
#define SMALL_ENDS (1 << 18)
#define SMALL_CUTS 8
#define NO_ANSWER 0 /* METIS answers with METIS_OK (1) or a negative number */

/* The owners, and behind them METIS's answer: what the exit status says may be lost to others. */
static size_t shared_bytes(idx_t n)
{
	return ((size_t)n + 1) * sizeof(idx_t);
}

idx_t *dgi_metis_owners_new(idx_t n)
{
	void *memory = mmap(NULL, shared_bytes(n), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

void dgi_metis_owners_free(idx_t *owners, idx_t n)
{
	if (owners)
		(void)munmap(owners, shared_bytes(n));
}

/* --- In the child --- */

static idx_t call_metis(const struct dgi_metis_job *job, idx_t *owners)
{
	idx_t options[METIS_NOPTIONS];
	idx_t n = job->graph->n, n_constraints = job->n_constraints, n_parts = job->n_parts;
	const bool small = job->graph->start[n] < SMALL_ENDS;
	int (*cut)(idx_t *, idx_t *, idx_t *, idx_t *, idx_t *, idx_t *, idx_t *, idx_t *, real_t *,
		   real_t *, idx_t *, idx_t *, idx_t *) = METIS_PartGraphKway;
	idx_t objective;

	METIS_SetDefaultOptions(options);
	options[METIS_OPTION_OBJTYPE] = job->volume ? METIS_OBJTYPE_VOL : METIS_OBJTYPE_CUT;
	if (small)
		options[METIS_OPTION_NCUTS] = SMALL_CUTS;
	options[METIS_OPTION_SEED] = (idx_t)((job->seed ^ job->seed >> 32) & INT32_MAX);
	if (small && !job->volume) {
		options[METIS_OPTION_UFACTOR] = 30; /* as k-way: a slack of 3 % */
		cut = METIS_PartGraphRecursive;
	}
	return cut(&n, &n_constraints, job->graph->start, job->graph->ids, job->node_weights, NULL,
		   job->volume ? NULL : job->graph->weights, &n_parts, NULL, NULL, options,
		   &objective, owners);
}

/*
 * Goes when the thread that waits for it does, keeps no file of ours open (a lock on one would live
 * as long), says nothing, and leaves by _exit: what is registered to run at exit is not its own.
 */
_Noreturn static void child(const struct dgi_metis_job *job, pid_t parent, idx_t *owners)
{
	int null;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	(void)signal(SIGINT, SIG_IGN); /* the parent hears it and decides */
	(void)signal(SIGSEGV, SIG_DFL);
	(void)signal(SIGBUS, SIG_DFL);
	(void)signal(SIGFPE, SIG_DFL);
	null = open("/dev/null", O_RDWR);
	if (null >= 0) {
		(void)dup2(null, STDIN_FILENO);
		(void)dup2(null, STDOUT_FILENO);
		(void)dup2(null, STDERR_FILENO);
	}
	(void)close_range(STDERR_FILENO + 1, ~0U, 0);
	owners[job->graph->n] = call_metis(job, owners);
	_exit(0);
}

/* --- In the parent --- */

/* Waits until the child is gone, or kills it when the caller cancels. */
static dg_status await(pid_t pid, int pidfd, struct dgi_progress *progress, int *status,
		       dg_error *err)
{
	struct pollfd wait = { .fd = pidfd, .events = POLLIN };
	dg_status st = DG_OK;

	while (!st && poll(&wait, 1, TELL_MS) <= 0) /* also when a signal came */
		st = dgi_progress_add(progress, 0, err);
	if (st)
		(void)kill(pid, SIGKILL);
	while (waitpid(pid, status, 0) < 0)
		if (errno != EINTR) {
			*status = 0; /* somebody waited for it: the answer is in shared memory */
			break;
		}
	return st;
}

static dg_status crashed(int status, dg_error *err)
{
	int number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;

	if (number == SIGKILL)
		return dgi_fail(err, DG_NOMEM,
				"METIS was killed, as the system does when memory runs out");
	return dgi_fail(err, DG_IO, "METIS crashed (signal %d)", number);
}

static dg_status status_of(idx_t answer, int status, dg_error *err)
{
	switch (answer) {
	case NO_ANSWER:
		return crashed(status, err);
	case METIS_OK:
		return DG_OK;
	case METIS_ERROR_MEMORY:
		return dgi_fail_memory(err, "METIS");
	default:
		return dgi_fail(err, DG_INVALID, "METIS refuses the graph (error %d)", (int)answer);
	}
}

/* A library's answer is believed as far as it can be checked. */
static dg_status check_owners(const struct dgi_metis_job *job, const idx_t *owners, dg_error *err)
{
	for (idx_t v = 0; v < job->graph->n; v++)
		if (owners[v] < 0 || owners[v] >= job->n_parts)
			return dgi_fail(err, DG_INVALID, "METIS gives node %d to part %d of %d",
					(int)v, (int)owners[v], (int)job->n_parts);
	return DG_OK;
}

dg_status dgi_metis_run(const struct dgi_metis_job *job, struct dgi_progress *progress,
			idx_t *owners, dg_error *err)
{
	const pid_t parent = getpid();
	int status = 0, pidfd;
	dg_status st;
	pid_t pid;

	owners[job->graph->n] = NO_ANSWER;
	pid = fork();
	if (pid < 0)
		return dgi_fail_errno(err, errno, "a process for METIS");
	if (pid == 0)
		child(job, parent, owners);
	pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (pidfd < 0 && errno != ESRCH) {
		int error = errno;

		(void)kill(pid, SIGKILL);
		(void)waitpid(pid, NULL, 0);
		return dgi_fail_errno(err, error, "waiting for METIS");
	}
	st = await(pid, pidfd, progress, &status, err);
	if (pidfd >= 0)
		(void)close(pidfd);
	if (!st)
		st = status_of(owners[job->graph->n], status, err);
	return st ? st : check_owners(job, owners, err);
}
