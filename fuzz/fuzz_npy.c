/* Any bytes: decode or refuse, never crash; what decodes encodes to a header that decodes alike. */
#include "npy.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	uint8_t encoded[DGI_NPY_ENCODED_BYTES_MAX];
	struct dgi_npy npy, again;
	dg_error err;

	if (dgi_npy_decode(data, n, &npy, &err) != DG_OK)
		return 0;
	if (npy.header_bytes > n ||
	    dgi_npy_decode(encoded, dgi_npy_encode(&npy, encoded), &again, &err) != DG_OK)
		abort();
	again.header_bytes = npy.header_bytes;
	if (again.kind != npy.kind || again.item_bytes != npy.item_bytes ||
	    again.fortran_order != npy.fortran_order || again.rank != npy.rank ||
	    again.data_bytes != npy.data_bytes ||
	    memcmp(again.shape, npy.shape, sizeof npy.shape) != 0)
		abort();
	return 0;
}
