/*
 * link.h -- a client's connection to the server of one partition: found by the address rules, made
 * when first needed and again after a loss, never to another store than before.
 */
#ifndef DGI_LINK_H
#define DGI_LINK_H

#include "call.h"
#include "client_session.h"
#include "cluster.h"

#include <stdbool.h>

struct dgi_link {
	const dg_cluster *cluster;
	struct dgi_pool *pool;
	const char *ip_config; /* NULL: by the rules */
	const char *address;   /* explicit; NULL: by the rules */
	uint32_t part;
	struct dgi_client_session *session; /* that the connection carries; NULL: none */

	bool is_open;
	bool was_open; /* the fields below are those of the last connection */
	struct dgi_conn conn;
	struct dgi_welcome welcome;
	uint64_t last_id;	      /* of requests */
	char used[DGI_ADDRESS_BYTES]; /* the address connected to, or tried last */
};

/* Closes the connection; requests under way are lost. Fine on a closed one. */
void dgi_link_close(struct dgi_link *link);

/*
 * Connects unless there is a connection. Addresses are tried in order. Fails with CLOSED (no server;
 * the text says where it was sought), MISMATCH (another cluster, part or store than before, or an
 * older state of it), TIMEOUT, DENIED, …; the caller adds dgi_link_context().
 */
dg_status dgi_link_open(struct dgi_link *link, struct dgi_deadline deadline, dg_error *err);

/* One request on an open link under which nothing else is under way; @out as of dgi_call(). */
dg_status dgi_link_ask(struct dgi_link *link, enum dgi_message_type type,
		       const struct dgi_body *body, struct dgi_deadline deadline,
		       struct dgi_message *out, dg_error *err);

/* Puts "partition 2 at 127.0.0.1:30050: " in front. */
dg_status dgi_link_context(const struct dgi_link *link, dg_status status, dg_error *err);

#endif
