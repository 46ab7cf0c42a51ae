/* bytes.c -- bounded reader and writer of little-endian integers and byte runs. */
#include "bytes.h"

#include <string.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "distgraph stores and sends arrays as they lie in memory: little-endian machines only"
#endif

uint16_t dgi_get_u16(const void *at)
{
	uint16_t value;

	memcpy(&value, at, sizeof value);
	return value;
}

uint32_t dgi_get_u32(const void *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof value);
	return value;
}

uint64_t dgi_get_u64(const void *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof value);
	return value;
}

void dgi_put_u16(void *at, uint16_t value)
{
	memcpy(at, &value, sizeof value);
}

void dgi_put_u32(void *at, uint32_t value)
{
	memcpy(at, &value, sizeof value);
}

void dgi_put_u64(void *at, uint64_t value)
{
	memcpy(at, &value, sizeof value);
}

uint16_t dgi_get_be16(const void *at)
{
	return __builtin_bswap16(dgi_get_u16(at));
}

uint32_t dgi_get_be32(const void *at)
{
	return __builtin_bswap32(dgi_get_u32(at));
}

uint64_t dgi_get_be64(const void *at)
{
	return __builtin_bswap64(dgi_get_u64(at));
}

void dgi_put_be16(void *at, uint16_t value)
{
	dgi_put_u16(at, __builtin_bswap16(value));
}

void dgi_put_be32(void *at, uint32_t value)
{
	dgi_put_u32(at, __builtin_bswap32(value));
}

void dgi_put_be64(void *at, uint64_t value)
{
	dgi_put_u64(at, __builtin_bswap64(value));
}

bool dgi_multiply_size(size_t a, size_t b, size_t *out)
{
	size_t product;

	if (__builtin_mul_overflow(a, b, &product))
		return false;
	*out = product;
	return true;
}

bool dgi_add_size(size_t a, size_t b, size_t *out)
{
	size_t sum;

	if (__builtin_add_overflow(a, b, &sum))
		return false;
	*out = sum;
	return true;
}

struct dgi_reader dgi_reader_of(const void *data, size_t n)
{
	return (struct dgi_reader){ .at = data, .left = n };
}

const uint8_t *dgi_read_run(struct dgi_reader *r, size_t n)
{
	const uint8_t *run = r->at;

	if (r->short_read || n > r->left) {
		r->short_read = true;
		return NULL;
	}
	if (n) {
		r->at += n;
		r->left -= n;
	}
	return run;
}

void dgi_read_bytes(struct dgi_reader *r, void *out, size_t n)
{
	const uint8_t *run = dgi_read_run(r, n);

	if (!n)
		return;
	if (run)
		memcpy(out, run, n);
	else
		memset(out, 0, n);
}

uint8_t dgi_read_u8(struct dgi_reader *r)
{
	uint8_t value = 0;

	dgi_read_bytes(r, &value, sizeof value);
	return value;
}

uint16_t dgi_read_u16(struct dgi_reader *r)
{
	uint16_t value = 0;

	dgi_read_bytes(r, &value, sizeof value);
	return value;
}

uint32_t dgi_read_u32(struct dgi_reader *r)
{
	uint32_t value = 0;

	dgi_read_bytes(r, &value, sizeof value);
	return value;
}

uint64_t dgi_read_u64(struct dgi_reader *r)
{
	uint64_t value = 0;

	dgi_read_bytes(r, &value, sizeof value);
	return value;
}

int64_t dgi_read_i64(struct dgi_reader *r)
{
	return (int64_t)dgi_read_u64(r);
}

void dgi_read_string(struct dgi_reader *r, char *out, size_t room)
{
	size_t n = dgi_read_u16(r);
	const uint8_t *run = dgi_read_run(r, n);

	out[0] = '\0';
	if (!run || n >= room || memchr(run, 0, n)) {
		r->short_read = true;
		return;
	}
	memcpy(out, run, n);
	out[n] = '\0';
}

struct dgi_writer dgi_writer_of(void *data, size_t n)
{
	return (struct dgi_writer){ .at = data, .left = n };
}

void dgi_write_bytes(struct dgi_writer *w, const void *data, size_t n)
{
	if (w->short_write || n > w->left) {
		w->short_write = true;
		return;
	}
	if (!n)
		return;
	memcpy(w->at, data, n);
	w->at += n;
	w->left -= n;
	w->written += n;
}

void dgi_write_u8(struct dgi_writer *w, uint8_t value)
{
	dgi_write_bytes(w, &value, sizeof value);
}

void dgi_write_u16(struct dgi_writer *w, uint16_t value)
{
	dgi_write_bytes(w, &value, sizeof value);
}

void dgi_write_u32(struct dgi_writer *w, uint32_t value)
{
	dgi_write_bytes(w, &value, sizeof value);
}

void dgi_write_u64(struct dgi_writer *w, uint64_t value)
{
	dgi_write_bytes(w, &value, sizeof value);
}

void dgi_write_i64(struct dgi_writer *w, int64_t value)
{
	dgi_write_u64(w, (uint64_t)value);
}

void dgi_write_string(struct dgi_writer *w, const char *text)
{
	size_t n = strlen(text);

	if (n > UINT16_MAX) {
		w->short_write = true;
		return;
	}
	dgi_write_u16(w, (uint16_t)n);
	dgi_write_bytes(w, text, n);
}

void dgi_write_zeros(struct dgi_writer *w, size_t n)
{
	if (w->short_write || n > w->left) {
		w->short_write = true;
		return;
	}
	if (!n)
		return;
	memset(w->at, 0, n);
	w->at += n;
	w->left -= n;
	w->written += n;
}
