/*
 * cluster.h -- the cluster file from inside: its bytes, and what is read from it; see
 * <distgraph/cluster.h>.
 */
#ifndef DGI_CLUSTER_H
#define DGI_CLUSTER_H

#include <distgraph/cluster.h>

/* A longer file is neither written nor read. */
#define DGI_CLUSTER_BYTES_MAX (128U << 20)

struct dg_cluster {
	char *graph_name;
	char *part_method;
	dg_uuid uuid; /* zero in a file that is not ours */
	uint32_t halo_hops;
	dg_book *book;
	uint32_t n_parts;
	struct dgi_cluster_part {
		char *path; /* of its store */
		char **addresses;
		size_t n_addresses;
	} * parts;
};

struct dgi_cluster_spec {
	const char *graph_name;
	const char *part_method;
	dg_uuid cluster_uuid;
	uint32_t halo_hops;
	const dg_book *book;
};

/* Gives the text of a cluster file, to be freed. Fails with INVALID, NOMEM. */
dg_status dgi_cluster_encode(const struct dgi_cluster_spec *spec, char **out, size_t *n,
			     dg_error *err);

/* Writes "<directory>/<graph_name>.json" durably. Partition p lies in "part<p>". */
dg_status dgi_cluster_write(const char *directory, const struct dgi_cluster_spec *spec,
			    dg_error *err);

/*
 * Decodes the text of a cluster file that lies in @directory. Fails with INVALID, VERSION, NOMEM.
 */
dg_status dgi_cluster_decode(const char *text, size_t n, const char *directory, dg_cluster **out,
			     dg_error *err);

#endif
