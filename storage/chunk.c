/* chunk.c -- how a tensor's rows are cut into chunks. */
#include "chunk.h"

#include "check.h"

#define TARGET_PAGES 16U
#define WASTE_SHARE 16U /* accept one part in so many unused behind the last row */

/*
 * Granlund and Montgomery, Division by Invariant Integers using Multiplication (PLDI 1994): with
 * s = ceil(log2 d) and factor = ceil(2^(63+s) / d), floor(n * factor / 2^(63+s)) is floor(n / d)
 * for every n below 2^63. dgi_divide() doubles n so that the product is cut at 64 bits.
 */
struct dgi_divider dgi_divider_of(uint64_t divisor)
{
	struct dgi_divider d = { .divisor = divisor };
	dgi_uint128 power;

	DGI_ASSERT(divisor > 0 && divisor <= INT64_MAX);
	while ((UINT64_C(1) << d.shift) < divisor)
		d.shift++;
	power = (dgi_uint128)1 << (63 + d.shift);
	d.factor = (uint64_t)((power + divisor - 1) / divisor);
	return d;
}

static uint32_t room_of(uint32_t pages)
{
	return pages * DGI_PAGE_BYTES - DGI_CHUNK_ROWS_AT;
}

struct dgi_cut dgi_cut_of(const dg_tensor_info *info)
{
	struct dgi_cut cut = {
		.row_bytes = info->row_bytes,
		.chunk_rows = info->chunk_rows,
		.value_bytes = (uint32_t)dgi_value_bytes_of_pages(info->chunk_pages),
		.n_rows = info->n_rows,
	};

	DGI_ASSERT(cut.chunk_rows > 0);
	cut.by_rows = dgi_divider_of(cut.chunk_rows);
	if (cut.n_rows > 0)
		cut.n_chunks = dgi_divide(&cut.by_rows, (uint64_t)cut.n_rows - 1) + 1;
	return cut;
}

uint32_t dgi_cut_rows(const struct dgi_cut *cut, uint64_t chunk)
{
	DGI_ASSERT(chunk < cut->n_chunks);
	if (chunk + 1 < cut->n_chunks)
		return cut->chunk_rows;
	return (uint32_t)((uint64_t)cut->n_rows - chunk * cut->chunk_rows);
}

static uint32_t pages_for(uint32_t row_bytes, uint32_t rows)
{
	uint64_t bytes = DGI_CHUNK_ROWS_AT + (uint64_t)row_bytes * rows;
	uint64_t pages = (bytes + DGI_PAGE_BYTES - 1) / DGI_PAGE_BYTES;

	return pages > DGI_CHUNK_PAGES_MAX ? DGI_CHUNK_PAGES_MAX + 1 : (uint32_t)pages;
}

uint32_t dgi_chunk_rows_of(uint32_t pages, uint32_t row_bytes)
{
	return room_of(pages) / row_bytes;
}

uint32_t dgi_chunk_pages_of(uint32_t rows, uint32_t row_bytes)
{
	return pages_for(row_bytes, rows);
}

uint32_t dgi_chunk_pages_default(uint32_t row_bytes, int64_t n_rows)
{
	uint32_t rows = room_of(TARGET_PAGES) / row_bytes;
	uint32_t pages;

	if (rows < 1)
		rows = 1;
	if (n_rows < (int64_t)rows)
		return pages_for(row_bytes, n_rows < 1 ? 1 : (uint32_t)n_rows);
	pages = pages_for(row_bytes, rows);
	while (room_of(pages) - rows * row_bytes > pages * DGI_PAGE_BYTES / WASTE_SHARE &&
	       pages_for(row_bytes, rows + 1) <= DGI_CHUNK_PAGES_MAX)
		pages = pages_for(row_bytes, ++rows);
	return pages;
}

void dgi_choose_cut(const dg_tensor_info *first, dg_tensor_info *info)
{
	if (first) {
		info->chunk_rows = first->chunk_rows;
		info->chunk_pages = dgi_chunk_pages_of(info->chunk_rows, info->row_bytes);
		return;
	}
	if (info->chunk_pages == 0)
		info->chunk_pages = dgi_chunk_pages_default(info->row_bytes, info->n_rows);
	if (info->chunk_rows == 0 && info->chunk_pages <= DGI_CHUNK_PAGES_MAX)
		info->chunk_rows = dgi_chunk_rows_of(info->chunk_pages, info->row_bytes);
}
