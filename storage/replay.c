/*
 * replay.c -- what the journal holds and the chunks do not, applied in order, per chunk.
 *
 * The same for a server that starts after a crash and for a tool that looks at a store offline: the
 * rows become hot, nothing is written. An entry is skipped for each chunk whose image is at least as
 * new, so that replay may begin anywhere and be interrupted.
 */
#include "inside.h"

#include "bytes.h"
#include "deadline.h"
#include "fail.h"
#include "uuid.h"

#include <inttypes.h>

static dg_status replay_row(struct dgi_volume *v, size_t tensor, const struct dgi_entry *entry,
			    dg_id row, const uint8_t *operand, dg_error *err)
{
	const struct dgi_rows *rows = &v->tensors.catalogue.rows[tensor];
	uint64_t chunk = dgi_divide(&rows->cut.by_rows, (uint64_t)row);
	size_t number = rows->first_entry + chunk;
	uint32_t slot;
	dg_status st;

	if (entry->log_number <= dgi_table_log(&v->table, number))
		return DG_OK;
	if (!dgi_hot_is_writable(&v->hot, number, &slot)) {
		st = dgi_hot_stage(&v->hot, rows, chunk, &slot, err);
		if (st)
			return st;
		dgi_hot_adopt(&v->hot, number, slot, entry->log_number, true);
	}
	dgi_apply_row(v, tensor, (enum dgi_op)entry->op, number,
		      dgi_slot_at(v->table.segments, slot) +
			      ((uint64_t)row - chunk * rows->cut.chunk_rows) * rows->cut.row_bytes,
		      operand, false);
	return DG_OK;
}

static dg_status replay_rows(struct dgi_volume *v, size_t tensor, const struct dgi_entry *entry,
			     dg_error *err)
{
	const int64_t n_rows = v->tensors.catalogue.infos[tensor].n_rows;
	dg_status st = DG_OK;

	for (uint64_t i = 0; i < entry->n && !st; i++) {
		dg_id row = (dg_id)dgi_get_u64(entry->rows + i * 8);

		if (row < 0 || row >= n_rows)
			return dgi_fail(err, DG_CORRUPT, "row %" PRId64 ", there are %" PRId64, row,
					n_rows);
		st = replay_row(v, tensor, entry, row, entry->operands + i * entry->row_bytes, err);
	}
	return st;
}

static dg_status replay_fill(struct dgi_volume *v, size_t tensor, const struct dgi_entry *entry,
			     dg_error *err)
{
	dg_status st = DG_OK;

	if (entry->first + entry->count > v->tensors.catalogue.infos[tensor].n_rows)
		return dgi_fail(err, DG_CORRUPT, "fill of rows %" PRId64 "..%" PRId64, entry->first,
				entry->first + entry->count - 1);
	for (int64_t i = 0; i < entry->count && !st; i++)
		st = replay_row(v, tensor, entry, entry->first + i, entry->operands, err);
	return st;
}

static dg_status replay_entry(void *context, const struct dgi_entry *entry, dg_error *err)
{
	struct dgi_volume *v = context;
	size_t tensor;
	dg_status st;

	if (!dgi_catalogue_find(&v->tensors.catalogue, entry->tensor, &tensor))
		return dgi_fail(err, DG_CORRUPT, "entry %" PRIu64 ": no tensor %" PRIu32,
				entry->log_number, entry->tensor);
	if (entry->row_bytes != v->tensors.catalogue.rows[tensor].cut.row_bytes)
		return dgi_fail(err, DG_CORRUPT,
				"entry %" PRIu64 ": %" PRIu32 " bytes a row, want %" PRIu32,
				entry->log_number, entry->row_bytes,
				v->tensors.catalogue.rows[tensor].cut.row_bytes);
	st = entry->kind == DGI_ENTRY_FILL ? replay_fill(v, tensor, entry, err)
					   : replay_rows(v, tensor, entry, err);
	/* The table of a checkpoint may be newer than the entry. */
	if (!st && !dgi_uuid_is_zero(&entry->session.id) &&
	    entry->log_number > v->tensors.sessions_log)
		st = dgi_sessions_set(v->sessions, &entry->session, err);
	if (st)
		return dgi_context(err, st, "entry %" PRIu64, entry->log_number);
	if (entry->log_number > v->log_number)
		v->log_number = entry->log_number;
	return DG_OK;
}

dg_status dgi_volume_replay(struct dgi_volume *volume, const uint8_t *file, dg_error *err)
{
	struct dgi_journal_contents *j = &volume->journaled;
	dg_status st = dgi_journal_headers(file, j->blocks, j->n_blocks, err);

	if (!st)
		st = dgi_journal_scan(file, j->blocks, j->n_blocks,
				      &volume->graph.superblock.store_uuid, replay_entry, volume,
				      err);
	return st;
}
