/* journal.c -- appending entries in memory, committing them by a thread of its own. */
#include "journal.h"

#include "block.h"
#include "buffer.h"
#include "chunk.h"
#include "check.h"
#include "deadline.h"
#include "fail.h"
#include "log.h"
#include "thread.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

/* A group that is forming may grow to this while the one before it is on its way. */
#define GROUP_BYTES_MAX (UINT64_C(32) << 20)
#define GROUP_BUFFER_BYTES (GROUP_BYTES_MAX + DGI_ENTRY_BYTES_MAX + 4096)
/* Those of the largest size, and fewer than four of each other. */
#define GROUP_BLOCKS_MAX (GROUP_BUFFER_BYTES / (UINT64_C(1) << 20) + 32)
#define APPEND_WAIT_MS 10000
#define TRIM_BLOCKS_MAX 64    /* deleted in one transaction */
#define TRIM_BLOCKS_LAST 4096 /* … at the end, when nobody waits for it */
#define FULL_RETRY_MS 100
#define FULL_WAIT_MS 1000 /* what a writer waits for room on a full disk */
/* Of the tree and the free list; and what a file system keeps of its last bytes. */
#define OVERHEAD_BYTES (UINT64_C(128) << 10)

/*
 * Entries in memory, as the bytes they will be on disk, cut into blocks as they come: a block of the
 * largest size is sealed when it is full, while its bytes are still near; the rest at the commit.
 */
struct group {
	struct dgi_buffer bytes;
	uint64_t *starts; /* where entries begin, and their numbers: pairs */
	size_t n_entries;
	size_t capacity;
	struct sealed {
		uint8_t header[DGI_RECORD_HEADER_BYTES];
		size_t at, n; /* its payload in bytes */
		uint32_t pages;
		uint64_t last_log;
	} blocks[GROUP_BLOCKS_MAX];
	size_t n_blocks;
	uint64_t first_number; /* of its blocks */
	size_t cut_bytes;      /* in blocks */
	size_t next_entry;     /* the first that begins behind them */
};

/* The blocks on disk, oldest first; [first, n) are there. */
struct block_list {
	struct dgi_journal_block *blocks;
	size_t first;
	size_t n;
	size_t capacity;
	uint64_t bytes;
};

struct dgi_journal {
	struct dgi_journal_options options;
	pthread_t thread;
	bool has_thread;
	struct block_list list; /* the thread's own, but for its bytes */

	pthread_mutex_t lock; /* over what follows */
	pthread_cond_t work;  /* for the thread */
	pthread_cond_t done;  /* for those who wait for it */
	struct group groups[2];
	struct group *forming, *committing;
	bool flush;	  /* now */
	bool flush_later; /* … at this time */
	struct dgi_deadline flush_at;
	bool stopping;
	dg_status
		held_up; /* FULL (the disk) or NOMEM: the group is tried again until there is room */
	dg_error broken;   /* status other than OK: nothing is committed any more */
	uint64_t appended; /* newest number in memory */
	uint64_t durable;
	uint64_t trim_to;
	uint64_t list_bytes;
	uint64_t reusable_bytes; /* of the file: pages of blocks that went */
};

static dg_status group_add(struct group *group, const struct dgi_entry *entry, size_t bytes,
			   dg_error *err)
{
	dg_status st = dgi_buffer_reserve(&group->bytes, bytes, err);

	if (st)
		return st;
	if (group->n_entries == group->capacity) {
		size_t capacity = group->capacity ? group->capacity * 2 : 64;
		uint64_t *starts = realloc(group->starts, capacity * 2 * sizeof *starts);

		if (!starts)
			return dgi_fail_memory(err, "journal");
		group->starts = starts;
		group->capacity = capacity;
	}
	group->starts[group->n_entries * 2] = group->bytes.n;
	group->starts[group->n_entries * 2 + 1] = entry->log_number;
	group->n_entries++;
	dgi_entry_encode(entry, group->bytes.data + group->bytes.n);
	group->bytes.n += bytes;
	return DG_OK;
}

/* Cuts the next block, of @pages pages, from the bytes that are not in blocks yet. */
static void group_cut(struct group *group, const dg_uuid *uuid, uint32_t pages)
{
	struct sealed *block = &group->blocks[group->n_blocks];
	const size_t at = group->cut_bytes;
	const size_t left = group->bytes.n - at;
	const size_t n = dgi_block_room(pages) < left ? dgi_block_room(pages) : left;
	size_t first_entry = n;

	DGI_ASSERT(group->n_blocks < GROUP_BLOCKS_MAX);
	block->at = at;
	block->n = n;
	block->pages = pages;
	block->last_log = group->n_blocks ? block[-1].last_log : 0;
	for (; group->next_entry < group->n_entries; group->next_entry++) {
		const uint64_t *start = &group->starts[group->next_entry * 2];

		if (start[0] >= at + n)
			break;
		if (first_entry == n)
			first_entry = start[0] - at;
		block->last_log = start[1];
	}
	dgi_block_seal(block->header, uuid, group->first_number + group->n_blocks,
		       group->bytes.data + at, n, block->last_log, first_entry);
	group->n_blocks++;
	group->cut_bytes += n;
}

/* The blocks that are full whatever comes. */
static void group_cut_full(struct group *group, const dg_uuid *uuid)
{
	while (group->bytes.n - group->cut_bytes >= dgi_block_room(DGI_BLOCK_PAGES_MAX))
		group_cut(group, uuid, DGI_BLOCK_PAGES_MAX);
}

static void group_cut_rest(struct group *group, const dg_uuid *uuid)
{
	while (group->cut_bytes < group->bytes.n)
		group_cut(group, uuid, dgi_block_pages(group->bytes.n - group->cut_bytes));
}

static uint64_t group_last(const struct group *group)
{
	return group->starts[group->n_entries * 2 - 1];
}

/* The number of the block behind the group's last, those included that are still to be cut. */
static uint64_t group_end_number(const struct group *group)
{
	uint64_t number = group->first_number + group->n_blocks;
	size_t left = group->bytes.n - group->cut_bytes;

	while (left) {
		size_t room = dgi_block_room(dgi_block_pages(left));

		left -= room < left ? room : left;
		number++;
	}
	return number;
}

static void group_empty(struct group *group)
{
	group->bytes.n = 0;
	group->n_entries = 0;
	group->n_blocks = 0;
	group->cut_bytes = 0;
	group->next_entry = 0;
}

/* Room for @more blocks behind the last, so that adding them after a commit cannot fail. */
static dg_status list_reserve(struct block_list *list, size_t more, dg_error *err)
{
	size_t live = list->n - list->first;
	size_t capacity = list->capacity ? list->capacity : 64;
	struct dgi_journal_block *blocks;

	if (list->n + more <= list->capacity)
		return DG_OK;
	if (list->first) {
		memmove(list->blocks, list->blocks + list->first, live * sizeof *list->blocks);
		list->first = 0;
		list->n = live;
	}
	while (capacity < live + more)
		capacity *= 2;
	if (capacity == list->capacity)
		return DG_OK;
	blocks = realloc(list->blocks, capacity * sizeof *blocks);
	if (!blocks)
		return dgi_fail_memory(err, "journal");
	list->blocks = blocks;
	list->capacity = capacity;
	return DG_OK;
}

/* After a commit: the @added blocks behind the last are there, the @deleted first are gone. */
static void list_advance(struct block_list *list, size_t added, size_t deleted)
{
	for (size_t i = 0; i < added; i++)
		list->bytes += list->blocks[list->n++].value_bytes;
	for (size_t i = 0; i < deleted; i++)
		list->bytes -= list->blocks[list->first++].value_bytes;
}

/* Puts the group's blocks and notes them behind the last of the list. */
static dg_status put_group(struct dgi_journal *journal, size_t *added, dg_error *err)
{
	const struct group *group = journal->committing;
	struct block_list *list = &journal->list;

	for (size_t i = 0; i < group->n_blocks; i++) {
		const struct sealed *block = &group->blocks[i];
		const uint64_t number = group->first_number + i;
		size_t value_bytes = dgi_value_bytes_of_pages(block->pages);
		struct dgi_key fields = dgi_block_key(number);
		uint8_t key[DGI_KEY_BYTES_MAX];
		struct dgi_env_value value;
		dg_status st =
			dgi_env_reserve(journal->options.env, key, dgi_key_encode(&fields, key),
					value_bytes, true, &value, err);

		if (st)
			return st;
		dgi_block_fill(value.data, value_bytes, block->header,
			       group->bytes.data + block->at, block->n);
		list->blocks[list->n + (*added)++] = (struct dgi_journal_block){
			.number = number,
			.value_bytes = value_bytes,
			.last_log = block->last_log,
		};
	}
	return DG_OK;
}

/*
 * Deletes old blocks, a bounded number. The newest of the list stays: its number says where to go
 * on.
 */
static dg_status delete_trimmed(struct dgi_journal *journal, uint64_t trim_to, size_t blocks_max,
				size_t *deleted, dg_error *err)
{
	const struct block_list *list = &journal->list;

	while (*deleted < blocks_max && list->first + *deleted + 1 < list->n &&
	       list->blocks[list->first + *deleted].last_log <= trim_to) {
		struct dgi_key fields = dgi_block_key(list->blocks[list->first + *deleted].number);
		uint8_t key[DGI_KEY_BYTES_MAX];
		dg_status st = dgi_env_delete(journal->options.env, key,
					      dgi_key_encode(&fields, key), err);

		if (st)
			return st;
		++*deleted;
	}
	return DG_OK;
}

/* Room in liblmdb's map: nobody else maps the journal while it is written. */
static dg_status make_room(struct dgi_journal *journal, uint64_t bytes, dg_error *err)
{
	struct dgi_env *env = journal->options.env;
	uint64_t needed;
	uint64_t wanted = dgi_env_map_wanted(env, bytes, &needed);
	dg_status st = dgi_env_grow(env, wanted, err);

	if (st == DG_NOMEM && needed <= dgi_env_map_bytes(env))
		st = DG_OK;
	return st;
}

static dg_status write_transaction(struct dgi_journal *journal, uint64_t trim_to, size_t trim_max,
				   dg_error *err)
{
	struct dgi_env *env = journal->options.env;
	size_t bytes = journal->committing->bytes.n;
	size_t added = 0, deleted = 0;
	dg_status st = list_reserve(&journal->list, GROUP_BLOCKS_MAX, err);

	group_cut_rest(journal->committing, &journal->options.uuid);
	if (!st)
		st = make_room(journal, bytes * 2 + (UINT64_C(1) << 20), err);
	if (!st)
		st = dgi_env_begin(env, err);
	if (st)
		return st;
	st = put_group(journal, &added, err);
	if (!st)
		st = delete_trimmed(journal, trim_to, trim_max, &deleted, err);
	if (st) {
		dgi_env_abort(env);
		return st;
	}
	st = dgi_env_commit(env, err);
	if (!st)
		list_advance(&journal->list, added, deleted);
	return st;
}

static bool has_trimming(const struct dgi_journal *journal)
{
	const struct block_list *list = &journal->list;

	return list->n - list->first >= 2 && list->blocks[list->first].last_log <= journal->trim_to;
}

static struct timespec timespec_of(struct dgi_deadline deadline)
{
	return (struct timespec){ .tv_sec = deadline.at_ms / 1000,
				  .tv_nsec = deadline.at_ms % 1000 * 1000000 };
}

static void wait_for_work(struct dgi_journal *journal)
{
	while (!journal->stopping && !journal->flush && !has_trimming(journal)) {
		struct timespec until = timespec_of(journal->flush_at);

		if (!journal->flush_later)
			(void)pthread_cond_wait(&journal->work, &journal->lock);
		else if (dgi_deadline_passed(journal->flush_at))
			journal->flush = true;
		else
			(void)pthread_cond_timedwait(&journal->work, &journal->lock, &until);
	}
}

/* A moment of patience with a full disk, or less when the journal is to stop. */
static void wait_for_space(struct dgi_journal *journal)
{
	struct timespec until;

	(void)clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += FULL_RETRY_MS * 1000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	(void)pthread_cond_timedwait(&journal->work, &journal->lock, &until);
}

/* Pages of the file that hold no block now: about what liblmdb can use again. */
static uint64_t reusable_bytes(const struct dgi_journal *journal)
{
	uint64_t file_bytes = dgi_env_file_bytes(journal->options.env);
	uint64_t used_bytes = journal->list.bytes + journal->list.bytes / 16 + OVERHEAD_BYTES;

	return file_bytes > used_bytes ? file_bytes - used_bytes : 0;
}

static void note_result(struct dgi_journal *journal, dg_status st, const dg_error *err)
{
	journal->held_up = st == DG_FULL || st == DG_NOMEM ? st : DG_OK;
	if (st == DG_OK) {
		if (journal->committing->n_entries)
			journal->durable = group_last(journal->committing);
		group_empty(journal->committing);
	} else if (!journal->held_up) {
		journal->broken = *err;
	}
	journal->list_bytes = journal->list.bytes;
	journal->reusable_bytes = reusable_bytes(journal);
	(void)pthread_cond_broadcast(&journal->done);
}

/* One transaction with what there is. The lock is held before and after, not during. */
static void commit_once(struct dgi_journal *journal)
{
	uint64_t trim_to = journal->trim_to;
	size_t trim_max = journal->stopping ? TRIM_BLOCKS_LAST : TRIM_BLOCKS_MAX;
	uint64_t durable;
	dg_error err = { 0 };
	dg_status st;

	if (journal->committing->n_entries == 0) {
		struct group *empty = journal->committing;

		journal->committing = journal->forming;
		journal->forming = empty;
		empty->first_number = group_end_number(journal->committing);
		journal->flush = journal->flush_later = false;
		(void)pthread_cond_broadcast(&journal->done);
	}
	(void)pthread_mutex_unlock(&journal->lock);
	st = write_transaction(journal, trim_to, trim_max, &err);
	(void)pthread_mutex_lock(&journal->lock);
	if (st && !journal->held_up && (st == DG_FULL || st == DG_NOMEM))
		dgi_log(DG_LOG_WARNING, "journal: %s; pushes wait for room", err.text);
	note_result(journal, st, &err);
	durable = journal->durable;
	st = journal->broken.status;
	(void)pthread_mutex_unlock(&journal->lock);
	if (journal->options.durable)
		journal->options.durable(journal->options.context, durable, st);
	(void)pthread_mutex_lock(&journal->lock);
}

/* Nothing is left to be committed, nor to be deleted: a store that was closed opens at once. */
static bool has_ended(const struct dgi_journal *journal)
{
	return journal->stopping &&
	       (journal->held_up || (journal->forming->n_entries == 0 && !has_trimming(journal)));
}

static void *commit_groups(void *argument)
{
	struct dgi_journal *journal = argument;

	(void)pthread_mutex_lock(&journal->lock);
	for (;;) {
		if (journal->held_up)
			wait_for_space(journal);
		else
			wait_for_work(journal);
		if (has_ended(journal))
			break;
		commit_once(journal);
		if (journal->broken.status)
			break;
	}
	(void)pthread_mutex_unlock(&journal->lock);
	return NULL;
}

static void init_conditions(struct dgi_journal *journal)
{
	pthread_condattr_t attributes;

	(void)pthread_condattr_init(&attributes);
	(void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	(void)pthread_mutex_init(&journal->lock, NULL);
	(void)pthread_cond_init(&journal->work, &attributes);
	(void)pthread_cond_init(&journal->done, &attributes);
	(void)pthread_condattr_destroy(&attributes);
}

dg_status dgi_journal_open(const struct dgi_journal_options *options, struct dgi_journal **out,
			   dg_error *err)
{
	struct dgi_journal *journal = calloc(1, sizeof *journal);
	dg_status st;

	if (!journal)
		return dgi_fail_memory(err, "journal");
	init_conditions(journal);
	journal->options = *options;
	journal->forming = &journal->groups[0];
	journal->committing = &journal->groups[1];
	journal->forming->bytes = dgi_buffer_of(GROUP_BUFFER_BYTES);
	journal->committing->bytes = dgi_buffer_of(GROUP_BUFFER_BYTES);
	journal->forming->first_number =
		options->n_blocks ? options->blocks[options->n_blocks - 1].number + 1 : 1;
	st = list_reserve(&journal->list, options->n_blocks + 1, err);
	if (st)
		goto fail;
	if (options->n_blocks)
		memcpy(journal->list.blocks, options->blocks,
		       options->n_blocks * sizeof *options->blocks);
	list_advance(&journal->list, options->n_blocks, 0);
	journal->list_bytes = journal->list.bytes;
	journal->reusable_bytes = reusable_bytes(journal);
	journal->durable = options->last_log;
	journal->appended = options->last_log;
	st = dgi_thread_start(&journal->thread, commit_groups, journal, "journal", err);
	if (st)
		goto fail;
	journal->has_thread = true;
	*out = journal;
	return DG_OK;
fail:
	dgi_journal_close(journal);
	return st;
}

void dgi_journal_close(struct dgi_journal *journal)
{
	if (!journal)
		return;
	if (journal->has_thread) {
		(void)pthread_mutex_lock(&journal->lock);
		journal->stopping = true;
		(void)pthread_cond_broadcast(&journal->work);
		(void)pthread_mutex_unlock(&journal->lock);
		(void)pthread_join(journal->thread, NULL);
	}
	for (size_t i = 0; i < DGI_COUNT_OF(journal->groups); i++) {
		dgi_buffer_clear(&journal->groups[i].bytes);
		free(journal->groups[i].starts);
	}
	free(journal->list.blocks);
	(void)pthread_cond_destroy(&journal->work);
	(void)pthread_cond_destroy(&journal->done);
	(void)pthread_mutex_destroy(&journal->lock);
	free(journal);
}

/*
 * Is there room on the disk for what waits and @bytes more? A push is refused before it is applied,
 * not after: the disk should be full only for what was taken already.
 */
static bool has_room(const struct dgi_journal *journal, size_t bytes)
{
	uint64_t wanted =
		(journal->forming->bytes.n + journal->committing->bytes.n + bytes) / 16 * 17 +
		2 * OVERHEAD_BYTES;
	struct statvfs info;

	if (wanted <= journal->reusable_bytes / 2 ||
	    fstatvfs(dgi_env_fd(journal->options.env), &info) != 0)
		return true;
	return (uint64_t)info.f_bavail * info.f_frsize + journal->reusable_bytes / 2 >= wanted;
}

static dg_status check_locked(const struct dgi_journal *journal, size_t bytes, dg_error *err)
{
	uint64_t held =
		journal->list_bytes + journal->forming->bytes.n + journal->committing->bytes.n;

	if (journal->broken.status)
		return dgi_fail(err, journal->broken.status, "%s", journal->broken.text);
	if (journal->held_up || !has_room(journal, bytes))
		return dgi_fail(err, DG_FULL,
				"the disk is full: pushes are refused until there is room");
	if (held + bytes > journal->options.quota_bytes)
		return dgi_fail(err, DG_FULL,
				"the journal holds %" PRIu64 " MiB of at most %" PRIu64
				": the checkpoint is behind",
				held >> 20, journal->options.quota_bytes >> 20);
	return DG_OK;
}

dg_status dgi_journal_check(struct dgi_journal *journal, size_t bytes, dg_error *err)
{
	dg_status st;

	(void)pthread_mutex_lock(&journal->lock);
	st = check_locked(journal, bytes, err);
	(void)pthread_mutex_unlock(&journal->lock);
	return st;
}

/* Waits until the forming group has room again: until the one before it is done. */
static dg_status wait_for_group(struct dgi_journal *journal, size_t bytes, dg_error *err)
{
	struct timespec until = timespec_of(dgi_deadline_in(APPEND_WAIT_MS));

	while (!journal->broken.status && journal->forming->bytes.n &&
	       journal->forming->bytes.n + bytes > GROUP_BYTES_MAX) {
		journal->flush = true;
		(void)pthread_cond_signal(&journal->work);
		if (pthread_cond_timedwait(&journal->done, &journal->lock, &until) == ETIMEDOUT)
			return dgi_fail(err, DG_FULL,
					"the disk has taken no journal entry for %d seconds",
					APPEND_WAIT_MS / 1000);
	}
	return DG_OK;
}

dg_status dgi_journal_append(struct dgi_journal *journal, const struct dgi_entry *entry,
			     dg_error *err)
{
	size_t bytes = dgi_entry_bytes(entry);
	dg_status st;

	DGI_ASSERT(bytes > 0 && entry->log_number > journal->appended);
	(void)pthread_mutex_lock(&journal->lock);
	st = wait_for_group(journal, bytes, err);
	if (!st)
		st = check_locked(journal, bytes, err);
	if (!st)
		st = group_add(journal->forming, entry, bytes, err);
	if (!st) {
		journal->appended = entry->log_number;
		group_cut_full(journal->forming, &journal->options.uuid);
	}
	(void)pthread_mutex_unlock(&journal->lock);
	return st;
}

void dgi_journal_flush(struct dgi_journal *journal, int within_ms)
{
	struct dgi_deadline at = dgi_deadline_in(within_ms);

	(void)pthread_mutex_lock(&journal->lock);
	if (journal->forming->n_entries && within_ms == 0)
		journal->flush = true;
	else if (journal->forming->n_entries &&
		 (!journal->flush_later || at.at_ms < journal->flush_at.at_ms)) {
		journal->flush_later = true;
		journal->flush_at = at;
	}
	(void)pthread_cond_signal(&journal->work);
	(void)pthread_mutex_unlock(&journal->lock);
}

uint64_t dgi_journal_durable(struct dgi_journal *journal)
{
	uint64_t durable;

	(void)pthread_mutex_lock(&journal->lock);
	durable = journal->durable;
	(void)pthread_mutex_unlock(&journal->lock);
	return durable;
}

/* Why there is nothing more to wait for; OK while there is. */
static dg_status stop_waiting(const struct dgi_journal *journal, struct dgi_deadline deadline,
			      struct dgi_deadline full_deadline, dg_error *err)
{
	if (journal->broken.status)
		return dgi_fail(err, journal->broken.status, "%s", journal->broken.text);
	if (journal->held_up && dgi_deadline_passed(full_deadline))
		return dgi_fail(err, journal->held_up,
				"it was applied, but %s: it will last once there is room",
				journal->held_up == DG_FULL ? "the disk is full"
							    : "memory is short");
	if (dgi_deadline_passed(deadline))
		return dgi_fail(err, DG_TIMEOUT,
				"it was applied, but the disk is slow: not on it yet");
	return DG_OK;
}

dg_status dgi_journal_wait(struct dgi_journal *journal, uint64_t log_number, int timeout_ms,
			   dg_error *err)
{
	struct dgi_deadline deadline = dgi_deadline_in(timeout_ms);
	struct dgi_deadline full_deadline =
		dgi_deadline_in(timeout_ms < FULL_WAIT_MS ? timeout_ms : FULL_WAIT_MS);
	dg_status st = DG_OK;

	(void)pthread_mutex_lock(&journal->lock);
	if (journal->forming->n_entries) {
		journal->flush = true;
		(void)pthread_cond_signal(&journal->work);
	}
	/* Looked at before the wait, too: nobody wakes us when it has been broken for long. */
	while (journal->durable < log_number) {
		struct timespec until = timespec_of(journal->held_up ? full_deadline : deadline);

		st = stop_waiting(journal, deadline, full_deadline, err);
		if (st)
			break;
		(void)pthread_cond_timedwait(&journal->done, &journal->lock, &until);
	}
	(void)pthread_mutex_unlock(&journal->lock);
	return st;
}

void dgi_journal_trim(struct dgi_journal *journal, uint64_t log_number)
{
	(void)pthread_mutex_lock(&journal->lock);
	if (log_number > journal->trim_to)
		journal->trim_to = log_number;
	(void)pthread_cond_signal(&journal->work);
	(void)pthread_mutex_unlock(&journal->lock);
}

uint64_t dgi_journal_bytes(struct dgi_journal *journal)
{
	uint64_t bytes;

	(void)pthread_mutex_lock(&journal->lock);
	bytes = journal->list_bytes + journal->forming->bytes.n + journal->committing->bytes.n;
	(void)pthread_mutex_unlock(&journal->lock);
	return bytes;
}
