/*
 * Any bytes as the blocks of a journal: read or refused, never a crash. What is read comes in order and
 * lies within the bytes given.
 *
 * Input: pieces, each a byte of flags (1: seal it, 2: leave a number out, 4: an entry begins in it,
 * 8: the first that begins in it does so at the next byte), that byte, u16 length, and as many bytes.
 * A sealed piece is the payload of a block; another is the block's value as it is.
 */
#include "block.h"
#include "bytes.h"
#include "chunk.h"
#include "journal.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define BLOCKS_MAX 16
#define VALUE_BYTES ((size_t)4 * DGI_PAGE_BYTES - DGI_PAGE_HEADER_BYTES)

static const dg_uuid uuid = { { 7 } };

enum piece_flags { SEALED = 1, GAP = 2, BEGINS = 4, LATER = 8 };

struct seen {
	uint64_t last_log;
	uint64_t entries;
};

static volatile uint8_t sink;

static void touch(const uint8_t *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		sink ^= bytes[i];
}

static dg_status see(void *context, const struct dgi_entry *entry, dg_error *err)
{
	struct seen *seen = context;

	(void)err;
	if (entry->log_number <= seen->last_log)
		abort();
	seen->last_log = entry->log_number;
	seen->entries++;
	if (entry->kind == DGI_ENTRY_ROWS)
		touch(entry->rows, entry->n * 8);
	touch(entry->operands, entry->n * entry->row_bytes);
	return DG_OK;
}

/* One piece as a block's value of its own size at @at; the value's size, 0 at the end. */
static size_t make_block(struct dgi_reader *r, uint8_t *at, uint64_t *number)
{
	uint8_t flags = dgi_read_u8(r);
	size_t first = dgi_read_u8(r);
	size_t n = dgi_read_u16(r);
	const uint8_t *bytes;
	uint8_t header[DGI_RECORD_HEADER_BYTES];

	if (n > r->left)
		n = r->left;
	if (n > VALUE_BYTES - DGI_RECORD_HEADER_BYTES)
		n = VALUE_BYTES - DGI_RECORD_HEADER_BYTES;
	bytes = dgi_read_run(r, n);
	if (r->short_read)
		return 0;
	*number += flags & GAP ? 2 : 1;
	if (!(flags & SEALED)) {
		memcpy(at, bytes, n);
		return n;
	}
	if (!(flags & BEGINS))
		first = n;
	else if (!(flags & LATER))
		first = 0;
	dgi_block_seal(header, &uuid, *number, bytes, n, 1, first);
	dgi_block_fill(at, DGI_RECORD_HEADER_BYTES + n, header, bytes, n);
	return DGI_RECORD_HEADER_BYTES + n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct dgi_reader r = dgi_reader_of(data, n);
	struct dgi_journal_block blocks[BLOCKS_MAX];
	uint8_t *file = malloc(BLOCKS_MAX * VALUE_BYTES);
	struct seen seen = { 0 };
	size_t n_blocks = 0, end = 0, value_bytes;
	uint64_t number = 0;
	dg_error err;
	uint8_t *exact;

	if (!file)
		return 0;
	while (n_blocks < BLOCKS_MAX && (value_bytes = make_block(&r, file + end, &number))) {
		blocks[n_blocks++] = (struct dgi_journal_block){
			.number = number,
			.value_at = end,
			.value_bytes = value_bytes,
		};
		end += value_bytes;
	}
	/* No byte more than there is, so that a sanitizer sees a read behind the end. */
	exact = realloc(file, end ? end : 1);
	if (exact)
		file = exact;
	(void)dgi_journal_headers(file, blocks, n_blocks, &err);
	(void)dgi_journal_scan(file, blocks, n_blocks, &uuid, see, &seen, &err);
	free(file);
	return 0;
}
