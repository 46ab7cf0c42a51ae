/*
 * made_source.h -- a source made from arrays, its edges in files of a directory; for tests and
 * benchmarks. Ends the program where that fails.
 */
#ifndef MADE_SOURCE_H
#define MADE_SOURCE_H

#include "source.h"

/* Returns the type's number. */
uint16_t made_source_add_nodes(struct dgi_source *source, const char *name, int64_t n);
/* @pairs: n times source and destination. */
uint16_t made_source_add_edges(struct dgi_source *source, const char *dir, uint16_t src_type,
			       const char *relation, uint16_t dst_type, const dg_id *pairs,
			       int64_t n);

/* Owners of the nodes of every type, zero; freed by made_owners_free(). */
uint16_t **made_owners_new(const struct dgi_source *source);
void made_owners_free(const struct dgi_source *source, uint16_t **owners);

#endif
