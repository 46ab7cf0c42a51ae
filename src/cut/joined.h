/*
 * joined.h -- a typed graph seen as one: nodes of all types numbered one type after the other,
 * edges of all types read one after the other.
 *
 * Threads: a reader is used by one thread at a time.
 */
#ifndef DGI_JOINED_H
#define DGI_JOINED_H

#include "source.h"

struct dgi_joined {
	const struct dgi_source *source; /* lent by the caller */
	int64_t n_nodes;
	int64_t n_edges;
	int64_t *base; /* node types + 1: joined id of node 0 of the type */
};

/* Fails with RANGE (counts that no 64 bits hold), NOMEM. */
dg_status dgi_joined_make(const struct dgi_source *source, struct dgi_joined *out, dg_error *err);
void dgi_joined_clear(struct dgi_joined *graph);

struct dgi_joined_reader;

dg_status dgi_joined_open(const struct dgi_joined *graph, struct dgi_joined_reader **out,
			  dg_error *err);
/* The next edges, by joined ids, lent until the next call; *n is 0 at the end. Fails with IO, RANGE. */
dg_status dgi_joined_next(struct dgi_joined_reader *reader, const dg_id **src, const dg_id **dst,
			  size_t *n, dg_error *err);
/* NULL is fine. */
void dgi_joined_close(struct dgi_joined_reader *reader);

#endif
