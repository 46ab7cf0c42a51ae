/* Any bytes as a slot of the mark: decoded or refused, never a crash; what is encoded decodes. */
#include "mark.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const dg_uuid uuid = { { 7 } };

static void expect_round_trip(const struct dgi_mark *mark, uint64_t turn)
{
	uint8_t slot[DGI_MARK_SLOT_BYTES];
	struct dgi_mark back;
	uint64_t turn_back;

	dgi_mark_encode(mark, turn, &uuid, slot);
	if (dgi_mark_decode(slot, &uuid, &back, &turn_back, NULL) != DG_OK || turn_back != turn ||
	    back.log_number != mark->log_number || back.incarnation != mark->incarnation ||
	    back.clean != mark->clean)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	uint8_t slot[DGI_MARK_SLOT_BYTES] = { 0 };
	const size_t checked = sizeof slot - sizeof(XXH64_hash_t);
	struct dgi_mark mark;
	uint64_t turn;
	XXH64_hash_t sum;
	dg_error err;

	memcpy(slot, data, n < sizeof slot ? n : sizeof slot);
	if (dgi_mark_decode(slot, &uuid, &mark, &turn, &err) == DG_OK)
		expect_round_trip(&mark, turn);
	/* The same with a checksum that holds, which no mutation finds. */
	sum = XXH3_64bits(slot, checked);
	memcpy(slot + checked, &sum, sizeof sum);
	if (dgi_mark_decode(slot, &uuid, &mark, &turn, &err) == DG_OK)
		expect_round_trip(&mark, turn);
	return 0;
}
