/* partition_output.c -- the directory dg_partition() writes: its names, what may be replaced. */
#include "partition_output.h"

#include "fail.h"
#include "tensor_info.h"

#include <distgraph/cluster.h>

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The last component of @path without slashes behind it; *n bytes. */
static const char *last_component(const char *path, size_t *n)
{
	size_t end = strlen(path);
	size_t start;

	while (end > 0 && path[end - 1] == '/')
		end--;
	start = end;
	while (start > 0 && path[start - 1] != '/')
		start--;
	*n = end - start;
	return path + start;
}

static bool is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static dg_status check_graph_name(const char *name, dg_error *err)
{
	dg_status st = dgi_name_check("graph name", name, err);

	if (st)
		return st;
	if (strchr(name, '/') || is_dots(name))
		return dgi_fail(err, DG_INVALID,
				"graph name '%.80s': want one that can name the file <name>.json",
				name);
	return DG_OK;
}

dg_status dgi_output_names(const dg_partition_options *options, char name[DG_NAME_BYTES_MAX + 1],
			   char path[DG_PATH_BYTES_MAX], dg_error *err)
{
	const char *from = options->graph_name;
	size_t n;
	const char *last = last_component(options->output, &n);
	dg_status st;

	if (n == 0 || (n == 1 && last[0] == '.') || (n == 2 && memcmp(last, "..", 2) == 0))
		return dgi_fail(err, DG_INVALID, "output '%s': want the name of a new directory",
				options->output);
	if (from)
		n = strlen(from);
	else
		from = last;
	if (n > DG_NAME_BYTES_MAX)
		return dgi_fail(err, DG_INVALID, "graph name of %zu bytes, at most %d", n,
				DG_NAME_BYTES_MAX);
	memcpy(name, from, n);
	name[n] = '\0';
	st = check_graph_name(name, err);
	if (st)
		return st;
	if (snprintf(path, DG_PATH_BYTES_MAX, "%.*s/%s.json",
		     (int)(last - options->output + (ptrdiff_t)strcspn(last, "/")), options->output,
		     name) >= DG_PATH_BYTES_MAX)
		return dgi_fail(err, DG_INVALID, "output '%.80s…': path too long", options->output);
	return DG_OK;
}

/* --- What is there already --- */

static bool is_part(const char *name)
{
	if (strncmp(name, "part", 4) != 0 || name[4] == '\0')
		return false;
	return name[4 + strspn(name + 4, "0123456789")] == '\0';
}

static bool is_cluster_file(const char *name)
{
	size_t n = strlen(name);

	return n > 5 && strcmp(name + n - 5, ".json") == 0;
}

static dg_status check_not_served(const char *output, const char *part, dg_error *err)
{
	dg_server_record record;
	char *path;
	dg_status st;

	if (asprintf(&path, "%s/%s", output, part) < 0)
		return dgi_fail_memory(err, output);
	st = dg_server_record_read(path, &record, NULL);
	if (st == DG_OK)
		st = dgi_fail(err, DG_BUSY, "'%s' is served by process %" PRId64 ": stop it first",
			      path, record.pid);
	else
		st = DG_OK; /* nobody does, as far as can be known */
	free(path);
	return st;
}

static dg_status check_entry(const char *output, const char *name, dg_error *err)
{
	if (is_dots(name) || is_cluster_file(name))
		return DG_OK;
	if (is_part(name))
		return check_not_served(output, name, err);
	return dgi_fail(err, DG_EXISTS,
			"'%s' exists and is not only a partitioned graph, for it has '%.80s': "
			"not replaced",
			output, name);
}

dg_status dgi_output_check_replace(const char *output, dg_error *err)
{
	DIR *dir = opendir(output);
	struct dirent *entry;
	dg_status st = DG_OK;

	if (!dir && errno == ENOENT)
		return DG_OK;
	if (!dir && errno == ENOTDIR)
		return dgi_fail(err, DG_EXISTS, "'%s' exists and is no directory: not replaced",
				output);
	if (!dir)
		return dgi_fail_errno(err, errno, "open directory '%s'", output);
	while (!st && (entry = readdir(dir)))
		st = check_entry(output, entry->d_name, err);
	(void)closedir(dir);
	return st;
}
