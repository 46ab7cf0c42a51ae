/* tensor_info.c -- a tensor description: element types, rules, and its bytes. */
#include "tensor_info.h"

#include "bytes.h"
#include "check.h"
#include "fail.h"

#include <inttypes.h>
#include <string.h>

#define FORMAT 1

size_t dg_dtype_bytes(dg_dtype dtype)
{
	switch (dtype) {
#define DTYPE_BYTES(name, number, text, bytes) \
	case DG_##name: \
		return bytes;
		DG_DTYPE_MAP(DTYPE_BYTES)
#undef DTYPE_BYTES
	}
	return 0;
}

const char *dg_dtype_name(dg_dtype dtype)
{
	switch (dtype) {
#define DTYPE_NAME(name, number, text, bytes) \
	case DG_##name: \
		return text;
		DG_DTYPE_MAP(DTYPE_NAME)
#undef DTYPE_NAME
	}
	return "?";
}

dg_status dg_dtype_parse(const char *name, dg_dtype *out, dg_error *err)
{
#define DTYPE_PARSE(dtype, number, text, bytes) \
	if (strcmp(name, text) == 0) { \
		*out = DG_##dtype; \
		return DG_OK; \
	}
	DG_DTYPE_MAP(DTYPE_PARSE)
#undef DTYPE_PARSE
	return dgi_fail(err, DG_INVALID,
			"dtype '%.40s': want one of bool, int8, int16, int32, int64, "
			"uint8, float16, bfloat16, float32, float64",
			name);
}

/* Length of the UTF-8 sequence at @s, or 0 where there is none (RFC 3629: no overlong forms). */
static size_t utf8_length(const unsigned char *s)
{
	size_t n = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;

	if (s[0] > 0xf4)
		return 0;
	for (size_t i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return n;
}

dg_status dgi_name_check(const char *what, const char *name, dg_error *err)
{
	size_t n = strnlen(name, DG_NAME_BYTES_MAX + 1);
	const unsigned char *s = (const unsigned char *)name;

	if (n == 0)
		return dgi_fail(err, DG_INVALID, "%s: empty, want 1 to %d bytes", what,
				DG_NAME_BYTES_MAX);
	if (n > DG_NAME_BYTES_MAX)
		return dgi_fail(err, DG_INVALID, "%s '%.40s…': longer than %d bytes", what, name,
				DG_NAME_BYTES_MAX);
	while (*s) {
		size_t length = utf8_length(s);

		if (length == 0)
			return dgi_fail(err, DG_INVALID, "%s '%.40s': not UTF-8", what, name);
		if (*s < 0x20 || *s == 0x7f || (s[0] == 0xc2 && s[1] < 0xa0))
			return dgi_fail(err, DG_INVALID, "%s '%.40s': has a control character",
					what, name);
		s += length;
	}
	return DG_OK;
}

dg_status dgi_tensor_info_set_row_bytes(dg_tensor_info *info, dg_error *err)
{
	size_t bytes = dg_dtype_bytes(info->dtype);

	if (bytes == 0)
		return dgi_fail(err, DG_INVALID, "dtype number %d: unknown", (int)info->dtype);
	if (info->rank > DG_RANK_MAX)
		return dgi_fail(err, DG_INVALID, "row of %" PRIu32 " dimensions, at most %d",
				info->rank, DG_RANK_MAX);
	for (uint32_t i = 0; i < info->rank; i++) {
		int64_t extent = info->shape[i];

		if (extent < 1 || !dgi_multiply_size(bytes, (size_t)extent, &bytes) ||
		    bytes > DG_ROW_BYTES_MAX)
			return dgi_fail(err, DG_INVALID,
					"dimension %" PRIu32 " of a row is %" PRId64
					", want 1 or more and at most %d bytes a row",
					i, extent, DG_ROW_BYTES_MAX);
	}
	info->row_bytes = (uint32_t)bytes;
	return DG_OK;
}

dg_status dgi_tensor_info_check(const dg_tensor_info *info, dg_error *err)
{
	dg_tensor_info copy = *info;
	dg_status st = dgi_name_check("tensor name", info->name, err);

	if (st)
		return st;
	st = dgi_tensor_info_set_row_bytes(&copy, err);
	if (st)
		return dgi_context(err, st, "tensor '%s'", info->name);
	if (copy.row_bytes != info->row_bytes)
		return dgi_fail(err, DG_INVALID,
				"tensor '%s': %" PRIu32 " bytes a row, want %" PRIu32, info->name,
				info->row_bytes, copy.row_bytes);
	if (info->id == 0)
		return dgi_fail(err, DG_INVALID, "tensor '%s': id 0", info->name);
	if (info->side != DG_NODE && info->side != DG_EDGE)
		return dgi_fail(err, DG_INVALID, "tensor '%s': side %d", info->name,
				(int)info->side);
	if (info->numbering != DG_INTERNAL && info->numbering != DG_ORIGINAL)
		return dgi_fail(err, DG_INVALID, "tensor '%s': numbering %d", info->name,
				(int)info->numbering);
	if (info->n_rows < 0)
		return dgi_fail(err, DG_INVALID, "tensor '%s': %" PRId64 " rows", info->name,
				info->n_rows);
	if (info->chunk_pages < 1 || info->chunk_pages > 256 ||
	    (size_t)info->chunk_pages * 4096 - 64 < info->row_bytes)
		return dgi_fail(err, DG_INVALID,
				"tensor '%s': chunks of %" PRIu32 " pages for rows of %" PRIu32
				" bytes, want 1 to 256 that hold a row",
				info->name, info->chunk_pages, info->row_bytes);
	if (info->chunk_rows < 1 ||
	    (uint64_t)info->chunk_rows * info->row_bytes > (uint64_t)info->chunk_pages * 4096 - 64)
		return dgi_fail(err, DG_INVALID,
				"tensor '%s': %" PRIu32 " rows of %" PRIu32
				" bytes in a chunk of %" PRIu32 " pages",
				info->name, info->chunk_rows, info->row_bytes, info->chunk_pages);
	if (info->group > info->id)
		return dgi_fail(err, DG_INVALID, "tensor '%s': id %" PRIu32 " in group %" PRIu32,
				info->name, info->id, info->group);
	if ((unsigned)info->durability > DG_DURABLE_MEMORY ||
	    (info->durability != DG_DURABLE_INTERVAL && info->interval_ms != 0))
		return dgi_fail(err, DG_INVALID,
				"tensor '%s': durability %d with interval %" PRIu32, info->name,
				(int)info->durability, info->interval_ms);
	if (info->flags & ~DG_TENSOR_SYSTEM)
		return dgi_fail(err, DG_INVALID, "tensor '%s': unknown flags %" PRIx32, info->name,
				info->flags);
	return DG_OK;
}

size_t dgi_tensor_info_encode(const dg_tensor_info *info, uint8_t out[DGI_TENSOR_INFO_BYTES_MAX])
{
	struct dgi_writer w = dgi_writer_of(out, DGI_TENSOR_INFO_BYTES_MAX);

	DGI_ASSERT(dgi_tensor_info_check(info, NULL) == DG_OK);
	dgi_write_u8(&w, FORMAT);
	dgi_write_u8(&w, (uint8_t)info->side);
	dgi_write_u16(&w, info->type);
	dgi_write_u8(&w, (uint8_t)info->numbering);
	dgi_write_u8(&w, (uint8_t)info->dtype);
	dgi_write_u8(&w, (uint8_t)info->durability);
	dgi_write_u8(&w, (uint8_t)info->rank);
	dgi_write_u32(&w, info->id);
	dgi_write_u32(&w, info->interval_ms);
	dgi_write_u32(&w, info->flags);
	dgi_write_u32(&w, info->chunk_pages);
	dgi_write_u32(&w, info->chunk_rows);
	dgi_write_u32(&w, info->group);
	dgi_write_i64(&w, info->n_rows);
	for (uint32_t i = 0; i < info->rank; i++)
		dgi_write_i64(&w, info->shape[i]);
	dgi_write_string(&w, info->name);
	DGI_ASSERT(!w.short_write);
	return w.written;
}

dg_status dgi_tensor_info_decode(const void *data, size_t n, dg_tensor_info *out, size_t *used,
				 dg_error *err)
{
	struct dgi_reader r = dgi_reader_of(data, n);
	dg_tensor_info info = { 0 };
	uint8_t format = dgi_read_u8(&r);
	dg_status st;

	info.side = (dg_side)dgi_read_u8(&r);
	info.type = dgi_read_u16(&r);
	info.numbering = (dg_numbering)dgi_read_u8(&r);
	info.dtype = (dg_dtype)dgi_read_u8(&r);
	info.durability = (dg_durability)dgi_read_u8(&r);
	info.rank = dgi_read_u8(&r);
	info.id = dgi_read_u32(&r);
	info.interval_ms = dgi_read_u32(&r);
	info.flags = dgi_read_u32(&r);
	info.chunk_pages = dgi_read_u32(&r);
	info.chunk_rows = dgi_read_u32(&r);
	info.group = dgi_read_u32(&r);
	info.n_rows = dgi_read_i64(&r);
	if (!r.short_read && format != FORMAT)
		return dgi_fail(err, DG_CORRUPT, "tensor description: format %u, want %d", format,
				FORMAT);
	if (!r.short_read && info.rank > DG_RANK_MAX)
		return dgi_fail(err, DG_CORRUPT,
				"tensor description: %" PRIu32 " dimensions, at most %d", info.rank,
				DG_RANK_MAX);
	for (uint32_t i = 0; i < info.rank && !r.short_read; i++)
		info.shape[i] = dgi_read_i64(&r);
	dgi_read_string(&r, info.name, sizeof info.name);
	if (r.short_read)
		return dgi_fail(err, DG_CORRUPT, "tensor description: cut short at %zu bytes", n);
	st = dgi_tensor_info_set_row_bytes(&info, err);
	if (!st)
		st = dgi_tensor_info_check(&info, err);
	if (st)
		return dgi_context(err, DG_CORRUPT, "tensor description");
	*out = info;
	*used = n - r.left;
	return DG_OK;
}
