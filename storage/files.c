/* files.c -- files and directories made so that a crash leaves either the old or the new. */
#include "files.h"

#include "check.h"
#include "fail.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdint.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#define TREE_DEPTH_MAX 64

static dg_status directory_open(const char *path, int *fd, dg_error *err)
{
	*fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return *fd < 0 ? dgi_fail_errno(err, errno, "open directory '%s'", path) : DG_OK;
}

dg_status dgi_directory_sync(const char *path, dg_error *err)
{
	int fd;
	dg_status st = directory_open(path, &fd, err);

	if (st)
		return st;
	if (fsync(fd) != 0)
		st = dgi_fail_errno(err, errno, "sync directory '%s'", path);
	(void)close(fd);
	return st;
}

/*
 * Opens the directory that holds @path, to be synced after a rename: before it, so that once the
 * name has changed nothing but the sync itself can fail.
 */
static dg_status parent_open(const char *path, int *fd, dg_error *err)
{
	const char *slash = strrchr(path, '/');
	char *parent;
	dg_status st;

	if (!slash)
		return directory_open(".", fd, err);
	parent = strndup(path, slash == path ? 1 : (size_t)(slash - path));
	if (!parent)
		return dgi_fail_memory(err, path);
	st = directory_open(parent, fd, err);
	free(parent);
	return st;
}

/* Syncs what parent_open() has opened, and closes it. */
static dg_status parent_sync(int fd, const char *path, dg_error *err)
{
	dg_status st = DG_OK;

	if (fsync(fd) != 0)
		st = dgi_fail_errno(err, errno, "sync the directory of '%s'", path);
	(void)close(fd);
	return st;
}

dg_status dgi_read_at(int fd, uint64_t at, void *out, size_t n, dg_error *err)
{
	uint8_t *to = out;

	while (n > 0) {
		ssize_t here = pread(fd, to, n, (off_t)at);

		if (here < 0 && errno == EINTR)
			continue;
		if (here < 0)
			return dgi_fail_errno(err, errno, "read %zu bytes at %" PRIu64, n, at);
		if (here == 0)
			return dgi_fail(err, DG_CORRUPT, "the file ends at byte %" PRIu64, at);
		to += here;
		at += (uint64_t)here;
		n -= (size_t)here;
	}
	return DG_OK;
}

static dg_status write_all(int fd, const char *path, const void *data, size_t n, dg_error *err)
{
	const char *at = data;

	while (n > 0) {
		ssize_t done = write(fd, at, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return dgi_fail_errno(err, errno, "write '%s'", path);
		at += done;
		n -= (size_t)done;
	}
	return DG_OK;
}

dg_status dgi_file_replace(const char *path, const void *data, size_t n, dg_error *err)
{
	char *temporary;
	int parent = -1;
	dg_status st;
	int fd;

	if (asprintf(&temporary, "%s.tmp-XXXXXX", path) < 0)
		return dgi_fail_memory(err, path);
	fd = mkostemp(temporary, O_CLOEXEC); /* mode 0600 */
	if (fd < 0) {
		st = dgi_fail_errno(err, errno, "create '%s'", temporary);
		free(temporary);
		return st;
	}
	st = write_all(fd, temporary, data, n, err);
	if (!st && fsync(fd) != 0)
		st = dgi_fail_errno(err, errno, "sync '%s'", temporary);
	if (close(fd) != 0 && !st)
		st = dgi_fail_errno(err, errno, "close '%s'", temporary);
	if (!st)
		st = parent_open(path, &parent, err);
	if (!st && rename(temporary, path) != 0)
		st = dgi_fail_errno(err, errno, "rename '%s' to '%s'", temporary, path);
	if (!st)
		st = parent_sync(parent, path, err);
	else if (parent >= 0)
		(void)close(parent);
	if (st)
		(void)unlink(temporary);
	free(temporary);
	return st;
}

/* Fills @data from @fd; *n is the bytes there were, up to the @room there is. */
static dg_status read_all(int fd, const char *path, char *data, size_t room, size_t *n,
			  dg_error *err)
{
	*n = 0;
	while (*n < room) {
		ssize_t done = read(fd, data + *n, room - *n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return dgi_fail_errno(err, errno, "read '%s'", path);
		if (done == 0)
			break;
		*n += (size_t)done;
	}
	return DG_OK;
}

static dg_status read_open_file(int fd, const char *path, size_t max, char **out, size_t *n,
				dg_error *err)
{
	struct stat info;
	char *data;
	dg_status st;

	if (fstat(fd, &info) != 0)
		return dgi_fail_errno(err, errno, "stat '%s'", path);
	if (!S_ISREG(info.st_mode))
		return dgi_fail(err, DG_INVALID, "'%s' is not a regular file", path);
	if ((uint64_t)info.st_size > max)
		return dgi_fail(err, DG_INVALID, "'%s' has %lld bytes, at most %zu", path,
				(long long)info.st_size, max);
	data = malloc((size_t)info.st_size + 1);
	if (!data)
		return dgi_fail_memory(err, path);
	st = read_all(fd, path, data, (size_t)info.st_size, n, err);
	if (st) {
		free(data);
		return st;
	}
	data[*n] = '\0';
	*out = data;
	return DG_OK;
}

dg_status dgi_file_read(const char *path, size_t max, char **out, size_t *n, dg_error *err)
{
	/* Non-blocking, so that a FIFO in a file's place is refused rather than waited for. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	dg_status st;

	if (fd < 0)
		return dgi_fail_errno(err, errno, "open '%s'", path);
	st = read_open_file(fd, path, max, out, n, err);
	(void)close(fd);
	return st;
}

/* --- Trees --- */

typedef dg_status tree_fn(int directory, const char *name, const char *path, bool is_directory,
			  dg_error *err);

static dg_status tree_visit(int fd, const char *path, int depth, tree_fn *fn, dg_error *err);

static dg_status visit_entry(int directory, const char *name, const char *path, int depth,
			     tree_fn *fn, dg_error *err)
{
	struct stat info;
	dg_status st = DG_OK;
	int fd;

	if (fstatat(directory, name, &info, AT_SYMLINK_NOFOLLOW) != 0)
		return dgi_fail_errno(err, errno, "stat '%s'", path);
	if (S_ISDIR(info.st_mode)) {
		if (depth == TREE_DEPTH_MAX)
			return dgi_fail(err, DG_INVALID, "'%s': more than %d directories deep",
					path, TREE_DEPTH_MAX);
		fd = openat(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0)
			return dgi_fail_errno(err, errno, "open directory '%s'", path);
		st = tree_visit(fd, path, depth + 1, fn, err);
	}
	return st ? st : fn(directory, name, path, S_ISDIR(info.st_mode), err);
}

/*
 * Calls @fn for each entry below directory @fd, which it takes, inner ones first. Links are
 * entries, not ways.
 */
static dg_status tree_visit(int fd, const char *path, int depth, tree_fn *fn, dg_error *err)
{
	DIR *dir = fdopendir(fd);
	dg_status st = DG_OK;
	struct dirent *entry;

	if (!dir) {
		st = dgi_fail_errno(err, errno, "read directory '%s'", path);
		(void)close(fd);
		return st;
	}
	while (!st && (errno = 0, entry = readdir(dir))) {
		char *inner;

		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (asprintf(&inner, "%s/%s", path, entry->d_name) < 0) {
			st = dgi_fail_memory(err, path);
			break;
		}
		st = visit_entry(fd, entry->d_name, inner, depth, fn, err);
		free(inner);
	}
	if (!st && errno != 0)
		st = dgi_fail_errno(err, errno, "read directory '%s'", path);
	(void)closedir(dir);
	return st;
}

static dg_status remove_entry(int directory, const char *name, const char *path, bool is_directory,
			      dg_error *err)
{
	if (unlinkat(directory, name, is_directory ? AT_REMOVEDIR : 0) != 0 && errno != ENOENT)
		return dgi_fail_errno(err, errno, "remove '%s'", path);
	return DG_OK;
}

dg_status dgi_tree_remove(const char *path, dg_error *err)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	dg_status st;

	if (fd < 0 && errno == ENOENT)
		return DG_OK;
	if (fd < 0)
		return dgi_fail_errno(err, errno, "open directory '%s'", path);
	st = tree_visit(fd, path, 0, remove_entry, err);
	if (!st && rmdir(path) != 0)
		st = dgi_fail_errno(err, errno, "remove '%s'", path);
	return st;
}

static dg_status sync_entry(int directory, const char *name, const char *path, bool is_directory,
			    dg_error *err)
{
	int fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	dg_status st = DG_OK;

	(void)is_directory;
	if (fd < 0)
		return dgi_fail_errno(err, errno, "open '%s'", path);
	if (fsync(fd) != 0)
		st = dgi_fail_errno(err, errno, "sync '%s'", path);
	(void)close(fd);
	return st;
}

static dg_status tree_sync(const char *path, dg_error *err)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	dg_status st;

	if (fd < 0)
		return dgi_fail_errno(err, errno, "open directory '%s'", path);
	st = tree_visit(fd, path, 0, sync_entry, err);
	return st ? st : dgi_directory_sync(path, err);
}

/* --- What a store may lie on --- */

struct filesystem {
	unsigned long magic;
	const char *name;
};

/* Not all of these are in <linux/magic.h>. */
static const struct filesystem unsafe_filesystems[] = {
	{ NFS_SUPER_MAGIC, "NFS" },	{ SMB_SUPER_MAGIC, "SMB" },   { CIFS_SUPER_MAGIC, "CIFS" },
	{ SMB2_SUPER_MAGIC, "SMB" },	{ V9FS_MAGIC, "9p" },	      { CEPH_SUPER_MAGIC, "Ceph" },
	{ AFS_SUPER_MAGIC, "AFS" },	{ CODA_SUPER_MAGIC, "Coda" }, { 0x0bd00bd0, "Lustre" },
	{ 0x47504653, "GPFS" },		{ 0x19830326, "BeeGFS" },     { 0xaad7aaea, "PanFS" },
	{ OCFS2_SUPER_MAGIC, "OCFS2" }, { 0x01161970, "GFS2" },	      { NCP_SUPER_MAGIC, "NCP" },
};

/* Of FUSE, whose file systems have one number and are mostly remote, those that are local. */
static const char *const safe_fuse_types[] = { "fuseblk", "fuse.fuse-overlayfs", "fuse.lazyfs" };

/*
 * The type of the file system that @path lies on, from the mount with its device number:
 * "36 35 98:0 /root /mount/point options - type source options". Empty where it is not found.
 */
static void mount_type(const char *path, char *out, size_t room)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	struct stat info;
	char *line = NULL;
	size_t capacity = 0;

	*out = '\0';
	if (!f)
		return;
	if (stat(path, &info) == 0)
		while (getline(&line, &capacity, f) > 0) {
			unsigned device_major, device_minor;
			const char *type = strstr(line, " - ");

			if (!type ||
			    sscanf(line, "%*s %*s %u:%u", &device_major, &device_minor) != 2)
				continue;
			if (makedev(device_major, device_minor) == info.st_dev)
				(void)snprintf(out, room, "%.*s", (int)strcspn(type + 3, " "),
					       type + 3);
		}
	free(line);
	(void)fclose(f);
}

static dg_status fail_unsafe(const char *path, const char *name, dg_error *err)
{
	return dgi_fail(err, DG_UNSUPPORTED,
			"'%s' lies on %s: locks and memory maps are not reliable there, put the "
			"store on a local disk",
			path, name);
}

dg_status dgi_filesystem_check(const char *path, dg_error *err)
{
	struct statfs info;
	char type[64];

	if (statfs(path, &info) != 0)
		return dgi_fail_errno(err, errno, "file system of '%s'", path);
	for (size_t i = 0; i < DGI_COUNT_OF(unsafe_filesystems); i++)
		if ((unsigned long)info.f_type == unsafe_filesystems[i].magic)
			return fail_unsafe(path, unsafe_filesystems[i].name, err);
	if ((unsigned long)info.f_type != FUSE_SUPER_MAGIC)
		return DG_OK;
	mount_type(path, type, sizeof type);
	for (size_t i = 0; i < DGI_COUNT_OF(safe_fuse_types); i++)
		if (strcmp(type, safe_fuse_types[i]) == 0)
			return DG_OK;
	return fail_unsafe(path, *type ? type : "FUSE", err);
}

dg_status dgi_ownership_check(const char *path, dg_error *err)
{
	struct stat info;

	if (stat(path, &info) != 0)
		return dgi_fail_errno(err, errno, "stat '%s'", path);
	if (info.st_uid != geteuid())
		return dgi_fail(err, DG_DENIED, "'%s' belongs to user %u, this process is user %u",
				path, (unsigned)info.st_uid, (unsigned)geteuid());
	if (!S_ISDIR(info.st_mode) && !S_ISREG(info.st_mode))
		return dgi_fail(err, DG_DENIED, "'%s' is neither a file nor a directory", path);
	if (info.st_mode & 077)
		return dgi_fail(err, DG_DENIED,
				"'%s' is open to others (mode %04o): chmod go-rwx '%s'", path,
				(unsigned)info.st_mode & 07777, path);
	return DG_OK;
}

/* --- Staging --- */

static void staging_clear(struct dgi_staging *staging)
{
	free(staging->target);
	free(staging->path);
	*staging = (struct dgi_staging){ 0 };
}

/* A copy of @path without slashes at its end, so that a name can be put behind it. */
static char *without_last_slashes(const char *path)
{
	size_t n = strlen(path);

	while (n > 1 && path[n - 1] == '/')
		n--;
	return strndup(path, n);
}

dg_status dgi_staging_begin(const char *target, bool replace, struct dgi_staging *out,
			    dg_error *err)
{
	struct dgi_staging staging = { .replace = replace };
	struct stat info;
	dg_status st;

	if (!replace && lstat(target, &info) == 0)
		return dgi_fail(err, DG_EXISTS, "'%s' exists already", target);
	staging.target = without_last_slashes(target);
	if (!staging.target || asprintf(&staging.path, "%s.tmp-XXXXXX", staging.target) < 0) {
		staging.path = NULL; /* asprintf() leaves it undefined */
		staging_clear(&staging);
		return dgi_fail_memory(err, target);
	}
	if (!mkdtemp(staging.path)) {
		st = dgi_fail_errno(err, errno, "create directory '%s'", staging.path);
		staging_clear(&staging);
		return st;
	}
	*out = staging;
	return DG_OK;
}

static dg_status fail_rename(const char *from, const char *to, dg_error *err)
{
	return dgi_fail_errno(err, errno, "rename '%s' to '%s'", from, to);
}

/*
 * For file systems that rename only plainly: what is there is moved away first, to a name that
 * becomes the staged one. A crash between the two renames leaves both under temporary names.
 */
static dg_status put_in_place_plainly(struct dgi_staging *staging, bool *old, dg_error *err)
{
	struct stat info;
	char *away;

	if (lstat(staging->target, &info) != 0)
		return rename(staging->path, staging->target) == 0
			       ? DG_OK
			       : fail_rename(staging->path, staging->target, err);
	if (!staging->replace)
		return dgi_fail(err, DG_EXISTS, "'%s' exists already", staging->target);
	if (asprintf(&away, "%s-old", staging->path) < 0)
		return dgi_fail_memory(err, staging->target);
	if (rename(staging->target, away) != 0 || rename(staging->path, staging->target) != 0) {
		dg_status st = fail_rename(staging->path, staging->target, err);

		(void)rename(away, staging->target);
		free(away);
		return st;
	}
	free(staging->path);
	staging->path = away;
	*old = true;
	return DG_OK;
}

/* Puts the staged directory in the target's place; *old: what was there now has the staged name. */
static dg_status put_in_place(struct dgi_staging *staging, bool *old, dg_error *err)
{
	*old = false;
	if (renameat2(AT_FDCWD, staging->path, AT_FDCWD, staging->target, RENAME_NOREPLACE) == 0)
		return DG_OK;
	if (errno == EEXIST && !staging->replace)
		return dgi_fail(err, DG_EXISTS, "'%s' exists already", staging->target);
	if (errno == EEXIST &&
	    renameat2(AT_FDCWD, staging->path, AT_FDCWD, staging->target, RENAME_EXCHANGE) == 0) {
		*old = true;
		return DG_OK;
	}
	if (errno == EINVAL || errno == ENOSYS)
		return put_in_place_plainly(staging, old, err);
	return fail_rename(staging->path, staging->target, err);
}

static dg_status remove_any(const char *path, dg_error *err)
{
	struct stat info;

	if (lstat(path, &info) == 0 && !S_ISDIR(info.st_mode) && unlink(path) == 0)
		return DG_OK;
	return dgi_tree_remove(path, err);
}

dg_status dgi_staging_commit(struct dgi_staging *staging, dg_error *err)
{
	bool old;
	int parent = -1;
	dg_status st = tree_sync(staging->path, err);

	if (!st)
		st = parent_open(staging->target, &parent, err);
	if (!st)
		st = put_in_place(staging, &old, err);
	if (st) {
		if (parent >= 0)
			(void)close(parent);
		dgi_staging_abort(staging);
		return st;
	}
	st = parent_sync(parent, staging->target, err);
	if (!st && old)
		st = remove_any(staging->path, err);
	staging_clear(staging);
	return st;
}

void dgi_staging_abort(struct dgi_staging *staging)
{
	if (staging->path)
		(void)dgi_tree_remove(staging->path, NULL);
	staging_clear(staging);
}
