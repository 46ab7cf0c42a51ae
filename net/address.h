/*
 * address.h -- where a server listens: "host:port", "[v6]:port", "host port" or "unix:/path".
 */
#ifndef DGI_ADDRESS_H
#define DGI_ADDRESS_H

#include "deadline.h"

#include <distgraph/types.h>

#include <stdbool.h>
#include <sys/socket.h>

#define DGI_PORT_DEFAULT 30050	 /* where an address of a server names none */
#define DGI_HOST_BYTES 256	 /* a host name with its NUL */
#define DGI_UNIX_PATH_BYTES 108	 /* sun_path with its NUL */
#define DGI_ADDRESS_BYTES 300	 /* the text of any address with its NUL */
#define DGI_ENDPOINTS_MAX 8	 /* addresses of one host that are tried */
#define DGI_LOCAL_PATH_BYTES 100 /* a longer local default goes to the runtime directory */

struct dgi_address {
	bool is_unix;
	uint16_t port;			/* TCP */
	char host[DGI_HOST_BYTES];	/* TCP: name or number, without brackets */
	char path[DGI_UNIX_PATH_BYTES]; /* Unix */
};

/*
 * Reads an address. @default_port stands in where the text has none; 0: the text must have one.
 * Port 0 in the text means that the system chooses. Fails with INVALID (what is wrong with it).
 */
dg_status dgi_address_parse(const char *text, uint16_t default_port, struct dgi_address *out,
			    dg_error *err);
/* Writes what dgi_address_parse() reads. */
void dgi_address_format(const struct dgi_address *address, char out[DGI_ADDRESS_BYTES]);

/*
 * The address of a store without any configured: "unix:<store>/serve.sock", or, where that path is
 * longer than 100 bytes, "unix:$XDG_RUNTIME_DIR/distgraph-<store uuid>.sock". @store_uuid may be
 * NULL while it is not known. Fails with NOTFOUND (no such directory), INVALID (too long and no
 * runtime directory, or no UUID).
 */
dg_status dgi_address_local(const char *store_path, const dg_uuid *store_uuid,
			    struct dgi_address *out, dg_error *err);

/* What one address comes to, ready for bind() and connect(). */
struct dgi_endpoints {
	size_t n;
	struct dgi_endpoint {
		struct sockaddr_storage address;
		socklen_t bytes;
	} at[DGI_ENDPOINTS_MAX];
};

/* Looks the host up. Fails with NOTFOUND (unknown host), TIMEOUT, NOMEM, IO. */
dg_status dgi_address_resolve(const struct dgi_address *address, struct dgi_deadline deadline,
			      struct dgi_endpoints *out, dg_error *err);

/* A loopback address or a Unix socket: reached by no other host. */
bool dgi_endpoint_is_local(const struct dgi_endpoint *endpoint);
bool dgi_endpoints_are_local(const struct dgi_endpoints *endpoints);

/* The address of a socket that is bound to @endpoint. */
void dgi_endpoint_address(const struct dgi_endpoint *endpoint, struct dgi_address *out);

#endif
