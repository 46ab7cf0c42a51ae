/*
 * Groups of real processes: ranks, barriers and what becomes of them when a member or the server of
 * partition 0 is killed. A member is this program with arguments; it does what its stdin says, a line
 * each, and prints a line when it is done.
 */
#include "test.h"

#include "deadline.h"
#include "processes.h"
#include "tmpdir.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	N_PARTS = 2,
	N_NODES = 100,
	WIDTH = 2,
	MEMBERS_MAX = 64,
	PUSH_ROWS = 40000,
	N_PUSHES = 4,
	EACH = PUSH_ROWS / N_NODES * N_PUSHES,
};

static const char *program;

/* --- A member --- */

static void say(const char *what, dg_status st, const dg_error *err)
{
	if (st)
		printf("%s: %d %s\n", what, (int)st, err->text);
	else
		printf("%s\n", what);
	(void)fflush(stdout);
}

/* Adds EACH to all rows, in much work for the servers, without waiting: the barrier has to. */
static dg_status push(dg_client *client, dg_error *err)
{
	static float ones[PUSH_ROWS * WIDTH];
	static dg_id rows[PUSH_ROWS];
	dg_tensor_info feat;
	dg_status st = dg_client_find(client, "feat", &feat, err);

	for (size_t i = 0; i < PUSH_ROWS * WIDTH; i++)
		ones[i] = 1;
	for (dg_id i = 0; i < PUSH_ROWS; i++)
		rows[i] = i % N_NODES;
	for (unsigned i = 0; !st && i < N_PUSHES; i++) {
		dg_request *request;

		st = dg_client_begin_push(client, &feat, DG_OP_ADD, rows, PUSH_ROWS, ones, &request,
					  err);
	}
	return st;
}

static void pull(dg_client *client)
{
	const dg_id last = N_NODES - 1;
	float row[WIDTH] = { 0 };
	dg_tensor_info feat;
	dg_error err = { 0 };
	dg_status st = dg_client_find(client, "feat", &feat, &err);

	if (!st)
		st = dg_client_pull(client, &feat, &last, 1, row, &err);
	if (st)
		say("pull", st, &err);
	else
		printf("%g\n", (double)row[0]);
	(void)fflush(stdout);
}

static void obey(dg_client *client, dg_group **group, const char *line)
{
	dg_error err = { 0 };
	dg_status st = DG_OK;

	if (strncmp(line, "barrier ", 8) == 0)
		st = dg_group_barrier(*group, DG_GROUP_ALL, line + 8, 60000, &err);
	else if (strncmp(line, "short ", 6) == 0)
		st = dg_group_barrier(*group, DG_GROUP_ALL, line + 6, 500, &err);
	else if (strncmp(line, "role ", 5) == 0)
		st = dg_group_barrier(*group, DG_GROUP_ROLE, line + 5, 60000, &err);
	else if (strcmp(line, "push") == 0)
		st = push(client, &err);
	else if (strcmp(line, "pull") == 0) {
		pull(client);
		return;
	} else if (strcmp(line, "leave") == 0) {
		st = dg_group_leave(*group, &err);
		*group = NULL;
	}
	say(line, st, &err);
}

/* Arguments: cluster, group, size (0: of the environment), role, machine. */
static int be_member(char **arguments)
{
	const dg_group_options options = { .name = arguments[1],
					   .size = (uint32_t)atoi(arguments[2]),
					   .role = arguments[3],
					   .has_machine = 1,
					   .machine = (uint32_t)atoi(arguments[4]),
					   .timeout_ms = 60000 };
	dg_client *client = NULL;
	dg_group *group = NULL;
	dg_group_info info;
	char line[128];
	dg_error err = { 0 };
	dg_status st = dg_client_open(arguments[0], NULL, &client, &err);

	if (!st)
		st = dg_group_join(client, &options, &group, &err);
	if (st) {
		say("join", st, &err);
		return 1;
	}
	dg_group_get_info(group, &info);
	printf("%u of %u, %u of %u, local %u of %u, life %u\n", info.rank, info.size,
	       info.role_rank, info.role_size, info.local_rank, info.local_size, info.life);
	(void)fflush(stdout);
	while (fgets(line, sizeof line, stdin)) {
		line[strcspn(line, "\n")] = '\0';
		obey(client, &group, line);
	}
	(void)dg_group_leave(group, NULL);
	dg_client_close(client);
	return 0;
}

/* --- The tests --- */

struct scene {
	char *dir, *cluster;
	struct process servers[N_PARTS];
	struct process members[MEMBERS_MAX];
};

static int set_up(void **state)
{
	static struct scene s;

	s = (struct scene){ .dir = tmpdir_new() };
	s.cluster = cluster_make(s.dir, "ring", N_NODES, N_PARTS, WIDTH);
	for (uint32_t part = 0; part < N_PARTS; part++)
		server_start(&s.servers[part], s.cluster, part);
	*state = &s;
	return 0;
}

static void end_process(struct process *process)
{
	if (!process->pid)
		return;
	process_signal(process, SIGKILL);
	(void)process_wait(process);
}

static int tear_down(void **state)
{
	struct scene *s = *state;

	for (size_t i = 0; i < MEMBERS_MAX; i++)
		end_process(&s->members[i]);
	for (size_t i = 0; i < N_PARTS; i++)
		end_process(&s->servers[i]);
	free(s->cluster);
	tmpdir_remove(s->dir);
	return 0;
}

static void start(struct scene *s, unsigned i, const char *group, const char *size,
		  const char *role, const char *machine)
{
	process_start_program(
		&s->members[i], program,
		(const char *const[]){ s->cluster, group, size, role, machine, NULL });
}

static void tell(struct scene *s, unsigned i, const char *line)
{
	process_write_line(&s->members[i], line);
}

static void expect(struct scene *s, unsigned i, const char *wanted)
{
	char line[640];

	process_read_line(&s->members[i], line, sizeof line);
	if (strncmp(line, wanted, strlen(wanted)) != 0)
		fail_msg("member %u says '%s', want '%s'", i, line, wanted);
}

static void pass(struct scene *s, unsigned n, const char *line)
{
	for (unsigned i = 0; i < n; i++)
		tell(s, i, line);
	for (unsigned i = 0; i < n; i++)
		expect(s, i, line);
}

static void ranks_are_contiguous_per_role_and_machine(void **state)
{
	struct scene *s = *state;

	start(s, 0, "job", "4", "sampler", "0");
	start(s, 1, "job", "4", "trainer", "3");
	start(s, 2, "job", "4", "trainer", "1");
	start(s, 3, "job", "4", "trainer", "3");
	expect(s, 0, "3 of 4, 0 of 1, local 0 of 1, life 1");
	expect(s, 2, "0 of 4, 0 of 3, local 0 of 1, life 1");
	expect(s, 1, "1 of 4, 1 of 3, local 0 of 2, life 1"); /* the lower pid */
	expect(s, 3, "2 of 4, 2 of 3, local 1 of 2, life 1");
	for (unsigned i = 1; i < 4; i++)
		tell(s, i, "role only trainers");
	for (unsigned i = 1; i < 4; i++)
		expect(s, i, "role only trainers");
	pass(s, 4, "barrier all");
	pass(s, 4, "leave");
}

static void ranks_are_those_of_the_launcher(void **state)
{
	struct scene *s = *state;
	char text[8];

	(void)setenv("WORLD_SIZE", "3", 1);
	for (unsigned i = 0; i < 3; i++) {
		(void)snprintf(text, sizeof text, "%u", 2 - i);
		(void)setenv("RANK", text, 1);
		(void)setenv("LOCAL_RANK", text, 1);
		start(s, i, "job", "0", "trainer", "0");
	}
	(void)unsetenv("WORLD_SIZE");
	(void)unsetenv("RANK");
	(void)unsetenv("LOCAL_RANK");
	expect(s, 0, "2 of 3, 2 of 3, local 2 of 3");
	expect(s, 1, "1 of 3");
	expect(s, 2, "0 of 3");
	pass(s, 3, "leave");
}

static void after_a_barrier_all_see_what_was_pushed_before(void **state)
{
	struct scene *s = *state;

	for (unsigned i = 0; i < 3; i++)
		start(s, i, "job", "3", "trainer", "0");
	for (unsigned i = 0; i < 3; i++)
		expect(s, i, "");
	for (unsigned round = 1; round <= 3; round++) {
		char sum[16];

		(void)snprintf(sum, sizeof sum, "%u", 3 * EACH * round);
		pass(s, 3, "push");
		pass(s, 3, "barrier pushed");
		for (unsigned i = 0; i < 3; i++)
			tell(s, i, "pull");
		for (unsigned i = 0; i < 3; i++)
			expect(s, i, sum);
		pass(s, 3, "barrier pulled");
	}
	pass(s, 3, "leave");
}

static void a_second_group_follows_the_first_and_others_are_there_at_once(void **state)
{
	struct scene *s = *state;

	start(s, 0, "job", "1", "trainer", "0");
	expect(s, 0, "0 of 1");
	start(s, 1, "job", "2", "trainer", "0"); /* waits for the first to end */
	start(s, 2, "job", "2", "trainer", "0");
	start(s, 3, "other", "1", "trainer", "0");
	expect(s, 3, "0 of 1");
	tell(s, 0, "leave");
	expect(s, 0, "leave");
	expect(s, 1, "0 of 2");
	expect(s, 2, "1 of 2");
	tell(s, 1, "barrier second");
	tell(s, 2, "barrier second");
	expect(s, 1, "barrier second");
	expect(s, 2, "barrier second");
}

static void a_member_that_is_killed_in_a_barrier_is_named_and_another_takes_its_rank(void **state)
{
	struct scene *s = *state;
	char wanted[128];

	for (unsigned i = 0; i < 3; i++)
		start(s, i, "job", "3", "trainer", "0");
	for (unsigned i = 0; i < 3; i++)
		expect(s, i, "");
	tell(s, 1, "barrier b");
	dgi_sleep_ms(50);
	process_signal(&s->members[1], SIGKILL);
	(void)process_wait(&s->members[1]);
	s->members[1] = (struct process){ 0 };
	start(s, 1, "job", "3", "trainer", "0");
	expect(s, 1, "1 of 3, 1 of 3, local 1 of 3, life 2"); /* a lease later */
	tell(s, 0, "barrier b");
	tell(s, 2, "barrier b");
	tell(s, 1, "barrier b");
	for (unsigned i = 0; i < 3; i++)
		expect(s, i, "barrier b");
	process_signal(&s->members[2], SIGKILL);
	(void)snprintf(wanted, sizeof wanted,
		       "short c: %d group 'job', barrier 'c': waits for "
		       "trainer rank 2 (host ",
		       (int)DG_TIMEOUT);
	tell(s, 1, "barrier c");
	dgi_sleep_ms(50);
	tell(s, 0, "short c");
	expect(s, 0, wanted);
}

static void a_barrier_outlives_a_kill_of_the_server_that_counts(void **state)
{
	struct scene *s = *state;

	for (unsigned i = 0; i < 3; i++)
		start(s, i, "job", "3", "trainer", "0");
	for (unsigned i = 0; i < 3; i++)
		expect(s, i, "");
	for (unsigned round = 0; round < 3; round++) {
		tell(s, round % 3, "barrier b");
		tell(s, (round + 1) % 3, "barrier b");
		dgi_sleep_ms(50);
		process_signal(&s->servers[0], SIGKILL);
		(void)process_wait(&s->servers[0]);
		server_start(&s->servers[0], s->cluster, 0);
		tell(s, (round + 2) % 3, "barrier b");
		for (unsigned i = 0; i < 3; i++)
			expect(s, i, "barrier b");
	}
	pass(s, 3, "leave");
}

static void sixty_four_processes_join_and_meet(void **state)
{
	struct scene *s = *state;
	int64_t began_ms, joined_ms;

	for (unsigned i = 0; i < MEMBERS_MAX; i++)
		start(s, i, "job", "64", "trainer", "0");
	began_ms = dgi_now_ms();
	for (unsigned i = 0; i < MEMBERS_MAX; i++)
		expect(s, i, "");
	joined_ms = dgi_now_ms();
	for (unsigned round = 0; round < 10; round++)
		pass(s, MEMBERS_MAX, "barrier b");
	print_message("64 processes: joined %" PRId64
		      " ms after the last was started, %.1f ms a barrier\n",
		      joined_ms - began_ms, (double)(dgi_now_ms() - joined_ms) / 10);
	pass(s, MEMBERS_MAX, "leave");
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		CASE(ranks_are_contiguous_per_role_and_machine),
		CASE(ranks_are_those_of_the_launcher),
		CASE(after_a_barrier_all_see_what_was_pushed_before),
		CASE(a_second_group_follows_the_first_and_others_are_there_at_once),
		CASE(a_member_that_is_killed_in_a_barrier_is_named_and_another_takes_its_rank),
		CASE(a_barrier_outlives_a_kill_of_the_server_that_counts),
		CASE(sixty_four_processes_join_and_meet),
	};

	if (argc == 6)
		return be_member(argv + 1);
	program = argv[0];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
