/*
 * replay.c -- what the journal holds and the chunks do not, applied in order, per chunk.
 *
 * The same for a server that starts after a crash and for a tool that looks at a store offline: the
 * rows become hot, nothing is written. An entry is skipped for each chunk whose image is at least as
 * new, so that replay may begin anywhere and be interrupted.
 */
#include "inside.h"

#include "apply.h"
#include "bytes.h"
#include "fail.h"
#include "log.h"
#include "uuid.h"

#include <inttypes.h>

/* An entry being replayed. */
struct replaying {
	struct dgi_volume *volume;
	struct dgi_applying applying;
	const struct dgi_rows *rows; /* of its own tensor; its group's are cut alike */
	int64_t n_rows;
};

static const struct dgi_rows *member_rows(const struct replaying *r, size_t member)
{
	return &r->volume->tensors.catalogue.rows[r->applying.members[member]];
}

/* Is the entry in the image of this chunk already? In one of its group's, hence in all. */
static bool is_folded(const struct replaying *r, uint64_t chunk)
{
	for (size_t m = 0; m < r->applying.n_members; m++)
		if (r->applying.entry->log_number <=
		    dgi_table_log(&r->volume->table, member_rows(r, m)->first_entry + chunk))
			return true;
	return false;
}

/* The slot with the chunk's rows, which is made hot if need be. */
static dg_status find_slot(struct replaying *r, size_t member, uint64_t chunk, uint32_t *slot,
			   dg_error *err)
{
	struct dgi_hot *hot = &r->volume->hot;
	const struct dgi_rows *rows = member_rows(r, member);
	dg_status st;

	if (dgi_table_is_writable(hot->table, rows->first_entry + chunk, slot))
		return DG_OK;
	st = dgi_hot_stage(hot, rows, chunk, slot, err);
	if (!st)
		dgi_hot_adopt(hot, rows->first_entry + chunk, *slot, r->applying.entry->log_number,
			      true);
	return st;
}

static dg_status replay_row(struct replaying *r, dg_id row, const uint8_t *operand, dg_error *err)
{
	struct dgi_place places[DGI_GROUP_MAX];
	uint64_t chunk;

	if (row < 0 || row >= r->n_rows)
		return dgi_fail(err, DG_CORRUPT, "row %" PRId64 ", there are %" PRId64, row,
				r->n_rows);
	chunk = dgi_divide(&r->rows->cut.by_rows, (uint64_t)row);
	if (is_folded(r, chunk))
		return DG_OK;
	for (size_t m = 0; m < r->applying.n_members; m++) {
		const struct dgi_cut *cut = &member_rows(r, m)->cut;
		uint32_t slot;
		dg_status st = find_slot(r, m, chunk, &slot, err);

		if (st)
			return st;
		places[m] = (struct dgi_place){
			.row = dgi_slot_at(r->volume->table.segments, slot) +
			       ((uint64_t)row - chunk * cut->chunk_rows) * cut->row_bytes,
		};
	}
	dgi_applying_row(&r->applying, places, operand);
	return DG_OK;
}

static dg_status replay_rows(struct replaying *r, dg_error *err)
{
	const struct dgi_entry *entry = r->applying.entry;
	dg_status st = DG_OK;

	if (entry->kind == DGI_ENTRY_FILL) {
		for (int64_t i = 0; i < entry->count && !st; i++)
			st = replay_row(r, entry->first + i, entry->operands, err);
		return st;
	}
	for (uint64_t i = 0; i < entry->n && !st; i++)
		st = replay_row(r, (dg_id)dgi_get_u64(entry->rows + i * 8),
				entry->operands + i * entry->row_bytes, err);
	return st;
}

/* What an entry says beside its rows, which may be of a tensor that was dropped since. */
static dg_status replay_mark(struct dgi_volume *v, const struct dgi_entry *entry, dg_error *err)
{
	dg_status st = DG_OK;

	/* The table of a checkpoint may be newer than the entry. */
	if (!dgi_uuid_is_zero(&entry->session.id) && entry->log_number > v->tensors.sessions_log)
		st = dgi_sessions_set(v->sessions, &entry->session, err);
	if (!st && entry->part.total && entry->log_number > v->tensors.sessions_log &&
	    !dgi_catalogue_is_dead(&v->tensors.catalogue, entry->tensor))
		st = dgi_operations_note(&v->operations, entry, err);
	if (st)
		return dgi_context(err, st, "entry %" PRIu64, entry->log_number);
	if (entry->log_number > v->log_number)
		v->log_number = entry->log_number;
	return DG_OK;
}

static dg_status replay_entry(void *context, const struct dgi_entry *entry, dg_error *err)
{
	struct dgi_volume *v = context;
	struct replaying r = { .volume = v };
	dg_status st;

	/* The checkpoint wrote its session table before it trimmed: nothing lies between them. */
	if (v->durable == 0 && entry->log_number > v->tensors.sessions_log + 1)
		return dgi_fail(err, DG_CORRUPT,
				"it begins with entry %" PRIu64 ", but " DGI_TENSORS_FILE
				" holds the writes up to %" PRIu64
				" only: it has come back older than it was",
				entry->log_number, v->tensors.sessions_log);
	v->durable = entry->log_number;
	if (dgi_catalogue_is_dead(&v->tensors.catalogue, entry->tensor))
		return replay_mark(v, entry, err);
	st = dgi_applying_begin(&r.applying, &v->tensors.catalogue, &v->table, entry,
				v->options.rules, v->options.n_rules, err);

	if (st == DG_NOTFOUND || st == DG_INVALID)
		st = DG_CORRUPT;
	if (!st) {
		r.rows = member_rows(&r, 0);
		r.n_rows = r.applying.infos[0]->n_rows;
		st = replay_rows(&r, err);
	}
	dgi_applying_clear(&r.applying);
	return st ? dgi_context(err, st, "entry %" PRIu64, entry->log_number)
		  : replay_mark(v, entry, err);
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

/* --- Passing over the journal --- */

/* The rows of entry->tensor must be there. */
static bool is_within(const struct dgi_entry *entry, int64_t n_rows)
{
	if (entry->kind == DGI_ENTRY_FILL)
		return entry->first >= 0 && entry->count >= 0 && entry->first <= n_rows &&
		       entry->count <= n_rows - entry->first;
	for (uint64_t i = 0; i < entry->n; i++)
		if (dgi_get_u64(entry->rows + i * 8) >= (uint64_t)n_rows)
			return false;
	return true;
}

/* Is the entry in the images of all chunks that it changes? A row group's are written together. */
static bool is_all_folded(const struct dgi_volume *v, const struct dgi_rows *rows,
			  const struct dgi_entry *entry)
{
	const bool is_fill = entry->kind == DGI_ENTRY_FILL;
	const uint64_t n = is_fill ? (uint64_t)entry->count : entry->n;

	for (uint64_t i = 0; i < n; i++) {
		uint64_t row =
			is_fill ? (uint64_t)entry->first + i : dgi_get_u64(entry->rows + i * 8);
		uint64_t chunk = dgi_divide(&rows->cut.by_rows, row);

		if (dgi_table_log(&v->table, rows->first_entry + chunk) < entry->log_number)
			return false;
	}
	return true;
}

static dg_status pass_over_entry(void *context, const struct dgi_entry *entry, dg_error *err)
{
	struct dgi_volume *v = context;
	const struct dgi_catalogue *c = &v->tensors.catalogue;
	size_t i;

	if (dgi_catalogue_is_dead(c, entry->tensor))
		return DG_OK;
	if (!dgi_catalogue_find(c, entry->tensor, &i) || !is_within(entry, c->infos[i].n_rows))
		return dgi_fail(err, DG_CORRUPT, "entry %" PRIu64 ": no such tensor or rows",
				entry->log_number);
	if (is_all_folded(v, &c->rows[i], entry))
		return DG_OK;
	if (v->left_out.n++ == 0)
		v->left_out.first = entry->log_number;
	v->left_out.last = entry->log_number;
	return DG_OK;
}

dg_status dgi_volume_pass_over(struct dgi_volume *volume, const uint8_t *file, dg_error *err)
{
	struct dgi_journal_contents *j = &volume->journaled;
	dg_error damage;
	dg_status st = dgi_journal_headers(file, j->blocks, j->n_blocks, &damage);

	if (!st)
		st = dgi_journal_scan(file, j->blocks, j->n_blocks,
				      &volume->graph.superblock.store_uuid, pass_over_entry, volume,
				      &damage);
	if (st != DG_CORRUPT) {
		if (st && err)
			*err = damage;
		return st;
	}
	/* Who does without the journal may do so because it is damaged. */
	dgi_log(DG_LOG_WARNING,
		"store '%s': " DGI_JOURNAL_FILE ": pushes behind the damage are not "
		"counted: %s",
		volume->path, damage.text);
	return DG_OK;
}
