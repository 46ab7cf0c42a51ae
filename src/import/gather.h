/*
 * gather.h -- a graph while it is read: its types, what its nodes are called, its edges so far.
 *
 * Edges go to one file a type, through buffers of bounded size together. Memory: O(nodes) where
 * outside ids are kept, else O(types).
 */
#ifndef DGI_GATHER_H
#define DGI_GATHER_H

#include "id_map.h"
#include "source.h"

#include <distgraph/input.h>

struct dgi_gather_nodes {
	char name[DG_NAME_BYTES_MAX + 1];
	int64_t n;	       /* -1: whatever the edges say */
	char counted_by[400];  /* who says n, where that is a file; for messages */
	int64_t largest;       /* number seen in an edge; -1 */
	dg_input_ids ids;      /* how edges name them; AUTO until the first file says */
	dg_input_ids listed;   /* what the list of outside ids holds; AUTO: there is no list */
	struct dgi_id_map map; /* of outside ids, where there are any */
};

struct dgi_gather_edges {
	uint16_t src, dst;
	char relation[DG_NAME_BYTES_MAX + 1];
	int64_t n;
	char *path;
	uint32_t id_bytes; /* in the file so far; 0 while there is none */
	uint64_t *held;	   /* pairs not yet in the file */
	size_t n_held, room;
};

struct dgi_gather {
	const char *work; /* directory; lent */
	struct dgi_gather_nodes *nodes;
	size_t n_nodes;
	struct dgi_gather_edges *edges;
	size_t n_edges;
	struct dgi_id_map edge_types; /* their texts, for finding them */
	size_t held_bytes;
	uint8_t *scratch;
};

dg_status dgi_gather_begin(const char *work, struct dgi_gather *out, dg_error *err);
void dgi_gather_clear(struct dgi_gather *g);

/* The type, made where it is new. Fails with INVALID (the name), FULL (too many), NOMEM. */
dg_status dgi_gather_node_type(struct dgi_gather *g, const char *name, uint16_t *out,
			       dg_error *err);
dg_status dgi_gather_edge_type(struct dgi_gather *g, uint16_t src, const char *relation,
			       size_t relation_bytes, uint16_t dst, uint16_t *out, dg_error *err);
int dgi_gather_find_node_type(const struct dgi_gather *g, const char *name); /* or -1 */

/* A type's text "src:relation:dst" cut at its first and last colon. Fails with INVALID. */
struct dgi_edge_type_text {
	char src[DG_NAME_BYTES_MAX + 1];
	char relation[DG_NAME_BYTES_MAX + 1];
	char dst[DG_NAME_BYTES_MAX + 1];
};
dg_status dgi_edge_type_text_cut(const char *text, struct dgi_edge_type_text *out, dg_error *err);

/*
 * The original number of the node that the input calls @id. Fails with RANGE (negative, or not
 * below the count), NOTFOUND (not in the list of ids), INVALID, NOMEM; the text says no place.
 */
dg_status dgi_gather_integer(struct dgi_gather_nodes *nodes, int64_t id, dg_id *out, dg_error *err);
dg_status dgi_gather_string(struct dgi_gather_nodes *nodes, const char *id, size_t n, dg_id *out,
			    dg_error *err);

/* Adds edges of original numbers that the above gave. Fails with IO, FULL, NOMEM. */
dg_status dgi_gather_append(struct dgi_gather *g, uint16_t edge_type, const dg_id *src,
			    const dg_id *dst, size_t n, dg_error *err);

/*
 * Writes what is held, and the outside ids; durable. Gives types in @out, which holds no data yet.
 * Fails with INVALID (nodes of a type whose number nobody told), IO, FULL, NOMEM.
 */
dg_status dgi_gather_finish(struct dgi_gather *g, struct dgi_source *out, dg_error *err);

#endif
