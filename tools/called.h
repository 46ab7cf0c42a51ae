/*
 * called.h -- rows as the command line names them: by what the input called nodes and edges, which is a
 * number, an integer or a string, or by relabelled ids.
 *
 * Numbers are read by ids.h, other names by names.h; ":" alone is every row, in the order of the input.
 */
#ifndef TOOL_CALLED_H
#define TOOL_CALLED_H

#include "ids.h"
#include "source_ids.h"

struct called {
	dg_outside_form form; /* NUMBERS with --internal */
	bool internal;	      /* ids are relabelled, else original numbers */
	struct ids ids;
	dg_outside_ids names; /* of each id, where it was given by one; else none */
};

/*
 * Reads @text for a tensor of a cluster. With @internal it has ids by the tensor's own numbering. Gives a
 * list to clear. Fails with NOTFOUND (names the first that there is not), INVALID, RANGE, IO, NOMEM,
 * and as a pull.
 */
dg_status called_parse(struct source *s, const dg_tensor_info *tensor, const char *text,
		       bool internal, struct called *out, dg_error *err);
void called_clear(struct called *called);

/* Rows [first, first + n) of the list, by the tensor's own numbering. */
dg_status called_rows(struct source *s, const dg_tensor_info *tensor, const struct called *called,
		      size_t first, size_t n, dg_id *out, dg_error *err);
/* What they are called. Gives ids to clear. */
dg_status called_names(struct source *s, const dg_tensor_info *tensor, const struct called *called,
		       size_t first, size_t n, dg_outside_ids *out, dg_error *err);

/* What the rows with these original numbers (or, as @called says, relabelled ids) are called. */
dg_status called_of(struct source *s, const dg_tensor_info *tensor, dg_outside_form form,
		    bool internal, const dg_id *ids, size_t n, dg_outside_ids *out, dg_error *err);

#endif
