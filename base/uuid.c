/* uuid.c -- random UUIDs (RFC 9562, version 4), their text, and comparison. */
#include "uuid.h"

#include "fail.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

dg_status dgi_uuid_new(dg_uuid *out, dg_error *err)
{
	dg_uuid uuid;

	if (getrandom(uuid.bytes, sizeof uuid.bytes, 0) != (ssize_t)sizeof uuid.bytes)
		return dgi_fail(err, DG_IO, "random UUID: the system's random source failed");
	uuid.bytes[6] = (uint8_t)((uuid.bytes[6] & 0x0f) | 0x40);
	uuid.bytes[8] = (uint8_t)((uuid.bytes[8] & 0x3f) | 0x80);
	*out = uuid;
	return DG_OK;
}

bool dgi_uuid_equal(const dg_uuid *a, const dg_uuid *b)
{
	return memcmp(a->bytes, b->bytes, sizeof a->bytes) == 0;
}

bool dgi_uuid_is_zero(const dg_uuid *uuid)
{
	static const dg_uuid zero;

	return dgi_uuid_equal(uuid, &zero);
}

void dgi_uuid_text(const dg_uuid *uuid, char out[DG_UUID_TEXT_BYTES])
{
	static const char digits[] = "0123456789abcdef";
	size_t at = 0;

	for (size_t i = 0; i < sizeof uuid->bytes; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			out[at++] = '-';
		out[at++] = digits[uuid->bytes[i] >> 4];
		out[at++] = digits[uuid->bytes[i] & 15];
	}
	out[at] = '\0';
}

static int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

dg_status dgi_uuid_parse(const char *text, dg_uuid *out, dg_error *err)
{
	dg_uuid uuid;
	const char *at = text;

	if (strnlen(text, DG_UUID_TEXT_BYTES) != DG_UUID_TEXT_BYTES - 1)
		goto fail;
	for (size_t i = 0; i < sizeof uuid.bytes; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			if (*at++ != '-')
				goto fail;
		int high = digit_of(*at++);
		int low = digit_of(*at++);

		if (high < 0 || low < 0)
			goto fail;
		uuid.bytes[i] = (uint8_t)(high << 4 | low);
	}
	*out = uuid;
	return DG_OK;
fail:
	return dgi_fail(err, DG_INVALID, "uuid '%.40s': want 8-4-4-4-12 hexadecimal digits", text);
}
