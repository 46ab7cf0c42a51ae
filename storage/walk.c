/*
 * walk.c -- read an LMDB data file without liblmdb: meta pages, main tree, free list.
 *
 * page.c knows what a page looks like; here is how they hang together. A cycle cannot hold the walk
 * up: the depth is bounded, and so is the number of pages visited, by the file's.
 */
#include "walk.h"

#include "bytes.h"
#include "fail.h"
#include "files.h"
#include "page.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Pages read at once where siblings lie near each other. */
#define WINDOW_PAGES 16

/* What a file may claim: pages behind its end are free pages, and few. */
#define LAST_PAGE_FACTOR 64

struct walker {
	int fd;
	const struct dgi_walk_options *options;
	dgi_walk_fn *fn;
	void *context;
	struct dgi_walk_report *report;
	uint64_t file_pages;
	uint64_t last_page;
	uint64_t visited;
	uint64_t *used; /* one bit a page; NULL: nobody accounts */
	unsigned meta_page;
	struct dgi_meta meta;

	/* The tree being walked, and what has been counted of it. */
	const struct dgi_tree *tree;
	struct dgi_tree counted;

	/* The key before: every key is above it, or, where it is a branch's, at it. */
	const uint8_t *key;
	size_t key_bytes;
	bool key_is_record;
	uint8_t key_room[DGI_PAGE_KEY_BYTES_MAX];

	uint64_t window_page;
	uint64_t window_pages; /* 0: nothing in it */
	uint8_t window[WINDOW_PAGES * DGI_PAGE_BYTES];
	uint8_t piece[DGI_PAGE_BYTES];	     /* of a value of the free list */
	uint8_t (*branches)[DGI_PAGE_BYTES]; /* the one being walked on each level */
};

/* --- Findings --- */

static void tell(const struct walker *w, dg_status st, const dg_error *what, const char *where)
{
	dg_finding finding = { .status = st };

	(void)snprintf(finding.where, sizeof finding.where, "%s: %s", w->options->file_name, where);
	memcpy(finding.what, what->text, sizeof finding.what);
	w->options->found(w->options->found_context, &finding);
}

/* @st says what is wrong with a page: tells it and gives OK, or ends the walk with it. */
static dg_status damaged(struct walker *w, uint64_t page, dg_status st, dg_error *err)
{
	char where[64];

	(void)snprintf(where, sizeof where,
		       page < DGI_FIRST_PAGE ? "meta page %" PRIu64 : "page %" PRIu64, page);
	if (!w->options->found || (st != DG_CORRUPT && st != DG_IO))
		return dgi_context(err, st, "%s", where);
	w->report->damaged++;
	tell(w, st, err, where);
	return DG_OK;
}

static void remark(const struct walker *w, const dg_error *what, const char *where)
{
	if (w->options->found)
		tell(w, DG_OK, what, where);
}

/* --- Reading --- */

static dg_status read_at(const struct walker *w, uint64_t at, void *out, size_t n, dg_error *err)
{
	return dgi_read_at(w->fd, at, out, n, err);
}

/* Page @number, which is in the file, and in the same read the @ahead - 1 behind it. Lent until the
 * next call. */
static dg_status fetch(struct walker *w, uint64_t number, uint64_t ahead, const uint8_t **out,
		       dg_error *err)
{
	dg_status st;

	if (number < w->window_page || number - w->window_page >= w->window_pages) {
		if (ahead > w->file_pages - number)
			ahead = w->file_pages - number;
		w->window_pages = 0;
		st = read_at(w, number * DGI_PAGE_BYTES, w->window, (size_t)ahead * DGI_PAGE_BYTES,
			     err);
		if (st)
			return st;
		w->window_page = number;
		w->window_pages = ahead;
	}
	*out = w->window + (number - w->window_page) * DGI_PAGE_BYTES;
	return DG_OK;
}

/* --- Which pages are used --- */

static dg_status use(struct walker *w, uint64_t page, uint64_t n, dg_error *err)
{
	if (!w->used)
		return DG_OK;
	for (uint64_t i = page; i < page + n; i++) {
		uint64_t bit = UINT64_C(1) << (i % 64);

		if (w->used[i / 64] & bit)
			return dgi_fail(err, DG_CORRUPT, "page %" PRIu64 " is used twice", i);
		w->used[i / 64] |= bit;
	}
	return DG_OK;
}

/* May a tree use pages [page, page + n)? They must be in the file. */
static dg_status check_range(const struct walker *w, uint64_t page, uint64_t n, dg_error *err)
{
	if (page < DGI_FIRST_PAGE || page > w->last_page || n > w->last_page - page + 1)
		return dgi_fail(err, DG_CORRUPT,
				"%" PRIu64 " pages from %" PRIu64 " on, the last one is %" PRIu64,
				n, page, w->last_page);
	if (page >= w->file_pages || n > w->file_pages - page)
		return dgi_fail(err, DG_CORRUPT,
				"%" PRIu64 " pages from %" PRIu64
				" on, the file ends at page %" PRIu64 ": cut short",
				n, page, w->file_pages);
	return DG_OK;
}

/* --- Keys --- */

static int compare_keys(const struct walker *w, const struct dgi_node *node)
{
	size_t shorter = node->key_bytes < w->key_bytes ? node->key_bytes : w->key_bytes;
	int order;

	if (w->tree == &w->meta.free && node->key_bytes == 8 && w->key_bytes == 8) {
		uint64_t a = dgi_get_u64(node->key);
		uint64_t b = dgi_get_u64(w->key);

		return (a > b) - (a < b);
	}
	order = memcmp(node->key, w->key, shorter);
	return order ? order : (node->key_bytes > w->key_bytes) - (node->key_bytes < w->key_bytes);
}

/* Is the key where it belongs? It is the key before from here on, lent until keep_key(). */
static dg_status pass_key(struct walker *w, const struct dgi_node *node, bool is_record, size_t i,
			  dg_error *err)
{
	int order = w->key ? compare_keys(w, node) : 1;
	bool ascends = order > 0 || (order == 0 && !w->key_is_record);

	w->key = node->key;
	w->key_bytes = node->key_bytes;
	w->key_is_record = is_record;
	return ascends ? DG_OK
		       : dgi_fail(err, DG_CORRUPT, "key of node %zu is not above the one before it",
				  i);
}

static void keep_key(struct walker *w)
{
	memcpy(w->key_room, w->key, w->key_bytes);
	w->key = w->key_room;
}

/* --- The free list --- */

/* @n bytes of a value from @offset on, lent until the next call. */
static dg_status value_piece(struct walker *w, const struct dgi_walk_record *record,
			     uint64_t offset, size_t n, const uint8_t **out, dg_error *err)
{
	*out = record->value ? record->value + offset : w->piece;
	return record->value ? DG_OK : read_at(w, record->value_at + offset, w->piece, n, err);
}

static dg_status free_pages(struct walker *w, const uint8_t *ids, size_t n, uint64_t *before,
			    dg_error *err)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t page = dgi_get_u64(ids + 8 * i);
		dg_status st;

		if (page < DGI_FIRST_PAGE || page >= *before)
			return dgi_fail(err, DG_CORRUPT,
					"free page %" PRIu64 ", want one from %d to %" PRIu64, page,
					DGI_FIRST_PAGE, *before - 1);
		st = use(w, page, 1, err);
		if (st)
			return st;
		w->report->pages_free++;
		*before = page;
	}
	return DG_OK;
}

/* A record of the free list: transaction, number of pages, pages in descending order. */
static dg_status free_record(struct walker *w, const struct dgi_walk_record *record, dg_error *err)
{
	uint64_t transaction = record->key_bytes == 8 ? dgi_get_u64(record->key) : 0;
	uint64_t before = w->last_page + 1;
	const uint8_t *at;
	uint64_t n;
	dg_status st;

	if (transaction < 1 || transaction > w->meta.transaction)
		return dgi_fail(err, DG_CORRUPT,
				"free list: record of transaction %" PRIu64 ", want 1 to %" PRIu64,
				transaction, w->meta.transaction);
	if (record->value_bytes < 8)
		return dgi_fail(err, DG_CORRUPT, "free list: record of %" PRIu64 " bytes",
				record->value_bytes);
	st = value_piece(w, record, 0, 8, &at, err);
	if (st)
		return st;
	n = dgi_get_u64(at);
	if (n > record->value_bytes / 8 - 1)
		return dgi_fail(err, DG_CORRUPT,
				"free list: %" PRIu64 " pages in a record of %" PRIu64 " bytes", n,
				record->value_bytes);
	for (uint64_t done = 0; done < n && !st;) {
		size_t here =
			n - done < sizeof w->piece / 8 ? (size_t)(n - done) : sizeof w->piece / 8;

		st = value_piece(w, record, 8 + 8 * done, 8 * here, &at, err);
		if (!st)
			st = free_pages(w, at, here, &before, err);
		done += here;
	}
	return st;
}

/* --- A tree --- */

/* The pages of a large value: all of them in the file, used by nobody else. */
static dg_status check_run(struct walker *w, const struct dgi_node *node, dg_error *err)
{
	uint8_t header[DGI_PAGE_HEADER_BYTES];
	uint64_t n = dgi_run_pages(node->value_bytes);
	dg_status st = check_range(w, node->page, n, err);

	if (!st && w->options->headers) {
		st = read_at(w, node->page * DGI_PAGE_BYTES, header, sizeof header, err);
		if (!st)
			st = dgi_run_decode(header, node->page, n, &n, err);
		if (!st)
			st = check_range(w, node->page, n, err);
	}
	if (!st)
		st = use(w, node->page, n, err);
	if (st)
		return dgi_context(err, st, "large value at page %" PRIu64, node->page);
	w->counted.overflows += n;
	return DG_OK;
}

static dg_status visit_record(struct walker *w, uint64_t number, const uint8_t *page,
			      const struct dgi_node *node, dg_error *err)
{
	struct dgi_walk_record record = {
		.key = node->key,
		.key_bytes = node->key_bytes,
		.value_bytes = node->value_bytes,
		.value = node->value,
	};
	dg_status st;

	if (node->value) {
		record.value_at = number * DGI_PAGE_BYTES + (uint64_t)(node->value - page);
	} else {
		record.value_at = node->page * DGI_PAGE_BYTES + DGI_PAGE_HEADER_BYTES;
		st = check_run(w, node, err);
		if (st)
			return damaged(w, number, st, err);
	}
	if (w->tree == &w->meta.main)
		return w->fn(w->context, &record, err);
	st = free_record(w, &record, err);
	return st ? damaged(w, number, st, err) : DG_OK;
}

static dg_status visit_leaf(struct walker *w, uint64_t number, const uint8_t *page, size_t n,
			    dg_error *err)
{
	w->counted.leaves++;
	w->counted.entries += n;
	for (size_t i = 0; i < n; i++) {
		struct dgi_node node = dgi_leaf_node(page, i);
		dg_status st = pass_key(w, &node, true, i, err);

		if (st)
			st = damaged(w, number, st, err);
		if (!st)
			st = visit_record(w, number, page, &node, err);
		if (st)
			return st;
	}
	keep_key(w);
	return DG_OK;
}

/* How many pages to read from child @i on so as to have the near ones that come next, too. */
static uint64_t pages_ahead(const uint8_t *page, size_t i, size_t n)
{
	uint64_t first = dgi_branch_node(page, i).page;
	uint64_t pages = 1;

	while (++i < n) {
		uint64_t next = dgi_branch_node(page, i).page;

		if (next < first || next - first >= WINDOW_PAGES)
			break;
		if (next - first >= pages)
			pages = next - first + 1;
	}
	return pages;
}

static dg_status visit(struct walker *w, uint64_t number, unsigned level, uint64_t ahead,
		       dg_error *err);

static dg_status visit_branch(struct walker *w, uint64_t number, const uint8_t *page, size_t n,
			      unsigned level, dg_error *err)
{
	dg_status st = DG_OK;

	w->counted.branches++;
	if (n < 2 && w->tree == &w->meta.main)
		st = damaged(w, number, dgi_fail(err, DG_CORRUPT, "branch with a single child"),
			     err);
	for (size_t i = 0; i < n && !st; i++) {
		struct dgi_node node = dgi_branch_node(page, i);

		if (i > 0)
			st = pass_key(w, &node, false, i, err);
		if (st)
			st = damaged(w, number, st, err);
		if (!st)
			st = visit(w, node.page, level + 1, pages_ahead(page, i, n), err);
	}
	return st;
}

static dg_status visit(struct walker *w, uint64_t number, unsigned level, uint64_t ahead,
		       dg_error *err)
{
	bool is_leaf = level + 1 == w->tree->depth;
	const uint8_t *page = NULL;
	size_t n = 0;
	dg_status st;

	if (w->visited++ >= w->file_pages)
		return dgi_fail(err, DG_CORRUPT, "its trees have more pages than it, %" PRIu64,
				w->file_pages);
	st = check_range(w, number, 1, err);
	if (!st)
		st = use(w, number, 1, err);
	if (!st)
		st = fetch(w, number, ahead, &page, err);
	if (!st)
		st = dgi_page_check(page, number, is_leaf ? DGI_PAGE_LEAF : DGI_PAGE_BRANCH, &n,
				    err);
	if (st)
		return damaged(w, number, st, err);
	if (is_leaf)
		return visit_leaf(w, number, page, n, err);
	memcpy(w->branches[level], page, DGI_PAGE_BYTES);
	return visit_branch(w, number, w->branches[level], n, level, err);
}

static dg_status check_count(struct walker *w, const char *what, uint64_t found, uint64_t wanted,
			     dg_error *err)
{
	if (found == wanted)
		return DG_OK;
	return damaged(w, w->meta_page,
		       dgi_fail(err, DG_CORRUPT, "%s: says %" PRIu64 " %s, there are %" PRIu64,
				w->tree == &w->meta.main ? "main tree" : "free list", wanted, what,
				found),
		       err);
}

/* Does the meta page know how large its tree is? */
static dg_status check_counts(struct walker *w, dg_error *err)
{
	dg_status st = check_count(w, "branch pages", w->counted.branches, w->tree->branches, err);

	if (!st)
		st = check_count(w, "leaf pages", w->counted.leaves, w->tree->leaves, err);
	if (!st)
		st = check_count(w, "entries", w->counted.entries, w->tree->entries, err);
	if (!st && w->options->headers)
		st = check_count(w, "overflow pages", w->counted.overflows, w->tree->overflows,
				 err);
	return st;
}

static dg_status walk_tree(struct walker *w, const struct dgi_tree *tree, dg_error *err)
{
	uint64_t damage_before = w->report->damaged;
	dg_status st = DG_OK;

	w->tree = tree;
	w->counted = (struct dgi_tree){ 0 };
	w->key = NULL;
	if (tree->depth > 0)
		st = visit(w, tree->root, 0, 1, err);
	if (!st && w->report->damaged == damage_before)
		st = check_counts(w, err);
	w->report->pages_branch += w->counted.branches;
	w->report->pages_leaf += w->counted.leaves;
	w->report->pages_overflow += w->counted.overflows;
	return st;
}

/* --- Accounting --- */

static dg_status begin_accounting(struct walker *w, dg_error *err)
{
	w->used = calloc(w->last_page / 64 + 1, sizeof *w->used);
	return w->used ? DG_OK : dgi_fail_memory(err, "bitmap of pages");
}

static dg_status account_free_list(struct walker *w, dg_error *err)
{
	struct dgi_walk_report *r = w->report;
	uint64_t pages = w->last_page + 1;
	dg_status st = walk_tree(w, &w->meta.free, err);

	if (st)
		return st;
	r->pages_leaked = pages - DGI_FIRST_PAGE - r->pages_branch - r->pages_leaf -
			  r->pages_overflow - r->pages_free;
	if (r->pages_leaked > 0 && r->damaged == 0) {
		(void)dgi_fail(err, DG_OK, "%" PRIu64 " of %" PRIu64 " pages are lost to use",
			       r->pages_leaked, pages);
		remark(w, err, "free list");
	}
	return DG_OK;
}

/* --- Meta pages --- */

static dg_status open_file(struct walker *w, dg_error *err)
{
	struct stat info;

	if (fstat(w->fd, &info) != 0)
		return dgi_fail_errno(err, errno, "stat");
	if (!S_ISREG(info.st_mode))
		return dgi_fail(err, DG_CORRUPT, "no regular file");
	w->report->file_bytes = (uint64_t)info.st_size;
	w->file_pages = w->report->file_bytes / DGI_PAGE_BYTES;
	if (w->file_pages < DGI_FIRST_PAGE)
		return dgi_fail(err, DG_CORRUPT, "%" PRIu64 " bytes, want at least %d",
				w->report->file_bytes, DGI_FIRST_PAGE * DGI_PAGE_BYTES);
	return read_at(w, 0, w->window, DGI_FIRST_PAGE * DGI_PAGE_BYTES, err);
}

/* One of the two is damaged. liblmdb would take the newer one, whatever it holds. */
static dg_status one_meta_damaged(struct walker *w, unsigned bad, const uint64_t transactions[2],
				  dg_error *err)
{
	char where[32];

	if (transactions[bad] > transactions[!bad])
		return damaged(w, bad, dgi_context(err, DG_CORRUPT, "the newer one"), err);
	(void)snprintf(where, sizeof where, "meta page %u", bad);
	(void)dgi_context(err, DG_OK, "the older one, which is not needed");
	remark(w, err, where);
	return DG_OK;
}

/* The two are written in turn, so the older is of the transaction before the newer's. */
static dg_status check_succession(struct walker *w, uint64_t newer, uint64_t older, dg_error *err)
{
	if (newer - older == 1 || newer == 0)
		return DG_OK;
	return damaged(w, w->meta_page,
		       dgi_fail(err, DG_CORRUPT,
				"of transaction %" PRIu64 ", the other one is of %" PRIu64
				", which is not the one before",
				newer, older),
		       err);
}

/* The valid one with the larger transaction. */
static dg_status choose_meta(struct walker *w, dg_error *err)
{
	struct dgi_meta metas[2];
	uint64_t transactions[2];
	dg_error errors[2] = { 0 };
	dg_status st[2];

	for (unsigned i = 0; i < 2; i++) {
		const uint8_t *page = w->window + i * DGI_PAGE_BYTES;

		st[i] = dgi_meta_decode(page, i, &metas[i], &errors[i]);
		transactions[i] = dgi_meta_transaction(page);
	}
	if (st[0] && st[1]) {
		*err = errors[st[1] == DG_VERSION];
		return dgi_context(err, err->status, "both meta pages are unusable");
	}
	w->meta_page = st[0] ? 1 : st[1] ? 0 : transactions[1] > transactions[0];
	w->meta = metas[w->meta_page];
	if (st[!w->meta_page]) {
		*err = errors[!w->meta_page];
		return one_meta_damaged(w, !w->meta_page, transactions, err);
	}
	return check_succession(w, transactions[w->meta_page], transactions[!w->meta_page], err);
}

static dg_status read_meta(struct walker *w, dg_error *err)
{
	dg_status st = open_file(w, err);

	if (!st)
		st = choose_meta(w, err);
	if (st)
		return st;
	w->last_page = w->meta.last_page;
	w->report->transaction = w->meta.transaction;
	w->report->map_bytes = w->meta.map_bytes;
	w->report->last_page = w->last_page;
	if (w->last_page / LAST_PAGE_FACTOR >= w->file_pages)
		return dgi_fail(err, DG_CORRUPT,
				"last page %" PRIu64 " of a file of %" PRIu64 " pages",
				w->last_page, w->file_pages);
	return DG_OK;
}

static dg_status make_levels(struct walker *w, dg_error *err)
{
	size_t n =
		w->meta.main.depth > w->meta.free.depth ? w->meta.main.depth : w->meta.free.depth;

	w->branches = malloc((n ? n : 1) * sizeof *w->branches);
	return w->branches ? DG_OK : dgi_fail_memory(err, "walk");
}

static dg_status walk(struct walker *w, dg_error *err)
{
	dg_status st = read_meta(w, err);

	if (!st)
		st = make_levels(w, err);
	if (!st && w->options->account)
		st = begin_accounting(w, err);
	if (!st)
		st = walk_tree(w, &w->meta.main, err);
	w->report->records = w->counted.entries;
	if (!st && w->options->account)
		st = account_free_list(w, err);
	return st;
}

dg_status dgi_walk(int fd, const struct dgi_walk_options *options, dgi_walk_fn *fn, void *context,
		   struct dgi_walk_report *report, dg_error *err)
{
	struct walker *w = malloc(sizeof *w);
	dg_error error = { 0 };
	dg_status st;

	if (!w)
		return dgi_fail_memory(err, "walk");
	*report = (struct dgi_walk_report){ 0 };
	w->fd = fd;
	w->options = options;
	w->fn = fn;
	w->context = context;
	w->report = report;
	w->visited = 0;
	w->used = NULL;
	w->branches = NULL;
	w->window_pages = 0;
	st = walk(w, &error);
	if (st && err)
		*err = error;
	free(w->used);
	free(w->branches);
	free(w);
	return st;
}
