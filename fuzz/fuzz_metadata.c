/* Any bytes as the metadata.json of a chunked graph: refused, or a plan without holes. */
#include "plan.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct dgi_plan plan = { 0 };

	if (!dgi_metadata_decode((const char *)data, n, "/nowhere", &plan, NULL)) {
		for (size_t i = 0; i < plan.n_nodes; i++)
			if (!plan.nodes[i].type || plan.nodes[i].count < 0)
				abort();
		for (size_t i = 0; i < plan.n_files; i++)
			if (!plan.files[i].type || !plan.files[i].path)
				abort();
		for (size_t i = 0; i < plan.n_data; i++)
			if (!plan.data[i].type || !plan.data[i].name || !plan.data[i].path)
				abort();
	}
	dgi_plan_clear(&plan);
	return 0;
}
