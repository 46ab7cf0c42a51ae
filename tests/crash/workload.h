/*
 * workload.h -- the one place of these tests that knows the store: makes one, pushes to it what
 * the plan says, compares it with what the oracle says.
 */
#ifndef CRASH_WORKLOAD_H
#define CRASH_WORKLOAD_H

#include "oracle.h"

#include <stdbool.h>

struct dgi_volume;

/* Numbers of a note are of pushes and, above these bits, of events of churn.h. */
#define WORKLOAD_NOTE_BITS 32
#define WORKLOAD_NOTE_MASK ((UINT64_C(1) << WORKLOAD_NOTE_BITS) - 1)

struct workload {
	const struct plan *plan;
	struct oracle *oracle;
	const char *store; /* path */
	struct dgi_volume *volume;
	bool failed;	/* takes no more writes */
	bool pushed;	/* since it was opened */
	bool unsure;	/* closing promises nothing to pushes that did not wait for the disk */
	uint8_t *model; /* the rows as acknowledged so far */
	uint8_t *before;
	uint8_t *rows; /* room for all rows of a store */
	struct workload_retry {
		uint64_t push;
		int64_t applied; /* the attempt that took effect, though not for good yet; or -1 */
		bool maybe;	 /* it may be there, to no effect on the rows */
	} retry[ORACLE_HOLES_MAX]; /* what was refused, or never heard of again */
	size_t n_retry;
	uint64_t next;
	struct workload_note { /* the last put into the log, without the events of churn.h */
		uint64_t begun, acknowledged, durable;
	} note;
	struct plan_push pushes[PLAN_GROUP_MAX + 2];
};

/* How an action on the store ended. */
enum workload_end {
	WORKLOAD_DONE,
	WORKLOAD_REFUSED, /* some pushes were refused and will be tried again */
	WORKLOAD_FAILED,  /* the store could not be made or opened, or takes no more writes */
	WORKLOAD_WRONG,	  /* it broke a promise; what is wrong has been said on stderr */
};

/* Allocates all that it will need, and begins. */
void workload_init(struct workload *w, const struct plan *plan, struct oracle *oracle,
		   const char *store);
/* Begins where the oracle's model ends. */
void workload_begin(struct workload *w);
void workload_clear(struct workload *w);

/* Each fills @err in when it ends otherwise than DONE. */
enum workload_end workload_make(struct workload *w, dg_error *err);
enum workload_end workload_open(struct workload *w, bool writable, dg_error *err);
void workload_close(struct workload *w);
/*
 * The next group of pushes: those refused before it, else new ones; now and then with one that
 * was acknowledged before, which must not count again, and one that must be refused.
 * REFUSED: some must not be there, or not for good yet. FAILED: this group may be there or not; one
 * tried after that must not.
 */
enum workload_end workload_group(struct workload *w, dg_error *err);
/* Checks the files without opening the store, all checksums included. FAILED: it could not be done. */
enum workload_end workload_check(struct workload *w, dg_error *err);
/* Writes down what the journal holds, now. FAILED: it could not. */
enum workload_end workload_checkpoint(struct workload *w, dg_error *err);
/* Reads everything and compares it with what was acknowledged. FAILED: it cannot be read. */
enum workload_end workload_read(struct workload *w, dg_error *err);

/*
 * Checks the files, opens the store to read and compares it with @model, on top of which any number
 * of the first pushes of @pending may have taken effect: at least found->present, at most
 * found->maybe. With @writable, opens it once more to write, compares again and closes it. Says on
 * stderr what is wrong. @model becomes what was found.
 */
struct workload_found {
	size_t present;
	size_t maybe;
};

enum workload_end workload_compare(struct workload *w, bool writable, uint8_t *model,
				   const uint64_t *pending, size_t n_pending,
				   struct workload_found *found, dg_error *err);

/* Compares with what the oracle says, and folds what was found into it. A store whose creation
 * was not acknowledged may be missing. */
bool workload_verify(struct workload *w, bool writable);

#endif
