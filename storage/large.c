/* large.c -- a write of any size as a sequence of bounded ones. */
#include "large.h"

#include "deadline.h"
#include "fail.h"
#include "inside.h"
#include "log.h"
#include "uuid.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Bounds of a part, each about 5 ms of the writer's time. */
#define PART_BYTES (UINT64_C(4) << 20) /* of operands, or of rows filled */
#define PART_ROWS (UINT64_C(128) << 10)
#define PART_CHUNK_BYTES (UINT64_C(16) << 20) /* of chunks that may have to be copied */
#define LONG_BYTES (2 * PART_BYTES)	      /* of a push, row numbers included */

static const struct dgi_cut *cut_of(const struct dgi_volume *v, uint32_t tensor)
{
	size_t i;

	return dgi_catalogue_find(&v->tensors.catalogue, tensor, &i)
		       ? &v->tensors.catalogue.rows[i].cut
		       : NULL;
}

/* Rows of a fill that make a part: whole chunks where they are no more than that. */
static uint64_t fill_rows(const struct dgi_volume *v, const struct dgi_cut *cut)
{
	uint64_t rows = PART_BYTES / cut->row_bytes;

	if (v->options.part_rows)
		return v->options.part_rows;

	if (rows > PART_ROWS)
		rows = PART_ROWS;
	if (rows > cut->chunk_rows)
		rows -= rows % cut->chunk_rows;
	return rows ? rows : 1;
}

bool dgi_write_is_large(const struct dgi_volume *volume, const struct dgi_write *write)
{
	const struct dgi_cut *cut = cut_of(volume, write->tensor);

	if (!cut || write->rule || write->part.total)
		return false;
	if (write->fill)
		return write->n == 2 && write->rows[1] > 0 &&
		       (uint64_t)write->rows[1] > fill_rows(volume, cut);
	return write->n > DGI_ENTRY_BYTES_MAX / (8 + (uint64_t)cut->row_bytes);
}

bool dgi_write_is_long(const struct dgi_volume *volume, const struct dgi_write *write)
{
	const struct dgi_cut *cut = cut_of(volume, write->tensor);

	if (dgi_write_is_large(volume, write))
		return true;
	/* Without a session nobody would go on with the rest of the rows. */
	return cut && !write->rule && !write->part.total && !write->fill &&
	       !dgi_uuid_is_zero(&write->session) &&
	       write->n > LONG_BYTES / (8 + (uint64_t)cut->row_bytes);
}

/* All rows are looked at before the first of them is changed. */
static dg_status check_rows(const struct dgi_write *w, const struct dgi_cut *cut, dg_error *err)
{
	if (w->fill)
		return w->rows[0] < 0 || w->rows[0] > cut->n_rows ||
				       w->rows[1] > cut->n_rows - w->rows[0]
			       ? dgi_fail(err, DG_RANGE,
					  "tensor %" PRIu32 ": a fill beyond its %" PRId64 " rows",
					  w->tensor, cut->n_rows)
			       : DG_OK;
	for (size_t i = 0; i < w->n; i++)
		if (w->rows[i] < 0 || w->rows[i] >= cut->n_rows)
			return dgi_fail(err, DG_RANGE,
					"tensor %" PRIu32 ": row %" PRId64 ", there are %" PRId64
					" rows",
					w->tensor, w->rows[i], cut->n_rows);
	return DG_OK;
}

/* Was all of it, or a part, applied before? */
static dg_status look(struct dgi_large *large, dg_error *err)
{
	struct dgi_volume *v = large->volume;
	struct dgi_write *w = large->whole;
	const struct dgi_operation *known;
	enum dgi_push_novelty novelty;
	struct dgi_session_mark mark;
	dg_status st;

	dgi_table_lock(&v->table);
	st = dgi_sessions_look(v->sessions, &w->session, w->number, w->floor, &novelty, &mark, err);
	w->repeat = !st && novelty == DGI_PUSH_REPEAT;
	known = dgi_operations_find(&v->operations, &large->part.id, large->part.number);
	if (known && known->part.total == large->part.total)
		large->part.done = known->part.done;
	if (w->repeat) {
		large->part.done = large->part.total;
		w->log_number = w->wait_for = atomic_load(&v->log_number);
	}
	dgi_table_unlock(&v->table);
	return st;
}

dg_status dgi_large_begin(struct dgi_large *large, struct dgi_volume *volume,
			  struct dgi_write *whole, dg_error *err)
{
	const struct dgi_cut *cut = cut_of(volume, whole->tensor);
	const bool has_session = !dgi_uuid_is_zero(&whole->session);
	dg_status st;

	*large = (struct dgi_large){ .volume = volume, .whole = whole };
	whole->repeat = false;
	if (!cut)
		return dgi_fail(err, DG_NOTFOUND, "no tensor %" PRIu32, whole->tensor);
	st = check_rows(whole, cut, err);
	if (st)
		return st;
	large->part.total = whole->fill ? (uint64_t)whole->rows[1] : whole->n;
	large->part.first = whole->fill ? whole->rows[0] : 0;
	large->part.id = whole->session;
	large->part.number = whole->number;
	if (has_session)
		return look(large, err);
	return whole->fill ? dgi_uuid_new(&large->part.id, err) : DG_OK;
}

/* Rows from number @done on that make a part. */
static uint64_t rows_of_part(const struct dgi_large *large, const struct dgi_cut *cut)
{
	const struct dgi_write *w = large->whole;
	uint64_t bytes = 0, copied = 0, last = UINT64_MAX, n = 0;

	while (large->part.done + n < large->part.total && n < PART_ROWS) {
		uint64_t chunk = dgi_divide(&cut->by_rows, (uint64_t)w->rows[large->part.done + n]);

		bytes += 8 + cut->row_bytes;
		if (chunk != last)
			copied += cut->value_bytes;
		if (n && (bytes > PART_BYTES || copied > PART_CHUNK_BYTES))
			break;
		last = chunk;
		n++;
	}
	return n;
}

bool dgi_large_next(struct dgi_large *large, struct dgi_write *part)
{
	const struct dgi_write *w = large->whole;
	const struct dgi_cut *cut = cut_of(large->volume, w->tensor);
	const uint64_t done = large->part.done;
	uint64_t n = large->part.total - done;

	if (n == 0)
		return false;
	*part = *w;
	if (!cut) /* dropped meanwhile: applying says so */
		n = 1;
	else if (!w->fill)
		n = rows_of_part(large, cut);
	else if (n > fill_rows(large->volume, cut))
		n = fill_rows(large->volume, cut);
	if (w->fill) {
		large->run[0] = w->rows[0] + (dg_id)done;
		large->run[1] = (dg_id)n;
		part->rows = large->run;
	} else {
		part->rows = w->rows + done;
		part->n = (size_t)n;
		part->data = (const uint8_t *)w->data + done * (cut ? cut->row_bytes : 0);
	}
	part->part = large->part;
	part->part.done += n;
	return true;
}

bool dgi_large_note(struct dgi_large *large, const struct dgi_write *part)
{
	struct dgi_write *w = large->whole;

	if (part->status == DG_OK) {
		large->part.done = part->part.done;
		w->log_number = part->log_number;
		w->wait_for = part->wait_for;
		return true;
	}
	w->status = part->status;
	w->error = part->error;
	if (large->part.done)
		(void)dgi_context(&w->error, w->status,
				  "%" PRIu64 " of %" PRIu64 " rows are changed", large->part.done,
				  large->part.total);
	return false;
}

/* --- Going on after a restart --- */

static struct dgi_unfinished *unfinished_of(const struct dgi_operation *operation, dg_error *err)
{
	struct dgi_unfinished *fill = calloc(1, sizeof *fill + operation->row_bytes);

	if (!fill) {
		(void)dgi_fail_memory(err, "large operation");
		return NULL;
	}
	memcpy(fill->operand, operation->operand, operation->row_bytes);
	fill->part = operation->part;
	fill->run[0] = operation->part.first;
	fill->run[1] = (dg_id)operation->part.total;
	fill->write = (struct dgi_write){ .tensor = operation->tensor,
					  .op = (dg_operation)operation->op,
					  .fill = true,
					  .rows = fill->run,
					  .n = 2,
					  .data = fill->operand };
	/* A fill of a session bears its push's number. */
	if (operation->part.number) {
		fill->write.session = operation->part.id;
		fill->write.number = operation->part.number;
	}
	return fill;
}

static void free_all(struct dgi_unfinished *list)
{
	while (list) {
		struct dgi_unfinished *next = list->next;

		free(list);
		list = next;
	}
}

/* The first @max fills under way. */
static dg_status list_fills(struct dgi_volume *v, size_t max, struct dgi_unfinished **out,
			    dg_error *err)
{
	struct dgi_unfinished **end = out;
	dg_status st = DG_OK;
	size_t n = 0;

	*out = NULL;
	dgi_table_lock(&v->table);
	for (size_t i = 0; i < v->operations.n && n < max && !st; i++) {
		if (v->operations.list[i].kind != DGI_ENTRY_FILL)
			continue;
		*end = unfinished_of(&v->operations.list[i], err);
		if (!*end) {
			st = DG_NOMEM;
			break;
		}
		end = &(*end)->next;
		n++;
	}
	dgi_table_unlock(&v->table);
	if (st) {
		free_all(*out);
		*out = NULL;
	}
	return st;
}

dg_status dgi_large_unfinished(struct dgi_volume *volume, struct dgi_unfinished **out,
			       dg_error *err)
{
	return list_fills(volume, SIZE_MAX, out, err);
}

void dgi_large_resume(struct dgi_large *large, struct dgi_volume *volume,
		      struct dgi_unfinished *fill)
{
	*large = (struct dgi_large){ .volume = volume, .whole = &fill->write, .part = fill->part };
}

dg_status dgi_volume_resume(struct dgi_volume *volume, bool *more, dg_error *err)
{
	struct dgi_unfinished *fill;
	struct dgi_large large;
	struct dgi_write part;
	dg_status st = list_fills(volume, 1, &fill, err);

	*more = fill != NULL;
	if (!fill)
		return st;
	dgi_large_resume(&large, volume, fill);
	(void)dgi_large_next(&large, &part);
	st = dgi_volume_apply(volume, &part, 1, err);
	if (!st && part.status) {
		st = part.status;
		if (err)
			*err = part.error;
	}
	free(fill);
	return st;
}
