/*
 * checkpoint.c -- folds the journal into tensors.mdb, a slice at a time.
 *
 * A round writes every chunk that was hot when it began. A slice of at most 16 MiB is frozen between
 * two records, at log number S: a write that comes to a frozen chunk copies it first. Its images are
 * stamped S, and committed only once the journal is durable up to S (write ahead). Then, before any
 * other transaction begins, the table shows the images, except where a write has copied the chunk
 * meanwhile. Slices need not be atomic together: replay skips, per chunk, what its image holds. After
 * the slices comes the session table, then the journal is trimmed up to where the round began.
 */
#include "inside.h"

#include "check.h"
#include "deadline.h"
#include "fail.h"
#include "log.h"
#include "record.h"
#include "thread.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define SLICE_BYTES (UINT64_C(16) << 20)
#define SLICE_CHUNKS 4096
#define TICK_MS 200 /* how often the thread looks at the journal's length and writes the mark */
#define MARK_MS 1000
#define PURGE_MS 5   /* between two transactions that delete what was dropped */
#define RETRY_MS 500 /* after a full disk */
#define JOURNAL_WAIT_MS 30000
#define RECOVERY_TARGET_S 2.0
#define CHECKPOINT_BYTES_MIN (UINT64_C(32) << 20)
#define MEASURED_BYTES_MIN (UINT64_C(16) << 20) /* of pushes, to believe a rate */
#define PAUSE_MS_MAX 250			/* between two slices while pushes come */
/* Of the tree and the free list, for each image, at the worst. */
#define TREE_BYTES_PER_IMAGE (3 * DGI_PAGE_BYTES)

static struct timespec timespec_in(int ms)
{
	struct dgi_deadline deadline = dgi_deadline_in(ms);

	return (struct timespec){ .tv_sec = deadline.at_ms / 1000,
				  .tv_nsec = deadline.at_ms % 1000 * 1000000 };
}

/* --- Room --- */

/* After an unclean stop other processes may still believe the dead server's table for a while, so
 * its pages must not be used again yet. */
static void wait_for_stale_tables(const struct dgi_volume *v)
{
	int64_t left = v->checkpoint.not_before_ms - dgi_now_ms();

	if (left > 0)
		dgi_sleep_ms(left);
}

/* Room in liblmdb's map and in ours, ours first: it must cover all that is ever published. */
dg_status dgi_checkpoint_make_room(struct dgi_volume *v, uint64_t bytes, dg_error *err)
{
	uint64_t needed;
	uint64_t wanted = dgi_env_map_wanted(v->env, bytes, &needed);
	dg_status st;

	wait_for_stale_tables(v);
	st = dgi_map_extend(&v->tensors_map, dgi_env_fd(v->env), (size_t)wanted, err);

	if (!st)
		st = dgi_env_grow(v->env, wanted, err);
	if (st != DG_NOMEM)
		return st;
	if (needed <= dgi_env_map_bytes(v->env))
		return DG_OK;
	return dgi_fail(err, DG_FULL, "no address space for a map of %" PRIu64 " bytes", wanted);
}

/* --- A slice --- */

struct slice {
	struct dgi_frozen frozen[SLICE_CHUNKS]; /* in the order in which they were frozen */
	struct dgi_frozen sorted[SLICE_CHUNKS]; /* in the order of their keys */
	struct dgi_image images[SLICE_CHUNKS];	/* of these */
	size_t n;
	uint64_t log; /* of its images */
};

static const struct dgi_rows *rows_of(const struct dgi_volume *v, size_t entry)
{
	const struct dgi_catalogue *c = &v->tensors.catalogue;

	return &c->rows[dgi_catalogue_of_entry(c, entry)];
}

static bool may_lack_image(const struct dgi_volume *v, size_t entry)
{
	const struct dgi_catalogue *c = &v->tensors.catalogue;

	return c->lives[dgi_catalogue_of_entry(c, entry)].sparse;
}

static dg_status write_image(struct dgi_volume *v, const struct dgi_frozen *frozen, uint64_t log,
			     struct dgi_image *image, dg_error *err)
{
	const struct dgi_rows *rows = rows_of(v, frozen->entry);
	const uint64_t chunk = frozen->entry - rows->first_entry;
	const uint32_t n_rows = dgi_cut_rows(&rows->cut, chunk);
	const size_t payload_bytes = (size_t)n_rows * rows->cut.row_bytes;
	const size_t end = DGI_RECORD_HEADER_BYTES + payload_bytes;
	struct dgi_key key = {
		.kind = DGI_KIND_CHUNK, .tensor = rows->tensor, .chunk = chunk, .log = log
	};
	struct dgi_record record = { .kind = DGI_KIND_CHUNK,
				     .version = DGI_RECORD_VERSION,
				     .payload_bytes = payload_bytes,
				     .log = log,
				     .count = n_rows };
	uint8_t key_bytes[DGI_KEY_BYTES_MAX];
	struct dgi_env_value value;
	dg_status st = dgi_env_reserve(v->env, key_bytes, dgi_key_encode(&key, key_bytes),
				       rows->cut.value_bytes, false, &value, err);

	if (st)
		return st;
	/* Nobody writes to a frozen slot: plain bytes. */
	memcpy(value.data + DGI_RECORD_HEADER_BYTES, dgi_slot_at(v->table.segments, frozen->slot),
	       payload_bytes);
	memset(value.data + end, 0, rows->cut.value_bytes - end);
	dgi_record_seal(value.data, &record, &v->graph.superblock.store_uuid, &key,
			value.data + DGI_RECORD_HEADER_BYTES, payload_bytes);
	*image = (struct dgi_image){ .entry = frozen->entry, .page = value.page, .log = log };
	key.log = dgi_table_log(&v->table, frozen->entry);
	st = dgi_env_delete(v->env, key_bytes, dgi_key_encode(&key, key_bytes), err);
	return st == DG_NOTFOUND && may_lack_image(v, frozen->entry) ? DG_OK : st;
}

static dg_status commit_slice(struct dgi_volume *v, struct slice *slice, dg_error *err)
{
	uint64_t bytes = 0;
	dg_status st;

	for (size_t i = 0; i < slice->n; i++)
		bytes += rows_of(v, slice->sorted[i].entry)->cut.value_bytes + TREE_BYTES_PER_IMAGE;
	st = dgi_checkpoint_make_room(v, bytes, err);
	if (!st)
		st = dgi_env_begin(v->env, err);
	if (st)
		return st;
	for (size_t i = 0; i < slice->n && !st; i++)
		st = write_image(v, &slice->sorted[i], slice->log, &slice->images[i], err);
	if (st)
		dgi_env_abort(v->env);
	else
		st = dgi_env_commit(v->env, err);
	return st;
}

static int compare_entries(const void *a, const void *b)
{
	const struct dgi_frozen *x = a, *y = b;

	return (x->entry > y->entry) - (x->entry < y->entry);
}

/* In the order of keys, which costs the tree least. */
static dg_status write_slice(struct dgi_volume *v, struct slice *slice, dg_error *err)
{
	dg_status st;

	memcpy(slice->sorted, slice->frozen, slice->n * sizeof *slice->sorted);
	qsort(slice->sorted, slice->n, sizeof *slice->sorted, compare_entries);
	st = dgi_journal_wait(v->journal, slice->log, JOURNAL_WAIT_MS, err);
	(void)pthread_mutex_lock(&v->env_lock);
	if (!st)
		st = commit_slice(v, slice, err);
	dgi_table_lock(&v->table);
	for (size_t i = 0; i < slice->n && !st; i++)
		dgi_hot_settle(&v->hot, &slice->sorted[i], &slice->images[i]);
	for (size_t i = slice->n; i-- > 0 && st;)
		dgi_hot_thaw(&v->hot, &slice->frozen[i]);
	dgi_table_unlock(&v->table);
	(void)pthread_mutex_unlock(&v->env_lock);
	return st;
}

/* --- The tables of sessions and operations --- */

/* Puts a table in pieces, at least @n_pieces, in the place of those there. */
static dg_status put_table(struct dgi_volume *v, uint8_t kind, const uint8_t *data, size_t n,
			   uint32_t n_least, uint64_t log, dg_error *err)
{
	const size_t piece_bytes = DGI_SESSIONS_PIECE_BYTES;
	uint32_t n_pieces = (uint32_t)((n + piece_bytes - 1) / piece_bytes);
	dg_status st = DG_OK;

	if (n_pieces < n_least)
		n_pieces = n_least;
	for (uint32_t i = 0; !st; i++) {
		struct dgi_key key = { .kind = kind, .piece = i };
		size_t at = i * piece_bytes;
		size_t here = i < n_pieces && n - at < piece_bytes ? n - at : piece_bytes;
		struct dgi_record record = { .kind = kind,
					     .version = DGI_RECORD_VERSION,
					     .payload_bytes = here,
					     .log = log };
		uint8_t key_bytes[DGI_KEY_BYTES_MAX];
		size_t key_n = dgi_key_encode(&key, key_bytes);
		struct dgi_env_value value;

		st = dgi_env_delete(v->env, key_bytes, key_n, err);
		if (st == DG_NOTFOUND) {
			st = DG_OK;
			if (i >= n_pieces)
				break;
		}
		if (st || i >= n_pieces)
			continue;
		st = dgi_env_reserve(v->env, key_bytes, key_n, DGI_RECORD_HEADER_BYTES + here,
				     false, &value, err);
		if (st)
			break;
		if (here)
			memcpy(value.data + DGI_RECORD_HEADER_BYTES, data + at, here);
		dgi_record_seal(value.data, &record, &v->graph.superblock.store_uuid, &key,
				value.data + DGI_RECORD_HEADER_BYTES, here);
	}
	return st;
}

/* The sessions' table and the operations', of the same moment. */
struct tables {
	uint8_t *sessions, *operations;
	size_t n_sessions, n_operations;
	uint64_t log;
};

static dg_status encode_tables(struct dgi_volume *v, struct tables *t, dg_error *err)
{
	dg_status st;

	dgi_table_lock(&v->table);
	t->log = atomic_load(&v->log_number);
	st = dgi_sessions_encode(v->sessions, &t->sessions, &t->n_sessions, err);
	if (!st)
		st = dgi_operations_encode(&v->operations, &t->operations, &t->n_operations, err);
	dgi_table_unlock(&v->table);
	return st;
}

static dg_status put_tables(struct dgi_volume *v, const struct tables *t, dg_error *err)
{
	dg_status st = dgi_checkpoint_make_room(
		v, t->n_sessions + t->n_operations + (UINT64_C(1) << 20), err);

	if (!st)
		st = dgi_env_begin(v->env, err);
	if (st)
		return st;
	/* Without a session one empty piece says which number it is of. */
	st = put_table(v, DGI_KIND_SESSIONS, t->sessions, t->n_sessions, 1, t->log, err);
	if (!st)
		st = put_table(v, DGI_KIND_OPERATIONS, t->operations, t->n_operations, 0, t->log,
			       err);
	if (st)
		dgi_env_abort(v->env);
	else
		st = dgi_env_commit(v->env, err);
	return st;
}

static dg_status write_tables(struct dgi_volume *v, dg_error *err)
{
	struct tables tables = { 0 };
	dg_status st = encode_tables(v, &tables, err);

	if (!st)
		st = dgi_journal_wait(v->journal, tables.log, JOURNAL_WAIT_MS, err);
	(void)pthread_mutex_lock(&v->env_lock);
	if (!st)
		st = put_tables(v, &tables, err);
	(void)pthread_mutex_unlock(&v->env_lock);
	free(tables.sessions);
	free(tables.operations);
	return st;
}

/* --- A round --- */

/* Journal bytes at which a round begins: what replays within the target, but no less than 1.5 times
 * the hot bytes unless that would take longer, so that little is written twice. */
static uint64_t threshold(const struct dgi_volume *v)
{
	uint64_t by_target = (uint64_t)(v->checkpoint.replay_bytes_per_s * RECOVERY_TARGET_S / 2);
	uint64_t by_hot = v->hot.bytes + v->hot.bytes / 2;
	uint64_t quota = v->options.journal_quota_bytes / 2;
	uint64_t bytes = by_hot > CHECKPOINT_BYTES_MIN ? by_hot : CHECKPOINT_BYTES_MIN;

	if (v->options.checkpoint_bytes)
		return v->options.checkpoint_bytes;
	if (bytes > by_target)
		bytes = by_target > CHECKPOINT_BYTES_MIN ? by_target : CHECKPOINT_BYTES_MIN;
	return bytes < quota ? bytes : quota;
}

bool dgi_checkpoint_by_room(const struct dgi_volume *volume)
{
	return volume->hot.bytes > volume->options.hot_bytes / 2;
}

/*
 * Slices and pushes compete for the disk: while pushes come, the round pauses after a slice for
 * twice as long as it took, unless somebody waits for its end or it falls behind: half of what may be
 * replayed is left to the journal when a round begins, and half of that for pauses.
 */
static void give_way(struct dgi_volume *v, const struct slice *slice, int64_t begun_us)
{
	struct dgi_checkpoint *c = &v->checkpoint;
	int64_t ms = (dgi_now_us() - begun_us) / 500;
	struct timespec until;

	if (atomic_load(&v->log_number) == slice->log || dgi_checkpoint_by_room(v) ||
	    dgi_journal_bytes(v->journal) > threshold(v) / 2 * 3)
		return;
	until = timespec_in(ms < PAUSE_MS_MAX ? (int)ms : PAUSE_MS_MAX);
	(void)pthread_mutex_lock(&c->lock);
	if (!c->wanted && !c->stopping)
		(void)pthread_cond_timedwait(&c->work, &c->lock, &until);
	(void)pthread_mutex_unlock(&c->lock);
}

/* With the table's lock held. What it takes to apply pushes is what it takes to replay them. */
static void note_rate(struct dgi_volume *v)
{
	if (v->applied_bytes < MEASURED_BYTES_MIN || v->applied_us <= 0)
		return;
	v->checkpoint.replay_bytes_per_s = (double)v->applied_bytes / (double)v->applied_us * 1e6;
	v->applied_bytes = 0;
	v->applied_us = 0;
}

static uint64_t slice_bytes(const struct dgi_volume *v)
{
	return v->options.slice_bytes ? v->options.slice_bytes : SLICE_BYTES;
}

static dg_status run_round(struct dgi_volume *v, dg_error *err)
{
	struct slice *slice = malloc(sizeof *slice);
	uint64_t begun_at;
	dg_status st = DG_OK;

	if (!slice)
		return dgi_fail_memory(err, "checkpoint");
	dgi_table_lock(&v->table);
	begun_at = atomic_load(&v->log_number);
	note_rate(v);
	dgi_table_unlock(&v->table);
	while (!st) {
		int64_t begun_us = dgi_now_us();

		dgi_table_lock(&v->table);
		slice->n = dgi_hot_freeze(&v->hot, begun_at, slice_bytes(v), SLICE_CHUNKS,
					  slice->frozen);
		slice->log = atomic_load(&v->log_number);
		dgi_table_unlock(&v->table);
		if (slice->n == 0)
			break;
		st = write_slice(v, slice, err);
		if (!st)
			give_way(v, slice, begun_us);
	}
	free(slice);
	if (!st)
		st = write_tables(v, err);
	if (!st)
		dgi_journal_trim(v->journal, begun_at);
	return st;
}

/* --- The thread --- */

/* Is there a hot chunk to be written down? */
static bool has_hot(struct dgi_volume *v)
{
	bool has;

	dgi_table_lock(&v->table);
	has = dgi_hot_oldest(&v->hot) != UINT64_MAX;
	dgi_table_unlock(&v->table);
	return has;
}

static bool is_due(struct dgi_volume *v)
{
	return (dgi_checkpoint_by_room(v) || dgi_journal_bytes(v->journal) >= threshold(v)) &&
	       has_hot(v);
}

static void write_mark(struct dgi_volume *v, bool clean)
{
	struct dgi_mark mark = {
		.log_number = atomic_load(&v->durable),
		.incarnation = v->incarnation,
		.clean = clean,
	};
	dg_error err = { 0 };

	if (dgi_mark_write(&v->mark, &mark, &err))
		dgi_log(DG_LOG_WARNING, "store '%s': %s", v->path, err.text);
}

static void tick(struct dgi_checkpoint *c, int ms)
{
	struct timespec until = timespec_in(ms);

	if (!c->wanted && !c->stopping)
		(void)pthread_cond_timedwait(&c->work, &c->lock, &until);
}

/* Room is a matter of patience, and of memory; anything else is the end. */
static void note_failure(struct dgi_volume *v, dg_status st, const char *what, const dg_error *err)
{
	if (st == DG_FULL || st == DG_NOMEM || st == DG_TIMEOUT) {
		dgi_log(DG_LOG_WARNING, "store '%s': %s put off: %s", v->path, what, err->text);
	} else if (st) {
		dgi_log(DG_LOG_ERROR, "store '%s': %s failed: %s", v->path, what, err->text);
		v->broken = true;
		dgi_volume_tell(v, atomic_load(&v->durable), DG_IO);
	}
}

static void end_round(struct dgi_volume *v, dg_status st, const dg_error *err)
{
	struct dgi_checkpoint *c = &v->checkpoint;

	note_failure(v, st, "checkpoint", err);
	(void)pthread_mutex_lock(&c->lock);
	c->rounds++;
	c->is_running = false;
	c->result = (dg_error){ .status = st };
	if (st)
		c->result = *err;
	(void)pthread_cond_broadcast(&c->done);
	(void)pthread_mutex_unlock(&c->lock);
}

/* One transaction's worth of the chunks of dropped tensors, between other work. */
static void purge(struct dgi_volume *v, int *wait_ms)
{
	struct dgi_checkpoint *c = &v->checkpoint;
	uint64_t wanted;
	bool more = false;
	dg_error err = { 0 };
	dg_status st;

	if (!atomic_load(&c->n_to_purge))
		return;
	wanted = atomic_load(&c->n_to_purge);
	st = dgi_purge_some(v, &more, &err);
	note_failure(v, st, "deleting what was dropped", &err);
	/* A drop meanwhile has asked again. */
	if (!st && !more)
		(void)atomic_compare_exchange_strong(&c->n_to_purge, &wanted, 0);
	*wait_ms = st ? RETRY_MS : more ? PURGE_MS : TICK_MS;
}

static void *run_checkpoints(void *argument)
{
	struct dgi_volume *v = argument;
	struct dgi_checkpoint *c = &v->checkpoint;
	int64_t marked_ms = dgi_now_ms();
	uint64_t marked = atomic_load(&v->durable);
	int wait_ms = TICK_MS;

	for (;;) {
		dg_error err = { 0 };
		dg_status st;
		bool due, stop;

		(void)pthread_mutex_lock(&c->lock);
		tick(c, wait_ms);
		due = c->wanted;
		stop = c->stopping;
		c->wanted = false;
		(void)pthread_mutex_unlock(&c->lock);
		if (dgi_now_ms() - marked_ms >= MARK_MS && atomic_load(&v->durable) != marked) {
			marked = atomic_load(&v->durable);
			marked_ms = dgi_now_ms();
			write_mark(v, false);
		}
		if (v->broken || (stop && !has_hot(v)))
			break;
		if (!stop)
			purge(v, &wait_ms);
		if (!due && !stop && !is_due(v))
			continue;
		(void)pthread_mutex_lock(&c->lock);
		c->is_running = true;
		(void)pthread_mutex_unlock(&c->lock);
		st = run_round(v, &err);
		end_round(v, st, &err);
		if (stop)
			break;
		wait_ms = st ? RETRY_MS : TICK_MS;
	}
	return NULL;
}

dg_status dgi_checkpoint_start(struct dgi_volume *volume, dg_error *err)
{
	struct dgi_checkpoint *c = &volume->checkpoint;
	pthread_condattr_t attributes;
	dg_status st;

	(void)pthread_condattr_init(&attributes);
	(void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	(void)pthread_mutex_init(&c->lock, NULL);
	(void)pthread_cond_init(&c->work, &attributes);
	(void)pthread_cond_init(&c->done, &attributes);
	(void)pthread_condattr_destroy(&attributes);
	st = dgi_thread_start(&c->thread, run_checkpoints, volume, "checkpoint", err);
	if (st)
		return st;
	c->has_thread = true;
	return DG_OK;
}

void dgi_checkpoint_request(struct dgi_volume *volume)
{
	struct dgi_checkpoint *c = &volume->checkpoint;

	(void)pthread_mutex_lock(&c->lock);
	c->wanted = true;
	(void)pthread_cond_signal(&c->work);
	(void)pthread_mutex_unlock(&c->lock);
}

bool dgi_volume_is_purging(struct dgi_volume *volume)
{
	return atomic_load(&volume->checkpoint.n_to_purge) != 0;
}

void dgi_checkpoint_request_purge(struct dgi_volume *volume)
{
	struct dgi_checkpoint *c = &volume->checkpoint;

	(void)pthread_mutex_lock(&c->lock);
	atomic_fetch_add(&c->n_to_purge, 1);
	(void)pthread_cond_signal(&c->work);
	(void)pthread_mutex_unlock(&c->lock);
}

dg_status dgi_volume_checkpoint(struct dgi_volume *volume, int timeout_ms, dg_error *err)
{
	struct dgi_checkpoint *c = &volume->checkpoint;
	struct timespec until = timespec_in(timeout_ms);
	dg_status st = DG_OK;
	uint64_t wanted;

	if (!c->has_thread)
		return dgi_fail(err, DG_DENIED, "store '%s' is open read only", volume->path);
	(void)pthread_mutex_lock(&c->lock);
	/* A round that runs already may have begun before the last write: take the one after it. */
	wanted = c->rounds + (c->is_running ? 2 : 1);
	while (!st && c->rounds < wanted && !volume->broken) {
		c->wanted = true;
		(void)pthread_cond_signal(&c->work);
		if (pthread_cond_timedwait(&c->done, &c->lock, &until) == ETIMEDOUT)
			st = dgi_fail(err, DG_TIMEOUT, "store '%s': no checkpoint within %d ms",
				      volume->path, timeout_ms);
	}
	if (!st && c->result.status) {
		st = c->result.status;
		if (err)
			*err = c->result;
	}
	(void)pthread_mutex_unlock(&c->lock);
	return st;
}

void dgi_checkpoint_stop(struct dgi_volume *volume)
{
	struct dgi_checkpoint *c = &volume->checkpoint;
	bool clean;

	if (!c->has_thread)
		return;
	(void)pthread_mutex_lock(&c->lock);
	c->stopping = true;
	(void)pthread_cond_signal(&c->work);
	(void)pthread_mutex_unlock(&c->lock);
	(void)pthread_join(c->thread, NULL);
	c->has_thread = false;
	clean = !volume->broken && !has_hot(volume);
	if (!volume->broken)
		write_mark(volume, clean);
	(void)pthread_cond_destroy(&c->work);
	(void)pthread_cond_destroy(&c->done);
	(void)pthread_mutex_destroy(&c->lock);
}
