/*
 * bytes.h -- bounded reader and writer of little-endian integers and byte runs.
 *
 * Both remember that they ran short instead of failing at each field, so that a decoder reads its
 * fields in a row and checks once. A short reader gives zeros; a short writer writes nothing.
 */
#ifndef DGI_BYTES_H
#define DGI_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dgi_reader {
	const uint8_t *at;
	size_t left;
	bool short_read;
};

struct dgi_reader dgi_reader_of(const void *data, size_t n);
uint8_t dgi_read_u8(struct dgi_reader *r);
uint16_t dgi_read_u16(struct dgi_reader *r);
uint32_t dgi_read_u32(struct dgi_reader *r);
uint64_t dgi_read_u64(struct dgi_reader *r);
int64_t dgi_read_i64(struct dgi_reader *r);
void dgi_read_bytes(struct dgi_reader *r, void *out, size_t n);
/* The next @n bytes where they lie, lent by the buffer read; NULL when short. */
const uint8_t *dgi_read_run(struct dgi_reader *r, size_t n);
/*
 * A string of u16 length and bytes into @out (room bytes with the NUL). A string that does not fit
 * or holds a NUL counts as a short read.
 */
void dgi_read_string(struct dgi_reader *r, char *out, size_t room);

struct dgi_writer {
	uint8_t *at;
	size_t left;
	size_t written;
	bool short_write;
};

struct dgi_writer dgi_writer_of(void *data, size_t n);
void dgi_write_u8(struct dgi_writer *w, uint8_t value);
void dgi_write_u16(struct dgi_writer *w, uint16_t value);
void dgi_write_u32(struct dgi_writer *w, uint32_t value);
void dgi_write_u64(struct dgi_writer *w, uint64_t value);
void dgi_write_i64(struct dgi_writer *w, int64_t value);
void dgi_write_bytes(struct dgi_writer *w, const void *data, size_t n);
void dgi_write_string(struct dgi_writer *w, const char *text);
void dgi_write_zeros(struct dgi_writer *w, size_t n);

/* Single fields at a known place. */
uint16_t dgi_get_u16(const void *at);
uint32_t dgi_get_u32(const void *at);
uint64_t dgi_get_u64(const void *at);
void dgi_put_u16(void *at, uint16_t value);
void dgi_put_u32(void *at, uint32_t value);
void dgi_put_u64(void *at, uint64_t value);

/* Big-endian, for keys, whose byte order is then their numeric order. */
uint32_t dgi_get_be32(const void *at);
uint64_t dgi_get_be64(const void *at);
void dgi_put_be16(void *at, uint16_t value);
uint16_t dgi_get_be16(const void *at);
void dgi_put_be32(void *at, uint32_t value);
void dgi_put_be64(void *at, uint64_t value);

/* *out = a * b or a + b; false, and *out untouched, where that overflows. */
bool dgi_multiply_size(size_t a, size_t b, size_t *out);
bool dgi_add_size(size_t a, size_t b, size_t *out);

#endif
