/*
 * source.h -- a graph as the importer leaves it for the cut: its types, and edges, data and outside
 * ids as plain files that can be read again and again.
 *
 * Ids are *original* numbers: type-wise, from 0, below the count of their type. The original number
 * of an edge is its place in its type's file. What the importer made lies below one work directory;
 * what it found fit for use stays where it is.
 *
 * Threads: a source is plain data; readers and writers are for one thread at a time.
 */
#ifndef DGI_SOURCE_H
#define DGI_SOURCE_H

#include <distgraph/types.h>

#include <stdbool.h>

/* What the caller called the nodes of a type, where that is not their number. */
enum dgi_outside_ids {
	DGI_IDS_ARE_NUMBERS, /* nothing is kept */
	DGI_IDS_INTEGERS,    /* file of n int64, by original number; distinct */
	DGI_IDS_STRINGS, /* file of n + 1 u64 offsets, then the bytes (UTF-8) they cut; distinct */
};

/* Strings and arrays belong to the source they are in: dgi_source_clear() frees them. */
struct dgi_source_nodes {
	char name[DG_NAME_BYTES_MAX + 1];
	int64_t n;
	enum dgi_outside_ids ids;
	char *ids_path; /* NULL where ids are numbers */
};

struct dgi_source_edges {
	uint16_t src_type, dst_type;
	char relation[DG_NAME_BYTES_MAX + 1];
	int64_t n;
	char *path;	   /* n pairs (source, destination), little-endian, without a gap */
	uint64_t offset;   /* of the first pair in the file */
	uint32_t id_bytes; /* of one id: 4 (unsigned) or 8 */
};

/* One tensor of the caller's. */
struct dgi_source_data {
	dg_tensor_info info; /* side, type, name, dtype, rank, shape, row_bytes; the rest is 0 */
	char **paths;	     /* plain .npy files in C order; their rows, one after the other */
	size_t n_paths;
};

struct dgi_source {
	struct dgi_source_nodes *nodes; /* by node type */
	uint16_t n_node_types;
	struct dgi_source_edges *edges; /* by edge type */
	uint16_t n_edge_types;
	struct dgi_source_data *data; /* no two of one side and type have the same name */
	size_t n_data;
};

/* Accepts a zero source and half-made ones. */
void dgi_source_clear(struct dgi_source *source);

/* Nodes or edges of one type, which there is. */
int64_t dgi_source_count(const struct dgi_source *source, dg_side side, uint16_t type);

/* "src:relation:dst", for messages. */
#define DGI_EDGE_TYPE_TEXT_BYTES (3 * (DG_NAME_BYTES_MAX + 1))
void dgi_source_edge_type_text(const struct dgi_source *source, uint16_t type,
			       char out[DGI_EDGE_TYPE_TEXT_BYTES]);

/* --- Kept, so that interrupted work goes on (source_json.c) --- */

/*
 * Writes "source.json" into the directory @work; until it is there, the import is not finished.
 * Paths below @work, as they begin with it, are kept relative to it, others made absolute. Fails
 * with IO, FULL, NOMEM.
 */
dg_status dgi_source_save(const struct dgi_source *source, const char *work, dg_error *err);
/* Fails with NOTFOUND (there is none), INVALID (damaged), IO, NOMEM. Gives a source to clear. */
dg_status dgi_source_load(const char *work, struct dgi_source *out, dg_error *err);

/* The bytes of the file. */
dg_status dgi_source_encode(const struct dgi_source *source, const char *work, char **out,
			    size_t *n, dg_error *err);
dg_status dgi_source_decode(const char *text, size_t n, const char *work, struct dgi_source *out,
			    dg_error *err);

/* --- Reading the edges of one type, in order, any number of times (edge_file.c) --- */

#define DGI_EDGE_BLOCK 65536

struct dgi_edge_reader; /* O(1) memory */

/*
 * Begins with edge @first, 0 to n. Fails with INVALID (the file is shorter than it was), IO,
 * NOTFOUND, NOMEM. The source is only read, but must outlive the reader.
 */
dg_status dgi_edge_reader_open(const struct dgi_source *source, uint16_t edge_type, int64_t first,
			       struct dgi_edge_reader **out, dg_error *err);
/*
 * The next edges, at most DGI_EDGE_BLOCK of them, lent until the next call; *n is 0 at the end.
 * Every id is below the count of its type: else fails with RANGE. Fails with IO, INVALID.
 */
dg_status dgi_edge_reader_next(struct dgi_edge_reader *reader, const dg_id **src, const dg_id **dst,
			       size_t *n, dg_error *err);
/* NULL is fine. */
void dgi_edge_reader_close(struct dgi_edge_reader *reader);

/* --- Writing them --- */

struct dgi_edge_writer;

/* 4 where ids below @n_src and @n_dst fit, else 8. */
uint32_t dgi_edge_id_bytes(int64_t n_src, int64_t n_dst);

/* Makes or overwrites @path. Fails with IO, FULL, DENIED, NOMEM. */
dg_status dgi_edge_writer_open(const char *path, uint32_t id_bytes, struct dgi_edge_writer **out,
			       dg_error *err);
/* Ids are 0 or more and fit: else fails with RANGE. Fails with IO, FULL. */
dg_status dgi_edge_writer_append(struct dgi_edge_writer *writer, const dg_id *src, const dg_id *dst,
				 size_t n, dg_error *err);
/* With @keep makes the file durable, else removes it. Frees the writer in any case. NULL is fine. */
dg_status dgi_edge_writer_close(struct dgi_edge_writer *writer, bool keep, dg_error *err);

#endif
