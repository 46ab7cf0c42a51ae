/* journal_scan.c -- reading the journal: blocks in order, entries out of them. */
#include "journal.h"

#include "block.h"
#include "buffer.h"
#include "fail.h"

#include <inttypes.h>

dg_status dgi_journal_headers(const uint8_t *file, struct dgi_journal_block *blocks, size_t n,
			      dg_error *err)
{
	for (size_t i = 0; i < n; i++) {
		struct dgi_record record;
		dg_status st;

		if (i && blocks[i].number != blocks[i - 1].number + 1)
			return dgi_fail(err, DG_CORRUPT,
					"journal: block %" PRIu64 " follows block %" PRIu64
					", some between are missing",
					blocks[i].number, blocks[i - 1].number);
		st = dgi_block_header(file + blocks[i].value_at, (size_t)blocks[i].value_bytes,
				      blocks[i].number, &record, err);
		if (st)
			return st;
		blocks[i].last_log = record.log;
	}
	return DG_OK;
}

/* An entry that spans blocks is collected here until it is whole. */
struct scan {
	dgi_entry_fn *fn;
	void *context;
	struct dgi_buffer part;
	uint64_t last_log;
};

static dg_status take_entry(struct scan *scan, const uint8_t *at, size_t n, size_t *used,
			    dg_error *err)
{
	struct dgi_entry entry;
	dg_status st = dgi_entry_decode(at, n, &entry, used, err);

	if (st)
		return st;
	if (scan->last_log && entry.log_number != scan->last_log + 1)
		return dgi_fail(err, DG_CORRUPT,
				"journal: entry %" PRIu64 " follows entry %" PRIu64,
				entry.log_number, scan->last_log);
	scan->last_log = entry.log_number;
	return scan->fn(scan->context, &entry, err);
}

/* How long the entry being collected is, as far as is known. */
static dg_status part_length(const struct scan *scan, size_t *length, dg_error *err)
{
	*length = DGI_ENTRY_HEADER_BYTES;
	if (scan->part.n < DGI_ENTRY_HEADER_BYTES)
		return DG_OK;
	return dgi_entry_length(scan->part.data, scan->part.n, length, err);
}

/* Adds bytes to the entry being collected; delivers it once it is whole. Sets *used. */
static dg_status continue_entry(struct scan *scan, const uint8_t *at, size_t n, size_t *used,
				dg_error *err)
{
	size_t length, decoded;
	dg_status st = part_length(scan, &length, err);

	if (st)
		return st;
	*used = n < length - scan->part.n ? n : length - scan->part.n;
	st = dgi_buffer_append(&scan->part, at, *used, err);
	if (!st)
		st = part_length(scan, &length, err); /* by its header, if that is whole now */
	/* An entry without any row ends with its header. */
	if (st || scan->part.n < length)
		return st;
	st = take_entry(scan, scan->part.data, length, &decoded, err);
	scan->part.n = 0;
	return st;
}

/* Does the entry at @at lie in these @n bytes whole? */
static bool is_whole(const uint8_t *at, size_t n)
{
	size_t length;

	return dgi_entry_length(at, n, &length, NULL) == DG_OK && length <= n;
}

static dg_status scan_block(struct scan *scan, const uint8_t *payload, size_t n, dg_error *err)
{
	while (n) {
		size_t used = 0;
		dg_status st;

		if (scan->part.n == 0 && is_whole(payload, n))
			st = take_entry(scan, payload, n, &used, err);
		else
			st = continue_entry(scan, payload, n, &used, err);
		if (st)
			return st;
		payload += used;
		n -= used;
	}
	return DG_OK;
}

dg_status dgi_journal_scan(const uint8_t *file, const struct dgi_journal_block *blocks, size_t n,
			   const dg_uuid *uuid, dgi_entry_fn *fn, void *context, dg_error *err)
{
	struct scan scan = { .fn = fn,
			     .context = context,
			     .part = dgi_buffer_of(DGI_ENTRY_BYTES_MAX + 4096) };
	bool has_begun = false; /* at an entry's beginning */
	dg_status st = DG_OK;

	for (size_t i = 0; i < n && !st; i++) {
		const uint8_t *value = file + blocks[i].value_at;
		struct dgi_record record;
		size_t skip = 0;

		st = dgi_block_read(value, (size_t)blocks[i].value_bytes, uuid, blocks[i].number,
				    &record, err);
		if (st)
			break;
		/* The stream may begin with the end, over several blocks, of an entry that was
		 * trimmed. */
		if (!has_begun)
			skip = (size_t)record.count;
		if (skip < record.payload_bytes)
			has_begun = true;
		st = scan_block(&scan, value + DGI_RECORD_HEADER_BYTES + skip,
				(size_t)record.payload_bytes - skip, err);
		if (st)
			st = dgi_context(err, st, "journal block %" PRIu64, blocks[i].number);
	}
	if (!st && scan.part.n)
		st = dgi_fail(err, DG_CORRUPT, "journal: its last entry is cut short");
	dgi_buffer_clear(&scan.part);
	return st;
}
