/*
 * warm.h -- asking the kernel for the pages of a batch before they are copied, where they are not in
 * memory: one after the other each would cost a wait for the disk, together they are read at once.
 */
#ifndef DGI_WARM_H
#define DGI_WARM_H

#include "rowcopy.h"

/*
 * Looks whether a few of the rows are in memory, and asks for all of them if one is not: for whole
 * chunks where the checksum is yet to be verified. Rows that are not there are left
 * to dgi_rows_gather(). A look costs as much as copying some hundred rows: after a batch that was in
 * memory only one of some is looked at. Any thread.
 */
void dgi_rows_warm(struct dgi_table *table, const struct dgi_rows *rows, const dg_id *ids,
		   size_t n);

#endif
