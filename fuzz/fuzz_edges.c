/* Any text, in one piece or line by line: the same edges or the same refusal, ids within bounds. */
#include "edges.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* The limit is the first byte, so that both with and without one are tried. */
static struct dgi_edge_text text_of(struct dgi_edges *edges, uint8_t limit)
{
	return (struct dgi_edge_text){ .edges = edges, .name = "fuzz", .n_nodes = limit };
}

static void check_ids(const struct dgi_edges *edges, uint8_t limit)
{
	for (int64_t i = 0; i < edges->n; i++) {
		dg_id src = dgi_edges_src(edges)[i];
		dg_id dst = dgi_edges_dst(edges)[i];

		if (src < 0 || dst < 0 || src > edges->largest || dst > edges->largest ||
		    (limit && (src >= limit || dst >= limit)))
			abort();
	}
}

static dg_status parse_by_lines(struct dgi_edge_text *text, const char *at, size_t n)
{
	dg_status st = DG_OK;

	while (!st && n > 0) {
		size_t line = (size_t)((const char *)memchr(at, '\n', n) - at) + 1;

		st = dgi_edge_text_parse(text, at, line, NULL);
		at += line;
		n -= line;
	}
	return st;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct dgi_edges whole = dgi_edges_none();
	struct dgi_edges lines = dgi_edges_none();
	struct dgi_edge_text a, b;
	char *text;
	uint8_t limit;

	if (n == 0)
		return 0;
	limit = data[0];
	text = malloc(n); /* the first byte makes room for the newline */
	if (!text)
		return 0;
	memcpy(text, data + 1, n - 1);
	text[n - 1] = '\n';
	a = text_of(&whole, limit);
	b = text_of(&lines, limit);
	if (dgi_edge_text_parse(&a, text, n, NULL) != parse_by_lines(&b, text, n))
		abort();
	if (whole.n != lines.n || a.line != b.line)
		abort();
	check_ids(&whole, limit);
	dgi_edges_clear(&whole);
	dgi_edges_clear(&lines);
	free(text);
	return 0;
}
