/* Any bytes: decode or refuse, never crash; what decodes is written and read again as the same. */
#include "source.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct dgi_source source, again;
	char *text, *twice;
	size_t n_twice;
	dg_error err;

	if (dgi_source_decode((const char *)data, n, "work", &source, &err) != DG_OK)
		return 0;
	if (dgi_source_encode(&source, "work", &text, &n, &err) != DG_OK ||
	    dgi_source_decode(text, n, "work", &again, &err) != DG_OK ||
	    dgi_source_encode(&again, "work", &twice, &n_twice, &err) != DG_OK || n != n_twice ||
	    memcmp(text, twice, n) != 0)
		abort();
	free(text);
	free(twice);
	dgi_source_clear(&source);
	dgi_source_clear(&again);
	return 0;
}
