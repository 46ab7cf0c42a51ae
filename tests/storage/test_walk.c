/* What storage/walk.c promises, on files that liblmdb wrote, and on damaged ones. */
#include "test.h"

#include "bytes.h"
#include "lmdb_file.h"
#include "tmpdir.h"
#include "walk.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xxhash.h>

#define PAGE 4096
#define META_TRANSACTION_AT 144

/* A file in memory, to be damaged and walked again and again. */
struct image {
	uint8_t *bytes;
	size_t n;
	int fd;
};

struct findings {
	uint64_t damage, remarks;
	dg_finding last;
};

struct seen {
	int fd;
	uint64_t records;
	uint64_t hash; /* of keys and values in order */
	bool values;   /* hash values too */
};

static uint64_t hash_record(uint64_t hash, const void *key, size_t key_bytes, const void *value,
			    size_t value_bytes, bool values)
{
	hash = XXH3_64bits_withSeed(key, key_bytes, hash);
	return values ? XXH3_64bits_withSeed(value, value_bytes, hash) : hash;
}

static dg_status see(void *context, const struct dgi_walk_record *record, dg_error *err)
{
	struct seen *seen = context;
	uint8_t *value = malloc((size_t)record->value_bytes + 1);

	(void)err;
	assert_non_null(value);
	if (seen->values)
		assert_int_equal(pread(seen->fd, value, (size_t)record->value_bytes,
				       (off_t)record->value_at),
				 record->value_bytes);
	if (seen->values && record->value)
		assert_memory_equal(value, record->value, record->value_bytes);
	seen->records++;
	seen->hash = hash_record(seen->hash, record->key, record->key_bytes, value,
				 (size_t)record->value_bytes, seen->values);
	free(value);
	return DG_OK;
}

static void see_lmdb(void *context, const void *key, size_t key_bytes, const void *value,
		     size_t value_bytes)
{
	struct seen *seen = context;

	seen->records++;
	seen->hash = hash_record(seen->hash, key, key_bytes, value, value_bytes, true);
}

static void note(void *context, const dg_finding *finding)
{
	struct findings *f = context;

	f->damage += finding->status != DG_OK;
	f->remarks += finding->status == DG_OK;
	f->last = *finding;
}

static dg_status walk_plain(int fd, struct seen *seen, struct dgi_walk_report *report,
			    dg_error *err)
{
	struct dgi_walk_options options = { .file_name = "test.mdb" };

	seen->fd = fd;
	return dgi_walk(fd, &options, see, seen, report, err);
}

static dg_status walk_fully(int fd, struct findings *findings, struct seen *seen,
			    struct dgi_walk_report *report, dg_error *err)
{
	struct dgi_walk_options options = {
		.account = true,
		.headers = true,
		.found = findings ? note : NULL,
		.found_context = findings,
		.file_name = "test.mdb",
	};

	seen->fd = fd;
	return dgi_walk(fd, &options, see, seen, report, err);
}

static struct image image_of(const char *path)
{
	struct image image = { .fd = memfd_create("walk", MFD_CLOEXEC) };
	int fd = open(path, O_RDONLY);

	assert_true(fd >= 0 && image.fd >= 0);
	image.n = (size_t)lseek(fd, 0, SEEK_END);
	image.bytes = malloc(image.n);
	assert_non_null(image.bytes);
	assert_int_equal(pread(fd, image.bytes, image.n, 0), image.n);
	assert_int_equal(pwrite(image.fd, image.bytes, image.n, 0), image.n);
	close(fd);
	return image;
}

static void image_put(const struct image *image, size_t at, const void *bytes, size_t n)
{
	assert_int_equal(pwrite(image->fd, bytes, n, (off_t)at), n);
}

static void image_restore(const struct image *image, size_t at, size_t n)
{
	image_put(image, at, image->bytes + at, n);
}

static void image_free(struct image *image)
{
	free(image->bytes);
	close(image->fd);
}

/* Makes one file by @make and gives its path and image. */
static struct image image_made(void (*make)(const char *path))
{
	char *dir = tmpdir_new();
	char *path = tmpdir_path(dir, "test.mdb");
	struct image image;

	make(path);
	image = image_of(path);
	free(path);
	tmpdir_remove(dir);
	return image;
}

static void make_small(const char *path)
{
	lmdb_file_make(path, 2, 8);
}

static void check_against_lmdb(const char *path)
{
	struct lmdb_counts counts = lmdb_file_count(path);
	struct seen theirs = { 0 }, ours = { .values = true };
	struct findings findings = { 0 };
	struct dgi_walk_report report;
	dg_error err = { 0 };
	int fd = open(path, O_RDONLY);

	assert_true(fd >= 0);
	lmdb_file_each(path, see_lmdb, &theirs);
	assert_ok(walk_fully(fd, &findings, &ours, &report, &err), &err);
	if (findings.damage + findings.remarks > 0)
		fail_msg("%s: %s", findings.last.where, findings.last.what);
	assert_int_equal(ours.records, theirs.records);
	assert_int_equal(ours.hash, theirs.hash);
	assert_int_equal(report.records, counts.entries);
	assert_int_equal(report.pages_branch, counts.branch);
	assert_int_equal(report.pages_leaf, counts.leaf);
	assert_int_equal(report.pages_overflow, counts.overflow);
	assert_int_equal(report.pages_free, counts.free);
	assert_int_equal(report.pages_leaked, 0);
	assert_int_equal(report.last_page, counts.last_page);
	assert_int_equal(report.transaction, counts.transaction);
	assert_int_equal(report.damaged, 0);
	ours = (struct seen){ .values = true };
	assert_ok(walk_plain(fd, &ours, &report, &err), &err);
	assert_int_equal(ours.hash, theirs.hash);
	close(fd);
}

static void it_sees_what_liblmdb_sees(void **state)
{
	static const struct {
		int transactions, puts;
	} shapes[] = { { 1, 1 }, { 1, 5 }, { 2, 40 }, { 3, 700 }, { 40, 30 }, { 25, 200 } };

	(void)state;
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
		char *dir = tmpdir_new();
		char *path = tmpdir_path(dir, "test.mdb");

		lmdb_file_make(path, shapes[i].transactions, shapes[i].puts);
		check_against_lmdb(path);
		free(path);
		tmpdir_remove(dir);
	}
}

static void an_empty_tree_is_fine(void **state)
{
	struct image image = image_made(lmdb_file_make_empty);
	struct seen seen = { 0 };
	struct dgi_walk_report report;
	dg_error err = { 0 };

	(void)state;
	assert_ok(walk_fully(image.fd, NULL, &seen, &report, &err), &err);
	assert_int_equal(report.records, 0);
	assert_int_equal(report.transaction, 2);
	assert_true(report.pages_free > 0);
	image_free(&image);
}

static void what_no_store_has_is_damage(void **state)
{
	struct image image = image_made(lmdb_file_make_named);
	struct seen seen = { 0 };
	struct dgi_walk_report report;
	dg_error err = { 0 };

	(void)state;
	assert_fails(walk_plain(image.fd, &seen, &report, &err), DG_CORRUPT, &err,
		     "has flags 0002, want 0 or 1");
	image_free(&image);
	image = image_made(lmdb_file_make_duplicates);
	assert_fails(walk_plain(image.fd, &seen, &report, &err), DG_CORRUPT, &err,
		     "main tree: flags 4 cannot be");
	image_free(&image);
}

static void only_a_regular_file_is_read(void **state)
{
	int ends[2];
	struct seen seen = { 0 };
	struct dgi_walk_report report;
	dg_error err = { 0 };

	(void)state;
	assert_int_equal(pipe(ends), 0);
	assert_fails(walk_plain(ends[0], &seen, &report, &err), DG_CORRUPT, &err, "regular file");
	close(ends[0]);
	close(ends[1]);
}

static void other_formats_are_told_apart_from_damage(void **state)
{
	static const uint8_t lmdb_1_0[] = { 0xde, 0xc0, 0xef, 0xbe, 3, 0, 0, 0 };
	static const uint8_t zeros[8];
	struct image image = image_made(make_small);
	struct seen seen = { 0 };
	struct dgi_walk_report report;
	dg_error err = { 0 };
	uint8_t bytes[4];

	(void)state;
	dgi_put_u32(bytes, 16384);
	image_put(&image, 40, bytes, 4);
	image_put(&image, PAGE + 16, zeros, 8);
	assert_fails(walk_plain(image.fd, &seen, &report, &err), DG_VERSION, &err,
		     "pages of 16384 bytes, want 4096");
	for (size_t i = 0; i < 2; i++) {
		image_put(&image, i * PAGE + 16, zeros, 8);
		image_put(&image, i * PAGE + 24, lmdb_1_0, sizeof lmdb_1_0);
	}
	assert_fails(walk_plain(image.fd, &seen, &report, &err), DG_VERSION, &err,
		     "LMDB format of version 3, want 1");
	image_free(&image);
}

static void a_damaged_meta_page_matters_when_it_is_the_newer(void **state)
{
	struct image image = image_made(make_small);
	bool first_is_newer = dgi_get_u64(image.bytes + META_TRANSACTION_AT) >
			      dgi_get_u64(image.bytes + PAGE + META_TRANSACTION_AT);
	size_t newer = first_is_newer ? 0 : PAGE;
	size_t older = first_is_newer ? PAGE : 0;
	static const uint8_t bad = 0xff;
	struct seen seen = { 0 };
	struct findings findings = { 0 };
	struct dgi_walk_report report;
	dg_error err = { 0 };

	(void)state;
	image_put(&image, older + 16, &bad, 1);
	assert_ok(walk_plain(image.fd, &seen, &report, &err), &err);
	assert_ok(walk_fully(image.fd, &findings, &seen, &report, &err), &err);
	assert_int_equal(findings.damage, 0);
	assert_int_equal(findings.remarks, 1);
	assert_non_null(strstr(findings.last.what, "the older one, which is not needed"));

	image_put(&image, newer + 16, &bad, 1);
	assert_fails(walk_plain(image.fd, &seen, &report, &err), DG_CORRUPT, &err,
		     "both meta pages are unusable");

	image_restore(&image, older, PAGE);
	assert_fails(walk_plain(image.fd, &seen, &report, &err), DG_CORRUPT, &err, "the newer one");
	findings = (struct findings){ 0 };
	assert_ok(walk_fully(image.fd, &findings, &seen, &report, &err), &err);
	assert_true(findings.damage > 0);
	assert_true(report.transaction == dgi_get_u64(image.bytes + older + META_TRANSACTION_AT));
	image_free(&image);
}

/* Truncated at @n: either refused, or nothing of the tree was behind the cut. */
static void check_cut(const struct image *image, size_t n, uint64_t hash)
{
	struct seen seen = { .values = true };
	struct findings findings = { 0 };
	struct dgi_walk_report report;
	dg_error err = { 0 };

	assert_int_equal(ftruncate(image->fd, (off_t)n), 0);
	if (walk_plain(image->fd, &seen, &report, &err) == DG_OK)
		assert_int_equal(seen.hash, hash);
	else
		assert_int_equal(err.status, DG_CORRUPT);
	seen.values = false;
	if (walk_fully(image->fd, &findings, &seen, &report, &err) == DG_OK && err.status == DG_OK)
		assert_int_equal(findings.damage, report.damaged);
}

static void a_truncated_file_is_refused_or_whole(void **state)
{
	struct image image = image_made(make_small);
	struct seen seen = { .values = true };
	struct dgi_walk_report report;
	dg_error err = { 0 };
	uint64_t hash;

	(void)state;
	assert_ok(walk_plain(image.fd, &seen, &report, &err), &err);
	hash = seen.hash;
	for (size_t n = 0; n < image.n; n += 512) {
		check_cut(&image, n, hash);
		image_restore(&image, n, image.n - n);
	}
	image_free(&image);
}

/*
 * Flips each byte of the file and walks it. What the walk lets pass must be the same records: a
 * damaged key or place is seen, damaged bytes of values are for their checksums.
 */
static void flip_every_byte(const struct image *image, uint8_t mask)
{
	struct seen whole = { 0 };
	struct dgi_walk_report report;
	dg_error err = { 0 };
	uint64_t n_seen = 0;

	assert_ok(walk_plain(image->fd, &whole, &report, &err), &err);
	for (size_t at = 0; at < image->n; at++) {
		uint8_t flipped = image->bytes[at] ^ mask;
		struct seen seen = { 0 };
		struct findings findings = { 0 };

		image_put(image, at, &flipped, 1);
		if (walk_plain(image->fd, &seen, &report, &err) == DG_OK)
			assert_int_equal(seen.records, whole.records);
		else
			n_seen++;
		(void)walk_fully(image->fd, &findings, &seen, &report, &err);
		image_restore(image, at, 1);
	}
	/* Of a branch and two leaves: headers, offsets, node headers, and what a meta page says. */
	assert_true(n_seen > 200);
}

static void make_tiny(const char *path)
{
	lmdb_file_make(path, 2, 5);
}

static void no_flipped_byte_harms_it(void **state)
{
	struct image image = image_made(make_tiny);

	(void)state;
	flip_every_byte(&image, 0xff);
	flip_every_byte(&image, 0x01);
	image_free(&image);
}

static dg_status refuse(void *context, const struct dgi_walk_record *record, dg_error *err)
{
	(void)context;
	(void)record;
	(void)err;
	return DG_CANCELLED;
}

static void the_caller_can_end_it(void **state)
{
	struct image image = image_made(make_small);
	struct dgi_walk_options options = { .file_name = "test.mdb" };
	struct dgi_walk_report report;
	dg_error err = { 0 };

	(void)state;
	assert_int_equal(dgi_walk(image.fd, &options, refuse, NULL, &report, &err), DG_CANCELLED);
	image_free(&image);
}

/* The root of the main tree, by the newer meta page. */
static size_t root_of(const struct image *image)
{
	size_t newer = dgi_get_u64(image->bytes + META_TRANSACTION_AT) >
				       dgi_get_u64(image->bytes + PAGE + META_TRANSACTION_AT)
			       ? 0
			       : PAGE;

	return dgi_get_u64(image->bytes + newer + 128);
}

static void make_deep(const char *path)
{
	lmdb_file_make(path, 3, 300);
}

static void a_cycle_is_refused(void **state)
{
	struct image image = image_made(make_deep);
	size_t root = root_of(&image) * PAGE;
	size_t node = root + dgi_get_u16(image.bytes + root + 16);
	struct seen seen = { 0 };
	struct findings findings = { 0 };
	struct dgi_walk_report report;
	dg_error err = { 0 };
	uint8_t number[4];

	(void)state;
	dgi_put_u32(number, (uint32_t)(root / PAGE));
	image_put(&image, node, number, 4);
	assert_int_equal(walk_plain(image.fd, &seen, &report, &err), DG_CORRUPT);
	assert_fails(walk_fully(image.fd, NULL, &seen, &report, &err), DG_CORRUPT, &err,
		     "used twice");
	assert_ok(walk_fully(image.fd, &findings, &seen, &report, &err), &err);
	assert_true(findings.damage > 0);
	image_free(&image);
}

static void it_goes_on_past_a_damaged_leaf(void **state)
{
	struct image image = image_made(make_deep);
	struct seen whole = { 0 }, seen = { 0 };
	struct findings findings = { 0 };
	struct dgi_walk_report report;
	dg_error err = { 0 };
	size_t leaf = root_of(&image) * PAGE;
	char where[64];

	(void)state;
	assert_ok(walk_plain(image.fd, &whole, &report, &err), &err);
	while (image.bytes[leaf + 10] == 1)
		leaf = dgi_get_u32(image.bytes + leaf + dgi_get_u16(image.bytes + leaf + 18)) *
		       (size_t)PAGE;
	image_put(&image, leaf, "damage", 6);
	assert_ok(walk_fully(image.fd, &findings, &seen, &report, &err), &err);
	assert_int_equal(findings.damage, 1);
	assert_int_equal(report.damaged, 1);
	assert_int_equal(findings.last.status, DG_CORRUPT);
	snprintf(where, sizeof where, "test.mdb: page %zu", leaf / PAGE);
	assert_string_equal(findings.last.where, where);
	assert_non_null(strstr(findings.last.what, "says it is page"));
	assert_true(seen.records < whole.records && seen.records + 60 > whole.records);
	image_free(&image);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_sees_what_liblmdb_sees),
		cmocka_unit_test(an_empty_tree_is_fine),
		cmocka_unit_test(what_no_store_has_is_damage),
		cmocka_unit_test(only_a_regular_file_is_read),
		cmocka_unit_test(other_formats_are_told_apart_from_damage),
		cmocka_unit_test(a_damaged_meta_page_matters_when_it_is_the_newer),
		cmocka_unit_test(a_truncated_file_is_refused_or_whole),
		cmocka_unit_test(no_flipped_byte_harms_it),
		cmocka_unit_test(the_caller_can_end_it),
		cmocka_unit_test(a_cycle_is_refused),
		cmocka_unit_test(it_goes_on_past_a_damaged_leaf),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
