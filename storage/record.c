/* record.c -- the 48 bytes in front of every value of a store. */
#include "record.h"

#include "bytes.h"
#include "fail.h"

#include <inttypes.h>
#include <string.h>
#include <xxhash.h>

/* offset  size  field
 *      0     4  magic, the bytes "DGR1"
 *      4     2  kind
 *      6     2  version
 *      8     8  payload bytes
 *     16     8  log number
 *     24     8  checksum
 *     32     8  count
 *     40     8  reserved, 0 */
#define MAGIC UINT32_C(0x31524744)
#define CHECKSUM_AT 24
#define BEHIND_CHECKSUM 32

static unsigned newest_version(uint16_t kind)
{
	return kind == DGI_KIND_TENSOR ? DGI_TENSOR_RECORD_VERSION : DGI_RECORD_VERSION;
}

dg_status dgi_record_header(const void *value, size_t value_bytes, uint16_t kind,
			    struct dgi_record *out, dg_error *err)
{
	struct dgi_reader r = dgi_reader_of(value, value_bytes);
	uint32_t magic = dgi_read_u32(&r);
	struct dgi_record record = { 0 };
	uint64_t reserved;

	record.kind = dgi_read_u16(&r);
	record.version = dgi_read_u16(&r);
	record.payload_bytes = dgi_read_u64(&r);
	record.log = dgi_read_u64(&r);
	record.checksum = dgi_read_u64(&r);
	record.count = dgi_read_u64(&r);
	reserved = dgi_read_u64(&r);
	if (r.short_read)
		return dgi_fail(err, DG_CORRUPT, "record of %zu bytes, want at least %d",
				value_bytes, DGI_RECORD_HEADER_BYTES);
	if (magic != MAGIC)
		return dgi_fail(err, DG_CORRUPT,
				"record begins with %08" PRIx32 ", want %08" PRIx32 " (DGR1)",
				magic, MAGIC);
	if (record.kind != kind)
		return dgi_fail(err, DG_CORRUPT, "record of kind %u, its key says %u", record.kind,
				kind);
	if (record.version < DGI_RECORD_VERSION || record.version > newest_version(kind))
		return dgi_fail(err, DG_VERSION, "record of version %u, this program knows %u",
				record.version, newest_version(kind));
	if (record.payload_bytes > r.left)
		return dgi_fail(err, DG_CORRUPT,
				"record says %" PRIu64 " bytes of payload, its value holds %zu",
				record.payload_bytes, r.left);
	if (reserved != 0)
		return dgi_fail(err, DG_CORRUPT, "record has %016" PRIx64 " where 0 is reserved",
				reserved);
	*out = record;
	return DG_OK;
}

uint64_t dgi_record_seed(const dg_uuid *uuid, const struct dgi_key *key,
			 const uint8_t header[DGI_RECORD_HEADER_BYTES])
{
	uint8_t data[sizeof uuid->bytes + DGI_KEY_BYTES_MAX + DGI_RECORD_HEADER_BYTES] = { 0 };
	size_t n = sizeof uuid->bytes;

	if (uuid)
		memcpy(data, uuid->bytes, n);
	n += dgi_key_encode(key, data + n);
	memcpy(data + n, header, CHECKSUM_AT);
	n += CHECKSUM_AT;
	memcpy(data + n, header + BEHIND_CHECKSUM, DGI_RECORD_HEADER_BYTES - BEHIND_CHECKSUM);
	n += DGI_RECORD_HEADER_BYTES - BEHIND_CHECKSUM;
	return XXH3_64bits(data, n);
}

void dgi_record_seal(uint8_t header[DGI_RECORD_HEADER_BYTES], const struct dgi_record *record,
		     const dg_uuid *uuid, const struct dgi_key *key, const void *covered, size_t n)
{
	struct dgi_writer w = dgi_writer_of(header, DGI_RECORD_HEADER_BYTES);
	uint64_t seed;

	dgi_write_u32(&w, MAGIC);
	dgi_write_u16(&w, record->kind);
	dgi_write_u16(&w, record->version);
	dgi_write_u64(&w, record->payload_bytes);
	dgi_write_u64(&w, record->log);
	dgi_write_u64(&w, 0);
	dgi_write_u64(&w, record->count);
	dgi_write_u64(&w, 0);
	seed = dgi_record_seed(uuid, key, header);
	dgi_put_u64(header + CHECKSUM_AT, XXH3_64bits_withSeed(covered, n, seed));
}

bool dgi_record_holds(const uint8_t header[DGI_RECORD_HEADER_BYTES], const dg_uuid *uuid,
		      const struct dgi_key *key, const void *covered, size_t n)
{
	uint64_t seed = dgi_record_seed(uuid, key, header);

	return XXH3_64bits_withSeed(covered, n, seed) == dgi_get_u64(header + CHECKSUM_AT);
}

dg_status dgi_record_read(const void *value, size_t value_bytes, const dg_uuid *uuid,
			  const struct dgi_key *key, struct dgi_record *out, dg_error *err)
{
	const uint8_t *header = value;
	char text[DGI_KEY_TEXT_BYTES];
	struct dgi_record record;
	dg_status st = dgi_record_header(value, value_bytes, key->kind, &record, err);

	dgi_key_text(key, text);
	if (st)
		return dgi_context(err, st, "%s", text);
	if (!dgi_record_holds(header, uuid, key, header + DGI_RECORD_HEADER_BYTES,
			      (size_t)record.payload_bytes))
		return dgi_fail(err, DG_CORRUPT,
				"%s: its checksum does not match: damaged, or in the wrong place",
				text);
	*out = record;
	return DG_OK;
}
