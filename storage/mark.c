/* mark.c -- the high-water mark: two slots of 512 bytes, written in turn. */
#include "mark.h"

#include "bytes.h"
#include "fail.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#define MAGIC UINT32_C(0x314d4744) /* "DGM1" */
#define CHECKED_BYTES (DGI_MARK_SLOT_BYTES - 8)

void dgi_mark_encode(const struct dgi_mark *mark, uint64_t turn, const dg_uuid *store_uuid,
		     uint8_t out[DGI_MARK_SLOT_BYTES])
{
	struct dgi_writer w = dgi_writer_of(out, CHECKED_BYTES);

	dgi_write_u32(&w, MAGIC);
	dgi_write_u32(&w, mark->clean);
	dgi_write_u64(&w, turn);
	dgi_write_u64(&w, mark->log_number);
	dgi_write_u64(&w, mark->incarnation);
	dgi_write_bytes(&w, store_uuid->bytes, sizeof store_uuid->bytes);
	dgi_write_zeros(&w, w.left);
	dgi_put_u64(out + CHECKED_BYTES, XXH3_64bits(out, CHECKED_BYTES));
}

dg_status dgi_mark_decode(const uint8_t in[DGI_MARK_SLOT_BYTES], const dg_uuid *store_uuid,
			  struct dgi_mark *out, uint64_t *turn, dg_error *err)
{
	struct dgi_reader r = dgi_reader_of(in, CHECKED_BYTES);
	uint32_t magic = dgi_read_u32(&r);
	struct dgi_mark mark = { .clean = dgi_read_u32(&r) == 1 };
	dg_uuid uuid;

	if (magic != MAGIC || dgi_get_u64(in + CHECKED_BYTES) != XXH3_64bits(in, CHECKED_BYTES))
		return dgi_fail(err, DG_CORRUPT, "mark: its checksum does not match");
	*turn = dgi_read_u64(&r);
	mark.log_number = dgi_read_u64(&r);
	mark.incarnation = dgi_read_u64(&r);
	dgi_read_bytes(&r, uuid.bytes, sizeof uuid.bytes);
	if (memcmp(uuid.bytes, store_uuid->bytes, sizeof uuid.bytes) != 0)
		return dgi_fail(err, DG_MISMATCH, "mark: of another store");
	*out = mark;
	return DG_OK;
}

static dg_status mark_path(const char *directory, char **out, dg_error *err)
{
	if (asprintf(out, "%s/%s", directory, DGI_MARK_FILE) < 0)
		return dgi_fail_memory(err, DGI_MARK_FILE);
	return DG_OK;
}

dg_status dgi_mark_write(struct dgi_mark_file *file, const struct dgi_mark *mark, dg_error *err)
{
	uint8_t slot[DGI_MARK_SLOT_BYTES];
	off_t at;

	file->turn++;
	at = (off_t)(file->turn & 1) * DGI_MARK_SLOT_BYTES;
	dgi_mark_encode(mark, file->turn, &file->store_uuid, slot);
	errno = ENOSPC; /* what a short write means */
	if (pwrite(file->fd, slot, sizeof slot, at) != (ssize_t)sizeof slot ||
	    fdatasync(file->fd) != 0)
		return dgi_fail_errno(err, errno, "write the mark");
	return DG_OK;
}

dg_status dgi_mark_make(const char *directory, const dg_uuid *store_uuid, dg_error *err)
{
	struct dgi_mark_file file = { .store_uuid = *store_uuid };
	struct dgi_mark nothing = { .clean = true };
	char *path;
	dg_status st = mark_path(directory, &path, err);

	if (st)
		return st;
	file.fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (file.fd < 0)
		st = dgi_fail_errno(err, errno, "create '%s'", path);
	for (int i = 0; i < 2 && !st; i++)
		st = dgi_mark_write(&file, &nothing, err);
	dgi_mark_close(&file);
	free(path);
	return st;
}

/* The sound slot with the higher turn. */
static dg_status choose(const uint8_t *slots, struct dgi_mark_file *file, struct dgi_mark *out,
			dg_error *err)
{
	dg_status st = DG_CORRUPT;

	for (int i = 0; i < 2; i++) {
		struct dgi_mark mark;
		uint64_t turn;
		dg_status here = dgi_mark_decode(slots + (ptrdiff_t)i * DGI_MARK_SLOT_BYTES,
						 &file->store_uuid, &mark, &turn, err);

		if (here || (!st && turn < file->turn))
			continue;
		st = DG_OK;
		file->turn = turn;
		*out = mark;
	}
	return st;
}

dg_status dgi_mark_open(const char *directory, bool writable, const dg_uuid *store_uuid,
			struct dgi_mark_file *file, struct dgi_mark *out, dg_error *err)
{
	int flags = (writable ? O_RDWR : O_RDONLY) | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
	uint8_t slots[2 * DGI_MARK_SLOT_BYTES] = { 0 };
	char *path;
	dg_status st = mark_path(directory, &path, err);

	if (st)
		return st;
	*file = (struct dgi_mark_file){ .store_uuid = *store_uuid };
	file->fd = open(path, flags);
	if (file->fd < 0)
		st = dgi_fail_errno(err, errno, "open '%s'", path);
	else if (pread(file->fd, slots, sizeof slots, 0) < 0)
		st = dgi_fail_errno(err, errno, "read '%s'", path);
	else
		st = choose(slots, file, out, err);
	free(path);
	if (st || !writable)
		dgi_mark_close(file);
	return st;
}

void dgi_mark_close(struct dgi_mark_file *file)
{
	if (file->fd >= 0)
		(void)close(file->fd);
	file->fd = -1;
}
