/*
 * tensor_record.h -- a tensor's record in the catalogue (docs/format.md): its description and, where
 * it was created or dropped while the store was in use, how.
 */
#ifndef DGI_TENSOR_RECORD_H
#define DGI_TENSOR_RECORD_H

#include "tensor_info.h"

#include <stdbool.h>

struct dgi_tensor_record {
	dg_tensor_spec spec;
	bool sparse;  /* version 2: a chunk that is not there holds the initial value */
	bool dropped; /* a tombstone: its id is never used again */
};

/* No payload is longer. */
#define DGI_TENSOR_RECORD_BYTES_MAX 1024

/* Is all but the description sound? Fails with INVALID. */
dg_status dgi_tensor_spec_check(const dg_tensor_spec *spec, dg_error *err);

/* Writes the payload of a record of version 2, whose parts pass their checks; returns its bytes. */
size_t dgi_tensor_record_encode(const struct dgi_tensor_record *record,
				uint8_t out[DGI_TENSOR_RECORD_BYTES_MAX]);
/* Reads the payload of a record of @version 1 or 2. Fails with CORRUPT. */
dg_status dgi_tensor_record_decode(const void *data, size_t n, unsigned version,
				   struct dgi_tensor_record *out, dg_error *err);

#endif
