/*
 * A small store with one byte changed, anywhere, or cut off, anywhere: it is refused, or says what
 * is damaged, or gives exactly what it should. Never wrong data, never a crash.
 */
#include "test.h"

#include "fixture.h"

#include "rng.h"
#include "tmpdir.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SEED 5
#define FLIPS 3000 /* of each file */
#define ROW_BYTES 24
#define N_ROWS 500

struct tally {
	unsigned refused;
	unsigned reported;
	unsigned harmless;
};

static bool is_damage(dg_status st)
{
	return st == DG_CORRUPT || st == DG_VERSION || st == DG_MISMATCH;
}

static void expect_book(const struct dgi_volume *volume)
{
	size_t n;
	const uint8_t *book = dgi_volume_book(volume, &n);

	assert_int_equal(n, strlen(FIXTURE_BOOK));
	assert_memory_equal(book, FIXTURE_BOOK, n);
}

static void try_store(const char *store, struct tally *tally)
{
	static uint8_t out[N_ROWS * ROW_BYTES], wanted[N_ROWS * ROW_BYTES];
	struct dgi_volume *volume;
	dg_id rows[N_ROWS];
	dg_error err = { 0 };
	dg_status st = dgi_volume_open(store, NULL, &volume, &err);

	if (st) {
		if (!is_damage(st))
			fail_msg("opening: status %d: %s", (int)st, err.text);
		tally->refused++;
		return;
	}
	for (int i = 0; i < N_ROWS; i++) {
		rows[i] = i;
		fixture_row(FIXTURE_FEAT, i, 0, wanted + i * ROW_BYTES, ROW_BYTES);
	}
	expect_book(volume);
	st = dgi_volume_gather(volume, FIXTURE_FEAT, rows, N_ROWS, out, &err);
	if (st && !is_damage(st))
		fail_msg("reading: status %d: %s", (int)st, err.text);
	if (!st)
		assert_memory_equal(out, wanted, sizeof wanted);
	tally->reported += st != DG_OK;
	tally->harmless += st == DG_OK;
	dgi_volume_close(volume);
}

static void put_byte(const char *path, size_t at, uint8_t byte)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, &byte, 1, (off_t)at), 1);
	(void)close(fd);
}

static void flip_bytes(const char *store, const char *file, struct dgi_rng *rng)
{
	char *path = tmpdir_path(store, file);
	struct tally tally = { 0 };
	size_t n;
	uint8_t *data = fixture_load(store, file, &n);

	for (int i = 0; i < FLIPS; i++) {
		size_t at = dgi_rng_below(rng, n);

		put_byte(path, at, data[at] ^ (uint8_t)(1 + dgi_rng_below(rng, 255)));
		try_store(store, &tally);
		put_byte(path, at, data[at]);
	}
	print_message("%s: of %d bytes changed %u refused, %u reported, %u harmless\n", file, FLIPS,
		      tally.refused, tally.reported, tally.harmless);
	assert_true(tally.refused > 0 && tally.harmless > 0);
	free(data);
	free(path);
}

static void cut_file(const char *store, const char *file)
{
	struct tally tally = { 0 };
	size_t n;
	uint8_t *data = fixture_load(store, file, &n);

	for (size_t cut = 0; cut < n; cut += 512) {
		fixture_save(store, file, data, cut);
		try_store(store, &tally);
	}
	fixture_save(store, file, data, n);
	assert_int_equal(tally.reported, 0);
	assert_true(tally.refused > 0);
	free(data);
}

static void a_changed_store_is_refused_or_right(void **state)
{
	static const char *const files[] = { DGI_GRAPH_FILE, DGI_TENSORS_FILE };
	struct dgi_rng rng = dgi_rng_of(SEED, 0);
	char *dir = tmpdir_new();
	char *store = tmpdir_path(dir, "part0");
	struct tally whole = { 0 };

	(void)state;
	print_message("seed %d\n", SEED);
	fixture_make_one(store, ROW_BYTES, N_ROWS);
	for (int i = 0; i < 2; i++) {
		flip_bytes(store, files[i], &rng);
		cut_file(store, files[i]);
	}
	try_store(store, &whole);
	assert_int_equal(whole.harmless, 1);
	free(store);
	tmpdir_remove(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_changed_store_is_refused_or_right),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
