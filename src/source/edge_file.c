/* edge_file.c -- edges of a source in their files: blocks of pairs read, checked, written. */
#include "source.h"

#include "bytes.h"
#include "check.h"
#include "fail.h"
#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Files and memory are both little-endian: pairs are copied as they lie. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "a big-endian machine");

/* --- Reading --- */

struct dgi_edge_reader {
	const struct dgi_source *source;
	const struct dgi_source_edges *edges;
	uint16_t type;
	int fd;
	int64_t at; /* edge that is next */
	uint64_t n_src, n_dst;
	uint8_t pairs[DGI_EDGE_BLOCK * 16];
	dg_id src[DGI_EDGE_BLOCK];
	dg_id dst[DGI_EDGE_BLOCK];
};

static dg_status check_file(const struct dgi_edge_reader *r, dg_error *err)
{
	const struct dgi_source_edges *edges = r->edges;
	struct stat info;
	uint64_t room;

	if (fstat(r->fd, &info) != 0)
		return dgi_fail_errno(err, errno, "stat '%s'", edges->path);
	room = (uint64_t)info.st_size >= edges->offset ? (uint64_t)info.st_size - edges->offset : 0;
	if (room / (2 * edges->id_bytes) < (uint64_t)edges->n)
		return dgi_fail(err, DG_INVALID,
				"'%s': %" PRIu64 " bytes, too few for %" PRId64 " edges",
				edges->path, (uint64_t)info.st_size, edges->n);
	return DG_OK;
}

dg_status dgi_edge_reader_open(const struct dgi_source *source, uint16_t edge_type, int64_t first,
			       struct dgi_edge_reader **out, dg_error *err)
{
	const struct dgi_source_edges *edges = &source->edges[edge_type];
	struct dgi_edge_reader *r;
	dg_status st;

	DGI_ASSERT(edge_type < source->n_edge_types);
	DGI_ASSERT(first >= 0 && first <= edges->n);
	DGI_ASSERT(edges->id_bytes == 4 || edges->id_bytes == 8);
	r = malloc(sizeof *r);
	if (!r)
		return dgi_fail_memory(err, "edge reader");
	r->source = source;
	r->edges = edges;
	r->type = edge_type;
	r->at = first;
	r->n_src = (uint64_t)source->nodes[edges->src_type].n;
	r->n_dst = (uint64_t)source->nodes[edges->dst_type].n;
	r->fd = open(edges->path, O_RDONLY | O_CLOEXEC);
	if (r->fd < 0) {
		st = dgi_fail_errno(err, errno, "open '%s'", edges->path);
	} else {
		(void)posix_fadvise(r->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
		st = check_file(r, err);
	}
	if (st) {
		dgi_edge_reader_close(r);
		return st;
	}
	*out = r;
	return DG_OK;
}

/* Pairs apart into sources and destinations; returns false where an id is not below its count. */
static bool split32(struct dgi_edge_reader *r, size_t n)
{
	bool sound = true;

	for (size_t i = 0; i < n; i++) {
		uint32_t pair[2];

		memcpy(pair, r->pairs + i * sizeof pair, sizeof pair);
		sound &= pair[0] < r->n_src;
		sound &= pair[1] < r->n_dst;
		r->src[i] = pair[0];
		r->dst[i] = pair[1];
	}
	return sound;
}

static bool split64(struct dgi_edge_reader *r, size_t n)
{
	bool sound = true;

	for (size_t i = 0; i < n; i++) {
		uint64_t pair[2];

		memcpy(pair, r->pairs + i * sizeof pair, sizeof pair);
		sound &= pair[0] < r->n_src;
		sound &= pair[1] < r->n_dst;
		r->src[i] = (dg_id)pair[0];
		r->dst[i] = (dg_id)pair[1];
	}
	return sound;
}

static dg_status fail_range(const struct dgi_edge_reader *r, size_t n, dg_error *err)
{
	char type[DGI_EDGE_TYPE_TEXT_BYTES];
	size_t i = 0;
	bool is_src;

	while (i < n && (uint64_t)r->src[i] < r->n_src && (uint64_t)r->dst[i] < r->n_dst)
		i++;
	DGI_ASSERT(i < n);
	is_src = (uint64_t)r->src[i] >= r->n_src;
	dgi_source_edge_type_text(r->source, r->type, type);
	return dgi_fail(err, DG_RANGE,
			"'%s': edge %" PRId64 " of type %.200s has %s %" PRIu64
			", want less than %" PRIu64,
			r->edges->path, r->at + (int64_t)i, type, is_src ? "source" : "destination",
			(uint64_t)(is_src ? r->src[i] : r->dst[i]), is_src ? r->n_src : r->n_dst);
}

dg_status dgi_edge_reader_next(struct dgi_edge_reader *reader, const dg_id **src, const dg_id **dst,
			       size_t *n, dg_error *err)
{
	const size_t pair_bytes = 2 * reader->edges->id_bytes;
	const int64_t left = reader->edges->n - reader->at;
	const size_t here = left < DGI_EDGE_BLOCK ? (size_t)left : DGI_EDGE_BLOCK;
	dg_status st;

	*n = here;
	*src = reader->src;
	*dst = reader->dst;
	if (here == 0)
		return DG_OK;
	st = dgi_read_at(reader->fd, reader->edges->offset + (uint64_t)reader->at * pair_bytes,
			 reader->pairs, here * pair_bytes, err);
	if (st)
		return dgi_context(err, st, "'%s'", reader->edges->path);
	if (!(reader->edges->id_bytes == 4 ? split32(reader, here) : split64(reader, here)))
		return fail_range(reader, here, err);
	reader->at += (int64_t)here;
	return DG_OK;
}

void dgi_edge_reader_close(struct dgi_edge_reader *reader)
{
	if (!reader)
		return;
	if (reader->fd >= 0)
		(void)close(reader->fd);
	free(reader);
}

/* --- Writing --- */

struct dgi_edge_writer {
	char *path;
	int fd;
	uint32_t id_bytes;
	size_t n; /* pairs in the block */
	uint8_t pairs[DGI_EDGE_BLOCK * 16];
};

uint32_t dgi_edge_id_bytes(int64_t n_src, int64_t n_dst)
{
	const int64_t most = (int64_t)1 << 32;

	return n_src <= most && n_dst <= most ? 4 : 8;
}

dg_status dgi_edge_writer_open(const char *path, uint32_t id_bytes, struct dgi_edge_writer **out,
			       dg_error *err)
{
	struct dgi_edge_writer *w = malloc(sizeof *w);
	dg_status st;

	DGI_ASSERT(id_bytes == 4 || id_bytes == 8);
	if (!w)
		return dgi_fail_memory(err, "edge writer");
	w->id_bytes = id_bytes;
	w->n = 0;
	w->path = strdup(path);
	w->fd = w->path ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;
	if (w->fd < 0) {
		st = w->path ? dgi_fail_errno(err, errno, "create '%s'", path)
			     : dgi_fail_memory(err, path);
		free(w->path);
		free(w);
		return st;
	}
	*out = w;
	return DG_OK;
}

static dg_status flush(struct dgi_edge_writer *w, dg_error *err)
{
	size_t left = w->n * 2 * w->id_bytes;
	const uint8_t *from = w->pairs;

	w->n = 0;
	while (left > 0) {
		ssize_t done = write(w->fd, from, left);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return dgi_fail_errno(err, errno, "write '%s'", w->path);
		from += done;
		left -= (size_t)done;
	}
	return DG_OK;
}

static dg_status put_pair(struct dgi_edge_writer *w, dg_id src, dg_id dst, dg_error *err)
{
	const uint64_t most = w->id_bytes == 4 ? UINT32_MAX : INT64_MAX;
	uint8_t *to = w->pairs + w->n * 2 * w->id_bytes;

	if ((uint64_t)src > most || (uint64_t)dst > most)
		return dgi_fail(err, DG_RANGE,
				"'%s': edge %" PRId64 " to %" PRId64 ", want ids of %" PRIu32
				" bytes",
				w->path, src, dst, w->id_bytes);
	memcpy(to, &src, w->id_bytes);
	memcpy(to + w->id_bytes, &dst, w->id_bytes);
	w->n++;
	return DG_OK;
}

dg_status dgi_edge_writer_append(struct dgi_edge_writer *writer, const dg_id *src, const dg_id *dst,
				 size_t n, dg_error *err)
{
	dg_status st = DG_OK;

	for (size_t i = 0; !st && i < n; i++) {
		st = put_pair(writer, src[i], dst[i], err);
		if (!st && writer->n == DGI_EDGE_BLOCK)
			st = flush(writer, err);
	}
	return st;
}

dg_status dgi_edge_writer_close(struct dgi_edge_writer *writer, bool keep, dg_error *err)
{
	dg_status st = DG_OK;

	if (!writer)
		return DG_OK;
	if (keep)
		st = flush(writer, err);
	if (keep && !st && fdatasync(writer->fd) != 0)
		st = dgi_fail_errno(err, errno, "sync '%s'", writer->path);
	if (close(writer->fd) != 0 && keep && !st)
		st = dgi_fail_errno(err, errno, "close '%s'", writer->path);
	if (!keep || st)
		(void)unlink(writer->path);
	free(writer->path);
	free(writer);
	return st;
}
