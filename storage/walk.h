/*
 * walk.h -- read an LMDB data file without liblmdb: which meta page counts, and every record of
 * its main tree.
 *
 * liblmdb trusts its file; this walk does not. Pages are read with pread into memory of its own
 * and each offset, count and page number is checked against the page and the file before it is
 * used. Only branch and leaf pages are read, not the payload of large values. A store is walked
 * before liblmdb sees it; offline tools never call liblmdb at all. The page format is described
 * in docs/format.md.
 */
#ifndef DGI_WALK_H
#define DGI_WALK_H

#include <distgraph/store.h>

#include <stdbool.h>

/* One record of the main tree, in key order. Pointers are lent for the call. */
struct dgi_walk_record {
	const uint8_t *key;
	size_t key_bytes;
	uint64_t value_at; /* offset of the value in the file */
	uint64_t value_bytes;
	/* The value itself when it lies inside a leaf page; NULL when it has overflow pages of its
	 * own (value_at is then page + 16, and the whole run lies within the file). */
	const uint8_t *value;
};

/* A status other than OK ends the walk and is its result. */
typedef dg_status dgi_walk_fn(void *context, const struct dgi_walk_record *record, dg_error *err);

struct dgi_walk_options {
	/* Also read the free list and account for every page of the file: a page in two places is
	 * damage, a page in none is a leak (a remark). Costs a bitmap of one bit a page. */
	bool account;
	/* Also read the page header in front of each large value, which costs a read of each. Without
	 * it a value counts the pages that it needs. */
	bool headers;
	/* Told each finding; the walk then goes on past damaged pages where it can. NULL: the first
	 * damage ends the walk with CORRUPT. */
	dg_finding_fn *found;
	void *found_context;
	const char *file_name; /* for findings: "tensors.mdb" */
};

struct dgi_walk_report {
	uint64_t file_bytes;
	uint64_t transaction; /* of the meta page chosen */
	uint64_t map_bytes;   /* map size recorded there */
	uint64_t last_page;
	uint64_t pages_branch, pages_leaf, pages_overflow; /* of the main tree, and, with
							    * account, of the free list's */
	uint64_t pages_free, pages_leaked;
	uint64_t records; /* of the main tree */
	uint64_t damaged; /* findings other than remarks */
};

/*
 * Walks the LMDB 0.9 file open at @fd (only pread is used) and calls @fn for each record of the
 * main tree. Named databases and duplicate keys, which we never write, are damage. Where the older
 * of the two meta pages is damaged that is a remark, for nothing hangs on it.
 *
 * Every page and value of the tree lies within the file when it ends with OK; only free pages may
 * lie behind its end. With a finder, records of an undamaged page out of order are given too.
 *
 * Fails with CORRUPT (the text names page, what was found, what was wanted), VERSION (LMDB's 1.0
 * format, another page size than 4096), IO, NOMEM, and what @fn returns.
 */
dg_status dgi_walk(int fd, const struct dgi_walk_options *options, dgi_walk_fn *fn, void *context,
		   struct dgi_walk_report *report, dg_error *err);

#endif
