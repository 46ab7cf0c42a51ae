/* env.c -- liblmdb as a store uses it: the only file that knows lmdb.h. */
#include "env.h"

#include "bytes.h"
#include "check.h"
#include "chunk.h"
#include "fail.h"
#include "log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <lmdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Nobody reads through liblmdb; a few slots for tools of others (mdb_stat). */
#define READERS_MAX 16
/* Pages that a transaction may need beside its values: tree and free list. */
#define SLACK_BYTES (UINT64_C(1) << 20)
#define LOCK_FILE_BYTES 4096 /* more than liblmdb needs for READERS_MAX */

struct dgi_env {
	MDB_env *handle;
	MDB_txn *txn; /* NULL between transactions */
	MDB_dbi dbi;
	uint64_t map_bytes;
	uint64_t txn_bytes;   /* of values reserved in this transaction */
	uint64_t block_bytes; /* of the file, that surely have blocks */
	char *path;
};

static dg_status status_of(int code)
{
	switch (code) {
	case MDB_SUCCESS:
		return DG_OK;
	case MDB_KEYEXIST:
		return DG_EXISTS;
	case MDB_NOTFOUND:
		return DG_NOTFOUND;
	case MDB_MAP_FULL:
	case MDB_TXN_FULL:
		return DG_FULL;
	case MDB_PAGE_NOTFOUND:
	case MDB_CORRUPTED:
	case MDB_CURSOR_FULL:
	case MDB_PAGE_FULL:
		return DG_CORRUPT;
	case MDB_VERSION_MISMATCH:
	case MDB_INVALID:
		return DG_VERSION;
	default:
		return code > 0 ? dgi_status_of_errno(code) : DG_IO;
	}
}

/* The one place where liblmdb's codes become ours. */
static dg_status fail_code(const struct dgi_env *env, int code, const char *what, dg_error *err)
{
	return dgi_fail(err, status_of(code), "%s '%s': %s", what, env->path, mdb_strerror(code));
}

/*
 * Blocks of @fd from @first to @end, so that what is written there later finds room. A file system
 * that cannot promise blocks leaves that to the write.
 */
static dg_status take_blocks(const struct dgi_env *env, int fd, uint64_t first, uint64_t end,
			     dg_error *err)
{
	while (fallocate(fd, FALLOC_FL_KEEP_SIZE, (off_t)first, (off_t)(end - first)) != 0) {
		if (errno == EINTR)
			continue;
		if (errno == EOPNOTSUPP || errno == ENOSYS)
			break;
		return dgi_fail_errno(err, errno, "room for '%s'", env->path);
	}
	return DG_OK;
}

/*
 * liblmdb writes its lock file through a map, and a page that has no block then kills the process
 * with SIGBUS where the disk is full. So the file gets its blocks first.
 */
static dg_status make_lock_file(const struct dgi_env *env, dg_error *err)
{
	char *path;
	dg_status st;
	int fd;

	if (asprintf(&path, "%s-lock", env->path) < 0)
		return dgi_fail_memory(err, env->path);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		st = dgi_fail_errno(err, errno, "open '%s'", path);
	else
		st = take_blocks(env, fd, 0, LOCK_FILE_BYTES, err);
	if (fd >= 0)
		(void)close(fd);
	free(path);
	return st;
}

static dg_status open_handle(struct dgi_env *env, bool create, dg_error *err)
{
	unsigned flags = MDB_NOSUBDIR | MDB_NORDAHEAD;
	MDB_txn *txn;
	int dead = 0;
	int code;
	dg_status st;

	if (!create && access(env->path, F_OK) != 0)
		return dgi_fail_errno(err, errno, "open '%s'", env->path);
	st = make_lock_file(env, err);
	if (st)
		return st;
	code = mdb_env_create(&env->handle);
	if (!code)
		code = mdb_env_set_mapsize(env->handle, (size_t)env->map_bytes);
	if (!code)
		code = mdb_env_set_maxreaders(env->handle, READERS_MAX);
	if (!code)
		code = mdb_env_open(env->handle, env->path, flags, 0600);
	if (!code)
		code = mdb_reader_check(env->handle, &dead);
	if (dead > 0)
		dgi_log(DG_LOG_WARNING, "%s: cleared %d readers that had died", env->path, dead);
	/* The number of the main database, which is good for every later transaction. */
	if (!code)
		code = mdb_txn_begin(env->handle, NULL, MDB_RDONLY, &txn);
	if (!code) {
		code = mdb_dbi_open(txn, NULL, 0, &env->dbi);
		mdb_txn_abort(txn);
	}
	return code ? fail_code(env, code, "open", err) : DG_OK;
}

dg_status dgi_env_open(const char *path, bool create, uint64_t map_bytes, struct dgi_env **out,
		       dg_error *err)
{
	struct dgi_env *env = calloc(1, sizeof *env);
	dg_status st;

	if (!env || !(env->path = strdup(path))) {
		free(env);
		return dgi_fail_memory(err, path);
	}
	env->map_bytes = map_bytes;
	st = open_handle(env, create, err);
	if (st) {
		dgi_env_close(env, false);
		return st;
	}
	*out = env;
	return DG_OK;
}

void dgi_env_close(struct dgi_env *env, bool remove_lock_file)
{
	char *lock_file;

	if (!env)
		return;
	dgi_env_abort(env);
	if (env->handle)
		mdb_env_close(env->handle);
	if (remove_lock_file && asprintf(&lock_file, "%s-lock", env->path) >= 0) {
		(void)unlink(lock_file);
		free(lock_file);
	}
	free(env->path);
	free(env);
}

int dgi_env_fd(const struct dgi_env *env)
{
	int fd = -1;

	(void)mdb_env_get_fd(env->handle, &fd);
	return fd;
}

uint64_t dgi_env_map_bytes(const struct dgi_env *env)
{
	return env->map_bytes;
}

uint64_t dgi_env_file_bytes(const struct dgi_env *env)
{
	MDB_envinfo info;

	(void)mdb_env_info(env->handle, &info);
	return (uint64_t)(info.me_last_pgno + 1) * DGI_PAGE_BYTES;
}

uint64_t dgi_env_map_wanted(const struct dgi_env *env, uint64_t more, uint64_t *needed)
{
	uint64_t bytes = env->map_bytes;

	*needed = dgi_env_file_bytes(env) + more + SLACK_BYTES;
	while (*needed > bytes / 4 * 3)
		bytes *= 2;
	return bytes;
}

/* Is there address space for @bytes more? */
static bool has_address_space(uint64_t bytes)
{
	void *probe = mmap(NULL, (size_t)bytes, PROT_NONE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (probe == MAP_FAILED)
		return false;
	(void)munmap(probe, (size_t)bytes);
	return true;
}

dg_status dgi_env_grow(struct dgi_env *env, uint64_t map_bytes, dg_error *err)
{
	int code;

	DGI_ASSERT(!env->txn);
	if (map_bytes <= env->map_bytes)
		return DG_OK;
	/* liblmdb gives up its old map first and cannot go back, so look before. */
	if (!has_address_space(map_bytes))
		return dgi_fail(err, DG_NOMEM, "'%s': no address space for %" PRIu64 " bytes",
				env->path, map_bytes);
	code = mdb_env_set_mapsize(env->handle, (size_t)map_bytes);
	if (code)
		return dgi_fail(err, DG_IO, "grow the map of '%s': %s", env->path,
				mdb_strerror(code));
	env->map_bytes = map_bytes;
	return DG_OK;
}

dg_status dgi_env_begin(struct dgi_env *env, dg_error *err)
{
	int code;

	DGI_ASSERT(!env->txn);
	env->txn_bytes = 0;
	code = mdb_txn_begin(env->handle, NULL, 0, &env->txn);
	if (code) {
		env->txn = NULL;
		return fail_code(env, code, "begin a write of", err);
	}
	return DG_OK;
}

/* lmdb.h wants pointers to what it only reads. */
static MDB_val val_of(const void *data, size_t n)
{
	MDB_val val = { .mv_size = n };

	memcpy(&val.mv_data, &data, sizeof data);
	return val;
}

/*
 * The page of a value that has overflow pages of its own, from the header that liblmdb has put in
 * front of it (docs/format.md); 0 for a value inside a leaf.
 */
static uint64_t page_of(const uint8_t *value, size_t value_bytes)
{
	const uint8_t *header = value - DGI_PAGE_HEADER_BYTES;
	uint64_t page;

	if (value_bytes < DGI_PAGE_BYTES / 2)
		return 0;
	page = dgi_get_u64(header);
	DGI_ASSERT(dgi_get_u16(header + 10) & 4); /* P_OVERFLOW */
	DGI_ASSERT(page >= 2);
	return page;
}

dg_status dgi_env_reserve(struct dgi_env *env, const void *key, size_t key_bytes,
			  size_t value_bytes, bool append, struct dgi_env_value *out, dg_error *err)
{
	MDB_val k = val_of(key, key_bytes);
	MDB_val v = { .mv_size = value_bytes };
	unsigned flags = MDB_RESERVE | (append ? MDB_APPEND : MDB_NOOVERWRITE);
	int code = mdb_put(env->txn, env->dbi, &k, &v, flags);

	env->txn_bytes += value_bytes + DGI_PAGE_BYTES;
	if (code)
		return fail_code(env, code, "write", err);
	out->data = v.mv_data;
	out->page = page_of(v.mv_data, value_bytes);
	return DG_OK;
}

dg_status dgi_env_seek(struct dgi_env *env, const void *key, size_t key_bytes, void *out, size_t *n,
		       dg_error *err)
{
	MDB_val k = val_of(key, key_bytes);
	MDB_cursor *cursor;
	MDB_val v;
	int code = mdb_cursor_open(env->txn, env->dbi, &cursor);

	if (code)
		return fail_code(env, code, "look into", err);
	code = mdb_cursor_get(cursor, &k, &v, MDB_SET_RANGE);
	if (!code) {
		if (k.mv_size < *n)
			*n = k.mv_size;
		memcpy(out, k.mv_data, *n);
	}
	mdb_cursor_close(cursor);
	return code ? fail_code(env, code, "look into", err) : DG_OK;
}

dg_status dgi_env_delete(struct dgi_env *env, const void *key, size_t key_bytes, dg_error *err)
{
	MDB_val k = val_of(key, key_bytes);
	int code = mdb_del(env->txn, env->dbi, &k, NULL);

	return code ? fail_code(env, code, "delete from", err) : DG_OK;
}

/* Blocks for all that the transaction may write behind the present end of the file. */
static dg_status take_room(struct dgi_env *env, dg_error *err)
{
	MDB_envinfo info;
	uint64_t end;
	dg_status st;

	(void)mdb_env_info(env->handle, &info);
	end = (uint64_t)(info.me_last_pgno + 1) * DGI_PAGE_BYTES + env->txn_bytes + SLACK_BYTES;
	if (end <= env->block_bytes)
		return DG_OK;
	st = take_blocks(env, dgi_env_fd(env), env->block_bytes, end, err);
	if (!st)
		env->block_bytes = end;
	return st;
}

/*
 * liblmdb says EIO to a full disk as well as to a failed sync, after which nothing may be
 * acknowledged. So room is made sure of before; what fails then is never taken for a full disk.
 */
dg_status dgi_env_commit(struct dgi_env *env, dg_error *err)
{
	dg_status st = take_room(env, err);
	int code;

	if (st) {
		dgi_env_abort(env);
		return st;
	}
	code = mdb_txn_commit(env->txn);
	env->txn = NULL;
	if (code == ENOSPC || code == EDQUOT)
		code = EIO;
	return code ? fail_code(env, code, "commit to", err) : DG_OK;
}

void dgi_env_abort(struct dgi_env *env)
{
	if (env->txn)
		mdb_txn_abort(env->txn);
	env->txn = NULL;
}
