/* Any bytes: decode or refuse, never crash; what decodes lies within the bytes and encodes again. */
#include "entry.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct dgi_entry entry, again;
	dg_error err;
	size_t used, used_again;
	void *bytes;

	if (dgi_entry_decode(data, n, &entry, &used, &err) != DG_OK)
		return 0;
	if (used > n || used != dgi_entry_bytes(&entry))
		abort();
	bytes = malloc(used);
	if (!bytes)
		return 0;
	dgi_entry_encode(&entry, bytes);
	if (dgi_entry_decode(bytes, used, &again, &used_again, &err) != DG_OK ||
	    used_again != used ||
	    memcmp(entry.operands, again.operands, entry.n * entry.row_bytes) != 0)
		abort();
	free(bytes);
	return 0;
}
