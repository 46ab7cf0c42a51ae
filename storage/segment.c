/* segment.c -- a run of a structure array's elements as one value. */
#include "segment.h"

#include "bytes.h"
#include "check.h"
#include "chunk.h"
#include "fail.h"

#include <inttypes.h>
#include <string.h>
#include <xxhash.h>

void dgi_array_info_encode(const struct dgi_array_info *info, uint8_t out[DGI_ARRAY_INFO_BYTES])
{
	struct dgi_writer w = dgi_writer_of(out, DGI_ARRAY_INFO_BYTES);

	dgi_write_u32(&w, (uint32_t)info->dtype);
	dgi_write_u32(&w, 0);
	dgi_write_u64(&w, info->n);
	dgi_write_u64(&w, info->segment_elements);
	DGI_ASSERT(!w.short_write && w.left == 0);
}

dg_status dgi_array_info_decode(const void *data, size_t n, struct dgi_array_info *out,
				dg_error *err)
{
	struct dgi_reader r = dgi_reader_of(data, n);
	struct dgi_array_info info = { .dtype = (dg_dtype)dgi_read_u32(&r) };
	uint64_t n_segments;

	(void)dgi_read_u32(&r); /* unused: written 0, ignored */
	info.n = dgi_read_u64(&r);
	info.segment_elements = dgi_read_u64(&r);
	if (r.short_read)
		return dgi_fail(err, DG_CORRUPT, "array description: %zu bytes, want %d", n,
				DGI_ARRAY_INFO_BYTES);
	if (info.dtype != DG_INT32 && info.dtype != DG_INT64)
		return dgi_fail(err, DG_CORRUPT,
				"array description: dtype number %d, want int32 or int64",
				(int)info.dtype);
	if (info.segment_elements < 1 ||
	    info.segment_elements > DGI_SEGMENT_BYTES_MAX / dg_dtype_bytes(info.dtype))
		return dgi_fail(err, DG_CORRUPT,
				"array description: segments of %" PRIu64
				" elements, want 1 or more and at most 256 MiB",
				info.segment_elements);
	n_segments = dgi_array_n_segments(&info);
	if (info.n > INT64_MAX || n_segments > UINT32_MAX)
		return dgi_fail(err, DG_CORRUPT,
				"array description: %" PRIu64 " elements in %" PRIu64
				" segments, more than there can be",
				info.n, n_segments);
	*out = info;
	return DG_OK;
}

uint64_t dgi_array_n_segments(const struct dgi_array_info *info)
{
	return info->n / info->segment_elements + (info->n % info->segment_elements != 0);
}

uint64_t dgi_array_elements(const struct dgi_array_info *info, uint64_t segment)
{
	uint64_t left = info->n - segment * info->segment_elements;

	return left < info->segment_elements ? left : info->segment_elements;
}

struct dgi_segment_layout dgi_segment_layout_of(uint64_t payload_bytes)
{
	struct dgi_segment_layout layout = { .payload_bytes = (size_t)payload_bytes };
	size_t end;
	size_t pages;

	DGI_ASSERT(payload_bytes <= DGI_SEGMENT_BYTES_MAX);
	layout.n_sums =
		(layout.payload_bytes + DGI_SEGMENT_PIECE_BYTES - 1) / DGI_SEGMENT_PIECE_BYTES;
	layout.sums_at = (DGI_RECORD_HEADER_BYTES + layout.payload_bytes + 7) / 8 * 8;
	end = layout.sums_at + layout.n_sums * 8;
	pages = (DGI_PAGE_HEADER_BYTES + end + DGI_PAGE_BYTES - 1) / DGI_PAGE_BYTES;
	layout.value_bytes = dgi_value_bytes_of_pages(pages);
	return layout;
}

uint64_t dgi_segment_sum(const void *data, size_t n, uint64_t seed, size_t piece)
{
	return XXH3_64bits_withSeed(data, n, seed + piece);
}

static uint64_t sum_of_piece(const uint8_t *value, const struct dgi_segment_layout *layout,
			     uint64_t seed, size_t piece)
{
	size_t at = piece * DGI_SEGMENT_PIECE_BYTES;
	size_t n = layout->payload_bytes - at;

	if (n > DGI_SEGMENT_PIECE_BYTES)
		n = DGI_SEGMENT_PIECE_BYTES;
	return dgi_segment_sum(value + DGI_RECORD_HEADER_BYTES + at, n, seed, piece);
}

void dgi_segment_seal(uint8_t *value, const struct dgi_segment_layout *layout, const dg_uuid *uuid,
		      const struct dgi_key *key, uint64_t elements)
{
	struct dgi_record record = {
		.kind = key->kind,
		.version = DGI_RECORD_VERSION,
		.payload_bytes = layout->payload_bytes,
		.count = elements,
	};
	size_t payload_end = DGI_RECORD_HEADER_BYTES + layout->payload_bytes;
	size_t sums_end = layout->sums_at + layout->n_sums * 8;
	uint64_t seed;

	memset(value + payload_end, 0, layout->sums_at - payload_end);
	memset(value + sums_end, 0, layout->value_bytes - sums_end);
	/* The seed depends on the header, the header's checksum on the sums. */
	dgi_record_seal(value, &record, uuid, key, NULL, 0);
	seed = dgi_record_seed(uuid, key, value);
	for (size_t i = 0; i < layout->n_sums; i++)
		dgi_put_u64(value + layout->sums_at + i * 8, sum_of_piece(value, layout, seed, i));
	dgi_record_seal(value, &record, uuid, key, value + layout->sums_at, layout->n_sums * 8);
}

dg_status dgi_segment_read(const uint8_t *value, const struct dgi_segment_layout *layout,
			   const dg_uuid *uuid, const struct dgi_key *key, uint64_t elements,
			   uint64_t *seed, dg_error *err)
{
	char text[DGI_KEY_TEXT_BYTES];
	struct dgi_record record;
	dg_status st =
		dgi_record_header(value, layout->value_bytes, DGI_KIND_SEGMENT, &record, err);

	dgi_key_text(key, text);
	if (st)
		return dgi_context(err, st, "%s", text);
	if (record.payload_bytes != layout->payload_bytes || record.count != elements)
		return dgi_fail(
			err, DG_CORRUPT,
			"%s: %" PRIu64 " elements in %" PRIu64 " bytes, want %" PRIu64 " in %zu",
			text, record.count, record.payload_bytes, elements, layout->payload_bytes);
	if (!dgi_record_holds(value, uuid, key, value + layout->sums_at, layout->n_sums * 8))
		return dgi_fail(err, DG_CORRUPT,
				"%s: its checksum does not match: damaged, or in the wrong place",
				text);
	*seed = dgi_record_seed(uuid, key, value);
	return DG_OK;
}

bool dgi_segment_piece_holds(const uint8_t *value, const struct dgi_segment_layout *layout,
			     uint64_t seed, size_t piece)
{
	return sum_of_piece(value, layout, seed, piece) ==
	       dgi_get_u64(value + layout->sums_at + piece * 8);
}
