/*
 * record.h -- the 48 bytes in front of every value of a store, and the checksum in them.
 *
 * The checksum is seeded with the store's UUID, the record's key and the rest of the header, so
 * that a record in the wrong place is as visible as a damaged one.
 */
#ifndef DGI_RECORD_H
#define DGI_RECORD_H

#include "key.h"

#include <distgraph/types.h>

#include <stdbool.h>

#define DGI_RECORD_HEADER_BYTES 48
#define DGI_RECORD_VERSION 1
#define DGI_TENSOR_RECORD_VERSION 2 /* … of a tensor that was created or dropped later */

struct dgi_record {
	uint16_t kind; /* enum dgi_kind */
	uint16_t version;
	uint64_t payload_bytes;
	uint64_t log; /* number of the write that made the record; 0 at creation */
	uint64_t checksum;
	uint64_t count; /* rows of a chunk, elements of a segment, else 0 */
};

/*
 * Reads the header of a value of @value_bytes bytes whose key says @kind. Fails with CORRUPT
 * (short, another magic or kind, a payload that does not fit), VERSION.
 */
dg_status dgi_record_header(const void *value, size_t value_bytes, uint16_t kind,
			    struct dgi_record *out, dg_error *err);

/* The seed of a record's checksum. @uuid: of the store; NULL for the superblock, which holds it. */
uint64_t dgi_record_seed(const dg_uuid *uuid, const struct dgi_key *key,
			 const uint8_t header[DGI_RECORD_HEADER_BYTES]);

/*
 * Writes the header of @record, whose checksum is taken of the @n bytes at @covered: the payload,
 * or a segment's table of sums.
 */
void dgi_record_seal(uint8_t header[DGI_RECORD_HEADER_BYTES], const struct dgi_record *record,
		     const dg_uuid *uuid, const struct dgi_key *key, const void *covered, size_t n);

/* Does the header's checksum match the @n bytes at @covered? */
bool dgi_record_holds(const uint8_t header[DGI_RECORD_HEADER_BYTES], const dg_uuid *uuid,
		      const struct dgi_key *key, const void *covered, size_t n);

/*
 * Reads a small record whole: header and checksum of the payload, which lies at value + 48.
 * Fails with CORRUPT, VERSION; the text names the record.
 */
dg_status dgi_record_read(const void *value, size_t value_bytes, const dg_uuid *uuid,
			  const struct dgi_key *key, struct dgi_record *out, dg_error *err);

#endif
