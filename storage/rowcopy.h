/*
 * rowcopy.h -- the chunk table, and every access to the row bytes behind it.
 *
 * The table says where each chunk's current rows are, never an address: a *clean* chunk is a page of
 * the data file, a *hot* one a slot of memory (slots.h) with newer rows. Images in the file are never
 * changed in place, but their pages are used again two transactions after they were replaced; hot
 * rows are changed in place, and slots are used again. So each entry has a sequence number: whoever
 * copies from a chunk loads the sequence, then the location, copies, and loads the sequence again: if
 * it was odd or has changed, what was copied may be wrong and is copied again (*copy and check*).
 * Readers take no lock; after 64 tries they raise a flag, and the writer lets them in between two
 * rows.
 *
 * An image's checksum is verified before its first row is handed out, by the same rule, and the
 * verdict is remembered until the chunk gets another image.
 *
 * The table lies in a memfd, so that other processes can map it.
 *
 * Threads: reading in any thread. Entries have one mutator at a time, which holds the table's lock.
 */
#ifndef DGI_ROWCOPY_H
#define DGI_ROWCOPY_H

#include "chunk.h"
#include "map.h"
#include "slots.h"

#include <pthread.h>
#include <stdatomic.h>

struct dgi_table_entry {
	_Atomic uint64_t sequence; /* odd while the entry is being changed */
	/* Highest bit: the rows are known to be sound. Next bit: hot, and the rest is a slot; else
	 * it is a page of the file. */
	_Atomic uint64_t location;
};

struct dgi_table {
	struct dgi_table_entry *entries;
	_Atomic uint64_t *logs; /* the log number of each entry's image in the file */
	bool *frozen;		/* hot, but the slot is the checkpoint's; the mutator's own */
	_Atomic size_t n;
	size_t capacity; /* of the table's memory, which never moves nor grows */
	int fd;
	const struct dgi_map *map;
	const dgi_slot_segment *segments; /* of the hot slots; NULL while there are none */
	dg_uuid store_uuid;
	pthread_mutex_t record; /* held by the mutator for a record */
	pthread_mutex_t lock;	/* held while entries change; within the other, if both */
	_Atomic int waiting;	/* readers that want the lock */
	_Atomic uint32_t warm;	/* batches that need no look, see warm.h */
};

/*
 * A table of @n entries that are nowhere yet, with address space for up to @capacity if there is so
 * much. @map is lent, and open when rows are read.
 */
dg_status dgi_table_open(struct dgi_table *table, size_t n, size_t capacity,
			 const struct dgi_map *map, const dg_uuid *store_uuid, dg_error *err);
/* @more entries behind the last, known to nobody yet; whoever has the table mapped has them too. Fails
 * with FULL. For one thread at a time. */
dg_status dgi_table_extend(struct dgi_table *table, size_t more, dg_error *err);
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

/*
 * The locks of the entries' mutator: the writer takes them for a record, the checkpoint to freeze and
 * to publish. dgi_table_let_readers_in() is called by the holder between two rows and gives way to
 * readers that could not get a whole row otherwise, but to no other mutator.
 */
void dgi_table_lock(struct dgi_table *table);
void dgi_table_unlock(struct dgi_table *table);
void dgi_table_give_way(struct dgi_table *table);
static inline void dgi_table_let_readers_in(struct dgi_table *table)
{
	if (atomic_load_explicit(&table->waiting, memory_order_relaxed))
		dgi_table_give_way(table);
}

/* Is the entry clean now? Sets the page and whether its checksum was verified. A hint; any thread. */
bool dgi_table_page(const struct dgi_table *table, size_t entry, uint64_t *page, bool *verified);

/* Is the entry hot? Sets *@slot. For the mutator. */
bool dgi_table_is_hot(const struct dgi_table *table, size_t entry, uint32_t *slot);
/* … and may its rows be changed in place: is it not frozen? */
bool dgi_table_is_writable(const struct dgi_table *table, size_t entry, uint32_t *slot);
/* A hot entry is frozen until it is set hot or clean, or thawed. For the mutator. */
void dgi_table_freeze(struct dgi_table *table, size_t entry);
void dgi_table_thaw(struct dgi_table *table, size_t entry);
/* The entry's rows are in @slot from now on, whole and sound. For the mutator. */
void dgi_table_set_hot(struct dgi_table *table, size_t entry, uint32_t slot);
/* … in an image that is ours: made, hashed and committed just now. For the mutator. */
void dgi_table_set_clean(struct dgi_table *table, const struct dgi_image *image);
/* The image in the file is another one now, while the entry stays hot. For the mutator. */
void dgi_table_set_log(struct dgi_table *table, size_t entry, uint64_t log);

/*
 * Changes one row of a hot chunk in place, @n bytes at @to; a reader sees it whole, old or new. For
 * the mutator.
 */
void dgi_table_store_row(struct dgi_table *table, size_t entry, uint8_t *to, const void *row,
			 size_t n);
/* The log number of an entry's image in the file. For the mutator. */
uint64_t dgi_table_log(const struct dgi_table *table, size_t entry);

/* Changes a row in a slot that the table does not show, though late readers may be copying from it. */
void dgi_row_put(uint8_t *to, const void *row, size_t n);

/* The rows of one tensor behind the table. */
struct dgi_rows {
	uint32_t tensor;
	size_t first_entry; /* of chunk 0; the others follow */
	size_t next_member; /* of its group, in the catalogue, in a ring; itself where it has none */
	struct dgi_cut cut;
};

/* See dg_store_gather(). Fails with RANGE, CORRUPT. */
dg_status dgi_rows_gather(struct dgi_table *table, const struct dgi_rows *rows, const dg_id *ids,
			  size_t n, void *out, dg_error *err);
/* Verifies the image of chunk number @chunk unless that has been done. Fails with CORRUPT. */
dg_status dgi_rows_verify(struct dgi_table *table, const struct dgi_rows *rows, uint64_t chunk,
			  dg_error *err);
/* Copies the rows of a verified chunk, hot or clean, to @out. For the mutator. */
void dgi_rows_copy_chunk(const struct dgi_table *table, const struct dgi_rows *rows, uint64_t chunk,
			 void *out);

#endif
