/*
 * fields.h -- lines of text cut into fields, and what the first lines tell of the others.
 *
 * Separators: comma, semicolon, '|' and tab stand between fields, blanks round a field are not part
 * of it; a run of blanks (and tabs) is one separator where none of the others is. With comma,
 * semicolon and '|' a field may be quoted ("a, ""b""") within its line; otherwise quotes are
 * ordinary. Empty lines and those that begin with # or % are comments. Lines end with LF or CR LF.
 */
#ifndef DGI_FIELDS_H
#define DGI_FIELDS_H

#include "lines.h"

#include <distgraph/input.h>

#define DGI_FIELDS_MAX 4096 /* columns of a text file */

struct dgi_field {
	const char *at;
	size_t n;
};

/* Cuts lines; keeps room for the fields of one. */
struct dgi_cutter {
	char separator; /* ' ' for blanks */
	struct dgi_field *fields;
	size_t n;      /* fields of the line cut last */
	char *scratch; /* of DGI_LINE_BYTES_MAX: quoted fields without their quotes */
};

dg_status dgi_cutter_begin(char separator, struct dgi_cutter *out, dg_error *err);
void dgi_cutter_end(struct dgi_cutter *cutter);
/*
 * Cuts the line at @at, up to its newline. Fields lie in the line or in the cutter until the next
 * call. Fails with INVALID (a quote that does not end, too many fields); the text says no place.
 */
dg_status dgi_cutter_cut(struct dgi_cutter *cutter, const char *at, dg_error *err);

/* "a comma", … */
const char *dgi_separator_name(char separator);

/* Past a byte order mark, which only a file's first line may have. */
const char *dgi_skip_mark(const char *at, uint64_t line);
/* Is there nothing to read in the line at @at: empty, or a comment? */
bool dgi_line_is_comment(const char *at);

/* The separator of the line at @at: the first of tab, comma, semicolon, '|' that is in it outside
 * quotes, else blanks. */
char dgi_separator_find(const char *at);

/* Is the field as long as it is a number such as 12, -3 or 1.5? */
bool dgi_field_is_number(struct dgi_field field);
/* The integer in a field. Fails with INVALID (found …, want @wanted), RANGE (beyond int64). */
dg_status dgi_field_integer(struct dgi_field field, const char *wanted, int64_t *out,
			    dg_error *err);

/*
 * The column, from 0, that @name (of @n bytes) names: one of the header's fields, where there is a
 * header, or a number from 1. Fails with INVALID.
 */
dg_status dgi_column_find(const char *name, size_t n, const struct dgi_cutter *header,
			  bool has_header, size_t *out, dg_error *err);

#endif
