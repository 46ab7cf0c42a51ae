/*
 * check.c -- look over the files of a store: pages, superblocks, small records, what is missing.
 *
 * liblmdb is not involved, and what has not been read once is not mapped: a damaged file or a bad
 * disk gives findings, not signals.
 */
#include "checking.h"

#include "contents.h"
#include "fail.h"
#include "files.h"
#include "lock.h"
#include "mark.h"
#include "page.h"
#include "superblock.h"
#include "uuid.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- Findings and reading --- */

static void pass_on(struct dgi_checking *c, const dg_finding *finding)
{
	if (finding->status != DG_OK)
		c->report->damaged++;
	if (c->hooks->found)
		c->hooks->found(c->hooks->found_context, finding);
}

void dgi_check_tell(struct dgi_checking *c, dg_status st, const dg_error *what, const char *where,
		    ...)
{
	dg_finding finding = { .status = st };
	size_t n = (size_t)snprintf(finding.where, sizeof finding.where, "%s: ", c->file);
	va_list args;

	va_start(args, where);
	(void)vsnprintf(finding.where + n, sizeof finding.where - n, where, args);
	va_end(args);
	memcpy(finding.what, what->text, sizeof finding.what);
	pass_on(c, &finding);
}

dg_status dgi_check_read(const struct dgi_checking *c, uint64_t at, void *out, size_t n,
			 dg_error *err)
{
	return dgi_read_at(c->fd, at, out, n, err);
}

bool dgi_check_zeros(const uint8_t *data, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (data[i] != 0)
			return false;
	return true;
}

/* --- Small records --- */

static dg_status check_superblock(struct dgi_checking *c, const uint8_t *payload, size_t n,
				  dg_error *err)
{
	dg_status st = dgi_superblock_decode(payload, n, &c->superblock, err);

	c->has_superblock = !st;
	return st ? st : dgi_superblock_check(&c->superblock, false, err);
}

static void check_book(struct dgi_checking *c, const uint8_t *payload, size_t n)
{
	if (c->has_superblock)
		c->hooks->book(c->hooks->context, &c->superblock, payload, n);
}

static dg_status check_identity(size_t n, dg_error *err)
{
	return n < DGI_IDENTITY_BYTES
		       ? dgi_fail(err, DG_CORRUPT, "%zu bytes, want %d", n, DGI_IDENTITY_BYTES)
		       : DG_OK;
}

static dg_status check_sessions(struct dgi_checking *c, const struct dgi_key *key,
				const uint8_t *payload, size_t n, dg_error *err)
{
	uint32_t wanted = c->n_session_pieces;

	c->n_session_pieces = key->piece + 1;
	if (key->piece != wanted)
		return dgi_fail(err, DG_CORRUPT, "want piece %" PRIu32 " before it", wanted);
	return dgi_sessions_decode(c->sessions, payload, n, err);
}

/* Their bytes are decoded when all of them are there. */
static dg_status check_operations(struct dgi_checking *c, const struct dgi_key *key,
				  const uint8_t *payload, size_t n, dg_error *err)
{
	uint32_t wanted = c->n_operations_pieces;

	c->n_operations_pieces = key->piece + 1;
	if (key->piece != wanted)
		return dgi_fail(err, DG_CORRUPT, "want piece %" PRIu32 " before it", wanted);
	if (n > DGI_OPERATIONS_BYTES_MAX - c->operations.n)
		return dgi_fail(err, DG_CORRUPT, "more than there may be");
	c->operations.max = DGI_OPERATIONS_BYTES_MAX;
	return dgi_buffer_append(&c->operations, payload, n, err);
}

static dg_status check_array(struct dgi_checking *c, const struct dgi_key *key,
			     const uint8_t *payload, size_t n, dg_error *err)
{
	const struct dgi_structure *s = &c->structure;
	const struct dgi_array *last = s->n ? &s->arrays[s->n - 1] : NULL;
	struct dgi_array_info info;
	dg_status st = dgi_array_info_decode(payload, n, &info, err);

	if (st)
		return st;
	if (last &&
	    (last->etype > key->etype || (last->etype == key->etype && last->kind >= key->array)))
		return dgi_fail(err, DG_CORRUPT, "out of order");
	st = dgi_structure_add_array(&c->structure, key, &info, c->file_bytes, err);
	if (!st)
		c->hooks->array(c->hooks->context, key->etype, key->array, info.dtype,
				(int64_t)info.n);
	return st;
}

static dg_status check_tensor(struct dgi_checking *c, const struct dgi_key *key,
			      const uint8_t *payload, size_t n, unsigned version, dg_error *err)
{
	const uint32_t last = c->last_tensor;
	struct dgi_tensor_record record;
	dg_status st = dgi_tensor_record_decode(payload, n, version, &record, err);

	if (st)
		return st;
	if (c->chunks_found || record.spec.info.id <= last)
		return dgi_fail(err, DG_CORRUPT, "out of order");
	c->last_tensor = record.spec.info.id;
	st = dgi_catalogue_add_tensor(&c->catalogue, key, &record, c->file_bytes, err);
	if (!st && !record.dropped)
		c->hooks->tensor(c->hooks->context, &record.spec.info);
	return st;
}

static dg_status check_payload(struct dgi_checking *c, const struct dgi_key *key,
			       const uint8_t *payload, size_t n, unsigned version, dg_error *err)
{
	switch (key->kind) {
	case DGI_KIND_SUPERBLOCK:
		return check_superblock(c, payload, n, err);
	case DGI_KIND_BOOK:
		check_book(c, payload, n);
		return DG_OK;
	case DGI_KIND_IDENTITY:
		return check_identity(n, err);
	case DGI_KIND_SESSIONS:
		return check_sessions(c, key, payload, n, err);
	case DGI_KIND_OPERATIONS:
		return check_operations(c, key, payload, n, err);
	case DGI_KIND_ARRAY:
		return check_array(c, key, payload, n, err);
	default:
		return check_tensor(c, key, payload, n, version, err);
	}
}

/* Value of a small record, lent by the walk or read to *allocated, which is to be freed. */
static dg_status fetch_value(struct dgi_checking *c, const struct dgi_walk_record *found,
			     uint8_t **allocated, const uint8_t **out, dg_error *err)
{
	*allocated = NULL;
	*out = found->value;
	if (found->value)
		return DG_OK;
	if (found->value_bytes > DGI_BOOK_BYTES_MAX)
		return dgi_fail(err, DG_CORRUPT, "%" PRIu64 " bytes, at most %" PRIu64,
				found->value_bytes, DGI_BOOK_BYTES_MAX);
	*allocated = malloc((size_t)found->value_bytes);
	*out = *allocated;
	return *allocated ? dgi_check_read(c, found->value_at, *allocated,
					   (size_t)found->value_bytes, err)
			  : dgi_fail_memory(err, "record");
}

/* A value ends with its payload, or with zeros to the end of its own pages. */
static dg_status check_end(const uint8_t *value, size_t value_bytes, size_t payload_bytes,
			   bool in_leaf, dg_error *err)
{
	size_t end = DGI_RECORD_HEADER_BYTES + payload_bytes;

	if (value_bytes != end && (in_leaf || !dgi_check_fills_pages(value_bytes)))
		return dgi_fail(err, DG_CORRUPT, "value of %zu bytes for %zu", value_bytes, end);
	if (!dgi_check_zeros(value + end, value_bytes - end))
		return dgi_fail(err, DG_CORRUPT, "bytes behind its payload are not 0");
	return DG_OK;
}

static dg_status check_small(struct dgi_checking *c, const struct dgi_key *key,
			     const struct dgi_walk_record *found, dg_error *err)
{
	const dg_uuid *uuid = key->kind == DGI_KIND_SUPERBLOCK ? NULL : &c->store_uuid;
	size_t value_bytes = (size_t)found->value_bytes;
	struct dgi_record record;
	const uint8_t *value;
	uint8_t *allocated;
	dg_status st = fetch_value(c, found, &allocated, &value, err);

	if (!st)
		st = dgi_record_header(value, value_bytes, key->kind, &record, err);
	if (!st && !dgi_record_holds(value, uuid, key, value + DGI_RECORD_HEADER_BYTES,
				     (size_t)record.payload_bytes))
		st = dgi_fail(err, DG_CORRUPT, "checksum does not match");
	if (!st && record.log > c->log && c->single != DGI_KIND_IDENTITY)
		c->log = record.log;
	if (!st)
		st = check_payload(c, key, value + DGI_RECORD_HEADER_BYTES,
				   (size_t)record.payload_bytes, record.version, err);
	if (!st)
		st = check_end(value, value_bytes, (size_t)record.payload_bytes, found->value, err);
	free(allocated);
	return st;
}

/* A record that a later version understands. One of ours whose key is damaged may look so. */
static dg_status check_optional(struct dgi_checking *c, const struct dgi_key *key,
				const struct dgi_walk_record *found, dg_error *err)
{
	uint8_t header[DGI_RECORD_HEADER_BYTES];
	struct dgi_record record;
	dg_status st;

	if (found->value_bytes < sizeof header)
		return dgi_fail(err, DG_CORRUPT, "value of %" PRIu64 " bytes, want at least %zu",
				found->value_bytes, sizeof header);
	st = dgi_check_read(c, found->value_at, header, sizeof header, err);
	if (!st)
		st = dgi_record_header(header, (size_t)found->value_bytes, key->kind, &record, err);
	/* Its own version is not for us to judge. */
	return st == DG_VERSION ? DG_OK : st;
}

static dg_status check_record(void *context, const struct dgi_walk_record *found, dg_error *err)
{
	struct dgi_checking *c = context;
	char name[DGI_KEY_TEXT_BYTES];
	struct dgi_key key;
	dg_error what;
	dg_status st = dgi_key_decode(found->key, found->key_bytes, &key, &what);

	if (st) {
		dgi_check_tell(c, st, &what, "record at byte %" PRIu64, found->value_at);
		return DG_OK;
	}
	if (key.kind < DGI_KIND_OPTIONAL)
		c->seen |= 1U << key.kind;
	if (c->blind && key.kind != DGI_KIND_SUPERBLOCK)
		return DG_OK;
	if (key.kind >= DGI_KIND_OPTIONAL)
		st = check_optional(c, &key, found, &what);
	else if (key.kind != DGI_KIND_SUPERBLOCK && !(c->kinds >> key.kind & 1))
		st = dgi_fail(&what, DG_CORRUPT, "in the wrong file");
	else if (key.kind == DGI_KIND_CHUNK)
		return dgi_check_chunk(c, &key, found, err);
	else if (key.kind == DGI_KIND_BLOCK)
		return dgi_check_block(c, &key, found, err);
	else if (key.kind == DGI_KIND_SEGMENT)
		dgi_check_segment(c, &key, found);
	else
		st = check_small(c, &key, found, &what);
	if (st == DG_NOMEM)
		return dgi_fail_memory(err, "check");
	if (st) {
		dgi_key_text(&key, name);
		dgi_check_tell(c, st, &what, "%s", name);
	}
	return DG_OK;
}

/* --- One file --- */

static void pass_on_page(void *context, const dg_finding *finding)
{
	pass_on(context, finding);
}

static const char *single_name(uint8_t kind)
{
	return kind == DGI_KIND_BOOK	   ? "book"
	       : kind == DGI_KIND_SESSIONS ? "session table"
					   : "identity";
}

/* The table of operations, all of whose pieces are there. */
static void check_table(struct dgi_checking *c)
{
	struct dgi_operations operations = { 0 };
	dg_error what;
	dg_status st =
		dgi_operations_decode(&operations, c->operations.data, c->operations.n, &what);

	if (st == DG_CORRUPT)
		dgi_check_tell(c, st, &what, "table of operations");
	dgi_operations_clear(&operations);
}

static void check_missing(struct dgi_checking *c)
{
	dg_error what;

	(void)dgi_fail(&what, DG_CORRUPT, "missing");
	if (!(c->seen >> DGI_KIND_SUPERBLOCK & 1))
		dgi_check_tell(c, DG_CORRUPT, &what, "superblock");
	if (!c->blind && !(c->seen >> c->single & 1))
		dgi_check_tell(c, DG_CORRUPT, &what, "%s", single_name(c->single));
	if (!c->blind) {
		check_table(c);
		dgi_check_missing_data(c);
	} else if (!c->has_superblock) {
		(void)dgi_fail(&what, DG_CORRUPT,
			       "no file has a sound one: no record can be verified");
		dgi_check_tell(c, DG_CORRUPT, &what, "superblock");
	}
}

/* A finding about a file as a whole. */
static void tell_file(struct dgi_checking *c, dg_status st, const dg_error *what)
{
	dg_finding finding = { .status = st };

	(void)snprintf(finding.where, sizeof finding.where, "%s", c->file);
	memcpy(finding.what, what->text, sizeof finding.what);
	pass_on(c, &finding);
}

/* Pages, records, and what is missing. */
static dg_status check_file(struct dgi_checking *c, dg_error *err)
{
	struct dgi_walk_options options = {
		.account = true,
		.headers = true,
		.found = pass_on_page,
		.found_context = c,
		.file_name = c->file,
	};
	struct dgi_walk_report report;
	dg_error what = { 0 };
	dg_status st;

	if (c->fd < 0) {
		st = dgi_fail(&what, DG_CORRUPT, "missing");
		tell_file(c, st, &what);
		return DG_OK;
	}
	st = dgi_walk(c->fd, &options, check_record, c, &report, &what);
	c->report->pages += DGI_FIRST_PAGE + report.pages_branch + report.pages_leaf +
			    report.pages_overflow + report.pages_free;
	if (st == DG_NOMEM)
		return dgi_fail_memory(err, c->file);
	if (st)
		tell_file(c, st, &what);
	else
		check_missing(c);
	return DG_OK;
}

/* --- All files --- */

static void ignore(void *context, const dg_finding *finding)
{
	(void)context;
	(void)finding;
}

/* Ends the walk at its first record. */
static dg_status take_superblock(void *context, const struct dgi_walk_record *found, dg_error *err)
{
	struct dgi_checking *c = context;
	struct dgi_superblock superblock;
	struct dgi_record record;
	struct dgi_key key;
	dg_status st = dgi_key_decode(found->key, found->key_bytes, &key, err);

	if (st || key.kind != DGI_KIND_SUPERBLOCK || !found->value)
		return DG_CANCELLED;
	st = dgi_record_read(found->value, (size_t)found->value_bytes, NULL, &key, &record, err);
	if (!st)
		st = dgi_superblock_decode(found->value + DGI_RECORD_HEADER_BYTES,
					   (size_t)record.payload_bytes, &superblock, err);
	if (!st) {
		c->store_uuid = superblock.store_uuid;
		c->blind = dgi_superblock_check(&superblock, false, err) != DG_OK;
	}
	return DG_CANCELLED;
}

/* Whose checksums a file has must be known before its records are read. */
static void find_uuid(struct dgi_checking *c)
{
	struct dgi_walk_options options = { .found = ignore, .file_name = c->file };
	struct dgi_walk_report report;

	c->blind = true;
	if (c->fd >= 0)
		(void)dgi_walk(c->fd, &options, take_superblock, c, &report, NULL);
}

enum { GRAPH, TENSORS, JOURNAL, N_FILES };

/* A file whose own superblock is lost is read as its neighbours'. */
static void lend_uuids(struct dgi_checking files[N_FILES])
{
	for (size_t i = 0; i < N_FILES; i++)
		for (size_t k = 0; k < N_FILES; k++)
			if (dgi_uuid_is_zero(&files[i].store_uuid) && !files[k].blind) {
				files[i].store_uuid = files[k].store_uuid;
				files[i].blind = false;
			}
}

/* Do the files belong to one store? */
static void check_match(struct dgi_checking files[N_FILES])
{
	struct dgi_checking *first = NULL;
	dg_error what;

	for (size_t i = 0; i < N_FILES; i++) {
		dg_status st;

		if (!files[i].has_superblock)
			continue;
		if (!first)
			first = &files[i];
		st = dgi_superblock_match(&first->superblock, &files[i].superblock, files[i].file,
					  &what);
		if (st)
			tell_file(&files[i], st, &what);
	}
}

/* Is the store as new as what it told to be durable? */
static dg_status check_mark(struct dgi_checking files[N_FILES], const char *directory,
			    dg_error *err)
{
	struct dgi_checking about_mark = files[GRAPH];
	uint64_t log =
		files[TENSORS].log > files[JOURNAL].log ? files[TENSORS].log : files[JOURNAL].log;
	struct dgi_mark_file file;
	struct dgi_mark mark;
	dg_error what = { 0 };
	dg_status st =
		dgi_mark_open(directory, false, &files[GRAPH].store_uuid, &file, &mark, &what);

	if (!st && mark.log_number > log)
		st = dgi_fail(&what, DG_CORRUPT,
			      "the store is older than it was: its newest write is %" PRIu64
			      ", write %" PRIu64 " was durable",
			      log, mark.log_number);
	if (st == DG_NOMEM)
		return dgi_fail_memory(err, DGI_MARK_FILE);
	about_mark.file = DGI_MARK_FILE;
	if (st)
		tell_file(&about_mark, st, &what);
	return DG_OK;
}

static dg_status check_all(struct dgi_checking files[N_FILES], const char *directory, dg_error *err)
{
	dg_status st = DG_OK;

	for (size_t i = 0; i < N_FILES; i++)
		find_uuid(&files[i]);
	lend_uuids(files);
	for (size_t i = 0; i < N_FILES && !st; i++)
		st = check_file(&files[i], err);
	if (st || files[GRAPH].blind)
		return st;
	check_match(files);
	if (files[TENSORS].has_superblock && files[JOURNAL].has_superblock)
		st = check_mark(files, directory, err);
	return st ? st : dgi_check_entries(&files[JOURNAL], &files[TENSORS].catalogue, err);
}

static dg_status open_file(struct dgi_checking *c, const char *directory, dg_error *err)
{
	struct stat info;
	char *path;
	dg_status st = DG_OK;

	if (asprintf(&path, "%s/%s", directory, c->file) < 0)
		return dgi_fail_memory(err, c->file);
	c->fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if ((c->fd < 0 && errno != ENOENT) || (c->fd >= 0 && fstat(c->fd, &info) != 0))
		st = dgi_fail_errno(err, errno, "open '%s'", path);
	else if (c->fd >= 0)
		c->file_bytes = (uint64_t)info.st_size;
	free(path);
	return st;
}

/* Before the lock is taken, which makes a file. What cannot be seen is left to the opening. */
static dg_status check_presence(const char *directory, dg_error *err)
{
	int fd = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
	bool there = false;

	if (fd < 0)
		return dgi_fail_errno(err, errno, "store '%s'", directory);
	if (faccessat(fd, DGI_GRAPH_FILE, F_OK, AT_SYMLINK_NOFOLLOW) == 0 || errno == EACCES ||
	    faccessat(fd, DGI_TENSORS_FILE, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		there = true;
	(void)close(fd);
	return there ? DG_OK
		     : dgi_fail(err, DG_NOTFOUND, "store '%s': no store there: neither %s nor %s",
				directory, DGI_GRAPH_FILE, DGI_TENSORS_FILE);
}

static void clear(struct dgi_checking *c)
{
	if (c->fd >= 0)
		(void)close(c->fd);
	dgi_structure_clear(&c->structure);
	dgi_catalogue_clear(&c->catalogue);
	dgi_sessions_free(c->sessions);
	dgi_buffer_clear(&c->operations);
	free(c->chunks_found);
	free(c->blocks);
}

#define KIND(name) (1U << DGI_KIND_##name)

dg_status dgi_volume_check(const char *path, bool deep, const struct dgi_check_hooks *hooks,
			   dg_check_report *report, dg_error *err)
{
	struct dgi_checking files[N_FILES] = {
		[GRAPH] = { .file = DGI_GRAPH_FILE,
			    .kinds = KIND(BOOK) | KIND(ARRAY) | KIND(SEGMENT),
			    .single = DGI_KIND_BOOK },
		[TENSORS] = { .file = DGI_TENSORS_FILE,
			      .kinds = KIND(TENSOR) | KIND(CHUNK) | KIND(SESSIONS) |
				       KIND(OPERATIONS),
			      .single = DGI_KIND_SESSIONS },
		[JOURNAL] = { .file = DGI_JOURNAL_FILE,
			      .kinds = KIND(IDENTITY) | KIND(BLOCK),
			      .single = DGI_KIND_IDENTITY },
	};
	struct dgi_lock *lock = NULL;
	uint8_t *room = malloc(DGI_CHECK_ROOM_BYTES);
	dg_status st = room ? check_presence(path, err) : dgi_fail_memory(err, "check");

	if (!st)
		st = dgi_lock_take(path, false, &lock, err);
	for (size_t i = 0; i < N_FILES; i++) {
		files[i].hooks = hooks;
		files[i].report = report;
		files[i].deep = deep;
		files[i].room = room;
		files[i].fd = -1;
		if (!st)
			st = open_file(&files[i], path, err);
	}
	if (!st)
		st = dgi_sessions_new(&files[TENSORS].sessions, err);
	if (!st)
		st = check_all(files, path, err);
	for (size_t i = 0; i < N_FILES; i++)
		clear(&files[i]);
	dgi_lock_release(lock);
	free(room);
	return st;
}
