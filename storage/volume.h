/*
 * volume.h -- the files of one store, opened: superblock, structure arrays, tensors.
 *
 * A volume knows bytes and numbers, not graphs: types are numbers here and the partition book is a
 * run of bytes. src/store/store.c puts the graph on top.
 *
 * Threads: reading by any number of threads; dgi_volume_write() by one thread at a time.
 */
#ifndef DGI_VOLUME_H
#define DGI_VOLUME_H

#include "ops.h"
#include "part.h"
#include "step.h"

#include <distgraph/store.h>

#include <stdbool.h>

#define DGI_GRAPH_FILE "graph.mdb"
#define DGI_TENSORS_FILE "tensors.mdb"
#define DGI_JOURNAL_FILE "journal.mdb"

struct dgi_volume;

/* Incompatible feature bits. */
#define DGI_FEATURE_OUTSIDE_IDS UINT64_C(1) /* there are arrays of outside ids */

/* What identifies a store. The same superblock stands in each of its files. */
struct dgi_superblock {
	dg_uuid store_uuid;
	dg_uuid cluster_uuid;
	uint32_t part;
	uint32_t n_parts;
	uint16_t format_read;  /* a reader must understand this version or a later one */
	uint16_t format_write; /* a writer must understand this version or a later one */
	uint64_t compatible;   /* feature bits that an old program may ignore */
	uint64_t read_only;    /* … with which an old program must not write */
	uint64_t incompatible; /* … with which an old program must not read */
};

/* Zero is the default of every field. */
struct dgi_volume_options {
	bool writable;
	bool without_journal;	      /* read only: the chunks as the last checkpoint left them */
	uint64_t hot_bytes;	      /* what hot chunks may take in memory; 0: half of it */
	uint64_t journal_quota_bytes; /* 0: 2 GiB */
	uint64_t slice_bytes;	      /* of a checkpoint's transaction; 0: 16 MiB */
	uint64_t checkpoint_bytes;    /* journal bytes that begin one; 0: by measured replay rate */
	const struct dgi_step_rule *rules; /* lent; for steps and their replay */
	size_t n_rules;
	uint64_t part_rows; /* of a large fill's part, at most; 0: by rule; for tests */
	uint64_t map_bytes; /* of tensors.mdb at first; 0: by rule; for tests of growth */
};

/* Fails as dg_store_open() says. */
dg_status dgi_volume_open(const char *path, const struct dgi_volume_options *options,
			  struct dgi_volume **out, dg_error *err);
/* A writable one is checkpointed first, as far as the disk allows. */
void dgi_volume_close(struct dgi_volume *volume);

const struct dgi_superblock *dgi_volume_superblock(const struct dgi_volume *volume);
/* incarnation, log_number, file_bytes and what the superblock says. */
void dgi_volume_get_info(const struct dgi_volume *volume, dg_store_info *out);
/* The partition book's bytes as given at creation. Lent. */
const uint8_t *dgi_volume_book(const struct dgi_volume *volume, size_t *n);
/* The tensors there are, by id; to be freed. Any thread. Fails with NOMEM. */
dg_status dgi_volume_list(const struct dgi_volume *volume, dg_tensor_info **out, size_t *n,
			  dg_error *err);
/* The tensor with this id, or NULL. Lent until the volume is closed, even if it is dropped. Any thread. */
const dg_tensor_info *dgi_volume_tensor(const struct dgi_volume *volume, uint32_t id);
/* How it was made. Of a tensor made with the store all but the description is 0. Fails with NOTFOUND. */
dg_status dgi_volume_spec(const struct dgi_volume *volume, uint32_t tensor, dg_tensor_spec *out,
			  dg_error *err);

/*
 * Makes new tensors, of one row group if there are several (at most 8): all of them or none. They are on
 * disk when this returns, without their rows, which hold the initial value. See dg_store_create() for
 * what may be left 0, and for repeats. Any thread.
 * Fails as that does, and with INVALID, IO (the volume takes no more writes).
 */
dg_status dgi_volume_create(struct dgi_volume *volume, dg_tensor_spec *specs, size_t n,
			    bool *existed, dg_error *err);
/*
 * Drops a tensor, with its row group if it is the first of one. Nobody finds it any more when this
 * returns, also after a crash; its chunks are deleted later, a few at a time. Any thread.
 * Fails with NOTFOUND, INVALID (a system tensor, not the first of its group), DENIED, FULL, NOMEM, IO.
 */
dg_status dgi_volume_drop(struct dgi_volume *volume, uint32_t tensor, dg_error *err);
/* Are there chunks of dropped tensors still to be deleted? Any thread. */
bool dgi_volume_is_purging(struct dgi_volume *volume);
/* Drops the temporary tensors of @owner; says how many, groups counted once. As dgi_volume_drop(). */
dg_status dgi_volume_release(struct dgi_volume *volume, const char *owner, size_t *n,
			     dg_error *err);

/* See dg_store_gather(). */
dg_status dgi_volume_gather(struct dgi_volume *volume, uint32_t tensor, const dg_id *rows, size_t n,
			    void *out, dg_error *err);

/*
 * One push. @rows and @data are only read; the last five fields are filled in.
 *
 * When it may be acknowledged depends on the tensor's durability: `commit` once it is on disk;
 * `interval` at once, and it is on disk within interval_ms; `memory` at once, and at the next start
 * the tensor is as it was made.
 */
struct dgi_write {
	uint32_t tensor;
	dg_operation op; /* 0: assign */
	/* A step by this rule, for the first tensor of a row group; 0: none. @op and @fill are 0. */
	uint16_t rule;
	const void *parameters;
	uint32_t parameters_bytes;
	bool fill; /* @rows is {first row, number of rows}, @data one row for all of them */
	const dg_id *rows;
	size_t n; /* of a fill: 2 */
	const void *data;
	dg_uuid session;      /* zero: none, and number is 0 */
	uint64_t number;      /* of the push in its session, from 1 on */
	uint64_t floor;	      /* all below this number are answered or never come; 0: not known */
	struct dgi_part part; /* of a large operation (large.h), with its total of rows; else 0 */
	bool expire;	      /* no rows: pushes of the session are refused from now on; n is 0 */

	dg_status status;
	dg_error error;
	bool repeat;	     /* applied before: nothing was changed */
	uint64_t log_number; /* of the push; of a repeat, a later one */
	uint64_t wait_for;   /* acknowledge once dgi_volume_durable() is here; 0: at once */
};

/*
 * Applies the writes in order: they are visible when this returns, and on their way to the disk.
 * Each write is whole or not at all, and gets its own status; a refused one hinders no other.
 * Waits at most about a second, all of them together, for room among the hot chunks.
 * The result is OK unless the volume itself is broken (IO: it takes no more writes, all of @writes
 * have failed, the process should end).
 */
dg_status dgi_volume_apply(struct dgi_volume *volume, struct dgi_write *writes, size_t n,
			   dg_error *err);

/* Forgets a session whose pushes are all answered and that sends no more. With the writer. */
void dgi_volume_forget_session(struct dgi_volume *volume, const dg_uuid *session);

/*
 * dgi_volume_apply(), and returns when all that succeeded are durable as their tensors say. Writes of
 * any size: a fill of many rows, and more rows than one entry may hold, are applied in parts (large.h).
 * Such a write may fail with some of its parts applied; the text says so.
 */
dg_status dgi_volume_write(struct dgi_volume *volume, struct dgi_write *writes, size_t n,
			   dg_error *err);
/*
 * Applies the next part of a large fill that an earlier process began. *more: call it again. With the
 * writer. Fails as a write does.
 */
dg_status dgi_volume_resume(struct dgi_volume *volume, bool *more, dg_error *err);

/* Every write up to this log number is on disk. Any thread. */
uint64_t dgi_volume_durable(const struct dgi_volume *volume);
/*
 * Tells of it, from another thread, each time it grows; a status other than OK says, once, that
 * the disk failed. NULL ends it: once this returns it is not called any more.
 */
void dgi_volume_on_durable(struct dgi_volume *volume,
			   void (*durable)(void *context, uint64_t log_number, dg_status status),
			   void *context);

/* Folds all that is in the journal into tensors.mdb, now. Any thread. Fails with IO, FULL, TIMEOUT. */
dg_status dgi_volume_checkpoint(struct dgi_volume *volume, int timeout_ms, dg_error *err);

/* Structure arrays, named by edge type and kind. See dg_store_graph_array(). */
dg_status dgi_volume_array(const struct dgi_volume *volume, uint16_t etype, uint8_t kind,
			   dg_dtype *dtype, int64_t *n, dg_error *err);
dg_status dgi_volume_array_read(struct dgi_volume *volume, uint16_t etype, uint8_t kind,
				int64_t first, int64_t n, void *out, dg_error *err);

/* --- Making one --- */

struct dgi_volume_maker;

/* Fills @out with rows (or elements) [first, first + n). */
typedef dg_status dgi_fill_fn(void *context, int64_t first, int64_t n, void *out, dg_error *err);

/*
 * Begins a store in the existing, empty directory @path, which the caller stages (files.h). Of
 * @superblock the UUIDs, the part and the feature bits count; versions are this program's. @book is
 * copied. Fails with INVALID, UNSUPPORTED, FULL, IO, NOMEM.
 */
dg_status dgi_volume_make(const char *path, const struct dgi_superblock *superblock,
			  const void *book, size_t book_bytes, struct dgi_volume_maker **out,
			  dg_error *err);
/*
 * Adds a structure array of @n elements (INT32 or INT64), fetched from @fill in order in pieces of
 * at most a segment. Arrays come in ascending order of (etype, kind).
 */
dg_status dgi_volume_maker_array(struct dgi_volume_maker *maker, uint16_t etype, uint8_t kind,
				 dg_dtype dtype, int64_t n, dgi_fill_fn *fill, void *context,
				 dg_error *err);
/*
 * Adds a tensor with info->n_rows rows, fetched chunk by chunk; info->id ascends from call to
 * call. chunk_pages and chunk_rows 0: chosen by row size, or as in the group's first tensor.
 */
dg_status dgi_volume_maker_tensor(struct dgi_volume_maker *maker, const dg_tensor_info *info,
				  dgi_fill_fn *fill, void *context, dg_error *err);
/* Frees the maker in any case; without @keep what it wrote is of no use. */
dg_status dgi_volume_maker_close(struct dgi_volume_maker *maker, bool keep, dg_error *err);

#endif
