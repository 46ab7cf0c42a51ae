/* progress.h -- how far long work is, on stderr: a bar on a terminal, else a line a phase if asked. */
#ifndef TOOL_PROGRESS_H
#define TOOL_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
	bool terminal;
	bool verbose;
	bool drawn;	     /* something is on the line */
	char phase[64];	     /* the one under way; empty before the first */
	int64_t began_ms;    /* when the phase began */
	int64_t drawn_ms;    /* when the bar was last drawn */
	uint64_t began_done; /* what was done then */
};

struct progress progress_of(bool verbose);

/* A dg_progress_fn: @context is the struct. Returns non-zero once progress_interrupt() came. */
int progress_update(void *context, const char *phase, uint64_t done, uint64_t total);

/* Wipes the bar, so that messages begin on an empty line. */
void progress_end(struct progress *progress);

/* SIGINT and SIGTERM make progress_update() return non-zero from now on, a second one ends. */
void progress_catch_signals(void);

#endif
