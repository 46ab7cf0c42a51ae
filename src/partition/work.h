/*
 * work.h -- the directory beside the output in which a graph is partitioned, and which stages of it
 * are finished: what was interrupted goes on from there.
 *
 *     <output>.work/arguments   what was asked for, to be compared
 *                  /<stage>.done
 *                  /…           what the stages made
 *
 * A stage's record is written when what it made is whole. One that says so is believed after a
 * restart of the machine only if what it made was synced.
 *
 * Threads: one thread at a time. One process at a time has a work directory (a lock tells others).
 */
#ifndef DGI_WORK_H
#define DGI_WORK_H

#include <distgraph/types.h>

#include <stdbool.h>

/* Zero is none. */
struct dgi_work {
	char *path;
	int lock; /* descriptor of the directory */
	bool resumed;
	bool has_stage; /* a stage is finished: worth keeping */
};

/*
 * Makes the work directory for @output or finds that of an interrupted run with the same @arguments
 * (a text that says everything the result depends on). One with other arguments is emptied. Fails
 * with BUSY, EXISTS (such a directory that is not ours), NOTFOUND, DENIED, IO, FULL, NOMEM.
 */
dg_status dgi_work_begin(const char *output, const char *arguments, struct dgi_work *out,
			 dg_error *err);
/* "<work>/<name>", to be freed. Fails with NOMEM. */
dg_status dgi_work_path(const struct dgi_work *work, char **out, dg_error *err, const char *name,
			...) DG_PRINTF(4, 5);

/* Records a stage with a short text. @synced: what it made will be there after a power loss. */
dg_status dgi_work_finish(struct dgi_work *work, const char *stage, const char *text, bool synced,
			  dg_error *err);
#define DGI_WORK_TEXT_BYTES 512
/* Is it finished? Then @text is what was recorded; NULL: not wanted. */
bool dgi_work_finished(const struct dgi_work *work, const char *stage,
		       char text[DGI_WORK_TEXT_BYTES]);

/* Unlocks it; without @keep, or when no stage is finished, removes it. Accepts a zero one. */
void dgi_work_end(struct dgi_work *work, bool keep);

#endif
