/*
 * distgraph/book.h -- the partition book: a graph's types, and who owns which id.
 *
 * Nodes and edges are relabelled so that each partition owns one contiguous range of every type.
 * A *type-wise* id counts within one type over the whole graph; tensors are indexed by it. A
 * *homogeneous* id counts over all types, partition by partition, type by type (as in DGL's
 * partition JSON).
 *
 * A dg_book never changes after it is made. Threads: any thread. Ownership: books are lent by the
 * cluster, store or client they belong to, and die with it; only dg_book_new() gives one to free.
 *
 * Batches: ids are arrays of n, read only; arrays to fill have room for n and may be the ids' own
 * where they hold ids too. An id that the graph does not have is refused with RANGE and named,
 * never given to a partition; nothing is promised then of what was to be filled. Results are
 * pure functions of book and ids.
 */
#ifndef DISTGRAPH_BOOK_H
#define DISTGRAPH_BOOK_H

#include <distgraph/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dg_book dg_book;

/* In place of a type's number: all types of the side together, by homogeneous ids. */
#define DG_ALL_TYPES UINT16_MAX

/* A canonical edge type. Strings are lent by the book. */
typedef struct dg_edge_type {
	const char *src;      /* name of the source node type */
	const char *relation; /* its own name */
	const char *dst;      /* name of the destination node type */
	uint16_t src_type;
	uint16_t dst_type;
} dg_edge_type;

/* What dg_book_new() makes a book of; everything is copied. */
typedef struct dg_book_spec {
	uint32_t n_parts;
	uint16_t n_node_types;
	uint16_t n_edge_types;
	const char *const *node_types; /* plain names, by number */
	const struct dg_edge_type_spec {
		const char *src; /* plain names */
		const char *relation;
		const char *dst;
	} * edge_types;
	/* Homogeneous ranges, half open, as DGL's maps have them: of type t in partition p the two
	 * numbers from [(t * n_parts + p) * 2] on. */
	const dg_id *node_map;
	const dg_id *edge_map;
	dg_dtype node_map_dtype; /* INT32 or INT64 (or 0) */
	dg_dtype edge_map_dtype;
} dg_book_spec;

/*
 * Makes a book of ranges. Where they do not tile the ids, partition by partition, type by type,
 * which DGL's constructor accepts, questions that begin with a homogeneous id are refused with
 * INVALID. Fails with INVALID (a range that ends before it starts, names, types, limits; numbers
 * that the map's dtype does not hold), NOTFOUND (a node type of an edge type), NOMEM.
 */
DG_API dg_status dg_book_new(const dg_book_spec *spec, dg_book **out, dg_error *err);
DG_API void dg_book_free(dg_book *book);

DG_API uint32_t dg_book_n_parts(const dg_book *book);
DG_API uint16_t dg_book_n_node_types(const dg_book *book);
DG_API uint16_t dg_book_n_edge_types(const dg_book *book);

/* Lent; @type is below the count, else NULL. */
DG_API const char *dg_book_node_type(const dg_book *book, uint16_t type);
/* @type is below the count, else every field is NULL or 0. */
DG_API dg_edge_type dg_book_edge_type(const dg_book *book, uint16_t type);

/* Has it one node type and one edge type? */
DG_API int dg_book_is_homogeneous(const dg_book *book);

/* INT32 or INT64: what the maps of a side were written in, hence homogeneous ids in Python. */
DG_API dg_dtype dg_book_map_dtype(const dg_book *book, dg_side side);

/* The node type called @name, plain. Fails with NOTFOUND (the text lists some that there are). */
DG_API dg_status dg_book_find_node_type(const dg_book *book, const char *name, uint16_t *type,
					dg_error *err);
/*
 * The edge type meant by @text: "source:relation:destination", names escaped as in keys, or a
 * plain relation that only one edge type has. Fails with NOTFOUND, INVALID (several have it; the
 * text lists them).
 */
DG_API dg_status dg_book_find_edge_type(const dg_book *book, const char *text, uint16_t *type,
					dg_error *err);

/* Number of nodes or edges of one type, or of DG_ALL_TYPES, in the whole graph. */
DG_API int64_t dg_book_count(const dg_book *book, dg_side side, uint16_t type);

/*
 * The type-wise ids that @part owns: [*start, *end). @part is below the count, type too. For
 * DG_ALL_TYPES the homogeneous ids. (DGL: partid2nids, partid2eids; end - start is metadata()'s.)
 */
DG_API void dg_book_range(const dg_book *book, dg_side side, uint16_t type, uint32_t part,
			  dg_id *start, dg_id *end);

/* The homogeneous ids that @part owns of one type: [*start, *end). */
DG_API void dg_book_homogeneous_range(const dg_book *book, dg_side side, uint16_t type,
				      uint32_t part, dg_id *start, dg_id *end);

/*
 * Where the types of @part begin among its own nodes or edges, type by type: @out has room for one
 * number more than there are types; the first is 0, the last its count. (DGL: local_ntype_offset.)
 */
DG_API void dg_book_local_offsets(const dg_book *book, dg_side side, uint32_t part, int64_t *out);

/*
 * The partition that owns each id, and the id's place in its share: @parts or @locals may be NULL.
 * @ids are type-wise, or homogeneous for DG_ALL_TYPES. Fails with RANGE (names the first bad id),
 * NOTFOUND (no such type), INVALID. (DGL: nid2partid, nid2localnid.)
 */
DG_API dg_status dg_book_locate_ids(const dg_book *book, dg_side side, uint16_t type,
				    const dg_id *ids, size_t n, uint32_t *parts, dg_id *locals,
				    dg_error *err);

/*
 * The place of each id in the share of @part, which owns them all. Fails with RANGE (names the
 * first it does not own), NOTFOUND, INVALID.
 */
DG_API dg_status dg_book_to_local(const dg_book *book, dg_side side, uint16_t type, uint32_t part,
				  const dg_id *ids, size_t n, dg_id *locals, dg_error *err);

/* Homogeneous ids to types and type-wise ids. Fails with RANGE, INVALID. (DGL: map_to_per_ntype.) */
DG_API dg_status dg_book_to_per_type(const dg_book *book, dg_side side, const dg_id *ids, size_t n,
				     uint16_t *types, dg_id *out, dg_error *err);

/* Type-wise ids to homogeneous ones. Fails with RANGE, NOTFOUND. (DGL: map_to_homo_nid.) */
DG_API dg_status dg_book_to_homogeneous(const dg_book *book, dg_side side, uint16_t type,
					const dg_id *ids, size_t n, dg_id *out, dg_error *err);

/* --- Partition policies: what the rows of a tensor belong to, as text --- */

#define DG_POLICY_TEXT_BYTES 2400 /* with its NUL */

/*
 * Reads "node~T", "edge~src:rel:dst", the older "node:T" and "edge:rel", and the shorthands
 * "node" and "edge", which mean the only type of their side, or else "_N" and ("_N","_E","_N").
 * Names are escaped as in keys. Fails with INVALID (the form; a relation that several edge types
 * have), NOTFOUND (the type).
 */
DG_API dg_status dg_book_parse_policy(const dg_book *book, const char *text, dg_side *side,
				      uint16_t *type, dg_error *err);
/* Writes "node~T" or "edge~src:rel:dst"; an empty text where there is no such type. */
DG_API void dg_book_policy(const dg_book *book, dg_side side, uint16_t type,
			   char out[DG_POLICY_TEXT_BYTES]);
/*
 * The one policy whose size is @n_rows. Fails with INVALID where several fit (DGL's words, and the
 * policies) or none.
 */
DG_API dg_status dg_book_policy_by_length(const dg_book *book, int64_t n_rows, dg_side *side,
					  uint16_t *type, dg_error *err);
/*
 * Reads a tensor's full key, "<policy>~<name>" or the older "node:T:name", "edge:rel:name"; of the
 * name the plain form. Whether there is such a tensor is not asked. Fails as the policy does.
 */
DG_API dg_status dg_book_parse_key(const dg_book *book, const char *text, dg_side *side,
				   uint16_t *type, char name[DG_NAME_BYTES_MAX + 1], dg_error *err);

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
 * The name of a tensor as DGL's feature files have it, "<node type>/<name>" or
 * "<src>:<relation>:<dst>/<name>", names escaped as in keys. Which tensors there are says
 * dg_store_tensors(); those with DG_TENSOR_SYSTEM are no features.
 */
DG_API void dg_book_feature_key(const dg_book *book, const dg_tensor_info *tensor,
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
