/* npy.c -- the header of a .npy file, decoded and encoded. Files are array.c's. */
#include "npy.h"

#include "bytes.h"
#include "check.h"
#include "fail.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const uint8_t magic[6] = { 0x93, 'N', 'U', 'M', 'P', 'Y' };

bool dgi_npy_magic(const void *data, size_t n)
{
	return n >= sizeof magic && memcmp(data, magic, sizeof magic) == 0;
}

dg_status dgi_npy_header_bytes(const uint8_t prefix[DGI_NPY_PREFIX_BYTES], size_t *n, dg_error *err)
{
	size_t total;

	if (!dgi_npy_magic(prefix, DGI_NPY_PREFIX_BYTES))
		return dgi_fail(err, DG_INVALID,
				"not a .npy file: it does not begin with \\x93NUMPY");
	if ((prefix[6] != 1 && prefix[6] != 2) || prefix[7] != 0)
		return dgi_fail(err, DG_UNSUPPORTED, ".npy format %u.%u, want 1.0 or 2.0",
				prefix[6], prefix[7]);
	if (prefix[6] == 1)
		total = 10 + (size_t)dgi_get_u16(prefix + 8);
	else
		total = 12 + (size_t)dgi_get_u32(prefix + 8);
	if (total < DGI_NPY_PREFIX_BYTES || total > DGI_NPY_HEADER_BYTES_MAX)
		return dgi_fail(err, DG_INVALID, ".npy header of %zu bytes, want %d to %d", total,
				DGI_NPY_PREFIX_BYTES, DGI_NPY_HEADER_BYTES_MAX);
	*n = total;
	return DG_OK;
}

/* --- The dictionary --- */

struct parser {
	const char *at;
	const char *end;
};

static void skip_spaces(struct parser *p)
{
	while (p->at < p->end && *p->at == ' ')
		p->at++;
}

static bool take(struct parser *p, char wanted)
{
	skip_spaces(p);
	if (p->at == p->end || *p->at != wanted)
		return false;
	p->at++;
	return true;
}

static bool take_word(struct parser *p, const char *word)
{
	size_t n = strlen(word);

	skip_spaces(p);
	if ((size_t)(p->end - p->at) < n || memcmp(p->at, word, n) != 0)
		return false;
	p->at += n;
	return true;
}

static dg_status unexpected(const struct parser *p, const char *wanted, dg_error *err)
{
	size_t left = (size_t)(p->end - p->at);

	return dgi_fail(err, DG_INVALID, ".npy header: found '%.*s', want %s",
			(int)(left < 20 ? left : 20), p->at, wanted);
}

/* A quoted string without escapes. */
static dg_status parse_string(struct parser *p, char *out, size_t room, dg_error *err)
{
	const char *start;
	char quote;
	size_t n = 0;

	skip_spaces(p);
	if (p->at == p->end || (*p->at != '\'' && *p->at != '"'))
		return unexpected(p, "a string", err);
	quote = *p->at;
	start = p->at + 1;
	while (start + n < p->end && start[n] != quote)
		n++;
	if (start + n == p->end || n >= room || memchr(start, '\\', n) || memchr(start, 0, n))
		return unexpected(p, "a short string", err);
	memcpy(out, start, n);
	out[n] = '\0';
	p->at = start + n + 1;
	return DG_OK;
}

static dg_status parse_descr(struct parser *p, struct dgi_npy *npy, dg_error *err)
{
	char text[32];
	dg_status st;

	skip_spaces(p);
	if (p->at < p->end && *p->at == '[')
		return dgi_fail(err, DG_UNSUPPORTED,
				".npy dtype is structured, want plain numbers");
	st = parse_string(p, text, sizeof text, err);
	if (st)
		return st;
	if (strchr(text, 'O'))
		return dgi_fail(err, DG_UNSUPPORTED,
				".npy dtype '%s' holds Python objects, want plain numbers", text);
	if (text[0] == '>' || text[0] == '=')
		return dgi_fail(err, DG_UNSUPPORTED, ".npy dtype '%s', want little-endian ('<')",
				text);
	npy->kind = text[0] ? text[1] : '\0';
	npy->item_bytes = (uint8_t)(npy->kind && text[2] ? text[2] - '0' : 0);
	/* One byte has no order; NumPy writes '|', others write '<'. */
	if ((text[0] != '<' && (text[0] != '|' || npy->item_bytes != 1)) || npy->kind == '\0' ||
	    strlen(text) != 3 || !strchr("biuf", npy->kind) || !strchr("1248", text[2]) ||
	    (npy->kind == 'b' && npy->item_bytes != 1) ||
	    (npy->kind == 'f' && npy->item_bytes == 1))
		return dgi_fail(err, DG_UNSUPPORTED,
				".npy dtype '%s', want little-endian integers, floats or bools",
				text);
	return DG_OK;
}

static dg_status parse_order(struct parser *p, struct dgi_npy *npy, dg_error *err)
{
	npy->fortran_order = take_word(p, "True");
	if (!npy->fortran_order && !take_word(p, "False"))
		return unexpected(p, "True or False", err);
	return DG_OK;
}

static dg_status parse_extent(struct parser *p, int64_t *out, dg_error *err)
{
	const char *start = p->at;
	int64_t value = 0;

	while (p->at < p->end && *p->at >= '0' && *p->at <= '9') {
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, *p->at - '0', &value)) {
			p->at = start;
			return unexpected(p, "an extent of 63 bits", err);
		}
		p->at++;
	}
	if (p->at == start)
		return unexpected(p, "an extent", err);
	*out = value;
	return DG_OK;
}

/* "()", "(3,)", "(3, 4)" */
static dg_status parse_shape(struct parser *p, struct dgi_npy *npy, dg_error *err)
{
	bool comma = true; /* one extent needs a comma behind it: "(3)" is no tuple */

	npy->rank = 0;
	if (!take(p, '('))
		return unexpected(p, "'('", err);
	while (!take(p, ')')) {
		dg_status st;

		if (!comma)
			return unexpected(p, "',' or ')'", err);
		if (npy->rank == DG_RANK_MAX + 1)
			return dgi_fail(err, DG_UNSUPPORTED,
					".npy array of more than %d dimensions", DG_RANK_MAX + 1);
		st = parse_extent(p, &npy->shape[npy->rank], err);
		if (st)
			return st;
		npy->rank++;
		comma = take(p, ',');
	}
	if (npy->rank == 1 && !comma)
		return unexpected(p, "',' behind a single extent", err);
	return DG_OK;
}

static dg_status parse_entry(struct parser *p, struct dgi_npy *npy, unsigned *seen, dg_error *err)
{
	static const char *const keys[] = { "descr", "fortran_order", "shape" };
	const struct parser before = *p;
	char key[16];
	unsigned i = 0;
	dg_status st = parse_string(p, key, sizeof key, err);

	if (st)
		return st;
	while (i < DGI_COUNT_OF(keys) && strcmp(key, keys[i]) != 0)
		i++;
	if (i == DGI_COUNT_OF(keys) || *seen & 1U << i)
		return unexpected(&before, "'descr', 'fortran_order' and 'shape', once each", err);
	*seen |= 1U << i;
	if (!take(p, ':'))
		return unexpected(p, "':'", err);
	return i == 0	? parse_descr(p, npy, err)
	       : i == 1 ? parse_order(p, npy, err)
			: parse_shape(p, npy, err);
}

static dg_status parse_dictionary(struct parser *p, struct dgi_npy *npy, dg_error *err)
{
	unsigned seen = 0;
	bool comma = true;

	if (!take(p, '{'))
		return unexpected(p, "'{'", err);
	while (!take(p, '}')) {
		dg_status st;

		if (!comma)
			return unexpected(p, "',' or '}'", err);
		st = parse_entry(p, npy, &seen, err);
		if (st)
			return st;
		comma = take(p, ',');
	}
	if (seen != 7)
		return dgi_fail(err, DG_INVALID,
				".npy header: want 'descr', 'fortran_order' and 'shape'");
	skip_spaces(p);
	if (p->end - p->at != 1 || *p->at != '\n')
		return unexpected(p, "spaces and a newline at the end", err);
	return DG_OK;
}

/* --- Outside --- */

dg_status dgi_npy_decode(const uint8_t *data, size_t n, struct dgi_npy *out, dg_error *err)
{
	struct dgi_npy npy = { 0 };
	struct parser p;
	size_t total;
	dg_status st;

	if (n < DGI_NPY_PREFIX_BYTES)
		return dgi_fail(err, DG_INVALID, ".npy header: cut short at %zu bytes", n);
	st = dgi_npy_header_bytes(data, &total, err);
	if (st)
		return st;
	if (n < total)
		return dgi_fail(err, DG_INVALID, ".npy header: %zu bytes of %zu", n, total);
	p.at = (const char *)data + (data[6] == 1 ? 10 : 12);
	p.end = (const char *)data + total;
	st = parse_dictionary(&p, &npy, err);
	if (st)
		return st;
	npy.header_bytes = total;
	npy.data_bytes = npy.item_bytes;
	for (uint32_t i = 0; i < npy.rank; i++)
		if (!dgi_multiply_size(npy.data_bytes, (size_t)npy.shape[i], &npy.data_bytes) ||
		    npy.data_bytes > PTRDIFF_MAX)
			return dgi_fail(err, DG_INVALID, ".npy header: the shape is too large");
	*out = npy;
	return DG_OK;
}

size_t dgi_npy_encode(const struct dgi_npy *npy, uint8_t out[DGI_NPY_ENCODED_BYTES_MAX])
{
	char *text = (char *)out + 10;
	const size_t room = DGI_NPY_ENCODED_BYTES_MAX - 10;
	size_t n;
	size_t total;

	/* At most 9 extents of 20 bytes each: far below the room. */
	n = (size_t)snprintf(text, room, "{'descr': '%c%c%u', 'fortran_order': %s, 'shape': (",
			     npy->item_bytes == 1 ? '|' : '<', npy->kind, npy->item_bytes,
			     npy->fortran_order ? "True" : "False");
	for (uint32_t i = 0; i < npy->rank; i++)
		n += (size_t)snprintf(text + n, room - n, i ? ", %" PRId64 : "%" PRId64,
				      npy->shape[i]);
	n += (size_t)snprintf(text + n, room - n, npy->rank == 1 ? ",), }" : "), }");
	total = (10 + n + 1 + 63) / 64 * 64;
	DGI_ASSERT(total <= DGI_NPY_ENCODED_BYTES_MAX);
	memset(text + n, ' ', total - 10 - n);
	out[total - 1] = '\n';
	memcpy(out, magic, sizeof magic);
	out[6] = 1;
	out[7] = 0;
	dgi_put_u16(out + 8, (uint16_t)(total - 10));
	return total;
}

dg_status dgi_npy_dtype(const struct dgi_npy *npy, dg_dtype *out, dg_error *err)
{
	static const struct {
		char kind;
		uint8_t item_bytes;
		dg_dtype dtype;
	} table[] = {
		{ 'b', 1, DG_BOOL },	 { 'i', 1, DG_INT8 },	 { 'i', 2, DG_INT16 },
		{ 'i', 4, DG_INT32 },	 { 'i', 8, DG_INT64 },	 { 'u', 1, DG_UINT8 },
		{ 'f', 2, DG_FLOAT16 },	 { 'f', 4, DG_FLOAT32 }, { 'f', 8, DG_FLOAT64 },
		{ 'u', 2, DG_BFLOAT16 }, /* NumPy has none: its bits */
	};

	for (size_t i = 0; i < DGI_COUNT_OF(table); i++)
		if (table[i].kind == npy->kind && table[i].item_bytes == npy->item_bytes) {
			*out = table[i].dtype;
			return DG_OK;
		}
	return dgi_fail(err, DG_UNSUPPORTED,
			".npy dtype '<%c%u': no tensor has unsigned integers of that size",
			npy->kind, npy->item_bytes);
}
