/*
 * case.h -- what every program here does: read its arguments, make a directory for a store with
 * its oracle beside it, run something in a child process, keep what went wrong.
 *
 *   <dir>/crash-<seed>-XXXXXX/oracle
 *                            /files/store   (files/ is what the shim watches)
 *                            /kept/store    as the last crash left it
 */
#ifndef CRASH_CASE_H
#define CRASH_CASE_H

#include "oracle.h"
#include "workload.h"

#include <stdbool.h>
#include <sys/types.h>

struct crash_options {
	uint64_t seed;
	uint64_t runs; /* 0: the program's short form */
	uint64_t at;   /* only this point or image; 0: all */
	unsigned jobs;
	const char *dir;	/* $TMPDIR, else /dev/shm, else /tmp */
	const char *suites[16]; /* the arguments that are no options; none: all */
	size_t n_suites;
};

/* --seed N, --runs N, --at N, --jobs N, --dir DIR, SUITE…. Prints the seed; ends the program on others. */
struct crash_options crash_options_read(int argc, char **argv);

bool crash_suite_wanted(const struct crash_options *options, const char *name);

struct crash_case {
	char dir[256];
	char files[280];
	char store[300];
	char kept[280];
	struct plan plan;
	struct oracle *oracle;
};

void crash_case_new(struct crash_case *c, const struct crash_options *options, uint64_t seed,
		    unsigned scale);
/* Opens the case in directory @dir. */
void crash_case_open(struct crash_case *c, const char *dir);
void crash_case_remove(struct crash_case *c);
/* Closes it, leaves it on disk and says how to look at it. */
void crash_case_keep(struct crash_case *c);
/* Copies the store's files to kept/store. */
void crash_case_snapshot(const struct crash_case *c);
/* Has creation left anything under the store's name? */
bool crash_case_has_store(const struct crash_case *c);

/* What a child does; its result is its exit status. */
typedef int crash_child_fn(void *context);

pid_t crash_child_begin(crash_child_fn *fn, void *context);
/* waitpid()'s status. */
int crash_child_end(pid_t pid);
/* Did it exit with @code? If not, says on stderr what became of it. */
bool crash_child_exited(int status, int code);
int crash_child_run(crash_child_fn *fn, void *context);

/* Verifies in a child. */
bool crash_case_verify(struct crash_case *c, bool writable);

void crash_tree_remove(const char *path);

#endif
