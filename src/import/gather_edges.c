/*
 * gather_edges.c -- the edges' files: appended to in pieces, opened only for that, so that a graph
 * may have more types than a process may have files.
 */
#include "gather_edges.h"

#include "fail.h"
#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static dg_status write_all(int fd, const void *data, size_t n, const char *path, dg_error *err)
{
	const char *at = data;

	while (n > 0) {
		ssize_t now = write(fd, at, n);

		if (now < 0 && errno != EINTR)
			return dgi_fail_errno(err, errno, "write '%s'", path);
		if (now > 0) {
			at += now;
			n -= (size_t)now;
		}
	}
	return DG_OK;
}

static dg_status open_to_write(const char *path, int flags, int *fd, dg_error *err)
{
	*fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0600);
	return *fd < 0 ? dgi_fail_errno(err, errno, "open '%s'", path) : DG_OK;
}

static dg_status close_written(int fd, bool sync, dg_status st, const char *path, dg_error *err)
{
	if (!st && sync && fsync(fd) != 0)
		st = dgi_fail_errno(err, errno, "sync '%s'", path);
	if (close(fd) != 0 && !st)
		st = dgi_fail_errno(err, errno, "close '%s'", path);
	return st;
}

/* --- Edges --- */

static dg_status name_file(const struct dgi_gather *g, size_t type, char **out, dg_error *err)
{
	size_t room = strlen(g->work) + 32;

	*out = malloc(room);
	if (!*out)
		return dgi_fail_memory(err, "path");
	(void)snprintf(*out, room, "%s/edges-%zu", g->work, type);
	return DG_OK;
}

/* Rewrites a file of 4 bytes an id as one of 8, because an id came that needs them. */
static dg_status widen(struct dgi_gather *g, struct dgi_gather_edges *t, dg_error *err)
{
	const size_t n = DGI_HELD_EDGES_MAX * 2; /* ids at once */
	uint32_t *narrow = malloc(n * sizeof *narrow);
	uint64_t *wide = (uint64_t *)(void *)g->scratch;
	char *wider = malloc(strlen(t->path) + 8);
	FILE *from = narrow && wider ? fopen(t->path, "rbe") : NULL;
	int to = -1;
	size_t got = 1;
	dg_status st = DG_OK;

	if (!narrow || !wider)
		st = dgi_fail_memory(err, "edges");
	else if (!from)
		st = dgi_fail_errno(err, errno, "open '%s'", t->path);
	if (!st) {
		(void)sprintf(wider, "%s.wide", t->path);
		st = open_to_write(wider, O_TRUNC, &to, err);
	}
	while (!st && got > 0) {
		got = fread(narrow, sizeof *narrow, n, from);
		for (size_t i = 0; i < got; i++)
			wide[i] = narrow[i];
		st = write_all(to, wide, got * sizeof *wide, wider, err);
		if (!st && ferror(from))
			st = dgi_fail(err, DG_IO, "read '%s'", t->path);
	}
	if (to >= 0)
		st = close_written(to, false, st, wider, err);
	if (!st && rename(wider, t->path) != 0)
		st = dgi_fail_errno(err, errno, "rename '%s'", wider);
	if (from)
		(void)fclose(from);
	free(narrow);
	free(wider);
	if (!st)
		t->id_bytes = 8;
	return st;
}

/* The held ids as they go to the file; returns their bytes. */
static size_t pack(const struct dgi_gather_edges *t, uint8_t *out)
{
	const size_t n = 2 * t->n_held;
	uint32_t *narrow = (uint32_t *)(void *)out;

	if (t->id_bytes == 8) {
		memcpy(out, t->held, n * sizeof *t->held);
		return n * sizeof *t->held;
	}
	for (size_t i = 0; i < n; i++)
		narrow[i] = (uint32_t)t->held[i];
	return n * sizeof *narrow;
}

static bool is_wide(const struct dgi_gather_edges *t)
{
	uint64_t all = 0;

	for (size_t i = 0; i < 2 * t->n_held; i++)
		all |= t->held[i];
	return all > UINT32_MAX;
}

static dg_status flush(struct dgi_gather *g, struct dgi_gather_edges *t, bool sync, dg_error *err)
{
	const bool begin = t->id_bytes == 0;
	int fd;
	dg_status st = DG_OK;

	if (t->n_held == 0 && !sync)
		return DG_OK;
	if (begin) {
		st = name_file(g, (size_t)(t - g->edges), &t->path, err);
		t->id_bytes = is_wide(t) ? 8 : 4;
	} else if (t->id_bytes == 4 && is_wide(t)) {
		st = widen(g, t, err);
	}
	if (!st)
		st = open_to_write(t->path, begin ? O_TRUNC : O_APPEND, &fd, err);
	if (st)
		return st;
	st = write_all(fd, g->scratch, pack(t, g->scratch), t->path, err);
	st = close_written(fd, sync, st, t->path, err);
	t->n_held = 0;
	return st;
}

/* All types together hold too much: write it, and give the memory back. */
static dg_status flush_all(struct dgi_gather *g, dg_error *err)
{
	dg_status st = DG_OK;

	for (size_t i = 0; !st && i < g->n_edges; i++) {
		st = flush(g, &g->edges[i], false, err);
		free(g->edges[i].held);
		g->edges[i].held = NULL;
		g->edges[i].room = 0;
	}
	g->held_bytes = 0;
	return st;
}

/* Room for at least one more edge. */
static dg_status make_room(struct dgi_gather *g, struct dgi_gather_edges *t, dg_error *err)
{
	size_t room = t->room ? 4 * t->room : 64;
	uint64_t *held;
	dg_status st;

	if (t->n_held < t->room)
		return DG_OK;
	if (t->room == DGI_HELD_EDGES_MAX)
		return flush(g, t, false, err);
	if (g->held_bytes >= DGI_HELD_BYTES_MAX) {
		st = flush_all(g, err);
		if (st)
			return st;
		room = 64;
	}
	held = realloc(t->held, room * 2 * sizeof *held);
	if (!held)
		return dgi_fail_memory(err, "edges");
	g->held_bytes += (room - t->room) * 2 * sizeof *held;
	t->held = held;
	t->room = room;
	return DG_OK;
}

dg_status dgi_gather_append(struct dgi_gather *g, uint16_t edge_type, const dg_id *src,
			    const dg_id *dst, size_t n, dg_error *err)
{
	struct dgi_gather_edges *t = &g->edges[edge_type];

	while (n > 0) {
		size_t now;
		uint64_t *to;
		dg_status st = make_room(g, t, err);

		if (st)
			return st;
		now = t->room - t->n_held < n ? t->room - t->n_held : n;
		to = t->held + 2 * t->n_held;
		for (size_t i = 0; i < now; i++) {
			to[2 * i] = (uint64_t)src[i];
			to[2 * i + 1] = (uint64_t)dst[i];
		}
		t->n_held += now;
		t->n += (int64_t)now;
		src += now;
		dst += now;
		n -= now;
	}
	return DG_OK;
}

/* --- Finish --- */

static dg_status write_ids(const struct dgi_id_map *map, const char *path, dg_error *err)
{
	static const uint64_t zero = 0;
	int fd;
	dg_status st = open_to_write(path, O_TRUNC, &fd, err);

	if (st)
		return st;
	if (map->strings)
		st = write_all(fd, &zero, sizeof zero, path, err);
	if (!st)
		st = write_all(fd, map->keys.data, map->keys.n, path, err);
	if (!st)
		st = write_all(fd, map->bytes.data, map->bytes.n, path, err);
	return close_written(fd, true, st, path, err);
}

static dg_status finish_nodes(const struct dgi_gather *g, size_t type, struct dgi_source_nodes *out,
			      dg_error *err)
{
	const struct dgi_gather_nodes *t = &g->nodes[type];
	const bool outside = t->listed != DG_INPUT_IDS_AUTO || t->ids == DG_INPUT_IDS_INTEGERS ||
			     t->ids == DG_INPUT_IDS_STRINGS;
	size_t room = strlen(g->work) + 32;

	memcpy(out->name, t->name, sizeof out->name);
	out->n = t->n >= 0 ? t->n : outside ? t->map.n : t->largest + 1;
	if (!outside)
		return DG_OK;
	if (out->n != t->map.n)
		return dgi_fail(err, DG_MISMATCH,
				"node type '%s': %" PRId64 " different ids, want %" PRId64
				", the number of nodes%s%s: nodes without an edge need a list of "
				"ids",
				t->name, t->map.n, out->n, t->counted_by[0] ? " by " : "",
				t->counted_by);
	out->ids = t->map.strings ? DGI_IDS_STRINGS : DGI_IDS_INTEGERS;
	out->ids_path = malloc(room);
	if (!out->ids_path)
		return dgi_fail_memory(err, "path");
	(void)snprintf(out->ids_path, room, "%s/ids-%zu", g->work, type);
	return write_ids(&t->map, out->ids_path, err);
}

static dg_status finish_edges(struct dgi_gather *g, size_t type, struct dgi_source_edges *out,
			      dg_error *err)
{
	struct dgi_gather_edges *t = &g->edges[type];
	dg_status st = flush(g, t, true, err);

	if (st)
		return st;
	out->src_type = t->src;
	out->dst_type = t->dst;
	memcpy(out->relation, t->relation, sizeof out->relation);
	out->n = t->n;
	out->id_bytes = t->id_bytes;
	out->path = t->path;
	t->path = NULL;
	return DG_OK;
}

dg_status dgi_gather_finish(struct dgi_gather *g, struct dgi_source *out, dg_error *err)
{
	struct dgi_source source = { 0 };
	dg_status st = DG_OK;

	source.nodes = calloc(g->n_nodes + 1, sizeof *source.nodes);
	source.edges = calloc(g->n_edges + 1, sizeof *source.edges);
	if (!source.nodes || !source.edges)
		st = dgi_fail_memory(err, "types");
	if (!st) {
		source.n_node_types = (uint16_t)g->n_nodes;
		source.n_edge_types = (uint16_t)g->n_edges;
	}
	for (size_t i = 0; !st && i < g->n_nodes; i++)
		st = finish_nodes(g, i, &source.nodes[i], err);
	for (size_t i = 0; !st && i < g->n_edges; i++)
		st = finish_edges(g, i, &source.edges[i], err);
	if (!st)
		st = dgi_directory_sync(g->work, err);
	if (st) {
		dgi_source_clear(&source);
		return st;
	}
	*out = source;
	return DG_OK;
}
