/*
 * Each push counts once: clients add to rows through a bad network, servers are killed every few
 * seconds, and whatever is read agrees with what was sent and acknowledged (history.h).
 *
 *   SECONDS=, MINUTES=   how long, 10 s by default
 *   SEED=                of all that is drawn
 */
#include "test.h"

#include "courier.h"
#include "deadline.h"
#include "network.h"
#include "tmpdir.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	CLIENTS = 8,
	PARTS = 2,
	N_NODES = 600,
	PUSH_ROWS = 40, /* at most */
	PULL_ROWS = 60,
	AHEAD = 12, /* pushes not on disk, at most */
	DOWN_MS = 300,
	UP_MS = 2500,
	PATIENCE_MS = 60000, /* for a client to come through */
};

struct part {
	char address[300]; /* where its server listens */
	struct process server;
	struct network network;
	dg_id first, end; /* its rows */
};

struct scene {
	char *dir, *cluster;
	struct part parts[PARTS];
	dg_tensor_info feat;
	struct history *history;
	pid_t clients[CLIENTS];
	bool couriers_only;
	uint64_t seed;
	int64_t ends_ms;
};

static uint64_t number_of(const char *name, uint64_t fallback)
{
	const char *text = getenv(name);

	return text && *text ? strtoull(text, NULL, 10) : fallback;
}

/* --- Clients: processes of their own --- */

/* A push that was begun by the library's client. */
struct begun {
	dg_request *request;
	dg_id rows[PUSH_ROWS];
	size_t n;
};

/* One of two kinds: with the library's client of the whole graph, or a courier to each part. */
struct trainer {
	struct scene *scene;
	size_t number;
	struct dgi_rng rng;
	dg_client *client; /* NULL: couriers */
	struct begun begun[AHEAD];
	uint64_t n_begun, n_ended;
	struct courier couriers[PARTS];
};

static _Noreturn void give_up(const struct trainer *t, const char *what, const char *why)
{
	(void)fprintf(stderr, "client %zu: %s: %s\n", t->number, what, why);
	_exit(1);
}

/* Rows of @part; of all where it is PARTS. */
static size_t draw_rows(struct trainer *t, uint32_t part, size_t most, dg_id *rows)
{
	dg_id first = part < PARTS ? t->scene->parts[part].first : 0;
	dg_id end = part < PARTS ? t->scene->parts[part].end : N_NODES;
	size_t n = 1 + dgi_rng_below(&t->rng, most);

	for (size_t i = 0; i < n; i++)
		rows[i] = first + (dg_id)dgi_rng_below(&t->rng, (uint64_t)(end - first));
	return n;
}

static void pull(struct trainer *t, uint32_t part, const dg_id *rows, size_t n, float *found)
{
	dg_error err = { 0 };

	if (t->client) {
		if (dg_client_pull(t->client, &t->scene->feat, rows, n, found, &err))
			give_up(t, "pull", err.text);
	} else if (!courier_pull(&t->couriers[part], rows, n, found,
				 dgi_deadline_in(PATIENCE_MS))) {
		give_up(t, "pull", t->couriers[part].failure.text);
	}
}

static void read_and_check(struct trainer *t, uint32_t part)
{
	struct history *h = t->scene->history;
	dg_id rows[PULL_ROWS];
	uint32_t least[PULL_ROWS * CLIENTS];
	float found[PULL_ROWS * CLIENTS];
	size_t n = draw_rows(t, part, PULL_ROWS, rows);
	char text[200];

	history_begin_read(h, t->number, rows, n, least);
	pull(t, part, rows, n, found);
	if (!history_check_read(h, rows, n, least, found, text, sizeof text))
		give_up(t, t->client ? "library" : "courier", text);
	(void)atomic_fetch_add(&h->n_pulls, 1);
}

/* Waits for the oldest push under way. */
static void end_push(struct trainer *t)
{
	struct begun *begun = &t->begun[t->n_ended++ % AHEAD];
	dg_error err = { 0 };

	if (dg_request_wait(begun->request, &err))
		give_up(t, "push", err.text);
	history_acknowledge(t->scene->history, t->number, begun->rows, begun->n);
}

static void begin_push(struct trainer *t)
{
	struct begun *begun = &t->begun[t->n_begun % AHEAD];
	float data[PUSH_ROWS][CLIENTS] = { { 0 } };
	dg_error err = { 0 };

	if (t->n_begun - t->n_ended == AHEAD)
		end_push(t);
	begun->n = draw_rows(t, PARTS, PUSH_ROWS, begun->rows);
	for (size_t i = 0; i < begun->n; i++)
		data[i][t->number] = 1;
	history_send(t->scene->history, t->number, begun->rows, begun->n);
	if (dg_client_begin_push(t->client, &t->scene->feat, DG_OP_ADD, begun->rows, begun->n, data,
				 &begun->request, &err))
		give_up(t, "push", err.text);
	t->n_begun++;
}

static void push_by_courier(struct trainer *t, uint32_t part)
{
	struct courier *c = &t->couriers[part];
	dg_id rows[PUSH_ROWS];

	courier_push(c, rows, draw_rows(t, part, PUSH_ROWS, rows));
	if (!courier_settle(c, AHEAD, dgi_deadline_in(PATIENCE_MS)))
		give_up(t, "push", c->failure.text);
}

static void train(struct trainer *t)
{
	uint32_t part = t->client ? PARTS : (uint32_t)dgi_rng_below(&t->rng, PARTS);

	if (dgi_rng_below(&t->rng, 3) == 0)
		read_and_check(t, part);
	else if (t->client)
		begin_push(t);
	else
		push_by_courier(t, part);
}

static void open_trainer(struct trainer *t)
{
	struct scene *s = t->scene;
	const char *addresses[PARTS];
	const dg_client_options options = { .addresses = addresses,
					    .n_addresses = PARTS,
					    .timeout_ms = PATIENCE_MS };
	dg_error err = { 0 };

	for (uint32_t part = 0; part < PARTS; part++)
		addresses[part] = s->parts[part].network.address;
	if (t->number % 2 == 0 && !s->couriers_only &&
	    dg_client_open(s->cluster, &options, &t->client, &err))
		give_up(t, "open", err.text);
	for (uint32_t part = 0; part < PARTS && !t->client; part++)
		courier_init(&t->couriers[part], addresses[part], s->history, t->number, s->feat.id,
			     s->seed);
}

/* All it pushed is acknowledged; it leaves. */
static void close_trainer(struct trainer *t)
{
	uint64_t n_connections = 0, n_repeats = 0;

	while (t->client && t->n_ended < t->n_begun)
		end_push(t);
	dg_client_close(t->client);
	for (uint32_t part = 0; part < PARTS && !t->client; part++) {
		struct courier *c = &t->couriers[part];

		if (!courier_close_session(c, dgi_deadline_in(PATIENCE_MS)))
			give_up(t, "closing", c->failure.text);
		n_connections += c->n_connections;
		n_repeats += c->n_repeats;
		courier_clear(c);
	}
	if (!t->client)
		(void)printf("courier %zu: %" PRIu64 " connections, %" PRIu64
			     " pushes were repeats\n",
			     t->number, n_connections, n_repeats);
}

static _Noreturn void be_a_trainer(struct scene *s, size_t number)
{
	struct trainer t = { .scene = s,
			     .number = number,
			     .rng = dgi_rng_of(s->seed, 100 + number) };

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	open_trainer(&t);
	while (dgi_now_ms() < s->ends_ms)
		train(&t);
	close_trainer(&t);
	(void)fflush(stdout);
	_exit(0);
}

/* --- The scene --- */

static void part_start(struct scene *s, uint32_t part, const char *const *faults)
{
	struct part *p = &s->parts[part];
	char front[300];

	/* One part over TCP, the next over Unix sockets. */
	if (part % 2 == 0) {
		network_free_address(p->address, sizeof p->address);
		(void)snprintf(front, sizeof front, "127.0.0.1:0");
	} else {
		(void)snprintf(p->address, sizeof p->address, "unix:%s/back%d", s->dir, (int)part);
		(void)snprintf(front, sizeof front, "unix:%s/front%d", s->dir, (int)part);
	}
	server_start_at(&p->server, s->cluster, part, p->address);
	network_start(&p->network, front, p->address, faults);
}

static dg_client *open_client(const struct scene *s)
{
	const char *addresses[PARTS];
	const dg_client_options options = { .addresses = addresses, .n_addresses = PARTS };
	dg_client *client;
	dg_error err = { 0 };

	for (uint32_t part = 0; part < PARTS; part++)
		addresses[part] = s->parts[part].address;
	assert_ok(dg_client_open(s->cluster, &options, &client, &err), &err);
	return client;
}

static void scene_make(struct scene *s, const char *const *faults)
{
	dg_client *client;
	dg_error err = { 0 };

	*s = (struct scene){ .seed = number_of("SEED", (uint64_t)getpid()),
			     .dir = tmpdir_new(),
			     .history = history_new(CLIENTS, N_NODES) };
	printf("SEED=%" PRIu64 "\n", s->seed);
	assert_non_null(s->history);
	s->cluster = cluster_make(s->dir, "ring", N_NODES, PARTS, CLIENTS);
	for (uint32_t part = 0; part < PARTS; part++)
		part_start(s, part, faults);
	client = open_client(s);
	assert_ok(dg_client_find(client, "feat", &s->feat, &err), &err);
	for (uint32_t part = 0; part < PARTS; part++)
		dg_book_tensor_range(dg_client_book(client), &s->feat, part, &s->parts[part].first,
				     &s->parts[part].end);
	dg_client_close(client);
}

static void scene_remove(struct scene *s)
{
	for (uint32_t part = 0; part < PARTS; part++) {
		struct part *p = &s->parts[part];
		char counts[300];

		network_stop(&p->network, counts, sizeof counts);
		printf("network of part %d: %s\n", (int)part, counts);
		process_signal(&p->server, SIGTERM);
		assert_int_equal(process_wait(&p->server), 0);
	}
	history_free(s->history);
	tmpdir_remove(s->dir);
	free(s->cluster);
}

/* Kills servers and starts them again until it is time; returns the number of kills. */
static unsigned kill_servers(struct scene *s)
{
	struct dgi_rng rng = dgi_rng_of(s->seed, 1);
	unsigned n = 0;

	while (dgi_now_ms() < s->ends_ms) {
		uint32_t part = (uint32_t)dgi_rng_below(&rng, PARTS);
		struct part *p = &s->parts[part];

		dgi_sleep_ms((int64_t)dgi_rng_below(&rng, UP_MS));
		process_signal(&p->server, SIGKILL);
		assert_true(WIFSIGNALED(process_wait(&p->server)));
		dgi_sleep_ms((int64_t)dgi_rng_below(&rng, DOWN_MS));
		server_start_at(&p->server, s->cluster, part, p->address);
		n++;
	}
	return n;
}

static void start_clients(struct scene *s)
{
	(void)fflush(stdout);
	for (size_t i = 0; i < CLIENTS; i++) {
		s->clients[i] = fork();
		assert_true(s->clients[i] >= 0);
		if (s->clients[i] == 0)
			be_a_trainer(s, i);
	}
}

static void wait_for_clients(const struct scene *s)
{
	int n_failed = 0;

	for (size_t i = 0; i < CLIENTS; i++) {
		int status;

		assert_int_equal(waitpid(s->clients[i], &status, 0), s->clients[i]);
		n_failed += status != 0;
	}
	assert_int_equal(n_failed, 0);
}

/* Every row of every part, at the end. */
static void check_end(const struct scene *s)
{
	static dg_id rows[N_NODES];
	static float found[N_NODES * CLIENTS];
	dg_client *client = open_client(s);
	char text[200];
	dg_error err = { 0 };

	for (dg_id i = 0; i < N_NODES; i++)
		rows[i] = i;
	assert_ok(dg_client_pull(client, &s->feat, rows, N_NODES, found, &err), &err);
	dg_client_close(client);
	if (!history_check_end(s->history, found, text, sizeof text))
		fail_msg("%s", text);
}

static void run_for(struct scene *s, uint64_t seconds)
{
	unsigned n_kills;

	s->ends_ms = dgi_now_ms() + (int64_t)seconds * 1000;
	start_clients(s);
	n_kills = kill_servers(s);
	for (uint32_t part = 0; part < PARTS; part++)
		(void)network_command(&s->parts[part].network, "faults none");
	wait_for_clients(s);
	check_end(s);
	printf("%d clients, %" PRIu64 " s: %u kills, %" PRIu64 " pushes, %" PRIu64
	       " pulls checked\n",
	       CLIENTS, seconds, n_kills, atomic_load(&s->history->n_pushes),
	       atomic_load(&s->history->n_pulls));
	assert_true(atomic_load(&s->history->n_pushes) > 50);
	assert_true(atomic_load(&s->history->n_pulls) > 50);
	assert_true(n_kills > 0);
}

static uint64_t seconds_wanted(void)
{
	return number_of("MINUTES", 0) * 60 +
	       number_of("SECONDS", number_of("MINUTES", 0) ? 0 : 10);
}

static void each_push_counts_once_through_kills_and_a_bad_network(void **state)
{
	struct scene s;

	(void)state;
	scene_make(&s, (const char *const[]){
			       "--faults",
			       "delay,cut,half-close,one-way,drop,duplicate,reorder,repeat-frame",
			       "--every-bytes", "60000", "--every-frames", "300", "--delay-ms",
			       "30", "--stall-ms", "400", NULL });
	run_for(&s, seconds_wanted());
	scene_remove(&s);
}

/*
 * No stream loses a frame and goes on: the library's client takes it for a server that does not answer,
 * and says TIMEOUT. Couriers connect again after a silence.
 */
static void each_push_counts_once_where_frames_are_lost_repeated_and_swapped(void **state)
{
	struct scene s;

	(void)state;
	scene_make(&s, (const char *const[]){ "--faults", "cut,lose-frame,repeat-frame,swap-frames",
					      "--every-bytes", "200000", "--every-frames", "60",
					      NULL });
	s.couriers_only = true;
	run_for(&s, seconds_wanted());
	scene_remove(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_push_counts_once_through_kills_and_a_bad_network),
		cmocka_unit_test(each_push_counts_once_where_frames_are_lost_repeated_and_swapped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
