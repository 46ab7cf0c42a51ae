/*
 * block.h -- the blocks that the journal's stream of entries is cut into: sizes, header, payload.
 */
#ifndef DGI_BLOCK_H
#define DGI_BLOCK_H

#include "key.h"
#include "record.h"

#define DGI_BLOCK_PAGES_MAX 256

/* Pages of the next block where @left bytes of a group are still to be stored. */
uint32_t dgi_block_pages(size_t left);
/* Payload bytes that a block of @pages pages holds. */
size_t dgi_block_room(uint32_t pages);
struct dgi_key dgi_block_key(uint64_t number);

/*
 * Makes the header of block @number, whose payload are the @n bytes of the stream at @payload.
 * @last_log as in journal.h; @first_entry: where in the payload the first entry begins, @n for none.
 */
void dgi_block_seal(uint8_t header[DGI_RECORD_HEADER_BYTES], const dg_uuid *uuid, uint64_t number,
		    const void *payload, size_t n, uint64_t last_log, uint64_t first_entry);
/* The value of a block: header, payload, zeros. */
void dgi_block_fill(uint8_t *value, size_t value_bytes,
		    const uint8_t header[DGI_RECORD_HEADER_BYTES], const void *payload, size_t n);

/* Header alone, unverified. Fails with CORRUPT, VERSION. */
dg_status dgi_block_header(const uint8_t *value, size_t value_bytes, uint64_t number,
			   struct dgi_record *out, dg_error *err);
/* Header and checksum. */
dg_status dgi_block_read(const uint8_t *value, size_t value_bytes, const dg_uuid *uuid,
			 uint64_t number, struct dgi_record *out, dg_error *err);

#endif
