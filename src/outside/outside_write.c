/* outside_write.c -- the outside ids of a partition, written into its store. */
#include "outside_index.h"

#include "fail.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define BATCH 4096 /* ids asked for at a time */

struct dgi_outside_writer {
	const struct dgi_outside_input *input;
	uint16_t n_types;
	struct dgi_outside_file *files; /* by node type */
	struct dgi_outside_index *indexes;
	bool any;
};

/* One partition being written. */
struct writing {
	struct dgi_outside_writer *writer;
	uint32_t part;
	struct dgi_volume_maker *maker;
	int64_t *head;
	int64_t n_values, n_text, n_index; /* n_text in bytes */
	dg_dtype id_dtype;
	dg_error *err;
};

/* --- Opening --- */

dg_status dgi_outside_writer_open(const struct dgi_outside_input *input,
				  struct dgi_outside_writer **out, dg_error *err)
{
	struct dgi_outside_writer *w = calloc(1, sizeof *w);
	dg_status st = DG_OK;

	if (!w)
		return dgi_fail_memory(err, "outside ids");
	w->input = input;
	w->n_types = dg_book_n_node_types(input->book);
	w->files = calloc(w->n_types, sizeof *w->files);
	w->indexes = calloc(w->n_types, sizeof *w->indexes);
	if (!w->files || !w->indexes)
		st = dgi_fail_memory(err, "outside ids");
	for (uint16_t t = 0; !st && t < w->n_types; t++) {
		if (input->types[t].form == DG_OUTSIDE_NUMBERS)
			continue;
		w->any = true;
		st = dgi_outside_file_open(&input->types[t], dg_book_count(input->book, DG_NODE, t),
					   &w->files[t], err);
		if (!st)
			st = dgi_outside_index_make(&w->files[t], input, t, &w->indexes[t], err);
		if (st)
			(void)dgi_context(err, st, "outside ids of node type '%s'",
					  dg_book_node_type(input->book, t));
	}
	if (st) {
		dgi_outside_writer_close(w);
		return st;
	}
	*out = w;
	return DG_OK;
}

bool dgi_outside_writer_has_any(const struct dgi_outside_writer *writer)
{
	return writer->any;
}

void dgi_outside_writer_close(struct dgi_outside_writer *writer)
{
	if (!writer)
		return;
	for (uint16_t t = 0; t < writer->n_types; t++) {
		if (writer->files)
			dgi_outside_file_clear(&writer->files[t]);
		if (writer->indexes)
			dgi_outside_index_clear(&writer->indexes[t]);
	}
	free(writer->files);
	free(writer->indexes);
	free(writer);
}

/* --- What the values of owned nodes are, in order --- */

/*
 * Goes through the owned nodes of all types that have outside ids. Of strings there is one value more
 * than nodes: the start of the first.
 */
struct values {
	struct writing *writing;
	uint16_t type;
	dg_id at, end;	  /* relabelled ids of the type */
	bool started;	  /* the type's first value is given */
	int64_t ending;	  /* of the string given last, in the text of the partition */
	dg_id ids[BATCH]; /* original */
	size_t n_ids, next_id;
};

static const struct dgi_outside_file *file_of(const struct writing *w, uint16_t type)
{
	return &w->writer->files[type];
}

static void values_begin_type(struct values *v, uint16_t type)
{
	v->type = type;
	v->started = false;
	v->n_ids = v->next_id = 0;
	if (type < v->writing->writer->n_types)
		dg_book_range(v->writing->writer->input->book, DG_NODE, type, v->writing->part,
			      &v->at, &v->end);
}

static struct values values_of(struct writing *w)
{
	struct values v = { .writing = w };

	values_begin_type(&v, 0);
	return v;
}

/* The original number of the next owned node of the type. */
static dg_status next_original(struct values *v, dg_id *out)
{
	const struct dgi_outside_input *input = v->writing->writer->input;
	dg_status st;

	if (v->next_id == v->n_ids) {
		v->n_ids = v->end - v->at < BATCH ? (size_t)(v->end - v->at) : BATCH;
		v->next_id = 0;
		st = input->original_of(input->context, v->type, v->at, v->n_ids, v->ids,
					v->writing->err);
		if (st)
			return st;
	}
	*out = v->ids[v->next_id++];
	if (*out < 0 || *out >= file_of(v->writing, v->type)->n)
		return dgi_fail(v->writing->err, DG_RANGE,
				"original number %" PRId64 " of %" PRId64, *out,
				file_of(v->writing, v->type)->n);
	v->at++;
	return DG_OK;
}

/* Moves to the next type that has something to give; false at the end. */
static bool values_find(struct values *v)
{
	while (v->type < v->writing->writer->n_types) {
		dg_outside_form form = file_of(v->writing, v->type)->form;

		if (form == DG_OUTSIDE_STRINGS && !v->started)
			return true;
		if (form != DG_OUTSIDE_NUMBERS && v->at < v->end)
			return true;
		values_begin_type(v, (uint16_t)(v->type + 1));
	}
	return false;
}

static dg_status next_value(struct values *v, int64_t *out)
{
	const struct dgi_outside_file *file;
	dg_id original;
	size_t n;
	dg_status st;

	if (!values_find(v))
		return dgi_fail(v->writing->err, DG_RANGE, "fewer outside ids than were counted");
	file = file_of(v->writing, v->type);
	if (file->form == DG_OUTSIDE_STRINGS && !v->started) {
		v->started = true;
		*out = v->ending;
		return DG_OK;
	}
	st = next_original(v, &original);
	if (st)
		return st;
	if (file->form == DG_OUTSIDE_INTEGERS) {
		*out = dgi_outside_file_integer(file, original);
		return DG_OK;
	}
	(void)dgi_outside_file_string(file, original, &n);
	v->ending += (int64_t)n;
	*out = v->ending;
	return DG_OK;
}

static dg_status fill_values(void *context, int64_t first, int64_t n, void *out, dg_error *err)
{
	int64_t *to = out;
	dg_status st = DG_OK;

	(void)first;
	(void)err;
	for (int64_t i = 0; !st && i < n; i++)
		st = next_value(context, &to[i]);
	return st;
}

/* --- Their text --- */

struct text {
	struct values values;
	const char *rest; /* of a string that is not written whole */
	size_t n_rest;
};

static dg_status fill_text(void *context, int64_t first, int64_t n, void *out, dg_error *err)
{
	struct text *t = context;
	char *to = out;
	size_t left = (size_t)n * sizeof(int64_t);

	(void)first;
	(void)err;
	memset(to, 0, left);
	while (left > 0) {
		size_t piece = t->n_rest < left ? t->n_rest : left;
		const struct dgi_outside_file *file;
		dg_id original;
		dg_status st;

		if (piece > 0) {
			memcpy(to, t->rest, piece);
			t->rest += piece;
			t->n_rest -= piece;
			to += piece;
			left -= piece;
		}
		if (left == 0)
			return DG_OK;
		t->values.started = true;
		if (!values_find(&t->values))
			return DG_OK; /* zeros to a whole element */
		file = file_of(t->values.writing, t->values.type);
		if (file->form != DG_OUTSIDE_STRINGS) {
			values_begin_type(&t->values, (uint16_t)(t->values.type + 1));
			continue;
		}
		if (t->values.at == t->values.end)
			continue;
		st = next_original(&t->values, &original);
		if (st)
			return st;
		t->rest = dgi_outside_file_string(file, original, &t->n_rest);
	}
	return DG_OK;
}

/* --- The index --- */

struct entries {
	struct writing *writing;
	uint16_t type;
	int64_t at; /* entries of the type that are given */
	bool ids;
	struct dgi_outside_entry batch[BATCH];
};

static int64_t share_of(const struct writing *w, uint16_t type, int64_t *first)
{
	const struct dgi_outside_index *index = &w->writer->indexes[type];

	*first = index->starts ? index->starts[w->part] : 0;
	return index->starts ? index->starts[w->part + 1] - *first : 0;
}

static void put_entry(const struct entries *e, const struct dgi_outside_entry *entry, void *out,
		      int64_t i)
{
	if (!e->ids)
		((int64_t *)out)[i] = (int64_t)entry->hash;
	else if (e->writing->id_dtype == DG_INT32)
		((int32_t *)out)[i] = (int32_t)entry->id;
	else
		((int64_t *)out)[i] = entry->id;
}

static dg_status fill_entries(void *context, int64_t first, int64_t n, void *out, dg_error *err)
{
	struct entries *e = context;
	int64_t done = 0;

	(void)first;
	while (done < n) {
		int64_t start, here = share_of(e->writing, e->type, &start) - e->at;
		dg_status st;

		if (here == 0) {
			e->type++;
			e->at = 0;
			continue;
		}
		here = here < n - done ? here : n - done;
		here = here < BATCH ? here : BATCH;
		st = dgi_outside_index_read(&e->writing->writer->indexes[e->type], start + e->at,
					    (size_t)here, e->batch, err);
		if (st)
			return st;
		for (int64_t i = 0; i < here; i++)
			put_entry(e, &e->batch[i], out, done + i);
		e->at += here;
		done += here;
	}
	return DG_OK;
}

/* --- The whole --- */

static dg_status count_text(struct writing *w)
{
	struct values values = values_of(w);
	int64_t ignored;
	dg_status st = DG_OK;

	while (!st && values_find(&values))
		st = next_value(&values, &ignored);
	w->n_text = values.ending;
	return st;
}

static dg_status make_head(struct writing *w)
{
	const dg_book *book = w->writer->input->book;

	w->head = calloc((size_t)w->writer->n_types * DGI_OUTSIDE_FIELDS, sizeof *w->head);
	if (!w->head)
		return dgi_fail_memory(w->err, "outside ids");
	w->id_dtype = DG_INT32;
	for (uint16_t t = 0; t < w->writer->n_types; t++) {
		const struct dgi_outside_file *file = file_of(w, t);
		int64_t *head = w->head + (size_t)t * DGI_OUTSIDE_FIELDS;
		dg_id start, end;
		int64_t first;

		if (file->form == DG_OUTSIDE_NUMBERS)
			continue;
		if (file->n > INT32_MAX)
			w->id_dtype = DG_INT64;
		dg_book_range(book, DG_NODE, t, w->part, &start, &end);
		head[DGI_OUTSIDE_FORM] = file->form;
		head[DGI_OUTSIDE_SEED] = (int64_t)w->writer->indexes[t].seed;
		head[DGI_OUTSIDE_VALUES_AT] = w->n_values;
		head[DGI_OUTSIDE_INDEX_AT] = w->n_index;
		head[DGI_OUTSIDE_INDEX_N] = share_of(w, t, &first);
		w->n_values += end - start + (file->form == DG_OUTSIDE_STRINGS);
		w->n_index += head[DGI_OUTSIDE_INDEX_N];
	}
	return count_text(w);
}

static dg_status fill_head(void *context, int64_t first, int64_t n, void *out, dg_error *err)
{
	(void)err;
	memcpy(out, (const int64_t *)context + first, (size_t)n * sizeof(int64_t));
	return DG_OK;
}

static dg_status make_array(struct writing *w, enum dgi_outside_array array, dg_dtype dtype,
			    int64_t n, dgi_fill_fn *fill, void *context)
{
	return dgi_volume_maker_array(w->maker, DGI_OUTSIDE_ETYPE, (uint8_t)array, dtype, n, fill,
				      context, w->err);
}

static dg_status make_arrays(struct writing *w)
{
	struct values values = values_of(w);
	struct text text = { .values = values_of(w) };
	struct entries *entries = calloc(1, sizeof *entries);
	dg_status st;

	if (!entries)
		return dgi_fail_memory(w->err, "outside ids");
	st = make_array(w, DGI_OUTSIDE_HEAD, DG_INT64,
			(int64_t)w->writer->n_types * DGI_OUTSIDE_FIELDS, fill_head, w->head);
	if (!st)
		st = make_array(w, DGI_OUTSIDE_VALUES, DG_INT64, w->n_values, fill_values, &values);
	if (!st)
		st = make_array(w, DGI_OUTSIDE_TEXT, DG_INT64, (w->n_text + 7) / 8, fill_text,
				&text);
	*entries = (struct entries){ .writing = w };
	if (!st)
		st = make_array(w, DGI_OUTSIDE_HASHES, DG_INT64, w->n_index, fill_entries, entries);
	*entries = (struct entries){ .writing = w, .ids = true };
	if (!st)
		st = make_array(w, DGI_OUTSIDE_IDS, w->id_dtype, w->n_index, fill_entries, entries);
	free(entries);
	return st;
}

dg_status dgi_outside_ids_write(struct dgi_outside_writer *writer, uint32_t part,
				struct dgi_volume_maker *maker, dg_error *err)
{
	struct writing w = { .writer = writer, .part = part, .maker = maker, .err = err };
	dg_status st;

	if (!writer->any)
		return DG_OK;
	st = make_head(&w);
	if (!st)
		st = make_arrays(&w);
	free(w.head);
	return st ? dgi_context(err, st, "outside ids of part %" PRIu32, part) : DG_OK;
}
