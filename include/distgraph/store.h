/*
 * distgraph/store.h -- one partition on disk: its structure and its named tensors.
 *
 * A store is a directory (`part0`). One process at a time may open it for writing; any number may
 * read one that nobody writes. Opening reads the index of the files, not the data, and checks
 * every page it reads, so a damaged store is refused or reported, never trusted.
 *
 * Threads: a dg_store may be read by any number of threads at once. Writing, creating and dropping
 * is for one thread at a time. Closing is for the last one.
 *
 * Ownership: dg_store_open() gives a store to close; everything else it hands out is lent and dies
 * with it, unless said otherwise.
 */
#ifndef DISTGRAPH_STORE_H
#define DISTGRAPH_STORE_H

#include <distgraph/book.h>
#include <distgraph/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dg_store dg_store;

/* Zero is the default of every field. */
typedef struct dg_store_options {
	int writable; /* 0: read only, nothing on disk is touched */
	/* Read only: the chunks as the last checkpoint left them. Acknowledged pushes that are in the
	 * journal alone are left out; dg_store_info says which. */
	int without_journal;
} dg_store_options;

typedef struct dg_store_info {
	dg_uuid store_uuid;
	dg_uuid cluster_uuid;
	uint32_t part;
	uint32_t n_parts;
	uint64_t incarnation;  /* starts for writing so far */
	uint64_t log_number;   /* number of the newest write; without the journal: in the chunks */
	uint64_t file_bytes;   /* all files of the store */
	uint16_t format_read;  /* oldest reader version that may read it */
	uint16_t format_write; /* version that wrote it */
	/* Opened without the journal: how many pushes of it are not, or not wholly, in the chunks, and
	 * the numbers of the first and last of them. */
	uint64_t left_out;
	uint64_t left_out_first;
	uint64_t left_out_last;
} dg_store_info;

/*
 * Opens the store in directory @path. To write: a fill that the last process left unfinished goes on
 * meanwhile, by a thread of the store, and rows can be read; a write to its tensor waits for its end.
 *
 * Fails with INVALID (options), NOTFOUND (no store there), BUSY (a process has it; the text names it), CORRUPT,
 * VERSION (newer format or unknown feature bits), MISMATCH (files of different stores), DENIED
 * (not ours, or open to others), UNSUPPORTED (network file system), IO, NOMEM.
 */
DG_API dg_status dg_store_open(const char *path, const dg_store_options *options, dg_store **out,
			       dg_error *err);
DG_API void dg_store_close(dg_store *store);

DG_API void dg_store_get_info(const dg_store *store, dg_store_info *out);
DG_API const dg_book *dg_store_book(const dg_store *store);

/* The tensors of the store, by id; n_rows counts this partition's rows. Lent until one is created or
 * dropped. */
DG_API const dg_tensor_info *dg_store_tensors(const dg_store *store, size_t *n);

/*
 * Copies rows of a tensor into @out: out[i] is row rows[i] of this store, counted from 0. Repeats
 * are fine. @out has room for n * tensor->row_bytes bytes.
 *
 * Fails with RANGE (names the first bad row; nothing is promised of @out), CORRUPT (names the
 * rows of the damaged chunk), NOMEM.
 */
DG_API dg_status dg_store_gather(dg_store *store, const dg_tensor_info *tensor, const dg_id *rows,
				 size_t n, void *out, dg_error *err);

/*
 * Sets rows of a tensor: row rows[i] becomes the i-th row of @data; of equal rows the last wins.
 * Returns once the rows are on disk for good; all or none of them are.
 *
 * Fails with RANGE, INVALID (a system tensor), DENIED (opened read only), FULL (no space; nothing
 * changed), CORRUPT, IO (the store takes no more writes), NOMEM.
 */
DG_API dg_status dg_store_assign(dg_store *store, const dg_tensor_info *tensor, const dg_id *rows,
				 size_t n, const void *data, dg_error *err);

/*
 * Applies an operation to rows of a tensor: row rows[i] becomes row `operation` i-th row of @data, one
 * after the other, so that of equal rows each counts (of assignments the last). Otherwise as
 * dg_store_assign(), which is this with DG_OP_ASSIGN.
 */
DG_API dg_status dg_store_write(dg_store *store, const dg_tensor_info *tensor,
				dg_operation operation, const dg_id *rows, size_t n,
				const void *data, dg_error *err);
/*
 * The same to rows [first, first + n), each with the one row at @row. Many rows are changed in parts: one
 * that fails may have changed some, which its text says, and a process that dies in it leaves the
 * rest to the next one that opens the store to write.
 */
DG_API dg_status dg_store_fill(dg_store *store, const dg_tensor_info *tensor,
			       dg_operation operation, int64_t first, int64_t n, const void *row,
			       dg_error *err);

/*
 * Makes new tensors; several (at most 8) become one row group, of which the first is the first. All
 * of them are made or none, on disk when this returns, and in little time whatever their size: their rows hold
 * the initial value. Of each spec
 * - name, side, type, dtype, rank and shape are wanted; n_rows, row_bytes and group are set here;
 * - id 0 becomes one above every id that the store has ever had; chunk_pages, chunk_rows 0 are
 *   chosen by size; a zero uuid is drawn;
 * - a temporary tensor has an owner, and a name that ends in "_<owner>".
 * On success the specs are complete. A creation whose uuids have been seen before makes nothing: it
 * sets *@existed and gives what is there.
 *
 * Fails with INVALID, EXISTS (the name, or the id was used before), MISMATCH (the uuid has made something
 * else), NOTFOUND (no such type; or the uuid has made what was dropped since), DENIED (opened read only),
 * FULL (disk, or more than there may be), NOMEM, IO (the store takes no more writes).
 */
DG_API dg_status dg_store_create(dg_store *store, dg_tensor_spec *specs, size_t n, int *existed,
				 dg_error *err);
/* How a tensor was made; of one made with the store all but info is 0. Fails with NOTFOUND. */
DG_API dg_status dg_store_spec(const dg_store *store, const dg_tensor_info *tensor,
			       dg_tensor_spec *out, dg_error *err);
/*
 * Drops a tensor, with its row group if it is the first of one. It is gone for good when this returns;
 * the space of its rows is free for others soon, or after the next opening.
 * Fails with NOTFOUND, INVALID (a system tensor; not the first of its group), DENIED, FULL, NOMEM, IO.
 */
DG_API dg_status dg_store_drop(dg_store *store, const dg_tensor_info *tensor, dg_error *err);
/* Drops all temporary tensors of @owner; *@n says how many, groups counted once. As dg_store_drop(). */
DG_API dg_status dg_store_release(dg_store *store, const char *owner, size_t *n, dg_error *err);

/*
 * The structure arrays of one edge type, but for the last: of one node type. Offsets and lengths
 * count elements; each is int32 or int64.
 *
 * The halo is what a partition stores of the graph around it, as the cluster file's halo_hops says:
 * the nodes that are not its own (whose the book tells) but within reach along edges, and the edges
 * among them that were walked. With 0 hops there is none. In a local graph of a partition owned
 * nodes and edges come first, in order of their ids, then those of the halo.
 */
typedef enum dg_graph_array {
	/* CSC row pointers: one more than owned destination nodes, first 0. */
	DG_GRAPH_INDPTR = 1,
	/* CSC columns: source of each owned edge, type-wise over the whole graph.
	 * The edge at position i has type-wise id start + i, start being the owned range's. */
	DG_GRAPH_INDICES = 2,
	/* Edges that leave each owned source node, to any partition. */
	DG_GRAPH_OUT_DEGREES = 3,
	/* Row pointers of halo edges: one more than halo nodes of the destination's type, in their
	 * order. No elements where there are no halo edges of the type. */
	DG_GRAPH_HALO_INDPTR = 4,
	/* Source and id of each halo edge, both type-wise over the whole graph; ids ascend. */
	DG_GRAPH_HALO_INDICES = 5,
	DG_GRAPH_HALO_EDGES = 6,
	/* The halo nodes of a node type, type-wise over the whole graph, ascending. */
	DG_GRAPH_HALO_NODES = 7,
} dg_graph_array;

/*
 * Length and dtype (INT32 or INT64) of a structure array of edge type @etype, HALO_NODES: of the node
 * type with that number.
 * Fails with NOTFOUND, RANGE.
 */
DG_API dg_status dg_store_graph_array(const dg_store *store, uint16_t etype, dg_graph_array array,
				      dg_dtype *dtype, int64_t *n, dg_error *err);

/* Copies elements [first, first + n) of a structure array to @out. Fails with RANGE, CORRUPT. */
DG_API dg_status dg_store_graph_read(dg_store *store, uint16_t etype, dg_graph_array array,
				     int64_t first, int64_t n, void *out, dg_error *err);

/* One thing found by a check. */
typedef struct dg_finding {
	dg_status status;	       /* CORRUPT, MISMATCH, …; OK for a remark */
	char where[DG_KEY_TEXT_BYTES]; /* "tensors.mdb: node~_N~feat rows 0..126" */
	char what[DG_ERROR_TEXT_BYTES];
} dg_finding;

typedef struct dg_check_report {
	uint64_t pages;	  /* pages visited */
	uint64_t chunks;  /* checksums verified, chunks of tensors and of arrays */
	uint64_t bytes;	  /* payload bytes verified */
	uint64_t damaged; /* findings of a status other than OK */
} dg_check_report;

typedef void dg_finding_fn(void *context, const dg_finding *finding);

/*
 * Checks the store in directory @path without opening it for anybody: page structure, records,
 * catalogue; with @deep also every checksum and every structure array's invariants. Each finding
 * goes to @found as it is made; the check goes on if it can.
 *
 * Returns OK when the check ran to its end, whatever it found (see @report). Fails with NOTFOUND,
 * BUSY, IO, NOMEM.
 */
DG_API dg_status dg_store_check(const char *path, int deep, dg_finding_fn *found, void *context,
				dg_check_report *report, dg_error *err);

#ifdef __cplusplus
}
#endif

#endif
