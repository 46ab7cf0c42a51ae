/* What storage/files.c and lock.c promise. */
#include "test.h"

#include "files.h"
#include "lock.h"
#include "tmpdir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int plain_renames_only;

/* Stands in for the C library's: a file system that knows no flags. */
__attribute__((visibility("default"))) int renameat2(int from_dir, const char *from, int to_dir,
						     const char *to, unsigned flags)
{
	if (plain_renames_only && flags) {
		errno = EINVAL;
		return -1;
	}
	return (int)syscall(SYS_renameat2, from_dir, from, to_dir, to, flags);
}

static int make_dir(void **state)
{
	*state = tmpdir_new();
	return 0;
}

static int remove_dir(void **state)
{
	tmpdir_remove(*state);
	return 0;
}

static size_t count_entries(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	size_t n = 0;

	assert_non_null(dir);
	while ((entry = readdir(dir)))
		n += entry->d_name[0] != '.';
	(void)closedir(dir);
	return n;
}

static void a_file_replaced_is_the_new_one_and_private(void **state)
{
	char *path = tmpdir_path(*state, "server.json");
	dg_error err = { 0 };
	struct stat info;
	char *data;
	size_t n;

	assert_ok(dgi_file_replace(path, "old", 3, &err), &err);
	assert_ok(dgi_file_replace(path, "newer", 5, &err), &err);
	assert_ok(dgi_file_read(path, 5, &data, &n, &err), &err);
	assert_int_equal(n, 5);
	assert_string_equal(data, "newer");
	assert_int_equal(stat(path, &info), 0);
	assert_int_equal(info.st_mode & 07777, 0600);
	assert_int_equal(count_entries(*state), 1);
	free(data);
	assert_fails(dgi_file_read(path, 4, &data, &n, &err), DG_INVALID, &err,
		     "has 5 bytes, at most 4");
	free(path);
}

static void what_is_no_file_is_not_read(void **state)
{
	char *fifo = tmpdir_path(*state, "fifo");
	char *nothing = tmpdir_path(*state, "nothing");
	dg_error err = { 0 };
	char *data;
	size_t n;

	assert_int_equal(mkfifo(fifo, 0600), 0);
	assert_fails(dgi_file_read(fifo, 10, &data, &n, &err), DG_INVALID, &err,
		     "not a regular file");
	assert_fails(dgi_file_read(*state, 10, &data, &n, &err), DG_INVALID, &err,
		     "not a regular file");
	assert_fails(dgi_file_read(nothing, 10, &data, &n, &err), DG_NOTFOUND, &err, "nothing");
	free(fifo);
	free(nothing);
}

static void a_tree_is_removed_but_not_what_its_links_name(void **state)
{
	char *keep = tmpdir_path(*state, "keep");
	char *tree = tmpdir_path(*state, "tree");
	char *inner = tmpdir_path(tree, "inner");
	char *file = tmpdir_path(inner, "file");
	char *link = tmpdir_path(inner, "link");
	dg_error err = { 0 };

	assert_int_equal(mkdir(keep, 0700), 0);
	assert_int_equal(mkdir(tree, 0700), 0);
	assert_int_equal(mkdir(inner, 0700), 0);
	assert_ok(dgi_file_replace(file, "x", 1, &err), &err);
	assert_int_equal(symlink(keep, link), 0);
	assert_ok(dgi_tree_remove(tree, &err), &err);
	assert_int_equal(access(tree, F_OK), -1);
	assert_int_equal(access(keep, F_OK), 0);
	assert_ok(dgi_tree_remove(tree, &err), &err); /* a missing one is fine */
	free(keep);
	free(tree);
	free(inner);
	free(file);
	free(link);
}

static void a_staged_directory_appears_whole_or_not_at_all(void **state)
{
	char *target = tmpdir_path(*state, "out/");
	char *path = tmpdir_path(*state, "out/file");
	struct dgi_staging staging;
	dg_error err = { 0 };
	char *file;

	assert_ok(dgi_staging_begin(target, false, &staging, &err), &err);
	file = tmpdir_path(staging.path, "file");
	assert_ok(dgi_file_replace(file, "1", 1, &err), &err);
	assert_int_equal(access(path, F_OK), -1);
	dgi_staging_abort(&staging);
	assert_int_equal(count_entries(*state), 0);
	dgi_staging_abort(&staging); /* again is fine */
	free(file);

	assert_ok(dgi_staging_begin(target, false, &staging, &err), &err);
	file = tmpdir_path(staging.path, "file");
	assert_ok(dgi_file_replace(file, "1", 1, &err), &err);
	assert_ok(dgi_staging_commit(&staging, &err), &err);
	assert_int_equal(access(path, F_OK), 0);
	assert_int_equal(count_entries(*state), 1);
	assert_null(staging.path);
	free(file);
	free(path);
	free(target);
}

static void an_existing_target_is_kept_or_replaced_as_asked(void **state)
{
	char *target = tmpdir_path(*state, "out");
	char *old = tmpdir_path(target, "old");
	struct dgi_staging staging;
	dg_error err = { 0 };

	assert_int_equal(mkdir(target, 0700), 0);
	assert_ok(dgi_file_replace(old, "1", 1, &err), &err);
	assert_fails(dgi_staging_begin(target, false, &staging, &err), DG_EXISTS, &err,
		     "exists already");
	assert_ok(dgi_staging_begin(target, true, &staging, &err), &err);
	assert_int_equal(access(old, F_OK), 0);
	assert_ok(dgi_staging_commit(&staging, &err), &err);
	assert_int_equal(access(old, F_OK), -1);
	assert_int_equal(access(target, F_OK), 0);
	assert_int_equal(count_entries(*state), 1);
	free(target);
	free(old);
}

static void a_target_that_appeared_meanwhile_is_kept(void **state)
{
	char *target = tmpdir_path(*state, "out");
	struct dgi_staging staging;
	dg_error err = { 0 };

	assert_ok(dgi_staging_begin(target, false, &staging, &err), &err);
	assert_int_equal(mkdir(target, 0700), 0);
	assert_fails(dgi_staging_commit(&staging, &err), DG_EXISTS, &err, "exists already");
	assert_int_equal(count_entries(*state), 1);
	free(target);
}

static void staging_works_where_files_are_renamed_only_plainly(void **state)
{
	plain_renames_only = 1;
	a_staged_directory_appears_whole_or_not_at_all(state);
	tmpdir_remove(*state);
	*state = tmpdir_new();
	an_existing_target_is_kept_or_replaced_as_asked(state);
	tmpdir_remove(*state);
	*state = tmpdir_new();
	a_target_that_appeared_meanwhile_is_kept(state);
	plain_renames_only = 0;
}

static void files_open_to_others_are_refused(void **state)
{
	char *path = tmpdir_path(*state, "file");
	dg_error err = { 0 };

	assert_ok(dgi_file_replace(path, "x", 1, &err), &err);
	assert_ok(dgi_ownership_check(path, &err), &err);
	assert_ok(dgi_ownership_check(*state, &err), &err);
	assert_ok(dgi_filesystem_check(*state, &err), &err);
	assert_int_equal(chmod(path, 0640), 0);
	assert_fails(dgi_ownership_check(path, &err), DG_DENIED, &err, "mode 0640");
	assert_int_equal(chmod(path, 0602), 0);
	assert_fails(dgi_ownership_check(path, &err), DG_DENIED, &err, "chmod go-rwx");
	free(path);
}

static void readers_share_a_store_and_a_writer_has_it_alone(void **state)
{
	struct dgi_lock *reader, *other, *writer;
	dg_error err = { 0 };

	assert_ok(dgi_lock_take(*state, false, &reader, &err), &err);
	assert_ok(dgi_lock_take(*state, false, &other, &err), &err);
	assert_fails(dgi_lock_take(*state, true, &writer, &err), DG_BUSY, &err,
		     "open in this process");
	dgi_lock_release(reader);
	assert_fails(dgi_lock_take(*state, true, &writer, &err), DG_BUSY, &err,
		     "open in this process");
	dgi_lock_release(other);
	assert_ok(dgi_lock_take(*state, true, &writer, &err), &err);
	assert_fails(dgi_lock_take(*state, false, &reader, &err), DG_BUSY, &err,
		     "open in this process");
	dgi_lock_release(writer);
	dgi_lock_release(NULL);
}

/* Runs @fn in a forked child; its result is the child's exit status. */
static int in_child(int (*fn)(const char *directory, const struct dgi_lock *parents),
		    const char *directory, const struct dgi_lock *parents)
{
	pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(fn(directory, parents));
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int child_may_read_only(const char *directory, const struct dgi_lock *parents)
{
	struct dgi_lock *lock;
	dg_error err = { 0 };

	if (parents && !dgi_lock_is_inherited(parents))
		return 1;
	if (dgi_lock_take(directory, true, &lock, &err) != DG_BUSY)
		return 2;
	if (!strstr(err.text, "is open in process "))
		return 3;
	if (dgi_lock_take(directory, false, &lock, &err) != DG_OK)
		return 4;
	dgi_lock_release(lock);
	return 0;
}

static int child_may_nothing(const char *directory, const struct dgi_lock *parents)
{
	struct dgi_lock *lock;
	dg_error err = { 0 };
	char pid[32];

	(void)parents;
	(void)snprintf(pid, sizeof pid, "process %ld ", (long)getppid());
	if (dgi_lock_take(directory, true, &lock, &err) != DG_BUSY)
		return 1;
	if (!strstr(err.text, pid) || !strstr(err.text, "distgraph ls"))
		return 2;
	return dgi_lock_take(directory, false, &lock, &err) == DG_BUSY ? 0 : 3;
}

static int child_may_write(const char *directory, const struct dgi_lock *parents)
{
	struct dgi_lock *lock;
	dg_error err = { 0 };

	(void)parents;
	if (dgi_lock_take(directory, true, &lock, &err) != DG_OK)
		return 1;
	dgi_lock_release(lock);
	return 0;
}

static void other_processes_are_told_who_has_the_store(void **state)
{
	struct dgi_lock *lock;
	dg_error err = { 0 };

	assert_ok(dgi_lock_take(*state, false, &lock, &err), &err);
	assert_int_equal(in_child(child_may_read_only, *state, lock), 0);
	/* The child's close of the file has not dropped our lock. */
	assert_int_equal(in_child(child_may_read_only, *state, lock), 0);
	assert_false(dgi_lock_is_inherited(lock));
	dgi_lock_release(lock);
	assert_ok(dgi_lock_take(*state, true, &lock, &err), &err);
	assert_int_equal(in_child(child_may_nothing, *state, lock), 0);
	dgi_lock_release(lock);
	assert_int_equal(in_child(child_may_write, *state, NULL), 0);
}

int main(void)
{
#define in_dir(test) cmocka_unit_test_setup_teardown(test, make_dir, remove_dir)
	const struct CMUnitTest tests[] = {
		in_dir(a_file_replaced_is_the_new_one_and_private),
		in_dir(what_is_no_file_is_not_read),
		in_dir(a_tree_is_removed_but_not_what_its_links_name),
		in_dir(a_staged_directory_appears_whole_or_not_at_all),
		in_dir(an_existing_target_is_kept_or_replaced_as_asked),
		in_dir(a_target_that_appeared_meanwhile_is_kept),
		in_dir(staging_works_where_files_are_renamed_only_plainly),
		in_dir(files_open_to_others_are_refused),
		in_dir(readers_share_a_store_and_a_writer_has_it_alone),
		in_dir(other_processes_are_told_who_has_the_store),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
