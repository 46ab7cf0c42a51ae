/* Operations too large for one record: in parts, between other pushes, through kills, exactly once. */
#include "test.h"

#include "fixture.h"
#include "large.h"
#include "tmpdir.h"
#include "volume.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define N_ROWS 1000000
#define MANY 4500000 /* rows of 8 bytes: more than an entry holds */
#define CHECKPOINT_MS 20000

struct place {
	char *dir;
	char *store;
};

static uint32_t tensor;

static struct dgi_volume *open_store(const struct place *p)
{
	struct dgi_volume *volume;
	dg_error err = { 0 };

	assert_ok(dgi_volume_open(p->store, &(struct dgi_volume_options){ .writable = true },
				  &volume, &err),
		  &err);
	return volume;
}

/* A store with a tensor of int64. */
static int make_store(void **state)
{
	struct place *p = malloc(sizeof *p);
	dg_tensor_spec spec = { .info = { .name = "t", .dtype = DG_INT64, .n_rows = N_ROWS } };
	struct dgi_volume *volume;
	dg_error err = { 0 };
	bool existed;

	p->dir = tmpdir_new();
	p->store = tmpdir_path(p->dir, "part0");
	fixture_make(p->store, 0);
	volume = open_store(p);
	assert_ok(dgi_volume_create(volume, &spec, 1, &existed, &err), &err);
	tensor = spec.info.id;
	dgi_volume_close(volume);
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

/* Adds 1 to all rows but the first and the last. */
static struct dgi_write fill_of(uint8_t session)
{
	static const dg_id run[2] = { 1, N_ROWS - 2 };
	static const int64_t one = 1;
	struct dgi_write write = { .tensor = tensor,
				   .op = DG_OP_ADD,
				   .fill = true,
				   .rows = run,
				   .n = 2,
				   .data = &one,
				   .number = session ? 1 : 0 };

	write.session.bytes[0] = session;
	return write;
}

static void expect_rows(struct dgi_volume *volume, int64_t first, int64_t inner, int64_t last)
{
	static dg_id rows[N_ROWS];
	static int64_t words[N_ROWS];
	dg_error err = { 0 };

	for (dg_id i = 0; i < N_ROWS; i++)
		rows[i] = i;
	assert_ok(dgi_volume_gather(volume, tensor, rows, N_ROWS, words, &err), &err);
	assert_int_equal(words[0], first);
	assert_int_equal(words[N_ROWS - 1], last);
	for (dg_id i = 1; i < N_ROWS - 1; i++)
		if (words[i] != inner)
			fail_msg("row %d: %d, want %d", (int)i, (int)words[i], (int)inner);
}

/* Applies some parts of a write; gives how many there were. */
static size_t apply_parts(struct dgi_volume *volume, struct dgi_write *whole, size_t n_max)
{
	struct dgi_large large;
	struct dgi_write part;
	dg_error err = { 0 };
	size_t n = 0;

	assert_ok(dgi_large_begin(&large, volume, whole, &err), &err);
	while (n < n_max && dgi_large_next(&large, &part)) {
		assert_ok(dgi_volume_apply(volume, &part, 1, &err), &err);
		assert_true(dgi_large_note(&large, &part));
		n++;
	}
	return n;
}

/* Waits for the disk. */
static void push_one(struct dgi_volume *volume, dg_id row)
{
	const int64_t zero = 0;
	struct dgi_write write = {
		.tensor = tensor, .op = DG_OP_ADD, .rows = &row, .n = 1, .data = &zero
	};
	dg_error err = { 0 };

	assert_ok(dgi_volume_write(volume, &write, 1, &err), &err);
	assert_ok(write.status, &write.error);
}

static void resume_all(struct dgi_volume *volume, bool wanted)
{
	dg_error err = { 0 };
	size_t n = 0;
	bool more = true;

	while (more) {
		assert_ok(dgi_volume_resume(volume, &more, &err), &err);
		n += more;
	}
	assert_int_equal(n > 0, wanted);
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

static void a_large_fill_is_many_small_ones(void **state)
{
	struct dgi_volume *volume = open_store(*state);
	struct dgi_write fill = fill_of(0);
	dg_store_info before, after;
	dg_error err = { 0 };

	assert_true(dgi_write_is_large(volume, &fill));
	dgi_volume_get_info(volume, &before);
	assert_ok(dgi_volume_write(volume, &fill, 1, &err), &err);
	assert_ok(fill.status, &fill.error);
	dgi_volume_get_info(volume, &after);
	assert_true(after.log_number >= before.log_number + 8);
	assert_int_equal(fill.log_number, after.log_number);
	expect_rows(volume, 0, 1, 0);
	dgi_volume_close(volume);
	volume = open_store(*state);
	resume_all(volume, false);
	expect_rows(volume, 0, 1, 0);
	fill.rows = (const dg_id[]){ 1, N_ROWS };
	assert_ok(dgi_volume_write(volume, &fill, 1, &err), &err);
	assert_fails(fill.status, DG_RANGE, &fill.error, "a fill beyond its 1000000 rows");
	dgi_volume_close(volume);
}

static void fill_three_parts(const struct place *p)
{
	struct dgi_volume *volume = open_store(p);
	struct dgi_write fill = fill_of(7);

	(void)apply_parts(volume, &fill, 3);
	push_one(volume, 0);
}

static void fill_and_checkpoint(const struct place *p)
{
	struct dgi_volume *volume = open_store(p);
	struct dgi_write fill = fill_of(7);
	dg_error err = { 0 };

	(void)apply_parts(volume, &fill, 2);
	assert_ok(dgi_volume_checkpoint(volume, CHECKPOINT_MS, &err), &err);
	push_one(volume, 0);
}

static void expect_resumed(const struct place *p)
{
	struct dgi_volume *volume = open_store(p);
	struct dgi_write fill = fill_of(7);
	dg_error err = { 0 };

	resume_all(volume, true);
	expect_rows(volume, 0, 1, 0);
	/* Its sender has not heard of it, and repeats it. */
	assert_ok(dgi_volume_write(volume, &fill, 1, &err), &err);
	assert_ok(fill.status, &fill.error);
	assert_true(fill.repeat);
	expect_rows(volume, 0, 1, 0);
	dgi_volume_close(volume);
	volume = open_store(p);
	resume_all(volume, false);
	expect_rows(volume, 0, 1, 0);
	dgi_volume_close(volume);
}

static void a_fill_goes_on_after_a_kill(void **state)
{
	in_a_killed_process(fill_three_parts, *state);
	expect_resumed(*state);
}

static void a_fill_goes_on_after_a_checkpoint_and_a_kill(void **state)
{
	in_a_killed_process(fill_and_checkpoint, *state);
	expect_resumed(*state);
}

static void its_sender_may_go_on_with_a_fill_itself(void **state)
{
	struct dgi_volume *volume;
	struct dgi_write fill = fill_of(7);
	dg_error err = { 0 };

	in_a_killed_process(fill_and_checkpoint, *state);
	volume = open_store(*state);
	assert_ok(dgi_volume_write(volume, &fill, 1, &err), &err);
	assert_ok(fill.status, &fill.error);
	assert_false(fill.repeat);
	expect_rows(volume, 0, 1, 0);
	resume_all(volume, false);
	dgi_volume_close(volume);
}

static void a_fill_of_what_was_dropped_is_over(void **state)
{
	struct dgi_volume *volume;
	dg_error err = { 0 };

	in_a_killed_process(fill_and_checkpoint, *state);
	volume = open_store(*state);
	assert_ok(dgi_volume_drop(volume, tensor, &err), &err);
	resume_all(volume, false);
	dgi_volume_close(volume);
	volume = open_store(*state);
	resume_all(volume, false);
	dgi_volume_close(volume);
}

/* Every row four or five times, in an order of its own. */
static struct dgi_write many_rows(void)
{
	struct dgi_write write = fill_of(9);
	dg_id *rows = malloc(MANY * sizeof *rows);
	int64_t *ones = malloc(MANY * sizeof *ones);

	assert_true(rows && ones);
	for (size_t i = 0; i < MANY; i++) {
		rows[i] = (dg_id)(i * 7 % N_ROWS);
		ones[i] = 1;
	}
	write.fill = false;
	write.rows = rows;
	write.n = MANY;
	write.data = ones;
	return write;
}

static void free_rows(const struct dgi_write *write)
{
	free((void *)(uintptr_t)write->rows);
	free((void *)(uintptr_t)write->data);
}

static void push_some_parts(const struct place *p)
{
	struct dgi_volume *volume = open_store(p);
	struct dgi_write write = many_rows();

	(void)apply_parts(volume, &write, 9);
	push_one(volume, 0);
}

static void a_push_above_the_limit_counts_once_through_a_kill(void **state)
{
	struct dgi_volume *volume;
	struct dgi_write write = many_rows();
	dg_error err = { 0 };

	in_a_killed_process(push_some_parts, *state);
	volume = open_store(*state);
	resume_all(volume, false); /* its rows are with its sender */
	for (int i = 0; i < 2; i++) {
		assert_ok(dgi_volume_write(volume, &write, 1, &err), &err);
		assert_ok(write.status, &write.error);
		assert_int_equal(write.repeat, i);
	}
	for (dg_id row = 0; row < 14; row++) {
		int64_t word;

		assert_ok(dgi_volume_gather(volume, tensor, &row, 1, &word, &err), &err);
		/* 7 and a million have no common divisor: 4.5 rounds over all rows. */
		assert_true(word == 4 || word == 5);
	}
	((dg_id *)(uintptr_t)write.rows)[MANY - 1] = N_ROWS;
	write.number = 2;
	assert_ok(dgi_volume_write(volume, &write, 1, &err), &err);
	assert_fails(write.status, DG_RANGE, &write.error, "row 1000000");
	dgi_volume_close(volume);
	free_rows(&write);
}

static void other_pushes_come_between_the_parts(void **state)
{
	struct dgi_volume *volume = open_store(*state);
	struct dgi_write fill = fill_of(5), part;
	struct dgi_large large;
	dg_error err = { 0 };
	int64_t word;
	dg_id row = N_ROWS - 2;
	const int64_t hundred = 100;
	struct dgi_write add = {
		.tensor = tensor, .op = DG_OP_ADD, .rows = &row, .n = 1, .data = &hundred
	};
	size_t n = 0;

	assert_ok(dgi_large_begin(&large, volume, &fill, &err), &err);
	while (dgi_large_next(&large, &part)) {
		assert_ok(dgi_volume_apply(volume, &part, 1, &err), &err);
		assert_true(dgi_large_note(&large, &part));
		assert_ok(dgi_volume_write(volume, &add, 1, &err), &err);
		n++;
	}
	assert_ok(dgi_volume_gather(volume, tensor, &row, 1, &word, &err), &err);
	assert_int_equal(word, 1 + 100 * (int64_t)n);
	/* A part that does not follow is refused, one that was applied counts no more. */
	part.part.done -= 1;
	fill.number = part.number = 2;
	part.part.number = 2;
	assert_ok(dgi_volume_apply(volume, &part, 1, &err), &err);
	assert_fails(part.status, DG_INVALID, &part.error, "this part does not follow");
	dgi_volume_close(volume);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_store, remove_store)
		TEST(a_large_fill_is_many_small_ones),
		TEST(a_fill_goes_on_after_a_kill),
		TEST(a_fill_goes_on_after_a_checkpoint_and_a_kill),
		TEST(its_sender_may_go_on_with_a_fill_itself),
		TEST(a_fill_of_what_was_dropped_is_over),
		TEST(a_push_above_the_limit_counts_once_through_a_kill),
		TEST(other_pushes_come_between_the_parts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
