/*
 * checking.h -- a check from inside: check.c has the files and their small records, check_data.c
 * the segments and chunks, check_journal.c the blocks of the journal.
 *
 * Damage is told and the check goes on; a status other than OK ends it.
 */
#ifndef DGI_CHECKING_H
#define DGI_CHECKING_H

#include "buffer.h"
#include "catalogue.h"
#include "journal.h"
#include "operations.h"
#include "sessions.h"
#include "structure.h"
#include "volume_check.h"
#include "walk.h"

/* What is read at once: a chunk, or a piece of a segment. */
#define DGI_CHECK_ROOM_BYTES (UINT64_C(1) << 20)

/* Data records in a row that belong to nothing. */
struct dgi_strays {
	uint64_t n;
	struct dgi_key first;
};

struct dgi_checking {
	const struct dgi_check_hooks *hooks;
	dg_check_report *report;
	bool deep;
	uint8_t *room; /* DGI_CHECK_ROOM_BYTES */

	/* The file at hand. */
	const char *file;
	uint32_t kinds; /* bits of the kinds of records that belong there */
	uint8_t single; /* the kind of which there is at least one */
	int fd;
	uint64_t file_bytes;
	dg_uuid store_uuid; /* what its checksums are seeded with */
	bool blind;	    /* no UUID, or a format that we do not read: pages only */
	bool has_superblock;
	struct dgi_superblock superblock; /* its own */
	uint32_t seen;			  /* bits of the kinds of records found, sound or not */
	uint32_t n_session_pieces, n_operations_pieces;
	struct dgi_buffer operations; /* their table */
	struct dgi_structure structure;
	struct dgi_catalogue catalogue;
	uint32_t last_tensor;	/* id of the newest in it, or dropped */
	uint64_t *chunks_found; /* one bit a table entry; NULL: no chunk yet */
	struct dgi_strays strays;
	struct dgi_sessions *sessions;
	struct dgi_journal_block *blocks;
	size_t n_blocks;
	size_t blocks_capacity;
	bool blocks_damaged;
	uint64_t log; /* the highest number of any record */
};

/* Tells a finding: "<file>: <where>", and the text of @what. */
void dgi_check_tell(struct dgi_checking *c, dg_status st, const dg_error *what, const char *where,
		    ...) DG_PRINTF(4, 5);

/* Reads @n bytes at offset @at. Fails with IO, CORRUPT (behind the end). */
dg_status dgi_check_read(const struct dgi_checking *c, uint64_t at, void *out, size_t n,
			 dg_error *err);

bool dgi_check_zeros(const uint8_t *data, size_t n);

/* Does a value with pages of its own end where they do? */
static inline bool dgi_check_fills_pages(uint64_t value_bytes)
{
	return (value_bytes + DGI_PAGE_HEADER_BYTES) % DGI_PAGE_BYTES == 0;
}

void dgi_check_segment(struct dgi_checking *c, const struct dgi_key *key,
		       const struct dgi_walk_record *found);
/* Fails with NOMEM. */
dg_status dgi_check_chunk(struct dgi_checking *c, const struct dgi_key *key,
			  const struct dgi_walk_record *found, dg_error *err);
/* After the walk: what has not been found. */
void dgi_check_missing_data(struct dgi_checking *c);

/* Fails with NOMEM. */
dg_status dgi_check_block(struct dgi_checking *c, const struct dgi_key *key,
			  const struct dgi_walk_record *found, dg_error *err);
/* After the walks, in a deep check: would the entries be replayed on these tensors? */
dg_status dgi_check_entries(struct dgi_checking *c, const struct dgi_catalogue *catalogue,
			    dg_error *err);

#endif
