/* Any bytes: decode or refuse, never crash. */
#include "server_record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct dgi_server_record record;
	dg_error err;

	(void)dgi_server_record_decode((const char *)data, n, &record, &err);
	return 0;
}
