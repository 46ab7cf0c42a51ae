/* plan.c -- what is to be read: the caller's words and those of a metadata.json in one form. */
#include "plan.h"

#include "fail.h"
#include "files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* One more of @size at the end of an array of @n, whose room doubles at powers of two. */
static void *add(void *array, size_t *n, size_t size, const void *element)
{
	char *items = *(void **)array;

	if ((*n & (*n - 1)) == 0) {
		items = realloc(items, (*n ? 2 * *n : 1) * size);
		if (!items)
			return NULL;
		*(void **)array = items;
	}
	return memcpy(items + (*n)++ * size, element, size);
}

static dg_status added(const void *element, dg_error *err)
{
	return element ? DG_OK : dgi_fail_memory(err, "list of files");
}

dg_status dgi_plan_add_nodes(struct dgi_plan *p, dg_input_nodes nodes, dg_error *err)
{
	return added(add(&p->nodes, &p->n_nodes, sizeof nodes, &nodes), err);
}

dg_status dgi_plan_add_edge_type(struct dgi_plan *p, struct dgi_edge_count type, dg_error *err)
{
	return added(add(&p->edge_types, &p->n_edge_types, sizeof type, &type), err);
}

dg_status dgi_plan_add_file(struct dgi_plan *p, struct dgi_edge_file file, dg_error *err)
{
	return added(add(&p->files, &p->n_files, sizeof file, &file), err);
}

dg_status dgi_plan_add_data(struct dgi_plan *p, struct dgi_data_file file, dg_error *err)
{
	return added(add(&p->data, &p->n_data, sizeof file, &file), err);
}

dg_status dgi_plan_keep(struct dgi_plan *p, const char *directory, const char *text,
			const char **out, dg_error *err)
{
	size_t n = strlen(text) + (directory ? strlen(directory) + 1 : 0) + 1;
	char *kept = malloc(n);

	if (!kept || !add(&p->strings, &p->n_strings, sizeof kept, &kept)) {
		free(kept);
		return dgi_fail_memory(err, "list of files");
	}
	if (directory && text[0] != '/')
		(void)snprintf(kept, n, "%s/%s", directory, text);
	else
		(void)snprintf(kept, n, "%s", text);
	*out = kept;
	return DG_OK;
}

void dgi_plan_clear(struct dgi_plan *p)
{
	for (size_t i = 0; i < p->n_strings; i++)
		free(p->strings[i]);
	free(p->strings);
	free(p->nodes);
	free(p->edge_types);
	free(p->files);
	free(p->data);
	*p = (struct dgi_plan){ 0 };
}

/* --- Chunked graphs --- */

static bool is_directory(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool is_chunked(const dg_graph_input *input, const char *path)
{
	size_t n = strlen(path);

	if (input->format != DG_INPUT_AUTO)
		return input->format == DG_INPUT_CHUNKED;
	return (n > 5 && strcmp(path + n - 5, ".json") == 0) || is_directory(path);
}

/* @path is the directory or the metadata.json in it. */
static dg_status add_chunked(struct dgi_plan *p, const char *path, dg_error *err)
{
	const char *file = path;
	const char *directory = path;
	char *text;
	size_t n;
	dg_status st = DG_OK;

	if (is_directory(path)) {
		st = dgi_plan_keep(p, path, "metadata.json", &file, err);
	} else {
		const char *slash = strrchr(path, '/');

		st = dgi_plan_keep(p, NULL, slash ? path : ".", &directory, err);
		if (!st && slash)
			p->strings[p->n_strings - 1][slash == path ? 1 : slash - path] = '\0';
	}
	if (!st)
		st = dgi_file_read(file, DGI_METADATA_BYTES_MAX, &text, &n, err);
	if (st)
		return st;
	st = dgi_metadata_decode(text, n, directory, p, err);
	free(text);
	return st ? dgi_context(err, st, "'%s'", file) : DG_OK;
}

/* --- The caller's words --- */

static dg_status add_edge_file(struct dgi_plan *p, const dg_graph_input *input,
			       const dg_input_edges *edges, dg_error *err)
{
	struct dgi_edge_file file = { .path = edges->path,
				      .type = edges->type,
				      .format = input->format,
				      .delimiter = input->delimiter,
				      .header = input->header,
				      .columns = input->columns,
				      .n = -1 };
	dg_status st = DG_OK;

	if (!edges->path || !*edges->path)
		return dgi_fail(err, DG_INVALID, "a file of edges without a path");
	if (is_chunked(input, edges->path)) {
		if (edges->type || input->n_edges > 1)
			return dgi_fail(err, DG_INVALID,
					"'%s': a chunked graph has its types within, and comes "
					"alone",
					edges->path);
		return add_chunked(p, edges->path, err);
	}
	if (edges->type && !dgi_edge_file_is_triples(&file))
		st = dgi_plan_add_edge_type(p, (struct dgi_edge_count){ edges->type, -1 }, err);
	return st ? st : dgi_plan_add_file(p, file, err);
}

static dg_status add_data(struct dgi_plan *p, const dg_graph_input *input, dg_side side,
			  const dg_input_data *data, size_t n, dg_error *err)
{
	dg_status st = DG_OK;

	for (size_t i = 0; !st && i < n; i++)
		st = dgi_plan_add_data(p,
				       (struct dgi_data_file){ .side = side,
							       .type = data[i].type,
							       .name = data[i].name,
							       .path = data[i].path,
							       .column = data[i].column,
							       .text = data[i].column != NULL,
							       .delimiter = input->delimiter,
							       .header = input->header,
							       .dtype = data[i].dtype,
							       .bfloat16 = data[i].bfloat16 != 0 },
				       err);
	return st;
}

dg_status dgi_plan_make(const dg_graph_input *input, struct dgi_plan *out, dg_error *err)
{
	struct dgi_plan plan = { 0 };
	dg_status st = DG_OK;

	if (input->n_edges == 0)
		return dgi_fail(err, DG_INVALID, "no edge file given");
	for (size_t i = 0; !st && i < input->n_nodes; i++)
		st = dgi_plan_add_nodes(&plan, input->nodes[i], err);
	for (size_t i = 0; !st && i < input->n_edges; i++)
		st = add_edge_file(&plan, input, &input->edges[i], err);
	if (!st)
		st = add_data(&plan, input, DG_NODE, input->node_data, input->n_node_data, err);
	if (!st)
		st = add_data(&plan, input, DG_EDGE, input->edge_data, input->n_edge_data, err);
	if (st) {
		dgi_plan_clear(&plan);
		return st;
	}
	*out = plan;
	return DG_OK;
}
