/*
 * names.h -- lists of what the input called nodes, where that is not their number.
 *
 *   sparse integers    "70,5,-3"; of a cluster, "10:20" is those there are from 10 to 19, ascending
 *   strings            "ada,bob", cut at commas
 *   both               "@FILE" with one a line, bytes as they are, lines of no bytes left out; a .npy
 *                      array of int64
 */
#ifndef TOOL_NAMES_H
#define TOOL_NAMES_H

#include "source_ids.h"

/*
 * Reads @text; @form is not NUMBERS. Nobody need be called so. Gives ids to clear. Fails with INVALID,
 * NOTFOUND, IO, NOMEM, and as a pull (a range).
 */
dg_status names_read(const char *text, dg_outside_form form, struct source *s,
		     const dg_tensor_info *tensor, dg_outside_ids *out, dg_error *err);

#endif
