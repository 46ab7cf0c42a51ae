/* The checker of histories sees every way in which a push may not count once. */
#include "test.h"

#include "history.h"

enum { CLIENTS = 3, ROWS = 5 };

static const dg_id row_2[] = { 2 };

struct scene {
	struct history *history;
	float table[ROWS][CLIENTS]; /* as an honest store has it */
	uint32_t least[CLIENTS];
	char text[200];
};

static struct scene scene;

static int set_up(void **state)
{
	(void)state;
	scene = (struct scene){ .history = history_new(CLIENTS, ROWS) };
	return scene.history ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	history_free(scene.history);
	return 0;
}

static void begin_read(size_t reader)
{
	history_begin_read(scene.history, reader, row_2, 1, scene.least);
}

static bool read_is_true(void)
{
	return history_check_read(scene.history, row_2, 1, scene.least, scene.table[2], scene.text,
				  sizeof scene.text);
}

static bool end_is_true(void)
{
	return history_check_end(scene.history, scene.table[0], scene.text, sizeof scene.text);
}

static void push(size_t client)
{
	history_send(scene.history, client, row_2, 1);
	scene.table[2][client] += 1;
	history_acknowledge(scene.history, client, row_2, 1);
}

static void an_honest_store_passes(void **state)
{
	(void)state;
	for (int i = 0; i < 10; i++) {
		begin_read(1);
		push((size_t)i % CLIENTS);
		assert_true(read_is_true());
	}
	assert_true(end_is_true());
}

static void what_is_not_acknowledged_may_be_seen_or_not(void **state)
{
	(void)state;
	history_send(scene.history, 0, row_2, 1);
	begin_read(1);
	assert_true(read_is_true());
	scene.table[2][0] = 1;
	assert_true(read_is_true());
	assert_false(end_is_true()); /* but not at the end: somebody still waits */
}

static void a_push_that_counts_twice_is_seen(void **state)
{
	(void)state;
	push(0);
	scene.table[2][0] += 1;
	begin_read(1);
	assert_false(read_is_true());
	assert_string_equal(scene.text, "row 2: of client 0's pushes 2 are counted, want 1 to 1");
	assert_false(end_is_true());
}

static void a_lost_push_is_seen(void **state)
{
	(void)state;
	push(0);
	push(0);
	scene.table[2][0] = 1;
	begin_read(1);
	assert_false(read_is_true());
	assert_false(end_is_true());
}

static void a_client_that_does_not_see_its_own_push_is_noticed(void **state)
{
	(void)state;
	history_send(scene.history, 0, row_2, 1);
	begin_read(1);
	assert_true(read_is_true()); /* another client need not */
	begin_read(0);
	assert_false(read_is_true());
}

static void a_push_that_was_refused_must_not_count(void **state)
{
	(void)state;
	history_send(scene.history, 0, row_2, 1);
	history_refuse(scene.history, 0, row_2, 1);
	begin_read(0);
	assert_true(read_is_true());
	scene.table[2][0] = 1;
	assert_false(read_is_true());
}

static void a_torn_row_is_seen(void **state)
{
	(void)state;
	push(0);
	scene.table[2][0] = 0.5F;
	begin_read(1);
	assert_false(read_is_true());
}

#define scene_test(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		scene_test(an_honest_store_passes),
		scene_test(what_is_not_acknowledged_may_be_seen_or_not),
		scene_test(a_push_that_counts_twice_is_seen),
		scene_test(a_lost_push_is_seen),
		scene_test(a_client_that_does_not_see_its_own_push_is_noticed),
		scene_test(a_push_that_was_refused_must_not_count),
		scene_test(a_torn_row_is_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
