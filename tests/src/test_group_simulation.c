/*
 * A group in a world of one thread and one seed: members and a coordinator made of the functions that
 * the real ones are made of, links that are cut and stay away, kills of any process and of the
 * coordinator, which comes back knowing nothing.
 *
 * Each process joins, passes the barriers of one script, and leaves. Checked: none passes a barrier
 * at which a rank that has not left was not; ranks lie in the block of their role and machine; all
 * come to their end once the faults stop. The world can be broken on purpose, to see that the checks
 * notice.
 */
#include "test.h"

#include "coordinator.h"
#include "membership.h"
#include "ranks.h"
#include "rng.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
	PROCESSES = 6,
	STEPS = 12, /* barriers of the script */
	QUEUE = 64,
	LEASE_MS = 10000,
	BEAT_MS = 2500,
	FAULTY_MS = 90 * 1000,
	END_MS = 400 * 1000,
};

enum flaw {
	SOUND,
	PASSED_IS_NOT_TOLD, /* claims without the barriers passed */
	LEFT_IS_NOT_TOLD,
	COORDINATOR_COUNTS_ANYBODY, /* an arrival counts for the rank next to it too */
	FLAWS,
};

struct up {
	struct dgi_group_request request;
	struct dgi_group_claim claim;
};

struct down {
	uint64_t token;
	struct dgi_group_answer answer;
};

struct process {
	bool runs, is_done, is_placed;
	bool was_away; /* longer than a lease: others may have gone on without it */
	int64_t starts_ms, connects_ms; /* not before then */
	unsigned lives;
	bool is_connected;
	struct dgi_membership m;
	struct up up[QUEUE];
	struct down down[QUEUE];
	unsigned n_up, n_down;
	unsigned step; /* of the barrier it waits for */
};

struct world {
	struct dgi_rng rng;
	enum flaw flaw;
	bool is_calm;
	const char *wrong;
	int64_t now_ms;
	struct dgi_coordinator c;
	unsigned size;
	struct process at[PROCESSES];
	/* The instance of the group in which each rank has arrived at each step, or has left. */
	uint64_t arrived[PROCESSES][STEPS], left[PROCESSES];
	unsigned n_kills, n_restarts, n_passed, n_heirs, n_left_behind;
};

static bool chance(struct world *w, unsigned in_ten_thousand)
{
	return !w->is_calm && dgi_rng_below(&w->rng, 10000) < in_ten_thousand;
}

static void violate(struct world *w, const char *what)
{
	if (!w->wrong)
		w->wrong = what;
}

/* --- The script --- */

static const char *role_of(unsigned process)
{
	return process % 3 == 2 ? "sampler" : "trainer";
}

static int32_t machine_of(unsigned process)
{
	return (int32_t)(process * 7 % 5 % 2 * 3); /* with holes, in any order */
}

static enum dgi_group_scope scope_of(unsigned step)
{
	return step % 3 == 1 ? DGI_GROUP_ROLE : DGI_GROUP_ALL;
}

/* Samplers leave early. */
static unsigned n_steps(unsigned process)
{
	return process % 3 == 2 ? STEPS - 4 : STEPS;
}

/* The first step whose barrier, by its number in its scope, is not passed. */
static unsigned next_step(const struct process *p)
{
	uint64_t n[DGI_GROUP_SCOPES] = { 0 };
	unsigned step = 0;

	for (; step < STEPS && ++n[scope_of(step)] <= p->m.claim.place.passed[scope_of(step)];)
		step++;
	return step;
}

/* --- Links --- */

static uint64_t token_of(unsigned process, uint64_t token)
{
	return token * PROCESSES + process;
}

static void sink(void *context, uint64_t token, const struct dgi_group_answer *answer)
{
	struct world *w = context;
	struct process *p = &w->at[token % PROCESSES];

	if (!p->is_connected || p->n_down == QUEUE)
		return;
	p->down[p->n_down].token = token / PROCESSES;
	p->down[p->n_down++].answer = *answer;
}

static void cut(struct world *w, unsigned i)
{
	struct process *p = &w->at[i];

	if (!p->is_connected)
		return;
	p->is_connected = false;
	p->n_up = p->n_down = 0;
	dgi_membership_lost(&p->m);
	for (uint64_t t = 1; t <= p->m.last_token; t++)
		dgi_coordinator_forget(&w->c, token_of(i, t));
}

static void restart_coordinator(struct world *w)
{
	for (unsigned i = 0; i < PROCESSES; i++)
		cut(w, i);
	dgi_coordinator_clear(&w->c);
	dgi_coordinator_init(&w->c, dgi_rng_next(&w->rng), LEASE_MS, sink, w);
	w->n_restarts++;
}

/* --- Processes --- */

static void start(struct world *w, unsigned i)
{
	struct process *p = &w->at[i];
	struct dgi_group_claim claim = { .size = w->size,
					 .machine = machine_of(i),
					 .pid = (int64_t)(100 * p->lives + 40 - i),
					 .wanted_rank = -1,
					 .wanted_local = -1 };

	p->lives++;
	claim.id = (dg_uuid){ { (uint8_t)(i + 1), (uint8_t)p->lives, 7 } };
	strcpy(claim.group, "job");
	strcpy(claim.role, role_of(i));
	strcpy(claim.host, "host");
	dgi_membership_init(&p->m, &claim, BEAT_MS, INT64_MAX);
	p->runs = true;
	p->is_placed = false;
	p->connects_ms = 0;
}

static void kill_process(struct world *w, unsigned i)
{
	cut(w, i);
	w->at[i].runs = false;
	w->at[i].starts_ms = w->now_ms + (int64_t)dgi_rng_below(&w->rng, 20000);
	w->n_kills++;
}

/* Those of a role on one machine have ranks side by side. */
static void check_rank(struct world *w, unsigned i)
{
	const struct dgi_group_place *place = &w->at[i].m.claim.place;
	unsigned first = 0, n = 0;

	w->n_heirs += place->life > 1;
	for (unsigned j = 0; j < w->size; j++) {
		int order = strcmp(role_of(i), role_of(j)); /* "trainer" is first */

		order = order ? order : machine_of(j) - machine_of(i);
		first += order < 0;
		n += order == 0;
	}
	if (place->rank >= w->size ||
	    strcmp(place->roles[dgi_ranks_role_of(place, place->rank)].name, role_of(i)))
		violate(w, "a rank of another role");
	else if (place->life == 1 && (place->rank < first || place->rank >= first + n))
		violate(w, "a rank of another machine");
	for (unsigned j = 0; j < w->size; j++)
		if (j != i && w->is_calm && w->at[j].runs && w->at[j].is_placed &&
		    w->at[j].m.claim.place.rank == place->rank &&
		    w->at[j].m.claim.place.instance == place->instance &&
		    w->at[j].m.claim.place.life == place->life)
			violate(w, "a rank twice");
}

static void check_passed(struct world *w, unsigned i)
{
	const struct dgi_group_place *place = &w->at[i].m.claim.place;
	const unsigned step = w->at[i].step;
	const uint32_t role = dgi_ranks_role_of(place, place->rank);

	for (uint32_t rank = 0; rank < w->size; rank++)
		if ((scope_of(step) == DGI_GROUP_ALL || dgi_ranks_role_of(place, rank) == role) &&
		    w->left[rank] != place->instance && w->arrived[rank][step] != place->instance)
			violate(w, "a barrier is passed without somebody");
	w->n_passed++;
}

/* What a process does that waits for nothing. */
static void go_on(struct world *w, unsigned i)
{
	struct process *p = &w->at[i];
	const struct dgi_group_place *place = &p->m.claim.place;
	char name[16];

	if (p->m.status == DG_DENIED || (p->m.is_over && p->m.wanted != DGI_GROUP_LEAVE)) {
		kill_process(w, i); /* superseded: a new life may come */
		return;
	}
	if (p->m.status) {
		violate(w, p->m.error.text);
		return;
	}
	if (p->m.wanted == DGI_GROUP_LEAVE) {
		cut(w, i);
		p->is_done = true;
		p->runs = false;
		return;
	}
	if (p->m.wanted == DGI_GROUP_BARRIER)
		check_passed(w, i);
	else
		check_rank(w, i);
	p->is_placed = true;
	p->step = next_step(p);
	if (p->step >= n_steps(i)) {
		w->left[place->rank] = place->instance;
		dgi_membership_leave(&p->m, INT64_MAX);
		return;
	}
	w->arrived[place->rank][p->step] = place->instance;
	(void)snprintf(name, sizeof name, "step %u", p->step);
	dgi_membership_arrive(&p->m, scope_of(p->step), name, INT64_MAX);
}

static void send_all(struct world *w, unsigned i)
{
	struct process *p = &w->at[i];
	struct dgi_group_request r;

	while (p->n_up < QUEUE && dgi_membership_next(&p->m, w->now_ms, &r)) {
		struct up *up = &p->up[p->n_up++];

		up->claim = *r.claim;
		up->request = r;
		up->request.token = token_of(i, r.token);
	}
}

static void spoil(const struct world *w, struct dgi_group_claim *claim)
{
	if (w->flaw == PASSED_IS_NOT_TOLD && claim->place.instance)
		memset(claim->place.passed, 0, sizeof claim->place.passed);
	if (w->flaw == LEFT_IS_NOT_TOLD)
		memset(claim->place.left, 0, sizeof claim->place.left);
}

/* As if the one arrival were that of another that is there too. */
static void count_twice(struct world *w, struct dgi_group_request *r)
{
	struct dgi_group_claim other = *r->claim;
	const struct dgi_group *g = w->c.groups;
	const uint32_t rank = (other.place.rank + 1) % w->size;
	struct dgi_group_request again = *r;

	if (!g || !g->place.instance || g->slots[rank].state != DGI_SLOT_LIVE)
		return;
	other = *g->slots[rank].claim;
	again.claim = &other;
	again.token = token_of(0, 0);
	dgi_coordinator_ask(&w->c, &again, w->now_ms);
}

static void deliver_up(struct world *w, unsigned i)
{
	struct process *p = &w->at[i];
	struct up up = p->up[0];

	memmove(p->up, p->up + 1, --p->n_up * sizeof up);
	up.request.claim = &up.claim;
	spoil(w, &up.claim);
	dgi_coordinator_ask(&w->c, &up.request, w->now_ms);
	if (w->flaw == COORDINATOR_COUNTS_ANYBODY && up.request.kind == DGI_GROUP_BARRIER)
		count_twice(w, &up.request);
}

static void deliver_down(struct world *w, unsigned i)
{
	struct process *p = &w->at[i];
	struct down down = p->down[0];

	memmove(p->down, p->down + 1, --p->n_down * sizeof down);
	dgi_membership_answered(&p->m, down.token, &down.answer, w->now_ms);
}

/* One that comes back when some have left, and nobody else lives who was with it, finds no group. */
static bool is_orphan(const struct world *w, unsigned i)
{
	bool some_have_left = false;

	if (w->at[i].is_placed || w->at[i].lives < 2 ||
	    (w->c.groups && !dgi_group_is_asleep(w->c.groups)))
		return false;
	for (unsigned j = 0; j < w->size; j++) {
		if (w->at[j].runs && w->at[j].is_placed)
			return false;
		some_have_left = some_have_left || w->at[j].is_done;
	}
	return some_have_left;
}

static void run_process(struct world *w, unsigned i)
{
	struct process *p = &w->at[i];

	if (p->is_done)
		return;
	if (!p->runs && w->now_ms >= p->starts_ms)
		start(w, i);
	if (!p->runs)
		return;
	if (!p->m.is_waiting || p->m.is_over)
		go_on(w, i);
	if (!p->runs)
		return;
	if (is_orphan(w, i)) {
		cut(w, i);
		p->is_done = true;
		return;
	}
	if (!p->is_connected && w->now_ms >= p->connects_ms)
		p->is_connected = true;
	if (!p->is_connected)
		return;
	send_all(w, i);
	if (p->n_up && dgi_rng_below(&w->rng, 3))
		deliver_up(w, i);
	if (p->n_down && dgi_rng_below(&w->rng, 3))
		deliver_down(w, i);
}

static void do_harm(struct world *w)
{
	const unsigned i = (unsigned)dgi_rng_below(&w->rng, w->size);

	if (chance(w, 30))
		restart_coordinator(w);
	if (chance(w, 100)) {
		cut(w, i);
		w->at[i].connects_ms = w->now_ms + (int64_t)dgi_rng_below(&w->rng, 3000);
	}
	if (chance(w, 10)) {
		cut(w, i);
		w->at[i].connects_ms = w->now_ms + 2 * LEASE_MS;
		w->at[i].was_away = true;
	}
	if (chance(w, 50) && w->at[i].runs && w->at[i].m.wanted != DGI_GROUP_LEAVE)
		kill_process(w, i);
}

static bool all_are_done(const struct world *w)
{
	for (unsigned i = 0; i < w->size; i++)
		if (!w->at[i].is_done)
			return false;
	return true;
}

/*
 * Who leaves does not wait for one that is away for longer than a lease. If then the coordinator, and
 * whoever else was told of the leave, are killed before it is back, nobody can tell: the barrier of
 * those that are left times out.
 */
static bool is_left_behind(const struct world *w)
{
	bool one_was_away = false, one_has_left = false;

	for (unsigned i = 0; i < w->size; i++) {
		one_was_away = one_was_away || w->at[i].was_away;
		one_has_left = one_has_left || w->at[i].is_done;
	}
	return one_was_away && one_has_left && w->n_restarts;
}

static const char *run(uint64_t seed, enum flaw flaw, struct world *w)
{
	*w = (struct world){ .rng = dgi_rng_of(seed, 6), .flaw = flaw, .now_ms = 1000 };
	w->size = 1 + (unsigned)dgi_rng_below(&w->rng, PROCESSES);
	dgi_coordinator_init(&w->c, dgi_rng_next(&w->rng), LEASE_MS, sink, w);
	for (unsigned i = 0; i < w->size; i++)
		w->at[i].starts_ms = (int64_t)dgi_rng_below(&w->rng, 30000);
	while (w->now_ms < END_MS && !w->wrong && !all_are_done(w)) {
		w->now_ms += (int64_t)dgi_rng_below(&w->rng, 200);
		w->is_calm = w->now_ms > FAULTY_MS;
		do_harm(w);
		run_process(w, (unsigned)dgi_rng_below(&w->rng, w->size));
		dgi_coordinator_tick(&w->c, w->now_ms);
	}
	if (!w->wrong && !all_are_done(w) && is_left_behind(w))
		w->n_left_behind++;
	else if (!w->wrong && !all_are_done(w))
		violate(w, "somebody waits for ever");
	dgi_coordinator_clear(&w->c);
	return w->wrong;
}

static void groups_come_to_their_end_whatever_is_killed(void **state)
{
	static struct world w;
	unsigned n_kills = 0, n_restarts = 0, n_passed = 0, n_heirs = 0, n_behind = 0;

	(void)state;
	for (uint64_t seed = 0; seed < 3000; seed++) {
		const char *wrong = run(seed, SOUND, &w);

		if (wrong)
			fail_msg("seed %" PRIu64 ": %s", seed, wrong);
		n_kills += w.n_kills;
		n_restarts += w.n_restarts;
		n_passed += w.n_passed;
		n_heirs += w.n_heirs;
		n_behind += w.n_left_behind;
	}
	print_message(
		"%u kills, %u restarts, %u barriers passed, %u took a lost rank, %u left behind\n",
		n_kills, n_restarts, n_passed, n_heirs, n_behind);
	assert_true(n_kills > 1000 && n_restarts > 1000 && n_passed > 10000 && n_heirs > 500);
	assert_true(n_behind < 60);
}

static void a_broken_world_is_noticed(void **state)
{
	static struct world w;

	(void)state;
	for (enum flaw flaw = SOUND + 1; flaw < FLAWS; flaw++) {
		uint64_t seed = 0;

		while (seed < 1000 && !run(seed, flaw, &w))
			seed++;
		if (seed == 1000)
			fail_msg("flaw %d is not noticed", (int)flaw);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(groups_come_to_their_end_whatever_is_killed),
		cmocka_unit_test(a_broken_world_is_noticed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
