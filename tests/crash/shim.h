/*
 * shim.h -- stands between the program and the kernel where files are written: counts the calls,
 * makes the n-th go wrong, keeps a log of what would be on disk when.
 *
 * The functions of shim.c have libc's names. Linked into a program they are found before libc's,
 * also by liblmdb. Only calls on files below the watched directory count.
 *
 * Left out, since the store has no business with them: O_DIRECT, io_uring, copy_file_range, writes
 * through a shared map (LMDB's lock file alone has one, and its content means nothing after a
 * restart), renames between directories.
 */
#ifndef CRASH_SHIM_H
#define CRASH_SHIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Kinds of calls; a write beyond the end of its file is both WRITE and GROW. */
enum {
	SHIM_WRITE = 1, /* write, pwrite, writev, pwritev */
	SHIM_SYNC = 2,	/* fsync, fdatasync */
	SHIM_NAME = 4,	/* names made, changed and removed */
	SHIM_SIZE = 8,	/* ftruncate, fallocate */
	SHIM_GROW = 16, /* takes new blocks */
	SHIM_ANY = 31,
};

enum shim_fault {
	SHIM_KILL,	/* SIGKILL instead of the call */
	SHIM_KILL_HALF, /* write half of it, then SIGKILL */
	SHIM_ERROR,	/* the call fails, nothing is done */
	SHIM_HALF,	/* a write takes half of what it is given */
	SHIM_FULL,	/* this and all that take new blocks fail, until shim_make_room() */
};

struct shim_order {
	unsigned calls; /* kinds that count */
	uint64_t at;	/* the first counted call is 1; 0: never */
	enum shim_fault fault;
	int error;	 /* SHIM_ERROR: errno */
	bool looks_full; /* statvfs() finds no room once the fault has come */
};

/* Watches @directory, an absolute path without links, and forgets all orders. NULL: nothing. */
void shim_watch(const char *directory);
void shim_order(const struct shim_order *order);
/* While @on calls do not count: they are the test's own. */
void shim_spare(bool on);
void shim_make_room(void);
/* Calls counted since the order; has the fault come? */
uint64_t shim_calls(void);
bool shim_fired(void);
/* The file whose call it struck. */
const char *shim_fired_at(void);

/* --- The log --- */

enum shim_kind {
	SHIM_LOG_WRITE = 1, /* @n bytes at @offset of file @inode; the bytes follow */
	SHIM_LOG_SIZE,	    /* file @inode has @offset bytes */
	SHIM_LOG_SYNC,	    /* file or directory @inode: records before @offset are on disk */
	SHIM_LOG_CREATE,    /* directory @inode has got a file @other; its name follows */
	SHIM_LOG_MKDIR,	    /* the same, a directory */
	SHIM_LOG_REMOVE,    /* directory @inode: the name that follows is gone */
	SHIM_LOG_RENAME,    /* directory @inode: two names follow, from and to */
	SHIM_LOG_EXCHANGE,  /* directory @inode: the two names have changed places */
	SHIM_LOG_NOTE,	    /* shim_note(@inode, @offset, @other) */
};

struct shim_record {
	uint32_t kind;
	uint32_t flag; /* WRITE: on disk when it returned; SYNC: it failed */
	uint64_t number;
	uint64_t inode;
	uint64_t other;
	uint64_t offset;
	uint64_t n; /* bytes that follow, names with their NULs; then padding to 8 */
};

/* In memory shared with the process that reads it. */
struct shim_log {
	uint64_t room; /* for bytes */
	uint64_t used;
	uint64_t n_records;
	bool overflowed;
	_Alignas(8) uint8_t bytes[];
};

/* Gives an empty log of @room bytes, shared with children; ends the program where it cannot. */
struct shim_log *shim_log_new(size_t room);
void shim_log_free(struct shim_log *log);
/* The record behind @at; NULL starts, and ends. */
const struct shim_record *shim_log_next(const struct shim_log *log, const struct shim_record *at);

/* Records from now on into @log; NULL: no more. */
void shim_log_to(struct shim_log *log);
/* Puts a note into the log, in its order: so many pushes begun, acknowledged, on disk for sure. */
void shim_note(uint64_t begun, uint64_t acknowledged, uint64_t durable);

#endif
