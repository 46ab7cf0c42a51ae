/* volume.c -- opening a store's files, reading from them, closing. */
#include "inside.h"

#include "bytes.h"
#include "deadline.h"
#include "fail.h"
#include "files.h"
#include "record.h"
#include "reserve.h"
#include "superblock.h"
#include "warm.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Address space that a writable volume asks for, at least; it takes what there is. */
#define MAP_BYTES_MIN (UINT64_C(64) << 30)
#define MAP_FILES 4 /* … or so many times the file */
#define JOURNAL_QUOTA_BYTES (UINT64_C(2) << 30)
/* Table entries beyond those there, for tensors created later: 4 TiB in chunks of 64 KiB. */
#define TABLE_GROWTH (UINT64_C(1) << 26)
#define STALE_TABLE_MS 1000 /* how long other processes may believe a dead server's table */
/* Replay speed until one was measured, over at least so many bytes. */
#define REPLAY_BYTES_PER_S (256.0 * 1024 * 1024)
#define MEASURED_BYTES_MIN (UINT64_C(16) << 20)

/* --- Opening --- */

static dg_status no_store(const char *name, dg_error *err)
{
	return dgi_fail(err, DG_NOTFOUND, "no store there: it has no %s", name);
}

/* Opens one file of a store to be read, refusing what is not ours. */
static dg_status open_file(const char *directory, const char *name, int *out, dg_error *err)
{
	char *path;
	dg_status st = DG_OK;

	if (asprintf(&path, "%s/%s", directory, name) < 0)
		return dgi_fail_memory(err, name);
	*out = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (*out < 0 && errno == ENOENT)
		st = no_store(name, err);
	else if (*out < 0)
		st = dgi_fail_errno(err, errno, "open '%s'", name);
	else
		st = dgi_ownership_check(path, err);
	if (st && *out >= 0)
		(void)close(*out);
	free(path);
	return st;
}

static bool has_file(const char *directory, const char *name)
{
	struct stat info;
	char *path;
	bool has;

	if (asprintf(&path, "%s/%s", directory, name) < 0)
		return true; /* opening it will tell */
	has = lstat(path, &info) == 0 || errno != ENOENT;
	free(path);
	return has;
}

static dg_status check_directory(const char *path, dg_error *err)
{
	struct stat info;
	dg_status st;

	if (stat(path, &info) != 0)
		return errno == ENOENT || errno == ENOTDIR
			       ? dgi_fail(err, DG_NOTFOUND, "no such directory")
			       : dgi_fail_errno(err, errno, "stat");
	if (!S_ISDIR(info.st_mode))
		return dgi_fail(err, DG_NOTFOUND, "no directory, hence no store");
	st = dgi_filesystem_check(path, err);
	if (!st && !has_file(path, DGI_GRAPH_FILE))
		st = no_store(DGI_GRAPH_FILE, err);
	return st ? st : dgi_ownership_check(path, err);
}

static dg_status open_graph(struct dgi_volume *v, dg_error *err)
{
	int fd;
	dg_status st = open_file(v->path, DGI_GRAPH_FILE, &fd, err);

	if (st)
		return st;
	st = dgi_graph_contents_read(fd, false, &v->graph, err);
	if (!st)
		st = dgi_superblock_check(&v->graph.superblock, v->options.writable, err);
	if (!st)
		st = dgi_map_extend(&v->graph_map, fd, (size_t)v->graph.file_bytes, err);
	(void)close(fd);
	return st ? dgi_context(err, st, DGI_GRAPH_FILE) : DG_OK;
}

/* Reads tensors.mdb as it lies there. */
static dg_status open_tensors(struct dgi_volume *v, dg_error *err)
{
	int fd;
	dg_status st = open_file(v->path, DGI_TENSORS_FILE, &fd, err);

	if (st)
		return st;
	st = dgi_tensors_contents_read(fd, v->options.writable, &v->tensors, err);
	if (!st)
		st = dgi_superblock_match(&v->graph.superblock, &v->tensors.superblock,
					  DGI_TENSORS_FILE, err);
	if (!st)
		st = dgi_superblock_check(&v->tensors.superblock, v->options.writable, err);
	/* A writable volume maps more of it later; replay reads it before. */
	if (!st)
		st = dgi_map_extend(&v->tensors_map, fd, (size_t)v->tensors.file_bytes, err);
	(void)close(fd);
	return st ? dgi_context(err, st, DGI_TENSORS_FILE) : DG_OK;
}

static dg_status open_journal(struct dgi_volume *v, dg_error *err)
{
	int fd;
	dg_status st = open_file(v->path, DGI_JOURNAL_FILE, &fd, err);

	if (st)
		return st;
	st = dgi_journal_contents_read(fd, v->options.writable, &v->journaled, err);
	if (!st)
		st = dgi_superblock_match(&v->graph.superblock, &v->journaled.superblock,
					  DGI_JOURNAL_FILE, err);
	if (!st && v->journaled.n_blocks)
		st = dgi_map_extend(&v->journal_map, fd, (size_t)v->journaled.file_bytes, err);
	(void)close(fd);
	return st ? dgi_context(err, st, DGI_JOURNAL_FILE) : DG_OK;
}

/* Chunks without an image show their tensor's initial value. */
static dg_status fill_tensor(struct dgi_volume *v, size_t tensor, dg_error *err)
{
	struct dgi_catalogue *c = &v->tensors.catalogue;
	const size_t first = c->rows[tensor].first_entry;
	const struct dgi_image none = { 0 };
	uint32_t slot = DGI_NO_SLOT;
	dg_status st;

	for (size_t i = first; i < first + c->rows[tensor].cut.n_chunks; i++) {
		const struct dgi_image *image = c->images ? &c->images[i] : &none;

		if (image->page) {
			dgi_table_set(&v->table, image);
			continue;
		}
		if (slot == DGI_NO_SLOT) {
			st = dgi_hot_blank(&v->hot, c->infos[tensor].chunk_pages,
					   c->lives[tensor].value,
					   dg_dtype_bytes(c->infos[tensor].dtype), &slot, err);
			if (st)
				return st;
		}
		dgi_hot_show_blank(&v->hot, i, slot, false);
	}
	return DG_OK;
}

static dg_status fill_table(struct dgi_volume *v, dg_error *err)
{
	struct dgi_catalogue *c = &v->tensors.catalogue;
	size_t capacity = c->n_chunks + (v->options.writable ? TABLE_GROWTH : 0);
	dg_status st = dgi_table_open(&v->table, c->n_chunks, capacity, &v->tensors_map,
				      &v->graph.superblock.store_uuid, err);

	/* A store that has no such chunks, and no journal, needs no hot ones to be read. */
	if (!st && (v->options.writable || v->journal_map.n || c->n_sparse_chunks))
		st = dgi_hot_open(&v->hot, &v->table, c, UINT64_MAX, err);
	for (size_t i = 0; i < c->n && !st; i++)
		st = fill_tensor(v, i, err);
	free(c->images);
	c->images = NULL;
	return st;
}

static dg_status read_operations(struct dgi_volume *v, dg_error *err)
{
	dg_status st = dgi_operations_decode(&v->operations, v->tensors.operations,
					     v->tensors.operations_bytes, err);

	return st ? dgi_context(err, st, DGI_TENSORS_FILE) : DG_OK;
}

/* Operations on what was dropped are over; the others fit their tensors. */
static dg_status check_operations(struct dgi_volume *v, dg_error *err)
{
	const struct dgi_catalogue *c = &v->tensors.catalogue;

	for (size_t i = v->operations.n; i-- > 0;) {
		const struct dgi_operation *o = &v->operations.list[i];
		size_t index;

		if (dgi_catalogue_is_dead(c, o->tensor)) {
			dgi_operations_drop(&v->operations, o->tensor);
			i = v->operations.n;
			continue;
		}
		if (!dgi_catalogue_find(c, o->tensor, &index) ||
		    o->row_bytes != c->infos[index].row_bytes ||
		    (o->kind == DGI_ENTRY_FILL &&
		     (uint64_t)o->part.first + o->part.total > (uint64_t)c->infos[index].n_rows))
			return dgi_fail(err, DG_CORRUPT,
					"an operation under way on tensor %" PRIu32
					", which does not fit it",
					o->tensor);
	}
	return DG_OK;
}

/* What the journal holds becomes hot. */
static dg_status replay(struct dgi_volume *v, dg_error *err)
{
	int64_t begun_us = dgi_now_us();
	double seconds;
	dg_status st;

	v->log_number = v->tensors.log;
	if (v->options.without_journal)
		return v->journal_map.n
			       ? dgi_volume_pass_over(v, dgi_map_at(&v->journal_map, 0), err)
			       : DG_OK;
	st = DG_OK;
	if (v->journal_map.n)
		st = dgi_volume_replay(v, dgi_map_at(&v->journal_map, 0), err);
	if (st)
		return dgi_context(err, st, DGI_JOURNAL_FILE);
	seconds = (double)(dgi_now_us() - begun_us) * 1e-6;
	v->checkpoint.replay_bytes_per_s = REPLAY_BYTES_PER_S;
	if (v->journaled.file_bytes > MEASURED_BYTES_MIN && v->journal_map.n && seconds > 0)
		v->checkpoint.replay_bytes_per_s = (double)v->journaled.file_bytes / seconds;
	v->durable = v->log_number;
	return DG_OK;
}

/* Is the store as new as what it told to be durable? Also begins a new mark. */
static dg_status check_mark(struct dgi_volume *v, dg_error *err)
{
	struct dgi_mark mark;
	dg_status st = dgi_mark_open(v->path, v->options.writable, &v->graph.superblock.store_uuid,
				     &v->mark, &mark, err);

	if (st)
		return dgi_context(err, st, DGI_MARK_FILE);
	if (!v->options.without_journal && mark.log_number > v->log_number)
		return dgi_fail(err, DG_CORRUPT,
				"it has come back older than it was: its newest write is %" PRIu64
				", write %" PRIu64 " was durable; restore the newer files",
				atomic_load(&v->log_number), mark.log_number);
	if (!v->options.writable)
		return DG_OK;
	if (!mark.clean)
		v->checkpoint.not_before_ms = dgi_now_ms() + STALE_TABLE_MS;
	mark.clean = false;
	mark.incarnation = v->incarnation + 1;
	return dgi_mark_write(&v->mark, &mark, err);
}

/* liblmdb and our map beside it, both of @map_bytes. NOMEM: there is not so much address space. */
static dg_status open_env(struct dgi_volume *v, const char *file, uint64_t map_bytes, dg_error *err)
{
	dg_status st = dgi_env_open(file, false, map_bytes, &v->env, err);

	if (st)
		return st;
	st = dgi_map_extend(&v->tensors_map, dgi_env_fd(v->env), (size_t)map_bytes, err);
	if (st) {
		dgi_env_close(v->env, false);
		v->env = NULL;
	}
	return st;
}

static dg_status open_tensors_env(struct dgi_volume *v, dg_error *err)
{
	uint64_t file_bytes = v->tensors.file_bytes;
	uint64_t map_bytes = v->options.map_bytes ? v->options.map_bytes : MAP_BYTES_MIN;
	char *file;
	dg_status st;

	if (asprintf(&file, "%s/%s", v->path, DGI_TENSORS_FILE) < 0)
		return dgi_fail_memory(err, v->path);
	if (map_bytes / MAP_FILES < file_bytes && !v->options.map_bytes)
		map_bytes = (file_bytes * MAP_FILES + 0xffff) / 0x10000 * 0x10000;
	if (map_bytes < file_bytes)
		map_bytes = (file_bytes + 0xffff) / 0x10000 * 0x10000;
	st = open_env(v, file, map_bytes, err);
	while (st == DG_NOMEM && map_bytes / 2 > file_bytes) {
		map_bytes = map_bytes / 2 / 0x10000 * 0x10000;
		st = open_env(v, file, map_bytes, err);
	}
	free(file);
	return st;
}

static dg_status open_journal_env(struct dgi_volume *v, dg_error *err)
{
	uint64_t map_bytes = 4 * v->options.journal_quota_bytes;
	char *file;
	dg_status st;

	if (asprintf(&file, "%s/%s", v->path, DGI_JOURNAL_FILE) < 0)
		return dgi_fail_memory(err, v->path);
	if (map_bytes < 2 * v->journaled.file_bytes)
		map_bytes = 2 * v->journaled.file_bytes;
	map_bytes = (map_bytes + 0xffff) / 0x10000 * 0x10000;
	st = dgi_env_open(file, false, map_bytes, &v->journal_env, err);
	while (st == DG_NOMEM && map_bytes / 2 > v->journaled.file_bytes) {
		map_bytes = map_bytes / 2 / 0x10000 * 0x10000;
		st = dgi_env_open(file, false, map_bytes, &v->journal_env, err);
	}
	free(file);
	return st;
}

/* Puts the identity record with the volume's incarnation, in a transaction of its own. */
static dg_status put_identity(struct dgi_volume *v, dg_error *err)
{
	const struct dgi_key key = { .kind = DGI_KIND_IDENTITY };
	struct dgi_record record = { .kind = DGI_KIND_IDENTITY,
				     .version = DGI_RECORD_VERSION,
				     .payload_bytes = DGI_IDENTITY_BYTES,
				     .log = atomic_load(&v->log_number) };
	uint8_t key_bytes[DGI_KEY_BYTES_MAX];
	size_t n = dgi_key_encode(&key, key_bytes);
	struct dgi_env_value value;
	dg_status st = dgi_env_begin(v->journal_env, err);

	if (!st)
		st = dgi_env_delete(v->journal_env, key_bytes, n, err);
	if (!st)
		st = dgi_env_reserve(v->journal_env, key_bytes, n,
				     DGI_RECORD_HEADER_BYTES + DGI_IDENTITY_BYTES, false, &value,
				     err);
	if (st) {
		dgi_env_abort(v->journal_env);
		return st;
	}
	dgi_put_u64(value.data + DGI_RECORD_HEADER_BYTES, v->incarnation);
	dgi_record_seal(value.data, &record, &v->graph.superblock.store_uuid, &key,
			value.data + DGI_RECORD_HEADER_BYTES, DGI_IDENTITY_BYTES);
	return dgi_env_commit(v->journal_env, err);
}

/* Told by the journal's thread. */
static void note_durable(void *context, uint64_t log_number, dg_status status)
{
	struct dgi_volume *v = context;

	dgi_volume_raise_durable(v, log_number);
	if (status)
		v->broken = true;
	dgi_volume_tell(v, log_number, status);
}

static dg_status start_journal(struct dgi_volume *v, dg_error *err)
{
	struct dgi_journal_options options = {
		.env = v->journal_env,
		.uuid = v->graph.superblock.store_uuid,
		.quota_bytes = v->options.journal_quota_bytes,
		.blocks = v->journaled.blocks,
		.n_blocks = v->journaled.n_blocks,
		.last_log = atomic_load(&v->log_number),
		.durable = note_durable,
		.context = v,
	};

	return dgi_journal_open(&options, &v->journal, err);
}

static uint64_t half_of_memory(void)
{
	return (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE) / 2;
}

static dg_status open_for_writing(struct dgi_volume *v, dg_error *err)
{
	dg_status st;

	if (!v->options.journal_quota_bytes)
		v->options.journal_quota_bytes = JOURNAL_QUOTA_BYTES;
	if (!v->options.hot_bytes)
		v->options.hot_bytes = half_of_memory();
	dgi_slots_set_budget(v->hot.slots, v->options.hot_bytes);
	v->staged = dgi_reserve(v->table.capacity, sizeof *v->staged);
	if (!v->staged)
		return dgi_fail_memory(err, v->path);
	st = open_tensors_env(v, err);
	if (!st)
		st = open_journal_env(v, err);
	if (st)
		return st;
	v->incarnation++;
	st = put_identity(v, err);
	if (!st)
		st = start_journal(v, err);
	if (!st)
		st = dgi_checkpoint_start(v, err);
	for (size_t i = 0; i < v->tensors.catalogue.n_dead && !st; i++)
		if (v->tensors.catalogue.dead[i].has_chunks)
			dgi_checkpoint_request_purge(v);
	return st;
}

static dg_status open_all(struct dgi_volume *v, dg_error *err)
{
	dg_status st = check_directory(v->path, err);

	if (!st)
		st = dgi_lock_take(v->path, v->options.writable, &v->lock, err);
	if (!st)
		st = open_graph(v, err);
	if (!st)
		st = open_tensors(v, err);
	if (!st)
		st = open_journal(v, err);
	if (st)
		return st;
	v->incarnation = v->journaled.incarnation;
	v->sessions = v->tensors.sessions;
	v->tensors.sessions = NULL;
	st = fill_table(v, err);
	if (!st)
		st = read_operations(v, err);
	if (!st)
		st = replay(v, err);
	if (!st)
		st = check_operations(v, err);
	if (!st)
		st = check_mark(v, err);
	if (!st && v->options.writable)
		st = open_for_writing(v, err);
	return st;
}

dg_status dgi_volume_open(const char *path, const struct dgi_volume_options *options,
			  struct dgi_volume **out, dg_error *err)
{
	struct dgi_volume *v = calloc(1, sizeof *v);
	dg_status st;

	if (!v || !(v->path = strdup(path))) {
		free(v);
		return dgi_fail_memory(err, path);
	}
	v->mark.fd = -1;
	(void)pthread_mutex_init(&v->telling, NULL);
	(void)pthread_mutex_init(&v->env_lock, NULL);
	if (options)
		v->options = *options;
	st = open_all(v, err);
	if (st) {
		dgi_volume_close(v);
		return st == DG_BUSY ? st : dgi_context(err, st, "store '%s'", path);
	}
	*out = v;
	return DG_OK;
}

static void stop_writing(struct dgi_volume *v)
{
	dgi_checkpoint_stop(v);
	dgi_journal_close(v->journal);
	dgi_env_close(v->journal_env, false);
	dgi_env_close(v->env, false);
}

void dgi_volume_close(struct dgi_volume *volume)
{
	if (!volume)
		return;
	/* A forked child has its parent's environments, but none of its threads: it leaks what they
	 * work on. */
	if (volume->lock && dgi_lock_is_inherited(volume->lock)) {
		dgi_lock_release(volume->lock);
		return;
	}
	stop_writing(volume);
	dgi_mark_close(&volume->mark);
	dgi_unreserve(volume->staged, volume->table.capacity, sizeof *volume->staged);
	dgi_table_close(&volume->table);
	dgi_hot_close(&volume->hot);
	dgi_sessions_free(volume->sessions);
	dgi_operations_clear(&volume->operations);
	dgi_map_close(&volume->tensors_map);
	dgi_map_close(&volume->journal_map);
	dgi_map_close(&volume->graph_map);
	dgi_journal_contents_clear(&volume->journaled);
	dgi_tensors_contents_clear(&volume->tensors);
	dgi_graph_contents_clear(&volume->graph);
	dgi_lock_release(volume->lock);
	(void)pthread_mutex_destroy(&volume->telling);
	(void)pthread_mutex_destroy(&volume->env_lock);
	free(volume->path);
	free(volume);
}

/* --- What a volume says of itself --- */

const struct dgi_superblock *dgi_volume_superblock(const struct dgi_volume *volume)
{
	return &volume->graph.superblock;
}

static uint64_t size_of_file(const char *directory, const char *name)
{
	struct stat info;
	char *path;
	uint64_t bytes = 0;

	if (asprintf(&path, "%s/%s", directory, name) < 0)
		return 0;
	if (stat(path, &info) == 0)
		bytes = (uint64_t)info.st_size;
	free(path);
	return bytes;
}

void dgi_volume_get_info(const struct dgi_volume *volume, dg_store_info *out)
{
	const struct dgi_superblock *s = &volume->graph.superblock;

	*out = (dg_store_info){
		.store_uuid = s->store_uuid,
		.cluster_uuid = s->cluster_uuid,
		.part = s->part,
		.n_parts = s->n_parts,
		.incarnation = volume->incarnation,
		.log_number = atomic_load(&volume->log_number),
		.file_bytes = size_of_file(volume->path, DGI_GRAPH_FILE) +
			      size_of_file(volume->path, DGI_TENSORS_FILE) +
			      size_of_file(volume->path, DGI_JOURNAL_FILE),
		.format_read = s->format_read,
		.format_write = s->format_write,
		.left_out = volume->left_out.n,
		.left_out_first = volume->left_out.first,
		.left_out_last = volume->left_out.last,
	};
}

const uint8_t *dgi_volume_book(const struct dgi_volume *volume, size_t *n)
{
	*n = volume->graph.book_bytes;
	return volume->graph.book;
}

static int compare_ids(const void *a, const void *b)
{
	const dg_tensor_info *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

dg_status dgi_volume_list(const struct dgi_volume *volume, dg_tensor_info **out, size_t *n,
			  dg_error *err)
{
	const struct dgi_catalogue *c = &volume->tensors.catalogue;
	const size_t n_places = c->n;
	dg_tensor_info *list = malloc((n_places ? n_places : 1) * sizeof *list);

	if (!list)
		return dgi_fail_memory(err, "list of tensors");
	*n = 0;
	for (size_t i = 0; i < n_places; i++)
		if (!dgi_catalogue_is_gone(c, i))
			list[(*n)++] = c->infos[i];
	qsort(list, *n, sizeof *list, compare_ids);
	*out = list;
	return DG_OK;
}

const dg_tensor_info *dgi_volume_tensor(const struct dgi_volume *volume, uint32_t id)
{
	size_t i;

	return dgi_catalogue_find(&volume->tensors.catalogue, id, &i)
		       ? &volume->tensors.catalogue.infos[i]
		       : NULL;
}

/* --- Reading --- */

dg_status dgi_volume_gather(struct dgi_volume *volume, uint32_t tensor, const dg_id *rows, size_t n,
			    void *out, dg_error *err)
{
	const struct dgi_catalogue *c = &volume->tensors.catalogue;
	size_t i;
	dg_status st;

	if (!dgi_catalogue_find(c, tensor, &i))
		return dgi_fail(err, DG_NOTFOUND, "no tensor %" PRIu32, tensor);
	dgi_rows_warm(&volume->table, &c->rows[i], rows, n);
	st = dgi_rows_gather(&volume->table, &c->rows[i], rows, n, out, err);
	/* What was read of a tensor that goes meanwhile is of no use, nor is what was said of it. */
	if (dgi_catalogue_is_gone(c, i))
		st = dgi_fail(err, DG_NOTFOUND, "it has been dropped");
	return st ? dgi_context(err, st, "tensor '%s'", c->infos[i].name) : DG_OK;
}

static dg_status find_array(const struct dgi_volume *volume, uint16_t etype, uint8_t kind,
			    struct dgi_array **out, dg_error *err)
{
	*out = dgi_structure_find(&volume->graph.structure, etype, kind);
	return *out ? DG_OK
		    : dgi_fail(err, DG_NOTFOUND, "no structure array %u of edge type %u", kind,
			       etype);
}

dg_status dgi_volume_array(const struct dgi_volume *volume, uint16_t etype, uint8_t kind,
			   dg_dtype *dtype, int64_t *n, dg_error *err)
{
	struct dgi_array *array;
	dg_status st = find_array(volume, etype, kind, &array, err);

	if (st)
		return st;
	*dtype = array->info.dtype;
	*n = (int64_t)array->info.n;
	return DG_OK;
}

dg_status dgi_volume_array_read(struct dgi_volume *volume, uint16_t etype, uint8_t kind,
				int64_t first, int64_t n, void *out, dg_error *err)
{
	struct dgi_array *array;
	dg_status st = find_array(volume, etype, kind, &array, err);

	if (st)
		return st;
	if (first < 0 || n < 0 || (uint64_t)first > array->info.n ||
	    (uint64_t)n > array->info.n - (uint64_t)first)
		return dgi_fail(err, DG_RANGE,
				"array %u of edge type %u: %" PRId64 " elements from %" PRId64
				" on, there are %" PRIu64,
				kind, etype, n, first, array->info.n);
	return dgi_structure_read(array, &volume->graph_map, &volume->graph.superblock.store_uuid,
				  (uint64_t)first, (uint64_t)n, out, err);
}
