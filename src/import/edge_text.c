/*
 * edge_text.c -- edges and triples from lines of text.
 *
 * The common line, two plain numbers in front, is read in one sweep over its bytes; whatever else a
 * line may be is looked at only when that fails.
 */
#include "edge_files.h"

#include "check.h"
#include "fail.h"
#include "fields.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { SRC, DST, RELATION, WANTED_MAX };

struct reader {
	struct dgi_gather *g;
	const struct dgi_edge_file *file;
	const struct dgi_edge_rules *rules;
	struct dgi_lines *lines;
	struct dgi_cutter cutter;
	bool begun;	  /* the first line that is no comment has been seen */
	bool header_left; /* it is still to be skipped */
	bool settled;	  /* a row has told how nodes are named */
	bool triples;
	bool relation_is_number;
	bool plain; /* two numbers in the first two columns */
	size_t n_columns;
	size_t column[WANTED_MAX];
	uint16_t src_type, dst_type;
	uint16_t type; /* but for triples */
	dg_id *src, *dst;
	size_t n; /* held in these, at most DGI_EDGE_BATCH */
};

/* --- What the first lines tell --- */

static const char *next_line(const char *at, const char *end)
{
	return (const char *)memchr(at, '\n', (size_t)(end - at)) + 1;
}

/* The first line from @at that is no comment; NULL: none before @end. */
static const char *data_line(const char *at, const char *end)
{
	while (at < end && dgi_line_is_comment(at))
		at = next_line(at, end);
	return at < end ? at : NULL;
}

/* Is this what people call the first column of edges or triples? */
static bool is_header_name(struct dgi_field f)
{
	static const char *const names[] = { "src",	"source",   "from",	 "head",
					     "subject", "src_id",   "source_id", "from_id",
					     "head_id", "srcid",    "sourceid",	 "fromnodeid",
					     "~from",	"u",	    "h",	 "node1",
					     "id1",	":start_id" };

	for (size_t i = 0; i < DGI_COUNT_OF(names); i++)
		if (strlen(names[i]) == f.n && strncasecmp(names[i], f.at, f.n) == 0)
			return true;
	return false;
}

static bool first_is_number(const struct dgi_cutter *c)
{
	return c->n > 0 && dgi_field_is_number(c->fields[0]);
}

/* A first line without a number in front is a header if it has a usual name or a number is below. */
static dg_status find_header(struct reader *r, const char *first, const char *second, dg_error *err)
{
	dg_status st = dgi_cutter_cut(&r->cutter, first, err);

	r->header_left = r->file->header > 0;
	if (st || r->file->header)
		return st;
	r->header_left = r->cutter.n > 0 && is_header_name(r->cutter.fields[0]);
	if (r->header_left || !second || first_is_number(&r->cutter))
		return DG_OK;
	if (!dgi_cutter_cut(&r->cutter, second, NULL))
		r->header_left = first_is_number(&r->cutter);
	return dgi_cutter_cut(&r->cutter, first, err);
}

/* Three columns parted by tabs with a name in the middle are triples, if nothing says otherwise. */
static bool looks_like_triples(const struct reader *r)
{
	static const char *const names[] = { "head", "subject", "h" };
	const struct dgi_cutter *c = &r->cutter;

	if (c->n != 3 || r->file->columns)
		return false;
	for (size_t i = 0; r->header_left && i < DGI_COUNT_OF(names); i++)
		if (c->fields[0].n == strlen(names[i]) &&
		    strncasecmp(names[i], c->fields[0].at, c->fields[0].n) == 0)
			return true;
	return !r->header_left && c->separator == '\t' && !dgi_field_is_number(c->fields[1]);
}

static bool is_triples(const struct reader *r)
{
	if (r->file->format == DG_INPUT_TRIPLES || dgi_edge_file_is_triples(r->file))
		return true;
	return r->file->format == DG_INPUT_AUTO && !r->file->type && looks_like_triples(r);
}

/* The cutter holds the first line. */
static dg_status find_columns(struct reader *r, dg_error *err)
{
	static const size_t edge[] = { [SRC] = 0, [DST] = 1, [RELATION] = 0 };
	static const size_t triple[] = { [SRC] = 0, [RELATION] = 1, [DST] = 2 };
	const size_t wanted = r->triples ? 3 : 2;
	const char *at = r->file->columns;
	size_t i = 0;

	memcpy(r->column, r->triples ? triple : edge, sizeof r->column);
	while (at && i < wanted) {
		size_t n = strcspn(at, ",");
		/* In their order: source, destination; or head, relation, tail. */
		size_t place = !r->triples ? i : i == 0 ? SRC : i == 1 ? RELATION : DST;
		dg_status st =
			dgi_column_find(at, n, &r->cutter, r->header_left, &r->column[place], err);

		if (st)
			return st;
		i++;
		at = at[n] ? at + n + 1 : NULL;
	}
	if (r->file->columns && (at || i != wanted))
		return dgi_fail(err, DG_INVALID, "columns '%.80s', want %zu, parted by commas",
				r->file->columns, wanted);
	return DG_OK;
}

/* Whoever lists ids means to use them. */
static dg_input_ids found_ids(const struct dgi_gather_nodes *nodes, bool numbers)
{
	if (nodes->listed != DG_INPUT_IDS_AUTO)
		return nodes->listed;
	return numbers ? DG_INPUT_IDS_NUMBERS : DG_INPUT_IDS_STRINGS;
}

/* The row in the cutter tells how nodes are named where nobody said. */
static dg_status settle(struct reader *r, dg_error *err)
{
	struct dgi_gather_nodes *src = &r->g->nodes[r->src_type];
	struct dgi_gather_nodes *dst = &r->g->nodes[r->dst_type];
	bool s = true, d = true;
	dg_status st;

	if (r->cutter.n > r->column[SRC])
		s = dgi_field_is_number(r->cutter.fields[r->column[SRC]]);
	if (r->cutter.n > r->column[DST])
		d = dgi_field_is_number(r->cutter.fields[r->column[DST]]);
	if (src == dst)
		s = d = s && d;
	if (r->triples && r->cutter.n > r->column[RELATION]) {
		r->relation_is_number = dgi_field_is_number(r->cutter.fields[r->column[RELATION]]);
		/* Entities beside named relations are names, even where they look like numbers. */
		s &= r->relation_is_number;
		d &= r->relation_is_number;
	}
	st = dgi_settle_ids(src, r->rules->ids, found_ids(src, s), err);
	if (!st)
		st = dgi_settle_ids(dst, r->rules->ids, found_ids(dst, d), err);
	r->settled = true;
	r->plain = !r->triples && r->column[SRC] == 0 && r->column[DST] == 1 &&
		   src->ids == DG_INPUT_IDS_NUMBERS && dst->ids == DG_INPUT_IDS_NUMBERS;
	return st;
}

static dg_status find_types(struct reader *r, dg_error *err)
{
	dg_status st = dgi_edge_file_ends(r->g, r->file, &r->src_type, &r->dst_type, err);

	if (!st && !r->triples)
		st = dgi_edge_file_type(r->g, r->file, &r->type, err);
	return st;
}

/* Looks at the first lines of a file, of which the block @at has the first that is no comment. */
static dg_status begin(struct reader *r, const char *at, const char *end, dg_error *err)
{
	const char *first = data_line(dgi_skip_mark(at, r->lines->line + 1), end);
	const char *second;
	char separator;
	bool row = true; /* is there a row to look at? */
	dg_status st;

	if (!first)
		return DG_OK;
	second = data_line(next_line(first, end), end);
	r->begun = true;
	separator = r->file->delimiter ? r->file->delimiter : dgi_separator_find(first);
	st = dgi_cutter_begin(separator, &r->cutter, err);
	if (!st)
		st = find_header(r, first, second, err);
	if (st)
		return st;
	r->triples = is_triples(r);
	st = find_columns(r, err);
	if (!st)
		st = find_types(r, err);
	if (st)
		return st;
	if (r->header_left) /* what is wrong with the line below is told in its turn */
		row = second && !dgi_cutter_cut(&r->cutter, second, NULL);
	r->n_columns = row ? r->cutter.n : 0;
	return row ? settle(r, err) : DG_OK;
}

/* --- Any line --- */

static dg_status flush(struct reader *r, dg_error *err)
{
	dg_status st = DG_OK;

	if (r->n > 0)
		st = dgi_gather_append(r->g, r->type, r->src, r->dst, r->n, err);
	r->n = 0;
	return st;
}

static dg_status node(struct dgi_gather_nodes *nodes, struct dgi_field f, dg_id *out, dg_error *err)
{
	int64_t id;
	dg_status st;

	if (nodes->ids == DG_INPUT_IDS_STRINGS)
		return dgi_gather_string(nodes, f.at, f.n, out, err);
	st = dgi_field_integer(f, "a node id", &id, err);
	if (!st)
		st = dgi_gather_integer(nodes, id, out, err);
	return st;
}

static dg_status relation(struct reader *r, struct dgi_field f, uint16_t *type, dg_error *err)
{
	int64_t number;
	dg_status st;

	if (!r->relation_is_number) {
		if (r->rules->relations &&
		    dgi_id_map_find_string(r->rules->relations, f.at, f.n) < 0)
			return dgi_fail(err, DG_NOTFOUND,
					"relation '%.*s' is not in the list of relations",
					f.n < 80 ? (int)f.n : 80, f.at);
		return dgi_gather_edge_type(r->g, r->src_type, f.at, f.n, r->dst_type, type, err);
	}
	st = dgi_field_integer(f, "a relation", &number, err);
	if (!st)
		st = dgi_relation_number(r->g, r->rules, r->src_type, number, r->dst_type, type,
					 err);
	return st;
}

static dg_status check_columns(const struct reader *r, dg_error *err)
{
	const size_t found = r->cutter.n;
	size_t wanted = 0;

	for (int i = 0; i < (r->triples ? 3 : 2); i++)
		if (r->column[i] >= wanted)
			wanted = r->column[i] + 1;
	if (found < wanted)
		return dgi_fail(err, DG_INVALID, "%zu column%s, want %zu, parted by %s", found,
				found == 1 ? "" : "s", wanted,
				dgi_separator_name(r->cutter.separator));
	if (r->n_columns && found != r->n_columns)
		return dgi_fail(err, DG_INVALID, "%zu columns, want %zu as in the lines before",
				found, r->n_columns);
	return DG_OK;
}

/* The cutter holds the line. */
static dg_status read_triple(struct reader *r, dg_error *err)
{
	const struct dgi_field *fields = r->cutter.fields;
	uint16_t type;
	dg_id src, dst;
	dg_status st = node(&r->g->nodes[r->src_type], fields[r->column[SRC]], &src, err);

	if (!st)
		st = relation(r, fields[r->column[RELATION]], &type, err);
	if (!st)
		st = node(&r->g->nodes[r->dst_type], fields[r->column[DST]], &dst, err);
	if (!st)
		st = dgi_gather_append(r->g, type, &src, &dst, 1, err);
	return st;
}

static dg_status read_edge(struct reader *r, dg_error *err)
{
	const struct dgi_field *fields = r->cutter.fields;
	dg_status st = node(&r->g->nodes[r->src_type], fields[r->column[SRC]], &r->src[r->n], err);

	if (!st)
		st = node(&r->g->nodes[r->dst_type], fields[r->column[DST]], &r->dst[r->n], err);
	if (!st && ++r->n == DGI_EDGE_BATCH)
		st = flush(r, err);
	return st;
}

static dg_status read_line(struct reader *r, const char *at, dg_error *err)
{
	dg_status st;

	at = dgi_skip_mark(at, r->lines->line);
	if (dgi_line_is_comment(at))
		return DG_OK;
	if (r->header_left) {
		r->header_left = false;
		return DG_OK;
	}
	st = dgi_cutter_cut(&r->cutter, at, err);
	if (!st && !r->settled) {
		r->n_columns = r->cutter.n;
		st = settle(r, err);
	}
	if (!st)
		st = check_columns(r, err);
	if (!st)
		st = r->triples ? read_triple(r, err) : read_edge(r, err);
	return st;
}

/* --- Plain lines --- */

/* Digits that cannot overflow, else NULL. */
static inline const char *plain_number(const char *at, dg_id *out)
{
	const char *start = at;
	uint64_t id = 0;

	while (*at >= '0' && *at <= '9')
		id = id * 10 + (uint64_t)(*at++ - '0');
	if (at == start || at - start > 18)
		return NULL;
	*out = (dg_id)id;
	return at;
}

/* To the line's end past @n more columns, else NULL. Blanks and quotes are for others. */
static inline const char *plain_rest(const char *at, char separator, size_t n)
{
	for (; *at != '\n' && *at != '"'; at++)
		n -= *at == separator;
	return n == 0 && *at == '\n' ? at : NULL;
}

/* A line of plain numbers: past it, or NULL. */
static inline const char *plain_line(const char *at, char separator, size_t n_columns, dg_id *src,
				     dg_id *dst)
{
	const char *c = plain_number(at, src);

	if (!c || *c != separator)
		return NULL;
	c = plain_number(c + 1, dst);
	if (!c)
		return NULL;
	if (*c == separator && separator != ' ' && n_columns > 2)
		c = plain_rest(c, separator, n_columns - 2);
	else if (n_columns != 2)
		return NULL;
	else if (*c == '\r')
		c++;
	return c && *c == '\n' ? c + 1 : NULL;
}

/* As many plain lines as there are, straight into the batch. */
static dg_status read_plain_lines(struct reader *r, const char **at, const char *end, dg_error *err)
{
	struct dgi_gather_nodes *src = &r->g->nodes[r->src_type];
	struct dgi_gather_nodes *dst = &r->g->nodes[r->dst_type];
	const dg_id src_limit = src->n < 0 ? INT64_MAX : src->n;
	const dg_id dst_limit = dst->n < 0 ? INT64_MAX : dst->n;
	dg_status st = DG_OK;

	while (!st && *at < end) {
		const char *c = *at;
		dg_id s_largest = src->largest, d_largest = dst->largest;
		size_t n = r->n;

		while (n < DGI_EDGE_BATCH && c < end) {
			dg_id s, d;
			const char *next = plain_line(c, r->cutter.separator, r->n_columns, &s, &d);

			if (!next || s >= src_limit || d >= dst_limit)
				break;
			r->src[n] = s;
			r->dst[n] = d;
			s_largest = s > s_largest ? s : s_largest;
			d_largest = d > d_largest ? d : d_largest;
			n++;
			c = next;
		}
		r->lines->line += n - r->n;
		r->n = n;
		*at = c;
		src->largest = s_largest;
		if (d_largest > dst->largest)
			dst->largest = d_largest;
		if (n < DGI_EDGE_BATCH)
			break;
		st = flush(r, err);
	}
	return st;
}

/* --- All --- */

/* Looks at a file's first lines; a complaint is about the first that is no comment. */
static dg_status begin_block(struct reader *r, const char *at, const char *end, dg_error *err)
{
	dg_status st = begin(r, at, end, err);

	if (!st)
		return DG_OK;
	r->lines->line++;
	for (at = dgi_skip_mark(at, r->lines->line); at < end && dgi_line_is_comment(at);
	     at = next_line(at, end))
		r->lines->line++;
	return dgi_lines_blame(r->lines, st, err);
}

static dg_status read_block(struct reader *r, const char *at, const char *end, dg_error *err)
{
	dg_status st = r->begun ? DG_OK : begin_block(r, at, end, err);

	while (!st && at < end) {
		if (r->plain && !r->header_left && r->n_columns >= 2)
			st = read_plain_lines(r, &at, end, err);
		if (st || at == end)
			break;
		r->lines->line++;
		st = read_line(r, at, err);
		if (st)
			return dgi_lines_blame(r->lines, st, err);
		at = next_line(at, end);
	}
	return st;
}

static dg_status read_all(struct reader *r, dg_error *err)
{
	char *data;
	size_t n = 1;
	dg_status st = DG_OK;

	while (!st && n > 0) {
		st = dgi_lines_next(r->lines, &data, &n, err);
		if (!st && n > 0)
			st = read_block(r, data, data + n, err);
	}
	if (!st && r->begun)
		st = flush(r, err);
	/* A file without any edge still says that there is its type. */
	if (!st && !r->begun && !dgi_edge_file_is_triples(r->file) &&
	    r->file->format != DG_INPUT_TRIPLES)
		st = find_types(r, err);
	return st;
}

dg_status dgi_edges_from_text(struct dgi_gather *g, const struct dgi_edge_file *file,
			      const struct dgi_edge_rules *rules, struct dgi_lines *lines,
			      dg_error *err)
{
	struct reader r = { .g = g, .file = file, .rules = rules, .lines = lines };
	dg_status st;

	r.src = malloc(DGI_EDGE_BATCH * sizeof *r.src);
	r.dst = malloc(DGI_EDGE_BATCH * sizeof *r.dst);
	st = r.src && r.dst ? read_all(&r, err) : dgi_fail_memory(err, "edges");
	free(r.src);
	free(r.dst);
	dgi_cutter_end(&r.cutter);
	return st;
}
