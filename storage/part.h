/* part.h -- which part of a large operation a write is. */
#ifndef DGI_PART_H
#define DGI_PART_H

#include <distgraph/types.h>

/*
 * An operation on more rows than one entry of the journal may hold, or the writer be kept for, is a
 * sequence of parts, in the order of its rows. Zero: the write is whole.
 */
struct dgi_part {
	dg_uuid id;	 /* of the operation: a session, or one of its own */
	uint64_t number; /* … of the push in its session, or 0 */
	int64_t first;	 /* of a fill: its first row */
	uint64_t total;	 /* rows of the operation; 0: no part */
	uint64_t done;	 /* … of which so many are done with this part */
};

#define DGI_PART_BYTES 48

#endif
