/*
 * contents.h -- what the three files of a store hold, collected by walking them, before anybody
 * trusts them.
 */
#ifndef DGI_CONTENTS_H
#define DGI_CONTENTS_H

#include "catalogue.h"
#include "journal.h"
#include "operations.h"
#include "sessions.h"
#include "structure.h"
#include "volume.h"

/* The book of a graph with the most types and parts there can be is not wanted in memory. */
#define DGI_BOOK_BYTES_MAX (UINT64_C(256) << 20)

/* What graph.mdb holds. Zero is nothing. */
struct dgi_graph_contents {
	struct dgi_superblock superblock;
	uint8_t *book;
	size_t book_bytes;
	struct dgi_structure structure;
	uint64_t file_bytes;
};

/* What tensors.mdb holds. Zero is nothing. */
struct dgi_tensors_contents {
	struct dgi_superblock superblock;
	uint64_t log; /* the highest number of any record */
	struct dgi_catalogue catalogue;
	struct dgi_sessions *sessions; /* as the last checkpoint left them; taken by the volume */
	uint64_t sessions_log;	       /* … at this log number */
	uint8_t *operations; /* their table, of the same number, in bytes (operations.h) */
	size_t operations_bytes;
	uint32_t n_operations_pieces;
	uint64_t file_bytes;
};

/* What journal.mdb holds. Zero is nothing. */
struct dgi_journal_contents {
	struct dgi_superblock superblock;
	uint64_t incarnation;
	struct dgi_journal_block *blocks;
	size_t n_blocks;
	size_t capacity;
	uint64_t file_bytes;
};

/* Bytes of one piece of the session table: a whole number of marks. */
#define DGI_SESSIONS_PIECE_BYTES ((size_t)(1U << 20) - 4096)

/*
 * Walks the file open at @fd. Every record is where and as long as it must be afterwards; the
 * payloads of chunks and segments have not been looked at. On failure *out is to be cleared too.
 * @account: the free list too, for a file that liblmdb will write.
 * Fails with CORRUPT, VERSION, IO, NOMEM.
 */
dg_status dgi_graph_contents_read(int fd, bool account, struct dgi_graph_contents *out,
				  dg_error *err);
dg_status dgi_tensors_contents_read(int fd, bool account, struct dgi_tensors_contents *out,
				    dg_error *err);
dg_status dgi_journal_contents_read(int fd, bool account, struct dgi_journal_contents *out,
				    dg_error *err);
void dgi_graph_contents_clear(struct dgi_graph_contents *contents);
void dgi_tensors_contents_clear(struct dgi_tensors_contents *contents);
void dgi_journal_contents_clear(struct dgi_journal_contents *contents);

/* The identity record's payload. */
#define DGI_IDENTITY_BYTES 8

#endif
