/* key.c -- the keys of a store's records. */
#include "key.h"

#include "bytes.h"
#include "check.h"
#include "fail.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Bytes of a key of @kind; 0 for a kind that this version does not know. */
static size_t length_of(uint8_t kind)
{
	switch (kind) {
	case DGI_KIND_SUPERBLOCK:
	case DGI_KIND_IDENTITY:
	case DGI_KIND_BOOK:
		return 1;
	case DGI_KIND_ARRAY:
		return 4;
	case DGI_KIND_SEGMENT:
		return 8;
	case DGI_KIND_TENSOR:
		return 5;
	case DGI_KIND_CHUNK:
		return 21;
	case DGI_KIND_SESSIONS:
	case DGI_KIND_OPERATIONS:
		return 5;
	case DGI_KIND_BLOCK:
		return 9;
	default:
		return 0;
	}
}

size_t dgi_key_encode(const struct dgi_key *key, uint8_t out[DGI_KEY_BYTES_MAX])
{
	size_t n = length_of(key->kind);

	DGI_ASSERT(n > 0);
	out[0] = key->kind;
	if (key->kind == DGI_KIND_ARRAY || key->kind == DGI_KIND_SEGMENT) {
		dgi_put_be16(out + 1, key->etype);
		out[3] = key->array;
	}
	if (key->kind == DGI_KIND_SEGMENT)
		dgi_put_be32(out + 4, key->segment);
	if (key->kind == DGI_KIND_TENSOR || key->kind == DGI_KIND_CHUNK)
		dgi_put_be32(out + 1, key->tensor);
	if (key->kind == DGI_KIND_CHUNK) {
		dgi_put_be64(out + 5, key->chunk);
		dgi_put_be64(out + 13, key->log);
	}
	if (key->kind == DGI_KIND_SESSIONS || key->kind == DGI_KIND_OPERATIONS)
		dgi_put_be32(out + 1, key->piece);
	if (key->kind == DGI_KIND_BLOCK)
		dgi_put_be64(out + 1, key->block);
	return n;
}

dg_status dgi_key_decode(const void *data, size_t n, struct dgi_key *out, dg_error *err)
{
	const uint8_t *at = data;
	struct dgi_key key = { 0 };

	if (n == 0)
		return dgi_fail(err, DG_CORRUPT, "key of no bytes");
	key.kind = at[0];
	if (key.kind >= DGI_KIND_OPTIONAL) {
		*out = key;
		return DG_OK;
	}
	if (length_of(key.kind) == 0)
		return dgi_fail(err, DG_CORRUPT, "key of unknown kind %u", key.kind);
	if (n != length_of(key.kind))
		return dgi_fail(err, DG_CORRUPT, "key of kind %u has %zu bytes, want %zu", key.kind,
				n, length_of(key.kind));
	if (key.kind == DGI_KIND_ARRAY || key.kind == DGI_KIND_SEGMENT) {
		key.etype = dgi_get_be16(at + 1);
		key.array = at[3];
	}
	if (key.kind == DGI_KIND_SEGMENT)
		key.segment = dgi_get_be32(at + 4);
	if (key.kind == DGI_KIND_TENSOR || key.kind == DGI_KIND_CHUNK)
		key.tensor = dgi_get_be32(at + 1);
	if (key.kind == DGI_KIND_CHUNK) {
		key.chunk = dgi_get_be64(at + 5);
		key.log = dgi_get_be64(at + 13);
	}
	if (key.kind == DGI_KIND_SESSIONS || key.kind == DGI_KIND_OPERATIONS)
		key.piece = dgi_get_be32(at + 1);
	if (key.kind == DGI_KIND_BLOCK)
		key.block = dgi_get_be64(at + 1);
	*out = key;
	return DG_OK;
}

void dgi_key_text(const struct dgi_key *key, char out[DGI_KEY_TEXT_BYTES])
{
	const size_t room = DGI_KEY_TEXT_BYTES;

	switch (key->kind) {
	case DGI_KIND_SUPERBLOCK:
		(void)snprintf(out, room, "superblock");
		break;
	case DGI_KIND_IDENTITY:
		(void)snprintf(out, room, "identity");
		break;
	case DGI_KIND_BOOK:
		(void)snprintf(out, room, "book");
		break;
	case DGI_KIND_ARRAY:
		(void)snprintf(out, room, "array %u of edge type %u", key->array, key->etype);
		break;
	case DGI_KIND_SEGMENT:
		(void)snprintf(out, room, "segment %" PRIu32 " of array %u of edge type %u",
			       key->segment, key->array, key->etype);
		break;
	case DGI_KIND_TENSOR:
		(void)snprintf(out, room, "description of tensor %" PRIu32, key->tensor);
		break;
	case DGI_KIND_CHUNK:
		(void)snprintf(out, room, "chunk %" PRIu64 " of tensor %" PRIu32 ", image %" PRIu64,
			       key->chunk, key->tensor, key->log);
		break;
	case DGI_KIND_SESSIONS:
		(void)snprintf(out, room, "piece %" PRIu32 " of the session table", key->piece);
		break;
	case DGI_KIND_OPERATIONS:
		(void)snprintf(out, room, "piece %" PRIu32 " of the table of operations",
			       key->piece);
		break;
	case DGI_KIND_BLOCK:
		(void)snprintf(out, room, "journal block %" PRIu64, key->block);
		break;
	default:
		(void)snprintf(out, room, "record of kind %u", key->kind);
	}
}
