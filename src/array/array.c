/* array.c -- .npy files as the public API loads and writes them. */
#include "npy_file.h"

#include "bytes.h"
#include "fail.h"
#include "input.h"
#include "uuid.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- Loading --- */

/* What the header says, for the caller. */
static dg_status take_header(const struct dgi_npy *npy, dg_array *out, dg_error *err)
{
	dg_array array = { .rank = npy->rank, .bytes = npy->data_bytes };
	dg_status st = dgi_npy_dtype(npy, &array.dtype, err);

	if (!st && npy->fortran_order && npy->rank > 1)
		st = dgi_fail(err, DG_UNSUPPORTED,
			      "array in Fortran order, want C order (numpy.ascontiguousarray)");
	memcpy(array.shape, npy->shape, sizeof array.shape);
	*out = array;
	return st;
}

dg_status dg_array_load(const char *path, dg_array *out, dg_error *err)
{
	dg_array array;
	void *data = NULL;
	struct dgi_input in;
	struct dgi_npy npy;
	dg_status st = dgi_input_open(path, &in, err);

	if (st)
		return st;
	st = dgi_npy_read(&in, NULL, 0, &npy, &data, err);
	dgi_input_close(&in);
	if (!st)
		st = take_header(&npy, &array, err);
	if (st) {
		free(data);
		return dgi_context(err, st, "'%s'", path);
	}
	array.data = data;
	*out = array;
	return DG_OK;
}

void dg_array_clear(dg_array *array)
{
	free(array->data);
	*array = (dg_array){ 0 };
}

/* --- Reading piece by piece --- */

struct dg_array_reader {
	char *path;
	struct dgi_input in;
	size_t bytes_left;
};

static dg_status begin(dg_array_reader *r, dg_array *out, dg_error *err)
{
	struct dgi_npy npy;
	dg_status st = dgi_npy_begin(&r->in, NULL, 0, &npy, err);

	if (!st)
		st = take_header(&npy, out, err);
	if (!st)
		r->bytes_left = npy.data_bytes;
	return st ? dgi_context(err, st, "'%s'", r->path) : DG_OK;
}

dg_status dg_array_reader_open(const char *path, dg_array *array, dg_array_reader **out,
			       dg_error *err)
{
	dg_array_reader *r = calloc(1, sizeof *r);
	dg_status st;

	if (!r || !(r->path = strdup(path))) {
		free(r);
		return dgi_fail_memory(err, path);
	}
	st = dgi_input_open(r->path, &r->in, err);
	if (!st)
		st = begin(r, array, err);
	if (st) {
		dg_array_reader_close(r);
		return st;
	}
	*out = r;
	return DG_OK;
}

dg_status dg_array_reader_read(dg_array_reader *reader, void *data, size_t bytes, dg_error *err)
{
	uint8_t behind;
	size_t got;
	dg_status st;

	if (bytes > reader->bytes_left)
		return dgi_fail(err, DG_INVALID, "'%s': %zu bytes more than the shape says",
				reader->path, bytes - reader->bytes_left);
	st = dgi_input_read(&reader->in, data, bytes, &got, err);
	if (!st && got < bytes)
		st = dgi_fail(err, DG_INVALID, "'%s': ends %zu bytes before its shape says",
			      reader->path, reader->bytes_left - got);
	if (st)
		return st;
	reader->bytes_left -= bytes;
	if (reader->bytes_left > 0)
		return DG_OK;
	st = dgi_input_read(&reader->in, &behind, 1, &got, err);
	if (!st && got > 0)
		st = dgi_fail(err, DG_INVALID, "'%s': goes on behind what its shape says",
			      reader->path);
	return st;
}

void dg_array_reader_close(dg_array_reader *reader)
{
	if (!reader)
		return;
	dgi_input_close(&reader->in);
	free(reader->path);
	free(reader);
}

/* --- Writing --- */

struct dg_array_writer {
	char *path;
	char *temporary; /* NULL: written where it is to stand */
	FILE *file;
	size_t bytes_left; /* to come before the array is whole */
};

static dg_status describe(dg_dtype dtype, uint32_t rank, const int64_t *shape, struct dgi_npy *out,
			  dg_error *err)
{
	size_t bytes = dg_dtype_bytes(dtype);

	if (bytes == 0)
		return dgi_fail(err, DG_INVALID, "dtype number %d: unknown", (int)dtype);
	if (rank > DG_RANK_MAX + 1)
		return dgi_fail(err, DG_INVALID, "%" PRIu32 " dimensions, at most %d", rank,
				DG_RANK_MAX + 1);
	out->kind = dtype == DG_BOOL				? 'b'
		    : dtype == DG_UINT8 || dtype == DG_BFLOAT16 ? 'u'
		    : dtype >= DG_FLOAT16			? 'f'
								: 'i';
	out->item_bytes = (uint8_t)bytes;
	out->rank = rank;
	for (uint32_t i = 0; i < rank; i++) {
		if (shape[i] < 0 || !dgi_multiply_size(bytes, (size_t)shape[i], &bytes))
			return dgi_fail(err, DG_INVALID, "extent %" PRId64 " of dimension %" PRIu32,
					shape[i], i);
		out->shape[i] = shape[i];
	}
	out->data_bytes = bytes;
	return DG_OK;
}

static dg_status open_file(dg_array_writer *w, const char *path, int flags, dg_error *err)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY | flags, 0666);

	if (fd < 0)
		return dgi_fail_errno(err, errno, "create '%s'", path);
	w->file = fdopen(fd, "wb");
	if (w->file)
		return DG_OK;
	(void)close(fd);
	return dgi_fail_memory(err, path);
}

static dg_status open_temporary(dg_array_writer *w, dg_error *err)
{
	char text[DG_UUID_TEXT_BYTES];
	char *temporary;
	dg_uuid uuid;
	dg_status st = dgi_uuid_new(&uuid, err);

	if (st)
		return st;
	dgi_uuid_text(&uuid, text);
	if (asprintf(&temporary, "%s.tmp-%s", w->path, text) < 0)
		return dgi_fail_memory(err, w->path);
	st = open_file(w, temporary, O_CREAT | O_EXCL, err);
	if (st)
		free(temporary);
	else
		w->temporary = temporary;
	return st;
}

/* A pipe or a device, such as /dev/null, is written to, not replaced by a file. */
static dg_status open_output(dg_array_writer *w, dg_error *err)
{
	struct stat st;

	if (strcmp(w->path, "-") == 0) {
		w->file = stdout;
		return DG_OK;
	}
	if (stat(w->path, &st) == 0 && !S_ISREG(st.st_mode))
		return open_file(w, w->path, 0, err);
	return open_temporary(w, err);
}

static dg_status write_bytes(dg_array_writer *w, const void *data, size_t n, dg_error *err)
{
	if (n == 0 || fwrite(data, 1, n, w->file) == n)
		return DG_OK;
	return dgi_fail_errno(err, errno, "write '%s'", w->path);
}

dg_status dg_array_writer_open(const char *path, dg_dtype dtype, uint32_t rank,
			       const int64_t *shape, dg_array_writer **out, dg_error *err)
{
	uint8_t header[DGI_NPY_ENCODED_BYTES_MAX];
	struct dgi_npy npy = { 0 };
	dg_array_writer *w;
	dg_status st = describe(dtype, rank, shape, &npy, err);

	if (st)
		return dgi_context(err, st, "'%s'", path);
	w = calloc(1, sizeof *w);
	if (!w || !(w->path = strdup(path))) {
		free(w);
		return dgi_fail_memory(err, path);
	}
	w->bytes_left = npy.data_bytes;
	st = open_output(w, err);
	if (!st)
		st = write_bytes(w, header, dgi_npy_encode(&npy, header), err);
	if (st) {
		(void)dg_array_writer_close(w, 0, NULL);
		return st;
	}
	*out = w;
	return DG_OK;
}

dg_status dg_array_writer_append(dg_array_writer *writer, const void *data, size_t bytes,
				 dg_error *err)
{
	dg_status st;

	if (bytes > writer->bytes_left)
		return dgi_fail(err, DG_INVALID, "'%s': %zu bytes more than the shape says",
				writer->path, bytes - writer->bytes_left);
	st = write_bytes(writer, data, bytes, err);
	if (!st)
		writer->bytes_left -= bytes;
	return st;
}

static dg_status finish(dg_array_writer *w, dg_error *err)
{
	if (w->bytes_left > 0)
		return dgi_fail(err, DG_INVALID, "'%s': %zu bytes fewer than the shape says",
				w->path, w->bytes_left);
	if (fflush(w->file) != 0)
		return dgi_fail_errno(err, errno, "write '%s'", w->path);
	if (!w->temporary)
		return DG_OK;
	if (fsync(fileno(w->file)) != 0)
		return dgi_fail_errno(err, errno, "sync '%s'", w->path);
	if (rename(w->temporary, w->path) != 0)
		return dgi_fail_errno(err, errno, "rename to '%s'", w->path);
	return DG_OK;
}

dg_status dg_array_writer_close(dg_array_writer *writer, int keep, dg_error *err)
{
	dg_status st = keep ? finish(writer, err) : DG_OK;

	if (writer->file && writer->file != stdout)
		(void)fclose(writer->file);
	if (writer->temporary && (!keep || st))
		(void)unlink(writer->temporary);
	free(writer->temporary);
	free(writer->path);
	free(writer);
	return st;
}
