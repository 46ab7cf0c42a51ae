/* fixture.h -- a small store whose every byte can be computed, and access to its files' bytes. */
#ifndef DGI_FIXTURE_H
#define DGI_FIXTURE_H

#include "volume.h"

/* Tensors of the store. LABEL has one byte a row, FEAT 512, WIDE 100,000, EMPTY no rows. */
enum fixture_tensor {
	FIXTURE_LABEL = 1,
	FIXTURE_FEAT = 3,
	FIXTURE_WIDE = 4,
	FIXTURE_EMPTY = 7,
	FIXTURE_SYSTEM = 9,
};

#define FIXTURE_ROWS 1000
#define FIXTURE_WIDE_ROWS 7
#define FIXTURE_BOOK "the book of the fixture"
/* Array 2 of edge type 0 has int32 elements in three segments; array 1 of edge type 5 none. */
#define FIXTURE_ELEMENTS 600000
#define FIXTURE_SEGMENT_BYTES (UINT64_C(1) << 20)

/* Makes it in the new directory @path, as @part of 4; ends the test where that fails. */
void fixture_make(const char *path, uint32_t part);

/* A store with one tensor, FIXTURE_FEAT: @n_rows rows of @row_bytes bytes. */
void fixture_make_one(const char *path, int64_t row_bytes, int64_t n_rows);

/* The bytes of a row as made (version 0) or as written later by fixture-using tests. */
void fixture_row(uint32_t tensor, int64_t row, uint64_t version, void *out, size_t row_bytes);
int32_t fixture_element(int64_t index);

/* Gathers rows of one tensor and compares each with its version 0. */
void fixture_expect_rows(struct dgi_volume *volume, uint32_t tensor, const dg_id *rows, size_t n,
			 uint64_t version);
/* Writes rows at a version; returns what the write got. */
dg_status fixture_write(struct dgi_volume *volume, uint32_t tensor, const dg_id *rows, size_t n,
			uint64_t version, dg_error *err);

/* A whole file in memory, and back. */
uint8_t *fixture_load(const char *directory, const char *file, size_t *n);
void fixture_save(const char *directory, const char *file, const void *data, size_t n);

/* The value of the @number-th record of @kind in a file's bytes, found by its header. */
uint8_t *fixture_find_record(uint8_t *data, size_t n, uint16_t kind, size_t number);

#endif
