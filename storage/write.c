/*
 * write.c -- pushes: each becomes visible as a whole, and an entry of the journal.
 *
 * A push is looked at first: if it is refused it leaves no trace. Then, under the table's lock, the
 * chunks it changes are made hot (staged: copied into slots that nobody sees yet), its entry is
 * appended to the journal, and the rows are changed: in place where the chunk was hot, in the staged
 * copies else, which the table shows at the end. The journal's thread makes it durable meanwhile.
 */
#include "inside.h"

#include "apply.h"
#include "check.h"
#include "deadline.h"
#include "fail.h"
#include "large.h"
#include "uuid.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define ROOM_WAIT_MS 1000 /* for hot chunks to be written down */
#define DURABLE_WAIT_MS 30000
#define RING_ROWS 8	   /* found and not yet changed; a power of two */
#define PREFETCH_BYTES 256 /* of each; the processor's own prefetcher sees longer runs */

/* A push being applied. */
struct push {
	struct dgi_volume *volume;
	struct dgi_write *write;
	size_t tensor; /* its place in the catalogue */
	struct dgi_applying applying;
	const struct dgi_rows *rows;
	dg_durability durability;
	int64_t n; /* rows changed, repeats counted */
	struct dgi_entry entry;
	struct dgi_deadline deadline; /* for room, of all pushes of a call */
	struct staged {
		size_t entry;
		uint32_t slot;
	} * staged;
	size_t n_staged;
	size_t capacity;
};

static void refuse(struct dgi_write *w, dg_status st)
{
	w->status = st;
	w->error.status = st;
}

/* --- What can be said against a push before anything is done --- */

static dg_status check_rows(const struct dgi_write *w, const dg_tensor_info *info, dg_error *err)
{
	const dg_id *rows = w->rows;

	if (w->fill && (w->n != 2 || rows[0] < 0 || rows[1] < 0 || rows[0] > info->n_rows ||
			rows[1] > info->n_rows - rows[0]))
		return dgi_fail(err, DG_RANGE, "tensor '%s': a fill beyond its %" PRId64 " rows",
				info->name, info->n_rows);
	for (size_t i = 0; i < w->n && !w->fill; i++)
		if (rows[i] < 0 || rows[i] >= info->n_rows)
			return dgi_fail(err, DG_RANGE,
					"tensor '%s': row %" PRId64 ", there are %" PRId64 " rows",
					info->name, rows[i], info->n_rows);
	return DG_OK;
}

static dg_status check_push(struct push *p, dg_error *err)
{
	const struct dgi_catalogue *c = &p->volume->tensors.catalogue;
	struct dgi_write *w = p->write;
	const dg_tensor_info *info;
	dg_status st;

	if (!dgi_catalogue_find(c, w->tensor, &p->tensor))
		return dgi_fail(err, DG_NOTFOUND, "no tensor %" PRIu32, w->tensor);
	info = &c->infos[p->tensor];
	if ((info->flags & DG_TENSOR_SYSTEM) && !w->expire)
		return dgi_fail(err, DG_INVALID, "tensor '%s' is kept by the store itself",
				info->name);
	if (w->op && !dgi_op_known((uint32_t)w->op))
		return dgi_fail(err, DG_INVALID, "tensor '%s': unknown operation %d", info->name,
				(int)w->op);
	st = check_rows(w, info, err);
	if (st)
		return st;
	p->rows = &c->rows[p->tensor];
	p->durability = info->durability;
	p->n = w->fill ? w->rows[1] : (int64_t)w->n;
	p->entry = (struct dgi_entry){
		.kind = w->rule	  ? DGI_ENTRY_STEP
			: w->fill ? DGI_ENTRY_FILL
				  : DGI_ENTRY_ROWS,
		.op = w->rule ? w->rule : (uint16_t)(w->op ? w->op : DG_OP_ASSIGN),
		.tensor = w->tensor,
		.row_bytes = p->rows->cut.row_bytes,
		.n = w->fill ? 1 : w->n,
		.rows = (const uint8_t *)w->rows,
		.operands = w->data,
		.first = w->fill ? w->rows[0] : 0,
		.count = w->fill ? w->rows[1] : 0,
		.parameters = w->parameters,
		.parameters_bytes = w->parameters_bytes,
	};
	/* Rows of nobody in particular: nobody would go on with them after a restart. */
	if (!dgi_uuid_is_zero(&w->part.id))
		p->entry.part = w->part;
	if (w->parameters_bytes > (w->rule ? DGI_STEP_PARAMETERS_MAX : 0) || (w->rule && w->fill))
		return dgi_fail(err, DG_INVALID,
				"tensor '%s': a step with %" PRIu32
				" bytes of parameters, at most %d",
				info->name, w->parameters_bytes, DGI_STEP_PARAMETERS_MAX);
	if (dgi_entry_bytes(&p->entry) == 0)
		return dgi_fail(err, DG_INVALID,
				"tensor '%s': %zu rows of %" PRIu32
				" bytes are more than one push may hold (%" PRIu64 " MiB)",
				info->name, w->n, p->rows->cut.row_bytes,
				DGI_ENTRY_BYTES_MAX >> 20);
	return DG_OK;
}

/* --- Making its chunks hot --- */

static dg_id row_of(const struct push *p, int64_t i)
{
	return p->write->fill ? p->write->rows[0] + i : p->write->rows[i];
}

static uint64_t chunk_of(const struct push *p, dg_id row)
{
	return dgi_divide(&p->rows->cut.by_rows, (uint64_t)row);
}

static dg_status stage(struct push *p, const struct dgi_rows *rows, uint64_t chunk, dg_error *err)
{
	size_t entry = rows->first_entry + chunk;
	size_t capacity = p->capacity ? p->capacity * 2 : 64;
	uint32_t slot;
	void *larger;
	dg_status st;

	if (p->volume->staged[entry] || dgi_table_is_writable(&p->volume->table, entry, &slot))
		return DG_OK;
	if (p->n_staged == p->capacity) {
		larger = realloc(p->staged, capacity * sizeof *p->staged);
		if (!larger)
			return dgi_fail_memory(err, "push");
		p->staged = larger;
		p->capacity = capacity;
	}
	st = dgi_hot_stage(&p->volume->hot, rows, chunk, &slot, err);
	if (st)
		return st;
	p->staged[p->n_staged++] = (struct staged){ .entry = entry, .slot = slot };
	p->volume->staged[entry] = (uint32_t)p->n_staged;
	return DG_OK;
}

static const struct dgi_rows *member_rows(const struct push *p, size_t member)
{
	return &p->volume->tensors.catalogue.rows[p->applying.members[member]];
}

static void unstage_all(struct push *p)
{
	while (p->n_staged) {
		const struct staged *s = &p->staged[--p->n_staged];

		p->volume->staged[s->entry] = 0;
		dgi_hot_unstage(&p->volume->hot, s->slot);
	}
}

static dg_status stage_all(struct push *p, dg_error *err)
{
	uint64_t last = UINT64_MAX;
	dg_status st = DG_OK;

	for (int64_t i = 0; i < p->n && !st; i++) {
		uint64_t chunk = chunk_of(p, row_of(p, i));

		if (chunk == last)
			continue;
		last = chunk;
		for (size_t m = 0; m < p->applying.n_members && !st; m++)
			st = stage(p, member_rows(p, m), chunk, err);
	}
	if (st)
		unstage_all(p);
	return st;
}

/* --- Changing its rows --- */

/* Where a row of a member lies, in the slot that holds its chunk now. */
static struct dgi_place locate(const struct push *p, size_t member, dg_id row)
{
	const struct dgi_rows *rows = member_rows(p, member);
	const struct dgi_cut *cut = &rows->cut;
	uint64_t chunk = chunk_of(p, row);
	struct dgi_place place = { .entry = rows->first_entry + chunk };
	uint32_t number = p->volume->staged[place.entry];
	uint32_t slot;

	place.shown = number == 0;
	if (number)
		slot = p->staged[number - 1].slot;
	else
		(void)dgi_table_is_hot(&p->volume->table, place.entry, &slot);
	place.row = dgi_slot_at(p->volume->table.segments, slot) +
		    ((uint64_t)row - chunk * cut->chunk_rows) * cut->row_bytes;
	return place;
}

static void prefetch_row(const uint8_t *row, size_t n)
{
	for (size_t at = 0; at < n && at < PREFETCH_BYTES; at += 64)
		__builtin_prefetch(row + at, 1);
}

/* Finds the rows of the group's members and has memory on its way. */
static void locate_all(const struct push *p, dg_id row, struct dgi_place *places)
{
	for (size_t m = 0; m < p->applying.n_members; m++) {
		places[m] = locate(p, m, row);
		prefetch_row(places[m].row, member_rows(p, m)->cut.row_bytes);
	}
}

/* Each row is found some rows before it is changed. */
static void change_rows(struct push *p)
{
	const uint8_t *operand = p->entry.operands;
	const size_t step = p->write->fill ? 0 : p->rows->cut.row_bytes;
	struct dgi_place ring[RING_ROWS][DGI_GROUP_MAX];
	int64_t found = 0;

	for (int64_t i = 0; i < p->n; i++, operand += step) {
		for (; found < p->n && found < i + RING_ROWS; found++)
			locate_all(p, row_of(p, found), ring[found % RING_ROWS]);
		dgi_applying_row(&p->applying, ring[i % RING_ROWS], operand);
		dgi_table_let_readers_in(&p->volume->table);
	}
}

static void show_staged(struct push *p, uint64_t log)
{
	for (size_t i = 0; i < p->n_staged; i++) {
		p->volume->staged[p->staged[i].entry] = 0;
		dgi_hot_adopt(&p->volume->hot, p->staged[i].entry, p->staged[i].slot, log,
			      p->durability != DG_DURABLE_MEMORY);
	}
	p->n_staged = 0;
}

/* --- One push --- */

/* Whether it is a repeat, and the mark its entry will carry. */
static dg_status look_at_session(struct push *p, dg_error *err)
{
	struct dgi_write *w = p->write;
	enum dgi_push_novelty novelty;
	dg_status st;

	w->repeat = false;
	/* The last part of a large operation carries the mark: only all of them count as the push. */
	if (dgi_uuid_is_zero(&w->session) || w->part.done < w->part.total)
		return DG_OK;
	if (w->expire)
		return dgi_sessions_expire(p->volume->sessions, &w->session, &p->entry.session,
					   err);
	st = dgi_sessions_look(p->volume->sessions, &w->session, w->number, w->floor, &novelty,
			       &p->entry.session, err);
	w->repeat = !st && novelty == DGI_PUSH_REPEAT;
	return st;
}

/* How far the rows of a tensor in memory got is of no interest after a restart. */
static bool is_kept_part(const struct push *p)
{
	return p->entry.part.total && p->durability != DG_DURABLE_MEMORY;
}

/* With the table's lock held. FULL with *no_room: wait for a checkpoint and try again. */
static dg_status apply_locked(struct push *p, bool *no_room, dg_error *err)
{
	struct dgi_volume *v = p->volume;
	uint64_t log = atomic_load(&v->log_number) + 1;
	int64_t begun_us;
	dg_status st = look_at_session(p, err);

	*no_room = false;
	if (!st && dgi_catalogue_is_gone(&v->tensors.catalogue, p->tensor))
		st = dgi_fail(err, DG_NOTFOUND, "it has been dropped");
	if (!st && !p->write->repeat && is_kept_part(p))
		st = dgi_operations_look(&v->operations, &p->entry, &p->write->repeat, err);
	if (st)
		return st;
	if (p->write->repeat) {
		/* Its effect is somewhere up to here. */
		p->write->log_number = p->write->wait_for = log - 1;
		return DG_OK;
	}
	begun_us = dgi_now_us();
	st = stage_all(p, err);
	*no_room = st == DG_FULL;
	if (st) {
		dgi_operations_unlook(&v->operations, &p->entry);
		return st;
	}
	v->applied_us += dgi_now_us() - begun_us;
	p->entry.log_number = log;
	if (p->durability != DG_DURABLE_MEMORY)
		st = dgi_journal_append(v->journal, &p->entry, err);
	if (st) {
		*no_room = st == DG_FULL;
		unstage_all(p);
		dgi_operations_unlook(&v->operations, &p->entry);
		return st;
	}
	begun_us = dgi_now_us();
	change_rows(p);
	show_staged(p, log);
	v->applied_us += dgi_now_us() - begun_us;
	v->applied_bytes += dgi_entry_bytes(&p->entry);
	if (is_kept_part(p)) {
		st = dgi_operations_note(&v->operations, &p->entry, NULL);
		DGI_ASSERT(st == DG_OK); /* looked at above */
	}
	if (!dgi_uuid_is_zero(&p->entry.session.id)) {
		/* Looked at above, which made room: cannot fail. */
		st = dgi_sessions_set(v->sessions, &p->entry.session, NULL);
		DGI_ASSERT(st == DG_OK);
		if (p->write->expire)
			dgi_operations_drop_session(&v->operations, &p->entry.session.id);
	}
	/* Numbers are of the journal: a push to memory alone has none of its own. */
	if (p->durability == DG_DURABLE_MEMORY)
		log--;
	atomic_store(&v->log_number, log);
	p->write->log_number = log;
	p->write->wait_for = p->durability == DG_DURABLE_COMMIT ? log : 0;
	return DG_OK;
}

static dg_status apply_push(struct push *p, dg_error *err)
{
	const struct dgi_volume_options *options = &p->volume->options;
	const bool was_due = dgi_checkpoint_by_room(p->volume);
	bool no_room;
	dg_status st = check_push(p, err);

	if (st)
		return st;
	st = dgi_applying_begin(&p->applying, &p->volume->tensors.catalogue, &p->volume->table,
				&p->entry, options->rules, options->n_rules, err);
	while (!st) {
		dgi_table_lock(&p->volume->table);
		st = apply_locked(p, &no_room, err);
		dgi_table_unlock(&p->volume->table);
		if (no_room && p->volume->broken) {
			st = dgi_fail(err, DG_IO, "store '%s' takes no more writes",
				      p->volume->path);
			break;
		}
		if (!no_room || dgi_deadline_passed(p->deadline))
			break; /* done, or refused */
		dgi_checkpoint_request(p->volume);
		dgi_sleep_ms(2);
		st = DG_OK;
	}
	dgi_applying_clear(&p->applying);
	/* Early, so that few pushes have to wait for room. */
	if (!was_due && dgi_checkpoint_by_room(p->volume))
		dgi_checkpoint_request(p->volume);
	return st ? dgi_context(err, st, "tensor '%s'",
				p->volume->tensors.catalogue.infos[p->tensor].name)
		  : DG_OK;
}

dg_status dgi_volume_check_writable(const struct dgi_volume *v, dg_error *err)
{
	if (!v->options.writable)
		return dgi_fail(err, DG_DENIED, "store '%s' is open read only", v->path);
	if (dgi_lock_is_inherited(v->lock))
		return dgi_fail(err, DG_DENIED, "store '%s' belongs to the process that opened it",
				v->path);
	if (v->broken)
		return dgi_fail(err, DG_IO, "store '%s' takes no more writes", v->path);
	return DG_OK;
}

static void refuse_all(struct dgi_write *writes, size_t n, const dg_error *error)
{
	for (size_t i = 0; i < n; i++) {
		writes[i].error = *error;
		refuse(&writes[i], error->status);
	}
}

/* A push whose sender waits is on its way after the batch; another within its interval. */
static void flush_soon(const struct push *p, bool *flush)
{
	if (p->write->status != DG_OK)
		return;
	if (p->write->wait_for)
		*flush = true;
	else if (p->durability == DG_DURABLE_INTERVAL)
		dgi_journal_flush(p->volume->journal,
				  (int)p->volume->tensors.catalogue.infos[p->tensor].interval_ms);
}

dg_status dgi_volume_apply(struct dgi_volume *volume, struct dgi_write *writes, size_t n,
			   dg_error *err)
{
	struct push push = { .volume = volume, .deadline = dgi_deadline_in(ROOM_WAIT_MS) };
	bool flush = false;
	dg_error error = { 0 };
	dg_status st = dgi_volume_check_writable(volume, &error);

	if (st) {
		refuse_all(writes, n, &error);
		if (err)
			*err = error;
		return st == DG_IO ? st : DG_OK;
	}
	for (size_t i = 0; i < n; i++) {
		push.write = &writes[i];
		writes[i].error = (dg_error){ 0 };
		writes[i].log_number = writes[i].wait_for = 0;
		refuse(&writes[i], apply_push(&push, &writes[i].error));
		flush_soon(&push, &flush);
	}
	free(push.staged);
	if (flush)
		dgi_journal_flush(volume->journal, 0);
	return DG_OK;
}

void dgi_volume_forget_session(struct dgi_volume *volume, const dg_uuid *session)
{
	dgi_table_lock(&volume->table);
	dgi_sessions_remove(volume->sessions, session);
	dgi_operations_drop_session(&volume->operations, session);
	dgi_table_unlock(&volume->table);
}

/* Applies the parts of a large write one after the other. The result is as dgi_volume_apply()'s. */
static dg_status apply_large(struct dgi_volume *volume, struct dgi_write *whole, dg_error *err)
{
	struct dgi_large large;
	struct dgi_write part;
	dg_status st;

	whole->error = (dg_error){ 0 };
	whole->log_number = whole->wait_for = 0;
	refuse(whole, dgi_large_begin(&large, volume, whole, &whole->error));
	while (whole->status == DG_OK && dgi_large_next(&large, &part)) {
		st = dgi_volume_apply(volume, &part, 1, err);
		if (!dgi_large_note(&large, &part))
			return st;
	}
	return DG_OK;
}

/* Applies writes of any size, in their order. */
static dg_status apply_any(struct dgi_volume *volume, struct dgi_write *writes, size_t n,
			   dg_error *err)
{
	dg_error error = { 0 };
	dg_status st = DG_OK;
	size_t end;

	for (size_t i = 0; i < n && !st; i = end) {
		end = i + 1;
		if (dgi_write_is_large(volume, &writes[i])) {
			st = apply_large(volume, &writes[i], &error);
			continue;
		}
		while (end < n && !dgi_write_is_large(volume, &writes[end]))
			end++;
		st = dgi_volume_apply(volume, writes + i, end - i, &error);
	}
	if (!st)
		return DG_OK;
	refuse_all(writes, n, &error);
	if (err)
		*err = error;
	return st;
}

dg_status dgi_volume_write(struct dgi_volume *volume, struct dgi_write *writes, size_t n,
			   dg_error *err)
{
	uint64_t log = 0;
	dg_error error = { 0 };
	dg_status st = apply_any(volume, writes, n, err);

	if (st)
		return st;
	for (size_t i = 0; i < n; i++)
		if (writes[i].status == DG_OK && writes[i].wait_for > log)
			log = writes[i].wait_for;
	if (log == 0)
		return DG_OK;
	st = dgi_journal_wait(volume->journal, log, DURABLE_WAIT_MS, &error);
	if (st == DG_IO) {
		volume->broken = true; /* the journal's thread is about to say so too */
		(void)dgi_context(&error, st, "store '%s' takes no more writes", volume->path);
	}
	/* The journal's thread wakes who waits before it tells the volume. */
	if (!st)
		dgi_volume_raise_durable(volume, log);
	for (size_t i = 0; i < n && st; i++)
		if (writes[i].status == DG_OK)
			refuse_all(&writes[i], 1, &error);
	if (st == DG_IO && err)
		*err = error;
	return st == DG_IO ? st : DG_OK;
}

uint64_t dgi_volume_durable(const struct dgi_volume *volume)
{
	return atomic_load(&volume->durable);
}

void dgi_volume_raise_durable(struct dgi_volume *volume, uint64_t log_number)
{
	uint64_t known = atomic_load(&volume->durable);

	while (known < log_number &&
	       !atomic_compare_exchange_weak(&volume->durable, &known, log_number))
		;
}

void dgi_volume_on_durable(struct dgi_volume *volume,
			   void (*durable)(void *context, uint64_t log_number, dg_status status),
			   void *context)
{
	(void)pthread_mutex_lock(&volume->telling);
	volume->on_durable = durable;
	volume->on_durable_context = context;
	(void)pthread_mutex_unlock(&volume->telling);
}

void dgi_volume_tell(struct dgi_volume *volume, uint64_t log_number, dg_status status)
{
	(void)pthread_mutex_lock(&volume->telling);
	if (volume->on_durable)
		volume->on_durable(volume->on_durable_context, log_number, status);
	(void)pthread_mutex_unlock(&volume->telling);
}
