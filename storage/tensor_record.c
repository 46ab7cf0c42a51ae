/* tensor_record.c -- a tensor's record in the catalogue. */
#include "tensor_record.h"

#include "bytes.h"
#include "check.h"
#include "fail.h"
#include "record.h"

#include <string.h>

enum { LIVING = 0, DROPPED = 1 };

/* Names of temporary tensors say whose they are, so that groups do not meet. */
static dg_status check_owner(const dg_tensor_spec *spec, dg_error *err)
{
	const size_t n = strlen(spec->info.name), n_owner = strlen(spec->owner);
	dg_status st = dgi_name_check("owner of a temporary tensor", spec->owner, err);

	if (st)
		return st;
	if (n < n_owner + 2 || spec->info.name[n - n_owner - 1] != '_' ||
	    strcmp(spec->info.name + n - n_owner, spec->owner) != 0)
		return dgi_fail(err, DG_INVALID,
				"a temporary tensor of '%s': want a name that ends in '_%s'",
				spec->owner, spec->owner);
	return DG_OK;
}

dg_status dgi_tensor_spec_check(const dg_tensor_spec *spec, dg_error *err)
{
	static const uint8_t zeros[sizeof spec->value];
	const size_t element = dg_dtype_bytes(spec->info.dtype);

	if (memcmp(spec->value + element, zeros, sizeof spec->value - element) != 0)
		return dgi_fail(err, DG_INVALID, "initial value of more than %zu bytes", element);
	if (spec->lifetime == DG_TEMPORARY)
		return check_owner(spec, err);
	if (spec->lifetime != DG_PERSISTENT)
		return dgi_fail(err, DG_INVALID, "lifetime %d", (int)spec->lifetime);
	if (spec->owner[0])
		return dgi_fail(err, DG_INVALID, "a persistent tensor has no owner");
	return DG_OK;
}

size_t dgi_tensor_record_encode(const struct dgi_tensor_record *record,
				uint8_t out[DGI_TENSOR_RECORD_BYTES_MAX])
{
	const dg_tensor_spec *spec = &record->spec;
	size_t n = dgi_tensor_info_encode(&spec->info, out);
	struct dgi_writer w = dgi_writer_of(out + n, DGI_TENSOR_RECORD_BYTES_MAX - n);

	dgi_write_u8(&w, record->dropped ? DROPPED : LIVING);
	dgi_write_u8(&w, (uint8_t)spec->lifetime);
	dgi_write_zeros(&w, 6);
	dgi_write_bytes(&w, spec->uuid.bytes, sizeof spec->uuid.bytes);
	dgi_write_u64(&w, spec->seed);
	dgi_write_bytes(&w, spec->value, sizeof spec->value);
	dgi_write_string(&w, spec->owner);
	DGI_ASSERT(!w.short_write);
	return n + w.written;
}

static bool read_reserved(struct dgi_reader *r, size_t n)
{
	bool zero = true;

	for (size_t i = 0; i < n; i++)
		zero &= dgi_read_u8(r) == 0;
	return zero;
}

dg_status dgi_tensor_record_decode(const void *data, size_t n, unsigned version,
				   struct dgi_tensor_record *out, dg_error *err)
{
	struct dgi_tensor_record record = { 0 };
	struct dgi_reader r;
	uint8_t state;
	size_t used;
	bool reserved;
	dg_status st = dgi_tensor_info_decode(data, n, &record.spec.info, &used, err);

	*out = record;
	if (st || version < DGI_TENSOR_RECORD_VERSION)
		return st;
	r = dgi_reader_of((const uint8_t *)data + used, n - used);
	state = dgi_read_u8(&r);
	record.spec.lifetime = (dg_lifetime)dgi_read_u8(&r);
	reserved = read_reserved(&r, 6);
	dgi_read_bytes(&r, record.spec.uuid.bytes, sizeof record.spec.uuid.bytes);
	record.spec.seed = dgi_read_u64(&r);
	dgi_read_bytes(&r, record.spec.value, sizeof record.spec.value);
	dgi_read_string(&r, record.spec.owner, sizeof record.spec.owner);
	if (r.short_read || r.left)
		return dgi_fail(err, DG_CORRUPT, "tensor '%s': %zu bytes of record, want %s",
				record.spec.info.name, n, r.left ? "less" : "more");
	if (state > DROPPED || !reserved)
		return dgi_fail(err, DG_CORRUPT, "tensor '%s': state %u, or not 0 where reserved",
				record.spec.info.name, state);
	st = dgi_tensor_spec_check(&record.spec, err);
	if (st)
		return dgi_context(err, DG_CORRUPT, "tensor '%s'", record.spec.info.name);
	record.sparse = true;
	record.dropped = state == DROPPED;
	*out = record;
	return DG_OK;
}
