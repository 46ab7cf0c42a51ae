/*
 * distgraph/book.h -- the partition book: a graph's types, and who owns which id.
 *
 * Nodes and edges are relabelled so that each partition owns one contiguous range of every type.
 * A *type-wise* id counts within one type over the whole graph; tensors are indexed by it. A
 * *homogeneous* id counts over all types, partition by partition, type by type (as in DGL's
 * partition JSON).
 *
 * A dg_book never changes after it is made. Threads: any thread. Ownership: books are lent by the
 * cluster, store or client they belong to, and die with it.
 */
#ifndef DISTGRAPH_BOOK_H
#define DISTGRAPH_BOOK_H

#include <distgraph/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dg_book dg_book;

/* A canonical edge type. Strings are lent by the book. */
typedef struct dg_edge_type {
	const char *src;      /* name of the source node type */
	const char *relation; /* its own name */
	const char *dst;      /* name of the destination node type */
	uint16_t src_type;
	uint16_t dst_type;
} dg_edge_type;

DG_API uint32_t dg_book_n_parts(const dg_book *book);
DG_API uint16_t dg_book_n_node_types(const dg_book *book);
DG_API uint16_t dg_book_n_edge_types(const dg_book *book);

/* Lent; @type is below the count, else NULL. */
DG_API const char *dg_book_node_type(const dg_book *book, uint16_t type);
/* @type is below the count, else every field is NULL or 0. */
DG_API dg_edge_type dg_book_edge_type(const dg_book *book, uint16_t type);

/* Number of nodes or edges of one type in the whole graph. */
DG_API int64_t dg_book_count(const dg_book *book, dg_side side, uint16_t type);

/* The type-wise ids that @part owns: [*start, *end). @part is below the count, type too. */
DG_API void dg_book_range(const dg_book *book, dg_side side, uint16_t type, uint32_t part,
			  dg_id *start, dg_id *end);

/* The homogeneous ids that @part owns of one type: [*start, *end). */
DG_API void dg_book_homogeneous_range(const dg_book *book, dg_side side, uint16_t type,
				      uint32_t part, dg_id *start, dg_id *end);

/*
 * The owner of row @row of a tensor and the row's place in the owner's share, by the tensor's
 * numbering. Fails with RANGE where the graph has no such row.
 */
DG_API dg_status dg_book_locate(const dg_book *book, const dg_tensor_info *tensor, dg_id row,
				uint32_t *part, int64_t *local, dg_error *err);

/* The rows of a tensor that @part owns, by the tensor's numbering: [*start, *end). */
DG_API void dg_book_tensor_range(const dg_book *book, const dg_tensor_info *tensor, uint32_t part,
				 dg_id *start, dg_id *end);

/*
 * Writes the full key of a tensor, "node~<type>~<name>" or "edge~<src>:<relation>:<dst>~<name>",
 * into @out. The bytes ~ : / % of names are written %7E %3A %2F %25.
 */
DG_API void dg_book_tensor_key(const dg_book *book, const dg_tensor_info *tensor,
			       char out[DG_KEY_TEXT_BYTES]);

/*
 * Which of @tensors is meant by @text: a full key, a bare name that only one of them has, or
 * "<type>/<name>". DGL's older form with ':' in place of '~' is understood too. System tensors
 * are found by full key only. Sets *@index.
 *
 * Fails with NOTFOUND (the text lists close names), INVALID (ambiguous; the text lists the keys).
 */
DG_API dg_status dg_book_find_tensor(const dg_book *book, const dg_tensor_info *tensors,
				     size_t n_tensors, const char *text, size_t *index,
				     dg_error *err);

#ifdef __cplusplus
}
#endif

#endif
