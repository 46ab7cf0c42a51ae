/* Any bytes as a file of edges that a plan looks at: refused, or counts that can be. */
#include "fuzz_file.h"

#include "sample.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct dgi_sample s;

	if (dgi_sample_file(fuzz_file(data, n), &s, NULL) == DG_OK &&
	    (s.n_edges < 0 || s.largest < -1))
		abort();
	return 0;
}
