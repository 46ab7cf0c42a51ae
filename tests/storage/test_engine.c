/*
 * What the engine promises beyond a single write: operations, sessions, checkpoints under way,
 * replay, durability classes, the budget of hot chunks.
 */
#include "test.h"

#include "deadline.h"
#include "fixture.h"
#include "record.h"
#include "rng.h"
#include "tmpdir.h"
#include "uuid.h"
#include "volume.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define TABLE 1	   /* int64, 8 words a row, in chunks of a page */
#define LAZY 2	   /* int64, scalar, durable every 50 ms */
#define VOLATILE 3 /* int64, scalar, in memory */
#define EMB 4	   /* float32, 4 a row, with … */
#define SUM 5	   /* … its sum of squares, float32, in one row group */
#define N_ROWS 2000
#define WORDS 8

struct place {
	char *dir;
	char *store;
};

static dg_status zeros(void *context, int64_t first, int64_t n, void *out, dg_error *err)
{
	const dg_tensor_info *info = context;

	(void)first;
	(void)err;
	memset(out, 0, (size_t)n * info->row_bytes);
	return DG_OK;
}

static void make_tensor(struct dgi_volume_maker *maker, uint32_t id, const char *name, bool wide,
			dg_durability durability)
{
	dg_tensor_info info = { .id = id,
				.dtype = DG_INT64,
				.rank = wide,
				.shape = { WORDS },
				.n_rows = N_ROWS,
				.row_bytes = wide ? WORDS * 8 : 8,
				.chunk_pages = 1,
				.durability = durability,
				.interval_ms = durability == DG_DURABLE_INTERVAL ? 50 : 0 };
	dg_error err = { 0 };

	(void)strcpy(info.name, name);
	assert_ok(dgi_volume_maker_tensor(maker, &info, zeros, &info, &err), &err);
}

static void make_group(struct dgi_volume_maker *maker)
{
	dg_tensor_info emb = { .id = EMB,
			       .name = "emb",
			       .dtype = DG_FLOAT32,
			       .rank = 1,
			       .shape = { 4 },
			       .n_rows = N_ROWS,
			       .row_bytes = 16,
			       .chunk_pages = 1,
			       .group = EMB };
	dg_tensor_info sum = { .id = SUM,
			       .name = "emb_sum",
			       .dtype = DG_FLOAT32,
			       .n_rows = N_ROWS,
			       .row_bytes = 4,
			       .group = EMB };
	dg_error err = { 0 };

	assert_ok(dgi_volume_maker_tensor(maker, &emb, zeros, &emb, &err), &err);
	assert_ok(dgi_volume_maker_tensor(maker, &sum, zeros, &sum, &err), &err);
}

static int make_store(void **state)
{
	struct place *p = malloc(sizeof *p);
	struct dgi_superblock s = { .n_parts = 1, .cluster_uuid = { { 1 } } };
	struct dgi_volume_maker *maker;
	dg_error err = { 0 };

	p->dir = tmpdir_new();
	p->store = tmpdir_path(p->dir, "part0");
	assert_ok(dgi_uuid_new(&s.store_uuid, &err), &err);
	assert_int_equal(mkdir(p->store, 0700), 0);
	assert_ok(dgi_volume_make(p->store, &s, "", 0, &maker, &err), &err);
	make_tensor(maker, TABLE, "table", true, DG_DURABLE_COMMIT);
	make_tensor(maker, LAZY, "lazy", false, DG_DURABLE_INTERVAL);
	make_tensor(maker, VOLATILE, "volatile", false, DG_DURABLE_MEMORY);
	make_group(maker);
	assert_ok(dgi_volume_maker_close(maker, true, &err), &err);
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

static struct dgi_volume *open_store(const struct place *p,
				     const struct dgi_volume_options *options)
{
	struct dgi_volume *volume;
	dg_error err = { 0 };

	assert_ok(dgi_volume_open(p->store, options, &volume, &err), &err);
	return volume;
}

static struct dgi_volume *open_writable(const struct place *p)
{
	return open_store(p, &(struct dgi_volume_options){ .writable = true });
}

/* Writes one push, which must succeed. */
static void push(struct dgi_volume *volume, struct dgi_write *write)
{
	dg_error err = { 0 };

	assert_ok(dgi_volume_write(volume, write, 1, &err), &err);
	assert_ok(write->status, &write->error);
}

static int64_t scalar(struct dgi_volume *volume, uint32_t tensor, dg_id row)
{
	dg_error err = { 0 };
	int64_t words[WORDS];

	assert_ok(dgi_volume_gather(volume, tensor, &row, 1, words, &err), &err);
	return words[0];
}

/* Of a wide row the other words are 0. */
static void push_scalar(struct dgi_volume *volume, uint32_t tensor, dg_id row, dg_operation op,
			int64_t value)
{
	const int64_t words[WORDS] = { value };
	struct dgi_write write = {
		.tensor = tensor, .op = op, .rows = &row, .n = 1, .data = words
	};

	push(volume, &write);
}

/* --- Operations --- */

static void repeated_rows_count_each_but_the_last_assignment_wins(void **state)
{
	struct dgi_volume *volume = open_writable(*state);
	const dg_id rows[] = { 3, 3, 5, 3 };
	const int64_t values[] = { 1, 10, 7, 100 };
	struct dgi_write write = { .tensor = LAZY, .rows = rows, .n = 4, .data = values };

	write.op = DG_OP_ADD;
	push(volume, &write);
	push(volume, &write);
	assert_int_equal(scalar(volume, LAZY, 3), 222);
	assert_int_equal(scalar(volume, LAZY, 5), 14);
	write.op = DG_OP_ASSIGN;
	push(volume, &write);
	assert_int_equal(scalar(volume, LAZY, 3), 100);
	write.op = DG_OP_MULTIPLY;
	push(volume, &write);
	assert_int_equal(scalar(volume, LAZY, 3), 100000);
	push_scalar(volume, LAZY, 3, DG_OP_MIN, -1);
	push_scalar(volume, LAZY, 5, DG_OP_MAX, 1000);
	assert_int_equal(scalar(volume, LAZY, 3), -1);
	assert_int_equal(scalar(volume, LAZY, 5), 1000);
	dgi_volume_close(volume);
}

static void a_fill_changes_a_run_and_nothing_else(void **state)
{
	struct dgi_volume *volume = open_writable(*state);
	const dg_id run[] = { 100, 1500 };
	int64_t value[WORDS] = { 9, 9, 9, 9, 9, 9, 9, 9 };
	struct dgi_write write = {
		.tensor = TABLE, .fill = true, .rows = run, .n = 2, .data = value
	};
	dg_error err = { 0 };

	push(volume, &write);
	for (int close = 0; close < 2; close++) {
		assert_int_equal(scalar(volume, TABLE, 99), 0);
		assert_int_equal(scalar(volume, TABLE, 100), 9);
		assert_int_equal(scalar(volume, TABLE, 1599), 9);
		assert_int_equal(scalar(volume, TABLE, 1600), 0);
		if (close == 0) {
			dgi_volume_close(volume);
			volume = open_writable(*state);
		}
	}
	write.rows = (const dg_id[]){ 600, N_ROWS };
	assert_ok(dgi_volume_write(volume, &write, 1, &err), &err);
	assert_fails(write.status, DG_RANGE, &write.error, "beyond its 2000 rows");
	dgi_volume_close(volume);
}

/* --- Sessions --- */

static void add_once(struct dgi_volume *volume, uint8_t who, uint64_t number, bool wanted_repeat)
{
	const dg_id row = who;
	const int64_t one = 1;
	struct dgi_write write = { .tensor = LAZY,
				   .op = DG_OP_ADD,
				   .rows = &row,
				   .n = 1,
				   .data = &one,
				   .session = { { who, 1 } },
				   .number = number };

	push(volume, &write);
	assert_int_equal(write.repeat, wanted_repeat);
}

/* In a process that is killed: nothing is checkpointed. */
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

static void push_three_and_one(const struct place *p)
{
	struct dgi_volume *volume = open_writable(p);

	add_once(volume, 7, 1, false);
	add_once(volume, 7, 3, false);
	add_once(volume, 7, 2, false);
	add_once(volume, 8, 1, false);
	push_scalar(volume, TABLE, 1, DG_OP_ASSIGN, 5); /* waits for the disk: so do those before */
}

static void a_push_counts_once_through_kills_and_checkpoints(void **state)
{
	struct dgi_volume *volume;
	dg_error err = { 0 };

	in_a_killed_process(push_three_and_one, *state);
	for (int round = 0; round < 3; round++) {
		volume = open_writable(*state);
		for (uint64_t number = 1; number <= 3; number++)
			add_once(volume, 7, number, true);
		add_once(volume, 8, 1, true);
		assert_int_equal(scalar(volume, LAZY, 7), 3);
		assert_int_equal(scalar(volume, LAZY, 8), 1);
		if (round == 1)
			assert_ok(dgi_volume_checkpoint(volume, 20000, &err), &err);
		dgi_volume_close(volume);
	}
	volume = open_writable(*state);
	add_once(volume, 7, 4, false);
	assert_int_equal(scalar(volume, LAZY, 7), 4);
	dgi_volume_close(volume);
}

static void a_session_may_not_skip_ahead(void **state)
{
	struct dgi_volume *volume = open_writable(*state);
	const dg_id row = 1;
	const int64_t one = 1;
	struct dgi_write write = { .tensor = LAZY,
				   .rows = &row,
				   .n = 1,
				   .data = &one,
				   .session = { { 1 } },
				   .number = 65 };
	dg_error err = { 0 };

	assert_ok(dgi_volume_write(volume, &write, 1, &err), &err);
	assert_fails(write.status, DG_INVALID, &write.error, "push number 65");
	assert_int_equal(scalar(volume, LAZY, 1), 0);
	dgi_volume_close(volume);
}

/* --- Replay and what offline readers see --- */

static void push_a_little(const struct place *p)
{
	struct dgi_volume *volume = open_writable(p);

	for (int64_t i = 0; i < 50; i++)
		push_scalar(volume, TABLE, i * 39, DG_OP_ASSIGN, i + 1);
}

static void offline_readers_see_the_journal_unless_told_not_to(void **state)
{
	struct dgi_volume *volume;
	dg_store_info info;

	in_a_killed_process(push_a_little, *state);
	volume = open_store(*state, NULL);
	assert_int_equal(scalar(volume, TABLE, 49 * 39), 50);
	dgi_volume_get_info(volume, &info);
	assert_int_equal(info.log_number, 50);
	dgi_volume_close(volume);
	volume = open_store(*state, &(struct dgi_volume_options){ .without_journal = true });
	assert_int_equal(scalar(volume, TABLE, 49 * 39), 0);
	dgi_volume_get_info(volume, &info);
	assert_int_equal(info.log_number, 0);
	assert_int_equal(info.left_out, 50);
	assert_int_equal(info.left_out_first, 1);
	assert_int_equal(info.left_out_last, 50);
	dgi_volume_close(volume);
}

static void push_around_a_checkpoint(const struct place *p)
{
	struct dgi_volume *volume = open_writable(p);
	dg_error err = { 0 };

	for (int64_t i = 0; i < 10; i++)
		push_scalar(volume, TABLE, i, DG_OP_ASSIGN, i + 1);
	assert_ok(dgi_volume_checkpoint(volume, 60000, &err), &err);
	for (int64_t i = 0; i < 3; i++)
		push_scalar(volume, TABLE, i, DG_OP_ASSIGN, -i - 1);
}

static void only_what_no_checkpoint_has_folded_is_left_out(void **state)
{
	struct dgi_volume *volume;
	dg_store_info info;

	in_a_killed_process(push_around_a_checkpoint, *state);
	volume = open_store(*state, &(struct dgi_volume_options){ .without_journal = true });
	assert_int_equal(scalar(volume, TABLE, 2), 3);
	assert_int_equal(scalar(volume, TABLE, 9), 10);
	dgi_volume_get_info(volume, &info);
	assert_int_equal(info.left_out, 3);
	assert_int_equal(info.left_out_first, 11);
	assert_int_equal(info.left_out_last, 13);
	dgi_volume_close(volume);
	volume = open_store(*state, NULL);
	assert_int_equal(scalar(volume, TABLE, 2), -3);
	dgi_volume_get_info(volume, &info);
	assert_int_equal(info.left_out, 0);
	assert_int_equal(info.log_number, 13);
	dgi_volume_close(volume);
}

static void a_damaged_journal_is_refused_but_can_be_left_out(void **state)
{
	const struct place *p = *state;
	struct dgi_volume *volume;
	dg_store_info info;
	dg_error err = { 0 };
	uint8_t *data;
	size_t n;

	in_a_killed_process(push_around_a_checkpoint, p);
	data = fixture_load(p->store, DGI_JOURNAL_FILE, &n);
	fixture_find_record(data, n, DGI_KIND_BLOCK, 0)[DGI_RECORD_HEADER_BYTES + 8] ^= 1;
	fixture_save(p->store, DGI_JOURNAL_FILE, data, n);
	free(data);
	assert_fails(dgi_volume_open(p->store, NULL, &volume, &err), DG_CORRUPT, &err,
		     DGI_JOURNAL_FILE);
	volume = open_store(p, &(struct dgi_volume_options){ .without_journal = true });
	assert_int_equal(scalar(volume, TABLE, 9), 10);
	dgi_volume_get_info(volume, &info);
	assert_true(info.left_out < 3);
	dgi_volume_close(volume);
}

static void a_clean_stop_leaves_nothing_to_replay(void **state)
{
	struct dgi_volume *volume = open_writable(*state);
	dg_store_info info;

	push_scalar(volume, TABLE, 5, DG_OP_ASSIGN, 6);
	dgi_volume_close(volume);
	volume = open_store(*state, &(struct dgi_volume_options){ .without_journal = true });
	assert_int_equal(scalar(volume, TABLE, 5), 6);
	dgi_volume_get_info(volume, &info);
	assert_int_equal(info.left_out, 0);
	dgi_volume_close(volume);
}

/* --- A mirror of what the table must hold, against checkpoints at any moment --- */

struct mirror {
	int64_t words[N_ROWS][WORDS];
};

static void random_push(struct dgi_volume *volume, struct mirror *mirror, struct dgi_rng *rng)
{
	static const dg_operation ops[] = { DG_OP_ASSIGN, DG_OP_ADD, DG_OP_MULTIPLY, DG_OP_MIN,
					    DG_OP_MAX };
	dg_operation op = ops[dgi_rng_below(rng, 5)];
	size_t n = 1 + dgi_rng_below(rng, 40);
	dg_id rows[40];
	int64_t data[40][WORDS];
	struct dgi_write write = { .tensor = TABLE, .op = op, .rows = rows, .n = n, .data = data };

	for (size_t i = 0; i < n; i++) {
		rows[i] = (dg_id)dgi_rng_below(rng, N_ROWS);
		for (int k = 0; k < WORDS; k++)
			data[i][k] = (int64_t)dgi_rng_next(rng);
		dgi_op_apply(op, DG_INT64, WORDS, mirror->words[rows[i]], data[i],
			     mirror->words[rows[i]]);
	}
	push(volume, &write);
}

static void expect_mirror(struct dgi_volume *volume, const struct mirror *mirror)
{
	static struct mirror got;
	static dg_id rows[N_ROWS];
	dg_error err = { 0 };

	for (dg_id i = 0; i < N_ROWS; i++)
		rows[i] = i;
	assert_ok(dgi_volume_gather(volume, TABLE, rows, N_ROWS, &got, &err), &err);
	assert_memory_equal(&got, mirror, sizeof got);
}

static void checkpoints_at_any_moment_lose_and_double_nothing(void **state)
{
	const struct dgi_volume_options options = { .writable = true, .checkpoint_bytes = 20000 };
	struct dgi_rng rng = dgi_rng_of(99, 0);
	static struct mirror mirror;

	for (int opening = 0; opening < 4; opening++) {
		struct dgi_volume *volume = open_store(*state, &options);

		expect_mirror(volume, &mirror);
		for (int i = 0; i < 150; i++)
			random_push(volume, &mirror, &rng);
		expect_mirror(volume, &mirror);
		dgi_volume_close(volume);
	}
}

/* --- Durability classes --- */

static void push_without_waiting(const struct place *p)
{
	struct dgi_volume *volume = open_writable(p);
	const dg_id row = 11;
	const int64_t value = 12;
	struct dgi_write writes[] = {
		{ .tensor = LAZY, .rows = &row, .n = 1, .data = &value },
		{ .tensor = VOLATILE, .rows = &row, .n = 1, .data = &value },
	};
	struct dgi_deadline deadline = dgi_deadline_in(5000);

	assert_int_equal(dgi_volume_apply(volume, writes, 2, NULL), DG_OK);
	/* Both may be acknowledged at once … */
	if (writes[0].status || writes[1].status || writes[0].wait_for || writes[1].wait_for ||
	    scalar(volume, LAZY, row) != value || scalar(volume, VOLATILE, row) != value)
		_exit(1);
	/* … and the interval tensor's is on disk soon, without another push. */
	while (dgi_volume_durable(volume) < writes[0].log_number && !dgi_deadline_passed(deadline))
		dgi_sleep_ms(5);
}

static void an_interval_tensor_is_soon_on_disk_and_a_memory_tensor_never(void **state)
{
	struct dgi_volume *volume;

	in_a_killed_process(push_without_waiting, *state);
	volume = open_writable(*state);
	assert_int_equal(scalar(volume, LAZY, 11), 12);
	assert_int_equal(scalar(volume, VOLATILE, 11), 0);
	push_scalar(volume, VOLATILE, 11, DG_OP_ASSIGN, 13);
	push_scalar(volume, TABLE, 11, DG_OP_ASSIGN, 13);
	dgi_volume_close(volume); /* with a checkpoint, which leaves the memory tensor out */
	volume = open_store(*state, NULL);
	assert_int_equal(scalar(volume, TABLE, 11), 13);
	assert_int_equal(scalar(volume, VOLATILE, 11), 0);
	dgi_volume_close(volume);
}

/* --- Steps over a row group --- */

/* A small Adagrad: the state is the mean of squares so far, the parameter the learning rate. */
static dg_status check_step(const dg_tensor_info *const *members, size_t n_members,
			    const void *parameters, size_t parameters_bytes, dg_error *err)
{
	(void)parameters;
	if (n_members != 2 || members[1]->dtype != DG_FLOAT32 ||
	    parameters_bytes != sizeof(float)) {
		*err = (dg_error){ .status = DG_INVALID, .text = "want a state and a rate" };
		return DG_INVALID;
	}
	return DG_OK;
}

static void apply_step(const dg_tensor_info *const *members, size_t n_members,
		       const void *parameters, size_t parameters_bytes, const void *operand,
		       void *const *rows)
{
	float gradient[4], rate, squares = 0;
	float *emb = rows[0], *sum = rows[1];

	assert_int_equal(n_members, 2);
	assert_int_equal(members[0]->id, EMB);
	memcpy(gradient, operand, sizeof gradient);
	memcpy(&rate, parameters, parameters_bytes);
	for (int i = 0; i < 4; i++)
		squares += gradient[i] * gradient[i];
	*sum += squares / 4;
	for (int i = 0; i < 4; i++)
		emb[i] -= rate * gradient[i] / (*sum + 1.0F);
}

static const struct dgi_step_rule rules[] = { { 7, "small adagrad", check_step, apply_step } };

struct group_mirror {
	float emb[N_ROWS][4];
	float sum[N_ROWS];
};

static void step(struct dgi_volume *volume, struct dgi_rng *rng)
{
	const float rate = 0.1F;
	float gradients[60][4];
	dg_id ids[60];
	struct dgi_write write = { .tensor = EMB,
				   .rule = 7,
				   .parameters = &rate,
				   .parameters_bytes = sizeof rate,
				   .rows = ids,
				   .n = 60,
				   .data = gradients };

	for (int i = 0; i < 60; i++) {
		ids[i] = (dg_id)dgi_rng_below(rng, N_ROWS);
		for (int k = 0; k < 4; k++)
			gradients[i][k] = (float)dgi_rng_unit(rng) - 0.5F;
	}
	push(volume, &write);
}

static struct dgi_volume *open_with_rules(const struct place *p, bool writable)
{
	return open_store(p, &(struct dgi_volume_options){ .writable = writable,
							   .rules = rules,
							   .n_rules = 1,
							   .checkpoint_bytes = 30000 });
}

static void step_until_killed(const struct place *p)
{
	struct dgi_volume *volume = open_with_rules(p, true);
	struct dgi_rng rng = dgi_rng_of(8, 0);
	const dg_id row = 5;
	const float value = 1;
	struct dgi_write write = { .tensor = SUM, .op = DG_OP_ADD, .rows = &row, .n = 1 };

	write.data = &value;
	for (int i = 0; i < 300; i++)
		step(volume, &rng);
	push(volume, &write); /* the state alone, as an ordinary tensor */
}

static void steps_give_the_same_bits_after_a_kill(void **state)
{
	static struct group_mirror mirror, got;
	static dg_id all[N_ROWS];
	struct dgi_rng rng = dgi_rng_of(8, 0);
	struct dgi_volume *volume = open_with_rules(*state, false);
	dg_error err = { 0 };

	/* What 300 steps give without a store: 60 rows each, drawn alike. */
	for (int i = 0; i < 300; i++) {
		const float rate = 0.1F;

		for (int k = 0; k < 60; k++) {
			const dg_tensor_info *infos[2] = { dgi_volume_tensor(volume, EMB),
							   dgi_volume_tensor(volume, SUM) };
			dg_id row = (dg_id)dgi_rng_below(&rng, N_ROWS);
			float gradient[4];

			for (int d = 0; d < 4; d++)
				gradient[d] = (float)dgi_rng_unit(&rng) - 0.5F;
			apply_step(infos, 2, &rate, sizeof rate, gradient,
				   (void *const[]){ mirror.emb[row], &mirror.sum[row] });
		}
	}
	mirror.sum[5] += 1;
	dgi_volume_close(volume);
	in_a_killed_process(step_until_killed, *state);
	for (dg_id i = 0; i < N_ROWS; i++)
		all[i] = i;
	for (int writable = 0; writable < 2; writable++) {
		volume = open_with_rules(*state, writable);
		assert_ok(dgi_volume_gather(volume, EMB, all, N_ROWS, got.emb, &err), &err);
		assert_ok(dgi_volume_gather(volume, SUM, all, N_ROWS, got.sum, &err), &err);
		assert_memory_equal(&got, &mirror, sizeof got);
		dgi_volume_close(volume);
	}
}

static void a_step_that_does_not_fit_is_refused(void **state)
{
	struct dgi_volume *volume = open_with_rules(*state, true);
	const dg_id row = 1;
	const float gradient[4] = { 1, 1, 1, 1 }, rate = 1;
	struct dgi_write write = { .tensor = EMB,
				   .rule = 7,
				   .parameters = &rate,
				   .parameters_bytes = 3,
				   .rows = &row,
				   .n = 1,
				   .data = gradient };
	dg_error err = { 0 };

	assert_ok(dgi_volume_write(volume, &write, 1, &err), &err);
	assert_fails(write.status, DG_INVALID, &write.error, "want a state and a rate");
	write.parameters_bytes = DGI_STEP_PARAMETERS_MAX + 1;
	assert_ok(dgi_volume_write(volume, &write, 1, &err), &err);
	assert_fails(write.status, DG_INVALID, &write.error, "257 bytes of parameters");
	write.parameters_bytes = sizeof rate;
	write.rule = 8;
	assert_ok(dgi_volume_write(volume, &write, 1, &err), &err);
	assert_fails(write.status, DG_NOTFOUND, &write.error, "no step rule 8");
	write.rule = 7;
	write.tensor = SUM;
	assert_ok(dgi_volume_write(volume, &write, 1, &err), &err);
	assert_fails(write.status, DG_INVALID, &write.error, "the first tensor of a group");
	dgi_volume_close(volume);
}

/* --- The budget of hot chunks --- */

static void pushes_to_more_chunks_than_the_budget_holds_go_on(void **state)
{
	const struct dgi_volume_options options = { .writable = true, .hot_bytes = 8 * 4096 };
	struct dgi_volume *volume = open_store(*state, &options);

	for (dg_id row = 0; row < N_ROWS; row += 50)
		push_scalar(volume, TABLE, row, DG_OP_ASSIGN, row + 1);
	for (dg_id row = 0; row < N_ROWS; row += 50)
		assert_int_equal(scalar(volume, TABLE, row), row + 1);
	dgi_volume_close(volume);
}

static void a_push_that_the_budget_can_never_hold_is_refused_and_leaves_no_trace(void **state)
{
	const struct dgi_volume_options options = { .writable = true, .hot_bytes = 4 * 4096 };
	struct dgi_volume *volume = open_store(*state, &options);
	dg_id rows[8];
	int64_t data[8][WORDS];
	struct dgi_write write = { .tensor = TABLE, .rows = rows, .n = 8, .data = data };
	dg_error err = { 0 };

	for (int i = 0; i < 8; i++)
		rows[i] = i * 200;
	memset(data, 1, sizeof data);
	assert_ok(dgi_volume_write(volume, &write, 1, &err), &err);
	assert_fails(write.status, DG_FULL, &write.error, "budget");
	for (int i = 0; i < 8; i++)
		assert_int_equal(scalar(volume, TABLE, rows[i]), 0);
	push_scalar(volume, TABLE, 0, DG_OP_ASSIGN, 1); /* a smaller one goes */
	dgi_volume_close(volume);
}

static void pushes_of_one_call_wait_for_room_together(void **state)
{
	enum { GROUP = 8 };
	const struct dgi_volume_options options = { .writable = true, .hot_bytes = 4 * 4096 };
	struct dgi_volume *volume = open_store(*state, &options);
	static int64_t data[8][WORDS];
	struct dgi_write writes[GROUP + 1];
	dg_id rows[8];
	int64_t begun_ms;
	dg_error err = { 0 };

	for (int i = 0; i < 8; i++)
		rows[i] = i * 200;
	for (int i = 0; i <= GROUP; i++)
		writes[i] = (struct dgi_write){
			.tensor = TABLE, .rows = rows, .n = i < GROUP ? 8 : 1, .data = data
		};
	begun_ms = dgi_now_ms();
	assert_ok(dgi_volume_write(volume, writes, GROUP + 1, &err), &err);
	assert_true(dgi_now_ms() - begun_ms < 1000 * GROUP / 2); /* one second each would be 8 */
	for (int i = 0; i < GROUP; i++)
		assert_int_equal(writes[i].status, DG_FULL);
	assert_int_equal(writes[GROUP].status, DG_OK); /* one that needs no waiting goes */
	dgi_volume_close(volume);
}

/* --- A row that is written all the time --- */

struct reader {
	struct dgi_volume *volume;
	_Atomic bool stop;
	uint64_t n;
	int64_t slowest_us;
};

static void *read_row(void *context)
{
	struct reader *r = context;
	int64_t words[WORDS];
	const dg_id row = 77;

	while (!atomic_load(&r->stop)) {
		int64_t begun = dgi_now_us();
		int64_t took;

		if (dgi_volume_gather(r->volume, TABLE, &row, 1, words, NULL) != DG_OK)
			break;
		for (int i = 1; i < WORDS; i++)
			if (words[i] != words[0])
				return NULL;
		took = dgi_now_us() - begun;
		if (took > r->slowest_us)
			r->slowest_us = took;
		r->n++;
	}
	return r;
}

static void a_row_that_is_written_all_the_time_can_be_read(void **state)
{
	struct dgi_volume *volume = open_writable(*state);
	struct reader reader = { .volume = volume };
	struct dgi_deadline deadline = dgi_deadline_in(1000);
	static dg_id rows[20000];
	static int64_t data[20000][WORDS];
	struct dgi_write write = { .tensor = TABLE, .rows = rows, .n = 20000, .data = data };
	dg_error err = { 0 };
	pthread_t thread;
	void *sound;

	for (int i = 0; i < 20000; i++)
		rows[i] = 77;
	assert_int_equal(pthread_create(&thread, NULL, read_row, &reader), 0);
	for (int64_t version = 1; !dgi_deadline_passed(deadline); version++) {
		for (int i = 0; i < 20000; i++)
			for (int k = 0; k < WORDS; k++)
				data[i][k] = version * 20000 + i;
		assert_ok(dgi_volume_apply(volume, &write, 1, &err), &err);
		assert_ok(write.status, &write.error);
	}
	atomic_store(&reader.stop, true);
	assert_int_equal(pthread_join(thread, &sound), 0);
	assert_non_null(sound); /* every row was whole */
	print_message("%llu reads, the slowest took %lld us\n", (unsigned long long)reader.n,
		      (long long)reader.slowest_us);
	assert_true(reader.n > 20);
	dgi_volume_close(volume);
}

#define with_store(test) cmocka_unit_test_setup_teardown(test, make_store, remove_store)

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_store(repeated_rows_count_each_but_the_last_assignment_wins),
		with_store(a_fill_changes_a_run_and_nothing_else),
		with_store(a_push_counts_once_through_kills_and_checkpoints),
		with_store(a_session_may_not_skip_ahead),
		with_store(offline_readers_see_the_journal_unless_told_not_to),
		with_store(only_what_no_checkpoint_has_folded_is_left_out),
		with_store(a_damaged_journal_is_refused_but_can_be_left_out),
		with_store(a_clean_stop_leaves_nothing_to_replay),
		with_store(checkpoints_at_any_moment_lose_and_double_nothing),
		with_store(an_interval_tensor_is_soon_on_disk_and_a_memory_tensor_never),
		with_store(steps_give_the_same_bits_after_a_kill),
		with_store(a_step_that_does_not_fit_is_refused),
		with_store(pushes_to_more_chunks_than_the_budget_holds_go_on),
		with_store(a_push_that_the_budget_can_never_hold_is_refused_and_leaves_no_trace),
		with_store(pushes_of_one_call_wait_for_room_together),
		with_store(a_row_that_is_written_all_the_time_can_be_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
