/* work.c -- the work directory of a partitioning, and its finished stages. */
#include "work.h"

#include "fail.h"
#include "files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define ARGUMENTS "arguments"
#define ARGUMENTS_BYTES_MAX ((size_t)1 << 30)
#define FIRST_LINE "distgraph partition, work format 1\n"
#define BOOT_ID "/proc/sys/kernel/random/boot_id"

dg_status dgi_work_path(const struct dgi_work *work, char **out, dg_error *err, const char *name,
			...)
{
	char rest[512];
	va_list arguments;

	va_start(arguments, name);
	(void)vsnprintf(rest, sizeof rest, name, arguments);
	va_end(arguments);
	if (asprintf(out, "%s/%s", work->path, rest) >= 0)
		return DG_OK;
	*out = NULL;
	return dgi_fail_memory(err, work->path);
}

/* --- Beginning --- */

static dg_status lock(struct dgi_work *w, dg_error *err)
{
	if (mkdir(w->path, 0700) != 0 && errno != EEXIST)
		return dgi_fail_errno(err, errno, "create directory '%s'", w->path);
	w->lock = open(w->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (w->lock < 0)
		return dgi_fail_errno(err, errno, "open directory '%s'", w->path);
	if (flock(w->lock, LOCK_EX | LOCK_NB) == 0)
		return DG_OK;
	if (errno == EWOULDBLOCK)
		return dgi_fail(err, DG_BUSY, "'%s': another process partitions into it", w->path);
	return dgi_fail_errno(err, errno, "lock '%s'", w->path);
}

static bool is_empty(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	bool empty = dir != NULL;

	while (empty && (entry = readdir(dir)))
		empty = !strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..");
	if (dir)
		(void)closedir(dir);
	return empty;
}

/* Empties a directory that is ours. */
static dg_status empty(const struct dgi_work *w, dg_error *err)
{
	DIR *dir = opendir(w->path);
	struct dirent *entry;
	dg_status st = dir ? DG_OK : dgi_fail_errno(err, errno, "open '%s'", w->path);

	while (!st && (entry = readdir(dir))) {
		char *path;

		/* What says that it is ours goes last, by being replaced. */
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..") ||
		    !strcmp(entry->d_name, ARGUMENTS))
			continue;
		st = dgi_work_path(w, &path, err, "%s", entry->d_name);
		if (!st && entry->d_type != DT_DIR && unlink(path) != 0)
			st = dgi_fail_errno(err, errno, "remove '%s'", path);
		else if (!st && entry->d_type == DT_DIR)
			st = dgi_tree_remove(path, err);
		free(path);
	}
	if (dir)
		(void)closedir(dir);
	return st;
}

/* Of a work directory there is: is it for these arguments? */
static dg_status compare(struct dgi_work *w, const char *path, const char *arguments, bool *same,
			 dg_error *err)
{
	const size_t first = sizeof FIRST_LINE - 1;
	char *text = NULL;
	size_t n = 0;
	dg_status st = dgi_file_read(path, ARGUMENTS_BYTES_MAX, &text, &n, err);

	*same = false;
	if (st == DG_NOTFOUND && is_empty(w->path))
		return DG_OK;
	if (!st && n >= first && memcmp(text, FIRST_LINE, first) == 0)
		*same = strcmp(text + first, arguments) == 0;
	else if (!st || st == DG_NOTFOUND || st == DG_INVALID)
		st = dgi_fail(err, DG_EXISTS,
			      "'%s' exists and is not what an interrupted run has left: the graph "
			      "is made there before it gets its name",
			      w->path);
	free(text);
	return st;
}

static dg_status begin(struct dgi_work *w, const char *arguments, dg_error *err)
{
	char *path = NULL;
	char *text = NULL;
	bool same = false;
	dg_status st = dgi_work_path(w, &path, err, ARGUMENTS);

	if (!st)
		st = compare(w, path, arguments, &same, err);
	w->resumed = same;
	if (!st && !same)
		st = empty(w, err);
	if (!st && !same && asprintf(&text, FIRST_LINE "%s", arguments) < 0) {
		text = NULL;
		st = dgi_fail_memory(err, w->path);
	}
	if (text)
		st = dgi_file_replace(path, text, strlen(text), err);
	free(text);
	free(path);
	return st;
}

dg_status dgi_work_begin(const char *output, const char *arguments, struct dgi_work *out,
			 dg_error *err)
{
	struct dgi_work w = { .lock = -1 };
	size_t n = strlen(output);
	dg_status st;

	while (n > 1 && output[n - 1] == '/')
		n--;
	if (asprintf(&w.path, "%.*s.work", (int)n, output) < 0)
		return dgi_fail_memory(err, output);
	st = lock(&w, err);
	if (!st)
		st = begin(&w, arguments, err);
	if (st) {
		if (w.lock >= 0)
			(void)close(w.lock);
		(void)rmdir(w.path); /* unless there is something in it */
		free(w.path);
		return st;
	}
	*out = w;
	return DG_OK;
}

/* --- Stages --- */

/* Which start of the machine this is; empty where it cannot be known. */
static void boot_id(char out[64])
{
	FILE *f = fopen(BOOT_ID, "r");

	out[0] = '\0';
	if (f && !fgets(out, 64, f))
		out[0] = '\0';
	if (f)
		(void)fclose(f);
	out[strcspn(out, "\n")] = '\0';
}

dg_status dgi_work_finish(struct dgi_work *work, const char *stage, const char *text, bool synced,
			  dg_error *err)
{
	char boot[64] = "synced";
	char *path = NULL;
	char *record = NULL;
	dg_status st = dgi_work_path(work, &path, err, "%s.done", stage);

	if (!synced)
		boot_id(boot);
	if (!st && asprintf(&record, "%s\n%s", boot, text) < 0) {
		record = NULL;
		st = dgi_fail_memory(err, stage);
	}
	if (!st)
		st = dgi_file_replace(path, record, strlen(record), err);
	if (!st)
		work->has_stage = true;
	free(record);
	free(path);
	return st;
}

bool dgi_work_finished(const struct dgi_work *work, const char *stage,
		       char text[DGI_WORK_TEXT_BYTES])
{
	char boot[64];
	char *path = NULL;
	char *record = NULL;
	char *rest;
	size_t n;
	bool finished = false;

	if (dgi_work_path(work, &path, NULL, "%s.done", stage) != DG_OK)
		return false;
	if (dgi_file_read(path, 64 + DGI_WORK_TEXT_BYTES, &record, &n, NULL) == DG_OK &&
	    (rest = strchr(record, '\n')) && strlen(rest) <= DGI_WORK_TEXT_BYTES) {
		*rest++ = '\0';
		boot_id(boot);
		finished = !strcmp(record, "synced") || (boot[0] && !strcmp(record, boot));
		if (text)
			memcpy(text, rest, strlen(rest) + 1);
	}
	free(record);
	free(path);
	return finished;
}

void dgi_work_end(struct dgi_work *work, bool keep)
{
	if (!work->path)
		return;
	if (!keep || !(work->has_stage || work->resumed))
		(void)dgi_tree_remove(work->path, NULL);
	(void)close(work->lock);
	free(work->path);
	*work = (struct dgi_work){ 0 };
}
