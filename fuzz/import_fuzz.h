/* import_fuzz.h -- what the targets of the importer's decoders share. */
#ifndef IMPORT_FUZZ_H
#define IMPORT_FUZZ_H

#include "edge_files.h"

#include <stdlib.h>
#include <string.h>

typedef dg_status read_fn(struct dgi_gather *g, const struct dgi_edge_file *file,
			  const struct dgi_edge_rules *rules, struct dgi_lines *lines,
			  dg_error *err);

/* Every edge held is between nodes there are. */
static inline void check_ids(const struct dgi_gather *g)
{
	for (size_t t = 0; t < g->n_edges; t++) {
		const struct dgi_gather_edges *e = &g->edges[t];
		const struct dgi_gather_nodes *ends[] = { &g->nodes[e->src], &g->nodes[e->dst] };

		for (size_t i = 0; i < 2 * e->n_held; i++) {
			const struct dgi_gather_nodes *nodes = ends[i % 2];
			int64_t n = nodes->ids == DG_INPUT_IDS_NUMBERS ? nodes->largest + 1
								       : nodes->map.n;

			if (nodes->n >= 0 && n < nodes->n)
				n = nodes->n;
			if (e->held[i] >= (uint64_t)n)
				abort();
		}
	}
}

/* Reads the bytes in pieces of @piece; gives the status, and the gathered graph to clear. */
static inline dg_status read_pieces(read_fn *read, const struct dgi_edge_file *file,
				    const uint8_t *data, size_t n, size_t piece,
				    struct dgi_gather *g)
{
	const struct dgi_edge_rules rules = { 0 };
	struct dgi_lines lines;
	dg_status st;

	if (dgi_gather_begin("/nowhere", g, NULL) || dgi_lines_of(data, n, piece, &lines, NULL))
		exit(1);
	st = read(g, file, &rules, &lines, NULL);
	check_ids(g);
	dgi_lines_end(&lines);
	return st;
}

/* In one piece or in many: the same edges or the same refusal. */
static inline void read_both_ways(read_fn *read, const struct dgi_edge_file *file,
				  const uint8_t *data, size_t n)
{
	struct dgi_gather a, b;

	if (read_pieces(read, file, data, n, (size_t)1 << 20, &a) !=
	    read_pieces(read, file, data, n, 7, &b))
		abort();
	if (a.n_edges != b.n_edges || a.n_nodes != b.n_nodes)
		abort();
	for (size_t t = 0; t < a.n_edges; t++)
		if (a.edges[t].n != b.edges[t].n || a.edges[t].n_held != b.edges[t].n_held ||
		    (a.edges[t].n_held &&
		     memcmp(a.edges[t].held, b.edges[t].held, a.edges[t].n_held * 16) != 0))
			abort();
	dgi_gather_clear(&a);
	dgi_gather_clear(&b);
}

#endif
