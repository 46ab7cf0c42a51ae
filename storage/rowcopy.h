/*
 * rowcopy.h -- the chunk table, and every access to the row bytes behind it.
 *
 * The table says where each chunk's current image is: a page of the data file, never an address,
 * with a sequence number. Images are never changed in place, but the pages of an image that was
 * replaced are used again two transactions later. So whoever copies from a chunk loads the
 * sequence, then the location, copies, and loads the sequence again: if it has changed, what was
 * copied may be wrong and is copied again (*copy and check*). Readers take no lock and never wait
 * for the writer; it publishes new places after its commit and before its next transaction.
 *
 * An image's checksum is verified before its first row is handed out, by the same rule, and the
 * verdict is remembered until the chunk gets another image.
 *
 * The table lies in a memfd, so that other processes can map it.
 *
 * Threads: reading in any thread; dgi_table_publish() in one at a time.
 */
#ifndef DGI_ROWCOPY_H
#define DGI_ROWCOPY_H

#include "chunk.h"
#include "map.h"

#include <pthread.h>
#include <stdatomic.h>

struct dgi_table_entry {
	_Atomic uint64_t sequence; /* odd while the entry is being changed */
	_Atomic uint64_t location; /* page number; highest bit: the image's checksum holds */
};

struct dgi_table {
	struct dgi_table_entry *entries;
	_Atomic uint64_t *logs; /* the log number of each entry's image */
	size_t n;
	int fd;
	const struct dgi_map *map;
	dg_uuid store_uuid;
	pthread_mutex_t publishing; /* held while entries change */
};

/* A table of @n entries that are nowhere yet. @map is lent, and open when rows are read. */
dg_status dgi_table_open(struct dgi_table *table, size_t n, const struct dgi_map *map,
			 const dg_uuid *store_uuid, dg_error *err);
/* Accepts a zero table. */
void dgi_table_close(struct dgi_table *table);

/* A chunk's image: its table entry, where it is, and the number of the write that made it. */
struct dgi_image {
	size_t entry;
	uint64_t page;
	uint64_t log;
};

/* Sets an entry while nobody reads; its image has yet to be verified. */
void dgi_table_set(struct dgi_table *table, const struct dgi_image *image);
/* Makes images current that were just written and committed. */
void dgi_table_publish(struct dgi_table *table, const struct dgi_image *images, size_t n);
/* The log number of an entry's image. For the publishing thread. */
uint64_t dgi_table_log(const struct dgi_table *table, size_t entry);

/* The rows of one tensor behind the table. */
struct dgi_rows {
	uint32_t tensor;
	size_t first_entry; /* of chunk 0; the others follow */
	struct dgi_cut cut;
};

/* See dg_store_gather(). Fails with RANGE, CORRUPT. */
dg_status dgi_rows_gather(struct dgi_table *table, const struct dgi_rows *rows, const dg_id *ids,
			  size_t n, void *out, dg_error *err);
/* Verifies the image of chunk number @chunk unless that has been done. Fails with CORRUPT. */
dg_status dgi_rows_verify(struct dgi_table *table, const struct dgi_rows *rows, uint64_t chunk,
			  dg_error *err);
/* Copies the rows of a verified chunk to @out. For the publishing thread. */
void dgi_rows_copy_chunk(const struct dgi_table *table, const struct dgi_rows *rows, uint64_t chunk,
			 void *out);

#endif
