/*
 * edges.h -- edge lists read from files: text (CSV, TSV, blanks; plain or gzip) and .npy.
 *
 * Text: one edge a line, source and destination first; further columns are ignored but must be as
 * many on each line. The separator (comma, semicolon, or blanks) is that of the first edge. A first
 * line that does not begin with a number is a header; empty lines and those that begin with # or %
 * are comments. Lines end with LF or CR LF.
 *
 * .npy: integers of shape (E,2) or (2,E), in C or Fortran order; (2,2) is taken as (E,2).
 */
#ifndef DGI_EDGES_H
#define DGI_EDGES_H

#include "buffer.h"
#include "input.h"

#include <distgraph/types.h>

struct dgi_edges {
	struct dgi_buffer src; /* of dg_id */
	struct dgi_buffer dst;
	int64_t n;
	dg_id largest; /* id seen; -1 while there is none */
};

struct dgi_edges dgi_edges_none(void);
void dgi_edges_clear(struct dgi_edges *edges);
const dg_id *dgi_edges_src(const struct dgi_edges *edges);
const dg_id *dgi_edges_dst(const struct dgi_edges *edges);

/*
 * Appends the edges of a file. Ids must be below @n_nodes; 0 knows no limit, and then a file
 * without any edge is refused as empty.
 *
 * Fails with NOTFOUND, INVALID (names file, line or row, what was found and wanted), RANGE (a
 * negative or too large id), UNSUPPORTED, CANCELLED, IO, NOMEM.
 */
dg_status dgi_edges_read(struct dgi_edges *edges, const char *path, int64_t n_nodes,
			 struct dgi_progress *progress, dg_error *err);

/* --- Text (edge_text.c) --- */

/* Longer lines are refused. */
#define DGI_EDGE_LINE_BYTES_MAX (64 << 10)

/* What the first lines have told. Begin with zeros but for edges, name and n_nodes. */
struct dgi_edge_text {
	struct dgi_edges *edges;
	const char *name; /* of the file, for messages */
	int64_t n_nodes;
	uint64_t line;	    /* lines read */
	uint64_t n_columns; /* of the first edge; 0 before it */
	char separator;	    /* ',' or ';', else ' ' for blanks */
	bool begun;	    /* a header may no longer come */
};

/* Reads the @n bytes at @data, whole lines: the last byte is a newline. Fails as above. */
dg_status dgi_edge_text_parse(struct dgi_edge_text *text, const char *data, size_t n,
			      dg_error *err);

#endif
