/* contents.c -- what the three files of a store hold, collected by walking them. */
#include "contents.h"

#include "bytes.h"
#include "fail.h"
#include "superblock.h"
#include "walk.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Leaves room for the numbers still to come. */
#define LOG_NUMBER_MAX ((uint64_t)INT64_MAX)

/* A file while it is walked; one of the three contents is set. */
struct reading {
	int fd;
	bool account;
	uint64_t file_bytes;
	struct dgi_superblock *superblock;
	bool has_superblock;
	bool has_single; /* the book, the session table, the identity */
	struct dgi_graph_contents *graph;
	struct dgi_tensors_contents *tensors;
	struct dgi_journal_contents *journal;
};

/* The value of a small record: inside its leaf, else read to *allocated, which is to be freed. */
static dg_status fetch_value(const struct reading *r, const struct dgi_walk_record *record,
			     uint64_t bytes_max, uint8_t **allocated, const uint8_t **out,
			     dg_error *err)
{
	size_t n = (size_t)record->value_bytes;
	size_t done = 0;

	*allocated = NULL;
	*out = record->value;
	if (record->value)
		return DG_OK;
	if (record->value_bytes > bytes_max)
		return dgi_fail(err, DG_CORRUPT, "%" PRIu64 " bytes, at most %" PRIu64,
				record->value_bytes, bytes_max);
	*allocated = malloc(n);
	if (!*allocated)
		return dgi_fail_memory(err, "record");
	while (done < n) {
		ssize_t here =
			pread(r->fd, *allocated + done, n - done, (off_t)(record->value_at + done));

		if (here < 0 && errno == EINTR)
			continue;
		if (here <= 0) {
			free(*allocated);
			*allocated = NULL;
			return here < 0 ? dgi_fail_errno(err, errno, "read")
					: dgi_fail(err, DG_CORRUPT, "behind the end of the file");
		}
		done += (size_t)here;
	}
	*out = *allocated;
	return DG_OK;
}

static dg_status read_superblock(struct reading *r, const uint8_t *payload, size_t n, dg_error *err)
{
	dg_status st = dgi_superblock_decode(payload, n, r->superblock, err);

	if (!st)
		st = dgi_superblock_check(r->superblock, false, err);
	r->has_superblock = !st;
	return st;
}

static dg_status read_book(struct reading *r, const uint8_t *payload, size_t n, dg_error *err)
{
	r->graph->book = malloc(n ? n : 1);
	if (!r->graph->book)
		return dgi_fail_memory(err, "book");
	memcpy(r->graph->book, payload, n);
	r->graph->book_bytes = n;
	r->has_single = true;
	return DG_OK;
}

static dg_status read_identity(struct reading *r, const uint8_t *payload, size_t n, dg_error *err)
{
	struct dgi_reader reader = dgi_reader_of(payload, n);

	r->journal->incarnation = dgi_read_u64(&reader);
	r->has_single = true;
	return reader.short_read ? dgi_fail(err, DG_CORRUPT, "identity: %zu bytes, want %d", n,
					    DGI_IDENTITY_BYTES)
				 : DG_OK;
}

static dg_status read_sessions(struct reading *r, const struct dgi_key *key, const uint8_t *payload,
			       size_t n, uint64_t log, dg_error *err)
{
	struct dgi_tensors_contents *t = r->tensors;

	if (key->piece == 0)
		t->sessions_log = log;
	r->has_single = true;
	return dgi_sessions_decode(t->sessions, payload, n, err);
}

static dg_status read_operations(struct reading *r, const struct dgi_key *key,
				 const uint8_t *payload, size_t n, dg_error *err)
{
	struct dgi_tensors_contents *t = r->tensors;
	uint8_t *bytes;

	if (key->piece != t->n_operations_pieces || n == 0 ||
	    n > DGI_OPERATIONS_BYTES_MAX - t->operations_bytes)
		return dgi_fail(err, DG_CORRUPT,
				"piece %" PRIu32 " of %zu bytes, want piece %" PRIu32, key->piece,
				n, t->n_operations_pieces);
	bytes = realloc(t->operations, t->operations_bytes + n);
	if (!bytes)
		return dgi_fail_memory(err, "table of operations");
	memcpy(bytes + t->operations_bytes, payload, n);
	t->operations = bytes;
	t->operations_bytes += n;
	t->n_operations_pieces++;
	return DG_OK;
}

static dg_status read_block(struct reading *r, const struct dgi_key *key,
			    const struct dgi_walk_record *found, dg_error *err)
{
	struct dgi_journal_contents *j = r->journal;
	size_t capacity = j->capacity ? j->capacity * 2 : 256;
	struct dgi_journal_block *blocks;

	if (found->value)
		return dgi_fail(err, DG_CORRUPT, "journal block %" PRIu64 ": of %" PRIu64 " bytes",
				key->block, found->value_bytes);
	if (j->n_blocks == j->capacity) {
		blocks = realloc(j->blocks, capacity * sizeof *blocks);
		if (!blocks)
			return dgi_fail_memory(err, "journal");
		j->blocks = blocks;
		j->capacity = capacity;
	}
	j->blocks[j->n_blocks++] = (struct dgi_journal_block){
		.number = key->block,
		.value_at = found->value_at,
		.value_bytes = found->value_bytes,
	};
	return DG_OK;
}

static dg_status read_array(struct reading *r, const struct dgi_key *key, const uint8_t *payload,
			    size_t n, dg_error *err)
{
	struct dgi_array_info info;
	dg_status st = dgi_array_info_decode(payload, n, &info, err);

	if (st)
		return st;
	return dgi_structure_add_array(&r->graph->structure, key, &info, r->file_bytes, err);
}

static dg_status read_tensor(struct reading *r, const struct dgi_key *key, const uint8_t *payload,
			     size_t n, unsigned version, dg_error *err)
{
	struct dgi_tensor_record record;
	dg_status st = dgi_tensor_record_decode(payload, n, version, &record, err);

	if (st)
		return st;
	return dgi_catalogue_add_tensor(&r->tensors->catalogue, key, &record, r->file_bytes, err);
}

/* Records that are read whole while walking. */
static dg_status read_small(struct reading *r, const struct dgi_key *key,
			    const struct dgi_walk_record *found, dg_error *err)
{
	const bool is_superblock = key->kind == DGI_KIND_SUPERBLOCK;
	const dg_uuid *uuid = is_superblock ? NULL : &r->superblock->store_uuid;
	const uint8_t *value;
	const uint8_t *payload;
	uint8_t *allocated;
	struct dgi_record record;
	size_t n;
	dg_status st = fetch_value(r, found, DGI_BOOK_BYTES_MAX, &allocated, &value, err);

	if (!st)
		st = dgi_record_read(value, (size_t)found->value_bytes, uuid, key, &record, err);
	if (st)
		goto done;
	payload = value + DGI_RECORD_HEADER_BYTES;
	n = (size_t)record.payload_bytes;
	if (r->tensors && record.log > r->tensors->log)
		r->tensors->log = record.log;
	if (is_superblock)
		st = read_superblock(r, payload, n, err);
	else if (key->kind == DGI_KIND_BOOK)
		st = read_book(r, payload, n, err);
	else if (key->kind == DGI_KIND_IDENTITY)
		st = read_identity(r, payload, n, err);
	else if (key->kind == DGI_KIND_SESSIONS)
		st = read_sessions(r, key, payload, n, record.log, err);
	else if (key->kind == DGI_KIND_OPERATIONS)
		st = read_operations(r, key, payload, n, err);
	else if (key->kind == DGI_KIND_ARRAY)
		st = read_array(r, key, payload, n, err);
	else
		st = read_tensor(r, key, payload, n, record.version, err);
done:
	free(allocated);
	return st;
}

static bool is_in_its_file(const struct reading *r, uint8_t kind)
{
	switch (kind) {
	case DGI_KIND_SUPERBLOCK:
		return true;
	case DGI_KIND_BOOK:
	case DGI_KIND_ARRAY:
	case DGI_KIND_SEGMENT:
		return r->graph != NULL;
	case DGI_KIND_IDENTITY:
	case DGI_KIND_BLOCK:
		return r->journal != NULL;
	default:
		return r->tensors != NULL;
	}
}

/* A record to be skipped says itself that it may be: else a damaged key would hide another. */
static dg_status check_optional(const struct reading *r, const struct dgi_key *key,
				const struct dgi_walk_record *found, dg_error *err)
{
	uint8_t header[DGI_RECORD_HEADER_BYTES];
	struct dgi_record record;

	if (found->value_bytes < sizeof header)
		return dgi_fail(err, DG_CORRUPT, "record of kind %u: %" PRIu64 " bytes", key->kind,
				found->value_bytes);
	if (found->value)
		memcpy(header, found->value, sizeof header);
	else if (pread(r->fd, header, sizeof header, (off_t)found->value_at) !=
		 (ssize_t)sizeof header)
		return dgi_fail_errno(err, errno, "read a record of kind %u", key->kind);
	return dgi_record_header(header, (size_t)found->value_bytes, key->kind, &record, err);
}

static dg_status read_record(void *context, const struct dgi_walk_record *found, dg_error *err)
{
	struct reading *r = context;
	char text[DGI_KEY_TEXT_BYTES];
	struct dgi_key key;
	dg_status st = dgi_key_decode(found->key, found->key_bytes, &key, err);

	if (st)
		return st;
	if (key.kind >= DGI_KIND_OPTIONAL)
		return check_optional(r, &key, found, err);
	if (!r->has_superblock && key.kind != DGI_KIND_SUPERBLOCK)
		return dgi_fail(err, DG_CORRUPT, "no superblock: its first record is of kind %u",
				key.kind);
	if (!is_in_its_file(r, key.kind)) {
		dgi_key_text(&key, text);
		return dgi_fail(err, DG_CORRUPT, "%s is in the wrong file", text);
	}
	if (key.kind == DGI_KIND_SEGMENT)
		return dgi_structure_add_segment(&r->graph->structure, &key, found->value_at,
						 found->value_bytes, err);
	if (key.kind == DGI_KIND_BLOCK)
		return read_block(r, &key, found, err);
	if (key.kind != DGI_KIND_CHUNK)
		return read_small(r, &key, found, err);
	if (key.log > r->tensors->log)
		r->tensors->log = key.log;
	return dgi_catalogue_add_chunk(&r->tensors->catalogue, &key, found->value_at,
				       found->value_bytes, err);
}

static dg_status walk(struct reading *r, const char *file, const char *single, dg_error *err)
{
	/* liblmdb trusts the free list of a file that it writes. */
	struct dgi_walk_options options = { .file_name = file, .account = r->account };
	struct dgi_walk_report report;
	struct stat info;
	dg_status st;

	if (fstat(r->fd, &info) != 0)
		return dgi_fail_errno(err, errno, "stat");
	r->file_bytes = (uint64_t)info.st_size;
	st = dgi_walk(r->fd, &options, read_record, r, &report, err);
	if (!st && !r->has_superblock)
		st = dgi_fail(err, DG_CORRUPT, "no superblock: the file is empty");
	if (!st && !r->has_single)
		st = dgi_fail(err, DG_CORRUPT, "no %s", single);
	return st;
}

dg_status dgi_graph_contents_read(int fd, bool account, struct dgi_graph_contents *out,
				  dg_error *err)
{
	struct reading r = {
		.fd = fd, .account = account, .superblock = &out->superblock, .graph = out
	};
	dg_status st = walk(&r, DGI_GRAPH_FILE, "book", err);

	out->file_bytes = r.file_bytes;
	if (!st)
		st = dgi_structure_finish(&out->structure, err);
	return st;
}

dg_status dgi_tensors_contents_read(int fd, bool account, struct dgi_tensors_contents *out,
				    dg_error *err)
{
	struct reading r = {
		.fd = fd, .account = account, .superblock = &out->superblock, .tensors = out
	};
	dg_status st = dgi_sessions_new(&out->sessions, err);

	if (!st)
		st = walk(&r, DGI_TENSORS_FILE, "session table", err);
	out->file_bytes = r.file_bytes;
	if (!st)
		st = dgi_catalogue_finish(&out->catalogue, err);
	if (!st && out->log > LOG_NUMBER_MAX)
		st = dgi_fail(err, DG_CORRUPT, "log number %" PRIu64 ", at most %" PRIu64, out->log,
			      LOG_NUMBER_MAX);
	return st;
}

dg_status dgi_journal_contents_read(int fd, bool account, struct dgi_journal_contents *out,
				    dg_error *err)
{
	struct reading r = {
		.fd = fd, .account = account, .superblock = &out->superblock, .journal = out
	};
	dg_status st = walk(&r, DGI_JOURNAL_FILE, "identity", err);

	out->file_bytes = r.file_bytes;
	return st;
}

void dgi_journal_contents_clear(struct dgi_journal_contents *contents)
{
	free(contents->blocks);
	*contents = (struct dgi_journal_contents){ 0 };
}

void dgi_graph_contents_clear(struct dgi_graph_contents *contents)
{
	free(contents->book);
	dgi_structure_clear(&contents->structure);
	*contents = (struct dgi_graph_contents){ 0 };
}

void dgi_tensors_contents_clear(struct dgi_tensors_contents *contents)
{
	dgi_catalogue_clear(&contents->catalogue);
	dgi_sessions_free(contents->sessions);
	free(contents->operations);
	*contents = (struct dgi_tensors_contents){ 0 };
}
