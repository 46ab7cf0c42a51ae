/* address.c -- where a server listens: reading, writing, looking up. */
#include "address.h"

#include "bytes.h"
#include "fail.h"
#include "uuid.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#define UNIX_PREFIX "unix:"

static_assert(sizeof((struct sockaddr_un){ 0 }.sun_path) == DGI_UNIX_PATH_BYTES,
	      "a Unix path fits a socket address");

static dg_status parse_unix(const char *path, struct dgi_address *out, dg_error *err)
{
	size_t n = strnlen(path, DGI_UNIX_PATH_BYTES);

	if (n == 0)
		return dgi_fail(err, DG_INVALID, "address 'unix:': no path");
	if (n == DGI_UNIX_PATH_BYTES)
		return dgi_fail(err, DG_INVALID,
				"address 'unix:%.60s…': path of %zu bytes, a Unix socket takes %d",
				path, strlen(path), DGI_UNIX_PATH_BYTES - 1);
	*out = (struct dgi_address){ .is_unix = true };
	memcpy(out->path, path, n + 1);
	return DG_OK;
}

static dg_status parse_port(const char *text, const char *digits, uint16_t *out, dg_error *err)
{
	unsigned long port = 0;
	size_t n = 0;

	for (; digits[n] >= '0' && digits[n] <= '9' && n < 6; n++)
		port = port * 10 + (unsigned long)(digits[n] - '0');
	if (n == 0 || digits[n] != '\0' || port > UINT16_MAX)
		return dgi_fail(err, DG_INVALID, "address '%.80s': port '%.20s', want 0 to 65535",
				text, digits);
	*out = (uint16_t)port;
	return DG_OK;
}

/* Where the host ends and the port begins; *port is NULL where the text has none. */
static dg_status split_host(const char *text, const char **host, size_t *host_bytes,
			    const char **port, dg_error *err)
{
	const char *end;

	*host = text;
	*host_bytes = 0;
	*port = NULL;
	if (*text == '[') {
		end = strchr(text, ']');
		if (!end || (end[1] != '\0' && end[1] != ':' && end[1] != ' '))
			return dgi_fail(err, DG_INVALID, "address '%.80s': want [v6]:port", text);
		*host = text + 1;
		*host_bytes = (size_t)(end - *host);
		if (end[1])
			*port = end + 2;
		return DG_OK;
	}
	end = strpbrk(text, ": \t");
	*host_bytes = end ? (size_t)(end - text) : strlen(text);
	if (!end)
		return DG_OK;
	if (*end == ':' && strchr(end + 1, ':'))
		return dgi_fail(err, DG_INVALID,
				"address '%.80s': more than one ':'; an IPv6 address stands in []",
				text);
	*port = *end == ':' ? end + 1 : end + strspn(end, " \t");
	return DG_OK;
}

dg_status dgi_address_parse(const char *text, uint16_t default_port, struct dgi_address *out,
			    dg_error *err)
{
	struct dgi_address address = { .port = default_port };
	const char *host, *port;
	size_t n;
	dg_status st;

	if (strncmp(text, UNIX_PREFIX, strlen(UNIX_PREFIX)) == 0)
		return parse_unix(text + strlen(UNIX_PREFIX), out, err);
	st = split_host(text, &host, &n, &port, err);
	if (st)
		return st;
	if (n == 0 || n >= DGI_HOST_BYTES)
		return dgi_fail(err, DG_INVALID, "address '%.80s': host of %zu bytes, want 1 to %d",
				text, n, DGI_HOST_BYTES - 1);
	if (!port && default_port == 0)
		return dgi_fail(err, DG_INVALID,
				"address '%.80s': no port, want host:port or unix:/path", text);
	if (port) {
		st = parse_port(text, port, &address.port, err);
		if (st)
			return st;
	}
	memcpy(address.host, host, n);
	*out = address;
	return DG_OK;
}

void dgi_address_format(const struct dgi_address *address, char out[DGI_ADDRESS_BYTES])
{
	if (address->is_unix)
		(void)snprintf(out, DGI_ADDRESS_BYTES, UNIX_PREFIX "%s", address->path);
	else if (strchr(address->host, ':'))
		(void)snprintf(out, DGI_ADDRESS_BYTES, "[%s]:%u", address->host, address->port);
	else
		(void)snprintf(out, DGI_ADDRESS_BYTES, "%s:%u", address->host, address->port);
}

static dg_status runtime_address(const char *store_path, const dg_uuid *store_uuid,
				 struct dgi_address *out, dg_error *err)
{
	const char *directory = getenv("XDG_RUNTIME_DIR");
	char uuid[DG_UUID_TEXT_BYTES];
	int n;

	if (!directory || *directory != '/')
		return dgi_fail(err, DG_INVALID,
				"store '%.80s…': path too long for a Unix socket and "
				"XDG_RUNTIME_DIR is not set; set it, or name an address",
				store_path);
	if (!store_uuid)
		return dgi_fail(err, DG_INVALID,
				"store '%.80s…': path too long for a Unix socket, and its server "
				"is not known to run",
				store_path);
	dgi_uuid_text(store_uuid, uuid);
	*out = (struct dgi_address){ .is_unix = true };
	n = snprintf(out->path, sizeof out->path, "%s/distgraph-%s.sock", directory, uuid);
	if (n < 0 || (size_t)n >= sizeof out->path)
		return dgi_fail(err, DG_INVALID,
				"XDG_RUNTIME_DIR '%.60s…': too long for a Unix socket", directory);
	return DG_OK;
}

dg_status dgi_address_local(const char *store_path, const dg_uuid *store_uuid,
			    struct dgi_address *out, dg_error *err)
{
	char *path = realpath(store_path, NULL);
	char text[DGI_LOCAL_PATH_BYTES + 1];
	struct dgi_address address = { .is_unix = true };
	dg_status st = DG_OK;
	int n;

	if (!path)
		return dgi_fail_errno(err, errno, "store '%s'", store_path);
	n = snprintf(text, sizeof text, "%s/serve.sock", path);
	if (n > 0 && (size_t)n < sizeof text)
		memcpy(address.path, text, (size_t)n + 1);
	else
		st = runtime_address(path, store_uuid, &address, err);
	free(path);
	if (!st)
		*out = address;
	return st;
}

static void add_endpoint(struct dgi_endpoints *out, const void *address, socklen_t bytes)
{
	struct dgi_endpoint *e;

	if (out->n == DGI_ENDPOINTS_MAX || bytes > sizeof out->at[0].address)
		return;
	e = &out->at[out->n++];
	memset(e, 0, sizeof *e);
	memcpy(&e->address, address, bytes);
	e->bytes = bytes;
}

static dg_status fail_lookup(dg_error *err, const char *host, int code)
{
	dg_status status = DG_IO;

	if (code == EAI_NONAME || code == EAI_FAIL || code == EAI_NODATA || code == EAI_ADDRFAMILY)
		status = DG_NOTFOUND;
	else if (code == EAI_MEMORY)
		status = DG_NOMEM;
	else if (code == EAI_AGAIN)
		status = DG_TIMEOUT;
	return dgi_fail(err, status, "host '%.80s': %s", host, gai_strerror(code));
}

/* All that a lookup by the resolver's thread reads and writes. */
struct lookup {
	struct gaicb request;
	struct addrinfo hints;
	char host[DGI_HOST_BYTES];
	char port[8];
};

/* getaddrinfo() has no deadline, so the resolver's own thread calls it. */
static int look_up(struct lookup *lookup, struct dgi_deadline deadline)
{
	struct gaicb *list[1] = { &lookup->request };
	const struct gaicb *waited[1] = { &lookup->request };
	int code = getaddrinfo_a(GAI_NOWAIT, list, 1, NULL);

	if (code)
		return code;
	while ((code = gai_error(&lookup->request)) == EAI_INPROGRESS) {
		int left_ms = dgi_deadline_left_ms(deadline);
		struct timespec wait = { .tv_sec = left_ms / 1000,
					 .tv_nsec = left_ms % 1000 * 1000000L };

		if (left_ms == 0)
			return gai_cancel(&lookup->request) == EAI_NOTCANCELED ? EAI_INPROGRESS
									       : EAI_AGAIN;
		(void)gai_suspend(waited, 1, &wait);
	}
	return code;
}

static dg_status resolve_host(const struct dgi_address *address, struct dgi_deadline deadline,
			      struct addrinfo **out, dg_error *err)
{
	struct lookup *lookup = calloc(1, sizeof *lookup);
	int code;

	if (!lookup)
		return dgi_fail_memory(err, "address lookup");
	(void)snprintf(lookup->host, sizeof lookup->host, "%s", address->host);
	(void)snprintf(lookup->port, sizeof lookup->port, "%u", address->port);
	lookup->hints.ai_socktype = SOCK_STREAM;
	lookup->hints.ai_flags = AI_NUMERICSERV | AI_NUMERICHOST;
	lookup->request.ar_name = lookup->host;
	lookup->request.ar_service = lookup->port;
	lookup->request.ar_request = &lookup->hints;

	/* A number needs no resolver, hence no thread. */
	code = getaddrinfo(lookup->host, lookup->port, &lookup->hints, out);
	if (code == EAI_NONAME) {
		lookup->hints.ai_flags = AI_NUMERICSERV;
		code = look_up(lookup, deadline);
		*out = lookup->request.ar_result;
	}
	if (code == EAI_INPROGRESS) /* the resolver still writes there: it keeps the memory */
		return dgi_fail(err, DG_TIMEOUT, "host '%.80s': lookup timed out", address->host);
	free(lookup);
	return code ? fail_lookup(err, address->host, code) : DG_OK;
}

dg_status dgi_address_resolve(const struct dgi_address *address, struct dgi_deadline deadline,
			      struct dgi_endpoints *out, dg_error *err)
{
	struct dgi_endpoints endpoints = { 0 };
	struct addrinfo *list = NULL;
	dg_status st;

	if (address->is_unix) {
		struct sockaddr_un sun = { .sun_family = AF_UNIX };

		memcpy(sun.sun_path, address->path, sizeof sun.sun_path);
		add_endpoint(&endpoints, &sun, sizeof sun);
		*out = endpoints;
		return DG_OK;
	}
	st = resolve_host(address, deadline, &list, err);
	if (st)
		return st;
	for (const struct addrinfo *a = list; a; a = a->ai_next)
		if (a->ai_family == AF_INET || a->ai_family == AF_INET6)
			add_endpoint(&endpoints, a->ai_addr, a->ai_addrlen);
	freeaddrinfo(list);
	if (endpoints.n == 0)
		return dgi_fail(err, DG_NOTFOUND, "host '%.80s': has no IPv4 or IPv6 address",
				address->host);
	*out = endpoints;
	return DG_OK;
}

bool dgi_endpoint_is_local(const struct dgi_endpoint *endpoint)
{
	if (endpoint->address.ss_family == AF_UNIX)
		return true;
	if (endpoint->address.ss_family == AF_INET) {
		struct sockaddr_in in;

		memcpy(&in, &endpoint->address, sizeof in);
		return ntohl(in.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
	}
	if (endpoint->address.ss_family == AF_INET6) {
		struct sockaddr_in6 in6;

		memcpy(&in6, &endpoint->address, sizeof in6);
		return IN6_IS_ADDR_LOOPBACK(&in6.sin6_addr) ||
		       (IN6_IS_ADDR_V4MAPPED(&in6.sin6_addr) &&
			in6.sin6_addr.s6_addr[12] == IN_LOOPBACKNET);
	}
	return false;
}

bool dgi_endpoints_are_local(const struct dgi_endpoints *endpoints)
{
	for (size_t i = 0; i < endpoints->n; i++)
		if (!dgi_endpoint_is_local(&endpoints->at[i]))
			return false;
	return endpoints->n > 0;
}

void dgi_endpoint_address(const struct dgi_endpoint *endpoint, struct dgi_address *out)
{
	*out = (struct dgi_address){ 0 };
	if (endpoint->address.ss_family == AF_UNIX) {
		struct sockaddr_un sun;

		memcpy(&sun, &endpoint->address, sizeof sun);
		out->is_unix = true;
		memcpy(out->path, sun.sun_path, sizeof out->path - 1);
	} else if (endpoint->address.ss_family == AF_INET6) {
		struct sockaddr_in6 in6;

		memcpy(&in6, &endpoint->address, sizeof in6);
		(void)inet_ntop(AF_INET6, &in6.sin6_addr, out->host, sizeof out->host);
		out->port = ntohs(in6.sin6_port);
	} else {
		struct sockaddr_in in;

		memcpy(&in, &endpoint->address, sizeof in);
		(void)inet_ntop(AF_INET, &in.sin_addr, out->host, sizeof out->host);
		out->port = ntohs(in.sin_port);
	}
}
