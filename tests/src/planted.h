/* planted.h -- a partitioning that goes on from a source and owners of the test's own. */
#ifndef DGI_TEST_PLANTED_H
#define DGI_TEST_PLANTED_H

#include "source.h"

#include <distgraph/partition.h>

/* A typed graph in memory. */
struct planted {
	struct dgi_source source; /* paths are filled in by plant() */
	dg_id *src[8], *dst[8];	  /* by edge type */
	uint16_t *owners[8];	  /* by node type */
};

void planted_clear(struct planted *planted);

/*
 * Leaves in "<options->output>.work" what a run that was interrupted after its cut would have
 * left, so that dg_partition() sorts and writes this graph. Options name some edge file.
 */
void plant(struct planted *planted, const dg_partition_options *options);

#endif
