/* fields.c -- lines of text cut into fields. */
#include "fields.h"

#include "fail.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN_BYTES 24 /* of what was found */

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* The newline is the guard of every loop below: all of them stop at it. */
static bool is_line_end(const char *at)
{
	return *at == '\n' || (*at == '\r' && at[1] == '\n');
}

dg_status dgi_cutter_begin(char separator, struct dgi_cutter *out, dg_error *err)
{
	struct dgi_cutter c = { .separator = separator };

	c.fields = malloc(DGI_FIELDS_MAX * sizeof *c.fields);
	c.scratch = malloc(DGI_LINE_BYTES_MAX + DGI_FIELDS_MAX);
	if (!c.fields || !c.scratch) {
		dgi_cutter_end(&c);
		return dgi_fail_memory(err, "fields of a line");
	}
	*out = c;
	return DG_OK;
}

void dgi_cutter_end(struct dgi_cutter *cutter)
{
	free(cutter->fields);
	free(cutter->scratch);
	cutter->fields = NULL;
	cutter->scratch = NULL;
}

/* A field in quotes, of which @at is the first. NULL where they do not end in this line. */
static const char *cut_quoted(const char *at, char **to, struct dgi_field *field)
{
	field->at = *to;
	for (at++;; at++) {
		if (is_line_end(at))
			return NULL;
		if (*at == '"' && *++at != '"')
			break;
		*(*to)++ = *at;
	}
	field->n = (size_t)(*to - field->at);
	return at;
}

static const char *cut_plain(const char *at, char separator, struct dgi_field *field)
{
	const char *end;

	field->at = at;
	if (separator == ' ')
		while (!is_line_end(at) && !is_blank(*at))
			at++;
	else
		while (*at != separator && !is_line_end(at))
			at++;
	end = at;
	while (end > field->at && is_blank(end[-1]))
		end--;
	field->n = (size_t)(end - field->at);
	return at;
}

/* Blanks that are not the separator. */
static const char *skip_blanks(const char *at, char separator)
{
	while (is_blank(*at) && *at != (separator == ' ' ? '\0' : separator))
		at++;
	return at;
}

static bool may_quote(char separator)
{
	return separator != '\t' && separator != ' ';
}

/* Past the separator behind a field; false at the line's end. */
static bool next_field(const char **at, char separator)
{
	*at = skip_blanks(*at, separator);
	if (is_line_end(*at))
		return false;
	if (separator != ' ')
		*at = skip_blanks(*at + 1, separator);
	return true;
}

dg_status dgi_cutter_cut(struct dgi_cutter *c, const char *at, dg_error *err)
{
	char *to = c->scratch;
	bool more = true;

	at = skip_blanks(at, c->separator);
	for (c->n = 0; more; c->n++) {
		struct dgi_field *field;

		if (c->n == DGI_FIELDS_MAX)
			return dgi_fail(err, DG_INVALID, "more than %d columns", DGI_FIELDS_MAX);
		field = &c->fields[c->n];
		if (*at == '"' && may_quote(c->separator)) {
			at = cut_quoted(at, &to, field);
			if (!at)
				return dgi_fail(err, DG_INVALID,
						"column %zu: a quote that does not end in its line",
						c->n + 1);
			at = skip_blanks(at, c->separator);
			if (*at != c->separator && !is_line_end(at))
				return dgi_fail(err, DG_INVALID,
						"column %zu: found '%c' behind the closing quote",
						c->n + 1, *at);
		} else {
			at = cut_plain(at, c->separator, field);
		}
		more = next_field(&at, c->separator);
	}
	return DG_OK;
}

const char *dgi_separator_name(char separator)
{
	switch (separator) {
	case ',':
		return "a comma";
	case ';':
		return "a semicolon";
	case '|':
		return "a '|'";
	case '\t':
		return "a tab";
	case ' ':
		return "a blank";
	default:
		return "the delimiter";
	}
}

const char *dgi_skip_mark(const char *at, uint64_t line)
{
	static const char byte_order_mark[] = { (char)0xef, (char)0xbb, (char)0xbf };

	if (line == 1 && strncmp(at, byte_order_mark, sizeof byte_order_mark) == 0)
		at += sizeof byte_order_mark;
	return at;
}

bool dgi_line_is_comment(const char *at)
{
	while (is_blank(*at))
		at++;
	return is_line_end(at) || *at == '#' || *at == '%';
}

char dgi_separator_find(const char *at)
{
	static const char separators[] = "\t,;|";
	bool seen[sizeof separators] = { false };
	bool quoted = false;

	while (is_blank(*at))
		at++;
	for (; !is_line_end(at); at++) {
		const char *found = *at ? strchr(separators, *at) : NULL;

		quoted ^= *at == '"';
		if (found && (!quoted || *at == '\t'))
			seen[found - separators] = true;
	}
	for (int i = 0; separators[i]; i++)
		if (seen[i])
			return separators[i];
	return ' ';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

bool dgi_field_is_number(struct dgi_field f)
{
	size_t i = f.n > 0 && (f.at[0] == '-' || f.at[0] == '+');
	bool digits = false;

	for (; i < f.n && (is_digit(f.at[i]) || f.at[i] == '.'); i++)
		digits |= is_digit(f.at[i]);
	return digits && i == f.n;
}

dg_status dgi_field_integer(struct dgi_field f, const char *wanted, int64_t *out, dg_error *err)
{
	const int shown = f.n < SHOWN_BYTES ? (int)f.n : SHOWN_BYTES;
	const bool negative = f.n > 0 && f.at[0] == '-';
	int64_t value = 0;
	size_t i = negative;

	for (; i < f.n && is_digit(f.at[i]); i++)
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_sub_overflow(value, f.at[i] - '0', &value))
			return dgi_fail(err, DG_RANGE, "%s %.*s%s is beyond 64 bits", wanted, shown,
					f.at, f.n > SHOWN_BYTES ? "…" : "");
	if (i != f.n || i == (size_t)negative)
		return f.n ? dgi_fail(err, DG_INVALID, "found '%.*s%s', want %s", shown, f.at,
				      f.n > SHOWN_BYTES ? "…" : "", wanted)
			   : dgi_fail(err, DG_INVALID, "found nothing, want %s", wanted);
	if (!negative && value == INT64_MIN)
		return dgi_fail(err, DG_RANGE, "%s %.*s is beyond 64 bits", wanted, shown, f.at);
	*out = negative ? value : -value;
	return DG_OK;
}

dg_status dgi_column_find(const char *name, size_t n, const struct dgi_cutter *header,
			  bool has_header, size_t *out, dg_error *err)
{
	struct dgi_field field = { name, n };
	int64_t number;

	for (size_t i = 0; has_header && i < header->n; i++)
		if (header->fields[i].n == n && memcmp(header->fields[i].at, name, n) == 0) {
			*out = i;
			return DG_OK;
		}
	if (dgi_field_is_number(field) && !dgi_field_integer(field, "a column", &number, NULL) &&
	    number >= 1 && number <= DGI_FIELDS_MAX) {
		*out = (size_t)number - 1;
		return DG_OK;
	}
	return dgi_fail(err, DG_INVALID, "column '%.*s': %s, and it is no number from 1 to %d",
			n < 80 ? (int)n : 80, name,
			has_header ? "the header has none of this name" : "there is no header",
			DGI_FIELDS_MAX);
}
