/*
 * large.h -- a write of any size as a sequence of bounded ones, each of which keeps the writer for
 * about 10 ms at most, so that others can come between them.
 *
 *	dgi_large_begin(&large, volume, &write, err);
 *	while (dgi_large_next(&large, &part))
 *		apply the part, then dgi_large_note(&large, &part);
 *
 * An operation that was stopped, by a failure or by the end of the process, goes on where it was when
 * it begins again: a push of a session with the same number, or a fill by dgi_large_resume().
 *
 * Threads: the writer's.
 */
#ifndef DGI_LARGE_H
#define DGI_LARGE_H

#include "volume.h"

struct dgi_large {
	struct dgi_volume *volume;
	struct dgi_write *whole; /* lent; its results are filled in */
	struct dgi_part part;	 /* the newest applied */
	dg_id run[2];		 /* of the part at hand, if it is a fill */
};

/* A fill that an earlier process began. */
struct dgi_unfinished {
	struct dgi_unfinished *next;
	struct dgi_write write; /* as it was; lends the next two */
	dg_id run[2];
	struct dgi_part part; /* the newest applied */
	uint8_t operand[];
};

/* Must the write be cut? */
bool dgi_write_is_large(const struct dgi_volume *volume, const struct dgi_write *write);
/* … or should it be, where others wait meanwhile: so that none keeps the writer for long. */
bool dgi_write_is_long(const struct dgi_volume *volume, const struct dgi_write *write);
/* Fails as the write would, and with IO (random numbers); then there is nothing to be done. */
dg_status dgi_large_begin(struct dgi_large *large, struct dgi_volume *volume,
			  struct dgi_write *whole, dg_error *err);
/*
 * Lists the fills that are under way, in the order in which they began; each is to be freed. NULL where there
 * are none. Fails with NOMEM, and then lists none.
 */
dg_status dgi_large_unfinished(struct dgi_volume *volume, struct dgi_unfinished **out,
			       dg_error *err);
/* As dgi_large_begin(), for @fill, which is lent. */
void dgi_large_resume(struct dgi_large *large, struct dgi_volume *volume,
		      struct dgi_unfinished *fill);
/* The next part; false where all are done. Lent until the next call. */
bool dgi_large_next(struct dgi_large *large, struct dgi_write *part);
/* The part has been applied, or refused. Sets the results of the whole; false: it ends here. */
bool dgi_large_note(struct dgi_large *large, const struct dgi_write *part);

#endif
