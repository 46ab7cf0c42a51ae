/*
 * make.c -- the files of a new store, written once, in the order of their keys.
 *
 * The large values are appended as they come. Descriptions of arrays and tensors, whose keys are
 * below theirs, are kept until the end.
 */
#include "make.h"

#include "bytes.h"
#include "check.h"
#include "chunk.h"
#include "env.h"
#include "fail.h"
#include "files.h"
#include "lock.h"
#include "mark.h"
#include "segment.h"
#include "superblock.h"
#include "tensor_info.h"
#include "uuid.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A transaction ends once its values have so many bytes: they lie in memory until then. */
#define TRANSACTION_BYTES (UINT64_C(16) << 20)
#define MAP_BYTES (UINT64_C(64) << 30) /* at first; halved until it fits */
#define MAP_BYTES_MIN (UINT64_C(1) << 20)

/* A file being made. */
struct output {
	struct dgi_env *env;
	bool in_transaction;
	uint64_t bytes; /* of values in this transaction */
};

struct made_array {
	uint16_t etype;
	uint8_t kind;
	struct dgi_array_info info;
};

struct dgi_volume_maker {
	char *path;
	struct dgi_superblock superblock;
	struct output graph;
	struct output tensors;
	struct output journal;
	struct made_array *arrays;
	size_t n_arrays, arrays_capacity;
	dg_tensor_info *infos;
	size_t n_infos, infos_capacity;
	uint64_t segment_bytes;
	bool failed; /* what was written is of no use */
};

/* --- One file --- */

static dg_status output_open(struct output *o, const char *directory, const char *name,
			     dg_error *err)
{
	uint64_t map_bytes = MAP_BYTES;
	char *path;
	dg_status st;

	if (asprintf(&path, "%s/%s", directory, name) < 0)
		return dgi_fail_memory(err, name);
	st = dgi_env_open(path, true, map_bytes, &o->env, err);
	while (st == DG_NOMEM && map_bytes > MAP_BYTES_MIN) {
		map_bytes /= 2;
		st = dgi_env_open(path, true, map_bytes, &o->env, err);
	}
	free(path);
	return st;
}

static dg_status output_commit(struct output *o, dg_error *err)
{
	if (!o->in_transaction)
		return DG_OK;
	o->in_transaction = false;
	o->bytes = 0;
	return dgi_env_commit(o->env, err);
}

static dg_status output_begin(struct output *o, uint64_t value_bytes, dg_error *err)
{
	uint64_t needed;
	uint64_t more = TRANSACTION_BYTES + value_bytes;
	dg_status st = dgi_env_grow(o->env, dgi_env_map_wanted(o->env, more, &needed), err);

	if (st && (st != DG_NOMEM || needed > dgi_env_map_bytes(o->env)))
		return st;
	st = dgi_env_begin(o->env, err);
	o->in_transaction = !st;
	return st;
}

/* Room for a value, to be filled before the next call. */
static dg_status output_reserve(struct output *o, const struct dgi_key *key, size_t value_bytes,
				bool append, uint8_t **out, dg_error *err)
{
	uint8_t key_bytes[DGI_KEY_BYTES_MAX];
	struct dgi_env_value value;
	dg_status st = DG_OK;

	if (o->bytes > 0 && o->bytes + value_bytes > TRANSACTION_BYTES)
		st = output_commit(o, err);
	if (!st && !o->in_transaction)
		st = output_begin(o, value_bytes, err);
	if (!st)
		st = dgi_env_reserve(o->env, key_bytes, dgi_key_encode(key, key_bytes), value_bytes,
				     append, &value, err);
	if (st)
		return st;
	o->bytes += value_bytes;
	*out = value.data;
	return DG_OK;
}

/* A small record. */
static dg_status output_put(struct output *o, const struct dgi_key *key, const dg_uuid *uuid,
			    const void *payload, size_t n, dg_error *err)
{
	struct dgi_record record = { .kind = key->kind,
				     .version = DGI_RECORD_VERSION,
				     .payload_bytes = n };
	uint8_t *value;
	dg_status st = output_reserve(o, key, DGI_RECORD_HEADER_BYTES + n, false, &value, err);

	if (st)
		return st;
	if (n)
		memcpy(value + DGI_RECORD_HEADER_BYTES, payload, n);
	dgi_record_seal(value, &record, uuid, key, value + DGI_RECORD_HEADER_BYTES, n);
	return DG_OK;
}

/* --- Beginning --- */

static dg_status put_superblocks(struct dgi_volume_maker *m, dg_error *err)
{
	const struct dgi_key key = { .kind = DGI_KIND_SUPERBLOCK };
	uint8_t payload[DGI_SUPERBLOCK_BYTES];
	dg_status st;

	dgi_superblock_encode(&m->superblock, payload);
	st = output_put(&m->graph, &key, NULL, payload, sizeof payload, err);
	if (!st)
		st = output_put(&m->tensors, &key, NULL, payload, sizeof payload, err);
	if (!st)
		st = output_put(&m->journal, &key, NULL, payload, sizeof payload, err);
	return st;
}

static dg_status put_singles(struct dgi_volume_maker *m, const void *book, size_t book_bytes,
			     dg_error *err)
{
	const struct dgi_key book_key = { .kind = DGI_KIND_BOOK };
	const struct dgi_key identity_key = { .kind = DGI_KIND_IDENTITY };
	const dg_uuid *uuid = &m->superblock.store_uuid;
	const uint8_t no_incarnation_yet[8] = { 0 };
	dg_status st = output_put(&m->graph, &book_key, uuid, book, book_bytes, err);

	if (!st)
		st = output_put(&m->journal, &identity_key, uuid, no_incarnation_yet,
				sizeof no_incarnation_yet, err);
	return st;
}

/* An empty file whose lock says who has the store; made here so that readers need not. */
static dg_status make_lock_file(const char *directory, dg_error *err)
{
	char *path;
	int fd;
	dg_status st = DG_OK;

	if (asprintf(&path, "%s/%s", directory, DGI_LOCK_FILE) < 0)
		return dgi_fail_memory(err, directory);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		st = dgi_fail_errno(err, errno, "create '%s'", path);
	else
		(void)close(fd);
	free(path);
	return st;
}

static dg_status make_files(struct dgi_volume_maker *m, const void *book, size_t book_bytes,
			    dg_error *err)
{
	dg_status st = dgi_filesystem_check(m->path, err);

	if (!st)
		st = make_lock_file(m->path, err);
	if (!st)
		st = output_open(&m->graph, m->path, DGI_GRAPH_FILE, err);
	if (!st)
		st = output_open(&m->tensors, m->path, DGI_TENSORS_FILE, err);
	if (!st)
		st = output_open(&m->journal, m->path, DGI_JOURNAL_FILE, err);
	if (!st)
		st = dgi_mark_make(m->path, &m->superblock.store_uuid, err);
	if (!st)
		st = put_superblocks(m, err);
	if (!st)
		st = put_singles(m, book, book_bytes, err);
	return st;
}

static dg_status check_superblock(const struct dgi_superblock *s, dg_error *err)
{
	if (dgi_uuid_is_zero(&s->store_uuid) || dgi_uuid_is_zero(&s->cluster_uuid))
		return dgi_fail(err, DG_INVALID,
				"a store needs a UUID of its own and its cluster's");
	if (s->n_parts < 1 || s->n_parts > DG_PARTS_MAX || s->part >= s->n_parts)
		return dgi_fail(err, DG_INVALID, "part %" PRIu32 " of %" PRIu32 ", at most %d",
				s->part, s->n_parts, DG_PARTS_MAX);
	return DG_OK;
}

dg_status dgi_volume_make(const char *path, const struct dgi_superblock *superblock,
			  const void *book, size_t book_bytes, struct dgi_volume_maker **out,
			  dg_error *err)
{
	struct dgi_volume_maker *m;
	dg_status st = check_superblock(superblock, err);

	if (st)
		return st;
	m = calloc(1, sizeof *m);
	if (!m || !(m->path = strdup(path))) {
		free(m);
		return dgi_fail_memory(err, path);
	}
	m->superblock = *superblock;
	m->superblock.format_read = DGI_FORMAT_VERSION;
	m->superblock.format_write = DGI_FORMAT_VERSION;
	m->segment_bytes = DGI_SEGMENT_BYTES;
	st = make_files(m, book, book_bytes, err);
	if (st) {
		(void)dgi_volume_maker_close(m, false, NULL);
		return dgi_context(err, st, "new store '%s'", path);
	}
	*out = m;
	return DG_OK;
}

void dgi_volume_maker_set_segment_bytes(struct dgi_volume_maker *maker, uint64_t bytes)
{
	DGI_ASSERT(bytes > 0 && bytes % 8 == 0 && bytes <= DGI_SEGMENT_BYTES);
	maker->segment_bytes = bytes;
}

/* --- Structure arrays --- */

static dg_status remember_array(struct dgi_volume_maker *m, const struct made_array *array,
				dg_error *err)
{
	const struct made_array *last = m->n_arrays ? &m->arrays[m->n_arrays - 1] : NULL;
	size_t capacity = m->arrays_capacity ? m->arrays_capacity * 2 : 8;
	struct made_array *arrays;

	if (array->info.dtype != DG_INT32 && array->info.dtype != DG_INT64)
		return dgi_fail(err, DG_INVALID, "array of %s, want int32 or int64",
				dg_dtype_name(array->info.dtype));
	if (last && (array->etype < last->etype ||
		     (array->etype == last->etype && array->kind <= last->kind)))
		return dgi_fail(err, DG_INVALID, "after array %u of edge type %u", last->kind,
				last->etype);
	if (m->n_arrays == m->arrays_capacity) {
		arrays = realloc(m->arrays, capacity * sizeof *arrays);
		if (!arrays)
			return dgi_fail_memory(err, "new store");
		m->arrays = arrays;
		m->arrays_capacity = capacity;
	}
	m->arrays[m->n_arrays++] = *array;
	return DG_OK;
}

static dg_status make_segment(struct dgi_volume_maker *m, const struct made_array *array,
			      uint64_t number, dgi_fill_fn *fill, void *context, dg_error *err)
{
	const uint64_t elements = dgi_array_elements(&array->info, number);
	const struct dgi_segment_layout layout =
		dgi_segment_layout_of(elements * dg_dtype_bytes(array->info.dtype));
	const struct dgi_key key = { .kind = DGI_KIND_SEGMENT,
				     .etype = array->etype,
				     .array = array->kind,
				     .segment = (uint32_t)number };
	uint8_t *value;
	dg_status st = output_reserve(&m->graph, &key, layout.value_bytes, true, &value, err);

	if (!st)
		st = fill(context, (int64_t)(number * array->info.segment_elements),
			  (int64_t)elements, value + DGI_RECORD_HEADER_BYTES, err);
	if (!st)
		dgi_segment_seal(value, &layout, &m->superblock.store_uuid, &key, elements);
	return st;
}

dg_status dgi_volume_maker_array(struct dgi_volume_maker *maker, uint16_t etype, uint8_t kind,
				 dg_dtype dtype, int64_t n, dgi_fill_fn *fill, void *context,
				 dg_error *err)
{
	size_t element_bytes = dg_dtype_bytes(dtype);
	struct made_array array = { .etype = etype, .kind = kind };
	dg_status st;

	if (n < 0)
		return dgi_fail(err, DG_INVALID, "array of %" PRId64 " elements", n);
	array.info.dtype = dtype;
	array.info.n = (uint64_t)n;
	array.info.segment_elements = maker->segment_bytes / (element_bytes ? element_bytes : 1);
	st = remember_array(maker, &array, err);
	for (uint64_t i = 0; !st && i < dgi_array_n_segments(&array.info); i++)
		st = make_segment(maker, &array, i, fill, context, err);
	if (!st)
		return DG_OK;
	maker->failed = true;
	return dgi_context(err, st, "array %u of edge type %u", kind, etype);
}

/* --- Tensors --- */

static dg_status remember_tensor(struct dgi_volume_maker *m, const dg_tensor_info *info,
				 dg_error *err)
{
	size_t capacity = m->infos_capacity ? m->infos_capacity * 2 : 8;
	dg_tensor_info *infos;
	dg_status st = dgi_tensor_info_check(info, err);

	if (st)
		return st;
	if (m->n_infos == DG_TENSORS_MAX)
		return dgi_fail(err, DG_INVALID, "tensor '%s': more than %d tensors", info->name,
				DG_TENSORS_MAX);
	if (m->n_infos > 0 && info->id <= m->infos[m->n_infos - 1].id)
		return dgi_fail(err, DG_INVALID, "tensor '%s': id %" PRIu32 " after id %" PRIu32,
				info->name, info->id, m->infos[m->n_infos - 1].id);
	if (m->n_infos == m->infos_capacity) {
		infos = realloc(m->infos, capacity * sizeof *infos);
		if (!infos)
			return dgi_fail_memory(err, "new store");
		m->infos = infos;
		m->infos_capacity = capacity;
	}
	m->infos[m->n_infos++] = *info;
	return DG_OK;
}

static dg_status make_chunk(struct dgi_volume_maker *m, uint32_t tensor, const struct dgi_cut *cut,
			    uint64_t number, dgi_fill_fn *fill, void *context, dg_error *err)
{
	const struct dgi_key key = { .kind = DGI_KIND_CHUNK, .tensor = tensor, .chunk = number };
	const uint32_t n_rows = dgi_cut_rows(cut, number);
	const size_t payload_bytes = (size_t)n_rows * cut->row_bytes;
	const size_t end = DGI_RECORD_HEADER_BYTES + payload_bytes;
	struct dgi_record record = { .kind = DGI_KIND_CHUNK,
				     .version = DGI_RECORD_VERSION,
				     .payload_bytes = payload_bytes,
				     .count = n_rows };
	uint8_t *value;
	dg_status st = output_reserve(&m->tensors, &key, cut->value_bytes, true, &value, err);

	if (!st)
		st = fill(context, (int64_t)(number * cut->chunk_rows), n_rows,
			  value + DGI_RECORD_HEADER_BYTES, err);
	if (st)
		return st;
	memset(value + end, 0, cut->value_bytes - end);
	dgi_record_seal(value, &record, &m->superblock.store_uuid, &key,
			value + DGI_RECORD_HEADER_BYTES, payload_bytes);
	return DG_OK;
}

/* Pages and rows of a chunk, where they are not chosen; members of a group are cut alike. */
static dg_status choose_cut(const struct dgi_volume_maker *m, dg_tensor_info *info, dg_error *err)
{
	const dg_tensor_info *first = NULL;

	for (size_t i = 0; i < m->n_infos && info->group; i++)
		if (m->infos[i].id == info->group)
			first = &m->infos[i];
	if (!first && info->group && info->group != info->id)
		return dgi_fail(err, DG_INVALID,
				"tensor '%s': no tensor %" PRIu32 " to be grouped with", info->name,
				info->group);
	dgi_choose_cut(first, info);
	return DG_OK;
}

dg_status dgi_volume_maker_tensor(struct dgi_volume_maker *maker, const dg_tensor_info *info,
				  dgi_fill_fn *fill, void *context, dg_error *err)
{
	dg_tensor_info full = *info;
	struct dgi_cut cut;
	dg_status st = dgi_tensor_info_set_row_bytes(&full, err);

	if (!st)
		st = choose_cut(maker, &full, err);
	if (!st)
		st = remember_tensor(maker, &full, err);
	if (!st)
		cut = dgi_cut_of(&full);
	for (uint64_t i = 0; !st && i < cut.n_chunks; i++)
		st = make_chunk(maker, full.id, &cut, i, fill, context, err);
	if (!st)
		return DG_OK;
	maker->failed = true;
	return dgi_context(err, st, "tensor '%s'", full.name);
}

/* --- Ending --- */

static dg_status put_descriptions(struct dgi_volume_maker *m, dg_error *err)
{
	const struct dgi_key sessions_key = { .kind = DGI_KIND_SESSIONS };
	const dg_uuid *uuid = &m->superblock.store_uuid;
	uint8_t array_payload[DGI_ARRAY_INFO_BYTES];
	uint8_t tensor_payload[DGI_TENSOR_INFO_BYTES_MAX];
	dg_status st = DG_OK;

	for (size_t i = 0; i < m->n_arrays && !st; i++) {
		const struct dgi_key key = { .kind = DGI_KIND_ARRAY,
					     .etype = m->arrays[i].etype,
					     .array = m->arrays[i].kind };

		dgi_array_info_encode(&m->arrays[i].info, array_payload);
		st = output_put(&m->graph, &key, uuid, array_payload, sizeof array_payload, err);
	}
	for (size_t i = 0; i < m->n_infos && !st; i++) {
		const struct dgi_key key = { .kind = DGI_KIND_TENSOR, .tensor = m->infos[i].id };
		size_t n = dgi_tensor_info_encode(&m->infos[i], tensor_payload);

		st = output_put(&m->tensors, &key, uuid, tensor_payload, n, err);
	}
	/* An empty session table, which says that no write has been. */
	if (!st)
		st = output_put(&m->tensors, &sessions_key, uuid, NULL, 0, err);
	return st;
}

dg_status dgi_volume_maker_close(struct dgi_volume_maker *maker, bool keep, dg_error *err)
{
	dg_status st = DG_OK;

	if (keep && maker->failed)
		st = dgi_fail(err, DG_INVALID, "new store '%s': incomplete", maker->path);
	if (keep && !st) {
		st = put_descriptions(maker, err);
		/* Commits sync: nothing is left to be written after the last. */
		if (!st)
			st = output_commit(&maker->graph, err);
		if (!st)
			st = output_commit(&maker->tensors, err);
		if (!st)
			st = output_commit(&maker->journal, err);
	}
	dgi_env_close(maker->graph.env, true);
	dgi_env_close(maker->tensors.env, true);
	dgi_env_close(maker->journal.env, true);
	free(maker->arrays);
	free(maker->infos);
	free(maker->path);
	free(maker);
	return st;
}
