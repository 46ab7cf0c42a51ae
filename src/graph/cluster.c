/* cluster.c -- the cluster file opened: its fields and the folders of its partitions. */
#include "cluster.h"

#include "book.h"
#include "fail.h"
#include "files.h"

#include <stdlib.h>
#include <string.h>

/* The folder of @path, to be freed; "" stands for the working directory. */
static char *folder_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		return strdup("");
	return strndup(path, slash == path ? 1 : (size_t)(slash - path));
}

dg_status dg_cluster_open(const char *path, dg_cluster **out, dg_error *err)
{
	char *folder = folder_of(path);
	char *text = NULL;
	size_t n = 0;
	dg_status st;

	if (!folder)
		return dgi_fail_memory(err, "folder");
	st = dgi_file_read(path, DGI_CLUSTER_BYTES_MAX, &text, &n, err);
	if (!st) {
		st = dgi_cluster_decode(text, n, folder, out, err);
		if (st)
			(void)dgi_context(err, st, "cluster file '%s'", path);
	}
	free(text);
	free(folder);
	return st;
}

void dg_cluster_close(dg_cluster *cluster)
{
	if (!cluster)
		return;
	for (uint32_t p = 0; cluster->parts && p < cluster->n_parts; p++) {
		for (size_t i = 0; i < cluster->parts[p].n_addresses; i++)
			free(cluster->parts[p].addresses[i]);
		free(cluster->parts[p].addresses);
		free(cluster->parts[p].path);
	}
	free(cluster->parts);
	dgi_book_free(cluster->book);
	free(cluster->part_method);
	free(cluster->graph_name);
	free(cluster);
}

const char *dg_cluster_graph_name(const dg_cluster *cluster)
{
	return cluster->graph_name;
}

dg_uuid dg_cluster_uuid(const dg_cluster *cluster)
{
	return cluster->uuid;
}

const dg_book *dg_cluster_book(const dg_cluster *cluster)
{
	return cluster->book;
}

const char *dg_cluster_part_path(const dg_cluster *cluster, uint32_t part)
{
	return part < cluster->n_parts ? cluster->parts[part].path : NULL;
}
