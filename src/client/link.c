/* link.c -- a client's connection to the server of one partition. */
#include "link.h"

#include "fail.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

dg_status dgi_link_context(const struct dgi_link *link, dg_status status, dg_error *err)
{
	if (link->used[0] == '\0')
		return dgi_context(err, status, "partition %" PRIu32, link->part);
	return dgi_context(err, status, "partition %" PRIu32 " at %s", link->part, link->used);
}

void dgi_link_close(struct dgi_link *link)
{
	if (link->is_open)
		dgi_conn_clear(&link->conn);
	link->is_open = false;
}

static dg_status try_address(struct dgi_link *link, const char *text, struct dgi_deadline deadline,
			     dg_error *err)
{
	struct dgi_hello hello = {
		.version_min = DGI_PROTOCOL_VERSION,
		.version_max = DGI_PROTOCOL_VERSION,
		.part = (int32_t)link->part,
		.cluster_uuid = dg_cluster_uuid(link->cluster),
	};
	struct dgi_welcome welcome;
	struct dgi_address address;
	dg_status st;

	(void)snprintf(link->used, sizeof link->used, "%s", text);
	if (link->was_open)
		hello.store_uuid = link->welcome.store_uuid;
	if (link->session)
		dgi_client_session_hello(link->session, &hello);
	st = dgi_address_parse(text, 0, &address, err);
	if (!st)
		st = dgi_dial(&address, &hello, link->pool, deadline, &link->conn, &welcome, err);
	if (st)
		return st;
	if (link->session)
		st = dgi_client_session_welcome(link->session, &welcome, err);
	if (st) {
		dgi_conn_clear(&link->conn);
		return st;
	}
	link->welcome = welcome;
	link->is_open = true;
	link->was_open = true;
	return DG_OK;
}

/* A share of the time that is left, so that a silent address leaves some for the others. */
static struct dgi_deadline share_of(struct dgi_deadline deadline, size_t n_left)
{
	return dgi_deadline_in(dgi_deadline_left_ms(deadline) / (int64_t)n_left);
}

static bool is_nobody(dg_status st)
{
	return st == DG_CLOSED || st == DG_NOTFOUND || st == DG_TIMEOUT;
}

static dg_status try_all(struct dgi_link *link, const char *const *addresses, size_t n,
			 struct dgi_deadline deadline, dg_error *err)
{
	dg_status st = DG_CLOSED;

	if (n == 0)
		return dgi_fail(err, DG_CLOSED, "no server runs in '%s'",
				dg_cluster_part_path(link->cluster, link->part));
	for (size_t i = 0; i < n; i++) {
		st = try_address(link, addresses[i], share_of(deadline, n - i), err);
		if (!is_nobody(st))
			return st;
	}
	if (st == DG_NOTFOUND)
		st = DG_CLOSED;
	if (n > 1)
		return dgi_context(err, st, "the last of %zu addresses", n);
	return dgi_context(err, st, "no server");
}

static dg_status connect_link(struct dgi_link *link, struct dgi_deadline deadline, dg_error *err)
{
	char **found = NULL;
	size_t n = 1;
	dg_status st = DG_OK;

	link->used[0] = '\0';
	if (!link->address)
		st = dg_cluster_addresses(link->cluster, link->part, link->ip_config, 1, &found, &n,
					  err);
	if (st)
		return st;
	st = try_all(link, link->address ? &link->address : (const char *const *)found, n, deadline,
		     err);
	dg_free(found);
	return st;
}

dg_status dgi_link_open(struct dgi_link *link, struct dgi_deadline deadline, dg_error *err)
{
	return link->is_open ? DG_OK : connect_link(link, deadline, err);
}

dg_status dgi_link_ask(struct dgi_link *link, enum dgi_message_type type,
		       const struct dgi_body *body, struct dgi_deadline deadline,
		       struct dgi_message *out, dg_error *err)
{
	struct dgi_frame frame = dgi_request(type, ++link->last_id, deadline);
	bool broken;
	dg_status st = dgi_call(&link->conn, frame, body, deadline, out, &broken, err);

	if (broken)
		dgi_link_close(link);
	return st ? dgi_link_context(link, st, err) : DG_OK;
}
