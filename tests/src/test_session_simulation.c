/*
 * Sessions of pushes in a world of one thread and one seed: clients and a server made of the
 * functions that the real ones are made of, links that lose, repeat and cut, and kills of either side.
 *
 * Each push sets a bit of its own. Checked: none counts twice, ever; none is lost that its client
 * believes to be done; a pull sees the pushes of its client that came before it. The world can be
 * broken on purpose, to see that the checks notice.
 */
#include "test.h"

#include "client_session.h"
#include "rng.h"
#include "server_session.h"
#include "sessions.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	CLIENTS = 3,
	LIVES = 4, /* of each: a killed client comes back as another */
	SESSIONS = CLIENTS * LIVES,
	PUSHES = 60, /* of a session, numbered from 1: one bit each */
	LINKS = 24,
	QUEUE = 256,
	ENTRIES = 4000,
	STEPS = 2500,
};

/* Ways to break the world. */
enum flaw {
	SOUND,
	TABLE_IS_NOT_RECOVERED, /* what was seen is forgotten by a crash */
	NOBODY_IS_FENCED,	/* an older connection's pushes are applied after a close */
	PULLS_DO_NOT_WAIT,
	PROMISES_ARE_FORGOTTEN, /* a client does not repeat what was answered and lost */
	FLAWS,
};

struct message {
	enum { PUSH, PULL, CLOSE } kind;
	struct dgi_push push;
	bool interval;	/* answered when applied */
	uint64_t after; /* of a pull */
	uint64_t wants; /* of a pull: the bits that its client may count on */
	uint64_t sees;	/* of its answer */
	dg_status status;
	uint64_t log_number;
	uint64_t turn;
	struct dgi_frame header; /* of an answer */
};

struct queue {
	struct message at[QUEUE];
	size_t begin, end;
};

struct link {
	bool server_has, client_has; /* either end may be gone */
	unsigned session;
	struct dgi_server_session numbers;
	struct queue up, down;
	struct queue pulls; /* wait at the server */
	unsigned n_jobs;    /* at the writer: the link is kept */
};

struct job {
	struct link *link;
	struct message message;
};

struct entry {
	unsigned session;
	uint64_t number;
	struct dgi_session_mark mark;
};

struct client {
	unsigned life;
	bool is_closing, is_closed;
	struct link *link;
	struct dgi_client_session s;
	struct dgi_kept_push pushes[PUSHES];
	bool interval[PUSHES];
};

struct world {
	struct dgi_rng rng;
	enum flaw flaw;
	bool is_calm;	   /* no more faults */
	const char *wrong; /* what was violated, the first time */
	/* The store. Entry i has log number i + 1. */
	struct entry entries[ENTRIES];
	uint64_t log_number, durable, incarnation;
	struct dgi_sessions *table;
	uint8_t counts[SESSIONS][PUSHES + 1];
	/* The server. */
	struct job jobs[QUEUE], unsynced[QUEUE];
	size_t n_jobs, n_unsynced;
	struct link links[LINKS];
	/* What clients know of each of their pushes. */
	struct client clients[CLIENTS];
	uint64_t done[SESSIONS], refused[SESSIONS], unseen[SESSIONS];
	unsigned n_repeats, n_crashes, n_lost; /* that something happened at all */
};

static bool chance(struct world *w, unsigned percent)
{
	return !w->is_calm && dgi_rng_below(&w->rng, 100) < percent;
}

static void violate(struct world *w, const char *what)
{
	if (!w->wrong)
		w->wrong = what;
}

static dg_uuid id_of(unsigned session)
{
	return (dg_uuid){ { (uint8_t)(session + 1), 0x5e } };
}

static uint64_t bit(uint64_t number)
{
	return UINT64_C(1) << number;
}

static bool put(struct queue *q, const struct message *m)
{
	if (q->end - q->begin == QUEUE)
		return false;
	q->at[q->end++ % QUEUE] = *m;
	return true;
}

static bool take(struct queue *q, struct message *m)
{
	if (q->begin == q->end)
		return false;
	*m = q->at[q->begin++ % QUEUE];
	return true;
}

/* --- The server --- */

static void answer(struct world *w, struct link *link, const struct message *m)
{
	struct message reply = *m;

	if (!link->server_has)
		return;
	reply.header.durable = w->durable;
	reply.header.credits = chance(w, 5) ? 2500 : 100000;
	if (!put(&link->down, &reply))
		link->server_has = false; /* as one that never reads */
}

static void answer_status(struct world *w, struct link *link, struct message *m, dg_status status)
{
	m->status = status;
	answer(w, link, m);
}

static void serve_pulls(struct world *w, struct link *link)
{
	while (link->pulls.begin != link->pulls.end) {
		struct message m = link->pulls.at[link->pulls.begin % QUEUE];

		if (m.turn > link->numbers.n_settled && w->flaw != PULLS_DO_NOT_WAIT)
			return;
		(void)take(&link->pulls, &m);
		for (uint64_t i = 1; i <= PUSHES; i++)
			m.sees |= w->counts[link->session][i] ? bit(i) : 0;
		answer_status(w, link, &m, DG_OK);
	}
}

static void refuse_connection(struct link *link)
{
	link->server_has = false;
	link->pulls.begin = link->pulls.end;
}

static void come(struct world *w, struct link *link, struct message *m)
{
	dg_status st;

	if (m->kind == PULL) {
		st = dgi_server_session_pull(&link->numbers, m->after, &m->turn, NULL);
		if (st == DG_PROTO)
			refuse_connection(link);
		else if (!st && !put(&link->pulls, m))
			refuse_connection(link);
		return;
	}
	st = m->kind == PUSH ? dgi_server_session_push(&link->numbers, &m->push, NULL) : DG_OK;
	if (st == DG_PROTO || w->n_jobs == QUEUE) {
		refuse_connection(link);
		return;
	}
	if (st) {
		answer_status(w, link, m, st);
		return;
	}
	if (m->kind == PUSH)
		dgi_server_session_hand_on(&link->numbers);
	link->n_jobs++;
	w->jobs[w->n_jobs++] = (struct job){ link, *m };
}

/* Takes one message in, of a connection whose client may be gone. */
static void receive(struct world *w, struct link *link)
{
	struct message m;

	if (!link->server_has || (!link->client_has && chance(w, 98)) || !take(&link->up, &m))
		return; /* what a lost connection still holds comes late */
	if (chance(w, 1))
		return; /* lost: the chain shows it */
	come(w, link, &m);
	if (link->server_has && m.kind == PUSH && chance(w, 2))
		come(w, link, &m); /* twice */
	serve_pulls(w, link);
}

static void count(struct world *w, unsigned session, uint64_t number)
{
	if (++w->counts[session][number] > 1)
		violate(w, "a push counts twice");
}

/* What the storage engine does with a push. */
static dg_status apply(struct world *w, struct link *link, struct message *m)
{
	const dg_uuid id = id_of(link->session);
	enum dgi_push_novelty novelty;
	struct dgi_session_mark mark;
	dg_status st = dgi_sessions_look(w->table, &id, m->push.number, m->push.floor, &novelty,
					 &mark, NULL);

	if (st)
		return st;
	if (novelty == DGI_PUSH_REPEAT) {
		w->n_repeats++;
		m->log_number = w->log_number;
		return DG_OK;
	}
	if (chance(w, 5))
		return chance(w, 50) ? DG_RANGE : DG_FULL;
	if (w->log_number == ENTRIES)
		return DG_FULL;
	w->entries[w->log_number++] = (struct entry){ link->session, m->push.number, mark };
	m->log_number = w->log_number;
	count(w, link->session, m->push.number);
	return dgi_sessions_set(w->table, &mark, NULL);
}

/* The writer's next job. */
static void write_one(struct world *w)
{
	const dg_uuid id = id_of(w->jobs[0].link->session);
	struct job job = w->jobs[0];
	const bool fenced = job.link->numbers.is_taken;

	memmove(w->jobs, w->jobs + 1, --w->n_jobs * sizeof *w->jobs);
	job.link->n_jobs--;
	if (fenced)
		job.message.status = DG_DENIED;
	else if (job.message.kind == PUSH)
		job.message.status = apply(w, job.link, &job.message);
	else
		dgi_sessions_remove(w->table, &id);
	if (job.message.kind == CLOSE && !fenced)
		job.link->numbers.is_taken = true;
	if (job.message.kind == PUSH)
		dgi_server_session_settle(&job.link->numbers, 1);
	if (job.message.status || job.message.interval || job.message.kind == CLOSE ||
	    job.message.log_number <= w->durable) {
		answer(w, job.link, &job.message);
	} else if (w->n_unsynced < QUEUE) {
		job.link->n_jobs++;
		w->unsynced[w->n_unsynced++] = job;
	}
	serve_pulls(w, job.link);
}

/* The journal's thread has synced some of what was applied. */
static void sync_some(struct world *w)
{
	w->durable += dgi_rng_below(&w->rng, w->log_number - w->durable + 1);
	while (w->n_unsynced && w->unsynced[0].message.log_number <= w->durable) {
		w->unsynced[0].link->n_jobs--;
		answer(w, w->unsynced[0].link, &w->unsynced[0].message);
		memmove(w->unsynced, w->unsynced + 1, --w->n_unsynced * sizeof *w->unsynced);
	}
}

/* What is not on disk is gone; the table comes back from the journal. */
static void crash_server(struct world *w)
{
	w->n_crashes++;
	w->incarnation++;
	w->n_lost += w->log_number > w->durable;
	w->log_number = w->durable;
	w->n_jobs = w->n_unsynced = 0;
	for (size_t i = 0; i < LINKS; i++) {
		w->links[i].server_has = false;
		w->links[i].n_jobs = 0;
	}
	dgi_sessions_free(w->table);
	assert_int_equal(dgi_sessions_new(&w->table, NULL), DG_OK);
	memset(w->counts, 0, sizeof w->counts);
	for (uint64_t i = 0; i < w->log_number; i++) {
		count(w, w->entries[i].session, w->entries[i].number);
		if (w->flaw != TABLE_IS_NOT_RECOVERED)
			assert_int_equal(dgi_sessions_set(w->table, &w->entries[i].mark, NULL),
					 DG_OK);
	}
}

/* --- The clients --- */

static unsigned session_of(const struct world *w, const struct client *c)
{
	return (unsigned)(c - w->clients) * LIVES + c->life;
}

static void lose(struct client *c)
{
	if (c->link)
		c->link->client_has = false;
	c->link = NULL;
	dgi_client_session_lost(&c->s);
}

static struct link *free_link(struct world *w)
{
	for (size_t i = 0; i < LINKS; i++) {
		struct link *link = &w->links[i];

		if (!link->server_has && !link->client_has && link->n_jobs == 0)
			return link;
	}
	return NULL;
}

static void connect(struct world *w, struct client *c)
{
	const struct dgi_welcome welcome = { .incarnation = w->incarnation,
					     .log_number = w->log_number };
	const uint64_t before = c->s.incarnation;
	struct link *link = free_link(w);
	dg_uuid id = id_of(session_of(w, c));
	dg_error err = { 0 };

	if (!link)
		return;
	for (size_t i = 0; i < LINKS; i++)
		if (w->links[i].session == session_of(w, c) && w->flaw != NOBODY_IS_FENCED)
			w->links[i].numbers.is_taken = true;
	*link = (struct link){ .server_has = true, .client_has = true };
	link->session = session_of(w, c);
	dgi_server_session_init(&link->numbers, &id);
	if (w->flaw == PROMISES_ARE_FORGOTTEN && before)
		c->s.incarnation = w->incarnation;
	if (dgi_client_session_welcome(&c->s, &welcome, &err) != DG_OK)
		violate(w, "a store that is not older is taken for one");
	c->link = link;
}

static void begin_life(struct world *w, struct client *c)
{
	const dg_uuid id = id_of(session_of(w, c));

	dgi_client_session_init(&c->s, &id);
	c->is_closing = c->is_closed = false;
}

static void send_some(struct world *w, struct client *c)
{
	struct dgi_kept_push *p = dgi_client_session_next(&c->s);
	struct message m = { .kind = PUSH };

	if (!p)
		return;
	dgi_client_session_numbers(&c->s, p, &m.push);
	m.interval = c->interval[p->number - 1];
	if (!put(&c->link->up, &m)) {
		lose(c);
		return;
	}
	dgi_client_session_sent(&c->s, p);
	(void)w;
}

/* Asks for rows; what is not refused may be counted on. */
static void pull(struct world *w, struct client *c)
{
	struct message m = { .kind = PULL };
	unsigned session = session_of(w, c);

	if (!dgi_client_session_pull(&c->s, &m.after) || !dgi_client_session_may_begin(&c->s, 1000))
		return;
	for (uint64_t i = 1; i <= c->s.last_number; i++)
		m.wants |= bit(i);
	m.wants &= ~w->refused[session];
	if (put(&c->link->up, &m))
		dgi_client_session_began(&c->s, 1000);
}

static void take_done(struct world *w, struct client *c)
{
	struct dgi_kept_push *p;

	while ((p = dgi_client_session_take_done(&c->s)))
		if (p->status == DG_OK)
			w->done[session_of(w, c)] |= bit(p->number);
		else
			w->refused[session_of(w, c)] |= bit(p->number);
}

static void hear(struct world *w, struct client *c)
{
	struct message m;

	if (!c->link || !take(&c->link->down, &m))
		return;
	dgi_client_session_heard(&c->s, &m.header);
	if (m.kind == PUSH) /* NULL: the answer to a frame that came twice */
		(void)dgi_client_session_answered(&c->s, m.push.number, m.status, m.log_number);
	else if (m.kind == PULL && m.status == DG_OK) {
		w->unseen[session_of(w, c)] |= m.wants & ~m.sees;
		dgi_client_session_ended(&c->s, 1000);
	} else if (m.kind == CLOSE && m.status == DG_OK) {
		c->is_closed = true;
	}
	take_done(w, c);
}

static void close_session(struct client *c)
{
	const struct message m = { .kind = CLOSE };

	if (!c->s.first && c->link && put(&c->link->up, &m))
		c->is_closing = true;
}

static void act(struct world *w, struct client *c)
{
	if (!c->link || !c->link->server_has || chance(w, 2)) {
		if (c->link && chance(w, 50)) /* it reads what is there first */
			hear(w, c);
		lose(c);
		connect(w, c);
	} else if (c->is_closing) {
		hear(w, c);
	} else if (chance(w, 25) && c->s.last_number < PUSHES) {
		struct dgi_kept_push *p = &c->pushes[c->s.last_number];

		c->interval[c->s.last_number] = chance(w, 50);
		dgi_client_session_add(&c->s, p, 1000);
	} else if (chance(w, 40)) {
		send_some(w, c);
	} else if (chance(w, 15)) {
		pull(w, c);
	} else {
		hear(w, c);
	}
	if (!c->is_closing && (c->s.last_number == PUSHES || chance(w, 1)))
		close_session(c);
}

static void kill_client(struct world *w, struct client *c)
{
	if (c->life + 1 == LIVES)
		return;
	lose(c);
	c->life++;
	begin_life(w, c);
}

/* --- Whole lives --- */

static void step(struct world *w)
{
	struct client *c = &w->clients[dgi_rng_below(&w->rng, CLIENTS)];

	switch (dgi_rng_below(&w->rng, 8)) {
	case 0:
	case 1:
		receive(w, &w->links[dgi_rng_below(&w->rng, LINKS)]);
		break;
	case 2:
	case 3:
		if (w->n_jobs)
			write_one(w);
		break;
	case 4:
		if (chance(w, 30))
			sync_some(w);
		break;
	default:
		act(w, c);
	}
	for (size_t i = 0; i < LINKS && chance(w, 50); i++)
		receive(w, &w->links[i]);
	if (dgi_rng_below(&w->rng, 300) == 0)
		crash_server(w);
	if (dgi_rng_below(&w->rng, 1500) == 0 || (c->is_closed && chance(w, 10)))
		kill_client(w, c);
}

/* No more faults: everything that is under way comes to its end. */
static void settle(struct world *w)
{
	w->is_calm = true;
	for (size_t i = 0; i < CLIENTS; i++)
		lose(&w->clients[i]); /* it may wait for what was lost */
	for (int round = 0; round < 4000; round++) {
		for (size_t i = 0; i < CLIENTS; i++) {
			struct client *c = &w->clients[i];

			if (!c->link || !c->link->server_has) {
				lose(c);
				connect(w, c);
			}
			if (c->link && !c->is_closing)
				send_some(w, c);
			if (c->link && round % 10 == 0) /* to hear what is on disk */
				pull(w, c);
			hear(w, c);
		}
		for (size_t i = 0; i < LINKS; i++)
			receive(w, &w->links[i]);
		if (w->n_jobs)
			write_one(w);
		sync_some(w);
	}
}

static void check_session(struct world *w, unsigned session)
{
	for (uint64_t i = 1; i <= PUSHES; i++) {
		if ((w->done[session] & bit(i)) && w->counts[session][i] != 1)
			violate(w, "a push that is done is lost");
		if ((w->refused[session] & bit(i)) && w->counts[session][i] != 0)
			violate(w, "a push that was refused counts");
		if ((w->unseen[session] & bit(i)) && (w->done[session] & bit(i)))
			violate(w, "a pull does not see a push before it");
	}
}

static const char *live(struct world *w, uint64_t seed, enum flaw flaw)
{
	memset(w, 0, sizeof *w);
	w->rng = dgi_rng_of(seed, 0);
	w->flaw = flaw;
	w->incarnation = 1;
	assert_int_equal(dgi_sessions_new(&w->table, NULL), DG_OK);
	for (size_t i = 0; i < CLIENTS; i++)
		begin_life(w, &w->clients[i]);
	for (int i = 0; i < STEPS && !w->wrong; i++)
		step(w);
	settle(w);
	for (unsigned i = 0; i < SESSIONS; i++)
		check_session(w, i);
	for (size_t i = 0; i < CLIENTS; i++)
		if (w->clients[i].s.first)
			violate(w, "a push never came to its end");
	dgi_sessions_free(w->table);
	return w->wrong;
}

static uint64_t seeds(uint64_t usual)
{
	const char *wanted = getenv("SEEDS");

	return wanted ? strtoull(wanted, NULL, 10) : usual;
}

static void every_push_counts_once_and_is_seen(void **state)
{
	struct world *w = calloc(1, sizeof *w);
	unsigned n_repeats = 0, n_crashes = 0, n_lost = 0, n_done = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= seeds(2000); seed++) {
		const char *wrong = live(w, seed, SOUND);

		if (wrong)
			fail_msg("seed %" PRIu64 ": %s", seed, wrong);
		n_repeats += w->n_repeats;
		n_crashes += w->n_crashes;
		n_lost += w->n_lost;
		for (unsigned i = 0; i < SESSIONS; i++)
			n_done += (unsigned)__builtin_popcountll(w->done[i]);
	}
	printf("%u pushes, %u repeats, %u crashes, %u of them with a loss\n", n_done, n_repeats,
	       n_crashes, n_lost);
	assert_true(n_done > 1000 && n_repeats > 1000 && n_lost > 1000);
	free(w);
}

static void a_broken_world_is_noticed(void **state)
{
	struct world *w = calloc(1, sizeof *w);

	(void)state;
	for (int flaw = SOUND + 1; flaw < FLAWS; flaw++) {
		uint64_t seed = 1;

		while (seed <= 2000 && !live(w, seed, (enum flaw)flaw))
			seed++;
		if (seed > 2000)
			fail_msg("flaw %d is not noticed", flaw);
		printf("flaw %d: seed %" PRIu64 ": %s\n", flaw, seed, w->wrong);
	}
	free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_push_counts_once_and_is_seen),
		cmocka_unit_test(a_broken_world_is_noticed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
