/*
 * store.h -- a store from inside, for the server; see <distgraph/store.h>.
 */
#ifndef DGI_STORE_H
#define DGI_STORE_H

#include "volume.h"

#include <distgraph/store.h>

/* The files underneath. Lent. */
struct dgi_volume *dgi_store_volume(dg_store *store);

#endif
