/*
 * mark.h -- the high-water mark: a small file beside the LMDB files that says what was durable.
 *
 * LMDB may come back older than it was without noticing, when its meta page was torn or a backup of
 * one file was put beside newer others. The mark is written after commits, at most once a second and
 * at a clean stop, and never waited for; a store that is older than its mark has lost acknowledged
 * pushes, and says so instead of serving them.
 *
 * Two slots are written in turn, so that one of them is whole at any time. Layout: docs/format.md.
 *
 * Threads: one at a time.
 */
#ifndef DGI_MARK_H
#define DGI_MARK_H

#include <distgraph/types.h>

#include <stdbool.h>

#define DGI_MARK_FILE "mark"

struct dgi_mark {
	uint64_t log_number; /* every write up to this one was durable */
	uint64_t incarnation;
	bool clean; /* the store was closed, with nothing left in its journal */
};

#define DGI_MARK_SLOT_BYTES 512
void dgi_mark_encode(const struct dgi_mark *mark, uint64_t turn, const dg_uuid *store_uuid,
		     uint8_t out[DGI_MARK_SLOT_BYTES]);
/* Fails with CORRUPT (also a slot of another store). */
dg_status dgi_mark_decode(const uint8_t in[DGI_MARK_SLOT_BYTES], const dg_uuid *store_uuid,
			  struct dgi_mark *out, uint64_t *turn, dg_error *err);

struct dgi_mark_file {
	int fd; /* -1: not open */
	uint64_t turn;
	dg_uuid store_uuid;
};

/* A file with a mark of nothing, in a store that is being made. */
dg_status dgi_mark_make(const char *directory, const dg_uuid *store_uuid, dg_error *err);
/*
 * Reads the newer sound slot. Fails with NOTFOUND, CORRUPT (no slot is sound), IO.
 */
dg_status dgi_mark_open(const char *directory, bool writable, const dg_uuid *store_uuid,
			struct dgi_mark_file *file, struct dgi_mark *out, dg_error *err);
/* Writes and syncs. */
dg_status dgi_mark_write(struct dgi_mark_file *file, const struct dgi_mark *mark, dg_error *err);
void dgi_mark_close(struct dgi_mark_file *file);

#endif
