/*
 * page.h -- the pages of an LMDB 0.9 data file, decoded: meta pages, branches, leaves.
 *
 * Bytes in, fields or a refusal out; nothing is read from a file here. Every offset and length is
 * checked against the page before it is used, so that what a check let pass can be read freely.
 * Only what our own files have is legal: 4096-byte pages, one database without a name, no
 * duplicates.
 */
#ifndef DGI_PAGE_H
#define DGI_PAGE_H

#include "chunk.h"

#define DGI_TREE_DEPTH_MAX 32
#define DGI_FIRST_PAGE 2       /* pages 0 and 1 are the meta pages */
#define DGI_NO_PAGE UINT64_MAX /* the root of an empty tree */
#define DGI_PAGE_KEY_BYTES_MAX 511

/* What a meta page says of one of the two trees. */
struct dgi_tree {
	uint16_t depth;			      /* levels; 0: empty */
	uint64_t branches, leaves, overflows; /* pages */
	uint64_t entries;
	uint64_t root;
};

struct dgi_meta {
	uint64_t map_bytes;
	uint64_t last_page;
	uint64_t transaction;
	struct dgi_tree free; /* pages that may be used again, by transaction that freed them */
	struct dgi_tree main;
};

/*
 * Reads meta page @number, 0 or 1. Fails with CORRUPT, VERSION (another LMDB format, another page
 * size).
 */
dg_status dgi_meta_decode(const uint8_t page[DGI_PAGE_BYTES], unsigned number, struct dgi_meta *out,
			  dg_error *err);
/* The transaction that a meta page says wrote it, also where the rest is damaged. */
uint64_t dgi_meta_transaction(const uint8_t page[DGI_PAGE_BYTES]);

enum dgi_page_kind {
	DGI_PAGE_BRANCH = 1,
	DGI_PAGE_LEAF = 2,
	DGI_PAGE_OVERFLOW = 4,
};

/*
 * Is this page @number, a branch or leaf as wanted, whose nodes fill it from end to end? Sets
 * *n_nodes, at least 1. Fails with CORRUPT.
 */
dg_status dgi_page_check(const uint8_t page[DGI_PAGE_BYTES], uint64_t number,
			 enum dgi_page_kind wanted, size_t *n_nodes, dg_error *err);

/* A node of a page that passed the check. Pointers are lent by the page. */
struct dgi_node {
	const uint8_t *key;
	size_t key_bytes; /* 0: the first of a branch, whose key does not count */
	uint64_t page;	  /* branch: the child; leaf: the first of the value's own pages, or 0 */
	uint64_t value_bytes; /* leaf */
	const uint8_t *value; /* leaf: NULL when the value has pages of its own */
};

struct dgi_node dgi_branch_node(const uint8_t page[DGI_PAGE_BYTES], size_t i);
struct dgi_node dgi_leaf_node(const uint8_t page[DGI_PAGE_BYTES], size_t i);

/* The pages that a value of @value_bytes takes when it has pages of its own. */
static inline uint64_t dgi_run_pages(uint64_t value_bytes)
{
	return (DGI_PAGE_HEADER_BYTES + value_bytes - 1) / DGI_PAGE_BYTES + 1;
}

/*
 * Reads the header of such a run, which needs @wanted pages; it may have more. Sets *n_pages.
 * Fails with CORRUPT.
 */
dg_status dgi_run_decode(const uint8_t header[DGI_PAGE_HEADER_BYTES], uint64_t number,
			 uint64_t wanted, uint64_t *n_pages, dg_error *err);

#endif
