/*
 * Any bytes as an assignment file: refused, or an owner below the number of partitions for each
 * node. The first byte chooses how many nodes, partitions and trainers there are.
 */
#include "fuzz_file.h"

#include "methods.h"

#include <string.h>

#define N_NODES_MAX 16

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct dgi_source_nodes nodes = { .name = "_N" };
	const struct dgi_source source = { .nodes = &nodes, .n_node_types = 1 };
	struct dgi_assign_request request = { .source = &source };
	uint16_t owners[N_NODES_MAX + 1], *by_type[] = { owners };

	if (n == 0)
		return 0;
	nodes.n = data[0] % (N_NODES_MAX + 1);
	request.n_trainers = 1 + (data[0] >> 7);
	request.n_parts = (data[0] & 64 ? 300 : 2) * request.n_trainers;
	request.method = fuzz_file(data + 1, n - 1);
	memset(owners, 0xff, sizeof owners);
	if (dgi_method_files(&request, by_type, NULL) == DG_OK)
		for (int64_t i = 0; i < nodes.n; i++)
			if (owners[i] >= request.n_parts)
				abort();
	if (owners[nodes.n] != 0xffff) /* nothing behind the last node */
		abort();
	return 0;
}
