/* oracle.c -- what a workload was promised, in a mapped file. */
#include "oracle.h"

#include "check.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define ORACLE_MAGIC UINT64_C(0x656c6361726f6764) /* "dgoracle" */

static size_t file_bytes(const struct plan *plan)
{
	return sizeof(struct oracle) + plan->model_bytes;
}

static void give_up(const char *path)
{
	perror(path);
	exit(1);
}

static struct oracle *map(const char *path, int fd, size_t bytes)
{
	struct oracle *oracle =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);

	if (oracle == MAP_FAILED)
		give_up(path);
	(void)close(fd);
	return oracle;
}

struct oracle *oracle_new(const char *path, const struct plan *plan, unsigned scale)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	struct oracle *oracle;

	if (fd < 0 || ftruncate(fd, (off_t)file_bytes(plan)) != 0)
		give_up(path);
	oracle = map(path, fd, file_bytes(plan));
	oracle->magic = ORACLE_MAGIC;
	oracle->seed = plan->seed;
	oracle->scale = scale;
	plan_model_init(plan, oracle->model);
	return oracle;
}

struct oracle *oracle_open(const char *path, struct plan *plan)
{
	struct oracle *oracle;
	struct stat info;
	int fd = open(path, O_RDWR | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &info) != 0)
		give_up(path);
	if ((size_t)info.st_size < sizeof *oracle) {
		fprintf(stderr, "%s: not an oracle\n", path);
		exit(1);
	}
	oracle = map(path, fd, (size_t)info.st_size);
	plan_init(plan, oracle->seed, oracle->scale);
	if (oracle->magic != ORACLE_MAGIC || (size_t)info.st_size != file_bytes(plan)) {
		fprintf(stderr, "%s: not an oracle\n", path);
		exit(1);
	}
	return oracle;
}

void oracle_close(struct oracle *oracle, const struct plan *plan)
{
	(void)munmap(oracle, file_bytes(plan));
}

void oracle_attempt(struct oracle *oracle, uint64_t push, enum oracle_outcome outcome)
{
	uint64_t n = atomic_load(&oracle->n_attempts);

	DGI_ASSERT(n < ORACLE_ATTEMPTS_MAX);
	oracle->attempts[n].push = push;
	atomic_store(&oracle->attempts[n].outcome, outcome);
	atomic_store(&oracle->n_attempts, n + 1);
}

void oracle_all_durable(struct oracle *oracle)
{
	uint64_t n = atomic_load(&oracle->n_attempts);

	for (uint64_t i = 0; i < n; i++)
		if (atomic_load(&oracle->attempts[i].outcome) == ORACLE_APPLIED)
			atomic_store(&oracle->attempts[i].outcome, ORACLE_ACKNOWLEDGED);
}

bool oracle_has_room(const struct oracle *oracle)
{
	return atomic_load(&oracle->n_attempts) + 2 * PLAN_GROUP_MAX <= ORACLE_ATTEMPTS_MAX;
}

/* Applied is as good as pending. */
static uint32_t outcome_of(const struct oracle *oracle, uint64_t i)
{
	uint32_t outcome = atomic_load(&oracle->attempts[i].outcome);

	return outcome == ORACLE_APPLIED ? (uint32_t)ORACLE_PENDING : outcome;
}

/* How many of the first @n attempts have an acknowledged one behind them, or are that. */
static uint64_t count_certain(const struct oracle *oracle, uint64_t n)
{
	while (n > 0 && atomic_load(&oracle->attempts[n - 1].outcome) != ORACLE_ACKNOWLEDGED)
		n--;
	return n;
}

size_t oracle_expect(const struct oracle *oracle, const struct plan *plan, uint64_t n,
		     uint8_t *model, uint64_t pending[ORACLE_PENDING_MAX])
{
	static struct plan_push push;
	uint64_t n_certain = count_certain(oracle, n);
	size_t n_pending = 0;

	for (uint64_t i = 0; i < n; i++) {
		uint32_t outcome = outcome_of(oracle, i);

		if (outcome == ORACLE_PENDING && i >= n_certain) {
			DGI_ASSERT(n_pending < ORACLE_PENDING_MAX);
			pending[n_pending++] = oracle->attempts[i].push;
		} else if (outcome == ORACLE_ACKNOWLEDGED || outcome == ORACLE_PENDING) {
			plan_push_make(plan, oracle->attempts[i].push, &push);
			plan_model_apply(plan, model, &push);
		}
	}
	return n_pending;
}

static void add_hole(struct oracle *oracle, uint64_t push, bool maybe)
{
	for (uint32_t i = 0; i < oracle->n_holes; i++)
		if (oracle->holes[i].push == push) {
			oracle->holes[i].maybe |= maybe;
			return;
		}
	DGI_ASSERT(oracle->n_holes < ORACLE_HOLES_MAX);
	oracle->holes[oracle->n_holes++] = (struct oracle_hole){ push, maybe };
}

static void remove_hole(struct oracle *oracle, uint64_t push)
{
	for (uint32_t i = 0; i < oracle->n_holes; i++)
		if (oracle->holes[i].push == push) {
			oracle->n_holes--;
			memmove(&oracle->holes[i], &oracle->holes[i + 1],
				(oracle->n_holes - i) * sizeof oracle->holes[0]);
			return;
		}
}

void oracle_fold(struct oracle *oracle, const struct plan *plan, size_t present, size_t maybe)
{
	static struct plan_push push;
	uint64_t pending[ORACLE_PENDING_MAX];
	uint64_t n = atomic_load(&oracle->n_attempts);
	uint64_t n_certain = count_certain(oracle, n);
	size_t seen = 0;

	(void)oracle_expect(oracle, plan, n, oracle->model, pending);
	for (uint64_t i = 0; i < n; i++) {
		uint64_t number = oracle->attempts[i].push;
		uint32_t outcome = outcome_of(oracle, i);
		bool in_flight = outcome == ORACLE_PENDING && i >= n_certain;

		if (outcome == ORACLE_REPEATED)
			continue;
		if (in_flight && seen < present) {
			plan_push_make(plan, number, &push);
			plan_model_apply(plan, oracle->model, &push);
		}
		if (outcome == ORACLE_REFUSED || (in_flight && seen >= present))
			add_hole(oracle, number, in_flight && seen < maybe);
		else
			remove_hole(oracle, number);
		seen += in_flight;
		if (oracle->next <= number)
			oracle->next = number + 1;
	}
	atomic_store(&oracle->n_attempts, 0);
}
