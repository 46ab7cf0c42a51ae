/* cluster_write.c -- the text of a cluster file. */
#include "cluster.h"

#include "buffer.h"
#include "fail.h"
#include "files.h"
#include "name.h"
#include "tensor_info.h"
#include "uuid.h"
#include "volume.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Text that grows and remembers its first failure, so that it is checked once. */
struct text {
	struct dgi_buffer buffer;
	dg_status status;
	dg_error *err;
};

static void put(struct text *t, const char *format, ...) DG_PRINTF(2, 3);

static void put(struct text *t, const char *format, ...)
{
	char piece[DGI_EDGE_TYPE_TEXT_BYTES + 64];
	va_list args;

	if (t->status)
		return;
	va_start(args, format);
	(void)vsnprintf(piece, sizeof piece, format, args);
	va_end(args);
	t->status = dgi_buffer_append(&t->buffer, piece, strlen(piece), t->err);
}

/* A JSON string; names are UTF-8 without control characters. */
static void put_string(struct text *t, const char *text)
{
	put(t, "\"");
	for (const char *c = text; *c; c++)
		put(t, *c == '"' || *c == '\\' ? "\\%c" : "%c", *c);
	put(t, "\"");
}

static void put_type(struct text *t, const dg_book *book, dg_side side, uint16_t type)
{
	char text[DGI_EDGE_TYPE_TEXT_BYTES];

	if (side == DG_EDGE) {
		dg_edge_type edge = dg_book_edge_type(book, type);

		(void)dgi_edge_type_text(&edge, text);
	} else {
		(void)dgi_name_escape(dg_book_node_type(book, type), text);
	}
	put_string(t, text);
}

static uint16_t n_types_of(const dg_book *book, dg_side side)
{
	return side == DG_NODE ? dg_book_n_node_types(book) : dg_book_n_edge_types(book);
}

static int64_t total_of(const dg_book *book, dg_side side)
{
	int64_t total = 0;

	for (uint16_t t = 0; t < n_types_of(book, side); t++)
		total += dg_book_count(book, side, t);
	return total;
}

static void put_map(struct text *t, const char *field, const dg_book *book, dg_side side)
{
	put(t, "  \"%s\": {", field);
	for (uint16_t type = 0; type < n_types_of(book, side); type++) {
		put(t, "%s\n    ", type ? "," : "");
		put_type(t, book, side, type);
		put(t, ": [");
		for (uint32_t p = 0; p < dg_book_n_parts(book); p++) {
			dg_id start, end;

			dg_book_homogeneous_range(book, side, type, p, &start, &end);
			put(t, "%s[%" PRId64 ", %" PRId64 "]", p ? ", " : "", start, end);
		}
		put(t, "]");
	}
	put(t, "\n  },\n");
}

static void put_types(struct text *t, const char *field, const dg_book *book, dg_side side)
{
	put(t, "  \"%s\": {", field);
	for (uint16_t type = 0; type < n_types_of(book, side); type++) {
		put(t, "%s", type ? ", " : "");
		put_type(t, book, side, type);
		put(t, ": %u", type);
	}
	put(t, "}");
}

static void put_parts(struct text *t, uint32_t n_parts)
{
	for (uint32_t p = 0; p < n_parts; p++)
		put(t,
		    ",\n  \"part-%" PRIu32 "\": {\"node_feats\": \"part%" PRIu32
		    "/" DGI_TENSORS_FILE "\", \"edge_feats\": \"part%" PRIu32 "/" DGI_TENSORS_FILE
		    "\", \"part_graph\": \"part%" PRIu32 "/" DGI_GRAPH_FILE "\"}",
		    p, p, p, p);
}

static void put_cluster(struct text *t, const struct dgi_cluster_spec *spec)
{
	char uuid[DG_UUID_TEXT_BYTES];

	dgi_uuid_text(&spec->cluster_uuid, uuid);
	put(t, "{\n  \"distgraph_format\": 1,\n  \"graph_name\": ");
	put_string(t, spec->graph_name);
	put(t, ",\n  \"cluster_uuid\": \"%s\",\n  \"part_method\": ", uuid);
	put_string(t, spec->part_method);
	put(t, ",\n  \"num_nodes\": %" PRId64 ",\n  \"num_edges\": %" PRId64,
	    total_of(spec->book, DG_NODE), total_of(spec->book, DG_EDGE));
	put(t, ",\n  \"num_parts\": %" PRIu32 ",\n  \"halo_hops\": %" PRIu32 ",\n",
	    dg_book_n_parts(spec->book), spec->halo_hops);
	if (dg_book_map_dtype(spec->book, DG_NODE) == DG_INT32)
		put(t, "  \"node_map_dtype\": \"int32\",\n");
	if (dg_book_map_dtype(spec->book, DG_EDGE) == DG_INT32)
		put(t, "  \"edge_map_dtype\": \"int32\",\n");
	put_map(t, "node_map", spec->book, DG_NODE);
	put_map(t, "edge_map", spec->book, DG_EDGE);
	put_types(t, "ntypes", spec->book, DG_NODE);
	put(t, ",\n");
	put_types(t, "etypes", spec->book, DG_EDGE);
	put_parts(t, dg_book_n_parts(spec->book));
	put(t, "\n}\n");
}

dg_status dgi_cluster_encode(const struct dgi_cluster_spec *spec, char **out, size_t *n,
			     dg_error *err)
{
	struct text t = { .buffer = dgi_buffer_of(DGI_CLUSTER_BYTES_MAX), .err = err };

	t.status = dgi_name_check("graph name", spec->graph_name, err);
	if (!t.status)
		t.status = dgi_name_check("partition method", spec->part_method, err);
	put_cluster(&t, spec);
	if (t.status) {
		dgi_buffer_clear(&t.buffer);
		if (t.status == DG_FULL)
			return dgi_fail(err, DG_INVALID,
					"cluster file: more than %u bytes, for %" PRIu32
					" partitions of %d node and %d edge types",
					DGI_CLUSTER_BYTES_MAX, dg_book_n_parts(spec->book),
					dg_book_n_node_types(spec->book),
					dg_book_n_edge_types(spec->book));
		return dgi_context(err, t.status, "cluster file");
	}
	*out = (char *)t.buffer.data;
	*n = t.buffer.n;
	return DG_OK;
}

dg_status dgi_cluster_write(const char *directory, const struct dgi_cluster_spec *spec,
			    dg_error *err)
{
	char path[DG_PATH_BYTES_MAX];
	char *text;
	size_t n;
	int path_bytes;
	dg_status st;

	if (strchr(spec->graph_name, '/'))
		return dgi_fail(err, DG_INVALID, "graph name '%.80s': it names a file, want no '/'",
				spec->graph_name);
	path_bytes = snprintf(path, sizeof path, "%s/%s.json", directory, spec->graph_name);
	if (path_bytes < 0 || (size_t)path_bytes >= sizeof path)
		return dgi_fail(err, DG_INVALID, "cluster file in '%.80s…': path too long",
				directory);
	st = dgi_cluster_encode(spec, &text, &n, err);
	if (st)
		return st;
	st = dgi_file_replace(path, text, n, err);
	free(text);
	return st;
}
