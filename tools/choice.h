/* choice.h -- which rows of a single store a command shows, and what each is called. */
#ifndef TOOL_CHOICE_H
#define TOOL_CHOICE_H

#include "ids.h"
#include "source_ids.h"

/* The rows to show. */
struct choice {
	struct ids rows;      /* in the store */
	struct ids labels;    /* what each is called: its row, or its original id */
	dg_outside_ids names; /* or this, where the input did not number its nodes */
};

/*
 * Rows in store order, as ids.h reads them; NULL: the first ten. A choice, which was zero, is to be
 * cleared in any case.
 */
dg_status choose_rows(const dg_tensor_info *tensor, const char *text, struct choice *out,
		      dg_error *err);
/* Rows by the input's ids, or by relabelled ones. Fails with NOTFOUND (names the first not here). */
dg_status choose_ids(struct source *s, const dg_tensor_info *tensor, const char *text,
		     bool internal, struct choice *out, dg_error *err);
void choice_clear(struct choice *choice);

#endif
