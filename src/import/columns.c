/* columns.c -- columns of numbers in a text file become a .npy file. */
#include "check.h"
#include "data.h"
#include "fail.h"
#include "fields.h"
#include "npy.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NUMBER_BYTES_MAX 64

struct reader {
	const struct dgi_data_file *file;
	struct dgi_cutter cutter;
	bool begun, header_left;
	dg_dtype dtype;
	size_t first, n; /* columns taken */
	int64_t rows;
	FILE *to;
};

/* One header for any number of rows: NumPy takes the blanks that fill it up. */
static dg_status write_header(const struct reader *r, dg_error *err)
{
	char text[128];
	uint8_t header[192] = "\x93NUMPY\x01";
	static const char *const codes[] = {
		[DG_BOOL] = "|b1",  [DG_INT8] = "|i1",	[DG_INT16] = "<i2",   [DG_INT32] = "<i4",
		[DG_INT64] = "<i8", [DG_UINT8] = "|u1", [DG_FLOAT32] = "<f4", [DG_FLOAT64] = "<f8",
	};
	int n = r->file->column
			? snprintf(text, sizeof text,
				   "{'descr': '%s', 'fortran_order': False, 'shape': (%" PRId64
				   ",), }",
				   codes[r->dtype], r->rows)
			: snprintf(text, sizeof text,
				   "{'descr': '%s', 'fortran_order': False, 'shape': (%" PRId64
				   ", %zu), }",
				   codes[r->dtype], r->rows, r->n);

	DGI_ASSERT(n > 0 && (size_t)n < sizeof text);
	header[8] = sizeof header - 10;
	memset(header + 10, ' ', sizeof header - 10);
	memcpy(header + 10, text, (size_t)n);
	header[sizeof header - 1] = '\n';
	if (fseek(r->to, 0, SEEK_SET) != 0 || fwrite(header, sizeof header, 1, r->to) != 1)
		return dgi_fail_errno(err, errno, "write data");
	return DG_OK;
}

static dg_status parse_float(struct dgi_field f, double *out, dg_error *err)
{
	char text[NUMBER_BYTES_MAX + 1];
	char *end;

	if (f.n == 0 || f.n > NUMBER_BYTES_MAX)
		return dgi_fail(err, DG_INVALID, "found '%.*s', want a number",
				f.n < 24 ? (int)f.n : 24, f.at);
	memcpy(text, f.at, f.n);
	text[f.n] = '\0';
	*out = strtod(text, &end);
	if (end != text + f.n || (text[0] == ' '))
		return dgi_fail(err, DG_INVALID, "found '%.24s', want a number", text);
	return DG_OK;
}

static dg_status integer_range(dg_dtype dtype, int64_t *low, int64_t *high)
{
	switch (dtype) {
	case DG_BOOL:
		*low = 0, *high = 1;
		return DG_OK;
	case DG_UINT8:
		*low = 0, *high = UINT8_MAX;
		return DG_OK;
	case DG_INT8:
		*low = INT8_MIN, *high = INT8_MAX;
		return DG_OK;
	case DG_INT16:
		*low = INT16_MIN, *high = INT16_MAX;
		return DG_OK;
	case DG_INT32:
		*low = INT32_MIN, *high = INT32_MAX;
		return DG_OK;
	case DG_INT64:
		*low = INT64_MIN, *high = INT64_MAX;
		return DG_OK;
	default:
		return DG_UNSUPPORTED;
	}
}

/* The bytes of a field's value; little-endian, so that the low ones come first. */
static dg_status encode(const struct reader *r, struct dgi_field f, uint8_t out[8], dg_error *err)
{
	int64_t value, low, high;
	double real;
	dg_status st;

	if (r->dtype == DG_FLOAT32 || r->dtype == DG_FLOAT64) {
		float narrow;

		st = parse_float(f, &real, err);
		if (st)
			return st;
		narrow = (float)real;
		if (r->dtype == DG_FLOAT32)
			memcpy(out, &narrow, sizeof narrow);
		else
			memcpy(out, &real, sizeof real);
		return DG_OK;
	}
	(void)integer_range(r->dtype, &low, &high);
	st = dgi_field_integer(f, "an integer", &value, err);
	if (!st && (value < low || value > high))
		st = dgi_fail(err, DG_RANGE, "%" PRId64 " does not fit %s", value,
			      dg_dtype_name(r->dtype));
	memcpy(out, &value, sizeof value);
	return st;
}

static dg_status begin(struct reader *r, const char *first, dg_error *err)
{
	const char *column = r->file->column;
	char separator = r->file->delimiter ? r->file->delimiter : dgi_separator_find(first);
	dg_status st = dgi_cutter_begin(separator, &r->cutter, err);
	struct dgi_field name = { column, column ? strlen(column) : 0 };

	r->begun = true;
	if (!st)
		st = dgi_cutter_cut(&r->cutter, first, err);
	if (st)
		return st;
	r->header_left = r->file->header > 0 || (column && !dgi_field_is_number(name));
	if (!column) {
		r->n = r->cutter.n;
		return DG_OK;
	}
	r->n = 1;
	st = dgi_column_find(column, name.n, &r->cutter, r->header_left, &r->first, err);
	if (!st && !r->header_left && r->file->header == 0 && r->first < r->cutter.n) {
		double value;

		r->header_left = parse_float(r->cutter.fields[r->first], &value, NULL) != DG_OK;
	}
	return st;
}

static dg_status read_row(struct reader *r, const char *at, dg_error *err)
{
	const size_t bytes = dg_dtype_bytes(r->dtype);
	uint8_t value[8];
	dg_status st = dgi_cutter_cut(&r->cutter, at, err);

	if (!st && (r->cutter.n < r->first + r->n || (!r->file->column && r->cutter.n != r->n)))
		st = dgi_fail(err, DG_INVALID, "%zu columns, want %zu", r->cutter.n,
			      r->first + r->n);
	for (size_t i = 0; !st && i < r->n; i++) {
		st = encode(r, r->cutter.fields[r->first + i], value, err);
		if (!st && fwrite(value, bytes, 1, r->to) != 1)
			st = dgi_fail_errno(err, errno, "write data");
	}
	r->rows++;
	return st;
}

static dg_status read_line(struct reader *r, const char *at, dg_error *err)
{
	dg_status st = DG_OK;

	if (dgi_line_is_comment(at))
		return DG_OK;
	if (!r->begun)
		st = begin(r, at, err);
	if (!st && r->header_left) {
		r->header_left = false;
		return DG_OK;
	}
	return st ? st : read_row(r, at, err);
}

static dg_status read_lines(struct reader *r, struct dgi_lines *lines, dg_error *err)
{
	char *data;
	size_t n = 1;
	dg_status st = DG_OK;

	while (!st && n > 0) {
		st = dgi_lines_next(lines, &data, &n, err);
		for (const char *at = data, *end = data + n; !st && at < end;
		     at = (const char *)memchr(at, '\n', (size_t)(end - at)) + 1) {
			st = read_line(r, dgi_skip_mark(at, ++lines->line), err);
			if (st)
				return dgi_lines_blame(lines, st, err);
		}
	}
	return st;
}

static dg_status read_file(struct reader *r, struct dgi_progress *progress, dg_error *err)
{
	struct dgi_lines lines;
	struct dgi_input in;
	dg_status st = dgi_input_open(r->file->path, &in, err);

	if (st)
		return st;
	st = dgi_lines_begin(&in, NULL, 0, progress, &lines, err);
	if (!st) {
		st = read_lines(r, &lines, err);
		dgi_lines_end(&lines);
	}
	if (!st && r->n == 0) /* a file without rows: of one column, as far as anybody knows */
		r->n = 1;
	dgi_input_close(&in);
	return st;
}

dg_status dgi_columns_to_npy(const struct dgi_data_file *file, const char *to,
			     struct dgi_progress *progress, dg_error *err)
{
	struct reader r = { .file = file, .dtype = file->dtype ? file->dtype : DG_FLOAT32 };
	int64_t low, high;
	dg_status st;

	if (file->bfloat16 ||
	    (r.dtype != DG_FLOAT32 && r.dtype != DG_FLOAT64 && integer_range(r.dtype, &low, &high)))
		return dgi_fail(err, DG_UNSUPPORTED,
				"'%s': text as %s, want an integer dtype, float32 or float64",
				file->path, file->bfloat16 ? "bfloat16" : dg_dtype_name(r.dtype));
	r.to = fopen(to, "wbe");
	if (!r.to)
		return dgi_fail_errno(err, errno, "open '%s'", to);
	st = write_header(&r, err);
	if (!st)
		st = read_file(&r, progress, err);
	if (!st)
		st = write_header(&r, err);
	if (!st && (fflush(r.to) != 0 || fsync(fileno(r.to)) != 0))
		st = dgi_fail_errno(err, errno, "write '%s'", to);
	(void)fclose(r.to);
	dgi_cutter_end(&r.cutter);
	return st;
}
