/* shim.c -- libc's writing functions, in front of libc's. */
#include "shim.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

static char watched_directory[PATH_MAX];
static size_t watched_bytes; /* 0: nothing is watched */
static struct shim_order order;
static _Atomic uint64_t calls;
static atomic_bool fired;
static char fired_at[PATH_MAX]; /* the file of the call */
static atomic_bool full;
static atomic_bool spared;
static struct shim_log *log_to;
static pthread_mutex_t log_mutex = PTHREAD_MUTEX_INITIALIZER;

/* --- What is watched --- */

void shim_watch(const char *directory)
{
	watched_bytes = 0;
	order = (struct shim_order){ 0 };
	atomic_store(&calls, 0);
	atomic_store(&fired, false);
	atomic_store(&full, false);
	if (!directory)
		return;
	(void)snprintf(watched_directory, sizeof watched_directory, "%s", directory);
	watched_bytes = strlen(watched_directory);
}

void shim_order(const struct shim_order *wanted)
{
	order = *wanted;
	atomic_store(&calls, 0);
	atomic_store(&fired, false);
	atomic_store(&full, false);
}

void shim_spare(bool on)
{
	atomic_store(&spared, on);
}

void shim_make_room(void)
{
	atomic_store(&full, false);
}

uint64_t shim_calls(void)
{
	return atomic_load(&calls);
}

const char *shim_fired_at(void)
{
	return fired_at;
}

bool shim_fired(void)
{
	return atomic_load(&fired);
}

static bool is_below(const char *path)
{
	return watched_bytes && strncmp(path, watched_directory, watched_bytes) == 0 &&
	       (path[watched_bytes] == '/' || path[watched_bytes] == '\0');
}

static bool path_of_fd(int fd, char out[PATH_MAX])
{
	char link[40];
	ssize_t n;

	(void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	n = readlink(link, out, PATH_MAX - 1);
	if (n < 0)
		return false;
	out[n] = '\0';
	return true;
}

static bool fd_is_watched(int fd, char path[PATH_MAX])
{
	return watched_bytes && path_of_fd(fd, path) && is_below(path);
}

/* The absolute path of @path at @directory; false where it is not watched. */
static bool path_is_watched(int directory, const char *path, char out[PATH_MAX])
{
	char at[PATH_MAX] = "";

	if (!watched_bytes)
		return false;
	if (path[0] != '/') {
		if (directory == AT_FDCWD ? !getcwd(at, sizeof at) : !path_of_fd(directory, at))
			return false;
		(void)strncat(at, "/", sizeof at - strlen(at) - 1);
	}
	(void)strncat(at, path, sizeof at - strlen(at) - 1);
	memcpy(out, at, sizeof at);
	return is_below(out);
}

/* --- Faults --- */

static bool comes_now(unsigned kinds, const char *path)
{
	if (!(order.calls & kinds) || atomic_load(&spared) ||
	    atomic_fetch_add(&calls, 1) + 1 != order.at)
		return false;
	memcpy(fired_at, path, strlen(path) + 1);
	atomic_store(&fired, true);
	if (order.fault == SHIM_FULL)
		atomic_store(&full, true);
	return true;
}

static void die(void)
{
	(void)kill(getpid(), SIGKILL);
	for (;;)
		(void)pause();
}

/* The fault for a call that is done or not, with nothing between; true: fail with errno. */
static bool call_fails(unsigned kinds, const char *path)
{
	bool now = comes_now(kinds, path);

	if (now && (order.fault == SHIM_KILL || order.fault == SHIM_KILL_HALF))
		die();
	if (now && order.fault == SHIM_ERROR) {
		errno = order.error;
		return true;
	}
	if ((kinds & SHIM_GROW) && atomic_load(&full)) {
		errno = ENOSPC;
		return true;
	}
	return false;
}

/* --- The log --- */

struct shim_log *shim_log_new(size_t room)
{
	struct shim_log *log = mmap(NULL, sizeof *log + room, PROT_READ | PROT_WRITE,
				    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (log == MAP_FAILED) {
		perror("shim log");
		exit(1);
	}
	log->room = room;
	return log;
}

void shim_log_free(struct shim_log *log)
{
	if (log)
		(void)munmap(log, sizeof *log + log->room);
}

const struct shim_record *shim_log_next(const struct shim_log *log, const struct shim_record *at)
{
	const uint8_t *next = log->bytes;

	if (at)
		next = (const uint8_t *)(at + 1) + (at->n + 7) / 8 * 8;
	return next < log->bytes + log->used ? (const struct shim_record *)(const void *)next
					     : NULL;
}

void shim_log_to(struct shim_log *log)
{
	log_to = log;
}

/* Adds @record and the bytes of @parts. */
static void record_parts(struct shim_record record, const struct iovec *parts, int n_parts)
{
	struct shim_log *log = log_to;
	uint8_t *at;

	if (!log)
		return;
	record.n = 0;
	for (int i = 0; i < n_parts; i++)
		record.n += parts[i].iov_len;
	(void)pthread_mutex_lock(&log_mutex);
	if (log->overflowed || log->room - log->used < sizeof record + record.n + 8) {
		log->overflowed = true;
	} else {
		record.number = log->n_records++;
		at = log->bytes + log->used;
		memcpy(at, &record, sizeof record);
		at += sizeof record;
		for (int i = 0; i < n_parts; i++) {
			if (parts[i].iov_len)
				memcpy(at, parts[i].iov_base, parts[i].iov_len);
			at += parts[i].iov_len;
		}
		log->used += sizeof record + (record.n + 7) / 8 * 8;
	}
	(void)pthread_mutex_unlock(&log_mutex);
}

void shim_note(uint64_t begun, uint64_t acknowledged, uint64_t durable)
{
	record_parts((struct shim_record){ .kind = SHIM_LOG_NOTE,
					   .inode = begun,
					   .other = durable,
					   .offset = acknowledged },
		     NULL, 0);
}

static uint64_t records_so_far(void)
{
	uint64_t n = 0;

	if (log_to) {
		(void)pthread_mutex_lock(&log_mutex);
		n = log_to->n_records;
		(void)pthread_mutex_unlock(&log_mutex);
	}
	return n;
}

static uint64_t inode_of_fd(int fd)
{
	struct stat info;

	return fstat(fd, &info) == 0 ? info.st_ino : 0;
}

static uint64_t inode_of_path(const char *path)
{
	struct stat info;

	return lstat(path, &info) == 0 ? info.st_ino : 0;
}

/* Records that the directory of @path has changed: its last part, and that of @to if there is. */
static void record_name(enum shim_kind kind, const char *path, const char *to, uint64_t other)
{
	char parent[PATH_MAX];
	const char *name = strrchr(path, '/') + 1;
	const char *second = to ? strrchr(to, '/') + 1 : "";
	struct iovec parts[2] = { { .iov_len = strlen(name) + 1 }, { .iov_len = 0 } };

	memcpy(&parts[0].iov_base, &name, sizeof name);
	if (to) {
		memcpy(&parts[1].iov_base, &second, sizeof second);
		parts[1].iov_len = strlen(second) + 1;
	}
	memcpy(parent, path, (size_t)(name - path));
	parent[name - path] = '\0';
	record_parts((struct shim_record){ .kind = kind,
					   .inode = inode_of_path(parent),
					   .other = other },
		     parts, 2);
}

/* --- Writing --- */

enum position { AT_OFFSET, AT_FILE_POSITION };

static ssize_t write_now(int fd, const struct iovec *parts, int n, off_t offset,
			 enum position position)
{
	if (position == AT_OFFSET)
		return syscall(SYS_pwritev, fd, parts, n, offset, 0);
	return syscall(SYS_writev, fd, parts, n);
}

/* Where the blocks of a file end: those of its bytes, and those that fallocate() has taken. */
static off_t end_of_blocks(const struct stat *info)
{
	off_t blocks = (off_t)info->st_blocks * 512;

	return blocks > info->st_size ? blocks : info->st_size;
}

static size_t bytes_of(const struct iovec *parts, int n)
{
	size_t bytes = 0;

	for (int i = 0; i < n; i++)
		bytes += parts[i].iov_len;
	return bytes;
}

/* Cuts @parts down to @bytes; returns how many are left. */
static int cut_parts(struct iovec *parts, int n, size_t bytes)
{
	int left = 0;

	for (; left < n && bytes > 0; left++) {
		if (parts[left].iov_len > bytes)
			parts[left].iov_len = bytes;
		bytes -= parts[left].iov_len;
	}
	return left;
}

static ssize_t record_write(int fd, const struct iovec *parts, int n, off_t offset)
{
	bool durable = (fcntl(fd, F_GETFL) & O_DSYNC) != 0;

	record_parts((struct shim_record){ .kind = SHIM_LOG_WRITE,
					   .flag = durable,
					   .inode = inode_of_fd(fd),
					   .offset = (uint64_t)offset },
		     parts, n);
	return (ssize_t)bytes_of(parts, n);
}

/* Every write of a watched file, by whatever call. @parts may be changed. */
static ssize_t write_watched(int fd, const char *path, struct iovec *parts, int n, off_t offset,
			     enum position position)
{
	struct stat info = { 0 };
	size_t bytes = bytes_of(parts, n);
	size_t allowed = bytes;
	off_t end;
	bool grows;
	bool now;
	ssize_t done;

	(void)fstat(fd, &info);
	if (position == AT_FILE_POSITION)
		offset = fcntl(fd, F_GETFL) & O_APPEND ? info.st_size : lseek(fd, 0, SEEK_CUR);
	end = end_of_blocks(&info);
	grows = offset + (off_t)bytes > end;
	now = comes_now(SHIM_WRITE | (grows ? SHIM_GROW : 0U), path);
	if (now && order.fault == SHIM_KILL)
		die();
	if (now && order.fault == SHIM_ERROR) {
		errno = order.error;
		return -1;
	}
	if (now && (order.fault == SHIM_HALF || order.fault == SHIM_KILL_HALF))
		allowed = bytes / 2;
	if (grows && atomic_load(&full)) /* what blocks there are take their part */
		allowed = offset < end ? (size_t)(end - offset) : 0;
	if (allowed < bytes)
		n = cut_parts(parts, n, allowed);
	if (n == 0 && bytes > 0) {
		errno = ENOSPC;
		return -1;
	}
	done = write_now(fd, parts, n, offset, position);
	if (now && order.fault == SHIM_KILL_HALF)
		die();
	if (done <= 0 || !log_to)
		return done;
	return record_write(fd, parts, cut_parts(parts, n, (size_t)done), offset);
}

/* libc's functions take what they only read as if they wrote it. */
static struct iovec part_of(const void *data, size_t n)
{
	struct iovec part = { .iov_len = n };

	memcpy(&part.iov_base, &data, sizeof data);
	return part;
}

ssize_t write(int fd, const void *data, size_t n)
{
	struct iovec part = part_of(data, n);
	char path[PATH_MAX];

	if (!fd_is_watched(fd, path))
		return syscall(SYS_write, fd, data, n);
	return write_watched(fd, path, &part, 1, 0, AT_FILE_POSITION);
}

ssize_t pwrite(int fd, const void *data, size_t n, off_t offset)
{
	struct iovec part = part_of(data, n);
	char path[PATH_MAX];

	if (!fd_is_watched(fd, path))
		return syscall(SYS_pwrite64, fd, data, n, offset);
	return write_watched(fd, path, &part, 1, offset, AT_OFFSET);
}

static ssize_t write_copied(int fd, const struct iovec *parts, int n, off_t offset,
			    enum position position)
{
	struct iovec copy[IOV_MAX];
	char path[PATH_MAX];

	if (!fd_is_watched(fd, path) || n < 0 || n > IOV_MAX)
		return write_now(fd, parts, n, offset, position);
	memcpy(copy, parts, (size_t)n * sizeof *parts);
	return write_watched(fd, path, copy, n, offset, position);
}

ssize_t writev(int fd, const struct iovec *parts, int n)
{
	return write_copied(fd, parts, n, 0, AT_FILE_POSITION);
}

ssize_t pwritev(int fd, const struct iovec *parts, int n, off_t offset)
{
	return write_copied(fd, parts, n, offset, AT_OFFSET);
}

/* --- Syncing --- */

static int sync_watched(int fd, long number)
{
	char path[PATH_MAX];
	uint64_t before;
	bool failed;

	if (!fd_is_watched(fd, path))
		return (int)syscall(number, fd);
	before = records_so_far();
	failed = call_fails(SHIM_SYNC, path);
	if (!failed)
		failed = syscall(number, fd) != 0;
	record_parts((struct shim_record){ .kind = SHIM_LOG_SYNC,
					   .flag = failed,
					   .inode = inode_of_fd(fd),
					   .offset = before },
		     NULL, 0);
	return failed ? -1 : 0;
}

int fsync(int fd)
{
	return sync_watched(fd, SYS_fsync);
}

int fdatasync(int fd)
{
	return sync_watched(fd, SYS_fdatasync);
}

/* --- Sizes --- */

static void record_size(int fd)
{
	struct stat info = { 0 };

	(void)fstat(fd, &info);
	record_parts((struct shim_record){ .kind = SHIM_LOG_SIZE,
					   .inode = info.st_ino,
					   .offset = (uint64_t)info.st_size },
		     NULL, 0);
}

int ftruncate(int fd, off_t size)
{
	char path[PATH_MAX];
	bool here = fd_is_watched(fd, path);

	if (here && call_fails(SHIM_SIZE, path))
		return -1;
	if (syscall(SYS_ftruncate, fd, size) != 0)
		return -1;
	if (here)
		record_size(fd);
	return 0;
}

/* Blocks of memory come when they are touched: taking them all at once would cost a process that
 * lives for a few milliseconds most of these. */
static bool is_memory(const char *path)
{
	return strncmp(path, "/memfd:", 7) == 0;
}

int fallocate(int fd, int mode, off_t offset, off_t n)
{
	struct stat info = { 0 };
	char path[PATH_MAX] = "";
	bool here;

	if (path_of_fd(fd, path) && is_memory(path))
		return 0;
	here = is_below(path);
	(void)fstat(fd, &info);
	if (here &&
	    call_fails(SHIM_SIZE | (offset + n > end_of_blocks(&info) ? SHIM_GROW : 0U), path))
		return -1;
	if (syscall(SYS_fallocate, fd, mode, offset, n) != 0)
		return -1;
	if (here && !(mode & FALLOC_FL_KEEP_SIZE))
		record_size(fd);
	return 0;
}

int posix_fallocate(int fd, off_t offset, off_t n)
{
	int before = errno;
	int result = fallocate(fd, 0, offset, n) == 0 ? 0 : errno;

	errno = before;
	return result;
}

/* --- Names --- */

static int open_at(int directory, const char *path, int flags, mode_t mode)
{
	char whole[PATH_MAX];
	bool here = (flags & (O_CREAT | O_TRUNC)) && path_is_watched(directory, path, whole);
	bool makes = here && (flags & O_CREAT) && inode_of_path(whole) == 0;
	int fd;

	if (makes && call_fails(SHIM_NAME | SHIM_GROW, whole))
		return -1;
	fd = (int)syscall(SYS_openat, directory, path, flags, mode);
	if (fd < 0)
		return fd;
	if (makes)
		record_name(SHIM_LOG_CREATE, whole, NULL, inode_of_fd(fd));
	else if (here && (flags & O_TRUNC))
		record_size(fd);
	return fd;
}

static mode_t mode_of(int flags, va_list rest)
{
	return flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;
}

int open(const char *path, int flags, ...)
{
	va_list rest;
	mode_t mode;

	va_start(rest, flags);
	mode = mode_of(flags, rest);
	va_end(rest);
	return open_at(AT_FDCWD, path, flags, mode);
}

int openat(int directory, const char *path, int flags, ...)
{
	va_list rest;
	mode_t mode;

	va_start(rest, flags);
	mode = mode_of(flags, rest);
	va_end(rest);
	return open_at(directory, path, flags, mode);
}

int mkdir(const char *path, mode_t mode)
{
	char whole[PATH_MAX];
	bool here = path_is_watched(AT_FDCWD, path, whole);

	if (here && call_fails(SHIM_NAME | SHIM_GROW, whole))
		return -1;
	if (syscall(SYS_mkdirat, AT_FDCWD, path, mode) != 0)
		return -1;
	if (here)
		record_name(SHIM_LOG_MKDIR, whole, NULL, inode_of_path(whole));
	return 0;
}

static int remove_at(int directory, const char *path, int flags)
{
	char whole[PATH_MAX];
	bool here = path_is_watched(directory, path, whole);

	if (here && call_fails(SHIM_NAME, whole))
		return -1;
	if (syscall(SYS_unlinkat, directory, path, flags) != 0)
		return -1;
	if (here)
		record_name(SHIM_LOG_REMOVE, whole, NULL, 0);
	return 0;
}

int unlinkat(int directory, const char *path, int flags)
{
	return remove_at(directory, path, flags);
}

int unlink(const char *path)
{
	return remove_at(AT_FDCWD, path, 0);
}

int rmdir(const char *path)
{
	return remove_at(AT_FDCWD, path, AT_REMOVEDIR);
}

int renameat2(int old_directory, const char *old, int new_directory, const char *new,
	      unsigned flags)
{
	char from[PATH_MAX];
	char to[PATH_MAX];
	bool here = path_is_watched(new_directory, new, to) &&
		    path_is_watched(old_directory, old, from);

	if (here && call_fails(SHIM_NAME, from))
		return -1;
	if (syscall(SYS_renameat2, old_directory, old, new_directory, new, flags) != 0)
		return -1;
	if (here)
		record_name(flags & RENAME_EXCHANGE ? SHIM_LOG_EXCHANGE : SHIM_LOG_RENAME, from, to,
			    0);
	return 0;
}

int rename(const char *old, const char *new)
{
	return renameat2(AT_FDCWD, old, AT_FDCWD, new, 0);
}

/* libc's make their names by calls of their own, which would not come by here. */
static void fill_template(char *end)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz012345";
	uint8_t random[6] = { 0 };

	(void)getrandom(random, sizeof random, 0);
	for (size_t i = 0; i < sizeof random; i++)
		end[i] = letters[random[i] % 32];
}

char *mkdtemp(char *template)
{
	for (int tries = 0; tries < 100; tries++) {
		fill_template(template + strlen(template) - 6);
		if (mkdir(template, 0700) == 0)
			return template;
		if (errno != EEXIST)
			break;
	}
	return NULL;
}

int mkostemp(char *template, int flags)
{
	for (int tries = 0; tries < 100; tries++) {
		int fd;

		fill_template(template + strlen(template) - 6);
		fd = open(template, O_RDWR | O_CREAT | O_EXCL | flags, 0600);
		if (fd >= 0 || errno != EEXIST)
			return fd;
	}
	return -1;
}

int mkstemp(char *template)
{
	return mkostemp(template, 0);
}

/* --- Memory --- */

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

/* Huge pages take 30 ms for each segment of hot chunks, which a process that lives no longer than
 * that cannot spare. */
int madvise(void *memory, size_t n, int advice)
{
	if (advice == MADV_COLLAPSE) {
		errno = EINVAL;
		return -1;
	}
	return (int)syscall(SYS_madvise, memory, n, advice);
}

/* --- Room --- */

static void fill_statvfs(const struct statfs *info, struct statvfs *out)
{
	*out = (struct statvfs){ .f_bsize = (unsigned long)info->f_bsize,
				 .f_frsize = (unsigned long)info->f_frsize,
				 .f_blocks = info->f_blocks,
				 .f_bfree = info->f_bfree,
				 .f_bavail = info->f_bavail,
				 .f_files = info->f_files,
				 .f_ffree = info->f_ffree,
				 .f_favail = info->f_ffree,
				 .f_namemax = (unsigned long)info->f_namelen };
	if (watched_bytes && (atomic_load(&full) || (order.looks_full && atomic_load(&fired))))
		out->f_bavail = out->f_bfree = 0;
}

int statvfs(const char *path, struct statvfs *out)
{
	struct statfs info;

	if (statfs(path, &info) != 0)
		return -1;
	fill_statvfs(&info, out);
	return 0;
}

int fstatvfs(int fd, struct statvfs *out)
{
	struct statfs info;

	if (fstatfs(fd, &info) != 0)
		return -1;
	fill_statvfs(&info, out);
	return 0;
}
