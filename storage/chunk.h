/*
 * chunk.h -- how a tensor's rows are cut into chunks: pure arithmetic.
 *
 * A chunk is one LMDB value on whole overflow pages: 16 bytes of LMDB's page header, our 48-byte
 * record header, then rows from page + 64 on. Every chunk of a tensor has the same size.
 */
#ifndef DGI_CHUNK_H
#define DGI_CHUNK_H

#include <distgraph/types.h>

#define DGI_PAGE_BYTES 4096
#define DGI_PAGE_HEADER_BYTES 16 /* LMDB's, in front of an overflow value */
#define DGI_CHUNK_PAGES_MAX 256
#define DGI_CHUNK_ROWS_AT 64 /* from the first page's start */

/* Division by a constant as a multiplication: exact for every dividend from 0 to INT64_MAX. */
struct dgi_divider {
	uint64_t divisor;
	uint64_t factor;
	unsigned shift;
};

/* @divisor is 1 or more. */
struct dgi_divider dgi_divider_of(uint64_t divisor);

__extension__ typedef unsigned __int128 dgi_uint128;

static inline uint64_t dgi_divide(const struct dgi_divider *d, uint64_t dividend)
{
	return (uint64_t)((dgi_uint128)(dividend << 1) * d->factor >> 64) >> d->shift;
}

/* The cut of one tensor. */
struct dgi_cut {
	uint32_t row_bytes;
	uint32_t chunk_rows;  /* of every chunk but the last */
	uint32_t value_bytes; /* of every chunk's value, header and padding included */
	int64_t n_rows;
	uint64_t n_chunks;
	struct dgi_divider by_rows; /* row number to chunk number */
};

/* @info passes dgi_tensor_info_check(). */
struct dgi_cut dgi_cut_of(const dg_tensor_info *info);
/* Rows of chunk number @chunk, which is below n_chunks. */
uint32_t dgi_cut_rows(const struct dgi_cut *cut, uint64_t chunk);

/*
 * The pages of a chunk where the caller does not choose: about 64 KiB, so that a scattered write
 * copies little; more for long rows, so that little is wasted behind the last one; fewer for a
 * tensor that needs no more.
 */
uint32_t dgi_chunk_pages_default(uint32_t row_bytes, int64_t n_rows);

/*
 * Pages and rows of a chunk where @info has 0: by its row_bytes and n_rows, or, with @first, the first
 * of its row group, as many rows as there.
 */
void dgi_choose_cut(const dg_tensor_info *first, dg_tensor_info *info);

/* Rows that a chunk of @pages holds; and the pages that hold @rows, more than DGI_CHUNK_PAGES_MAX
 * where none do. */
uint32_t dgi_chunk_rows_of(uint32_t pages, uint32_t row_bytes);
uint32_t dgi_chunk_pages_of(uint32_t rows, uint32_t row_bytes);

/* Bytes of a value that fills @pages overflow pages exactly. */
static inline size_t dgi_value_bytes_of_pages(size_t pages)
{
	return pages * DGI_PAGE_BYTES - DGI_PAGE_HEADER_BYTES;
}

#endif
