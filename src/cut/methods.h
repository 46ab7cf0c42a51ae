/*
 * methods.h -- the methods behind dgi_assign(), on a graph whose types are joined.
 *
 * Each writes the owner of every node, by joined id, and may leave parts empty.
 */
#ifndef DGI_METHODS_H
#define DGI_METHODS_H

#include "assign.h"
#include "joined.h"

/*
 * METIS on the graph without directions and loops; parallel edges are one that weighs as many. It
 * runs in a child process: our signals, rand(), memory and life are not its own.
 *
 * What cannot be balanced is left out with a warning. Fails with UNSUPPORTED (METIS cannot count
 * so far), NOMEM, CANCELLED, INVALID (METIS refuses the graph), IO (METIS crashed).
 */
dg_status dgi_method_metis(const struct dgi_assign_request *request, const struct dgi_joined *graph,
			   uint16_t *owners, struct dgi_assign_report *report, dg_error *err);

/*
 * Streaming with memory O(nodes): the edges are grouped by node on disk, nodes merged into clusters
 * level by level, the smallest graph placed by restreamed Fennel, and moves made on the way back, a
 * few times over.
 *
 * Fails with UNSUPPORTED (2^32 nodes), NOMEM, FULL, IO, CANCELLED.
 */
dg_status dgi_method_stream(const struct dgi_assign_request *request,
			    const struct dgi_joined *graph, uint16_t *owners,
			    struct dgi_assign_report *report, dg_error *err);

/* From files; @owners is by type. Fails with NOTFOUND, INVALID, RANGE, UNSUPPORTED, IO, NOMEM. */
dg_status dgi_method_files(const struct dgi_assign_request *request, uint16_t *const *owners,
			   dg_error *err);

#endif
