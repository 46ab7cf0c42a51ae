/* Any bytes as a superblock and as an array's description: decode or refuse, never crash; what
 * decodes is within its limits and encodes to what decodes to the same. */
#include "segment.h"
#include "superblock.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void try_superblock(const uint8_t *data, size_t n)
{
	uint8_t first[DGI_SUPERBLOCK_BYTES], second[DGI_SUPERBLOCK_BYTES];
	struct dgi_superblock s, back;
	dg_error err;

	if (dgi_superblock_decode(data, n, &s, &err) != DG_OK)
		return;
	(void)dgi_superblock_check(&s, true, &err);
	dgi_superblock_encode(&s, first);
	if (s.part >= s.n_parts || dgi_superblock_decode(first, sizeof first, &back, &err) != DG_OK)
		abort();
	dgi_superblock_encode(&back, second);
	if (memcmp(first, second, sizeof first) != 0)
		abort();
}

static void try_array(const uint8_t *data, size_t n)
{
	struct dgi_array_info info;
	dg_error err;
	uint64_t last;

	if (dgi_array_info_decode(data, n, &info, &err) != DG_OK || info.n == 0)
		return;
	last = dgi_array_n_segments(&info) - 1;
	if (dgi_array_elements(&info, last) == 0 ||
	    last * info.segment_elements + dgi_array_elements(&info, last) != info.n)
		abort();
	(void)dgi_segment_layout_of(dgi_array_elements(&info, 0) * dg_dtype_bytes(info.dtype));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	try_superblock(data, n);
	try_array(data, n);
	return 0;
}
