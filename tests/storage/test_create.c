/* Tensors that come and go while the store is open. */
#include "test.h"

#include "deadline.h"
#include "fixture.h"
#include "tmpdir.h"
#include "volume.h"
#include "volume_check.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define N_ROWS 3000
#define CHECKPOINT_MS 20000

struct place {
	char *dir;
	char *store;
};

static int make_store(void **state)
{
	struct place *p = malloc(sizeof *p);

	p->dir = tmpdir_new();
	p->store = tmpdir_path(p->dir, "part0");
	fixture_make(p->store, 0);
	*state = p;
	return 0;
}

static int remove_store(void **state)
{
	struct place *p = *state;

	free(p->store);
	tmpdir_remove(p->dir);
	free(p);
	return 0;
}

static struct dgi_volume *open_store(const struct place *p, bool writable)
{
	const struct dgi_volume_options options = { .writable = writable };
	struct dgi_volume *volume;
	dg_error err = { 0 };

	assert_ok(dgi_volume_open(p->store, &options, &volume, &err), &err);
	return volume;
}

/* int64 rows of 4 words, in chunks of a page. */
static dg_tensor_spec spec_of(const char *name)
{
	dg_tensor_spec spec = { .info = { .dtype = DG_INT64,
					  .rank = 1,
					  .shape = { 4 },
					  .n_rows = N_ROWS,
					  .chunk_pages = 1 } };

	(void)strcpy(spec.info.name, name);
	return spec;
}

static uint32_t create(struct dgi_volume *volume, dg_tensor_spec *spec, bool wanted_existed)
{
	dg_error err = { 0 };
	bool existed;

	assert_ok(dgi_volume_create(volume, spec, 1, &existed, &err), &err);
	assert_int_equal(existed, wanted_existed);
	return spec->info.id;
}

static uint32_t create_named(struct dgi_volume *volume, const char *name)
{
	dg_tensor_spec spec = spec_of(name);

	return create(volume, &spec, false);
}

static void add(struct dgi_volume *volume, uint32_t tensor, dg_id row, int64_t value)
{
	const int64_t words[4] = { value };
	struct dgi_write write = {
		.tensor = tensor, .op = DG_OP_ADD, .rows = &row, .n = 1, .data = words
	};
	dg_error err = { 0 };

	assert_ok(dgi_volume_write(volume, &write, 1, &err), &err);
	assert_ok(write.status, &write.error);
}

static int64_t word(struct dgi_volume *volume, uint32_t tensor, dg_id row)
{
	dg_error err = { 0 };
	int64_t words[4];

	assert_ok(dgi_volume_gather(volume, tensor, &row, 1, words, &err), &err);
	assert_int_equal(words[1], words[3]);
	return words[0];
}

static void checkpoint(struct dgi_volume *volume)
{
	dg_error err = { 0 };

	assert_ok(dgi_volume_checkpoint(volume, CHECKPOINT_MS, &err), &err);
}

static void in_a_killed_process(void (*work)(const struct place *p), const struct place *p)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		work(p);
		(void)kill(getpid(), SIGKILL);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static void expect_gone_from(struct dgi_volume *volume, uint32_t tensor, bool writable)
{
	const dg_id row = 1;
	const int64_t words[4] = { 1 };
	struct dgi_write write = { .tensor = tensor, .rows = &row, .n = 1, .data = words };
	int64_t got[4];
	dg_error err = { 0 };

	assert_null(dgi_volume_tensor(volume, tensor));
	assert_int_equal(dgi_volume_gather(volume, tensor, &row, 1, got, &err), DG_NOTFOUND);
	(void)dgi_volume_write(volume, &write, 1, &err);
	assert_int_equal(write.status, writable ? DG_NOTFOUND : DG_DENIED);
}

static void expect_gone(struct dgi_volume *volume, uint32_t tensor)
{
	expect_gone_from(volume, tensor, true);
}

/* --- Checking --- */

static void ignore_book(void *context, const struct dgi_superblock *superblock, const uint8_t *book,
			size_t n)
{
	(void)context;
	(void)superblock;
	(void)book;
	(void)n;
}

static void ignore_array(void *context, uint16_t etype, uint8_t kind, dg_dtype dtype, int64_t n)
{
	(void)context;
	(void)etype;
	(void)kind;
	(void)dtype;
	(void)n;
}

static void ignore_elements(void *context, uint16_t etype, uint8_t kind, int64_t first, int64_t n,
			    const void *elements)
{
	(void)context;
	(void)etype;
	(void)kind;
	(void)first;
	(void)n;
	(void)elements;
}

static void ignore_tensor(void *context, const dg_tensor_info *tensor)
{
	(void)context;
	(void)tensor;
}

static void name_array(void *context, uint16_t etype, uint8_t kind, char out[DG_KEY_TEXT_BYTES])
{
	(void)context;
	(void)snprintf(out, DG_KEY_TEXT_BYTES, "array %u of edge type %u", kind, etype);
}

static void name_tensor(void *context, const dg_tensor_info *tensor, char out[DG_KEY_TEXT_BYTES])
{
	(void)context;
	(void)snprintf(out, DG_KEY_TEXT_BYTES, "%s", tensor->name);
}

static void say_finding(void *context, const dg_finding *finding)
{
	(void)context;
	if (finding->status)
		print_error("%s: %s\n", finding->where, finding->what);
}

static void expect_sound(const struct place *p)
{
	static const struct dgi_check_hooks hooks = {
		.book = ignore_book,
		.array = ignore_array,
		.elements = ignore_elements,
		.tensor = ignore_tensor,
		.name_array = name_array,
		.name_tensor = name_tensor,
		.found = say_finding,
	};
	dg_check_report report = { 0 };
	dg_error err = { 0 };

	assert_ok(dgi_volume_check(p->store, true, &hooks, &report, &err), &err);
	assert_int_equal(report.damaged, 0);
}

/* --- Creating --- */

static void a_new_tensor_holds_its_initial_value_and_what_is_pushed(void **state)
{
	struct dgi_volume *volume = open_store(*state, true);
	const int64_t seven = 7;
	dg_tensor_spec spec = spec_of("sevens");
	uint32_t zeros = create_named(volume, "zeros");
	uint32_t sevens;

	memcpy(spec.value, &seven, sizeof seven);
	sevens = create(volume, &spec, false);
	assert_int_equal(zeros, FIXTURE_SYSTEM + 1);
	assert_int_equal(sevens, FIXTURE_SYSTEM + 2);
	for (int round = 0; round < 4; round++) {
		for (dg_id row = 5; row < N_ROWS; row += 500)
			add(volume, sevens, row, 1);
		assert_int_equal(word(volume, zeros, 5), 0);
		assert_int_equal(word(volume, sevens, 4), 7);
		assert_int_equal(word(volume, sevens, 5), 8 + round);
		assert_int_equal(word(volume, sevens, 2505), 8 + round);
		if (round == 1)
			checkpoint(volume);
		if (round == 2) { /* chunks with images and without, and a journal that is gone */
			dgi_volume_close(volume);
			expect_sound(*state);
			volume = open_store(*state, true);
		}
	}
	dgi_volume_close(volume);
	volume = open_store(*state, false);
	assert_int_equal(word(volume, sevens, 2505), 11);
	assert_int_equal(word(volume, sevens, 2999), 7);
	assert_int_equal(word(volume, zeros, 0), 0);
	dgi_volume_close(volume);
}

static void create_and_push(const struct place *p)
{
	struct dgi_volume *volume = open_store(p, true);
	uint32_t tensor = create_named(volume, "new");

	for (dg_id row = 0; row < N_ROWS; row += 7)
		add(volume, tensor, row, row);
}

static void a_new_tensor_and_pushes_to_it_survive_a_kill(void **state)
{
	struct dgi_volume *volume;

	in_a_killed_process(create_and_push, *state);
	expect_sound(*state);
	for (int writable = 0; writable < 2; writable++) {
		volume = open_store(*state, writable);
		for (dg_id row = 0; row < N_ROWS; row++)
			assert_int_equal(word(volume, FIXTURE_SYSTEM + 1, row),
					 row % 7 == 0 ? row : 0);
		dgi_volume_close(volume);
	}
}

static void a_creation_that_is_repeated_makes_nothing(void **state)
{
	struct dgi_volume *volume = open_store(*state, true);
	dg_tensor_spec spec = spec_of("once");
	dg_tensor_spec again, other;
	dg_error err = { 0 };
	bool existed;
	uint32_t id;

	spec.uuid.bytes[3] = 9;
	spec.seed = 17;
	again = other = spec;
	id = create(volume, &spec, false);
	assert_int_equal(create(volume, &again, true), id);
	assert_int_equal(again.info.row_bytes, 32);
	dgi_volume_close(volume);
	volume = open_store(*state, true);
	again = other;
	assert_int_equal(create(volume, &again, true), id);
	assert_int_equal(again.seed, 17);
	other.seed = 18;
	assert_fails(dgi_volume_create(volume, &other, 1, &existed, &err), DG_MISMATCH, &err,
		     "has made tensor 'once'");
	other.uuid.bytes[3]++;
	assert_fails(dgi_volume_create(volume, &other, 1, &existed, &err), DG_EXISTS, &err,
		     "create tensor 'once': there is a tensor of this name");
	assert_ok(dgi_volume_drop(volume, id, &err), &err);
	assert_fails(dgi_volume_create(volume, &again, 1, &existed, &err), DG_NOTFOUND, &err,
		     "created before, and dropped");
	again.info.id = 0;
	assert_int_equal(create(volume, &other, false), id + 1);
	dgi_volume_close(volume);
}

static void what_cannot_be_created_is_refused_and_leaves_no_trace(void **state)
{
	struct dgi_volume *volume = open_store(*state, true);
	dg_tensor_spec spec = spec_of("bad");
	dg_error err = { 0 };
	dg_tensor_info *list;
	bool existed;
	size_t n;

	spec.info.shape[0] = 0;
	assert_fails(dgi_volume_create(volume, &spec, 1, &existed, &err), DG_INVALID, &err,
		     "dimension 0 of a row is 0");
	spec = spec_of("");
	assert_fails(dgi_volume_create(volume, &spec, 1, &existed, &err), DG_INVALID, &err,
		     "empty");
	spec = spec_of("huge");
	spec.info.n_rows = INT64_MAX / 2;
	assert_fails(dgi_volume_create(volume, &spec, 1, &existed, &err), DG_FULL, &err,
		     "too many");
	spec = spec_of("mine");
	spec.lifetime = DG_TEMPORARY;
	(void)strcpy(spec.owner, "g1");
	assert_fails(dgi_volume_create(volume, &spec, 1, &existed, &err), DG_INVALID, &err,
		     "want a name that ends in '_g1'");
	spec = spec_of("used");
	spec.info.id = FIXTURE_FEAT;
	assert_fails(dgi_volume_create(volume, &spec, 1, &existed, &err), DG_EXISTS, &err,
		     "number 3 has been used");
	spec = spec_of("system");
	spec.info.flags = DG_TENSOR_SYSTEM;
	assert_fails(dgi_volume_create(volume, &spec, 1, &existed, &err), DG_INVALID, &err,
		     "made with the store");
	assert_ok(dgi_volume_list(volume, &list, &n, &err), &err);
	assert_int_equal(n, 5);
	free(list);
	dgi_volume_close(volume);
	volume = open_store(*state, false);
	spec = spec_of("denied");
	assert_fails(dgi_volume_create(volume, &spec, 1, &existed, &err), DG_DENIED, &err,
		     "read only");
	dgi_volume_close(volume);
}

static void a_row_group_is_made_and_dropped_as_a_whole(void **state)
{
	struct dgi_volume *volume = open_store(*state, true);
	dg_tensor_spec specs[2] = { spec_of("emb"), spec_of("emb_sum") };
	dg_error err = { 0 };
	bool existed;

	specs[1].info.rank = 0;
	specs[1].info.chunk_pages = 0;
	assert_ok(dgi_volume_create(volume, specs, 2, &existed, &err), &err);
	assert_int_equal(specs[0].info.group, specs[0].info.id);
	assert_int_equal(specs[1].info.group, specs[0].info.id);
	assert_int_equal(specs[1].info.chunk_rows, specs[0].info.chunk_rows);
	add(volume, specs[0].info.id, 17, 4);
	dgi_volume_close(volume);
	volume = open_store(*state, true);
	assert_int_equal(dgi_volume_tensor(volume, specs[1].info.id)->group, specs[0].info.id);
	assert_int_equal(word(volume, specs[0].info.id, 17), 4);
	assert_fails(dgi_volume_drop(volume, specs[1].info.id, &err), DG_INVALID, &err,
		     "goes with its row group");
	assert_ok(dgi_volume_drop(volume, specs[0].info.id, &err), &err);
	expect_gone(volume, specs[0].info.id);
	expect_gone(volume, specs[1].info.id);
	specs[0] = spec_of("a");
	specs[1] = spec_of("b");
	specs[1].info.n_rows = 5;
	assert_fails(dgi_volume_create(volume, specs, 2, &existed, &err), DG_INVALID, &err,
		     "tensor 'b': does not go with 'a'");
	dgi_volume_close(volume);
}

/* --- Dropping --- */

static void create_push_and_drop(const struct place *p)
{
	struct dgi_volume *volume = open_store(p, true);
	uint32_t tensor = create_named(volume, "short-lived");
	dg_error err = { 0 };

	for (dg_id row = 0; row < N_ROWS; row += 7)
		add(volume, tensor, row, row);
	checkpoint(volume);
	add(volume, tensor, 1, 1);
	assert_ok(dgi_volume_drop(volume, tensor, &err), &err);
	assert_ok(dgi_volume_drop(volume, FIXTURE_FEAT, &err), &err);
	assert_ok(fixture_write(volume, FIXTURE_LABEL, (const dg_id[]){ 3 }, 1, 1, &err), &err);
}

static void what_was_dropped_is_gone_after_a_kill_too(void **state)
{
	struct dgi_volume *volume;
	dg_store_info before, after;
	dg_error err = { 0 };

	in_a_killed_process(create_push_and_drop, *state);
	expect_sound(*state);
	volume = open_store(*state, false);
	expect_gone_from(volume, FIXTURE_FEAT, false);
	dgi_volume_get_info(volume, &before);
	dgi_volume_close(volume);
	volume = open_store(*state, true);
	expect_gone(volume, FIXTURE_SYSTEM + 1);
	expect_gone(volume, FIXTURE_FEAT);
	fixture_expect_rows(volume, FIXTURE_LABEL, (const dg_id[]){ 3 }, 1, 1);
	/* Its number does not come again, its name may. */
	assert_int_equal(create_named(volume, "short-lived"), FIXTURE_SYSTEM + 2);
	assert_fails(dgi_volume_drop(volume, FIXTURE_SYSTEM, &err), DG_INVALID, &err,
		     "kept by the store itself");
	dgi_volume_get_info(volume, &after);
	assert_true(after.log_number >= before.log_number);
	dgi_volume_close(volume);
	expect_sound(*state);
}

static void space_of_what_was_dropped_is_used_again(void **state)
{
	struct dgi_volume *volume = open_store(*state, true);
	dg_store_info info;
	uint64_t bytes_of_three = 0;
	dg_error err = { 0 };

	for (int round = 0; round < 12; round++) {
		uint32_t tensor = create_named(volume, "again");
		int64_t words[4] = { round };
		struct dgi_write fill = { .tensor = tensor,
					  .fill = true,
					  .rows = (const dg_id[]){ 0, N_ROWS },
					  .n = 2,
					  .data = words };
		struct dgi_deadline deadline = dgi_deadline_in(CHECKPOINT_MS);

		assert_ok(dgi_volume_write(volume, &fill, 1, &err), &err);
		assert_ok(fill.status, &fill.error);
		checkpoint(volume);
		assert_ok(dgi_volume_drop(volume, tensor, &err), &err);
		if (round == 3) { /* deleted after a restart */
			dgi_volume_close(volume);
			volume = open_store(*state, true);
		}
		while (!dgi_deadline_passed(deadline) && dgi_volume_is_purging(volume))
			dgi_sleep_ms(2);
		assert_false(dgi_volume_is_purging(volume));
		dgi_volume_get_info(volume, &info);
		if (round == 2)
			bytes_of_three = info.file_bytes;
	}
	assert_true(info.file_bytes < bytes_of_three + bytes_of_three / 4);
	dgi_volume_close(volume);
	expect_sound(*state);
}

static void a_group_releases_what_it_has_and_nothing_else(void **state)
{
	struct dgi_volume *volume = open_store(*state, true);
	dg_tensor_spec mine = spec_of("x_g1"), theirs = spec_of("x_g11"), kept = spec_of("x_g1_");
	dg_error err = { 0 };
	size_t n;

	mine.lifetime = theirs.lifetime = DG_TEMPORARY;
	(void)strcpy(mine.owner, "g1");
	(void)strcpy(theirs.owner, "g11");
	(void)create(volume, &mine, false);
	(void)create(volume, &theirs, false);
	(void)create(volume, &kept, false);
	dgi_volume_close(volume);
	volume = open_store(*state, true);
	assert_ok(dgi_volume_spec(volume, mine.info.id, &mine, &err), &err);
	assert_int_equal(mine.lifetime, DG_TEMPORARY);
	assert_string_equal(mine.owner, "g1");
	assert_ok(dgi_volume_release(volume, "g1", &n, &err), &err);
	assert_int_equal(n, 1);
	expect_gone(volume, mine.info.id);
	assert_non_null(dgi_volume_tensor(volume, theirs.info.id));
	assert_non_null(dgi_volume_tensor(volume, kept.info.id));
	dgi_volume_close(volume);
}

/* --- Readers meanwhile --- */

struct reading {
	struct dgi_volume *volume;
	_Atomic uint32_t tensor;
	_Atomic bool stop, wrong;
	_Atomic uint64_t n;
};

/* Rows of a tensor are its number all over, or it is not there. */
static void *read_on(void *argument)
{
	struct reading *r = argument;
	dg_id rows[64];
	int64_t words[64][4];

	while (!r->stop) {
		uint32_t tensor = r->tensor;
		dg_status st;

		for (size_t i = 0; i < 64; i++)
			rows[i] = (dg_id)(i * 47 + r->n) % N_ROWS;
		st = dgi_volume_gather(r->volume, tensor, rows, 64, words, NULL);
		r->n++;
		if (st == DG_NOTFOUND)
			continue;
		for (size_t i = 0; i < 64 && !st; i++)
			if (words[i][0] != tensor && words[i][3] != tensor)
				r->wrong = true;
		if (st)
			r->wrong = true;
	}
	return NULL;
}

static void readers_of_a_tensor_that_goes_see_its_rows_or_nothing(void **state)
{
	struct reading r = { .volume = open_store(*state, true) };
	uint32_t before = 0;
	pthread_t thread;
	dg_error err = { 0 };

	assert_int_equal(pthread_create(&thread, NULL, read_on, &r), 0);
	for (int round = 0; round < 60; round++) {
		char name[16];
		dg_tensor_spec spec;
		int64_t value = FIXTURE_SYSTEM + 1 + round;
		bool filled = round % 2;

		(void)snprintf(name, sizeof name, "t%d", round);
		spec = spec_of(name);
		spec.info.chunk_pages = 1 + (uint32_t)round % 3;
		memcpy(spec.value, &value, sizeof value);
		(void)create(r.volume, &spec, false);
		assert_int_equal(spec.info.id, value);
		if (filled) {
			const int64_t words[4] = { value, value, value, value };
			struct dgi_write fill = { .tensor = spec.info.id,
						  .fill = true,
						  .rows = (const dg_id[]){ 0, N_ROWS },
						  .n = 2,
						  .data = words };

			assert_ok(dgi_volume_write(r.volume, &fill, 1, &err), &err);
			checkpoint(r.volume);
		}
		r.tensor = spec.info.id;
		dgi_sleep_ms(2);
		if (before)
			assert_ok(dgi_volume_drop(r.volume, before, &err), &err);
		before = spec.info.id;
	}
	r.stop = true;
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_false(r.wrong);
	assert_true(r.n > 100);
	dgi_volume_close(r.volume);
	expect_sound(*state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_store, remove_store)
		TEST(a_new_tensor_holds_its_initial_value_and_what_is_pushed),
		TEST(a_new_tensor_and_pushes_to_it_survive_a_kill),
		TEST(a_creation_that_is_repeated_makes_nothing),
		TEST(what_cannot_be_created_is_refused_and_leaves_no_trace),
		TEST(a_row_group_is_made_and_dropped_as_a_whole),
		TEST(what_was_dropped_is_gone_after_a_kill_too),
		TEST(space_of_what_was_dropped_is_used_again),
		TEST(a_group_releases_what_it_has_and_nothing_else),
		TEST(readers_of_a_tensor_that_goes_see_its_rows_or_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
