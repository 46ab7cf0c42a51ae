/*
 * distgraph/input.h -- the files a graph is read from: formats, types, ids, data (docs/inputs.md).
 *
 * Plain data, lent by the caller for the length of a call. Zero is the default of every field that
 * does not say otherwise.
 */
#ifndef DISTGRAPH_INPUT_H
#define DISTGRAPH_INPUT_H

#include <distgraph/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum dg_input_format {
	DG_INPUT_AUTO = 0, /* by the file's name and contents */
	DG_INPUT_TEXT,	   /* CSV, TSV, blanks: a source and a destination a line */
	DG_INPUT_NPY,	   /* integers of shape (E,2), (2,E), or (E,3): head, relation, tail */
	DG_INPUT_TRIPLES,  /* text: head, relation, tail a line */
	DG_INPUT_MTX,	   /* MatrixMarket, coordinate */
	DG_INPUT_METIS,	   /* METIS graph: a node's neighbours a line */
	DG_INPUT_CHUNKED,  /* DGL's chunked graph: metadata.json or its directory */
} dg_input_format;

/* What the input calls a node. */
typedef enum dg_input_ids {
	/* Text: numbers where the first edge has numbers, else strings; with a list of ids, what the
	 * list holds. Other formats: numbers. */
	DG_INPUT_IDS_AUTO = 0,
	DG_INPUT_IDS_NUMBERS,  /* by its original number, from 0, as few gaps as may be */
	DG_INPUT_IDS_INTEGERS, /* any integers, numbered in the order they come */
	DG_INPUT_IDS_STRINGS,  /* any text, numbered in the order it comes */
} dg_input_ids;

/* What is known of a node type before its edges. Types are numbered in the order they are named. */
typedef struct dg_input_nodes {
	const char *type; /* NULL: "_N" */
	int64_t count;	  /* -1: not told */
	/* NULL, or the outside ids in the order of original numbers: text with an id a line, CSV
	 * with one in @column, or .npy of integers. */
	const char *path;
	const char *column;
	dg_input_ids ids; /* how edges name these nodes; AUTO: as dg_graph_input says */
} dg_input_nodes;

typedef struct dg_input_edges {
	/* "src:relation:dst", NULL: "_N:_E:_N". Relation "*": those of the triples in the file. */
	const char *type;
	const char *path; /* a type's files are read one after the other */
} dg_input_edges;

/* A tensor: one row per node or edge, in the order of original numbers. */
typedef struct dg_input_data {
	const char
		*type; /* NULL: the only type of its side; edges: the relation does where unique */
	const char *name;
	const char *path;   /* .npy; several entries of one name are one after the other */
	const char *column; /* NULL, or the file is text and this its column: a name or 1, 2, … */
	dg_dtype dtype;	    /* of a column; 0: float32 */
	int bfloat16;	    /* non-zero: the file's uint16 ("<u2") are the bits of bfloat16 */
} dg_input_data;

typedef struct dg_graph_input {
	const dg_input_edges *edges;
	size_t n_edges;
	const dg_input_nodes *nodes;
	size_t n_nodes;
	const dg_input_data *node_data;
	size_t n_node_data;
	const dg_input_data *edge_data;
	size_t n_edge_data;

	dg_input_format format; /* of every file of edges */
	dg_input_ids ids;	/* of every node type that does not say */
	char delimiter; /* of text; 0: comma, semicolon, tab or blanks, as the first edge has */
	int header;	/* of text; 1: the first line is one, -1: it is not, 0: by its looks */
	/* NULL: "1,2", triples "1,2,3". Columns of source and destination, or head, relation and
	 * tail: numbers from 1, or names that the header has. */
	const char *columns;
	const char *relations; /* NULL, or a file with the name of relation number i in line i */
} dg_graph_input;

#ifdef __cplusplus
}
#endif

#endif
