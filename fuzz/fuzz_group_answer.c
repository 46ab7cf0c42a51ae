/* Any answer to a member: decode or refuse; what decodes encodes to the same bytes. The first two bytes
 * are the size of the group. */
#include "group_message.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct dgi_group_answer answer = { .status = DG_OK };
	uint8_t again[DGI_GROUP_BYTES_MAX];
	uint32_t size;

	if (n < 2 || n > DGI_GROUP_BYTES_MAX)
		return 0;
	size = data[0] | (uint32_t)data[1] << 8;
	if (dgi_group_answer_decode(data + 2, n - 2, size, &answer, NULL) != DG_OK)
		return 0;
	if (dgi_group_answer_encode(&answer, size, again) != n - 2 ||
	    memcmp(again, data + 2, n - 2) != 0)
		abort();
	return 0;
}
