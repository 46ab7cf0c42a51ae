/*
 * store.c -- read a partition without a server: its tensors, and how its nodes are connected.
 *
 *   ./example_store karate/part0
 */
#include <distgraph/distgraph.h>

#include <inttypes.h>
#include <stdio.h>

static void list_tensors(const dg_store *store)
{
	size_t n;
	const dg_tensor_info *tensors = dg_store_tensors(store, &n);
	char key[DG_KEY_TEXT_BYTES];

	for (size_t i = 0; i < n; i++) {
		dg_book_tensor_key(dg_store_book(store), &tensors[i], key);
		printf("%s: %" PRId64 " rows of %" PRIu32 " bytes\n", key, tensors[i].n_rows,
		       tensors[i].row_bytes);
	}
}

/* The row pointers of the first edge type: node i has indptr[i + 1] - indptr[i] in-edges. */
static dg_status print_degrees(dg_store *store, dg_error *err)
{
	dg_dtype dtype;
	int64_t n, two[2];
	dg_status st = dg_store_graph_array(store, 0, DG_GRAPH_INDPTR, &dtype, &n, err);

	for (int64_t node = 0; !st && node + 1 < n; node++) {
		st = dg_store_graph_read(store, 0, DG_GRAPH_INDPTR, node, 2, two, err);
		if (!st)
			printf("node %" PRId64 " of this part has %" PRId64 " in-edges\n", node,
			       two[1] - two[0]);
	}
	return st;
}

int main(int argc, char **argv)
{
	dg_store *store;
	dg_error err;
	dg_status st;

	if (argc != 2) {
		fprintf(stderr, "usage: %s STORE\n", argv[0]);
		return 2;
	}
	st = dg_store_open(argv[1], NULL, &store, &err);
	if (!st) {
		list_tensors(store);
		st = print_degrees(store, &err);
		dg_store_close(store);
	}
	if (st)
		fprintf(stderr, "%s\n", err.text);
	return st ? 1 : 0;
}
