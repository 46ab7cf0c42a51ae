/*
 * ids.h -- lists of rows as the command line writes them: "0,5,7", "10:20" (20 not included), both
 * mixed, or "@FILE" with one id a line or a .npy array of integers.
 */
#ifndef TOOL_IDS_H
#define TOOL_IDS_H

#include <distgraph/types.h>

struct ids {
	dg_id *items;
	size_t n;
};

/* No list is longer: 1 GiB of ids. */
#define IDS_MAX ((size_t)1 << 27)

/*
 * Reads @text; every id is below @n_rows, the rows of @what. In a range the start defaults to 0 and
 * the end to @n_rows. Gives a list to clear. Fails with INVALID, RANGE, NOTFOUND, IO, NOMEM.
 */
dg_status ids_parse(const char *text, int64_t n_rows, const char *what, struct ids *out,
		    dg_error *err);
void ids_clear(struct ids *ids);

#endif
