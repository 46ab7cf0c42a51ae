/*
 * entry.h -- one entry of the journal: a push as it was applied, in bytes.
 *
 * An entry depends on nothing but itself and the rows it writes. Entries stand one behind the
 * other in the payload of journal blocks (journal.h), which carry the checksums. Layout:
 * docs/format.md.
 */
#ifndef DGI_ENTRY_H
#define DGI_ENTRY_H

#include "part.h"
#include "step.h"

#define DGI_ENTRY_HEADER_BYTES 80
/* Rows of one entry are bounded in bytes, so that replay needs no more memory than this at once. */
#define DGI_ENTRY_BYTES_MAX (UINT64_C(64) << 20)

enum dgi_entry_kind {
	DGI_ENTRY_ROWS = 1, /* an operand for each of a list of rows */
	DGI_ENTRY_FILL = 2, /* one operand for a run of rows */
	DGI_ENTRY_STEP = 3, /* as ROWS, for a whole row group, by a rule (step.h) */
};

/* Who pushed, and what the server then knew of his pushes (docs/consistency.md). Zero: nobody. */
struct dgi_session_mark {
	dg_uuid id;
	uint64_t number; /* of the highest push seen */
	uint64_t window; /* bit i: push number - 1 - i has been seen too */
};

struct dgi_entry {
	enum dgi_entry_kind kind;
	uint16_t op; /* dg_operation; of a STEP its rule's number */
	uint32_t tensor;
	uint32_t row_bytes;
	uint64_t log_number;
	struct dgi_session_mark session;
	/* ROWS, STEP: @n rows, one operand each. FILL: @n is 1. Pointers are lent by the bytes decoded and
	 * have no alignment. */
	uint64_t n;
	const uint8_t *rows; /* ROWS, STEP: n little-endian int64, this partition's row numbers */
	const uint8_t *operands; /* n times row_bytes */
	int64_t first;		 /* FILL: the run */
	int64_t count;
	const uint8_t *parameters; /* STEP */
	uint32_t parameters_bytes; /* … at most DGI_STEP_PARAMETERS_MAX */
	struct dgi_part part;	   /* ROWS, FILL: of a large operation */
};

/* Bytes of the entry, a multiple of 8; 0 where it would pass DGI_ENTRY_BYTES_MAX. */
size_t dgi_entry_bytes(const struct dgi_entry *entry);

/* Writes the entry to @out, which has room for dgi_entry_bytes(). */
void dgi_entry_encode(const struct dgi_entry *entry, void *out);

/*
 * The length of the entry whose first DGI_ENTRY_HEADER_BYTES stand at @data, to collect an entry
 * that spans blocks. Fails with CORRUPT.
 */
dg_status dgi_entry_length(const void *data, size_t n, size_t *out, dg_error *err);

/* Decodes one whole entry from the start of @data. Fails with CORRUPT. */
dg_status dgi_entry_decode(const void *data, size_t n, struct dgi_entry *out, size_t *used,
			   dg_error *err);

#endif
