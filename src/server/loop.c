/* loop.c -- a network thread of a server. */
#include "loop.h"

#include "deadline.h"
#include "fail.h"
#include "log.h"

#include <assert.h>
#include <fcntl.h>
#include <inttypes.h>
#include <unistd.h>

#define POOL_BYTES_MAX (64U << 20) /* kept for the next bodies */
#define CHECK_EVERY_MS 500	   /* how often the sessions' time is looked at */
#define IDLE_WAIT_MS 60000	   /* without any session */
#define COMPLAIN_EVERY_MS 10000	   /* of clients that had to be refused */
#define SPARE_WAIT_MS 10	   /* for a descriptor, when even the spare one is gone */
#define DRAIN_MS 3000		   /* for answers to leave after a stop */

/* Of an idle connection; the rest is the kernel's. */
static_assert(sizeof(struct dgi_session) + sizeof(struct dgi_seat) <= 6 * 1024,
	      "thousands of idle connections take little memory");

/* A listener as the poller knows it. */
static enum dgi_source listener_source = DGI_SOURCE_LISTENER;

void dgi_loop_wake(const struct dgi_loop *loop)
{
	dgi_poller_wake(&loop->poller);
}

struct dgi_pool *dgi_loop_pool(struct dgi_loop *loop)
{
	return &loop->pool;
}

dg_status dgi_loop_watch(struct dgi_loop *loop, struct dgi_session *session, uint32_t events)
{
	session->events = events;
	return dgi_poller_change(&loop->poller, session->conn.fd, events, session, NULL);
}

void dgi_loop_deliver(void *owner, struct dgi_job *jobs)
{
	struct dgi_loop *loop = owner;
	struct dgi_job *last = jobs;

	while (last->next)
		last = last->next;
	(void)pthread_mutex_lock(&loop->lock);
	last->next = loop->written;
	loop->written = jobs;
	(void)pthread_mutex_unlock(&loop->lock);
	dgi_loop_wake(loop);
}

void dgi_loop_answer(struct dgi_loop *loop, struct dgi_held *held)
{
	(void)pthread_mutex_lock(&loop->lock);
	held->next = loop->answered;
	loop->answered = held;
	(void)pthread_mutex_unlock(&loop->lock);
	dgi_loop_wake(loop);
}

void dgi_loop_settled(void *owner)
{
	dgi_loop_wake(owner);
}

/* --- Sessions --- */

void dgi_loop_note(struct dgi_loop *loop, struct dgi_session *s)
{
	if (s->is_ready && !s->in_ready) {
		s->in_ready = true;
		s->next_ready = loop->ready;
		loop->ready = s;
	}
	if (s->is_starved && !s->in_starved) {
		s->in_starved = true;
		s->next_starved = loop->starved;
		loop->starved = s;
	}
	if (s->pulls.is_awaiting && !s->in_awaiting) {
		s->in_awaiting = true;
		s->next_awaiting = loop->awaiting;
		loop->awaiting = s;
	}
}

static void add_session(struct dgi_loop *loop, struct dgi_session *s)
{
	s->previous = NULL;
	s->next = loop->sessions;
	if (s->next)
		s->next->previous = s;
	loop->sessions = s;
	dgi_session_begin(s, loop, &loop->pool);
	s->events = EPOLLIN;
	if (dgi_poller_add(&loop->poller, s->conn.fd, EPOLLIN, s, NULL) != DG_OK)
		dgi_session_kill(s);
}

/* Frees the sessions that are dead and have nothing at the writer. */
static void bury_dead(struct dgi_loop *loop)
{
	struct dgi_session *next;

	for (struct dgi_session *s = loop->sessions; s; s = next) {
		next = s->next;
		if (!s->is_dead || s->n_pending || s->in_ready || s->in_starved || s->in_awaiting)
			continue;
		if (s->previous)
			s->previous->next = next;
		else
			loop->sessions = next;
		if (next)
			next->previous = s->previous;
		dgi_session_free(s);
	}
}

static void check_time(struct dgi_loop *loop)
{
	int64_t now_ms = dgi_now_ms();

	if (now_ms - loop->checked_ms < CHECK_EVERY_MS)
		return;
	loop->checked_ms = now_ms;
	for (struct dgi_session *s = loop->sessions; s; s = s->next)
		dgi_session_check_time(s, now_ms);
	dgi_group_service_tick(&loop->server->groups, now_ms);
	bury_dead(loop);
}

/* --- Accepting --- */

static void hand_over(struct dgi_loop *to, struct dgi_session *s)
{
	(void)pthread_mutex_lock(&to->lock);
	s->next = to->newcomers;
	to->newcomers = s;
	(void)pthread_mutex_unlock(&to->lock);
	dgi_loop_wake(to);
}

/* Without a descriptor for them, clients are told so and sent away at once. */
static void refuse_without_descriptor(struct dgi_loop *loop, const struct dgi_listener *listener)
{
	int fd = -1;

	if (loop->spare_fd >= 0)
		(void)close(loop->spare_fd);
	else
		dgi_sleep_ms(SPARE_WAIT_MS);
	if (dgi_accept(listener, &fd, NULL) == DG_OK && fd >= 0) {
		struct dgi_session *s = dgi_session_new(loop->server, fd);
		dg_error err;

		(void)dgi_fail(&err, DG_BUSY, "the server has no file descriptors left");
		if (s) {
			dgi_session_begin(s, loop, &loop->pool);
			dgi_session_refuse(s, &err);
			(void)dgi_conn_flush(&s->conn, NULL);
			dgi_session_free(s);
		}
	}
	loop->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (dgi_now_ms() < loop->complain_ms)
		return;
	loop->complain_ms = dgi_now_ms() + COMPLAIN_EVERY_MS;
	dgi_log(DG_LOG_WARNING, "clients are refused: no file descriptors left");
}

static void refuse_over_limit(struct dgi_loop *loop, struct dgi_session *s)
{
	dg_error err;

	(void)dgi_fail(&err, DG_BUSY, "the server has its fill of %" PRIu64 " connections",
		       loop->server->connections_max);
	add_session(loop, s);
	if (s->is_dead)
		return;
	dgi_session_refuse(s, &err);
	dgi_session_work(s, 0);
}

static void welcome(struct dgi_loop *loop, int fd)
{
	struct dg_server *server = loop->server;
	struct dgi_session *s = dgi_session_new(server, fd);
	uint64_t number;

	if (!s)
		return;
	number = atomic_fetch_add(&server->service.connections, 1);
	if (number >= server->connections_max) {
		atomic_fetch_sub(&server->service.connections, 1);
		refuse_over_limit(loop, s);
		return;
	}
	s->is_counted = true;
	if (server->n_loops == 1)
		add_session(loop, s);
	else
		hand_over(&server->loops[server->next_loop++ % server->n_loops], s);
}

static void accept_all(struct dgi_loop *loop)
{
	struct dg_server *server = loop->server;

	for (size_t i = 0; i < server->n_listeners; i++)
		for (;;) {
			dg_error err = { 0 };
			int fd = -1;
			dg_status st = dgi_accept(&server->listeners[i], &fd, &err);

			if (st == DG_FULL)
				refuse_without_descriptor(loop, &server->listeners[i]);
			else if (st)
				dgi_log(DG_LOG_WARNING, "%s", err.text);
			else if (fd >= 0)
				welcome(loop, fd);
			if (st != DG_DENIED && fd < 0)
				break;
		}
}

static dg_status watch_listeners(struct dgi_loop *loop, dg_error *err)
{
	dg_status st = DG_OK;

	for (size_t i = 0; !st && loop->accepts && i < loop->server->n_listeners; i++)
		st = dgi_poller_add(&loop->poller, loop->server->listeners[i].fd, EPOLLIN,
				    &listener_source, err);
	return st;
}

/* --- The thread --- */

static void empty_mailbox(struct dgi_loop *loop)
{
	struct dgi_session *newcomers;
	struct dgi_job *written;
	struct dgi_held *answered;

	(void)pthread_mutex_lock(&loop->lock);
	newcomers = loop->newcomers;
	written = loop->written;
	answered = loop->answered;
	loop->newcomers = NULL;
	loop->written = NULL;
	loop->answered = NULL;
	(void)pthread_mutex_unlock(&loop->lock);
	while (newcomers) {
		struct dgi_session *s = newcomers;

		newcomers = s->next;
		add_session(loop, s);
		dgi_session_work(s, 0);
	}
	while (written) {
		struct dgi_job *job = written;
		struct dgi_session *s = dgi_session_of(job);

		written = job->next;
		dgi_session_pushed(s, job);
		dgi_session_work(s, 0);
	}
	while (answered) {
		struct dgi_held *held = answered;
		struct dgi_session *s = held->session;

		answered = held->next;
		dgi_group_answer_held(held);
		dgi_session_work(s, 0);
	}
}

/* One turn for each that has something to do; it may come back into the list. */
static void serve_ready(struct dgi_loop *loop)
{
	struct dgi_session *s = loop->ready, *next;

	loop->ready = NULL;
	for (; s; s = next) {
		next = s->next_ready;
		s->in_ready = false;
		dgi_session_work(s, 0);
	}
}

/* Pulls that waited for pushes look again. */
static void serve_awaiting(struct dgi_loop *loop)
{
	struct dgi_session *s = loop->awaiting, *next;

	loop->awaiting = NULL;
	for (; s; s = next) {
		next = s->next_awaiting;
		s->in_awaiting = false;
		dgi_session_work(s, 0);
	}
}

/*
 * Sessions that wait for memory try again when some was given back. The loop says that it has some
 * before it tries, so that whoever gives memory back afterwards wakes it.
 */
static void retry_starved(struct dgi_loop *loop)
{
	const bool any = loop->starved != NULL;
	uint64_t given;
	struct dgi_session *s, *next;

	if (any != loop->is_starved) {
		loop->is_starved = any;
		if (any)
			atomic_fetch_add(&loop->server->n_starved, 1);
		else
			atomic_fetch_sub(&loop->server->n_starved, 1);
		loop->seen_given = atomic_load(&loop->server->n_given) - 1; /* try once anyway */
	}
	given = atomic_load(&loop->server->n_given);
	if (!any || (given == loop->seen_given && !loop->is_draining))
		return;
	loop->seen_given = given;
	s = loop->starved;
	loop->starved = NULL;
	for (; s; s = next) {
		next = s->next_starved;
		s->in_starved = false;
		dgi_session_work(s, 0);
	}
}

static void begin_draining(struct dgi_loop *loop)
{
	loop->is_draining = true;
	loop->drain_until_ms = dgi_now_ms() + DRAIN_MS;
	for (size_t i = 0; loop->accepts && i < loop->server->n_listeners; i++)
		dgi_poller_remove(&loop->poller, loop->server->listeners[i].fd);
	for (struct dgi_session *s = loop->sessions; s; s = s->next)
		dgi_session_drain(s);
	bury_dead(loop);
}

static bool is_done(const struct dgi_loop *loop)
{
	return loop->is_draining && (!loop->sessions || dgi_now_ms() >= loop->drain_until_ms);
}

static void serve_events(struct dgi_loop *loop, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct epoll_event *event = &loop->poller.events[i];
		enum dgi_source *source = event->data.ptr;

		if (*source == DGI_SOURCE_SESSION)
			dgi_session_work(event->data.ptr, event->events);
		else if (!loop->is_draining)
			accept_all(loop);
	}
}

static int wait_ms(const struct dgi_loop *loop)
{
	if (loop->ready)
		return 0;
	return loop->sessions ? CHECK_EVERY_MS : IDLE_WAIT_MS;
}

static void *run(void *argument)
{
	struct dgi_loop *loop = argument;
	dg_error err = { 0 };
	dg_status st = DG_OK;

	while (!st && !is_done(loop)) {
		size_t n = 0;

		st = dgi_poller_wait(&loop->poller, wait_ms(loop), &n, &err);
		serve_events(loop, n);
		empty_mailbox(loop);
		serve_awaiting(loop);
		serve_ready(loop);
		if (atomic_load(&loop->server->draining) && !loop->is_draining)
			begin_draining(loop);
		retry_starved(loop);
		check_time(loop);
		if (loop->is_draining)
			bury_dead(loop);
	}
	if (st)
		dgi_server_fail(loop->server, &err);
	for (struct dgi_session *s = loop->sessions; s; s = s->next)
		dgi_session_kill(s); /* whoever still waits for an answer shall not wait longer */
	return NULL;
}

dg_status dgi_loop_open(struct dgi_loop *loop, struct dg_server *server, bool accepts,
			dg_error *err)
{
	dg_status st;

	*loop = (struct dgi_loop){ .server = server, .accepts = accepts, .spare_fd = -1 };
	loop->pool = dgi_pool_of(POOL_BYTES_MAX);
	(void)pthread_mutex_init(&loop->lock, NULL);
	st = dgi_poller_open(&loop->poller, err);
	if (st || !accepts)
		return st;
	loop->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	return watch_listeners(loop, err);
}

dg_status dgi_loop_start(struct dgi_loop *loop, dg_error *err)
{
	if (pthread_create(&loop->thread, NULL, run, loop) != 0)
		return dgi_fail(err, DG_NOMEM, "server: cannot start a network thread");
	loop->is_running = true;
	return DG_OK;
}

void dgi_loop_join(struct dgi_loop *loop)
{
	if (loop->is_running)
		(void)pthread_join(loop->thread, NULL);
	loop->is_running = false;
}

void dgi_loop_close(struct dgi_loop *loop)
{
	if (!loop->server)
		return;
	empty_mailbox(loop);
	for (struct dgi_session *s = loop->sessions; s; s = s->next) {
		dgi_session_kill(s);
		s->in_ready = s->in_starved = s->in_awaiting = false;
	}
	bury_dead(loop);
	dgi_pool_clear(&loop->pool);
	dgi_poller_close(&loop->poller);
	if (loop->spare_fd >= 0)
		(void)close(loop->spare_fd);
	(void)pthread_mutex_destroy(&loop->lock);
	loop->server = NULL;
}
