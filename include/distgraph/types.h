/*
 * distgraph/types.h -- ids, element types, tensor descriptions, and every limit by name.
 *
 * Threads: any thread; all of it is plain data.
 */
#ifndef DISTGRAPH_TYPES_H
#define DISTGRAPH_TYPES_H

#include <distgraph/error.h>

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Node and edge ids. Signed, so that an array library's int64 array is passed as it is. */
typedef int64_t dg_id;

typedef struct dg_uuid {
	uint8_t bytes[16];
} dg_uuid;

#define DG_UUID_TEXT_BYTES 37 /* "8-4-4-4-12" hex digits and a NUL */

/* Limits. A value above its limit is refused before anything is allocated for it. */
#define DG_NAME_BYTES_MAX 255	 /* a type or tensor name, without its NUL */
#define DG_KEY_TEXT_BYTES 3200	 /* a full tensor key, escaped, with its NUL */
#define DG_RANK_MAX 8		 /* dimensions of one row; the row axis not counted */
#define DG_ROW_BYTES_MAX 1048512 /* 1 MiB less the 64 bytes before a chunk's first row */
#define DG_PARTS_MAX 4096	 /* partitions of a graph */
#define DG_NODE_TYPES_MAX 4096	 /* node types of a graph */
#define DG_EDGE_TYPES_MAX 65535	 /* edge types of a graph */
#define DG_TENSORS_MAX 65536	 /* tensors of a store */
#define DG_PATH_BYTES_MAX 4096

/* Numbers are stored on disk and sent on the wire: never reused. */
#define DG_DTYPE_MAP(X) \
	X(BOOL, 1, "bool", 1) \
	X(INT8, 2, "int8", 1) \
	X(INT16, 3, "int16", 2) \
	X(INT32, 4, "int32", 4) \
	X(INT64, 5, "int64", 8) \
	X(UINT8, 6, "uint8", 1) \
	X(FLOAT16, 7, "float16", 2) \
	X(BFLOAT16, 8, "bfloat16", 2) \
	X(FLOAT32, 9, "float32", 4) \
	X(FLOAT64, 10, "float64", 8)

typedef enum dg_dtype {
#define DG_DTYPE_ENUM(name, number, text, bytes) DG_##name = number,
	DG_DTYPE_MAP(DG_DTYPE_ENUM)
#undef DG_DTYPE_ENUM
} dg_dtype;

/* Bytes of one element; 0 for a number that is no dtype. */
DG_API size_t dg_dtype_bytes(dg_dtype dtype);
/* "float32", …; "?" for a number that is no dtype. */
DG_API const char *dg_dtype_name(dg_dtype dtype);
/* The dtype called @name. Fails with INVALID. */
DG_API dg_status dg_dtype_parse(const char *name, dg_dtype *out, dg_error *err);

/* What the rows of a tensor belong to. */
typedef enum dg_side {
	DG_NODE = 0,
	DG_EDGE = 1,
} dg_side;

/*
 * How the rows of a tensor are numbered. INTERNAL is the rule: relabelled type-wise ids, cut into
 * one contiguous range per partition. ORIGINAL rows follow the caller's own ids, cut evenly
 * (partition p of P owns [n*p/P, n*(p+1)/P)); the id translation tables are stored so.
 */
typedef enum dg_numbering {
	DG_INTERNAL = 0,
	DG_ORIGINAL = 1,
} dg_numbering;

/* When a push is acknowledged (docs/consistency.md). */
typedef enum dg_durability {
	DG_DURABLE_COMMIT = 0,	 /* once it is on disk */
	DG_DURABLE_INTERVAL = 1, /* once applied; on disk within interval_ms */
	DG_DURABLE_MEMORY = 2,	 /* once applied; initialised anew at restart */
} dg_durability;

/*
 * What a push does to a row, element by element, from the old element and the operand (docs/format.md,
 * section 12, says how each dtype is computed). Numbers are stored on disk and sent on the wire:
 * never reused.
 */
typedef enum dg_operation {
	DG_OP_ASSIGN = 1,
	DG_OP_ADD = 2,
	DG_OP_MIN = 3,
	DG_OP_MAX = 4,
	DG_OP_MULTIPLY = 5,
} dg_operation;

/* What a tensor is. Its full key, "node~_N~feat", is made by dg_book_tensor_key(). */
typedef struct dg_tensor_info {
	uint32_t id;			  /* the same in every partition, never reused */
	char name[DG_NAME_BYTES_MAX + 1]; /* bare name, UTF-8 */
	dg_side side;
	uint16_t type; /* number of the node or edge type */
	dg_numbering numbering;
	dg_dtype dtype;
	uint32_t rank;		    /* dimensions of a row: 0 for a scalar per row */
	int64_t shape[DG_RANK_MAX]; /* of a row, in elements; each >= 1 */
	int64_t n_rows;		    /* in this partition (store) or in the graph (client) */
	uint32_t row_bytes;	    /* product of shape times element bytes */
	uint32_t chunk_pages;	    /* 4 KiB pages of a chunk */
	uint32_t chunk_rows;	    /* rows of every chunk but the last */
	/* Tensors that are changed together, such as an embedding and its optimizer state, form a
	 * *row group*: id of the first of them, which is below the others; 0: none. They have the same
	 * rows, cut alike. */
	uint32_t group;
	dg_durability durability;
	uint32_t interval_ms; /* DG_DURABLE_INTERVAL only, else 0 */
	uint32_t flags;	      /* DG_TENSOR_* */
} dg_tensor_info;

/* How long a tensor lives. */
typedef enum dg_lifetime {
	DG_PERSISTENT = 0, /* until it is dropped */
	DG_TEMPORARY = 1,  /* until its owner, a group of processes, releases it */
} dg_lifetime;

/* All that makes a new tensor; the same in every partition, but for its number of rows. */
typedef struct dg_tensor_spec {
	dg_tensor_info info;
	dg_uuid uuid; /* of this creation: one that is asked for again makes nothing */
	dg_lifetime lifetime;
	char owner[DG_NAME_BYTES_MAX + 1]; /* of a temporary tensor; else "" */
	uint64_t seed;			   /* kept for whoever initialises its rows */
	uint8_t value[8]; /* each element before the first push, as its dtype has it; then zeros */
} dg_tensor_spec;

#define DG_TENSOR_SYSTEM 1U /* kept by the store itself, such as the id tables; refuses pushes */

/* The id tables of every node and edge type: tensors of one integer a row, numbering as told. */
#define DG_TENSOR_ORIGINAL_ID "_ORIGINAL_ID" /* INTERNAL row i: the caller's id */
#define DG_TENSOR_INTERNAL_ID "_INTERNAL_ID" /* ORIGINAL row i: the relabelled type-wise id */

/* Frees what a function of this library says it gives as an array. NULL is fine. */
DG_API void dg_free(void *memory);

#ifdef __cplusplus
}
#endif

#endif
