/* warm.c -- asking the kernel for the pages of a batch before they are copied. */
#include "warm.h"

#include <sys/mman.h>

#define ROWS_MIN 16 /* fewer are not worth a look */
#define SAMPLES 4
#define LOOK_EVERY 16 /* batches, while they are found in memory */

/* Where in the file a row is, or its whole chunk while that has to be verified. */
static bool find_range(const struct dgi_table *table, const struct dgi_rows *rows, dg_id id,
		       uint64_t *first_page, uint64_t *n_pages)
{
	const struct dgi_cut *cut = &rows->cut;
	uint64_t chunk, page, at;
	bool verified;

	if (id < 0 || id >= cut->n_rows)
		return false;
	chunk = dgi_divide(&cut->by_rows, (uint64_t)id);
	if (!dgi_table_page(table, rows->first_entry + chunk, &page, &verified))
		return false;
	*first_page = page;
	*n_pages = (cut->value_bytes + DGI_PAGE_BYTES - 1) / DGI_PAGE_BYTES;
	if (!verified)
		return true;
	at = DGI_CHUNK_ROWS_AT + ((uint64_t)id - chunk * cut->chunk_rows) * cut->row_bytes;
	*first_page += at / DGI_PAGE_BYTES;
	*n_pages = (at + cut->row_bytes - 1) / DGI_PAGE_BYTES - at / DGI_PAGE_BYTES + 1;
	return true;
}

/* mincore() and madvise() want pointers to what they do not write. */
static void *address_of(const struct dgi_table *table, uint64_t page)
{
	return (void *)(uintptr_t)dgi_map_at(table->map, page * DGI_PAGE_BYTES);
}

static bool is_cold(const struct dgi_table *table, uint64_t page)
{
	unsigned char resident = 1;

	return mincore(address_of(table, page), DGI_PAGE_BYTES, &resident) == 0 && !(resident & 1);
}

/* After a batch in memory the next ones probably are too. */
static bool is_to_be_looked_at(struct dgi_table *table)
{
	uint32_t left = atomic_load_explicit(&table->warm, memory_order_relaxed);

	if (left)
		atomic_store_explicit(&table->warm, left - 1, memory_order_relaxed);
	return left == 0;
}

void dgi_rows_warm(struct dgi_table *table, const struct dgi_rows *rows, const dg_id *ids, size_t n)
{
	uint64_t first, pages, last = UINT64_MAX;
	bool cold = false;

	if (n < ROWS_MIN || !is_to_be_looked_at(table))
		return;
	for (size_t i = 0; i < SAMPLES && !cold; i++)
		cold = find_range(table, rows, ids[i * (n - 1) / (SAMPLES - 1)], &first, &pages) &&
		       is_cold(table, first);
	if (!cold)
		atomic_store_explicit(&table->warm, LOOK_EVERY - 1, memory_order_relaxed);
	for (size_t i = 0; i < n && cold; i++) {
		if (!find_range(table, rows, ids[i], &first, &pages) || first == last)
			continue;
		last = first;
		(void)madvise(address_of(table, first), pages * DGI_PAGE_BYTES, MADV_WILLNEED);
	}
}
