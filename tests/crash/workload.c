/* workload.c -- makes a store, pushes to it, compares it with what was promised. */
#include "workload.h"

#include "check.h"
#include "churn.h"
#include "files.h"
#include "mark.h"
#include "rng.h"
#include "shim.h"
#include "volume.h"
#include "volume_check.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BOOK "a partition book, which a store keeps and does not understand"
#define ARRAY_ELEMENTS 3000
#define REPEAT_EVERY 3	    /* groups with a push that was acknowledged before */
#define REPEAT_BACK_MAX 40  /* as many pushes back; less than the sessions' windows */
#define BAD_EVERY 16	    /* groups with a push of a row that is not there */
#define CHURN_EVERY 2	    /* groups before which a tensor comes or goes or is filled */
#define CHECKPOINT_MS 10000 /* patience with one */
#define HOT_BYTES_LEAST (UINT64_C(256) << 10)
#define JOURNAL_BYTES_LEAST (UINT64_C(512) << 10)

/* Streams of random numbers, beyond those of the plan; and UUIDs, by number. */
enum { REPEAT_STREAM = 1 << 30, OPENING_STREAM, CHURN_STREAM };
enum { STORE_UUID = 1 << 20, CLUSTER_UUID, SESSION_UUID };

static enum workload_end wrong(const struct workload *w, const char *what, const dg_error *err)
{
	fprintf(stderr, "WRONG: %s: %s%s%s\n", w->store, what, err ? ": " : "",
		err ? err->text : "");
	return WORKLOAD_WRONG;
}

/* Puts into the log what has been promised by now. */
static void note(struct workload *w, uint64_t begun, uint64_t acknowledged, uint64_t durable)
{
	w->note = (struct workload_note){ begun, acknowledged, durable };
	shim_note(begun | atomic_load(&w->oracle->churn_begun) << WORKLOAD_NOTE_BITS,
		  acknowledged | atomic_load(&w->oracle->churn_done) << WORKLOAD_NOTE_BITS,
		  durable);
}

void workload_init(struct workload *w, const struct plan *plan, struct oracle *oracle,
		   const char *store)
{
	*w = (struct workload){ .plan = plan, .oracle = oracle, .store = store };
	w->model = malloc(plan->model_bytes);
	w->before = malloc(plan->model_bytes);
	w->rows = calloc(1, plan->model_bytes);
	DGI_ASSERT(w->model && w->before && w->rows);
	workload_begin(w);
}

static void retry_later(struct workload *w, uint64_t push, int64_t applied, bool maybe)
{
	DGI_ASSERT(w->n_retry < ORACLE_HOLES_MAX);
	w->retry[w->n_retry++] = (struct workload_retry){ push, applied, maybe };
}

void workload_begin(struct workload *w)
{
	const struct oracle *oracle = w->oracle;

	memcpy(w->model, oracle->model, w->plan->model_bytes);
	w->n_retry = 0;
	for (size_t i = 0; i < oracle->n_holes; i++)
		retry_later(w, oracle->holes[i].push, -1, oracle->holes[i].maybe);
	w->next = oracle->next;
	w->failed = false;
}

void workload_clear(struct workload *w)
{
	free(w->model);
	free(w->before);
	free(w->rows);
}

/* --- Making --- */

static dg_uuid uuid_of(uint64_t seed, uint64_t what)
{
	struct dgi_rng rng = dgi_rng_of(seed, what);
	uint64_t halves[2] = { dgi_rng_next(&rng) | 1, dgi_rng_next(&rng) };
	dg_uuid uuid;

	memcpy(uuid.bytes, halves, sizeof halves);
	return uuid;
}

static dg_status fill_array(void *context, int64_t first, int64_t n, void *out, dg_error *err)
{
	int64_t *at = out;

	(void)context;
	(void)err;
	for (int64_t i = 0; i < n; i++)
		at[i] = (first + i) * 3;
	return DG_OK;
}

struct fill_context {
	const struct plan *plan;
	uint32_t tensor;
};

static dg_status fill_rows(void *context, int64_t first, int64_t n, void *out, dg_error *err)
{
	const struct fill_context *fill = context;

	(void)err;
	plan_fill(fill->plan, fill->tensor, first, n, out);
	return DG_OK;
}

static dg_status add_contents(const struct plan *plan, struct dgi_volume_maker *maker,
			      dg_error *err)
{
	dg_status st = dgi_volume_maker_array(maker, 0, DG_GRAPH_INDPTR, DG_INT64, ARRAY_ELEMENTS,
					      fill_array, NULL, err);

	for (uint32_t i = 0; !st && i < PLAN_TENSORS; i++) {
		struct fill_context fill = { plan, i };

		st = dgi_volume_maker_tensor(maker, &plan->tensors[i], fill_rows, &fill, err);
	}
	return st;
}

static dg_status make_staged(const struct plan *plan, const char *path, dg_error *err)
{
	struct dgi_superblock superblock = {
		.store_uuid = uuid_of(plan->seed, STORE_UUID),
		.cluster_uuid = uuid_of(plan->seed, CLUSTER_UUID),
		.n_parts = 1,
		.format_read = 1,
		.format_write = 1,
	};
	struct dgi_volume_maker *maker;
	dg_status st = dgi_volume_make(path, &superblock, BOOK, sizeof BOOK, &maker, err);

	if (st)
		return st;
	st = add_contents(plan, maker, err);
	if (st)
		(void)dgi_volume_maker_close(maker, false, NULL);
	else
		st = dgi_volume_maker_close(maker, true, err);
	return st;
}

enum workload_end workload_make(struct workload *w, dg_error *err)
{
	struct dgi_staging staging;
	dg_status st;

	atomic_store(&w->oracle->phase, ORACLE_MAKING);
	st = dgi_staging_begin(w->store, false, &staging, err);

	if (st)
		return WORKLOAD_FAILED;
	st = make_staged(w->plan, staging.path, err);
	if (st)
		dgi_staging_abort(&staging);
	else
		st = dgi_staging_commit(&staging, err);
	if (st)
		return WORKLOAD_FAILED;
	atomic_store(&w->oracle->created, 1);
	note(w, 0, 0, 0);
	return WORKLOAD_DONE;
}

/*
 * After an unclean stop a store does not write to tensors.mdb for a second, lest another process
 * still reads by the dead server's table. There is none here, and a second is long: says that the
 * stop was clean. What the mark says is durable stays as it is.
 */
static void forget_unclean_stop(const struct workload *w)
{
	dg_uuid uuid = uuid_of(w->plan->seed, STORE_UUID);
	struct dgi_mark_file file;
	struct dgi_mark mark;

	shim_spare(true);
	if (!dgi_mark_open(w->store, true, &uuid, &file, &mark, NULL)) { /* else opening says so */
		mark.clean = true;
		(void)dgi_mark_write(&file, &mark, NULL);
		dgi_mark_close(&file);
	}
	shim_spare(false);
}

/* Every second opening with little of everything: map, room for hot chunks, journal, slices. */
static struct dgi_volume_options draw_options(const struct workload *w)
{
	struct dgi_rng rng = dgi_rng_of(w->plan->seed, OPENING_STREAM);
	uint64_t random = dgi_rng_at(&rng, atomic_fetch_add(&w->oracle->openings, 1));
	struct dgi_volume_options options = { .writable = true };

	/* More than any fill of the plan, which is whole; less than those of churn.h. */
	if (random & 16)
		options.part_rows = PLAN_ROWS_MAX + random / 65536 % 128;
	if (random & 1)
		options.map_bytes = UINT64_C(1) << (16 + random / 256 % 6);
	if (random & 2)
		options.hot_bytes = HOT_BYTES_LEAST << (random / 16 % 3);
	if (random & 4)
		options.journal_quota_bytes = JOURNAL_BYTES_LEAST << (random / 64 % 3);
	/* Checkpoints all the time, in slices that hold parts of pushes. */
	if (random & 8) {
		options.checkpoint_bytes = 1 + random / 4096 % 65536;
		options.slice_bytes = UINT64_C(1) << (12 + random / 1024 % 4);
	}
	return options;
}

/* Goes on with what an earlier process began; for want of room another time. */
static dg_status finish_fills(struct workload *w, dg_error *err)
{
	bool more = true;
	dg_status st = DG_OK;

	while (!st && more)
		st = dgi_volume_resume(w->volume, &more, err);
	if (st != DG_IO)
		return DG_OK;
	dgi_volume_close(w->volume);
	w->volume = NULL;
	return st;
}

enum workload_end workload_open(struct workload *w, bool writable, dg_error *err)
{
	struct dgi_volume_options options = { 0 };

	atomic_store(&w->oracle->phase, ORACLE_OPENING);
	w->pushed = false;
	if (writable) {
		forget_unclean_stop(w);
		options = draw_options(w);
	}
	if (dgi_volume_open(w->store, &options, &w->volume, err)) {
		w->volume = NULL;
		return WORKLOAD_FAILED;
	}
	if (writable && finish_fills(w, err))
		return WORKLOAD_FAILED;
	atomic_store(&w->oracle->phase, ORACLE_BETWEEN);
	return WORKLOAD_DONE;
}

void workload_close(struct workload *w)
{
	atomic_store(&w->oracle->phase, ORACLE_CLOSING);
	dgi_volume_close(w->volume);
	w->volume = NULL;
	if (w->pushed && !w->failed && !w->unsure && !w->n_retry && !shim_fired()) {
		uint64_t n = atomic_load(&w->oracle->n_attempts);

		oracle_all_durable(w->oracle);
		note(w, n, n, n);
	}
	atomic_store(&w->oracle->phase, ORACLE_ENDED);
}

enum workload_end workload_checkpoint(struct workload *w, dg_error *err)
{
	return dgi_volume_checkpoint(w->volume, CHECKPOINT_MS, err) ? WORKLOAD_FAILED
								    : WORKLOAD_DONE;
}

/* --- Pushing --- */

enum item_kind {
	ITEM_NEW,
	ITEM_MAYBE,    /* in flight when the store stopped, and not to be told by its rows */
	ITEM_APPLIED,  /* tried before, and took effect then */
	ITEM_REPEATED, /* acknowledged before */
	ITEM_BAD,      /* to be refused */
};

struct group {
	struct dgi_write writes[PLAN_GROUP_MAX + 2];
	struct group_item {
		enum item_kind kind;
		uint64_t push;
		uint64_t attempt; /* where its outcome goes */
	} items[PLAN_GROUP_MAX + 2];
	dg_id runs[PLAN_GROUP_MAX + 2][2]; /* first row and number, of fills */
	size_t n;
};

static void add_item(struct workload *w, struct group *group, enum item_kind kind, uint64_t number,
		     uint64_t attempt)
{
	struct plan_push *push = &w->pushes[group->n];

	plan_push_make(w->plan, number, push);
	group->items[group->n] = (struct group_item){ kind, number, attempt };
	group->runs[group->n][0] = push->rows[0];
	group->runs[group->n][1] = (dg_id)push->n;
	group->n++;
	group->writes[group->n - 1] = (struct dgi_write){
		.tensor = w->plan->tensors[push->tensor].id,
		.op = (dg_operation)push->op,
		.rows = push->fill ? group->runs[group->n - 1] : push->rows,
		.n = push->fill ? 2 : push->n,
		.fill = push->fill,
		.data = push->data,
		.session = uuid_of(w->plan->seed, SESSION_UUID + number % PLAN_SESSIONS),
		.number = number / PLAN_SESSIONS + 1,
	};
}

/* Adds a push that is or may be new, and applies it to the model. */
static void add_push(struct workload *w, struct group *group, const struct workload_retry *retry)
{
	uint64_t attempt = atomic_load(&w->oracle->n_attempts);

	if (retry->applied >= 0) {
		oracle_attempt(w->oracle, retry->push, ORACLE_REPEATED);
		add_item(w, group, ITEM_APPLIED, retry->push, (uint64_t)retry->applied);
		return;
	}
	oracle_attempt(w->oracle, retry->push, ORACLE_PENDING);
	add_item(w, group, retry->maybe ? ITEM_MAYBE : ITEM_NEW, retry->push, attempt);
	plan_model_apply(w->plan, w->model, &w->pushes[group->n - 1]);
}

static bool is_to_be_retried(const struct workload *w, uint64_t push)
{
	for (size_t i = 0; i < w->n_retry; i++)
		if (w->retry[i].push == push)
			return true;
	return false;
}

/* One of the last pushes once more, as a client does that has lost its connection. */
static void add_repeat(struct workload *w, struct group *group, uint64_t next, uint64_t random)
{
	uint64_t back = 1 + random % REPEAT_BACK_MAX;

	if (next < back || is_to_be_retried(w, next - back))
		return;
	oracle_attempt(w->oracle, next - back, ORACLE_REPEATED);
	add_item(w, group, ITEM_REPEATED, next - back, 0);
}

static void add_bad(struct workload *w, struct group *group)
{
	const dg_tensor_info *info = &w->plan->tensors[0];
	struct plan_push *push = &w->pushes[group->n];

	push->rows[0] = 0;
	push->rows[1] = info->n_rows;
	group->items[group->n] = (struct group_item){ .kind = ITEM_BAD };
	group->writes[group->n++] = (struct dgi_write){
		.tensor = info->id, .rows = push->rows, .n = 2, .data = push->data
	};
}

static void make_group(struct workload *w, struct group *group)
{
	struct dgi_rng rng = dgi_rng_of(w->plan->seed, REPEAT_STREAM);
	uint64_t random = dgi_rng_at(&rng, w->next);
	size_t n = w->n_retry < PLAN_GROUP_MAX ? w->n_retry : PLAN_GROUP_MAX;

	if (n > 1 && (w->retry[0].maybe || w->retry[1].maybe))
		n = 1; /* each alone, so that the next comparison can tell */
	group->n = 0;
	memcpy(w->before, w->model, w->plan->model_bytes);
	if (random % REPEAT_EVERY == 0)
		add_repeat(w, group, w->next, random / REPEAT_EVERY);
	for (size_t i = 0; i < n; i++)
		add_push(w, group, &w->retry[i]);
	w->n_retry -= n;
	memmove(w->retry, w->retry + n, w->n_retry * sizeof w->retry[0]);
	if (n == 0)
		for (n = plan_group_size(w->plan, w->next); n > 0; n--)
			add_push(w, group, &(struct workload_retry){ w->next++, -1, false });
	if (random / 1024 % BAD_EVERY == 0)
		add_bad(w, group);
}

/* Did the store take an item as what it is? */
static enum workload_end judge(const struct workload *w, const struct group_item *item,
			       const struct dgi_write *write)
{
	bool was_there = item->kind == ITEM_APPLIED || item->kind == ITEM_REPEATED;

	if (write->status == DG_OK && item->kind == ITEM_BAD)
		return wrong(w, "a push of a row that is not there was taken", NULL);
	if (write->status == DG_OK && was_there && !write->repeat)
		return wrong(w, "a push that is there already was taken for a new one", NULL);
	if (write->status == DG_OK && item->kind == ITEM_NEW && write->repeat)
		return wrong(w, "a push that is not there was taken for a repeated one", NULL);
	return WORKLOAD_DONE;
}

/* Writes down what came of an item; *refused: it is to be tried again. */
static void settle_item(struct workload *w, const struct group_item *item,
			const struct dgi_write *write, bool *refused)
{
	_Atomic uint32_t *outcome = &w->oracle->attempts[item->attempt].outcome;

	if (item->kind == ITEM_REPEATED || item->kind == ITEM_BAD)
		return;
	if (write->status == DG_OK && plan_is_interval(w->plan, item->push) && !write->repeat) {
		atomic_store(outcome, ORACLE_APPLIED);
		return;
	}
	if (write->status == DG_OK) {
		atomic_store(outcome, item->kind == ITEM_MAYBE && write->repeat
					      ? ORACLE_REPEATED
					      : ORACLE_ACKNOWLEDGED);
		return;
	}
	*refused = true;
	if (item->kind == ITEM_APPLIED || write->log_number) {
		retry_later(w, item->push, (int64_t)item->attempt, false);
		return;
	}
	atomic_store(outcome, item->kind == ITEM_MAYBE ? ORACLE_PENDING : ORACLE_REFUSED);
	retry_later(w, item->push, -1, item->kind == ITEM_MAYBE);
}

/* The model without what a group was refused. */
static void redo_model(struct workload *w, const struct group *group)
{
	uint8_t *swap = w->model;

	w->model = w->before;
	w->before = swap;
	for (size_t i = 0; i < group->n; i++)
		if ((group->items[i].kind == ITEM_NEW || group->items[i].kind == ITEM_MAYBE) &&
		    !group->writes[i].repeat &&
		    (group->writes[i].status == DG_OK || group->writes[i].log_number))
			plan_model_apply(w->plan, w->model, &w->pushes[i]);
}

static enum workload_end settle(struct workload *w, const struct group *group, dg_error *err)
{
	uint64_t n = atomic_load(&w->oracle->n_attempts);
	bool refused = false;
	bool unneeded = false;

	for (size_t i = 0; i < group->n; i++) {
		const struct dgi_write *write = &group->writes[i];

		if (judge(w, &group->items[i], write))
			return WORKLOAD_WRONG;
		settle_item(w, &group->items[i], write, &refused);
		unneeded |= group->items[i].kind == ITEM_MAYBE && write->repeat;
		if (write->status && group->items[i].kind != ITEM_BAD)
			*err = write->error;
	}
	if (refused || unneeded)
		redo_model(w, group);
	if (refused)
		return WORKLOAD_REFUSED;
	note(w, n, n, 0);
	return WORKLOAD_DONE;
}

/*
 * The store takes no more writes. What it was given when that was known already, or was not even
 * applied, is not there; what
 * was on disk before, or need not wait for it, may have been acknowledged all the same, the former
 * only where the group as a whole has not failed.
 */
static enum workload_end settle_failed(struct workload *w, const struct group *group, dg_status st)
{
	for (size_t i = 0; i < group->n; i++) {
		const struct group_item *item = &group->items[i];
		_Atomic uint32_t *outcome = &w->oracle->attempts[item->attempt].outcome;

		if (item->kind == ITEM_REPEATED || item->kind == ITEM_BAD)
			continue;
		if (group->writes[i].status == DG_OK && plan_is_interval(w->plan, item->push))
			continue;
		if (group->writes[i].status == DG_OK && st)
			return wrong(w, "a push succeeded in a group that failed", NULL);
		if (group->writes[i].status == DG_OK)
			atomic_store(outcome, ORACLE_ACKNOWLEDGED);
		else if (item->kind == ITEM_NEW && (w->failed || !group->writes[i].log_number))
			atomic_store(outcome, ORACLE_REFUSED);
	}
	w->failed = true;
	return WORKLOAD_FAILED;
}

/* The disk has failed, says the group as a whole, or one of it before the store itself knows. */
static bool has_failed(const struct group *group, dg_status st, dg_error *err)
{
	for (size_t i = 0; i < group->n && !st; i++)
		if (group->writes[i].status == DG_IO) {
			*err = group->writes[i].error;
			return true;
		}
	return st != DG_OK;
}

/* --- Tensors that come and go --- */

static void note_churn(struct workload *w, uint64_t done, uint64_t begun)
{
	atomic_store(&w->oracle->churn_begun, begun);
	atomic_store(&w->oracle->churn_done, done);
	note(w, w->note.begun, w->note.acknowledged, w->note.durable);
}

static enum workload_end churn(struct workload *w, dg_error *err)
{
	const uint64_t event = atomic_load(&w->oracle->churn_done);
	bool applied;
	dg_status st;

	note_churn(w, event, event + 1);
	atomic_store(&w->oracle->phase, ORACLE_CHURNING);
	st = churn_do(w->plan, w->volume, event, &applied, err);
	atomic_store(&w->oracle->phase, ORACLE_BETWEEN);
	if (!st && w->failed && !churn_is_nothing(event))
		return wrong(w, "it has failed, but a tensor comes or goes", NULL);
	if (!st) {
		note_churn(w, event + 1, event + 1);
		return WORKLOAD_DONE;
	}
	if (st == DG_IO) {
		w->failed = true;
		return WORKLOAD_FAILED;
	}
	if (!applied && !churn_may_be_in_part(event))
		note_churn(w, event, event);
	return WORKLOAD_REFUSED;
}

enum workload_end workload_group(struct workload *w, dg_error *err)
{
	static struct group group;
	struct dgi_rng rng = dgi_rng_of(w->plan->seed, CHURN_STREAM);
	uint64_t before = atomic_load(&w->oracle->n_attempts);
	enum workload_end end = WORKLOAD_DONE;
	dg_status st;

	w->pushed = true;
	if (dgi_rng_at(&rng, w->next) % CHURN_EVERY == 0)
		end = churn(w, err);
	if (end)
		return end;
	make_group(w, &group);
	note(w, atomic_load(&w->oracle->n_attempts), before, 0);
	atomic_store(&w->oracle->phase, ORACLE_WRITING);
	st = dgi_volume_write(w->volume, group.writes, group.n, err);
	atomic_store(&w->oracle->phase, ORACLE_BETWEEN);
	if (has_failed(&group, st, err))
		return settle_failed(w, &group, st);
	return settle(w, &group, err);
}

/* --- Comparing --- */

/* What comes and goes; the oracle's numbers become what was found. */
static enum workload_end compare_churn(struct workload *w, dg_error *err)
{
	uint64_t found;

	switch (churn_compare(w->volume, atomic_load(&w->oracle->churn_done),
			      atomic_load(&w->oracle->churn_begun), &found, err)) {
	case CHURN_SOUND:
		break;
	case CHURN_WRONG:
		return wrong(w, "the tensors that come and go are not those promised", NULL);
	default:
		return WORKLOAD_FAILED;
	}
	if (atomic_load(&w->oracle->churn_begun) > found && churn_may_be_in_part(found))
		return WORKLOAD_DONE;
	atomic_store(&w->oracle->churn_done, found);
	atomic_store(&w->oracle->churn_begun, found);
	return WORKLOAD_DONE;
}

static dg_status gather_all(struct workload *w, dg_error *err)
{
	static dg_id rows[1024];

	for (uint32_t t = 0; t < PLAN_TENSORS; t++) {
		const dg_tensor_info *info = &w->plan->tensors[t];

		for (dg_id first = 0; first < info->n_rows; first += 1024) {
			size_t n =
				info->n_rows - first < 1024 ? (size_t)(info->n_rows - first) : 1024;
			dg_status st;

			for (size_t i = 0; i < n; i++)
				rows[i] = first + (dg_id)i;
			st = dgi_volume_gather(w->volume, info->id, rows, n,
					       plan_model_row(w->plan, w->rows, t, first), err);
			if (st)
				return st;
		}
	}
	return DG_OK;
}

/* Says where w->rows differs from @model. */
static void explain(struct workload *w, uint8_t *model)
{
	for (uint32_t t = 0; t < PLAN_TENSORS; t++) {
		const dg_tensor_info *info = &w->plan->tensors[t];
		int64_t bad = 0;
		int64_t first = 0;

		for (int64_t row = 0; row < info->n_rows; row++)
			if (memcmp(plan_model_row(w->plan, w->rows, t, row),
				   plan_model_row(w->plan, model, t, row), info->row_bytes) != 0 &&
			    bad++ == 0)
				first = row;
		if (bad)
			fprintf(stderr, "  %s: %" PRId64 " rows differ, the first is %" PRId64 "\n",
				info->name, bad, first);
	}
}

enum workload_end workload_read(struct workload *w, dg_error *err)
{
	if (gather_all(w, err))
		return WORKLOAD_FAILED;
	if (memcmp(w->rows, w->model, w->plan->model_bytes) == 0)
		return WORKLOAD_DONE;
	explain(w, w->model);
	return wrong(w, "the rows read are not those acknowledged", NULL);
}

static enum workload_end compare_rows(struct workload *w, uint8_t *model, const uint64_t *pending,
				      size_t n_pending, struct workload_found *found)
{
	static struct plan_push push;
	const size_t n = w->plan->model_bytes;
	bool any = false;

	memcpy(w->before, model, n);
	for (size_t i = 0; i <= n_pending; i++) {
		if (i > 0) {
			plan_push_make(w->plan, pending[i - 1], &push);
			plan_model_apply(w->plan, model, &push);
		}
		if (memcmp(w->rows, model, n) != 0)
			continue;
		found->maybe = i;
		if (!any)
			found->present = i;
		any = true;
	}
	if (!any) {
		fprintf(stderr, "against what is acknowledged:\n");
		explain(w, w->before);
		fprintf(stderr, "against that and all %zu in flight (push %" PRIu64 " …):\n",
			n_pending, n_pending ? pending[0] : 0);
		explain(w, model);
		return wrong(
			w,
			"the rows are not what was acknowledged, with or without the pushes in "
			"flight",
			NULL);
	}
	memcpy(model, w->rows, n);
	return WORKLOAD_DONE;
}

/* What no push changes: the book, the structure, the numbers that only grow. */
static enum workload_end compare_rest(struct workload *w)
{
	int64_t array[ARRAY_ELEMENTS];
	dg_store_info info;
	dg_error err;
	size_t n;
	const uint8_t *book = dgi_volume_book(w->volume, &n);

	if (n != sizeof BOOK || memcmp(book, BOOK, n) != 0)
		return wrong(w, "the book has changed", NULL);
	if (dgi_volume_array_read(w->volume, 0, DG_GRAPH_INDPTR, 0, ARRAY_ELEMENTS, array, &err))
		return wrong(w, "the structure cannot be read", &err);
	for (int64_t i = 0; i < ARRAY_ELEMENTS; i++)
		if (array[i] != i * 3)
			return wrong(w, "the structure has changed", NULL);
	dgi_volume_get_info(w->volume, &info);
	if (info.log_number < w->oracle->log_number || info.incarnation < w->oracle->incarnation)
		return wrong(w, "log number or incarnation has gone back", NULL);
	w->oracle->log_number = info.log_number;
	w->oracle->incarnation = info.incarnation;
	return WORKLOAD_DONE;
}

static void say_finding(void *context, const dg_finding *finding)
{
	(void)context;
	if (finding->status != DG_OK)
		fprintf(stderr, "  %s: %s\n", finding->where, finding->what);
}

static void ignore_book(void *context, const struct dgi_superblock *superblock, const uint8_t *book,
			size_t n)
{
	(void)context;
	(void)superblock;
	(void)book;
	(void)n;
}

static void ignore_array(void *context, uint16_t etype, uint8_t kind, dg_dtype dtype, int64_t n)
{
	(void)context;
	(void)etype;
	(void)kind;
	(void)dtype;
	(void)n;
}

static void ignore_elements(void *context, uint16_t etype, uint8_t kind, int64_t first, int64_t n,
			    const void *elements)
{
	(void)context;
	(void)etype;
	(void)kind;
	(void)first;
	(void)n;
	(void)elements;
}

static void ignore_tensor(void *context, const dg_tensor_info *tensor)
{
	(void)context;
	(void)tensor;
}

static void name_array(void *context, uint16_t etype, uint8_t kind, char out[DG_KEY_TEXT_BYTES])
{
	(void)context;
	(void)snprintf(out, DG_KEY_TEXT_BYTES, "array %u of edge type %u", kind, etype);
}

static void name_tensor(void *context, const dg_tensor_info *tensor, char out[DG_KEY_TEXT_BYTES])
{
	(void)context;
	(void)snprintf(out, DG_KEY_TEXT_BYTES, "%s", tensor->name);
}

enum workload_end workload_check(struct workload *w, dg_error *err)
{
	static const struct dgi_check_hooks hooks = {
		.book = ignore_book,
		.array = ignore_array,
		.elements = ignore_elements,
		.tensor = ignore_tensor,
		.name_array = name_array,
		.name_tensor = name_tensor,
		.found = say_finding,
	};
	dg_check_report report = { 0 };

	if (dgi_volume_check(w->store, true, &hooks, &report, err))
		return WORKLOAD_FAILED;
	return report.damaged ? wrong(w, "the check of its files finds damage", NULL)
			      : WORKLOAD_DONE;
}

static enum workload_end compare_open(struct workload *w, bool writable, uint8_t *model,
				      const uint64_t *pending, size_t n_pending,
				      struct workload_found *found, dg_error *err)
{
	enum workload_end end = WORKLOAD_DONE;

	if (workload_open(w, writable, err))
		return wrong(w, writable ? "it cannot be opened to write" : "it cannot be opened",
			     err);
	if (gather_all(w, err))
		end = wrong(w, "reading fails", err);
	if (!end && compare_churn(w, err))
		end = wrong(w, "what comes and goes is not as it should be", err);
	if (!end)
		end = compare_rows(w, model, pending, n_pending, found);
	if (!end)
		end = compare_rest(w);
	workload_close(w);
	return end;
}

enum workload_end workload_compare(struct workload *w, bool writable, uint8_t *model,
				   const uint64_t *pending, size_t n_pending,
				   struct workload_found *found, dg_error *err)
{
	enum workload_end end = workload_check(w, err);
	struct workload_found same;

	if (end == WORKLOAD_FAILED)
		return wrong(w, "its files cannot be checked", err);
	if (!end)
		end = compare_open(w, false, model, pending, n_pending, found, err);
	if (!end && writable)
		end = compare_open(w, true, model, NULL, 0, &same, err);
	return end;
}

bool workload_verify(struct workload *w, bool writable)
{
	uint64_t pending[ORACLE_PENDING_MAX];
	uint64_t n = atomic_load(&w->oracle->n_attempts);
	struct workload_found found;
	size_t n_pending;
	dg_error err;

	memcpy(w->model, w->oracle->model, w->plan->model_bytes);
	n_pending = oracle_expect(w->oracle, w->plan, n, w->model, pending);
	if (workload_compare(w, writable, w->model, pending, n_pending, &found, &err))
		return false;
	oracle_fold(w->oracle, w->plan, found.present, found.maybe);
	return true;
}
