/*
 * sessions.h -- who pushed what already: the newest push number of each session and a window of
 * those before it, so that a push repeated after a lost connection counts once.
 *
 * A pure table in memory. It is durable because each journal entry carries its session's mark, and
 * a checkpoint writes the whole table before it trims the journal.
 */
#ifndef DGI_SESSIONS_H
#define DGI_SESSIONS_H

#include "entry.h"

#include <stdbool.h>

/* A client may have this many pushes under way, so numbers arrive at most this far apart. */
#define DGI_SESSION_WINDOW 64
#define DGI_SESSIONS_MAX 1000000
#define DGI_SESSION_MARK_BYTES 32

struct dgi_sessions;

enum dgi_push_novelty {
	DGI_PUSH_NEW,
	DGI_PUSH_REPEAT, /* applied before: acknowledge again, change nothing */
};

dg_status dgi_sessions_new(struct dgi_sessions **out, dg_error *err);
void dgi_sessions_free(struct dgi_sessions *sessions);

size_t dgi_sessions_count(const struct dgi_sessions *sessions);

/*
 * What push @number of session @id is, and the mark that the table will hold once it is applied.
 * Numbers start at 1. All below @floor have been answered or never come, so they count as seen; 0: it
 * is not known. Changes nothing but may make room for a new session, so that dgi_sessions_set()
 * cannot fail.
 * Fails with INVALID (number 0 or too large, or so far ahead that some before it are missing),
 * NOTFOUND (the session has expired), FULL, NOMEM.
 */
dg_status dgi_sessions_look(struct dgi_sessions *sessions, const dg_uuid *id, uint64_t number,
			    uint64_t floor, enum dgi_push_novelty *novelty,
			    struct dgi_session_mark *mark, dg_error *err);

/* The mark of an expired session, kept so that its pushes are refused for ever: a tombstone. Makes room
 * as dgi_sessions_look() does. Fails with FULL, NOMEM. */
dg_status dgi_sessions_expire(struct dgi_sessions *sessions, const dg_uuid *id,
			      struct dgi_session_mark *mark, dg_error *err);

/* Records a mark: after its push was applied, or in replay. Fails with FULL, NOMEM (replay). */
dg_status dgi_sessions_set(struct dgi_sessions *sessions, const struct dgi_session_mark *mark,
			   dg_error *err);

/* Forgets a session, if it is known; a tombstone stays. */
void dgi_sessions_remove(struct dgi_sessions *sessions, const dg_uuid *id);

/* Gives all marks, in order of id, each DGI_SESSION_MARK_BYTES; NULL where there are none. */
dg_status dgi_sessions_encode(const struct dgi_sessions *sessions, uint8_t **out, size_t *n,
			      dg_error *err);
/* Adds the marks in @data. Fails with CORRUPT, FULL, NOMEM. */
dg_status dgi_sessions_decode(struct dgi_sessions *sessions, const void *data, size_t n,
			      dg_error *err);

#endif
