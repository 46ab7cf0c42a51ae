/* import_fixture.c -- files made for the importer, and what it made of them as text. */
#include "import_fixture.h"

#include "tmpdir.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <zlib.h>

void import_set_up(struct import_fixture *f)
{
	*f = (struct import_fixture){ .dir = tmpdir_new() };
	f->work = tmpdir_path(f->dir, "work");
	assert_int_equal(mkdir(f->work, 0700), 0);
	import_again(f);
}

void import_again(struct import_fixture *f)
{
	dgi_source_clear(&f->source);
	f->input = (dg_graph_input){ .edges = f->edges,
				     .nodes = f->nodes,
				     .node_data = f->data[DG_NODE],
				     .edge_data = f->data[DG_EDGE] };
}

void import_tear_down(struct import_fixture *f)
{
	dgi_source_clear(&f->source);
	for (size_t i = 0; i < f->n_kept; i++)
		free(f->kept[i]);
	free(f->work);
	tmpdir_remove(f->dir);
}

static const char *keep_path(struct import_fixture *f, const char *name)
{
	assert_true(f->n_kept < sizeof f->kept / sizeof f->kept[0]);
	return f->kept[f->n_kept++] = tmpdir_path(f->dir, name);
}

const char *import_file(struct import_fixture *f, const char *name, const char *text)
{
	const char *path = keep_path(f, name);
	size_t n = strlen(name);
	gzFile file = gzopen(path, n > 3 && strcmp(name + n - 3, ".gz") == 0 ? "wb1" : "wbT");

	assert_non_null(file);
	assert_int_equal(gzfwrite(text, 1, strlen(text), file), strlen(text));
	assert_int_equal(gzclose(file), Z_OK);
	return path;
}

const char *import_npy(struct import_fixture *f, const char *name, dg_dtype dtype, uint32_t rank,
		       const int64_t *shape, const void *data)
{
	const char *path = keep_path(f, name);
	size_t bytes = dg_dtype_bytes(dtype);
	dg_array_writer *w;

	for (uint32_t i = 0; i < rank; i++)
		bytes *= (size_t)shape[i];
	assert_ok(dg_array_writer_open(path, dtype, rank, shape, &w, &f->err), &f->err);
	assert_ok(dg_array_writer_append(w, data, bytes, &f->err), &f->err);
	assert_ok(dg_array_writer_close(w, 1, &f->err), &f->err);
	return path;
}

void import_add_edges(struct import_fixture *f, const char *type, const char *path)
{
	assert_true(f->input.n_edges < EDGES_MAX);
	f->edges[f->input.n_edges++] = (dg_input_edges){ .type = type, .path = path };
}

dg_input_nodes *import_add_nodes(struct import_fixture *f, const char *type, int64_t n,
				 const char *path)
{
	assert_true(f->input.n_nodes < NODES_MAX);
	f->nodes[f->input.n_nodes] = (dg_input_nodes){ .type = type, .count = n, .path = path };
	return &f->nodes[f->input.n_nodes++];
}

dg_input_data *import_add_data(struct import_fixture *f, dg_side side, const char *type,
			       const char *name, const char *path)
{
	size_t *n = side == DG_NODE ? &f->input.n_node_data : &f->input.n_edge_data;

	f->data[side][*n] = (dg_input_data){ .type = type, .name = name, .path = path };
	return &f->data[side][(*n)++];
}

dg_status import_run(struct import_fixture *f)
{
	dgi_source_clear(&f->source);
	return dgi_import(&f->input, f->work, &f->source, NULL, &f->err);
}

/* --- As text --- */

static void say(struct import_fixture *f, const char *format, ...)
{
	size_t n = strlen(f->text);
	va_list args;

	va_start(args, format);
	(void)vsnprintf(f->text + n, sizeof f->text - n, format, args);
	va_end(args);
}

static void say_ids(struct import_fixture *f, const struct dgi_source_nodes *t)
{
	FILE *file = fopen(t->ids_path, "rb");
	uint64_t ends[64];
	char bytes[1024];

	assert_non_null(file);
	assert_true(t->n < 63);
	if (t->ids == DGI_IDS_INTEGERS)
		assert_int_equal(fread(ends, 8, (size_t)t->n, file), t->n);
	else {
		assert_int_equal(fread(ends, 8, (size_t)t->n + 1, file), t->n + 1);
		assert_int_equal(fread(bytes, 1, sizeof bytes, file), ends[t->n]);
	}
	for (int64_t i = 0; i < t->n; i++)
		if (t->ids == DGI_IDS_INTEGERS)
			say(f, "%s%" PRId64, i ? " " : "[", (int64_t)ends[i]);
		else
			say(f, "%s%.*s", i ? " " : "[", (int)(ends[i + 1] - ends[i]),
			    bytes + ends[i]);
	say(f, "]");
	(void)fclose(file);
}

static void say_edges(struct import_fixture *f, uint16_t type)
{
	struct dgi_edge_reader *reader;
	const dg_id *src, *dst;
	size_t n;

	assert_ok(dgi_edge_reader_open(&f->source, type, 0, &reader, &f->err), &f->err);
	do {
		assert_ok(dgi_edge_reader_next(reader, &src, &dst, &n, &f->err), &f->err);
		for (size_t i = 0; i < n; i++)
			say(f, " %" PRId64 ">%" PRId64, src[i], dst[i]);
	} while (n > 0);
	dgi_edge_reader_close(reader);
}

const char *import_text(struct import_fixture *f)
{
	f->text[0] = '\0';
	for (uint16_t i = 0; i < f->source.n_node_types; i++) {
		const struct dgi_source_nodes *t = &f->source.nodes[i];

		say(f, "%s%s=%" PRId64, i ? " " : "", t->name, t->n);
		if (t->ids != DGI_IDS_ARE_NUMBERS)
			say_ids(f, t);
	}
	for (uint16_t i = 0; i < f->source.n_edge_types; i++) {
		char type[DGI_EDGE_TYPE_TEXT_BYTES];

		dgi_source_edge_type_text(&f->source, i, type);
		say(f, " | %s", type);
		say_edges(f, i);
	}
	return f->text;
}

void import_gives(struct import_fixture *f, const char *wanted)
{
	assert_ok(import_run(f), &f->err);
	assert_string_equal(import_text(f), wanted);
}

void import_refuses(struct import_fixture *f, dg_status status, const char *part)
{
	assert_fails(import_run(f), status, &f->err, part);
}
