/*
 * journal.h -- pushes that are durable but not yet folded into tensors.mdb.
 *
 * A stream of entries (entry.h) cut into blocks, one LMDB value each, of 1, 4, 16, 64 or 256 whole
 * pages, so that freed runs of pages are used again. Entries are appended in memory; a thread of the
 * journal's own commits whatever has arrived while the last commit ran, as one transaction: the
 * more are waiting, the larger the group. Each group begins a block of its own, so a block is
 * never rewritten.
 *
 * Threads: appending by one thread at a time; the rest by any.
 */
#ifndef DGI_JOURNAL_H
#define DGI_JOURNAL_H

#include "entry.h"
#include "env.h"

#include <stdbool.h>

struct dgi_journal;

/* A block as the walk of journal.mdb found it. */
struct dgi_journal_block {
	uint64_t number;
	uint64_t value_at; /* in the file */
	uint64_t value_bytes;
	uint64_t
		last_log; /* of the last entry that begins in it or, without one, runs through it */
};

/* --- Reading: pure, of bytes that lie in memory --- */

typedef dg_status dgi_entry_fn(void *context, const struct dgi_entry *entry, dg_error *err);

/*
 * Sets last_log of each block from its header (not yet verified). @file is the whole file.
 * Fails with CORRUPT (also where a number is missing between two blocks).
 */
dg_status dgi_journal_headers(const uint8_t *file, struct dgi_journal_block *blocks, size_t n,
			      dg_error *err);

/*
 * Calls @fn for each entry in order, after the checksum of every block it lies in was verified.
 * @uuid is the store's. Fails with CORRUPT (the text names the block), NOMEM, and what @fn returns.
 */
dg_status dgi_journal_scan(const uint8_t *file, const struct dgi_journal_block *blocks, size_t n,
			   const dg_uuid *uuid, dgi_entry_fn *fn, void *context, dg_error *err);

/* --- Writing --- */

struct dgi_journal_options {
	struct dgi_env *env; /* of journal.mdb; lent; from open to close used by nobody else */
	dg_uuid uuid;
	uint64_t quota_bytes; /* appending is refused while the blocks hold more */
	/* The blocks there, in order; copied. */
	const struct dgi_journal_block *blocks;
	size_t n_blocks;
	uint64_t last_log; /* of the newest write, in the journal or folded already */
	/* Told after each commit, by the journal's thread, what is durable now; or, once, with a
	 * status other than OK, that the disk failed and nothing more will be. */
	void (*durable)(void *context, uint64_t log_number, dg_status status);
	void *context;
};

dg_status dgi_journal_open(const struct dgi_journal_options *options, struct dgi_journal **out,
			   dg_error *err);
/* Commits what was appended, as far as the disk allows, and ends the thread. */
void dgi_journal_close(struct dgi_journal *journal);

/*
 * Appends an entry to the group that forms; its log number is above all before. Waits only while
 * an earlier group of many megabytes is on its way to the disk.
 * Fails with FULL (disk or quota; nothing appended), IO (no more writes), NOMEM.
 */
dg_status dgi_journal_append(struct dgi_journal *journal, const struct dgi_entry *entry,
			     dg_error *err);
/* Would an entry of @bytes be taken now? Fails as dgi_journal_append() does. */
dg_status dgi_journal_check(struct dgi_journal *journal, size_t bytes, dg_error *err);
/* Starts committing what was appended within @within_ms, 0 being now; call it after the last append
 * of a batch. */
void dgi_journal_flush(struct dgi_journal *journal, int within_ms);

/* Every entry up to this one is on disk. */
uint64_t dgi_journal_durable(struct dgi_journal *journal);
/* Waits until dgi_journal_durable() is @log_number. Fails with TIMEOUT, FULL (time is up and the
 * disk is full), IO. */
dg_status dgi_journal_wait(struct dgi_journal *journal, uint64_t log_number, int timeout_ms,
			   dg_error *err);

/* Entries up to @log_number are held by tensors.mdb: their blocks may go, a few a transaction. */
void dgi_journal_trim(struct dgi_journal *journal, uint64_t log_number);
/* Bytes of the blocks there and of what waits to be committed. */
uint64_t dgi_journal_bytes(struct dgi_journal *journal);

#endif
