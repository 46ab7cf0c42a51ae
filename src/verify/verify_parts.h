/* verify_parts.h -- what the pieces of dgi_verify() share: verify.c, verify_edges.c, verify_data.c. */
#ifndef DGI_VERIFY_PARTS_H
#define DGI_VERIFY_PARTS_H

#include "hash_sum.h"
#include "stored.h"
#include "verify.h"

/* Of one edge type. */
struct dgi_verify_edges {
	struct dgi_hash_sum stored;  /* (original edge, original ends), as found in the stores */
	struct dgi_hash_sum ids;     /* original edges alone */
	struct dgi_hash_sum tables;  /* (original edge, internal edge), by the one table */
	struct dgi_hash_sum inverse; /* the same by the other */
	struct dgi_hash_sum leaving; /* sources of the edges found */
	struct dgi_hash_sum out_degrees; /* those the stores tell */
};

struct dgi_verify {
	const struct dgi_verify_request *request;
	const dg_book *book;
	uint16_t n_node_types, n_edge_types;
	dg_id **internal; /* by node type and original id; NULL once it was turned round */
	dg_id **original; /* by node type and internal id */
	dg_id *ids;	  /* room for three blocks */
	struct dgi_verify_edges *edges;
	struct dgi_hash_sum *data; /* by tensor of the source: of the rows stored */
};

/* Where the share of @part of @n begins. */
static inline uint64_t dgi_share(int64_t n, uint32_t part, uint32_t n_parts)
{
	__extension__ typedef unsigned __int128 uint128;

	return (uint64_t)((uint128)(uint64_t)n * part / n_parts);
}

/* --- verify_edges.c --- */
dg_status dgi_verify_edges_of_part(struct dgi_verify *v, dg_store *store, uint32_t part,
				   dg_error *err);
dg_status dgi_verify_edges_end(struct dgi_verify *v, dg_error *err);

/* --- verify_data.c --- */
dg_status dgi_verify_data_begin(struct dgi_verify *v, dg_error *err);
dg_status dgi_verify_data_of_part(struct dgi_verify *v, dg_store *store, uint32_t part,
				  dg_error *err);
dg_status dgi_verify_data_end(struct dgi_verify *v, dg_error *err);

#endif
