/*
 * edge_text.c -- lines of text to edges.
 *
 * The common line, two plain numbers and nothing else, is read in one sweep over its bytes;
 * whatever else a line may be is looked at only when that fails.
 */
#include "edges.h"

#include "fail.h"

#include <inttypes.h>
#include <string.h>

#define SHOWN_BYTES 24 /* of what was found */

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* The newline is the guard of every loop below: all of them stop at it. */
static const char *skip_blanks(const char *at)
{
	while (is_blank(*at))
		at++;
	return at;
}

static bool is_line_end(const char *at)
{
	return *at == '\n' || (*at == '\r' && at[1] == '\n');
}

static dg_status bad_field(const struct dgi_edge_text *text, const char *at, const char *wanted,
			   dg_error *err)
{
	int n = 0;

	while (n < SHOWN_BYTES && !is_line_end(at + n))
		n++;
	if (n == 0)
		return dgi_fail(err, DG_INVALID, "%s:%" PRIu64 ": found the line's end, want %s",
				text->name, text->line, wanted);
	return dgi_fail(err, DG_INVALID, "%s:%" PRIu64 ": found '%.*s', want %s", text->name,
			text->line, n, at, wanted);
}

static dg_status bad_id(const struct dgi_edge_text *text, const char *at, const char *wanted,
			dg_error *err)
{
	int n = *at == '-';

	while (n < SHOWN_BYTES && is_digit(at[n]))
		n++;
	return dgi_fail(err, DG_RANGE, "%s:%" PRIu64 ": node id %.*s%s", text->name, text->line, n,
			at, wanted);
}

/* A node id, which ends at something else than a digit. */
static dg_status parse_id(const struct dgi_edge_text *text, const char **at, dg_id *out,
			  dg_error *err)
{
	const char *start = *at;
	const char *c = start;
	int64_t id = 0;

	if (*c == '-' && is_digit(c[1]))
		return bad_id(text, start, " is negative", err);
	while (is_digit(*c)) {
		if (__builtin_mul_overflow(id, 10, &id) ||
		    __builtin_add_overflow(id, *c - '0', &id))
			return bad_id(text, start, "… is above 2^63 - 2", err);
		c++;
	}
	if (c == start)
		return bad_field(text, start, "a node id", err);
	if (text->n_nodes > 0 && id >= text->n_nodes)
		return dgi_fail(err, DG_RANGE,
				"%s:%" PRIu64 ": node id %" PRId64 ", want less than %" PRId64
				", the number of nodes",
				text->name, text->line, id, text->n_nodes);
	if (id == INT64_MAX) /* the number of nodes would not fit */
		return bad_id(text, start, " is above 2^63 - 2", err);
	*at = c;
	*out = id;
	return DG_OK;
}

/* Past a separator, if there is one at @at and something behind it that it separates. */
static bool take_separator(const struct dgi_edge_text *text, const char **at)
{
	const char *c = skip_blanks(*at);

	if (text->separator == ' ') {
		if (c == *at || is_line_end(c))
			return false; /* blanks at the end separate nothing */
	} else {
		if (*c != text->separator)
			return false;
		c = skip_blanks(c + 1);
	}
	*at = c;
	return true;
}

static bool find_separator(struct dgi_edge_text *text, const char *at)
{
	const char *c = skip_blanks(at);

	if (*c == ',' || *c == ';')
		text->separator = *c;
	else if (c > at && !is_line_end(c))
		text->separator = ' ';
	else
		return false;
	return true;
}

/* Counts the columns behind the first two; *at comes to the line's end. */
static uint64_t skip_columns(const struct dgi_edge_text *text, const char **at)
{
	uint64_t n = 0;

	while (!is_line_end(*at)) {
		if (take_separator(text, at))
			n++;
		else
			++*at;
	}
	return n;
}

static dg_status append(struct dgi_edges *edges, dg_id src, dg_id dst, dg_error *err)
{
	dg_status st = dgi_buffer_append(&edges->src, &src, sizeof src, err);

	if (!st)
		st = dgi_buffer_append(&edges->dst, &dst, sizeof dst, err);
	if (st)
		return st;
	edges->n++;
	if (src > edges->largest)
		edges->largest = src;
	if (dst > edges->largest)
		edges->largest = dst;
	return DG_OK;
}

/* A line with an edge on it, from its first byte that is no blank to its end. */
static dg_status parse_edge(struct dgi_edge_text *text, const char *at, dg_error *err)
{
	uint64_t n_columns;
	dg_id src;
	dg_id dst;
	dg_status st = parse_id(text, &at, &src, err);

	if (st)
		return st;
	if (text->n_columns == 0 && !find_separator(text, at))
		return bad_field(text, at, "a comma, semicolon or blank and a node id", err);
	if (!take_separator(text, &at))
		return bad_field(text, at,
				 text->separator == ' '	  ? "a blank and a node id"
				 : text->separator == ',' ? "a comma and a node id"
							  : "a semicolon and a node id",
				 err);
	st = parse_id(text, &at, &dst, err);
	if (st)
		return st;
	if (!is_line_end(at) && !is_blank(*at) && *at != text->separator)
		return bad_field(text, at, "the end of a node id", err);
	n_columns = 2 + skip_columns(text, &at);
	if (text->n_columns == 0)
		text->n_columns = n_columns;
	if (n_columns != text->n_columns)
		return dgi_fail(err, DG_INVALID,
				"%s:%" PRIu64 ": %" PRIu64 " columns, want %" PRIu64
				" as in the lines before",
				text->name, text->line, n_columns, text->n_columns);
	return append(text->edges, src, dst, err);
}

/* Any line. It may be empty, a comment, a header or an edge. */
static dg_status parse_line(struct dgi_edge_text *text, const char *at, dg_error *err)
{
	static const char byte_order_mark[] = { (char)0xef, (char)0xbb, (char)0xbf };
	bool first;

	if (text->line == 1 && strncmp(at, byte_order_mark, sizeof byte_order_mark) == 0)
		at += sizeof byte_order_mark;
	at = skip_blanks(at);
	if (is_line_end(at) || *at == '#' || *at == '%')
		return DG_OK;
	first = !text->begun;
	text->begun = true;
	if (first && !is_digit(*at) && *at != '-' && *at != '+')
		return DG_OK; /* a header */
	return parse_edge(text, at, err);
}

/* Digits that cannot overflow, else NULL. */
static inline const char *plain_number(const char *at, dg_id *out)
{
	const char *start = at;
	uint64_t id = 0;

	while (is_digit(*at))
		id = id * 10 + (uint64_t)(*at++ - '0');
	if (at == start || at - start > 18)
		return NULL;
	*out = (dg_id)id;
	return at;
}

/* "number separator number line-end" once two columns are known: true, and the edge is taken. */
static inline bool plain_line(const struct dgi_edge_text *text, const char **at, dg_id *src,
			      dg_id *dst)
{
	const char *c = plain_number(*at, src);

	if (!c || (*c != text->separator && !(text->separator == ' ' && *c == '\t')))
		return false;
	c = plain_number(c + 1, dst);
	if (c && *c == '\r')
		c++;
	if (!c || *c != '\n' ||
	    (text->n_nodes > 0 && (*src >= text->n_nodes || *dst >= text->n_nodes)))
		return false;
	*at = c + 1;
	return true;
}

/* As many plain lines as there are, straight into the arrays. */
static dg_status parse_plain_lines(struct dgi_edge_text *text, const char **at, const char *end,
				   dg_error *err)
{
	struct dgi_edges *edges = text->edges;
	/* A line of two columns has at least four bytes. */
	const size_t room = ((size_t)(end - *at) / 4 + 1) * sizeof(dg_id);
	dg_id *src;
	dg_id *dst;
	dg_id largest = edges->largest;
	size_t n = 0;
	dg_status st = dgi_buffer_reserve(&edges->src, room, err);

	if (!st)
		st = dgi_buffer_reserve(&edges->dst, room, err);
	if (st)
		return st;
	src = (dg_id *)(void *)(edges->src.data + edges->src.n);
	dst = (dg_id *)(void *)(edges->dst.data + edges->dst.n);
	for (; *at < end && plain_line(text, at, &src[n], &dst[n]); n++) {
		largest = src[n] > largest ? src[n] : largest;
		largest = dst[n] > largest ? dst[n] : largest;
	}
	edges->largest = largest;
	edges->src.n += n * sizeof(dg_id);
	edges->dst.n += n * sizeof(dg_id);
	edges->n += (int64_t)n;
	text->line += n;
	return DG_OK;
}

dg_status dgi_edge_text_parse(struct dgi_edge_text *text, const char *data, size_t n, dg_error *err)
{
	const char *at = data;
	const char *end = data + n;
	dg_status st = DG_OK;

	while (!st && at < end) {
		if (text->n_columns == 2)
			st = parse_plain_lines(text, &at, end, err);
		if (st || at == end)
			break;
		text->line++;
		st = parse_line(text, at, err);
		at = (const char *)memchr(at, '\n', (size_t)(end - at)) + 1;
	}
	return st;
}
