/*
 * cluster.h -- writing the cluster file, decoding its bytes; see <distgraph/cluster.h>.
 */
#ifndef DGI_CLUSTER_H
#define DGI_CLUSTER_H

#include <distgraph/cluster.h>

struct dgi_cluster_spec {
	const char *graph_name;
	const char *part_method;
	dg_uuid cluster_uuid;
	uint32_t halo_hops;
	const dg_book *book;
};

/* Writes "<directory>/<graph_name>.json" durably. Partition p lies in "part<p>". */
dg_status dgi_cluster_write(const char *directory, const struct dgi_cluster_spec *spec,
			    dg_error *err);

/* Decodes the text of a cluster file that lies in @directory. Fails with INVALID, NOMEM. */
dg_status dgi_cluster_decode(const char *text, size_t n, const char *directory, dg_cluster **out,
			     dg_error *err);

#endif
