/* book_codec.c -- the bytes of a partition book (docs/format.md, "book"). */
#include "book.h"

#include "bytes.h"
#include "check.h"
#include "fail.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC UINT32_C(0x4b424744) /* "DGBK" */
#define FORMAT 1
#define HEADER_BYTES 16

static void write_counts(struct dgi_writer *w, const dg_book *book, dg_side side, uint16_t n_types)
{
	for (uint16_t t = 0; t < n_types; t++)
		for (uint32_t p = 0; p < dg_book_n_parts(book); p++) {
			dg_id start, end;

			dg_book_range(book, side, t, p, &start, &end);
			dgi_write_i64(w, end - start);
		}
}

static size_t encoded_bytes(const dg_book *book)
{
	size_t n_nodes = dg_book_n_node_types(book);
	size_t n_edges = dg_book_n_edge_types(book);
	size_t n = HEADER_BYTES + 8 * dg_book_n_parts(book) * (n_nodes + n_edges);

	for (size_t t = 0; t < n_nodes; t++)
		n += 2 + strlen(dg_book_node_type(book, (uint16_t)t));
	for (size_t t = 0; t < n_edges; t++)
		n += 6 + strlen(dg_book_edge_type(book, (uint16_t)t).relation);
	return n;
}

dg_status dgi_book_encode(const dg_book *book, uint8_t **out, size_t *n, dg_error *err)
{
	uint16_t n_nodes = dg_book_n_node_types(book);
	uint16_t n_edges = dg_book_n_edge_types(book);
	size_t bytes = encoded_bytes(book);
	uint8_t *data = malloc(bytes);
	struct dgi_writer w;

	if (!data)
		return dgi_fail_memory(err, "partition book");
	w = dgi_writer_of(data, bytes);
	dgi_write_u32(&w, MAGIC);
	dgi_write_u16(&w, FORMAT);
	dgi_write_u16(&w, n_nodes);
	dgi_write_u16(&w, n_edges);
	dgi_write_u16(&w, 0);
	dgi_write_u32(&w, dg_book_n_parts(book));
	for (uint16_t t = 0; t < n_nodes; t++)
		dgi_write_string(&w, dg_book_node_type(book, t));
	for (uint16_t t = 0; t < n_edges; t++) {
		dg_edge_type type = dg_book_edge_type(book, t);

		dgi_write_u16(&w, type.src_type);
		dgi_write_u16(&w, type.dst_type);
		dgi_write_string(&w, type.relation);
	}
	write_counts(&w, book, DG_NODE, n_nodes);
	write_counts(&w, book, DG_EDGE, n_edges);
	DGI_ASSERT(!w.short_write && w.left == 0);
	*out = data;
	*n = bytes;
	return DG_OK;
}

/* What a decoder holds while it reads. */
struct parts {
	struct dgi_book_spec spec;
	char *text;		 /* all names, NUL behind each */
	const char **node_types; /* into text */
	struct dgi_edge_type_spec *edge_types;
	int64_t *counts; /* of nodes, then of edges */
};

static void parts_clear(struct parts *p)
{
	free(p->text);
	free(p->node_types);
	free(p->edge_types);
	free(p->counts);
}

static dg_status read_header(struct dgi_reader *r, struct dgi_book_spec *spec, dg_error *err)
{
	uint32_t magic = dgi_read_u32(r);
	uint16_t format = dgi_read_u16(r);
	uint16_t reserved;

	spec->n_node_types = dgi_read_u16(r);
	spec->n_edge_types = dgi_read_u16(r);
	reserved = dgi_read_u16(r);
	spec->n_parts = dgi_read_u32(r);
	if (r->short_read)
		return dgi_fail(err, DG_CORRUPT, "shorter than its header of %d bytes",
				HEADER_BYTES);
	if (magic != MAGIC)
		return dgi_fail(err, DG_CORRUPT, "magic %08" PRIx32 ", want %08" PRIx32, magic,
				MAGIC);
	if (format != FORMAT)
		return dgi_fail(err, DG_VERSION, "format %u, this program reads %d", format,
				FORMAT);
	if (reserved != 0)
		return dgi_fail(err, DG_CORRUPT, "reserved field is %u, want 0", reserved);
	if (spec->n_parts > DG_PARTS_MAX)
		return dgi_fail(err, DG_CORRUPT, "%" PRIu32 " partitions, at most %d",
				spec->n_parts, DG_PARTS_MAX);
	return DG_OK;
}

/* The next string, moved to *text, which moves on; the text never outgrows the bytes read. */
static const char *read_name(struct dgi_reader *r, char **text)
{
	char *name = *text;

	dgi_read_string(r, name, DG_NAME_BYTES_MAX + 1);
	*text += strlen(name) + 1;
	return name;
}

static dg_status read_types(struct dgi_reader *r, struct parts *p, dg_error *err)
{
	char *text = p->text;

	for (size_t t = 0; t < p->spec.n_node_types && !r->short_read; t++)
		p->node_types[t] = read_name(r, &text);
	for (size_t t = 0; t < p->spec.n_edge_types && !r->short_read; t++) {
		p->edge_types[t].src_type = dgi_read_u16(r);
		p->edge_types[t].dst_type = dgi_read_u16(r);
		p->edge_types[t].relation = read_name(r, &text);
	}
	if (r->short_read)
		return dgi_fail(err, DG_CORRUPT, "cut short in its type names");
	return DG_OK;
}

static dg_status read_body(struct dgi_reader *r, struct parts *p, dg_error *err)
{
	size_t n_nodes = p->spec.n_node_types;
	size_t n_edges = p->spec.n_edge_types;
	size_t counts_bytes = 8 * p->spec.n_parts * (n_nodes + n_edges);
	dg_status st;

	/* Everything allocated below is bounded by the bytes that are there. */
	if (r->left < counts_bytes + 2 * n_nodes + 6 * n_edges)
		return dgi_fail(err, DG_CORRUPT, "cut short: %zu bytes behind the header", r->left);
	p->text = malloc(r->left + DG_NAME_BYTES_MAX + 1);
	p->node_types = calloc(n_nodes + 1, sizeof *p->node_types);
	p->edge_types = calloc(n_edges + 1, sizeof *p->edge_types);
	p->counts = malloc(counts_bytes + 1);
	if (!p->text || !p->node_types || !p->edge_types || !p->counts)
		return dgi_fail_memory(err, "its types");
	st = read_types(r, p, err);
	if (st)
		return st;
	if (r->left != counts_bytes)
		return dgi_fail(err, DG_CORRUPT, "%zu bytes of counts, want %zu", r->left,
				counts_bytes);
	dgi_read_bytes(r, p->counts, counts_bytes);
	p->spec.node_types = p->node_types;
	p->spec.edge_types = p->edge_types;
	p->spec.node_counts = p->counts;
	p->spec.edge_counts = p->counts + p->spec.n_parts * n_nodes;
	return DG_OK;
}

dg_status dgi_book_decode(const void *data, size_t n, dg_book **out, dg_error *err)
{
	struct dgi_reader r = dgi_reader_of(data, n);
	struct parts p = { 0 };
	dg_status st = read_header(&r, &p.spec, err);

	if (!st)
		st = read_body(&r, &p, err);
	if (!st)
		st = dgi_book_new(&p.spec, out, err);
	parts_clear(&p);
	if (st == DG_INVALID)
		st = DG_CORRUPT;
	return st ? dgi_context(err, st, "partition book of %zu bytes", n) : DG_OK;
}
