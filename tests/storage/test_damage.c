/* What opening and reading say of a store that is damaged, mixed up, newer, or not ours. */
#include "test.h"

#include "fixture.h"

#include "bytes.h"
#include "record.h"
#include "superblock.h"
#include "tmpdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct place {
	char *dir;
	char *store;
};

static int make_place(void **state)
{
	struct place *p = malloc(sizeof *p);

	p->dir = tmpdir_new();
	p->store = tmpdir_path(p->dir, "part1");
	fixture_make(p->store, 1);
	*state = p;
	return 0;
}

static int remove_place(void **state)
{
	struct place *p = *state;

	tmpdir_remove(p->dir);
	free(p->store);
	free(p);
	return 0;
}

static void expect_refused(const struct place *p, bool writable, dg_status wanted, const char *text)
{
	struct dgi_volume *volume;
	dg_error err = { 0 };

	assert_fails(dgi_volume_open(p->store, &(struct dgi_volume_options){ .writable = writable },
				     &volume, &err),
		     wanted, &err, text);
}

static struct dgi_volume *open_volume(const struct place *p, bool writable)
{
	struct dgi_volume *volume;
	dg_error err = { 0 };

	assert_ok(dgi_volume_open(p->store, &(struct dgi_volume_options){ .writable = writable },
				  &volume, &err),
		  &err);
	return volume;
}

/* Changes one byte of the @number-th record of @kind in a file of the store. */
static void flip(const struct place *p, const char *file, uint16_t kind, size_t number, size_t at)
{
	size_t n;
	uint8_t *data = fixture_load(p->store, file, &n);

	fixture_find_record(data, n, kind, number)[at] ^= 0x10;
	fixture_save(p->store, file, data, n);
	free(data);
}

static void a_damaged_chunk_is_named_and_the_others_are_served(void **state)
{
	const struct place *p = *state;
	const dg_id hit[] = { 130 }, other[] = { 0, 126, 254, 999 };
	struct dgi_volume *volume;
	uint8_t out[512];
	dg_error err = { 0 };

	flip(p, DGI_TENSORS_FILE, DGI_KIND_CHUNK, 2, 48 + 5000); /* label has one, then feat */
	volume = open_volume(p, true);
	fixture_expect_rows(volume, FIXTURE_FEAT, other, 4, 0);
	assert_fails(dgi_volume_gather(volume, FIXTURE_FEAT, hit, 1, out, &err), DG_CORRUPT, &err,
		     "tensor 'feat': rows 127..253: its checksum does not match");
	assert_fails(fixture_write(volume, FIXTURE_FEAT, hit, 1, 1, &err), DG_CORRUPT, &err,
		     "rows 127..253");
	assert_ok(fixture_write(volume, FIXTURE_FEAT, other, 4, 1, &err), &err);
	fixture_expect_rows(volume, FIXTURE_FEAT, other, 4, 1);
	dgi_volume_close(volume);
}

static void a_damaged_chunk_header_is_noticed_byte_by_byte(void **state)
{
	const struct place *p = *state;
	const dg_id row = 0;
	uint8_t out[512];
	dg_error err = { 0 };

	for (size_t at = 0; at < DGI_RECORD_HEADER_BYTES; at++) {
		struct dgi_volume *volume;
		size_t n;
		uint8_t *data = fixture_load(p->store, DGI_TENSORS_FILE, &n);
		uint8_t *record = fixture_find_record(data, n, DGI_KIND_CHUNK, 1);
		dg_status st;

		record[at] ^= 0x10;
		fixture_save(p->store, DGI_TENSORS_FILE, data, n);
		volume = open_volume(p, false);
		st = dgi_volume_gather(volume, FIXTURE_FEAT, &row, 1, out, &err);
		if (st != DG_CORRUPT && st != DG_VERSION)
			fail_msg("byte %zu: status %d", at, (int)st);
		dgi_volume_close(volume);
		record[at] ^= 0x10;
		fixture_save(p->store, DGI_TENSORS_FILE, data, n);
		free(data);
	}
}

static void two_chunks_that_changed_places_are_noticed(void **state)
{
	const struct place *p = *state;
	const size_t bytes = 16 * 4096 - 16;
	const dg_id rows[] = { 0, 127 };
	struct dgi_volume *volume;
	uint8_t out[512];
	uint8_t *a, *b, *copy = malloc(bytes);
	dg_error err = { 0 };
	size_t n;
	uint8_t *data = fixture_load(p->store, DGI_TENSORS_FILE, &n);

	a = fixture_find_record(data, n, DGI_KIND_CHUNK, 1);
	b = fixture_find_record(data, n, DGI_KIND_CHUNK, 2);
	memcpy(copy, a, bytes);
	memcpy(a, b, bytes);
	memcpy(b, copy, bytes);
	fixture_save(p->store, DGI_TENSORS_FILE, data, n);
	volume = open_volume(p, false);
	for (size_t i = 0; i < 2; i++)
		assert_fails(dgi_volume_gather(volume, FIXTURE_FEAT, &rows[i], 1, out, &err),
			     DG_CORRUPT, &err, "in the wrong place");
	dgi_volume_close(volume);
	free(copy);
	free(data);
}

static void an_older_image_of_a_chunk_in_its_place_is_noticed(void **state)
{
	const struct place *p = *state;
	const dg_id row = 3;
	struct dgi_volume *volume = open_volume(p, true);
	uint8_t out[512];
	dg_error err = { 0 };
	size_t n, old_n, bytes = 16 * 4096 - 16;
	uint8_t *old = fixture_load(p->store, DGI_TENSORS_FILE, &old_n);
	uint8_t *data, *record = NULL;

	assert_ok(fixture_write(volume, FIXTURE_FEAT, &row, 1, 1, &err), &err);
	dgi_volume_close(volume);
	data = fixture_load(p->store, DGI_TENSORS_FILE, &n);
	for (size_t i = 0; !record; i++) {
		record = fixture_find_record(data, n, DGI_KIND_CHUNK, i);
		if (dgi_get_u64(record + 16) != 1)
			record = NULL;
	}
	memcpy(record, fixture_find_record(old, old_n, DGI_KIND_CHUNK, 1), bytes);
	fixture_save(p->store, DGI_TENSORS_FILE, data, n);
	volume = open_volume(p, false);
	assert_fails(dgi_volume_gather(volume, FIXTURE_FEAT, &row, 1, out, &err), DG_CORRUPT, &err,
		     "image 0, want 127, 65024, 1");
	dgi_volume_close(volume);
	free(old);
	free(data);
}

static void a_damaged_mib_of_an_array_is_named_and_the_others_are_served(void **state)
{
	const struct place *p = *state;
	struct dgi_volume *volume;
	int32_t out[4];
	dg_error err = { 0 };

	flip(p, DGI_GRAPH_FILE, DGI_KIND_SEGMENT, 1, 48 + 100);
	volume = open_volume(p, false);
	assert_ok(dgi_volume_array_read(volume, 0, DG_GRAPH_INDICES, 262140, 4, out, &err), &err);
	assert_int_equal(out[3], fixture_element(262143));
	assert_ok(dgi_volume_array_read(volume, 0, DG_GRAPH_INDICES, 524288, 4, out, &err), &err);
	assert_fails(dgi_volume_array_read(volume, 0, DG_GRAPH_INDICES, 524287, 1, out, &err),
		     DG_CORRUPT, &err,
		     "array 2 of edge type 0: the checksum of the MiB from element 262144 on");
	dgi_volume_close(volume);
}

static void a_damaged_description_is_refused_at_opening(void **state)
{
	const struct place *p = *state;

	flip(p, DGI_TENSORS_FILE, DGI_KIND_TENSOR, 1, 48 + 20);
	expect_refused(p, false, DG_CORRUPT, "tensors.mdb: description of tensor ");
}

static void a_damaged_book_or_superblock_is_refused_at_opening(void **state)
{
	const struct place *p = *state;

	flip(p, DGI_GRAPH_FILE, DGI_KIND_BOOK, 0, 48 + 2);
	expect_refused(p, false, DG_CORRUPT, "graph.mdb: book: its checksum does not match");
	flip(p, DGI_GRAPH_FILE, DGI_KIND_SUPERBLOCK, 0, 48 + 16);
	expect_refused(p, false, DG_CORRUPT, "graph.mdb: superblock: its checksum");
}

static void files_of_two_stores_do_not_go_together(void **state)
{
	const struct place *p = *state;
	char *other = tmpdir_path(p->dir, "part2");
	size_t n;
	uint8_t *data;

	fixture_make(other, 1);
	data = fixture_load(other, DGI_GRAPH_FILE, &n);
	fixture_save(p->store, DGI_GRAPH_FILE, data, n);
	expect_refused(p, false, DG_MISMATCH, "tensors.mdb is of store");
	expect_refused(p, true, DG_MISMATCH, "tensors.mdb is of store");
	free(data);
	free(other);
}

/* Rewrites the superblock of both files, sealed as a program of another version would. */
static void change_superblock(const struct place *p, void (*change)(struct dgi_superblock *))
{
	static const char *const files[] = { DGI_GRAPH_FILE, DGI_TENSORS_FILE };
	const struct dgi_key key = { .kind = DGI_KIND_SUPERBLOCK };

	for (size_t i = 0; i < 2; i++) {
		size_t n;
		uint8_t *data = fixture_load(p->store, files[i], &n);
		uint8_t *value = fixture_find_record(data, n, DGI_KIND_SUPERBLOCK, 0);
		struct dgi_superblock s;
		struct dgi_record record;
		dg_error err = { 0 };

		assert_ok(dgi_record_header(value, 48 + DGI_SUPERBLOCK_BYTES, 1, &record, &err),
			  &err);
		assert_ok(dgi_superblock_decode(value + 48, DGI_SUPERBLOCK_BYTES, &s, &err), &err);
		change(&s);
		dgi_superblock_encode(&s, value + 48);
		dgi_record_seal(value, &record, NULL, &key, value + 48, DGI_SUPERBLOCK_BYTES);
		fixture_save(p->store, files[i], data, n);
		free(data);
	}
}

static void newer_to_write(struct dgi_superblock *s)
{
	s->format_write = DGI_FORMAT_VERSION + 1;
}

static void newer_to_read(struct dgi_superblock *s)
{
	s->format_read = DGI_FORMAT_VERSION + 1;
}

static void with_unknown_features(struct dgi_superblock *s)
{
	s->format_read = s->format_write = DGI_FORMAT_VERSION;
	s->compatible = 1;
	s->read_only = 2;
}

static void with_unreadable_features(struct dgi_superblock *s)
{
	s->incompatible = 4;
}

static void a_newer_store_is_opened_as_far_as_it_allows(void **state)
{
	const struct place *p = *state;

	change_superblock(p, newer_to_write);
	dgi_volume_close(open_volume(p, false));
	expect_refused(p, true, DG_VERSION, "graph.mdb: store of format 2, this program writes");
	change_superblock(p, newer_to_read);
	expect_refused(p, false, DG_VERSION, "store of format 2, this program reads up to 1");
	change_superblock(p, with_unknown_features);
	dgi_volume_close(open_volume(p, false));
	expect_refused(p, true, DG_VERSION, "features 2 that this program must not write");
	change_superblock(p, with_unreadable_features);
	expect_refused(p, false, DG_VERSION, "features 4 that this program does not know");
}

static void what_is_no_store_is_not_found(void **state)
{
	const struct place *p = *state;
	struct place other = { .store = p->dir };
	char *graph = tmpdir_path(p->store, DGI_GRAPH_FILE);

	expect_refused(&other, false, DG_NOTFOUND, "no store there: it has no graph.mdb");
	other.store = graph;
	expect_refused(&other, false, DG_NOTFOUND, "no directory");
	other.store = tmpdir_path(p->dir, "nowhere");
	expect_refused(&other, true, DG_NOTFOUND, "no such directory");
	free(other.store);
	free(graph);
}

static void a_store_open_to_others_is_refused(void **state)
{
	const struct place *p = *state;
	char *graph = tmpdir_path(p->store, DGI_GRAPH_FILE);

	assert_int_equal(chmod(graph, 0644), 0);
	expect_refused(p, false, DG_DENIED, "graph.mdb' is open to others (mode 0644)");
	assert_int_equal(chmod(graph, 0600), 0);
	assert_int_equal(chmod(p->store, 0755), 0);
	expect_refused(p, false, DG_DENIED, "is open to others (mode 0755)");
	assert_int_equal(chmod(p->store, 0700), 0);
	dgi_volume_close(open_volume(p, false));
	free(graph);
}

static void a_file_cut_short_is_refused(void **state)
{
	const struct place *p = *state;
	size_t n;
	uint8_t *data = fixture_load(p->store, DGI_TENSORS_FILE, &n);

	fixture_save(p->store, DGI_TENSORS_FILE, data, n / 2);
	expect_refused(p, false, DG_CORRUPT, "tensors.mdb");
	fixture_save(p->store, DGI_TENSORS_FILE, data, 0);
	expect_refused(p, true, DG_CORRUPT, "tensors.mdb");
	fixture_save(p->store, DGI_TENSORS_FILE, data, n);
	fixture_save(p->store, DGI_GRAPH_FILE, data, n); /* the other file in its place */
	expect_refused(p, false, DG_CORRUPT,
		       "graph.mdb: description of tensor 1 is in the wrong file");
	free(data);
}

static void a_second_opening_is_refused_while_the_store_is_written(void **state)
{
	const struct place *p = *state;
	struct dgi_volume *volume = open_volume(p, true);
	struct dgi_volume *reader;

	expect_refused(p, true, DG_BUSY, "open in this process");
	expect_refused(p, false, DG_BUSY, "open in this process");
	dgi_volume_close(volume);
	volume = open_volume(p, false);
	reader = open_volume(p, false);
	expect_refused(p, true, DG_BUSY, "open in this process");
	dgi_volume_close(reader);
	dgi_volume_close(volume);
	dgi_volume_close(open_volume(p, true));
}

static void another_process_is_told_who_has_the_store(void **state)
{
	const struct place *p = *state;
	struct dgi_volume *volume = open_volume(p, true);
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		struct dgi_volume *mine;
		dg_error err = { 0 };
		char text[64];

		(void)snprintf(text, sizeof text, "is open in process %ld ", (long)getppid());
		if (dgi_volume_open(p->store, NULL, &mine, &err) != DG_BUSY)
			_exit(1);
		if (!strstr(err.text, text))
			_exit(2);
		/* What was open before the fork can be closed, not written. */
		if (fixture_write(volume, FIXTURE_LABEL, &(dg_id){ 0 }, 1, 1, &err) != DG_DENIED)
			_exit(3);
		dgi_volume_close(volume);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	fixture_expect_rows(volume, FIXTURE_LABEL, &(dg_id){ 0 }, 1, 0);
	dgi_volume_close(volume);
}

int main(void)
{
#define with_store(test) cmocka_unit_test_setup_teardown(test, make_place, remove_place)
	const struct CMUnitTest tests[] = {
		with_store(a_damaged_chunk_is_named_and_the_others_are_served),
		with_store(a_damaged_chunk_header_is_noticed_byte_by_byte),
		with_store(two_chunks_that_changed_places_are_noticed),
		with_store(an_older_image_of_a_chunk_in_its_place_is_noticed),
		with_store(a_damaged_mib_of_an_array_is_named_and_the_others_are_served),
		with_store(a_damaged_description_is_refused_at_opening),
		with_store(a_damaged_book_or_superblock_is_refused_at_opening),
		with_store(files_of_two_stores_do_not_go_together),
		with_store(a_newer_store_is_opened_as_far_as_it_allows),
		with_store(what_is_no_store_is_not_found),
		with_store(a_store_open_to_others_is_refused),
		with_store(a_file_cut_short_is_refused),
		with_store(a_second_opening_is_refused_while_the_store_is_written),
		with_store(another_process_is_told_who_has_the_store),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
