/*
 * env.h -- liblmdb as a store uses it: one file, one database without a name, one writing thread.
 *
 * env.c is the only file that knows lmdb.h. Its rules:
 *
 * - Sync is LMDB's default: a transaction that committed is on disk. No MDB_NOSYNC, MDB_NOMETASYNC
 *   (a power cut loses or damages data), MDB_WRITEMAP (a full disk kills the process), DUPSORT,
 *   nested transactions (bugs of 0.9.24), named databases (none needed).
 * - Nobody reads through liblmdb: it trusts its file. Readers use a map of their own (map.h), so
 *   there are no read transactions, the map may be replaced between two transactions, and a page
 *   that transaction N frees is used again from transaction N + 2 on.
 * - A file is opened once in a process, and its descriptor is shared (dgi_env_fd()): another open
 *   and close of the same file would drop liblmdb's locks. lock.h sees to that.
 * - A transaction stays below 131,071 dirty pages or values, where 0.9.24 begins to spill (and
 *   leaks). Values of up to 1 MiB count once each.
 * - After an error of sync or commit other than a full disk nothing is certain: no more writes.
 *
 * Threads: one thread at a time.
 */
#ifndef DGI_ENV_H
#define DGI_ENV_H

#include <distgraph/error.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dgi_env;

/*
 * Opens, or with @create creates, the file @path with room to grow to @map_bytes. Gives an
 * environment to close. Fails with NOMEM (no address space for the map; try a smaller one), FULL,
 * DENIED, IO, CORRUPT, VERSION, BUSY (another process has opened it with other means than ours).
 */
dg_status dgi_env_open(const char *path, bool create, uint64_t map_bytes, struct dgi_env **out,
		       dg_error *err);
/* @remove_lock_file: leave no "<path>-lock" behind. Accepts NULL. Nothing after a fork. */
void dgi_env_close(struct dgi_env *env, bool remove_lock_file);
int dgi_env_fd(const struct dgi_env *env);

/*
 * The map size with which @more bytes of values can be written and 1/4 of it stays free; the
 * present one where that does. *@needed: the size without which they cannot.
 */
uint64_t dgi_env_map_wanted(const struct dgi_env *env, uint64_t more, uint64_t *needed);
uint64_t dgi_env_map_bytes(const struct dgi_env *env);
/* Bytes of the file's pages, up to the last one ever used. */
uint64_t dgi_env_file_bytes(const struct dgi_env *env);
/* Between transactions. Fails with NOMEM (no address space, nothing changed), IO (write no more). */
dg_status dgi_env_grow(struct dgi_env *env, uint64_t map_bytes, dg_error *err);

/*
 * A write transaction. begin() ... commit() or abort(); after a failure inside, abort(). The
 * functions fail with FULL (nothing changed, go on after abort), NOMEM (the same), IO or CORRUPT
 * (write no more).
 */
dg_status dgi_env_begin(struct dgi_env *env, dg_error *err);
struct dgi_env_value {
	uint8_t *data;
	uint64_t page; /* where it will be in the file, when it has pages of its own; else 0 */
};
/*
 * Room for a value of @value_bytes, to be filled before the next call. @append: the key is above
 * all others. Fails with EXISTS too.
 */
dg_status dgi_env_reserve(struct dgi_env *env, const void *key, size_t key_bytes,
			  size_t value_bytes, bool append, struct dgi_env_value *out,
			  dg_error *err);
/* The first key that is not below @key, at most *@n bytes of it; sets *@n. Fails with NOTFOUND too. */
dg_status dgi_env_seek(struct dgi_env *env, const void *key, size_t key_bytes, void *out, size_t *n,
		       dg_error *err);
/* Fails with NOTFOUND too. */
dg_status dgi_env_delete(struct dgi_env *env, const void *key, size_t key_bytes, dg_error *err);
/* The transaction is over in any case. */
dg_status dgi_env_commit(struct dgi_env *env, dg_error *err);
void dgi_env_abort(struct dgi_env *env);

#endif
