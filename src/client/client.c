/* client.c -- all partitions of a graph, seen as one. */
#include <distgraph/client.h>

#include "client_state.h"

#include "fail.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TIMEOUT_MS 30000
#define POOL_BYTES ((size_t)128 << 20) /* of free memory blocks that are kept */
#define TRANSLATE_ROWS (1U << 18)      /* translated at a time */

/* --- Opening --- */

static dg_status copy_addresses(dg_client *client, const dg_client_options *options, dg_error *err)
{
	uint32_t n_parts = dg_book_n_parts(client->book);

	if (!options->addresses)
		return DG_OK;
	if (options->n_addresses != n_parts)
		return dgi_fail(err, DG_INVALID,
				"%zu addresses, the graph has %" PRIu32 " partitions",
				options->n_addresses, n_parts);
	client->addresses = calloc(n_parts, sizeof *client->addresses);
	if (!client->addresses)
		return dgi_fail_memory(err, "client");
	for (uint32_t p = 0; p < n_parts; p++) {
		struct dgi_address address;
		dg_status st = dgi_address_parse(options->addresses[p], 0, &address, err);

		if (st)
			return st;
		client->addresses[p] = strdup(options->addresses[p]);
		if (!client->addresses[p])
			return dgi_fail_memory(err, "client");
	}
	return DG_OK;
}

static dg_status copy_options(dg_client *client, const dg_client_options *options, dg_error *err)
{
	client->timeout_ms = options->timeout_ms ? options->timeout_ms : TIMEOUT_MS;
	if (options->ip_config) {
		client->ip_config = strdup(options->ip_config);
		if (!client->ip_config)
			return dgi_fail_memory(err, "client");
	}
	return copy_addresses(client, options, err);
}

static dg_status make_channels(dg_client *client, dg_error *err)
{
	uint32_t n_parts = dg_book_n_parts(client->book);
	dg_status st = DG_OK;

	client->channels = calloc(n_parts, sizeof *client->channels);
	client->conns = calloc(n_parts, sizeof(struct dgi_conn *));
	client->moved = calloc(n_parts, sizeof *client->moved);
	client->errors = calloc(n_parts, sizeof *client->errors);
	if (!client->channels || !client->conns || !client->moved || !client->errors)
		return dgi_fail_memory(err, "client");
	for (uint32_t p = 0; !st && p < n_parts; p++) {
		const struct dgi_link link = {
			.cluster = client->cluster,
			.pool = &client->pool,
			.ip_config = client->ip_config,
			.address = client->addresses ? client->addresses[p] : NULL,
			.part = p,
		};

		st = dgi_channel_init(&client->channels[p], &link, err);
		client->n_channels += st == DG_OK;
	}
	return st;
}

dg_status dg_client_open(const char *path, const dg_client_options *options, dg_client **out,
			 dg_error *err)
{
	static const dg_client_options defaults;
	dg_client *client = calloc(1, sizeof *client);
	dg_status st;

	if (!client)
		return dgi_fail_memory(err, "client");
	client->pid = getpid();
	client->pool = dgi_pool_of(POOL_BYTES);
	st = dg_cluster_open(path, &client->cluster, err);
	if (!st) {
		client->book = dg_cluster_book(client->cluster);
		st = copy_options(client, options ? options : &defaults, err);
	}
	if (!st)
		st = make_channels(client, err);
	if (st) {
		dg_client_close(client);
		return st;
	}
	*out = client;
	return DG_OK;
}

/* A forked process closes its copies of the sockets, and says nothing on them. */
static void close_channels(dg_client *client)
{
	bool is_ours = getpid() == client->pid;

	dgi_client_end_requests(client);
	for (uint32_t p = 0; p < client->n_channels; p++) {
		if (!is_ours)
			dgi_link_close(&client->channels[p].link);
		dgi_channel_clear(&client->channels[p]);
	}
	free(client->channels);
	free(client->conns);
	free(client->moved);
	free(client->errors);
}

void dg_client_close(dg_client *client)
{
	if (!client)
		return;
	close_channels(client);
	if (client->addresses)
		for (uint32_t p = 0; p < dg_book_n_parts(client->book); p++)
			free(client->addresses[p]);
	free(client->addresses);
	free(client->ip_config);
	free(client->tensors);
	dgi_pool_clear(&client->pool);
	dg_cluster_close(client->cluster);
	free(client);
}

const dg_cluster *dg_client_cluster(const dg_client *client)
{
	return client->cluster;
}

const dg_book *dg_client_book(const dg_client *client)
{
	return client->book;
}

/* Every call begins so. */
static dg_status begin(const dg_client *client, struct dgi_deadline *deadline, dg_error *err)
{
	*deadline = dgi_deadline_in(client->timeout_ms);
	return dgi_client_check(client, err);
}

/* --- Tensors --- */

/* A description from a server, made the graph's: its rows are those of all partitions. */
static dg_status adopt(const dg_client *client, dg_tensor_info *info, dg_error *err)
{
	if (!dgi_book_starts(client->book, info->side, info->type, info->numbering))
		return dgi_fail(err, DG_MISMATCH,
				"tensor '%s' belongs to %s type %u, which the cluster file lacks",
				info->name, info->side == DG_NODE ? "node" : "edge", info->type);
	info->n_rows = dg_book_count(client->book, info->side, info->type);
	return DG_OK;
}

/* Takes one piece of the list; the first says how long it is. */
static dg_status take_described(dg_client *client, const struct dgi_message *reply,
				dg_tensor_info **list, size_t *n, uint32_t *total, dg_error *err)
{
	struct dgi_described piece;
	dg_status st = dgi_described_decode(reply->body, reply->head_bytes, &piece, err);

	if (st)
		return st;
	if (!*list) {
		if (piece.total > DG_TENSORS_MAX)
			return dgi_fail(err, DG_PROTO, "%" PRIu32 " tensors, at most %d",
					piece.total, DG_TENSORS_MAX);
		*total = piece.total;
		*list = calloc((size_t)*total + 1, sizeof **list);
		if (!*list)
			return dgi_fail_memory(err, "tensors");
	}
	if (piece.total != *total || piece.n > *total - *n || (piece.n == 0 && *n < *total))
		return dgi_fail(err, DG_PROTO,
				"%" PRIu32 " descriptions behind %zu of %" PRIu32
				", and now of %" PRIu32,
				piece.n, *n, *total, piece.total);
	for (uint32_t i = 0; !st && i < piece.n; i++) {
		st = dgi_described_next(&piece, &(*list)[*n], err);
		if (!st)
			st = adopt(client, &(*list)[(*n)++], err);
	}
	return st;
}

static dg_status fetch_tensors(dg_client *client, struct dgi_deadline deadline, dg_error *err)
{
	dg_tensor_info *list = NULL;
	uint32_t total = 0;
	size_t n = 0;
	dg_status st;

	do {
		uint8_t request[DGI_DESCRIBE_BYTES];
		struct dgi_body body = { .copied = request, .copied_bytes = sizeof request };
		struct dgi_message reply;

		dgi_describe_encode((uint32_t)n, request);
		st = dgi_client_call(client, 0, DGI_DESCRIBE, &body, deadline, &reply, err);
		if (st)
			break;
		st = take_described(client, &reply, &list, &n, &total, err);
		dgi_message_clear(&client->pool, &reply);
		if (st)
			(void)dgi_link_context(&client->channels[0].link, st, err);
	} while (!st && n < total);
	if (st) {
		free(list);
		return st;
	}
	free(client->tensors);
	client->tensors = list;
	client->n_tensors = n;
	return DG_OK;
}

static dg_status need_tensors(dg_client *client, struct dgi_deadline deadline, dg_error *err)
{
	return client->tensors ? DG_OK : fetch_tensors(client, deadline, err);
}

dg_status dg_client_tensors(dg_client *client, const dg_tensor_info **out, size_t *n, dg_error *err)
{
	struct dgi_deadline deadline;
	dg_status st = begin(client, &deadline, err);

	if (!st)
		st = fetch_tensors(client, deadline, err);
	if (st)
		return st;
	*out = client->tensors;
	*n = client->n_tensors;
	return DG_OK;
}

dg_status dg_client_find(dg_client *client, const char *text, dg_tensor_info *out, dg_error *err)
{
	struct dgi_deadline deadline;
	size_t index;
	dg_status st = begin(client, &deadline, err);

	if (!st)
		st = need_tensors(client, deadline, err);
	if (!st)
		st = dg_book_find_tensor(client->book, client->tensors, client->n_tensors, text,
					 &index, err);
	if (!st)
		*out = client->tensors[index];
	return st;
}

/* --- Ids --- */

/* The id table called @name of a type. Lent. */
static dg_status find_table(dg_client *client, dg_side side, uint16_t type, const char *name,
			    const dg_tensor_info **out, dg_error *err)
{
	for (size_t i = 0; i < client->n_tensors; i++) {
		const dg_tensor_info *info = &client->tensors[i];

		if (info->side != side || info->type != type || !(info->flags & DG_TENSOR_SYSTEM) ||
		    strcmp(info->name, name) != 0)
			continue;
		if ((info->dtype != DG_INT32 && info->dtype != DG_INT64) || info->rank != 0)
			return dgi_fail(err, DG_MISMATCH,
					"tensor '%s': rows of %s, want one int32 or int64 each",
					name, dg_dtype_name(info->dtype));
		*out = info;
		return DG_OK;
	}
	return dgi_fail(err, DG_NOTFOUND, "%s type %u: no tensor '%s'",
			side == DG_NODE ? "node" : "edge", type, name);
}

static void widen(const dg_tensor_info *table, const void *from, size_t n, dg_id *out)
{
	const int32_t *narrow = from;

	if (table->dtype == DG_INT64) {
		memcpy(out, from, n * sizeof *out);
		return;
	}
	for (size_t i = 0; i < n; i++)
		out[i] = narrow[i];
}

static dg_status translate(dg_client *client, const dg_tensor_info *table, const dg_id *ids,
			   size_t n, dg_id *out, struct dgi_deadline deadline, dg_error *err)
{
	size_t room = n < TRANSLATE_ROWS ? n : TRANSLATE_ROWS;
	void *rows = malloc(room * sizeof(dg_id) + 1); /* apart, for @out may be @ids */
	dg_status st = DG_OK;

	if (!rows)
		return dgi_fail_memory(err, "ids");
	for (size_t at = 0; !st && at < n; at += room) {
		size_t piece = n - at < room ? n - at : room;

		st = dgi_client_pull(client, table, ids + at, piece, rows, deadline, err);
		if (!st)
			widen(table, rows, piece, out + at);
	}
	free(rows);
	return st;
}

static dg_status translate_by(dg_client *client, const char *name, dg_side side, uint16_t type,
			      const dg_id *ids, size_t n, dg_id *out, dg_error *err)
{
	const dg_tensor_info *table = NULL;
	struct dgi_deadline deadline;
	dg_status st = begin(client, &deadline, err);

	if (!st)
		st = need_tensors(client, deadline, err);
	if (!st)
		st = find_table(client, side, type, name, &table, err);
	return st ? st : translate(client, table, ids, n, out, deadline, err);
}

dg_status dg_client_to_internal(dg_client *client, dg_side side, uint16_t type, const dg_id *ids,
				size_t n, dg_id *out, dg_error *err)
{
	return translate_by(client, DG_TENSOR_INTERNAL_ID, side, type, ids, n, out, err);
}

dg_status dg_client_to_original(dg_client *client, dg_side side, uint16_t type, const dg_id *ids,
				size_t n, dg_id *out, dg_error *err)
{
	return translate_by(client, DG_TENSOR_ORIGINAL_ID, side, type, ids, n, out, err);
}

/* --- Servers --- */

/* Reads the answer to a ping, sent at @began_us to @address; gives it back. */
static dg_status take_status(struct dgi_pool *pool, struct dgi_message *reply, int64_t began_us,
			     const char *address, dg_server_status *out, dg_error *err)
{
	dg_server_status status = { .round_trip_ms = (double)(dgi_now_us() - began_us) / 1000 };
	dg_status st = dgi_status_decode(reply->body, reply->head_bytes, &status, err);

	dgi_message_clear(pool, reply);
	if (st)
		return st;
	(void)snprintf(status.address, sizeof status.address, "%s", address);
	*out = status;
	return DG_OK;
}

static dg_status ping(dg_client *client, uint32_t part, struct dgi_deadline deadline,
		      dg_server_status *out, dg_error *err)
{
	struct dgi_link *link = &client->channels[part].link;
	struct dgi_message reply;
	int64_t began_us;
	dg_status st = DG_OK;

	if (!link->is_open) { /* connecting is not part of the round trip */
		st = dgi_client_call(client, part, DGI_PING, NULL, deadline, &reply, err);
		if (st)
			return st;
		dgi_message_clear(&client->pool, &reply);
	}
	began_us = dgi_now_us();
	st = dgi_client_call(client, part, DGI_PING, NULL, deadline, &reply, err);
	if (st)
		return st;
	st = take_status(&client->pool, &reply, began_us, link->used, out, err);
	return st ? dgi_link_context(link, st, err) : DG_OK;
}

dg_status dg_client_server_status(dg_client *client, uint32_t part, dg_server_status *out,
				  dg_error *err)
{
	struct dgi_deadline deadline;
	dg_status st = begin(client, &deadline, err);

	if (st)
		return st;
	if (part >= dg_book_n_parts(client->book))
		return dgi_fail(err, DG_RANGE, "partition %" PRIu32 ": the graph has %" PRIu32,
				part, dg_book_n_parts(client->book));
	return ping(client, part, deadline, out, err);
}

/* Says hello to whoever listens at @address, and pings. */
static dg_status ask_status(const struct dgi_address *address, struct dgi_deadline deadline,
			    dg_server_status *out, dg_error *err)
{
	const struct dgi_hello hello = { .version_min = DGI_PROTOCOL_VERSION,
					 .version_max = DGI_PROTOCOL_VERSION,
					 .part = -1 };
	struct dgi_pool pool = dgi_pool_of(0);
	char text[DGI_ADDRESS_BYTES];
	struct dgi_welcome welcome;
	struct dgi_message reply;
	struct dgi_conn conn;
	int64_t began_us;
	dg_status st = dgi_dial(address, &hello, &pool, deadline, &conn, &welcome, err);

	if (st)
		return st;
	dgi_address_format(address, text);
	began_us = dgi_now_us();
	st = dgi_call(&conn, dgi_request(DGI_PING, 1, deadline), NULL, deadline, &reply, NULL, err);
	if (!st)
		st = take_status(&pool, &reply, began_us, text, out, err);
	dgi_conn_clear(&conn);
	dgi_pool_clear(&pool);
	return st;
}

dg_status dg_server_status_at(const char *address, uint32_t timeout_ms, dg_server_status *out,
			      dg_error *err)
{
	struct dgi_address parsed;
	dg_status st = dgi_address_parse(address, DGI_PORT_DEFAULT, &parsed, err);

	if (st)
		return st;
	st = ask_status(&parsed, dgi_deadline_in(timeout_ms ? timeout_ms : TIMEOUT_MS), out, err);
	if (st == DG_NOTFOUND && parsed.is_unix) /* no socket: nobody listens */
		st = DG_CLOSED;
	return st ? dgi_context(err, st, st == DG_CLOSED ? "no server at %s" : "server at %s",
				address)
		  : DG_OK;
}
