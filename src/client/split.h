/*
 * split.h -- row numbers by partition, and rows between the caller's order and the partitions'.
 */
#ifndef DGI_SPLIT_H
#define DGI_SPLIT_H

#include <distgraph/client.h>

/* Row numbers of one split: places have 32 bits. */
#define DGI_SPLIT_ROWS_MAX DG_REQUEST_ROWS_MAX

/* Row numbers grouped by their owners, in the caller's order within each. Kept to be used again. */
struct dgi_split {
	const dg_id *rows;	/* [begins[p], begins[p + 1]) are those of part p */
	const uint32_t *places; /* rows[i] is the caller's number places[i]; NULL: i */
	size_t *begins;		/* n_parts + 1 of them */

	size_t begins_room; /* what the memory below is for */
	size_t rows_room;
	dg_id *rows_memory;
	uint32_t *places_memory;
	uint16_t *owners;
};

/*
 * Splits @rows, of which there are at most DGI_SPLIT_ROWS_MAX. @starts is what dgi_book_starts()
 * gives. Where they are grouped already split->rows is @rows itself. @split is zero before its
 * first use.
 *
 * Fails with RANGE (*bad is the index of the first row outside), NOMEM.
 */
dg_status dgi_split_rows(struct dgi_split *split, const int64_t *starts, uint32_t n_parts,
			 const dg_id *rows, size_t n, size_t *bad);
void dgi_split_clear(struct dgi_split *split);

/* Row i of @from becomes row places[i] of @to. */
void dgi_rows_scatter(void *to, const uint32_t *places, const void *from, size_t n,
		      size_t row_bytes);
/* Row places[i] of @from becomes row i of @to. */
void dgi_rows_collect(void *to, const void *from, const uint32_t *places, size_t n,
		      size_t row_bytes);

#endif
