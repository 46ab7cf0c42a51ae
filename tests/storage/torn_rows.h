/* torn_rows.h -- readers against a writer that rewrites whole rows; counts what is not whole. */
#ifndef DGI_TORN_ROWS_H
#define DGI_TORN_ROWS_H

#include <stdint.h>

struct torn_rows {
	uint64_t read;	/* rows */
	uint64_t wrong; /* mixed of two versions, of another row, or older than one read before */
	uint64_t commits;
};

/* Goes on for @run_ms, or until a row is wrong where @stop_at_wrong. */
struct torn_rows torn_rows_run(int64_t run_ms, int stop_at_wrong);

#endif
