/* lock.c -- who has a store: any number of readers, or one writer. */
#include "lock.h"

#include "fail.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct dgi_lock {
	struct dgi_lock *next;
	dev_t device; /* of the directory */
	ino_t inode;
	int fd; /* of the lock file; -1: a reader that does without */
	bool writable;
	unsigned holders;
	unsigned generation; /* of forks, when it was taken */
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct dgi_lock *locks;
static unsigned fork_generation; /* changes only in a child with one thread */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void before_fork(void)
{
	(void)pthread_mutex_lock(&mutex);
}

static void after_fork_in_parent(void)
{
	(void)pthread_mutex_unlock(&mutex);
}

/* The child has none of its parent's fcntl locks: it may take stores of its own. */
static void after_fork_in_child(void)
{
	fork_generation++;
	locks = NULL;
	(void)pthread_mutex_unlock(&mutex);
}

static void guard_forks(void)
{
	(void)pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

/* "1234 (python3)", or "1234" where the name cannot be read. */
static void process_text(pid_t pid, char *out, size_t room)
{
	char path[64];
	char name[64] = { 0 };
	FILE *f;

	(void)snprintf(path, sizeof path, "/proc/%ld/comm", (long)pid);
	f = fopen(path, "re");
	if (f) {
		if (fgets(name, sizeof name, f))
			name[strcspn(name, "\n")] = '\0';
		(void)fclose(f);
	}
	if (name[0])
		(void)snprintf(out, room, "process %ld (%s)", (long)pid, name);
	else
		(void)snprintf(out, room, "process %ld", (long)pid);
}

static dg_status fail_busy(const char *path, int fd, short kind, dg_error *err)
{
	struct flock wish = { .l_type = kind, .l_whence = SEEK_SET };
	char holder[128] = "another process";

	if (fcntl(fd, F_GETLK, &wish) == 0 && wish.l_type != F_UNLCK && wish.l_pid > 0)
		process_text(wish.l_pid, holder, sizeof holder);
	return dgi_fail(err, DG_BUSY,
			"store '%s' is open in %s: ask its server (distgraph ls CLUSTER.json)",
			path, holder);
}

static dg_status take_file(const char *path, const char *file, bool writable, int *out,
			   dg_error *err)
{
	short kind = writable ? F_WRLCK : F_RDLCK;
	struct flock wish = { .l_type = kind, .l_whence = SEEK_SET };
	int flags = O_CLOEXEC | O_NOFOLLOW | (writable ? O_RDWR | O_CREAT : O_RDONLY);
	int fd = open(file, flags, 0600);
	dg_status st;

	if (fd < 0 && !writable && errno == ENOENT)
		fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0 && !writable && (errno == EACCES || errno == EROFS || errno == EPERM)) {
		*out = -1;
		return DG_OK;
	}
	if (fd < 0)
		return dgi_fail_errno(err, errno, "open '%s'", file);
	if (fcntl(fd, F_SETLK, &wish) != 0) {
		if (errno == EACCES || errno == EAGAIN)
			st = fail_busy(path, fd, kind, err);
		else
			st = dgi_fail_errno(err, errno, "lock '%s'", file);
		(void)close(fd);
		return st;
	}
	*out = fd;
	return DG_OK;
}

static struct dgi_lock *find(const struct stat *directory)
{
	for (struct dgi_lock *lock = locks; lock; lock = lock->next)
		if (lock->device == directory->st_dev && lock->inode == directory->st_ino)
			return lock;
	return NULL;
}

static dg_status take_new(const char *path, const struct stat *directory, bool writable,
			  struct dgi_lock **out, dg_error *err)
{
	struct dgi_lock *lock = malloc(sizeof *lock);
	char *file = NULL;
	dg_status st;

	if (!lock || asprintf(&file, "%s/%s", path, DGI_LOCK_FILE) < 0) {
		free(lock);
		return dgi_fail_memory(err, path);
	}
	*lock = (struct dgi_lock){
		.device = directory->st_dev,
		.inode = directory->st_ino,
		.writable = writable,
		.holders = 1,
		.generation = fork_generation,
	};
	st = take_file(path, file, writable, &lock->fd, err);
	free(file);
	if (st) {
		free(lock);
		return st;
	}
	lock->next = locks;
	locks = lock;
	*out = lock;
	return DG_OK;
}

dg_status dgi_lock_take(const char *path, bool writable, struct dgi_lock **out, dg_error *err)
{
	struct stat directory;
	struct dgi_lock *lock;
	dg_status st = DG_OK;

	(void)pthread_once(&once, guard_forks);
	if (stat(path, &directory) != 0)
		return dgi_fail_errno(err, errno, "store '%s'", path);
	(void)pthread_mutex_lock(&mutex);
	lock = find(&directory);
	if (!lock) {
		st = take_new(path, &directory, writable, out, err);
	} else if (writable || lock->writable) {
		st = dgi_fail(err, DG_BUSY, "store '%s' is open in this process (%ld) already",
			      path, (long)getpid());
	} else {
		lock->holders++;
		*out = lock;
	}
	(void)pthread_mutex_unlock(&mutex);
	return st;
}

static void unlink_from_table(const struct dgi_lock *lock)
{
	for (struct dgi_lock **at = &locks; *at; at = &(*at)->next)
		if (*at == lock) {
			*at = lock->next;
			return;
		}
}

void dgi_lock_release(struct dgi_lock *lock)
{
	if (!lock)
		return;
	(void)pthread_mutex_lock(&mutex);
	if (--lock->holders == 0) {
		unlink_from_table(lock);
		if (lock->fd >= 0)
			(void)close(lock->fd);
		free(lock);
	}
	(void)pthread_mutex_unlock(&mutex);
}

/* Whose lock keeps others from reading. With the mutex held, for it opens and closes the file. */
static dg_status ask_file(const char *path, int64_t *pid, dg_error *err)
{
	struct flock wish = { .l_type = F_RDLCK, .l_whence = SEEK_SET };
	dg_status st = DG_OK;
	char *file;
	int fd;

	if (asprintf(&file, "%s/%s", path, DGI_LOCK_FILE) < 0)
		return dgi_fail_memory(err, path);
	fd = open(file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		st = dgi_fail_errno(err, errno, "open '%s'", file);
	else if (fcntl(fd, F_GETLK, &wish) != 0)
		st = dgi_fail_errno(err, errno, "lock of '%s'", file);
	else if (wish.l_type == F_UNLCK)
		st = dgi_fail(err, DG_NOTFOUND, "store '%s': nobody writes it", path);
	else
		*pid = wish.l_pid > 0 ? wish.l_pid : 0;
	if (fd >= 0)
		(void)close(fd);
	free(file);
	return st;
}

dg_status dgi_lock_holder(const char *path, int64_t *pid, dg_error *err)
{
	const struct dgi_lock *lock;
	struct stat directory;
	dg_status st = DG_OK;

	if (stat(path, &directory) != 0)
		return dgi_fail_errno(err, errno, "store '%s'", path);
	(void)pthread_mutex_lock(&mutex);
	lock = find(&directory);
	if (!lock)
		st = ask_file(path, pid, err);
	else if (lock->writable)
		*pid = getpid();
	else
		st = dgi_fail(err, DG_NOTFOUND, "store '%s': nobody writes it", path);
	(void)pthread_mutex_unlock(&mutex);
	return st;
}

bool dgi_lock_is_inherited(const struct dgi_lock *lock)
{
	return lock->generation != fork_generation;
}
