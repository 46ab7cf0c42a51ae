/* column.h -- numbers of a mask or of trainer ids, read piece by piece wherever they are. */
#ifndef DGI_COLUMN_H
#define DGI_COLUMN_H

#include <distgraph/split.h>

#define DGI_COLUMN_BLOCK 65536 /* ids read at a time */

struct dgi_column {
	const dg_column *from;
	const dg_book *book;
	const char *what; /* "mask", in messages */
	dg_dtype dtype;
	dg_id *ids;    /* scratch of a block */
	void *raw;     /* of a block, as it is stored */
	int64_t *data; /* of a block, widened */
};

/*
 * Fails with INVALID where it is no column of integers for @type; dgi_column_clear() is due in any
 * case.
 */
dg_status dgi_column_init(struct dgi_column *column, const dg_column *from, const dg_book *book,
			  dg_side side, uint16_t type, const char *what, dg_error *err);
void dgi_column_clear(struct dgi_column *column);

/* The numbers of ids [first, first + n), at most a block: lent until the next call. */
dg_status dgi_column_read(struct dgi_column *column, dg_id first, size_t n, const int64_t **out,
			  dg_error *err);

#endif
