/* graph_fixture.h -- a small partitioned graph on disk, for the tests of store and client. */
#ifndef DGI_GRAPH_FIXTURE_H
#define DGI_GRAPH_FIXTURE_H

#include <distgraph/types.h>

/* A ring: node v has one edge, number v, from node v + 1. Partitions own 10, 14 and 7 of them. */
#define GRAPH_FIXTURE_PARTS 3
#define GRAPH_FIXTURE_NODES 31
#define GRAPH_FIXTURE_TENSORS 7
#define GRAPH_FIXTURE_FEAT_WIDTH 4

/* Makes "<dir>/g.json" and the stores "<dir>/part<p>". */
dg_status graph_fixture_make(const char *dir);
/* Makes the cluster file only, with a cluster UUID that begins with @mark (the other's with 9). */
dg_status graph_fixture_make_cluster(const char *dir, uint8_t mark);
/* Makes a store whose tensor has more rows than its book says. */
dg_status graph_fixture_make_strange(const char *path);

/* What element @column of row @row of tensor "feat" is at first. */
float graph_fixture_feat(dg_id row, int column);
/* The caller's id of a relabelled node or edge. */
dg_id graph_fixture_original(dg_id internal);

#endif
