/*
 * edge_sort.h -- the edges of one type relabelled and sorted, into files of the work directory.
 *
 * Edges are ordered by (internal id of the destination, original id), which orders them by owner,
 * for an edge belongs to its destination's. The order is made by counting: edges that fit the
 * memory given are put into their places at once, more of them go first into buckets on disk
 * (bucket_file.h), each a range of destinations that fits.
 */
#ifndef DGI_EDGE_SORT_H
#define DGI_EDGE_SORT_H

#include "progress.h"
#include "relabel.h"
#include "source.h"
#include "work.h"

/* What is sorted, and how. */
struct dgi_edge_sort {
	const struct dgi_source *source;
	uint16_t type;
	const struct dgi_node_order *sources;
	const struct dgi_node_order *destinations;
	uint32_t n_parts;
	bool halo;	 /* also the edges that leave each partition */
	uint64_t memory; /* beside the node orders and owners */
};

/* An edge as seen from its source's partition, which is not its owner. Columns: internal ids. */
enum { DGI_OUT_EDGE, DGI_OUT_SRC, DGI_OUT_DST, DGI_OUT_COLUMNS };

/* The sorted edges, mapped. */
struct dgi_edge_order {
	int64_t n;
	int64_t cut; /* edges whose ends have different owners */
	int64_t largest_out_degree;
	int64_t *start;		    /* n_parts + 1: of each partition's range */
	struct dgi_ids indptr;	    /* destinations + 1: in-edges of node v are [v], [v + 1] */
	struct dgi_ids indices;	    /* by internal edge id: internal id of the source */
	struct dgi_ids out_degrees; /* by internal id of the source */
	struct dgi_ids original;    /* by internal id */
	struct dgi_ids internal;    /* by original id */
	/*
	 * With halo: the edges that leave a partition, by it and then by edge id; DGI_OUT_COLUMNS
	 * numbers each.
	 */
	struct dgi_ids out;
	int64_t *out_start; /* n_parts + 1, in edges */
};

/* Memory that sorting takes at least, beside node orders and owners. */
uint64_t dgi_edge_sort_bytes_min(int64_t n_src, int64_t n_dst, uint32_t n_parts);

/* Is it sorted already, as the work directory says? Else sorts. Fails as its parts do. */
dg_status dgi_edge_sort(const struct dgi_edge_sort *sort, struct dgi_work *work,
			struct dgi_progress *progress, dg_error *err);

/* Maps what was sorted. Gives an order to clear. */
dg_status dgi_edge_order_open(const struct dgi_edge_sort *sort, const struct dgi_work *work,
			      struct dgi_edge_order *out, dg_error *err);
/* Accepts a zero order. */
void dgi_edge_order_clear(struct dgi_edge_order *order);

/* The destination of an edge. */
dg_id dgi_edge_order_destination(const struct dgi_edge_order *order, dg_id edge);

#endif
