/*
 * lock.h -- who has a store: any number of readers, or one writer.
 *
 * Between processes the file `lock` in the store's directory carries an fcntl lock, which the
 * kernel drops when its process ends, however it ends. fcntl locks belong to processes and go with
 * the first close of any descriptor of the file, so within a process a table of the directories
 * that are open keeps one descriptor each and refuses what the lock cannot see.
 *
 * Threads: any thread.
 */
#ifndef DGI_LOCK_H
#define DGI_LOCK_H

#include <distgraph/error.h>

#include <stdbool.h>
#include <stdint.h>

#define DGI_LOCK_FILE "lock"

struct dgi_lock;

/*
 * Takes the store in directory @path. In a directory that cannot be written to a reader does
 * without the file. Gives a lock to release.
 * Fails with BUSY (the text names the process that has it), DENIED, IO, NOMEM.
 */
dg_status dgi_lock_take(const char *path, bool writable, struct dgi_lock **out, dg_error *err);
/* Accepts NULL. */
void dgi_lock_release(struct dgi_lock *lock);
/*
 * The process that has the store open for writing; 0: one that this process cannot see, of another
 * PID namespace. Fails with NOTFOUND (nobody has), DENIED, IO.
 */
dg_status dgi_lock_holder(const char *path, int64_t *pid, dg_error *err);
/* Was it taken by a process that this one was forked from? Then this one has no right to write. */
bool dgi_lock_is_inherited(const struct dgi_lock *lock);

#endif
