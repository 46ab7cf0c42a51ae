/* check_journal.c -- the blocks of the journal, and whether their entries would be replayed. */
#include "checking.h"

#include "block.h"
#include "bytes.h"
#include "fail.h"

#include <inttypes.h>
#include <stdlib.h>

static dg_status add_block(struct dgi_checking *c, const struct dgi_key *key,
			   const struct dgi_walk_record *found, dg_error *err)
{
	size_t capacity = c->blocks_capacity ? c->blocks_capacity * 2 : 64;
	struct dgi_journal_block *blocks = c->blocks;

	if (c->n_blocks == c->blocks_capacity) {
		blocks = realloc(blocks, capacity * sizeof *blocks);
		if (!blocks)
			return dgi_fail_memory(err, "journal");
		c->blocks = blocks;
		c->blocks_capacity = capacity;
	}
	blocks[c->n_blocks++] = (struct dgi_journal_block){
		.number = key->block,
		.value_at = found->value_at,
		.value_bytes = found->value_bytes,
	};
	return DG_OK;
}

static void tell_blocks(struct dgi_checking *c, uint64_t first, uint64_t last, dg_status st,
			const dg_error *what)
{
	c->blocks_damaged = true;
	if (first == last)
		dgi_check_tell(c, st, what, "block %" PRIu64, first);
	else
		dgi_check_tell(c, st, what, "blocks %" PRIu64 "..%" PRIu64, first, last);
}

/* Header, and with @deep checksum and filling. */
static dg_status check_block(struct dgi_checking *c, const struct dgi_key *key,
			     const struct dgi_walk_record *found, dg_error *err)
{
	size_t value_bytes = (size_t)found->value_bytes;
	const uint8_t *payload = c->room + DGI_RECORD_HEADER_BYTES;
	struct dgi_record record;
	size_t payload_bytes;
	dg_status st;

	if (found->value || value_bytes > dgi_value_bytes_of_pages(DGI_BLOCK_PAGES_MAX) ||
	    !dgi_check_fills_pages(value_bytes))
		return dgi_fail(err, DG_CORRUPT, "value of %" PRIu64 " bytes", found->value_bytes);
	st = dgi_check_read(c, found->value_at, c->room,
			    c->deep ? value_bytes : DGI_RECORD_HEADER_BYTES, err);
	if (!st)
		st = dgi_block_header(c->room, value_bytes, key->block, &record, err);
	if (st)
		return st;
	payload_bytes = (size_t)record.payload_bytes;
	if (record.log > c->log)
		c->log = record.log;
	if (!c->deep)
		return DG_OK;
	c->report->chunks++;
	c->report->bytes += payload_bytes;
	if (!dgi_record_holds(c->room, &c->store_uuid, key, payload, payload_bytes))
		return dgi_fail(err, DG_CORRUPT, "checksum does not match");
	if (!dgi_check_zeros(payload + payload_bytes,
			     value_bytes - DGI_RECORD_HEADER_BYTES - payload_bytes))
		return dgi_fail(err, DG_CORRUPT, "bytes behind the entries are not 0");
	return DG_OK;
}

dg_status dgi_check_block(struct dgi_checking *c, const struct dgi_key *key,
			  const struct dgi_walk_record *found, dg_error *err)
{
	uint64_t wanted = c->n_blocks ? c->blocks[c->n_blocks - 1].number + 1 : key->block;
	dg_status st = add_block(c, key, found, err);
	dg_error what;

	if (st)
		return st;
	if (key->block != wanted) {
		(void)dgi_fail(&what, DG_CORRUPT, key->block > wanted ? "missing" : "out of order");
		tell_blocks(c, key->block > wanted ? wanted : key->block,
			    key->block > wanted ? key->block - 1 : key->block, DG_CORRUPT, &what);
	}
	st = check_block(c, key, found, &what);
	if (st)
		tell_blocks(c, key->block, key->block, st, &what);
	return DG_OK;
}

/* --- Entries --- */

struct tensors {
	const struct dgi_catalogue *catalogue;
};

/* Would it be replayed? */
static dg_status check_entry(void *context, const struct dgi_entry *entry, dg_error *err)
{
	const struct dgi_catalogue *catalogue = ((const struct tensors *)context)->catalogue;
	int64_t n_rows;
	size_t i;

	if (dgi_catalogue_is_dead(catalogue, entry->tensor))
		return DG_OK;
	if (!dgi_catalogue_find(catalogue, entry->tensor, &i))
		return dgi_fail(err, DG_CORRUPT, "entry %" PRIu64 ": no tensor %" PRIu32,
				entry->log_number, entry->tensor);
	n_rows = catalogue->infos[i].n_rows;
	if (entry->row_bytes != catalogue->infos[i].row_bytes)
		return dgi_fail(err, DG_CORRUPT,
				"entry %" PRIu64 ": %" PRIu32 " bytes a row, want %" PRIu32,
				entry->log_number, entry->row_bytes, catalogue->infos[i].row_bytes);
	if (entry->kind == DGI_ENTRY_FILL)
		return entry->first < 0 || entry->count < 0 || entry->first > n_rows - entry->count
			       ? dgi_fail(err, DG_CORRUPT,
					  "entry %" PRIu64 ": fills %" PRId64 " rows from %" PRId64
					  " on, there are %" PRId64,
					  entry->log_number, entry->count, entry->first, n_rows)
			       : DG_OK;
	for (uint64_t k = 0; k < entry->n; k++) {
		int64_t row = (int64_t)dgi_get_u64(entry->rows + 8 * k);

		if (row < 0 || row >= n_rows)
			return dgi_fail(err, DG_CORRUPT,
					"entry %" PRIu64 ": row %" PRId64 ", there are %" PRId64,
					entry->log_number, row, n_rows);
	}
	return DG_OK;
}

dg_status dgi_check_entries(struct dgi_checking *c, const struct dgi_catalogue *catalogue,
			    dg_error *err)
{
	struct tensors tensors = { catalogue };
	struct dgi_map map = { 0 };
	dg_error what;
	dg_status st;

	if (!c->deep || c->n_blocks == 0 || c->blocks_damaged)
		return DG_OK;
	/* All blocks have just been read, so the map can be read too. */
	st = dgi_map_extend(&map, c->fd, (size_t)c->file_bytes, err);
	if (st)
		return st;
	st = dgi_journal_scan(dgi_map_at(&map, 0), c->blocks, c->n_blocks, &c->store_uuid,
			      check_entry, &tensors, &what);
	dgi_map_close(&map);
	if (st == DG_NOMEM)
		return dgi_fail_memory(err, "journal");
	if (st)
		dgi_check_tell(c, st, &what, "entries");
	return DG_OK;
}
