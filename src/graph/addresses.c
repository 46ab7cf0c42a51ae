/*
 * addresses.c -- where a partition's server listens, by the first rule that says so: the ip_config
 * file, the cluster file, the local default; before them, if asked, what a running server says.
 */
#include "cluster.h"

#include "address.h"
#include "fail.h"
#include "files.h"
#include "server_record.h"

#include <assert.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define IP_CONFIG_BYTES_MAX (4U << 20)
#define LINE_BYTES_MAX 512

static_assert(DGI_ADDRESS_BYTES <= DGI_SERVER_ADDRESS_BYTES, "a server's record holds any address");

/* Addresses being gathered, best first. */
struct list {
	char (*at)[DGI_ADDRESS_BYTES];
	size_t n;
	size_t room;
};

static dg_status list_add(struct list *list, const struct dgi_address *address, dg_error *err)
{
	char text[DGI_ADDRESS_BYTES];

	dgi_address_format(address, text);
	for (size_t i = 0; i < list->n; i++)
		if (strcmp(list->at[i], text) == 0)
			return DG_OK;
	if (list->n == list->room) {
		size_t room = list->room ? 2 * list->room : 4;
		char(*at)[DGI_ADDRESS_BYTES] = realloc(list->at, room * sizeof *at);

		if (!at)
			return dgi_fail_memory(err, "addresses");
		list->at = at;
		list->room = room;
	}
	memcpy(list->at[list->n++], text, sizeof text);
	return DG_OK;
}

/* Gives the list as one block of pointers and strings, Unix sockets first. */
static dg_status list_give(const struct list *list, char ***out, size_t *n, dg_error *err)
{
	char **block = malloc((list->n + 1) * (sizeof *block + DGI_ADDRESS_BYTES));
	char *text;
	size_t filled = 0;

	if (!block)
		return dgi_fail_memory(err, "addresses");
	text = (char *)(block + list->n + 1);
	for (int unix_turn = 1; unix_turn >= 0; unix_turn--)
		for (size_t i = 0; i < list->n; i++)
			if ((strncmp(list->at[i], "unix:", 5) == 0) == unix_turn) {
				memcpy(text, list->at[i], DGI_ADDRESS_BYTES);
				block[filled++] = text;
				text += DGI_ADDRESS_BYTES;
			}
	block[filled] = NULL;
	*out = block;
	*n = filled;
	return DG_OK;
}

/* --- ip_config: line I is partition I --- */

/* The next line without its end, moved to *text; false at the end of the file. */
static bool next_line(const char **text, const char **line, size_t *n)
{
	const char *end = strchr(*text, '\n');

	if (**text == '\0')
		return false;
	*line = *text;
	*n = end ? (size_t)(end - *text) : strlen(*text);
	*text += *n + (end != NULL);
	while (*n > 0 && strchr(" \t\r", (*line)[*n - 1]))
		--*n;
	return true;
}

/* Reads one line; *has_port: it names one, else the address has the default. */
static dg_status parse_line(const char *line, size_t n, struct dgi_address *out, bool *has_port,
			    dg_error *err)
{
	char text[LINE_BYTES_MAX];

	*has_port = false;
	if (n == 0)
		return dgi_fail(err, DG_INVALID, "empty, want host [port]");
	if (n >= sizeof text)
		return dgi_fail(err, DG_INVALID, "%zu bytes, want host [port]", n);
	memcpy(text, line, n);
	text[n] = '\0';
	*has_port = dgi_address_parse(text, 0, out, NULL) == DG_OK;
	return *has_port ? DG_OK : dgi_address_parse(text, DGI_PORT_DEFAULT, out, err);
}

/*
 * Goes through the whole file, for a malformed line anywhere shifts or hides partitions. A host
 * that stands on several lines without ports gets the following ones in order.
 */
static dg_status read_lines(const char *text, uint32_t n_parts, uint32_t part,
			    struct dgi_address *out, dg_error *err)
{
	char(*hosts)[DGI_HOST_BYTES] = calloc(n_parts, sizeof *hosts); /* of lines without ports */
	uint32_t number = 0;
	const char *line;
	dg_status st = DG_OK;
	size_t n;

	if (!hosts)
		return dgi_fail_memory(err, "ip_config");
	for (; !st && next_line(&text, &line, &n); number++) {
		struct dgi_address address;
		bool has_port;

		if (n == 0 && text[strspn(text, " \t\r\n")] == '\0')
			break;
		st = parse_line(line, n, &address, &has_port, err);
		if (st) {
			(void)dgi_context(err, st, "line %" PRIu32, number + 1);
		} else if (number < n_parts && !has_port) {
			for (uint32_t i = 0; i < number; i++)
				if (strcmp(hosts[i], address.host) == 0)
					address.port++;
			memcpy(hosts[number], address.host, sizeof address.host);
		}
		if (!st && number == part)
			*out = address;
	}
	free(hosts);
	if (!st && number != n_parts)
		return dgi_fail(err, DG_INVALID,
				"%" PRIu32 " lines, the graph has %" PRIu32 " partitions", number,
				n_parts);
	return st;
}

static dg_status add_from_ip_config(struct list *list, const char *path, uint32_t n_parts,
				    uint32_t part, dg_error *err)
{
	struct dgi_address address;
	char *text = NULL;
	size_t n;
	dg_status st = dgi_file_read(path, IP_CONFIG_BYTES_MAX, &text, &n, err);

	if (!st)
		st = read_lines(text, n_parts, part, &address, err);
	free(text);
	if (st)
		return dgi_context(err, st, "ip_config '%s'", path);
	return list_add(list, &address, err);
}

/* --- The other rules --- */

static dg_status add_from_cluster(struct list *list, const struct dgi_cluster_part *part,
				  dg_error *err)
{
	dg_status st = DG_OK;

	for (size_t i = 0; !st && i < part->n_addresses; i++) {
		struct dgi_address address;

		st = dgi_address_parse(part->addresses[i], DGI_PORT_DEFAULT, &address, err);
		if (st)
			return dgi_context(err, st, "field \"address\" of the cluster file");
		st = list_add(list, &address, err);
	}
	return st;
}

/* What a running server says; there may be none. Sets *uuid_known and @uuid. */
static dg_status add_from_record(struct list *list, const char *part_path, bool *uuid_known,
				 dg_uuid *uuid, dg_error *err)
{
	struct dgi_server_record record;
	dg_status st = DG_OK;

	if (dgi_server_record_load(part_path, &record, NULL) != DG_OK)
		return DG_OK;
	*uuid_known = true;
	*uuid = record.store_uuid;
	for (size_t i = 0; !st && i < record.n_addresses; i++) {
		struct dgi_address address;

		if (dgi_address_parse(record.addresses[i], 0, &address, NULL) == DG_OK)
			st = list_add(list, &address, err);
	}
	return st;
}

/* Where the path is too long only the server knows the default, by the store's UUID. */
static dg_status add_local(struct list *list, const char *part_path, const dg_uuid *uuid,
			   dg_error *err)
{
	struct dgi_address address;
	dg_status st = dgi_address_local(part_path, uuid, &address, err);

	if (st == DG_INVALID && !uuid)
		return DG_OK;
	return st ? st : list_add(list, &address, err);
}

static dg_status gather(const dg_cluster *cluster, uint32_t part, const char *ip_config,
			bool running, struct list *list, dg_error *err)
{
	const struct dgi_cluster_part *mine = &cluster->parts[part];
	const char *config = ip_config ? ip_config : getenv("DGL_IP_CONFIG");
	bool uuid_known = false;
	dg_uuid uuid = { 0 };
	dg_status st = DG_OK;

	if (running)
		st = add_from_record(list, mine->path, &uuid_known, &uuid, err);
	if (st)
		return st;
	if (config && *config)
		return add_from_ip_config(list, config, cluster->n_parts, part, err);
	if (mine->n_addresses)
		return add_from_cluster(list, mine, err);
	return add_local(list, mine->path, uuid_known ? &uuid : NULL, err);
}

dg_status dg_cluster_addresses(const dg_cluster *cluster, uint32_t part, const char *ip_config,
			       int running, char ***out, size_t *n, dg_error *err)
{
	struct list list = { 0 };
	dg_status st;

	if (part >= cluster->n_parts)
		return dgi_fail(err, DG_RANGE, "partition %" PRIu32 ": the graph has %" PRIu32,
				part, cluster->n_parts);
	st = gather(cluster, part, ip_config, running != 0, &list, err);
	if (!st)
		st = list_give(&list, out, n, err);
	else
		(void)dgi_context(err, st, "addresses of partition %" PRIu32, part);
	free(list.at);
	return st;
}
