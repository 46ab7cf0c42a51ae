/*
 * store.h -- a store from inside, for the server; see <distgraph/store.h>.
 */
#ifndef DGI_STORE_H
#define DGI_STORE_H

#include "volume.h"

#include <distgraph/store.h>

/*
 * dg_store_open(). @goes_on: fills that an earlier process has not finished are gone on with, by a thread of the
 * store; else by whoever writes to its volume.
 */
dg_status dgi_store_open(const char *path, const dg_store_options *options, bool goes_on,
			 dg_store **out, dg_error *err);

/* The files underneath. Lent. */
struct dgi_volume *dgi_store_volume(dg_store *store);

#endif
