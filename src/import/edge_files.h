/*
 * edge_files.h -- the edges of one file, by its format, into a graph being gathered.
 *
 * All fail with INVALID, RANGE, NOTFOUND, UNSUPPORTED (file and line or row, what was found and what
 * was wanted), CANCELLED, IO, FULL, NOMEM.
 */
#ifndef DGI_EDGE_FILES_H
#define DGI_EDGE_FILES_H

#include "gather.h"
#include "lines.h"

#define DGI_EDGE_BATCH 8192

/* What the caller says of a file. */
struct dgi_edge_file {
	const char *path;
	const char *type; /* "src:relation:dst", or NULL */
	dg_input_format format;
	char delimiter;
	int header;
	const char *columns;
	int64_t n; /* edges wanted; -1: not told */
};

/* What holds for all of them. */
struct dgi_edge_rules {
	dg_input_ids ids;		    /* of node types that do not say */
	const struct dgi_id_map *relations; /* names by number; NULL: not told */
};

/* --- One format each --- */

dg_status dgi_edges_from_text(struct dgi_gather *g, const struct dgi_edge_file *file,
			      const struct dgi_edge_rules *rules, struct dgi_lines *lines,
			      dg_error *err);
/* Begins behind the first @n bytes, which have been read. Opens the file again where need be. */
dg_status dgi_edges_from_npy(struct dgi_gather *g, const struct dgi_edge_file *file,
			     const struct dgi_edge_rules *rules, struct dgi_input *in,
			     const void *first, size_t n, struct dgi_progress *progress,
			     dg_error *err);
dg_status dgi_edges_from_mtx(struct dgi_gather *g, const struct dgi_edge_file *file,
			     const struct dgi_edge_rules *rules, struct dgi_lines *lines,
			     dg_error *err);
dg_status dgi_edges_from_metis(struct dgi_gather *g, const struct dgi_edge_file *file,
			       const struct dgi_edge_rules *rules, struct dgi_lines *lines,
			       dg_error *err);

/* --- What they share (edge_files.c) --- */

/* The ends' types of a file: those of its type, else "_N". */
dg_status dgi_edge_file_ends(struct dgi_gather *g, const struct dgi_edge_file *file, uint16_t *src,
			     uint16_t *dst, dg_error *err);
/* The type of a file without relations of its own. */
dg_status dgi_edge_file_type(struct dgi_gather *g, const struct dgi_edge_file *file, uint16_t *type,
			     dg_error *err);
/* Is "*" where the relation stands? */
bool dgi_edge_file_is_triples(const struct dgi_edge_file *file);
/*
 * Settles how edges name the nodes of a type, if it is not settled; @found is how the file does
 * where nobody said. Fails with INVALID (cannot be with the list of ids).
 */
dg_status dgi_settle_ids(struct dgi_gather_nodes *nodes, dg_input_ids told, dg_input_ids found,
			 dg_error *err);
/*
 * The file itself says that there are @n nodes of a type, and names them by number. Fails with
 * MISMATCH, INVALID.
 */
dg_status dgi_tell_count(struct dgi_gather_nodes *nodes, int64_t n, const char *path,
			 dg_error *err);
/* The relation that a file of triples calls by number. Fails with RANGE, INVALID. */
dg_status dgi_relation_number(struct dgi_gather *g, const struct dgi_edge_rules *rules,
			      uint16_t src, int64_t number, uint16_t dst, uint16_t *type,
			      dg_error *err);

/* Reads a file in whatever format it is. */
dg_status dgi_edge_file_read(struct dgi_gather *g, const struct dgi_edge_file *file,
			     const struct dgi_edge_rules *rules, struct dgi_progress *progress,
			     dg_error *err);

#endif
