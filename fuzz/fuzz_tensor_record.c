/* fuzz_tensor_record.c -- records of tensors from a catalogue; the first byte says which version. */
#include "tensor_record.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct dgi_tensor_record record, again;
	uint8_t payload[DGI_TENSOR_RECORD_BYTES_MAX];
	size_t written;

	if (n == 0 || dgi_tensor_record_decode(data + 1, n - 1, 1 + data[0] % 2, &record, NULL))
		return 0;
	written = dgi_tensor_record_encode(&record, payload);
	if (dgi_tensor_record_decode(payload, written, 2, &again, NULL) ||
	    strcmp(record.spec.owner, again.spec.owner) != 0 || record.dropped != again.dropped)
		abort();
	if (record.sparse && (written != n - 1 || memcmp(payload, data + 1, written) != 0))
		abort();
	return 0;
}
