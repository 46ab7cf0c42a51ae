/*
 * create.c -- tensors that come and go while the store is open.
 *
 * A change of the catalogue is one transaction of tensors.mdb, and is known to nobody before it has
 * committed; so no journal entry names a tensor that a crash could take back. A new tensor has no
 * chunks in the file: all show one slot with its initial value until they are written. One that is
 * dropped leaves a tombstone; from then on nobody finds it, and the checkpoint's thread releases its
 * hot chunks and deletes its images, a few at a time, also after a restart.
 */
#include "inside.h"

#include "fail.h"
#include "record.h"
#include "uuid.h"

#include <inttypes.h>
#include <string.h>

#define RECORD_BYTES (DGI_RECORD_HEADER_BYTES + DGI_TENSOR_RECORD_BYTES_MAX)
#define PURGE_PAGES 4096 /* deleted in one transaction: the list of free pages stays short */
#define PURGE_CHUNKS 1024

static struct dgi_catalogue *catalogue_of(struct dgi_volume *v)
{
	return &v->tensors.catalogue;
}

/* --- What can be said against a new tensor --- */

/* The tensor made by the creation @uuid, alive or gone. */
static bool find_uuid(const struct dgi_catalogue *c, const dg_uuid *uuid, size_t *index)
{
	const size_t n = c->n;

	for (*index = 0; *index < n; ++*index)
		if (dgi_uuid_equal(&c->lives[*index].uuid, uuid))
			return true;
	return false;
}

static bool was_dropped(const struct dgi_catalogue *c, const dg_uuid *uuid)
{
	size_t index;

	if (find_uuid(c, uuid, &index))
		return dgi_catalogue_is_gone(c, index);
	for (size_t i = 0; i < c->n_dead; i++)
		if (dgi_uuid_equal(&c->dead[i].uuid, uuid))
			return true;
	return false;
}

static void spec_of(const struct dgi_catalogue *c, size_t index, dg_tensor_spec *out)
{
	const struct dgi_life *life = &c->lives[index];

	*out = (dg_tensor_spec){ .info = c->infos[index],
				 .uuid = life->uuid,
				 .lifetime = life->lifetime,
				 .seed = life->seed };
	memcpy(out->owner, life->owner, sizeof out->owner);
	memcpy(out->value, life->value, sizeof out->value);
}

static bool same_key(const dg_tensor_spec *a, const dg_tensor_spec *b)
{
	return a->info.side == b->info.side && a->info.type == b->info.type &&
	       strcmp(a->info.name, b->info.name) == 0;
}

/* Does a repeated creation ask for what is there? What was left to be chosen is not compared. */
static bool asks_for(const dg_tensor_spec *asked, const dg_tensor_spec *there)
{
	const dg_tensor_info *a = &asked->info, *b = &there->info;

	return same_key(asked, there) && strcmp(asked->owner, there->owner) == 0 &&
	       (a->id == 0 || a->id == b->id) && a->numbering == b->numbering &&
	       a->dtype == b->dtype && a->rank == b->rank &&
	       memcmp(a->shape, b->shape, a->rank * sizeof a->shape[0]) == 0 &&
	       a->n_rows == b->n_rows && a->durability == b->durability &&
	       a->interval_ms == b->interval_ms && a->flags == b->flags &&
	       asked->lifetime == there->lifetime && asked->seed == there->seed &&
	       memcmp(asked->value, there->value, sizeof asked->value) == 0;
}

/* Sets *existed where all were made before, and completes the specs. */
static dg_status look_for_repeat(struct dgi_volume *v, dg_tensor_spec *specs, size_t n,
				 bool *existed, dg_error *err)
{
	const struct dgi_catalogue *c = catalogue_of(v);
	dg_tensor_spec there;
	size_t n_found = 0, index;

	for (size_t i = 0; i < n; i++) {
		if (dgi_uuid_is_zero(&specs[i].uuid))
			continue;
		if (was_dropped(c, &specs[i].uuid))
			return dgi_fail(err, DG_NOTFOUND, "it was created before, and dropped");
		if (!find_uuid(c, &specs[i].uuid, &index))
			continue;
		spec_of(c, index, &there);
		if (!asks_for(&specs[i], &there))
			return dgi_fail(err, DG_MISMATCH,
					"the same creation has made tensor '%s' (number %" PRIu32
					"), which is another",
					there.info.name, there.info.id);
		n_found++;
	}
	*existed = n_found == n;
	if (n_found && n_found != n)
		return dgi_fail(err, DG_MISMATCH,
				"the same creation has made %zu of these %zu tensors", n_found, n);
	for (size_t i = 0; i < n && *existed; i++)
		if (find_uuid(c, &specs[i].uuid, &index))
			spec_of(c, index, &specs[i]);
	return DG_OK;
}

static dg_status check_name(struct dgi_volume *v, const dg_tensor_spec *specs, size_t i,
			    dg_error *err)
{
	const struct dgi_catalogue *c = catalogue_of(v);
	dg_tensor_spec other;
	bool taken = false;

	for (size_t k = 0; k < i; k++)
		taken |= same_key(&specs[k], &specs[i]);
	for (size_t k = 0; k < c->n && !taken; k++) {
		if (dgi_catalogue_is_gone(c, k) ||
		    strcmp(c->infos[k].name, specs[i].info.name) != 0)
			continue;
		spec_of(c, k, &other);
		taken = same_key(&other, &specs[i]);
	}
	return taken ? dgi_fail(err, DG_EXISTS, "there is a tensor of this name") : DG_OK;
}

static uint32_t next_id(const struct dgi_catalogue *c)
{
	uint32_t last = c->n_dead ? c->dead[c->n_dead - 1].id : 0;

	for (size_t i = 0; i < c->n; i++)
		if (c->infos[i].id > last)
			last = c->infos[i].id;
	return last + 1; /* 0 where there are no more */
}

static dg_status choose_ids(struct dgi_volume *v, dg_tensor_spec *specs, size_t n, dg_error *err)
{
	const struct dgi_catalogue *c = catalogue_of(v);
	uint32_t next = next_id(c);
	size_t index;

	for (size_t i = 0; i < n; i++) {
		uint32_t *id = &specs[i].info.id;

		if (*id == 0)
			*id = next;
		if (dgi_catalogue_find(c, *id, &index) || dgi_catalogue_is_dead(c, *id))
			return dgi_fail(err, DG_EXISTS, "number %" PRIu32 " has been used", *id);
		if (*id == 0 || (i > 0 && *id <= specs[i - 1].info.id))
			return dgi_fail(err, DG_INVALID,
					"number %" PRIu32 ": want ascending ones, from 1 on", *id);
		next = *id + 1;
	}
	return DG_OK;
}

/* Fills in what a caller may leave to us, and checks the rest. */
static dg_status complete(struct dgi_volume *v, dg_tensor_spec *specs, size_t i, size_t n,
			  dg_error *err)
{
	dg_tensor_spec *spec = &specs[i];
	dg_tensor_info *info = &spec->info;
	dg_status st = dgi_tensor_info_set_row_bytes(info, err);

	if (!st && dgi_uuid_is_zero(&spec->uuid))
		st = dgi_uuid_new(&spec->uuid, err);
	if (st)
		return st;
	info->group = n > 1 ? specs[0].info.id : 0;
	dgi_choose_cut(i > 0 ? &specs[0].info : NULL, info);
	st = dgi_tensor_info_check(info, err);
	if (!st)
		st = dgi_tensor_spec_check(spec, err);
	if (!st && (info->flags & DG_TENSOR_SYSTEM))
		st = dgi_fail(err, DG_INVALID, "system tensors are made with the store");
	if (!st && i > 0 &&
	    (!dgi_catalogue_go_together(info, &specs[0].info) ||
	     spec->lifetime != specs[0].lifetime || strcmp(spec->owner, specs[0].owner) != 0))
		st = dgi_fail(err, DG_INVALID,
			      "does not go with '%s', the first of its row group: want the same "
			      "rows, durability and lifetime",
			      specs[0].info.name);
	return st ? st : check_name(v, specs, i, err);
}

static size_t count_living(const struct dgi_catalogue *c)
{
	size_t n = 0;

	for (size_t i = 0; i < c->n; i++)
		n += !dgi_catalogue_is_gone(c, i);
	return n;
}

static dg_status check_limits(struct dgi_volume *v, const dg_tensor_spec *specs, size_t n,
			      dg_error *err)
{
	struct dgi_catalogue *c = catalogue_of(v);
	uint64_t n_chunks = 0;

	for (size_t i = 0; i < n; i++)
		n_chunks += dgi_cut_of(&specs[i].info).n_chunks;
	if (n_chunks > DGI_SPARSE_CHUNKS_MAX - c->n_sparse_chunks ||
	    n_chunks > v->table.capacity - v->table.n)
		return dgi_fail(err, DG_FULL,
				"%" PRIu64 " chunks more than the %zu there: too many; larger "
				"chunks, or opening the store anew, may help",
				n_chunks, c->n_chunks);
	if (count_living(c) + n > DG_TENSORS_MAX)
		return dgi_fail(err, DG_FULL, "more than %d tensors", DG_TENSORS_MAX);
	return dgi_catalogue_reserve(c, n, err);
}

/* --- The catalogue on disk --- */

/* Puts a tensor's record, or puts one in the place of the one there. */
static dg_status put_record(struct dgi_volume *v, const struct dgi_tensor_record *tensor,
			    dg_error *err)
{
	const struct dgi_key key = { .kind = DGI_KIND_TENSOR, .tensor = tensor->spec.info.id };
	uint8_t payload[DGI_TENSOR_RECORD_BYTES_MAX];
	const size_t n = dgi_tensor_record_encode(tensor, payload);
	struct dgi_record record = { .kind = DGI_KIND_TENSOR,
				     .version = DGI_TENSOR_RECORD_VERSION,
				     .payload_bytes = n };
	uint8_t key_bytes[DGI_KEY_BYTES_MAX];
	const size_t key_n = dgi_key_encode(&key, key_bytes);
	struct dgi_env_value value;
	dg_status st = DG_OK;

	if (tensor->dropped)
		st = dgi_env_delete(v->env, key_bytes, key_n, err);
	if (!st)
		st = dgi_env_reserve(v->env, key_bytes, key_n, DGI_RECORD_HEADER_BYTES + n, false,
				     &value, err);
	if (st)
		return st;
	memcpy(value.data + DGI_RECORD_HEADER_BYTES, payload, n);
	dgi_record_seal(value.data, &record, &v->graph.superblock.store_uuid, &key,
			value.data + DGI_RECORD_HEADER_BYTES, n);
	return DG_OK;
}

/* What is neither want of room nor of memory leaves the file in a state that nobody knows. */
static dg_status note_broken(struct dgi_volume *v, dg_status st)
{
	if (st && st != DG_FULL && st != DG_NOMEM) {
		v->broken = true;
		dgi_volume_tell(v, atomic_load(&v->durable), DG_IO);
	}
	return st;
}

static dg_status commit_records(struct dgi_volume *v, const dg_tensor_spec *specs, size_t n,
				bool dropped, dg_error *err)
{
	dg_status st = dgi_checkpoint_make_room(v, n * RECORD_BYTES + (UINT64_C(1) << 20), err);

	if (!st)
		st = dgi_env_begin(v->env, err);
	if (st)
		return note_broken(v, st);
	for (size_t i = 0; i < n && !st; i++) {
		struct dgi_tensor_record record = { specs[i], true, dropped };

		st = put_record(v, &record, err);
	}
	if (st)
		dgi_env_abort(v->env);
	else
		st = dgi_env_commit(v->env, err);
	return note_broken(v, st);
}

/* --- Creating --- */

static dg_status find_blanks(struct dgi_volume *v, const dg_tensor_spec *specs, size_t n,
			     uint32_t *slots, dg_error *err)
{
	dg_status st = DG_OK;

	dgi_table_lock(&v->table);
	for (size_t i = 0; i < n && !st; i++)
		st = dgi_hot_blank(&v->hot, specs[i].info.chunk_pages, specs[i].value,
				   dg_dtype_bytes(specs[i].info.dtype), &slots[i], err);
	dgi_table_unlock(&v->table);
	return st;
}

/* Nobody knows the new entries yet: they need no lock. */
static void publish(struct dgi_volume *v, const dg_tensor_spec *spec, uint32_t slot)
{
	const struct dgi_tensor_record record = { *spec, true, false };
	const size_t first = catalogue_of(v)->n_chunks;
	const uint64_t n_chunks = dgi_cut_of(&spec->info).n_chunks;

	(void)dgi_table_extend(&v->table, n_chunks, NULL); /* there is room: check_limits() */
	for (uint64_t i = 0; i < n_chunks; i++)
		dgi_hot_show_blank(&v->hot, first + i, slot, false);
	dgi_table_lock(&v->table);
	(void)dgi_catalogue_append(catalogue_of(v), &record);
	dgi_table_unlock(&v->table);
}

static dg_status create_locked(struct dgi_volume *v, dg_tensor_spec *specs, size_t n, bool *existed,
			       dg_error *err)
{
	uint32_t slots[DGI_GROUP_MAX];
	dg_status st = look_for_repeat(v, specs, n, existed, err);

	if (st || *existed)
		return st;
	st = choose_ids(v, specs, n, err);
	for (size_t i = 0; i < n && !st; i++) {
		st = complete(v, specs, i, n, err);
		if (st && i > 0)
			(void)dgi_context(err, st, "tensor '%s'", specs[i].info.name);
	}
	if (!st)
		st = check_limits(v, specs, n, err);
	if (!st)
		st = find_blanks(v, specs, n, slots, err);
	if (!st)
		st = commit_records(v, specs, n, false, err);
	for (size_t i = 0; i < n && !st; i++)
		publish(v, &specs[i], slots[i]);
	return st;
}

dg_status dgi_volume_create(struct dgi_volume *volume, dg_tensor_spec *specs, size_t n,
			    bool *existed, dg_error *err)
{
	dg_tensor_spec completed[DGI_GROUP_MAX];
	dg_status st = dgi_volume_check_writable(volume, err);

	*existed = false;
	if (st)
		return st;
	if (n == 0 || n > DGI_GROUP_MAX)
		return dgi_fail(err, DG_INVALID, "%zu tensors at once, want 1 to %d", n,
				DGI_GROUP_MAX);
	memcpy(completed, specs, n * sizeof *specs);
	(void)pthread_mutex_lock(&volume->env_lock);
	st = create_locked(volume, completed, n, existed, err);
	(void)pthread_mutex_unlock(&volume->env_lock);
	if (st)
		return dgi_context(err, st, "create tensor '%.255s'", specs[0].info.name);
	memcpy(specs, completed, n * sizeof *specs);
	return DG_OK;
}

dg_status dgi_volume_spec(const struct dgi_volume *volume, uint32_t tensor, dg_tensor_spec *out,
			  dg_error *err)
{
	size_t index;

	if (!dgi_catalogue_find(&volume->tensors.catalogue, tensor, &index))
		return dgi_fail(err, DG_NOTFOUND, "no tensor %" PRIu32, tensor);
	spec_of(&volume->tensors.catalogue, index, out);
	return DG_OK;
}

/* --- Dropping --- */

/* The tensors that go with it: all of its row group, of which it must be the first. */
static dg_status collect(struct dgi_volume *v, uint32_t tensor, size_t members[DGI_GROUP_MAX],
			 size_t *n, dg_error *err)
{
	const struct dgi_catalogue *c = catalogue_of(v);
	const dg_tensor_info *info;
	size_t first;

	if (!dgi_catalogue_find(c, tensor, &first))
		return dgi_fail(err, DG_NOTFOUND, "no tensor %" PRIu32, tensor);
	info = &c->infos[first];
	if (info->flags & DG_TENSOR_SYSTEM)
		return dgi_fail(err, DG_INVALID, "tensor '%s' is kept by the store itself",
				info->name);
	if (info->group && info->group != info->id)
		return dgi_fail(err, DG_INVALID,
				"tensor '%s' goes with its row group: drop tensor number %" PRIu32
				", the first of it",
				info->name, info->group);
	*n = 0;
	members[(*n)++] = first;
	for (size_t m = c->rows[first].next_member; m != first; m = c->rows[m].next_member)
		members[(*n)++] = m;
	return DG_OK;
}

static dg_status drop_locked(struct dgi_volume *v, uint32_t tensor, dg_error *err)
{
	struct dgi_catalogue *c = catalogue_of(v);
	dg_tensor_spec specs[DGI_GROUP_MAX];
	size_t members[DGI_GROUP_MAX];
	size_t n = 0;
	dg_status st = collect(v, tensor, members, &n, err);

	if (st)
		return st;
	for (size_t i = 0; i < n; i++)
		spec_of(c, members[i], &specs[i]);
	st = commit_records(v, specs, n, true, err);
	if (st)
		return dgi_context(err, st, "drop tensor '%s'", specs[0].info.name);
	dgi_table_lock(&v->table);
	for (size_t i = 0; i < n; i++) {
		atomic_store_explicit(&c->lives[members[i]].gone, true, memory_order_release);
		dgi_operations_drop(&v->operations, specs[i].info.id);
	}
	dgi_table_unlock(&v->table);
	dgi_checkpoint_request_purge(v);
	return DG_OK;
}

dg_status dgi_volume_drop(struct dgi_volume *volume, uint32_t tensor, dg_error *err)
{
	dg_status st = dgi_volume_check_writable(volume, err);

	if (st)
		return st;
	(void)pthread_mutex_lock(&volume->env_lock);
	st = drop_locked(volume, tensor, err);
	(void)pthread_mutex_unlock(&volume->env_lock);
	return st;
}

/* The next tensor that @owner has, first of its group. */
static bool find_owned(struct dgi_volume *v, const char *owner, uint32_t *tensor)
{
	const struct dgi_catalogue *c = catalogue_of(v);
	const size_t n = c->n;

	for (size_t i = 0; i < n; i++) {
		*tensor = c->infos[i].id;
		if (!dgi_catalogue_is_gone(c, i) && c->lives[i].lifetime == DG_TEMPORARY &&
		    strcmp(c->lives[i].owner, owner) == 0 &&
		    (c->infos[i].group == 0 || c->infos[i].group == *tensor))
			return true;
	}
	return false;
}

dg_status dgi_volume_release(struct dgi_volume *volume, const char *owner, size_t *n, dg_error *err)
{
	dg_status st = DG_OK;
	uint32_t tensor;

	*n = 0;
	while (!st && find_owned(volume, owner, &tensor)) {
		st = dgi_volume_drop(volume, tensor, err);
		if (st == DG_NOTFOUND)
			st = DG_OK; /* somebody else was faster */
		else if (!st)
			++*n;
	}
	return st;
}

/* --- Deleting what was dropped --- */

/* Hot chunks give their slots back; late readers find that the rows have moved. */
static dg_status release_entries(struct dgi_volume *v, size_t index, bool *done, dg_error *err)
{
	const struct dgi_catalogue *c = catalogue_of(v);
	const struct dgi_rows *rows = &c->rows[index];
	const bool listed = c->infos[index].durability != DG_DURABLE_MEMORY;
	const uint8_t zero[8] = { 0 };
	uint64_t *next = &v->purge_next;
	uint32_t slot;
	dg_status st;

	dgi_table_lock(&v->table);
	st = dgi_hot_blank(&v->hot, c->infos[index].chunk_pages, zero, sizeof zero, &slot, err);
	for (size_t i = 0; i < PURGE_CHUNKS && !st && *next < rows->cut.n_chunks; i++, ++*next)
		dgi_hot_show_blank(&v->hot, rows->first_entry + *next, slot, listed);
	dgi_table_unlock(&v->table);
	*done = !st && *next == rows->cut.n_chunks;
	return st;
}

/* Is the first key from here on that of an image of @tensor? */
static dg_status find_image(struct dgi_volume *v, uint32_t tensor, uint8_t *key_bytes, size_t *n,
			    bool *found, dg_error *err)
{
	struct dgi_key key = { .kind = DGI_KIND_CHUNK, .tensor = tensor };
	uint8_t from[DGI_KEY_BYTES_MAX];
	dg_status st;

	*n = DGI_KEY_BYTES_MAX;
	st = dgi_env_seek(v->env, from, dgi_key_encode(&key, from), key_bytes, n, err);
	if (!st)
		st = dgi_key_decode(key_bytes, *n, &key, err);
	*found = !st && key.kind == DGI_KIND_CHUNK && key.tensor == tensor;
	return st == DG_NOTFOUND ? DG_OK : st;
}

static dg_status delete_images(struct dgi_volume *v, uint32_t tensor, uint32_t chunk_pages,
			       bool *done, dg_error *err)
{
	const size_t n_max = PURGE_PAGES / chunk_pages;
	uint8_t key[DGI_KEY_BYTES_MAX];
	bool found = true;
	size_t n;
	dg_status st = dgi_checkpoint_make_room(v, UINT64_C(1) << 20, err);

	if (!st)
		st = dgi_env_begin(v->env, err);
	if (st)
		return st;
	for (size_t i = 0; i < n_max && !st && found; i++) {
		st = find_image(v, tensor, key, &n, &found, err);
		if (!st && found)
			st = dgi_env_delete(v->env, key, n, err);
	}
	*done = !found;
	if (st)
		dgi_env_abort(v->env);
	else
		st = dgi_env_commit(v->env, err);
	return st;
}

static dg_status delete_locked(struct dgi_volume *v, uint32_t tensor, uint32_t chunk_pages,
			       bool *done, dg_error *err)
{
	dg_status st;

	(void)pthread_mutex_lock(&v->env_lock);
	st = delete_images(v, tensor, chunk_pages, done, err);
	(void)pthread_mutex_unlock(&v->env_lock);
	return st;
}

/* Of a tensor that was dropped since the store was opened. */
static dg_status purge_gone(struct dgi_volume *v, size_t index, dg_error *err)
{
	const dg_tensor_info *info = &catalogue_of(v)->infos[index];
	bool done;
	dg_status st = release_entries(v, index, &done, err);

	if (st || !done)
		return st;
	st = delete_locked(v, info->id, info->chunk_pages, &done, err);
	if (!st && done) {
		catalogue_of(v)->lives[index].is_purged = true;
		v->purge_next = 0;
	}
	return st;
}

dg_status dgi_purge_some(struct dgi_volume *v, bool *more, dg_error *err)
{
	struct dgi_catalogue *c = catalogue_of(v);
	const size_t n = c->n;
	bool done = false;
	dg_status st;

	*more = true;
	for (size_t i = 0; i < n; i++)
		if (dgi_catalogue_is_gone(c, i) && !c->lives[i].is_purged)
			return purge_gone(v, i, err);
	for (size_t i = 0; i < c->n_dead; i++)
		if (c->dead[i].has_chunks) {
			st = delete_locked(v, c->dead[i].id, DGI_CHUNK_PAGES_MAX, &done, err);
			if (done)
				c->dead[i].has_chunks = false;
			return st;
		}
	*more = false;
	return DG_OK;
}
