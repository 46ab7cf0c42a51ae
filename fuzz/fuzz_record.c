/*
 * Any key and value: the key's length in the first byte, the key, the value. Decode or refuse,
 * never crash; a key that decodes encodes to the bytes it was read from; and a record sealed over
 * the same payload is read.
 */
#include "record.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void expect_sealed_record(const struct dgi_key *key, const uint8_t *payload, size_t n)
{
	static const dg_uuid uuid = { { 7 } };
	struct dgi_record record = { .kind = key->kind,
				     .version = DGI_RECORD_VERSION,
				     .payload_bytes = n,
				     .log = 1,
				     .count = 2 };
	uint8_t *value = malloc(DGI_RECORD_HEADER_BYTES + n);

	if (!value)
		return;
	memcpy(value + DGI_RECORD_HEADER_BYTES, payload, n);
	dgi_record_seal(value, &record, &uuid, key, value + DGI_RECORD_HEADER_BYTES, n);
	if (dgi_record_read(value, DGI_RECORD_HEADER_BYTES + n, &uuid, key, &record, NULL))
		abort();
	free(value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	uint8_t again[DGI_KEY_BYTES_MAX];
	char text[DGI_KEY_TEXT_BYTES];
	struct dgi_record record;
	struct dgi_key key;
	dg_error err;
	size_t key_bytes;

	if (n == 0 || data[0] > n - 1)
		return 0;
	key_bytes = data[0];
	if (dgi_key_decode(data + 1, key_bytes, &key, &err) != DG_OK)
		return 0;
	dgi_key_text(&key, text);
	if (key.kind >= DGI_KIND_OPTIONAL)
		return 0;
	if (dgi_key_encode(&key, again) != key_bytes || memcmp(again, data + 1, key_bytes) != 0)
		abort();
	data += 1 + key_bytes;
	n -= 1 + key_bytes;
	(void)dgi_record_read(data, n, NULL, &key, &record, &err);
	expect_sealed_record(&key, data, n);
	return 0;
}
