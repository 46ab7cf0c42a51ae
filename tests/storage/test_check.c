/* What storage/check.c promises: all damage is told, in terms of rows and elements. */
#include "test.h"

#include "bytes.h"
#include "env.h"
#include "fixture.h"
#include "record.h"
#include "tmpdir.h"
#include "volume_check.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGE 4096

static const struct dgi_volume_options reading;
static const struct dgi_volume_options writing = { .writable = true };

/* What a check said: findings as lines, and the elements it handed out. */
struct heard {
	char lines[16384];
	size_t n_findings;
	dg_check_report report;
	int64_t elements;
	int books, arrays, tensors;
};

struct place {
	char *dir;
	char *store;
};

static int begin(void **state)
{
	struct place *p = malloc(sizeof *p);

	p->dir = tmpdir_new();
	p->store = tmpdir_path(p->dir, "part1");
	*state = p;
	return 0;
}

static int end(void **state)
{
	struct place *p = *state;

	tmpdir_remove(p->dir);
	free(p->store);
	free(p);
	return 0;
}

static void hear_book(void *context, const struct dgi_superblock *superblock, const uint8_t *book,
		      size_t n)
{
	struct heard *h = context;

	(void)superblock;
	assert_true(n >= strlen(FIXTURE_BOOK));
	assert_memory_equal(book, FIXTURE_BOOK, strlen(FIXTURE_BOOK));
	h->books++;
}

static void hear_array(void *context, uint16_t etype, uint8_t kind, dg_dtype dtype, int64_t n)
{
	struct heard *h = context;

	(void)etype;
	(void)kind;
	(void)dtype;
	(void)n;
	h->arrays++;
}

static void hear_elements(void *context, uint16_t etype, uint8_t kind, int64_t first, int64_t n,
			  const void *elements)
{
	struct heard *h = context;
	const int32_t *values = elements;

	assert_int_equal(etype, 0);
	assert_int_equal(kind, DG_GRAPH_INDICES);
	for (int64_t i = 0; i < n; i += 1000)
		assert_int_equal(values[i], fixture_element(first + i));
	h->elements += n;
}

static void hear_tensor(void *context, const dg_tensor_info *tensor)
{
	struct heard *h = context;

	(void)tensor;
	h->tensors++;
}

static void name_array(void *context, uint16_t etype, uint8_t kind, char out[DG_KEY_TEXT_BYTES])
{
	(void)context;
	(void)snprintf(out, DG_KEY_TEXT_BYTES, "array %u of %u", kind, etype);
}

static void name_tensor(void *context, const dg_tensor_info *tensor, char out[DG_KEY_TEXT_BYTES])
{
	(void)context;
	(void)snprintf(out, DG_KEY_TEXT_BYTES, "%s", tensor->name);
}

static void hear(void *context, const dg_finding *finding)
{
	struct heard *h = context;
	size_t used = strlen(h->lines);

	h->n_findings++;
	(void)snprintf(h->lines + used, sizeof h->lines - used, "%s%s: %s\n",
		       finding->status ? "" : "remark: ", finding->where, finding->what);
}

static dg_status check(const char *store, bool deep, struct heard *h, dg_error *err)
{
	struct dgi_check_hooks hooks = {
		.context = h,
		.book = hear_book,
		.array = hear_array,
		.elements = hear_elements,
		.tensor = hear_tensor,
		.name_array = name_array,
		.name_tensor = name_tensor,
		.found = hear,
		.found_context = h,
	};

	h->lines[0] = '\0';
	h->n_findings = 0;
	h->report = (dg_check_report){ 0 };
	h->elements = h->books = h->arrays = h->tensors = 0;
	return dgi_volume_check(store, deep, &hooks, &h->report, err);
}

/* The deep check says exactly @wanted, lines of findings. */
static void expect(const char *store, struct heard *h, const char *wanted)
{
	dg_error err = { 0 };

	assert_ok(check(store, true, h, &err), &err);
	assert_string_equal(h->lines, wanted);
}

static void write_rows(const char *store)
{
	const dg_id rows[] = { 0, 500, 999 };
	struct dgi_volume *volume;
	dg_error err = { 0 };

	assert_ok(dgi_volume_open(store, &writing, &volume, &err), &err);
	for (uint64_t version = 1; version < 5; version++)
		assert_ok(fixture_write(volume, FIXTURE_FEAT, rows, 3, version, &err), &err);
	dgi_volume_close(volume);
}

/* Writes, and leaves the store as a kill would: the journal holds what tensors.mdb lacks. */
static void write_and_die(const char *store, uint32_t tensor, int n_writes)
{
	static const char *const files[] = { DGI_TENSORS_FILE, DGI_JOURNAL_FILE, "mark" };
	const dg_id rows[] = { 0, 50, 99 };
	struct dgi_volume *volume;
	uint8_t *bytes[3];
	size_t n[3];
	dg_error err = { 0 };

	assert_ok(dgi_volume_open(store, &writing, &volume, &err), &err);
	for (int i = 0; i < n_writes; i++)
		assert_ok(fixture_write(volume, tensor, rows, 3, 1, &err), &err);
	for (size_t i = 0; i < 3; i++)
		bytes[i] = fixture_load(store, files[i], &n[i]);
	dgi_volume_close(volume);
	for (size_t i = 0; i < 3; i++) {
		fixture_save(store, files[i], bytes[i], n[i]);
		free(bytes[i]);
	}
}

static void a_sound_store_has_no_findings(void **state)
{
	struct place *p = *state;
	struct heard h;
	dg_error err = { 0 };

	fixture_make(p->store, 1);
	expect(p->store, &h, "");
	assert_int_equal(h.elements, FIXTURE_ELEMENTS);
	assert_int_equal(h.books, 1);
	assert_int_equal(h.arrays, 2);
	assert_int_equal(h.tensors, 5);
	assert_int_equal(h.report.damaged, 0);
	assert_int_equal(h.report.bytes, FIXTURE_ELEMENTS * 4 + FIXTURE_ROWS * 513 +
						 FIXTURE_WIDE_ROWS * 100000 + 80);
	write_rows(p->store);
	expect(p->store, &h, "");
	assert_ok(check(p->store, false, &h, &err), &err);
	assert_int_equal(h.n_findings, 0);
	assert_int_equal(h.report.bytes, 0);
	assert_int_equal(h.elements, 0);
	write_and_die(p->store, FIXTURE_FEAT, 5);
	expect(p->store, &h, "");
	assert_true(h.report.bytes >
		    FIXTURE_ELEMENTS * 4 + FIXTURE_ROWS * 513 + FIXTURE_WIDE_ROWS * 100000 + 80);
}

static void flip_in_record(const char *store, const char *file, uint16_t kind, size_t number,
			   size_t offset)
{
	size_t n;
	uint8_t *bytes = fixture_load(store, file, &n);

	fixture_find_record(bytes, n, kind, number)[offset] ^= 0x40;
	fixture_save(store, file, bytes, n);
	free(bytes);
}

/* --- Every byte --- */

struct live {
	uint8_t *bytes; /* of the file */
	size_t n;
	uint8_t *is_live; /* one a byte */
};

static void set_live(struct live *live, size_t from, size_t to)
{
	assert_true(to <= live->n);
	memset(live->is_live + from, 1, to - from);
}

/* The leaf that is the whole tree, and the pages of its large values. */
static void find_live_leaf(struct live *live, size_t at)
{
	const uint8_t *page = live->bytes + at;
	size_t lower = dgi_get_u16(page + 12);

	assert_int_equal(dgi_get_u16(page + 10), 2);
	set_live(live, at, at + 8);
	set_live(live, at + 10, at + lower);
	for (size_t i = 16; i < lower; i += 2) {
		size_t node = at + dgi_get_u16(page + i);
		size_t data = node + 8 + dgi_get_u16(live->bytes + node + 6);
		size_t bytes = dgi_get_u32(live->bytes + node);
		bool large = dgi_get_u16(live->bytes + node + 4) == 1;
		size_t run = large ? dgi_get_u64(live->bytes + data) * PAGE : 0;

		set_live(live, node, data + (large ? 8 : bytes));
		if (large) {
			set_live(live, run, run + 8);
			set_live(live, run + 10, run + 16 + bytes);
		}
	}
}

/* All that a reader depends on: not the free list, the map size, the fields nobody uses. */
static struct live find_live(const char *store, const char *file)
{
	struct live live = { 0 };
	size_t newer;

	live.bytes = fixture_load(store, file, &live.n);
	live.is_live = calloc(live.n, 1);
	assert_non_null(live.is_live);
	newer = dgi_get_u64(live.bytes + 144) > dgi_get_u64(live.bytes + PAGE + 144) ? 0 : PAGE;
	set_live(&live, 0, 8);
	set_live(&live, PAGE, PAGE + 8);
	set_live(&live, newer + 10, newer + 12);
	set_live(&live, newer + 16, newer + 32);
	set_live(&live, newer + 40, newer + 152);
	find_live_leaf(&live, dgi_get_u64(live.bytes + newer + 128) * PAGE);
	return live;
}

static void flip_all(const char *store, const char *file, uint8_t mask)
{
	struct live live = find_live(store, file);
	char *path = tmpdir_path(store, file);
	int fd = open(path, O_RDWR);
	struct heard h;
	dg_error err = { 0 };

	assert_true(fd >= 0);
	for (size_t at = 0; at < live.n; at++) {
		uint8_t flipped = live.bytes[at] ^ mask;

		if (!live.is_live[at])
			continue;
		assert_int_equal(pwrite(fd, &flipped, 1, (off_t)at), 1);
		assert_ok(check(store, true, &h, &err), &err);
		if (h.n_findings == 0)
			fail_msg("%s: byte %zu flipped by %02x is not told", file, at, mask);
		assert_int_equal(pwrite(fd, live.bytes + at, 1, (off_t)at), 1);
	}
	expect(store, &h, "");
	close(fd);
	free(path);
	free(live.bytes);
	free(live.is_live);
}

static dg_status fill_elements(void *context, int64_t first, int64_t n, void *out, dg_error *err)
{
	int32_t *to = out;

	(void)context;
	(void)err;
	for (int64_t i = 0; i < n; i++)
		to[i] = fixture_element(first + i);
	return DG_OK;
}

static dg_status fill_rows(void *context, int64_t first, int64_t n, void *out, dg_error *err)
{
	(void)context;
	(void)first;
	(void)err;
	memset(out, 7, (size_t)n * 33);
	return DG_OK;
}

/* A store of few bytes, with everything in it. */
static void make_tiny(const char *path, size_t book_bytes)
{
	struct dgi_superblock s = {
		.store_uuid = { { 1 } }, .cluster_uuid = { { 2 } }, .part = 1, .n_parts = 4
	};
	dg_tensor_info info = { .id = 6, .name = "feat", .dtype = DG_UINT8, .n_rows = 100 };
	static const char book[5000] = FIXTURE_BOOK;
	struct dgi_volume_maker *maker;
	dg_error err = { 0 };

	info.rank = 1;
	info.shape[0] = 33;
	assert_int_equal(mkdir(path, 0700), 0);
	assert_ok(dgi_volume_make(path, &s, book, book_bytes, &maker, &err), &err);
	assert_ok(dgi_volume_maker_array(maker, 0, DG_GRAPH_INDICES, DG_INT32, 101, fill_elements,
					 NULL, &err),
		  &err);
	assert_ok(dgi_volume_maker_tensor(maker, &info, fill_rows, NULL, &err), &err);
	assert_ok(dgi_volume_maker_close(maker, true, &err), &err);
}

static void each_flipped_live_byte_is_told(void **state)
{
	struct place *p = *state;

	make_tiny(p->store, strlen(FIXTURE_BOOK));
	write_and_die(p->store, 6, 2);
	flip_all(p->store, DGI_JOURNAL_FILE, 0xff);
	flip_all(p->store, DGI_TENSORS_FILE, 0xff);
	flip_all(p->store, DGI_TENSORS_FILE, 0x01);
	flip_all(p->store, DGI_GRAPH_FILE, 0xff);
}

static void a_book_may_have_pages_of_its_own(void **state)
{
	struct place *p = *state;
	struct heard h;

	make_tiny(p->store, 5000);
	expect(p->store, &h, "");
	flip_in_record(p->store, DGI_GRAPH_FILE, DGI_KIND_BOOK, 0, 4500);
	expect(p->store, &h, "graph.mdb: book: checksum does not match\n");
}

static void truncation_is_told(void **state)
{
	static const char *const files[] = { DGI_GRAPH_FILE, DGI_TENSORS_FILE, DGI_JOURNAL_FILE };
	struct place *p = *state;
	struct heard h;
	dg_error err = { 0 };

	fixture_make_one(p->store, 33, 3000);
	for (size_t f = 0; f < 3; f++) {
		size_t n;
		uint8_t *bytes = fixture_load(p->store, files[f], &n);

		for (size_t cut = 0; cut < n; cut += 2048) {
			fixture_save(p->store, files[f], bytes, cut);
			assert_ok(check(p->store, true, &h, &err), &err);
			/* The last pages may be free ones. */
			assert_true(h.n_findings > 0 || cut + 5 * PAGE > n);
		}
		fixture_save(p->store, files[f], bytes, n);
		free(bytes);
	}
	expect(p->store, &h, "");
}

/* --- Kinds of damage --- */

static void damaged_chunks_are_told_by_their_rows(void **state)
{
	struct place *p = *state;
	struct heard h;
	dg_error err = { 0 };

	fixture_make(p->store, 1);
	/* Chunk 0 is LABEL's only one; FEAT's are 1, 2, … of 127 rows. */
	flip_in_record(p->store, DGI_TENSORS_FILE, DGI_KIND_CHUNK, 2, 5000);
	flip_in_record(p->store, DGI_TENSORS_FILE, DGI_KIND_CHUNK, 8, 48);
	expect(p->store, &h,
	       "tensors.mdb: feat rows 127..253: checksum does not match\n"
	       "tensors.mdb: feat rows 889..999: checksum does not match\n");
	assert_int_equal(h.report.damaged, 2);
	assert_ok(check(p->store, false, &h, &err), &err);
	assert_int_equal(h.n_findings, 0);
	flip_in_record(p->store, DGI_TENSORS_FILE, DGI_KIND_CHUNK, 3, 0);
	assert_ok(check(p->store, false, &h, &err), &err);
	assert_string_equal(h.lines,
			    "tensors.mdb: feat rows 254..380: record begins with 31524704, "
			    "want 31524744 (DGR1)\n");
}

static void damaged_elements_are_told_by_their_numbers(void **state)
{
	struct place *p = *state;
	struct heard h;
	size_t n;
	uint8_t *bytes, *second;

	fixture_make(p->store, 1);
	bytes = fixture_load(p->store, DGI_GRAPH_FILE, &n);
	/* Three segments of 262,144 elements. */
	second = fixture_find_record(bytes, n, DGI_KIND_SEGMENT, 1);
	second[700000] ^= 1;
	fixture_save(p->store, DGI_GRAPH_FILE, bytes, n);
	expect(p->store, &h,
	       "graph.mdb: array 2 of 0 elements 262144..524287: checksum does not match\n");
	assert_int_equal(h.elements, FIXTURE_ELEMENTS - 262144);
	second[700000] ^= 1;
	second[48 + (1 << 20)] ^= 1; /* its sum */
	fixture_save(p->store, DGI_GRAPH_FILE, bytes, n);
	expect(p->store, &h,
	       "graph.mdb: array 2 of 0 elements 262144..524287: the checksum of its sums does not "
	       "match\n");
	free(bytes);
}

/* Takes records out of a file by liblmdb. */
static void delete_records(const char *store, const char *file, const struct dgi_key *keys,
			   size_t n)
{
	char *path = tmpdir_path(store, file);
	uint8_t bytes[DGI_KEY_BYTES_MAX];
	struct dgi_env *env;
	dg_error err = { 0 };

	assert_ok(dgi_env_open(path, false, 1 << 30, &env, &err), &err);
	assert_ok(dgi_env_begin(env, &err), &err);
	for (size_t i = 0; i < n; i++) {
		size_t length = dgi_key_encode(&keys[i], bytes);

		assert_ok(dgi_env_delete(env, bytes, length, &err), &err);
	}
	assert_ok(dgi_env_commit(env, &err), &err);
	dgi_env_close(env, true);
	free(path);
}

static void what_is_missing_is_told(void **state)
{
	const struct dgi_key chunks[] = {
		{ .kind = DGI_KIND_CHUNK, .tensor = FIXTURE_FEAT, .chunk = 0 },
		{ .kind = DGI_KIND_CHUNK, .tensor = FIXTURE_FEAT, .chunk = 3 },
		{ .kind = DGI_KIND_CHUNK, .tensor = FIXTURE_FEAT, .chunk = 4 },
		{ .kind = DGI_KIND_TENSOR, .tensor = FIXTURE_LABEL },
		{ .kind = DGI_KIND_SESSIONS },
	};
	const struct dgi_key segments[] = {
		{ .kind = DGI_KIND_SEGMENT, .array = DG_GRAPH_INDICES, .segment = 1 },
		{ .kind = DGI_KIND_SEGMENT, .array = DG_GRAPH_INDICES, .segment = 2 },
		{ .kind = DGI_KIND_BOOK },
	};
	const struct dgi_key identity = { .kind = DGI_KIND_IDENTITY };
	const struct dgi_key array = { .kind = DGI_KIND_ARRAY, .array = DG_GRAPH_INDICES };
	struct place *p = *state;
	struct heard h;

	fixture_make(p->store, 1);
	delete_records(p->store, DGI_TENSORS_FILE, chunks, 5);
	expect(p->store, &h,
	       "tensors.mdb: session table: missing\n"
	       "tensors.mdb: tensor number 1: 1 chunks that the catalogue lacks\n"
	       "tensors.mdb: feat rows 0..126: missing\n"
	       "tensors.mdb: feat rows 381..634: missing\n");
	assert_int_equal(h.report.damaged, 4);
	delete_records(p->store, DGI_GRAPH_FILE, segments, 3);
	assert_non_null(strstr((check(p->store, false, &h, NULL), h.lines),
			       "graph.mdb: book: missing\n"
			       "graph.mdb: array 2 of 0 elements 262144..599999: missing\n"));
	delete_records(p->store, DGI_JOURNAL_FILE, &identity, 1);
	delete_records(p->store, DGI_GRAPH_FILE, &array, 1);
	assert_non_null(strstr((check(p->store, false, &h, NULL), h.lines),
			       "graph.mdb: array 2 of 0: 1 segments that its description lacks\n"));
	assert_non_null(strstr(h.lines, "journal.mdb: identity: missing\n"));
}

static void what_the_journal_lacks_is_told(void **state)
{
	struct dgi_key middle = { .kind = DGI_KIND_BLOCK };
	struct place *p = *state;
	struct heard h;
	dg_error err = { 0 };
	uint64_t first;
	uint8_t *bytes;
	char wanted[100];
	size_t n;

	fixture_make(p->store, 1);
	write_and_die(p->store, FIXTURE_FEAT, 5);
	bytes = fixture_load(p->store, DGI_JOURNAL_FILE, &n);
	flip_in_record(p->store, DGI_JOURNAL_FILE, DGI_KIND_BLOCK, 2, 60);
	assert_ok(check(p->store, false, &h, &err), &err);
	assert_int_equal(h.n_findings, 0);
	assert_ok(check(p->store, true, &h, &err), &err);
	assert_int_equal(h.n_findings, 1);
	assert_int_equal(sscanf(h.lines, "journal.mdb: block %" SCNu64, &first), 1);
	assert_non_null(strstr(h.lines, ": checksum does not match\n"));

	fixture_save(p->store, DGI_JOURNAL_FILE, bytes, n);
	free(bytes);
	middle.block = first;
	delete_records(p->store, DGI_JOURNAL_FILE, &middle, 1);
	(void)snprintf(wanted, sizeof wanted, "journal.mdb: block %" PRIu64 ": missing\n", first);
	expect(p->store, &h, wanted);
}

static void a_store_that_came_back_older_is_told(void **state)
{
	static const char *const files[] = { DGI_TENSORS_FILE, DGI_JOURNAL_FILE };
	struct place *p = *state;
	struct heard h;
	uint8_t *bytes[2];
	size_t n[2];

	fixture_make(p->store, 1);
	for (size_t i = 0; i < 2; i++)
		bytes[i] = fixture_load(p->store, files[i], &n[i]);
	write_rows(p->store);
	for (size_t i = 0; i < 2; i++) {
		fixture_save(p->store, files[i], bytes[i], n[i]);
		free(bytes[i]);
	}
	expect(p->store, &h,
	       "mark: the store is older than it was: its newest write is 0, write 4 was "
	       "durable\n");
	fixture_save(p->store, "mark", "nothing", 7);
	assert_int_equal(check(p->store, false, &h, NULL), DG_OK);
	assert_int_equal(h.n_findings, 1);
	assert_ptr_equal(strstr(h.lines, "mark: "), h.lines);
}

static void small_records_are_verified_without_deep(void **state)
{
	struct place *p = *state;
	struct heard h;
	dg_error err = { 0 };

	fixture_make(p->store, 1);
	flip_in_record(p->store, DGI_GRAPH_FILE, DGI_KIND_BOOK, 0, 50);
	assert_ok(check(p->store, false, &h, &err), &err);
	assert_string_equal(h.lines, "graph.mdb: book: checksum does not match\n");
}

static void a_lost_superblock_is_replaced_by_another_files(void **state)
{
	struct place *p = *state;
	struct heard h;
	dg_error err = { 0 };

	fixture_make(p->store, 1);
	flip_in_record(p->store, DGI_TENSORS_FILE, DGI_KIND_SUPERBLOCK, 0, 60);
	flip_in_record(p->store, DGI_TENSORS_FILE, DGI_KIND_CHUNK, 0, 60);
	assert_ok(check(p->store, true, &h, &err), &err);
	assert_string_equal(h.lines, "tensors.mdb: superblock: checksum does not match\n"
				     "tensors.mdb: label rows 0..999: checksum does not match\n");
	flip_in_record(p->store, DGI_GRAPH_FILE, DGI_KIND_SUPERBLOCK, 0, 60);
	flip_in_record(p->store, DGI_JOURNAL_FILE, DGI_KIND_SUPERBLOCK, 0, 60);
	assert_ok(check(p->store, true, &h, &err), &err);
	assert_int_equal(h.report.damaged, 6);
	assert_non_null(strstr(h.lines, "journal.mdb: superblock: no file has a sound one: no "
					"record can be verified\n"));
}

static void make_newer(const char *store, const char *file)
{
	const struct dgi_key key = { .kind = DGI_KIND_SUPERBLOCK };
	struct dgi_record record = { .kind = DGI_KIND_SUPERBLOCK,
				     .version = DGI_RECORD_VERSION,
				     .payload_bytes = 72 };
	size_t n;
	uint8_t *bytes = fixture_load(store, file, &n);
	uint8_t *value = fixture_find_record(bytes, n, DGI_KIND_SUPERBLOCK, 0);
	uint8_t *payload = value + DGI_RECORD_HEADER_BYTES;

	dgi_put_u16(payload + 40, 2);
	dgi_put_u16(payload + 42, 2);
	dgi_record_seal(value, &record, NULL, &key, payload, 72);
	fixture_save(store, file, bytes, n);
	free(bytes);
}

static void a_newer_format_is_one_finding_a_file(void **state)
{
	struct place *p = *state;
	struct heard h;

	make_tiny(p->store, strlen(FIXTURE_BOOK));
	make_newer(p->store, DGI_GRAPH_FILE);
	make_newer(p->store, DGI_TENSORS_FILE);
	make_newer(p->store, DGI_JOURNAL_FILE);
	expect(p->store, &h,
	       "graph.mdb: superblock: store of format 2, this program reads up to 1: use a newer "
	       "one\n"
	       "tensors.mdb: superblock: store of format 2, this program reads up to 1: use a "
	       "newer "
	       "one\n"
	       "journal.mdb: superblock: store of format 2, this program reads up to 1: use a "
	       "newer "
	       "one\n");
}

static void files_that_do_not_belong_together_are_told(void **state)
{
	struct place *p = *state;
	char *other = tmpdir_path(p->dir, "other");
	struct heard h;
	size_t n;
	uint8_t *bytes;

	fixture_make(p->store, 1);
	fixture_make(other, 1);
	bytes = fixture_load(other, DGI_TENSORS_FILE, &n);
	fixture_save(p->store, DGI_TENSORS_FILE, bytes, n);
	free(bytes);
	free(other);
	assert_int_equal(check(p->store, true, &h, NULL), DG_OK);
	assert_int_equal(h.report.damaged, 1);
	assert_ptr_equal(strstr(h.lines, "tensors.mdb: tensors.mdb is of store "), h.lines);
}

static void missing_files_are_told_or_no_store(void **state)
{
	struct place *p = *state;
	char *tensors = tmpdir_path(p->store, DGI_TENSORS_FILE);
	char *graph = tmpdir_path(p->store, DGI_GRAPH_FILE);
	char *lock = tmpdir_path(p->dir, "lock");
	struct heard h;
	dg_error err = { 0 };

	fixture_make(p->store, 1);
	assert_int_equal(unlink(tensors), 0);
	expect(p->store, &h, "tensors.mdb: missing\n");
	assert_int_equal(unlink(graph), 0);
	assert_fails(check(p->store, true, &h, &err), DG_NOTFOUND, &err, "no store there");
	assert_fails(check(p->dir, true, &h, &err), DG_NOTFOUND, &err, "no store there");
	assert_int_equal(access(lock, F_OK), -1);
	assert_fails(check(graph, true, &h, &err), DG_NOTFOUND, &err, "");
	free(tensors);
	free(graph);
	free(lock);
}

static void a_store_that_is_written_is_busy(void **state)
{
	struct place *p = *state;
	struct dgi_volume *volume;
	struct heard h;
	dg_error err = { 0 };

	fixture_make(p->store, 1);
	assert_ok(dgi_volume_open(p->store, &writing, &volume, &err), &err);
	assert_fails(check(p->store, true, &h, &err), DG_BUSY, &err, "is open in this process");
	dgi_volume_close(volume);
	assert_ok(dgi_volume_open(p->store, &reading, &volume, &err), &err);
	assert_ok(check(p->store, true, &h, &err), &err);
	dgi_volume_close(volume);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_sound_store_has_no_findings, begin, end),
		cmocka_unit_test_setup_teardown(each_flipped_live_byte_is_told, begin, end),
		cmocka_unit_test_setup_teardown(a_book_may_have_pages_of_its_own, begin, end),
		cmocka_unit_test_setup_teardown(truncation_is_told, begin, end),
		cmocka_unit_test_setup_teardown(damaged_chunks_are_told_by_their_rows, begin, end),
		cmocka_unit_test_setup_teardown(damaged_elements_are_told_by_their_numbers, begin,
						end),
		cmocka_unit_test_setup_teardown(what_is_missing_is_told, begin, end),
		cmocka_unit_test_setup_teardown(what_the_journal_lacks_is_told, begin, end),
		cmocka_unit_test_setup_teardown(a_store_that_came_back_older_is_told, begin, end),
		cmocka_unit_test_setup_teardown(small_records_are_verified_without_deep, begin,
						end),
		cmocka_unit_test_setup_teardown(a_lost_superblock_is_replaced_by_another_files,
						begin, end),
		cmocka_unit_test_setup_teardown(a_newer_format_is_one_finding_a_file, begin, end),
		cmocka_unit_test_setup_teardown(files_that_do_not_belong_together_are_told, begin,
						end),
		cmocka_unit_test_setup_teardown(missing_files_are_told_or_no_store, begin, end),
		cmocka_unit_test_setup_teardown(a_store_that_is_written_is_busy, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
