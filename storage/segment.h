/*
 * segment.h -- a run of a structure array's elements as one value: header, payload, zeros to a
 * multiple of 8, one sum for each MiB of payload, zeros to whole overflow pages.
 *
 * The header's checksum covers the sums, each sum its MiB, so that a large value can be verified
 * piece by piece.
 */
#ifndef DGI_SEGMENT_H
#define DGI_SEGMENT_H

#include "record.h"

#define DGI_SEGMENT_PIECE_BYTES (UINT64_C(1) << 20)
#define DGI_SEGMENT_BYTES_MAX (UINT64_C(256) << 20) /* of payload, in any segment we read */
/* Of payload, in a segment we write: half of it, so that a transaction stays below the number of
 * pages at which liblmdb 0.9.24 spills (and leaks). */
#define DGI_SEGMENT_BYTES (UINT64_C(128) << 20)

/* An array's description, the payload of its ARRAY record. */
struct dgi_array_info {
	dg_dtype dtype;		   /* INT32 or INT64 */
	uint64_t n;		   /* elements */
	uint64_t segment_elements; /* of every segment but the last; 1 or more */
};

#define DGI_ARRAY_INFO_BYTES 24

void dgi_array_info_encode(const struct dgi_array_info *info, uint8_t out[DGI_ARRAY_INFO_BYTES]);
/* Fails with CORRUPT (short, another dtype, no or too large segments). */
dg_status dgi_array_info_decode(const void *data, size_t n, struct dgi_array_info *out,
				dg_error *err);
uint64_t dgi_array_n_segments(const struct dgi_array_info *info);
/* Elements of segment number @segment, which is below the number of segments. */
uint64_t dgi_array_elements(const struct dgi_array_info *info, uint64_t segment);

/* Where things are in the value of a segment with @payload_bytes of payload. */
struct dgi_segment_layout {
	size_t payload_bytes;
	size_t n_sums;
	size_t sums_at;	    /* from the value's start */
	size_t value_bytes; /* fills whole overflow pages */
};

/* @payload_bytes is at most DGI_SEGMENT_BYTES_MAX. */
struct dgi_segment_layout dgi_segment_layout_of(uint64_t payload_bytes);

/* Completes a value whose payload is in place: zeros, sums, header. */
void dgi_segment_seal(uint8_t *value, const struct dgi_segment_layout *layout, const dg_uuid *uuid,
		      const struct dgi_key *key, uint64_t elements);

/*
 * Verifies header and sums, not the payload, and gives the seed of the sums. Fails with CORRUPT,
 * VERSION; the text names the segment.
 */
dg_status dgi_segment_read(const uint8_t *value, const struct dgi_segment_layout *layout,
			   const dg_uuid *uuid, const struct dgi_key *key, uint64_t elements,
			   uint64_t *seed, dg_error *err);

/* The sum of MiB number @piece of a payload, whose @n bytes are at @data. */
uint64_t dgi_segment_sum(const void *data, size_t n, uint64_t seed, size_t piece);

/* Does MiB number @piece of the payload match its sum? */
bool dgi_segment_piece_holds(const uint8_t *value, const struct dgi_segment_layout *layout,
			     uint64_t seed, size_t piece);

#endif
