/*
 * oracle.h -- what a workload was promised, kept outside of the store and of the process that
 * makes the promises: a mapped file, which survives SIGKILL.
 *
 * Before a push is handed to the store its attempt is written down as pending; afterwards what
 * came of it. Once a store has been compared with that, the model (the rows as they must be) takes
 * in what was found, and the list of attempts begins anew.
 *
 * Threads and processes: one at a time changes it; any may look.
 */
#ifndef CRASH_ORACLE_H
#define CRASH_ORACLE_H

#include "plan.h"

#include <stdatomic.h>
#include <stdbool.h>

#define ORACLE_ATTEMPTS_MAX 16384
#define ORACLE_HOLES_MAX (8 * PLAN_GROUP_MAX)
#define ORACLE_PENDING_MAX ORACLE_HOLES_MAX

enum oracle_outcome {
	ORACLE_PENDING = 0,  /* may be in the store or not, but whole */
	ORACLE_ACKNOWLEDGED, /* is in the store */
	ORACLE_APPLIED,	     /* acknowledged, will be on disk soon: counts as pending */
	ORACLE_REFUSED,	     /* is not */
	ORACLE_REPEATED,     /* of a push that was taken before: must not count again */
};

struct oracle_attempt {
	uint64_t push;
	_Atomic uint32_t outcome;
	uint32_t unused;
};

enum oracle_phase {
	ORACLE_STARTING,
	ORACLE_MAKING,
	ORACLE_OPENING,
	ORACLE_WRITING,	 /* inside dgi_volume_write() */
	ORACLE_CHURNING, /* a tensor comes or goes */
	ORACLE_BETWEEN,
	ORACLE_CLOSING,
	ORACLE_ENDED,
	ORACLE_PHASES,
};

struct oracle {
	uint64_t magic;
	uint64_t seed;
	uint32_t scale;
	_Atomic uint32_t created; /* the store's creation was acknowledged */
	_Atomic uint32_t phase;
	uint32_t n_holes;
	uint64_t next; /* pushes below this number are in the model, but for the holes */
	struct oracle_hole {
		uint64_t push;
		bool maybe; /* the rows do not say whether it was there */
	} holes[ORACLE_HOLES_MAX];
	uint64_t log_number; /* of the store when last compared; never goes back */
	uint64_t incarnation;
	_Atomic uint64_t churn_done;  /* events of churn.h that are in the store */
	_Atomic uint64_t churn_begun; /* … and that may be: one more at most */
	_Atomic uint64_t openings;    /* for writing, so far */
	_Atomic uint64_t n_attempts;
	struct oracle_attempt attempts[ORACLE_ATTEMPTS_MAX];
	uint8_t model[];
};

/* Makes the file @path and maps it; ends the program where it cannot. */
struct oracle *oracle_new(const char *path, const struct plan *plan, unsigned scale);
/* Maps an existing one and makes its plan. */
struct oracle *oracle_open(const char *path, struct plan *plan);
void oracle_close(struct oracle *oracle, const struct plan *plan);

/* Writes down an attempt, PENDING or REPEATED; what comes of it is set in attempts[]. */
void oracle_attempt(struct oracle *oracle, uint64_t push, enum oracle_outcome outcome);
/* All that was applied is on disk. */
void oracle_all_durable(struct oracle *oracle);
/* Is there room for a group more? */
bool oracle_has_room(const struct oracle *oracle);

/*
 * Applies to @model what must be in the store after the first @n attempts, and gives those that
 * may be or not. Pushes take effect in order and last in order, so what is pending before an
 * acknowledged push must be there as well.
 */
size_t oracle_expect(const struct oracle *oracle, const struct plan *plan, uint64_t n,
		     uint8_t *model, uint64_t pending[ORACLE_PENDING_MAX]);

/*
 * The first @present of the pending attempts were found, and it may be as many as @maybe, since the
 * rows would be the same: makes that the model. Who asks the store for the ones between by repeating
 * them learns which it is.
 */
void oracle_fold(struct oracle *oracle, const struct plan *plan, size_t present, size_t maybe);

#endif
