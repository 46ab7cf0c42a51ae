/*
 * structure.h -- the structure arrays of graph.mdb: collected from the walk, then read in place.
 *
 * Threads: collecting in one; dgi_structure_read() in any.
 */
#ifndef DGI_STRUCTURE_H
#define DGI_STRUCTURE_H

#include "map.h"
#include "segment.h"

#include <stdatomic.h>

/* A segment's place, and what of it has been verified. */
struct dgi_segment {
	uint64_t value_at;		    /* offset in the file; 0 until it was found */
	_Atomic(_Atomic uint64_t *) pieces; /* bits of verified MiB; NULL: not even the sums */
	_Atomic uint64_t seed;		    /* of the sums, once pieces is set */
};

struct dgi_array {
	uint16_t etype;
	uint8_t kind; /* dg_graph_array */
	struct dgi_array_info info;
	uint64_t n_segments;
	struct dgi_segment *segments;
};

/* Zero is an empty one. */
struct dgi_structure {
	struct dgi_array *arrays; /* in order of (etype, kind) */
	size_t n;
	size_t capacity;
	size_t at_array; /* where the next segment is expected */
	uint64_t at_segment;
};

/*
 * What the walk finds, in key order: descriptions, then segments, each where and as long as the
 * descriptions say. @file_bytes bounds what a description may claim. Fails with CORRUPT, NOMEM.
 */
dg_status dgi_structure_add_array(struct dgi_structure *s, const struct dgi_key *key,
				  const struct dgi_array_info *info, uint64_t file_bytes,
				  dg_error *err);
dg_status dgi_structure_add_segment(struct dgi_structure *s, const struct dgi_key *key,
				    uint64_t value_at, uint64_t value_bytes, dg_error *err);
/* All segments there? Fails with CORRUPT. */
dg_status dgi_structure_finish(struct dgi_structure *s, dg_error *err);
void dgi_structure_clear(struct dgi_structure *s);

/* NULL where there is none. Lent. */
struct dgi_array *dgi_structure_find(const struct dgi_structure *s, uint16_t etype, uint8_t kind);

/*
 * Copies elements [first, first + n), which the array has, to @out, verifying each MiB before its
 * first use. Fails with CORRUPT, NOMEM.
 */
dg_status dgi_structure_read(struct dgi_array *array, const struct dgi_map *map,
			     const dg_uuid *store_uuid, uint64_t first, uint64_t n, void *out,
			     dg_error *err);

#endif
