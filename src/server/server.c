/* server.c -- serve one store: opening, running, stopping, closing. */
#include "server.h"

#include "check.h"
#include "deadline.h"
#include "fail.h"
#include "log.h"
#include "loop.h"
#include "server_record.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#define THREADS_DEFAULT_MAX 4
#define THREADS_MAX 64
#define CONNECTIONS_MAX_DEFAULT 10000
#define BYTES_IN_FLIGHT_DEFAULT (UINT64_C(1) << 30)
#define OWN_DESCRIPTORS 128 /* files, pollers, listeners, and clients being refused */
#define STOP_WAIT_MS 60000  /* between looks at whether the server failed */

void dgi_server_give(struct dg_server *server, struct dgi_budget *budget, uint64_t n)
{
	if (n == 0)
		return;
	dgi_budget_give(budget, n);
	if (atomic_load(&server->n_starved) == 0)
		return;
	atomic_fetch_add(&server->n_given, 1);
	for (size_t i = 0; i < server->n_loops; i++)
		dgi_loop_wake(&server->loops[i]);
}

void dgi_server_fail(struct dg_server *server, const dg_error *error)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

	(void)pthread_mutex_lock(&lock);
	if (!atomic_load(&server->failed))
		server->failure = *error;
	atomic_store(&server->failed, true);
	(void)pthread_mutex_unlock(&lock);
	dg_server_stop(server);
}

static void store_broke(void *context, const dg_error *error)
{
	dgi_server_fail(context, error);
}

/* --- Opening --- */

/* The store's UUID, for an address that is made of it. */
static dg_status peek_uuid(const char *path, dg_uuid *out, dg_error *err)
{
	dg_store_options options = { 0 };
	dg_store_info info;
	dg_store *store;
	dg_status st = dg_store_open(path, &options, &store, err);

	if (st)
		return st;
	dg_store_get_info(store, &info);
	dg_store_close(store);
	*out = info.store_uuid;
	return DG_OK;
}

static dg_status default_address(const char *path, struct dgi_address *out, dg_error *err)
{
	dg_uuid uuid;
	dg_status st = dgi_address_local(path, NULL, out, NULL);

	if (st != DG_INVALID) /* short enough, or not there at all */
		return st ? dgi_address_local(path, NULL, out, err) : DG_OK;
	st = peek_uuid(path, &uuid, err);
	return st ? st : dgi_address_local(path, &uuid, out, err);
}

static dg_status listen_on(dg_server *server, const struct dgi_address *address, bool insecure,
			   dg_error *err)
{
	size_t i = server->n_listeners;
	dg_status st = dgi_listen(address, insecure, &server->listeners[i], err);

	if (st)
		return st;
	dgi_address_format(&server->listeners[i].address, server->address_texts[i]);
	server->addresses[i] = server->address_texts[i];
	server->n_listeners++;
	return DG_OK;
}

static dg_status listen_all(dg_server *server, const dg_server_options *options, dg_error *err)
{
	struct dgi_address address;
	dg_status st = DG_OK;

	if (options->n_listen > DGI_LISTENERS_MAX)
		return dgi_fail(err, DG_INVALID, "%zu addresses to listen on, at most %d",
				options->n_listen, DGI_LISTENERS_MAX);
	if (options->n_listen == 0) {
		st = default_address(server->path, &address, err);
		return st ? st : listen_on(server, &address, false, err);
	}
	for (size_t i = 0; !st && i < options->n_listen; i++) {
		st = dgi_address_parse(options->listen[i], 0, &address, err);
		if (!st)
			st = listen_on(server, &address, options->insecure, err);
	}
	return st;
}

static dg_status open_store(dg_server *server, dg_error *err)
{
	dg_store_options options = { .writable = 1 };
	dg_status st = dgi_store_open(server->path, &options, false, &server->store, err);

	if (!st)
		dgi_service_init(&server->service, server->store);
	return st;
}

static dg_status write_record(dg_server *server, dg_error *err)
{
	struct dgi_server_record *record = calloc(1, sizeof *record);
	dg_status st;

	if (!record)
		return dgi_fail_memory(err, DGI_SERVER_FILE);
	record->pid = getpid();
	record->incarnation = server->service.info.incarnation;
	record->store_uuid = server->service.info.store_uuid;
	record->n_addresses = server->n_listeners;
	for (size_t i = 0; i < server->n_listeners; i++)
		memcpy(record->addresses[i], server->address_texts[i], DGI_ADDRESS_BYTES);
	st = dgi_server_record_write(server->path, record, err);
	server->has_record = st == DG_OK;
	free(record);
	return st;
}

/* As many descriptors as the connections need, or as many as the system lets us have. */
static void raise_descriptors(uint64_t connections_max)
{
	struct rlimit limit;
	rlim_t wanted = (rlim_t)connections_max + OWN_DESCRIPTORS;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted)
		return;
	limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
	if (limit.rlim_cur < wanted)
		dgi_log(DG_LOG_INFO, "%llu file descriptors for up to %llu connections",
			(unsigned long long)limit.rlim_cur, (unsigned long long)connections_max);
}

static size_t default_threads(void)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);

	if (cores < 1)
		return 1;
	return cores < THREADS_DEFAULT_MAX ? (size_t)cores : THREADS_DEFAULT_MAX;
}

static dg_status open_loops(dg_server *server, uint32_t threads, dg_error *err)
{
	size_t n = threads ? threads : default_threads();
	dg_status st = DG_OK;

	if (n > THREADS_MAX)
		return dgi_fail(err, DG_INVALID, "%zu network threads, at most %d", n, THREADS_MAX);
	server->loops = calloc(n, sizeof *server->loops);
	if (!server->loops)
		return dgi_fail_memory(err, "network threads");
	for (size_t i = 0; !st && i < n; i++) {
		server->n_loops++;
		st = dgi_loop_open(&server->loops[i], server, i == 0, err);
	}
	return st;
}

static void set_limits(dg_server *server, const dg_server_options *options)
{
	uint64_t bytes = options->bytes_in_flight_max ? options->bytes_in_flight_max
						      : BYTES_IN_FLIGHT_DEFAULT;

	/* Halves: requests that wait for each other's answers would wait for ever. */
	server->requests.max = bytes / 2;
	server->replies.max = bytes / 2;
	server->connections_max =
		options->connections_max ? options->connections_max : CONNECTIONS_MAX_DEFAULT;
	raise_descriptors(server->connections_max);
}

static dg_status open_server(dg_server *server, const dg_server_options *options, dg_error *err)
{
	dg_status st;

	server->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (server->stop_fd < 0)
		return dgi_fail_errno(err, errno, "eventfd");
	set_limits(server, options);
	st = listen_all(server, options, err);
	if (!st)
		st = open_store(server, err);
	if (!st)
		st = dgi_group_service_open(&server->groups, server->service.info.part, err);
	if (!st)
		st = open_loops(server, options->threads, err);
	if (!st)
		st = write_record(server, err);
	return st;
}

dg_status dg_server_open(const char *path, const dg_server_options *options, dg_server **out,
			 dg_error *err)
{
	static const dg_server_options defaults = { 0 };
	dg_server *server = calloc(1, sizeof *server);
	dg_status st;

	if (!server)
		return dgi_fail_memory(err, "server");
	server->stop_fd = -1;
	dgi_seats_init(&server->seats);
	server->path = strdup(path);
	if (server->path)
		st = open_server(server, options ? options : &defaults, err);
	else
		st = dgi_fail_memory(err, "server");
	if (st) {
		dg_server_close(server);
		return dgi_context(err, st, "serve '%s'", path);
	}
	*out = server;
	return DG_OK;
}

void dg_server_close(dg_server *server)
{
	if (!server)
		return;
	for (size_t i = 0; i < server->n_loops; i++)
		dgi_loop_close(&server->loops[i]);
	free(server->loops);
	dgi_group_service_close(&server->groups);
	if (server->has_record)
		dgi_server_record_remove(server->path);
	for (size_t i = 0; i < server->n_listeners; i++)
		dgi_listener_close(&server->listeners[i]);
	dg_store_close(server->store);
	if (server->stop_fd >= 0)
		(void)close(server->stop_fd);
	dgi_seats_clear(&server->seats);
	free(server->path);
	free(server);
}

const char *const *dg_server_addresses(const dg_server *server, size_t *n)
{
	*n = server->n_listeners;
	return server->addresses;
}

/* --- Running --- */

/* Starts the threads with all signals blocked: handlers run on the program's own threads. */
static dg_status start_threads(dg_server *server, dg_error *err)
{
	sigset_t all, before;
	dg_status st;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	st = dgi_writer_start(&server->writer, &server->service, store_broke, server, err);
	for (size_t i = 0; !st && i < server->n_loops; i++)
		st = dgi_loop_start(&server->loops[i], err);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	return st;
}

/* The order matters: loops hand pushes to the writer, and what it gives back goes to the loops. */
static void stop_threads(dg_server *server)
{
	atomic_store(&server->draining, true);
	for (size_t i = 0; i < server->n_loops; i++)
		dgi_loop_wake(&server->loops[i]);
	for (size_t i = 0; i < server->n_loops; i++)
		dgi_loop_join(&server->loops[i]);
	dgi_writer_stop(&server->writer);
}

static void wait_for_stop(const dg_server *server)
{
	struct pollfd stop = { .fd = server->stop_fd, .events = POLLIN };

	while (poll(&stop, 1, STOP_WAIT_MS) <= 0)
		;
}

dg_status dg_server_run(dg_server *server, dg_error *err)
{
	dg_status st = start_threads(server, err);

	if (!st)
		wait_for_stop(server);
	stop_threads(server);
	if (!st && atomic_load(&server->failed)) {
		st = server->failure.status;
		if (err)
			*err = server->failure;
	}
	return st ? dgi_context(err, st, "serve '%s'", server->path) : DG_OK;
}

void dg_server_stop(dg_server *server)
{
	int saved = errno;
	uint64_t one = 1;

	while (write(server->stop_fd, &one, sizeof one) < 0 && errno == EINTR)
		;
	errno = saved;
}
