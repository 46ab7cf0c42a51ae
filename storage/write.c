/*
 * write.c -- pushes: which chunks they touch, and the transaction that gives each of these a new
 * image.
 *
 * All writes of a call share one transaction where they fit. First each write is looked at: if it
 * is refused it leaves no trace; else its rows are queued, in order, at their chunks. Then each
 * chunk touched is copied, its queue applied, and put under the transaction's log number while its
 * old image is deleted. After the commit the new images are published, before any other
 * transaction begins, because liblmdb uses the freed pages again in the next but one.
 */
#include "inside.h"

#include "bytes.h"
#include "fail.h"
#include "record.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A transaction stays far below 131,071 dirty entries: an image costs one, and at most two pages
 * of the tree. */
#define IMAGES_MAX 32768
#define IMAGE_BYTES_MAX (UINT64_C(2) << 30)
/* Of the tree and the free list, for each image, at the worst. */
#define TREE_BYTES_PER_IMAGE (2 * DGI_PAGE_BYTES)

#define NO_ITEM UINT32_MAX
#define ITEMS_MAX ((size_t)UINT32_MAX - 1)

/* A chunk that gets a new image, with the queue of rows that change it. */
struct touched {
	const struct dgi_rows *rows;
	uint64_t chunk;
	uint32_t first_item;
	uint32_t last_item;
};

/* One transaction in the making. An item is a row of a write; they are numbered in order. */
struct plan {
	struct dgi_volume *volume;
	struct dgi_write **writes; /* those that are in */
	uint32_t *first_items;	   /* of each of them, and the number behind the last */
	size_t n_writes;
	uint32_t *next_items; /* each item's successor in its queue */
	struct touched *touched;
	struct dgi_image *images; /* of the same chunks */
	size_t n_touched;
	size_t capacity;
	uint64_t image_bytes;
};

static void refuse(struct dgi_write *w, dg_status st)
{
	w->status = st;
	w->error.status = st;
}

/* --- Planning --- */

static dg_status touch(struct plan *p, const struct dgi_rows *rows, uint64_t chunk, dg_error *err)
{
	size_t entry = rows->first_entry + chunk;
	size_t capacity = p->capacity ? p->capacity * 2 : 64;
	dg_status st = dgi_rows_verify(&p->volume->table, rows, chunk, err);
	void *larger;

	if (st)
		return st;
	if (p->n_touched == p->capacity) {
		larger = realloc(p->touched, capacity * sizeof *p->touched);
		if (!larger)
			return dgi_fail_memory(err, "write");
		p->touched = larger;
		larger = realloc(p->images, capacity * sizeof *p->images);
		if (!larger)
			return dgi_fail_memory(err, "write");
		p->images = larger;
		p->capacity = capacity;
	}
	p->touched[p->n_touched] = (struct touched){
		.rows = rows, .chunk = chunk, .first_item = NO_ITEM, .last_item = NO_ITEM
	};
	p->images[p->n_touched] = (struct dgi_image){ .entry = entry };
	p->volume->marks[entry] = (uint32_t)++p->n_touched;
	p->image_bytes += rows->cut.value_bytes;
	return DG_OK;
}

/* Forgets the chunks touched since there were @n of them. */
static void untouch(struct plan *p, size_t n)
{
	while (p->n_touched > n) {
		const struct touched *t = &p->touched[--p->n_touched];

		p->volume->marks[t->rows->first_entry + t->chunk] = 0;
		p->image_bytes -= t->rows->cut.value_bytes;
	}
}

static uint64_t chunk_of(const struct dgi_rows *rows, dg_id id)
{
	return dgi_divide(&rows->cut.by_rows, (uint64_t)id);
}

/* Touches the chunks of a write, whose rows are there. */
static dg_status touch_all(struct plan *p, const struct dgi_write *w, const struct dgi_rows *rows,
			   dg_error *err)
{
	for (size_t i = 0; i < w->n; i++) {
		uint64_t chunk = chunk_of(rows, w->rows[i]);
		dg_status st;

		if (p->volume->marks[rows->first_entry + chunk])
			continue;
		st = touch(p, rows, chunk, err);
		if (st)
			return st;
		if (p->n_touched > IMAGES_MAX || p->image_bytes > IMAGE_BYTES_MAX)
			return dgi_fail(err, DG_FULL,
					"it changes more than %d chunks or %" PRIu64
					" MiB of chunks: write fewer rows at once",
					IMAGES_MAX, IMAGE_BYTES_MAX >> 20);
	}
	return DG_OK;
}

static void queue_rows(struct plan *p, struct dgi_write *w, const struct dgi_rows *rows)
{
	uint32_t item = p->first_items[p->n_writes];

	for (size_t i = 0; i < w->n; i++, item++) {
		size_t entry = rows->first_entry + chunk_of(rows, w->rows[i]);
		struct touched *t = &p->touched[p->volume->marks[entry] - 1];

		p->next_items[item] = NO_ITEM;
		if (t->last_item == NO_ITEM)
			t->first_item = item;
		else
			p->next_items[t->last_item] = item;
		t->last_item = item;
	}
	p->writes[p->n_writes++] = w;
	p->first_items[p->n_writes] = item;
}

/* What can be said against a write without looking at any chunk. */
static dg_status check_write(const struct dgi_volume *v, const struct dgi_write *w, size_t *tensor,
			     dg_error *err)
{
	const struct dgi_catalogue *c = &v->tensors.catalogue;
	int64_t n_rows;

	if (!dgi_catalogue_find(c, w->tensor, tensor))
		return dgi_fail(err, DG_NOTFOUND, "no tensor %" PRIu32, w->tensor);
	if (c->infos[*tensor].flags & DG_TENSOR_SYSTEM)
		return dgi_fail(err, DG_INVALID, "tensor '%s' is kept by the store itself",
				c->infos[*tensor].name);
	n_rows = c->infos[*tensor].n_rows;
	for (size_t i = 0; i < w->n; i++)
		if (w->rows[i] < 0 || w->rows[i] >= n_rows)
			return dgi_fail(err, DG_RANGE,
					"tensor '%s': row %" PRId64 ", there are %" PRId64 " rows",
					c->infos[*tensor].name, w->rows[i], n_rows);
	return DG_OK;
}

/*
 * Takes a write in, or refuses it. *again: it does not fit behind those that are in already, and
 * is to be offered once these are written.
 */
static void plan_write(struct plan *p, struct dgi_write *w, bool *again)
{
	const struct dgi_catalogue *c = &p->volume->tensors.catalogue;
	size_t n_touched = p->n_touched;
	size_t tensor;
	dg_status st = check_write(p->volume, w, &tensor, &w->error);

	*again = false;
	if (st) {
		refuse(w, st);
		return;
	}
	st = touch_all(p, w, &c->rows[tensor], &w->error);
	if (!st) {
		w->status = DG_OK;
		w->error = (dg_error){ 0 };
		queue_rows(p, w, &c->rows[tensor]);
		return;
	}
	untouch(p, n_touched);
	if (st == DG_FULL && p->n_writes > 0) {
		*again = true;
		return;
	}
	if (st == DG_FULL)
		st = DG_INVALID;
	refuse(w, dgi_context(&w->error, st, "tensor '%s'", c->infos[tensor].name));
}

/* --- Writing --- */

static void apply_queue(const struct plan *p, const struct touched *t, uint8_t *payload)
{
	const size_t row_bytes = t->rows->cut.row_bytes;
	const dg_id first_row = (dg_id)(t->chunk * t->rows->cut.chunk_rows);
	size_t w = 0;

	for (uint32_t item = t->first_item; item != NO_ITEM; item = p->next_items[item]) {
		const struct dgi_write *write;
		const uint8_t *data;
		size_t i;

		while (item >= p->first_items[w + 1])
			w++;
		write = p->writes[w];
		i = item - p->first_items[w];
		data = (const uint8_t *)write->data + i * row_bytes;
		memcpy(payload + (size_t)(write->rows[i] - first_row) * row_bytes, data, row_bytes);
	}
}

static dg_status write_image(const struct plan *p, size_t number, uint64_t log, dg_error *err)
{
	struct dgi_volume *v = p->volume;
	const struct touched *t = &p->touched[number];
	struct dgi_image *image = &p->images[number];
	const uint32_t n_rows = dgi_cut_rows(&t->rows->cut, t->chunk);
	const size_t payload_bytes = (size_t)n_rows * t->rows->cut.row_bytes;
	const size_t end = DGI_RECORD_HEADER_BYTES + payload_bytes;
	struct dgi_key key = {
		.kind = DGI_KIND_CHUNK, .tensor = t->rows->tensor, .chunk = t->chunk, .log = log
	};
	struct dgi_record record = { .kind = DGI_KIND_CHUNK,
				     .version = DGI_RECORD_VERSION,
				     .payload_bytes = payload_bytes,
				     .log = log,
				     .count = n_rows };
	uint8_t key_bytes[DGI_KEY_BYTES_MAX];
	struct dgi_env_value value;
	dg_status st = dgi_env_reserve(v->env, key_bytes, dgi_key_encode(&key, key_bytes),
				       t->rows->cut.value_bytes, false, &value, err);

	if (st)
		return st;
	dgi_rows_copy_chunk(&v->table, t->rows, t->chunk, value.data + DGI_RECORD_HEADER_BYTES);
	apply_queue(p, t, value.data + DGI_RECORD_HEADER_BYTES);
	memset(value.data + end, 0, t->rows->cut.value_bytes - end);
	dgi_record_seal(value.data, &record, &v->graph.superblock.store_uuid, &key,
			value.data + DGI_RECORD_HEADER_BYTES, payload_bytes);
	image->page = value.page;
	image->log = log;
	key.log = dgi_table_log(&v->table, image->entry);
	return dgi_env_delete(v->env, key_bytes, dgi_key_encode(&key, key_bytes), err);
}

/* Room in liblmdb's map and in ours, ours first: it must cover all that is ever published. */
static dg_status make_room(struct dgi_volume *v, uint64_t bytes, dg_error *err)
{
	uint64_t needed;
	uint64_t wanted = dgi_env_map_wanted(v->env, bytes, &needed);
	dg_status st = dgi_map_extend(&v->tensors_map, dgi_env_fd(v->env), (size_t)wanted, err);

	if (!st)
		st = dgi_env_grow(v->env, wanted, err);
	if (st != DG_NOMEM)
		return st;
	if (needed <= dgi_env_map_bytes(v->env))
		return DG_OK;
	return dgi_fail(err, DG_FULL, "no address space for a map of %" PRIu64 " bytes", wanted);
}

static dg_status commit_plan(const struct plan *p, uint64_t log, dg_error *err)
{
	struct dgi_volume *v = p->volume;
	dg_status st = make_room(
		v, p->image_bytes + p->n_touched * (DGI_PAGE_HEADER_BYTES + TREE_BYTES_PER_IMAGE),
		err);

	if (!st)
		st = dgi_env_begin(v->env, err);
	for (size_t i = 0; i < p->n_touched && !st; i++)
		st = write_image(p, i, log, err);
	if (st)
		dgi_env_abort(v->env);
	else
		st = dgi_env_commit(v->env, err);
	return st;
}

/* Writes what has been planned and forgets it. Fails with IO: no more writes. */
static dg_status flush(struct plan *p, dg_error *err)
{
	struct dgi_volume *v = p->volume;
	uint64_t log = atomic_load(&v->log_number) + 1;
	dg_error error = { 0 };
	dg_status st = DG_OK;

	if (p->n_touched > 0)
		st = commit_plan(p, log, &error);
	if (!st && p->n_touched > 0) {
		dgi_table_publish(&v->table, p->images, p->n_touched);
		atomic_store(&v->log_number, log);
	}
	if (st && st != DG_FULL && st != DG_NOMEM) {
		v->broken = true;
		st = dgi_context(&error, DG_IO, "store '%s' takes no more writes", v->path);
		if (err)
			*err = error;
	}
	for (size_t i = 0; i < p->n_writes && st; i++) {
		p->writes[i]->error = error;
		refuse(p->writes[i], st);
	}
	untouch(p, 0);
	p->n_writes = 0;
	return v->broken ? DG_IO : DG_OK;
}

static dg_status plan_open(struct plan *p, struct dgi_volume *volume,
			   const struct dgi_write *writes, size_t n, dg_error *err)
{
	size_t n_items = 0;

	for (size_t i = 0; i < n; i++)
		if (!dgi_add_size(n_items, writes[i].n, &n_items) || n_items > ITEMS_MAX)
			return dgi_fail(err, DG_INVALID, "writes of more than %zu rows at once",
					ITEMS_MAX);
	*p = (struct plan){
		.volume = volume,
		.writes = malloc((n ? n : 1) * sizeof *p->writes),
		.first_items = calloc(n + 1, sizeof *p->first_items),
		.next_items = malloc((n_items ? n_items : 1) * sizeof *p->next_items),
	};
	if (!p->writes || !p->first_items || !p->next_items)
		return dgi_fail_memory(err, "write");
	return DG_OK;
}

static void plan_close(struct plan *p)
{
	free(p->writes);
	free(p->first_items);
	free(p->next_items);
	free(p->touched);
	free(p->images);
}

/* Why the volume takes no writes at all; OK if it does. */
static dg_status check_volume(const struct dgi_volume *v, dg_error *err)
{
	if (!v->writable)
		return dgi_fail(err, DG_DENIED, "store '%s' is open read only", v->path);
	if (dgi_lock_is_inherited(v->lock))
		return dgi_fail(err, DG_DENIED, "store '%s' belongs to the process that opened it",
				v->path);
	if (v->broken)
		return dgi_fail(err, DG_IO, "store '%s' takes no more writes", v->path);
	return DG_OK;
}

static void refuse_all(struct dgi_write *writes, size_t n, const dg_error *error)
{
	for (size_t i = 0; i < n; i++) {
		writes[i].error = *error;
		refuse(&writes[i], error->status);
	}
}

dg_status dgi_volume_write(struct dgi_volume *volume, struct dgi_write *writes, size_t n,
			   dg_error *err)
{
	struct plan plan = { 0 };
	dg_error error = { 0 };
	dg_status st = check_volume(volume, &error);

	if (!st)
		st = plan_open(&plan, volume, writes, n, &error);
	if (st) {
		refuse_all(writes, n, &error);
		plan_close(&plan);
		if (err)
			*err = error;
		return st == DG_IO ? st : DG_OK;
	}
	for (size_t i = 0; i < n && !st; i++) {
		bool again;

		plan_write(&plan, &writes[i], &again);
		if (!again)
			continue;
		st = flush(&plan, &error);
		if (st)
			refuse_all(writes + i, n - i, &error);
		else
			plan_write(&plan, &writes[i], &again);
	}
	if (!st)
		st = flush(&plan, &error);
	if (st && err)
		*err = error;
	plan_close(&plan);
	return st;
}

dg_status dgi_volume_put_identity(struct dgi_volume *volume, dg_error *err)
{
	const struct dgi_key key = { .kind = DGI_KIND_IDENTITY };
	struct dgi_record record = { .kind = DGI_KIND_IDENTITY,
				     .version = DGI_RECORD_VERSION,
				     .payload_bytes = DGI_IDENTITY_BYTES,
				     .log = atomic_load(&volume->log_number) };
	uint8_t key_bytes[DGI_KEY_BYTES_MAX];
	size_t n = dgi_key_encode(&key, key_bytes);
	struct dgi_env_value value;
	dg_status st = make_room(volume, DGI_PAGE_BYTES, err);

	if (!st)
		st = dgi_env_begin(volume->env, err);
	if (!st)
		st = dgi_env_delete(volume->env, key_bytes, n, err);
	if (!st)
		st = dgi_env_reserve(volume->env, key_bytes, n,
				     DGI_RECORD_HEADER_BYTES + DGI_IDENTITY_BYTES, false, &value,
				     err);
	if (st) {
		dgi_env_abort(volume->env);
		return st;
	}
	dgi_put_u64(value.data + DGI_RECORD_HEADER_BYTES, volume->incarnation);
	dgi_record_seal(value.data, &record, &volume->graph.superblock.store_uuid, &key,
			value.data + DGI_RECORD_HEADER_BYTES, DGI_IDENTITY_BYTES);
	return dgi_env_commit(volume->env, err);
}
