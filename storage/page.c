/* page.c -- the pages of an LMDB 0.9 data file, decoded. */
#include "page.h"

#include "bytes.h"
#include "fail.h"

#include <inttypes.h>
#include <stdbool.h>

/* Every page:        offset  size  field
 *                         0     8  its own number
 *                         8     2  (not used)
 *                        10     2  kind
 *                        12     2  lower: end of the node offsets   } overflow: 4 bytes,
 *                        14     2  upper: start of the nodes        } number of pages
 *                        16     2  offset of each node, from the page's start */
#define KIND_AT 10
#define LOWER_AT 12
#define UPPER_AT 14
#define KIND_META 8

/* A meta page goes on:    16     4  magic
 *                         20     4  format version
 *                         24     8  address, 0
 *                         32     8  map size
 *                         40    48  the tree of free pages; its unused field is the page size
 *                         88    48  the main tree
 *                        136     8  last page
 *                        144     8  transaction */
#define MAGIC UINT32_C(0xbeefc0de)
#define FORMAT 1
#define MAGIC_AT 16
#define MAGIC_AT_IN_1_0 24 /* LMDB 1.0 has longer page headers */
#define PAGE_SIZE_AT 40
#define TRANSACTION_AT 144

/* Flags of the tree of free pages: keys are integers; the file stands alone in its directory. */
#define FLAG_INTEGER_KEYS 0x08
#define FLAG_NO_DIRECTORY 0x4000

/* A node: 2 bytes low and 2 bytes high of a length, flags, length of the key, key, value. In a
 * branch the first three together are the number of the child. */
#define NODE_BYTES 8
#define NODE_LARGE 1 /* the value is the 8-byte number of the first of its own pages */

/* --- Meta pages --- */

static dg_status fail_tree(dg_error *err, const char *tree, const char *field, uint64_t found)
{
	return dgi_fail(err, DG_CORRUPT, "%s: %s %" PRIu64 " cannot be", tree, field, found);
}

/* Reads what is behind the flags and checks it against itself. */
static dg_status read_tree(struct dgi_reader *r, const char *name, struct dgi_tree *out,
			   dg_error *err)
{
	out->depth = dgi_read_u16(r);
	out->branches = dgi_read_u64(r);
	out->leaves = dgi_read_u64(r);
	out->overflows = dgi_read_u64(r);
	out->entries = dgi_read_u64(r);
	out->root = dgi_read_u64(r);
	if (out->depth > DGI_TREE_DEPTH_MAX)
		return fail_tree(err, name, "depth", out->depth);
	if ((out->depth == 0) != (out->root == DGI_NO_PAGE))
		return fail_tree(err, name, "root page", out->root);
	if (out->depth == 0 && (out->branches | out->leaves | out->overflows | out->entries) != 0)
		return fail_tree(err, name, "an empty tree with entries:", out->entries);
	return DG_OK;
}

static dg_status read_trees(struct dgi_reader *r, struct dgi_meta *out, dg_error *err)
{
	uint16_t flags;
	uint32_t unused;
	dg_status st;

	(void)dgi_read_u32(r); /* the page size, seen already */
	flags = dgi_read_u16(r);
	if ((flags & ~FLAG_NO_DIRECTORY) != FLAG_INTEGER_KEYS)
		return fail_tree(err, "free list", "flags", flags);
	st = read_tree(r, "free list", &out->free, err);
	if (st)
		return st;
	unused = dgi_read_u32(r);
	flags = dgi_read_u16(r);
	if (unused != 0 || flags != 0)
		return fail_tree(err, "main tree", "flags", unused != 0 ? unused : flags);
	return read_tree(r, "main tree", &out->main, err);
}

static bool root_fits(const struct dgi_tree *tree, uint64_t last_page)
{
	return tree->depth == 0 || (tree->root >= DGI_FIRST_PAGE && tree->root <= last_page);
}

/* Is it a page of a format that we do not read? */
static dg_status check_format(const uint8_t *page, dg_error *err)
{
	uint32_t magic = dgi_get_u32(page + MAGIC_AT);
	uint32_t version = dgi_get_u32(page + MAGIC_AT + 4);
	uint32_t page_bytes = dgi_get_u32(page + PAGE_SIZE_AT);

	if (magic != MAGIC && dgi_get_u32(page + MAGIC_AT_IN_1_0) == MAGIC)
		return dgi_fail(err, DG_VERSION, "LMDB format of version %" PRIu32 ", want %d",
				dgi_get_u32(page + MAGIC_AT_IN_1_0 + 4), FORMAT);
	if (magic != MAGIC)
		return dgi_fail(err, DG_CORRUPT,
				"no LMDB file: begins with %08" PRIx32 ", want %08" PRIx32, magic,
				MAGIC);
	if (version != FORMAT)
		return dgi_fail(err, DG_VERSION, "LMDB format of version %" PRIu32 ", want %d",
				version, FORMAT);
	if (page_bytes != DGI_PAGE_BYTES)
		return dgi_fail(err, DG_VERSION, "pages of %" PRIu32 " bytes, want %d", page_bytes,
				DGI_PAGE_BYTES);
	return DG_OK;
}

/* Numbers that must agree with each other. */
static dg_status check_meta(const struct dgi_meta *meta, unsigned number, dg_error *err)
{
	/* A transaction writes the meta page of its parity, and liblmdb looks for it there. */
	if (meta->transaction != 0 && meta->transaction % 2 != number)
		return dgi_fail(err, DG_CORRUPT, "transaction %" PRIu64 " on meta page %u",
				meta->transaction, number);
	if (meta->last_page < 1 || meta->last_page >= meta->map_bytes / DGI_PAGE_BYTES)
		return dgi_fail(err, DG_CORRUPT,
				"last page %" PRIu64 " in a map of %" PRIu64 " bytes",
				meta->last_page, meta->map_bytes);
	if (!root_fits(&meta->free, meta->last_page))
		return fail_tree(err, "free list", "root page", meta->free.root);
	if (!root_fits(&meta->main, meta->last_page))
		return fail_tree(err, "main tree", "root page", meta->main.root);
	return DG_OK;
}

dg_status dgi_meta_decode(const uint8_t page[DGI_PAGE_BYTES], unsigned number, struct dgi_meta *out,
			  dg_error *err)
{
	struct dgi_reader r = dgi_reader_of(page, DGI_PAGE_BYTES);
	struct dgi_meta meta;
	uint64_t address;
	dg_status st = check_format(page, err);

	if (st)
		return st;
	if (dgi_get_u64(page) != number || dgi_get_u16(page + KIND_AT) != KIND_META)
		return dgi_fail(err, DG_CORRUPT,
				"page %" PRIu64 " of kind %u, want meta page %u of kind %d",
				dgi_get_u64(page), dgi_get_u16(page + KIND_AT), number, KIND_META);
	(void)dgi_read_run(&r, MAGIC_AT + 8);
	address = dgi_read_u64(&r);
	if (address != 0)
		return dgi_fail(err, DG_CORRUPT, "map address %" PRIx64 ", want 0", address);
	meta.map_bytes = dgi_read_u64(&r);
	st = read_trees(&r, &meta, err);
	if (st)
		return st;
	meta.last_page = dgi_read_u64(&r);
	meta.transaction = dgi_read_u64(&r);
	st = check_meta(&meta, number, err);
	if (st)
		return st;
	*out = meta;
	return DG_OK;
}

uint64_t dgi_meta_transaction(const uint8_t page[DGI_PAGE_BYTES])
{
	return dgi_get_u64(page + TRANSACTION_AT);
}

/* --- Branches and leaves --- */

static const uint8_t *node_at(const uint8_t *page, size_t i)
{
	return page + dgi_get_u16(page + DGI_PAGE_HEADER_BYTES + 2 * i);
}

/* The length field of a leaf's node: of the value, wherever that is. */
static uint32_t length_of(const uint8_t *node)
{
	return dgi_get_u16(node) | (uint32_t)dgi_get_u16(node + 2) << 16;
}

struct dgi_node dgi_branch_node(const uint8_t page[DGI_PAGE_BYTES], size_t i)
{
	const uint8_t *node = node_at(page, i);

	return (struct dgi_node){
		.key = node + NODE_BYTES,
		.key_bytes = dgi_get_u16(node + 6),
		.page = length_of(node) | (uint64_t)dgi_get_u16(node + 4) << 32,
	};
}

struct dgi_node dgi_leaf_node(const uint8_t page[DGI_PAGE_BYTES], size_t i)
{
	const uint8_t *node = node_at(page, i);
	bool large = dgi_get_u16(node + 4) == NODE_LARGE;
	struct dgi_node out = {
		.key = node + NODE_BYTES,
		.key_bytes = dgi_get_u16(node + 6),
		.value_bytes = length_of(node),
	};

	if (large)
		out.page = dgi_get_u64(out.key + out.key_bytes);
	else
		out.value = out.key + out.key_bytes;
	return out;
}

/* One bit for each 2 bytes of a page, which is what nodes are aligned to. */
struct cover {
	uint64_t bits[DGI_PAGE_BYTES / 2 / 64];
};

/* Marks bytes [from, to), both even; false where one of them is marked already. */
static bool mark(struct cover *cover, size_t from, size_t to)
{
	size_t at = from / 2;

	while (at < to / 2) {
		size_t bit = at % 64;
		size_t n = to / 2 - at < 64 - bit ? to / 2 - at : 64 - bit;
		uint64_t mask = (n == 64 ? UINT64_MAX : (UINT64_C(1) << n) - 1) << bit;

		if (cover->bits[at / 64] & mask)
			return false;
		cover->bits[at / 64] |= mask;
		at += n;
	}
	return true;
}

/* Bytes of the node, whose first 8 are within the page; 0 where its flags are none of ours. */
static uint64_t bytes_of_node(const uint8_t *node, enum dgi_page_kind kind)
{
	uint16_t flags = dgi_get_u16(node + 4);
	uint64_t bytes = NODE_BYTES + dgi_get_u16(node + 6);

	if (kind == DGI_PAGE_LEAF) {
		if (flags & ~NODE_LARGE)
			return 0;
		bytes += flags == NODE_LARGE ? 8 : length_of(node);
	}
	return (bytes + 1) & ~UINT64_C(1);
}

static dg_status check_node(const uint8_t *page, size_t i, size_t upper, enum dgi_page_kind kind,
			    struct cover *cover, size_t *node_bytes, dg_error *err)
{
	size_t at = dgi_get_u16(page + DGI_PAGE_HEADER_BYTES + 2 * i);
	size_t key_bytes;
	uint64_t bytes;

	if (at % 2 != 0 || at < upper || at > DGI_PAGE_BYTES - NODE_BYTES)
		return dgi_fail(err, DG_CORRUPT, "node %zu at byte %zu, want an even one from %zu",
				i, at, upper);
	bytes = bytes_of_node(page + at, kind);
	if (bytes == 0)
		return dgi_fail(err, DG_CORRUPT, "node %zu has flags %04x, want 0 or %d", i,
				dgi_get_u16(page + at + 4), NODE_LARGE);
	if (bytes > DGI_PAGE_BYTES - at)
		return dgi_fail(err, DG_CORRUPT,
				"node %zu at byte %zu has %" PRIu64 " bytes, more than the page", i,
				at, bytes);
	key_bytes = dgi_get_u16(page + at + 6);
	if (key_bytes > DGI_PAGE_KEY_BYTES_MAX ||
	    (key_bytes == 0 && (kind == DGI_PAGE_LEAF || i > 0)))
		return dgi_fail(err, DG_CORRUPT, "node %zu has a key of %zu bytes, want 1 to %d", i,
				key_bytes, DGI_PAGE_KEY_BYTES_MAX);
	if (!mark(cover, at, at + (size_t)bytes))
		return dgi_fail(err, DG_CORRUPT, "node %zu at byte %zu overlaps another", i, at);
	*node_bytes = (size_t)bytes;
	return DG_OK;
}

static dg_status check_kind(const uint8_t *page, uint64_t number, enum dgi_page_kind wanted,
			    dg_error *err)
{
	uint64_t own = dgi_get_u64(page);
	uint16_t kind = dgi_get_u16(page + KIND_AT);

	if (own != number)
		return dgi_fail(err, DG_CORRUPT, "says it is page %" PRIu64, own);
	if (kind != wanted)
		return dgi_fail(err, DG_CORRUPT, "kind %u, want %d (%s)", kind, (int)wanted,
				wanted == DGI_PAGE_BRANCH ? "branch"
				: wanted == DGI_PAGE_LEAF ? "leaf"
							  : "overflow");
	return DG_OK;
}

dg_status dgi_page_check(const uint8_t page[DGI_PAGE_BYTES], uint64_t number,
			 enum dgi_page_kind wanted, size_t *n_nodes, dg_error *err)
{
	size_t lower = dgi_get_u16(page + LOWER_AT);
	size_t upper = dgi_get_u16(page + UPPER_AT);
	struct cover cover = { 0 };
	size_t filled = 0;
	dg_status st = check_kind(page, number, wanted, err);

	if (st)
		return st;
	if (lower <= DGI_PAGE_HEADER_BYTES || lower % 2 != 0 || lower > upper ||
	    upper > DGI_PAGE_BYTES)
		return dgi_fail(err, DG_CORRUPT,
				"node offsets end at byte %zu, nodes begin at %zu, of %d", lower,
				upper, DGI_PAGE_BYTES);
	*n_nodes = (lower - DGI_PAGE_HEADER_BYTES) / 2;
	for (size_t i = 0; i < *n_nodes; i++) {
		size_t bytes = 0;

		st = check_node(page, i, upper, wanted, &cover, &bytes, err);
		if (st)
			return st;
		filled += bytes;
	}
	if (filled != DGI_PAGE_BYTES - upper)
		return dgi_fail(err, DG_CORRUPT, "nodes of %zu bytes, want %zu", filled,
				DGI_PAGE_BYTES - upper);
	return DG_OK;
}

dg_status dgi_run_decode(const uint8_t header[DGI_PAGE_HEADER_BYTES], uint64_t number,
			 uint64_t wanted, uint64_t *n_pages, dg_error *err)
{
	uint64_t found = dgi_get_u32(header + LOWER_AT);
	dg_status st = check_kind(header, number, DGI_PAGE_OVERFLOW, err);

	if (st)
		return st;
	if (found < wanted)
		return dgi_fail(err, DG_CORRUPT,
				"%" PRIu64 " pages for a value that needs %" PRIu64, found, wanted);
	*n_pages = found;
	return DG_OK;
}
