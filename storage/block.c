/* block.c -- the blocks that the journal's stream of entries is cut into. */
#include "block.h"

#include "chunk.h"
#include "check.h"
#include "fail.h"

#include <string.h>

/* Five sizes only, so that the run of pages of a block that went fits one that comes. */
static const uint32_t sizes[] = { 1, 4, 16, 64, 256 };

size_t dgi_block_room(uint32_t pages)
{
	return dgi_value_bytes_of_pages(pages) - DGI_RECORD_HEADER_BYTES;
}

/*
 * The smallest block that holds all that is left, if it wastes no more than a quarter of itself;
 * else the largest that is filled; at least one page.
 */
uint32_t dgi_block_pages(size_t left)
{
	uint32_t filled = sizes[0];

	for (size_t i = 0; i < DGI_COUNT_OF(sizes); i++) {
		size_t room = dgi_block_room(sizes[i]);

		if (left >= room)
			filled = sizes[i];
		else if (left >= room / 4 * 3)
			return sizes[i];
		else
			break;
	}
	return filled;
}

struct dgi_key dgi_block_key(uint64_t number)
{
	return (struct dgi_key){ .kind = DGI_KIND_BLOCK, .block = number };
}

void dgi_block_seal(uint8_t header[DGI_RECORD_HEADER_BYTES], const dg_uuid *uuid, uint64_t number,
		    const void *payload, size_t n, uint64_t last_log, uint64_t first_entry)
{
	struct dgi_key key = dgi_block_key(number);
	struct dgi_record record = {
		.kind = DGI_KIND_BLOCK,
		.version = DGI_RECORD_VERSION,
		.payload_bytes = n,
		.log = last_log,
		.count = first_entry,
	};

	dgi_record_seal(header, &record, uuid, &key, payload, n);
}

void dgi_block_fill(uint8_t *value, size_t value_bytes,
		    const uint8_t header[DGI_RECORD_HEADER_BYTES], const void *payload, size_t n)
{
	uint8_t *to = value + DGI_RECORD_HEADER_BYTES;

	DGI_ASSERT(n <= value_bytes - DGI_RECORD_HEADER_BYTES);
	memcpy(value, header, DGI_RECORD_HEADER_BYTES);
	memcpy(to, payload, n);
	memset(to + n, 0, value_bytes - DGI_RECORD_HEADER_BYTES - n);
}

static dg_status check_first_entry(const struct dgi_record *record, uint64_t number, dg_error *err)
{
	if (record->count > record->payload_bytes)
		return dgi_fail(err, DG_CORRUPT,
				"journal block %llu: first entry at byte %llu of %llu",
				(unsigned long long)number, (unsigned long long)record->count,
				(unsigned long long)record->payload_bytes);
	return DG_OK;
}

dg_status dgi_block_header(const uint8_t *value, size_t value_bytes, uint64_t number,
			   struct dgi_record *out, dg_error *err)
{
	struct dgi_record record;
	dg_status st = dgi_record_header(value, value_bytes, DGI_KIND_BLOCK, &record, err);

	if (st)
		return dgi_context(err, st, "journal block %llu", (unsigned long long)number);
	st = check_first_entry(&record, number, err);
	if (st)
		return st;
	*out = record;
	return DG_OK;
}

dg_status dgi_block_read(const uint8_t *value, size_t value_bytes, const dg_uuid *uuid,
			 uint64_t number, struct dgi_record *out, dg_error *err)
{
	struct dgi_key key = dgi_block_key(number);
	struct dgi_record record;
	dg_status st = dgi_record_read(value, value_bytes, uuid, &key, &record, err);

	if (st)
		return st;
	st = check_first_entry(&record, number, err);
	if (st)
		return st;
	*out = record;
	return DG_OK;
}
