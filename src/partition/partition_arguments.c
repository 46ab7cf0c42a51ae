/* partition_arguments.c -- all that the result of dg_partition() depends on, as a text. */
#include "partition_arguments.h"

#include "fail.h"

#include <distgraph/version.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void write_file(FILE *out, const char *what, const char *path)
{
	char *absolute = realpath(path, NULL);
	struct stat info = { 0 };

	(void)stat(path, &info);
	fprintf(out, "%s %s: %jd bytes, inode %ju, %jd.%09ld\n", what, absolute ? absolute : path,
		(intmax_t)info.st_size, (uintmax_t)info.st_ino, (intmax_t)info.st_mtim.tv_sec,
		info.st_mtim.tv_nsec);
	free(absolute);
}

static const char *or_nothing(const char *text)
{
	return text ? text : "";
}

static void write_data(FILE *out, const char *what, const dg_input_data *data, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		fprintf(out, "%s %s/%s column '%s' dtype %d%s\n", what, or_nothing(data[i].type),
			data[i].name, or_nothing(data[i].column), (int)data[i].dtype,
			data[i].bfloat16 ? " bfloat16" : "");
		write_file(out, "in", data[i].path);
	}
}

/* Of a chunked graph only the description is looked at. */
static void write_input(FILE *out, const dg_graph_input *input)
{
	fprintf(out, "format %d ids %d delimiter %d header %d columns '%s'\n", (int)input->format,
		(int)input->ids, input->delimiter, input->header, or_nothing(input->columns));
	if (input->relations)
		write_file(out, "relations", input->relations);
	for (size_t i = 0; i < input->n_nodes; i++) {
		const dg_input_nodes *nodes = &input->nodes[i];

		fprintf(out, "nodes '%s' %" PRId64 " ids %d column '%s'\n", or_nothing(nodes->type),
			nodes->count, (int)nodes->ids, or_nothing(nodes->column));
		if (nodes->path)
			write_file(out, "in", nodes->path);
	}
	for (size_t i = 0; i < input->n_edges; i++) {
		fprintf(out, "type '%s' ", or_nothing(input->edges[i].type));
		write_file(out, "edges", input->edges[i].path);
	}
	write_data(out, "node data", input->node_data, input->n_node_data);
	write_data(out, "edge data", input->edge_data, input->n_edge_data);
}

/* A method that is "FILE" or "TYPE=FILE,…" depends on the files. */
static dg_status write_method(FILE *out, const char *method, dg_error *err)
{
	char *copy = strdup(method ? method : "");
	char *rest = copy;
	char *item;

	if (!copy)
		return dgi_fail_memory(err, "arguments");
	fprintf(out, "method %s\n", copy);
	while ((item = strsep(&rest, ","))) {
		const char *file = strchr(item, '=');

		write_file(out, "by", file ? file + 1 : item);
	}
	free(copy);
	return DG_OK;
}

dg_status dgi_partition_arguments(const dg_partition_options *options, char **out, dg_error *err)
{
	char *text = NULL;
	size_t n;
	FILE *f = open_memstream(&text, &n);
	int failed;
	dg_status st;

	if (!f)
		return dgi_fail_memory(err, "arguments");
	fprintf(f, "distgraph %s\nparts %" PRIu32 "\ntrainers %" PRIu32 "\nhalo %" PRIu32 "\n",
		DG_VERSION_TEXT, options->n_parts, options->n_trainers, options->halo_hops);
	fprintf(f, "name %s\nseed %" PRIu64 "\n", or_nothing(options->graph_name), options->seed);
	st = write_method(f, options->method, err);
	fprintf(f, "balance types %d edges %d, volume %d\n", options->balance_types != 0,
		options->balance_edges != 0, options->volume != 0);
	write_input(f, &options->input);
	failed = ferror(f);
	if (fclose(f) != 0 || failed)
		st = dgi_fail_memory(err, "arguments");
	if (st) {
		free(text);
		return st;
	}
	*out = text;
	return DG_OK;
}
