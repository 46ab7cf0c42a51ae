/*
 * outside_format.h -- how outside ids lie in a store (docs/format.md, "outside ids"); who reads and
 * writes them is src/outside/.
 */
#ifndef DGI_OUTSIDE_FORMAT_H
#define DGI_OUTSIDE_FORMAT_H

#include <stdint.h>

/* Where the arrays stand among structure arrays: behind those of every edge type. */
#define DGI_OUTSIDE_ETYPE UINT16_MAX

enum dgi_outside_array {
	DGI_OUTSIDE_HEAD = 1,	/* int64: DGI_OUTSIDE_FIELDS for each node type */
	DGI_OUTSIDE_VALUES = 2, /* int64: integers of owned nodes; of strings, their ends */
	DGI_OUTSIDE_TEXT = 3,	/* int64: the bytes of strings, eight each */
	DGI_OUTSIDE_HASHES = 4, /* int64: of the index, each type's ascending as unsigned numbers */
	DGI_OUTSIDE_IDS = 5,	/* int32 or int64: relabelled ids, beside the hashes */
};

/* The numbers of a node type in HEAD. */
enum dgi_outside_field {
	DGI_OUTSIDE_FORM,      /* dg_outside_form */
	DGI_OUTSIDE_SEED,      /* of the hashes */
	DGI_OUTSIDE_VALUES_AT, /* its first element of VALUES */
	DGI_OUTSIDE_INDEX_AT,  /* its first element of HASHES and IDS, */
	DGI_OUTSIDE_INDEX_N,   /* and how many it has */
	DGI_OUTSIDE_FIELDS,
};

__extension__ typedef unsigned __int128 dgi_uint128; /* both compilers have it */

/* Which of @n even cuts of all hashes one falls to; of partitions: which has its index entry. */
static inline uint64_t dgi_outside_cut(uint64_t hash, uint64_t n)
{
	return (uint64_t)(((dgi_uint128)hash * n) >> 64);
}

#endif
