/*
 * id_map.h -- outside ids, integers or strings, numbered in the order they come.
 *
 * Memory: 16 to 32 bytes of table an id, and the id. Fails with NOMEM throughout.
 */
#ifndef DGI_ID_MAP_H
#define DGI_ID_MAP_H

#include "buffer.h"

#include <distgraph/types.h>

#include <stdbool.h>

/* Longer strings are refused as ids. */
#define DGI_OUTSIDE_ID_BYTES_MAX 4096

struct dgi_id_map {
	bool strings;
	int64_t n;
	struct dgi_buffer keys;	 /* int64 of each, or the u64 offset at which each string ends */
	struct dgi_buffer bytes; /* of the strings, one behind the other */
	uint64_t *slots;	 /* 16 bits of the hash above number + 1; 0: free */
	uint64_t mask;
};

struct dgi_id_map dgi_id_map_new(bool strings);
void dgi_id_map_clear(struct dgi_id_map *map);

/* The number of an id, or -1. */
int64_t dgi_id_map_find_integer(const struct dgi_id_map *map, int64_t id);
int64_t dgi_id_map_find_string(const struct dgi_id_map *map, const char *id, size_t n);

/*
 * The number of an id, the next one where it is new. Strings fail with INVALID (empty, too long, a
 * NUL, not UTF-8).
 */
dg_status dgi_id_map_integer(struct dgi_id_map *map, int64_t id, int64_t *number, dg_error *err);
dg_status dgi_id_map_string(struct dgi_id_map *map, const char *id, size_t n, int64_t *number,
			    dg_error *err);

/* String number @number, lent; not NUL-terminated. */
const char *dgi_id_map_text(const struct dgi_id_map *map, int64_t number, size_t *n);

#endif
