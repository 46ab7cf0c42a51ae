/* Any bytes: decode or refuse, never crash; what decodes encodes to the bytes it was read from. */
#include "tensor_info.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	uint8_t again[DGI_TENSOR_INFO_BYTES_MAX];
	dg_tensor_info info;
	dg_error err;
	size_t used;

	if (dgi_tensor_info_decode(data, n, &info, &used, &err) != DG_OK)
		return 0;
	if (dgi_tensor_info_encode(&info, again) != used || memcmp(again, data, used) != 0)
		abort();
	return 0;
}
