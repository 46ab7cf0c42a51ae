/*
 * server_record.h -- `server.json` in a store's directory: who serves it, and where.
 *
 * Written by the server when it has bound its addresses, removed when it ends. What a killed server
 * leaves behind is recognised by the store's lock, which its process no longer holds.
 */
#ifndef DGI_SERVER_RECORD_H
#define DGI_SERVER_RECORD_H

#include <distgraph/cluster.h>

#define DGI_SERVER_FILE "server.json"
#define DGI_SERVER_ADDRESSES_MAX 64
#define DGI_SERVER_ADDRESS_BYTES 320 /* of an address with its NUL */

struct dgi_server_record {
	int64_t pid;
	uint64_t incarnation;
	dg_uuid store_uuid;
	size_t n_addresses;
	char addresses[DGI_SERVER_ADDRESSES_MAX][DGI_SERVER_ADDRESS_BYTES];
};

/* Fails with INVALID, NOMEM. */
dg_status dgi_server_record_decode(const char *text, size_t n, struct dgi_server_record *out,
				   dg_error *err);

/* Writes the record of the server of the store in @part_path. Fails with FULL, IO, NOMEM. */
dg_status dgi_server_record_write(const char *part_path, const struct dgi_server_record *record,
				  dg_error *err);
/* Removes it; there may be none. */
void dgi_server_record_remove(const char *part_path);

/* Reads it. Fails with NOTFOUND (there is none, or its process does not serve the store), IO. */
dg_status dgi_server_record_load(const char *part_path, struct dgi_server_record *out,
				 dg_error *err);

#endif
