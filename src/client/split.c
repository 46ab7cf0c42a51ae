/* split.c -- row numbers by partition, and rows between the caller's order and the partitions'. */
#include "split.h"

#include "book.h"
#include "check.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define PREFETCH_ROWS 8 /* so far ahead */

void dgi_split_clear(struct dgi_split *split)
{
	free(split->begins);
	free(split->rows_memory);
	free(split->places_memory);
	free(split->owners);
	*split = (struct dgi_split){ 0 };
}

static bool make_room(struct dgi_split *split, uint32_t n_parts, size_t n)
{
	if (split->begins_room >= (size_t)n_parts + 1 && split->rows_room >= n)
		return true;
	dgi_split_clear(split);
	split->begins = malloc(((size_t)n_parts + 1) * sizeof *split->begins);
	split->rows_memory = malloc((n + 1) * sizeof *split->rows_memory);
	split->places_memory = malloc((n + 1) * sizeof *split->places_memory);
	split->owners = malloc((n + 1) * sizeof *split->owners);
	if (!split->begins || !split->rows_memory || !split->places_memory || !split->owners) {
		dgi_split_clear(split);
		return false;
	}
	split->begins_room = (size_t)n_parts + 1;
	split->rows_room = n;
	return true;
}

/*
 * Finds each row's owner and counts them: begins[p + 1] becomes the count of p. Returns n, or the
 * first row that is out of range.
 */
static size_t find_owners(struct dgi_split *split, const int64_t *starts, uint32_t n_parts,
			  const dg_id *rows, size_t n, bool *grouped)
{
	uint64_t end = (uint64_t)starts[n_parts];
	uint32_t last = 0;

	*grouped = true;
	for (size_t i = 0; i < n; i++) {
		uint32_t owner;

		if ((uint64_t)rows[i] >= end)
			return i;
		owner = dgi_starts_find(starts, n_parts, rows[i]);
		split->owners[i] = (uint16_t)owner;
		split->begins[owner + 1]++;
		*grouped &= owner >= last;
		last = owner;
	}
	return n;
}

/* Counting sort. begins[p] moves from the begin of p to its end, and is moved back. */
static void group(struct dgi_split *split, uint32_t n_parts, const dg_id *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		size_t at = split->begins[split->owners[i]]++;

		split->rows_memory[at] = rows[i];
		split->places_memory[at] = (uint32_t)i;
	}
	memmove(split->begins + 1, split->begins, n_parts * sizeof *split->begins);
	split->begins[0] = 0;
}

dg_status dgi_split_rows(struct dgi_split *split, const int64_t *starts, uint32_t n_parts,
			 const dg_id *rows, size_t n, size_t *bad)
{
	bool grouped;

	DGI_ASSERT(n <= DGI_SPLIT_ROWS_MAX);
	if (!make_room(split, n_parts, n))
		return DG_NOMEM;
	memset(split->begins, 0, ((size_t)n_parts + 1) * sizeof *split->begins);
	*bad = find_owners(split, starts, n_parts, rows, n, &grouped);
	if (*bad < n)
		return DG_RANGE;
	for (uint32_t p = 0; p < n_parts; p++)
		split->begins[p + 1] += split->begins[p];
	split->rows = rows;
	split->places = NULL;
	if (!grouped) {
		group(split, n_parts, rows, n);
		split->rows = split->rows_memory;
		split->places = split->places_memory;
	}
	return DG_OK;
}

/* The loops of the two copies, made once for each row size that is worth a move of its own. */
static inline void scatter(char *to, const uint32_t *places, const char *from, size_t n,
			   size_t row_bytes)
{
	for (size_t i = 0; i < n; i++) {
		if (i + PREFETCH_ROWS < n)
			__builtin_prefetch(to + places[i + PREFETCH_ROWS] * row_bytes, 1);
		memcpy(to + places[i] * row_bytes, from + i * row_bytes, row_bytes);
	}
}

static inline void collect(char *to, const char *from, const uint32_t *places, size_t n,
			   size_t row_bytes)
{
	for (size_t i = 0; i < n; i++) {
		if (i + PREFETCH_ROWS < n)
			__builtin_prefetch(from + places[i + PREFETCH_ROWS] * row_bytes);
		memcpy(to + i * row_bytes, from + places[i] * row_bytes, row_bytes);
	}
}

void dgi_rows_scatter(void *to, const uint32_t *places, const void *from, size_t n,
		      size_t row_bytes)
{
	switch (row_bytes) {
	case 4:
		scatter(to, places, from, n, 4);
		break;
	case 8:
		scatter(to, places, from, n, 8);
		break;
	case 64:
		scatter(to, places, from, n, 64);
		break;
	default:
		scatter(to, places, from, n, row_bytes);
	}
}

void dgi_rows_collect(void *to, const void *from, const uint32_t *places, size_t n,
		      size_t row_bytes)
{
	switch (row_bytes) {
	case 4:
		collect(to, from, places, n, 4);
		break;
	case 8:
		collect(to, from, places, n, 8);
		break;
	case 64:
		collect(to, from, places, n, 64);
		break;
	default:
		collect(to, from, places, n, row_bytes);
	}
}
