/* uuid.h -- random UUIDs (RFC 9562, version 4), their text, and comparison. */
#ifndef DGI_UUID_H
#define DGI_UUID_H

#include <distgraph/types.h>

#include <stdbool.h>

/* From the system's random source. Fails with IO. */
dg_status dgi_uuid_new(dg_uuid *out, dg_error *err);
bool dgi_uuid_equal(const dg_uuid *a, const dg_uuid *b);
bool dgi_uuid_is_zero(const dg_uuid *uuid);
void dgi_uuid_text(const dg_uuid *uuid, char out[DG_UUID_TEXT_BYTES]);
/* Fails with INVALID. */
dg_status dgi_uuid_parse(const char *text, dg_uuid *out, dg_error *err);

#endif
