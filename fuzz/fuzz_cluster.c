/* Any bytes: decode or refuse, never crash; what decodes is written and read again as the same. */
#include "book.h"
#include "cluster.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static int is_same(const dg_cluster *a, const dg_cluster *b)
{
	return strcmp(a->graph_name, b->graph_name) == 0 &&
	       strcmp(a->part_method, b->part_method) == 0 && a->halo_hops == b->halo_hops &&
	       a->n_parts == b->n_parts && dgi_book_equal(a->book, b->book) &&
	       dg_book_map_dtype(a->book, DG_NODE) == dg_book_map_dtype(b->book, DG_NODE) &&
	       dg_book_map_dtype(a->book, DG_EDGE) == dg_book_map_dtype(b->book, DG_EDGE);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct dgi_cluster_spec spec = { .cluster_uuid = { { 1 } } };
	dg_cluster *cluster, *again;
	dg_error err;
	char *text;

	if (dgi_cluster_decode((const char *)data, n, "dir", &cluster, &err) != DG_OK)
		return 0;
	spec.graph_name = cluster->graph_name;
	spec.part_method = cluster->part_method;
	spec.halo_hops = cluster->halo_hops;
	spec.book = cluster->book;
	if (dgi_cluster_encode(&spec, &text, &n, &err) != DG_OK ||
	    dgi_cluster_decode(text, n, "dir", &again, &err) != DG_OK || !is_same(cluster, again))
		abort();
	free(text);
	dg_cluster_close(again);
	dg_cluster_close(cluster);
	return 0;
}
