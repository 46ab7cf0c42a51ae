/* id_column.c -- columns of integers in memory and in files. */
#include "id_column.h"

#include "check.h"
#include "fail.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUFFER_ELEMENTS 32768

dg_status dgi_ids_new(int64_t n, uint32_t bytes, struct dgi_ids *out, dg_error *err)
{
	DGI_ASSERT(bytes == 4 || bytes == 8);
	*out = (struct dgi_ids){ .n = n, .bytes = bytes };
	if ((uint64_t)n < PTRDIFF_MAX / bytes)
		out->data = malloc((size_t)n * bytes + 1);
	if (!out->data)
		return dgi_fail(err, DG_NOMEM,
				"out of memory: %" PRId64 " numbers of %" PRIu32 " bytes", n,
				bytes);
	return DG_OK;
}

void dgi_ids_clear(struct dgi_ids *column)
{
	if (column->mapped)
		(void)munmap(column->data, column->mapped);
	else
		free(column->data);
	*column = (struct dgi_ids){ 0 };
}

void dgi_ids_gather(const struct dgi_ids *column, const dg_id *at, size_t n, int64_t *out)
{
	const int32_t *narrow = column->data;
	const int64_t *wide = column->data;

	if (column->bytes == 4)
		for (size_t i = 0; i < n; i++)
			out[i] = narrow[at[i]];
	else
		for (size_t i = 0; i < n; i++)
			out[i] = wide[at[i]];
}

/* --- Files --- */

static dg_status map_file(int fd, const char *path, struct dgi_ids *column, dg_error *err)
{
	const uint64_t bytes = (uint64_t)column->n * column->bytes;
	struct stat info;

	if (fstat(fd, &info) != 0)
		return dgi_fail_errno(err, errno, "stat '%s'", path);
	if ((uint64_t)info.st_size != bytes)
		return dgi_fail(err, DG_INVALID, "'%s': %" PRIu64 " bytes, want %" PRIu64, path,
				(uint64_t)info.st_size, bytes);
	if (bytes == 0)
		return DG_OK;
	column->data = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
	if (column->data == MAP_FAILED) {
		column->data = NULL;
		return dgi_fail_errno(err, errno, "map '%s'", path);
	}
	column->mapped = bytes;
	return DG_OK;
}

dg_status dgi_ids_map(const char *path, int64_t n, uint32_t bytes, struct dgi_ids *out,
		      dg_error *err)
{
	struct dgi_ids column = { .n = n, .bytes = bytes };
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	dg_status st;

	if (fd < 0)
		return dgi_fail_errno(err, errno, "open '%s'", path);
	st = map_file(fd, path, &column, err);
	(void)close(fd);
	if (!st)
		*out = column;
	return st;
}

static dg_status write_bytes(int fd, const char *path, const void *data, size_t n, dg_error *err)
{
	const char *at = data;

	while (n > 0) {
		ssize_t done = write(fd, at, n < (1U << 30) ? n : 1U << 30);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return dgi_fail_errno(err, errno, "write '%s'", path);
		at += done;
		n -= (size_t)done;
	}
	return DG_OK;
}

dg_status dgi_ids_save(const struct dgi_ids *column, const char *path, dg_error *err)
{
	struct dgi_ids_writer w;
	dg_status st = dgi_ids_writer_open(path, column->bytes, &w, err);

	if (st)
		return st;
	st = dgi_ids_write_all(&w, column, err);
	return dgi_ids_writer_close(&w, st, err);
}

dg_status dgi_ids_writer_open(const char *path, uint32_t bytes, struct dgi_ids_writer *out,
			      dg_error *err)
{
	struct dgi_ids_writer w = { .bytes = bytes, .path = strdup(path) };
	dg_status st = w.path ? dgi_ids_new(BUFFER_ELEMENTS, bytes, &w.buffer, err)
			      : dgi_fail_memory(err, path);

	w.fd = st ? -1 : open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (!st && w.fd < 0)
		st = dgi_fail_errno(err, errno, "create '%s'", path);
	if (st) {
		dgi_ids_clear(&w.buffer);
		free(w.path);
		*out = (struct dgi_ids_writer){ 0 };
		return st;
	}
	*out = w;
	return DG_OK;
}

static dg_status flush(struct dgi_ids_writer *w, dg_error *err)
{
	size_t bytes = w->n * w->bytes;

	w->n = 0;
	return write_bytes(w->fd, w->path, w->buffer.data, bytes, err);
}

dg_status dgi_ids_write(struct dgi_ids_writer *writer, int64_t value, dg_error *err)
{
	dgi_ids_set(&writer->buffer, (int64_t)writer->n++, value);
	return writer->n == BUFFER_ELEMENTS ? flush(writer, err) : DG_OK;
}

dg_status dgi_ids_write_all(struct dgi_ids_writer *writer, const struct dgi_ids *from,
			    dg_error *err)
{
	dg_status st = flush(writer, err);

	DGI_ASSERT(writer->bytes == from->bytes);
	if (st)
		return st;
	return write_bytes(writer->fd, writer->path, from->data, (size_t)from->n * from->bytes,
			   err);
}

dg_status dgi_ids_writer_close(struct dgi_ids_writer *writer, dg_status status, dg_error *err)
{
	if (!writer->path)
		return status;
	if (!status)
		status = flush(writer, err);
	if (close(writer->fd) != 0 && !status)
		status = dgi_fail_errno(err, errno, "close '%s'", writer->path);
	dgi_ids_clear(&writer->buffer);
	free(writer->path);
	*writer = (struct dgi_ids_writer){ 0 };
	return status;
}
