/* Any bytes: decode or refuse, never crash; what decodes keeps its limit and encodes to the same. */
#include "frame.h"

#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	uint8_t bytes[DGI_FRAME_BYTES] = { 0 }, again[DGI_FRAME_BYTES];
	struct dgi_frame frame;
	uint64_t check;

	memcpy(bytes, data, n < sizeof bytes ? n : sizeof bytes);
	if (n <= DGI_FRAME_BYTES - 8) { /* a short input is a header without its check */
		check = XXH3_64bits(bytes, DGI_FRAME_BYTES - 8);
		memcpy(bytes + DGI_FRAME_BYTES - 8, &check, 8);
	}
	if (dgi_frame_decode(bytes, DGI_FRAME_BODY_BYTES_MAX, &frame, NULL) != DG_OK)
		return 0;
	if (frame.body_bytes > DGI_FRAME_BODY_BYTES_MAX)
		abort();
	dgi_frame_encode(&frame, again);
	if (memcmp(again, bytes, sizeof again) != 0)
		abort();
	return 0;
}
