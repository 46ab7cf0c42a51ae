/* server_record.c -- `server.json` in a store's directory: who serves it, and where. */
#include "server_record.h"

#include "fail.h"
#include "files.h"
#include "lock.h"
#include "uuid.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BYTES_MAX (64U << 10)

static dg_status fail_field(dg_error *err, const char *field, const char *wanted)
{
	return dgi_fail(err, DG_INVALID, "field '%s': want %s", field, wanted);
}

static dg_status decode_addresses(const json_t *list, struct dgi_server_record *out, dg_error *err)
{
	size_t n = json_array_size(list);

	if (!json_is_array(list) || n > DGI_SERVER_ADDRESSES_MAX)
		return fail_field(err, "addresses", "a list of at most 64 strings");
	for (size_t i = 0; i < n; i++) {
		const json_t *address = json_array_get(list, i);

		if (!json_is_string(address) ||
		    json_string_length(address) >= DGI_SERVER_ADDRESS_BYTES)
			return fail_field(err, "addresses", "strings of less than 320 bytes");
		memcpy(out->addresses[i], json_string_value(address),
		       json_string_length(address) + 1);
	}
	out->n_addresses = n;
	return DG_OK;
}

static dg_status decode_object(const json_t *root, struct dgi_server_record *out, dg_error *err)
{
	const json_t *pid = json_object_get(root, "pid");
	const json_t *incarnation = json_object_get(root, "incarnation");
	const json_t *uuid = json_object_get(root, "store_uuid");

	if (!json_is_integer(pid) || json_integer_value(pid) < 1)
		return fail_field(err, "pid", "a process id");
	if (!json_is_integer(incarnation) || json_integer_value(incarnation) < 0)
		return fail_field(err, "incarnation", "an integer of 0 or more");
	if (!json_is_string(uuid) ||
	    dgi_uuid_parse(json_string_value(uuid), &out->store_uuid, NULL))
		return fail_field(err, "store_uuid", "a UUID");
	out->pid = json_integer_value(pid);
	out->incarnation = (uint64_t)json_integer_value(incarnation);
	return decode_addresses(json_object_get(root, "addresses"), out, err);
}

dg_status dgi_server_record_decode(const char *text, size_t n, struct dgi_server_record *out,
				   dg_error *err)
{
	struct dgi_server_record record = { 0 };
	json_error_t where;
	json_t *root = json_loadb(text, n, JSON_REJECT_DUPLICATES, &where);
	dg_status st;

	if (!root)
		return dgi_fail(err, DG_INVALID, "line %d: %s", where.line, where.text);
	st = decode_object(root, &record, err);
	json_decref(root);
	if (!st)
		*out = record;
	return st;
}

/* --- The file --- */

static char *path_of(const char *part_path)
{
	char *path;

	return asprintf(&path, "%s/%s", part_path, DGI_SERVER_FILE) < 0 ? NULL : path;
}

static char *encode(const struct dgi_server_record *record)
{
	char uuid[DG_UUID_TEXT_BYTES];
	json_t *addresses = json_array();
	json_t *root;
	char *text;

	for (size_t i = 0; i < record->n_addresses; i++)
		(void)json_array_append_new(addresses, json_string(record->addresses[i]));
	dgi_uuid_text(&record->store_uuid, uuid);
	root = json_pack("{s:I, s:I, s:s, s:o}", "pid", (json_int_t)record->pid, "incarnation",
			 (json_int_t)record->incarnation, "store_uuid", uuid, "addresses",
			 addresses);
	text = root ? json_dumps(root, JSON_INDENT(2)) : NULL;
	json_decref(root);
	return text;
}

dg_status dgi_server_record_write(const char *part_path, const struct dgi_server_record *record,
				  dg_error *err)
{
	char *path = path_of(part_path);
	char *text = encode(record);
	dg_status st;

	if (path && text)
		st = dgi_file_replace(path, text, strlen(text), err);
	else
		st = dgi_fail_memory(err, DGI_SERVER_FILE);
	free(text);
	free(path);
	return st;
}

void dgi_server_record_remove(const char *part_path)
{
	char *path = path_of(part_path);

	if (path)
		(void)unlink(path);
	free(path);
}

/* Is the process that wrote the record the one that holds the store? */
static dg_status check_fresh(const char *part_path, const struct dgi_server_record *record,
			     dg_error *err)
{
	int64_t holder;
	dg_status st = dgi_lock_holder(part_path, &holder, err);

	if (st)
		return st;
	if (holder != 0 && holder != record->pid)
		return dgi_fail(err, DG_NOTFOUND,
				DGI_SERVER_FILE " is of process %" PRId64 ", but process %" PRId64
						" has the store",
				record->pid, holder);
	return DG_OK;
}

dg_status dgi_server_record_load(const char *part_path, struct dgi_server_record *out,
				 dg_error *err)
{
	char *path = path_of(part_path);
	struct dgi_server_record record;
	char *text = NULL;
	size_t n = 0;
	dg_status st;

	if (!path)
		return dgi_fail_memory(err, DGI_SERVER_FILE);
	st = dgi_file_read(path, BYTES_MAX, &text, &n, err);
	if (!st) {
		st = dgi_server_record_decode(text, n, &record, err);
		if (st)
			st = dgi_context(err, st == DG_INVALID ? DG_NOTFOUND : st, "'%s'", path);
	}
	free(text);
	free(path);
	if (!st)
		st = check_fresh(part_path, &record, err);
	if (!st)
		*out = record;
	return st;
}

dg_status dg_server_record_read(const char *part_path, dg_server_record *out, dg_error *err)
{
	struct dgi_server_record record;
	dg_status st = dgi_server_record_load(part_path, &record, err);

	if (st)
		return dgi_context(err, st, "server of '%s'", part_path);
	*out = (dg_server_record){ .pid = record.pid, .incarnation = record.incarnation };
	return DG_OK;
}
