/* unchecked.h -- baseline of gather: the engine without its sequence check. */
#ifndef BENCH_UNCHECKED_H
#define BENCH_UNCHECKED_H

#include "rowcopy.h"

dg_status unchecked_rows_gather(struct dgi_table *table, const struct dgi_rows *rows,
				const dg_id *ids, size_t n, void *out, dg_error *err);

#endif
