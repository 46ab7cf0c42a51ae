/* id_map.c -- outside ids, integers or strings, numbered in the order they come. */
#include "id_map.h"

#include "fail.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define SLOTS_MIN 1024
#define NUMBER_BITS 48
#define NUMBER_MASK ((UINT64_C(1) << NUMBER_BITS) - 1)

struct dgi_id_map dgi_id_map_new(bool strings)
{
	return (struct dgi_id_map){ .strings = strings,
				    .keys = dgi_buffer_of(PTRDIFF_MAX),
				    .bytes = dgi_buffer_of(PTRDIFF_MAX) };
}

void dgi_id_map_clear(struct dgi_id_map *map)
{
	dgi_buffer_clear(&map->keys);
	dgi_buffer_clear(&map->bytes);
	free(map->slots);
	map->slots = NULL;
	map->n = 0;
	map->mask = 0;
}

static const int64_t *integers(const struct dgi_id_map *map)
{
	return (const int64_t *)(const void *)map->keys.data;
}

const char *dgi_id_map_text(const struct dgi_id_map *map, int64_t number, size_t *n)
{
	const uint64_t *ends = (const uint64_t *)(const void *)map->keys.data;
	uint64_t start = number ? ends[number - 1] : 0;

	*n = (size_t)(ends[number] - start);
	return (const char *)map->bytes.data + start;
}

static uint64_t hash_of(const struct dgi_id_map *map, int64_t number)
{
	size_t n;
	const char *text;

	if (!map->strings)
		return XXH3_64bits(&integers(map)[number], sizeof(int64_t));
	text = dgi_id_map_text(map, number, &n);
	return XXH3_64bits(text, n);
}

/* The upper bits of a hash go beside the number, the lower ones choose the slot. */
static uint64_t slot_of(uint64_t hash, int64_t number)
{
	return (hash & ~NUMBER_MASK) | ((uint64_t)number + 1);
}

static bool same_integer(const struct dgi_id_map *map, int64_t number, int64_t id)
{
	return integers(map)[number] == id;
}

static bool same_string(const struct dgi_id_map *map, int64_t number, const char *id, size_t n)
{
	size_t have;
	const char *text = dgi_id_map_text(map, number, &have);

	return have == n && memcmp(text, id, n) == 0;
}

/* *at is where the id is or would be; its number or -1. */
static int64_t find(const struct dgi_id_map *map, uint64_t hash, int64_t integer, const char *id,
		    size_t n, uint64_t *at)
{
	if (!map->slots)
		return -1;
	for (uint64_t i = hash & map->mask;; i = (i + 1) & map->mask) {
		uint64_t slot = map->slots[i];
		int64_t number = (int64_t)(slot & NUMBER_MASK) - 1;

		*at = i;
		if (!slot)
			return -1;
		if ((slot ^ hash) & ~NUMBER_MASK)
			continue;
		if (id ? same_string(map, number, id, n) : same_integer(map, number, integer))
			return number;
	}
}

static dg_status grow(struct dgi_id_map *map, dg_error *err)
{
	uint64_t n_slots = map->slots ? (map->mask + 1) * 2 : SLOTS_MIN;
	uint64_t *slots = calloc(n_slots, sizeof *slots);

	if (!slots)
		return dgi_fail_memory(err, "ids of nodes");
	for (int64_t number = 0; number < map->n; number++) {
		uint64_t hash = hash_of(map, number);
		uint64_t i = hash & (n_slots - 1);

		while (slots[i])
			i = (i + 1) & (n_slots - 1);
		slots[i] = slot_of(hash, number);
	}
	free(map->slots);
	map->slots = slots;
	map->mask = n_slots - 1;
	return DG_OK;
}

/* Room for one more; at most half of the slots are taken. */
static dg_status make_room(struct dgi_id_map *map, dg_error *err)
{
	if (map->slots && (uint64_t)map->n < (map->mask + 1) / 2)
		return DG_OK;
	return grow(map, err);
}

int64_t dgi_id_map_find_integer(const struct dgi_id_map *map, int64_t id)
{
	uint64_t at;

	return find(map, XXH3_64bits(&id, sizeof id), id, NULL, 0, &at);
}

int64_t dgi_id_map_find_string(const struct dgi_id_map *map, const char *id, size_t n)
{
	uint64_t at;

	return find(map, XXH3_64bits(id, n), 0, id, n, &at);
}

dg_status dgi_id_map_integer(struct dgi_id_map *map, int64_t id, int64_t *number, dg_error *err)
{
	uint64_t hash = XXH3_64bits(&id, sizeof id);
	uint64_t at = 0;
	dg_status st = make_room(map, err);

	if (st)
		return st;
	*number = find(map, hash, id, NULL, 0, &at);
	if (*number >= 0)
		return DG_OK;
	st = dgi_buffer_append(&map->keys, &id, sizeof id, err);
	if (st)
		return st;
	*number = map->n++;
	map->slots[at] = slot_of(hash, *number);
	return DG_OK;
}

/* Bytes of the UTF-8 sequence at @s of @n bytes, 0 where there is none (RFC 3629). */
static size_t sequence(const unsigned char *s, size_t n)
{
	size_t length = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;

	if (length == 0 || length > n || s[0] > 0xf4)
		return 0;
	for (size_t i = 1; i < length; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return length;
}

static dg_status check_string(const char *id, size_t n, dg_error *err)
{
	size_t length = 1;

	if (n == 0)
		return dgi_fail(err, DG_INVALID, "an empty node id");
	if (n > DGI_OUTSIDE_ID_BYTES_MAX)
		return dgi_fail(err, DG_INVALID, "a node id of %zu bytes, want at most %d", n,
				DGI_OUTSIDE_ID_BYTES_MAX);
	if (memchr(id, 0, n))
		return dgi_fail(err, DG_INVALID, "a node id with a NUL byte");
	for (size_t i = 0; i < n && length; i += length) {
		length = sequence((const unsigned char *)id + i, n - i);
		if (!length)
			return dgi_fail(err, DG_INVALID, "node id '%.*s': not UTF-8",
					n < 40 ? (int)n : 40, id);
	}
	return DG_OK;
}

dg_status dgi_id_map_string(struct dgi_id_map *map, const char *id, size_t n, int64_t *number,
			    dg_error *err)
{
	uint64_t hash = XXH3_64bits(id, n);
	uint64_t at = 0;
	uint64_t end;
	dg_status st = make_room(map, err);

	if (st)
		return st;
	*number = find(map, hash, 0, id, n, &at);
	if (*number >= 0)
		return DG_OK;
	end = map->bytes.n + n;
	st = check_string(id, n, err);
	if (!st)
		st = dgi_buffer_reserve(&map->keys, sizeof end, err);
	if (!st)
		st = dgi_buffer_append(&map->bytes, id, n, err);
	if (!st)
		st = dgi_buffer_append(&map->keys, &end, sizeof end, err);
	if (st)
		return st;
	*number = map->n++;
	map->slots[at] = slot_of(hash, *number);
	return DG_OK;
}
