/*
 * verify.h -- is a partitioned graph the graph it was made of? Found out from what is stored and
 * from the source alone, by other code than wrote it.
 *
 * Nodes are looked at one by one: each is owned once, ranges tile, the two id tables are each
 * other's inverse. Edges and rows are too many for that: sums of 128-bit hashes of (type, original
 * id, original ends) and of (original id, bytes of the row), over the stores and over the source,
 * must be equal, whatever their order. So each edge is stored once, at the part that owns its
 * destination, with its own ends, and features follow their nodes; a difference escapes with a
 * probability of 2^-64 or less. Memory: 8 bytes a node.
 *
 * Threads: any thread; calls share nothing.
 */
#ifndef DGI_VERIFY_H
#define DGI_VERIFY_H

#include "progress.h"
#include "source.h"

#include <distgraph/cluster.h>

struct dgi_verify_request {
	const char *const *store_paths; /* by part; nobody has them open for writing */
	uint32_t n_parts;
	const struct dgi_source *source; /* NULL: what can be known without it */
	/* By node type and original id, the parts the nodes were assigned to; NULL: not known. Owners
	 * are divided by @n_trainers (0 as 1). */
	uint16_t *const *owners;
	uint32_t n_trainers;
	struct dgi_progress *progress; /* may be NULL */
};

/*
 * Fails with CORRUPT or MISMATCH at the first thing that is wrong, and says where; NOTFOUND, BUSY,
 * IO, NOMEM, CANCELLED when it cannot be found out.
 */
dg_status dgi_verify(const struct dgi_verify_request *request, dg_error *err);

#endif
