/* fuzz_operations.c -- tables of operations; what decodes encodes to the same bytes. */
#include "operations.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct dgi_operations operations = { 0 }, again = { 0 };
	uint8_t *encoded;
	size_t n_encoded;

	if (!dgi_operations_decode(&operations, data, n, NULL)) {
		if (dgi_operations_encode(&operations, &encoded, &n_encoded, NULL) ||
		    n_encoded != n || (n && dgi_operations_decode(&again, encoded, n, NULL)) ||
		    again.n != operations.n)
			abort();
		free(encoded);
	}
	dgi_operations_clear(&operations);
	dgi_operations_clear(&again);
	return 0;
}
