/* inside.h -- a volume as its own files see it: opening (volume.c), replay (replay.c),
 * writing (write.c), checkpoints (checkpoint.c). */
#ifndef DGI_INSIDE_H
#define DGI_INSIDE_H

#include "contents.h"
#include "env.h"
#include "hot.h"
#include "journal.h"
#include "lock.h"
#include "mark.h"
#include "operations.h"
#include "sessions.h"

#include <pthread.h>

/*
 * The order of locks: that of tensors.mdb (checkpoint.c, create.c, from before a transaction until what it
 * changed is published), the table's (for a record, a freeze, a publication), then the checkpoint's,
 * then the journal's own.
 */
struct dgi_volume {
	char *path;
	struct dgi_volume_options options;
	struct dgi_lock *lock;
	struct dgi_graph_contents graph;
	struct dgi_tensors_contents tensors; /* log as it was at opening */
	struct dgi_journal_contents journaled;
	struct dgi_map graph_map;
	struct dgi_map tensors_map;
	struct dgi_map journal_map; /* as it was at opening; for replay */
	struct dgi_table table;
	struct dgi_hot hot;
	struct dgi_sessions *sessions;	  /* under the table's lock */
	struct dgi_operations operations; /* the same */
	uint64_t incarnation;
	_Atomic uint64_t log_number; /* of the newest write applied */
	_Atomic uint64_t durable;    /* of the newest on disk */
	_Atomic bool broken;	     /* takes no more writes */
	struct {
		uint64_t n, first, last;
	} left_out; /* pushes of the journal that a volume without it does not show */

	/* Open for writing only. */
	pthread_mutex_t env_lock;    /* over the next and adding to the catalogue */
	struct dgi_env *env;	     /* of tensors.mdb */
	struct dgi_env *journal_env; /* the journal's */
	struct dgi_journal *journal;
	struct dgi_mark_file mark;
	uint32_t *staged;    /* by table entry, 0 between writes; see write.c */
	uint64_t purge_next; /* chunk of the tensor that is being purged; the checkpoint's */
	uint8_t *row;	     /* the writer's, for a row being computed */
	/* What the writer applied since the last round of checkpoints, and the time it took: about
	 * what replay would take. Under the table's lock. */
	uint64_t applied_bytes;
	int64_t applied_us;
	pthread_mutex_t telling; /* over the next two, held while they are called */
	void (*on_durable)(void *context, uint64_t log_number, dg_status status);
	void *on_durable_context;
	struct dgi_checkpoint {
		pthread_t thread;
		bool has_thread;
		pthread_mutex_t lock; /* over what follows */
		pthread_cond_t work;
		pthread_cond_t done;
		bool wanted;
		bool stopping;
		_Atomic uint64_t n_to_purge; /* requests; 0: dropped tensors have no chunks left */
		bool is_running;
		uint64_t rounds;       /* ended, successful or not */
		dg_error result;       /* of the last */
		int64_t not_before_ms; /* the first transaction of tensors.mdb */
		double replay_bytes_per_s;
	} checkpoint;
};

/* Everything up to @log_number is on disk. Any thread. */
void dgi_volume_raise_durable(struct dgi_volume *volume, uint64_t log_number);
/* Tells whoever asked by dgi_volume_on_durable(). */
void dgi_volume_tell(struct dgi_volume *volume, uint64_t log_number, dg_status status);

/* write.c: why the volume takes no writes at all; OK if it does. */
dg_status dgi_volume_check_writable(const struct dgi_volume *volume, dg_error *err);

/*
 * create.c: releases and deletes some chunks of a dropped tensor, in a bounded transaction; *more: there
 * are others. By the checkpoint's thread.
 */
dg_status dgi_purge_some(struct dgi_volume *volume, bool *more, dg_error *err);

/* checkpoint.c: room in the maps of tensors.mdb for a transaction that writes @bytes, no sooner than one may
 * begin. With its lock held. Fails with FULL, IO. */
dg_status dgi_checkpoint_make_room(struct dgi_volume *volume, uint64_t bytes, dg_error *err);
/* Asks for the chunks of dropped tensors to be deleted. */
void dgi_checkpoint_request_purge(struct dgi_volume *volume);
/* checkpoint.c: the thread that folds the journal into tensors.mdb. */
dg_status dgi_checkpoint_start(struct dgi_volume *volume, dg_error *err);
/* Ends the thread after a last round. */
void dgi_checkpoint_stop(struct dgi_volume *volume);
/* Asks for a round soon. */
void dgi_checkpoint_request(struct dgi_volume *volume);
/* Do hot chunks take so much of their budget that a round should begin? Any thread. */
bool dgi_checkpoint_by_room(const struct dgi_volume *volume);

/*
 * replay.c: applies what the journal holds and the chunks do not. @file is the whole of journal.mdb
 * in memory.
 */
dg_status dgi_volume_replay(struct dgi_volume *volume, const uint8_t *file, dg_error *err);
/* replay.c: applies nothing of it, but counts what is not, or not wholly, in the chunks. */
dg_status dgi_volume_pass_over(struct dgi_volume *volume, const uint8_t *file, dg_error *err);

#endif
