/* Any bytes as a METIS graph: the same however they come, edges within bounds. */
#include "import_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	const struct dgi_edge_file file = { .path = "fuzz", .n = -1 };

	read_both_ways(dgi_edges_from_metis, &file, data, n);
	return 0;
}
