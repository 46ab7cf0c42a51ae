/* source.c -- read tensors from a store, from servers, or from the stores of a cluster. */
#include "source.h"

#include "report.h"
#include "source_ids.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { BATCH_BYTES = 4 << 20, BATCH_ROWS_MAX = 1 << 16 };

size_t batch_rows(const dg_tensor_info *tensor)
{
	size_t n = tensor->row_bytes ? BATCH_BYTES / tensor->row_bytes : BATCH_ROWS_MAX;

	return n < 1 ? 1 : n > BATCH_ROWS_MAX ? BATCH_ROWS_MAX : n;
}

bool is_directory(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

dg_status open_array(const char *path, const dg_tensor_info *tensor, int64_t n,
		     dg_array_writer **out, dg_error *err)
{
	int64_t shape[DG_RANK_MAX + 1] = { n };

	memcpy(shape + 1, tensor->shape, tensor->rank * sizeof *shape);
	return dg_array_writer_open(path, tensor->dtype, tensor->rank + 1, shape, out, err);
}

dg_status reach_client(const char *path, const struct reach *reach, dg_client **out, dg_error *err)
{
	const dg_client_options options = { .timeout_ms = (uint32_t)reach->timeout_s * 1000,
					    .ip_config = reach->ip_config };

	return dg_client_open(path, &options, out, err);
}

/* Takes a copy of a list that dies early. */
static dg_status keep_tensors(struct source *s, const dg_tensor_info *tensors, size_t n,
			      dg_error *err)
{
	s->tensors = malloc((n ? n : 1) * sizeof *tensors);
	if (!s->tensors)
		return fail(err, DG_NOMEM, "the list of %zu tensors: out of memory", n);
	if (n)
		memcpy(s->tensors, tensors, n * sizeof *tensors);
	s->n_tensors = n;
	return DG_OK;
}

static dg_status alloc_stores(struct source *s, uint32_t n, dg_error *err)
{
	s->stores = calloc(n, sizeof(dg_store *));
	if (!s->stores)
		return fail(err, DG_NOMEM, "%u stores: out of memory", n);
	s->n_stores = n;
	return DG_OK;
}

static void tell_left_out(const struct source *s)
{
	dg_store_info info;

	dg_store_get_info(s->stores[0], &info);
	if (info.left_out == 0)
		remark("'%s': leaves out no push, the journal has none that is not in the chunks",
		       s->path);
	else if (info.left_out == 1)
		remark("'%s': leaves out 1 push of the journal, number %" PRIu64, s->path,
		       info.left_out_first);
	else
		remark("'%s': leaves out %" PRIu64 " pushes of the journal, numbers %" PRIu64
		       "..%" PRIu64,
		       s->path, info.left_out, info.left_out_first, info.left_out_last);
}

json_t *source_left_out_json(const struct source *source)
{
	dg_store_info info;

	dg_store_get_info(source->stores[0], &info);
	return json_pack("{s:I, s:I, s:I}", "pushes", (json_int_t)info.left_out, "first",
			 (json_int_t)info.left_out_first, "last", (json_int_t)info.left_out_last);
}

/* A directory that holds stores is easily taken for one. */
static dg_status explain_not_found(const char *path, dg_error *err)
{
	char part[DG_PATH_BYTES_MAX];

	if (snprintf(part, sizeof part, "%s/part0", path) < (int)sizeof part && is_directory(part))
		return fail(err, DG_NOTFOUND,
			    "'%s' is no store but holds some: name one, such as '%s', or the "
			    "cluster file",
			    path, part);
	return DG_NOTFOUND;
}

static dg_status open_one_store(struct source *s, dg_error *err)
{
	const dg_store_options options = { .without_journal = s->without_journal };
	const dg_tensor_info *tensors;
	size_t n;
	dg_status st = alloc_stores(s, 1, err);

	if (!st)
		st = dg_store_open(s->path, &options, &s->stores[0], err);
	if (st)
		return st == DG_NOTFOUND ? explain_not_found(s->path, err) : st;
	if (s->without_journal)
		tell_left_out(s);
	s->book = dg_store_book(s->stores[0]);
	tensors = dg_store_tensors(s->stores[0], &n);
	return keep_tensors(s, tensors, n, err);
}

/* The store of @part, checked to be of this cluster; opened once. */
static dg_status part_store(struct source *s, uint32_t part, dg_store **out, dg_error *err)
{
	const dg_store_options read_only = { 0 };
	const char *path = dg_cluster_part_path(s->cluster, part);
	const dg_uuid cluster = dg_cluster_uuid(s->cluster);
	dg_store_info info;
	dg_status st = DG_OK;

	if (!s->stores[part]) {
		st = dg_store_open(path, &read_only, &s->stores[part], err);
		if (st)
			return st;
		dg_store_get_info(s->stores[part], &info);
		if (memcmp(&info.cluster_uuid, &cluster, sizeof cluster) != 0)
			return fail(err, DG_MISMATCH, "'%s' is a store of another cluster", path);
		if (info.part != part)
			return fail(err, DG_MISMATCH,
				    "'%s' is the store of part %u, wanted part %u", path, info.part,
				    part);
	}
	*out = s->stores[part];
	return st;
}

/* The tensors of part 0, with the rows of the whole graph. */
static dg_status open_stores(struct source *s, dg_error *err)
{
	const dg_tensor_info *tensors;
	dg_store *store;
	size_t n;
	dg_status st = dg_cluster_open(s->path, &s->cluster, err);

	if (st)
		return st;
	s->book = dg_cluster_book(s->cluster);
	st = alloc_stores(s, dg_book_n_parts(s->book), err);
	if (!st)
		st = part_store(s, 0, &store, err);
	if (st)
		return st;
	tensors = dg_store_tensors(store, &n);
	st = keep_tensors(s, tensors, n, err);
	for (size_t i = 0; !st && i < n; i++)
		s->tensors[i].n_rows = dg_book_count(s->book, tensors[i].side, tensors[i].type);
	return st;
}

static dg_status open_servers(struct source *s, const struct reach *reach, dg_error *err)
{
	const dg_tensor_info *tensors;
	size_t n;
	dg_status st = reach_client(s->path, reach, &s->client, err);

	if (!st)
		st = dg_client_tensors(s->client, &tensors, &n, err);
	if (st)
		return st;
	s->book = dg_client_book(s->client);
	return keep_tensors(s, tensors, n, err);
}

static dg_status open_cluster(struct source *s, const struct reach *reach, dg_error *err)
{
	dg_status st = open_servers(s, reach, err);

	if (!s->client || (st != DG_CLOSED && st != DG_TIMEOUT))
		return st;
	dg_client_close(s->client);
	s->client = NULL;
	remark("no server answers, reading the stores: %s", err->text);
	return open_stores(s, err);
}

dg_status source_open(const char *path, const struct reach *reach, bool without_journal,
		      struct source *out, dg_error *err)
{
	struct source s = { .path = path,
			    .is_cluster = !is_directory(path),
			    .without_journal = without_journal };
	dg_status st;

	if (s.is_cluster && without_journal)
		return fail(err, DG_INVALID,
			    "'%s' is not a directory; --no-journal reads a store, such as part0",
			    path);
	st = s.is_cluster ? open_cluster(&s, reach, err) : open_one_store(&s, err);
	if (st)
		source_close(&s);
	else
		*out = s;
	return st;
}

void source_close(struct source *source)
{
	for (uint32_t i = 0; i < source->n_stores; i++)
		dg_store_close(source->stores[i]);
	free(source->stores);
	free(source->tensors);
	dg_client_close(source->client);
	dg_cluster_close(source->cluster);
	*source = (struct source){ 0 };
}

dg_status source_find(const struct source *source, const char *text, const dg_tensor_info **out,
		      dg_error *err)
{
	size_t index;
	dg_status st = dg_book_find_tensor(source->book, source->tensors, source->n_tensors, text,
					   &index, err);

	if (!st)
		*out = &source->tensors[index];
	return st;
}

/* Where a wanted row lies. */
struct place {
	uint32_t part;
	int64_t local;	 /* row in the partition's store */
	size_t position; /* among those wanted */
};

static int compare_places(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->part != y->part)
		return x->part < y->part ? -1 : 1;
	return x->position < y->position ? -1 : x->position > y->position;
}

/* The same tensor in another store: it has the same id, and rows of its own. */
static dg_status tensor_of_store(dg_store *store, const dg_tensor_info *tensor,
				 const dg_tensor_info **out, dg_error *err)
{
	size_t n;
	const dg_tensor_info *all = dg_store_tensors(store, &n);

	for (size_t i = 0; i < n; i++)
		if (all[i].id == tensor->id) {
			*out = &all[i];
			return DG_OK;
		}
	return fail(err, DG_NOTFOUND, "tensor '%s' is not in every store of the cluster",
		    tensor->name);
}

/* The @n rows at @places, all of one part; @local and @rows have room for them. */
static dg_status gather_run(struct source *s, const dg_tensor_info *tensor,
			    const struct place *places, size_t n, dg_id *local, char *rows,
			    char *out, dg_error *err)
{
	size_t bytes = tensor->row_bytes;
	const dg_tensor_info *here = NULL;
	dg_store *store;
	dg_status st = part_store(s, places[0].part, &store, err);

	if (!st)
		st = tensor_of_store(store, tensor, &here, err);
	for (size_t i = 0; !st && i < n; i++)
		local[i] = places[i].local;
	if (!st)
		st = dg_store_gather(store, here, local, n, rows, err);
	for (size_t i = 0; !st && i < n; i++)
		memcpy(out + places[i].position * bytes, rows + i * bytes, bytes);
	return st;
}

static dg_status gather_places(struct source *s, const dg_tensor_info *tensor, const dg_id *ids,
			       size_t n, struct place *places, dg_id *local, char *rows, char *out,
			       dg_error *err)
{
	dg_status st = DG_OK;
	size_t begin = 0;

	for (size_t i = 0; !st && i < n; i++) {
		places[i].position = i;
		st = dg_book_locate(s->book, tensor, ids[i], &places[i].part, &places[i].local,
				    err);
	}
	if (st)
		return st;
	qsort(places, n, sizeof *places, compare_places);
	while (!st && begin < n) {
		size_t end = begin + 1;

		while (end < n && places[end].part == places[begin].part)
			end++;
		st = gather_run(s, tensor, places + begin, end - begin, local, rows, out, err);
		begin = end;
	}
	return st;
}

/* Rows by the tensor's own numbering, from whichever stores of the cluster have them. */
static dg_status gather_stores(struct source *s, const dg_tensor_info *tensor, const dg_id *ids,
			       size_t n, void *out, dg_error *err)
{
	struct place *places = malloc(n * sizeof *places);
	dg_id *local = malloc(n * sizeof *local);
	char *rows = malloc(n * tensor->row_bytes);
	dg_status st;

	if (places && local && rows)
		st = gather_places(s, tensor, ids, n, places, local, rows, out, err);
	else
		st = fail(err, DG_NOMEM, "%zu rows: out of memory", n);
	free(places);
	free(local);
	free(rows);
	return st;
}

dg_status source_gather(struct source *source, const dg_tensor_info *tensor, const dg_id *rows,
			size_t n, void *out, dg_error *err)
{
	if (!n)
		return DG_OK;
	return source->client ? dg_client_pull(source->client, tensor, rows, n, out, err)
			      : gather_stores(source, tensor, rows, n, out, err);
}

dg_status source_open_all(struct source *source, dg_error *err)
{
	dg_store *store;
	dg_status st = DG_OK;

	for (uint32_t part = 0; !st && source->cluster && part < source->n_stores; part++)
		st = part_store(source, part, &store, err);
	return st;
}

struct source source_of_client(const char *path, dg_client *client)
{
	return (struct source){
		.path = path, .is_cluster = true, .client = client, .book = dg_client_book(client)
	};
}

static dg_status read_cluster(struct source *s, const dg_tensor_info *tensor, dg_id *ids, size_t n,
			      void *out, dg_error *err)
{
	dg_status st = DG_OK;

	if (!s->internal && tensor->numbering == DG_INTERNAL)
		st = source_to_internal(s, tensor, ids, n, err);
	return st ? st : source_gather(s, tensor, ids, n, out, err);
}

dg_status source_read(struct source *source, const dg_tensor_info *tensor, dg_id first, size_t n,
		      void *out, dg_error *err)
{
	dg_id *ids = malloc((n ? n : 1) * sizeof *ids);
	dg_status st = DG_OK;

	if (!ids)
		return fail(err, DG_NOMEM, "%zu ids: out of memory", n);
	for (size_t i = 0; i < n; i++)
		ids[i] = first + (dg_id)i;
	if (!n)
		st = DG_OK;
	else if (source->is_cluster)
		st = read_cluster(source, tensor, ids, n, out, err);
	else
		st = dg_store_gather(source->stores[0], tensor, ids, n, out, err);
	free(ids);
	return st;
}
