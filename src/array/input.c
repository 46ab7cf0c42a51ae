/* input.c -- an input file read from front to end, plain or packed by gzip. */
#include "input.h"

#include "fail.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define ZLIB_BUFFER_BYTES (256U << 10)
#define READ_BYTES_MAX ((size_t)1 << 30) /* gzread counts in int */

static dg_status look_at(struct dgi_input *in, int fd, dg_error *err)
{
	struct stat st;

	if (fstat(fd, &st) != 0)
		return dgi_fail_errno(err, errno, "stat '%s'", in->path);
	if (S_ISDIR(st.st_mode))
		return dgi_fail(err, DG_INVALID, "'%s': a directory, want a file", in->path);
	in->plain = S_ISREG(st.st_mode);
	in->file_bytes = in->plain ? (uint64_t)st.st_size : 0;
	return DG_OK;
}

dg_status dgi_input_open(const char *path, struct dgi_input *out, dg_error *err)
{
	struct dgi_input in = { .path = path };
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	dg_status st;

	if (fd < 0)
		return dgi_fail_errno(err, errno, "open '%s'", path);
	st = look_at(&in, fd, err);
	if (!st) {
		in.gz = gzdopen(fd, "rb");
		if (!in.gz)
			st = dgi_fail_memory(err, path);
	}
	if (st) {
		(void)close(fd);
		return st;
	}
	(void)gzbuffer(in.gz, ZLIB_BUFFER_BYTES);
	if (!gzdirect(in.gz))
		in.plain = false;
	*out = in;
	return DG_OK;
}

void dgi_input_close(struct dgi_input *in)
{
	if (in->gz)
		(void)gzclose_r(in->gz);
	in->gz = NULL;
}

/* zlib reports a cut file only here, after all it could unpack was given out. */
static dg_status check_end(struct dgi_input *in, dg_error *err)
{
	int number;
	const char *text = gzerror(in->gz, &number);

	if (number == Z_OK || number == Z_STREAM_END)
		return DG_OK;
	if (number == Z_ERRNO)
		return dgi_fail_errno(err, errno, "read '%s'", in->path);
	if (number == Z_MEM_ERROR)
		return dgi_fail_memory(err, in->path);
	if (number == Z_BUF_ERROR)
		return dgi_fail(err, DG_INVALID, "'%s': gzip data is cut short", in->path);
	return dgi_fail(err, DG_INVALID, "'%s': damaged gzip data: %s", in->path, text);
}

dg_status dgi_input_read(struct dgi_input *in, void *data, size_t n, size_t *got, dg_error *err)
{
	size_t done = 0;

	while (done < n) {
		size_t piece = n - done < READ_BYTES_MAX ? n - done : READ_BYTES_MAX;
		int now = gzread(in->gz, (char *)data + done, (unsigned)piece);

		if (now <= 0) {
			dg_status st = check_end(in, err);

			if (st)
				return st;
			break;
		}
		done += (size_t)now;
	}
	*got = done;
	return DG_OK;
}

dg_status dgi_input_tell(struct dgi_input *in, struct dgi_progress *progress, dg_error *err)
{
	z_off_t at = gzoffset(in->gz);
	uint64_t more = at > 0 && (uint64_t)at > in->file_at ? (uint64_t)at - in->file_at : 0;

	in->file_at += more;
	return dgi_progress_add(progress, more, err);
}
